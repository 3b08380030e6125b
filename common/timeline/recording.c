/* recording.c - see recording.h. */
#include "recording.h"

#include "gpu_trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const trace_kind_names[TRACE_KINDS] = {
    [TRACE_BARRIER] = "barrier",
    [TRACE_WAIT] = "wait",
    [TRACE_COPY_WAIT] = "copy_wait",
    [TRACE_FRAGMENTS] = "fragments",
    [TRACE_MMA] = "mma",
    [TRACE_WGMMA_WAIT] = "wgmma_wait",
    [TRACE_STORE_WAIT] = "store_wait",
    [TRACE_EXP2] = "exponentials",
    [TRACE_EPILOGUE] = "epilogue",
    [TRACE_TILE] = "tile",
    [TRACE_CTA] = "cta",
    [TRACE_COPY] = "copy",
    [TRACE_LOAD] = "load",
    [TRACE_STORE] = "store",
    [TRACE_WGMMA] = "wgmma",
};

/* ---- one SM ------------------------------------------------------------------------------------------------------ */

static int by_tile(const void *x, const void *y) {
    const TraceEvent *a = x, *b = y;
    return a->cta != b->cta ? (a->cta < b->cta ? -1 : 1) : a->row != b->row ? a->row - b->row : a->col - b->col;
}

/* Different tiles in TRACE_TILE events, of every CTA for itself. */
static long tiles_of_sm(const Recording *recording) {
    const Trace *trace = &recording->trace;
    TraceEvent *tile = trace_memory(NULL, (trace->count + 1) * sizeof *tile);
    size_t count = 0;
    long different = 0;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->event[i].kind == TRACE_TILE) {
            tile[count++] = trace->event[i];
        }
    }
    qsort(tile, count, sizeof *tile, by_tile);
    for (size_t i = 0; i < count; i++) {
        different += i == 0 || by_tile(&tile[i - 1], &tile[i]) != 0;
    }
    free(tile);
    return different;
}

int recording_launches(const Recording *recording) {
    return recording->trace.launches > 1 ? recording->trace.launches : 1;
}

int recording_launch_of(const Recording *recording, int cta) {
    int launch = recording_launches(recording) - 1;
    while (launch > 0 && cta < recording->trace.launch[launch].first_cta) {
        launch--;
    }
    return launch;
}

const char *recording_cta_text(const Recording *recording, int cta, char *text, size_t size) {
    const TraceLaunch *launch = &recording->trace.launch[recording_launch_of(recording, cta)];
    if (recording_launches(recording) > 1) {
        snprintf(text, size, "%s, CTA %d of %d", launch->name, cta - launch->first_cta, launch->ctas);
    } else {
        snprintf(text, size, "CTA %d of %d", cta, recording->trace.ctas);
    }
    return text;
}

int recording_cta_of_launch(const Recording *recording, int launch, int cta) {
    int lowest = -1;
    for (size_t i = 0; i < recording->trace.count; i++) {
        const TraceEvent *e = &recording->trace.event[i];
        if (recording_launch_of(recording, e->cta) == launch) {
            if (e->cta == cta) {
                return cta;
            }
            lowest = lowest < 0 || e->cta < lowest ? e->cta : lowest;
        }
    }
    return lowest;
}

/* Tiles of C that the launch computes, as the chapter describes it or one for each CTA. */
static long tiles_of_launch(const Recording *recording) {
    if (recording_launches(recording) > 1) {
        return 0; /* which of them computes C is not known */
    }
    long tiles;
    return sscanf(recording->kernel, "%*[^:]: %ld tiles", &tiles) == 1 ? tiles : recording->trace.ctas;
}

static int by_line(const TraceEvent *a, const TraceEvent *b);

static int by_begin(const void *x, const void *y) {
    const TraceEvent *a = x, *b = y;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    return a->end != b->end ? (a->end > b->end ? -1 : 1) : by_line(a, b);
}

/* Moves the events of this SM to the front. Returns how many there are. */
static size_t kept_of_sm(Trace *trace, int sm) {
    size_t kept = 0;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->event[i].sm == sm) {
            trace->event[kept++] = trace->event[i];
        }
    }
    return kept;
}

