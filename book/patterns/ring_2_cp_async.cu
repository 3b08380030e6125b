/* ring_2_cp_async - the loads go on while the threads compute; each thread waits for its own. */
#include "pattern.h"

enum { STAGES = 2, TILES = ITEMS / THREADS };

typedef struct {
    int tile[STAGES][THREADS];
} Shared;

DEVICE void load(Shared *s, const int *in, int k) {
    int i = 4 * (int)threadIdx.x; /* 16 bytes by each of some threads */
    if (i < THREADS && k < TILES) {
        cp_async_16(&s->tile[k % STAGES][i], &in[k * THREADS + i]);
    }
    cp_async_commit_group(); /* a group for each k, also where it is empty */
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
        LINE(3, cp_async_wait_group(STAGES - 1)); /* this thread's copies of tile k are done */
        LINE(1, __syncthreads());                 /* tile k is full: all have waited */
        use(s, &p.out[at], k);
        LINE(2, __syncthreads()); /* its stage is empty: all have used it */
        load(s, &p.in[at], k + STAGES);
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
