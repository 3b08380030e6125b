/* cp_async.h - Ampere's asynchronous copy, global to shared memory without registers. PTX 9.7.9.25.3.
 *
 * Each thread copies its own 16 bytes and waits for its own copies; a __syncthreads() after the wait makes the copies
 * of all threads visible to all. These copies belong to the generic proxy, like ordinary stores. */
#ifndef CP_ASYNC_H
#define CP_ASYNC_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* Starts a copy of 16 bytes from global `src` to shared `dst`, both 16-byte aligned. Any thread. */
DEVICE void cp_async_16(void *dst, const void *src) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :
                 : "r"(shared_address(dst)), "l"(__cvta_generic_to_global(src))
                 : "memory");
}

/* cp_async_16() of `bytes` (0..16) from `src`, and zeros after them. With bytes = 0 nothing is read. It is slower, so
 * use it at edges. */
DEVICE void cp_async_16_zfill(void *dst, const void *src, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(dst)), "l"(__cvta_generic_to_global(src)), "r"(bytes)
                 : "memory");
}

/* Closes this thread's current group of copies; an empty group is allowed. */
DEVICE void cp_async_commit_group(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

#define cp_async_wait_group(n)                                                                 \
    /* This thread waits until at most its n latest groups are unfinished; n is a constant. */ \
    asm volatile("cp.async.wait_group %0;" ::"n"((int)(n)) : "memory")

/* Instead of groups and waits: when all copies that this thread has started are complete, one arrival at `bar`, one of
 * those for which it was initialised. A thread that waits at `bar` may read what was copied; the arrival does not
 * publish this thread's own stores. PTX 9.7.13.15.15. */
DEVICE void cp_async_mbarrier_arrive_noinc(void *bar) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}

#elif defined(GEMM_MODEL)

#define cp_async_16(dst, src) model_cp_async_16(dst, src, 16, HERE)
#define cp_async_16_zfill(dst, src, bytes) model_cp_async_16(dst, src, bytes, HERE)
#define cp_async_commit_group() model_cp_async_commit_group(HERE)
#define cp_async_wait_group(n) model_cp_async_wait_group(n, HERE)
#define cp_async_mbarrier_arrive_noinc(bar) model_cp_async_mbarrier_arrive(bar, HERE)

#endif
#endif
