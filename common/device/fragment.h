/* fragment.h - what registers hold that were made by arithmetic: for the CPU model, which follows data from memory to
 * products, but not through a conversion. */
#ifndef FRAGMENT_H
#define FRAGMENT_H

#include "cuda_c.h"

#if defined(GEMM_MODEL) || defined(__CUDACC__)

/* No instruction. The registers a[4] of this warpgroup's threads are operand A of a product of e4m3: of `matrix` ("A"
 * or "B"), 64 rows from `row` on, and of each 32 elements from k on. The model then holds the product to it, as it does
 * where fragments come by ldmatrix: k must be that of the other operand, and what is stored must belong to these rows.
 * A store to one of the registers ends it, so call it behind the conversion. All threads. */
DEVICE void fragment_holds_e4m3(const uint32_t *a, const char *matrix, int row, int k) {
#ifdef GEMM_MODEL
    model_fragment_holds(a, matrix, 1, row, k);
#else
    (void)a, (void)matrix, (void)row, (void)k;
#endif
}

#endif
#endif
