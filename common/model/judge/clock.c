/* clock.c - vector clocks that threads share.
 *
 * After a barrier all its threads know the same, up to their own later accesses. So a thread's clock is a pointer to a
 * shared, immutable clock and a few values of its own, and joining the same two clocks for 128 threads is done once: a
 * table remembers the last joins. */
#include "clock.h"

#include <stdlib.h>
#include <string.h>

enum { MEMO = 256, SPARE_LIMIT = 64 };

static struct {
    int capacity;
    Clock *spare[SPARE_LIMIT];
    int spares;
    struct {
        Clock *base, *released, *result; /* released NULL: the result of a fence */
    } memo[MEMO];
} pool;

/* Threads that arrive one after the other mostly share their base: it is joined once. The base is held, so that no
 * other clock can get its address. */
static struct {
    Clock *into;
    Clock *base;
} last_release;

Clock *clock_new(void) {
    Clock *clock;
    if (pool.spares > 0) {
        clock = pool.spare[--pool.spares];
    } else {
        clock = model_alloc(sizeof *clock + (size_t)pool.capacity * sizeof clock->tick[0]);
    }
    clock->refs = 1;
    clock->count = 0;
    return clock;
}

Clock *clock_ref(Clock *clock) {
    if (clock != NULL) {
        clock->refs++;
    }
    return clock;
}

void clock_unref(Clock *clock) {
    if (clock != NULL && --clock->refs == 0) {
        if (pool.spares < SPARE_LIMIT) {
            pool.spare[pool.spares++] = clock;
        } else {
            free(clock);
        }
    }
}

void clock_flush(void) {
    for (int i = 0; i < MEMO; i++) {
        clock_unref(pool.memo[i].base);
        clock_unref(pool.memo[i].released);
        clock_unref(pool.memo[i].result);
    }
    memset(pool.memo, 0, sizeof pool.memo);
    clock_unref(last_release.base);
    last_release.base = NULL;
    last_release.into = NULL;
    while (pool.spares > 0) {
        free(pool.spare[--pool.spares]);
    }
    pool.capacity = 0;
}

void clock_set_capacity(int capacity) {
    clock_flush();
    pool.capacity = capacity;
}

static void grow(Clock *clock, int count) {
    if (count > clock->count) {
        memset(&clock->tick[clock->count], 0, (size_t)(count - clock->count) * sizeof clock->tick[0]);
        clock->count = count;
    }
}

void clock_raise(Clock *clock, Component component, uint32_t known, uint32_t fenced) {
    grow(clock, component + 1);
    Tick *tick = &clock->tick[component];
    tick->known = known > tick->known ? known : tick->known;
    tick->fenced = fenced > tick->fenced ? fenced : tick->fenced;
}

void clock_join(Clock *into, const Clock *from) {
    if (from == NULL || from == into) {
        return;
    }
    grow(into, from->count);
    uint32_t *restrict x = &into->tick[0].known;
    const uint32_t *restrict y = &from->tick[0].known;
    for (int i = 0; i < 2 * from->count; i++) {
        x[i] = x[i] > y[i] ? x[i] : y[i];
    }
}

int thread_own_component(Thread *t, Component component) {
    for (int i = 0; i < t->clock.own_count; i++) {
        if (t->clock.own[i].component == component) {
            return i;
        }
    }
    int i = t->clock.own_count++;
    t->clock.own[i].component = component;
    t->clock.own[i].tick = clock_tick(t->clock.base, component);
    return i;
}

void thread_release(Thread *t, Clock **into) {
    if (*into == NULL) {
        *into = clock_new();
        last_release.into = NULL;
    }
    if (last_release.into != *into || last_release.base != t->clock.base) {
        clock_join(*into, t->clock.base);
        last_release.into = *into;
        clock_ref(t->clock.base);
        clock_unref(last_release.base);
        last_release.base = t->clock.base;
    }
    for (int i = 0; i < t->clock.own_count; i++) {
        const PrivateTick *own = &t->clock.own[i];
        clock_raise(*into, own->component, own->tick.known, own->tick.fenced);
    }
    t->clock.own[0].tick.known++;
}

void thread_release_only(Thread *t, Clock **into, Component component) {
    if (*into == NULL) {
        *into = clock_new();
        last_release.into = NULL;
    }
    Tick tick = clock_tick(t->clock.base, component);
    for (int i = 0; i < t->clock.own_count; i++) {
        if (t->clock.own[i].component == component) {
            tick = t->clock.own[i].tick;
        }
    }
    clock_raise(*into, component, tick.known, tick.fenced);
}

static unsigned memo_index(const Clock *base, const Clock *released) {
    uint64_t h = (uint64_t)(uintptr_t)base * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)released * 0xc2b2ae3d27d4eb4fu;
    return (unsigned)(h >> 40) % MEMO;
}

static void set_base(Thread *t, Clock *base) {
    clock_ref(base);
    clock_unref(t->clock.base);
    t->clock.base = base;
}

static void remember(unsigned i, Clock *base, Clock *released, Clock *result) {
    clock_ref(base);
    clock_ref(released);
    clock_ref(result);
    clock_unref(pool.memo[i].base);
    clock_unref(pool.memo[i].released);
    clock_unref(pool.memo[i].result);
    pool.memo[i].base = base;
    pool.memo[i].released = released;
    pool.memo[i].result = result;
}

void thread_acquire(Thread *t, Clock *released) {
    Clock *base = t->clock.base;
    if (released == NULL || released == base) {
        return;
    }
    if (base == NULL) {
        set_base(t, released);
        return;
    }
    unsigned i = memo_index(base, released);
    if (pool.memo[i].base == base && pool.memo[i].released == released) {
        set_base(t, pool.memo[i].result);
        return;
    }
    Clock *result = clock_new();
    clock_join(result, released);
    clock_join(result, base);
    if (result->count == released->count &&
        memcmp(result->tick, released->tick, (size_t)result->count * sizeof result->tick[0]) == 0) {
        /* Nothing new on this side: share, so that roles that have met have one clock again. */
        clock_unref(result);
        result = clock_ref(released);
    }
    remember(i, base, released, result);
    set_base(t, result);
    clock_unref(result);
}

void thread_acquire_own(Thread *t, Clock *released) { set_base(t, released); }

void thread_fence(Thread *t) {
    Clock *base = t->clock.base;
    if (base != NULL) {
        unsigned i = memo_index(base, NULL);
        if (pool.memo[i].base != base || pool.memo[i].released != NULL || pool.memo[i].result == NULL) {
            Clock *result = clock_new();
            clock_join(result, base);
            for (int c = 0; c < result->count; c++) {
                if (result->tick[c].fenced < result->tick[c].known) {
                    result->tick[c].fenced = result->tick[c].known;
                }
            }
            remember(i, base, NULL, result);
            clock_unref(result);
        }
        set_base(t, pool.memo[i].result);
    }
    for (int i = 0; i < t->clock.own_count; i++) {
        t->clock.own[i].tick.fenced = t->clock.own[i].tick.known;
    }
    /* Accesses after the fence are not covered by it. */
    t->clock.own[0].tick.known++;
}
