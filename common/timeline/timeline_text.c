/* timeline_text.c - a timeline in the terminal: one column is a stretch of time, its letter what took most of it. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LABEL_COLUMNS = 17, SHARE_COLUMNS = 10, LEAST_COLUMNS = 60, MOST_COLUMNS = 400, DEFAULT_COLUMNS = 100 };

int terminal_columns(FILE *out) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int found = isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                : columns && atoi(columns) > 0                                                       ? atoi(columns)
                                                                                                     : DEFAULT_COLUMNS;
    return found < LEAST_COLUMNS ? LEAST_COLUMNS : found > MOST_COLUMNS ? MOST_COLUMNS : found;
}

/* The look that takes most of [begin, end); LOOKS if nothing does. */
static Look look_between(const Row *row, uint64_t begin, uint64_t end) {
    uint64_t taken[LOOKS] = {0}; /* times TENSOR_CORES */
    Look best = LOOKS;
    for (size_t i = 0; i < row->count && row->span[i].begin < end; i++) {
        const Span *span = &row->span[i];
        uint64_t from = span->begin > begin ? span->begin : begin, to = span->end < end ? span->end : end;
        taken[span->look] += to > from ? (to - from) * (uint64_t)span->level : 0;
    }
    for (int look = 0; look < LOOKS; look++) {
        if (taken[look] > (best == LOOKS ? (end - begin) * TENSOR_CORES / 3 : taken[best])) {
            best = (Look)look;
        }
    }
    return best;
}

/* A blank line of text, and a label in it at `time`, if it fits. cut: its end may be missing. Returns how many fit. */
static void start_line(char line[MOST_COLUMNS + 1], int width) {
    memset(line, ' ', (size_t)width);
    line[width] = 0;
}
static int put_label(char *line, int width, const Timeline *t, uint64_t time, const char *label, int cut) {
    uint64_t from = time > t->window_begin ? time - t->window_begin : 0;
    int column = (int)((double)from * width / (double)(t->window_end - t->window_begin)), length = (int)strlen(label);
    length = cut && length > width - column ? width - column : length;
    if (column + length > width) {
        return 0;
    }
    memcpy(line + column, label, (size_t)length);
    return 1;
}

static void print_axis(FILE *out, const Timeline *t, int width) {
    char line[MOST_COLUMNS + 1], number[24];
    uint64_t from = t->window_begin - t->begin, to = t->window_end - t->begin;
    double least = (double)(to - from) * 12 / width;
    uint64_t step = least > 1 ? (uint64_t)timeline_step(least) : 1;
    start_line(line, width);
    for (uint64_t at = (from + step - 1) / step * step; at < to; at += step) {
        snprintf(number, sizeof number, "|%llu", (unsigned long long)at);
        put_label(line, width, t, t->begin + at, number, 0);
    }
    fprintf(out, "%*s%s %s\n", LABEL_COLUMNS, "", line, t->recording->trace.unit);
}

/* Where the tiles of a row begin, where a CTA has more than one. */
static void print_tiles(FILE *out, const Timeline *t, int row, int width) {
    char line[MOST_COLUMNS + 1], name[32];
    int marks = 0;
    start_line(line, width);
    for (const TileMark *tile = t->tile; tile < t->tile + t->tiles; tile++) {
        if (tile->line == row && tile->begin < t->window_end && tile->end > t->window_begin) {
            snprintf(name, sizeof name, "|tile %d,%d", tile->row, tile->col);
            marks += put_label(line, width, t, tile->begin, name, 0);
        }
    }
    if (marks > 1) {
        fprintf(out, "%*s%s\n", LABEL_COLUMNS, "", line);
    }
}

/* Where each launch begins: from there on its kernel's name, between bars. */
static void print_launches(FILE *out, const Timeline *t, int width) {
    char line[MOST_COLUMNS + 1], name[64];
    start_line(line, width);
    for (const Part *part = t->part; part < t->part + t->parts; part++) {
        if (part->cta >= 0 && part->begin < t->window_end && part->end > t->window_begin) {
            snprintf(name, sizeof name, "|%s", t->recording->trace.launch[part->launch].name);
            put_label(line, width, t, part->begin, name, 1);
        }
    }
    fprintf(out, "%-*s%s\n", LABEL_COLUMNS, "kernels", line);
}

/* Above the rows of a launch, where there are several. */
static void print_part(FILE *out, const Timeline *t, int i) {
    const Part *part = &t->part[i];
    const TraceLaunch *launch = &t->recording->trace.launch[part->launch];
    char text[96];
    if (part->cta < 0) {
        fprintf(out, "\n%s, %d CTAs: none ran on this SM\n", launch->name, launch->ctas);
    } else {
        int rows = part->rows - (i > 0 ? t->part[i - 1].rows : 0);
        fprintf(out, "\n%s, from %llu", recording_cta_text(t->recording, part->cta, text, sizeof text),
                (unsigned long long)(part->begin - t->begin));
        if (rows > 0) {
            fprintf(out, " to %llu\n", (unsigned long long)(part->end - t->begin));
        } else {
            fprintf(out, "; nothing else of it is recorded\n");
        }
    }
}

