/* tma.h - the copy engine (Tensor Memory Accelerator): one thread copies a box of a tensor. sm_90.
 *
 * A tensor map, encoded on the host, describes the tensor in global memory (address, sizes, strides, element type) and
 * how a box of it is stored in shared memory (box sizes, swizzle). The destination, the coordinates and the barrier are
 * operands of each copy. Elements outside the tensor are loaded as zero. They are not stored, with one exception: a row
 * that ends inside a 16-byte chunk is stored to the end of that chunk (measured on an H200, tests/conform/README.md).
 */
#ifndef TMA_H
#define TMA_H

#include "cuda_c.h"
#include "mbarrier.h"

/* How the 16-byte chunks of a box are permuted in shared memory. The values are those of CUtensorMapSwizzle. */
typedef enum { SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B } Swizzle;

#ifdef __CUDACC__
#include <cudaTypedefs.h>
#include <dlfcn.h>
typedef CUtensorMap TensorMap; /* 128 bytes, 64-byte aligned */
#endif

#ifdef PTX_FUNCTIONS

/* Fetches the tensor map ahead of its first use. One thread. */
DEVICE void tma_prefetch_map(const TensorMap *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

/* Starts the copy of the box whose first element is column c0, row c1 to shared memory at `dst` (128-byte aligned; 1024
 * with the 128-byte swizzle). c0 is a multiple of 8 elements, 16 bytes; another column is an illegal instruction. One
 * thread. The copy ends with complete_tx of the box's bytes on `bar`. A thread that has waited for that phase may read
 * the box, through any proxy. PTX 9.7.9.27.1.2. */
DEVICE void tma_load_2d(void *dst, const TensorMap *map, int c0, int c1, MBarrier *bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared_address(dst)),
        "l"(map), "r"(c0), "r"(c1), "r"(shared_address(bar))
        : "memory");
}

/* tma_load_2d() to every CTA of the cluster whose bit is set in `mask`. The bytes land at the same offset in its shared
 * memory and complete on the barrier at the same offset. */
DEVICE void tma_load_2d_multicast(void *dst, const TensorMap *map, int c0, int c1, MBarrier *bar, int mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 :
                 : "r"(shared_address(dst)), "l"(map), "r"(c0), "r"(c1), "r"(shared_address(bar)), "h"((uint16_t)mask)
                 : "memory");
}

/* Starts the copy of a box from shared memory. One thread. Ordinary stores into `src` need, in this order:
 * fence_proxy_async() by each writing thread, a barrier, then this. PTX 9.7.9.27.1.2. */
DEVICE void tma_store_2d(const TensorMap *map, const void *src, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(c0),
                 "r"(c1), "r"(shared_address(src))
                 : "memory");
}

/* tma_store_2d(), but adds to the elements in global memory. PTX 9.7.9.27.1.3. */
DEVICE void tma_reduce_add_2d(const TensorMap *map, const void *src, int c0, int c1) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];"
                 :
                 : "l"(map), "r"(c0), "r"(c1), "r"(shared_address(src))
                 : "memory");
}

