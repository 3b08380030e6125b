/* barrier - one warp hands data to another by the CTA's barrier. */
#include "pattern.h"

typedef struct {
    int box[LANES];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    for (int round = 0; round < ROUNDS; round++) {
        int at = place((int)blockIdx.x, round) + lane();
        if (is_writer()) {
            s->box[lane()] = p.in[at];
        }
        LINE(1, __syncthreads()); /* the reader waits for the box to be full */
        if (is_reader()) {
            p.out[at] = s->box[lane()];
        }
        LINE(2, __syncthreads()); /* the writer waits for it to be empty */
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
