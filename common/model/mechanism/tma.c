/* tma.c - the copy engine: boxes of tensors into and out of shared memory.
 *
 * Issuing a copy checks everything that its issuer must know: that nobody uses the memory any more, that data was
 * published. The copy itself is an agent. A load brings its box in pieces, in whatever order the schedule has, and
 * counts them on its barrier; until then the box holds NaN. A store reads shared memory at one moment and writes global
 * memory at a later one: two events, with a wait for each. */
#include <stdlib.h>
#include <string.h>

#include "../agents.h"
#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "global.h"
#include "../launch.h"
#include "../model.h"
#include "../judge/provenance.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../judge/shadow.h"
#include "../sync.h"
#include "../tell/steps.h"

enum { PIECE_CHUNKS = 1024 / CHUNK_BYTES };

typedef struct Load {
    Agent agent;
    struct Load *next, **link;
    TensorMap map;
    TensorWalk walk;
    Thread *thread;
    Cluster *cluster;
    uint32_t offset; /* in each destination's shared memory */
    int targets;
    Cta *target[CLUSTER_LIMIT];
    Barrier *barrier[CLUSTER_LIMIT];
    uint64_t end_time;
} Load;

typedef struct Store {
    Agent agent;
    struct Store *next, **link;
    TensorMap map;
    int coord[TENSOR_MAX_RANK];
    Thread *thread;
    uint32_t offset;
    uint32_t group;
    int add;
    uint8_t *data; /* what was read; NULL: not yet */
} Store;

static Load *loads;
static Store *stores;

/* ---- loads ------------------------------------------------------------------------------------------------------- */

static void check_map(Thread *t, const TensorMap *map, int rank, const char *what, Site site) {
    const char *fault = tensor_map_fault(map);
    (void)t;
    if (fault != NULL) {
        report_misuse(RULE_TMA_OPERAND, site, 1, "%s: %s", what, fault);
    }
    if (rank != 0 && map->rank != rank) {
        report_misuse(RULE_TMA_OPERAND, site, 1, "%s with %d coordinates; the tensor map has %d dimensions", what, rank,
                      map->rank);
    }
}

static uint32_t box_offset(Thread *t, const TensorMap *map, const void *p, const char *what, Site site) {
    uint32_t offset = shared_offset(t, p, tensor_box_span(map), what, site);
    if (offset % tensor_box_alignment(map) != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s: the box lies at byte %u of shared memory, not at a multiple of %u",
                      what, offset, tensor_box_alignment(map));
    }
    return offset;
}

/* A load is meant for the first phase that its issuer does not know to be complete. If that one is over, too few bytes
 * were announced for it. */
static void check_phase(Thread *t, const Barrier *b, Site site) {
    uint32_t meant = thread_newest(t, b->component);
    if (b->phase <= meant || !report_begin(RULE_TX_COUNT)) {
        return;
    }
    report_place("now", t, site, "TMA load");
    report_barrier(b);
    report_line(
        "count",
        "phase %u of %s is complete already, though this load, which it should count, starts only now: what was "
        "announced for it, and has landed, was less than all its loads bring",
        meant, b->name);
    report_end(0);
}

/* What the issuer must know before a load overwrites the box in one CTA; poisons it. */
static void claim_box(Load *load, int target, Site site) {
    Thread *t = load->thread;
    Cta *cta = load->target[target];
    Barrier *b = load->barrier[target];
    Actor actor = {.thread = t,
                   .kind = ACCESS_TMA_LOAD,
                   .component = b->component,
                   .epoch = (uint32_t)b->phase + 1,
                   .site = site,
                   .barrier = b};
    TensorWalk walk = load->walk;
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        uint32_t offset = load->offset + chunk.offset;
        shadow_write(cta, &actor, offset, CHUNK_BYTES);
        *shadow_tag(cta, offset) = tag_of_map(&load->map, chunk.coord);
        memset(cta->shared + offset, 0xff, CHUNK_BYTES);
        if (target == 0 && chunk.begin < chunk.end) {
            count_add(COUNT_TMA_LOAD_BYTES, (unsigned long long)(chunk.end - chunk.begin));
            const void *from = (const void *)(uintptr_t)(chunk.global + (uint64_t)chunk.begin);
            global_access(t, from, (uint32_t)(chunk.end - chunk.begin), GLOBAL_READ, thread_component(t),
                          thread_epoch(t), site, "TMA load");
        }
    }
}

