/* clock.c - vector clocks that threads share.
 *
 * After a barrier all its threads know the same, up to their own later accesses. So a thread's clock is a pointer to a
 * shared, immutable clock and a few values of its own, and joining the same two clocks for 128 threads is done once: a
 * table remembers the last joins. */
#include "clock.h"

#include <stdlib.h>
#include <string.h>

enum { MEMO = 256 };

/* Components: a thread and its groups; a CTA's barriers, numbered ones too, warpgroups, and mbarrier_init_fence(). */
enum {
    THREAD_COMPONENTS = 1 + GROUP_KINDS,
    CTA_COMPONENTS = SHARED_LIMIT / 256 + 16 + NAMED_BARRIERS,
    MOST_COMPONENTS = CLUSTER_LIMIT * (THREAD_COMPONENTS * THREAD_LIMIT + CTA_COMPONENTS),
};
_Static_assert(MOST_COMPONENTS <= UINT16_MAX, "there are more kinds of groups than a Component can number");

static struct {
    int capacity;
    struct {
        Clock *base, *released, *result;
        unsigned spaces; /* released NULL: the result of a fence for these */
    } memo[MEMO];
} pool;

/* Threads that arrive one after the other mostly share their base: it is joined once. The base is held, so that no
 * other clock can get its address. */
static struct {
    Clock *into;
    Clock *base;
} last_release;

Clock *clock_new(void) {
    Clock *clock = model_alloc(sizeof *clock + (size_t)pool.capacity * sizeof clock->tick[0]);
    *clock = (Clock){.refs = 1};
    if (last_release.into == clock) {
        last_release.into = NULL;
    }
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
        if (clock->world != NULL) {
            world_unref(clock->world);
        }
        free(clock);
    }
}

void clock_hold(Clock **to, Clock *clock) {
    clock_ref(clock);
    clock_unref(*to);
    *to = clock;
}

static void remember(unsigned i, Clock *base, Clock *released, Clock *result) {
    clock_hold(&pool.memo[i].base, base);
    clock_hold(&pool.memo[i].released, released);
    clock_hold(&pool.memo[i].result, result);
}

ON(clock, LAUNCH_END) {
    for (int i = 0; i < MEMO; i++) {
        remember((unsigned)i, NULL, NULL, NULL);
    }
    clock_hold(&last_release.base, NULL);
    last_release.into = NULL;
    pool.capacity = 0;
}

static void grow(Clock *clock, int count) {
    if (count > clock->count) {
        memset(&clock->tick[clock->count], 0, (size_t)(count - clock->count) * sizeof clock->tick[0]);
        clock->count = count;
    }
}

static inline uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

void clock_raise_tick(Clock *clock, Component component, const Tick *by) {
    grow(clock, component + 1);
    Tick *tick = &clock->tick[component];
    tick->known = larger(tick->known, by->known);
    tick->visible = larger(tick->visible, by->visible);
    for (int space = 0; space < FENCED_SPACES; space++) {
        tick->fenced[space] = larger(tick->fenced[space], by->fenced[space]);
    }
}

void clock_raise(Clock *clock, Component component, uint32_t known, uint32_t fenced) {
    clock_raise_tick(clock, component, &(Tick){known, known, {fenced, fenced}});
}

void clock_join(Clock *into, const Clock *from) {
    if (from == NULL || from == into) {
        return;
    }
    grow(into, from->count);
    into->waited |= from->waited;
    if (from->world != NULL) {
        world_join(&into->world, from->world);
    }
    uint32_t *restrict x = &into->tick[0].known;
    const uint32_t *restrict y = &from->tick[0].known;
    for (int i = 0; i < (int)(sizeof(Tick) / sizeof *x) * from->count; i++) {
        x[i] = x[i] > y[i] ? x[i] : y[i];
    }
}

void clock_add(Clock **into, const Clock *from) {
    *into = *into != NULL ? *into : clock_new();
    clock_join(*into, from);
}

