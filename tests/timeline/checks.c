/* checks.c - do recorded events make sense?
 *
 *     checks                TAP: the checks themselves, each on events that must fail it; pictures and files of made-up events
 *     checks FILE.csv ...   TAP: recorded events, as --trace-events writes them; each file is of one SM */
#include <math.h>
#include <unistd.h>

#include "timeline/timeline.h"
#include "tap.h"

/* ---- the checks: what is wrong, or NULL -------------------------------------------------------------------------- */

static char fault_text[256];

static const char *fault(const char *what, const TraceEvent *e) {
    snprintf(fault_text, sizeof fault_text, "%s: %s %s of CTA %d, warp %d, %llu to %llu", what,
             trace_kind_names[e->kind], e->name, e->cta, e->warp, (unsigned long long)e->begin,
             (unsigned long long)e->end);
    return fault_text;
}

/* Everything takes time, but for the taking of a tile. */
static const char *check_durations(const Trace *t) {
    for (size_t i = 0; i < t->count; i++) {
        const TraceEvent *e = &t->event[i];
        if (e->kind == TRACE_TILE ? e->end != e->begin : e->end <= e->begin) {
            return fault("duration", e);
        }
    }
    return NULL;
}

/* Of a warp's events one lies inside of another, or they do not touch. */
static const char *check_nesting(const Trace *t) {
    for (size_t i = 0; i < t->count; i++) {
        const TraceEvent *a = &t->event[i];
        for (size_t j = i + 1; j < t->count && t->event[j].begin < a->end; j++) {
            const TraceEvent *b = &t->event[j];
            if (a->warp >= 0 && a->warp == b->warp && a->cta == b->cta && b->begin > a->begin && b->end > a->end) {
                return fault("overlaps the one before", b);
            }
        }
    }
    return NULL;
}

static const char *check_life(const Trace *t) {
    for (size_t i = 0; i < t->count; i++) {
        const TraceEvent *e = &t->event[i];
        int lives = 0;
        for (size_t j = 0; j < t->count; j++) {
            const TraceEvent *c = &t->event[j];
            lives |= c->kind == TRACE_CTA && c->cta == e->cta && c->begin <= e->begin && e->end <= c->end;
        }
        if (!lives) {
            return fault("outside of its CTA's life", e);
        }
    }
    return NULL;
}

static int same_barrier(const TraceEvent *a, const TraceEvent *b) {
    return a->cta == b->cta && a->stage == b->stage && strcmp(a->name, b->name) == 0;
}

/* A wait ends when the latest load that was started for its barrier has landed, and each load is waited for before the
 * next one into its stage is started. */
static const char *check_loads(const Trace *t) {
    for (size_t i = 0; i < t->count; i++) {
        const TraceEvent *e = &t->event[i];
        if (e->kind == TRACE_WAIT) {
            for (size_t j = 0; j < t->count && t->event[j].begin < e->end; j++) {
                const TraceEvent *load = &t->event[j];
                if (load->kind == TRACE_LOAD && same_barrier(load, e) && load->end > e->end) {
                    return fault("ends before its load has landed", e);
                }
            }
        } else if (e->kind == TRACE_LOAD) {
            uint64_t next = UINT64_MAX;
            int seen = 0;
            for (size_t j = 0; j < t->count; j++) {
                const TraceEvent *load = &t->event[j];
                if (load->kind == TRACE_LOAD && same_barrier(load, e) && load->begin >= e->end && load->begin < next) {
                    next = load->begin;
                }
            }
            for (size_t j = 0; j < t->count; j++) {
                const TraceEvent *wait = &t->event[j];
                seen |= wait->kind == TRACE_WAIT && same_barrier(wait, e) && wait->end >= e->end && wait->end <= next;
            }
            if (!seen) {
                return fault("nobody has waited for it", e);
            }
        }
    }
    return NULL;
}

/* A group of copies has landed before a wait of its warp ends. */
static const char *check_copies(const Trace *t) {
    for (size_t i = 0; i < t->count; i++) {
        const TraceEvent *e = &t->event[i];
        int seen = e->kind != TRACE_COPY;
        for (size_t j = 0; j < t->count && !seen; j++) {
            const TraceEvent *wait = &t->event[j];
            seen = wait->kind == TRACE_COPY_WAIT && wait->cta == e->cta && wait->warp == e->unit && wait->end >= e->end;
        }
        if (!seen) {
            return fault("nobody has waited for it", e);
        }
    }
    return NULL;
}