static void start_load(void *dst, const TensorMap *map, int rank, const int *coord, void *bar, int mask,
                       const char *here) {
    Thread *t = current_thread();
    Cluster *cluster = t->cta->cluster;
    Site site = site_of(here);
    check_map(t, map, rank, "TMA load", site);
    uint32_t offset = box_offset(t, map, dst, "TMA load", site);
    const char *fault = tensor_load_fault(map, coord);
    if (fault != NULL) {
        report_misuse(RULE_TMA_OPERAND, site, 1, "TMA load at (%d, %d): %s", coord[0], coord[1], fault);
    }
    uint32_t bar_offset = mbarrier_offset(t, bar, "TMA load, its barrier", site);
    if (mask >> cluster->size != 0) {
        report_misuse(RULE_CLUSTER_RANK, site, 1, "TMA load with multicast mask 0x%x in a cluster of %d CTAs",
                      (unsigned)mask, cluster->size);
    }
    t->loads = 1;
    Cta *target[CLUSTER_LIMIT];
    Barrier *barrier[CLUSTER_LIMIT];
    int targets = 0;
    for (int i = 0; i < cluster->size; i++) {
        Cta *cta = cluster->cta[i];
        if (mask == 0 ? cta != t->cta : !(mask >> i & 1)) {
            continue;
        }
        if (cta->live == 0) {
            report_misuse(RULE_CLUSTER_EXIT, site, 1, "TMA load into CTA %d, all of whose threads have returned",
                          cta->block);
        }
        target[targets] = cta;
        barrier[targets] = mbarrier_use_in(t, cta, bar_offset, site, "TMA load");
        mbarrier_check_fenced(t, barrier[targets], site, "TMA load");
        targets++;
    }
    Load *load = model_alloc_zero(sizeof *load);
    load->next = loads;
    load->link = &loads;
    if (loads != NULL) {
        loads->link = &load->next;
    }
    loads = load;
    load->agent.kind = AGENT_LOAD;
    load->agent.queued = -1;
    load->map = *map;
    load->walk = tensor_walk(&load->map, coord, SHARED_RESERVED + offset);
    load->thread = t;
    load->cluster = cluster;
    load->offset = offset;
    load->targets = targets;
    memcpy(load->target, target, sizeof target);
    memcpy(load->barrier, barrier, sizeof barrier);
    uint32_t bytes = tensor_box_bytes(map);
    t->time += COST_TMA;
    uint64_t begin = t->time > t->cta->tma_time ? t->time : t->cta->tma_time;
    t->cta->tma_time = begin + bytes / LOAD_BYTES_A_STEP;
    load->end_time = t->cta->tma_time + TMA_LATENCY;
    for (int i = 0; i < load->targets; i++) {
        Barrier *b = load->barrier[i];
        check_phase(t, b, site);
        observe_load(t, map, coord, b, mask != 0, site);
        claim_box(load, i, site);
        b->issued += bytes;
        b->load_phase = b->phase + 1 > b->load_phase ? b->phase + 1 : b->load_phase;
        b->load_site = site;
        b->load_thread = t;
        trace_load(load->target[i], t->time - COST_TMA, load->end_time, b, (int)bytes);
    }
    count_add(COUNT_TMA_LOADS, 1);
    count_add(COUNT_TMA_FILLED_BYTES, (unsigned long long)bytes * (unsigned)load->targets);
    agent_queue(&load->agent);
}

void model_tma_load_2d(void *dst, const TensorMap *map, int c0, int c1, void *bar, int mask, const char *here) {
    start_load(dst, map, 2, (int[]){c0, c1}, bar, mask, here);
}

void model_tma_load_3d(void *dst, const TensorMap *map, int c0, int c1, int c2, void *bar, int mask, const char *here) {
    start_load(dst, map, 3, (int[]){c0, c1, c2}, bar, mask, here);
}

static void load_free(Load *load) {
    agent_dequeue(&load->agent);
    *load->link = load->next;
    if (load->next != NULL) {
        load->next->link = load->link;
    }
    free(load);
}

