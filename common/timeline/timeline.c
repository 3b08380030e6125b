/* timeline.c - events become rows: which warp plays which role, what a wait waits for, what a load ends. */
#include "timeline.h"

#include "gpu_trace.h"

#include <stdlib.h>
#include <string.h>

const struct LookStyle looks[LOOKS] = {
    [LOOK_OTHER] = {"other instructions", '-', "o", 0},
    [LOOK_LOAD] = {"load on its way", '=', "l", 0},
    [LOOK_DATA_WAIT] = {"waits for data", '.', "d", 1},
    [LOOK_ROOM_WAIT] = {"waits for a free stage", '_', "r", 1},
    [LOOK_TURN_WAIT] = {"waits for its turn", '~', "u", 1},
    [LOOK_BARRIER] = {"waits for other warps", ':', "b", 1},
    [LOOK_FRAGMENTS] = {"loads fragments", 'f', "f", 0},
    [LOOK_MATH] = {"multiplies", '#', "m", 0},
    [LOOK_MATH_WAIT] = {"waits for its products", 'w', "p", 0},
    [LOOK_EXPONENTIALS] = {"computes exponentials", 'x', "f", 0},
    [LOOK_EPILOGUE] = {"epilogue", 'E', "e", 0},
    [LOOK_STORE_WAIT] = {"waits for stores", ',', "t", 1},
    [LOOK_STORE] = {"store on its way", 's', "s", 0},
};

enum { MAX_WARP_ROWS = 4, MAX_WARPS = 32, WINDOW_TILES = 4, WINDOW_K_TILES = 18, DETAIL_TILES = 3 };

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static Look look_of(const TraceEvent *e) {
    switch (e->kind) {
    case TRACE_BARRIER: return LOOK_BARRIER;
    case TRACE_WAIT:
        return strcmp(e->name, "empty") == 0  ? LOOK_ROOM_WAIT
               : strcmp(e->name, "turn") == 0 ? LOOK_TURN_WAIT
                                              : LOOK_DATA_WAIT;
    case TRACE_COPY_WAIT: return LOOK_DATA_WAIT;
    case TRACE_FRAGMENTS: return LOOK_FRAGMENTS;
    case TRACE_MMA:
    case TRACE_WGMMA: return LOOK_MATH;
    case TRACE_WGMMA_WAIT: return LOOK_MATH_WAIT;
    case TRACE_STORE_WAIT: return LOOK_STORE_WAIT;
    case TRACE_EXP2: return LOOK_EXPONENTIALS;
    case TRACE_EPILOGUE: return LOOK_EPILOGUE;
    case TRACE_COPY:
    case TRACE_LOAD: return LOOK_LOAD;
    case TRACE_STORE: return LOOK_STORE;
    default: return LOOK_OTHER;
    }
}

/* It stays where it is until the next one is added. */
static Row *row_add(Timeline *timeline, RowKind kind, int number, const char *label) {
    timeline->row = trace_memory(timeline->row, (size_t)(timeline->rows + 1) * sizeof *timeline->row);
    Row *row = &timeline->row[timeline->rows++];
    *row = (Row){.kind = kind, .cta = timeline->cta, .number = number};
    snprintf(row->label, sizeof row->label, "%s", label);
    row->span = trace_memory(NULL, (2 * timeline->recording->trace.count + 2) * sizeof *row->span);
    return row;
}

static void span_add(Row *row, uint64_t begin, uint64_t end, Look look, const TraceEvent *event) {
    if (end > begin) {
        row->span[row->count++] = (Span){begin, end, look, TENSOR_CORES, event};
    }
}

/* The events of a warp, one at a time, and the gaps between them. A wait inside an epilogue splits it. */
static void add_warp_row(Timeline *timeline, int warp, const char *label) {
    const Trace *trace = &timeline->recording->trace;
    uint64_t until = timeline->begin;
    Row *row = row_add(timeline, ROW_WARP, warp, label);
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        if (e->cta != timeline->cta || e->warp != warp || e->kind == TRACE_TILE) {
            continue;
        }
        Span *last = row->count ? &row->span[row->count - 1] : NULL;
        uint64_t begin = e->begin;
        if (begin < until && last && last->event && last->event->kind == TRACE_EPILOGUE && e->end < until) {
            Span rest = {e->end, until, last->look, TENSOR_CORES, last->event};
            last->end = begin;
            span_add(row, begin, e->end, look_of(e), e);
            row->span[row->count++] = rest;
            continue;
        }
        begin = begin < until ? until : begin;
        span_add(row, until, begin, LOOK_OTHER, NULL);
        span_add(row, begin, e->end, look_of(e), e);
        until = e->end > until ? e->end : until;
    }
}