/* ---- of several clusters ----------------------------------------------------------------------------------------- */

World *world_new(int count) {
    World *world = model_alloc_zero(sizeof *world + (size_t)count * sizeof world->part[0]);
    world->refs = 1;
    return world;
}

World *world_ref(World *world) {
    if (world != NULL) {
        world->refs++;
    }
    return world;
}

void world_unref(World *world) {
    if (world != NULL && --world->refs == 0) {
        for (int i = 0; i < world->count; i++) {
            clock_unref(world->part[i].known);
        }
        free(world);
    }
}

static int covers(const Clock *a, const Clock *b) {
    if (a == b) {
        return 1;
    }
    if (a->count < b->count) {
        return 0;
    }
    const uint32_t *x = &a->tick[0].known, *y = &b->tick[0].known;
    for (int i = 0; i < (int)(sizeof(Tick) / sizeof *x) * b->count; i++) {
        if (x[i] < y[i]) {
            return 0;
        }
    }
    return 1;
}

/* Both in one, which may be one of them. */
static Clock *joined(Clock *a, Clock *b) {
    if (covers(a, b)) {
        return clock_ref(a);
    }
    if (covers(b, a)) {
        return clock_ref(b);
    }
    Clock *clock = clock_new();
    clock_join(clock, a);
    clock_join(clock, b);
    return clock;
}

void world_join(World **into, World *from) {
    World *a = *into, *b = from;
    if (a == NULL || b == NULL || a == b) {
        *into = a != NULL ? a : world_ref(b);
        return;
    }
    World *world = world_new(a->count + b->count);
    world->waited = a->waited | b->waited;
    int is_a = world->waited == a->waited, is_b = world->waited == b->waited; /* nothing comes from the other */
    for (int i = 0, k = 0; i < a->count || k < b->count;) {
        const WorldPart *x = i < a->count ? &a->part[i] : NULL, *y = k < b->count ? &b->part[k] : NULL;
        int in_a = x != NULL && (y == NULL || x->serial <= y->serial);
        int in_b = y != NULL && (x == NULL || y->serial <= x->serial);
        Clock *known = in_a && in_b ? joined(x->known, y->known) : clock_ref((in_a ? x : y)->known);
        world->part[world->count++] = (WorldPart){(in_a ? x : y)->serial, known};
        is_a &= in_a && known == x->known;
        is_b &= in_b && known == y->known;
        i += in_a;
        k += in_b;
    }
    *into = world_ref(is_a ? a : is_b ? b : world);
    world_unref(world);
    world_unref(a);
}

/* ---- components -------------------------------------------------------------------------------------------------- */

Component component_new(Cluster *cluster, ComponentOwner owner) {
    ClusterClock *clock = cluster->clock;
    if (clock->count == clock->capacity) {
        model_give_up(
            "a CTA has too many barriers, or kinds of work that threads wait for: its clocks have %d components",
            clock->capacity);
    }
    clock->owner[clock->count] = owner;
    return (Component)clock->count++;
}

/* The index in clock->own[] of a component of the thread's own. */
static int own_index(Thread *t, Component component) {
    ThreadClock *clock = t->clock;
    for (int i = 0; i < clock->own_count; i++) {
        if (clock->own[i].component == component) {
            return i;
        }
    }
    clock->own[clock->own_count] = (PrivateTick){component, clock_tick(clock->base, component)};
    return clock->own_count++;
}

Component group_component(Thread *t, GroupKind kind) {
    int *index = &t->clock->group[kind];
    if (*index == 0) {
        *index = own_index(t, component_new(t->cta->cluster, (ComponentOwner){.thread = t}));
    }
    return t->clock->own[*index].component;
}

GroupKind component_group(const Thread *t, Component component) {
    const ThreadClock *clock = t->clock;
    int kind = 0;
    while (kind < GROUP_KINDS && (clock->group[kind] == 0 || clock->own[clock->group[kind]].component != component)) {
        kind++;
    }
    return (GroupKind)kind;
}

