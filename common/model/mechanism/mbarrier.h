/* mbarrier.h - barriers in shared memory that count arrivals and bytes, with the exact state of the hardware's. What
 * kernels call is in model.h. */
#ifndef MODEL_MBARRIER_H
#define MODEL_MBARRIER_H

#include "../core/types.h"
#include "group.h"

enum { BARRIER_BYTES = 8, TX_LIMIT = (1 << 20) - 1, ARRIVAL_LIMIT = (1 << 20) - 1 };

struct Barrier {
    Cta *cta;
    uint32_t offset;  /* in the CTA's shared memory */
    char array[32];   /* "full" of full[2] */
    int index;        /* 2; -1: it stands alone */
    int array_number; /* of the mbarrier_init() that made it, and its neighbours */
    int expected, pending;
    long long tx;
    unsigned long long phase;
    unsigned long long announced,
        brought; /* bytes of this phase; tx is their difference, and what earlier phases left of it */
    Thread *waiters;
    /* By thread of the CTA: 2 * the last complete phase that it asked about, 1 more if it is told late; NULL: none. */
    uint64_t *late;
    struct BarrierFacts *facts; /* judge/phases.c */
    struct BarrierSteps *steps; /* tell/steps.c */
};

/* Of a CTA. */
typedef struct CtaBarriers {
    Barrier **list;
    int count, capacity;
    int arrays;      /* calls of mbarrier_init() */
    uint16_t *at;    /* by offset / 8: 1 + index; 0: none */
    Thread *waiting; /* for one to be initialised */
} CtaBarriers;

/* What happens to a barrier, with an amount. */
typedef enum {
    MBARRIER_ARRIVE,        /* 1 */
    MBARRIER_ARRIVE_REMOTE, /* from this CTA */
    MBARRIER_EXPECT,        /* bytes */
    MBARRIER_ARRIVE_EXPECT, /* bytes */
    MBARRIER_WAIT,          /* parity */
    MBARRIER_ASKED_NO,      /* parity */
    MBARRIER_ASKED_YES,     /* parity */
} MbarrierChange;

/* For this file and those of copies: the barrier at the same place in CTA `rank` of the cluster as `bar` in the
 * thread's own. Waits if it has not been initialised. by_engine: the copy engine is to use it, not the thread. */
Barrier *mbarrier_reach(Thread *t, int rank, const void *bar, Site site, const char *what, int by_engine);
/* copy.c, tmem.c: the barrier is to get an arrival when the thread's copies of these groups so far are done. They are
 * done. */
void mbarrier_await_copies(Thread *t, Barrier *b, GroupKind group, Site site);
void mbarrier_copies_arrive(Thread *t, Barrier *b, GroupKind group);
/* Bytes of a copy have landed at p; `what` names the copy. */
void mbarrier_land(Barrier *b, uint32_t bytes, const char *what, const void *p);

#endif
