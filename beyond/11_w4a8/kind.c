/* kind.c - a product of e4m3 and weights of 4 bits, whose rows belong to experts, as a problem. */
#include "../../common/harness/problem.h"

/* The share that a draw gives an expert: 0 to 15, and nothing for one in four. */
static int share_of_expert(uint64_t seed, int expert) {
    uint64_t draw = draw_of(stream_of(seed, OPERAND_FIRST_ROW), (uint64_t)expert);
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

static int w4a8_operands(const Shape *shape, const Gemm *gemm, OperandShape *list) {
    int count = 0, groups = ceil_div(gemm->k, SCALE_K), experts = shape->experts;
    long long rows = (long long)experts * gemm->n;
    list[count++] = (OperandShape){OPERAND_A, "A", TYPE_E4M3, 0, gemm->m, gemm->k, gemm->lda};
    list[count++] = (OperandShape){OPERAND_B, "weights", TYPE_INT4, 1, rows, gemm->k, gemm->k};
    list[count++] = (OperandShape){OPERAND_SCALE_B, "scale B", TYPE_BF16, 1, rows, groups, groups};
    list[count++] = padded_rows(OPERAND_SCALE_A, "scale A", TYPE_FP32, 1, gemm->m, shape->pad);
    list[count++] = (OperandShape){OPERAND_FIRST_ROW, "first rows", TYPE_INT32, 0, 1, experts + 1, experts + 1};
    return count;
}

static GemmStatus w4a8_open(Problem *problem) {
    size_t bytes = ((size_t)problem->shape.experts + 1) * sizeof(int);
    void *rows = NULL;
    GEMM_TRY(allocate_on_host(&rows, bytes, "first rows"));
    problem->host_first_row = rows;
    expert_rows(problem->seed, problem->gemm.m, problem->shape.experts, problem->host_first_row);
    return problem->backend->copy_in(problem->first_row.data, problem->host_first_row, bytes);
}

static void w4a8_place(const Problem *problem, int on_host, Operands *at) {
    at->w4a8 = (W4a8){(const e4m3 *)problem->a.data,
                      (const float *)problem->scale_a.data,
                      (const int8_t *)(on_host ? problem->host_b : problem->b.data),
                      (const bf16 *)(on_host ? problem->host_scale_b : problem->scale_b.data),
                      problem->shape.experts,
                      (const int *)problem->first_row.data,
                      problem->host_first_row};
}
static void w4a8_text(const Shape *shape, const Gemm *g, char *text, size_t size) {
    char product[128];
    int experts = shape->experts;
    product_text(g, product);
    snprintf(text, size, "C[%d][%d] = %s, e4m3 * int4 of %d expert%s, with scales for %d of k", g->m, g->n, product,
             experts, experts > 1 ? "s" : "", SCALE_K);
}

const KindRecord kind_of_w4a8 = {.name = "w4a8",
                                 .type = TYPE_E4M3,
                                 .operands = w4a8_operands,
                                 .place = w4a8_place,
                                 .text = w4a8_text,
                                 .eps = eps_of_blocks,
                                 .max_exact_k = (1 << 24) / (28 * 4) - 1,
                                 .is_sum = 1,
                                 .has_experts = 1,
                                 .open = w4a8_open};
