/* 01_naive - one thread computes one element of C.
 *
 * What is new   A thread reads a row of A and a row of B and adds up their product in an fp32 register. The 16 x 16
 *               threads of a CTA take neighbouring elements, so that the rows they share come from L1 instead of DRAM.
 * What holds it back   Every FMA needs two elements that were loaded for it alone: the load units, not the arithmetic, set
 *               the pace. And the FMA units do 256 FLOP per clock and SM; the tensor cores, unused here, do 4096.
 * Run           make 01 && ./01_naive, here; from the top, make run-01
 *
 * Both operands are K-major, so neighbouring threads read B at addresses ldb apart: a warp's load touches 16 rows of B.
 * Loads of 16 bytes use half of each 32-byte sector at once and find the other half in L1; loads of one element would use
 * a sixteenth. */
#include "../common/gemm.h"

enum {
    TILE = 16, /* the CTA computes TILE x TILE elements, a thread each */
    THREADS = TILE * TILE,
    CHUNK = 8, /* elements in a 16-byte load */
};
static_assert(CHUNK * sizeof(bf16) == sizeof(uint4), "the main loop takes CHUNK elements out of one uint4");

/* sum + the products of two pairs of elements. */
DEVICE float add_products(float sum, uint32_t a, uint32_t b) {
    sum += bf16_to_float((bf16)a) * bf16_to_float((bf16)b);
    return sum + bf16_to_float((bf16)(a >> 16)) * bf16_to_float((bf16)(b >> 16));
}

static __global__ void __launch_bounds__(THREADS) gemm_kernel(const __grid_constant__ Gemm p) {
    NO_SHARED_MEMORY;

    /* Step 1: roles. Neighbouring threads take neighbouring columns, so that stores to C are coalesced. */
    int tiles_n = ceil_div(p.n, TILE);
    int row = (int)blockIdx.x / tiles_n * TILE + (int)threadIdx.x / TILE;
    int col = (int)blockIdx.x % tiles_n * TILE + (int)threadIdx.x % TILE;
    if (row >= p.m || col >= p.n) {
        return;
    }
    const bf16 *a = p.a + (size_t)row * p.lda;
    const bf16 *b = p.b + (size_t)col * p.ldb;

    /* Step 3: main loop. */
    float sum = 0;
    int k = 0;
    for (; k + CHUNK <= p.k; k += CHUNK) {
        uint4 a_chunk = *(const uint4 *)(a + k), b_chunk = *(const uint4 *)(b + k);
        sum = add_products(sum, a_chunk.x, b_chunk.x);
        sum = add_products(sum, a_chunk.y, b_chunk.y);
        sum = add_products(sum, a_chunk.z, b_chunk.z);
        sum = add_products(sum, a_chunk.w, b_chunk.w);
    }
    for (; k < p.k; k++) {
        sum += bf16_to_float(a[k]) * bf16_to_float(b[k]);
    }

    /* Step 4: epilogue. */
    p.c[(size_t)row * p.ldc + col] = float_to_bf16(sum);
}
KERNEL_ENTRY(gemm_kernel, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    LaunchShape shape = {.grid = ceil_div(p->m, TILE) * ceil_div(p->n, TILE), .block = THREADS};
    return launch_kernel(KERNEL(gemm_kernel), shape, p, p->stream, error);
}

CHAPTER(01_naive, .adds = "one thread for each element of C", .needs = NEEDS_SM80, .launch = launch);