static void print_legend(FILE *out, const Timeline *t, int columns) {
    int used = 0, column = 0;
    for (int r = 0; r < t->rows; r++) {
        for (size_t i = 0; i < t->row[r].count; i++) {
            used |= 1 << t->row[r].span[i].look;
        }
    }
    for (int look = 0; look < LOOKS; look++) {
        if (used >> look & 1) {
            int length = (int)strlen(looks[look].legend) + 4;
            if (column && column + length > columns) {
                fprintf(out, "\n");
                column = 0;
            }
            column += fprintf(out, "%s%c %s", column ? "  " : "", looks[look].letter, looks[look].legend);
        }
    }
    fprintf(out, "\n");
}

/* A sentence, its later lines indented. */
static void print_wrapped(FILE *out, const char *text, int columns) {
    int column = 0;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column && column + 1 + length > columns) {
            column = fprintf(out, "\n   ") - 1;
        }
        column += fprintf(out, "%s%.*s", column ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
    fprintf(out, "\n");
}

static void print_figures(FILE *out, const Timeline *t, int columns) {
    const Recording *r = t->recording;
    char text[256];
    uint64_t begin, end;
    recording_span(r, &begin, &end);
    if (recording_peak(r) > 0) {
        int length =
            snprintf(text, sizeof text, "tensor cores had work in %.1f %% of the window, %.1f %% of %s time",
                     100 * recording_busy(r, -1, t->window_begin, t->window_end),
                     100 * recording_busy(r, -1, t->begin, t->end), t->parts > 1 ? "all launches'" : "this CTA's");
        if (r->trace.ctas > 1) {
            snprintf(text + length, sizeof text - (size_t)length, ", %.1f %% of the %llu %s of its SM",
                     100 * recording_busy(r, -1, begin, end), (unsigned long long)(end - begin), r->trace.unit);
        }
        print_wrapped(out, text, columns);
    }
    if (recording_efficiency(r) > 0) {
        snprintf(text, sizeof text,
                 "FLOP of the SM's tiles / (its cycles x peak): %.1f %%, at %d multiply-adds a cycle at best",
                 100 * recording_efficiency(r), recording_peak(r));
        print_wrapped(out, text, columns);
    }
    if (r->trace.lost) {
        snprintf(text, sizeof text, "%llu events were lost: there was no room for them",
                 (unsigned long long)r->trace.lost);
        print_wrapped(out, text, columns);
    }
}

void timeline_print(FILE *out, const Timeline *t, int columns) {
    const Recording *r = t->recording;
    int width = columns - LABEL_COLUMNS - SHARE_COLUMNS;
    uint64_t from = t->window_begin, length = t->window_end - t->window_begin;
    char what[32];
    snprintf(what, sizeof what, t->parts > 1 ? "%d launches" : "CTA %d", t->parts > 1 ? t->parts : t->cta);
    fprintf(out, "timeline of %s, %s %llu to %llu of %llu\n", what, r->trace.unit,
            (unsigned long long)(from - t->begin), (unsigned long long)(t->window_end - t->begin),
            (unsigned long long)(t->end - t->begin));
    if (t->window_end < t->end) {
        fprintf(out, "(--trace FILE has what follows)\n");
    }
    if (r->trace.units_a_second == 0) {
        fprintf(out, "(steps show order and overlap; they are not time)\n");
    }
    print_axis(out, t, width);
    int part = 0;
    if (t->parts > 1) {
        print_launches(out, t, width);
    }
    for (int i = 0; i < t->rows; i++) {
        const Row *row = &t->row[i];
        int first = 0; /* of its launch */
        for (; t->parts > 1 && part < t->parts && (part == 0 ? 0 : t->part[part - 1].rows) <= i; part++) {
            print_part(out, t, part);
            first = 1;
        }
        if (i > 0 && !first && row->kind != t->row[i - 1].kind && row->kind != ROW_PRODUCTS) {
            fprintf(out, "\n");
        }
        if (row->kind == ROW_WARP) {
            print_tiles(out, t, i, width);
        }
        fprintf(out, "%-*s", LABEL_COLUMNS, row->label);
        for (int column = 0; column < width; column++) {
            uint64_t begin = from + length * (uint64_t)column / (uint64_t)width;
            uint64_t end = from + length * ((uint64_t)column + 1) / (uint64_t)width;
            Look look = look_between(row, begin, end > begin ? end : begin + 1);
            fputc(look == LOOKS ? ' ' : looks[look].letter, out);
        }
        int percent = (int)(100 * (row->kind == ROW_WARP ? row->waiting : row->busy) + 0.5);
        if (recording_peak(r) > 0) { /* 01 waits inside of what is one span here */
            fprintf(out, "%4d%% %s", percent, row->kind == ROW_WARP ? "wait" : "busy");
        }
        fputc('\n', out);
    }
    for (; t->parts > 1 && part < t->parts; part++) {
        print_part(out, t, part);
    }
    fprintf(out, "\n");
    print_legend(out, t, columns);
    print_figures(out, t, columns);
}
