/* world.c - see world.h. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "../core/memory.h"
#include "../place/line.h"
#include "bug_report.h"

/* What a thread knew when it last executed a fence. */
typedef struct FenceClock {
    Clock *base;
    PrivateTick own[PRIVATE_LIMIT];
    int own_count, waited;
    World *world; /* made of it when a relaxed write releases it; NULL: not yet */
} FenceClock;

/* Words that were released to in this launch: a table by address. */
typedef struct {
    const void *at; /* NULL: free */
    World *world;   /* NULL: a store has replaced it */
    uint32_t serial;
    Component by; /* the thread that released to it last */
    Site site;
} Word;

static struct {
    Word *word;
    int count, capacity; /* a power of two */
} words;

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

static const WorldPart *part_of(const World *world, uint32_t serial) {
    int low = 0, high = world != NULL ? world->count : 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (world->part[middle].serial < serial) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return world != NULL && low < world->count && world->part[low].serial == serial ? &world->part[low] : NULL;
}

/* What a thread knows with this base and these ticks of its own. */
static World *world_of(const Thread *t, const Clock *base, const PrivateTick *own, int own_count, int waited) {
    World *mine = world_new(1);
    mine->waited = waited || (base != NULL && base->waited);
    mine->count = 1;
    mine->part[0].serial = t->cta->cluster->serial;
    Clock *known = clock_new();
    clock_join(known, base);
    world_unref(known->world);
    known->world = NULL;
    for (int i = 0; i < own_count; i++) {
        clock_raise(known, own[i].component, own[i].tick.known, own[i].tick.fenced);
    }
    mine->part[0].known = known;
    if (base != NULL) {
        world_join(&mine, base->world);
    }
    return mine;
}

/* What the thread knows now; its later accesses are not part of it. */
static World *world_now(Thread *t) {
    World *world = world_of(t, t->clock->base, t->clock->own, t->clock->own_count, t->clock->waited);
    t->clock->own[0].tick.known++;
    return world;
}

