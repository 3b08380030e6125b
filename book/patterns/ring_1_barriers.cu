/* ring_1_barriers - a loop over tiles with two stages of shared memory: what everybody knows. */
#include "pattern.h"

enum { STAGES = 2, TILES = ITEMS / THREADS };

typedef struct {
    int tile[STAGES][THREADS];
} Shared;

DEVICE void load(Shared *s, const int *in, int k) {
    s->tile[k % STAGES][threadIdx.x] = in[k * THREADS + (int)threadIdx.x];
}

DEVICE void use(const Shared *s, int *out, int k) {
    int other = THREADS - 1 - (int)threadIdx.x; /* what another thread has loaded */
    out[k * THREADS + other] = s->tile[k % STAGES][other];
}

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    load(s, &p.in[at], 0);
    load(s, &p.in[at], 1);
    for (int k = 0; k < TILES; k++) {
        LINE(1, __syncthreads()); /* tile k is full: all have loaded */
        use(s, &p.out[at], k);
        LINE(2, __syncthreads()); /* its stage is empty: all have used it */
        if (k + STAGES < TILES) {
            load(s, &p.in[at], k + STAGES);
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
