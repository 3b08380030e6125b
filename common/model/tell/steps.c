/* steps.c - when things happen, and events of it for a timeline (model_trace.h).
 *
 * Time is in steps of a rough table of costs (costs.h): it shows order and overlap, not speed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../event.h"
#include "../model_trace.h"
#include "costs.h"

enum {
    MAX_EVENTS = 4 * 1024 * 1024,
    MAX_SMS = 1024,
    GROUP_TIMES = 16,    /* of each kind of groups */
    PRODUCT_TIMES = 256, /* of products that some warps have issued and others not */
    FRAGMENT_TIMES = 64, /* a power of two */
};

typedef struct ThreadSteps {
    uint64_t time;
    uint64_t wait_begin;
    /* When the last groups were committed, and when a wait for them may end. */
    struct {
        uint64_t commit[GROUP_TIMES], ready[GROUP_TIMES];
    } group[GROUP_KINDS];
    uint64_t copy_path; /* of cp.async: busy until */
    /* Ordinary loads whose values are not used yet: since load_begin. */
    int loading, load_groups;
    uint64_t load_begin, load_ready;
    /* Of the open bulk group; when all is written. */
    uint64_t store_begin, store_ready;
} ThreadSteps;

typedef struct {
    /* What the warp does now. */
    int busy;
    TraceKind kind;
    uint64_t begin, end;
    /* When the shared memory's path is free for it; fragments in flight, by lane 0's registers. */
    uint64_t shared;
    struct {
        uintptr_t address;
        uint64_t time;
    } fragment[FRAGMENT_TIMES];
} WarpSteps;

typedef struct {
    uint64_t product[PRODUCT_TIMES];                               /* when its last part was issued */
    uint64_t group_begin[GROUP_HISTORY], group_end[GROUP_HISTORY]; /* on the tensor cores */
    uint64_t begun, traced;                                        /* groups */
} WarpgroupSteps;

/* When its last arrival came; when the waiting threads may go on. */
typedef struct BarrierSteps {
    uint64_t arriving, released;
} BarrierSteps;

typedef struct CtaSteps {
    int sm;
    uint64_t start;
    uint64_t loads, stores, tensor; /* until when copy engine and tensor cores are busy */
    BarrierSteps named[NAMED_BARRIERS];
    BarrierSteps cluster; /* in rank 0 */
    WarpSteps warp[WARP_LIMIT];
    WarpgroupSteps warpgroup[WARPGROUP_LIMIT];
} CtaSteps;

static Trace trace = {.unit = "steps", .source = "CPU model"};
static int capacity;     /* of trace.event */
static int first_of_set; /* in trace.launch: the first of those that run side by side */
static struct {
    uint64_t time; /* it is free from here on */
    int taken;
} sm[MAX_SMS];

static uint64_t later(uint64_t x, uint64_t y) { return x > y ? x : y; }

/* ---- events ------------------------------------------------------------------------------------------------------ */

const Trace *model_trace(void) { return &trace; }

static void add(const Cta *cta, TraceEvent event, const Barrier *barrier) {
    if (trace.count == MAX_EVENTS) {
        trace.lost++;
        return;
    }
    trace.event = model_grow(trace.event, (int)trace.count + 1, &capacity, sizeof *trace.event);
    event.cta = trace.launch[first_of_set].first_cta + launch_of(cta)->first_cta + cta->block;
    event.sm = cta->steps->sm;
    event.stage = -1;
    if (barrier != NULL) {
        snprintf(event.name, sizeof event.name, "%.*s", (int)sizeof event.name - 1, barrier->array);
        event.stage = barrier->index;
    }
    trace.ctas += event.kind == TRACE_CTA;
    trace.event[trace.count++] = event;
}

static WarpSteps *steps_of(const Warp *w) { return &w->cta->steps->warp[w->id]; }

/* What the warp has been doing ends, at the latest when something else begins. */
static void finish_work(Warp *w, uint64_t before) {
    WarpSteps *s = steps_of(w);
    if (s->busy) {
        uint64_t end = s->end < before ? s->end : before;
        if (end > s->begin) {
            add(w->cta, (TraceEvent){.begin = s->begin, .end = end, .warp = w->id, .kind = s->kind}, NULL);
        }
        s->busy = 0;
    }
}

