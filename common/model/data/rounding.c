/* rounding.c - see rounding.h. */
#include "rounding.h"

#include <string.h>

#include "matrix.h"

enum {
    COLUMNS = 8,         /* at a time */
    NO_EXPONENT = -1000, /* of a zero: below all others */
    NOT_FINITE = 128,
};

/* Of a number of the type, which has a smallest one: below it numbers are subnormal. */
static int exponent_of(MatrixType type, float x) {
    static const int smallest[] = {[MATRIX_BF16] = -126, [MATRIX_F16] = -14, [MATRIX_E4M3] = -6};
    uint32_t bits = model_bits(x);
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    return bits << 1 == 0 ? NO_EXPONENT : exponent < smallest[type] ? smallest[type] : exponent;
}

static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x with its fraction cut off after this many bits. */
static float cut(double x, int bits) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u &= ~(uint64_t)0 << (52 - bits);
    memcpy(&x, &u, sizeof x);
    return (float)x;
}

static int larger(int x, int y) { return x > y ? x : y; }

/* COLUMNS sums of one row. a, b: of the first k; the next lie WGMMA_M and n further. */
static void sums(MatrixType type, float *d, const float *a, const int *exponent_a, const float *b,
                 const int *exponent_b, int n) {
    const int fp8 = type == MATRIX_E4M3, depth = matrix_k(type);
    int largest[COLUMNS];
    double unit[COLUMNS], sum[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        largest[j] = exponent_of(MATRIX_BF16, d[j]); /* whose exponents are those of fp32 */
    }
    for (int k = 0; k < depth; k++) {
        for (int j = 0; j < COLUMNS; j++) {
            largest[j] = larger(largest[j], exponent_a[k * WGMMA_M] + exponent_b[k * n + j]);
        }
    }
    for (int j = 0; j < COLUMNS; j++) {
        unit[j] = power_of_two((fp8 ? 13 : 25) - larger(largest[j], -500));
        sum[j] = (double)(int32_t)(d[j] * unit[j]);
    }
    for (int k = 0; k < depth; k++) {
        double factor = a[k * WGMMA_M];
        for (int j = 0; j < COLUMNS; j++) {
            sum[j] += (double)(int32_t)(factor * b[k * n + j] * unit[j]);
        }
    }
    for (int j = 0; j < COLUMNS; j++) {
        d[j] = cut(sum[j] / unit[j], fp8 ? 13 : 23);
    }
}

void rounding_multiply(MatrixType type, float *d, const float *a, const float *b, int n, int accumulate) {
    static int exponent_a[MATRIX_MAX_K * WGMMA_M], exponent_b[MATRIX_MAX_K * WGMMA_MAX_N];
    const int depth = matrix_k(type);
    int largest = NO_EXPONENT;
    for (int i = 0; i < depth * WGMMA_M; i++) {
        exponent_a[i] = exponent_of(type, a[i]);
        largest = larger(largest, exponent_a[i]);
    }
    for (int i = 0; i < depth * n; i++) {
        exponent_b[i] = exponent_of(type, b[i]);
        largest = larger(largest, exponent_b[i]);
    }
    for (int i = 0; i < WGMMA_M * n; i++) {
        d[i] = accumulate ? d[i] : 0;
        largest = larger(largest, exponent_of(MATRIX_BF16, d[i]));
    }
    if (largest >= NOT_FINITE) {
        wgmma_multiply(d, a, b, n, depth, 1);
        return;
    }
    for (int row = 0; row < WGMMA_M; row++) {
        for (int column = 0; column < n; column += COLUMNS) {
            sums(type, &d[row * n + column], &a[row], &exponent_a[row], &b[column], &exponent_b[column], n);
        }
    }
}
