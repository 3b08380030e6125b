/* Is the host's reference the product that gemm.h defines? Against values worked out by hand, and against the plainest
 * loop for shapes that cross its blocks. */
#include "fixture.h"

enum { X = BF16_PADDING }; /* behind a row: must not be used */

static const bf16 ZERO = 0x0000, ONE = 0x3f80, TWO = 0x4000, THREE = 0x4040, FOUR = 0x4080, HALF = 0x3f00;
static const bf16 MINUS_ONE = 0xbf80, MINUS_TWO = 0xc000;

/* 2 x 3 x 4 with lda 8, ldb 16:
 *
 *         1  2  3  4            1  0  0  0
 *     A = 0 -1 .5 -2        B = 1  1  1  1        C = A * B^T
 *                              -2  4 .5  1 */
static void by_hand(void) {
    const bf16 a[2][8] = {{ONE, TWO, THREE, FOUR, X, X, X, X}, {ZERO, MINUS_ONE, HALF, MINUS_TWO, X, X, X, X}};
    const bf16 b[3][16] = {{ONE, ZERO, ZERO, ZERO, X, X, X, X, X, X, X, X, X, X, X, X},
                           {ONE, ONE, ONE, ONE, X, X, X, X, X, X, X, X, X, X, X, X},
                           {MINUS_TWO, FOUR, HALF, ONE, X, X, X, X, X, X, X, X, X, X, X, X}};
    const double c[6] = {1, 10, 11.5, 0, -2.5, -5.75};
    const float sizes[6] = {1, 10, 15.5f, 0, 3.5f, 6.25f};
    Gemm problem = {.m = 2, .n = 3, .k = 4, .lda = 8, .ldb = 16, .ldc = 8, .a = a[0], .b = b[0]};
    double expected[7] = {NAN, NAN, NAN, NAN, NAN, NAN, 42};
    float magnitude[7] = {NAN, NAN, NAN, NAN, NAN, NAN, 42};
    reference_on_host(&problem, expected, magnitude);
    for (int i = 0; i < 6; i++) {
        if (!ok(expected[i] == c[i], "2 x 3 x 4: C[%d][%d] is %g", i / 3, i % 3, c[i])) {
            diag("got %g", expected[i]);
        }
        if (!ok(magnitude[i] == sizes[i], "and sum|a||b| is %g", (double)sizes[i])) {
            diag("got %g", (double)magnitude[i]);
        }
    }
    ok(expected[6] == 42 && magnitude[6] == 42, "nothing is written behind them");

    Gemm turned = {.m = 3, .n = 2, .k = 4, .lda = 16, .ldb = 8, .ldc = 8, .a = b[0], .b = a[0]};
    reference_on_host(&turned, expected, magnitude);
    ok(expected[1] == c[3] && expected[2] == c[1] && expected[5] == c[5], "3 x 2 x 4: the operands in exchange");

    Gemm shorter = {.m = 2, .n = 3, .k = 1, .lda = 8, .ldb = 16, .ldc = 8, .a = a[0], .b = b[0]};
    reference_on_host(&shorter, expected, magnitude);
    ok(expected[0] == 1 && expected[1] == 1 && expected[2] == -2 && expected[5] == 0,
       "2 x 3 x 1: the first column alone");
}

/* 2^30 + 1 - 2^30: fp32 would lose the 1. */
static void accumulates_in_fp64(void) {
    const bf16 a[8] = {0x4e80, ONE, 0xce80, X, X, X, X, X}, b[8] = {ONE, ONE, ONE, X, X, X, X, X};
    Gemm problem = {.m = 1, .n = 1, .k = 3, .lda = 8, .ldb = 8, .ldc = 8, .a = a, .b = b};
    double expected;
    float magnitude;
    reference_on_host(&problem, &expected, &magnitude);
    if (!ok(expected == 1, "2^30 + 1 - 2^30 is 1")) {
        diag("got %g", expected);
    }
}

static void against_plain_loop(int m, int n, int k) {
    Fixture f = new_fixture(m, n, k, DATA_NORMAL);
    int wrong = 0;
    for (int row = 0; row < m; row++) {
        for (int column = 0; column < n; column++) {
            long double sum = 0, size = 0;
            for (int i = 0; i < k; i++) {
                long double product = (long double)bf16_value(f.a[row * f.gemm.lda + i]) *
                                      (long double)bf16_value(f.b[column * f.gemm.ldb + i]);
                sum += product;
                size += product < 0 ? -product : product;
            }
            wrong += !(fabs((double)(f.expected[row * n + column] - sum)) <= 1e-12 * (double)size);
            wrong += !(fabs((double)(f.magnitude[row * n + column] - size)) <= 1e-6 * (double)size);
        }
    }
    if (!ok(wrong == 0, "%d x %d x %d agrees with the plain loop", m, n, k)) {
        diag("%d values differ", wrong);
    }
    free_fixture(&f);
}

int main(void) {
    by_hand();
    accumulates_in_fp64();
    static const int sizes[][3] = {{1, 1, 1},    {1, 200, 3},  {200, 1, 3},    {3, 64, 256},
                                   {2, 65, 257}, {5, 63, 255}, {4, 130, 1000}, {129, 7, 513}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        against_plain_loop(sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    return tap_done();
}
