/* registers.h - moving registers between warpgroups. PTX 9.7.19.5. sm_90a, and the a and f targets after it.
 *
 * A launch gives every thread of a CTA the same number of registers. A producer needs few; a consumer that holds
 * accumulators needs many. So the producer's warpgroup returns some to the CTA's pool, and the consumers take them.
 *
 * N is a constant, a multiple of 8 in 24..256. All four warps of a warpgroup call these. ptxas must know the number at
 * launch, from __launch_bounds__(threads, 1) or __maxnreg__; otherwise it ignores the instruction (note C7508). The sum
 * of 128 * N over all warpgroups must not exceed what the launch allocated; otherwise inc waits forever. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

#define setmaxnreg_dec(N) /* Keeps N registers a thread and returns the rest to the pool. A warpgroup. */ \
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)(N)))
#define setmaxnreg_inc(N)                                                                                          \
    /* Waits until the pool has enough, then has N registers a thread; the new ones are undefined. A warpgroup. */ \
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)(N)))

#elif defined(GEMM_MODEL)

#define setmaxnreg_dec(N) model_setmaxnreg(0, N, HERE)
#define setmaxnreg_inc(N) model_setmaxnreg(1, N, HERE)

#endif
#endif
