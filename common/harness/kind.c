/* kind.c - see kind.h. */
#include "kind.h"

#include <limits.h>

#include "problem.h"

int kind_row_unit(Kind kind) { return 16 / type_bytes(kind_record(kind)->type); }

double kind_flop(const Shape *shape, const Gemm *g) {
    const KindRecord *kind = kind_record(shape->kind);
    return kind->flop ? kind->flop(shape, g) : 2.0 * g->m * g->n * g->k;
}

Heads kind_heads(const Shape *shape) {
    Heads heads = shape->heads;
    heads.size = heads.size ? heads.size : 128;
    heads.kv = heads.kv ? heads.kv : ceil_div(shape->n, heads.size);
    heads.batches = heads.batches ? heads.batches : 1;
    return heads;
}

/* A matrix whose rows are padded to 16 bytes, and by `pad` elements more. */
OperandShape padded_rows(OperandId id, const char *name, DataType type, int rows, int columns, int pad) {
    int unit = 16 / type_bytes(type);
    return (OperandShape){id, name, type, 0, rows, columns, (columns + unit - 1) / unit * unit + pad};
}

GemmStatus fill_on_host(void *matrix, const OperandShape *shape, const DataSource *source) {
    size_t bytes = (size_t)type_bytes(shape->type), ld = (size_t)shape->ld;
    for (long long row = 0; row < shape->rows; row++) {
        for (int column = 0; column < shape->ld; column++) {
            uint64_t index = (uint64_t)row * (uint64_t)shape->columns + (uint64_t)column;
            uint32_t bits = column < shape->columns ? element_bits(source, shape->id, shape->type, index)
                                                    : type_padding(shape->type);
            /* The host's and the GPU's bytes have the same order: the lowest first. */
            memcpy((char *)matrix + ((size_t)row * ld + (size_t)column) * bytes, &bits, bytes);
        }
    }
    return GEMM_OK;
}

static double source_value(const DataSource *source, OperandId id, DataType type, uint64_t index) {
    uint32_t bits = element_bits(source, id, type, index);
    float value;
    memcpy(&value, &bits, sizeof value);
    return type == TYPE_BF16   ? (double)bf16_value((bf16)bits)
           : type == TYPE_E4M3 ? (double)e4m3_value((e4m3)bits)
           : type == TYPE_INT4 ? (double)(int8_t)bits
                               : (double)value;
}

double source_a(const DataSource *source, const Gemm *gemm, int row, int k) {
    uint64_t index = (uint64_t)row * (uint64_t)gemm->k + (uint64_t)k;
    double value = source_value(source, OPERAND_A, kind_record(source->kind)->type, index);
    if (source->kind == KIND_FP8 || source->kind == KIND_MX) {
        index = (uint64_t)(k / SCALE_K) * (uint64_t)gemm->m + (uint64_t)row;
        value *= source_value(source, OPERAND_SCALE_A, TYPE_FP32, index);
    }
    return source->kind == KIND_W4A8 ? value * source_value(source, OPERAND_SCALE_A, TYPE_FP32, (uint64_t)row) : value;
}

double source_b(const DataSource *source, const Gemm *gemm, int expert, int column, int k) {
    uint64_t row = (uint64_t)expert * (uint64_t)gemm->n + (uint64_t)column,
             index = row * (uint64_t)gemm->k + (uint64_t)k;
    uint64_t groups = (uint64_t)ceil_div(gemm->k, SCALE_K), group = (uint64_t)(k / SCALE_K);
    switch (source->kind) {
    case KIND_MX:
    case KIND_FP8:
        return source_value(source, OPERAND_B, TYPE_E4M3, index) *
               source_value(source, OPERAND_SCALE_B, TYPE_FP32, row / SCALE_K * groups + group);
    case KIND_W4A8:
        return source_value(source, OPERAND_B, TYPE_INT4, index) *
               source_value(source, OPERAND_SCALE_B, TYPE_BF16, row * groups + group);
    default: return source_value(source, OPERAND_B, TYPE_BF16, index);
    }
}

int kind_is_exact(Kind kind, DataKind data) { return data != DATA_NORMAL && kind_record(kind)->max_exact_k > 0; }

int kind_max_exact_k(Kind kind) {
    int k = kind_record(kind)->max_exact_k;
    return k > 0 ? k : INT_MAX;
}

double kind_eps(Kind kind, int k) { return kind_record(kind)->eps(k); }

/* Columns of C and steps of k that are worked on at a time: B's part, as doubles, stays in the L2 cache, and the
 * sums of a few columns in registers. Columns go by two: gcc and clang have SIMD instructions for it on any machine. */
enum { REFERENCE_COLUMNS = 64, REFERENCE_STEPS = 256, REFERENCE_PAIRS = 4 };
typedef double Two __attribute__((vector_size(16)));
typedef long long TwoWords __attribute__((vector_size(16)));

/* [step][column / 2]: of B, zero beyond it. */
static Two reference_values[REFERENCE_STEPS][REFERENCE_COLUMNS / 2];

