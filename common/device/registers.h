/* registers.h - moving registers between warpgroups. PTX 9.7.19.5. sm_90a.
 *
 * A CTA gets at launch the same number of registers for every thread. A producer needs few, a consumer that holds
 * accumulators many: the producer's warpgroup gives some back to the CTA's pool, the consumers' take them. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include "cuda_c.h"

/* setmaxnreg_dec(N): keep N registers a thread, give the rest to the pool.
 * setmaxnreg_inc(N): wait until the pool has enough, then own N registers a thread; the new ones are undefined.
 * N is a constant, a multiple of 8 in 24..256. All four warps of a warpgroup execute it. The kernel must be compiled with
 * __launch_bounds__(threads, 1), or ptxas ignores it (note C7508). The sum over all warpgroups of 128 * N must not exceed
 * what the launch allocated, or inc waits for ever. */
#ifdef GEMM_MODEL

#define setmaxnreg_dec(N) model_setmaxnreg(0, N, HERE)
#define setmaxnreg_inc(N) model_setmaxnreg(1, N, HERE)

#elif defined(__CUDACC__)

#define setmaxnreg_dec(N) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)(N)))
#define setmaxnreg_inc(N) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)(N)))

#endif
#endif
