/* deepgemm_fp8.cu - DeepGEMM's fp8 kernel for Hopper as a peer of the bench: a scale for 1 x 128 of A and for 128 x 128
 * of B, bf16 out. Compiled with -I of that repository's deep_gemm/include and of CUTLASS's include. */
#include <cuda_bf16.h>
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

#include "deepgemm.h"

enum { BK = 128 };

/* CLUSTER: CTAs that share, by ON_A, the tile of A, else that of B. */
template <int N, int K, int BM, int BN, int CLUSTER, bool ON_A> static GemmStatus run(const Gemm *g) {
    constexpr int output = (BM * BN * 2 + 1023) / 1024 * 1024, barriers = MOST_STAGES * 8 * 2,
                  scales_b = (K / BK * 4 * (BK % BN == 0 ? 1 : 2) + 7) / 8 * 8;
    constexpr int stage = (BM + BN) * BK + (BM * 4 + 127) / 128 * 128;
    constexpr int fitting = (SHARED_BYTES - output - barriers - scales_b) / stage,
                  stages = fitting < MOST_STAGES ? fitting : MOST_STAGES;
    constexpr int math = BM <= 64 ? 128 : 256;
    constexpr int swizzle = BN * 2 % 128 == 0 ? 128 : BN * 2 % 64 == 0 ? 64 : 32;
    auto *kernel =
        deep_gemm::sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, N, K, 1, BM, BN, BK, 128, 128, swizzle, stages,
                                           TMA_THREADS, math, CLUSTER, ON_A, SMS, deep_gemm::GemmType::Normal,
                                           cutlass::bfloat16_t, deep_gemm::epilogue::transform::EpilogueIdentity>;
    const Fp8 *fp8 = (const Fp8 *)g->beyond->operands;
    CUtensorMap a, b, c, scale_a;
    if (encode(&a, CU_TENSOR_MAP_DATA_TYPE_UINT8, fp8->a, g->m, K, (size_t)g->lda, BM, BK, 128) ||
        encode(&b, CU_TENSOR_MAP_DATA_TYPE_UINT8, fp8->b, N, K, (size_t)g->ldb, BN, BK, 128) ||
        encode(&c, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, g->c, g->m, N, (size_t)g->ldc * 2, BM, swizzle / 2, swizzle) ||
        encode(&scale_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, fp8->scale_a, K / BK, (g->m + 3) / 4 * 4,
               (size_t)fp8->ld_scale_a * 4, 1, BM, 0)) {
        return GEMM_DEVICE;
    }
    return start(g, kernel, TMA_THREADS + math, output + barriers + scales_b + stages * stage, CLUSTER,
                 (float *)fp8->scale_b, (int *)NULL, (uint32_t)g->m, (uint32_t)g->n, (uint32_t)g->k,
                 *(cute::TmaDescriptor *)&a, *(cute::TmaDescriptor *)&b, *(cute::TmaDescriptor *)&c,
                 *(cute::TmaDescriptor *)&scale_a);
}

static const ShapeKernel kernels[] = {
    {4096, 2112, 7168, run<2112, 7168, 128, 192, 2, false>},  {4096, 24576, 1536, run<24576, 1536, 256, 128, 2, true>},
    {4096, 7168, 16384, run<7168, 16384, 256, 128, 2, true>}, {4096, 4096, 7168, run<4096, 7168, 256, 128, 2, true>},
    {4096, 7168, 2048, run<7168, 2048, 256, 128, 2, true>},   {8192, 8192, 8192, run<8192, 8192, 256, 128, 2, true>},
    {16, 12288, 14336, run<12288, 14336, 16, 96, 1, false>},  {32, 12288, 14336, run<12288, 14336, 32, 96, 1, false>},
    {64, 12288, 14336, run<12288, 14336, 64, 96, 1, false>},  {16, 8192, 8192, run<8192, 8192, 16, 64, 1, false>},
    {32, 8192, 8192, run<8192, 8192, 32, 64, 1, false>},      {64, 8192, 8192, run<8192, 8192, 64, 64, 1, false>},
    {16, 28672, 4096, run<28672, 4096, 16, 112, 2, false>},   {32, 28672, 4096, run<28672, 4096, 32, 112, 2, false>},
    {64, 28672, 4096, run<28672, 4096, 64, 112, 2, false>},
};

static GemmStatus launch(const Gemm *g, GemmError *) {
    int known = ((const Fp8 *)g->beyond->operands)->ld_scale_b == g->k / BK;
    return run_shape(g, kernels, known ? sizeof kernels / sizeof kernels[0] : 0);
}

static const ChapterBeyond fp8_chapter = {.kind = KIND_FP8};
extern "C" const Chapter gpu_chapter_peer5;
extern "C" const Chapter gpu_chapter_peer5 = {
    .name = "DeepGEMM fp8", .adds = "", .needs = NEEDS_SM90A, .launch = launch, .beyond = &fp8_chapter};
