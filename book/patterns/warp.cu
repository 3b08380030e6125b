/* warp - the lanes of a warp hand data to each other through shared memory. */
#include "pattern.h"

typedef struct {
    int box[THREADS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int *box = is_writer() ? s->box : s->box + LANES; /* each warp has its own */
    for (int round = is_writer() ? 0 : 1; round < ROUNDS; round += 2) {
        int at = place((int)blockIdx.x, round);
        box[lane()] = p.in[at + lane()];
        LINE(1, __syncwarp()); /* every lane waits for the others' stores */
        int other = LANES - 1 - lane();
        p.out[at + other] = box[other];
        LINE(2, __syncwarp()); /* and for their loads, before the next store */
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
