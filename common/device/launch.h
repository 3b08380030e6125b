/* launch.h - host: launches a kernel. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "cuda_c.h"

#ifdef __CUDACC__ /* the model's are in common/model/model.h */

/* A kernel as an argument of launch_grid() or launch_kernel(). */
#define KERNEL(kernel) ((const void *)(kernel)), #kernel

/* GEMM_OK if the CUDA call `what` did not fail, otherwise GEMM_DEVICE. */
static inline GemmStatus cuda_status(cudaError_t result, const char *what, GemmError *error) {
    return result ? gemm_fails(error, GEMM_DEVICE, "%s failed: %s (%s)", what, cudaGetErrorString(result),
                               cudaGetErrorName(result))
                  : GEMM_OK;
}

/* Launches `grid` CTAs of `block` threads of a kernel that takes one struct, as `launch_grid(KERNEL(gemm_kernel), grid,
 * block, shared_bytes, &params, stream, error)`. Returns GEMM_DEVICE if the launch failed. Errors inside the kernel
 * show at the next synchronisation. */
static inline GemmStatus launch_grid(const void *kernel, const char *name, int grid, int block, int shared_bytes,
                                     const void *params, Stream stream, GemmError *error) {
    void *arguments[1] = {(void *)params};
    dim3 ctas((unsigned)grid), threads((unsigned)block);
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) ||
        cudaLaunchKernel(kernel, ctas, threads, arguments, (size_t)shared_bytes, stream)) {
        return gemm_fails(error, GEMM_DEVICE,
                          "%s was not launched, with %d threads and %d bytes of shared memory in a CTA: %s", name,
                          block, shared_bytes, cudaGetErrorString(cudaGetLastError()));
    }
    return GEMM_OK;
}

/* A launch with clusters, or one that overlaps the previous launch. Grid, CTA and cluster are 1-D. */
typedef struct {
    int grid;    /* CTAs */
    int block;   /* threads in a CTA */
    int cluster; /* CTAs in a cluster; 0: launch without the attribute */
    int shared_bytes;
    int overlap; /* 1: may start before the previous launch has ended (grid.h); sm_90 */
} LaunchShape;

/* Launches a kernel that takes one struct in this shape. Returns GEMM_DEVICE if the launch failed. Errors inside the
 * kernel show at the next synchronisation. */
static inline GemmStatus launch_kernel(const void *kernel, const char *name, LaunchShape shape, const void *params,
                                       Stream stream, GemmError *error) {
    cudaLaunchAttribute with[2] = {};
    cudaLaunchConfig_t config = {
        (unsigned)shape.grid, (unsigned)shape.block, (size_t)shape.shared_bytes, stream, with, 0};
    if (shape.cluster > 0) {
        with[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        with[config.numAttrs++].val.clusterDim = {(unsigned)shape.cluster, 1, 1};
    }
    if (shape.overlap) {
        with[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        with[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    cudaError_t result = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes);
    void *arguments[1] = {(void *)params};
    if (result != cudaSuccess) {
        return gemm_fails(error, GEMM_DEVICE, "%s needs %d bytes of shared memory in a CTA: %s", name,
                          shape.shared_bytes, cudaGetErrorString(result));
    }
    return cuda_status(cudaLaunchKernelExC(&config, kernel, arguments), name, error);
}

#endif
#endif
