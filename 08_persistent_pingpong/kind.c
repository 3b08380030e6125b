/* kind.c - C = gelu(A * B^T + bias), as a problem: what the exercise bias_gelu computes. */
#include "../common/harness/problem.h"

/* As for bf16, of k + 1 terms. GELU changes its argument's error by its slope, 1.13 at most. It may be evaluated with
 * tanh.approx.f32, whose error is 2^-11 of its value: of C = x/2 (1 + tanh(..)) that is |x| 2^-12. The tanh form of
 * GELU differs from the definition by up to 4.8e-4, and by less than |x| 2^-11 everywhere. So both are accepted, with
 * |x| 2^-11 in all (GELU_EVALUATION). The check still finds real faults: with normal data x is of size 1 to 2, where
 * 2^-11 is a quarter of C's own last rounding. A missing GELU, a missing bias and the bias of the next column each make
 * nearly all elements wrong. */
static double eps_of_bias(int k) { return accumulation_eps(k + 1); }

static int gelu_operands(const Shape *shape, const Gemm *gemm, OperandShape *list) {
    int count = two_operands(gemm, TYPE_BF16, list);
    list[count] = padded_rows(OPERAND_BIAS, "bias", TYPE_BF16, 1, gemm->n, shape->pad);
    return count + 1;
}
static void gelu_place(const Problem *problem, int on_host, Operands *at) {
    (void)on_host;
    at->gelu.bias = (const bf16 *)problem->bias.data;
}
static void gelu_text(const Shape *shape, const Gemm *g, char *text, size_t size) {
    char product[128];
    (void)shape;
    product_text(g, product);
    snprintf(text, size, "C[%d][%d] = gelu(%s + bias)", g->m, g->n, product);
}

const KindRecord kind_of_bias_gelu = {.name = "bias_gelu",
                                      .type = TYPE_BF16,
                                      .operands = gelu_operands,
                                      .place = gelu_place,
                                      .text = gelu_text,
                                      .eps = eps_of_bias,
                                      .max_exact_k = 0,
                                      .is_sum = 0};
