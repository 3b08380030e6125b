/* timeline_svg.c - timelines as SVG for a page of 960 pixels, for light and dark. */
#include "timeline.h"

#include "gpu_trace.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 960,
    LEFT = 126,  /* the plot: right of the labels, */
    RIGHT = 872, /* left of the shares */
    TOP = 62,    /* under the title */
    WARP_HEIGHT = 20,
    TENSOR_HEIGHT = 20,
    LANE_HEIGHT = 7, /* of an asynchronous unit */
    GAP = 4,
    GROUP_GAP = 10,
    TILE_HEIGHT = 12, /* names of tiles above a row */
    MAX_LANES = 8,
    MOST_LINES = 48, /* from loads to waits; more are not readable */
};

/* Waits that are pale alike have a pattern each; all others differ in brightness: pictures are also read in grey. */
static const struct {
    const char *name, *mark;
    int size, turn;
} patterns[] = {
    {"idle", "rect width=\"2\" height=\"6\"", 6, 45}, {"r", "circle cx=\"2\" cy=\"2\" r=\"1\"", 5, 45},
    {"u", "rect width=\"2\" height=\"6\"", 6, -45},   {"b", "rect width=\"4\" height=\"1.5\"", 4, 0},
    {"t", "rect width=\"1.5\" height=\"4\"", 4, 0},
};

/* Plain values, a dark page's in a media query: programs that know neither it nor CSS variables show the light one. */
static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif;font-size:11px;fill:#1f2328}\n"
    ".title{font-size:15px;font-weight:600}.soft{fill:#59636e}.small{font-size:9.5px}.end{text-anchor:end}"
    ".mid{text-anchor:middle}\n"
    ".page{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}.land{stroke:#2f74d0;stroke-width:.8;opacity:.55;fill:none}"
    "\n"
    ".tile{stroke:#1f2328;stroke-width:1;opacity:.6}.frame{stroke:#1f2328;stroke-width:1;fill:none}\n"
    ".m{fill:#12693f}.p{fill:#d5eede}.f{fill:#7a4bd0}.d{fill:#f2b5a7}.l{fill:#2f74d0}.e{fill:#e6b010}.s{fill:#a8730d}"
    ".o{fill:#7d8690}\n"
    ".idle{fill:url(#idle)}.idle0{fill:#fbe3df}.idle1{fill:#e9a79c}.r{fill:url(#r)}.r0{fill:#eef1f4}.r1{fill:#98a2ad}\n"
    ".u{fill:url(#u)}.u0{fill:#f0def5}.u1{fill:#b06fc4}.b{fill:url(#b)}.b0{fill:#fdf0dc}.b1{fill:#d99a3d}"
    ".t{fill:url(#t)}.t0{fill:#f3ecd2}.t1{fill:#a8965a}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.soft{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#2b323b}.land{stroke:#5a9bf2}\n"
    ".tile{stroke:#e6edf3}.frame{stroke:#e6edf3}\n"
    ".m{fill:#66eaac}.p{fill:#1b482f}.f{fill:#8c63d6}.d{fill:#b8442f}.l{fill:#5a9bf2}.e{fill:#c9951f}.s{fill:#c08d2e}"
    ".o{fill:#4a525b}\n"
    ".idle0{fill:#33191a}.idle1{fill:#7d3a34}.r0{fill:#20262d}.r1{fill:#6b7681}.u0{fill:#43274b}.u1{fill:#a468b4}"
    ".b0{fill:#49341a}.b1{fill:#b07d36}.t0{fill:#3a3219}.t1{fill:#8d7a40}}\n"
    "</style>\n";

static void escaped(FILE *out, const char *s) {
    for (; *s; s++) {
        switch (*s) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*s, out);
        }
    }
}

static void put_text(FILE *out, double x, double y, const char *class, const char *s) {
    if (!*s) {
        return;
    }
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    escaped(out, s + strspn(s, " "));
    fprintf(out, "</text>\n");
}

static void head(FILE *out, int height, const char *title, const char *what) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
            "<title>%s</title>\n<desc>",
            WIDTH, height, WIDTH, height, title);
    escaped(out, what);
    fprintf(out, "</desc>\n%s<defs>", style);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const char *name = patterns[i].name;
        int size = patterns[i].size;
        fprintf(out,
                "<pattern id=\"%s\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\" "
                "patternTransform=\"rotate(%d)\"><rect width=\"%d\" height=\"%d\" class=\"%s0\"/><%s class=\"%s1\"/>"
                "</pattern>\n",
                name, size, size, patterns[i].turn, size, size, name, patterns[i].mark, name);
    }
    fprintf(out, "</defs>\n<rect width=\"%d\" height=\"%d\" class=\"page\"/>\n", WIDTH, height);
}

