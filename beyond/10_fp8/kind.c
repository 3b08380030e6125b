/* kind.c - a product of e4m3 with scales for blocks, as a problem. */
#include "../../common/harness/problem.h"

static int fp8_operands(const Shape *shape, const Gemm *gemm, OperandShape *list) {
    int groups = ceil_div(gemm->k, SCALE_K), count = two_operands(gemm, TYPE_E4M3, list);
    list[count++] = padded_rows(OPERAND_SCALE_A, "scale A", TYPE_FP32, groups, gemm->m, shape->pad);
    list[count++] = padded_rows(OPERAND_SCALE_B, "scale B", TYPE_FP32, ceil_div(gemm->n, SCALE_K), groups, shape->pad);
    return count;
}
static void fp8_place(const Problem *problem, int on_host, Operands *at) {
    OperandShape list[OPERANDS];
    (void)on_host;
    fp8_operands(&problem->shape, &problem->gemm, list);
    at->fp8 = (Fp8){(const e4m3 *)problem->a.data,
                    (const e4m3 *)problem->b.data,
                    (const float *)problem->scale_a.data,
                    (const float *)problem->scale_b.data,
                    list[2].ld,
                    list[3].ld};
}
static void fp8_text(const Shape *shape, const Gemm *g, char *text, size_t size) {
    char product[128];
    product_text(g, product);
    snprintf(text, size, "C[%d][%d] = %s, e4m3, with scales%s for %d of k", g->m, g->n, product,
             shape->kind == KIND_MX ? " of powers of two" : "", SCALE_K);
}

#define FP8_KIND(text_of_it)                                                                                   \
    {                                                                                                          \
        .name = text_of_it, .type = TYPE_E4M3, .operands = fp8_operands, .place = fp8_place, .text = fp8_text, \
        .eps = eps_of_blocks, .max_exact_k = (1 << 24) / (16 * 16) - 1, .is_sum = 1                            \
    }
const KindRecord kind_of_fp8 = FP8_KIND("fp8"), kind_of_mx = FP8_KIND("mx");
