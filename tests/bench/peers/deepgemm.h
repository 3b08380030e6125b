/* deepgemm.h - what the two peers from DeepGEMM share. C++, as what they wrap is.
 *
 * DeepGEMM compiles a kernel for each N and K when it is called, with the tile that its heuristic takes. Here are those
 * kernels for the shapes of the bench on 132 SMs, by that heuristic; they refuse other shapes. */
#ifndef DEEPGEMM_H
#define DEEPGEMM_H

#include "beyond.h"

#include "device/tma.h"

enum { SMS = 132, TMA_THREADS = 128, MOST_STAGES = 16, SHARED_BYTES = 232448 };

/* A matrix [rows][columns] with `stride` bytes from row to row. */
static GemmStatus encode(CUtensorMap *map, CUtensorMapDataType type, const void *base, int rows, int columns,
                         size_t stride, int box_rows, int box_columns, int swizzle) {
    const cuuint64_t size[2] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[1] = {(cuuint64_t)stride};
    const cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows}, step[2] = {1, 1};
    const CUtensorMapSwizzle how = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                   : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                   : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
    TensorMapEncoder encoder = tensor_map_encoder(NULL);
    if (encoder == NULL || encoder(map, type, 2, (void *)base, size, strides, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   how, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) {
        fprintf(stderr, "DeepGEMM: a tensor map was refused\n");
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}

/* A CTA on every SM, in clusters of that many. */
template <class... Parameters, class... Arguments>
static GemmStatus start(const Gemm *g, void (*kernel)(Parameters...), int threads, int bytes, int ctas,
                        Arguments... arguments) {
    if (cuda_status(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                    "DeepGEMM", NULL)) {
        return GEMM_DEVICE;
    }
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = ctas;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(SMS);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = g->stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    return cuda_status(cudaLaunchKernelEx(&config, kernel, arguments...), "DeepGEMM", NULL);
}

typedef struct {
    int m, n, k;
    GemmStatus (*run)(const Gemm *g);
} ShapeKernel;

/* By the kernel of this shape. */
static GemmStatus run_shape(const Gemm *g, const ShapeKernel *kernels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (kernels[i].m == g->m && kernels[i].n == g->n && kernels[i].k == g->k && g->sm_count == SMS) {
            return kernels[i].run(g);
        }
    }
    fprintf(stderr, "DeepGEMM: no kernel for %d x %d x %d on %d SMs; tests/bench/peers lists what there is\n", g->m,
            g->n, g->k, g->sm_count);
    return GEMM_USAGE;
}

#endif
