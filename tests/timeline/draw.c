/* draw.c - pictures from recorded events, on any machine.
 *
 *     draw FILE.csv                   the timeline in the terminal
 *     draw FILE.csv PICTURE.svg       one CTA
 *     draw PICTURE.svg FILE.csv ...   the tensor cores of all of them on one time axis */
#include <stdlib.h>
#include <string.h>

#include "timeline/timeline.h"

enum { MAX_FILES = 16 };

static int ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

static int load(const char *path, Recording *recording) {
    FILE *in = fopen(path, "r");
    if (!in) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 0;
    }
    int good = recording_read(in, path, recording);
    fclose(in);
    return good;
}

static FILE *create(const char *path) {
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "%s: cannot be opened for writing\n", path);
    }
    return out;
}

static int finish(FILE *out, const char *path) {
    int bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        fprintf(stderr, "%s: could not be written\n", path);
        remove_output(path);
        return 2;
    }
    return 0;
}

static int draw_one(const char *from, const char *to) {
    Recording recording;
    Timeline timeline;
    int columns = terminal_columns(stdout), status = 2;
    TimelineView view = {-1, 0, 0, 0, to ? SVG_K_TILES : columns / 20};
    if (!load(from, &recording)) {
        return 2;
    }
    view.cta = recording_whole_cta(&recording);
    if (timeline_open(&timeline, &recording, &view)) {
        if (!to) {
            timeline_print(stdout, &timeline, columns);
            status = 0;
        } else {
            FILE *out = create(to);
            if (out) {
                timeline_svg(out, &timeline);
                status = finish(out, to);
            }
        }
    }
    timeline_close(&timeline);
    trace_free_events(&recording.trace);
    return status;
}

static int draw_all(const char *to, char *const *from, int count) {
    static Recording recording[MAX_FILES];
    int read = 0, status = 2;
    while (read < count && load(from[read], &recording[read])) {
        const Recording *r = &recording[read], *first = &recording[0];
        if (r->m != first->m || r->n != first->n || r->k != first->k ||
            strcmp(r->trace.source, first->trace.source) != 0) {
            fprintf(stderr, "%s: another problem or another place than %s\n", from[read], from[0]);
            break;
        }
        read++;
    }
    if (read == count) {
        FILE *out = create(to);
        if (out) {
            timelines_svg(out, recording, count);
            status = finish(out, to);
        }
    }
    for (int i = 0; i < read; i++) {
        trace_free_events(&recording[i].trace);
    }
    return status;
}

int main(int argc, char *argv[]) {
    if ((argc == 2 || argc == 3) && ends_in(argv[1], ".csv") && (argc == 2 || ends_in(argv[2], ".svg"))) {
        return draw_one(argv[1], argc == 3 ? argv[2] : NULL);
    }
    if (argc >= 3 && argc - 2 <= MAX_FILES && ends_in(argv[1], ".svg")) {
        return draw_all(argv[1], &argv[2], argc - 2);
    }
    fprintf(stderr, "usage: draw FILE.csv [PICTURE.svg] | draw PICTURE.svg FILE.csv ... (at most %d)\n", MAX_FILES);
    return 2;
}
