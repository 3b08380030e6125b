/* example - libgemm09 in a C program: computes a product with the kernel that the formula chooses, and compares it with
 * a sum in fp64; then computes it by a plan, which is measured once and kept in a file.
 *
 * Run           make library, then build/release/library/example [FILE]
 *               FILE: plans are loaded from it, and saved to it
 *
 * It prints a line for each size, then how many plans it had. example_torch.py makes the same matrices, and has to
 * print the same lines: with the same file, all bits are the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime.h>

#include "gemm09.h"

static const int sizes[][3] = {{1, 1, 1}, {16, 1024, 2048}, {300, 521, 1003}, {512, 640, 768}}; /* m, n, k */
enum { SIZES = sizeof sizes / sizeof *sizes };

/* The plans: problems whose addresses do not count. */
static Gemm09Problem plans[SIZES];
static size_t planned;

static void must(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "example: %s failed: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static void must09(Gemm09Status status, const char *text) {
    if (status != GEMM09_OK) {
        fprintf(stderr, "example: %s\n", text);
        exit((int)status);
    }
}

static int padded(int columns) { return (columns + 7) / 8 * 8; }

/* The index-th element of matrix `seed`: -128 to 127, divided by 1 to 128. bf16 has each of these, but fp32 has not all
 * sums of their products: another order of adding up would show. */
static float element(int index, uint32_t seed) {
    uint32_t h = (uint32_t)index * 2654435761u + seed * 40503u;
    return (float)((int)(h >> 24) - 128) / (float)(1 << (h >> 16 & 7));
}

static float from_bf16(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A matrix on the device: bf16 [rows][padded(cols)], with NaN between the rows. */
static void *filled(int rows, int cols, uint32_t seed) {
    size_t bytes = (size_t)rows * padded(cols) * 2;
    uint16_t *host = malloc(bytes);
    void *device = NULL;
    must(host ? cudaMalloc(&device, bytes) : cudaErrorMemoryAllocation, "an allocation");
    memset(host, 0xff, bytes);
    for (int i = 0; i < rows * cols; i++) {
        float value = element(i, seed);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        host[(size_t)(i / cols) * padded(cols) + i % cols] = (uint16_t)(bits >> 16);
    }
    must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "a copy to the device");
    free(host);
    return device;
}

/* Is c what it should be? An error of one rounding to bf16 is allowed, and a little more for the sum in fp32. */
static int is_right(const uint16_t *c, int m, int n, int k) {
    for (int i = 0; i < m * n; i++) {
        double sum = 0, magnitude = 0, got = from_bf16(c[(size_t)(i / n) * padded(n) + i % n]);
        for (int j = 0; j < k; j++) {
            double product = (double)element(i / n * k + j, 1) * element(i % n * k + j, 2);
            sum += product;
            magnitude += fabs(product);
        }
        if (!(fabs(got - sum) <= fabs(sum) / 256 + magnitude * 1e-6 * sqrt(k))) {
            fprintf(stderr, "example: C[%d][%d] is %g, not %g\n", i / n, i % n, got, sum);
            return 0;
        }
    }
    return 1;
}

/* Of all bits, in their order. */
static uint64_t checksum(const uint16_t *c, int m, int n) {
    uint64_t sum = 0;
    for (int i = 0; i < m * n; i++) {
        sum += ((uint64_t)i + 1) * c[(size_t)(i / n) * padded(n) + i % n];
    }
    return sum;
}

/* Writes the plan for p's sizes to p->plan: one that is known, or a new one, which is measured. */
static void find_plan(const Gemm09 *handle, Gemm09Problem *p) {
    char text[GEMM09_TEXT_BYTES];
    for (const Gemm09Problem *q = plans; q < plans + planned && p->plan == 0; q++) {
        int same = q->m == p->m && q->n == p->n && q->k == p->k && q->lda == p->lda && q->ldb == p->ldb;
        p->plan = same && q->ldc == p->ldc ? q->plan : 0;
    }
    if (p->plan == 0) {
        must09(gemm09_plan(handle, p, text, sizeof text), text);
        if (planned < SIZES) {
            plans[planned++] = *p;
        }
    }
}

/* Multiplies on a stream, first without and then with a plan. */
static int multiply(const Gemm09 *handle, cudaStream_t stream, void *workspace, int m, int n, int k) {
    char text[GEMM09_TEXT_BYTES];
    size_t bytes = (size_t)m * padded(n) * 2;
    uint16_t *c = malloc(bytes);
    uint64_t sum[2] = {0};
    int right = c != NULL;
    Gemm09Problem p = {.m = m, .n = n, .k = k};
    p.a = filled(m, k, 1), p.lda = padded(k);
    p.b = filled(n, k, 2), p.ldb = padded(k);
    must(cudaMalloc(&p.c, bytes), "an allocation");
    p.ldc = padded(n);
    p.workspace = workspace, p.workspace_bytes = gemm09_workspace_bytes();
    p.stream = stream;
    for (int by_plan = 0; by_plan < 2 && right; by_plan++) {
        if (by_plan) {
            find_plan(handle, &p);
        }
        must09(gemm09_launch(handle, &p, text, sizeof text), text);
        must(cudaStreamSynchronize(stream), "the multiplication");
        must(cudaMemcpy(c, p.c, bytes, cudaMemcpyDeviceToHost), "a copy to the host");
        sum[by_plan] = checksum(c, m, n);
        right = is_right(c, m, n, k);
    }
    printf("%d x %d x %d: %s, checksum %016llx, by its plan %016llx\n", m, n, k, right ? "right" : "WRONG",
           (unsigned long long)sum[0], (unsigned long long)sum[1]);
    must(cudaFree((void *)p.a), "cudaFree");
    must(cudaFree((void *)p.b), "cudaFree");
    must(cudaFree(p.c), "cudaFree");
    free(c);
    return right;
}

int main(int argc, char *argv[]) {
    char text[GEMM09_TEXT_BYTES];
    Gemm09 *handle;
    cudaStream_t stream;
    void *workspace;
    int wrong = 0;
    must09(gemm09_create(&handle, text, sizeof text), text);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    must(cudaMalloc(&workspace, gemm09_workspace_bytes()), "an allocation");
    must(cudaMemsetAsync(workspace, 0, gemm09_workspace_bytes(), stream), "cudaMemsetAsync");
    if (argc >= 2 && access(argv[1], F_OK) == 0) {
        planned = SIZES;
        must09(gemm09_load_plans(handle, argv[1], plans, &planned, text, sizeof text), text);
    }
    size_t loaded = planned;
    for (size_t i = 0; i < SIZES; i++) {
        wrong += !multiply(handle, stream, workspace, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    printf("%zu plans loaded, %zu measured\n", loaded, planned - loaded);
    if (argc >= 2 && planned > loaded) {
        must09(gemm09_save_plans(handle, argv[1], plans, planned, text, sizeof text), text);
    }
    gemm09_destroy(handle);
    must(cudaStreamDestroy(stream), "cudaStreamDestroy");
    must(cudaFree(workspace), "cudaFree");
    return wrong > 0;
}