/* ---- the plot's width is a stretch of time ----------------------------------------------------------------------- */

typedef struct {
    double begin, end;
} Scale;

static double x_of(const Scale *s, double time) {
    double x = LEFT + (time - s->begin) / (s->end - s->begin) * (RIGHT - LEFT);
    return x < LEFT ? LEFT : x > RIGHT ? RIGHT : x;
}

static void grid(FILE *out, const Scale *s, double zero, double top, double bottom, const char *unit) {
    double step = timeline_step((s->end - s->begin) / 9);
    for (double at = 0; zero + at <= s->end; at += step) {
        if (zero + at >= s->begin) {
            char number[32];
            double x = x_of(s, zero + at);
            fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, top, bottom + 4);
            snprintf(number, sizeof number, "%g", at);
            put_text(out, x, bottom + 16, "soft small mid", number);
        }
    }
    put_text(out, RIGHT + 30, bottom + 16, "soft small", unit);
}

/* ---- one CTA ----------------------------------------------------------------------------------------------------- */

typedef struct {
    double y, height;
    int lanes;
    int tiles; /* their names are above */
} Place;

/* The lane of each span of an asynchronous row: the first that is free. Returns how many there are. */
static int lanes_of(const Row *row, int *lane) {
    uint64_t until[MAX_LANES] = {0};
    int lanes = 1;
    for (size_t i = 0; i < row->count; i++) {
        int at = 0;
        while (at < MAX_LANES - 1 && until[at] > row->span[i].begin) {
            at++;
        }
        until[at] = row->span[i].end;
        lane[i] = at;
        lanes = at + 1 > lanes ? at + 1 : lanes;
    }
    return lanes;
}

/* A path of rectangles. Its moves are relative and in tenths of a pixel, which keeps it short. */
typedef struct {
    FILE *out;
    int x, y; /* where it is */
} Pen;

static void put_tenths(Pen *pen, const char *command, int tenths) {
    fprintf(pen->out, "%s%s%d", command, tenths < 0 ? "-" : "", abs(tenths) / 10);
    if (tenths % 10) {
        fprintf(pen->out, ".%d", abs(tenths) % 10);
    }
}

/* Loads that follow each other stay apart. A path need not be closed to be filled. */
static void put_bar(Pen *pen, double begin, double end, double top, double height, Look look) {
    double width = end - begin - (look == LOOK_LOAD ? 0.7 : 0);
    int x = (int)(begin * 10 + 0.5), y = (int)(top * 10 + 0.5), down = (int)(height * 10 + 0.5);
    int right = (int)((width < 0.4 ? 0.4 : width) * 10 + 0.5);
    put_tenths(pen, "m", x - pen->x);
    put_tenths(pen, y < pen->y ? "" : " ", y - pen->y);
    put_tenths(pen, "h", right);
    put_tenths(pen, "v", down);
    put_tenths(pen, "h", -right);
    pen->x = x;
    pen->y = y + down;
}

/* The spans of one look and level, in one path: as high as the share of the tensor cores that has work. Those that lie
 * less than half a pixel apart become one. */
static void draw_look(FILE *out, const Scale *s, const Row *row, Look look, int level, const int *lane,
                      const Place *place, double height) {
    double open[MAX_LANES], until[MAX_LANES], bar = (height - (place->lanes > 1)) * level / TENSOR_CORES;
    double top = height - (place->lanes > 1) - bar;
    Pen pen = {NULL, 0, 0};
    for (int i = 0; i < MAX_LANES; i++) {
        open[i] = -1;
    }
    for (size_t i = 0; i < row->count; i++) {
        const Span *span = &row->span[i];
        if (span->look != look || span->level != level || (double)span->end <= s->begin ||
            (double)span->begin >= s->end) {
            continue;
        }
        int at = lane ? lane[i] : 0;
        double begin = x_of(s, (double)span->begin), end = x_of(s, (double)span->end);
        if (open[at] >= 0 && begin - until[at] < 0.5 && look != LOOK_LOAD) {
            until[at] = end;
            continue;
        }
        if (!pen.out) {
            fprintf(out, "<path class=\"%s\" d=\"", looks[look].css);
            pen.out = out;
        }
        if (open[at] >= 0) {
            put_bar(&pen, open[at], until[at], place->y + at * height + top, bar, look);
        }
        open[at] = begin;
        until[at] = end;
    }
    for (int at = 0; at < MAX_LANES; at++) {
        if (open[at] >= 0) {
            put_bar(&pen, open[at], until[at], place->y + at * height + top, bar, look);
        }
    }
    if (pen.out) {
        fprintf(out, "\"/>\n");
    }
}