/* The thread waited from `begin` until now. Of a warp, lane 0 counts. */
static void waited(const Thread *t, TraceKind kind, uint64_t begin, int index, const Barrier *barrier) {
    uint64_t end = t->steps->time;
    if (t->lane == 0) {
        finish_work(t->warp, begin);
        add(t->cta, (TraceEvent){.begin = begin, .end = end, .warp = t->warp->id, .index = index, .kind = kind},
            barrier);
    }
}

/* The warp did this; what follows without anything else between becomes one event. */
static void worked(Warp *w, TraceKind kind, uint64_t begin, uint64_t end) {
    WarpSteps *s = steps_of(w);
    if (s->busy && s->kind == kind) {
        s->end = later(s->end, end);
        return;
    }
    if (s->busy && s->kind == TRACE_FRAGMENTS && kind == TRACE_MMA) {
        s->end = begin; /* the fragments are there when the first product can begin */
    }
    finish_work(w, begin);
    s->busy = 1;
    s->kind = kind;
    s->begin = begin;
    s->end = end;
}

/* Asynchronous work of the CTA. */
static void went_on(const Cta *cta, TraceKind kind, int unit, uint64_t begin, uint64_t end, int index) {
    add(cta, (TraceEvent){.begin = begin, .end = end, .warp = -1, .unit = unit, .index = index, .kind = kind}, NULL);
}

/* ---- launch and CTAs --------------------------------------------------------------------------------------------- */

static uint64_t time_of(const Thread *t) { return t->steps->time; }

/* Forgets earlier launches: the following ones make a trace of their own. */
ON(steps, CONFIGURED) {
    device.order = NULL;
    trace.count = trace.lost = 0;
    trace.launches = trace.ctas = 0;
    memset(sm, 0, sizeof sm);
}

/* A launch begins when the previous one has ended on all SMs; if it may overlap that, when an SM is free. */
ON(steps, LAUNCH_BEGIN) {
    uint64_t end = 0;
    for (int i = 0; i < MAX_SMS; i++) {
        end = later(end, sm[i].time);
        sm[i].taken = 0;
    }
    for (int i = 0; i < MAX_SMS && !device.launch->overlap; i++) {
        sm[i].time = end;
    }
    first_of_set = trace.launches < MAX_TRACE_LAUNCHES ? trace.launches : MAX_TRACE_LAUNCHES - 1;
    for (int i = 0; i < device.launched && trace.launches < MAX_TRACE_LAUNCHES; i++) {
        const TraceLaunch *last = trace.launches > 0 ? &trace.launch[trace.launches - 1] : NULL;
        TraceLaunch *next = &trace.launch[trace.launches++];
        *next =
            (TraceLaunch){.first_cta = last != NULL ? last->first_cta + last->ctas : 0, .ctas = device.launch[i].grid};
        if (device.devices > 1) {
            snprintf(next->name, sizeof next->name, "%.32s of device %d", device.launch[i].name,
                     device.launch[i].facts.device);
        } else {
            snprintf(next->name, sizeof next->name, "%s", device.launch[i].name);
        }
    }
    /* For a timeline, eager goes in the order of the threads' time, so that shared units serve warps in that order. */
    if (device.options.policy == MODEL_EAGER) {
        device.order = time_of;
    }
}

ON(steps, SHUTDOWN) {
    free(trace.event);
    trace.event = NULL;
    trace.count = 0;
    capacity = 0;
}

/* CTAs run here one after the other; on the timeline each begins where an SM is free first. */
static void take_sm(Cta *cta) {
    CtaSteps *s = cta->steps;
    int first = launch_of(cta)->facts.device * device.sms;
    s->sm = -1;
    for (int i = first; i < first + device.sms && i < MAX_SMS; i++) {
        if (!sm[i].taken && (s->sm < 0 || sm[i].time < sm[s->sm].time)) {
            s->sm = i;
        }
    }
    s->sm = s->sm < 0 ? first % MAX_SMS : s->sm;
    sm[s->sm].taken = 1;
    s->start = s->loads = s->stores = s->tensor = sm[s->sm].time;
}