static const struct {
    const char *(*check)(const Trace *);
    const char *name;
} checks[] = {
    {check_durations, "durations are positive"},
    {check_nesting, "the events of a warp nest"},
    {check_life, "events lie in their CTA's life"},
    {check_loads, "a load has landed when the wait for it ends"},
    {check_copies, "copies have landed when the wait for them ends"},
};
enum { CHECKS = sizeof checks / sizeof checks[0] };

/* ---- recorded files ---------------------------------------------------------------------------------------------- */

/* Share of [begin, end) by brute force: step for step, each of the four tensor cores by itself. */
static double busy_by_step(const Trace *t, uint64_t begin, uint64_t end) {
    unsigned char *busy = calloc(end - begin, 1);
    uint64_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        const TraceEvent *e = &t->event[i];
        unsigned cores = e->kind == TRACE_WGMMA ? 15 : e->kind == TRACE_MMA ? 1u << e->warp % 4 : 0;
        for (uint64_t at = e->begin; cores && at < e->end; at++) {
            if (at >= begin && at < end) {
                busy[at - begin] |= (unsigned char)cores;
            }
        }
    }
    for (uint64_t at = 0; at < end - begin; at++) {
        count += (uint64_t)__builtin_popcount(busy[at]);
    }
    free(busy);
    return (double)count / (double)(end - begin) / 4;
}

static void check_file(const char *path) {
    Recording r;
    Timeline timeline;
    FILE *in = fopen(path, "r");
    int read = in && recording_read(in, path, &r);
    if (in) {
        fclose(in);
    }
    if (!ok(read, "%s: is read", path)) {
        return;
    }
    for (int i = 0; i < CHECKS; i++) {
        const char *what = checks[i].check(&r.trace);
        ok(what == NULL, "%s: %s", r.chapter, checks[i].name);
        if (what) {
            diag("%s", what);
        }
    }
    uint64_t begin, end;
    recording_span(&r, &begin, &end);
    if (recording_peak(&r) > 0) {
        double busy = recording_busy(&r, -1, begin, end);
        ok(busy > 0 && busy <= 1 && fabs(busy - busy_by_step(&r.trace, begin, end)) < 1e-9,
           "%s: the share of busy time is that of a count step by step", r.chapter);
        if (r.trace.units_a_second > 0) { /* what can only be asked of a GPU */
            double efficiency = recording_efficiency(&r);
            int whole = strncmp(r.chapter, "06", 2) >= 0;
            printf("# %s: busy %.3f, FLOP / (cycles x peak) %.3f\n", r.chapter, busy, efficiency);
            ok(efficiency > 0 && (!whole || fabs(busy / efficiency - 1) < 0.1),
               "%s: the share of busy time agrees with FLOP / (cycles x peak)%s", r.chapter,
               whole ? " within 10 %" : ", as far as it is there");
        }
    }
    TimelineView view = {recording_whole_cta(&r), 0, 0, UINT64_MAX / 2, 0};
    ok(timeline_open(&timeline, &r, &view) && timeline.rows > 0, "%s: has rows", r.chapter);
    for (int i = 0; i < timeline.rows; i++) {
        if (timeline.row[i].kind == ROW_TENSOR) {
            double busy = recording_busy(&r, -1, timeline.begin, timeline.end);
            ok(fabs(timeline.row[i].busy - busy) < 1e-9, "%s: the drawn row of the tensor cores has that share",
               r.chapter);
        }
    }
    timeline_close(&timeline);
    trace_free_events(&r.trace);
}

/* ---- made-up events ---------------------------------------------------------------------------------------------- */