/* A row of `what`, of one unit (-1: of all); of loads, those that the barrier name[number] counts. */
static void add_async_row(Timeline *timeline, RowKind kind, int number, const char *label, TraceKind what, int unit,
                          const char *name) {
    const Trace *trace = &timeline->recording->trace;
    Row *row = row_add(timeline, kind, number, label);
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        if (e->cta == timeline->cta && e->kind == what && (unit < 0 || e->unit == unit) &&
            (what != TRACE_LOAD || (e->stage == number && strcmp(e->name, name) == 0))) {
            span_add(row, e->begin, e->end, look_of(e), e);
        }
    }
}

/* Whose products. */
typedef enum { OF_ALL, OF_THIS_CTA, OF_OTHER_CTAS } Share;

/* A tensor core gets work, or one piece less. */
typedef struct {
    uint64_t time;
    int core, change; /* core TENSOR_CORES: all of them */
} Edge;

static int by_time(const void *x, const void *y) {
    const Edge *a = x, *b = y;
    return a->time != b->time ? (a->time < b->time ? -1 : 1) : 0;
}

/* How many of the SM's tensor cores have work during the CTA's life: a span for each stretch of the same number. */
static void fill_tensor_row(const Timeline *timeline, Row *row, Share share) {
    const Trace *trace = &timeline->recording->trace;
    Edge *edge = trace_memory(NULL, (2 * trace->count + 1) * sizeof *edge);
    size_t edges = 0;
    int pieces[TENSOR_CORES] = {0}, level = 0;
    uint64_t since = timeline->begin;
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        if ((e->kind == TRACE_MMA || e->kind == TRACE_WGMMA) &&
            (share == OF_ALL || (e->cta == timeline->cta) == (share == OF_THIS_CTA)) && e->end > timeline->begin &&
            e->begin < timeline->end) {
            int core = e->kind == TRACE_WGMMA ? TENSOR_CORES : e->warp % TENSOR_CORES;
            edge[edges++] = (Edge){e->begin, core, 1};
            edge[edges++] = (Edge){e->end, core, -1};
        }
    }
    qsort(edge, edges, sizeof *edge, by_time);
    for (size_t i = 0; i < edges; i++) {
        int now = 0;
        for (int core = 0; core < TENSOR_CORES; core++) {
            pieces[core] += edge[i].core == core || edge[i].core == TENSOR_CORES ? edge[i].change : 0;
            now += pieces[core] > 0;
        }
        if (now == level || (i + 1 < edges && edge[i + 1].time == edge[i].time)) {
            continue;
        }
        if (level > 0) {
            span_add(row, since, edge[i].time, LOOK_MATH, NULL);
            row->span[row->count - 1].level = level;
        }
        level = now;
        since = edge[i].time;
    }
    free(edge);
}

/* Of the SM's; where several CTAs share it, also for this one and for the others. */
static void add_tensor_rows(Timeline *timeline) {
    static const char *const labels[] = {"tensor cores", "  for this CTA", "  for other CTAs"};
    for (Share share = OF_ALL; share <= OF_OTHER_CTAS; share++) {
        fill_tensor_row(timeline, row_add(timeline, share == OF_ALL ? ROW_TENSOR : ROW_PRODUCTS, 0, labels[share]),
                        share);
    }
    if (timeline->row[timeline->rows - 1].count == 0) { /* no other CTA shares the SM */
        free(timeline->row[--timeline->rows].span);
        free(timeline->row[--timeline->rows].span);
    }
}

/* What a CTA's warps do, which tells their roles. */
typedef struct {
    unsigned kinds[MAX_WARPS]; /* bit 1 << TraceKind */
    unsigned async;            /* the same of the asynchronous units */
    unsigned all;              /* ... of both */
    int produces[MAX_WARPS];   /* waits for an empty stage */
    int wgmma[MAX_WARPS / 4];  /* of warpgroups; not those that a thread starts by itself (14) */
    int warpgroups;            /* some have products */
    int stages;
    char ring[24]; /* name of the barriers that count loads */
} Cast;

