/* kind.c - see kind.h. */
#include "kind.h"

#include <limits.h>

const char *const kind_names[KINDS + 1] = {"bf16", "bias_gelu", "fp8", "w4a8", "attention", "attention_e4m3", NULL};

static int is_e4m3(Kind kind) { return kind == KIND_FP8 || kind == KIND_W4A8 || kind == KIND_ATTENTION_E4M3; }

int kind_row_unit(Kind kind) { return is_e4m3(kind) ? 16 : 8; }

Heads kind_heads(const Shape *shape) {
    Heads heads = shape->heads;
    heads.size = heads.size ? heads.size : 128;
    heads.kv = heads.kv ? heads.kv : ceil_div(shape->n, heads.size);
    heads.batches = heads.batches ? heads.batches : 1;
    return heads;
}

int kind_heads_fit(const Shape *shape, char *message) {
    Heads heads = kind_heads(shape);
    int of_q = ceil_div(shape->n, heads.size), rows = shape->m > shape->k ? shape->m : shape->k;
    if (of_q % heads.kv != 0) {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "--kv-heads %d: N = %d are %d heads of %d; a divisor of that is accepted", heads.kv, shape->n, of_q,
                 heads.size);
        return 0;
    }
    if (rows > MAX_SIZE / heads.batches) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "--batches %d of %d rows: %d rows in all are accepted", heads.batches,
                 rows, MAX_SIZE);
        return 0;
    }
    return 1;
}

/* V's rows are longer than K's; those of e4m3 are as long as there are keys. */
static int ld_of_v(const Shape *shape, const Gemm *gemm) {
    return (shape->kind == KIND_ATTENTION ? gemm->ldb : ceil_div(gemm->k, 16) * 16) + 2 * shape->pad;
}

Attention kind_attention(const Shape *shape, const Gemm *g) {
    Heads heads = kind_heads(shape);
    Attention a = {.batches = heads.batches,
                   .heads = g->n / heads.size,
                   .kv_heads = heads.kv,
                   .queries = g->m / heads.batches,
                   .keys = g->k,
                   .head_size = heads.size,
                   .causal = heads.causal,
                   .window = heads.window,
                   .scale = (float)(1 / sqrt(heads.size))};
    long long *stride[] = {a.q_stride, a.k_stride, a.v_stride, a.o_stride};
    int ld[] = {g->lda, g->ldb, ld_of_v(shape, g), g->ldc};
    for (int i = 0; i < 4; i++) {
        stride[i][0] = (long long)ld[i] * (i % 3 == 0 ? a.queries : a.keys);
        stride[i][1] = heads.size;
        stride[i][2] = ld[i];
    }
    if (shape->kind == KIND_ATTENTION_E4M3) {
        a.v_stride[1] = (long long)ld[2] * heads.size;
        a.v_stride[0] = a.v_stride[1] * heads.kv;
    }
    return a;
}

double kind_flop(const Shape *shape, const Gemm *g) {
    if (!is_attention(shape->kind)) {
        return 2.0 * g->m * g->n * g->k;
    }
    Attention a = kind_attention(shape, g);
    double seen = 0; /* by all queries of a head */
    for (int query = 0; query < a.queries; query++) {
        int keys = keys_seen(&a, query) - first_key_seen(&a, query);
        seen += keys > 0 ? keys : 0;
    }
    return 4.0 * g->n * a.batches * seen;
}

void kind_text(const Shape *shape, const Gemm *g, char *text, size_t size) {
    char product[128];
    int experts = shape->experts;
    Heads heads = kind_heads(shape);
    snprintf(product, sizeof product, "A[%d][%d] * B[%d][%d]^T", g->m, g->k, g->n, g->k);
    switch (shape->kind) {
    case KIND_ATTENTION:
    case KIND_ATTENTION_E4M3:
        product[0] = '\0';
        if (heads.window) {
            snprintf(product, sizeof product, ", window of %d", heads.window);
        }
        snprintf(text, size, "O = softmax(Q K^T) V%s, %d x %d heads of %d, %d of K and V, %d queries, %d keys%s%s",
                 is_e4m3(shape->kind) ? ", e4m3" : "", heads.batches, g->n / heads.size, heads.size, heads.kv,
                 g->m / heads.batches, g->k, heads.causal ? ", causal" : "", product);
        break;
    case KIND_BIAS_GELU: snprintf(text, size, "C[%d][%d] = gelu(%s + bias)", g->m, g->n, product); break;
    case KIND_FP8:
        snprintf(text, size, "C[%d][%d] = %s, e4m3, with scales for %d of k", g->m, g->n, product, SCALE_K);
        break;
    case KIND_W4A8:
        snprintf(text, size, "C[%d][%d] = %s, e4m3 * int4 of %d expert%s, with scales for %d of k", g->m, g->n, product,
                 experts, experts > 1 ? "s" : "", SCALE_K);
        break;
    default: snprintf(text, size, "C[%d][%d] = %s", g->m, g->n, product);
    }
}