void load_step(Agent *agent, int whole) {
    Load *load = (Load *)(void *)agent;
    uint32_t chunks = tensor_box_bytes(&load->map) / CHUNK_BYTES;
    /* Pieces of whole KB: --barriers then reads like the talk's slides. */
    uint32_t wanted = whole ? chunks : PIECE_CHUNKS * (1 + random_below((chunks + PIECE_CHUNKS - 1) / PIECE_CHUNKS));
    uint32_t moved = 0;
    TensorChunk chunk;
    int more = 1;
    while (moved < wanted && (more = tensor_next(&load->walk, &chunk))) {
        uint8_t *first = load->target[0]->shared + load->offset + chunk.offset;
        tensor_chunk_load(&load->map, &chunk, first);
        for (int i = 1; i < load->targets; i++) {
            memcpy(load->target[i]->shared + load->offset + chunk.offset, first, CHUNK_BYTES);
        }
        moved++;
    }
    TensorWalk rest = load->walk;
    int targets = load->targets;
    Barrier *barrier[CLUSTER_LIMIT];
    memcpy(barrier, load->barrier, sizeof barrier);
    uint64_t time = load->end_time;
    if (!more || !tensor_next(&rest, &chunk)) {
        load_free(load);
    }
    for (int i = 0; i < targets && moved > 0; i++) {
        mbarrier_complete_tx(barrier[i], moved * CHUNK_BYTES, time);
    }
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

static void start_store(const TensorMap *map, int rank, const int *coord, const void *src, int add, const char *here) {
    Thread *t = current_thread();
    Cta *cta = t->cta;
    Site site = site_of(here);
    check_map(t, map, rank, "TMA store", site);
    uint32_t offset = box_offset(t, map, src, "TMA store", site);
    const char *fault = tensor_store_fault(map, coord);
    if (fault != NULL) {
        report_misuse(RULE_TMA_OPERAND, site, 1, "TMA store at (%d, %d): %s", coord[0], coord[1], fault);
    }
    if (t->read_component == 0) {
        t->read_component = thread_own_component(t, cluster_component(cta->cluster, t, NULL, NULL));
        t->written_component = thread_own_component(t, cluster_component(cta->cluster, t, NULL, NULL));
    }
    Actor actor = {.thread = t,
                   .kind = ACCESS_TMA_STORE,
                   .component = t->clock.own[t->read_component].component,
                   .epoch = t->store_groups + 1,
                   .site = site};
    Component written = t->clock.own[t->written_component].component;
    Store *store = model_alloc_zero(sizeof *store);
    store->next = stores;
    store->link = &stores;
    if (stores != NULL) {
        stores->link = &store->next;
    }
    stores = store;
    store->agent.kind = AGENT_STORE;
    store->agent.queued = -1;
    store->map = *map;
    memcpy(store->coord, coord, (size_t)rank * sizeof *coord);
    store->thread = t;
    store->offset = offset;
    store->group = t->store_groups;
    store->add = add;
    TensorWalk walk = tensor_walk_store(&store->map, store->coord, SHARED_RESERVED + offset);
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        if (chunk.begin < chunk.end) {
            count_add(COUNT_TMA_STORE_BYTES, (unsigned long long)(chunk.end - chunk.begin));
            shadow_read(cta, &actor, offset + chunk.offset, CHUNK_BYTES);
            observe_store(t, (const void *)(uintptr_t)(chunk.global + (uint64_t)chunk.begin),
                          (uint32_t)(chunk.end - chunk.begin), offset + chunk.offset, site);
            global_access(t, (const void *)(uintptr_t)(chunk.global + (uint64_t)chunk.begin),
                          (uint32_t)(chunk.end - chunk.begin), add ? GLOBAL_ATOMIC : GLOBAL_WRITE, written,
                          t->store_groups + 1, site, "TMA store");
        }
    }
    count_add(COUNT_TMA_STORES, 1);
    t->stores_in_group++;
    t->store_site = site;
    if (t->stores_in_group == 1) {
        t->store_begin = t->time;
    }
    t->time += COST_TMA;
    uint64_t begin = t->time > cta->store_time ? t->time : cta->store_time;
    cta->store_time = begin + tensor_box_bytes(map) / STORE_BYTES_A_STEP;
    t->store_read[t->store_groups % COPY_TIMES] = t->time + SHARED_LATENCY + tensor_box_bytes(map) / LOAD_BYTES_A_STEP;
    t->store_ready = cta->store_time;
    agent_queue(&store->agent);
}

void model_tma_store_2d(const TensorMap *map, const void *src, int c0, int c1, int add, const char *here) {
    start_store(map, 2, (int[]){c0, c1}, src, add, here);
}

void model_tma_store_3d(const TensorMap *map, const void *src, int c0, int c1, int c2, int add, const char *here) {
    start_store(map, 3, (int[]){c0, c1, c2}, src, add, here);
}

