/* So does its kernel. Judged: ENDLESS at */
#include "../common/gemm.h"

static __global__ void __launch_bounds__(32) spin(const __grid_constant__ Gemm p) {
    for (volatile int m = p.m; m > 0;) {
    }
}
KERNEL_ENTRY(spin, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    LaunchShape shape = {.grid = 1, .block = 32};
    return launch_kernel(KERNEL(spin), shape, p, p->stream, error);
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
