/* counter - of two CTAs the one that comes last does the rest: a counter says who. */
#include "pattern.h"

typedef struct {
    int last;
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int first = (int)blockIdx.x & ~1, at = place((int)blockIdx.x, 0);
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        p.between[at + i] = p.in[at + i];
    }
    LINE(1, __syncthreads()); /* the counting thread waits for the stores of all */
    if (threadIdx.x == 0) {
        LINE(2, s->last = global_add(acq_rel, &p.words[first], 1)); /* hands on its own stores, takes the other's */
        INSTEAD(2, s->last = global_add(relaxed, &p.words[first], 1));
    }
    LINE(3, __syncthreads()); /* all wait for the answer */
    if (s->last) {
        for (int i = (int)threadIdx.x; i < 2 * ITEMS; i += THREADS) {
            p.out[place(first, 0) + i] = p.between[place(first, 0) + i];
        }
    }
}
PATTERN(kernel, .shared_bytes = sizeof(Shared))
