/* hello_pair - one thread starts a product of 256 x 256 x 16 for two CTAs; then a warp of each loads 32 of its rows.
 *
 * Run           make 15 && ./hello_pair, here; from the top, beyond/15_pair/hello_pair --on model */
#include "../../common/harness/hello.h"

#include "../../common/device/tcgen05.h"

enum { PAIR = 2, BOTH = 3 /* a mask */, N = 256, K = 16, LBO = 128, SBO = 256 /* as in 14's hello_mma.cu */ };
enum { ROWS = N / PAIR /* of each CTA */, COLUMNS = 32 /* that a thread loads */ };

typedef struct {
    bf16 x[ROWS * K]; /* this CTA's rows of A and of B, which are equal here; core matrices as in 14's hello_mma.cu */
    MBarrier done;
    uint32_t d; /* the address of D in tensor memory, the same in both CTAs */
} Shared;
typedef struct {
    float *d; /* [PAIR * 32][COLUMNS] */
} Params;
static __global__ void __launch_bounds__(32) kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int lane = (int)threadIdx.x, rank = cluster_cta_rank();
    for (int i = lane; i < ROWS * K; i += 32) { /* D = X X^T: element (row, column) is row * column */
        int row = i / K, k = i % K, place = row / 8 * (SBO / 2) + k / 8 * (LBO / 2) + row % 8 * 8 + k % 8;
        s->x[place] = float_to_bf16((float)(k == 0 ? rank * ROWS + row : 0));
    }
    fence_proxy_async(); /* the product reads through the async proxy; the stores went through the generic proxy */
    if (lane == 0) {
        mbarrier_init(&s->done, 1, 1);
        mbarrier_init_fence();
    }
    cluster_sync(); /* both CTAs have stored their operands and initialised their barriers */
    tcgen05_alloc_pair(&s->d, N);
    cluster_sync(); /* both CTAs have allocated their columns, at the same address */
    if (rank == 0 && lane == 0) {
        fence_proxy_async(); /* each fence covers one CTA's operands; the product reads the other CTA's stores, too */
        uint64_t x = tcgen05_descriptor_fields(shared_address(s->x), LBO, SBO, TCGEN05_SWIZZLE_NONE);
        tcgen05_mma_f16_pair(s->d, x, x, tcgen05_shape_f16(1, N, N, 0, 0), 0); /* same addresses in both CTAs */
        tcgen05_commit_pair(&s->done, BOTH);
    }
    mbarrier_wait_parity(&s->done, 0); /* until the product is complete; the fence orders the load after the product */
    tcgen05_fence_after();
    uint32_t d[COLUMNS];
    tcgen05_ld(COLUMNS, d, s->d); /* row 128 r + l of D is lane l of CTA r */
    tcgen05_wait_ld();            /* before this wait, d is not valid */
    memcpy(&p.d[(rank * 32 + lane) * COLUMNS], d, sizeof d);
    cluster_sync(); /* both CTAs have loaded their sums */
    tcgen05_dealloc_pair(s->d, N);
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM100A) {
    Params p = {(float *)hello_memory(PAIR * 32 * COLUMNS * sizeof(float), "d")};
    LaunchShape shape = {.grid = PAIR, .block = 32, .cluster = PAIR, .shared_bytes = sizeof(Shared)};
    GemmStatus status = hello_wait(launch_kernel(KERNEL(kernel), shape, &p, NULL, NULL));
    for (int i = 21; status == GEMM_OK && i < PAIR * 32; i += 32) {
        const float *row = &p.d[i * COLUMNS];
        printf("CTA %d, lane %d: %.0f %.0f ... %.0f\n", i / 32, i % 32, row[0], row[1], row[COLUMNS - 1]);
    }
    return status;
}
