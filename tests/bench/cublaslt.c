/* cublaslt.c - cuBLASLt through dlopen, with the few declarations that it needs. As in common/harness/cublas.c, its
 * first operand is our B. */
#include "bench.h"

enum {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_COMPUTE_32F = 68,
    CUDA_R_32F = 0,
    CUDA_R_16BF = 14,
    CUDA_R_8F_E4M3 = 28,
    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_A_SCALE_POINTER = 17,
    LT_DESC_B_SCALE_POINTER = 18,
    LT_DESC_A_SCALE_MODE = 31,
    LT_DESC_B_SCALE_MODE = 32,
    LT_SCALE_VEC128_32F = 4, /* since 12.9, as the next */
    LT_SCALE_BLK128x128_32F = 5,
    LT_PREFERENCE_MAX_WORKSPACE = 1,
    ALGORITHMS = 8,
    LT_WORKSPACE_BYTES = 32 << 20, /* what NVIDIA advises on Hopper, and cuBLAS's own there */
};

static const float one = 1, zero = 0;

typedef struct {
    uint64_t data[8];
} LtAlgorithm;

typedef struct {
    LtAlgorithm algorithm;
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} LtProposal;

#define LT_FUNCTIONS                                                                                                   \
    F(create, "cublasLtCreate", void **handle)                                                                         \
    F(destroy, "cublasLtDestroy", void *handle)                                                                        \
    F(operation_create, "cublasLtMatmulDescCreate", void **operation, int compute_type, int scale_type)                \
    F(operation_destroy, "cublasLtMatmulDescDestroy", void *operation)                                                 \
    F(operation_set, "cublasLtMatmulDescSetAttribute", void *operation, int attribute, const void *value, size_t size) \
    F(layout_create, "cublasLtMatrixLayoutCreate", void **layout, int type, uint64_t rows, uint64_t columns,           \
      int64_t ld)                                                                                                      \
    F(layout_destroy, "cublasLtMatrixLayoutDestroy", void *layout)                                                     \
    F(preference_create, "cublasLtMatmulPreferenceCreate", void **preference)                                          \
    F(preference_destroy, "cublasLtMatmulPreferenceDestroy", void *preference)                                         \
    F(preference_set, "cublasLtMatmulPreferenceSetAttribute", void *preference, int attribute, const void *value,      \
      size_t size)                                                                                                     \
    F(heuristic, "cublasLtMatmulAlgoGetHeuristic", void *handle, void *operation, void *a, void *b, void *c, void *d,  \
      void *preference, int wanted, LtProposal *proposals, int *count)                                                 \
    F(matmul, "cublasLtMatmul", void *handle, void *operation, const void *alpha, const void *a, void *a_layout,       \
      const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,         \
      const LtAlgorithm *algorithm, void *workspace, size_t workspace_bytes, Stream stream)

struct CublasLt {
    const Backend *backend;
    Gemm gemm;
    const Fp8 *fp8; /* NULL: bf16 */
    void *handle, *operation, *a_layout, *b_layout, *c_layout;
    Buffer workspace;
    LtProposal proposals[ALGORITHMS];
    int count, chosen;
#define F(name, symbol, ...) int (*name)(__VA_ARGS__);
    LT_FUNCTIONS
#undef F
};

/* Our B, its first operand, has a scale for 128 x 128, our A one for a row x 128. Its layout of them is ours: of A's
 * the rows are neighbours, of B's the steps of k, and each leading dimension is the length rounded up to 4. */
static int lt_scale(CublasLt *lt) {
    const int block = LT_SCALE_BLK128x128_32F, row = LT_SCALE_VEC128_32F;
    const float *first = lt->fp8->scale_b, *second = lt->fp8->scale_a;
    int error = lt->operation_set(lt->operation, LT_DESC_A_SCALE_MODE, &block, sizeof block);
    error = error ? error : lt->operation_set(lt->operation, LT_DESC_B_SCALE_MODE, &row, sizeof row);
    error = error ? error : lt->operation_set(lt->operation, LT_DESC_A_SCALE_POINTER, &first, sizeof first);
    return error ? error : lt->operation_set(lt->operation, LT_DESC_B_SCALE_POINTER, &second, sizeof second);
}

