/* cluster_fence - a copy reads what another CTA has stored here: the proxy fence stands in the CTA of the copy. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0), peer = cluster_cta_rank() ^ 1;
    cluster_sync();
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        cluster_store_u32(&s->box[i], peer, (uint32_t)p.in[at + i]);
    }
    INSTEAD(1, fence_proxy_async()); /* by the writers, in their own CTA: it does not count here */
    cluster_sync();
    if (threadIdx.x == 0) {
        LINE(1, fence_proxy_async()); /* the other CTA's stores come before this CTA's copy */
        bulk_store(&p.out[there], s->box, sizeof s->box);
        bulk_commit_group();
        bulk_wait_group_read(0);
    }
}
PATTERN(kernel, .cluster = 2, .shared_bytes = sizeof(Shared))
