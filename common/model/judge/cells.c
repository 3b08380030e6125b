/* cells.c - see cells.h.
 *
 * One cell covers 16 bytes until they are accessed in parts; then each 2 bytes have their own. Reads and atomic
 * accesses are kept until a write follows; one that the next of its kind knows is replaced by it, since who comes after
 * that one comes after both. Most global memory is only read and needs no more than the bounds check: only what a
 * launch has ever written, and what is small, has cells. */
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../core/schedule.h"
#include "bug_report.h"
#include "world.h"

enum {
    SMALL_BYTES = 4096, /* an allocation of which reads are kept before anybody has written it */
    FEW = 8,            /* others of a cell */
};

typedef struct Other {
    Access access;
    uint32_t next;
} Other;

static Cells global;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void forget(Cells *cells, Space space) {
    static const uint32_t kept[] = {
#define SPACE(id, raw, war, waw, reads_fenced, fence, kept) kept,
        SPACES_OF(SPACE)
#undef SPACE
    };
    cells->kept = kept[space];
    cells->others = cells->splits = 1;
    cells->free_other = cells->free_split = 0;
}

ON(cells, LAUNCH_BEGIN) {
    if (order_now.oldest == order_now.first) {
        global.era++;
        forget(&global, SPACE_GLOBAL);
    }
}