int recording_keep_sm(Recording *recording, int cta, int thin) {
    Trace *trace = &recording->trace;
    int sm = -1, first = -1;
    for (size_t i = 0; i < trace->count; i++) {
        const TraceEvent *e = &trace->event[i];
        if (cta >= 0 ? e->cta == cta : first < 0 || e->cta < first) {
            first = e->cta;
            sm = e->sm;
        }
    }
    if (first < 0) {
        return 0;
    }
    size_t all = kept_of_sm(trace, sm), kept = 0;
    int whole[MAX_TRACE_LAUNCHES] = {first};
    trace->count = all;
    for (int i = 0; i < recording_launches(recording); i++) {
        whole[i] = recording_cta_of_launch(recording, i, first);
    }
    for (size_t i = 0; i < all; i++) {
        const TraceEvent *e = &trace->event[i];
        int counts = e->kind == TRACE_CTA || e->kind == TRACE_TILE || e->kind == TRACE_MMA || e->kind == TRACE_WGMMA;
        if (!thin || e->cta == whole[recording_launch_of(recording, e->cta)] || counts) {
            trace->event[kept++] = *e;
        }
    }
    trace->count = kept;
    qsort(trace->event, kept, sizeof *trace->event, by_begin);
    return 1;
}

int recording_whole_cta(const Recording *recording) {
    for (size_t i = 0; i < recording->trace.count; i++) {
        const TraceEvent *e = &recording->trace.event[i];
        if (e->warp >= 0 && e->kind != TRACE_TILE && e->kind != TRACE_MMA) {
            return e->cta;
        }
    }
    return -1;
}

void recording_span(const Recording *recording, uint64_t *begin, uint64_t *end) {
    *begin = recording->trace.count ? UINT64_MAX : 0;
    *end = 0;
    for (size_t i = 0; i < recording->trace.count; i++) {
        const TraceEvent *e = &recording->trace.event[i];
        *begin = e->begin < *begin ? e->begin : *begin;
        *end = e->end > *end ? e->end : *end;
    }
}

/* ---- the tensor cores -------------------------------------------------------------------------------------------- */

static int is_first_chapter(const Recording *recording) { return strncmp(recording->chapter, "01", 2) == 0; }

int recording_peak(const Recording *recording) {
    for (size_t i = 0; i < recording->trace.count; i++) {
        if (recording->trace.event[i].kind == TRACE_WGMMA) {
            return 2048;
        }
    }
    return is_first_chapter(recording) ? 0 : 1024;
}

/* Events are in order of their begin. An SM has four tensor cores: warp w uses number w % 4, a warpgroup all. */
double recording_busy(const Recording *recording, int cta, uint64_t begin, uint64_t end) {
    enum { TENSOR_CORES = 4 };
    uint64_t busy = 0, until[TENSOR_CORES] = {begin, begin, begin, begin}; /* counted up to here */
    for (size_t i = 0; i < recording->trace.count && !is_first_chapter(recording); i++) {
        const TraceEvent *e = &recording->trace.event[i];
        if ((e->kind == TRACE_MMA || e->kind == TRACE_WGMMA) && (cta < 0 || e->cta == cta)) {
            for (int core = 0; core < TENSOR_CORES; core++) {
                uint64_t from = e->begin > until[core] ? e->begin : until[core], to = e->end < end ? e->end : end;
                if (to > from && (e->kind == TRACE_WGMMA || e->warp % TENSOR_CORES == core)) {
                    busy += to - from;
                    until[core] = to;
                }
            }
        }
    }
    return end > begin ? (double)busy / (double)(end - begin) / TENSOR_CORES : 0;
}

