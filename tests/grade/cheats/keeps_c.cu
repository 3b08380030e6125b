/* Gives back the C of the launch before, which it has kept. Judged: wrong at */
#include "../common/gemm.h"

enum { MOST = 1 << 16 };
static bf16 kept[MOST];
static int is_kept;

static __global__ void __launch_bounds__(256) multiply(const __grid_constant__ Gemm p) {
    int row = (int)blockIdx.x;
    for (int column = (int)threadIdx.x; column < p.n; column += 256) {
        int i = (row * p.n + column) % MOST;
        float sum = 0;
        for (int k = 0; k < p.k; k++) {
            sum += bf16_to_float(p.a[(size_t)row * p.lda + k]) * bf16_to_float(p.b[(size_t)column * p.ldb + k]);
        }
        kept[i] = is_kept ? kept[i] : float_to_bf16(sum);
        p.c[(size_t)row * p.ldc + column] = kept[i];
    }
}
KERNEL_ENTRY(multiply, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    LaunchShape shape = {.grid = p->m, .block = 256};
    GemmStatus status = launch_kernel(KERNEL(multiply), shape, p, p->stream, error);
    is_kept = 1;
    return status;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
