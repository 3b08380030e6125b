/* ring_3_mbarrier - one thread starts the copy of a whole tile; its bytes say at an mbarrier that it is there. */
#include "pattern.h"

enum { STAGES = 2, TILES = ITEMS / THREADS };

typedef struct {
    int tile[STAGES][THREADS];
    MBarrier full[STAGES];
} Shared;

DEVICE void load(Shared *s, const int *in, int k) {
    if (threadIdx.x == 0 && k < TILES) {
        mbarrier_arrive_expect_tx(&s->full[k % STAGES], sizeof s->tile[0]);
        bulk_load(s->tile[k % STAGES], &in[k * THREADS], sizeof s->tile[0], &s->full[k % STAGES]);
    }
}

DEVICE void use(const Shared *s, int *out, int k) {
    int other = THREADS - 1 - (int)threadIdx.x; /* what another thread has loaded */
    out[k * THREADS + other] = s->tile[k % STAGES][other];
}

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    if (threadIdx.x == 0) {
        mbarrier_init(s->full, STAGES, 1);
    }
    __syncthreads();
    load(s, &p.in[at], 0);
    load(s, &p.in[at], 1);
    for (int k = 0; k < TILES; k++) {
        LINE(1, mbarrier_wait_parity(&s->full[k % STAGES], (uint32_t)(k / STAGES) & 1)); /* tile k is full */
        use(s, &p.out[at], k);
        LINE(3, fence_proxy_async()); /* these loads come before the next copy's bytes */
        LINE(2, __syncthreads());     /* its stage is empty: all have used it */
        load(s, &p.in[at], k + STAGES);
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