static void learn(Thread *t, World *world) {
    const WorldPart *mine = part_of(world, t->cta->cluster->serial);
    Clock *clock = clock_new();
    if (mine != NULL) {
        clock_join(clock, mine->known);
    }
    clock->waited = world->waited;
    clock->world = world_ref(world);
    thread_acquire(t, clock);
    clock_unref(clock);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static Word *slot_of(const void *at) {
    unsigned i = (unsigned)((uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15u >> 40);
    while (words.word[i % (unsigned)words.capacity].at != NULL && words.word[i % (unsigned)words.capacity].at != at) {
        i++;
    }
    return &words.word[i % (unsigned)words.capacity];
}

static Word *word_find(const void *at) {
    Word *word = words.count > 0 ? slot_of(at) : NULL;
    return word != NULL && word->at != NULL ? word : NULL;
}

static Word *word_make(const void *at) {
    if (2 * words.count >= words.capacity) {
        Word *old = words.word;
        int capacity = words.capacity;
        words.capacity = capacity > 0 ? 2 * capacity : 64;
        words.word = model_alloc_zero((size_t)words.capacity * sizeof *words.word);
        for (int i = 0; i < capacity; i++) {
            if (old[i].at != NULL) {
                *slot_of(old[i].at) = old[i];
            }
        }
        free(old);
    }
    Word *word = slot_of(at);
    words.count += word->at == NULL;
    word->at = at;
    return word;
}

void world_launch_end(void) {
    for (int i = 0; i < words.capacity; i++) {
        world_unref(words.word[i].world);
    }
    free(words.word);
    memset(&words, 0, sizeof words);
}

void world_cta_end(Cta *cta) {
    for (int i = 0; i < cta->threads; i++) {
        FenceClock *fence = cta->thread[i].clock->fence;
        world_unref(cta->thread[i].clock->seen);
        if (fence != NULL) {
            clock_unref(fence->base);
            world_unref(fence->world);
        }
    }
}

/* ---- atomics and fences ------------------------------------------------------------------------------------------ */

void world_acquire(Thread *t, const void *at, AtomicKind kind, MemoryOrder order) {
    const Word *word = kind != ATOMIC_STORE ? word_find(at) : NULL;
    if (word == NULL || word->world == NULL) {
        return;
    }
    if (order & ORDER_ACQUIRE) {
        learn(t, word->world);
    } else {
        world_join(&t->clock->seen, word->world);
    }
}

/* What the thread hands on with a write of this order; NULL: nothing. The caller's to unref. */
static World *handed_on(Thread *t, MemoryOrder order) {
    FenceClock *fence = t->clock->fence;
    if (order & ORDER_RELEASE) {
        return world_now(t);
    }
    if (fence == NULL) {
        return NULL;
    }
    if (fence->world == NULL) {
        fence->world = world_of(t, fence->base, fence->own, fence->own_count, fence->waited);
    }
    return world_ref(fence->world);
}

void world_release(Thread *t, const void *at, AtomicKind kind, MemoryOrder order, Site site) {
    if (kind == ATOMIC_LOAD) {
        return;
    }
    World *mine = handed_on(t, order);
    Word *word = mine != NULL ? word_make(at) : word_find(at);
    if (word != NULL) {
        int by_itself = word->serial == t->cta->cluster->serial && word->by == thread_component(t);
        if (kind == ATOMIC_STORE && !by_itself) {
            world_unref(word->world);
            word->world = NULL;
        }
        world_join(&word->world, mine);
    }
    if (mine != NULL) {
        word->serial = t->cta->cluster->serial;
        word->by = thread_component(t);
        word->site = site;
        world_unref(mine);
    }
}

void world_fence(Thread *t) {
    ThreadClock *clock = t->clock;
    if (clock->seen != NULL) {
        learn(t, clock->seen);
        world_unref(clock->seen);
        clock->seen = NULL;
    }
    if (clock->fence == NULL) {
        clock->fence = cta_alloc(t->cta, sizeof *clock->fence);
    }
    FenceClock *fence = clock->fence;
    clock_ref(clock->base);
    clock_unref(fence->base);
    world_unref(fence->world);
    fence->base = clock->base;
    fence->world = NULL;
    fence->own_count = clock->own_count;
    fence->waited = clock->waited;
    memcpy(fence->own, clock->own, sizeof fence->own);
    clock->own[0].tick.known++;
}

void world_fence_proxy(Thread *t) {
    World *now = world_now(t), *fenced = world_new(now->count);
    fenced->waited = now->waited;
    fenced->count = now->count;
    for (int i = 0; i < now->count; i++) {
        fenced->part[i].serial = now->part[i].serial;
        fenced->part[i].known = clock_ref(now->part[i].known);
        fenced->part[i].fenced = clock_joined(now->part[i].known, now->part[i].fenced);
    }
    learn(t, fenced);
    world_unref(now);
    world_unref(fenced);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const World *known_world(const Thread *t) { return t->clock->base != NULL ? t->clock->base->world : NULL; }

int world_knows(const Thread *t, uint32_t serial, Component component, uint32_t epoch) {
    if (serial == t->cta->cluster->serial) {
        return thread_knows(t, component, epoch);
    }
    const WorldPart *part = part_of(known_world(t), serial);
    return part != NULL && clock_tick(part->known, component).known >= epoch;
}

int world_fenced(const Thread *t, uint32_t serial, Component component, uint32_t epoch) {
    const WorldPart *part = part_of(known_world(t), serial);
    return part != NULL && clock_tick(part->fenced, component).known >= epoch;
}

static int holds(const World *world, uint32_t serial, Component component, uint32_t epoch) {
    const WorldPart *part = part_of(world, serial);
    return part != NULL && clock_tick(part->known, component).known >= epoch;
}

void world_missing(const Thread *t, uint32_t serial, Component component, uint32_t epoch, const char *who) {
    char place[PHRASE_SIZE];
    const Word *with = NULL, *without = NULL;
    for (int i = 0; i < words.capacity; i++) {
        const Word *word = &words.word[i];
        if (word->world == NULL) {
            continue;
        }
        if (holds(word->world, serial, component, epoch)) {
            with = word;
        } else if (part_of(word->world, serial) != NULL) {
            without = word;
        }
    }
    if (holds(t->clock->seen, serial, component, epoch)) {
        report_line("missing", "an acquire: a relaxed atomic has read what was released behind that access, and no "
                               "__threadfence() of this thread came between");
    } else if (with != NULL) {
        report_line("missing",
                    "an acquire: the atomic at %s hands that access on, and neither this thread nor one before it at "
                    "a barrier has read it by an acquire",
                    site_text(with->site, place, sizeof place));
    } else if (serial == t->cta->cluster->serial) {
        report_line("missing", "no barrier that both threads take part in lies between");
    } else if (without != NULL) {
        report_line("missing",
                    "a barrier or a release: what the CTA has handed on by the atomic at %s does not contain that "
                    "access",
                    site_text(without->site, place, sizeof place));
    } else {
        report_line("missing",
                    "a release: neither %s nor a thread behind it at a barrier has since written an atomic by a "
                    "release, or behind __threadfence()",
                    who);
    }
}