ON(steps, CTA_BEGIN) {
    cta->steps = cta_alloc(cta, sizeof *cta->steps);
    take_sm(cta);
    CTA_GIVE(cta, cta->thread, cta->threads, steps);
    for (int i = 0; i < cta->threads; i++) {
        cta->thread[i].steps->time = cta->steps->start;
    }
}

ON(steps, CTA_RETURNED) {
    uint64_t end = cta->steps->start + 1;
    for (int i = 0; i < cta->threads; i++) {
        end = later(end, cta->thread[i].steps->time);
    }
    for (int i = 0; i < cta->warps; i++) {
        finish_work(&cta->warp[i], end);
    }
    went_on(cta, TRACE_CTA, 0, cta->steps->start, end, 0);
    sm[cta->steps->sm].time = end + CTA_START;
    sm[cta->steps->sm].taken = 0;
}

ON(steps, TILE) {
    if (t->lane == 0) {
        uint64_t now = t->steps->time;
        TraceEvent event = {
            .begin = now, .end = now, .warp = t->warp->id, .row = e->row, .col = e->column, .kind = TRACE_TILE};
        finish_work(t->warp, now);
        add(t->cta, event, NULL);
    }
}

/* ---- ordinary accesses ------------------------------------------------------------------------------------------- */

/* A thread's share of a path that all of the CTA's threads use. */
static uint64_t share(const Thread *t, uint32_t size, uint32_t bytes_a_step) {
    return later((uint64_t)size * (uint64_t)t->cta->threads / bytes_a_step, 1);
}

static void plain_load(Thread *t, int is_global, uint32_t size) {
    ThreadSteps *s = t->steps;
    uint64_t begin = s->time;
    s->time += share(t, size, is_global ? LOAD_BYTES_A_STEP : SHARED_BYTES_A_STEP);
    if (is_global) {
        s->load_ready = s->time + LOAD_LATENCY;
        s->load_begin = s->loading ? s->load_begin : begin;
        s->loading = 1;
        if (t->cta->shared_bytes == 0 && t->lane == 0) {
            /* Without shared memory, loads and products alternate: what the thread does until its epilogue. */
            worked(t->warp, TRACE_MMA, begin, s->time);
        }
    }
}

static void plain_store(Thread *t, int is_global, uint32_t size) {
    ThreadSteps *s = t->steps;
    uint64_t begin = s->time;
    if (s->loading && s->load_ready > begin) { /* what is stored comes from what was loaded */
        WarpSteps *w = steps_of(t->warp);
        s->time = s->load_ready;
        if (t->lane == 0 && t->cta->shared_bytes > 0) {
            went_on(t->cta, TRACE_COPY, t->warp->id, s->load_begin, s->load_ready, s->load_groups++);
        }
        if (t->lane == 0 && w->busy && w->kind == TRACE_MMA) {
            w->end = s->load_ready;
        } else {
            waited(t, TRACE_COPY_WAIT, begin, 0, NULL);
        }
        begin = s->time;
    }
    s->loading = 0;
    s->time += share(t, size, is_global ? STORE_BYTES_A_STEP : SHARED_BYTES_A_STEP);
    if ((is_global || t->cta->tmem->word != NULL) && t->lane == 0) { /* with tensor memory no other role stores */
        worked(t->warp, TRACE_EPILOGUE, begin, s->time);
    }
}

ON(steps, SHARED_ACCESS) { (e->write ? plain_store : plain_load)(t, e->kind == EVENT_GLOBAL_ACCESS, e->size); }
HEARS(steps, GLOBAL_ACCESS, on_SHARED_ACCESS);
HEARS(steps, CLUSTER_ACCESS, on_SHARED_ACCESS);

/* ---- warps ------------------------------------------------------------------------------------------------------- */

/* The lanes go on together, not before `from`, and take `cost` steps. Returns when they began. */
static uint64_t together(Warp *w, uint64_t from, uint64_t cost) {
    uint64_t begin = from;
    for (int lane = 0; lane < w->lanes; lane++) {
        begin = later(begin, w->thread[lane].steps->time);
    }
    for (int lane = 0; lane < w->lanes; lane++) {
        w->thread[lane].steps->time = begin + cost;
    }
    return begin;
}

/* Steps in which an ldmatrix or stmatrix of each of the CTA's warps passes through shared memory. */
static uint64_t shared_steps(const Warp *w) {
    return 4 * WARP_SIZE * 4 * (uint64_t)w->cta->warps / SHARED_BYTES_A_STEP;
}