static void unpack_b(const ReferencePart *part, int first, int k_first) {
    for (int column = 0; column < REFERENCE_COLUMNS; column++) {
        for (int step = 0; step < REFERENCE_STEPS; step++) {
            int inside = first + column < part->gemm.n && k_first + step < part->gemm.k;
            reference_values[step][column / 2][column % 2] =
                inside ? reference_b(part, first + column, k_first + step) : 0;
        }
    }
}

static void reference_sums(const double *a, int steps, double *sum_out, double *size_out) {
    for (int first = 0; first < REFERENCE_COLUMNS / 2; first += REFERENCE_PAIRS) {
        Two sum[REFERENCE_PAIRS] = {{0}}, size[REFERENCE_PAIRS] = {{0}};
        for (int step = 0; step < steps; step++) {
            _Pragma("GCC unroll 4") for (int i = 0; i < REFERENCE_PAIRS; i++) {
                Two product = a[step] * reference_values[step][first + i];
                sum[i] += product;
                size[i] += (Two)((TwoWords)product & LLONG_MAX); /* without its sign */
            }
        }
        memcpy(&sum_out[2 * first], sum, sizeof sum);
        memcpy(&size_out[2 * first], size, sizeof size);
    }
}

GemmStatus reference_part_on_host(const ReferencePart *part, double *expected, float *magnitude) {
    const KindRecord *kind = kind_record(part->kind);
    if (kind->reference) {
        return kind->reference(part, expected, magnitude);
    }
    double a[REFERENCE_STEPS], sum[REFERENCE_COLUMNS], size[REFERENCE_COLUMNS];
    const Gemm *gemm = &part->gemm;
    for (int first = 0; first < gemm->n; first += REFERENCE_COLUMNS) {
        int columns = min_int(REFERENCE_COLUMNS, gemm->n - first);
        for (int k_first = 0; k_first < gemm->k; k_first += REFERENCE_STEPS) {
            int steps = min_int(REFERENCE_STEPS, gemm->k - k_first), is_last = k_first + steps == gemm->k;
            unpack_b(part, first, k_first);
            for (int row = part->first_row; row < part->end_row; row++) {
                double *sum_out = expected + (size_t)row * (size_t)gemm->n + first;
                float *size_out = magnitude + (size_t)row * (size_t)gemm->n + first;
                for (int step = 0; step < steps; step++) {
                    a[step] = reference_a(part, row, k_first + step);
                }
                reference_sums(a, steps, sum, size);
                for (int column = 0; column < columns; column++) {
                    sum_out[column] = k_first == 0 ? sum[column] : sum_out[column] + sum[column];
                    size_out[column] = (float)(k_first == 0 ? size[column] : (double)size_out[column] + size[column]);
                    if (is_last) {
                        reference_end(part, row, first + column, sum_out[column], (double)size_out[column],
                                      &sum_out[column], &size_out[column]);
                    }
                }
            }
        }
    }
    return GEMM_OK;
}

/* ---- the records ------------------------------------------------------------------------------------------------- */

void product_text(const Gemm *g, char text[128]) {
    snprintf(text, 128, "A[%d][%d] * B[%d][%d]^T", g->m, g->k, g->n, g->k);
}

double eps_of_blocks(int k) {
    double blocks = ceil_div(k, SCALE_K);
    return 0x1p-13 * (0.5 + 8 / sqrt(blocks)) + accumulation_eps(4 * (int)blocks);
}

int two_operands(const Gemm *gemm, DataType type, OperandShape *list) {
    list[0] = (OperandShape){OPERAND_A, "A", type, 0, gemm->m, gemm->k, gemm->lda};
    list[1] = (OperandShape){OPERAND_B, "B", type, 0, gemm->n, gemm->k, gemm->ldb};
    return 2;
}

static int bf16_operands(const Shape *shape, const Gemm *gemm, OperandShape *list) {
    (void)shape;
    return two_operands(gemm, TYPE_BF16, list);
}
static void bf16_text(const Shape *shape, const Gemm *g, char *text, size_t size) {
    char product[128];
    (void)shape;
    product_text(g, product);
    snprintf(text, size, "C[%d][%d] = %s", g->m, g->n, product);
}

const KindRecord *kind_record(Kind kind) {
    static const KindRecord bf16_kind = {.name = "bf16",
                                         .type = TYPE_BF16,
                                         .operands = bf16_operands,
                                         .text = bf16_text,
                                         .eps = accumulation_eps,
                                         .max_exact_k = MAX_EXACT_K,
                                         .is_sum = 1};
    static const KindRecord *const records[KINDS] = {[KIND_BF16] = &bf16_kind,
                                                     [KIND_BIAS_GELU] = &kind_of_bias_gelu,
                                                     [KIND_FP8] = &kind_of_fp8,
                                                     [KIND_MX] = &kind_of_mx,
                                                     [KIND_W4A8] = &kind_of_w4a8,
                                                     [KIND_ATTENTION] = &kind_of_attention,
                                                     [KIND_ATTENTION_E4M3] = &kind_of_attention_e4m3};
    return records[kind];
}