Component products_component(Warpgroup *g) {
    int *component = &g->cta->clock->warpgroup[g->id];
    if (*component < 0) {
        *component = component_new(g->cta->cluster, (ComponentOwner){.warpgroup = g});
    }
    return (Component)*component;
}

Tick thread_newest(const Thread *t, Component component) {
    Tick newest = clock_tick(t->clock->base, component);
    for (int i = 0; i < t->clock->own_count; i++) {
        const PrivateTick *own = &t->clock->own[i];
        if (own->component == component && own->tick.known > newest.known) {
            newest = own->tick;
        }
    }
    return newest;
}

/* ---- launch, clusters, CTAs -------------------------------------------------------------------------------------- */

static int component_limit(const Launch *l) {
    return l->cluster_size * (THREAD_COMPONENTS * l->block + CTA_COMPONENTS);
}

ON(clock, LAUNCH_BEGIN) {
    on_LAUNCH_END(e);
    for (int i = 0; i < device.launched; i++) {
        int limit = component_limit(&device.launch[i]);
        pool.capacity = limit > pool.capacity ? limit : pool.capacity;
    }
}

ON(clock, CLUSTER_BEGIN) {
    Cluster *cluster = e->cluster;
    int capacity = component_limit(cluster->launch);
    cluster->clock = model_alloc_zero(sizeof *cluster->clock + (size_t)capacity * sizeof cluster->clock->owner[0]);
    cluster->clock->capacity = capacity;
}

ON(clock, CLUSTER_END) {
    Cluster *cluster = e->cluster;
    clock_unref(cluster->clock->arriving);
    clock_unref(cluster->clock->released);
    free(cluster->clock);
}

ON(clock, CTA_BEGIN) {
    cta->clock = cta_alloc(cta, sizeof *cta->clock);
    memset(cta->clock->warpgroup, 0xff, sizeof cta->clock->warpgroup);
    CTA_GIVE(cta, cta->thread, cta->threads, clock);
    for (int i = 0; i < cta->threads; i++) {
        Thread *t = &cta->thread[i];
        own_index(t, component_new(cta->cluster, (ComponentOwner){.thread = t}));
        thread_advance(t);
    }
}

ON(clock, CTA_END) {
    for (int i = 0; i < cta->threads; i++) {
        clock_unref(cta->thread[i].clock->base);
        clock_unref(cta->thread[i].clock->tensor);
    }
    clock_unref(cta->clock->exit);
    clock_unref(cta->clock->fenced);
}

ON(clock, THREAD_RETURNED) { thread_release(t, &t->cta->clock->exit); }

/* ---- what moves knowledge ---------------------------------------------------------------------------------------- */

void thread_release(Thread *t, Clock **into) {
    clock_add(into, NULL);
    if (last_release.into != *into || last_release.base != t->clock->base) {
        clock_join(*into, t->clock->base);
        last_release.into = *into;
        clock_hold(&last_release.base, t->clock->base);
    }
    for (int i = 0; i < t->clock->own_count; i++) {
        const PrivateTick *own = &t->clock->own[i];
        clock_raise_tick(*into, own->component, &own->tick);
    }
    (*into)->waited |= t->clock->waited;
    thread_advance(t);
}

void thread_release_to(Thread *t, Clock **into, int visible) {
    if (visible) {
        thread_release(t, into);
        return;
    }
    Clock *all = NULL;
    thread_release(t, &all);
    clock_add(into, NULL);
    for (int c = 0; c < all->count; c++) {
        all->tick[c].visible = 0;
        clock_raise_tick(*into, (Component)c, &all->tick[c]);
    }
    clock_unref(all);
}

static unsigned memo_index(const Clock *base, const Clock *released) {
    uint64_t h = (uint64_t)(uintptr_t)base * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)released * 0xc2b2ae3d27d4eb4fu;
    return (unsigned)(h >> 40) % MEMO;
}

