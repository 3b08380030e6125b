/* 01_naive - one thread computes one element of C.
 *
 * What is new   A thread reads a row of A and a row of B, element by element, and adds up their products in an fp32
 *               register. The 16 x 16 threads of a CTA compute neighbouring elements of C, so rows that they share
 *               come from L1.
 * What holds it back   Every multiply-add loads its own two operands, so the load units limit the speed, not
 *               the arithmetic. And the fp32 units do 256 FLOP per clock and SM; the tensor cores, unused here, 4096.
 * Run           make 01 && ./01_naive, here; from the top, make run-01 */
#include "../common/gemm.h"

enum {
    TILE = 16, /* the CTA computes TILE x TILE elements, one per thread */
    THREADS = TILE * TILE,
};

static __global__ void __launch_bounds__(THREADS) gemm_kernel(const __grid_constant__ Gemm p) {
    NO_SHARED_MEMORY; /* for the CPU model, as is KERNEL_ENTRY() below (cuda_c.h) */

    /* Step 1: roles. Neighbouring threads compute neighbouring columns, so that stores to C are coalesced. */
    int tiles_n = ceil_div(p.n, TILE);
    int row = (int)blockIdx.x / tiles_n * TILE + (int)threadIdx.x / TILE;
    int col = (int)blockIdx.x % tiles_n * TILE + (int)threadIdx.x % TILE;
    if (row >= p.m || col >= p.n) {
        return;
    }

    /* Step 2: main loop. */
    const bf16 *a = p.a + (size_t)row * p.lda;
    const bf16 *b = p.b + (size_t)col * p.ldb;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        sum += bf16_to_float(a[k]) * bf16_to_float(b[k]);
    }

    /* Step 3: epilogue. */
    p.c[(size_t)row * p.ldc + col] = float_to_bf16(sum);
}
KERNEL_ENTRY(gemm_kernel, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    int tiles = ceil_div(p->m, TILE) * ceil_div(p->n, TILE);
    return launch_grid(KERNEL(gemm_kernel), tiles, THREADS, 0, p, p->stream, error);
}

CHAPTER(01_naive, .adds = "one thread for each element of C", .needs = NEEDS_SM80, .launch = launch);
