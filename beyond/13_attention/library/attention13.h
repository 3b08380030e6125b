/* attention13.h - libattention13: the kernels of beyond/13_attention for a program of your own. One Hopper GPU (sm_90).
 *
 *     O[i] = sum over j of P[i][j] * V[j],   P[i][j] = exp(s[i][j]) / sum over j of exp(s[i][j]),   s = scale * Q K^T
 *
 * Link -lattention13 (libattention13.so has its own CUDA runtime), or libattention13.a with -lcudart or
 * -lcudart_static. Any thread may call at any time. A launch may be captured in a CUDA graph, but not a process's first
 * one. */
#ifndef ATTENTION13_H
#define ATTENTION13_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ATTENTION13_OK = 0,
    ATTENTION13_BAD_ARGUMENT = 2, /* the text names it, and what is accepted; nothing was launched */
    ATTENTION13_FAILED = 3,       /* no Hopper GPU, or a CUDA call failed: the text says which */
} Attention13Status;

enum { ATTENTION13_TEXT_BYTES = 512 };

/* Device addresses; elements are bf16, those of a head lie together. Strides count elements: from batch to batch, from
 * head to head, from token to token; multiples of 8, above 0. Addresses are multiples of 16. Causal: query i sees the
 * keys j <= i + keys - queries. A query that sees no key gets zeros, and the logarithm -infinity. Batches, queries and
 * keys may be 0; the address of a tensor without elements may be NULL. */
typedef struct {
    int64_t batches, heads, kv_heads; /* kv_heads divides heads */
    int64_t queries, keys, head_size; /* head_size is 64 or 128 */
    const void *q, *k, *v;
    void *o;
    float *lse; /* [batches][heads][queries]: the logarithms of the sums of the exponentials */
    int64_t q_stride[3], k_stride[3], v_stride[3], o_stride[3];
    struct CUstream_st *stream; /* cudaStream_t of the current device; NULL: the default stream */
    int32_t causal;
    float scale;
} Attention13;

/* Starts it on its stream and returns without waiting. What is wrong stands in text[text_bytes], the caller's, cut off
 * where it is full; NULL: no text is wanted. The same problem has the same bits every time. */
Attention13Status attention13_launch(const Attention13 *problem, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif

#endif