/* A producer (warp 0), a consumer (warp 4), two stages, three k-tiles. */
static const TraceEvent right[] = {
    {.kind = TRACE_CTA, .begin = 100, .end = 1000, .warp = -1, .stage = -1},
    {.kind = TRACE_TILE, .begin = 100, .end = 100, .warp = 0, .stage = -1, .row = 3, .col = 4},
    {.kind = TRACE_TILE, .begin = 100, .end = 100, .warp = 4, .stage = -1, .row = 3, .col = 4},
    {.kind = TRACE_LOAD, .begin = 110, .end = 200, .warp = -1, .stage = 0, .bytes = 4096, .name = "full"},
    {.kind = TRACE_LOAD, .begin = 112, .end = 210, .warp = -1, .stage = 0, .bytes = 4096, .name = "full"},
    {.kind = TRACE_LOAD, .begin = 120, .end = 300, .warp = -1, .stage = 1, .bytes = 4096, .name = "full"},
    {.kind = TRACE_WAIT, .begin = 125, .end = 420, .warp = 0, .stage = 0, .name = "empty"},
    {.kind = TRACE_WAIT, .begin = 130, .end = 215, .warp = 4, .stage = 0, .name = "full"},
    {.kind = TRACE_WGMMA, .begin = 216, .end = 416, .warp = -1, .unit = 1, .stage = -1},
    {.kind = TRACE_WAIT, .begin = 230, .end = 305, .warp = 4, .stage = 1, .name = "full"},
    {.kind = TRACE_WGMMA, .begin = 306, .end = 516, .warp = -1, .unit = 1, .index = 1, .stage = -1},
    {.kind = TRACE_WGMMA_WAIT, .begin = 310, .end = 417, .warp = 4, .index = 1, .stage = -1},
    {.kind = TRACE_LOAD, .begin = 425, .end = 590, .warp = -1, .stage = 0, .bytes = 4096, .name = "full"},
    {.kind = TRACE_WAIT, .begin = 430, .end = 600, .warp = 4, .stage = 0, .index = 1, .name = "full"},
    {.kind = TRACE_WGMMA, .begin = 601, .end = 701, .warp = -1, .unit = 1, .index = 2, .stage = -1},
    {.kind = TRACE_WGMMA_WAIT, .begin = 610, .end = 702, .warp = 4, .stage = -1},
    {.kind = TRACE_EPILOGUE, .begin = 710, .end = 950, .warp = 4, .stage = -1},
    {.kind = TRACE_STORE_WAIT, .begin = 800, .end = 820, .warp = 4, .stage = -1},
};
enum { RIGHT = sizeof right / sizeof right[0] };

static Recording make_recording(void) {
    Recording r;
    memset(&r, 0, sizeof r);
    snprintf(r.chapter, sizeof r.chapter, "07_warp_specialized");
    snprintf(r.trace.source, sizeof r.trace.source, "a <made-up> \"GPU\"");
    snprintf(r.date, sizeof r.date, "2026-01-02");
    snprintf(r.commit, sizeof r.commit, "abc");
    r.m = 128, r.n = 256, r.k = 192, r.sms = 2;
    r.trace.ctas = 2;
    r.trace.unit = "cycles";
    r.trace.units_a_second = 2e9;
    r.trace.count = RIGHT;
    r.trace.lost = 7;
    r.trace.event = malloc(sizeof right);
    memcpy(r.trace.event, right, sizeof right);
    return r;
}

