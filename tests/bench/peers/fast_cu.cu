/* fast_cu.cu - kernel 12 of fast.cu as a peer of the bench. C++, as what it wraps is. Compiled with -I of that
 * repository.
 *
 * It computes a column-major result, so our B is its first operand and our A its second. Its own launch takes the
 * stream 0 and caches its tensor maps by its M alone: here both are the caller's, and the cache has the whole
 * problem. */
#include <cassert>
#include <cuda_bf16.h>
#include <string>
#include <vector>

#include "gemm.h"

#include "device/tma.h"

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define cuTensorMapEncodeTiled (*tensor_map_encoder(NULL))
#define bf16 __nv_bfloat16
#define cudaCheck(call) (void)(call)
using std::max;
#include "examples/matmul/matmul_12.cuh"
#undef bf16

enum { BM = 128, BN = 256, BK = 64, QSIZE = 3, CLUSTER = 2, NUM_SM = 128, THREADS = 384 };

/* The order of its tiles, on the device; made anew where the problem is another one. */
static GemmStatus tile_order(const Gemm *g, int **order) {
    static Gemm made;
    static int *device;
    if (device == NULL || made.m != g->m || made.n != g->n) {
        std::vector<int> space(NUM_SM * M12::SPACE_LEN);
        M12::createHilbert(g->n / (BM * CLUSTER), g->m / BN, NUM_SM / CLUSTER, space.data());
        if (device == NULL &&
            cuda_status(cudaMalloc(&device, space.size() * sizeof(int)), "its order of tiles", NULL)) {
            return GEMM_DEVICE;
        }
        if (cuda_status(cudaMemcpy(device, space.data(), space.size() * sizeof(int), cudaMemcpyHostToDevice),
                        "its order of tiles", NULL)) {
            return GEMM_DEVICE;
        }
        made = *g;
    }
    *order = device;
    return GEMM_OK;
}

static GemmStatus launch(const Gemm *g, GemmError *) {
    int *order;
    if (g->n % (BM * CLUSTER) || g->m % BN || g->k % BK || g->lda != g->k || g->ldb != g->k || g->ldc != g->n ||
        CEIL_DIV(g->n / (BM * CLUSTER) * (g->m / BN), NUM_SM / CLUSTER) >= M12::SPACE_LEN) {
        fprintf(stderr, "fast.cu: M and N must be multiples of 256, K of 64, rows without padding\n");
        return GEMM_USAGE;
    }
    if (tile_order(g, &order)) {
        return GEMM_DEVICE;
    }
    CUtensorMap a = M12::create_tensor_map<BM, BK>((__nv_bfloat16 *)g->b, g->n, g->k);
    CUtensorMap b = M12::create_tensor_map<BN, BK>((__nv_bfloat16 *)g->a, g->m, g->k);
    CUtensorMap c = M12::create_tensor_map<BN, BM / 2, false, true>((__nv_bfloat16 *)g->c, g->m, g->n);
    auto *kernel = M12::matmulKernel12<BM, BN, BK, THREADS, QSIZE, NUM_SM, CLUSTER, 1>;
    size_t bytes = sizeof(M12::SMem<BM, BN, BK, QSIZE>);
    if (cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), "fast.cu",
                    NULL)) {
        return GEMM_DEVICE;
    }
    kernel<<<NUM_SM, THREADS, bytes, g->stream>>>(g->n, g->m, g->k, c, a, b, order);
    return cuda_status(cudaGetLastError(), "fast.cu", NULL);
}

extern "C" const Chapter gpu_chapter_peer;
extern "C" const Chapter gpu_chapter_peer = {.name = "fast.cu", .adds = "", .needs = NEEDS_SM90A, .launch = launch};
