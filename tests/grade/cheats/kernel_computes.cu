/* Right, but by ordinary loads and products. Judged: looked for: tensor_flop */
#include "../common/gemm.h"

static __global__ void __launch_bounds__(256) multiply(const __grid_constant__ Gemm p) {
    int row = (int)blockIdx.x;
    for (int column = (int)threadIdx.x; column < p.n; column += 256) {
        float sum = 0;
        for (int k = 0; k < p.k; k++) {
            sum += bf16_to_float(p.a[(size_t)row * p.lda + k]) * bf16_to_float(p.b[(size_t)column * p.ldb + k]);
        }
        p.c[(size_t)row * p.ldc + column] = float_to_bf16(sum);
    }
}
KERNEL_ENTRY(multiply, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    LaunchShape shape = {.grid = p->m, .block = 256};
    return launch_kernel(KERNEL(multiply), shape, p, p->stream, error);
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
