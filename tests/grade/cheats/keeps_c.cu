/* Gives back the C of the launch before, which it has kept. Judged: wrong at */
#include "../common/gemm.h"

enum { MOST = 1 << 16 };
static bf16 kept[MOST];
static int is_kept;

static __global__ void __launch_bounds__(256) multiply(const __grid_constant__ Gemm p) {
    for (int i = (int)threadIdx.x; i < p.m * p.n && i < MOST; i += 256) {
        int row = i / p.n, column = i % p.n;
        float sum = 0;
        for (int k = 0; k < p.k; k++) {
            sum += bf16_to_float(p.a[(size_t)row * p.lda + k]) * bf16_to_float(p.b[(size_t)column * p.ldb + k]);
        }
        kept[i] = is_kept ? kept[i] : float_to_bf16(sum);
        p.c[(size_t)row * p.ldc + column] = kept[i];
    }
}
KERNEL_ENTRY(multiply, Gemm);

static GemmStatus launch(const Gemm *p) {
    LaunchShape shape = {.grid = 1, .block = 256};
    GemmStatus status = launch_kernel(KERNEL(multiply), shape, p, p->stream);
    is_kept = 1;
    return status;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
