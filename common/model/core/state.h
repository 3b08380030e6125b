/* state.h - the modelled device: clusters, CTAs, warpgroups, warps, threads, and what each mechanism keeps in them.
 *
 * One OS thread runs everything. A CUDA thread is a fiber; a warp is what the scheduler picks; asynchronous work is an
 * agent that the scheduler steps. What a mechanism keeps about a CTA or a thread is a struct of its header; what a file
 * of judge/ or tell/ keeps is a struct of that file. Here is a pointer to each. Only judges and tellers dereference a
 * mechanism's pointer, and only its own file dereferences a judge's or teller's. Nothing of this is visible to kernels
 * (model.h) or the harness (model_host.h). */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include "../model_host.h"
#include "fiber.h"
#include "types.h"

typedef enum { THREAD_READY, THREAD_BLOCKED, THREAD_EXITED } ThreadState;

/* A thread's questions that found nothing new, to tell a loop that waits from other questions: schedule.c. */
enum { POLLS_KEPT = 32 };
typedef struct {
    uintptr_t kept;      /* FIBER_KEPT() of the question in progress */
    const void *address; /* of the last one */
    uint64_t version;    /* what it found */
    uint64_t state;      /* what the thread kept */
    const void *asked[POLLS_KEPT];
    int next;               /* in asked[] */
    int again;              /* failed tests since it last waited */
    int in_turn;            /* it waits for a change at any of them, not only at `address` */
    int changed;            /* so often the same question found the same, and the thread had kept something else */
    int counts;             /* ... until the patience of the model was at its end */
    int loops;              /* the last questions were a loop that keeps nothing */
    const void *stalled_at; /* it waits until another thread touches this word, */
    int until_change;       /* ... and changes it */
} ThreadPolls;

struct Thread {
    Fiber fiber;
    Cta *cta;
    Warp *warp;
    int id; /* in the CTA */
    int lane;
    ThreadState state;
    Wait wait;
    Thread *next_waiter;
    uintptr_t parameters; /* judge/transfers.c: where on its stack the kernel's are; 0: not known yet */
    struct {
        uintptr_t begin, bytes;
    } watched;                       /* part of its stack: wgmma's accumulators and fragments */
    struct ThreadCopies *copies;     /* mechanism/copy.c */
    struct ThreadGroups *groups;     /* mechanism/group.h; [GROUP_KINDS] */
    struct ThreadBarriers *barriers; /* mechanism/barrier.h */
    struct ThreadClock *clock;       /* judge/clock.c */
    struct ThreadSteps *steps;       /* tell/steps.c; NULL: nobody measures */
    Site asked_in_vain;              /* tell/depends.c: a barrier has said no there, last; 0: it has not */
    const Barrier *asked_barrier;
    uint64_t asked_kept; /* what the thread kept then: poll_kept() */
    ThreadPolls poll;    /* seldom used, and large */
};

struct Warp {
    Cta *cta;
    Warpgroup *warpgroup;
    int id; /* in the CTA */
    int lanes;
    Thread *thread; /* [lanes] */
    /* Masks of lanes. */
    uint32_t all, exited, ready, in_sync; /* in_sync: they wait at __syncthreads() */
    /* The scheduler's. */
    int queued; /* index in its list of ready warps, -1: not there */
    int priority;
    int first_lane; /* random policies start a turn at a random lane */

    struct WarpCollective *collective; /* mechanism/warp.h */
    struct WarpBarriers *barriers;     /* mechanism/barrier.h */
    struct WarpProducts *products;     /* mechanism/wgmma.h */
    Agent copies;                      /* cp.async of all lanes */
    int registers;                     /* a thread, setmaxnreg */
};

struct Warpgroup {
    Cta *cta;
    int id;
    struct WarpgroupProducts *products; /* mechanism/wgmma.h */
    struct RegisterChange *registers;   /* mechanism/registers.h */
};

struct Cta {
    Cluster *cluster;
    int slot; /* its place among the running ones; each device has its own */
    int block, rank;
    int threads, warps, warpgroups;
    int live, exited; /* threads */
    Thread *thread;
    Warp *warp;
    Warpgroup *warpgroup;
    uint8_t *shared;
    uint32_t shared_bytes;
    struct Block *memory; /* memory.h: what lives as long as the CTA */

    struct CtaBarriers *mbarriers;      /* mechanism/mbarrier.h */
    struct NamedBarrier *named;         /* mechanism/barrier.h; [NAMED_BARRIERS] */
    struct RegisterPool *registers;     /* mechanism/registers.h */
    struct CtaTmem *tmem;               /* mechanism/tmem.h */
    struct CtaClock *clock;             /* judge/clock.c */
    struct CtaRoles *roles;             /* judge/bug_report.c */
    struct Cells *cells;                /* judge/cells.c */
    struct CtaFragments *fragments;     /* judge/provenance.c */
    struct CtaResults *results;         /* judge/results.c */
    struct CtaPhases *phases;           /* judge/phases.c */
    struct CtaConvergence *convergence; /* judge/convergence.c */
    struct CtaProducts *products;       /* judge/products.c */
    struct CtaTransfers *transfers;     /* judge/transfers.c */
    struct TmemFacts *tmem_facts;       /* judge/tmem.c */
    struct Cells *tensor;               /* judge/cells.c; NULL: no tensor memory has been accessed */
    struct CtaCount *count;             /* tell/count.c; NULL: nothing has been counted */
    struct CtaSteps *steps;             /* tell/steps.c; NULL: nobody measures */
};