double recording_efficiency(const Recording *recording) {
    uint64_t begin, end;
    recording_span(recording, &begin, &end);
    int peak = recording_peak(recording);
    long tiles = tiles_of_launch(recording), here = tiles_of_sm(recording);
    if (end <= begin || peak == 0 || tiles <= 0 || recording->trace.units_a_second == 0) {
        return 0;
    }
    return (double)here / (double)tiles * recording->m * recording->n * recording->k / ((double)(end - begin) * peak);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char columns[] = "kind,cta,sm,warp,unit,index,stage,bytes,row,col,name,spans";

enum { SPANS_A_LINE = 12 };

/* Orders events by all but their times; 0: they share a line. */
static int by_line(const TraceEvent *a, const TraceEvent *b) {
    const int differ[] = {a->cta - b->cta,   a->sm - b->sm,       (int)a->kind - (int)b->kind, a->warp - b->warp,
                          a->unit - b->unit, a->index - b->index, a->stage - b->stage,         a->bytes - b->bytes,
                          a->row - b->row,   a->col - b->col,     strcmp(a->name, b->name)};
    size_t i = 0;
    while (i + 1 < sizeof differ / sizeof differ[0] && differ[i] == 0) {
        i++;
    }
    return differ[i];
}

static int by_line_and_time(const void *x, const void *y) {
    const TraceEvent *a = *(const TraceEvent *const *)x, *b = *(const TraceEvent *const *)y;
    int order = by_line(a, b);
    return order != 0             ? order
           : a->begin != b->begin ? (a->begin < b->begin ? -1 : 1)
                                  : (a->end > b->end) - (a->end < b->end);
}

void recording_write(FILE *out, const Recording *recording) {
    const Trace *trace = &recording->trace;
    const TraceEvent **event = trace_memory(NULL, (trace->count + 1) * sizeof *event);
    uint64_t origin, end;
    for (size_t i = 0; i < trace->count; i++) {
        event[i] = &trace->event[i];
    }
    qsort(event, trace->count, sizeof *event, by_line_and_time);
    recording_span(recording, &origin, &end);
    fprintf(out, "# chapter %s\n# kernel %s\n# source %s\n# date %s\n# commit %s\n", recording->chapter,
            recording->kernel, trace->source, recording->date, recording->commit);
    fprintf(out, "# m %d\n# n %d\n# k %d\n# sms %d\n# ctas %d\n", recording->m, recording->n, recording->k,
            recording->sms, trace->ctas);
    for (int i = 0; i < trace->launches && trace->launches > 1; i++) {
        fprintf(out, "# launch %s %d\n", trace->launch[i].name, trace->launch[i].ctas);
    }
    fprintf(out, "# unit %s\n# units_a_second %.17g\n# lost %llu\n%s", trace->unit, trace->units_a_second,
            (unsigned long long)trace->lost, columns);
    for (size_t i = 0, spans = 0; i < trace->count; i++, spans++) {
        const TraceEvent *e = event[i];
        if (i == 0 || spans == SPANS_A_LINE || by_line(event[i - 1], e) != 0) {
            fprintf(out, "\n%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%s,", trace_kind_names[e->kind], e->cta, e->sm, e->warp,
                    e->unit, e->index, e->stage, e->bytes, e->row, e->col, e->name);
            spans = 0;
        }
        fprintf(out, "%s%llu:%llu", spans ? " " : "", (unsigned long long)(e->begin - origin),
                (unsigned long long)(e->end - origin));
    }
    fputc('\n', out);
    free(event);
}

static int refuse(const char *path, long line, const char *what) {
    fprintf(stderr, "%s, line %ld: %s\n", path, line, what);
    return 0;
}

static void copy_text(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from); }

/* "KERNEL CTAS" */
static int read_launch(const char *value, Trace *trace) {
    TraceLaunch *next = &trace->launch[trace->launches];
    const char *ctas = strrchr(value, ' '); /* a name may have blanks: "kernel of device 1" */
    if (trace->launches == MAX_TRACE_LAUNCHES || ctas == NULL || ctas == value ||
        sscanf(ctas, "%d", &next->ctas) != 1) {
        return 0;
    }
    snprintf(next->name, sizeof next->name, "%.*s", (int)(ctas - value), value);
    next->first_cta = trace->launches > 0 ? next[-1].first_cta + next[-1].ctas : 0;
    trace->launches++;
    return 1;
}

