/* st_async - stores into another CTA that complete as bytes at an mbarrier there, as a copy's do. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
    MBarrier full;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0), peer = cluster_cta_rank() ^ 1;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&s->full, sizeof s->box);
    }
    LINE(1, cluster_sync()); /* the stores wait for the other CTA's barrier */
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        st_async_u32(&s->box[i], peer, (uint32_t)p.in[at + i], &s->full);
    }
    LINE(2, mbarrier_wait_parity_cluster(&s->full, 0)); /* the loads wait for the bytes */
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.out[there + i] = s->box[i];
    }
}
PATTERN(kernel, .cluster = 2, .shared_bytes = sizeof(Shared))