struct Cluster {
    int first_block, size;
    int live; /* threads */
    Cta *cta[CLUSTER_LIMIT];
    struct Launch *launch;
    uint32_t serial;                /* different in every cluster of every launch */
    struct ClusterBarrier *barrier; /* mechanism/barrier.h */
    struct ClusterClock *clock;     /* judge/clock.c */
};

/* What stays known of a launch: the next one in its stream may overlap it. */
typedef struct {
    uint32_t first, last; /* its clusters have the serials from first + 1 to last */
    int block, cluster_size, first_block;
    int device;
    const void *stream;
    int dependents; /* it has let the next one begin: grid_dependency_launch() */
} LaunchFacts;

typedef struct Launch {
    void (*entry)(const void *);
    void *params; /* a copy, if the launch is held */
    size_t params_bytes;
    const char *name;
    int grid, block, cluster_size, shared_bytes, ctas_per_sm;
    int overlap; /* it may begin before the previous launch of its stream has ended */
    LaunchFacts facts;
    LaunchFacts before; /* the previous launch of its stream; last 0: there was none */
    int follows;        /* index of that one, if it is one of the set; -1: it is not */
    int next_block, end_block;
    int first_cluster,
        turn; /* of those that fit side by side, which begins first; then the next ones (1), or those before (-1) */
    int first_cta; /* in the set, for those who number all of its CTAs */
    int running;   /* clusters of it */
    /* How the kernel names its shared memory; NULL: not yet. */
    const char *shared_type, *shared_variable, *shared_file;
    struct World *known; /* judge/world.c: what its threads knew that have ended */
} Launch;

typedef struct {
    ModelOptions options;
    int running;             /* a launch is in progress */
    Thread *current;         /* whose code runs; NULL: the host's */
    uint64_t random;         /* state of the generator */
    unsigned long long step; /* scheduling steps */
    unsigned long long
        work; /* loads, stores, copies and products, of any kind, and threads that have begun or returned */
    void (*interrupt)(Thread *t); /* what a thread calls where it could stop; NULL: it goes on. fault.c */
    /* The order in which threads go on, by the smaller number, where somebody wants one; NULL: the policy's. */
    uint64_t (*order)(const Thread *t);
    /* Does nothing tell this thread that the barrier's last phase is complete; if others: though another lane of its
     * warp has seen it? phases.c. */
    int (*is_unaware)(const Thread *t, const Barrier *b, int others);

    /* The set in progress: one launch, or those that the host has held to run side by side, in its order. */
    Launch *launch;
    int launched;
    int devices;           /* that have launches in it, up to the last one */
    int sms;               /* of each */
    uint32_t sets, serial; /* sets so far, and clusters of all of them */
    int using_device;      /* the host's allocations and launches belong to it */
    int asked;             /* launches since model_configure(), also those that do not take place */
    Cluster **cluster;     /* running */
    int clusters;

    uint8_t *shared_base; /* of all CTAs */
    size_t shared_span;
    struct { /* the program: place/line.c */
        uintptr_t base;
        uintptr_t code_begin, code_end; /* relative to base */
    } image;
} Device;

extern Device device;

static inline Thread *current_thread(void) { return device.current; }

static inline Launch *launch_of(const Cta *cta) { return cta->cluster->launch; }
static inline int device_of(const Thread *t) { return t->cta->cluster->launch->facts.device; }

/* The CTAs of an instruction with a cta_group: the thread's own, or a pair's even one, 0, and odd one; NULL: none. */
static inline Cta *pair_cta(const Thread *t, int pair, int i) {
    const int rank = pair ? (t->cta->rank & ~1) + i : t->cta->rank;
    return rank < t->cta->cluster->size ? t->cta->cluster->cta[rank] : NULL;
}

/* The place of a "file:line" literal, and of an instruction. */
static inline Site site_of(const void *p) { return (Site)((uintptr_t)p - device.image.base); }

static inline uint64_t random_next(void) {
    uint64_t x = device.random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static inline uint32_t random_below(uint32_t n) { return (uint32_t)((random_next() >> 32) * n >> 32); }

/* Stacks lie a multiple of 4096 bytes apart: without a shift, the same variable of all 32 lanes would compete for the
 * same few lines of the L1 cache. The shift of a thread's, in bytes. */
static inline size_t stack_shift(int thread) { return (size_t)(thread * 7 % 32) * 128; }

/* Offset of p from the start of the CTA's shared memory, if p is in it. */
static inline uint32_t shared_offset(const Cta *cta, const void *p) {
    return (uint32_t)((const uint8_t *)p - cta->shared);
}

#endif
