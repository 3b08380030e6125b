/* wgmma_alone.cu - wgmma by its width, without loads and without an epilogue. See wgmma_alone.h. */
#include "../../common/gemm.h"

#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

#include "../../common/harness/data.h"
#include "wgmma_alone.h"

enum {
    WARPGROUPS = 2,
    ROUNDS = 2000, /* of 4 products by each warpgroup */
    MAX_N = 256,
    DATA_SEED = 1,
};

typedef struct {
    float *out;
} Params;

/* One product of width n. */
DEVICE void wgmma_k16(const int n, float *acc, uint64_t a, uint64_t b, int accumulate) {
    switch (n) {
    case 64: wgmma_m64n64k16(acc, a, b, accumulate); break;
    case 112: wgmma_m64n112k16(acc, a, b, accumulate); break;
    case 128: wgmma_m64n128k16(acc, a, b, accumulate); break;
    case 160: wgmma_m64n160k16(acc, a, b, accumulate); break;
    case 176: wgmma_m64n176k16(acc, a, b, accumulate); break;
    case 192: wgmma_m64n192k16(acc, a, b, accumulate); break;
    case 256: wgmma_m64n256k16(acc, a, b, accumulate); break;
    }
}

/* n is a constant where it is called. */
DEVICE void multiply(const Params *p, const int n) {
    SHARED_MEMORY(bf16, s); /* A [64 * WARPGROUPS][64], B [n][64] */
    for (int i = (int)threadIdx.x; i < (64 * WARPGROUPS + n) * 64; i += 128 * WARPGROUPS) {
        s[i] = data_element(DATA_NORMAL, DATA_SEED, MATRIX_A, (uint64_t)i);
    }
    /* wgmma reads through the async proxy what all have written through the generic proxy. */
    fence_proxy_async();
    __syncthreads();
    float acc[MAX_N / 2];
    uint64_t a = wgmma_descriptor(s + (int)threadIdx.x / 128 * 64 * 64);
    uint64_t b = wgmma_descriptor(s + 64 * WARPGROUPS * 64);
    for (int round = 0; round < ROUNDS; round++) {
        wgmma_fence();
        UNROLL
        for (int step = 0; step < 4; step++) {
            wgmma_k16(n, acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, round + step > 0);
        }
        wgmma_commit_group();
        wgmma_wait_group(1);
    }
    wgmma_wait_group(0);
    registers_settled(acc, n / 2);
    float sum = 0;
    UNROLL
    for (int i = 0; i < n / 2; i++) {
        sum += acc[i];
    }
    if (p->out != NULL && sum == 0.5f) { /* never: keeps the products alive */
        p->out[threadIdx.x] = sum;
    }
}

#define WIDTH(n)                                                                                                      \
    static __global__ void __launch_bounds__(128 * WARPGROUPS, 1) wgmma_alone_##n(const __grid_constant__ Params p) { \
        multiply(&p, n);                                                                                              \
    }
#define EACH_WIDTH(n) WIDTH(n)
WGMMA_WIDTHS(EACH_WIDTH)
#undef EACH_WIDTH

double wgmma_alone_flop(const WgmmaAlone *w) { return 2.0 * 64 * w->n * 16 * 4 * ROUNDS * WARPGROUPS * w->sm_count; }

GemmStatus wgmma_alone_launch(void *wgmma_alone) {
    const WgmmaAlone *w = (const WgmmaAlone *)wgmma_alone;
    Params p = {NULL};
    LaunchShape shape = {.grid = w->sm_count,
                         .block = 128 * WARPGROUPS,
                         .cluster = 0,
                         .shared_bytes = (64 * WARPGROUPS + w->n) * 64 * 2,
                         .overlap = 0};
    switch (w->n) {
#define EACH_WIDTH(n) \
    case n: return launch_kernel(KERNEL(wgmma_alone_##n), shape, &p, w->stream);
        WGMMA_WIDTHS(EACH_WIDTH)
#undef EACH_WIDTH
    }
    fprintf(stderr, "wgmma_alone: width %d is not one of those that common/device/wgmma.h has\n", w->n);
    return GEMM_USAGE;
}
