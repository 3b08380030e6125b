/* scope - data for another CTA of the cluster, by an mbarrier there: both sides name the cluster as their scope. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
    MBarrier full;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0), peer = cluster_cta_rank() ^ 1;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, LANES);
    }
    cluster_sync();
    if (is_writer()) {
        for (int i = lane(); i < ITEMS; i += LANES) {
            cluster_store_u32(&s->box[i], peer, (uint32_t)p.in[at + i]);
        }
        LINE(1, mbarrier_arrive_release_cluster(&s->full, peer)); /* hands the stores to threads of the cluster */
        INSTEAD(1, mbarrier_arrive_remote(&s->full, peer));       /* .cta: to nobody there */
    } else {
        LINE(2, mbarrier_wait_parity_cluster(&s->full, 0)); /* takes what a thread of the cluster hands on */
        INSTEAD(2, mbarrier_wait_parity(&s->full, 0));      /* .cta: only of its own CTA */
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[there + i] = s->box[i];
        }
    }
}
PATTERN(kernel, .cluster = 2, .shared_bytes = sizeof(Shared))
