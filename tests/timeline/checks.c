/* checks.c - do recorded events make sense?
 *
 *     checks                TAP: the checks themselves, each on events that must fail it; pictures and files of made-up
 *                           events
 *     checks FILE.csv ...   TAP: recorded events, as --trace-events writes them; each file is of one SM */
#include <math.h>

#include "tap.h"
#include "timeline/timeline.h"

#define EACH(e, t) for (const TraceEvent *e = (t)->event; e < (t)->event + (t)->count; e++)

/* ---- the checks: is this event as it should be, among all?
 * --------------------------------------------------------- */

/* Everything takes time, but for the taking of a tile. */
static int takes_time(const Trace *t, const TraceEvent *e) {
    (void)t;
    return e->kind == TRACE_TILE ? e->end == e->begin : e->end > e->begin;
}

/* Of a warp's events one lies inside of another, or they do not touch. */
static int nests(const Trace *t, const TraceEvent *a) {
    EACH(b, t) {
        if (a->warp >= 0 && a->warp == b->warp && a->cta == b->cta && b->begin > a->begin && b->begin < a->end &&
            b->end > a->end) {
            return 0;
        }
    }
    return 1;
}

static int has_cta(const Trace *t, const TraceEvent *e) {
    EACH(c, t) {
        if (c->kind == TRACE_CTA && c->cta == e->cta && c->begin <= e->begin && e->end <= c->end) {
            return 1;
        }
    }
    return 0;
}

static int same_barrier(const TraceEvent *a, const TraceEvent *b) {
    return a->cta == b->cta && a->stage == b->stage && strcmp(a->name, b->name) == 0;
}

/* A wait ends when the latest load that was started for its barrier has landed, and each load is waited for before the
 * next one into its stage is started. */
static int load_has_landed(const Trace *t, const TraceEvent *e) {
    uint64_t next = UINT64_MAX;
    EACH(load, t) {
        if (load->kind == TRACE_LOAD && same_barrier(load, e)) {
            if (e->kind == TRACE_WAIT && load->begin < e->end && load->end > e->end) {
                return 0;
            }
            next = load->begin >= e->end && load->begin < next ? load->begin : next;
        }
    }
    int seen = e->kind != TRACE_LOAD;
    EACH(wait, t) {
        seen |= wait->kind == TRACE_WAIT && same_barrier(wait, e) && wait->end >= e->end && wait->end <= next;
    }
    return seen;
}

/* A group of copies has landed before a wait of its warp ends. */
static int copy_has_landed(const Trace *t, const TraceEvent *e) {
    int seen = e->kind != TRACE_COPY;
    EACH(wait, t) {
        seen |= wait->kind == TRACE_COPY_WAIT && wait->cta == e->cta && wait->warp == e->unit && wait->end >= e->end;
    }
    return seen;
}

static const struct {
    int (*is_right)(const Trace *, const TraceEvent *);
    const char *name;
} checks[] = {
    {takes_time, "durations are positive"},
    {nests, "the events of a warp nest"},
    {has_cta, "events lie in their CTA's life"},
    {load_has_landed, "a load has landed when the wait for it ends"},
    {copy_has_landed, "copies have landed when the wait for them ends"},
};
enum { CHECKS = sizeof checks / sizeof checks[0] };

/* The first event that is not right; NULL if all are. */
static const TraceEvent *fault(int check, const Trace *t) {
    EACH(e, t) {
        if (!checks[check].is_right(t, e)) {
            return e;
        }
    }
    return NULL;
}

static void check_all(const Trace *t, const char *whose) {
    for (int i = 0; i < CHECKS; i++) {
        const TraceEvent *e = fault(i, t);
        if (!ok(e == NULL, "%s: %s", whose, checks[i].name)) {
            diag("%s %s of CTA %d, warp %d, %llu to %llu", trace_kind_names[e->kind], e->name, e->cta, e->warp,
                 (unsigned long long)e->begin, (unsigned long long)e->end);
        }
    }
}

