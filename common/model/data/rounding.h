/* rounding.h - sums as the tensor cores of an H200 make them, bit for bit (tests/conform, the group rounding).
 *
 * The manual promises nothing but "at least single precision" for most types, and not that for fp8. What was measured:
 * one instruction adds up all products of its 32 bytes of k and the accumulator at once, in fixed point. The unit is
 * a fixed number of bits below the largest exponent among them, where a product's exponent is the sum of its factors'.
 * Each product is cut off at the unit, and then the sum at the bits of a result.
 *
 *     type       bits below the largest exponent   bits of a result's fraction
 *     e4m3       13                                13
 *     bf16, f16  25                                23, as an fp32 has
 *
 * Of the accumulators of fp8, 10 bits of fp32 are therefore always 0. */
#ifndef ROUNDING_H
#define ROUNDING_H

#include "element.h"

/* wgmma_multiply() of matrix.h, rounded so if all numbers are finite. */
void rounding_multiply(MatrixType type, float *d, const float *a, const float *b, int n, int accumulate);

#endif
