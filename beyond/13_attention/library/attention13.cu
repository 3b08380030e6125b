/* attention13 - 13_attention.cu as a library: attention13.h says what it does. The chapter's source is included as it
 * is; what it believes of its arguments is looked at here. */
#pragma GCC visibility push(default)
#include "attention13.h"
#pragma GCC visibility pop

#define CHAPTER_SYMBOL(id) attention13_chapter_##id
#include "../13_attention.cu"

static const int64_t MAX_COUNT = INT_MAX - 1023; /* a tile more is still an int */

static GemmStatus start(const Attention13 *p, GemmError *error) {
    if (p == NULL) {
        return gemm_fails(error, GEMM_USAGE, "problem is NULL");
    }
    const struct {
        const char *name;
        int64_t value, least, most;
    } counts[] = {{"batches", p->batches, 0, MAX_COUNT},  {"heads", p->heads, 1, MAX_COUNT},
                  {"kv_heads", p->kv_heads, 1, p->heads}, {"queries", p->queries, 0, MAX_COUNT},
                  {"keys", p->keys, 0, MAX_COUNT},        {"head_size", p->head_size, 1, MAX_HEAD}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value < counts[i].least || counts[i].value > counts[i].most) {
            return gemm_fails(error, GEMM_USAGE, "%s is %lld: accepted are %lld to %lld", counts[i].name,
                              (long long)counts[i].value, (long long)counts[i].least, (long long)counts[i].most);
        }
    }
    if ((double)p->batches * (double)p->heads * (double)p->queries > (double)MAX_COUNT) {
        return gemm_fails(error, GEMM_USAGE, "%lld batches x %lld heads x %lld queries: accepted are %lld in all",
                          (long long)p->batches, (long long)p->heads, (long long)p->queries, (long long)MAX_COUNT);
    }
    if (p->batches > 0 && ((p->queries > 0 && (!p->q || !p->o || !p->lse)) || (p->keys > 0 && (!p->k || !p->v)))) {
        return gemm_fails(error, GEMM_USAGE, "q, k, v, o or lse is NULL");
    }
    int device = 0, major = 0, sms = 0;
    GemmStatus status = cuda_status(cudaGetDevice(&device), "cudaGetDevice", error);
    if (status != GEMM_OK) {
        return status;
    }
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (major != 9) {
        return gemm_fails(error, GEMM_DEVICE, "device %d is of compute capability %d: accepted is Hopper, 9", device,
                          major);
    }
    Attention a;
    memset(&a, 0, sizeof a);
    a.q = (const bf16 *)p->q, a.k = (const bf16 *)p->k, a.v = (const bf16 *)p->v;
    a.o = (bf16 *)p->o, a.lse = p->lse;
    a.batches = (int)p->batches, a.heads = (int)p->heads, a.kv_heads = (int)p->kv_heads;
    a.queries = (int)p->queries, a.keys = (int)p->keys, a.head_size = (int)p->head_size;
    a.causal = p->causal, a.scale = p->scale;
    for (int i = 0; i < 3; i++) {
        a.q_stride[i] = p->q_stride[i], a.k_stride[i] = p->k_stride[i];
        a.v_stride[i] = p->v_stride[i], a.o_stride[i] = p->o_stride[i];
    }
    Gemm g;
    memset(&g, 0, sizeof g);
    Beyond more;
    memset(&more, 0, sizeof more);
    more.operands = &a;
    g.beyond = &more, g.sm_count = sms, g.stream = p->stream;
    return launch(&g, error);
}

Attention13Status attention13_launch(const Attention13 *problem, char *text, size_t text_bytes) {
    GemmError error;
    error.text[0] = '\0';
    GemmStatus status = start(problem, &error);
    if (text != NULL && text_bytes > 0) {
        snprintf(text, text_bytes, "%s", error.text);
    }
    if (status == GEMM_DEVICE) {
        cudaGetLastError(); /* the caller has the text: it is not left to its next call of CUDA */
    }
    return (Attention13Status)status;
}
