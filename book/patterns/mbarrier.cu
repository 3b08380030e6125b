/* mbarrier - a box goes to and fro by two mbarriers, and each side remembers which lap it is in. */
#include "pattern.h"

typedef struct {
    int box[LANES];
    MBarrier full, empty;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, LANES);
        mbarrier_init(&s->empty, 1, LANES);
    }
    LINE(4, __syncthreads()); /* nobody uses a barrier before it is one */
    for (int round = 0; round < ROUNDS; round++) {
        int at = place((int)blockIdx.x, round) + lane();
        uint32_t parity = (uint32_t)round & 1;
        if (is_writer()) {
            LINE(2, mbarrier_wait_parity(&s->empty, parity ^ 1)); /* the writer waits for the reader's loads */
            s->box[lane()] = p.in[at];
            mbarrier_arrive(&s->full);
        } else {
            LINE(1, mbarrier_wait_parity(&s->full, parity)); /* the reader waits for the writer's stores */
            p.out[at] = s->box[lane()];
            LINE(3, mbarrier_arrive(&s->empty)); /* without it the writer waits for ever */
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