static void find_cast(const Timeline *timeline, Cast *cast) {
    const Trace *trace = &timeline->recording->trace;
    memset(cast, 0, sizeof *cast);
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        if (e->cta != timeline->cta) {
            continue;
        }
        cast->all |= 1u << e->kind;
        if (e->warp < 0) {
            cast->async |= 1u << e->kind;
        } else if (e->warp < MAX_WARPS) {
            cast->kinds[e->warp] |= 1u << e->kind;
            cast->produces[e->warp] |= e->kind == TRACE_WAIT && strcmp(e->name, "empty") == 0;
        }
        if (e->kind == TRACE_WGMMA && e->unit >= 0 && e->unit < MAX_WARPS / 4) {
            cast->wgmma[e->unit] = cast->warpgroups = 1;
        }
        if (e->kind == TRACE_LOAD) {
            snprintf(cast->ring, sizeof cast->ring, "%s", e->name);
            cast->stages = e->stage + 1 > cast->stages ? e->stage + 1 : cast->stages;
        }
    }
}

/* From top to bottom, the way of the data: loads, warps, tensor cores, stores. */
static void add_rows(Timeline *timeline, int most_warps) {
    Cast cast;
    char label[40];
    find_cast(timeline, &cast);
    for (int stage = 0; stage < cast.stages; stage++) {
        snprintf(label, sizeof label, stage == 0 ? "loads: stage %d" : "       stage %d", stage);
        add_async_row(timeline, ROW_ASYNC, stage, label, TRACE_LOAD, -1, cast.ring);
    }
    if (cast.async >> TRACE_COPY & 1) {
        add_async_row(timeline, ROW_ASYNC, 0, "loads of warp 0", TRACE_COPY, 0, NULL);
    }
    int roles = 0, consumers = 0, shown = 0;
    for (int warp = 0; warp < MAX_WARPS; warp++) {
        roles |= cast.produces[warp];
    }
    for (int warp = 0; warp < MAX_WARPS; warp++) {
        int group = warp / 4;
        if (cast.kinds[warp] == 0) {
            continue;
        }
        if (cast.warpgroups) {
            if (cast.produces[warp]) {
                snprintf(label, sizeof label, "producer");
            } else if (cast.wgmma[group] && warp % 4 == 0) {
                snprintf(label, sizeof label, roles ? "consumer %d" : "warpgroup %d", roles ? consumers++ : group);
            } else {
                continue;
            }
        } else {
            snprintf(label, sizeof label, "warp %d", warp);
            if (shown++ == most_warps) {
                break;
            }
        }
        add_warp_row(timeline, warp, label);
    }
    int multiplies =
        recording_launches(timeline->recording) == 1 || (cast.all & (1u << TRACE_MMA | 1u << TRACE_WGMMA)) != 0;
    if (recording_peak(timeline->recording) > 0 && multiplies) {
        add_tensor_rows(timeline);
    }
    consumers = 0;
    for (int group = 0; group < MAX_WARPS / 4; group++) {
        if (cast.wgmma[group]) {
            snprintf(label, sizeof label, roles ? "  for consumer %d" : "  for warpgroup %d",
                     roles ? consumers++ : group);
            add_async_row(timeline, ROW_PRODUCTS, group, label, TRACE_WGMMA, group, NULL);
        }
    }
    if (cast.async >> TRACE_STORE & 1) {
        add_async_row(timeline, ROW_ASYNC, 0, "stores", TRACE_STORE, -1, NULL);
    }
}

/* ---- what belongs together --------------------------------------------------------------------------------------- */

/* Is it the wait that sees the load landed, if it is the first one? */
static int is_wait_for(const Span *wait, const Span *load) {
    const TraceEvent *w = wait->event, *l = load->event;
    return wait->look == LOOK_DATA_WAIT && wait->end >= load->end && w->cta == l->cta &&
           (l->kind == TRACE_LOAD ? w->kind == TRACE_WAIT && w->stage == l->stage && strcmp(w->name, l->name) == 0
                                  : w->kind == TRACE_COPY_WAIT && w->warp == l->unit);
}