/* A matrix whose rows are padded to 16 bytes, and by `pad` elements more. */
static OperandShape padded_rows(OperandId id, const char *name, DataType type, int rows, int columns, int pad) {
    int unit = 16 / type_bytes(type);
    return (OperandShape){id, name, type, 0, rows, columns, (columns + unit - 1) / unit * unit + pad};
}

int kind_operands(const Shape *shape, const Gemm *gemm, OperandShape list[OPERANDS]) {
    Kind kind = shape->kind;
    int count = 0, groups = ceil_div(gemm->k, SCALE_K), experts = shape->experts, pad = shape->pad;
    DataType type = is_e4m3(kind) ? TYPE_E4M3 : TYPE_BF16;
    if (is_attention(kind)) {
        Heads heads = kind_heads(shape);
        long long rows = (long long)heads.batches * gemm->k;
        int columns = heads.kv * heads.size;
        list[count++] = (OperandShape){OPERAND_A, "Q", type, 0, gemm->m, gemm->n, gemm->lda};
        list[count++] = (OperandShape){OPERAND_B, "K", type, 0, rows, columns, gemm->ldb};
        list[count] = (OperandShape){OPERAND_V, "V", type, 0, rows, columns, ld_of_v(shape, gemm)};
        if (kind == KIND_ATTENTION_E4M3) { /* as columns */
            list[count].rows = (long long)heads.batches * columns;
            list[count].columns = gemm->k;
        }
        return count + 1;
    }
    list[count++] = (OperandShape){OPERAND_A, "A", type, 0, gemm->m, gemm->k, gemm->lda};
    if (kind == KIND_W4A8) {
        long long rows = (long long)experts * gemm->n;
        list[count++] = (OperandShape){OPERAND_B, "weights", TYPE_INT4, 1, rows, gemm->k, gemm->k};
        list[count++] = (OperandShape){OPERAND_SCALE_B, "scale B", TYPE_BF16, 1, rows, groups, groups};
        list[count++] = padded_rows(OPERAND_SCALE_A, "scale A", TYPE_FP32, 1, gemm->m, pad);
        list[count++] = (OperandShape){OPERAND_FIRST_ROW, "first rows", TYPE_INT32, 0, 1, experts + 1, experts + 1};
        return count;
    }
    list[count++] = (OperandShape){OPERAND_B, "B", type, 0, gemm->n, gemm->k, gemm->ldb};
    if (kind == KIND_BIAS_GELU) {
        list[count++] = padded_rows(OPERAND_BIAS, "bias", TYPE_BF16, 1, gemm->n, pad);
    }
    if (kind == KIND_FP8) {
        list[count++] = padded_rows(OPERAND_SCALE_A, "scale A", TYPE_FP32, groups, gemm->m, pad);
        list[count++] = padded_rows(OPERAND_SCALE_B, "scale B", TYPE_FP32, ceil_div(gemm->n, SCALE_K), groups, pad);
    }
    return count;
}

void fill_on_host(void *matrix, const OperandShape *shape, const DataSource *source) {
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
    double value = source_value(source, OPERAND_A, is_e4m3(source->kind) ? TYPE_E4M3 : TYPE_BF16, index);
    if (source->kind == KIND_FP8) {
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
    case KIND_FP8:
        return source_value(source, OPERAND_B, TYPE_E4M3, index) *
               source_value(source, OPERAND_SCALE_B, TYPE_FP32, row / SCALE_K * groups + group);
    case KIND_W4A8:
        return source_value(source, OPERAND_B, TYPE_INT4, index) *
               source_value(source, OPERAND_SCALE_B, TYPE_BF16, row * groups + group);
    default: return source_value(source, OPERAND_B, TYPE_BF16, index);
    }
}

/* The share that a draw gives an expert: 0 to 15, and nothing for one in four. */
static int share_of_expert(uint64_t seed, int expert) {
    uint64_t draw = draw_of(seed, OPERAND_FIRST_ROW, (uint64_t)expert);
    return draw & 3 ? 1 + (int)(draw >> 8 & 15) : 0;
}

void expert_rows(uint64_t seed, int m, int experts, int *first_row) {
    long long all = 0, before = 0;
    for (int e = 0; e < experts; e++) {
        all += share_of_expert(seed, e);
    }
    for (int e = 0; e < experts; e++) {
        first_row[e] = all > 0 ? (int)(m * before / all) : 0;
        before += share_of_expert(seed, e);
    }
    first_row[experts] = m;
}

