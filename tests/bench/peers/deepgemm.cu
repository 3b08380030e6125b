/* deepgemm.cu - DeepGEMM's bf16 kernel for Hopper as a peer of the bench. C++, as what it wraps is. Compiled with -I of that
 * repository's deep_gemm/include and of CUTLASS's include.
 *
 * DeepGEMM compiles a kernel for each N and K when it is called, with the tile that its heuristic takes. Here are those
 * kernels for the shapes of the bench on 132 SMs, by that heuristic; it refuses other shapes. */
#include <cuda_bf16.h>
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

#include "gemm.h"

#include "device/tma.h"

enum { SMS = 132, BK = 64, TMA_THREADS = 128, MOST_STAGES = 16 };

static GemmStatus encode(CUtensorMap *map, const bf16 *base, int rows, int columns, int ld, int box_rows, int swizzle) {
    const cuuint64_t size[2] = {(cuuint64_t)columns, (cuuint64_t)rows}, stride[1] = {(cuuint64_t)ld * sizeof(bf16)};
    const cuuint32_t box[2] = {(cuuint32_t)swizzle / 2, (cuuint32_t)box_rows}, step[2] = {1, 1};
    TensorMapEncoder encoder = tensor_map_encoder(NULL);
    if (encoder == NULL ||
        encoder(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)base, size, stride, box, step,
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) {
        fprintf(stderr, "DeepGEMM: a tensor map was refused\n");
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}

template <int N, int K, int BM, int BN, int CLUSTER_N> static GemmStatus run(const Gemm *g) {
    constexpr int output = (BM * BN * 2 + 1023) / 1024 * 1024, barriers = MOST_STAGES * 8 * 2,
                  stage = (BM + BN) * BK * 2;
    constexpr int fitting = (232448 - output - barriers) / stage,
                  stages = fitting < MOST_STAGES ? fitting : MOST_STAGES;
    constexpr int math = BM <= 64 ? 128 : 256, swizzle = BN * 2 % 128 == 0 ? 128 : 64;
    auto *kernel =
        deep_gemm::sm90_bf16_gemm_impl<cute::UMMA::Major::K, cute::UMMA::Major::K, 0, N, K, 1, BM, BN, BK, 128, 128,
                                       swizzle, stages, TMA_THREADS, math, CLUSTER_N, (CLUSTER_N > 1), SMS,
                                       deep_gemm::GemmType::Normal, false, cutlass::bfloat16_t>;
    CUtensorMap a, b, c;
    if (encode(&a, g->a, g->m, g->k, g->lda, BM, 128) || encode(&b, g->b, g->n, g->k, g->ldb, BN, 128) ||
        encode(&c, g->c, g->m, g->n, g->ldc, BM, swizzle)) {
        return GEMM_DEVICE;
    }
    int bytes = output + barriers + stages * stage;
    if (cuda_status(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                    "DeepGEMM", NULL)) {
        return GEMM_DEVICE;
    }
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = CLUSTER_N;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(SMS);
    config.blockDim = dim3(TMA_THREADS + math);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = g->stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    return cuda_status(cudaLaunchKernelEx(&config, kernel, (int *)NULL, (uint32_t)g->m, (uint32_t)g->n, (uint32_t)g->k,
                                          *(cute::TmaDescriptor *)&a, *(cute::TmaDescriptor *)&b,
                                          *(cute::TmaDescriptor *)&c),
                       "DeepGEMM", NULL);
}

static const struct {
    int m, n, k;
    GemmStatus (*run)(const Gemm *g);
} kernels[] = {
    {8192, 8192, 8192, run<8192, 8192, 256, 128, 2>},      {4096, 4096, 4096, run<4096, 4096, 256, 128, 2>},
    {2048, 2048, 2048, run<2048, 2048, 128, 256, 1>},      {1024, 1024, 1024, run<1024, 1024, 64, 128, 1>},
    {16384, 16384, 16384, run<16384, 16384, 256, 128, 2>}, {4096, 14336, 4096, run<14336, 4096, 256, 128, 2>},
    {8192, 7168, 2048, run<7168, 2048, 256, 128, 2>},      {4096, 4096, 14336, run<4096, 14336, 256, 128, 2>},
    {512, 7168, 7168, run<7168, 7168, 128, 224, 1>},       {128, 8192, 8192, run<8192, 8192, 64, 128, 1>},
};

static GemmStatus launch(const Gemm *g, GemmError *) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (kernels[i].m == g->m && kernels[i].n == g->n && kernels[i].k == g->k && g->sm_count == SMS) {
            return kernels[i].run(g);
        }
    }
    fprintf(stderr,
            "DeepGEMM: no kernel for %d x %d x %d on %d SMs; tests/bench/peers/deepgemm.cu lists what there is\n", g->m,
            g->n, g->k, g->sm_count);
    return GEMM_USAGE;
}

extern "C" const Chapter gpu_chapter_peer2;
extern "C" const Chapter gpu_chapter_peer2 = {.name = "DeepGEMM", .adds = "", .needs = NEEDS_SM90A, .launch = launch};
