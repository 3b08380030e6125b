/* kind.cu - the reference of attention on a GPU: see kind.h. */
#include "kind.h"

enum { BLOCK = 128, CTAS = 1024 };

/* weight: [CTAS][2][keys]. Neighbouring CTAs have neighbouring queries of a head, which share its K and V in L2. */
__global__ void __launch_bounds__(BLOCK)
    attention_kernel(const __grid_constant__ ReferencePart part, double *weight, double *expected, float *magnitude) {
    const Attention *a = attention_in(&part.operands);
    long long rows = (long long)part.end_row * a->heads;
    for (long long i = blockIdx.x; i < rows; i += CTAS) {
        attention_row(&part, (int)(i % part.end_row), (int)(i / part.end_row), (int)threadIdx.x, BLOCK,
                      weight + (size_t)blockIdx.x * 2 * (size_t)a->keys, expected, magnitude);
    }
}

extern "C" GemmStatus attention_on_gpu(const ReferencePart *part, double *expected, float *magnitude, Stream stream) {
    void *weight = NULL;
    size_t bytes = (size_t)CTAS * 2 * (size_t)attention_in(&part->operands)->keys * sizeof(double);
    if (cuda_status(cudaMallocAsync(&weight, bytes, stream), "cudaMallocAsync", NULL)) {
        return GEMM_DEVICE;
    }
    attention_kernel<<<CTAS, BLOCK, 0, stream>>>(*part, (double *)weight, expected, magnitude);
    cudaError_t error = cudaGetLastError();
    cudaFreeAsync(weight, stream);
    return cuda_status(error, "attention_kernel", NULL);
}
