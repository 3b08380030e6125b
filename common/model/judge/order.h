/* order.h - the judge of order: is an access ordered after the earlier accesses to the same bytes? For cells.c, which
 * remembers accesses, and for the judges of the instructions that make them. */
#ifndef ORDER_H
#define ORDER_H

#include "../core/memory.h"
#include "clock.h"

/* The epoch of an access. */
typedef struct {
    uint32_t serial, epoch;
    Component component;
} Epoch;

/* An access that is made, and what is to be remembered of it. */
typedef struct {
    Access access;
    /* The last one found to be in order, and the last one not known: neighbours mostly have the same. */
    Epoch passed, unknown;
    Thread *thread; /* who issues it, and whose knowledge counts */
    Warp *warp;     /* not NULL: what any lane of this warp knows counts (wgmma) */
    Space space;
    int beyond_base;      /* set if what lane 0 shares with others was not enough knowledge */
    Cta *cta;             /* whose shared memory it is */
    const Allocation *in; /* or which global memory */
    const char *what;     /* in reports */
    /* A load's: its barrier, where it begins in shared memory, and how many bytes it has. For reports. */
    const Barrier *barrier;
    uint32_t begin, bytes;
} Actor;

/* One that is over when this component says so. What a thread does itself is in program order. */
static inline Actor actor_async(Thread *t, AccessKind kind, Component component, uint32_t epoch, Site site) {
    const uint32_t serial = t->cta->cluster->serial;
    const Component issuer = thread_component(t);
    return (Actor){.thread = t,
                   .what = access_name[kind],
                   .passed = {serial, component == issuer ? epoch : 0, component},
                   .access = {.serial = serial,
                              .epoch = epoch,
                              .site = site,
                              .component = component,
                              .issuer = issuer,
                              .issued = thread_epoch(t),
                              .kind = (uint8_t)kind,
                              .flags = access_flags(kind),
                              .bytes = 3}};
}

/* An ordinary access of the thread, or one that is done when the instruction is (ldmatrix). */
static inline Actor actor_plain(Thread *t, AccessKind kind, Site site) {
    return actor_async(t, kind, thread_component(t), thread_epoch(t), site);
}

/* Does the thread know the access by what it shares with others? That is quick. */
static inline int actor_shares(const Actor *a, const Access *e, Aspect aspect) {
    const Clock *base = a->thread->clock->base;
    return e->serial == a->access.serial && base != NULL && e->component < base->count &&
           tick_value(&base->tick[e->component], aspect, a->space) >= e->epoch;
}
/* Does it at all? */
int actor_finds(Actor *a, const Access *e);
static inline int actor_knows(Actor *a, const Access *e) { return actor_shares(a, e, KNOWN) || actor_finds(a, e); }

/* Is the access, of `size` bytes from `at` in its space, ordered after `before`? If not, this is a finding, which
 * order_settle() reports, the one nearest to the cause first. Call order_settle() at the end of the instruction. */
void order_judge(Actor *a, const Access *before, uintptr_t at, uint32_t size);
static inline int is_after(const Access *e, const Epoch *epoch) {
    return e->component != epoch->component || e->epoch > epoch->epoch || e->serial != epoch->serial;
}
static inline void order_check(Actor *a, const Access *before, uintptr_t at, uint32_t size) {
    if (before->serial != 0 && ((before->flags | a->access.flags) & WRITES) && (before->bytes & a->access.bytes) &&
        is_after(before, &a->passed)) {
        if (a->space != SPACE_TENSOR && actor_shares(a, before, VISIBLE) &&
            (before->flags & ASYNC) >= (a->access.flags & ASYNC)) {
            a->passed = (Epoch){before->serial, before->epoch, before->component};
        } else {
            order_judge(a, before, at, size);
        }
    }
}
/* The access breaks another rule there. */
void order_find(const Actor *a, ModelRule rule, uintptr_t at, uint32_t size);
/* Has something been? */
int order_found(void);
void order_settle(void);
/* Clusters with serials up to this belong to launches that have ended, and do not count any more; those up to that one,
 * to a launch before that this one overlaps. */
typedef struct {
    uint32_t oldest, first;
} OrderRange;
extern OrderRange order_now;

/* A write to another device's memory, whose launch must have begun; an access before a launch that it overlaps ends. */
void order_check_launches(Actor *a, uintptr_t p);
/* A launch of the device that memory lies on has ended: does it know that this access of another
 * device is complete? Reports the access if not. */
int order_check_left(const Allocation *a, const Access *e, uintptr_t p);

#endif
