/* hello_wgmma - one product of 64 x 8 x 16, and which register of which thread holds each element of it.
 *
 * Run           make 06 && ./hello_wgmma, here; "5 d2" says: thread 5, its register d[2] */
#include "../common/harness/hello.h"

#include "../common/device/tma.h"
#include "../common/device/wgmma.h"

enum { M = 64, N = 8, K = 16, THREADS = 128, HELD = M * N / THREADS }; /* each thread holds 4 elements of D */
enum { LBO = 128, SBO = 256 }; /* bytes to the next core matrix along k, and to the next 8 rows */

typedef struct {
    bf16 a[M * K]; /* core matrices: 8 rows of 8 k, 128 bytes; two side by side, then the two of the next 8 rows */
    bf16 b[N * K]; /* the same; its rows are the columns of D */
} Shared;

typedef struct {
    float *d; /* [THREADS][HELD] */
} Params;

/* The index of element (row, k) in a tile of core matrices. */
DEVICE int place(int row, int k) { return row / 8 * (SBO / 2) + k / 8 * (LBO / 2) + row % 8 * 8 + k % 8; }

static __global__ void __launch_bounds__(THREADS) kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    for (int i = (int)threadIdx.x; i < M * K; i += THREADS) { /* D = A B: element (row, column) is N row + column */
        int row = i / K, k = i % K;
        s->a[place(row, k)] = float_to_bf16((float)(k == 0 ? row : k == 1));
        if (row < N) {
            s->b[place(row, k)] = float_to_bf16((float)(k == 0 ? N : k == 1 ? row : 0));
        }
    }
    fence_proxy_async(); /* wgmma reads through the async proxy what was stored through the generic one */
    __syncthreads();
    float d[HELD];
    wgmma_fence();
    wgmma_ss(8, d, wgmma_descriptor_fields(shared_address(s->a), LBO, SBO, WGMMA_SWIZZLE_NONE),
             wgmma_descriptor_fields(shared_address(s->b), LBO, SBO, WGMMA_SWIZZLE_NONE), 0);
    wgmma_commit_group();
    wgmma_wait_group(0); /* until then d belongs to the tensor cores */
    registers_settled(d, HELD);
    UNROLL
    for (int v = 0; v < HELD; v++) {
        p.d[(int)threadIdx.x * HELD + v] = d[v];
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM90A) {
    Params p = {(float *)hello_memory(M * N * sizeof(float), "d")};
    GemmStatus status = hello_wait(launch_grid(KERNEL(kernel), 1, THREADS, sizeof(Shared), &p, NULL, NULL));
    for (int element = 0, at; status == GEMM_OK && element < M * N; element++) {
        for (at = 0; at < M * N && p.d[at] != (float)element; at++) {
        }
        printf("%4d d%d%s", at / HELD, at % HELD, element % N < N - 1 ? " " : "\n");
    }
    return status;
}
