/* clock.h - what a thread knows to have happened, and how that knowledge moves. */
#ifndef CLOCK_H
#define CLOCK_H

#include "../core/state.h"

Clock *clock_new(void);
Clock *clock_ref(Clock *clock);
void clock_unref(Clock *clock);
/* Before a launch: clocks made from now on have room for this many components. After it: frees what was kept for
 * reuse. */
void clock_set_capacity(int capacity);
void clock_flush(void);

/* Raise a component. `clock` is not shared. */
void clock_raise(Clock *clock, Component component, uint32_t known, uint32_t fenced);
/* into |= from. `into` is not shared. */
void clock_join(Clock *into, const Clock *from);

static inline Tick clock_tick(const Clock *clock, Component component) {
    return clock != NULL && component < clock->count ? clock->tick[component] : (Tick){0, 0};
}

/* Does the thread know an access with this epoch? Is it covered by a proxy fence that the thread knows of? */
static inline int thread_knows(const Thread *t, Component component, uint32_t epoch) {
    const Clock *base = t->clock.base;
    if (base != NULL && component < base->count && base->tick[component].known >= epoch) {
        return 1;
    }
    for (int i = 0; i < t->clock.own_count; i++) {
        if (t->clock.own[i].component == component) {
            return t->clock.own[i].tick.known >= epoch;
        }
    }
    return 0;
}

static inline int thread_fenced(const Thread *t, Component component, uint32_t epoch) {
    const Clock *base = t->clock.base;
    if (base != NULL && component < base->count && base->tick[component].fenced >= epoch) {
        return 1;
    }
    for (int i = 0; i < t->clock.own_count; i++) {
        if (t->clock.own[i].component == component) {
            return t->clock.own[i].tick.fenced >= epoch;
        }
    }
    return 0;
}

/* The newest value of a component that the thread knows. */
static inline uint32_t thread_newest(const Thread *t, Component component) {
    uint32_t newest = clock_tick(t->clock.base, component).known;
    for (int i = 0; i < t->clock.own_count; i++) {
        if (t->clock.own[i].component == component && t->clock.own[i].tick.known > newest) {
            newest = t->clock.own[i].tick.known;
        }
    }
    return newest;
}

/* The epoch of an access that the thread makes now. */
static inline uint32_t thread_epoch(const Thread *t) { return t->clock.own[0].tick.known; }
static inline Component thread_component(const Thread *t) { return t->clock.own[0].component; }

/* Adds a component of the thread's own; returns its index in clock.own. */
int thread_own_component(Thread *t, Component component);

/* *into |= what the thread knows; its later accesses are not part of it. *into is made if NULL. */
void thread_release(Thread *t, Clock **into);
/* The same without what ordinary accesses did: only `component` moves. For relaxed arrivals. */
void thread_release_only(Thread *t, Clock **into, Component component);
/* The thread learns what `released` knows. */
void thread_acquire(Thread *t, Clock *released);
/* The thread took part in `released`, which so knows all that it knows. */
void thread_acquire_own(Thread *t, Clock *released);
/* fence.proxy.async */
void thread_fence(Thread *t);

#endif
