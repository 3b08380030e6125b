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
    static const int smallest[] = {
        [MATRIX_BF16] = -126, [MATRIX_F16] = -14, [MATRIX_E4M3] = -6, [MATRIX_E5M2] = -14, [MATRIX_TF32] = -126};
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    return bits << 1 == 0 ? NO_EXPONENT : exponent < smallest[type] ? smallest[type] : exponent;
}

static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x without what lies behind so many bits of its fraction. */
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
    const int fp8 = type == MATRIX_E4M3 || type == MATRIX_E5M2, depth = matrix_k(type);
    int largest[COLUMNS];
    double unit[COLUMNS], sum[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        largest[j] = exponent_of(MATRIX_TF32, d[j]);
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

/* The same where some number is not finite. */
static void sums_of_any(float *d, const float *a, const float *b, int n, int depth) {
    for (int j = 0; j < COLUMNS; j++) {
        for (int k = 0; k < depth; k++) {
            d[j] += a[k * WGMMA_M] * b[k * n + j];
        }
    }
}

static int is_finite(const int *exponent, int count, int stride) {
    int finite = 1;
    for (int i = 0; i < count; i++) {
        finite &= exponent[i * stride] < NOT_FINITE;
    }
    return finite;
}

void rounding_multiply(MatrixType type, float *d, const float *a, const float *b, int n, int accumulate) {
    static int exponent_a[MATRIX_MAX_K * WGMMA_M], exponent_b[MATRIX_MAX_K * WGMMA_MAX_N];
    const int depth = matrix_k(type);
    for (int i = 0; i < depth * WGMMA_M; i++) {
        exponent_a[i] = exponent_of(type, a[i]);
    }
    for (int i = 0; i < depth * n; i++) {
        exponent_b[i] = exponent_of(type, b[i]);
    }
    int finite_b = is_finite(exponent_b, depth * n, 1);
    for (int row = 0; row < WGMMA_M; row++) {
        int finite = finite_b && is_finite(&exponent_a[row], depth, WGMMA_M);
        for (int column = 0; column < n; column += COLUMNS) {
            float *at = &d[row * n + column];
            int finite_d = finite;
            for (int j = 0; j < COLUMNS; j++) {
                at[j] = accumulate ? at[j] : 0;
                finite_d &= exponent_of(MATRIX_TF32, at[j]) < NOT_FINITE;
            }
            if (finite_d) {
                sums(type, at, &a[row], &exponent_a[row], &b[column], &exponent_b[column], n);
            } else {
                sums_of_any(at, &a[row], &b[column], n, depth);
            }
        }
    }
}
