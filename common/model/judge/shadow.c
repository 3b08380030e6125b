/* shadow.c - checks every access to shared memory against the ones before it.
 *
 * The rule is happens-before: an access may follow another one to the same bytes, one of them a write, only if its
 * thread knows the other's epoch (clock.h). The epoch of asynchronous work is that of its completion, so the verdict
 * does not depend on when the work really happened. Between the generic and the async proxy a fence must also lie
 * (fenced).
 *
 * One cell covers 16 bytes until they are accessed in parts; then each 2 bytes have their own. Reads are kept until a
 * write follows; a read that the reader knows is replaced by its own, since who comes after it comes after both. */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

#include "../core/memory.h"
#include "../place/layout.h"
#include "bug_report.h"
#include "phases.h"

enum { BLOCK_READS = 6 };

typedef struct ReadBlock {
    Access read[BLOCK_READS];
    uint32_t next;
} ReadBlock;

/* By slot, kept from CTA to CTA. */
static struct {
    CtaShadow *of;
    int slots;
} shadows;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void shadow_cta_begin(Cta *cta) {
    if (device.devices * device.sms > shadows.slots) {
        /* CTAs point at theirs: none may move while one lives. All slots of a set of launches are made at once. */
        int slots = device.devices * device.sms;
        shadows.of = model_realloc(shadows.of, (size_t)slots * sizeof *shadows.of);
        memset(&shadows.of[shadows.slots], 0, (size_t)(slots - shadows.slots) * sizeof *shadows.of);
        shadows.slots = slots;
    }
    CtaShadow *s = cta->shadow = &shadows.of[cta->slot];
    uint32_t chunks = (cta->shared_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
    if (s->chunk == NULL || s->chunks < chunks) {
        free(s->chunk);
        s->chunk = model_alloc((size_t)chunks * sizeof *s->chunk);
        s->chunks = chunks;
    }
    memset(s->chunk, 0, (size_t)chunks * sizeof *s->chunk);
    s->splits = s->blocks = 1;
    s->free_split = s->free_block = 0;
    s->atomics = 0;
}

void shadow_shutdown(void) {
    for (int i = 0; i < shadows.slots; i++) {
        free(shadows.of[i].split);
        free(shadows.of[i].block);
        free(shadows.of[i].chunk);
    }
    free(shadows.of);
    memset(&shadows, 0, sizeof shadows);
}

static uint32_t block_new(CtaShadow *s) {
    uint32_t i = s->free_block;
    if (i != 0) {
        s->free_block = s->block[i].next;
    } else {
        if (s->blocks >= s->blocks_capacity) {
            s->blocks_capacity = s->blocks_capacity > 0 ? 2 * s->blocks_capacity : 256;
            s->block = model_realloc(s->block, s->blocks_capacity * sizeof *s->block);
        }
        i = s->blocks++;
    }
    s->block[i].next = 0;
    return i;
}

static void blocks_free(CtaShadow *s, uint32_t i) {
    while (i != 0) {
        uint32_t next = s->block[i].next;
        s->block[i].next = s->free_block;
        s->free_block = i;
        i = next;
    }
}

static void forget_reads(CtaShadow *s, Cell *cell) {
    if (cell->more_reads != 0) {
        blocks_free(s, cell->more_reads);
        cell->more_reads = 0;
    }
    cell->reads = 0;
}

/* The n-th read of a cell. */
static Access *read_at(CtaShadow *s, Cell *cell, uint32_t n) {
    if (n < CELL_READS) {
        return &cell->read[n];
    }
    n -= CELL_READS;
    uint32_t block = cell->more_reads;
    for (; n >= BLOCK_READS; n -= BLOCK_READS) {
        block = s->block[block].next;
    }
    return &s->block[block].read[n];
}

static void read_append(CtaShadow *s, Cell *cell, const Access *access) {
    uint32_t n = cell->reads++;
    if (n >= CELL_READS && (n - CELL_READS) % BLOCK_READS == 0) {
        uint32_t added = block_new(s), last = cell->more_reads;
        if (last == 0) {
            cell->more_reads = added;
        } else {
            while (s->block[last].next != 0) {
                last = s->block[last].next;
            }
            s->block[last].next = added;
        }
    }
    *read_at(s, cell, n) = *access;
}

/* The chunk's 8 cells of 2 bytes. */
static Cell *split(CtaShadow *s, Chunk *chunk) {
    if (chunk->split == 0) {
        uint32_t i = s->free_split;
        if (i != 0) {
            s->free_split = s->split[i][0].more_reads;
        } else {
            if (s->splits >= s->splits_capacity) {
                s->splits_capacity = s->splits_capacity > 0 ? 2 * s->splits_capacity : 256;
                s->split = model_realloc(s->split, s->splits_capacity * sizeof *s->split);
            }
            i = s->splits++;
        }
        chunk->split = i;
        for (int c = 0; c < CHUNK_CELLS; c++) {
            Cell *cell = &s->split[i][c];
            cell->write = chunk->cell.write;
            cell->reads = cell->more_reads = 0;
            for (uint32_t n = 0; n < chunk->cell.reads; n++) {
                read_append(s, cell, read_at(s, &chunk->cell, n));
            }
        }
        forget_reads(s, &chunk->cell);
    }
    return s->split[chunk->split];
}

/* A whole chunk is written: one cell is enough again. */
static void unsplit(CtaShadow *s, Chunk *chunk) {
    if (chunk->split != 0) {
        Cell *cells = s->split[chunk->split];
        for (int c = 0; c < CHUNK_CELLS; c++) {
            forget_reads(s, &cells[c]);
        }
        cells[0].more_reads = s->free_split;
        s->free_split = chunk->split;
        chunk->split = 0;
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

uint32_t shadow_bounds(const Thread *t, const void *p, uint32_t bytes, const char *what, Site site) {
    uintptr_t offset = (uintptr_t)p - (uintptr_t)t->cta->shared;
    if (offset >= t->cta->shared_bytes || bytes > t->cta->shared_bytes - offset) {
        report_misuse(RULE_SHARED_BOUNDS, site, 1, "%s at byte %lld, %u bytes; the CTA has %u bytes of shared memory",
                      what, (long long)(intptr_t)offset, bytes, t->cta->shared_bytes);
    }
    return (uint32_t)offset;
}

void shadow_address(const Cta *cta, const void *p) {
    if ((uintptr_t)p - (uintptr_t)cta->shared > SHARED_STRIDE) {
        report_misuse(RULE_SHARED_BOUNDS, 0, 1, "shared-memory address of %p, which is not in this CTA's shared memory",
                      p);
    }
}

void shadow_set_barrier(Cta *cta, uint32_t offset) {
    cta->shadow->chunk[offset / CHUNK_BYTES].barriers |= (uint8_t)(1 << offset % CHUNK_BYTES / 8);
}

const Access *shadow_writer(const Cta *cta, uint32_t offset) {
    const Chunk *chunk = &cta->shadow->chunk[offset / CHUNK_BYTES];
    return chunk->split == 0 ? &chunk->cell.write : &cta->shadow->split[chunk->split][offset % CHUNK_BYTES / 2].write;
}

const char *access_text(AccessKind kind) {
    static const char *const text[] = {
#define ACCESS(id, name, is_async) name,
        ACCESSES(ACCESS)
#undef ACCESS
    };
    return text[kind];
}

static inline int is_async_proxy(unsigned kind) {
    static const uint8_t is_async[] = {
#define ACCESS(id, name, is_async) is_async,
        ACCESSES(ACCESS)
#undef ACCESS
    };
    return is_async[kind];
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

/* Why the earlier access is not known to be over. */
static void report_missing(const Actor *actor, const Access *before) {
    const ComponentOwner *owner = component_owner(actor->thread->cta->cluster, before->component);
    char name[PHRASE_SIZE];
    GroupKind kind;
    if (owner->barrier != NULL) {
        uint32_t seen = clock_tick(actor->thread->clock->base, before->component).known;
        if (seen == 0) {
            report_line("missing", "the load counts for phase %u of %s; this thread knows no completed phase of it",
                        before->epoch - 1, barrier_text(owner->barrier, name));
        } else {
            report_line("missing", "the load counts for phase %u of %s; this thread knows only phases up to %u",
                        before->epoch - 1, barrier_text(owner->barrier, name), seen - 1);
        }
        report_barrier(owner->barrier);
    } else if (owner->warpgroup != NULL) {
        report_line("missing",
                    "the wgmma is in group %u of warpgroup %d: this thread cannot know that a wgmma.wait_group has "
                    "covered it",
                    before->epoch - 1, owner->warpgroup->id);
    } else if ((kind = component_group(owner->thread, before->component)) != GROUP_KINDS) {
        const GroupText *text = group_text(kind);
        report_line("missing",
                    owner->thread == actor->thread
                        ? "the copy is in group %u of its thread's %s groups: this thread has not waited for it (%s)"
                        : "the copy is in group %u of its thread's %s groups: its thread's %s and a barrier after it "
                          "must come between",
                    before->epoch - 1, text->copies, text->wait);
    } else {
        report_line("missing", "no barrier that both threads take part in lies between");
    }
}

static const Thread *issuer_of(const Actor *actor, const Access *access) {
    return component_owner(actor->thread->cta->cluster, access->issuer)->thread;
}

static void report_memory(Cta *cta, uint32_t offset, uint32_t size) {
    char text[PHRASE_SIZE];
    Tag tag = provenance_of(cta, offset);
    char place[PHRASE_SIZE] = "";
    char of[PHRASE_SIZE];
    const Launch *l = launch_of(cta);
    if (l->shared_type != NULL) {
        layout_text(l->shared_file, l->shared_type, l->shared_variable, offset, place, sizeof place);
    }
    report_line("memory", "%s%sshared memory of %s, bytes %u to %u%s%s", place, *place != '\0' ? ": " : "",
                cta_text(cta, of), offset, offset + size - 1, tag.tensor != TENSOR_UNKNOWN ? ", last filled with " : "",
                tag.tensor != TENSOR_UNKNOWN ? tag_text(tag, text) : "");
}

static void report_race(Cta *cta, const Actor *actor, ModelRule rule, const Access *before, uint32_t offset,
                        uint32_t size) {
    if (actor->barrier != NULL) {
        phases_load_races(actor->barrier);
    }
    if (!report_begin(rule)) {
        return;
    }
    report_place("now", actor->thread, actor->site, access_text(actor->kind));
    report_place("before", issuer_of(actor, before), before->site, access_text((AccessKind)before->kind));
    report_memory(cta, offset, size);
    if (rule == RULE_PROXY_FENCE) {
        report_line("missing",
                    "the thread of the earlier access must execute fence_proxy_async() after it and before the "
                    "barrier that orders the two");
    } else {
        report_missing(actor, before);
    }
    if (actor->barrier != NULL) {
        char name[PHRASE_SIZE];
        report_line("stage", "the load is counted by %s", barrier_text(actor->barrier, name));
    }
    report_end(0);
}

static void report_uninitialised(Cta *cta, const Actor *actor, uint32_t offset, uint32_t size) {
    if (report_begin(RULE_UNINIT_SHARED)) {
        report_place("now", actor->thread, actor->site, access_text(actor->kind));
        report_memory(cta, offset, size);
        report_end(0);
    }
}

static void report_barrier_written(Cta *cta, const Actor *actor, uint32_t offset) {
    if (report_begin(RULE_BARRIER_OVERWRITTEN)) {
        report_place("now", actor->thread, actor->site, access_text(actor->kind));
        for (int half = 0; half < 2; half++) {
            uint16_t index = cta->mbarriers->at[offset / CHUNK_BYTES * 2 + (uint32_t)half];
            if (index != 0) {
                report_barrier(cta->mbarriers->list[index - 1]);
                break;
            }
        }
        report_memory(cta, offset, CHUNK_BYTES);
        report_end(0);
    }
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int knows(Actor *actor, Component component, uint32_t epoch) {
    if (actor->warp == NULL) {
        return thread_knows(actor->thread, component, epoch);
    }
    if (clock_tick(actor->warp->thread[0].clock->base, component).known >= epoch) {
        return 1;
    }
    actor->beyond_base = 1;
    for (int lane = 0; lane < actor->warp->lanes; lane++) {
        if (thread_knows(&actor->warp->thread[lane], component, epoch)) {
            return 1;
        }
    }
    return 0;
}

static int fenced(Actor *actor, Component component, uint32_t epoch) {
    if (actor->warp == NULL) {
        return thread_fenced(actor->thread, component, epoch);
    }
    if (clock_tick(actor->warp->thread[0].clock->base, component).fenced >= epoch) {
        return 1;
    }
    actor->beyond_base = 1;
    for (int lane = 0; lane < actor->warp->lanes; lane++) {
        if (thread_fenced(&actor->warp->thread[lane], component, epoch)) {
            return 1;
        }
    }
    return 0;
}

/* Is `before` in order before the actor's access? `race` is the rule it breaks if not. */
static inline void check_order(Cta *cta, Actor *actor, const Access *before, ModelRule race, uint32_t offset,
                               uint32_t size) {
    if (before->epoch == 0 || !(before->bytes & actor->bytes) ||
        (before->component == actor->passed && before->epoch <= actor->passed_epoch)) {
        return;
    }
    if (!knows(actor, before->component, before->epoch)) {
        report_race(cta, actor, race, before, offset, size);
    } else if (is_async_proxy(actor->kind) && !is_async_proxy(before->kind) &&
               !(race == RULE_RACE_WAR && device.options.lenient) && !fenced(actor, before->component, before->epoch)) {
        report_race(cta, actor, RULE_PROXY_FENCE, before, offset, size);
    } else {
        actor->passed = before->component;
        actor->passed_epoch = before->epoch;
    }
}

static Access access_of(const Actor *actor) {
    return (Access){actor->epoch,         actor->site, actor->component, thread_component(actor->thread),
                    (uint8_t)actor->kind, actor->bytes};
}

/* Against what is kept among the reads: a read conflicts with atomic accesses there, an atomic access with all others. */
static void check_atomics(Cta *cta, Actor *actor, Cell *cell, uint32_t offset, uint32_t size) {
    for (uint32_t n = 0; n < cell->reads; n++) {
        const Access *other = read_at(cta->shadow, cell, n);
        if ((other->kind == ACCESS_ATOMIC) != (actor->kind == ACCESS_ATOMIC)) {
            check_order(cta, actor, other, other->kind == ACCESS_ATOMIC ? RULE_RACE_RAW : RULE_RACE_WAR, offset, size);
        }
    }
}

static void cell_read(Cta *cta, Actor *actor, Cell *cell, uint32_t offset, uint32_t size) {
    CtaShadow *s = cta->shadow;
    check_order(cta, actor, &cell->write, RULE_RACE_RAW, offset, size);
    if (s->atomics) {
        check_atomics(cta, actor, cell, offset, size);
    }
    Access mine = access_of(actor);
    int async = is_async_proxy(actor->kind);
    for (uint32_t n = 0; n < cell->reads; n++) {
        Access *read = read_at(s, cell, n);
        if ((s->atomics ? read->kind == actor->kind : is_async_proxy(read->kind) == async) &&
            (read->bytes & ~mine.bytes) == 0 &&
            (read->component == mine.component || knows(actor, read->component, read->epoch))) {
            *read = mine;
            return;
        }
    }
    read_append(s, cell, &mine);
}

static void cell_write(Cta *cta, Actor *actor, Cell *cell, uint32_t offset, uint32_t size) {
    CtaShadow *s = cta->shadow;
    check_order(cta, actor, &cell->write, RULE_RACE_WAW, offset, size);
    for (uint32_t n = 0; n < cell->reads; n++) {
        check_order(cta, actor, read_at(s, cell, n), RULE_RACE_WAR, offset, size);
    }
    forget_reads(s, cell);
    cell->write = access_of(actor);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

Actor actor_plain(Thread *t, AccessKind kind, Site site) {
    Actor actor = {.thread = t,
                   .kind = kind,
                   .component = thread_component(t),
                   .epoch = thread_epoch(t),
                   .site = site,
                   .passed = thread_component(t)};
    /* Its own ordinary accesses are in program order; for the async proxy they still need a fence. */
    actor.passed_epoch = is_async_proxy(kind) ? 0 : UINT32_MAX;
    return actor;
}

/* Bits of `written` for bytes [begin, end) of a chunk. */
static inline uint8_t cell_mask(uint32_t begin, uint32_t end) {
    return (uint8_t)((1u << (end + 1) / 2) - (1u << begin / 2));
}

/* Which of the two bytes of cell c lie in [begin, end). */
static inline uint8_t bytes_of_cell(uint32_t c, uint32_t begin, uint32_t end) {
    return (uint8_t)((2 * c >= begin) | (2 * c + 1 < end) << 1);
}

void shadow_read(Cta *cta, Actor *actor, uint32_t offset, uint32_t size) {
    while (size > 0) {
        Chunk *chunk = &cta->shadow->chunk[offset / CHUNK_BYTES];
        uint32_t begin = offset % CHUNK_BYTES;
        uint32_t end = begin + size < CHUNK_BYTES ? begin + size : CHUNK_BYTES;
        uint8_t mask = cell_mask(begin, end);
        if ((chunk->written & mask) != mask && (chunk->barriers & (begin < 8 ? 1 : 2)) == 0) {
            report_uninitialised(cta, actor, offset, end - begin);
        }
        actor->bytes = 3;
        if (begin == 0 && end == CHUNK_BYTES && chunk->split == 0) {
            cell_read(cta, actor, &chunk->cell, offset, CHUNK_BYTES);
        } else {
            /* split() may move the pool: the cells are found again for each. */
            split(cta->shadow, chunk);
            for (uint32_t c = begin / 2; c < (end + 1) / 2; c++) {
                actor->bytes = bytes_of_cell(c, begin, end);
                cell_read(cta, actor, &cta->shadow->split[chunk->split][c], offset, end - begin);
            }
        }
        offset += end - begin;
        size -= end - begin;
    }
}

void shadow_write(Cta *cta, Actor *actor, uint32_t offset, uint32_t size) {
    while (size > 0) {
        Chunk *chunk = &cta->shadow->chunk[offset / CHUNK_BYTES];
        uint32_t begin = offset % CHUNK_BYTES;
        uint32_t end = begin + size < CHUNK_BYTES ? begin + size : CHUNK_BYTES;
        if (chunk->barriers != 0 && ((begin < 8 && (chunk->barriers & 1)) || (end > 8 && (chunk->barriers & 2)))) {
            report_barrier_written(cta, actor, offset);
        }
        actor->bytes = 3;
        if (begin == 0 && end == CHUNK_BYTES) {
            if (chunk->split != 0) {
                for (uint32_t c = 0; c < CHUNK_CELLS; c++) {
                    cell_write(cta, actor, &cta->shadow->split[chunk->split][c], offset, CHUNK_BYTES);
                }
                chunk->cell.write = cta->shadow->split[chunk->split][0].write;
                unsplit(cta->shadow, chunk);
            } else {
                cell_write(cta, actor, &chunk->cell, offset, CHUNK_BYTES);
            }
        } else {
            split(cta->shadow, chunk);
            for (uint32_t c = begin / 2; c < (end + 1) / 2; c++) {
                actor->bytes = bytes_of_cell(c, begin, end);
                cell_write(cta, actor, &cta->shadow->split[chunk->split][c], offset, end - begin);
            }
        }
        chunk->written |= cell_mask(begin, end);
        chunk->tag.tensor = TENSOR_UNKNOWN;
        offset += end - begin;
        size -= end - begin;
    }
}

void shadow_end_barrier(Cta *cta, Actor *actor, uint32_t offset) {
    Chunk *chunk = &cta->shadow->chunk[offset / CHUNK_BYTES];
    uint32_t begin = offset % CHUNK_BYTES;
    chunk->barriers &= (uint8_t) ~(1 << begin / 8);
    shadow_write(cta, actor, offset, BARRIER_BYTES);
    chunk->written &= (uint8_t)~cell_mask(begin, begin + BARRIER_BYTES);
}

void shadow_access(Thread *t, const void *p, uint32_t size, int write, Site site) {
    uint32_t offset = shadow_bounds(t, p, size, write ? "store" : "load", site);
    Actor actor = actor_plain(t, write ? ACCESS_PLAIN_WRITE : ACCESS_PLAIN_READ, site);
    if (write) {
        shadow_write(t->cta, &actor, offset, size);
    } else {
        shadow_read(t->cta, &actor, offset, size);
    }
}

void shadow_atomic(Thread *t, const void *p, Site site) {
    uint32_t offset = shadow_bounds(t, p, 4, "atomic access", site);
    Actor actor = actor_plain(t, ACCESS_ATOMIC, site);
    t->cta->shadow->atomics = 1;
    shadow_read(t->cta, &actor, offset, 4);
}

void shadow_check_read(Cta *cta, Actor *actor, uint32_t offset) {
    Chunk *chunk = &cta->shadow->chunk[offset / CHUNK_BYTES];
    actor->bytes = 3;
    if (chunk->split == 0) {
        check_order(cta, actor, &chunk->cell.write, RULE_RACE_RAW, offset, CHUNK_BYTES);
        return;
    }
    for (uint32_t c = 0; c < CHUNK_CELLS; c++) {
        check_order(cta, actor, &cta->shadow->split[chunk->split][c].write, RULE_RACE_RAW, offset, CHUNK_BYTES);
    }
}
