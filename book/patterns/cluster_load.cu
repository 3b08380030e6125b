/* cluster_load - a CTA reads the shared memory of another one, which must not leave meanwhile. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0), peer = cluster_cta_rank() ^ 1;
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        s->box[i] = p.in[at + i];
    }
    LINE(1, cluster_sync()); /* the loads wait for the other CTA's stores */
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.out[there + i] = (int)cluster_load_u32(&s->box[i], peer);
    }
    LINE(2, cluster_sync()); /* no CTA ends while the other one still reads it */
}
PATTERN(kernel, .cluster = 2, .shared_bytes = sizeof(Shared))
