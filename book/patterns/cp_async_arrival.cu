/* cp_async_arrival - cp.async arrives at an mbarrier when its copies are done. It says nothing of the thread's own stores. */
#include "pattern.h"

typedef struct {
    int box[ITEMS], negative[ITEMS];
    MBarrier copied, stored;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->copied, 1, LANES);
        mbarrier_init(&s->stored, 1, LANES);
    }
    __syncthreads();
    if (is_writer()) {
        for (int i = 4 * lane(); i < ITEMS; i += 4 * LANES) {
            cp_async_16(&s->box[i], &p.in[at + i]);
        }
        for (int i = lane(); i < ITEMS; i += LANES) {
            s->negative[i] = -p.in[at + i];
        }
        cp_async_mbarrier_arrive_noinc(&s->copied);
        mbarrier_arrive(&s->stored);
    } else {
        LINE(1, mbarrier_wait_parity(&s->copied, 0)); /* the reader waits for the copies */
        LINE(2, mbarrier_wait_parity(&s->stored, 0)); /* and for the stores: the copies' arrival says nothing of them */
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = s->box[i] + s->box[i] + s->negative[i];
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
