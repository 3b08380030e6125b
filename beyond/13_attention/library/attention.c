/* attention - libattention13 in a C program: grouped queries, causal, compared with sums in fp64.
 *
 * Run           make library, then build/release/library/attention */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

#include "attention13.h"

enum { BATCHES = 2, HEADS = 4, KV_HEADS = 2, QUERIES = 200, KEYS = 333, SIZE = 64 };

static void must(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "attention: %s failed: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static float from_bf16(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A tensor [batch][token][head][SIZE] on the host and on the device: -2 to 2, in steps that bf16 has. */
typedef struct {
    int tokens, heads;
    uint16_t *host;
    void *device;
} Tensor;

static size_t bytes_of(const Tensor *x) { return (size_t)BATCHES * x->tokens * x->heads * SIZE * 2; }

static Tensor made(int tokens, int heads, uint32_t seed) {
    Tensor x = {tokens, heads, NULL, NULL};
    x.host = malloc(bytes_of(&x));
    must(x.host == NULL ? cudaErrorMemoryAllocation : cudaMalloc(&x.device, bytes_of(&x)), "an allocation");
    for (size_t i = 0; i < bytes_of(&x) / 2; i++) {
        float value = (float)((int)(((uint32_t)i * 2654435761u + seed * 40503u) >> 25) - 64) / 32;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        x.host[i] = (uint16_t)(bits >> 16);
    }
    must(cudaMemcpy(x.device, x.host, bytes_of(&x), cudaMemcpyHostToDevice), "a copy to the device");
    return x;
}

static const uint16_t *row(const Tensor *x, int batch, int head, int token) {
    return x->host + (((size_t)batch * x->tokens + token) * x->heads + head) * SIZE;
}

static void set_strides(int64_t stride[3], const Tensor *x) {
    stride[0] = (int64_t)x->tokens * x->heads * SIZE, stride[1] = SIZE, stride[2] = (int64_t)x->heads * SIZE;
}

/* How far row `query` of O is off, as a share of what is rounded to bf16: the terms of its sum, by their weights, and
 * O. */
static double error_of(const Tensor *q, const Tensor *k, const Tensor *v, const Tensor *o, int batch, int head,
                       int query) {
    static double weight[KEYS];
    double sum = 0, worst = 0;
    int kv_head = head / (HEADS / KV_HEADS), keys = query + 1 + KEYS - QUERIES;
    for (int key = 0; key < keys; key++) {
        double score = 0;
        for (int i = 0; i < SIZE; i++) {
            score += (double)from_bf16(row(q, batch, head, query)[i]) * from_bf16(row(k, batch, kv_head, key)[i]);
        }
        sum += weight[key] = exp(score / 8);
    }
    for (int i = 0; i < SIZE; i++) {
        double value = 0, size = 0;
        for (int key = 0; key < keys; key++) {
            double term = weight[key] / sum * from_bf16(row(v, batch, kv_head, key)[i]);
            value += term, size += fabs(term);
        }
        double error = fabs(from_bf16(row(o, batch, head, query)[i]) - value) / (size + fabs(value));
        worst = error <= worst ? worst : error; /* NaN too */
    }
    return worst;
}

/* Without keys the output is zeros and the logarithms are -infinity. Without queries there is nothing to write. */
static int no_keys(Attention13 *p, Tensor *o) {
    static float lse[BATCHES * HEADS * QUERIES];
    int faults = 0;
    p->keys = 0, p->k = p->v = NULL;
    must(cudaMemset(o->device, 0xff, bytes_of(o)), "cudaMemset");
    must(cudaMemset(p->lse, 0, sizeof lse), "cudaMemset");
    int accepted = attention13_launch(p, NULL, 0) == ATTENTION13_OK;
    must(cudaMemcpy(o->host, o->device, bytes_of(o), cudaMemcpyDeviceToHost), "the attention without keys");
    must(cudaMemcpy(lse, p->lse, sizeof lse, cudaMemcpyDeviceToHost), "the attention without keys");
    for (size_t i = 0; i < bytes_of(o) / 2; i++) {
        faults += (o->host[i] & 0x7fff) != 0;
    }
    for (int i = 0; i < BATCHES * HEADS * QUERIES; i++) {
        faults += lse[i] != -INFINITY;
    }
    p->queries = 0, p->q = p->o = NULL, p->lse = NULL;
    accepted = accepted && attention13_launch(p, NULL, 0) == ATTENTION13_OK && cudaDeviceSynchronize() == cudaSuccess;
    printf("no keys, and no queries: %s\n", accepted && faults == 0 ? "as the formula says" : "WRONG");
    return accepted && faults == 0;
}

int main(void) {
    char text[ATTENTION13_TEXT_BYTES];
    Tensor q = made(QUERIES, HEADS, 1), k = made(KEYS, KV_HEADS, 2), v = made(KEYS, KV_HEADS, 3),
           o = made(QUERIES, HEADS, 4);
    Attention13 p = {.batches = BATCHES, .heads = HEADS, .kv_heads = KV_HEADS, .queries = QUERIES, .keys = KEYS};
    p.head_size = SIZE, p.causal = 1, p.scale = 1.0f / 8;
    p.q = q.device, p.k = k.device, p.v = v.device, p.o = o.device;
    set_strides(p.q_stride, &q), set_strides(p.k_stride, &k), set_strides(p.v_stride, &v), set_strides(p.o_stride, &o);
    must(cudaMalloc((void **)&p.lse, sizeof(float) * BATCHES * HEADS * QUERIES), "an allocation");
    if (attention13_launch(&p, text, sizeof text) != ATTENTION13_OK) {
        fprintf(stderr, "attention: %s\n", text);
        return 1;
    }
    must(cudaMemcpy(o.host, o.device, bytes_of(&o), cudaMemcpyDeviceToHost), "the attention");
    double worst = 0;
    for (int i = 0; i < BATCHES * HEADS * QUERIES; i++) {
        double error = error_of(&q, &k, &v, &o, i / QUERIES / HEADS, i / QUERIES % HEADS, i % QUERIES);
        worst = error <= worst ? worst : error;
    }
    int right = worst <= 0x1p-8 + 3e-5; /* half a step of bf16, the two in a row, and fp32 */
    printf("%d x %d heads of %d, %d queries, %d keys: %s, off by %.5f at most\n", BATCHES, HEADS, SIZE, QUERIES, KEYS,
           right ? "right" : "WRONG", worst);
    return !right || !no_keys(&p, &o);
}
