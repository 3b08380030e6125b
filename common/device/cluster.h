/* cluster.h - CTAs that run together on neighbouring SMs and reach each other's shared memory. sm_90.
 *
 * Distributed shared memory: `p` is an address in this CTA; the functions access the same offset in CTA `rank` of the
 * cluster (mapa, PTX 9.7.9.23). `p` is a multiple of the size. Any thread. That CTA must have started and must not end
 * before the access is complete: call cluster_sync() before the first access and after the last, or let that CTA wait
 * for the last. Between accesses of different CTAs to the same bytes there must be a cluster_sync(), or
 * mbarrier_arrive_release_cluster() and mbarrier_wait_parity_cluster(). */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* This CTA's number in its cluster, 0-based; 0 in a launch without clusters. */
DEVICE int cluster_cta_rank(void) {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}

/* First half of a barrier of all threads of the cluster. Relaxed: it publishes no stores, and only those initialised
 * mbarriers that mbarrier_init_fence() has released. PTX 9.7.13.3. */
DEVICE void cluster_arrive_relaxed(void) { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }

/* Second half of a barrier of the cluster: waits until all threads of the cluster have arrived. */
DEVICE void cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* Both halves, with release and acquire: what any thread of the cluster has written before, all threads may read
 * afterwards. */
DEVICE void cluster_sync(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    cluster_wait();
}

/* The offset of p in CTA `rank`, as an address in the window of the cluster's shared memory. */
DEVICE uint32_t cluster_address(const void *p, int rank) {
    uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
    return address;
}

#define CLUSTER_LOAD(type, ptx, constraint)             \
    type value;                                         \
    asm volatile("ld.shared::cluster." ptx " %0, [%1];" \
                 : "=" constraint(value)                \
                 : "r"(cluster_address(p, rank))        \
                 : "memory");                           \
    return value

/* The 4 bytes at p's offset in CTA `rank`. PTX 9.7.9.8 (ld.shared::cluster). */
DEVICE uint32_t cluster_load_u32(const void *p, int rank) { CLUSTER_LOAD(uint32_t, "u32", "r"); }
/* The float at p's offset in CTA `rank`. */
DEVICE float cluster_load_f32(const void *p, int rank) { CLUSTER_LOAD(float, "f32", "f"); }

/* An ordinary store of 4 bytes to p's offset in CTA `rank`. PTX 9.7.9.11 (st.shared::cluster). */
DEVICE void cluster_store_u32(void *p, int rank, uint32_t value) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(cluster_address(p, rank)), "r"(value) : "memory");
}
/* An ordinary store of 16 bytes to p's offset in CTA `rank`. */
DEVICE void cluster_store_v4(void *p, int rank, uint4 v) {
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(cluster_address(p, rank)), "r"(v.x),
                 "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/* Starts a store of 4 bytes. Its bytes complete on the barrier at the offset of `bar` in the same CTA `rank`. The
 * threads of that CTA may read them after mbarrier_wait_parity_cluster(); no other thread can know when the store is
 * complete. PTX 9.7.9.12 (st.async). */
DEVICE void st_async_u32(void *p, int rank, uint32_t value, void *bar) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(cluster_address(p, rank)),
        "r"(value), "r"(cluster_address(bar, rank))
        : "memory");
}
/* st_async_u32() of 16 bytes. */
DEVICE void st_async_v4(void *p, int rank, uint4 v, void *bar) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     cluster_address(p, rank)),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(cluster_address(bar, rank))
                 : "memory");
}

#elif defined(GEMM_MODEL)

#define cluster_cta_rank() model_cluster_cta_rank()
#define cluster_arrive_relaxed() model_cluster_arrive(0, HERE)
#define cluster_wait() model_cluster_wait(HERE)
#define cluster_sync() (model_cluster_arrive(1, HERE), model_cluster_wait(HERE))
#define cluster_load_u32(p, rank) model_cluster_load_u32(p, rank, HERE)
#define cluster_load_f32(p, rank) model_cluster_load_f32(p, rank, HERE)
#define cluster_store_u32(p, rank, value) model_cluster_store_u32(p, rank, value, HERE)
#define cluster_store_v4(p, rank, value) model_cluster_store_v4(p, rank, value, HERE)
#define st_async_u32(p, rank, value, bar) model_st_async_u32(p, rank, value, bar, HERE)
#define st_async_v4(p, rank, value, bar) model_st_async_v4(p, rank, value, bar, HERE)

#endif
#endif
