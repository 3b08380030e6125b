/* test_gpu_trace - from records as a traced kernel writes them to events: what asynchronous work lasted. Records are
 * made by hand; the numbers are cycles after the CTA's start. */
#include "timeline/gpu_trace.h"
#include "timeline/recording.h"

#include "tap.h"

enum { WARPS = 5, ROOM = 16, FULL = 0x3000, EMPTY = 0x3010 };

static const uint64_t start = 0x7fffff000; /* the low word turns over soon after it */
static TraceRecord record[WARPS][ROOM];
static int used[WARPS];

static void put(int warp, uint32_t kind, int number, int begin, int end, uint32_t data) {
    record[warp][used[warp]++] = (TraceRecord){(uint32_t)start + (uint32_t)begin, (uint32_t)start + (uint32_t)end,
                                               kind | (uint32_t)number << 8, data};
}

static void read_text(uint64_t address, char *text, size_t size) {
    snprintf(text, size, "%s", address == 0x100000001 ? "s->full" : "s->empty");
}

static Trace t;

static void decode(void) {
    static const TraceCta cta = {.clock = start, .ns = 1, .sm = 7};
    CtaRecords in = {0, 3, WARPS, ROOM, &cta, &record[0][0], read_text};
    trace_add_cta(&t, &in);
    trace_place_products(&t);
}

static void reset(void) {
    trace_free_events(&t);
    memset(&t, 0, sizeof t);
    memset(record, 0, sizeof record);
    memset(used, 0, sizeof used);
}

/* The index-th event of a kind, in the order in which they were added. */
static const TraceEvent *event_of(const Trace *t, TraceKind kind, int index) {
    static const TraceEvent none = {0};
    for (size_t i = 0; i < t->count; i++) {
        if (t->event[i].kind == kind && index-- == 0) {
            return &t->event[i];
        }
    }
    return &none;
}

static const TraceEvent *event(TraceKind kind, int index) { return event_of(&t, kind, index); }

static void is_span(const TraceEvent *e, int begin, int end, const char *name) {
    if (!ok(e->begin == start + (uint64_t)(int64_t)begin && e->end == start + (uint64_t)(int64_t)end, "%s", name)) {
        diag("from %lld to %lld, expected from %d to %d", (long long)(e->begin - start), (long long)(e->end - start),
             begin, end);
    }
}

static void name_barriers(void) {
    record[0][used[0]++] = (TraceRecord){1, 1, RECORD_BARRIERS | 2 << 8, FULL};
    record[0][used[0]++] = (TraceRecord){2, 1, RECORD_BARRIERS | 2 << 8, EMPTY};
}

static void loads_end_when_seen(void) {
    name_barriers();
    put(0, TRACE_LOAD, 3072, 10, 10, FULL);
    put(0, TRACE_LOAD, 3072, 20, 20, FULL);
    put(0, TRACE_LOAD, 3072, 30, 30, FULL + 8);
    put(0, RECORD_LANDED, 0, 500, 500, FULL);
    put(0, TRACE_LOAD, 3072, 520, 520, FULL);
    put(4, TRACE_WAIT, 0, 5, 510, FULL);
    put(4, TRACE_WAIT, 0, 511, 700, FULL + 8);
    put(4, TRACE_WAIT, 1, 701, 900, FULL);
    decode();
    is_span(event(TRACE_LOAD, 0), 10, 500, "a load ends when its thread saw it land");
    is_span(event(TRACE_LOAD, 1), 20, 500, "so does the other load of the phase");
    is_span(event(TRACE_LOAD, 2), 30, 700, "one that nobody watched ends with the first wait for it");
    is_span(event(TRACE_LOAD, 3), 520, 900, "the next phase of the barrier is another load");
    is_int(event(TRACE_LOAD, 0)->bytes, 24576, "the bytes are shared by the loads of the phase");
    ok(strcmp(event(TRACE_LOAD, 2)->name, "full") == 0 && event(TRACE_LOAD, 2)->stage == 1, "it is full[1]");
    is_span(event(TRACE_CTA, 0), 0, 900, "the CTA lives to its last event");
    ok(event(TRACE_CTA, 0)->sm == 7 && event(TRACE_CTA, 0)->cta == 3, "its SM and its index");
}

static void loads_seen_late(void) {
    name_barriers();
    put(0, TRACE_LOAD, 16, 10, 10, FULL);
    put(0, RECORD_LANDED, 0, 600, 600, FULL);
    put(4, TRACE_WAIT, 0, 5, 510, FULL);
    decode();
    is_span(event(TRACE_LOAD, 0), 10, 510, "a load has landed when the wait for it ends, whoever looks later");
}

