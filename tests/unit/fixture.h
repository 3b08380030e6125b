/* fixture.h - one small multiplication on the host, for the tests of the check: operands with NaN behind their rows, the
 * reference, and a guarded block for C that a test fills, breaks and has looked at. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <fenv.h>

#include "harness/check.h"
#include "harness/data.h"
#include "tap.h"

enum { FIXTURE_GUARD = 40 };

typedef struct {
    Gemm gemm; /* c is the first element of C in the block */
    ResultView view;
    DataKind data;
    bf16 *a, *b, *block;
    double *a_values, *b_values; /* the same, [m][lda] and [n][ldb] */
    double *expected;
    float *magnitude;
    bf16 *result; /* [m][n], the right result, computed once in plain order */
} Fixture;

/* The order in which fp32 sums are built; all are right. */
typedef enum {
    ORDER_FORWARD,
    ORDER_STEPS_OF_16, /* a sum of its own for each k16 step, then those added, as tensor cores do */
    ORDERS,
} Order;

static const char *const order_names[ORDERS] = {"forward", "in steps of 16"};

/* Steps of k that a broken kernel leaves out (times 0) or counts twice (times 2); count 0: none. */
typedef struct {
    int begin, count, times;
} Damage;

static const Damage NO_DAMAGE = {0, 0, 1};

static inline float sum_range(const float *products, int begin, int end, int step) {
    volatile float sum = 0; /* volatile: fp32 after every addition, in this order */
    for (int i = begin; step > 0 ? i < end : i >= end; i += step) {
        sum += products[i];
    }
    return sum;
}

static inline float sum_in_order(const float *products, int k, Order order) {
    volatile float sum = 0;
    switch (order) {
    case ORDER_STEPS_OF_16:
        for (int step = 0; step < k; step += 16) {
            sum += sum_range(products, step, min_int(step + 16, k), 1);
        }
        return sum;
    default: return sum_range(products, 0, k, 1);
    }
}

/* C[row][column] in fp32, rounded to bf16. */
static inline bf16 compute_element(const Fixture *f, int row, int column, Order order, Damage damage) {
    static float *products;
    static int room;
    if (f->gemm.k > room) {
        room = f->gemm.k;
        products = realloc(products, (size_t)room * sizeof *products);
    }
    for (int k = 0; k < f->gemm.k; k++) {
        products[k] =
            bf16_value(f->a[(size_t)row * f->gemm.lda + k]) * bf16_value(f->b[(size_t)column * f->gemm.ldb + k]);
        if (k >= damage.begin && k < damage.begin + damage.count) {
            products[k] *= (float)damage.times;
        }
    }
    float sum = sum_in_order(products, f->gemm.k, order);
    return round_to_bf16((double)sum);
}

static inline bf16 *element(const Fixture *f, int row, int column) {
    return &f->gemm.c[(size_t)row * f->gemm.ldc + column];
}

/* As the harness leaves the block before a launch. */
static inline void poison(const Fixture *f) {
    for (size_t i = 0; i < block_elements(&f->view); i++) {
        f->block[i] = unwritten_pattern(&f->view, i);
    }
}

static inline void compute(const Fixture *f, Order order, Damage damage) {
    poison(f);
    for (int row = 0; row < f->gemm.m; row++) {
        for (int column = 0; column < f->gemm.n; column++) {
            *element(f, row, column) = compute_element(f, row, column, order, damage);
        }
    }
}

/* The right result, without computing it again. */
static inline void put_right_result(const Fixture *f) {
    poison(f);
    for (int row = 0; row < f->gemm.m; row++) {
        memcpy(element(f, row, 0), f->result + (size_t)row * f->gemm.n, (size_t)f->gemm.n * sizeof(bf16));
    }
}

static inline bf16 *new_operand(int rows, int columns, int ld, DataKind data, uint64_t seed, MatrixId id) {
    bf16 *matrix = malloc((size_t)rows * ld * sizeof *matrix);
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < ld; column++) {
            matrix[(size_t)row * ld + column] =
                column < columns ? data_element(data, seed, id, (uint64_t)row * columns + column) : BF16_PADDING;
        }
    }
    return matrix;
}

static inline double *values_of(const bf16 *matrix, int rows, int ld) {
    double *values = malloc((size_t)rows * ld * sizeof *values);
    for (size_t i = 0; i < (size_t)rows * ld; i++) {
        values[i] = (double)bf16_value(matrix[i]);
    }
    return values;
}

static inline Fixture new_fixture(int m, int n, int k, DataKind data) {
    Fixture f = {.data = data};
    f.gemm = (Gemm){.m = m,
                    .n = n,
                    .k = k,
                    .lda = ceil_div(k, 8) * 8 + 8,
                    .ldb = ceil_div(k, 8) * 8 + 16,
                    .ldc = ceil_div(n, 8) * 8 + 24};
    f.a = new_operand(m, k, f.gemm.lda, data, 1, MATRIX_A);
    f.b = new_operand(n, k, f.gemm.ldb, data, 1, MATRIX_B);
    f.a_values = values_of(f.a, m, f.gemm.lda);
    f.b_values = values_of(f.b, n, f.gemm.ldb);
    f.expected = malloc((size_t)m * n * sizeof *f.expected);
    f.magnitude = malloc((size_t)m * n * sizeof *f.magnitude);
    f.block = malloc((2 * FIXTURE_GUARD + (size_t)m * f.gemm.ldc) * sizeof *f.block);
    f.result = malloc((size_t)m * n * sizeof *f.result);
    f.gemm.a = f.a;
    f.gemm.b = f.b;
    f.gemm.c = f.block + FIXTURE_GUARD;
    ReferencePart all = {.kind = KIND_BF16, .gemm = f.gemm, .end_row = m};
    reference_part_on_host(&all, f.expected, f.magnitude);
    f.view = (ResultView){.m = m,
                          .n = n,
                          .ldc = f.gemm.ldc,
                          .guard = FIXTURE_GUARD,
                          .block = f.block,
                          .expected = f.expected,
                          .magnitude = f.magnitude,
                          .exact = data == DATA_INTEGERS,
                          .eps = accumulation_eps(k)};
    for (int row = 0; row < m; row++) {
        for (int column = 0; column < n; column++) {
            f.result[(size_t)row * n + column] = compute_element(&f, row, column, ORDER_FORWARD, NO_DAMAGE);
        }
    }
    return f;
}

static inline void free_fixture(Fixture *f) {
    free(f->a);
    free(f->b);
    free(f->a_values);
    free(f->b_values);
    free(f->expected);
    free(f->magnitude);
    free(f->block);
    free(f->result);
    memset(f, 0, sizeof *f);
}

static inline Tally look(const Fixture *f) {
    Tally tally;
    check_block(&f->view, 0, &tally);
    return tally;
}

#endif
