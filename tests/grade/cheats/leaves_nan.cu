/* Writes NaN, with which comparisons are false. Judged: wrong at */
#include "../common/gemm.h"

static __global__ void __launch_bounds__(32) fill(const __grid_constant__ Gemm p) {
    for (int i = (int)threadIdx.x; i < p.m * p.n; i += 32) {
        p.c[(size_t)(i / p.n) * (size_t)p.ldc + (size_t)(i % p.n)] = 0x7fc0;
    }
}
KERNEL_ENTRY(fill, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    LaunchShape shape = {.grid = 1, .block = 32};
    return launch_kernel(KERNEL(fill), shape, p, p->stream, error);
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