ON(cells, CTA_BEGIN) {
    cta->cells = cta_alloc(cta, sizeof *cta->cells);
    cta->cells->chunk = cta_alloc(cta, (cta->shared_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * sizeof(Chunk));
    forget(cta->cells, SPACE_SHARED);
}

static void free_cells(Cells *cells) {
    free(cells->other);
    free(cells->split);
    *cells = (Cells){.era = cells->era};
}

ON(cells, SHUTDOWN) { free_cells(&global); }

ON(cells, GLOBAL_FREE) {
    Allocation *a = e->allocation;
    provenance_forget_memory((const void *)a->mapped, a->mapped_end - a->mapped);
    if (a->chunk != NULL) {
        munmap(a->chunk, (a->end - a->begin + CHUNK_BYTES - 1) / CHUNK_BYTES * sizeof *a->chunk);
    }
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static uint32_t other_new(Cells *cells) {
    uint32_t i = cells->free_other;
    if (i != 0) {
        cells->free_other = cells->other[i].next;
        return i;
    }
    cells->other = model_grow(cells->other, (int)cells->others + 1, &cells->other_capacity, sizeof *cells->other);
    return cells->others++;
}

/* The rest of a list from *link on. */
static void drop(Cells *cells, uint32_t *link) {
    while (*link != 0) {
        Other *other = &cells->other[*link];
        uint32_t next = other->next;
        other->next = cells->free_other;
        cells->free_other = *link;
        *link = next;
    }
}

/* The chunk's 8 cells of 2 bytes. */
static Cell *split(Cells *cells, Chunk *chunk) {
    if (chunk->split == 0) {
        uint32_t i = cells->free_split;
        if (i != 0) {
            cells->free_split = cells->split[i][0].others;
        } else {
            cells->split =
                model_grow(cells->split, (int)cells->splits + 1, &cells->split_capacity, sizeof *cells->split);
            i = cells->splits++;
        }
        chunk->split = i;
        for (int c = 0; c < CHUNK_CELLS; c++) {
            Cell *cell = &cells->split[i][c];
            *cell = (Cell){chunk->cell.write, 0};
            for (uint32_t n = chunk->cell.others, last = 0; n != 0; n = cells->other[n].next) {
                uint32_t copy = other_new(cells);
                cells->other[copy] = (Other){cells->other[n].access, 0};
                *(last != 0 ? &cells->other[last].next : &cell->others) = copy;
                last = copy;
            }
        }
        drop(cells, &chunk->cell.others);
    }
    return cells->split[chunk->split];
}

/* All of a chunk has been written: one cell is enough again. */
static void unsplit(Cells *cells, Chunk *chunk) {
    Cell *parts = cells->split[chunk->split];
    chunk->cell = (Cell){parts[0].write, 0};
    for (int c = 0; c < CHUNK_CELLS; c++) {
        drop(cells, &parts[c].others);
    }
    parts[0].others = cells->free_split;
    cells->free_split = chunk->split;
    chunk->split = 0;
}

/* ---- an access --------------------------------------------------------------------------------------------------- */

/* Is every access that is ordered after this one also ordered after e? If `few` accesses are kept, only cheap answers
 * count, and those of a warp whose lanes together know more than a single later access. */
static inline int is_covered(Actor *a, const Access *e, int overwrites, int few) {
    const Access *mine = &a->access;
    return (e->bytes & ~mine->bytes) == 0 &&
           (overwrites || (e->flags == mine->flags && e->scope == mine->scope && e->serial > order_now.first &&
                           ((e->component == mine->component && e->serial == mine->serial) ||
                            ((!few || a->warp != NULL) && actor_knows(a, e)))));
}

/* Checks the access against the others of a cell, and removes those that need not be kept after it. Returns a removed
 * one, which is free for use; 0: there is none. */
static uint32_t check_others(Cells *cells, Cell *cell, Actor *a, int overwrites, uintptr_t at, uint32_t size) {
    const int resets = a->access.kind == ACCESS_STORE && a->space == SPACE_GLOBAL;
    int seen = 0; /* by an atomic that this thread knows: older ones are in the order of the word's values before it */
    uint32_t n = 0, out = 0;
    for (uint32_t *link = &cell->others; *link != 0;) {
        Other *other = &cells->other[*link];
        const Access *e = &other->access;
        if (!seen || !(e->flags & WRITES)) {
            order_check(a, e, at, size);
        }
        if (resets && (e->flags & ATOMIC) && e->serial > order_now.first) {
            seen = e->kind != ACCESS_ATOMIC_STORE && (seen || actor_knows(a, e));
        }
        if (is_covered(a, e, overwrites, n < FEW) || e->serial <= order_now.oldest) {
            if (!overwrites && e->component == a->access.component && e->epoch < a->access.epoch) {
                a->access.again = e->again != 0 ? e->again : e->epoch;
            }
            uint32_t next = other->next;
            other->next = out;
            out = *link;
            *link = next;
        } else if (++n >= cells->kept) {
            drop(cells, link);
        } else {
            link = &other->next;
        }
    }
    if (out != 0) {
        drop(cells, &cells->other[out].next);
    }
    return out;
}

static inline void cell_access(Cells *cells, Cell *cell, Actor *a, int overwrites, uintptr_t at, uint32_t size) {
    a->access.again = cell->write.serial == 0 && a->space == SPACE_SHARED ? UNWRITTEN : 0;
    order_check(a, &cell->write, at, size);
    uint32_t i = cell->others != 0 ? check_others(cells, cell, a, overwrites, at, size) : 0;
    if (!overwrites || ((cell->write.bytes & ~a->access.bytes) != 0 && cell->write.serial > order_now.oldest)) {
        i = i != 0 ? i : other_new(cells);
        cells->other[i] = (Other){overwrites ? cell->write : a->access, cell->others};
        cell->others = i;
    } else if (i != 0) {
        drop(cells, &i);
    }
    if (overwrites) {
        cell->write = a->access;
    }
}

/* Of bytes [begin, end) of a chunk, the first of which is at `at` of its space. */
static inline void chunk_access(Cells *cells, Chunk *chunk, Actor *a, uint32_t begin, uint32_t end, uintptr_t at) {
    const int overwrites = (a->access.flags & (WRITES | ATOMIC)) == WRITES, whole = end - begin == CHUNK_BYTES;
    a->access.bytes = 3;
    if (whole && chunk->split == 0) {
        cell_access(cells, &chunk->cell, a, overwrites, at, CHUNK_BYTES);
        return;
    }
    split(cells, chunk);
    for (uint32_t c = begin / 2; c < (end + 1) / 2; c++) {
        a->access.bytes = (uint8_t)((2 * c >= begin) | (2 * c + 1 < end) << 1);
        cell_access(cells, &cells->split[chunk->split][c], a, overwrites, at, end - begin);
    }
    if (whole && overwrites) {
        unsplit(cells, chunk);
    }
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

uint32_t shared_bounds(const Thread *t, const void *p, uint32_t bytes, const char *what, Site site) {
    uintptr_t offset = (uintptr_t)p - (uintptr_t)t->cta->shared;
    MISUSE_IF(offset >= t->cta->shared_bytes || bytes > t->cta->shared_bytes - offset, RULE_SHARED_BOUNDS, site, 1,
              "%s at byte %lld, %u bytes; the CTA has %u bytes of shared memory", what, (long long)(intptr_t)offset,
              bytes, t->cta->shared_bytes);
    return (uint32_t)offset;
}

ON(cells, SHARED_ADDRESS) {
    MISUSE_IF((uintptr_t)e->p - (uintptr_t)cta->shared > SHARED_STRIDE, RULE_SHARED_BOUNDS, 0, 1,
              "shared-memory address of %p, which is not in this CTA's shared memory", e->p);
}

static Chunk *shared_chunk(const Cta *cta, uint32_t offset) { return &cta->cells->chunk[offset / CHUNK_BYTES]; }

Access shared_writer(const Cta *cta, uint32_t offset) {
    const Chunk *chunk = shared_chunk(cta, offset);
    return chunk->split == 0 ? chunk->cell.write : cta->cells->split[chunk->split][offset % CHUNK_BYTES / 2].write;
}

/* Bits of `written` for bytes [begin, end) of a chunk. */
static inline uint8_t cell_mask(uint32_t begin, uint32_t end) {
    return (uint8_t)((1u << (end + 1) / 2) - (1u << begin / 2));
}

/* Which mbarriers lie there. */
static inline uint8_t barrier_mask(uint32_t begin, uint32_t end) { return (uint8_t)((begin < 8) | (end > 8) << 1); }

void shared_set_barrier(Cta *cta, uint32_t offset) {
    shared_chunk(cta, offset)->barriers |= (uint8_t)(1 << offset % CHUNK_BYTES / 8);
}

static inline void shared_part(Actor *a, uint32_t offset, uint32_t begin, uint32_t bytes) {
    const int writes = !(a->access.flags & READS);
    Chunk *chunk = shared_chunk(a->cta, offset);
    uint8_t mask = cell_mask(begin, begin + bytes);
    if (__builtin_expect(chunk->barriers != 0, 0) && (chunk->barriers & barrier_mask(begin, begin + bytes)) != 0) {
        order_find(a, RULE_BARRIER_OVERWRITTEN, offset, CHUNK_BYTES);
    } else if (!writes && (chunk->written & mask) != mask) {
        order_find(a, RULE_UNINIT_SHARED, offset, bytes);
    }
    chunk_access(a->cta->cells, chunk, a, begin, begin + bytes, offset);
    if (writes) {
        chunk->written |= mask;
        chunk->tag.tensor = TENSOR_UNKNOWN;
    }
}

void cells_shared(Cta *cta, Actor *a, uint32_t offset, uint32_t size) {
    a->space = SPACE_SHARED;
    a->cta = cta;
    if (offset % CHUNK_BYTES == 0 && size == CHUNK_BYTES) {
        shared_part(a, offset, 0, CHUNK_BYTES);
        return;
    }
    for (uint32_t bytes; size > 0; offset += bytes, size -= bytes) {
        uint32_t begin = offset % CHUNK_BYTES;
        bytes = begin + size < CHUNK_BYTES ? size : CHUNK_BYTES - begin;
        shared_part(a, offset, begin, bytes);
    }
}

int cells_operand(Cta *cta, Actor *a, ModelRule rule, const WgmmaDescriptor *d, MatrixType type, int mn_major, int rows,
                  int step, Tag *tag) {
    static uint32_t address[2 * WGMMA_MAX_N];
    int unknown = 0;
    wgmma_operand_addresses(d, mn_major, rows, address);
    for (int i = 0; i < 2 * rows; i += step) {
        MISUSE_IF(address[i] < SHARED_RESERVED || address[i] + CHUNK_BYTES > SHARED_RESERVED + cta->shared_bytes, rule,
                  a->access.site, 1,
                  "%s: by its descriptor (start %u, leading %u, stride %u, swizzle %d), row %d, k %d lies at byte %lld "
                  "of the CTA's %u bytes of shared memory",
                  a->what, d->start - SHARED_RESERVED, d->leading, d->stride, d->swizzle_bytes,
                  wgmma_chunk_row(mn_major, i), wgmma_chunk_k(type, mn_major, i),
                  (long long)address[i] - SHARED_RESERVED, cta->shared_bytes);
        cells_shared(cta, a, address[i] - SHARED_RESERVED, CHUNK_BYTES);
        tag[i] = provenance_of(cta, address[i] - SHARED_RESERVED);
        unknown |= tag[i].tensor == TENSOR_UNKNOWN;
    }
    return unknown;
}

void cells_look(Cta *cta, Actor *a, uint32_t offset) {
    const Chunk *chunk = shared_chunk(cta, offset);
    a->space = SPACE_SHARED;
    a->cta = cta;
    a->access.bytes = 3;
    if (chunk->split == 0) {
        order_check(a, &chunk->cell.write, offset, CHUNK_BYTES);
    }
    for (int c = 0; chunk->split != 0 && c < CHUNK_CELLS; c++) {
        order_check(a, &cta->cells->split[chunk->split][c].write, offset, CHUNK_BYTES);
    }
}

/* ---- tensor memory ----------------------------------------------------------------------------------------------- */

/* Each column of a lane has one cell, as two bytes of shared memory have. The cells of a lane are next to each other.
 * */
static Chunk *tensor_chunk(const Cta *cta, int lane, int column) {
    return &cta->tensor->chunk[(lane * TMEM_COLUMNS + column) / CHUNK_CELLS];
}

ON(cells, CTA_END) {
    free_cells(cta->cells);
    if (cta->tensor != NULL) {
        free_cells(cta->tensor);
    }
}

void cells_tensor(Cta *cta, Actor *a, int lane, int column, int columns) {
    a->space = SPACE_TENSOR;
    a->cta = cta;
    if (cta->tensor == NULL) {
        cta->tensor = cta_alloc(cta, sizeof *cta->tensor);
        cta->tensor->chunk = cta_alloc(cta, TMEM_LANES * TMEM_COLUMNS / CHUNK_CELLS * sizeof(Chunk));
        forget(cta->tensor, SPACE_TENSOR);
    }
    for (int n; columns > 0; column += n, columns -= n) {
        const int first = column % CHUNK_CELLS;
        n = columns < CHUNK_CELLS - first ? columns : CHUNK_CELLS - first;
        const uint32_t begin = 2 * (uint32_t)first, end = begin + 2 * (uint32_t)n;
        const uint8_t mask = cell_mask(begin, end);
        const uintptr_t at = (uintptr_t)lane << 16 | (uintptr_t)column;
        Chunk *here = tensor_chunk(cta, lane, column);
        chunk_access(cta->tensor, here, a, begin, end, at);
        /* A load by 32x32b has all 32 lanes of a quarter, D of M = 64 half of them. */
        uint8_t known = here->written;
        if (a->access.kind == ACCESS_TMEM_LD) {
            known |= tensor_chunk(cta, lane ^ 16, column)->written;
        }
        if (((a->access.flags & READS) || a->access.kind == ACCESS_TCGEN05_ADD) && (known & mask) != mask) {
            order_find(a, RULE_UNINIT_TENSOR, at, end - begin);
        }
        here->written |= a->access.flags & WRITES ? mask : 0;
    }
}

void cells_tensor_forget(Cta *cta, int column, int columns) {
    for (int lane = 0; lane < TMEM_LANES; lane++) {
        for (int i = column; i < column + columns; i += CHUNK_CELLS) {
            tensor_chunk(cta, lane, i)->written = 0;
        }
    }
}

/* ---- global memory ----------------------------------------------------------------------------------------------- */

/* An access that goes nowhere: ends the launch. */
static _Noreturn void stop_at(ModelRule rule, const Thread *t, Site site, const char *what, const char *memory) {
    REPORT_LAST(rule, report_place("now", t, site, what), report_line("memory", "%s", memory));
    model_stop();
}

static _Noreturn void report_bounds(const Thread *t, uintptr_t p, uint32_t size, const char *what, Site site) {
    char text[2 * PHRASE_SIZE];
    const Allocation *below = global_is((const void *)p) ? global_below(p) : NULL;
    if (below != NULL) {
        snprintf(text, sizeof text, "%u bytes at byte %lld of %s, which has %lld bytes", size,
                 (long long)(p - below->begin), allocation_text(below, PHRASE), (long long)(below->end - below->begin));
    } else {
        snprintf(text, sizeof text, "%u bytes at address 0x%llx%s", size, (unsigned long long)p,
                 global_is((const void *)p)
                     ? ", below every allocation"
                     : ": not global memory, not this CTA's shared memory, not the thread's own");
    }
    order_settle();
    stop_at(RULE_GLOBAL_BOUNDS, t, site, what, text);
}

/* Those of an allocation; NULL: its accesses are not kept. Of several devices, one may write what another has read
 * before. Where somebody observes, nobody looks for conflicts: that would take memory for all of C. */
static Chunk *chunks_of(Allocation *a, int writes) {
    if (device.options.observer != NULL) {
        return NULL;
    }
    const int small = a->end - a->begin <= SMALL_BYTES, others = device.devices > 1 && !a->constant;
    if (a->chunk == NULL && (writes || small || others)) {
        size_t bytes = (a->end - a->begin + CHUNK_BYTES - 1) / CHUNK_BYTES * sizeof *a->chunk;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        a->chunk = p == MAP_FAILED ? NULL : p;
    }
    return a->chunk;
}

void cells_global(Actor *actor, const void *pointer, uint32_t size) {
    uintptr_t p = (uintptr_t)pointer;
    Allocation *a = global_find(p, actor->access.site / 8);
    if (a == NULL || size > a->end - p) {
        report_bounds(actor->thread, p, size, actor->what, actor->access.site);
    }
    actor->space = SPACE_GLOBAL;
    actor->in = a;
    MISUSE_IF(a->matrix_end != 0 && (actor->access.flags & WRITES) && (p < a->matrix || p + size > a->matrix_end),
              RULE_GLOBAL_BOUNDS, actor->access.site, 0, "%s: %u bytes, %lld bytes %s the result matrix", actor->what,
              size, (long long)(p < a->matrix ? a->matrix - p : p + size - a->matrix_end),
              p < a->matrix ? "before" : "after the end of");
    if (device.options.chain) {
        order_check_launches(actor, p);
    }
    Chunk *chunk = chunks_of(a, actor->access.flags & WRITES);
    if (chunk == NULL) {
        return;
    }
    for (uint32_t bytes; size > 0; p += bytes, size -= bytes) {
        uint32_t begin = (uint32_t)((p - a->begin) % CHUNK_BYTES);
        Chunk *here = &chunk[(p - a->begin) / CHUNK_BYTES];
        bytes = begin + size < CHUNK_BYTES ? size : CHUNK_BYTES - begin;
        if (here->era != global.era) {
            *here = (Chunk){.era = global.era};
        }
        chunk_access(&global, here, actor, begin, begin + bytes, p);
    }
}

/* Launches of the device that owns the memory must know that other devices' writes to it are complete. */
static int check_left(const Allocation *a, const Cell *cell, uintptr_t p) {
    int known = order_check_left(a, &cell->write, p);
    for (uint32_t i = cell->others; known && i != 0; i = global.other[i].next) {
        known = order_check_left(a, &global.other[i].access, p);
    }
    return known;
}

static int has_launch(int on) {
    int i = 0;
    while (i < device.launched && device.launch[i].facts.device != on) {
        i++;
    }
    return i < device.launched;
}

ON(cells, LAUNCHES_DONE) {
    const Allocation *a;
    for (int n = 0; device.devices > 1 && device.options.chain && (a = global_at(n)) != NULL; n++) {
        for (uintptr_t p = a->begin; a->chunk != NULL && has_launch(a->device) && p < a->end; p += 2) {
            const Chunk *chunk = &a->chunk[(p - a->begin) / CHUNK_BYTES];
            const Cell *cell =
                chunk->split == 0 ? &chunk->cell : &global.split[chunk->split][(p - a->begin) % CHUNK_BYTES / 2];
            if (chunk->era == global.era && !check_left(a, cell, p)) {
                return;
            }
        }
    }
}

/* ---- ordinary accesses and atomics ------------------------------------------------------------------------------- */

static int is_shared(const void *p) { return (uintptr_t)p - (uintptr_t)device.shared_base < device.shared_span; }

/* Loads of one place from one instruction, with nothing else between: an ordinary load orders nothing, and no thread
 * stops at it, so that such a loop would run for ever. */
static inline void spin(const Event *e) {
    enum { SPIN_LIMIT = 1 << 20 };
    static struct {
        const Thread *thread;
        const void *at;
        uint64_t step;
        Site site;
        uint32_t count;
    } last;
    if (e->write || last.at != e->p || last.site != e->site || last.thread != e->thread || last.step != device.step) {
        last.thread = e->thread;
        last.at = e->write ? NULL : e->p;
        last.step = device.step;
        last.site = e->site;
        last.count = 0;
    } else if (++last.count == SPIN_LIMIT) {
        last.at = NULL;
        report_misuse(RULE_LIVELOCK, e->site, 1,
                      "ordinary load of the same %u bytes, %d times in a row: nothing orders it after a store of "
                      "another thread; wait at a barrier, or poll a counter of global_counter.h",
                      e->size, SPIN_LIMIT);
    }
}

ON(cells, SHARED_ACCESS) {
    Actor actor = actor_plain(t, e->write ? ACCESS_STORE : ACCESS_LOAD, e->site);
    spin(e);
    cells_shared(t->cta, &actor, shared_bounds(t, e->p, e->size, actor.what, e->site), e->size);
    order_settle();
}

ON(cells, GLOBAL_ACCESS) {
    Actor actor = actor_plain(t, e->write ? ACCESS_STORE : ACCESS_LOAD, e->site);
    spin(e);
    cells_global(&actor, e->p, e->size);
    order_settle();
}

ON(cells, ATOMIC) {
    static const AccessKind kinds[] = {
        [ATOMIC_LOAD] = ACCESS_ATOMIC_LOAD, [ATOMIC_STORE] = ACCESS_ATOMIC_STORE, [ATOMIC_CHANGE] = ACCESS_ATOMIC};
    const void *p = e->p;
    const int *wanted = e->at_least;
    Actor actor = actor_plain(t, kinds[e->atomic], e->site);
    actor.what = e->what;
    actor.access.scope = (uint8_t)scope_of(e->order);
    MISUSE_IF((uintptr_t)p % 4 != 0, RULE_ALIGNMENT, e->site, 1, "%s at address %p, which is not a multiple of 4",
              e->what, p);
    if (is_shared(p)) {
        shared_bounds(t, p, 4, "atomic access", e->site);
    }
    if (wanted == NULL) {
        world_acquire(t, p, e->atomic, e->order, e->site);
    }
    if (is_shared(p)) {
        cells_shared(t->cta, &actor, shared_offset(t->cta, p), 4);
    } else {
        cells_global(&actor, p, 4);
    }
    order_settle();
    if (wanted != NULL && (int)(*(const uint32_t *)p - (uint32_t)*wanted) >= 0) {
        world_reached(t, p, e->order, *wanted);
    }
    world_release(t, p, e->atomic, e->order, e->site);
}

ON(cells, MISALIGNED_ACCESS) {
    char text[PHRASE_SIZE];
    const Allocation *a = global_find((uintptr_t)e->p, 0);
    const char *memory = is_shared(e->p) ? "shared memory" : a != NULL ? a->name : "a local variable";
    const uintptr_t begin = is_shared(e->p) ? (uintptr_t)t->cta->shared : a != NULL ? a->begin : (uintptr_t)e->p;
    snprintf(text, sizeof text, "%u bytes at byte %lld of %s", e->size, (long long)((uintptr_t)e->p - begin), memory);
    stop_at(RULE_ALIGNMENT, t, e->site, e->write ? "store" : "load", text);
}

ON(cells, UNKNOWN_ACCESS) { report_bounds(t, (uintptr_t)e->p, e->size, e->write ? "store" : "load", e->site); }