void thread_acquire(Thread *t, Clock *released) {
    Clock *base = t->clock->base;
    if (released == NULL || released == base) {
        return;
    }
    if (base == NULL) {
        clock_hold(&t->clock->base, released);
        return;
    }
    const unsigned i = memo_index(base, released);
    if (pool.memo[i].base == base && pool.memo[i].released == released) {
        clock_hold(&t->clock->base, pool.memo[i].result);
        return;
    }
    Clock *result = clock_new();
    clock_join(result, released);
    clock_join(result, base);
    if (result->count == released->count && result->waited == released->waited && result->world == released->world &&
        memcmp(result->tick, released->tick, (size_t)result->count * sizeof result->tick[0]) == 0) {
        /* Nothing new on this side: share, so that roles that have synchronised have one clock again. */
        clock_unref(result);
        result = clock_ref(released);
    }
    remember(i, base, released, result);
    clock_hold(&t->clock->base, result);
    clock_unref(result);
}

ON(clock, SYNCWARP) {
    Clock *together = NULL;
    for (uint32_t lanes = w->collective->now.arrived; lanes != 0; lanes &= lanes - 1) {
        thread_release(&w->thread[__builtin_ctz(lanes)], &together);
    }
    for (uint32_t lanes = w->collective->now.arrived; lanes != 0; lanes &= lanes - 1) {
        clock_hold(&w->thread[__builtin_ctz(lanes)].clock->base, together);
    }
    clock_unref(together);
}

void clock_barrier_complete(Clock **arriving, Thread *waiters) {
    /* All took part in the barrier, so it knows everything that each of them knows. */
    for (Thread *t = waiters; t != NULL; t = t->next_waiter) {
        clock_hold(&t->clock->base, *arriving);
    }
    clock_unref(*arriving);
    *arriving = NULL;
}

ON(clock, CLUSTER_ARRIVE) {
    Cluster *cluster = t->cta->cluster;
    Clock **arriving = &cluster->clock->arriving;
    if (e->release) {
        thread_release(t, arriving);
        return;
    }
    /* A relaxed arrival says nothing of ordinary accesses. */
    for (int rank = 0; rank < cluster->size; rank++) {
        const CtaClock *clock = cluster->cta[rank]->clock;
        if (clock->fences > 0) {
            Tick tick = thread_newest(t, clock->fence);
            clock_add(arriving, NULL);
            clock_raise_tick(*arriving, clock->fence, &tick);
        }
    }
}

ON(clock, CLUSTER_COMPLETE) {
    Cluster *cluster = e->cluster;
    Clock **arriving = &cluster->clock->arriving;
    if (cluster->size > 1) {
        if (cluster->clock->started == 0) {
            cluster->clock->started = component_new(cluster, (ComponentOwner){.thread = NULL});
        }
        clock_add(arriving, NULL);
        clock_raise(*arriving, cluster->clock->started, 1, 1);
    }
    clock_unref(cluster->clock->released);
    cluster->clock->released = cluster->clock->arriving;
    cluster->clock->arriving = NULL;
}

int cluster_started(const Thread *t, const Cta *cta) {
    Component started = cta->cluster->clock->started;
    int known = cta == t->cta || (started != 0 && thread_knows(t, started, 1));
    for (int i = 0; i < cta->threads && !known; i++) {
        known = thread_knows(t, thread_component(&cta->thread[i]), 1);
    }
    return known;
}

ON(clock, CLUSTER_PASSED) { thread_acquire(t, t->cta->cluster->clock->released); }

static void raise_own(Thread *t, int index, uint32_t known) {
    Tick *tick = &t->clock->own[index].tick;
    if (index != 0 && known > tick->known) {
        tick->known = tick->visible = known;
    }
}

