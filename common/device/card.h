/* card.h - host: properties of the GPU by which a chapter chooses. The model takes the place of an H200. */
#ifndef CARD_H
#define CARD_H

#include "cuda_c.h"

#if defined(GEMM_MODEL) || !defined(__CUDACC__)

static inline int current_card(void) { return 0; }
/* How many clusters of `cluster` CTAs run at a time; 0: not known. An SM runs one CTA of the kernel. */
static inline int clusters_at_once(const void *kernel, int cluster, int threads, int shared_bytes) {
    (void)kernel, (void)cluster, (void)threads, (void)shared_bytes;
    return 0;
}

#else

/* How many clusters of `cluster` CTAs of this kernel the current device runs at a time; 0 if the device does not say.
 * Clusters of four leave SMs idle, since a cluster stays in one GPC and not every GPC has a multiple of four SMs. */
static inline int active_clusters(const void *kernel, int cluster, int threads, int shared_bytes) {
    int count = 0;
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = {(unsigned)cluster, (unsigned)threads, (size_t)shared_bytes, NULL, &attribute, 1};
    memset((void *)&attribute, 0, sizeof attribute);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) != cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&count, kernel, &config) != cudaSuccess) {
        cudaGetLastError(); /* forgets the error: a launch would report it */
        return 0;
    }
    return count;
}

#ifndef OWN_CARD /* a library keeps these in its handles */

enum { MAX_DEVICES = 64, MAX_CLUSTER = 8 };

/* The current device's number; -1 if it cannot be read. */
static inline int current_card(void) {
    int device;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

static inline int clusters_at_once(const void *kernel, int cluster, int threads, int shared_bytes) {
    static int known[MAX_DEVICES][MAX_CLUSTER + 1];
    int device;
    if (cluster > MAX_CLUSTER || cudaGetDevice(&device) || device >= MAX_DEVICES) {
        return 0;
    }
    if (known[device][cluster] == 0) {
        known[device][cluster] = active_clusters(kernel, cluster, threads, shared_bytes);
    }
    return known[device][cluster];
}

#endif
#endif
#endif
