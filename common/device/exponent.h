/* exponent.h - powers of two, and logarithms, as the special-function unit computes them. PTX 9.7.3.
 *
 * An SM computes 16 of these results per clock, compared with 128 sums or products. Results that are too small for a
 * normal number of fp32 are zero. */
#ifndef EXPONENT_H
#define EXPONENT_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* 2^x, with a relative error of 2^-22; of -infinity 0. PTX 9.7.3.21. */
DEVICE float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* The logarithm to base 2, with an error of 2^-22 of 1 or, outside 0.5 .. 2, of the result; of 0 -infinity. PTX
 * 9.7.3.20. */
DEVICE float log2_approx(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#elif defined(GEMM_MODEL)

#define exp2_approx(x) model_exp2(x)
#define log2_approx(x) log2f(x)

#endif
#endif