static void wait_for(Thread *t, GroupKind kind, uint64_t done) { raise_own(t, t->clock->group[kind], (uint32_t)done); }
ON(clock, GROUP_WAIT) { wait_for(t, e->group, e->done); }
ON(clock, BULK_WAIT) {
    wait_for(t, GROUP_READS, e->done);
    if (!e->read) {
        wait_for(t, GROUP_WRITES, e->done);
    }
}

/* A wait makes loads and stores of tensor memory known to its thread; a fence after it, before the thread releases,
 * makes them count for the threads that acquire. */
ON(clock, TMEM_WAIT) {
    for (int lane = 0; lane < w->lanes; lane++) {
        Thread *t = &w->thread[lane];
        const int index = t->clock->group[e->group];
        if (index != 0) {
            t->clock->own[index].tick.known = t->groups[e->group].committed;
        }
    }
}

ON(clock, TMEM_FENCE) {
    ThreadClock *clock = t->clock;
    if (e->after_sync) {
        clock_hold(&clock->tensor, clock->base);
    }
    for (GroupKind kind = GROUP_TMEM_LOADS; !e->after_sync && kind <= GROUP_TMEM_STORES; kind++) {
        Tick *tick = &clock->own[clock->group[kind]].tick; /* 0 is the thread's own: visible anyway */
        tick->visible = tick->known;
    }
}

ON(clock, WGMMA_WAITED) {
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        Thread *t = &w->thread[lane];
        raise_own(t, own_index(t, products_component(w->warpgroup)), (uint32_t)e->done);
    }
}

ON(clock, MBARRIER_INIT_FENCE) {
    CtaClock *clock = t->cta->clock;
    if (clock->fences++ == 0) {
        clock->fence = component_new(t->cta->cluster, (ComponentOwner){.thread = t});
    }
    raise_own(t, own_index(t, clock->fence), clock->fences);
}

ON(clock, GRID_WAIT) { t->clock->waited |= 1 << device_of(t); }

static void cover_tick(Tick *tick, unsigned spaces) {
    for (int space = 0; space < FENCED_SPACES; space++) {
        tick->fenced[space] = spaces >> space & 1 ? tick->known : tick->fenced[space];
    }
}

static void cover(Clock *clock, unsigned spaces) {
    for (int c = 0; c < clock->count; c++) {
        cover_tick(&clock->tick[c], spaces);
    }
}

/* What it says of other clusters is about global memory. */
static World *covered(const World *world) {
    World *result = world_new(world->count);
    result->waited = world->waited;
    for (; result->count < world->count; result->count++) {
        Clock *part = clock_new();
        clock_join(part, world->part[result->count].known);
        cover(part, 1u << SPACE_GLOBAL);
        result->part[result->count] = (WorldPart){world->part[result->count].serial, part};
    }
    return result;
}

ON(clock, FENCE_PROXY) {
    const unsigned spaces = e->spaces;
    Clock *base = t->clock->base;
    if ((spaces >> SPACE_SHARED & 1) && t->cta->cluster->size > 1 && base != NULL) {
        clock_add(&t->cta->clock->fenced, base);
    }
    if (base != NULL) {
        unsigned i = memo_index(base, NULL);
        if (pool.memo[i].base != base || pool.memo[i].released != NULL || pool.memo[i].spaces != spaces) {
            Clock *result = clock_new();
            clock_join(result, base);
            cover(result, spaces);
            if (result->world != NULL && spaces >> SPACE_GLOBAL & 1) {
                World *world = covered(result->world);
                world_unref(result->world);
                result->world = world;
            }
            remember(i, base, NULL, result);
            pool.memo[i].spaces = spaces;
            clock_unref(result);
        }
        clock_hold(&t->clock->base, pool.memo[i].result);
    }
    for (int i = 0; i < t->clock->own_count; i++) {
        cover_tick(&t->clock->own[i].tick, spaces);
    }
    /* Accesses after the fence are not covered by it. */
    thread_advance(t);
}
