/* draw.c - from recorded events to stdout, on any machine.
 *
 *     draw text FILE.csv       the timeline of a CTA, for the terminal
 *     draw svg FILE.csv        the same as a picture
 *     draw kept FILE.csv       of the events those that the pictures show, as a file again
 *     draw all [-t RECORDING.csv] FILE.csv ...    a picture of the tensor cores of all of them on one time axis
 *
 * -t names a table of launches, tests/bench/results/..._recording.csv. If it knows for every FILE how long such a launch takes
 * unrecorded, on that GPU and at that size, bars have that length; else that of the events. */
#include <stdlib.h>
#include <string.h>

#include "timeline/timeline.h"

enum { MAX_FILES = 16 };

/* Of the CTA that is drawn: products, and what the warps that have a row and the asynchronous units do. Of the others all;
 * but where nobody uses the tensor cores only what says when the SM begins and ends. */
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

static int write_shown(const Timeline *t) {
    Recording kept = *t->recording;
    kept.trace.event = malloc((kept.trace.count + 1) * sizeof *kept.trace.event);
    kept.trace.count = 0;
    for (size_t i = 0; kept.trace.event && i < t->recording->trace.count; i++) {
        if (is_shown(t, &t->recording->trace.event[i])) {
            kept.trace.event[kept.trace.count++] = t->recording->trace.event[i];
        }
    }
    int good = kept.trace.event && recording_write(stdout, &kept);
    trace_free_events(&kept.trace);
    return good;
}

static int draw_one(const char *what, const Recording *recording) {
    Timeline timeline;
    TimelineView view = {recording_whole_cta(recording), 0, 0, 0};
    int good = timeline_open(&timeline, recording, &view);
    if (good && strcmp(what, "text") == 0) {
        timeline_print(stdout, &timeline, terminal_columns(stdout));
    } else if (good && strcmp(what, "svg") == 0) {
        timeline_svg(stdout, &timeline);
    } else if (good) {
        good = write_shown(&timeline);
    }
    timeline_close(&timeline);
    return good;
}

/* Reads it into r[count]. */
static int load(const char *path, Recording *r, int count) {
    FILE *in = fopen(path, "r");
    if (!in) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 0;
    }
    int good = recording_read(in, path, &r[count]);
    fclose(in);
    if (good && (r[count].m != r->m || r[count].n != r->n || r[count].k != r->k ||
                 strcmp(r[count].trace.source, r->trace.source) != 0)) {
        fprintf(stderr, "%s: another problem or another place than the first\n", path);
        good = 0;
    }
    return good;
}

/* Microseconds of an unrecorded launch of that chapter, of the last row that is of the same GPU and size; 0 if the file has none,
 * -1 after a line on stderr: it cannot be read. */
static double timed_us(const char *path, const Recording *r) {
    static const char head[] = "gpu,date,commit,m,n,k,kernel,untraced_us,";
    char line[512], gpu[96];
    double found = 0;
    FILE *in = fopen(path, "r");
    if (!in || !fgets(line, sizeof line, in) || strncmp(line, head, strlen(head)) != 0) {
        fprintf(stderr, "%s: no table of unrecorded launches\n", path);
        found = -1;
    }
    while (found >= 0 && fgets(line, sizeof line, in)) {
        int m, n, k, number;
        double us;
        if (sscanf(line, "%95[^,],%*[^,],%*[^,],%d,%d,%d,%d,%lf", gpu, &m, &n, &k, &number, &us) == 6 && us > 0 &&
            strcmp(gpu, r->trace.source) == 0 && m == r->m && n == r->n && k == r->k && number == atoi(r->chapter)) {
            found = us;
        }
    }
    if (in) {
        fclose(in);
    }
    return found;
}

int main(int argc, char *argv[]) {
    static Recording recording[MAX_FILES];
    const char *what = argc > 1 ? argv[1] : "";
    int all = strcmp(what, "all") == 0, timed = all && argc > 3 && strcmp(argv[2], "-t") == 0;
    int first = timed ? 4 : 2, count = 0, good = 1, known = timed;
    if (argc <= first || argc - first > (all ? MAX_FILES : 1) || (!all && !strstr("text svg kept", what))) {
        fprintf(stderr, "usage: draw text|svg|kept FILE.csv | draw all [-t RECORDING.csv] FILE.csv ... (at most %d)\n",
                MAX_FILES);
        return 2;
    }
    for (; good && count < argc - first; count++) {
        good = load(argv[first + count], recording, count);
    }
    double plain_us[MAX_FILES];
    for (int i = 0; good && timed && i < count; i++) {
        plain_us[i] = timed_us(argv[3], &recording[i]);
        good = plain_us[i] >= 0;
        known &= plain_us[i] > 0;
    }
    if (good && all) {
        timelines_svg(stdout, recording, count, known ? plain_us : NULL);
    } else if (good) {
        good = draw_one(what, recording);
    }
    for (int i = 0; i < count; i++) {
        trace_free_events(&recording[i].trace);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "draw: stdout could not be written\n");
        good = 0;
    }
    return good ? 0 : 2;
}
