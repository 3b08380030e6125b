#include "measure.h"

static __managed__ unsigned long long differ, first = ~0ull; /* elements of C that are wrong: how many, and which */

/* Compares C with the plain product. NaN differs from everything, so an element that was never written does. */
static __global__ void compare(Gemm g) {
    for (int row = (int)(blockIdx.y * blockDim.y + threadIdx.y); row < g.m; row += (int)(gridDim.y * blockDim.y)) {
        for (int col = (int)(blockIdx.x * blockDim.x + threadIdx.x); col < g.n; col += (int)(gridDim.x * blockDim.x)) {
            float sum = 0;
            for (int k = 0; k < g.k; k++) {
                sum += value(g.a[(size_t)row * g.lda + k]) * value(g.b[(size_t)col * g.ldb + k]);
            }
            if (!(value(g.c[(size_t)row * g.ldc + col]) == __bfloat162float(__float2bfloat16(sum)))) {
                atomicAdd(&differ, 1);
                atomicMin(&first, (unsigned long long)row * g.n + col);
            }
        }
    }
}

#if WITH_CUBLAS
#include <cublas_v2.h>
/* cuBLAS is column-major, so that to cuBLAS our C is the transpose, B A^T. */
static GemmStatus cublas(const Gemm *g, GemmError *error) {
    static cublasHandle_t blas;
    const float one = 1, zero = 0;
    if ((blas == NULL && cublasCreate(&blas)) ||
        cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, g->n, g->m, g->k, &one, g->b, CUDA_R_16BF, g->ldb, g->a,
                     CUDA_R_16BF, g->lda, &zero, g->c, CUDA_R_16BF, g->ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT)) {
        return gemm_fails(error, GEMM_DEVICE, "cuBLAS failed");
    }
    return GEMM_OK;
}
#endif

int main(int argc, char **argv) { /* [m n k] */
    Gemm g = {};
    g.m = argc > 3 ? atoi(argv[1]) : 8192, g.n = argc > 3 ? atoi(argv[2]) : 8192, g.k = argc > 3 ? atoi(argv[3]) : 8192;
    if (g.m < 1 || g.n < 1 || g.k < 1) {
        return gemm_fails(NULL, GEMM_USAGE, "m, n and k are %d, %d and %d: accepted are 1 and more", g.m, g.n, g.k);
    }
    g.lda = g.ldb = (g.k + 7) / 8 * 8, g.ldc = (g.n + 7) / 8 * 8; /* each row begins at a multiple of 16 bytes */
    size_t a = (size_t)g.m * g.lda, b = (size_t)g.n * g.ldb, c = (size_t)g.m * g.ldc;
    CHECK(cudaDeviceGetAttribute(&g.sm_count, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaMalloc((void **)&g.a, a * sizeof(bf16)));
    CHECK(cudaMalloc((void **)&g.b, b * sizeof(bf16)));
    CHECK(cudaMalloc((void **)&g.c, c * sizeof(bf16)));
#ifdef workspace_bytes
    CHECK(cudaDeviceGetAttribute(&g.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaMalloc(&g.workspace, workspace_bytes(&g)));
    CHECK(cudaMemset(g.workspace, 0, workspace_bytes(&g)));
#endif
    fill<<<1024, 256>>>((bf16 *)g.a, a, 1, 1);
    fill<<<1024, 256>>>((bf16 *)g.b, b, 0x10001, 1);
    CHECK(cudaMemset(g.c, 0xff, c * sizeof(bf16))); /* NaN */
    launch(&g, NULL);
    compare<<<dim3(128, 128), dim3(16, 16)>>>(g);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    if (differ > 0) {
        printf("WRONG: %llu elements, the first is C[%llu][%llu]\n", differ, first / g.n, first % g.n);
        return GEMM_WRONG;
    }
    printf("m %d, n %d, k %d: every element of C is correct\n", g.m, g.n, g.k);
    fill<<<1024, 256>>>((bf16 *)g.a, a, 1, 0);
    fill<<<1024, 256>>>((bf16 *)g.b, b, 0x10001, 0);
    time_it("@NAME@", launch, &g, 2.0 * g.m * g.n * g.k);
#if WITH_CUBLAS
    time_it("cuBLAS", cublas, &g, 2.0 * g.m * g.n * g.k);
#endif
    return GEMM_OK;
}