static int tiles_of_row(const Timeline *t, int line) {
    int tiles = 0;
    for (size_t i = 0; i < t->tiles; i++) {
        tiles += t->tile[i].line == line;
    }
    return tiles;
}

/* Whether a row's tiles are named: where the CTA has several, by those that multiply. */
static int names_tiles(const Timeline *t, int line) {
    int most = 0;
    for (int r = 0; r < t->rows; r++) {
        int tiles = tiles_of_row(t, r);
        most = tiles > most ? tiles : most;
    }
    return t->row[line].kind == ROW_WARP && most > 1 && tiles_of_row(t, line) > 0;
}

static void draw_tiles(FILE *out, const Scale *s, const Timeline *t, int line, const Place *place) {
    for (size_t i = 0; i < t->tiles; i++) {
        const TileMark *tile = &t->tile[i];
        if (tile->line == line && (double)tile->begin >= s->begin && (double)tile->begin < s->end) {
            char name[40];
            double x = x_of(s, (double)tile->begin);
            snprintf(name, sizeof name, "tile %d,%d", tile->row, tile->col);
            fprintf(out, "<path class=\"tile\" d=\"M%.1f %.1fV%.1f\"/>", x, place->y - TILE_HEIGHT + 2,
                    place->y + place->height);
            if (x < RIGHT - 40) {
                put_text(out, x + 3, place->y - 3, "soft small", name);
            }
        }
    }
}

/* From the end of a load to the end of the wait for it, once for the loads of a stage that land together. */
static void draw_landed(FILE *out, const Scale *s, const Timeline *t, const Place *place) {
    const LandedLoad **shown = trace_memory(NULL, (t->landed_count + 1) * sizeof *shown);
    size_t lines = 0;
    for (const LandedLoad *l = t->landed; l < t->landed + t->landed_count; l++) {
        if ((lines == 0 || l->wait != shown[lines - 1]->wait) && (double)l->load->end >= s->begin &&
            (double)l->wait->end <= s->end) {
            shown[lines++] = l;
        }
    }
    for (size_t i = 0; i < lines && lines <= MOST_LINES; i++) {
        const LandedLoad *l = shown[i];
        fprintf(out, "%sM%.1f %.1fL%.1f %.1f%s", i == 0 ? "<path class=\"land\" d=\"" : "",
                x_of(s, (double)l->load->end), place[l->load_row].y + place[l->load_row].height,
                x_of(s, (double)l->wait->end), place[l->wait_row].y, i + 1 == lines ? "\"/>\n" : "");
    }
    free(shown);
}

static int text_width(const char *s) { return (int)strlen(s) * 6; }

/* Returns the y below it. out NULL: only measures. */
static double legend(FILE *out, double y, unsigned used, int idle) {
    double x = LEFT;
    for (int i = 0; i <= LOOKS; i++) {
        const char *name = i == LOOKS ? "tensor cores idle" : looks[i].legend;
        if (i == LOOKS ? !idle : !(used >> i & 1)) {
            continue;
        }
        if (x + 24 + text_width(name) > WIDTH - 8) {
            x = LEFT;
            y += 17;
        }
        if (out) {
            fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\" class=\"%s\"/>", x, y - 9,
                    i == LOOKS ? "idle" : looks[i].css);
            put_text(out, x + 19, y, "soft", name);
        }
        x += 34 + text_width(name);
    }
    return y + 8;
}

static void source_line(char *text, size_t size, const Recording *r) {
    if (r->trace.units_a_second > 0) {
        snprintf(text, size, "%s, %s, commit %s, a recorded launch.", r->trace.source, r->date, r->commit);
    } else {
        snprintf(text, size, "%s, %s. Steps show order and overlap; they are not time.", r->trace.source, r->date);
    }
}

