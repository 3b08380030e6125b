/* Takes the second of two launches of one size for the first one. Judged: wrong at */
#include "../common/gemm.h"

static __global__ void __launch_bounds__(256) multiply(const __grid_constant__ Gemm p) {
    for (int i = (int)threadIdx.x; i < p.m * p.n; i += 256) {
        int row = i / p.n, column = i % p.n;
        float sum = 0;
        for (int k = 0; k < p.k; k++) {
            sum += bf16_to_float(p.a[(size_t)row * p.lda + k]) * bf16_to_float(p.b[(size_t)column * p.ldb + k]);
        }
        p.c[(size_t)row * p.ldc + column] = float_to_bf16(sum);
    }
}
KERNEL_ENTRY(multiply, Gemm);

static GemmStatus launch(const Gemm *p) {
    static Gemm last;
    LaunchShape shape = {.grid = 1, .block = 256};
    if (p->m == last.m && p->n == last.n && p->k == last.k) {
        return GEMM_OK;
    }
    last = *p;
    return launch_kernel(KERNEL(multiply), shape, p, p->stream);
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