/* For each load the first wait of a drawn row that sees it landed. */
static void find_landed(Timeline *timeline) {
    size_t loads = 0;
    for (int r = 0; r < timeline->rows; r++) {
        loads += timeline->row[r].kind == ROW_ASYNC ? timeline->row[r].count : 0;
    }
    timeline->landed = trace_memory(NULL, (loads + 1) * sizeof *timeline->landed);
    for (int r = 0; r < timeline->rows; r++) {
        for (size_t i = 0; timeline->row[r].kind == ROW_ASYNC && i < timeline->row[r].count; i++) {
            const Span *load = &timeline->row[r].span[i];
            LandedLoad best = {load->event, NULL, r, 0};
            for (int w = 0; load->look == LOOK_LOAD && w < timeline->rows; w++) {
                const Row *row = &timeline->row[w];
                size_t j = 0;
                while (row->kind == ROW_WARP && j < row->count && !is_wait_for(&row->span[j], load)) {
                    j++;
                }
                if (row->kind == ROW_WARP && j < row->count && (!best.wait || row->span[j].end < best.wait->end)) {
                    best.wait = row->span[j].event;
                    best.wait_row = w;
                }
            }
            if (best.wait) {
                timeline->landed[timeline->landed_count++] = best;
            }
        }
    }
}

static uint64_t end_of(const Timeline *timeline, int cta) {
    for (int i = 0; i < timeline->parts; i++) {
        if (timeline->part[i].cta == cta) {
            return timeline->part[i].end;
        }
    }
    return timeline->end;
}

