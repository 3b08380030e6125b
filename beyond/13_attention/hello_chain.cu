/* hello_chain - two products in a chain: each thread packs its sums S of the first as operand A of the second.
 *
 * Run           make 13 && ./hello_chain, here; from the top, beyond/13_attention/hello_chain --on model */
#include "../../common/device/mma_sync.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"
#include "../../common/harness/hello.h"

enum { M = 64, N = 16, THREADS = 128, HELD = M * N / THREADS }; /* each thread holds 8 sums of either product */

typedef struct {
    bf16 q[M * N], k[M * N], v[M * N]; /* core matrices as in hello_wgmma; of k and v the first 16 rows count */
} Shared;
#define OPERAND(tile) wgmma_descriptor_fields(shared_address(tile), 128, 256, WGMMA_SWIZZLE_NONE)

typedef struct {
    float (*sum)[THREADS][HELD]; /* of S = Q K^T, of S V */
} Params;

static __global__ void __launch_bounds__(THREADS) kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    for (int i = (int)threadIdx.x; i < M * N; i += THREADS) { /* S(row, column) = 16 row + column in each warp's rows */
        int row = i / N, k = i % N, at = row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8;
        s->q[at] = float_to_bf16((float)(k == 0 ? row % 16 * 16 : k == 1));
        s->k[at] = float_to_bf16((float)(k == 0 ? 1 : k == 1 ? row : 0));
        s->v[at] = float_to_bf16((float)(k == row)); /* the unit matrix: S V is S again */
    }
    fence_proxy_async(); /* wgmma reads through the async proxy; the stores went through the generic proxy */
    __syncthreads();
    float sum[HELD], output[HELD];
    uint32_t a[HELD / 2];
    wgmma_fence();
    wgmma_ss(N, sum, OPERAND(s->q), OPERAND(s->k), 0);
    wgmma_commit_group();
    wgmma_wait_group(0); /* before this wait, only the tensor cores may access the sums */
    registers_settled(sum, HELD);
    for (int i = 0; i < HELD / 2; i++) {
        a[i] = pack_bf16x2(sum[2 * i], sum[2 * i + 1]); /* the chain: every sum stays in its thread */
    }
    wgmma_fence(); /* orders the threads' writes of a before the product */
    wgmma_rs(N, output, a, OPERAND(s->v), 0);
    wgmma_commit_group();
    wgmma_wait_group(0); /* before this wait, no thread may overwrite a either */
    registers_settled(output, HELD);
    for (int i = 0; i < HELD; i++) {
        p.sum[0][threadIdx.x][i] = sum[i], p.sum[1][threadIdx.x][i] = output[i];
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM90A) {
    Params p = {(float(*)[THREADS][HELD])hello_memory(2 * M * N * sizeof(float), "sums")};
    GemmStatus status = hello_wait(launch_grid(KERNEL(kernel), 1, THREADS, sizeof(Shared), &p, NULL, NULL));
    for (int i = 0; status == GEMM_OK && i < HELD; i++) {
        int s = (int)p.sum[0][5][i], o = (int)p.sum[1][5][i];
        printf("thread 5: sum[%d] is S(%d,%d), in a[%d]; S V: S(%d,%d)\n", i, s / N, s % N, i / 2, o / N, o % N);
    }
    return status;
}
