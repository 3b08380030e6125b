/* The kinds of problem: e4m3 by its bits; operands that are what kind.h says; and a tolerance that a correct result
 * passes, also with the sums of 14 bits that tensor cores make of e4m3, and a wrong one does not. backend_checks.h
 * tests the reference itself. */
#include "host_backend.h"

#include "model/data/matrix.h"
#include "model/data/rounding.h"
#include "tap.h"

/* ---- e4m3 ---- */

static void e4m3_by_its_bits(void) {
    int values = 0, same = 0, nan = 0, midpoints = 0, beside = 0;
    for (int bits = 0; bits < 256; bits++) {
        float value = e4m3_value((e4m3)bits), other = matrix_element(MATRIX_E4M3, (uint32_t)bits);
        if (isnan(value)) {
            nan++;
            same += isnan(other);
            continue;
        }
        values += value == other && !signbit(value) == !(bits & 0x80);
        same += round_to_e4m3((double)value) == bits;
        if ((bits & 0x7f) < 0x7e) { /* to the next one away from zero: the even one of the two gets the middle */
            double next = (double)e4m3_value((e4m3)(bits + 1)), middle = ((double)value + next) / 2;
            midpoints += round_to_e4m3(middle) == (bits & 1 ? bits + 1 : bits);
            beside += round_to_e4m3(middle + (next - (double)value) * 1e-9) == bits + 1 &&
                      round_to_e4m3(middle - (next - (double)value) * 1e-9) == bits;
        }
    }
    is_int(nan, 2, "two codes of e4m3 are NaN");
    is_int(values, 254, "the others have the values that the model's tensor cores give them");
    is_int(same, 256, "every code rounds to itself");
    is_int(midpoints, 2 * 126, "the middle of two codes rounds to the even one");
    is_int(beside, 2 * 126, "what is beside the middle, to the nearer one");
    ok(e4m3_value(0x7e) == 448 && e4m3_value(0x08) == 0x1p-6f && e4m3_value(0x01) == 0x1p-9f,
       "the largest is 448, the least normal 2^-6, the least of all 2^-9");
    ok(round_to_e4m3(1e30) == 0x7e && round_to_e4m3(-465) == 0xfe && round_to_e4m3(INFINITY) == 0x7e,
       "what is too large becomes 448");
    ok(isnan(e4m3_value(round_to_e4m3(NAN))), "NaN stays NaN");
    ok(round_to_e4m3(-0.0) == 0x80 && round_to_e4m3(-1e-9) == 0x80, "zero keeps its sign");
}

/* ---- a problem in plain memory ---- */

static void open_case(Problem *p, Kind kind, int m, int n, int k, int experts, DataKind data) {
    open_problem(p, (Shape){m, n, k, 8, kind, experts, {0}}, 7, data);
}

static int expert_of_row(const Problem *c, int row) {
    int e = 0;
    while (c->host_first_row && !(c->host_first_row[e] <= row && row < c->host_first_row[e + 1])) {
        e++;
    }
    return e;
}

/* ---- what a kernel of FP8 or W4A8 gives ---- */

/* What is wrong with it. */
typedef enum {
    RIGHT,
    LOSES_STEP,    /* the second k32 step, or the first if there is no other */
    SCALE_OF_NEXT, /* the scales of one block are the next one's */
    SCALE_ONE_ROW, /* a row's first scale is the next one's: a row of A for FP8, of the weights for W4A8 */
    FAULTS
} Fault;

static const char *const fault_names[] = {"right", "a k32 step missing", "a block with the next one's scales",
                                          "a block with the next row's scale"};

static float value_of_a(const Problem *c, int row, int k) {
    const e4m3 *a = c->shape.kind == KIND_FP8 ? c->operands.fp8.a : c->operands.w4a8.a;
    return k < c->gemm.k ? e4m3_value(a[row * c->gemm.lda + k]) : 0;
}

static float value_of_b(const Problem *c, int expert, int column, int k) {
    const Gemm *g = &c->gemm;
    return k >= g->k                   ? 0
           : c->shape.kind == KIND_FP8 ? e4m3_value(c->operands.fp8.b[column * g->ldb + k])
                                       : (float)c->operands.w4a8.weights[(expert * g->n + column) * g->k + k];
}

/* The scale of 128 products from k on. */
static float scale_at(const Problem *c, int expert, int row, int column, int k) {
    const Gemm *g = &c->gemm;
    const Fp8 *f = &c->operands.fp8;
    return c->shape.kind == KIND_FP8
               ? f->scale_a[k / 128 * f->ld_scale_a + row] * f->scale_b[column / 128 * f->ld_scale_b + k / 128]
               : bf16_value(c->operands.w4a8.scale_b[(expert * g->n + column) * ((g->k + 127) / 128) + k / 128]);
}

