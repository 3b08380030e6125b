/* cp_async.h - Ampere's asynchronous copy, global to shared memory without registers. PTX 9.7.9.25.3.
 *
 * Each thread copies its own 16 bytes and waits for its own copies; a __syncthreads() after the wait makes the copies of
 * all threads visible to all. These copies are of the generic proxy, like ordinary stores. */
#ifndef CP_ASYNC_H
#define CP_ASYNC_H

#include "cuda_c.h"

/* cp_async_16(dst, src): start a copy of 16 bytes from global `src` to shared `dst`, both 16-byte aligned. Any thread.
 *
 * cp_async_16_zfill(dst, src, bytes): the same with `bytes` (0..16) from `src` and zeros after them. With bytes = 0
 * nothing is read. Slower: use it at edges.
 *
 * cp_async_commit_group(): close this thread's current group of copies; an empty group is allowed.
 *
 * cp_async_wait_group(N): this thread waits until at most its N latest groups are unfinished. N is a constant.
 *
 * cp_async_mbarrier_arrive_noinc(bar): when all copies that this thread has started are done, one arrival at `bar`, among
 * those for which it was initialised: in place of groups and waits. Who waits at `bar` may read what was copied; it says
 * nothing of the thread's own stores. PTX 9.7.13.15.15.
 *
 * cp_async_mbarrier_arrive(bar): the phase in progress first expects one arrival more, and so is no nearer to its end. */
#ifdef GEMM_MODEL

#define cp_async_16(dst, src) model_cp_async_16(dst, src, 16, HERE)
#define cp_async_16_zfill(dst, src, bytes) model_cp_async_16(dst, src, bytes, HERE)
#define cp_async_commit_group() model_cp_async_commit_group(HERE)
#define cp_async_wait_group(N) model_cp_async_wait_group(N, HERE)
#define cp_async_mbarrier_arrive_noinc(bar) model_cp_async_mbarrier_arrive(bar, 1, HERE)
#define cp_async_mbarrier_arrive(bar) model_cp_async_mbarrier_arrive(bar, 0, HERE)

#elif defined(__CUDACC__)

DEVICE void cp_async_16(void *dst, const void *src) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :
                 : "r"(shared_address(dst)), "l"(__cvta_generic_to_global(src))
                 : "memory");
}
DEVICE void cp_async_16_zfill(void *dst, const void *src, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(dst)), "l"(__cvta_generic_to_global(src)), "r"(bytes)
                 : "memory");
}
DEVICE void cp_async_commit_group(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

DEVICE void cp_async_mbarrier_arrive_noinc(void *bar) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}
DEVICE void cp_async_mbarrier_arrive(void *bar) {
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}

#define cp_async_wait_group(N) asm volatile("cp.async.wait_group %0;" ::"n"((int)(N)) : "memory")

#endif
#endif
