/* kind.h - attention as a problem: its reference in fp64 and its tolerance. Host and kernel: kind.c and kind.cu.
 *
 * KIND_ATTENTION: 1, as reference and magnitude are made otherwise: the magnitude is the bound. An element of O is a
 * sum of shares w v, where the weights w = exp(s) / sum of exp(s) add up to 1. Three things go wrong with them.
 *
 * Weights are rounded to bf16 before they are multiplied, but not before they are added up: each is off by up to
 * 2^-8 of itself. All in one direction that were 2^-8 sum|w v|. They point at random, so that the error passes 8 *
 * 2^-8 sqrt(sum of (w v)^2) in less than one element of 10^13 (as above): the smaller of the two counts. With a
 * thousand keys and normal data it is the second by a factor of two, with 16384 by eight.
 *
 * A score is a sum of head_size products in fp32: off by accumulation_eps(head_size) times the scale times
 * sum|q||k|, and by as much as the rounding of itself times log2(e). ex2.approx is off by 2^-22 of its result. The
 * sum of exponentials, and the sums of w v, are of as many terms as there are keys: accumulation_eps(keys). A
 * running maximum scales them down some times more, by factors that are off by 2^-22: 2^-20 covers it. A weight's
 * error comes in twice, itself and in the sum that it is divided by.
 *
 * What that finds: with S keys of normal data the shares of a step of 128 keys left out are sqrt(128) * 1.6 / S of
 * size, and the bound is 0.05 / sqrt(S) + 0.0002: at S = 16384 0.0011 beside 0.0006. One key too many or too few
 * moves the last query by 1.6 / S, more than the bound up to some hundred keys, and its logarithm by 1 / S, which is
 * found up to some thousand; and the first queries of a causal problem have few keys at any size. A rescale left out
 * changes weights by factors (tests/unit/test_attention.c).
 *
 * KIND_ATTENTION_E4M3: the same, with these differences. A score's products are cut off as in KIND_FP8, in one
 * block. Weights are multiplied by a power of two before they are rounded, so that the largest is 256 and the least
 * step, 2^-9, is 2^-17 of it; without that it were 2^-9, and a thousand keys with little weight each would count for
 * nothing or too much. A weight is off by up to 2^-4 of itself, or 2^-18 of the largest. An error that is uniform
 * between two bounds passes 5 of them times the root of the number as seldom as 8 were passed above. All steps of
 * k32 add to one O, which is not promoted: each cuts it off, 2^-13 of it in the worst case and always towards zero,
 * and 32 products at random: 16 * 2^-13 are five standard deviations of one step. The errors of the scores do not
 * know V either, and count like the weights'. */
#ifndef ATTENTION_KIND_H
#define ATTENTION_KIND_H

#include "../../common/harness/problem.h"

/* In a Problem's operands, whose members are of both types: an AttentionE4m3 begins with an Attention. The
 * reference's lse is what a chapter's should be, and what it may be off by: [..][2]. */
HOST_DEVICE const Attention *attention_in(const Operands *o) { return (const Attention *)o->other; }
HOST_DEVICE const AttentionE4m3 *attention_e4m3_in(const Operands *o) { return (const AttentionE4m3 *)o->other; }

/* All but the pointers. Q, K, V and O are [batch][token][head][size], O as C[m][n], K and V have leading dimensions of
 * their own, and V of e4m3 is [batch][head][size][token]. */
#ifdef __cplusplus
extern "C"
#endif
    Attention
    attention_of(const Shape *shape, const Gemm *gemm);

HOST_DEVICE double attention_element(const bf16 *matrix, const e4m3 *matrix_e4m3, const long long *stride, int batch,
                                     int head, int row, int column) {
    long long at = batch * stride[0] + head * stride[1] + row * stride[2] + column;
    return matrix ? (double)bf16_value(matrix[at]) : (double)e4m3_value(matrix_e4m3[at]);
}
HOST_DEVICE double attention_q(const Operands *o, int batch, int head, int query, int column) {
    const Attention *a = attention_in(o);
    return attention_element(a->q, attention_e4m3_in(o)->q, a->q_stride, batch, head, query, column);
}
HOST_DEVICE double attention_k(const Operands *o, int batch, int head, int key, int column) {
    const Attention *a = attention_in(o);
    return attention_element(a->k, attention_e4m3_in(o)->k, a->k_stride, batch, head / (a->heads / a->kv_heads), key,
                             column);
}
HOST_DEVICE double attention_v(const Operands *o, int batch, int head, int key, int column) {
    const Attention *a = attention_in(o);
    int row = a->v ? key : column, place = a->v ? column : key;
    return attention_element(a->v, attention_e4m3_in(o)->v, a->v_stride, batch, head / (a->heads / a->kv_heads), row,
                             place);
}

/* Keys first_key_seen() .. keys_seen() - 1 are the query's; the latter may be below 0. */
HOST_DEVICE int first_key_seen(const Attention *a, int query) {
    int first = query + 1 + a->keys - a->queries - a->window;
    return a->window > 0 && first > 0 ? first : 0;
}
HOST_DEVICE int keys_seen(const Attention *a, int query) {
    return a->causal ? min_int(a->keys, query + 1 + a->keys - a->queries) : a->keys;
}

/* A score; and the sum of its products' sizes, times the scale. */
HOST_DEVICE double attention_score(const Operands *o, int batch, int head, int query, int key, double *size) {
    const Attention *a = attention_in(o);
    double sum = 0;
    *size = 0;
    for (int column = 0; column < a->head_size; column++) {
        double product = attention_q(o, batch, head, query, column) * attention_k(o, batch, head, key, column);
        sum += product;
        *size += fabs(product);
    }
    *size *= (double)a->scale;
    return sum * (double)a->scale;
}

/* What a score, in units of 1 of the exponent, may be off by, its exponential as a share of itself, and a sum of
 * exponentials as a share of it: see kind_eps(). score_size: the largest of the row. */
HOST_DEVICE double attention_weight_error(const Attention *a, double score_size) {
    double of_score = a->q ? roundings_of(a->head_size) : 0x1p-13 * 8.5 + roundings_of(4);
    return (of_score + 0x1p-22) * score_size + roundings_of(a->keys) + 0x1p-20;
}

/* What an element of O may be off by before its last rounding; of the shares w v that add up to it, the sum of their
 * sizes and of their squares; `values`: what the sum of sizes were if each key had the largest weight. */
HOST_DEVICE double attention_allowed(const Attention *a, double size, double squares, double values,
                                     double score_size) {
    double random = (a->q ? 8 : 5) * sqrt(squares), error = 2 * attention_weight_error(a, score_size);
    random = random < size ? random : size;
    if (a->q) {
        return 0x1p-8 * random + error * size;
    }
    return (0x1p-4 + 0x1p-13 * (a->keys / 32.0 + 3 * sqrt((double)a->keys)) + error) * random + 0x1p-18 * values;
}

/* Writes what lse should be and may be off by. */
HOST_DEVICE void attention_lse(const Attention *a, int batch, int head, int query, double largest, double sum,
                               double score_size) {
    float *out = a->lse + 2 * (((size_t)batch * (size_t)a->heads + (size_t)head) * (size_t)a->queries + (size_t)query);
    double logarithm = sum > 0 ? largest + log(sum) : -INFINITY;
    out[0] = (float)logarithm;
    out[1] = (float)(attention_weight_error(a, score_size) + (sum > 0 ? 0x1p-22 * fabs(logarithm) : 0));
}

#endif
