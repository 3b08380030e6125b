/* bulk_store - to the async proxy: threads store a box, one thread starts the copy out of it. */
#include "pattern.h"

typedef struct {
    int box[THREADS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    for (int round = 0; round < ROUNDS; round += 2) {
        int at = place((int)blockIdx.x, round);
        s->box[threadIdx.x] = p.in[at + (int)threadIdx.x];
        LINE(1, fence_proxy_async()); /* each thread's store comes before a read through the other proxy */
        LINE(2, __syncthreads());     /* the thread that starts the copy waits for all of them */
        if (threadIdx.x == 0) {
            bulk_store(&p.out[at], s->box, sizeof s->box);
            bulk_commit_group();
            LINE(3, bulk_wait_group_read(0)); /* it waits until the copy has read the box */
        }
        LINE(4, __syncthreads()); /* and all wait for it, before they store the next */
    }
    if (threadIdx.x == 0) {
        bulk_wait_group_read(0); /* no CTA leaves while a copy reads its memory */
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
