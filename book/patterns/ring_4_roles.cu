/* ring_4_roles - who loads does nothing else, and nobody waits for more than he needs. */
#include "pattern.h"

enum { STAGES = 2, TILES = ITEMS / THREADS };

typedef struct {
    int tile[STAGES][THREADS];
    MBarrier full[STAGES], empty[STAGES];
} Shared;

DEVICE void load(Shared *s, const int *in, int k) {
    mbarrier_arrive_expect_tx(&s->full[k % STAGES], sizeof s->tile[0]);
    bulk_load(s->tile[k % STAGES], &in[k * THREADS], sizeof s->tile[0], &s->full[k % STAGES]);
}

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    if (threadIdx.x == 0) {
        mbarrier_init(s->full, STAGES, 1);
        mbarrier_init(s->empty, STAGES, LANES);
    }
    __syncthreads();
    for (int k = 0; k < TILES; k++) {
        uint32_t parity = (uint32_t)(k / STAGES) & 1;
        if (threadIdx.x == 0) {
            LINE(2, mbarrier_wait_parity(&s->empty[k % STAGES], parity ^ 1)); /* the stage is empty; at first at once */
            load(s, &p.in[at], k);
        } else if (is_reader()) {
            LINE(1, mbarrier_wait_parity(&s->full[k % STAGES], parity)); /* tile k is full */
            for (int i = lane(); i < THREADS; i += LANES) {
                p.out[at + k * THREADS + i] = s->tile[k % STAGES][i];
            }
            LINE(3, fence_proxy_async()); /* these loads come before the next copy's bytes */
            mbarrier_arrive(&s->empty[k % STAGES]);
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
