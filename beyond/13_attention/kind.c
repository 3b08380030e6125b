/* kind.c - attention as a problem, on the host: see kind.h. */
#include "kind.h"

/* Whether the operands are e4m3. */
static int is_e4m3(const Shape *shape) { return shape->kind == KIND_ATTENTION_E4M3; }

static int fits(const Shape *shape, char *message) {
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

static void sizes(const Shape *shape, Gemm *gemm, int *columns_a, int *columns_b) {
    Heads heads = kind_heads(shape);
    gemm->m = shape->m * heads.batches;
    gemm->n = *columns_a = ceil_div(shape->n, heads.size) * heads.size;
    *columns_b = heads.kv * heads.size;
}

/* V's rows are longer than K's; those of e4m3 are as long as there are keys. */
static int ld_of_v(const Shape *shape, const Gemm *gemm) {
    return (!is_e4m3(shape) ? gemm->ldb : ceil_div(gemm->k, 16) * 16) + 2 * shape->pad;
}

Attention attention_of(const Shape *shape, const Gemm *g) {
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
    if (is_e4m3(shape)) {
        a.v_stride[1] = (long long)ld[2] * heads.size;
        a.v_stride[0] = a.v_stride[1] * heads.kv;
    }
    return a;
}

static double flop(const Shape *shape, const Gemm *g) {
    Attention a = attention_of(shape, g);
    double seen = 0; /* keys that all queries of a head see */
    for (int query = 0; query < a.queries; query++) {
        int keys = keys_seen(&a, query) - first_key_seen(&a, query);
        seen += keys > 0 ? keys : 0;
    }
    return 4.0 * g->n * a.batches * seen;
}

static void text_of(const Shape *shape, const Gemm *g, char *text, size_t size) {
    char window[64] = "";
    Heads heads = kind_heads(shape);
    if (heads.window) {
        snprintf(window, sizeof window, ", window of %d", heads.window);
    }
    snprintf(text, size, "O = softmax(Q K^T) V%s, %d x %d heads of %d, %d of K and V, %d queries, %d keys%s%s",
             is_e4m3(shape) ? ", e4m3" : "", heads.batches, g->n / heads.size, heads.size, heads.kv,
             g->m / heads.batches, g->k, heads.causal ? ", causal" : "", window);
}

static int operands(const Shape *shape, const Gemm *gemm, OperandShape list[OPERANDS]) {
    DataType type = is_e4m3(shape) ? TYPE_E4M3 : TYPE_BF16;
    int count = 0;
    Heads heads = kind_heads(shape);
    long long rows = (long long)heads.batches * gemm->k;
    int columns = heads.kv * heads.size;
    list[count++] = (OperandShape){OPERAND_A, "Q", type, 0, gemm->m, gemm->n, gemm->lda};
    list[count++] = (OperandShape){OPERAND_B, "K", type, 0, rows, columns, gemm->ldb};
    list[count] = (OperandShape){OPERAND_V, "V", type, 0, rows, columns, ld_of_v(shape, gemm)};
    if (is_e4m3(shape)) { /* V is stored as columns */
        list[count].rows = (long long)heads.batches * columns;
        list[count].columns = gemm->k;
    }
    return count + 1;
}

static void place(const Problem *problem, int on_host, Operands *at) {
    AttentionE4m3 *e = (AttentionE4m3 *)at->other;
    Attention *a = (Attention *)at->other;
    *a = attention_of(&problem->shape, &problem->gemm);
    if (is_e4m3(&problem->shape)) {
        e->q = (const e4m3 *)problem->a.data;
        e->k = (const e4m3 *)problem->b.data;
        e->v = (const e4m3 *)problem->v.data;
    } else {
        a->q = (const bf16 *)problem->a.data;
        a->k = (const bf16 *)problem->b.data;
        a->v = (const bf16 *)problem->v.data;
    }
    a->o = problem->gemm.c;
    a->lse = (float *)(on_host ? problem->lse.data : problem->expected_lse.data);
}
static_assert(sizeof(AttentionE4m3) <= sizeof(((Operands *)0)->other), "a Problem has room for it");

static double eps(int k) {
    (void)k;
    return 1; /* the magnitude is the bound */
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static GemmStatus attention_on_host(const ReferencePart *part, double *expected, float *magnitude) {
    const Attention *a = attention_in(&part->operands);
    void *weight;
    GEMM_TRY(allocate_on_host(&weight, 2 * (size_t)a->keys * sizeof(double), "a row of weights"));
    for (int row = part->first_row; row < part->end_row; row++) {
        for (int head = 0; head < a->heads; head++) {
            attention_row(part, row, head, 0, 1, (double *)weight, expected, magnitude);
        }
    }
    free(weight);
    return GEMM_OK;
}

/* ---- logarithms of the sums -------------------------------------------------------------------------------------- */

/* One logarithm for each query of all heads, and a guard. */
enum { LSE_GUARD = 256 };
static size_t lse_count(const Problem *problem) {
    Attention a = attention_of(&problem->shape, &problem->gemm);
    return (size_t)a.batches * (size_t)a.heads * (size_t)a.queries;
}

static GemmStatus open_lse(Problem *problem) {
    size_t count = lse_count(problem);
    GEMM_TRY(problem->backend->allocate(&problem->lse, (count + LSE_GUARD) * sizeof(float), "logarithms"));
    return problem->backend->allocate(&problem->expected_lse, 2 * count * sizeof(float), "reference logarithms");
}

static GemmStatus poison_lse(const Problem *problem) {
    void *nan;
    GEMM_TRY(allocate_on_host(&nan, problem->lse.bytes, "logarithms"));
    memset(nan, 0xff, problem->lse.bytes);
    GemmStatus status = problem->backend->copy_in(problem->lse.data, nan, problem->lse.bytes);
    free(nan);
    return status;
}

/* The logarithms, and the guard after them. */
static GemmStatus check_lse(const Problem *problem, Tally *tally) {
    size_t count = lse_count(problem);
    void *memory;
    GEMM_TRY(allocate_on_host(&memory, problem->lse.bytes + problem->expected_lse.bytes, "logarithms"));
    float *got = (float *)memory, *expected = got + problem->lse.bytes / sizeof *got;
    GemmStatus status = problem->backend->copy_out(got, problem->lse.data, problem->lse.bytes);
    status =
        status ? status : problem->backend->copy_out(expected, problem->expected_lse.data, problem->expected_lse.bytes);
    for (size_t i = 0; status == GEMM_OK && i < count + LSE_GUARD; i++) {
        uint32_t bits = float_bits(got[i]);
        int right = i >= count ? bits == 0xffffffff
                               : got[i] == expected[2 * i] || fabsf(got[i] - expected[2 * i]) <= expected[2 * i + 1];
        if (!right && tally->lse_wrong++ == 0) {
            tally->lse_first = i;
            tally->lse_got = got[i];
            tally->lse_expected = i < count ? expected[2 * i] : NAN;
        }
        tally->fingerprint += i < count ? mix64((uint64_t)i << 32 ^ bits) : 0;
    }
    free(memory);
    return status;
}

/* ---- the records ------------------------------------------------------------------------------------------------- */

/* Defined in kind.cu; NULL in a program without GPU code. */
GemmStatus attention_on_gpu(const ReferencePart *part, double *expected, float *magnitude, Stream stream)
    __attribute__((weak));

#define RECORD(its_name, its_type)                                                                             \
    {                                                                                                          \
        .name = its_name, .type = its_type, .operands = operands, .place = place, .text = text_of, .eps = eps, \
        .fits = fits, .sizes = sizes, .flop = flop, .reference = attention_on_host,                            \
        .reference_on_gpu = attention_on_gpu, .open = open_lse, .poison = poison_lse, .check = check_lse       \
    }
const KindRecord kind_of_attention = RECORD("attention", TYPE_BF16);
const KindRecord kind_of_attention_e4m3 = RECORD("attention_e4m3", TYPE_E4M3);
