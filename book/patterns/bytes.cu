/* bytes - what the bytes of a copy hand on, and what not: a header beside the copied data. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
    int header;
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
        LINE(1, s->header = p.in[at]); /* before the arrival, which hands it on */
        mbarrier_arrive_expect_tx(&s->full, sizeof s->box);
        INSTEAD(1, s->header = p.in[at]); /* behind it, and before the copy: its bytes hand on themselves alone */
        bulk_load(s->box, &p.in[at], sizeof s->box, &s->full);
    }
    if (is_reader()) {
        mbarrier_wait_parity(&s->full, 0);
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = s->box[i] - s->box[0] + s->header;
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
