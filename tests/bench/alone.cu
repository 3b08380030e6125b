/* alone.cu - the most that the chip can do, as chapters whose results the bench does not check: one instruction on
 * every SM, repeated without loads and without an epilogue, or a copy in the device's memory. */
#include "../../common/gemm.h"

#include "../../common/device/mma_sync.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

enum {
    WIDTH = 256, /* of wgmma */
    WARPGROUPS = 2,
    WGMMA_ROUNDS = 4000, /* of 4 products by each warpgroup */
    MMA_WARPS = 8,
    MMA_ROUNDS = 4000, /* of 32 products by each warp */
    MMA_BLOCKS = 4,    /* 4 x 8 accumulator blocks a warp */
};

typedef struct {
    const bf16 *data;
    float *out; /* NULL, which the compiler does not know */
} Params;

/* Keeps the products alive. */
DEVICE void use(const Params *p, const float *acc, int count) {
    float sum = 0;
    UNROLL
    for (int i = 0; i < count; i++) {
        sum += acc[i];
    }
    if (p->out != NULL && sum == 0.5f) {
        p->out[threadIdx.x] = sum;
    }
}

static __global__ void __launch_bounds__(128 * WARPGROUPS, 1) wgmma_alone(const __grid_constant__ Params p) {
    SHARED_MEMORY(bf16, s); /* A [64 * WARPGROUPS][64], B [WIDTH][64] */
    for (int i = (int)threadIdx.x; i < (64 * WARPGROUPS + WIDTH) * 64; i += 128 * WARPGROUPS) {
        s[i] = p.data[i];
    }
    /* wgmma reads through the async proxy what all have written through the generic proxy. */
    fence_proxy_async();
    __syncthreads();
    float acc[128];
    uint64_t a = wgmma_descriptor(s + (int)threadIdx.x / 128 * 64 * 64);
    uint64_t b = wgmma_descriptor(s + 64 * WARPGROUPS * 64);
    for (int round = 0; round < WGMMA_ROUNDS; round++) {
        wgmma_fence();
        UNROLL
        for (int step = 0; step < 4; step++) {
            wgmma_m64n256k16(acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, round + step > 0);
        }
        wgmma_commit_group();
        wgmma_wait_group(1);
    }
    wgmma_wait_group(0);
    registers_settled(acc, WIDTH / 2);
    use(&p, acc, WIDTH / 2);
}

static __global__ void __launch_bounds__(32 * MMA_WARPS, 1) mma_sync_alone(const __grid_constant__ Params p) {
    const uint32_t *words = (const uint32_t *)p.data + (int)threadIdx.x % 32;
    uint32_t a[MMA_BLOCKS][4], b[8][2];
    float acc[MMA_BLOCKS * 8][4] = {{0}};
    UNROLL
    for (int i = 0; i < MMA_BLOCKS * 4; i++) {
        a[i / 4][i % 4] = words[i * 32];
    }
    UNROLL
    for (int i = 0; i < 16; i++) {
        b[i / 2][i % 2] = words[(MMA_BLOCKS * 4 + i) * 32];
    }
    UNROLL_ONCE
    for (int round = 0; round < MMA_ROUNDS; round++) {
        UNROLL
        for (int i = 0; i < MMA_BLOCKS * 8; i++) {
            mma_m16n8k16(acc[i], a[i / 8], b[i % 8]);
        }
    }
    UNROLL
    for (int i = 0; i < MMA_BLOCKS * 8; i++) {
        use(&p, acc[i], 4);
    }
}

static GemmStatus launch_wgmma(const Gemm *g, GemmError *error) {
    Params p = {g->a, NULL};
    LaunchShape shape = {
        .grid = g->sm_count, .block = 128 * WARPGROUPS, .shared_bytes = (64 * WARPGROUPS + WIDTH) * 128};
    return launch_kernel(KERNEL(wgmma_alone), shape, &p, g->stream, error);
}

static GemmStatus launch_mma_sync(const Gemm *g, GemmError *error) {
    Params p = {g->a, NULL};
    LaunchShape shape = {.grid = g->sm_count, .block = 32 * MMA_WARPS};
    return launch_kernel(KERNEL(mma_sync_alone), shape, &p, g->stream, error);
}

/* From the first half of the workspace to the second. */
static const size_t copied_bytes = (size_t)4 << 30;
static size_t workspace_bytes(const Gemm *) { return 2 * copied_bytes; }
static GemmStatus launch_copy(const Gemm *g, GemmError *error) {
    return cuda_status(cudaMemcpyAsync((char *)g->workspace + copied_bytes, g->workspace, copied_bytes,
                                       cudaMemcpyDeviceToDevice, g->stream),
                       "cudaMemcpyAsync", error);
}

CHAPTER(wgmma, .adds = "", .needs = NEEDS_SM90A, .launch = launch_wgmma);
CHAPTER(mma_sync, .adds = "", .needs = NEEDS_SM80, .launch = launch_mma_sync);
CHAPTER(copy, .adds = "", .needs = NEEDS_SM80, .launch = launch_copy, .workspace_bytes = workspace_bytes);

extern "C" double alone_work(const Chapter *chapter, int sm_count);
extern "C" double alone_work(const Chapter *chapter, int sm_count) {
    return chapter->launch == launch_copy    ? 2.0 * (double)copied_bytes
           : chapter->launch == launch_wgmma ? 2.0 * 64 * WIDTH * 16 * 4 * WGMMA_ROUNDS * WARPGROUPS * sm_count
                                             : 2.0 * 16 * 8 * 16 * MMA_BLOCKS * 8 * MMA_ROUNDS * MMA_WARPS * sm_count;
}
