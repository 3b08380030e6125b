/* clock.h - what a thread knows to have happened, and how that knowledge moves. For the other judges.
 *
 * Happens-before by vector clocks. A component counts for a thread or for a way in which asynchronous work completes: a
 * barrier's phases, a warpgroup's wgmma groups, a thread's cp.async or bulk groups. An access's epoch is (component,
 * value); a thread knows it if its clock's value is at least that. Each component has more values: up to where its
 * writes are visible too, which an arrival of too narrow a scope does not say, nor of tensor memory one without a fence
 * before it; and for each space, up to where accesses through the generic proxy are covered by a proxy fence. */
#ifndef CLOCK_H
#define CLOCK_H

#include "../event.h"

typedef struct {
    uint32_t known;
    uint32_t visible; /* not more than that */
    uint32_t fenced[FENCED_SPACES];
} Tick;
/* A value of a Tick, by its index. */
typedef enum { KNOWN, VISIBLE, FENCED } Aspect;
static inline uint32_t tick_value(const Tick *tick, Aspect aspect, Space space) {
    return aspect == KNOWN ? tick->known : aspect == VISIBLE ? tick->visible : tick->fenced[space];
}

/* Immutable once shared: threads that have passed the same barriers share one. */
typedef struct Clock {
    int refs;
    int count;
    int waited;          /* for the launch before to end, grid_dependency_wait(): a bit for each device */
    struct World *world; /* may be NULL */
    Tick tick[];
} Clock;

/* What is known of one cluster, by its components. Clocks here have no world of their own. */
typedef struct {
    uint32_t serial; /* of the cluster */
    Clock *known;
} WorldPart;

/* What came by way of global memory (world.h). Immutable once shared. */
typedef struct World {
    int refs;
    int waited; /* as in Clock */
    int count;
    WorldPart part[]; /* by serial */
} World;

/* Itself, its groups, its warpgroup's products, its CTA's calls of mbarrier_init_fence(). */
enum { PRIVATE_LIMIT = 1 + GROUP_KINDS + 2 };

/* What a thread knows beyond its shared clock: its own component and those only it waits for. */
typedef struct {
    Component component;
    Tick tick;
} PrivateTick;

typedef struct ThreadClock {
    Clock *base; /* may be NULL: knows nothing */
    PrivateTick own[PRIVATE_LIMIT];
    int own_count;          /* own[0] is the thread's own component */
    int group[GROUP_KINDS]; /* indices in own[] of what counts its groups; 0: none yet */
    int waited;             /* as in Clock */
    Clock *tensor;          /* what it knew at its last tcgen05.fence::after_thread_sync; NULL: there was none */
    /* world.h, by scope from .gpu on: what its relaxed atomics have seen, which a fence makes known; what the last
     * fence lets them hand on. What atomics of too narrow a scope have come across. */
    struct World *seen[SCOPES], *beyond;
    Site seen_at; /* the last of those */
    struct World *fence[SCOPES];
} ThreadClock;

/* What a component counts for: a thread, or work of it; a barrier's phases; a warpgroup's products. */
typedef struct {
    Thread *thread;
    Barrier *barrier;
    Warpgroup *warpgroup;
} ComponentOwner;

typedef struct ClusterClock {
    Clock *arriving, *released; /* by the cluster barrier */
    int count, capacity;
    Component started; /* 1: the cluster barrier has been passed once, so all CTAs have started; 0: not made yet */
    ComponentOwner owner[];
} ClusterClock;

typedef struct CtaClock {
    int warpgroup[WARPGROUP_LIMIT]; /* component; -1: none yet */
    Component fence;                /* counts calls of mbarrier_init_fence(): */
    uint32_t fences;
    Clock *exit;   /* what all exited threads knew */
    Clock *fenced; /* in a cluster: what threads knew that have executed a proxy fence for shared memory */
} CtaClock;

/* ---- for the other judges ---------------------------------------------------------------------------------------- */

/* A barrier of the CTA is complete, for those in its list. */
void clock_barrier_complete(Clock **arriving, Thread *waiters);

Clock *clock_new(void);
Clock *clock_ref(Clock *clock);
void clock_unref(Clock *clock);
/* *to holds this one instead. */
void clock_hold(Clock **to, Clock *clock);
/* *into |= from; *into is not shared, and made if NULL. */
void clock_add(Clock **into, const Clock *from);
/* Raise a component: known and visible, covered for all spaces. `clock` is not shared. */
void clock_raise(Clock *clock, Component component, uint32_t known, uint32_t fenced);
void clock_raise_tick(Clock *clock, Component component, const Tick *by);
/* *into |= from, which may be NULL. */
void clock_join(Clock *into, const Clock *from);
World *world_new(int count);
World *world_ref(World *world);
void world_unref(World *world);
/* *into |= from: *into is replaced. */
void world_join(World **into, World *from);

static inline Tick clock_tick(const Clock *clock, Component component) {
    return clock != NULL && component < clock->count ? clock->tick[component] : (Tick){.known = 0};
}

/* A new component of the cluster's clocks. */
Component component_new(Cluster *cluster, ComponentOwner owner);
static inline const ComponentOwner *component_owner(const Cluster *cluster, Component component) {
    return &cluster->clock->owner[component];
}
/* Those of asynchronous work, made with the first of it. */
Component group_component(Thread *t, GroupKind kind);
Component products_component(Warpgroup *g);

/* What kind of the thread's groups a component counts; GROUP_KINDS: none. */
GroupKind component_group(const Thread *t, Component component);

/* Does the thread know an access with this epoch? Is it visible to it; is it covered by a proxy fence for `space`? */
static inline int thread_has(const Thread *t, Component component, uint32_t epoch, Aspect aspect, Space space) {
    const ThreadClock *clock = t->clock;
    if (clock->base != NULL && component < clock->base->count &&
        tick_value(&clock->base->tick[component], aspect, space) >= epoch) {
        return 1;
    }
    for (int i = 0; i < clock->own_count; i++) {
        if (clock->own[i].component == component) {
            return tick_value(&clock->own[i].tick, aspect, space) >= epoch;
        }
    }
    return 0;
}
static inline int thread_knows(const Thread *t, Component component, uint32_t epoch) {
    return thread_has(t, component, epoch, KNOWN, SPACE_SHARED);
}

/* The newest value of a component that the thread knows. */
Tick thread_newest(const Thread *t, Component component);

static inline int thread_waited(const Thread *t) {
    return (t->clock->waited | (t->clock->base != NULL ? t->clock->base->waited : 0)) >> device_of(t) & 1;
}
/* Does the thread know that the CTA of its cluster has started? */
int cluster_started(const Thread *t, const Cta *cta);

/* The epoch of an access that the thread makes now. */
static inline uint32_t thread_epoch(const Thread *t) { return t->clock->own[0].tick.known; }
static inline Component thread_component(const Thread *t) { return t->clock->own[0].component; }
/* Its next accesses are apart from those so far. */
static inline void thread_advance(Thread *t) { t->clock->own[0].tick.visible = ++t->clock->own[0].tick.known; }

/* *into |= what the thread knows; its later accesses are not part of it. *into is made if NULL. */
void thread_release(Thread *t, Clock **into);
/* The same; visible 0: its writes need not be visible to who takes it from there. */
void thread_release_to(Thread *t, Clock **into, int visible);
/* The thread learns what `released` knows. */
void thread_acquire(Thread *t, Clock *released);

#endif
