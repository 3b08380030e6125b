/* ---- main: data, check, timing ---------------------------------------------------------------------------------- */

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) check(call, #call) /* a CUDA call; an error ends the program */
static void check(cudaError_t error, const char *call) {
    if (error != cudaSuccess) {
        (void)gemm_fails(NULL, GEMM_DEVICE, "%s failed: %s", call, cudaGetErrorString(error));
    }
}

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

static __device__ float value(bf16 x) { return __bfloat162float(__ushort_as_bfloat16(x)); }

/* The time of a launch that computes `flop` operations, from REPEAT launches without a pause. */
static void time_it(const char *name, GemmStatus (*run)(const Gemm *, GemmError *), const Gemm *g, double flop) {
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
    printf("%-24s %8.3f ms %8.1f TFLOP/s\n", name, ms / REPEAT, flop * 1e-9 * REPEAT / ms);
}