enum { M = 24, N = 40 };

/* Adds a k32 step to sums, as the tensor cores of an H200 round them. The rows of one expert after the other. */
static void add_step(const Problem *c, float *sums, int k) {
    for (int expert = 0; expert < c->shape.experts; expert++) {
        static float a[MATRIX_MAX_K * WGMMA_M], b[MATRIX_MAX_K * N];
        for (int i = 0; i < 32; i++) {
            for (int row = 0; row < M; row++) {
                a[i * WGMMA_M + row] = expert_of_row(c, row) == expert ? value_of_a(c, row, k + i) : 0;
            }
            for (int column = 0; column < N; column++) {
                b[i * N + column] = value_of_b(c, expert, column, k + i);
            }
        }
        rounding_multiply(MATRIX_E4M3, sums, a, b, N, 1);
    }
}

static Tally judged(const Problem *c, Fault fault) {
    static float sums[WGMMA_M * N];
    float all[M][N] = {{0}};
    const int k = c->gemm.k, is_fp8 = c->shape.kind == KIND_FP8;
    for (int block = 0; block < k; block += 128) {
        memset(sums, 0, sizeof sums);
        for (int step = block; step < min_int(block + 128, k); step += 32) {
            if (fault != LOSES_STEP || step != (k > 32 ? 32 : 0)) {
                add_step(c, sums, step);
            }
        }
        const int scale_k = fault == SCALE_OF_NEXT && block == 0 ? min_int(128, k - 1) : block,
                  next = fault == SCALE_ONE_ROW && block == 0;
        for (int i = 0; i < M * N; i++) {
            const int row = i / N, column = i % N, expert = expert_of_row(c, row);
            all[row][column] +=
                sums[i] * scale_at(c, expert, (row + (next && is_fp8)) % M, (column + (next && !is_fp8)) % N, scale_k);
        }
    }
    problem_poison(c);
    for (int i = 0; i < M * N; i++) {
        const float scale = is_fp8 ? 1 : c->operands.w4a8.scale_a[i / N];
        c->gemm.c[i / N * c->gemm.ldc + i % N] = round_to_bf16((double)(all[i / N][i % N] * scale));
    }
    Tally tally;
    check_block(&c->view, 0, &tally);
    return tally;
}

static void tolerance_of_14_bits(Kind kind, int k) {
    for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
        Problem c;
        open_case(&c, kind, M, N, k, kind == KIND_W4A8 ? 3 : 1, data);
        Tally tally = judged(&c, RIGHT);
        if (!ok(tally_is_right(&tally) && tally.worst < 0.1f, "%s, k %d, %s: a right result passes",
                kind_record(kind)->name, k, data_names[data])) {
            diag("%llu wrong", (unsigned long long)tally.wrong);
        }
        for (Fault fault = LOSES_STEP; fault < FAULTS; fault++) {
            if (fault != SCALE_OF_NEXT || k > 128) {
                tally = judged(&c, fault);
                ok(tally.wrong > M * N / 10, "%s is found", fault_names[fault]);
                ok(data == DATA_NORMAL || fault != LOSES_STEP || k <= 32 || says(&c, "missing?"), "and named");
            }
        }
        problem_close(&c);
    }
}

/* ---- GELU ---- */

typedef enum { BY_ERF, BY_TANH, BY_ROUGH_TANH, WITHOUT_BIAS, WITHOUT_GELU, BIAS_OF_NEXT, RELU, GELU_FAULTS } GeluWay;

static float gelu_as(float x, GeluWay way) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    /* tanh.approx.f32 is off by 2^-10.987 of its value at most. */
    float tanh_of = tanhf(inner) * (way == BY_ROUGH_TANH ? 1 + (x < 0 ? 0x1.02p-11f : -0x1.02p-11f) : 1);
    switch (way) {
    case BY_TANH:
    case BY_ROUGH_TANH: return 0.5f * x * (1 + tanh_of);
    case WITHOUT_GELU: return x;
    case RELU: return x > 0 ? x : 0;
    default: return 0.5f * x * (1 + erff(x * 0.70710678f));
    }
}

