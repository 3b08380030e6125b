/* ---- main: data, check, timing ---------------------------------------------------------------------------------- */

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) /* a CUDA call; an error ends the program */                                                  \
    (void)((call) ? gemm_fails(NULL, GEMM_DEVICE, "%s failed: %s", #call, cudaGetErrorString(cudaGetLastError())) \
                  : GEMM_OK)

/* Small integers, -4 .. 4, or numbers that are roughly normal with variance 1. Sums of products of the integers are
 * exact in fp32, so that one missing or doubled product shows in C. The normal numbers are timed, because the clock
 * depends on the power, and the power on the data. */
static __global__ void fill(bf16 *x, size_t count, uint32_t seed, int integers) {
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        uint32_t h = ((uint32_t)i ^ seed) * 0x9e3779b9u;
        h = (h ^ h >> 16) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        int sum = (int)((h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24)); /* mean 510, deviation 148 */
        x[i] = __bfloat16_as_ushort(__float2bfloat16(integers ? (int)(h >> 16) % 9 - 4 : (sum - 510) / 148.0f));
    }
}

static __managed__ unsigned long long differ, first = ~0ull; /* elements of C that are wrong: how many, and which */

static __device__ float value(bf16 x) { return __bfloat162float(__ushort_as_bfloat16(x)); }

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

static void time_it(const char *name, GemmStatus (*run)(const Gemm *, GemmError *), const Gemm *g) {
    enum { WARM_UP = 5, REPEAT = 20 };
    cudaEvent_t begin, end;
    float ms;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < WARM_UP + REPEAT; i++) {
        if (i == WARM_UP) {
            CHECK(cudaEventRecord(begin));
        }
        run(g, NULL);
    }
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    printf("%-24s %8.3f ms %8.1f TFLOP/s\n", name, ms / REPEAT, 2e-9 * g->m * g->n * g->k * REPEAT / ms);
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
    time_it("@NAME@", launch, &g);
#if WITH_CUBLAS
    time_it("cuBLAS", cublas, &g);
#endif
    return GEMM_OK;
}