/* The events with one of them changed must fail this check, and unchanged pass all. */
static void test_checks(void) {
    Recording r = make_recording();
    for (int i = 0; i < CHECKS; i++) {
        ok(checks[i].check(&r.trace) == NULL, "right events: %s", checks[i].name);
    }
    static const struct {
        int event, check;
        uint64_t begin, end;
        const char *what;
    } broken[] = {
        {16, 0, 710, 710, "an epilogue that takes no time"},
        {1, 0, 100, 101, "the taking of a tile that takes time"},
        {15, 1, 610, 711, "a wait that reaches into the epilogue"},
        {16, 2, 710, 1001, "an epilogue that ends after its CTA"},
        {3, 2, 99, 200, "a load that begins before its CTA"},
        {4, 3, 112, 216, "a load that lands after the wait for it"},
        {12, 3, 425, 601, "a later load that lands after the wait for it"},
        {9, 3, 115, 119, "a load that nobody waits for"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        Recording wrong = make_recording();
        wrong.trace.event[broken[i].event].begin = broken[i].begin;
        wrong.trace.event[broken[i].event].end = broken[i].end;
        ok(checks[broken[i].check].check(&wrong.trace) != NULL, "is found: %s", broken[i].what);
        trace_free_events(&wrong.trace);
    }
    TraceEvent copy[2] = {{.kind = TRACE_COPY, .begin = 5, .end = 60, .warp = -1, .unit = 1},
                          {.kind = TRACE_COPY_WAIT, .begin = 10, .end = 60, .warp = 1}};
    Trace copies = {.event = copy, .count = 2};
    ok(check_copies(&copies) == NULL, "a group of copies that is waited for");
    copy[1].end = 59;
    ok(check_copies(&copies) != NULL, "is found: a group of copies that lands after the wait for it");
    trace_free_events(&r.trace);
}

static void test_figures(void) {
    Recording r = make_recording();
    /* 216 .. 516 and 601 .. 701 of 100 .. 1000 */
    double busy = recording_busy(&r, -1, 100, 1000);
    ok(fabs(busy - 400.0 / 900) < 1e-12, "busy: the union of products");
    ok(fabs(busy - busy_by_step(&r.trace, 100, 1000)) < 1e-12, "busy: as counted step by step");
    ok(fabs(recording_busy(&r, -1, 500, 620) - 35.0 / 120) < 1e-12, "busy: cut off at both ends");
    ok(recording_busy(&r, 9, 100, 1000) == 0, "busy: none of another CTA");
    is_int(recording_peak(&r), 2048, "peak of wgmma");
    is_int(recording_tiles_of_launch(&r), 2, "tiles: one for each CTA");
    snprintf(r.kernel, sizeof r.kernel, "pingpong: 5 tiles of 128 x 128 on 2 CTAs");
    is_int(recording_tiles_of_launch(&r), 5, "tiles: as the chapter says");
    is_int(recording_tiles_of_sm(&r), 1, "tiles of the SM: two warps take the same");
    double efficiency = recording_efficiency(&r);
    ok(fabs(efficiency - 128.0 * 256 * 192 / 5 / (900 * 2048.0)) < 1e-12, "FLOP / (cycles x peak)");
    TraceEvent mma[3] = {{.kind = TRACE_MMA, .begin = 100, .end = 200, .warp = 1},
                         {.kind = TRACE_MMA, .begin = 150, .end = 300, .warp = 5},
                         {.kind = TRACE_MMA, .begin = 250, .end = 300, .warp = 6}};
    Recording four = {.trace = {.event = mma, .count = 3}, .chapter = "02"};
    ok(fabs(recording_busy(&four, -1, 100, 300) - (200 + 50) / 800.0) < 1e-12,
       "busy: four tensor cores, warp w on w %% 4");
    r.trace.units_a_second = 0;
    ok(recording_efficiency(&r) == 0, "steps are no cycles");
    snprintf(r.chapter, sizeof r.chapter, "01_naive");
    ok(recording_busy(&r, -1, 100, 1000) == 0, "chapter 01 has no tensor cores");
    trace_free_events(&r.trace);
}

static void test_rows(void) {
    Recording r = make_recording();
    Timeline t;
    TimelineView view = {-1, 0, 0, 0, 5};
    static const char *const labels[] = {"loads: stage 0", "       stage 1", "producer",
                                         "consumer 0",     "tensor cores",   "  for consumer 0"};
    ok(timeline_open(&t, &r, &view), "rows are made");
    is_int(t.rows, 6, "rows");
    for (int i = 0; i < t.rows && i < 6; i++) {
        ok(strcmp(t.row[i].label, labels[i]) == 0, "row %d is \"%s\"", i, labels[i]);
    }
    is_int((long long)t.landed_count, 4, "every load is joined to a wait");
    ok(t.landed[0].wait->end == 215 && t.landed[3].wait->end == 305, "... to the first that sees it landed");
    const Row *consumer = &t.row[3];
    int touches = 0, parts = 0;
    for (size_t i = 1; i < consumer->count; i++) {
        touches += consumer->span[i].begin == consumer->span[i - 1].end;
        parts += consumer->span[i].look == LOOK_EPILOGUE;
    }
    is_int(touches, (long long)consumer->count - 1, "a warp's spans follow each other without a gap");
    is_int(parts, 2, "a wait parts the epilogue");
    /* waits 130-215, 230-305, 430-600, 800-820 of 100-1000; products apart */
    ok(fabs(consumer->waiting - 350.0 / 900) < 1e-12, "share of waiting");
    timeline_close(&t);
    view.window_begin = 2000;
    view.window_end = 3000;
    ok(!timeline_open(&t, &r, &view), "a window after the CTA's end is refused");
    timeline_close(&t);
    view = (TimelineView){5, 0, 0, 0, 5};
    ok(!timeline_open(&t, &r, &view), "a CTA that is not there is refused");
    timeline_close(&t);
    ok(!recording_keep_sm(&r, 5, 0), "... already when its SM is looked for");
    trace_free_events(&r.trace);
}

/* What `draw` writes, as text. */
static char *text_of(void (*draw)(FILE *, const Timeline *, int), const Timeline *t, int columns) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    draw(out, t, columns);
    fclose(out);
    return text;
}

