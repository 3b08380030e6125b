/* transfers.c - the rules of cp.async and of the copy engine: operands, the memory on both sides, groups that somebody
 * must wait for.
 *
 * A copy is judged when it is issued: nobody may use the memory any more, and its data must have been published. It is
 * over by the way it completes, whenever the bytes really move: with its barrier's phase, or its thread's group. */
#include <stdio.h>
#include <string.h>

#include "bug_report.h"
#include "cells.h"
#include "phases.h"
#include "results.h"

/* A thread's last copy in groups of each kind: its place, and its group + 1; 0: there was none. */
typedef struct CtaTransfers {
    struct {
        Site site;
        uint32_t group;
    } last[GROUP_KINDS][THREAD_LIMIT];
    const Thread *refused; /* has found that cluster launch control says no; NULL: nobody has */
    uint32_t refused_epoch;
} CtaTransfers;

ON(transfers, CTA_BEGIN) { cta->transfers = cta_alloc(cta, sizeof *cta->transfers); }

/* The access of a copy that the thread starts in its open group. Before it returns it must have waited for it. */
static Actor actor_of_group(Thread *t, GroupKind group, AccessKind access, Site site) {
    uint32_t epoch = t->groups[group].committed + 1;
    t->cta->transfers->last[group][t->id].site = site;
    t->cta->transfers->last[group][t->id].group = epoch;
    return actor_async(t, access, group_component(t, group), epoch, site);
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

/* An mbarrier counts the copies of the thread so far. */
ON(transfers, MBARRIER_COPIES) { t->cta->transfers->last[e->group][t->id].group = 0; }

ON(transfers, GROUP_WAIT) { report_negative(RULE_ALIGNMENT, e->site, group_text(e->group)->wait, e->newest); }

ON(transfers, BULK_WAIT) { report_negative(RULE_TMA_OPERAND, e->site, "bulk_wait_group", e->newest); }

/* ---- shared memory of other CTAs --------------------------------------------------------------------------------- */

/* Addresses of accesses of `size` bytes are multiples of this. */
static uint32_t unit_of(uint32_t size) { return size == 0 ? 1 : size < CHUNK_BYTES ? size : CHUNK_BYTES; }

/* The offset of the access in CTA `rank`. */
static uint32_t check_place(Thread *t, int rank, const void *p, uint32_t size, const char *what, Site site) {
    uint32_t offset = shared_bounds(t, p, size, what, site);
    MISUSE_IF(offset % unit_of(size) != 0, RULE_ALIGNMENT, site, 1, "%s of %u bytes at byte %u of shared memory", what,
              size, offset);
    if (rank == t->cta->rank) {
        return offset;
    }
    phases_peer(t, rank, what, site);
    const Cta *peer = t->cta->cluster->cta[rank];
    MISUSE_IF(!cluster_started(t, peer), RULE_CLUSTER_START, site, 0,
              "%s into CTA %d: this thread has passed no cluster barrier, and knows of nothing that CTA has done", what,
              peer->block);
    return offset;
}

ON(transfers, CLUSTER_ACCESS) {
    AccessKind kind = e->write ? ACCESS_CLUSTER_WRITE : ACCESS_CLUSTER_READ;
    Actor actor = actor_plain(t, kind, e->site);
    uint32_t offset = check_place(t, e->rank, e->p, e->size, actor.what, e->site);
    Cta *peer = t->cta->cluster->cta[e->rank];
    phases_touch(t, peer, e->site);
    cells_shared(peer, &actor, offset, e->size);
    order_settle();
}

/* The access of a copy that a barrier counts. */
static Actor actor_of_barrier(Thread *t, const Barrier *b, AccessKind access, Site site) {
    Actor actor = actor_async(t, access, b->facts->component, (uint32_t)b->phase + 1, site);
    actor.barrier = b;
    return actor;
}

/* What such a copy breaks. */
static void settle_load(const Barrier *b) {
    if (order_found()) {
        phases_load_races(b);
    }
    order_settle();
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static int is_shared(const Event *e, const void *p) {
    return (uintptr_t)p - (uintptr_t)e->thread->cta->shared < SHARED_STRIDE;
}

/* What the n-th chunk holds then. */
static Tag copied_tag(const Event *e, uint32_t n) {
    const uint8_t *from = (const uint8_t *)e->from + n * CHUNK_BYTES;
    if (n * CHUNK_BYTES >= e->from_size) {
        return (Tag){TENSOR_ZEROS, 0, 0, 0};
    }
    return is_shared(e, from) ? provenance_of(e->thread->cta, shared_offset(e->thread->cta, from))
                              : tag_of_global(from);
}

static Actor actor_of_copy(const Event *e, AccessKind access) {
    return !(access_flags(access) & (ASYNC | WRITES)) ? actor_plain(e->thread, access, e->site)
           : e->barrier != NULL                       ? actor_of_barrier(e->thread, e->barrier, access, e->site)
                                                      : actor_of_group(e->thread, e->group, access, e->site);
}

ON(transfers, COPY) {
    const uint32_t unit = unit_of(e->size);
    uint32_t offset = check_place(t, e->rank, e->p, e->size, e->what, e->site);
    MISUSE_IF(e->from_size > e->size, RULE_ALIGNMENT, e->site, 1, "%s of %d bytes: accepted are 0 to %u", e->what,
              (int)e->from_size, e->size);
    MISUSE_IF((uintptr_t)e->from % unit != 0 || e->size % unit != 0, RULE_ALIGNMENT, e->site, 1,
              "%s of %u bytes from address %p: both are multiples of %u", e->what, e->size, e->from, unit);
    cta = t->cta->cluster->cta[e->rank];
    Actor to = actor_of_copy(e, e->access), from = actor_of_copy(e, e->from_access);
    if (e->from_size > 0 && is_shared(e, e->from)) {
        cells_shared(t->cta, &from, shared_bounds(t, e->from, e->from_size, e->what, e->site), e->from_size);
    } else if (e->from_size > 0) {
        cells_global(&from, e->from, e->from_size);
        role_loads(t, 0);
    }
    cells_shared(cta, &to, offset, e->size);
    for (uint32_t n = 0; n < e->size / CHUNK_BYTES && e->from_access != ACCESS_NONE; n++) {
        *shared_tag(cta, offset + n * CHUNK_BYTES) = copied_tag(e, n);
    }
    if (b != NULL) {
        settle_load(b);
    } else {
        order_settle();
    }
}

/* ---- cluster launch control: PTX 9.7.13.17 ----------------------------------------------------------------------- */

ON(transfers, LAUNCH_ASKED) {
    const CtaTransfers *f = t->cta->transfers;
    MISUSE_IF(f->refused != NULL && thread_knows(t, thread_component(f->refused), f->refused_epoch),
              RULE_LAUNCH_CONTROL, e->site, 1, "%s by a thread that knows: %s has got a no",
              access_name[ACCESS_TRY_CANCEL], thread_text(f->refused, PHRASE));
}

ON(transfers, LAUNCH_ANSWER) {
    CtaTransfers *f = t->cta->transfers;
    if (e->amount < 0) {
        report_misuse(RULE_LAUNCH_CONTROL, e->site, 0,
                      "clusterlaunchcontrol.query_cancel of 16 bytes that no try_cancel has delivered");
    } else if (e->amount == 0 && f->refused == NULL) {
        f->refused = t;
        f->refused_epoch = thread_epoch(t);
    }
}

/* ---- the copy engine --------------------------------------------------------------------------------------------- */

static void check_map(const TensorMap *map, int rank, const char *what, Site site) {
    const char *fault = tensor_map_fault(map);
    MISUSE_IF(fault != NULL, RULE_TMA_OPERAND, site, 1, "%s: %s", what, fault);
    MISUSE_IF(rank != 0 && map->rank != rank, RULE_TMA_OPERAND, site, 1,
              "%s with %d coordinates; the tensor map has %d dimensions", what, rank, map->rank);
}

ON(transfers, TENSOR_MAP_PREFETCH) { check_map(e->map, 0, "prefetch of a tensor map", e->site); }

ON(transfers, BULK_COPY) {
    int bytes = (int)e->size;
    uint32_t offset = shared_bounds(t, e->p, bytes > 0 ? (uint32_t)bytes : 1, e->what, e->site);
    MISUSE_IF(bytes <= 0 || bytes % CHUNK_BYTES != 0 || offset % CHUNK_BYTES != 0 ||
                  (uintptr_t)e->from % CHUNK_BYTES != 0,
              RULE_ALIGNMENT, e->site, 1,
              "%s of %d bytes between address %p and byte %u of shared memory: all three are multiples of 16", e->what,
              bytes, e->from, offset);
}

static int is_range(const TensorMap *map) { return map->type == TENSOR_RANGE; }

/* "(8, 16)". */
static const char *coordinates(const TmaCopy *copy, char *text) {
    int length = 0;
    for (int i = 0; i < copy->map->rank; i++) {
        length += snprintf(text + length, (size_t)(PHRASE_SIZE - length), "%s%d", i > 0 ? ", " : "(", copy->coord[i]);
    }
    snprintf(text + length, (size_t)(PHRASE_SIZE - length), ")");
    return text;
}

/* On the thread's stack, but not in a copy of all parameters, which are there for the model too. */
static int is_local(Thread *t, const TensorMap *map) {
    const Launch *l = launch_of(t->cta);
    const uintptr_t at = (uintptr_t)map, stack = (uintptr_t)t->fiber.stack;
    if (at - stack >= FIBER_STACK_BYTES || at - t->parameters < l->params_bytes) {
        return 0;
    }
    for (size_t in = 0; in + sizeof *map <= l->params_bytes; in += 8) {
        if (at - in >= stack && at - in + l->params_bytes <= stack + FIBER_STACK_BYTES &&
            memcmp((const void *)(at - in), l->params, l->params_bytes) == 0) {
            t->parameters = at - in;
            return 0;
        }
    }
    return 1;
}

/* Map, box and coordinates; returns the offset of the box in shared memory. */
static uint32_t check_copy(const TmaCopy *copy, const char *(*fault_of)(const TensorMap *, const int *)) {
    const char *what = copy->what;
    check_map(copy->map, copy->rank, what, copy->site);
    MISUSE_IF(copy->map->type != TENSOR_RANGE && is_local(copy->thread, copy->map), RULE_TMA_OPERAND, copy->site, 1,
              "%s: the tensor map is a local variable of the thread; it has to be a parameter of the kernel "
              "(__grid_constant__), a constant, or lie in global memory",
              what);
    uint32_t offset = shared_bounds(copy->thread, copy->shared, tensor_box_span(copy->map), what, copy->site);
    MISUSE_IF(offset % tensor_box_alignment(copy->map) != 0, RULE_ALIGNMENT, copy->site, 1,
              "%s: the box lies at byte %u of shared memory, not at a multiple of %u", what, offset,
              tensor_box_alignment(copy->map));
    const char *fault = fault_of(copy->map, copy->coord);
    MISUSE_IF(fault != NULL, RULE_TMA_OPERAND, copy->site, 1, "%s at %s: %s", what, coordinates(copy, PHRASE), fault);
    return offset;
}

ON(transfers, TMA_LOAD_ASKED) {
    const TmaCopy *copy = e->copy;
    const Cluster *cluster = copy->thread->cta->cluster;
    role_loads(copy->thread, 0);
    check_copy(copy, tensor_load_fault);
    MISUSE_IF(copy->mask >> cluster->size != 0, RULE_CLUSTER_RANK, copy->site, 1,
              "%s with multicast mask 0x%x in a cluster of %d CTAs", copy->what, (unsigned)copy->mask, cluster->size);
}

static void load_into(const TmaLoad *load, int target) {
    Thread *t = load->copy.thread;
    Cta *cta = load->target[target];
    const Barrier *b = load->barrier[target];
    role_loads(t, b->phase > 0);
    Actor to = actor_of_barrier(t, b, is_range(&load->map) ? ACCESS_BULK_LOAD : ACCESS_TMA_LOAD, load->copy.site),
          from = actor_of_barrier(t, b, ACCESS_TMA_LOAD_FROM, load->copy.site);
    from.what = load->copy.what;
    to.begin = load->offset;
    to.bytes = tensor_box_span(&load->map);
    TensorChunk chunk;
    for (TensorWalk walk = load->walk; tensor_next(&walk, &chunk);) {
        uint32_t offset = load->offset + chunk.offset;
        cells_shared(cta, &to, offset, CHUNK_BYTES);
        *shared_tag(cta, offset) =
            is_range(&load->map) ? tag_of_global(tensor_chunk_global(&chunk)) : tag_of_map(&load->map, chunk.coord);
        if (target == 0 && chunk.end > 0) {
            cells_global(&from, tensor_chunk_global(&chunk), (uint32_t)chunk.end);
        }
    }
    settle_load(b);
}

ON(transfers, TMA_LOAD) {
    for (int i = 0; i < e->load->targets; i++) {
        load_into(e->load, i);
    }
}

ON(transfers, TMA_STORE) {
    const TmaCopy *copy = e->copy;
    uint32_t offset = check_copy(copy, tensor_store_fault);
    MISUSE_IF(copy->add && !tensor_can_add(copy->map), RULE_TMA_OPERAND, copy->site, 1,
              "%s that adds: the model adds bf16, fp32 and integers only", copy->what);
    AccessKind kind = is_range(copy->map) ? ACCESS_BULK_STORE : ACCESS_TMA_STORE;
    results_tma_store(copy); /* before the conflicts that a wrong place has */
    Actor from = actor_of_group(t, GROUP_READS, kind, copy->site),
          to = actor_async(t, copy->add ? ACCESS_TMA_ADD_TO : ACCESS_TMA_STORE_TO, group_component(t, GROUP_WRITES),
                           from.access.epoch, copy->site);
    to.what = copy->what;
    TensorChunk chunk;
    for (TensorWalk walk = tensor_walk_store(copy->map, copy->coord, SHARED_RESERVED + offset);
         tensor_next_inside(&walk, &chunk);) {
        cells_shared(t->cta, &from, offset + chunk.offset, CHUNK_BYTES);
        cells_global(&to, tensor_chunk_global(&chunk), (uint32_t)chunk.end);
    }
    order_settle();
}

/* ---- the end of a thread ----------------------------------------------------------------------------------------- */

ON(transfers, THREAD_RETURNED) {
    for (int kind = 0; kind < GROUP_KINDS; kind++) {
        const ThreadGroups *g = &t->groups[kind];
        const GroupText *text = group_text((GroupKind)kind);
        Site site = t->cta->transfers->last[kind][t->id].site;
        uint32_t group = t->cta->transfers->last[kind][t->id].group;
        if (g->open > 0) {
            report_misuse(RULE_EXIT_IN_FLIGHT, site, 0, "%s that no %s closes: the thread has returned", text->copies,
                          text->commit);
        } else if (group > g->waited) {
            report_misuse(RULE_EXIT_IN_FLIGHT, site, 0,
                          "%s of group %u: the thread has returned, and has waited for %u of its %u groups (%s)",
                          text->copies, group - 1, g->waited, g->committed, text->wait);
        }
    }
}