/* What one drawing of the rows shows. */
typedef struct {
    Scale scale;
    int enlarged; /* a part of the picture above: no loads, no names of tiles, no shares */
    double y, bottom;
    Place *place; /* of each row; height 0: not shown */
} Panel;

static void place_rows(const Timeline *t, int *lane[], Panel *panel) {
    double y = panel->y;
    int before = -1;
    panel->place = trace_memory(NULL, (size_t)(t->rows + 1) * sizeof *panel->place);
    for (int i = 0; i < t->rows; i++) {
        const Row *row = &t->row[i];
        Place *place = &panel->place[i];
        memset(place, 0, sizeof *place);
        if (panel->enlarged && row->kind == ROW_ASYNC) {
            continue;
        }
        if (before >= 0 && row->kind != (RowKind)before && row->kind != ROW_PRODUCTS) {
            y += GROUP_GAP;
        }
        before = (int)row->kind;
        place->lanes = lane[i] ? lanes_of(row, lane[i]) : 1;
        place->tiles = !panel->enlarged && names_tiles(t, i);
        y += place->tiles ? TILE_HEIGHT : 0;
        place->y = y;
        place->height = row->kind == ROW_WARP     ? WARP_HEIGHT
                        : row->kind == ROW_TENSOR ? TENSOR_HEIGHT
                                                  : place->lanes * LANE_HEIGHT + (place->lanes == 1 ? 3 : 0);
        y += place->height + GAP;
    }
    panel->bottom = y;
}

static const Part *part_of_row(const Timeline *t, int row) {
    int part = 0;
    while (part + 1 < t->parts && t->part[part].rows <= row) {
        part++;
    }
    return &t->part[part];
}

static void draw_rows(FILE *out, const Timeline *t, int *lane[], const Panel *panel) {
    const Recording *r = t->recording;
    const Scale *s = &panel->scale;
    grid(out, s, (double)t->begin, panel->y - 6, panel->bottom, r->trace.unit);
    for (int i = 0; i < t->rows; i++) {
        const Row *row = &t->row[i];
        const Place *place = &panel->place[i];
        double height = row->kind == ROW_ASYNC && place->lanes > 1 ? LANE_HEIGHT : place->height;
        if (place->height <= 0) {
            continue;
        }
        put_text(out, LEFT - 8, place->y + place->height / 2 + 4,
                 row->kind == ROW_PRODUCTS || row->kind == ROW_ASYNC ? "soft end" : "end", row->label);
        if (row->kind == ROW_TENSOR) {
            double begin = x_of(s, (double)part_of_row(t, i)->begin), end = x_of(s, (double)part_of_row(t, i)->end);
            fprintf(out, "<rect x=\"%g\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"idle\"/>\n", begin, place->y,
                    end - begin, TENSOR_HEIGHT);
        }
        for (int look = 0; look < LOOKS; look++) {
            for (int level = 1; level <= TENSOR_CORES; level++) {
                draw_look(out, s, row, (Look)look, level, lane[i], place, height);
            }
        }
        if (!panel->enlarged && recording_peak(r) > 0) { /* 01 waits inside of what is one span here */
            char share[32];
            snprintf(share, sizeof share, row->kind == ROW_WARP ? "waits %.0f %%" : "works %.0f %%",
                     100 * (row->kind == ROW_WARP ? row->waiting : row->busy));
            put_text(out, RIGHT + 10, place->y + place->height / 2 + 4,
                     row->kind == ROW_ASYNC || row->kind == ROW_PRODUCTS ? "soft small" : "small", share);
        }
        if (place->tiles) {
            draw_tiles(out, s, t, i, place);
        }
    }
}

/* Around what the panel below enlarges: rows from the first warp's on. */
static void draw_frame(FILE *out, const Timeline *t, const Panel *panel, const Scale *part) {
    int first = 0;
    while (first < t->rows && t->row[first].kind != ROW_WARP) {
        first++;
    }
    if (first < t->rows) {
        double x = x_of(&panel->scale, part->begin), y = panel->place[first].y - 3;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"frame\"/>\n", x, y,
                x_of(&panel->scale, part->end) - x, panel->bottom - y - 1);
    }
}

