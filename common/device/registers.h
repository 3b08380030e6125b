/* registers.h - moving registers between warpgroups. PTX 9.7.19.5. sm_90a, and the a and f targets after it.
 *
 * A CTA gets at launch the same number of registers for every thread. A producer needs few, a consumer that holds
 * accumulators many: the producer's warpgroup gives some back to the CTA's pool, the consumers' take them.
 *
 * N is a constant, a multiple of 8 in 24..256; of 256 a thread can name 255. All four warps of a warpgroup execute it.
 * ptxas must know the registers at launch, from __launch_bounds__(threads, 1) or __maxnreg__, or it ignores this (note
 * C7508). The sum over all warpgroups of 128 * N must not exceed what the launch allocated, or inc waits for ever. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

#define setmaxnreg_dec(N) /* Keeps N registers a thread, gives the rest to the pool. A warpgroup. */ \
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)(N)))
#define setmaxnreg_inc(N)                                                                                           \
    /* Waits until the pool has enough, then owns N registers a thread; the new ones are undefined. A warpgroup. */ \
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)(N)))

#elif defined(GEMM_MODEL)

#define setmaxnreg_dec(N) model_setmaxnreg(0, N, HERE)
#define setmaxnreg_inc(N) model_setmaxnreg(1, N, HERE)

#endif
#endif
