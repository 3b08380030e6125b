/* ballot - a lane that is told "complete" knows it for itself alone: a vote of the warp hands nothing on. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
    MBarrier full;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, LANES);
    }
    __syncthreads();
    if (is_writer()) {
        for (int i = lane(); i < ITEMS; i += LANES) {
            s->box[i] = p.in[at + i];
        }
        mbarrier_arrive(&s->full);
    } else {
        while (!__any_sync(0xffffffffu, lane() == 5 && mbarrier_test_wait_parity(&s->full, 0))) {
        }                                           /* lane 5 asks, and all hear its yes */
        LINE(1, mbarrier_wait_parity(&s->full, 0)); /* each lane asks itself, and so acquires */
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = s->box[i];
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