/* Looks that can be seen, as bits 1 << Look: a legend for these. */
static unsigned looks_seen(const Timeline *t) {
    uint64_t drawn[LOOKS] = {0};
    unsigned seen = 0;
    for (int i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->row[i].count; j++) {
            const Span *span = &t->row[i].span[j];
            if (span->end > t->window_begin && span->begin < t->window_end) {
                drawn[span->look] += span->end - span->begin;
            }
        }
    }
    for (int i = 0; i < LOOKS; i++) {
        seen |= drawn[i] > (t->window_end - t->window_begin) / (i == LOOK_OTHER ? 10 : 100) ? 1u << i : 0;
    }
    return seen;
}

/* Where each launch but the first begins, and the names of all. */
static void draw_launches(FILE *out, const Scale *s, const Timeline *t, const Panel *panel) {
    for (int i = 0; i < t->parts && t->parts > 1; i++) {
        const Part *part = &t->part[i];
        double x = x_of(s, (double)part->begin);
        if (part->cta < 0 || (double)part->end <= s->begin || (double)part->begin >= s->end) {
            continue;
        }
        if ((double)part->begin > s->begin) {
            fprintf(out, "<path class=\"tile\" stroke-dasharray=\"4 3\" d=\"M%.1f %.1fV%.1f\"/>", x, panel->y - 14,
                    panel->bottom);
        }
        put_text(out, x + 3, panel->y - 8, "soft small", t->recording->trace.launch[part->launch].name);
    }
}

void timeline_svg(FILE *out, const Timeline *t) {
    const Recording *r = t->recording;
    Panel all = {.scale = {(double)t->window_begin, (double)t->window_end}, .y = TOP}, part = {.enlarged = 1};
    int **lane = trace_memory(NULL, (size_t)(t->rows + 1) * sizeof *lane);
    unsigned seen = looks_seen(t);
    for (int i = 0; i < t->rows; i++) {
        lane[i] = t->row[i].kind == ROW_ASYNC ? trace_memory(NULL, (t->row[i].count + 1) * sizeof *lane[i]) : NULL;
    }
    place_rows(t, lane, &all);
    double bottom = all.bottom;
    uint64_t begin, end;
    int enlarge = timeline_detail(t, &begin, &end);
    if (enlarge) {
        part.scale = (Scale){(double)begin, (double)end};
        part.y = all.bottom + 52;
        place_rows(t, lane, &part);
        bottom = part.bottom;
    }
    double legend_y = bottom + 40;
    double figures_y = legend(NULL, legend_y, seen, recording_peak(r) > 0) + 14;
    char title[200], what[300], text[256];
    char ctas[96];
    if (t->parts > 1) {
        snprintf(ctas, sizeof ctas, "%d launches", t->parts);
    } else {
        recording_cta_text(r, t->cta, ctas, sizeof ctas);
    }
    snprintf(title, sizeof title, "%s: %s", r->chapter, ctas);
    source_line(text, sizeof text, r);
    snprintf(what, sizeof what, "Timeline of a CTA. %s", text);
    head(out, (int)figures_y + 24, title, what);
    snprintf(title, sizeof title, "%s, %s: C is %d x %d, K = %d", r->chapter, ctas, r->m, r->n, r->k);
    put_text(out, 12, 24, "title", title);
    put_text(out, 12, 42, "soft", text);
    draw_rows(out, t, lane, &all);
    draw_landed(out, &all.scale, t, all.place);
    draw_launches(out, &all.scale, t, &all);
    if (enlarge) {
        draw_frame(out, t, &all, &part.scale);
        put_text(out, LEFT, part.y - 14, "", "What is framed above, enlarged:");
        draw_rows(out, t, lane, &part);
    }
    legend(out, legend_y, seen, recording_peak(r) > 0);
    if (recording_peak(r) > 0) {
        snprintf(text, sizeof text, "Of the time drawn, the SM's tensor cores had work in %.0f %%.",
                 100 * recording_busy(r, -1, t->window_begin, t->window_end));
        put_text(out, LEFT, figures_y, "", text);
    }
    if (recording_peak(r) == 0) {
        put_text(out, LEFT, figures_y, "", "This chapter multiplies in the FMA units, not in the tensor cores.");
    }
    if (r->trace.lost) {
        snprintf(text, sizeof text, "%llu events were lost.", (unsigned long long)r->trace.lost);
        put_text(out, LEFT + 420, figures_y, "", text);
    }
    fprintf(out, "</svg>\n");
    for (int i = 0; i < t->rows; i++) {
        free(lane[i]);
    }
    free(lane);
    free(all.place);
    free(part.place);
}
