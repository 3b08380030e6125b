/* copy_then_flag - what a copy has written to global memory is handed to another CTA by a flag. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0), there = place(neighbour(), 0);
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        s->box[i] = p.in[at + i];
    }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(&p.between[at], s->box, sizeof s->box);
        bulk_commit_group();
        LINE(1, bulk_wait_group(0)); /* waits until the bytes are written; .read says only that they were read */
        INSTEAD(1, bulk_wait_group_read(0));
        global_store(release, &p.words[blockIdx.x], 1);
        while (!global_load(acquire, &p.words[neighbour()])) {
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.out[there + i] = p.between[there + i];
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
