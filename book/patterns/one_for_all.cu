/* one_for_all - one lane arrives for its warp, and one lane waits for its warp. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
    MBarrier full;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
    }
    __syncthreads();
    if (is_writer()) {
        for (int i = lane(); i < ITEMS; i += LANES) {
            s->box[i] = p.in[at + i];
        }
        LINE(1, __syncwarp()); /* the lane that arrives waits for the stores of the others */
        if (lane() == 0) {
            mbarrier_arrive(&s->full);
        }
    } else {
        if (lane() == 0) {
            mbarrier_wait_parity(&s->full, 0);
        }
        LINE(2, __syncwarp()); /* the others wait for the lane that has waited */
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = s->box[i];
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
