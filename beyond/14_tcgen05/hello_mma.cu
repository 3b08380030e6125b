/* hello_mma - one product of 128 x 128 x 16, started by one thread; then each thread loads its row of D.
 *
 * Run           make 14 && ./hello_mma, here; from the top, beyond/14_tcgen05/hello_mma --on model */
#include "../../common/harness/hello.h"

#include "../../common/device/tcgen05.h"

enum { M = 128, N = 128, K = 16, LBO = 128, SBO = 256 /* as in 06's hello_wgmma.cu */ };

typedef struct {
    bf16 a[M * K], b[N * K]; /* core matrices: 8 rows of 8 k; the next 8 k are LBO bytes on, the next 8 rows SBO */
    MBarrier done;
    uint32_t d; /* where D lies in tensor memory */
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
    fence_proxy_async(); /* products read through the async proxy what was stored through the generic one */
    if (warp == 0) {
        tcgen05_alloc(&s->d, N);
    } else if (row == 32) {
        mbarrier_init(&s->done, 1, 1);
    }
    __syncthreads(); /* operands, barrier and address are there */
    if (row == 0) {
        uint64_t a = tcgen05_descriptor_fields(shared_address(s->a), LBO, SBO, TCGEN05_SWIZZLE_NONE);
        uint64_t b = tcgen05_descriptor_fields(shared_address(s->b), LBO, SBO, TCGEN05_SWIZZLE_NONE);
        tcgen05_mma_f16(s->d, a, b, tcgen05_shape_f16(1, M, N, 0, 0), 0);
        tcgen05_commit(&s->done);
    }
    mbarrier_wait_parity(&s->done, 0); /* until the product is over; the fence puts the loads behind it */
    tcgen05_fence_after();
    uint32_t d[N];
    tcgen05_ld(N, d, s->d + ((uint32_t)warp * 32 << 16)); /* row m of D is lane m */
    tcgen05_wait_ld();                                    /* before it, d holds nothing */
    memcpy(&p.d[row * N], d, sizeof d);
    __syncthreads(); /* all have loaded */
    if (warp == 0) { /* a whole warp, as for alloc */
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
