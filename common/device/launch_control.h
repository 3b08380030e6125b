/* launch_control.h - cluster launch control: a running cluster takes over one that has not started. sm_100 and later,
 * sm_120 too. Nothing here has run on such a GPU. Section numbers are of PTX ISA 9.1.
 *
 * A grid has one cluster per tile. A cluster begins with its own tile, requests the next tile, and computes the tile
 * that it receives, until a request fails. Then no cluster is left to cancel, or the GPU needs the SM for other work,
 * and the remaining clusters start as usual. An answer is 16 bytes in shared memory, 16-byte aligned. It arrives like a
 * TMA load: through the async proxy, counted by an mbarrier. After a failed request a thread must not request again,
 * even if clusters are left. */
#ifndef LAUNCH_CONTROL_H
#define LAUNCH_CONTROL_H

#include "mbarrier.h"

#ifdef PTX_FUNCTIONS

/* Requests a cluster. The answer lands at this offset in every CTA of the own cluster, 16 bytes on the barrier at the
 * offset of `bar` in each. One thread. sm_100a, and others with an a or f. PTX 9.7.13.17. */
DEVICE void launch_try_cancel_multicast(void *answer, MBarrier *bar) {
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
                 ".multicast::cluster::all.b128 [%0], [%1];" ::"r"(shared_address(answer)),
                 "r"(shared_address(bar))
                 : "memory");
}
/* Returns 1 if a cluster was cancelled, and the number of its first CTA in *first_cta. Reads the answer by an ordinary
 * load. PTX 9.7.13.18. */
DEVICE int launch_query_cancel(const void *answer, int *first_cta) {
    uint32_t given;
    asm volatile("{\n"
                 ".reg .b128 answer;\n"
                 ".reg .pred p;\n"
                 "ld.shared.b128 answer, [%2];\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, answer;\n"
                 "}\n"
                 : "=&r"(given), "+r"(*first_cta)
                 : "r"(shared_address(answer))
                 : "memory");
    return (int)given;
}

#elif defined(GEMM_MODEL)

#define launch_try_cancel_multicast(answer, bar) model_launch_try_cancel_multicast(answer, bar, HERE)
#define launch_query_cancel(answer, first_cta) model_launch_query_cancel(answer, first_cta, HERE)

#endif
#endif
