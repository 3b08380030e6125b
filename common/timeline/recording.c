/* recording.c - see recording.h. */
#include "recording.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* The parts of the drawer one after the other, as text of this object: so a program draws wherever it is copied to. */
__asm__(".pushsection .rodata\n"
        "drawer:\n"
        ".incbin \"common/timeline/events.pl\"\n"
        ".incbin \"common/timeline/rows.pl\"\n"
        ".incbin \"common/timeline/text.pl\"\n"
        ".incbin \"common/timeline/svg.pl\"\n"
        ".incbin \"common/timeline/draw.pl\"\n"
        "drawer_end:\n"
        ".popsection\n");
extern const char drawer[], drawer_end[];

/* Writes the events as the drawer reads them: a head, then one line for each event, in any order, its kind a number. */
static void write_events(FILE *out, const Recording *recording) {
    const Trace *trace = &recording->trace;
    fprintf(out, "# chapter %s\n# kernel %s\n# source %s\n# date %s\n# commit %s\n", recording->chapter,
            recording->kernel, trace->source, recording->date, recording->commit);
    fprintf(out, "# m %d\n# n %d\n# k %d\n# sms %d\n# ctas %d\n", recording->m, recording->n, recording->k,
            recording->sms, trace->ctas);
    for (int i = 0; i < trace->launches && trace->launches > 1; i++) {
        fprintf(out, "# launch %s %d\n", trace->launch[i].name, trace->launch[i].ctas);
    }
    fprintf(out, "# unit %s\n# units_a_second %.17g\n# lost %llu\n", trace->unit, trace->units_a_second,
            (unsigned long long)trace->lost);
    fprintf(out, "kind,cta,sm,warp,unit,index,stage,bytes,row,col,name,spans\n");
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        fprintf(out, "%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%s,%llu:%llu\n", e->kind, e->cta, e->sm, e->warp, e->unit, e->index,
                e->stage, e->bytes, e->row, e->col, e->name, (unsigned long long)e->begin, (unsigned long long)e->end);
    }
}

GemmStatus recording_draw(const Recording *recording, const char *what, int cta, FILE *out) {
    enum { SAYS_WHY = 2, NOT_WRITTEN = 3 }; /* exit statuses of the drawer */
    char command[96];
    if (recording->trace.count == 0) {
        return gemm_fails(NULL, GEMM_DEVICE, "nothing was recorded");
    }
    fflush(out);
    snprintf(command, sizeof command, "command -v perl >/dev/null && exec perl - %s %d %d", what, fileno(out), cta);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* the exit status tells if the drawer ended early */
    FILE *perl = popen(command, "w");
    int status = -1;
    if (perl) {
        fwrite(drawer, 1, (size_t)(drawer_end - drawer), perl);
        write_events(perl, recording);
        status = pclose(perl);
    }
    signal(SIGPIPE, before);
    if (status == 0) {
        return GEMM_OK;
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == SAYS_WHY || WEXITSTATUS(status) == NOT_WRITTEN)) {
        return WEXITSTATUS(status) == SAYS_WHY ? GEMM_USAGE : GEMM_WRONG;
    }
    return gemm_fails(NULL, GEMM_DEVICE, "perl, which draws timelines, could not be run or failed");
}

void trace_free_events(Trace *trace) {
    free(trace->event);
    trace->event = NULL;
    trace->count = 0;
}
