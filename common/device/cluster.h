/* cluster.h - CTAs that run together on neighbouring SMs and reach each other's shared memory. sm_90. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "cuda_c.h"

/* cluster_cta_rank(): this CTA's number in its cluster, 0-based; 0 in a launch without clusters.
 *
 * cluster_arrive_relaxed(), cluster_wait(): barrier of all threads of the cluster, in two halves. The arrive is relaxed:
 * it publishes no ordinary stores; barrier initialisation is published by mbarrier_init_fence() before it. PTX 9.7.13.3.
 *
 * cluster_sync(): both halves, with release and acquire. */
#ifdef GEMM_MODEL

#define cluster_cta_rank() model_cluster_cta_rank()
#define cluster_arrive_relaxed() model_cluster_arrive(0, HERE)
#define cluster_wait() model_cluster_wait(HERE)
#define cluster_sync() (model_cluster_arrive(1, HERE), model_cluster_wait(HERE))

#elif defined(__CUDACC__)

DEVICE int cluster_cta_rank(void) {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}
DEVICE void cluster_arrive_relaxed(void) { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
DEVICE void cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
DEVICE void cluster_sync(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    cluster_wait();
}

#endif
#endif