static void draw_svg(FILE *out, const Timeline *t, int columns) {
    (void)columns;
    timeline_svg(out, t);
}

static void draw_all(FILE *out, const Timeline *t, int columns) {
    (void)columns;
    timelines_svg(out, t->recording, 1);
}

static int longest_line(const char *text) {
    int longest = 0;
    for (const char *line = text; *line;) {
        int length = (int)strcspn(line, "\n");
        longest = length > longest ? length : longest;
        line += length + (line[length] != 0);
    }
    return longest;
}

static void test_pictures(void) {
    Recording r = make_recording();
    Timeline t;
    TimelineView view = {-1, 0, 0, 0, 5};
    timeline_open(&t, &r, &view);
    for (int columns = 60; columns <= 240; columns += 45) {
        char *text = text_of(timeline_print, &t, columns);
        int longest = longest_line(text);
        ok(longest <= columns && longest > columns - 20, "text for %d columns: %d", columns, longest);
        int ascii = 1;
        for (const char *p = text; *p; p++) {
            ascii &= *p == '\n' || (*p >= ' ' && *p <= '~');
        }
        ok(ascii, "... in ASCII alone");
        contains(text, "7 events were lost", "... says what was lost");
        free(text);
    }
    for (int all = 0; all < 2; all++) {
        char *svg = text_of(all ? draw_all : draw_svg, &t, 0);
        contains(svg, "a &lt;made-up&gt; &quot;GPU&quot;, 2026-01-02, commit abc", "SVG: the source, escaped");
        contains(svg, "prefers-color-scheme:dark", "SVG: light and dark");
        ok(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL, "SVG: all are numbers");
        free(svg);
    }
    timeline_close(&t);
    trace_free_events(&r.trace);
    Recording none = {.chapter = "none"};
    ok(!recording_keep_sm(&none, -1, 0), "a recording of nothing has no SM");
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int read_text(const char *text, Recording *r) {
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    int good = recording_read(in, "text", r);
    fclose(in);
    return good;
}

static void test_file(void) {
    Recording r = make_recording(), back;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ok(recording_write(out, &r), "events are written");
    fclose(out);
    ok(read_text(text, &back), "... and read");
    ok(back.trace.count == RIGHT && back.m == 128 && back.sms == 2 && back.trace.ctas == 2 && back.trace.lost == 7 &&
           back.trace.units_a_second == 2e9 && strcmp(back.trace.source, r.trace.source) == 0 &&
           strcmp(back.trace.unit, "cycles") == 0 && strcmp(back.commit, "abc") == 0,
       "... with what they are of");
    int same = 1;
    for (size_t i = 0; i < RIGHT && i < back.trace.count; i++) {
        TraceEvent e = back.trace.event[i];
        e.begin += 100; /* written from the first event on */
        e.end += 100;
        int found = 0;
        for (size_t j = 0; j < RIGHT; j++) {
            found |= memcmp(&e, &right[j], sizeof e) == 0;
        }
        same &= found;
    }
    ok(same, "... the same events");
    trace_free_events(&back.trace);
    fprintf(stderr, "# refused files:\n");
    ok(!read_text("", &back), "an empty file is refused");
    ok(!read_text("# chapter 07\n# unit steps\nbegin,end\n", &back), "other columns are refused");
    ok(!read_text("# colour blue\n", &back), "another header is refused");
    char *broken = strstr(text, "epilogue,");
    memcpy(broken, "epilogux,", 9);
    ok(!read_text(text, &back), "an unknown kind is refused");
    trace_free_events(&back.trace);
    memcpy(broken, "epilogue,9", 10);
    ok(!read_text(text, &back), "an end before the begin is refused");
    trace_free_events(&back.trace);
    free(text);
    trace_free_events(&r.trace);
}

int main(int argc, char *argv[]) {
    for (int i = 1; i < argc; i++) {
        check_file(argv[i]);
    }
    if (argc == 1) {
        test_checks();
        test_figures();
        test_rows();
        test_pictures();
        test_file();
    }
    return tap_done();
}
