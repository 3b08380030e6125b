/* Its tensor cores work, and what they compute is thrown away. Judged: looked for: global_load_bytes */
#include "../common/gemm.h"

#include "../common/device/mma_sync.h"

typedef struct {
    bf16 tile[16 * 8];
} Shared;

static __global__ void __launch_bounds__(256) multiply(const __grid_constant__ Gemm p) {
    SHARED_MEMORY(Shared, s);
    int thread = (int)threadIdx.x;
    uint32_t fragment[4];
    float acc[4] = {0};
    if (thread < 16 * 8) {
        s->tile[thread] = 0;
    }
    __syncthreads();
    ldmatrix_x4(fragment, &s->tile[thread % 16 * 8]);
    for (int i = 0; i < (p.n / 128 + 1) * (p.k / 128 + 1); i++) {
        mma_m16n8k16(acc, fragment, fragment);
    }
    int row = (int)blockIdx.x;
    for (int column = thread; column < p.n; column += 256) {
        float sum = 0;
        for (int k = 0; k < p.k; k++) {
            sum += bf16_to_float(p.a[(size_t)row * p.lda + k]) * bf16_to_float(p.b[(size_t)column * p.ldb + k]);
        }
        p.c[(size_t)row * p.ldc + column] = float_to_bf16(sum);
    }
}
KERNEL_ENTRY(multiply, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    LaunchShape shape = {.grid = p->m, .block = 256, .shared_bytes = sizeof(Shared)};
    return launch_kernel(KERNEL(multiply), shape, p, p->stream, error);
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
