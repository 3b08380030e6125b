/* kind.h - attention as a problem: its reference in fp64 and its tolerance. Host and kernel: kind.c and kind.cu.
 *
 * KIND_ATTENTION: its eps is 1, because the magnitude is the bound itself. An element of O is a sum of shares w v,
 * where the weights w = exp(s) / sum of exp(s) add up to 1. Three kinds of error affect these weights.
 *
 * Weights are rounded to bf16 before they are multiplied, but not before they are added up: each is off by up to
 * 2^-8 of itself. If all errors had one direction, O would be off by 2^-8 sum|w v|. Their signs are random, so the
 * error exceeds 8 * 2^-8 sqrt(sum of (w v)^2) in less than one element of 10^13. The bound is the smaller of the two:
 * with a thousand keys and normal data the second one, by a factor of two; with 16384 keys, by a factor of eight.
 *
 * A score is a sum of head_size products in fp32: it is off by accumulation_eps(head_size) times the scale times
 * sum|q||k|, and by the rounding of the score times log2(e). ex2.approx is off by 2^-22 of its result. The sum of
 * exponentials and the sums of w v have one term per key: accumulation_eps(keys). A running maximum also scales these
 * sums down several times, by factors that are off by 2^-22: a bound of 2^-20 covers these errors. A weight's error
 * counts twice: in the weight, and in the sum that divides it.
 *
 * These bounds find the following errors. With S keys of normal data, a missing step of 128 keys changes O by about
 * sqrt(128) * 1.6 / S, and the bound is 0.05 / sqrt(S) + 0.0002: at S = 16384, 0.0011 against 0.0006. One key too many
 * or too few moves the last query by 1.6 / S, which exceeds the bound up to a few hundred keys, and its logarithm by
 * 1 / S, which is found up to a few thousand. The first queries of a causal problem have few keys at any size. A
 * missing rescale changes weights by whole factors (tests/unit/test_attention.c).
 *
 * KIND_ATTENTION_E4M3: the same, with these differences. A score's products are truncated as in KIND_FP8, in one
 * block. Weights are multiplied by a power of two before they are rounded, so that the largest is 256 and the smallest
 * step, 2^-9, is 2^-17 of it. Otherwise the step would be 2^-9 of it, and a thousand keys with little weight each would
 * count for nothing or too much. A weight is off by up to 2^-4 of itself, or 2^-18 of the largest. The sum of N errors
 * that are uniform within a bound exceeds 5 sqrt(N) bounds as rarely as the factor 8 above is exceeded. All k32 steps
 * add to one O, which is not promoted. Each step truncates O by 2^-13 in the worst case, always towards zero, and its
 * 32 products at random: 16 * 2^-13 is five standard deviations of one step. The errors of the scores do not depend on
 * V either, and count like those of the weights. */
#ifndef ATTENTION_KIND_H
#define ATTENTION_KIND_H

#include "../../common/harness/problem.h"

/* Read a Problem's operands as either type: an AttentionE4m3 begins with an Attention. The reference's lse holds the
 * expected value and the tolerance of each element of a chapter's lse: [..][2]. */
HOST_DEVICE const Attention *attention_in(const Operands *o) { return (const Attention *)o->other; }
HOST_DEVICE const AttentionE4m3 *attention_e4m3_in(const Operands *o) { return (const AttentionE4m3 *)o->other; }

/* Returns all members except the pointers. Q, K, V and O are [batch][token][head][size], with O as C[m][n]; K and V
 * have leading dimensions of their own; V of e4m3 is [batch][head][size][token]. */
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

/* A query sees keys first_key_seen() .. keys_seen() - 1; keys_seen() may be below 0. */
HOST_DEVICE int first_key_seen(const Attention *a, int query) {
    int first = query + 1 + a->keys - a->queries - a->window;
    return a->window > 0 && first > 0 ? first : 0;
}
HOST_DEVICE int keys_seen(const Attention *a, int query) {
    return a->causal ? min_int(a->keys, query + 1 + a->keys - a->queries) : a->keys;
}