ON(steps, EXPONENTIAL) {
    uint64_t begin = t->steps->time;
    t->steps->time += COST_EXPONENTIAL;
    if (t->lane == 0) {
        worked(t->warp, TRACE_EXP2, begin, t->steps->time);
    }
}

ON(steps, EXCHANGE) {
    uint64_t begin = together(w, 0, COST_SHUFFLE);
    if (e->transposes) { /* the epilogue begins */
        worked(w, TRACE_EPILOGUE, begin, begin + COST_SHUFFLE);
    }
}

/* A load from tensor memory begins the epilogue. */
ON(steps, TMEM_ACCESS) {
    const uint64_t bytes = WARP_SIZE * 4 * (uint64_t)e->columns;
    const uint64_t cost = bytes / SHARED_BYTES_A_STEP, begin = together(w, 0, cost);
    worked(w, TRACE_EPILOGUE, begin, begin + cost);
}

/* Fragments are in flight while the warp goes on: the product that uses the register waits. */
ON(steps, WARP_ACCESS) {
    WarpSteps *s = steps_of(w);
    const int stores = access_flags(e->access) & WRITES;
    uint64_t cost = stores ? shared_steps(w) : COST_LDMATRIX, begin = together(w, 0, cost);
    worked(w, stores ? TRACE_EPILOGUE : TRACE_FRAGMENTS, begin, begin + cost);
    if (!stores) {
        s->shared = later(s->shared, begin) + shared_steps(w);
    }
    if (e->registers != NULL) {
        uintptr_t address = (uintptr_t)e->registers[0] >> 4;
        s->fragment[address % FRAGMENT_TIMES].address = address;
        s->fragment[address % FRAGMENT_TIMES].time = s->shared + SHARED_LATENCY;
    }
}

static uint64_t loaded(const Warp *w, const uint32_t *r0) {
    uintptr_t address = (uintptr_t)r0 >> 4;
    const WarpSteps *s = steps_of(w);
    return s->fragment[address % FRAGMENT_TIMES].address == address ? s->fragment[address % FRAGMENT_TIMES].time : 0;
}