/* Tiles as the rows of warps that multiply take them. */
static void find_tiles(Timeline *timeline) {
    const Trace *trace = &timeline->recording->trace;
    timeline->tile = trace_memory(NULL, (trace->count + 1) * sizeof *timeline->tile);
    for (int r = 0; r < timeline->rows; r++) {
        TileMark *open = NULL;
        for (const TraceEvent *e = trace->event; timeline->row[r].kind == ROW_WARP && e < trace->event + trace->count;
             e++) {
            if (e->kind == TRACE_TILE && e->cta == timeline->row[r].cta && e->warp == timeline->row[r].number) {
                if (open) {
                    open->end = e->begin;
                }
                open = &timeline->tile[timeline->tiles++];
                *open = (TileMark){e->begin, end_of(timeline, e->cta), e->row, e->col, r};
            }
        }
    }
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

/* Spans of the row that look so; the nth begins at *begin, which is left alone if there are fewer. */
static int count_looks(const Row *row, Look look, int nth, uint64_t *begin) {
    int count = 0;
    for (size_t i = 0; i < row->count; i++) {
        if (row->span[i].look == look && ++count == nth) {
            *begin = row->span[i].begin;
        }
    }
    return count;
}

/* K-tiles of the first row that multiplies, by its waits; the nth begins at *begin, left alone if there are fewer. */
static int count_k_tiles(const Timeline *timeline, int nth, uint64_t *begin) {
    uint64_t unused = 0;
    for (int r = 0; r < timeline->rows; r++) {
        const Row *row = &timeline->row[r];
        if (row->kind == ROW_WARP &&
            count_looks(row, LOOK_MATH, 0, &unused) + count_looks(row, LOOK_MATH_WAIT, 0, &unused) > 0) {
            int waits = count_looks(row, LOOK_DATA_WAIT, nth, begin);
            /* 02 waits at two barriers in a k-tile, on a GPU for nothing else that is recorded. */
            return waits > 0 ? waits : count_looks(row, LOOK_BARRIER, 2 * nth - 1, begin) / 2;
        }
    }
    return 0;
}

/* A CTA of many tiles is cut where the first few are done; any other CTA after a number of k-tiles. */
static uint64_t default_window_end(const Timeline *timeline) {
    uint64_t end = timeline->end;
    if (timeline->parts > 1) {
        return end;
    }
    int taken = 0;
    for (size_t i = 0; i < timeline->tiles; i++) { /* the first row is the producer's, if there is one */
        taken += timeline->tile[i].line == timeline->tile[0].line;
        if (taken == WINDOW_TILES + 1) {
            return timeline->tile[i].begin;
        }
    }
    if (taken < 2) {
        count_k_tiles(timeline, WINDOW_K_TILES + 1, &end);
    }
    return end;
}

int timeline_detail(const Timeline *timeline, uint64_t *begin, uint64_t *end) {
    uint64_t unused;
    int fragments = 0, tiles = count_k_tiles(timeline, 0, &unused);
    for (int r = 0; r < timeline->rows; r++) {
        fragments += count_looks(&timeline->row[r], LOOK_FRAGMENTS, 0, &unused);
    }
    if (fragments == 0 || tiles < 2 * DETAIL_TILES) {
        return 0;
    }
    count_k_tiles(timeline, tiles / 2 - 1, begin);
    count_k_tiles(timeline, tiles / 2 - 1 + DETAIL_TILES, end);
    return *begin >= timeline->window_begin && *end <= timeline->window_end;
}

double timeline_step(double least) {
    double step = 1;
    while (step > least) {
        step /= 10;
    }
    for (int i = 0; step < least; i++) {
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    return step;
}

static void find_shares(Timeline *timeline) {
    uint64_t from = timeline->window_begin, to = timeline->window_end;
    for (int r = 0; r < timeline->rows; r++) {
        Row *row = &timeline->row[r];
        uint64_t waiting = 0, busy = 0, until = from;
        for (size_t i = 0; i < row->count; i++) {
            const Span *span = &row->span[i];
            uint64_t begin = span->begin > from ? span->begin : from, end = span->end < to ? span->end : to;
            waiting += end > begin && looks[span->look].is_wait ? end - begin : 0;
            begin = begin > until ? begin : until;
            if (end > begin) {
                busy += (end - begin) * (uint64_t)span->level;
                until = end;
            }
        }
        row->waiting = (double)waiting / (double)(to - from);
        row->busy = (double)busy / (double)(to - from) / TENSOR_CORES;
    }
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

/* From the CTA's first event to its last. 0 if it has none. */
static int find_life(const Trace *trace, Part *part) {
    part->begin = UINT64_MAX;
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        if (e->cta == part->cta) {
            part->begin = e->begin < part->begin ? e->begin : part->begin;
            part->end = e->end > part->end ? e->end : part->end;
        }
    }
    return part->begin != UINT64_MAX;
}

/* The CTA that is asked for and, unless only that one is wanted, one of each other launch. 0 if it is not there. */
static int find_parts(Timeline *timeline, int alone) {
    const Recording *recording = timeline->recording;
    int wanted = recording_launch_of(recording, timeline->cta), found = 0;
    for (int launch = 0; launch < recording_launches(recording); launch++) {
        Part *part = &timeline->part[timeline->parts];
        part->launch = launch;
        part->cta = launch == wanted ? timeline->cta : recording_cta_of_launch(recording, launch, -1);
        if (alone && launch != wanted) {
            continue;
        }
        timeline->parts++;
        if (find_life(&recording->trace, part)) {
            found |= launch == wanted;
        } else {
            part->cta = -1;
        }
    }
    return found;
}

static void add_parts(Timeline *timeline, int most_warps) {
    int cta = timeline->cta;
    uint64_t begin = UINT64_MAX, end = 0;
    for (int i = 0; i < timeline->parts; i++) {
        Part *part = &timeline->part[i];
        if (part->cta >= 0) {
            timeline->cta = part->cta;
            timeline->begin = part->begin;
            timeline->end = part->end;
            add_rows(timeline, most_warps);
            begin = part->begin < begin ? part->begin : begin;
            end = part->end > end ? part->end : end;
        }
        part->rows = timeline->rows;
    }
    timeline->cta = cta;
    timeline->begin = begin;
    timeline->end = end;
}

int timeline_open(Timeline *timeline, const Recording *recording, const TimelineView *view) {
    const Trace *trace = &recording->trace;
    memset(timeline, 0, sizeof *timeline);
    timeline->recording = recording;
    timeline->cta = view->cta;
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        if (view->cta < 0 && e->kind == TRACE_CTA && (timeline->cta < 0 || e->cta < timeline->cta)) {
            timeline->cta = e->cta;
        }
    }
    if (!find_parts(timeline, view->all_warps)) {
        fprintf(stderr, "there are no events of CTA %d; the launch had %d CTAs\n", timeline->cta, trace->ctas);
        return 0;
    }
    add_parts(timeline, view->all_warps ? MAX_WARPS : MAX_WARP_ROWS);
    find_landed(timeline);
    find_tiles(timeline);
    timeline->window_begin = timeline->begin;
    timeline->window_end = view->whole ? timeline->end : default_window_end(timeline);
    find_shares(timeline);
    return 1;
}

void timeline_close(Timeline *timeline) {
    for (int r = 0; r < timeline->rows; r++) {
        free(timeline->row[r].span);
    }
    free(timeline->row);
    free(timeline->landed);
    free(timeline->tile);
    memset(timeline, 0, sizeof *timeline);
}