static void products_take_their_time(void) {
    put(0, TRACE_WGMMA, 1024, 100, 120, 0); /* 512 cycles */
    put(0, TRACE_WGMMA, 1024, 130, 150, 0);
    put(0, TRACE_WGMMA_WAIT, 1, 160, 640, 0);
    put(0, TRACE_WGMMA, 1024, 900, 920, 0);
    put(0, TRACE_WGMMA_WAIT, 1, 1200, 1210, 0);
    put(0, TRACE_WGMMA_WAIT, 0, 1220, 2000, 0);
    put(4, TRACE_WGMMA, 1024, 110, 125, 0);
    put(4, TRACE_WGMMA_WAIT, 0, 5000, 5005, 0);
    decode();
    is_span(event(TRACE_WGMMA, 0), 100, 640, "a group ends with the wait that blocked for it");
    is_span(event(TRACE_WGMMA, 3), 640, 1152, "the other warpgroup's comes behind it and takes 512 cycles");
    is_span(event(TRACE_WGMMA, 1), 1152, 1210, "but it ends at the latest with a wait that found it finished");
    is_span(event(TRACE_WGMMA, 2), 1210, 2000, "the next starts when the tensor cores are free");
    is_int(event(TRACE_WGMMA, 3)->unit, 1, "unit: the warpgroup");
    is_int(event(TRACE_WGMMA, 2)->index, 2, "index: its number");
}

static void products_with_their_wait(void) {
    put(0, TRACE_WGMMA_WAIT, 1 | 1024 << RECORD_PRODUCTS, 150, 155, (uint32_t)start + 100);
    put(0, TRACE_WGMMA_WAIT, 1 | 1024 << RECORD_PRODUCTS, 250, 700, (uint32_t)start + 200);
    put(0, TRACE_WGMMA_WAIT, 0, 800, 1300, 0);
    put(0, TRACE_WGMMA_WAIT, 1 | 1024 << RECORD_PRODUCTS, 1450, 1455, (uint32_t)start + 1400);
    put(0, TRACE_WGMMA_WAIT, 0, 3000, 3010, 0);
    decode();
    is_span(event(TRACE_WGMMA, 0), 100, 700, "a group recorded with the wait behind it ends with the next one");
    is_span(event(TRACE_WGMMA, 1), 700, 1300, "the next group");
    is_span(event(TRACE_WGMMA, 2), 1400, 1912, "one that nobody waited for takes the 512 cycles of its products");
    is_int(event(TRACE_WGMMA, 3)->end != 0, 0, "a wait without a group before it adds none");
    is_int(event(TRACE_WGMMA_WAIT, 1)->index, 1, "the wait's index: the groups that may be unfinished");
}

static void products_between_others(void) {
    put(0, TRACE_WGMMA, 1024, 100, 120, 0);
    put(0, TRACE_WGMMA_WAIT, 0, 130, 1400, 0);
    put(4, TRACE_WGMMA, 1024, 200, 220, 0);
    put(4, TRACE_WGMMA_WAIT, 0, 230, 1300, 0);
    decode();
    is_span(event(TRACE_WGMMA, 0), 100, 1400, "a group that others cut into");
    is_span(event(TRACE_WGMMA, 1), 788, 1300, "one that ran between the others' products takes its 512 cycles");
}

static void groups_of_copies(void) {
    put(1, TRACE_COPY, 0, 10, 10, 0);
    put(1, TRACE_COPY, 0, 20, 20, 0);
    put(1, TRACE_COPY_WAIT, 1, 30, 400, 0);
    put(1, TRACE_COPY_WAIT, 0, 410, 415, 0);
    put(1, TRACE_COPY, 0, 420, 420, 0);
    put(2, TRACE_STORE, 0, 50, 60, 0);
    put(2, TRACE_STORE_WAIT, 0, 70, 300, 0);
    decode();
    is_span(event(TRACE_COPY, 0), 10, 400, "a cp.async group lasts to the wait that leaves one unfinished");
    is_span(event(TRACE_COPY, 1), 20, 415, "the next to the wait that leaves none");
    is_int(event(TRACE_COPY, 1)->unit, 1, "unit: the warp");
    is_int((int)event(TRACE_COPY, 2)->end, 0, "a group that nobody waits for is empty and left out");
    is_span(event(TRACE_STORE, 0), 50, 300, "a group of stores");
    is_int(event(TRACE_STORE, 0)->row + event(TRACE_COPY, 0)->row, 0, "nothing is left of the bookkeeping");
}