/* ---- recorded files ---------------------------------------------------------------------------------------------- */

/* Share of [begin, end) by brute force: step for step, each of the four tensor cores by itself. */
static double busy_by_step(const Trace *t, uint64_t begin, uint64_t end) {
    unsigned char *busy = calloc(end - begin, 1);
    uint64_t count = 0;
    EACH(e, t) {
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
    check_all(&r.trace, r.chapter);
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
    TimelineView view = {recording_whole_cta(&r), 0, 1};
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

/* A producer (warp 0), a consumer (warp 4), two stages, three k-tiles; as a file, in the order in which it is
 * written. */
static const char right[] = "# chapter 07_warp_specialized\n# kernel \n# source a <made-up> \"GPU\"\n"
                            "# date 2026-01-02\n# commit abc\n# m 128\n# n 256\n# k 192\n# sms 2\n# ctas 2\n"
                            "# unit cycles\n# units_a_second 2000000000\n# lost 7\n"
                            "kind,cta,sm,warp,unit,index,stage,bytes,row,col,name,spans\n"
                            "wait,0,0,0,0,0,0,0,0,0,empty,25:320\n"
                            "wait,0,0,4,0,0,0,0,0,0,full,30:115\n"
                            "wait,0,0,4,0,0,1,0,0,0,full,130:205\n"
                            "wait,0,0,4,0,1,0,0,0,0,full,330:500\n"
                            "wgmma_wait,0,0,4,0,0,-1,0,0,0,,510:602\n"
                            "wgmma_wait,0,0,4,0,1,-1,0,0,0,,210:317\n"
                            "store_wait,0,0,4,0,0,-1,0,0,0,,700:720\n"
                            "epilogue,0,0,4,0,0,-1,0,0,0,,610:850\n"
                            "tile,0,0,0,0,0,-1,0,3,4,,0:0\n"
                            "tile,0,0,4,0,0,-1,0,3,4,,0:0\n"
                            "cta,0,0,-1,0,0,-1,0,0,0,,0:900\n"
                            "load,0,0,-1,0,0,0,4096,0,0,full,10:100 12:110 325:490\n"
                            "load,0,0,-1,0,0,1,4096,0,0,full,20:200\n"
                            "wgmma,0,0,-1,1,0,-1,0,0,0,,116:316\n"
                            "wgmma,0,0,-1,1,1,-1,0,0,0,,206:416\n"
                            "wgmma,0,0,-1,1,2,-1,0,0,0,,501:601\n";

/* `right` with its first `from` replaced. 0: it is refused. */
static int read_with(const char *from, const char *to, Recording *r) {
    static char text[sizeof right + 64];
    const char *at = strstr(right, from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - right), right, to, at + strlen(from));
    FILE *in = fmemopen(text, strlen(text), "r");
    int good = recording_read(in, "text", r);
    fclose(in);
    return good;
}

static Recording make_recording(void) {
    Recording r;
    read_with("", "", &r);
    return r;
}

/* The events with one of them changed must fail this check, and unchanged pass all. */
static void test_checks(void) {
    Recording r = make_recording();
    check_all(&r.trace, "right events");
    static const struct {
        int check;
        const char *from, *to, *what;
    } broken[] = {
        {0, "610:850", "610:610", "an epilogue that takes no time"},
        {0, ",4,,0:0", ",4,,0:1", "the taking of a tile that takes time"},
        {1, "510:602", "510:611", "a wait that reaches into the epilogue"},
        {2, "610:850", "610:901", "an epilogue that ends after its CTA"},
        {2, "0:900", "11:900", "what begins before its CTA"},
        {3, "12:110", "12:116", "a load that lands after the wait for it"},
        {3, "325:490", "325:501", "a later load that lands after the wait for it"},
        {3, "130:205", "15:19", "a load that nobody waits for"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        Recording wrong;
        ok(read_with(broken[i].from, broken[i].to, &wrong) && fault(broken[i].check, &wrong.trace) != NULL,
           "is found: %s", broken[i].what);
        trace_free_events(&wrong.trace);
    }
    TraceEvent copy[2] = {{.kind = TRACE_COPY, .begin = 5, .end = 60, .warp = -1, .unit = 1},
                          {.kind = TRACE_COPY_WAIT, .begin = 10, .end = 60, .warp = 1}};
    Trace copies = {.event = copy, .count = 2};
    ok(fault(4, &copies) == NULL, "a group of copies that is waited for");
    copy[1].end = 59;
    ok(fault(4, &copies) != NULL, "is found: a group of copies that lands after the wait for it");
    trace_free_events(&r.trace);
}

/* What recorded files do not show of these figures. */
static void test_figures(void) {
    Recording r = make_recording(), none = {.chapter = "none"};
    snprintf(r.kernel, sizeof r.kernel, "pingpong: 5 tiles of 128 x 128 on 2 CTAs");
    ok(fabs(recording_efficiency(&r) - 128.0 * 256 * 192 / 5 / (900 * 2048.0)) < 1e-12, "FLOP / (cycles x peak)");
    r.trace.units_a_second = 0;
    ok(recording_efficiency(&r) == 0, "steps are no cycles");
    snprintf(r.chapter, sizeof r.chapter, "01_naive");
    ok(recording_busy(&r, -1, 0, 900) == 0, "chapter 01 has no tensor cores");
    trace_free_events(&r.trace);
    ok(!recording_keep_sm(&none, -1, 0), "a recording of nothing has no SM");
}

/* In the terminal; SVG is held to the pictures of what was recorded by timeline.t. */
static void test_pictures(void) {
    Recording r = make_recording();
    Timeline t;
    timeline_open(&t, &r, &(TimelineView){-1, 0, 0});
    for (int columns = 60; columns <= 240; columns += 45) {
        char *text = NULL;
        size_t size = 0, longest = 0;
        FILE *out = open_memstream(&text, &size);
        timeline_print(out, &t, columns);
        fclose(out);
        contains(text, "7 events were lost", "text says what was lost");
        int ascii = 1;
        for (const char *p = text; *p; p++) {
            ascii &= *p == '\n' || (*p >= ' ' && *p <= '~');
        }
        ok(ascii, "... in ASCII alone");
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            longest = strlen(line) > longest ? strlen(line) : longest;
        }
        ok(longest <= (size_t)columns && longest + 20 > (size_t)columns, "... and fits into %d columns", columns);
        free(text);
    }
    timeline_close(&t);
    trace_free_events(&r.trace);
}

static void test_file(void) {
    Recording r = make_recording();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ok(recording_write(out, &r), "events are written");
    fclose(out);
    ok(r.trace.count == 18 && strcmp(text, right) == 0, "... as the file says from which they were read");
    trace_free_events(&r.trace);
    free(text);
    static const struct {
        const char *from, *to, *what;
    } broken[] = {
        {right, "", "an empty file"},
        {"warp,", "", "other columns"},
        {"# m ", "# colour ", "another header"},
        {"epilogue,", "epilogux,", "an unknown kind"},
        {"610:850", "610:85", "an end before the begin"},
        {"10:100 ", "10:100,", "something else between spans"},
        {"0:0", "", "an event without its times"},
    };
    fprintf(stderr, "# refused files:\n");
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        ok(!read_with(broken[i].from, broken[i].to, &r), "is refused: %s", broken[i].what);
        trace_free_events(&r.trace);
    }
}

int main(int argc, char *argv[]) {
    for (int i = 1; i < argc; i++) {
        check_file(argv[i]);
    }
    if (argc == 1) {
        test_checks();
        test_figures();
        test_pictures();
        test_file();
    }
    return tap_done();
}
