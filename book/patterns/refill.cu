/* refill - a copy overwrites what threads have read: they fence, then say that they have read. */
#include "pattern.h"

typedef struct {
    int box[LANES];
    MBarrier full, empty;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init(&s->empty, 1, LANES);
    }
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++) {
        int at = place((int)blockIdx.x, round);
        uint32_t parity = (uint32_t)round & 1;
        if (threadIdx.x == 0) {
            LINE(2, mbarrier_wait_parity(&s->empty, parity ^ 1)); /* the copy waits for the reader's loads */
            mbarrier_arrive_expect_tx(&s->full, sizeof s->box);
            bulk_load(s->box, &p.in[at], sizeof s->box, &s->full);
        }
        if (is_reader()) {
            mbarrier_wait_parity(&s->full, parity);
            p.out[at + lane()] = s->box[lane()];
            LINE(1, fence_proxy_async()); /* the reader's loads come before a write through the other proxy */
            mbarrier_arrive(&s->empty);
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
