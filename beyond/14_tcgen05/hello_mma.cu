/* hello_mma - one thread starts a product of 128 x 128 x 16; then each thread loads its row of D.
 *
 * Run           make 14 && ./hello_mma, here; from the top, beyond/14_tcgen05/hello_mma --on model */
#include "../../common/harness/hello.h"

#include "../../common/device/tcgen05.h"

enum { M = 128, N = 128, K = 16, LBO = 128, SBO = 256 /* as in 06's hello_wgmma.cu */ };

typedef struct {
    bf16 a[M * K], b[N * K]; /* core matrices of 8 rows x 8 k; LBO bytes to the next 8 k, SBO to the next 8 rows */
    MBarrier done;
    uint32_t d; /* the address of D in tensor memory */
} Shared;
typedef struct {
    float *d; /* [M][N] */
} Params;
static __global__ void __launch_bounds__(M) kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int row = (int)threadIdx.x, warp = warp_uniform(row / 32);
    for (int k = 0; k < K; k++) { /* D = A B: element (row, column) is N row + column */
        int place = row / 8 * (SBO / 2) + k / 8 * (LBO / 2) + row % 8 * 8 + k % 8;
        s->a[place] = float_to_bf16((float)(k == 0 ? row : k == 1));
        s->b[place] = float_to_bf16((float)(k == 0 ? N : k == 1 ? row : 0));
    }
    fence_proxy_async(); /* the product reads through the async proxy; the stores went through the generic proxy */
    if (warp == 0) {
        tcgen05_alloc(&s->d, N);
    } else if (row == 32) {
        mbarrier_init(&s->done, 1, 1);
    }
    __syncthreads(); /* operands, barrier and address are written */
    if (row == 0) {
        uint64_t a = tcgen05_descriptor_fields(shared_address(s->a), LBO, SBO, TCGEN05_SWIZZLE_NONE);
        uint64_t b = tcgen05_descriptor_fields(shared_address(s->b), LBO, SBO, TCGEN05_SWIZZLE_NONE);
        tcgen05_mma_f16(s->d, a, b, tcgen05_shape_f16(1, M, N, 0, 0), 0);
        tcgen05_commit(&s->done);
    }
    mbarrier_wait_parity(&s->done, 0); /* until the product is complete; the fence orders the loads after it */
    tcgen05_fence_after();
    uint32_t d[N];
    tcgen05_ld(N, d, s->d + ((uint32_t)warp * 32 << 16)); /* row m of D is lane m */
    tcgen05_wait_ld();                                    /* before this wait, d is not valid */
    memcpy(&p.d[row * N], d, sizeof d);
    __syncthreads(); /* all threads have loaded */
    if (warp == 0) { /* a whole warp frees, as a whole warp allocated */
        tcgen05_dealloc(s->d, N);
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM100A) {
    Params p = {(float *)hello_memory(M * N * sizeof(float), "d")};
    LaunchShape shape = {.grid = 1, .block = M, .shared_bytes = sizeof(Shared)};
    GemmStatus status = hello_wait(launch_kernel(KERNEL(kernel), shape, &p, NULL, NULL));
    for (int m = 0; status == GEMM_OK && m < M; m += 37) {
        printf("row %d, from lane %d: %.0f to %.0f\n", m, m, p.d[m * N], p.d[m * N + N - 1]);
    }
    return status;
}
