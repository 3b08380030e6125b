/* inexact.cu - what the tensor cores make of the operands of inexact.h: records inexact.txt, on a Hopper GPU.
 *
 *     inexact >tests/conform/inexact.txt */
#include <time.h>

#include "gemm.h"

#include "device/swizzle.h"
#include "device/tma.h"
#include "device/wgmma.h"
#include "inexact.h"
#include "wgmma_types.h"

typedef struct {
    uint8_t a[64 * 128], b[INEXACT_COLUMNS * 128]; /* rows of 128 bytes, of which 32 count; 128-byte swizzle */
} Shared;

typedef struct {
    const InexactCase *cases;
    uint32_t *d; /* [INEXACT_CASES][64][INEXACT_COLUMNS] */
    int type;
} Params;

DEVICE void load(uint8_t *tile, const uint8_t *from, int rows) {
    for (int i = (int)threadIdx.x; i < rows * 2; i += 128) {
        *(uint4 *)(tile + swizzle_128b((uint32_t)(i / 2 * 128 + i % 2 * 16))) = *(const uint4 *)(from + i * 16);
    }
}

/* A CTA for each case. */
static __global__ void __launch_bounds__(128, 1) multiply(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const InexactCase *r = &p.cases[blockIdx.x];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    int first = (warp * 16 + lane / 4) * INEXACT_COLUMNS + lane % 4 * 2;
    float acc[INEXACT_COLUMNS / 2];
    load(s->a, r->a, 64);
    load(s->b, r->b, INEXACT_COLUMNS);
    UNROLL
    for (int i = 0; i < 4; i++) {
        acc[i] = r->c[first + i / 2 * 8 * INEXACT_COLUMNS + i % 2];
    }
    /* wgmma reads through the async proxy what all have written through the generic proxy. */
    fence_proxy_async();
    __syncthreads();
    uint64_t a = wgmma_descriptor(s->a), b = wgmma_descriptor(s->b);
#define PRODUCT(number, wgmma)     \
    case number:                   \
        wgmma_fence();             \
        wgmma(8, acc, a, b, 1);    \
        wgmma_commit_group();      \
        wgmma_wait_group(0);       \
        registers_settled(acc, 4); \
        break
    switch (p.type) {
        PRODUCT(0, wgmma_ss_e4m3);
        PRODUCT(1, wgmma_ss);
        PRODUCT(2, wgmma_ss_f16);
        PRODUCT(3, wgmma_ss_tf32);
        PRODUCT(4, wgmma_ss_e5m2);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        p.d[(size_t)blockIdx.x * 64 * INEXACT_COLUMNS + (size_t)(first + i / 2 * 8 * INEXACT_COLUMNS + i % 2)] =
            __float_as_uint(acc[i]);
    }
}

int main(void) {
    Params p;
    InexactCase *cases;
    cudaDeviceProp card;
    char date[16];
    time_t now = time(NULL);
    uint64_t state = 1;
    if (cuda_status(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties", NULL) ||
        cuda_status(cudaMallocManaged((void **)&cases, INEXACT_CASES * sizeof *cases, cudaMemAttachGlobal),
                    "cudaMallocManaged", NULL) ||
        cuda_status(cudaMallocManaged((void **)&p.d, INEXACT_CASES * sizeof cases->c, cudaMemAttachGlobal),
                    "cudaMallocManaged", NULL)) {
        return GEMM_DEVICE;
    }
    p.cases = cases;
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    printf("# Recorded by tests/conform/inexact.cu on %s: %s.\n"
           "# type, number of the case, bits of the first %d rows of the result\n",
           date, card.name, INEXACT_ROWS);
    for (p.type = 0; p.type < INEXACT_TYPES; p.type++) {
        for (int i = 0; i < INEXACT_CASES; i++) {
            inexact_next(&state, p.type, i, &cases[i]);
        }
        LaunchShape shape = {.grid = INEXACT_CASES, .block = 128, .shared_bytes = sizeof(Shared)};
        if (launch_kernel(KERNEL(multiply), shape, &p, NULL, NULL) ||
            cuda_status(cudaDeviceSynchronize(), "cudaDeviceSynchronize", NULL)) {
            return GEMM_DEVICE;
        }
        for (int i = 0; i < INEXACT_CASES; i++) {
            printf("%s %d", inexact_types[p.type].name, i);
            for (int k = 0; k < INEXACT_ROWS * INEXACT_COLUMNS; k++) {
                printf(" %08x", p.d[i * 64 * INEXACT_COLUMNS + k]);
            }
            printf("\n");
        }
    }
    return GEMM_OK;
}