/* "# name value" */
static int read_about(const char *line, Recording *r) {
    char name[24] = "";
    int at = 0;
    if (sscanf(line, "# %23s %n", name, &at) != 1) {
        return 0;
    }
    const char *value = line + (at > 0 ? at : (int)strlen(line));
    int *const number = strcmp(name, "m") == 0      ? &r->m
                        : strcmp(name, "n") == 0    ? &r->n
                        : strcmp(name, "k") == 0    ? &r->k
                        : strcmp(name, "sms") == 0  ? &r->sms
                        : strcmp(name, "ctas") == 0 ? &r->trace.ctas
                                                    : NULL;
    if (number) {
        *number = atoi(value);
    } else if (strcmp(name, "launch") == 0) {
        return read_launch(value, &r->trace);
    } else if (strcmp(name, "chapter") == 0) {
        copy_text(r->chapter, sizeof r->chapter, value);
    } else if (strcmp(name, "kernel") == 0) {
        copy_text(r->kernel, sizeof r->kernel, value);
    } else if (strcmp(name, "source") == 0) {
        copy_text(r->trace.source, sizeof r->trace.source, value);
    } else if (strcmp(name, "date") == 0) {
        copy_text(r->date, sizeof r->date, value);
    } else if (strcmp(name, "commit") == 0) {
        copy_text(r->commit, sizeof r->commit, value);
    } else if (strcmp(name, "lost") == 0) {
        r->trace.lost = strtoull(value, NULL, 10);
    } else if (strcmp(name, "units_a_second") == 0) {
        r->trace.units_a_second = strtod(value, NULL);
    } else if (strcmp(name, "unit") == 0) {
        r->trace.unit = strcmp(value, "steps") == 0 ? "steps" : "cycles";
    } else {
        return 0;
    }
    return 1;
}

/* What the events of a line have in common. Returns what follows, their times; NULL if it is no event. */
static const char *read_common(const char *line, TraceEvent *e) {
    char kind[24] = "";
    int at = 0;
    memset(e, 0, sizeof *e);
    if (sscanf(line, "%23[^,],%d,%d,%d,%d,%d,%d,%d,%d,%d,%n", kind, &e->cta, &e->sm, &e->warp, &e->unit, &e->index,
               &e->stage, &e->bytes, &e->row, &e->col, &at) != 10 ||
        at == 0) {
        return NULL;
    }
    size_t length = strcspn(line + at, ",");
    snprintf(e->name, sizeof e->name, "%.*s", (int)length, line + at);
    for (int i = 0; i < TRACE_KINDS; i++) {
        if (strcmp(kind, trace_kind_names[i]) == 0 && line[at + (int)length] == ',') {
            e->kind = (TraceKind)i;
            return line + at + length + 1;
        }
    }
    return NULL;
}

/* Adds an event for each "begin:end" of `spans`. 0: it is something else. */
static int read_spans(const char *spans, TraceEvent e, Trace *trace) {
    do {
        unsigned long long begin, end;
        int length = 0;
        if (sscanf(spans, "%llu:%llu%n", &begin, &end, &length) != 2 || begin > end || !strchr(" ", spans[length])) {
            return 0;
        }
        e.begin = begin;
        e.end = end;
        trace_add(trace, e);
        spans += length + (spans[length] == ' ');
    } while (*spans);
    return 1;
}

int recording_read(FILE *in, const char *path, Recording *recording) {
    Trace *trace = &recording->trace;
    char line[512];
    int header = 0;
    memset(recording, 0, sizeof *recording);
    for (long number = 1; fgets(line, sizeof line, in); number++) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#') {
            if (!read_about(line, recording)) {
                return refuse(path, number, "not a line that --trace-events writes");
            }
            continue;
        }
        if (!header) {
            header = strcmp(line, columns) == 0;
            if (!header) {
                return refuse(path, number, "not the columns that --trace-events writes");
            }
            continue;
        }
        TraceEvent common;
        const char *spans = read_common(line, &common);
        if (spans == NULL || !read_spans(spans, common, trace)) {
            return refuse(path, number, "not an event");
        }
    }
    if (trace->count == 0 || !trace->unit || !recording->chapter[0]) {
        return refuse(path, 1, "the file holds no recorded events");
    }
    qsort(trace->event, trace->count, sizeof *trace->event, by_begin);
    return 1;
}

void trace_free_events(Trace *trace) {
    free(trace->event);
    trace->event = NULL;
    trace->count = 0;
}

void remove_output(const char *path) {
    struct stat what;
    if (lstat(path, &what) == 0 && S_ISREG(what.st_mode)) {
        remove(path);
    }
}
