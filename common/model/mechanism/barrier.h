/* barrier.h - __syncthreads() and numbered barriers of a CTA, and the cluster's barrier. Kernels call model.h. */
#ifndef MODEL_BARRIER_H
#define MODEL_BARRIER_H

#include "../core/types.h"

enum { NAMED_BARRIERS = 16 };

/* Number 0 is __syncthreads() too. */
typedef struct NamedBarrier {
    int expected; /* of the generation in progress; 0: none in progress */
    int arrived;
    int generation;
    int uses_all; /* __syncthreads(): expects all threads that have not exited */
    Thread *waiters;
} NamedBarrier;

typedef struct ClusterBarrier {
    int arrived, generation;
    Thread *waiters;
} ClusterBarrier;

/* A thread's part. */
typedef struct ThreadBarriers {
    uint8_t cluster_arrived;
    int cluster_generation;         /* of its arrival */
    int named_seen[NAMED_BARRIERS]; /* 1 + the generation in which it arrived last */
} ThreadBarriers;

/* A warp's part. */
typedef struct WarpBarriers {
    struct {
        int seen;     /* 1 + the generation that the rest is about */
        int credited; /* lanes that have returned were counted */
        uint32_t arrived;
    } named[NAMED_BARRIERS];
} WarpBarriers;

/* A thread has ended; barriers that wait for all may complete. */
void barriers_thread_exit(Thread *t);

#endif
