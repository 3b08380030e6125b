/* kinds.h - what a chapter may multiply instead of bf16, and the operands of each. */
#ifndef KINDS_H
#define KINDS_H

#include "device/cuda_c.h"

/* What is multiplied; C is bf16 [m][ldc] in all. common/harness/kind.h: data, reference in fp64, tolerance of each. */
typedef enum {
    KIND_BF16,
    KIND_BIAS_GELU,
    KIND_FP8,
    KIND_MX,
    KIND_W4A8,
    KIND_ATTENTION,
    KIND_ATTENTION_E4M3,
    KINDS
} Kind;

/* C = gelu(A B^T + bias) */
typedef struct {
    const bf16 *bias; /* [n] */
} BiasGelu;

enum { SCALE_K = 128 }; /* steps of k that share a scale */

/* C[m][n] = sum over k of a[m][k] * scale_a(m, k / 128) * b[n][k] * scale_b(n / 128, k / 128). Of
 * KIND_MX, which Blackwell multiplies as mxf8f6f4, the scales are powers of two. */
typedef struct {
    const e4m3 *a, *b;    /* [m][lda], [n][ldb]; K-major; lda, ldb multiples of 16 */
    const float *scale_a; /* [ceil(k / 128)][ld_scale_a]: for one row x 128 of k; consecutive rows are neighbours */
    const float *scale_b; /* [ceil(n / 128)][ld_scale_b]: for 128 rows x 128 of k */
    int ld_scale_a, ld_scale_b; /* multiples of 4 */
} Fp8;

/* C[m][n] = scale_a[m] * sum over k of a[m][k] * weights[e][n][k] * scale_b[e][n][k / 128], e the expert of row m */
typedef struct {
    const e4m3 *a;         /* [m][lda], lda a multiple of 16 */
    const float *scale_a;  /* [m] */
    const int8_t *weights; /* HOST memory: [experts * n][k], -7 .. 7: what prepare() packs; launch() does not read it */
    const bf16 *scale_b;   /* HOST memory: [experts * n][ceil(k / 128)]; packed too */
    int experts;           /* 1: dense */
    const int
        *first_row; /* device: [experts + 1]; rows first_row[e] .. first_row[e + 1] - 1 are expert e's; may be none */
    const int *first_row_host; /* the same on the host */
} W4a8;

/* o[b][h][i] = sum over j of p[j] * v[b][h'][j], p[j] = exp(s[j]) / sum over j of exp(s[j]), s[j] = scale *
 * q[b][h][i] k[b][h'][j], h' = h / (heads / kv_heads). Causal: query i sees keys j <= i + keys - queries. window >
 * 0: and no j <= i + keys - queries - window. lse[b][h][i]: the logarithm of the sum. A query that sees no key has o
 * = 0 and lse = -infinity. Elements of a head lie together; strides count elements, multiples of 8: from one batch
 * to the next, from head to head, from token to token. All on the device. */
typedef struct {
    const bf16 *q, *k, *v;
    bf16 *o;
    float *lse; /* [batches][heads][queries] */
    int batches, heads, kv_heads, queries, keys, head_size, causal, window;
    float scale;
    long long q_stride[3], k_stride[3], v_stride[3], o_stride[3];
} Attention;

/* The same of e4m3. V is K-major: a row has a column of a head, [b][h'][column][keys], and v_stride goes from batch
 * to batch, head to head, column to column. Strides of Q, K and V are multiples of 16. */
typedef struct {
    Attention a; /* its q, k and v are NULL */
    const e4m3 *q, *k, *v;
} AttentionE4m3;

#endif
