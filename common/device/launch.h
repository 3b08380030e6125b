/* launch.h - host: how a kernel is launched. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "cuda_c.h"

#ifdef __CUDACC__ /* the model's are in common/model/model.h */

/* A kernel as an argument of launch_kernel(). */
#define KERNEL(kernel) ((const void *)(kernel)), #kernel

/* Grid, CTA and cluster are 1-D. */
typedef struct {
    int grid;    /* CTAs */
    int block;   /* threads in a CTA */
    int cluster; /* CTAs in a cluster; 0: launch without the attribute */
    int shared_bytes;
    int overlap; /* 1: may start before the previous launch has ended (grid.h); sm_90 */
} LaunchShape;

/* GEMM_OK if nothing failed, otherwise GEMM_DEVICE and which CUDA call failed. */
static inline GemmStatus cuda_status(cudaError_t result, const char *what, GemmError *error) {
    return result == cudaSuccess ? GEMM_OK
                                 : gemm_fails(error, GEMM_DEVICE, "%s failed: %s (%s)", what,
                                              cudaGetErrorString(result), cudaGetErrorName(result));
}

/* Launches a kernel that takes one struct: `launch_kernel(KERNEL(gemm_kernel), shape, &params, stream, error)`. Returns
 * GEMM_DEVICE if the launch failed. Asynchronous: errors inside the kernel show at the next synchronisation. */
static inline GemmStatus launch_kernel(const void *kernel, const char *name, LaunchShape shape, const void *params,
                                       Stream stream, GemmError *error) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {
        (unsigned)shape.grid, (unsigned)shape.block, (size_t)shape.shared_bytes, stream, attributes, 0};
    memset((void *)attributes, 0, sizeof attributes);
    if (shape.cluster > 0) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim.x = (unsigned)shape.cluster;
        attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    }
    if (shape.overlap) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute->val.programmaticStreamSerializationAllowed = 1;
    }
    cudaError_t result = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes);
    if (result != cudaSuccess) {
        return gemm_fails(error, GEMM_DEVICE, "%s needs %d bytes of shared memory in a CTA: %s", name,
                          shape.shared_bytes, cudaGetErrorString(result));
    }
    void *arguments[1] = {(void *)params};
    return cuda_status(cudaLaunchKernelExC(&config, kernel, arguments), name, error);
}

#endif
#endif