/* Returns a score; `size` receives the sum of the absolute products, times the scale. */
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

/* The tolerance of a score (absolute, in the exponent), of its exponential and of a sum of exponentials (both
 * relative): see kind_eps(). score_size is the largest of the row. */
HOST_DEVICE double attention_weight_error(const Attention *a, double score_size) {
    double of_score = a->q ? accumulation_eps(a->head_size) : 0x1p-13 * 8.5 + accumulation_eps(4);
    return (of_score + 0x1p-22) * score_size + accumulation_eps(a->keys) + 0x1p-20;
}

/* The tolerance of an element of O before its last rounding. `size` and `squares` are the sums of the absolute shares
 * w v and of their squares; `values` is the sum of absolute shares if each key had the largest weight. */
HOST_DEVICE double attention_allowed(const Attention *a, double size, double squares, double values,
                                     double score_size) {
    double random = (a->q ? 8 : 5) * sqrt(squares), error = 2 * attention_weight_error(a, score_size);
    random = random < size ? random : size;
    if (a->q) {
        return 0x1p-8 * random + error * size;
    }
    return (0x1p-4 + 0x1p-13 * (a->keys / 32.0 + 3 * sqrt((double)a->keys)) + error) * random + 0x1p-18 * values;
}

/* Waits for all threads of the CTA; on the host there is only one. */
HOST_DEVICE void attention_barrier(void) {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
}

/* The reference of one head of one query, by `threads` threads of a CTA or by the single thread of the host. weight is
 * memory that these threads share, [2][keys]: a weight for each key, and the size of its score. */
HOST_DEVICE void attention_row(const ReferencePart *part, int row, int head, int thread, int threads, double *weight,
                               double *expected, float *magnitude) {
    const Attention *a = attention_in(&part->operands);
    int batch = row / a->queries, query = row % a->queries, first = first_key_seen(a, query);
    int keys = keys_seen(a, query);
    double largest = -INFINITY, score_size = 0, *size_of = weight + a->keys;
    attention_barrier(); /* all threads have finished with the previous row's weights */
    for (int key = first + thread; key < keys; key += threads) {
        weight[key] = attention_score(&part->operands, batch, head, query, key, &size_of[key]);
    }
    attention_barrier();
    for (int key = first; key < keys; key++) {
        largest = fmax(largest, weight[key]);
        score_size = fmax(score_size, size_of[key]);
    }
    attention_barrier(); /* all threads have read the scores; the weights may overwrite them */
    for (int key = first + thread; key < keys; key += threads) {
        weight[key] = exp(weight[key] - largest);
    }
    attention_barrier();
    for (int column = thread; column < a->head_size; column += threads) {
        double sum = 0, value = 0, size = 0, squares = 0, values = 0;
        for (int key = first; key < keys; key++) {
            double v = attention_v(&part->operands, batch, head, key, column), share = weight[key] * v;
            sum += weight[key];
            value += share;
            size += fabs(share);
            squares += share * share;
            values += fabs(v);
        }
        size_t at = (size_t)row * (size_t)part->gemm.n + (size_t)(head * a->head_size + column);
        double all = sum > 0 ? sum : 1; /* a query may see no key */
        expected[at] = value / all;
        magnitude[at] = (float)attention_allowed(a, size / all, squares / (all * all), values / all, score_size);
        if (column == 0) { /* the logarithm of the sum, and its tolerance */
            float *lse = a->lse + 2 * ((row - query) * (size_t)a->heads + (size_t)head * (size_t)a->queries + query);
            double logarithm = sum > 0 ? largest + log(sum) : -INFINITY;
            lse[0] = (float)logarithm;
            lse[1] = (float)(attention_weight_error(a, score_size) + (sum > 0 ? 0x1p-22 * fabs(logarithm) : 0));
        }
    }
}

#endif
