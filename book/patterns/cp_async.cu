/* cp_async - each thread waits for its own copies; a barrier hands them to the others. */
#include "pattern.h"

typedef struct {
    int box[ITEMS];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int at = place((int)blockIdx.x, 0);
    if (is_writer()) {
        for (int i = 4 * lane(); i < ITEMS; i += 4 * LANES) {
            cp_async_16(&s->box[i], &p.in[at + i]);
        }
        cp_async_commit_group();
        LINE(1, cp_async_wait_group(0)); /* the copying thread waits for the copy engine */
    }
    LINE(2, __syncthreads()); /* the reader waits for the copying threads */
    if (is_reader()) {
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = s->box[i];
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
