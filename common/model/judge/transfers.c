/* transfers.c - see transfers.h.
 *
 * A copy is judged when it is issued: nobody may use the memory any more, and its data must have been published. It is
 * over by the way it completes, whenever the bytes really move: a load with its barrier's phase, the others with their
 * thread's group. */
#include "transfers.h"

#include "../core/memory.h"
#include "bug_report.h"
#include "conflicts.h"
#include "phases.h"
#include "shadow.h"

/* ---- cp.async ---------------------------------------------------------------------------------------------------- */

void transfers_copy(Thread *t, void *dst, const void *src, int bytes, Site site) {
    uint32_t offset = shadow_bounds(t, dst, CHUNK_BYTES, "cp.async", site);
    if (bytes < 0 || bytes > CHUNK_BYTES) {
        report_misuse(RULE_ALIGNMENT, site, 1, "cp.async of %d bytes: accepted are 0 to 16", bytes);
    }
    if (offset % CHUNK_BYTES != 0 || (uintptr_t)src % CHUNK_BYTES != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1,
                      "cp.async from address %p to byte %u of shared memory: both are multiples "
                      "of 16",
                      src, offset);
    }
    if (bytes > 0) {
        if (!global_is(src)) {
            conflicts_unknown(t, src, (uint32_t)bytes, 0, site);
        }
        conflicts_access(t, src, (uint32_t)bytes, GLOBAL_READ, thread_component(t), thread_epoch(t), site, "cp.async");
    }
    Actor actor = {.thread = t,
                   .kind = ACCESS_CP_ASYNC,
                   .component = copies_component(t),
                   .epoch = t->copies.groups + 1,
                   .site = site};
    shadow_write(t->cta, &actor, offset, CHUNK_BYTES);
    *shadow_tag(t->cta, offset) = bytes > 0 ? tag_of_global(src) : (Tag){TENSOR_ZEROS, 0, 0, 0};
    t->cta->transfers->copy[t->id] = (LastTransfer){site, t->copies.groups + 1};
    role_loads(t);
}

/* ---- the copy engine --------------------------------------------------------------------------------------------- */

static void check_map(const TensorMap *map, int rank, const char *what, Site site) {
    const char *fault = tensor_map_fault(map);
    if (fault != NULL) {
        report_misuse(RULE_TMA_OPERAND, site, 1, "%s: %s", what, fault);
    }
    if (rank != 0 && map->rank != rank) {
        report_misuse(RULE_TMA_OPERAND, site, 1, "%s with %d coordinates; the tensor map has %d dimensions", what, rank,
                      map->rank);
    }
}

void transfers_prefetch(const TensorMap *map, Site site) { check_map(map, 0, "prefetch of a tensor map", site); }

/* Map, box and coordinates; returns where the box lies in shared memory. */
static uint32_t check_copy(const TmaCopy *copy, const char *(*fault_of)(const TensorMap *, const int *)) {
    const char *what = copy->what;
    check_map(copy->map, copy->rank, what, copy->site);
    uint32_t offset = shadow_bounds(copy->thread, copy->shared, tensor_box_span(copy->map), what, copy->site);
    if (offset % tensor_box_alignment(copy->map) != 0) {
        report_misuse(RULE_ALIGNMENT, copy->site, 1,
                      "%s: the box lies at byte %u of shared memory, not at a multiple of %u", what, offset,
                      tensor_box_alignment(copy->map));
    }
    const char *fault = fault_of(copy->map, copy->coord);
    if (fault != NULL) {
        report_misuse(RULE_TMA_OPERAND, copy->site, 1, "%s at (%d, %d): %s", what, copy->coord[0], copy->coord[1],
                      fault);
    }
    return offset;
}

void transfers_load_asked(const TmaCopy *copy) {
    const Cluster *cluster = copy->thread->cta->cluster;
    check_copy(copy, tensor_load_fault);
    if (copy->mask >> cluster->size != 0) {
        report_misuse(RULE_CLUSTER_RANK, copy->site, 1, "%s with multicast mask 0x%x in a cluster of %d CTAs",
                      copy->what, (unsigned)copy->mask, cluster->size);
    }
    role_loads(copy->thread);
}

void transfers_load(const TmaLoad *load, int target) {
    Thread *t = load->copy.thread;
    Cta *cta = load->target[target];
    const Barrier *b = load->barrier[target];
    Actor actor = {.thread = t,
                   .kind = ACCESS_TMA_LOAD,
                   .component = b->facts->component,
                   .epoch = (uint32_t)b->phase + 1,
                   .site = load->copy.site,
                   .barrier = b};
    TensorWalk walk = load->walk;
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        uint32_t offset = load->offset + chunk.offset;
        shadow_write(cta, &actor, offset, CHUNK_BYTES);
        *shadow_tag(cta, offset) = tag_of_map(&load->map, chunk.coord);
        if (target == 0 && chunk.begin < chunk.end) {
            conflicts_access(t, tensor_chunk_global(&chunk), (uint32_t)(chunk.end - chunk.begin), GLOBAL_READ,
                             thread_component(t), thread_epoch(t), load->copy.site, load->copy.what);
        }
    }
}

void transfers_store(const TmaCopy *copy) {
    Thread *t = copy->thread;
    uint32_t offset = check_copy(copy, tensor_store_fault);
    Actor actor = {.thread = t,
                   .kind = ACCESS_TMA_STORE,
                   .component = reads_component(t),
                   .epoch = t->stores.groups + 1,
                   .site = copy->site};
    Component written = writes_component(t);
    TensorWalk walk = tensor_walk_store(copy->map, copy->coord, SHARED_RESERVED + offset);
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        if (chunk.begin < chunk.end) {
            shadow_read(t->cta, &actor, offset + chunk.offset, CHUNK_BYTES);
            conflicts_access(t, tensor_chunk_global(&chunk), (uint32_t)(chunk.end - chunk.begin),
                             copy->add ? GLOBAL_ATOMIC : GLOBAL_WRITE, written, t->stores.groups + 1, copy->site,
                             copy->what);
        }
    }
    t->cta->transfers->store[t->id] = (LastTransfer){copy->site, t->stores.groups + 1};
}

/* ---- the end of a thread ----------------------------------------------------------------------------------------- */

void transfers_returned(Thread *t) {
    LastTransfer copy = t->cta->transfers->copy[t->id], store = t->cta->transfers->store[t->id];
    if (t->copies.in_group > 0) {
        report_misuse(RULE_EXIT_IN_FLIGHT, copy.site, 0,
                      "cp.async that no commit_group closes: the thread has returned");
    } else if (copy.group > t->copies.waited) {
        report_misuse(RULE_EXIT_IN_FLIGHT, copy.site, 0,
                      "cp.async of group %u: the thread has returned and has waited only for the %u groups before",
                      copy.group - 1, t->copies.waited);
    }
    if (t->stores.in_group > 0) {
        report_misuse(RULE_EXIT_IN_FLIGHT, store.site, 0,
                      "TMA store that no bulk_commit_group closes: the thread has returned");
    } else if (store.group > t->stores.read) {
        report_misuse(
            RULE_EXIT_IN_FLIGHT, store.site, 0,
            "TMA store of group %u: the thread has returned without a bulk_wait_group that covers it, and its "
            "CTA's shared memory may go while the copy engine reads it",
            store.group - 1);
    }
}
