/* card.h - host: what tells one GPU from another, for a chapter that chooses by it. The model stands for an H200. */
#ifndef CARD_H
#define CARD_H

#include "cuda_c.h"

#if defined(GEMM_MODEL) || !defined(__CUDACC__)

static inline int memory_gb_s(void) { return 4917; }
static inline int l2_bytes(void) { return 60 << 20; }

#else

/* One attribute of the current device; 0 if it cannot be read. */
static inline int device_attribute(cudaDeviceAttr attribute) {
    int device, value = 0;
    return cudaGetDevice(&device) || cudaDeviceGetAttribute(&value, attribute, device) ? 0 : value;
}

/* What the memory can move at most, GB/s: two transfers a clock. 0 if it is not known. */
static inline int memory_gb_s(void) {
    double khz = device_attribute(cudaDevAttrMemoryClockRate), bits = device_attribute(cudaDevAttrGlobalMemoryBusWidth);
    return (int)(2 * khz * bits / 8 / 1e6);
}

static inline int l2_bytes(void) { return device_attribute(cudaDevAttrL2CacheSize); }

#endif
#endif
