/* bulk_load - from the async proxy: the bytes of a copy complete a phase, and who waits for it may read them. */
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
    if (threadIdx.x == 0) {
        LINE(2, mbarrier_arrive_expect_tx(&s->full, sizeof s->box)); /* the phase waits for the bytes */
        INSTEAD(2, mbarrier_arrive(&s->full));
        bulk_load(s->box, &p.in[at], sizeof s->box, &s->full);
    }
    if (is_reader()) {
        LINE(1, mbarrier_wait_parity(&s->full, 0)); /* the reader waits for the phase; no proxy fence is needed */
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = s->box[i];
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