static void store_free(Store *store) {
    agent_dequeue(&store->agent);
    *store->link = store->next;
    if (store->next != NULL) {
        store->next->link = store->link;
    }
    free(store->data);
    free(store);
}

static void store_read(Store *store) {
    if (store->data == NULL) {
        uint32_t bytes = tensor_box_span(&store->map);
        store->data = model_alloc(bytes);
        memcpy(store->data, store->thread->cta->shared + store->offset, bytes);
    }
}

static void store_write(Store *store) {
    store_read(store);
    TensorWalk walk = tensor_walk_store(&store->map, store->coord, SHARED_RESERVED + store->offset);
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        if (store->add) {
            tensor_chunk_add(&store->map, &chunk, store->data + chunk.offset);
        } else {
            tensor_chunk_store(&chunk, store->data + chunk.offset);
            observe_written((const void *)(uintptr_t)chunk.global, (uint32_t)chunk.end);
        }
    }
    store_free(store);
}

void store_step(Agent *agent, int whole) {
    Store *store = (Store *)(void *)agent;
    if (store->data == NULL && !whole) {
        store_read(store);
    } else {
        store_write(store);
    }
}

void model_bulk_commit_group(const char *here) {
    Thread *t = current_thread();
    (void)here;
    if (t->stores_in_group > 0) {
        t->store_data_group = t->store_groups + 1;
        trace_async(t->cta, TRACE_STORE, t->warp->id, t->store_begin, t->store_ready, (int)t->store_groups);
        t->stores_in_group = 0;
    }
    t->store_groups++;
    thread_pause(t);
}

void model_bulk_wait_group(int newest, int read, const char *here) {
    Thread *t = current_thread();
    if (newest < 0) {
        report_misuse(RULE_TMA_OPERAND, site_of(here), 1, "bulk_wait_group(%d): accepted is 0 or more", newest);
    }
    uint32_t done = t->store_groups > (uint32_t)newest ? t->store_groups - (uint32_t)newest : 0;
    for (Store *store = stores, *next; store != NULL; store = next) {
        next = store->next;
        if (store->thread == t && store->group < done) {
            if (read) {
                store_read(store);
            } else {
                store_write(store);
            }
        }
    }
    t->stores_read = done > t->stores_read ? done : t->stores_read;
    t->stores_written = !read && done > t->stores_written ? done : t->stores_written;
    if (t->read_component != 0) {
        t->clock.own[t->read_component].tick.known = t->stores_read;
        t->clock.own[t->written_component].tick.known = t->stores_written;
    }
    uint64_t begin = t->time;
    uint64_t ready = done == 0 ? 0 : read ? t->store_read[(done - 1) % COPY_TIMES] : t->store_ready;
    t->time = (ready > t->time ? ready : t->time) + COST_WAIT;
    trace_wait(t, TRACE_STORE_WAIT, begin, t->time, newest, NULL);
    thread_pause(t);
}

void model_fence_proxy_async(const char *here) {
    (void)here;
    count_add(COUNT_PROXY_FENCES, 1);
    thread_fence(current_thread());
}

void model_tma_prefetch_map(const TensorMap *map, const char *here) {
    check_map(current_thread(), map, 0, "prefetch of a tensor map", site_of(here));
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void stores_exit_check(Thread *t) {
    if (t->stores_in_group > 0) {
        report_misuse(RULE_EXIT_IN_FLIGHT, t->store_site, 0,
                      "TMA store that no bulk_commit_group closes: the thread has returned");
    } else if (t->store_data_group > t->stores_read) {
        report_misuse(
            RULE_EXIT_IN_FLIGHT, t->store_site, 0,
            "TMA store of group %u: the thread has returned without a bulk_wait_group that covers it, and its "
            "CTA's shared memory may go while the copy engine reads it",
            t->store_data_group - 1);
    }
}

void tma_cluster_end(Cluster *cluster) {
    for (Store *store = stores, *next; store != NULL; store = next) {
        next = store->next;
        if (store->thread->cta->cluster == cluster) {
            store_write(store);
        }
    }
    for (Load *load = loads, *next; load != NULL; load = next) {
        next = load->next;
        if (load->cluster == cluster) {
            load_free(load);
        }
    }
}

void tma_end(void) {
    while (stores != NULL) {
        store_free(stores);
    }
    while (loads != NULL) {
        load_free(loads);
    }
}
