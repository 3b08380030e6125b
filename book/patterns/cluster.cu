/* cluster - a CTA stores into the shared memory of another one of its cluster. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0), peer = cluster_cta_rank() ^ 1;
    LINE(1, cluster_sync()); /* the first store waits until the other CTA has started */
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        cluster_store_u32(&s->box[i], peer, (uint32_t)p.in[at + i]);
    }
    LINE(2, cluster_sync()); /* the loads wait for the other CTA's stores */
    INSTEAD(2, cluster_arrive_relaxed(); cluster_wait());
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.out[there + i] = s->box[i];
    }
}
PATTERN(kernel, .cluster = 2, .shared_bytes = sizeof(Shared))