static void epilogues_are_filled(void) {
    put(4, TRACE_WGMMA_WAIT, 0, 100, 200, 0);
    put(4, TRACE_STORE_WAIT, 1, 230, 240, 0);
    put(4, TRACE_EPILOGUE, 0, 260, 300, 0);
    put(4, TRACE_BARRIER, 1, 300, 310, 0);
    put(4, TRACE_TILE, 2, 500, 500, 3);
    put(4, TRACE_BARRIER, 1, 600, 610, 0);
    decode();
    is_span(event(TRACE_EPILOGUE, 0), 240, 300, "an epilogue reaches back to the wait before it");
    is_span(event(TRACE_EPILOGUE, 1), 200, 230, "it begins when the last products are done");
    is_span(event(TRACE_EPILOGUE, 2), 310, 500, "and ends with the next tile");
    ok(event(TRACE_EPILOGUE, 3)->end == 0, "behind the tile there is none");
    reset();
    put(4, TRACE_EXP2, 0, 50, 90, 0);
    put(4, TRACE_WGMMA_WAIT, 0, 100, 200, 0);
    put(4, TRACE_EPILOGUE, 0, 260, 300, 0);
    decode();
    is_span(event(TRACE_EPILOGUE, 0), 260, 300, "where exponentials stand between products, no wait begins it");
}

/* A warp may read the clock before the barrier holds it. */
static void barriers_end_when_all_have_come(void) {
    put(0, TRACE_BARRIER, 0, 100, 102, 0);
    put(4, TRACE_BARRIER, 0, 150, 170, 0);
    put(0, TRACE_BARRIER, 0, 300, 390, 0);
    put(4, TRACE_BARRIER, 0, 310, 312, 0);
    put(4, TRACE_BARRIER, 1, 320, 330, 0); /* another barrier, at which warp 0 does not meet */
    put(0, TRACE_BARRIER, 0, 400, 410, 0); /* warp 4 had no room for it */
    decode();
    is_span(event(TRACE_BARRIER, 0), 100, 150, "a barrier ends when the last warp has come");
    is_span(event(TRACE_BARRIER, 1), 300, 390, "not before, and what was read late stays");
    is_span(event(TRACE_BARRIER, 2), 400, 410, "alone it stays as it is");
    is_span(event(TRACE_BARRIER, 3), 150, 170, "the last one itself");
    is_span(event(TRACE_BARRIER, 4), 310, 312, "the second time it came last");
    is_span(event(TRACE_BARRIER, 5), 320, 330, "barriers of other numbers do not count");
}

static void last_spans_and_losses(void) {
    put(0, TRACE_TILE, 5, 1, 1, 9);
    put(0, TRACE_BARRIER, 0, -40, -10, 0);
    TraceTail tail = {(uint32_t)start + 100, (uint32_t)start + 250, TRACE_EPILOGUE, 0};
    memcpy(&record[0][ROOM - 1], &tail, sizeof tail);
    /* Warp 1 of block 3: its tail is record (3 * WARPS + 2) * ROOM - 1 of all. Three had no room. */
    tail = (TraceTail){0, 0, 0, (uint32_t)(((3 * WARPS + 2) * ROOM - 1 + 3) * sizeof(TraceRecord))};
    memcpy(&record[1][ROOM - 1], &tail, sizeof tail);
    decode();
    is_span(event(TRACE_EPILOGUE, 0), 100, 250, "a span that was open at the end");
    is_span(event(TRACE_BARRIER, 0), -40, -10, "a warp may start before the one that notes the start");
    is_span(event(TRACE_CTA, 0), -40, 250, "and so does its CTA");
    ok(event(TRACE_TILE, 0)->row == 5 && event(TRACE_TILE, 0)->col == 9, "a tile's row and column");
    is_int((int)t.lost, 3, "records without room are counted");
}

/* Two launches in one trace: CTA 3 of 8 of the first, which records nothing but its start, and CTA 1 of 4 of the
 * second. */
static void launches_follow_each_other(void) {
    static const TraceCta first_cta = {.clock = start, .ns = 1, .sm = 7},
                          second_cta = {.clock = start, .ns = 2, .sm = 7};
    Recording r = {.trace = {.launches = 2, .ctas = 12, .launch = {{"clear", 0, 8}, {"gemm", 8, 4}}}};
    CtaRecords first = {0, 3, WARPS, ROOM, &first_cta, &record[0][0], read_text};
    trace_add_cta(&r.trace, &first);
    put(0, TRACE_WAIT, 0, 500, 510, FULL);
    CtaRecords second = {8, 1, WARPS, ROOM, &second_cta, &record[0][0], read_text};
    trace_add_cta(&r.trace, &second);
    is_int(event_of(&r.trace, TRACE_CTA, 0)->cta, 3, "the first has its own number");
    is_span(event_of(&r.trace, TRACE_CTA, 0), 0, 1, "of which nothing else is known than its begin");
    is_int(event_of(&r.trace, TRACE_WAIT, 0)->cta, 9, "the second is numbered on from the first launch's CTAs");
    trace_free_events(&r.trace);
}

int main(void) {
    static void (*const tests[])(void) = {
        launches_follow_each_other,      loads_end_when_seen,     loads_seen_late,  products_take_their_time,
        products_with_their_wait,        products_between_others, groups_of_copies, epilogues_are_filled,
        barriers_end_when_all_have_come, last_spans_and_losses,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        reset();
        tests[i]();
    }
    return tap_done();
}
