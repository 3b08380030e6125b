/* draw.c - from recorded events to stdout, on any machine.
 *
 *     draw text FILE.csv       the timeline of a CTA, for the terminal
 *     draw svg FILE.csv        the same as a picture
 *     draw kept FILE.csv       of the events those that the pictures show, as a file again */
#include <stdlib.h>
#include <string.h>

#include "timeline/gpu_trace.h"
#include "timeline/timeline.h"

/* Of the CTA that is drawn: products, and what the warps that have a row and the asynchronous units do. Of the others
 * all; but where nobody uses the tensor cores only what says when the SM begins and ends. */
static int is_shown(const Timeline *t, const TraceEvent *e) {
    int warp = e->kind == TRACE_COPY ? e->unit : e->warp, shown = warp < 0 || e->kind == TRACE_MMA;
    if (e->cta != t->cta) {
        uint64_t begin, end;
        recording_span(t->recording, &begin, &end);
        return recording_peak(t->recording) > 0 || (e->warp < 0 && (e->begin == begin || e->end == end));
    }
    for (int r = 0; r < t->rows; r++) {
        shown |= t->row[r].kind == ROW_WARP && t->row[r].number == warp;
    }
    return shown;
}

static void write_shown(const Timeline *t) {
    Recording kept = *t->recording;
    kept.trace.event = NULL;
    kept.trace.count = 0;
    for (size_t i = 0; i < t->recording->trace.count; i++) {
        if (is_shown(t, &t->recording->trace.event[i])) {
            trace_add(&kept.trace, t->recording->trace.event[i]);
        }
    }
    recording_write(stdout, &kept);
    trace_free_events(&kept.trace);
}

static int draw_one(const char *what, const Recording *recording) {
    Timeline timeline;
    TimelineView view = {recording_whole_cta(recording), 0, 0};
    int good = timeline_open(&timeline, recording, &view);
    if (good && strcmp(what, "text") == 0) {
        timeline_print(stdout, &timeline, terminal_columns(stdout));
    } else if (good && strcmp(what, "svg") == 0) {
        timeline_svg(stdout, &timeline);
    } else if (good) {
        write_shown(&timeline);
    }
    timeline_close(&timeline);
    return good;
}

int main(int argc, char *argv[]) {
    static Recording recording;
    if (argc != 3 || !strstr("text svg kept", argv[1])) {
        fprintf(stderr, "usage: draw text|svg|kept FILE.csv\n");
        return 2;
    }
    FILE *in = fopen(argv[2], "r");
    if (!in) {
        fprintf(stderr, "%s: cannot be read\n", argv[2]);
        return 2;
    }
    int good = recording_read(in, argv[2], &recording) && draw_one(argv[1], &recording);
    fclose(in);
    trace_free_events(&recording.trace);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "draw: stdout could not be written\n");
        good = 0;
    }
    return good ? 0 : 2;
}
