/* early_launch - the second of two launches starts before the first has ended, and waits before it touches its data. */
#include "pattern.h"

static __global__ void first(const __grid_constant__ Params p) {
    NO_SHARED_MEMORY;
    grid_dependency_launch(); /* the next launch may start; this orders nothing */
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        int at = place((int)blockIdx.x, 0) + i;
        p.between[at] = p.in[at];
    }
}
KERNEL_ENTRY(first, Params);

static __global__ void second(const __grid_constant__ Params p) {
    NO_SHARED_MEMORY;
    LINE(1, grid_dependency_wait()); /* waits until the first launch has ended, and its stores can be seen */
    for (int i = (int)threadIdx.x; i < ITEMS; i += THREADS) {
        int at = place((int)blockIdx.x, 0) + i;
        p.out[at] = p.between[at];
    }
}
KERNEL_ENTRY(second, Params);

PATTERN_FUNCTION;
PATTERN_FUNCTION {
    LaunchShape shape = {.grid = p->ctas, .block = THREADS}, early = {.grid = p->ctas, .block = THREADS, .overlap = 1};
    GemmStatus status = launch_kernel(KERNEL(first), shape, p, stream, NULL);
    return status ? status : launch_kernel(KERNEL(second), early, p, stream, NULL);
}
