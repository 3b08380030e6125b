/* flag_then_copy - what another CTA has stored is loaded by a copy: a flag, and a proxy fence in global memory. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
    MBarrier full;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0);
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.between[at + i] = p.in[at + i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
        global_store(release, &p.words[blockIdx.x], 1);
        while (!global_load(acquire, &p.words[neighbour()])) {
        }
        LINE(1, fence_proxy_async_global()); /* the other CTA's stores come before a read through the async proxy */
        mbarrier_arrive_expect_tx(&s->full, sizeof s->box);
        bulk_load(s->box, &p.between[there], sizeof s->box, &s->full);
    }
    __syncthreads(); /* publishes the barrier */
    mbarrier_wait_parity(&s->full, 0);
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.out[there + i] = s->box[i];
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
