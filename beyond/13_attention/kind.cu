/* kind.cu - the reference of attention on a GPU: see kind.h. */
#include "kind.h"

/* A CTA has QUERIES queries of a head, and BLOCK threads: each has a key of a block, then a column of V. The sums are
 * scaled down when a larger score appears. */
enum { QUERIES = 8, BLOCK = 128 };

__global__ void __launch_bounds__(BLOCK)
    attention_kernel(const __grid_constant__ ReferencePart part, double *expected, float *magnitude) {
    const Attention *a = attention_in(&part.operands);
    __shared__ double q[QUERIES][BLOCK], weight[QUERIES][BLOCK], largest[QUERIES], size[QUERIES], shrink[QUERIES];
    int blocks = ceil_div(a->queries, QUERIES), thread = (int)threadIdx.x, d = a->head_size;
    int head = (int)blockIdx.x / blocks % a->heads, batch = (int)blockIdx.x / blocks / a->heads;
    int first = (int)blockIdx.x % blocks * QUERIES, count = min_int(QUERIES, a->queries - first);
    int keys = keys_seen(a, first + count - 1);
    double sum[QUERIES] = {}, value[QUERIES] = {}, sizes[QUERIES] = {}, squares[QUERIES] = {}, values[QUERIES] = {};
    for (int i = 0; i < QUERIES; i++) {
        q[i][thread] = i < count && thread < d ? attention_q(&part.operands, batch, head, first + i, thread) : 0;
        largest[i] = -INFINITY; /* all threads write the same value */
        size[i] = 0;
    }
    __syncthreads();
    for (int block = 0; block < keys; block += BLOCK) {
        int key = block + thread, most = min_int(BLOCK, keys - block);
        double score[QUERIES] = {}, score_size[QUERIES] = {};
        for (int column = 0; column < d && key < keys; column++) {
            double k = attention_k(&part.operands, batch, head, key, column);
            for (int i = 0; i < QUERIES; i++) {
                score[i] += q[i][column] * k;
                score_size[i] += fabs(q[i][column] * k);
            }
        }
        for (int i = 0; i < QUERIES; i++) {
            int seen = key >= first_key_seen(a, first + i) && key < keys_seen(a, first + i);
            weight[i][thread] = seen ? score[i] * (double)a->scale : -INFINITY;
        }
        __syncthreads();
        if (thread < QUERIES) {
            double before = largest[thread];
            for (int j = 0; j < most; j++) {
                largest[thread] = fmax(largest[thread], weight[thread][j]);
            }
            shrink[thread] = largest[thread] == -INFINITY ? 0 : exp(before - largest[thread]);
        }
        __syncthreads();
        for (int i = 0; i < QUERIES; i++) {
            double w = weight[i][thread];
            weight[i][thread] = w == -INFINITY ? 0 : exp(w - largest[i]);
            /* Sizes are not negative, so they are ordered like their bits. */
            if (w != -INFINITY) {
                atomicMax((unsigned long long *)&size[i],
                          (unsigned long long)__double_as_longlong(score_size[i] * (double)a->scale));
            }
        }
        __syncthreads();
        for (int i = 0; i < QUERIES; i++) {
            sum[i] *= shrink[i], value[i] *= shrink[i], sizes[i] *= shrink[i], squares[i] *= shrink[i] * shrink[i];
        }
        for (int j = 0; j < most; j++) {
            double v = thread < d ? attention_v(&part.operands, batch, head, block + j, thread) : 0;
            for (int i = 0; i < QUERIES; i++) {
                double share = weight[i][j] * v;
                sum[i] += weight[i][j];
                value[i] += share;
                sizes[i] += fabs(share);
                squares[i] += share * share;
                values[i] += weight[i][j] > 0 ? fabs(v) : 0; /* the exponential of a key that is seen */
            }
        }
        __syncthreads(); /* all threads have read the weights; the next weights may overwrite them */
    }
    for (int i = 0; i < count; i++) {
        double all = sum[i] > 0 ? sum[i] : 1;
        if (thread < d) {
            size_t row = (size_t)batch * (size_t)a->queries + (size_t)(first + i);
            size_t at = row * (size_t)part.gemm.n + (size_t)(head * d + thread);
            expected[at] = value[i] / all;
            magnitude[at] =
                (float)attention_allowed(a, sizes[i] / all, squares[i] / (all * all), values[i] / all, size[i]);
        }
        if (thread == 0) {
            attention_lse(a, batch, head, first + i, largest[i], sum[i], size[i]);
        }
    }
}

extern "C" GemmStatus attention_on_gpu(const ReferencePart *part, double *expected, float *magnitude, Stream stream) {
    const Attention *a = attention_in(&part->operands);
    size_t ctas = (size_t)a->batches * (size_t)a->heads * (size_t)ceil_div(a->queries, QUERIES);
    if (ctas > INT_MAX) {
        fprintf(stderr, "the reference has %zu tiles; a grid has at most %d CTAs\n", ctas, INT_MAX);
        return GEMM_USAGE;
    }
    attention_kernel<<<(unsigned)ctas, BLOCK, 0, stream>>>(*part, expected, magnitude);
    return cuda_status(cudaGetLastError(), "attention_kernel", NULL);
}
