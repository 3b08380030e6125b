/* named_barrier - roles hand a box to and fro by two numbered barriers: one side arrives, the other waits. */
#include "pattern.h"

enum { FULL = 1, EMPTY };

typedef struct {
    int box[LANES];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    for (int round = 0; round < ROUNDS; round++) {
        int at = place((int)blockIdx.x, round) + lane();
        if (is_writer()) {
            s->box[lane()] = p.in[at];
            named_barrier_arrive(FULL, THREADS);
            LINE(2, named_barrier_sync(EMPTY, THREADS)); /* the writer waits for the reader's loads */
            INSTEAD(2, named_barrier_arrive(EMPTY, THREADS));
        } else {
            LINE(1, named_barrier_sync(FULL, THREADS)); /* the reader waits for the writer's stores */
            INSTEAD(1, named_barrier_arrive(FULL, THREADS));
            p.out[at] = s->box[lane()];
            named_barrier_arrive(EMPTY, THREADS);
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
