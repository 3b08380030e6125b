/* bulk_copy.h - the copy engine without a tensor map: one thread copies a range of bytes. sm_90. PTX 9.7.9.25.4.1.
 *
 * For data that need neither a box nor a swizzle: a row, a vector of scales, a tile that is contiguous in global
 * memory. Both addresses and the number of bytes are multiples of 16. The bytes are contiguous on both sides, and
 * nothing is cut off at an edge. The accesses belong to the async proxy, as TMA's do. */
#ifndef BULK_COPY_H
#define BULK_COPY_H

#include "mbarrier.h"
#include "tma.h"

#ifdef PTX_FUNCTIONS

/* Starts the copy of `bytes` from global `src` to this CTA's shared memory at `dst`. One thread. The copy ends with
 * complete_tx of the bytes on `bar`; a thread that has waited for that phase may read them, through any proxy. After
 * ordinary accesses to `dst`, the copy needs fence_proxy_async() and a barrier before it. */
DEVICE void bulk_load(void *dst, const void *src, int bytes, MBarrier *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(dst)), "l"(__cvta_generic_to_global(src)), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
}

/* Starts the copy from shared `src` to global `dst`. One thread, after what tma_store_2d() needs: fence_proxy_async()
 * by each writing thread, then a barrier. The copy belongs to the thread's open group: call bulk_commit_group(), then
 * bulk_wait_group_read() or bulk_wait_group(). */
DEVICE void bulk_store(void *dst, const void *src, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(__cvta_generic_to_global(dst)), "r"(shared_address(src)), "r"(bytes)
                 : "memory");
}

#elif defined(GEMM_MODEL)

#define bulk_load(dst, src, bytes, bar) model_bulk_load(dst, src, bytes, bar, HERE)
#define bulk_store(dst, src, bytes) model_bulk_store(dst, src, bytes, HERE)

#endif
#endif
