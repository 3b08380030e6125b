/* deepgemm.cu - DeepGEMM's bf16 kernel for Hopper as a peer of the bench. Compiled with -I of that repository's
 * deep_gemm/include and of CUTLASS's include. */
#include <cuda_bf16.h>
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

#include "deepgemm.h"

enum { BK = 64 };

static GemmStatus encode_bf16(CUtensorMap *map, const bf16 *base, int rows, int columns, int ld, int box_rows,
                              int swizzle) {
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, base, rows, columns, (size_t)ld * sizeof(bf16), box_rows,
                  swizzle / 2, swizzle);
}

template <int N, int K, int BM, int BN, int CLUSTER_N> static GemmStatus run(const Gemm *g) {
    constexpr int output = (BM * BN * 2 + 1023) / 1024 * 1024, barriers = MOST_STAGES * 8 * 2,
                  stage = (BM + BN) * BK * 2;
    constexpr int fitting = (SHARED_BYTES - output - barriers) / stage,
                  stages = fitting < MOST_STAGES ? fitting : MOST_STAGES;
    constexpr int math = BM <= 64 ? 128 : 256, swizzle = BN * 2 % 128 == 0 ? 128 : 64;
    auto *kernel =
        deep_gemm::sm90_bf16_gemm_impl<cute::UMMA::Major::K, cute::UMMA::Major::K, 0, N, K, 1, BM, BN, BK, 128, 128,
                                       swizzle, stages, TMA_THREADS, math, CLUSTER_N, (CLUSTER_N > 1), SMS,
                                       deep_gemm::GemmType::Normal, false, cutlass::bfloat16_t>;
    CUtensorMap a, b, c;
    if (encode_bf16(&a, g->a, g->m, g->k, g->lda, BM, 128) || encode_bf16(&b, g->b, g->n, g->k, g->ldb, BN, 128) ||
        encode_bf16(&c, g->c, g->m, g->n, g->ldc, BM, swizzle)) {
        return GEMM_DEVICE;
    }
    return start(g, kernel, TMA_THREADS + math, output + barriers + stages * stage, CLUSTER_N, (int *)NULL,
                 (uint32_t)g->m, (uint32_t)g->n, (uint32_t)g->k, *(cute::TmaDescriptor *)&a, *(cute::TmaDescriptor *)&b,
                 *(cute::TmaDescriptor *)&c);
}

static const ShapeKernel kernels[] = {
    {8192, 8192, 8192, run<8192, 8192, 256, 128, 2>},      {4096, 4096, 4096, run<4096, 4096, 256, 128, 2>},
    {2048, 2048, 2048, run<2048, 2048, 128, 256, 1>},      {1024, 1024, 1024, run<1024, 1024, 64, 128, 1>},
    {16384, 16384, 16384, run<16384, 16384, 256, 128, 2>}, {4096, 14336, 4096, run<14336, 4096, 256, 128, 2>},
    {8192, 7168, 2048, run<7168, 2048, 256, 128, 2>},      {4096, 4096, 14336, run<4096, 14336, 256, 128, 2>},
    {512, 7168, 7168, run<7168, 7168, 128, 224, 1>},       {128, 8192, 8192, run<8192, 8192, 64, 128, 1>},
};

static GemmStatus launch(const Gemm *g, GemmError *) {
    return run_shape(g, kernels, sizeof kernels / sizeof kernels[0]);
}

extern "C" const Chapter gpu_chapter_peer2;
extern "C" const Chapter gpu_chapter_peer2 = {.name = "DeepGEMM", .adds = "", .needs = NEEDS_SM90A, .launch = launch};