ON(steps, MMA) {
    /* Each of the SM's four tensor cores serves every fourth warp. */
    uint64_t cost = STEPS_A_MMA * (uint64_t)((w->cta->warps + 3) / 4);
    uint64_t begin = together(w, later(loaded(w, e->a[0]), loaded(w, e->b[0])), cost);
    worked(w, TRACE_MMA, begin, begin + cost);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* When the thread's open group is ready, as far as is known. */
static uint64_t *group_ready(const Thread *t, GroupKind kind) {
    return &t->steps->group[kind].ready[t->groups[kind].committed % GROUP_TIMES];
}

static BarrierSteps *steps_at(Barrier *b) {
    if (b->steps == NULL) {
        b->steps = cta_alloc(b->cta, sizeof *b->steps);
    }
    return b->steps;
}

ON(steps, COPY) {
    ThreadSteps *s = t->steps;
    s->time += COST_COPY;
    uint64_t ready = s->time + SHARED_LATENCY;
    uint64_t *over = b != NULL ? &steps_at(b)->arriving : group_ready(t, e->group);
    if (global_is(e->from)) { /* a thread has its share of the path from L2 */
        s->copy_path = later(s->copy_path, s->time) + e->size * (uint64_t)t->cta->threads / LOAD_BYTES_A_STEP;
        ready = s->copy_path + LOAD_LATENCY;
    }
    *over = later(*over, ready);
}

static void close_group(Thread *t, GroupKind kind) {
    uint32_t group = t->groups[kind].committed;
    t->steps->group[kind].commit[group % GROUP_TIMES] = t->steps->time;
    t->steps->group[kind].ready[(group + 1) % GROUP_TIMES] = 0;
}

ON(steps, GROUP_COMMIT) { close_group(t, e->group); }

ON(steps, GROUP_WAIT) {
    ThreadSteps *s = t->steps;
    const ThreadGroups *g = &t->groups[e->group];
    const uint64_t *commit = s->group[e->group].commit, *ready = s->group[e->group].ready;
    /* The groups that no wait has covered yet. An empty one is no copy. */
    for (uint32_t group = g->waited; t->lane == 0 && group < e->done && g->committed - group < GROUP_TIMES; group++) {
        uint64_t begin = commit[group % GROUP_TIMES], end = ready[group % GROUP_TIMES];
        if (end > begin) {
            went_on(t->cta, TRACE_COPY, t->warp->id, begin, end, (int)group);
        }
    }
    uint64_t begin = s->time;
    s->time = later(begin + COST_WAIT, e->done > 0 ? ready[(e->done - 1) % GROUP_TIMES] : 0);
    waited(t, TRACE_COPY_WAIT, begin, e->newest, NULL);
}

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

static void arrive(const Thread *t, BarrierSteps *b) { b->arriving = later(b->arriving, t->steps->time); }

ON(steps, BARRIER_ARRIVE) {
    arrive(t, &t->cta->steps->named[e->id]);
    t->steps->wait_begin = t->steps->time;
}

ON(steps, BARRIER_COMPLETE) {
    BarrierSteps *at = &cta->steps->named[e->id];
    for (Thread *t = cta->named[e->id].waiters; t != NULL; t = t->next_waiter) {
        t->steps->time = later(t->steps->time, at->arriving + COST_BARRIER);
    }
    at->arriving = 0;
}

ON(steps, BARRIER_PASSED) { waited(t, TRACE_BARRIER, t->steps->wait_begin, e->id, NULL); }

static BarrierSteps *steps_of_cluster(const Cluster *cluster) { return &cluster->cta[0]->steps->cluster; }

ON(steps, CLUSTER_ARRIVE) { arrive(t, steps_of_cluster(t->cta->cluster)); }

ON(steps, CLUSTER_COMPLETE) {
    BarrierSteps *at = steps_of_cluster(e->cluster);
    *at = (BarrierSteps){.released = at->arriving + COST_BARRIER};
}

ON(steps, CLUSTER_PASSED) {
    ThreadSteps *s = t->steps;
    s->time = later(s->time, steps_of_cluster(t->cta->cluster)->released);
}

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

ON(steps, MBARRIER_ARRIVE) {
    if (b->pending > 0) {
        arrive(t, steps_at(b));
    }
}

ON(steps, MBARRIER_COPIES) {
    BarrierSteps *at = steps_at(b);
    if (e->group == GROUP_TMEM) { /* tcgen05.commit */
        at->arriving = later(at->arriving, later(t->cta->steps->tensor, t->steps->time));
        return;
    }
    uint64_t begin = t->steps->time, ready = later(*group_ready(t, GROUP_COPIES), begin);
    at->arriving = later(at->arriving, ready);
    if (t->lane == 0 && ready > begin) {
        went_on(t->cta, TRACE_COPY, t->warp->id, begin, ready, (int)t->groups[GROUP_COPIES].committed);
    }
    close_group(t, GROUP_COPIES);
}

ON(steps, MBARRIER_COMPLETE) {
    BarrierSteps *at = steps_at(b);
    *at = (BarrierSteps){.released = at->arriving};
}

ON(steps, MBARRIER_WAIT) { t->steps->wait_begin = t->steps->time; }

ON(steps, MBARRIER_PASSED) {
    ThreadSteps *s = t->steps;
    s->time = later(s->time, steps_at(b)->released) + COST_WAIT;
    waited(t, TRACE_WAIT, s->wait_begin, (int)((b->phase + 1) & 1), b);
}

/* ---- the copy engine --------------------------------------------------------------------------------------------- */

/* The engine of a CTA is busy with loads, or with stores, for this many more steps; returns until when. */
static uint64_t engine(const Thread *t, uint64_t *busy, uint64_t steps) {
    *busy = later(*busy, t->steps->time) + steps;
    return *busy;
}

ON(steps, TMA_LOAD) {
    uint32_t bytes = tensor_box_bytes(&e->load->map);
    uint64_t begin = t->steps->time;
    t->steps->time += COST_TMA;
    uint64_t end = engine(t, &t->cta->steps->loads, bytes / LOAD_BYTES_A_STEP) + TMA_LATENCY;
    for (int i = 0; i < e->load->targets; i++) {
        BarrierSteps *b = steps_at(e->load->barrier[i]);
        b->arriving = later(b->arriving, end);
        add(e->load->target[i],
            (TraceEvent){.begin = begin, .end = end, .warp = -1, .bytes = (int)bytes, .kind = TRACE_LOAD},
            e->load->barrier[i]);
    }
}

ON(steps, TMA_STORE) {
    ThreadSteps *s = t->steps;
    uint32_t bytes = tensor_box_bytes(e->copy->map);
    if (t->groups[GROUP_READS].open == 0) {
        s->store_begin = s->time;
    }
    s->time += COST_TMA;
    s->store_ready = engine(t, &t->cta->steps->stores, bytes / STORE_BYTES_A_STEP);
    *group_ready(t, GROUP_READS) = s->time + SHARED_LATENCY + bytes / LOAD_BYTES_A_STEP;
}

ON(steps, BULK_COMMIT) {
    const ThreadGroups *g = &t->groups[GROUP_READS];
    if (g->open > 0) {
        went_on(t->cta, TRACE_STORE, t->warp->id, t->steps->store_begin, t->steps->store_ready, (int)g->committed);
    }
}

ON(steps, BULK_WAIT) {
    ThreadSteps *s = t->steps;
    uint64_t begin = s->time, ready = 0;
    if (e->done > 0) {
        ready = e->read ? s->group[GROUP_READS].ready[(e->done - 1) % GROUP_TIMES] : s->store_ready;
    }
    s->time = later(begin, ready) + COST_WAIT;
    waited(t, TRACE_STORE_WAIT, begin, e->newest, NULL);
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

static WarpgroupSteps *steps_of_warpgroup(const Warpgroup *g) { return &g->cta->steps->warpgroup[g->id]; }

ON(steps, WGMMA_PART) {
    Thread *thread = w->thread;
    uint64_t *time = &steps_of_warpgroup(w->warpgroup)->product[e->product->number % PRODUCT_TIMES];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        thread[lane].steps->time += COST_WGMMA;
    }
    *time = later(e->product->issued_by != 0 ? *time : 0, thread[0].steps->time);
}

ON(steps, WGMMA_ISSUED) {
    CtaSteps *units = e->warpgroup->cta->steps;
    WarpgroupSteps *s = steps_of_warpgroup(e->warpgroup);
    const Product *product = e->product;
    uint64_t begin = later(s->product[product->number % PRODUCT_TIMES], units->tensor);
    units->tensor = begin + (uint64_t)product->n / WGMMA_COLUMNS_A_STEP;
    if (s->begun <= product->group) {
        s->begun = product->group + 1;
        s->group_begin[product->group % GROUP_HISTORY] = begin;
    }
    s->group_end[product->group % GROUP_HISTORY] = units->tensor;
}

ON(steps, WGMMA_WAITED) {
    WarpgroupSteps *s = steps_of_warpgroup(w->warpgroup);
    for (; s->traced < e->done; s->traced++) {
        uint64_t slot = s->traced % GROUP_HISTORY;
        if (s->group_end[slot] > s->group_begin[slot]) { /* not an empty group */
            went_on(w->cta, TRACE_WGMMA, w->warpgroup->id, s->group_begin[slot], s->group_end[slot], (int)s->traced);
        }
    }
    uint64_t begin = w->thread[0].steps->time;
    uint64_t time = later(begin, s->group_end[(e->done - 1) % GROUP_HISTORY]) + COST_WAIT;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        w->thread[lane].steps->time = later(w->thread[lane].steps->time, time);
    }
    waited(&w->thread[0], TRACE_WGMMA_WAIT, begin, e->newest, NULL);
}

/* A product of tcgen05 is drawn by itself: no thread waits for it. */
ON(steps, TMEM_PRODUCT) {
    CtaSteps *units = t->cta->steps;
    const Tcgen05Shape *shape = &e->tmem_product->shape;
    t->steps->time += COST_WGMMA;
    uint64_t begin = later(t->steps->time, units->tensor);
    units->tensor = begin + (uint64_t)(tcgen05_rows(shape) / WGMMA_M * shape->n) / WGMMA_COLUMNS_A_STEP;
    went_on(t->cta, TRACE_WGMMA, -1, begin, units->tensor, 0); /* no warpgroup's */
}
