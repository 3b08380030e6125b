/* tma_nd.h - the copies of tma.h for tensors of rank 5, and tensor maps of other element types. sm_90.
 *
 * tma.h's copies of two dimensions serve every element type: that is in the tensor map. Coordinates are elements and
 * may lie outside the tensor, as tma.h says; the first one counts the contiguous dimension, and its bytes are a
 * multiple of 16: 16 elements of fp8, 8 of bf16, 4 of fp32. Loads and stores are called, ordered and completed as their
 * namesakes in tma.h: one thread each. A tensor of rank 3 or 4 is one of rank 5 whose last dimensions have size 1.
 * PTX 9.7.9.27.1.2. */
#ifndef TMA_ND_H
#define TMA_ND_H

#include "tma.h"

/* Values of CUtensorMapDataType. fp8, of either kind, is copied as bytes. */
typedef enum {
    ELEMENT_UINT8 = 0,
    ELEMENT_FP8 = ELEMENT_UINT8,
    ELEMENT_FP16 = 6,
    ELEMENT_FP32 = 7,
    ELEMENT_BF16 = 9
} ElementType;

/* A tensor in global memory and the box that one copy moves. Dimension 0 is the contiguous one. */
typedef struct {
    ElementType type;
    int rank;
    const void *base;   /* 16-byte aligned */
    uint64_t size[5];   /* elements, 1 .. 2^32 */
    uint64_t stride[4]; /* bytes from one index of dimension i + 1 to the next; multiples of 16 */
    uint32_t box[5];    /* elements, 1 .. 256; those of box[0] are a multiple of 16 bytes, at most the swizzle's span */
    Swizzle swizzle;
} Tensor;

#ifdef PTX_FUNCTIONS

/* tma_load_2d() of rank 5. */
DEVICE void tma_load_5d(void *dst, const TensorMap *map, int c0, int c1, int c2, int c3, int c4, MBarrier *bar) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared_address(dst)),
                 "l"(map), "r"(shared_address(bar)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
                 : "memory");
}
/* tma_store_2d() of rank 5. */
DEVICE void tma_store_5d(const TensorMap *map, const void *src, int c0, int c1, int c2, int c3, int c4) {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
                 "r"(shared_address(src)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
                 : "memory");
}

#elif defined(GEMM_MODEL)

#define tma_load_5d(dst, map, c0, c1, c2, c3, c4, bar) model_tma_load(dst, map, 5, c0, c1, c2, c3, c4, bar, 0, HERE)
#define tma_store_5d(map, src, c0, c1, c2, c3, c4) model_tma_store(map, src, 5, c0, c1, c2, c3, c4, 0, HERE)

#endif

#if defined(GEMM_MODEL) || defined(__CUDACC__)

/* Host: encodes the map of a Tensor. `name` must outlive the map. Returns GEMM_DEVICE, and what the driver refused. */
static inline GemmStatus tensor_map_nd(TensorMap *map, const char *name, const Tensor *t, GemmError *error) {
#ifdef GEMM_MODEL
    return model_tensor_map_nd(map, name, t->type, t->rank, t->base, t->size, t->stride, t->box, t->swizzle, error);
#else
    TensorMapEncoder encode = tensor_map_encoder(error);
    if (encode == NULL) {
        return GEMM_DEVICE;
    }
    const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
    CUresult result = encode(map, (CUtensorMapDataType)t->type, (cuuint32_t)t->rank, (void *)t->base, t->size,
                             t->stride, t->box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)t->swizzle,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
        return gemm_fails(
            error, GEMM_DEVICE,
            "cuTensorMapEncodeTiled refused the tensor map of %s (error %d): rank %d, element type %d, at %p", name,
            (int)result, t->rank, (int)t->type, t->base);
    }
    return GEMM_OK;
#endif
}

#endif
#endif
