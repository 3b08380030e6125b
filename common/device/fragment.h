/* fragment.h - tells the CPU model what registers hold after arithmetic. The model follows data from memory to
 * products, but not through a conversion. */
#ifndef FRAGMENT_H
#define FRAGMENT_H

#include "cuda_c.h"

#if defined(GEMM_MODEL) || defined(__CUDACC__)

/* No instruction. The registers a[4] of this warpgroup's threads are operand A of a product of e4m3: of `matrix` ("A"
 * or "B"), 64 rows from `row` on, and 32 elements of each from k on. The model then checks the product, as it does with
 * fragments of ldmatrix: k must be that of the other operand, and the stored result must belong to these rows. A store
 * to one of the registers ends the statement, so call this after the conversion. All threads. */
DEVICE void fragment_holds_e4m3(const uint32_t *a, const char *matrix, int row, int k) {
#ifdef GEMM_MODEL
    model_fragment_holds(a, matrix, 1, row, k);
#else
    (void)a, (void)matrix, (void)row, (void)k;
#endif
}

#endif
#endif