/* Describes the problem and asks for proposals. Returns 0, or cuBLASLt's status. */
static int lt_ask(CublasLt *lt) {
    const Gemm *gemm = &lt->gemm;
    const int transposed = CUBLAS_OP_T, straight = CUBLAS_OP_N;
    const size_t workspace_bytes = LT_WORKSPACE_BYTES;
    const int type = lt->fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
    uint64_t m = (uint64_t)gemm->m, n = (uint64_t)gemm->n, k = (uint64_t)gemm->k;
    void *preference = NULL;
    int error = lt->create(&lt->handle);
    error = error ? error : lt->operation_create(&lt->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    error = error ? error : lt->operation_set(lt->operation, LT_DESC_TRANSA, &transposed, sizeof transposed);
    error = error ? error : lt->operation_set(lt->operation, LT_DESC_TRANSB, &straight, sizeof straight);
    error = error || !lt->fp8 ? error : lt_scale(lt);
    error = error ? error : lt->layout_create(&lt->a_layout, type, k, n, gemm->ldb);
    error = error ? error : lt->layout_create(&lt->b_layout, type, k, m, gemm->lda);
    error = error ? error : lt->layout_create(&lt->c_layout, CUDA_R_16BF, n, m, gemm->ldc);
    error = error ? error : lt->preference_create(&preference);
    error = error
                ? error
                : lt->preference_set(preference, LT_PREFERENCE_MAX_WORKSPACE, &workspace_bytes, sizeof workspace_bytes);
    error = error ? error
                  : lt->heuristic(lt->handle, lt->operation, lt->a_layout, lt->b_layout, lt->c_layout, lt->c_layout,
                                  preference, ALGORITHMS, lt->proposals, &lt->count);
    if (preference) {
        lt->preference_destroy(preference);
    }
    return error;
}

static int rounded_up(int length) { return (length + 3) / 4 * 4; }

CublasLt *cublaslt_open(const Backend *backend, const Gemm *problem, const Fp8 *fp8, char *why, size_t why_size) {
    if (fp8 &&
        (fp8->ld_scale_a != rounded_up(problem->m) || fp8->ld_scale_b != rounded_up(ceil_div(problem->k, 128)))) {
        snprintf(why, why_size, "cuBLASLt takes no scales with a leading dimension of their own");
        return NULL;
    }
    void *library = open_cuda_library("libcublasLt", why, why_size); /* stays, as in common/harness/cublas.c */
    CublasLt *lt = library ? calloc(1, sizeof *lt) : NULL;
    if (!lt) {
        return NULL;
    }
    lt->backend = backend;
    lt->gemm = *problem;
    lt->fp8 = fp8;
    const LibraryFunction functions[] = {
#define F(name, symbol, ...) {symbol, &lt->name},
        LT_FUNCTIONS
#undef F
    };
    int error = find_functions(library, functions, sizeof functions / sizeof *functions) ? lt_ask(lt) : -1;
    if (error || lt->count == 0) {
        snprintf(why, why_size, "cuBLASLt proposes nothing (status %d)", error);
    } else if (backend->allocate(&lt->workspace, LT_WORKSPACE_BYTES, "cuBLASLt's workspace") != GEMM_OK) {
        snprintf(why, why_size, "no memory for cuBLASLt's workspace");
    } else {
        return lt;
    }
    cublaslt_close(lt);
    return NULL;
}

void cublaslt_close(CublasLt *lt) {
    if (!lt) {
        return;
    }
    lt->backend->release(&lt->workspace);
    void *layouts[] = {lt->a_layout, lt->b_layout, lt->c_layout};
    for (int i = 0; i < 3 && layouts[i]; i++) {
        lt->layout_destroy(layouts[i]);
    }
    if (lt->operation) {
        lt->operation_destroy(lt->operation);
    }
    if (lt->handle) {
        lt->destroy(lt->handle);
    }
    free(lt);
}

int cublaslt_count(const CublasLt *lt) { return lt->count; }

void cublaslt_choose(CublasLt *lt, int algorithm) { lt->chosen = algorithm; }

GemmStatus cublaslt_launch(CublasLt *lt, const void *b) {
    const Gemm *gemm = &lt->gemm;
    const void *a = lt->fp8 ? (const void *)lt->fp8->a : gemm->a;
    b = b ? b : lt->fp8 ? (const void *)lt->fp8->b : gemm->b;
    int error = lt->matmul(lt->handle, lt->operation, &one, b, lt->a_layout, a, lt->b_layout, &zero, gemm->c,
                           lt->c_layout, gemm->c, lt->c_layout, &lt->proposals[lt->chosen].algorithm,
                           lt->workspace.data, lt->workspace.bytes, gemm->stream);
    if (error) {
        fprintf(stderr, "cublasLtMatmul failed: status %d\n", error);
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}