static void tolerance_of_gelu(int k) {
    static const char *const names[] = {"erf", "tanh", "tanh.approx", "no bias", "no GELU", "the next column's bias",
                                        "ReLU"};
    for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
        Problem c;
        open_case(&c, KIND_BIAS_GELU, 40, 48, k, 1, data);
        for (GeluWay way = BY_ERF; way < GELU_FAULTS; way++) {
            Tally tally;
            problem_poison(&c);
            for (int row = 0; row < c.gemm.m; row++) {
                for (int column = 0; column < c.gemm.n; column++) {
                    float sum = 0;
                    for (int i = 0; i < k; i++) {
                        sum +=
                            bf16_value(c.gemm.a[row * c.gemm.lda + i]) * bf16_value(c.gemm.b[column * c.gemm.ldb + i]);
                    }
                    int from = way == BIAS_OF_NEXT ? (column + 1) % c.gemm.n : column;
                    sum += way == WITHOUT_BIAS ? 0 : bf16_value(c.operands.gelu.bias[from]);
                    c.gemm.c[row * c.gemm.ldc + column] = round_to_bf16((double)gelu_as(sum, way));
                }
            }
            check_block(&c.view, 0, &tally);
            if (way <= BY_ROUGH_TANH) {
                ok(tally_is_right(&tally), "GELU by %s passes", names[way]);
            } else {
                ok(tally.wrong > 40 * 48 / 5, "%s is found", names[way]);
            }
        }
        problem_close(&c);
    }
}

/* ---- operands ---- */

static void experts_share_rows(void) {
    int first[65], uneven = 0, none = 0, experts_seen = 0, faults = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (int m = 1; m <= 4096; m *= 4) {
            expert_rows(seed, m, 64, first);
            faults += first[0] != 0 || first[64] != m;
            for (int e = 0; e < 64; e++) {
                faults += first[e + 1] < first[e];
                none += m == 4096 && first[e + 1] == first[e];
                uneven += m == 4096 && first[e + 1] - first[e] > 2 * m / 64;
                experts_seen += m == 4096;
            }
        }
    }
    is_int(faults, 0, "every row has one expert, in order");
    ok(none > experts_seen / 8 && none < experts_seen / 2, "some experts have none");
    ok(uneven > experts_seen / 50, "and some twice their share");
}

/* After a row lies what no kernel may use. That the numbers within it are small enough is seen where chapters 10 and 11
 * are exact, and where 11 packs weights. */
static void rows_end_in_nan(Kind kind, DataKind data) {
    Problem c;
    open_case(&c, kind, 37, 150, 300, 1, data);
    const Buffer *buffers[OPERANDS] = {&c.a, &c.b, &c.bias, &c.scale_a, &c.scale_b, &c.first_row, &c.v};
    OperandShape list[OPERANDS];
    int faults = 0, count = kind_record(kind)->operands(&c.shape, &c.gemm, list);
    for (const OperandShape *o = list; o < list + count; o++) {
        for (long long i = 0; i < o->rows * o->ld && o->type != TYPE_INT32; i++) {
            const char *p = (const char *)buffers[o->id]->data + i * type_bytes(o->type);
            float value = o->type == TYPE_BF16   ? bf16_value(*(const bf16 *)(const void *)p)
                          : o->type == TYPE_E4M3 ? e4m3_value(*(const e4m3 *)(const void *)p)
                          : o->type == TYPE_FP32 ? *(const float *)(const void *)p
                                                 : (float)*(const int8_t *)p;
            faults += isnan(value) != (i % o->ld >= o->columns);
        }
    }
    is_int(faults, 0, kind_record(kind)->name);
    problem_close(&c);
}

int main(void) {
    e4m3_by_its_bits();
    experts_share_rows();
    for (Kind kind = 0; kind < KINDS; kind++) {
        for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
            rows_end_in_nan(kind, data);
        }
    }
    static const int depths[] = {32, 100, 128, 333, 1024, 8192};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        tolerance_of_14_bits(KIND_FP8, depths[i]);
        tolerance_of_14_bits(KIND_W4A8, depths[i]);
    }
    /* In the least unit of a sum, of the largest products times the largest scales. */
    int fp8_k = kind_max_exact_k(KIND_FP8), w4a8_k = kind_max_exact_k(KIND_W4A8);
    ok(fp8_k * 4.0 * 4 * 2 * 2 * 4 < 0x1p24 && w4a8_k * 4.0 * 7 * 2 * 2 < 0x1p24, "integers are exact up to their k");
    ok((fp8_k + 2) * 4.0 * 4 * 2 * 2 * 4 > 0x1p24 && (w4a8_k + 2) * 4.0 * 7 * 2 * 2 > 0x1p24, "... and not far beyond");
    ok(fabs(gelu(1.5) - 0.75 * (1 + erf(1.5 / sqrt(2)))) < 1e-15, "GELU is x Phi(x)");
    tolerance_of_gelu(1);
    tolerance_of_gelu(64);
    tolerance_of_gelu(1000);
    return tap_done();
}