int kind_is_exact(Kind kind, DataKind data) {
    return data != DATA_NORMAL && kind != KIND_BIAS_GELU && !is_attention(kind);
}

int kind_max_exact_k(Kind kind) {
    return is_attention(kind)  ? INT_MAX
           : kind == KIND_FP8  ? (1 << 24) / (16 * 16) - 1
           : kind == KIND_W4A8 ? (1 << 24) / (28 * 4) - 1
                               : MAX_EXACT_K;
}

double accumulation_eps(int k) { return roundings_of(k); }

double kind_eps(Kind kind, int k) {
    double blocks = ceil_div(k, SCALE_K);
    switch (kind) {
    case KIND_BF16: return accumulation_eps(k);
    case KIND_BIAS_GELU: return accumulation_eps(k + 1);
    case KIND_ATTENTION:
    case KIND_ATTENTION_E4M3: return 1;
    default: return 0x1p-13 * (0.5 + 8 / sqrt(blocks)) + accumulation_eps(4 * (int)blocks);
    }
}

/* Columns of C and steps of k that are worked on at a time: B's part, as doubles, stays in the L2 cache, and the sums of a few
 * columns in registers. Columns go by two: gcc and clang have SIMD instructions for it on any machine. */
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

static inline __attribute__((always_inline)) void reference_sums(const double *a, int steps, const int sizes,
                                                                 double *sum_out, double *size_out) {
    for (int first = 0; first < REFERENCE_COLUMNS / 2; first += REFERENCE_PAIRS) {
        Two sum[REFERENCE_PAIRS] = {{0}}, size[REFERENCE_PAIRS] = {{0}};
        for (int step = 0; step < steps; step++) {
            _Pragma("GCC unroll 4") for (int i = 0; i < REFERENCE_PAIRS; i++) {
                Two product = a[step] * reference_values[step][first + i];
                sum[i] += product;
                if (sizes) {
                    size[i] += (Two)((TwoWords)product & LLONG_MAX); /* without its sign */
                }
            }
        }
        memcpy(&sum_out[2 * first], sum, sizeof sum);
        memcpy(&size_out[2 * first], size, sizeof size);
    }
}

/* One head of one query. weight: [keys]. */
static void attention_row(const ReferencePart *part, int row, int head, double *weight, double *expected,
                          float *magnitude) {
    const Attention *a = &part->operands.attention;
    int batch = row / a->queries, query = row % a->queries, first = first_key_seen(a, query),
        keys = keys_seen(a, query);
    double largest = -INFINITY, sum = 0, score_size = 0;
    for (int key = first; key < keys; key++) {
        double size = 0;
        weight[key] = attention_score(&part->operands, batch, head, query, key, &size);
        largest = weight[key] > largest ? weight[key] : largest;
        score_size = size > score_size ? size : score_size;
    }
    for (int key = first; key < keys; key++) {
        weight[key] = exp(weight[key] - largest);
        sum += weight[key];
    }
    for (int column = 0; column < a->head_size; column++) {
        double value = 0, size = 0, squares = 0, values = 0;
        for (int key = first; key < keys; key++) {
            double v = attention_v(&part->operands, batch, head, key, column), share = weight[key] / sum * v;
            value += share;
            size += fabs(share);
            squares += share * share;
            values += fabs(v) / sum;
        }
        size_t at = (size_t)row * (size_t)part->gemm.n + (size_t)(head * a->head_size + column);
        expected[at] = value;
        magnitude[at] = (float)attention_allowed(a, size, squares, values, score_size);
    }
    attention_lse(a, batch, head, query, largest, sum, score_size);
}

static void attention_on_host(const ReferencePart *part, double *expected, float *magnitude) {
    const Attention *a = &part->operands.attention;
    double *weight = (double *)malloc((size_t)a->keys * sizeof *weight);
    if (weight == NULL) {
        fprintf(stderr, "out of memory: a row of %d weights for the reference\n", a->keys);
        exit(GEMM_DEVICE);
    }
    for (int row = part->first_row; row < part->end_row; row++) {
        for (int head = 0; head < a->heads; head++) {
            attention_row(part, row, head, weight, expected, magnitude);
        }
    }
    free(weight);
}

void reference_part_on_host(const ReferencePart *part, double *expected, float *magnitude) {
    if (is_attention(part->kind)) {
        attention_on_host(part, expected, magnitude);
        return;
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
                if (part->exact) {
                    reference_sums(a, steps, 0, sum, size);
                } else {
                    reference_sums(a, steps, 1, sum, size);
                }
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
}