/* Closes this thread's group of stores. PTX 9.7.9.27.2. */
DEVICE void bulk_commit_group(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

#define bulk_wait_group_read(n)                                                                                    \
    /* This thread waits until all but its n latest groups have been read from shared memory: then their buffers \
       may be written again. Groups belong to the thread that issued the stores; n is a constant. PTX 9.7.9.27.2. */ \
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"((int)(n)) : "memory")

#define bulk_wait_group(n)                                                                                         \
    /* This thread waits until all but its n latest groups have been written to global memory; n is a constant. */ \
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"((int)(n)) : "memory")

/* Orders this thread's ordinary accesses to shared memory (the generic proxy) before later accesses by the copy engine
 * and by wgmma (the async proxy). PTX 9.7.13.4. */
DEVICE void fence_proxy_async(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* fence_proxy_async() for global memory: before the copy engine loads or overwrites what ordinary stores of this launch
 * have written. Either the writing thread calls it before it publishes the data, or the thread that starts the copy
 * calls it after the synchronisation between the two. */
DEVICE void fence_proxy_async_global(void) { asm volatile("fence.proxy.async.global;" ::: "memory"); }

/* fence_proxy_async() for shared and global memory. */
DEVICE void fence_proxy_async_all(void) { asm volatile("fence.proxy.async;" ::: "memory"); }

#elif defined(GEMM_MODEL)

#define tma_prefetch_map(map) model_tma_prefetch_map(map, HERE)
#define tma_load_2d(dst, map, c0, c1, bar) model_tma_load(dst, map, 2, c0, c1, 0, 0, 0, bar, 0, HERE)
#define tma_load_2d_multicast(dst, map, c0, c1, bar, mask) model_tma_load(dst, map, 2, c0, c1, 0, 0, 0, bar, mask, HERE)
#define tma_store_2d(map, src, c0, c1) model_tma_store(map, src, 2, c0, c1, 0, 0, 0, 0, HERE)
#define tma_reduce_add_2d(map, src, c0, c1) model_tma_store(map, src, 2, c0, c1, 0, 0, 0, 1, HERE)
#define bulk_commit_group() model_bulk_commit_group(HERE)
#define bulk_wait_group_read(N) model_bulk_wait_group(N, 1, HERE)
#define bulk_wait_group(N) model_bulk_wait_group(N, 0, HERE)
#define fence_proxy_async() model_fence_proxy(MODEL_FENCE_SHARED)
#define fence_proxy_async_global() model_fence_proxy(MODEL_FENCE_GLOBAL)
#define fence_proxy_async_all() model_fence_proxy(MODEL_FENCE_ALL)

#endif

#ifdef __CUDACC__

/* The driver's encoder of tensor maps, found at run time so that the program needs no -lcuda. NULL if it has none. */
typedef PFN_cuTensorMapEncodeTiled_v12000 TensorMapEncoder;
static inline TensorMapEncoder tensor_map_encoder(GemmError *error) {
    static void *encoder;
    if (encoder == NULL) {
        encoder = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuTensorMapEncodeTiled");
    }
    if (encoder == NULL) {
        (void)gemm_fails(error, GEMM_DEVICE, "this driver has no cuTensorMapEncodeTiled: CUDA 12.0 or later is needed");
    }
    return (TensorMapEncoder)encoder;
}

#endif

#if defined(GEMM_MODEL) || defined(__CUDACC__)

/* Host: encodes the map of a bf16 matrix [rows][ld] whose rows have `cols` elements. base is 16-byte aligned, ld a
 * multiple of 8. box_rows and box_cols are 1..256; a row of the box is a multiple of 16 bytes, and no longer than the
 * swizzle's span. Returns GEMM_DEVICE if the driver refuses the map. */
static inline GemmStatus tensor_map_2d(TensorMap *map, const char *name, const bf16 *base, int rows, int cols, int ld,
                                       int box_rows, int box_cols, Swizzle swizzle, GemmError *error) {
#ifdef GEMM_MODEL
    return model_tensor_map_2d(map, name, base, rows, cols, ld, box_rows, box_cols, swizzle, error);
#else
    TensorMapEncoder encode = tensor_map_encoder(error);
    if (encode == NULL) {
        return GEMM_DEVICE;
    }
    cuuint64_t sizes[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, row_bytes[1] = {(cuuint64_t)ld * sizeof(bf16)};
    cuuint32_t box[2] = {(cuuint32_t)box_cols, (cuuint32_t)box_rows}, steps[2] = {1, 1};
    CUresult result = encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)base, sizes, row_bytes, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result ? gemm_fails(error, GEMM_DEVICE,
                               "the driver refused the tensor map of %s (error %d): %d x %d elements at %p, row pitch "
                               "%d elements, box %d x %d",
                               name, (int)result, rows, cols, (const void *)base, ld, box_rows, box_cols)
                  : GEMM_OK;
#endif
}

#endif
#endif
