/* example - libgemm09 in a C program: the same product on two streams at once, compared with a sum in fp64; then by a plan, which
 * is measured on one stream and used on the other.
 *
 * Run           make library, then build/release/library/example
 *
 * It prints a line for each size. example_torch.py makes the same matrices, and has to print the same lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

#include "gemm09.h"

enum { STREAMS = 2 };

static const int sizes[][3] = {{1, 1, 1}, {16, 1024, 2048}, {300, 521, 1003}, {512, 640, 768}}; /* m, n, k */

static void must(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "example: %s failed: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static void must09(Gemm09Status status, const char *text) {
    if (status != GEMM09_OK) {
        fprintf(stderr, "example: %s: %s\n", gemm09_status_text(status), text);
        exit(1);
    }
}

static int padded(int columns) { return (columns + 7) / 8 * 8; }

/* The index-th element of matrix `seed`: -128 to 127, divided by 1 to 128. bf16 has each of these, but fp32 has not all sums
 * of their products: another order of adding up would show. */
static float element(uint32_t index, uint32_t seed) {
    uint32_t h = index * 2654435761u + seed * 40503u;
    return ldexpf((float)((int)(h >> 24) - 128), -(int)(h >> 16 & 7));
}

static float from_bf16(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A matrix [rows][padded(cols)] on the device; between the rows, NaN. */
static void *filled(int rows, int cols, uint32_t seed) {
    int ld = padded(cols);
    size_t bytes = (size_t)rows * ld * 2;
    uint16_t *host = malloc(bytes);
    void *device = NULL;
    must(host == NULL ? cudaErrorMemoryAllocation : cudaMalloc(&device, bytes), "an allocation");
    memset(host, 0xff, bytes);
    for (int row = 0; row < rows; row++) {
        for (int col = 0; col < cols; col++) {
            float value = element((uint32_t)(row * cols + col), seed);
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            host[(size_t)row * ld + col] = (uint16_t)(bits >> 16);
        }
    }
    must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "a copy to the device");
    free(host);
    return device;
}

/* Is c what it should be? An error of one rounding to bf16 is allowed, and a little more for the sum in fp32. */
static int is_right(const uint16_t *c, int m, int n, int k) {
    for (int row = 0; row < m; row++) {
        for (int col = 0; col < n; col++) {
            double sum = 0, magnitude = 0;
            for (int i = 0; i < k; i++) {
                double product = (double)element((uint32_t)(row * k + i), 1) * element((uint32_t)(col * k + i), 2);
                sum += product;
                magnitude += fabs(product);
            }
            double error = fabs(from_bf16(c[(size_t)row * padded(n) + col]) - sum);
            if (!(error <= fabs(sum) / 256 + magnitude * 1e-6 * sqrt(k))) {
                fprintf(stderr, "example: C[%d][%d] is %g, not %g\n", row, col,
                        from_bf16(c[(size_t)row * padded(n) + col]), sum);
                return 0;
            }
        }
    }
    return 1;
}

/* Of all bits, in their order. */
static uint64_t checksum(const uint16_t *c, int m, int n) {
    uint64_t sum = 0;
    for (int row = 0; row < m; row++) {
        for (int col = 0; col < n; col++) {
            sum += ((uint64_t)row * (uint64_t)n + (uint64_t)col + 1) * c[(size_t)row * padded(n) + col];
        }
    }
    return sum;
}

/* What is in c on the device. */
static uint16_t *copied(const void *c, size_t bytes) {
    uint16_t *host = malloc(bytes);
    must(host == NULL ? cudaErrorMemoryAllocation : cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost),
         "a copy to the host");
    return host;
}

static int multiply(const Gemm09 *handle, cudaStream_t *streams, void **workspaces, int m, int n, int k) {
    char text[GEMM09_TEXT_BYTES];
    void *a = filled(m, k, 1), *b = filled(n, k, 2), *c[STREAMS];
    Gemm09Problem p[STREAMS];
    uint64_t sum[2][STREAMS];
    size_t bytes = (size_t)m * padded(n) * 2;
    int right = 1;
    for (int i = 0; i < STREAMS; i++) {
        must(cudaMalloc(&c[i], bytes), "an allocation");
        p[i] = (Gemm09Problem){.m = m, .n = n, .k = k};
        p[i].a = a, p[i].lda = padded(k);
        p[i].b = b, p[i].ldb = padded(k);
        p[i].c = c[i], p[i].ldc = padded(n);
        p[i].workspace = workspaces[i], p[i].workspace_bytes = gemm09_workspace_bytes();
        p[i].stream = streams[i];
    }
    for (int planned = 0; planned < 2; planned++) {
        for (int i = 0; i < STREAMS; i++) {
            must09(planned && i == 0 ? gemm09_plan(handle, &p[i], text, sizeof text)
                                     : gemm09_launch(handle, &p[i], text, sizeof text),
                   text);
            p[STREAMS - 1].plan = p[0].plan;
        }
        for (int i = 0; i < STREAMS; i++) {
            must(cudaStreamSynchronize(streams[i]), "the multiplication");
            uint16_t *host = copied(c[i], bytes);
            right = right && is_right(host, m, n, k);
            sum[planned][i] = checksum(host, m, n);
            right = right && sum[planned][i] == sum[planned][0];
            free(host);
        }
    }
    printf("%d x %d x %d: %s, checksum %016llx\n", m, n, k, right ? "right" : "WRONG", (unsigned long long)sum[0][0]);
    for (int i = 0; i < STREAMS; i++) {
        must(cudaFree(c[i]), "cudaFree");
    }
    must(cudaFree(a), "cudaFree");
    must(cudaFree(b), "cudaFree");
    return right;
}

int main(void) {
    char text[GEMM09_TEXT_BYTES];
    Gemm09 *handle;
    must09(gemm09_create(&handle, text, sizeof text), text);
    cudaStream_t streams[STREAMS];
    void *workspaces[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        must(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "a stream");
        must(cudaMalloc(&workspaces[i], gemm09_workspace_bytes()), "an allocation");
        must(cudaMemsetAsync(workspaces[i], 0, gemm09_workspace_bytes(), streams[i]), "cudaMemsetAsync");
    }
    int wrong = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wrong += !multiply(handle, streams, workspaces, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    gemm09_destroy(handle);
    for (int i = 0; i < STREAMS; i++) {
        must(cudaStreamDestroy(streams[i]), "cudaStreamDestroy");
        must(cudaFree(workspaces[i]), "cudaFree");
    }
    return wrong > 0;
}
