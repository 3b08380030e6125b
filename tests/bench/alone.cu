/* alone.cu - the instructions alone, without loads and without an epilogue. See alone.h. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

#include "alone.h"

enum {
    WARPGROUPS = 2,
    WGMMA_ROUNDS = 4000, /* of 4 products by each warpgroup */
    MMA_WARPS = 8,
    MMA_ROUNDS = 4000, /* of 32 products by each warp */
    MMA_BLOCKS = 4,    /* 4 x 8 accumulator blocks a warp */
    LOADS = 100000,
    LOAD_WORDS = 1024, /* that they come from */
    LOAD_STEP = 33,
};

typedef struct {
    const bf16 *data;
    float *out;    /* NULL, which the compiler does not know */
    uint32_t zero; /* 0, which it does not know either */
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

/* n is a constant where it is called. */
DEVICE void multiply(const Params *p, const int n) {
    SHARED_MEMORY(bf16, s); /* A [64 * WARPGROUPS][64], B [n][64] */
    for (int i = (int)threadIdx.x; i < (64 * WARPGROUPS + n) * 64; i += 128 * WARPGROUPS) {
        s[i] = p->data[i];
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
            wgmma_ss(n, acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, round + step > 0);
        }
        wgmma_commit_group();
        wgmma_wait_group(1);
    }
    wgmma_wait_group(0);
    registers_settled(acc, n / 2);
    use(p, acc, n / 2);
}

#define EACH_WIDTH(n)                                                                                                 \
    static __global__ void __launch_bounds__(128 * WARPGROUPS, 1) wgmma_alone_##n(const __grid_constant__ Params p) { \
        multiply(&p, n);                                                                                              \
    }
ALONE_WIDTHS(EACH_WIDTH)
#undef EACH_WIDTH

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

/* Each load's place depends on the word before. `kind` is a constant where it is called. */
DEVICE void load_in_turn(const Params *p, const AloneKind kind) {
    SHARED_MEMORY(uint32_t, s); /* [LOAD_WORDS] */
    const int *words = (const int *)p->data;
    for (int i = (int)threadIdx.x; i < LOAD_WORDS; i += (int)blockDim.x) {
        s[i] = (uint32_t)words[i];
    }
    int neighbour = 1 - cluster_cta_rank();
    /* All have written what the neighbour reads. */
    cluster_sync();
    uint32_t at = 0;
    if (threadIdx.x == 0) {
        UNROLL_ONCE
        for (int i = 0; i < LOADS; i++) {
            uint32_t word = kind == ALONE_LOADS_OWN         ? *(volatile uint32_t *)&s[at]
                            : kind == ALONE_LOADS_NEIGHBOUR ? cluster_load_u32(&s[at], neighbour)
                                                            : (uint32_t)global_counter_read(&words[at]);
            at = (at + LOAD_STEP + (word & p->zero)) % LOAD_WORDS;
        }
    }
    if (p->out != NULL) {
        p->out[threadIdx.x] = (float)at;
    }
    /* Neither ends while the other still reads. */
    cluster_sync();
}

static __global__ void loads_own(const __grid_constant__ Params p) { load_in_turn(&p, ALONE_LOADS_OWN); }
static __global__ void loads_neighbour(const __grid_constant__ Params p) { load_in_turn(&p, ALONE_LOADS_NEIGHBOUR); }
static __global__ void loads_l2(const __grid_constant__ Params p) { load_in_turn(&p, ALONE_LOADS_L2); }

double alone_work(const Alone *alone) {
    switch (alone->kind) {
    case ALONE_WGMMA: return 2.0 * 64 * alone->n * 16 * 4 * WGMMA_ROUNDS * WARPGROUPS * alone->sm_count;
    case ALONE_MMA_SYNC: return 2.0 * 16 * 8 * 16 * MMA_BLOCKS * 8 * MMA_ROUNDS * MMA_WARPS * alone->sm_count;
    case ALONE_COPY: return 2.0 * (double)alone->from.bytes;
    case ALONE_LOADS_OWN:
    case ALONE_LOADS_NEIGHBOUR:
    case ALONE_LOADS_L2: return LOADS;
    }
    return 0;
}

GemmStatus alone_launch(void *context) {
    const Alone *alone = (const Alone *)context;
    Params p = {alone->data, NULL, 0};
    LaunchShape wgmma = {
        .grid = alone->sm_count, .block = 128 * WARPGROUPS, .shared_bytes = (64 * WARPGROUPS + alone->n) * 128};
    LaunchShape mma = {.grid = alone->sm_count, .block = 32 * MMA_WARPS};
    LaunchShape loads = {
        .grid = alone->sm_count / 2 * 2, .block = 32, .cluster = 2, .shared_bytes = LOAD_WORDS * sizeof(uint32_t)};
    if (alone->kind == ALONE_COPY) {
        return cuda_status(cudaMemcpyAsync(alone->to.data, alone->from.data, alone->from.bytes,
                                           cudaMemcpyDeviceToDevice, alone->stream),
                           "cudaMemcpyAsync", NULL);
    }
    if (alone->kind == ALONE_MMA_SYNC) {
        return launch_kernel(KERNEL(mma_sync_alone), mma, &p, alone->stream, NULL);
    }
    switch (alone->kind) {
    case ALONE_LOADS_OWN: return launch_kernel(KERNEL(loads_own), loads, &p, alone->stream, NULL);
    case ALONE_LOADS_NEIGHBOUR: return launch_kernel(KERNEL(loads_neighbour), loads, &p, alone->stream, NULL);
    case ALONE_LOADS_L2: return launch_kernel(KERNEL(loads_l2), loads, &p, alone->stream, NULL);
    default: break;
    }
    switch (alone->n) {
#define EACH_WIDTH(n) \
    case n: return launch_kernel(KERNEL(wgmma_alone_##n), wgmma, &p, alone->stream, NULL);
        ALONE_WIDTHS(EACH_WIDTH)
#undef EACH_WIDTH
    }
    fprintf(stderr, "wgmma of width %d: common/device/wgmma.h does not have it\n", alone->n);
    return GEMM_USAGE;
}
