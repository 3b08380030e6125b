/* example - libgemm09 in a C program: the same product on two streams at once, compared with a sum in fp64; then by
 * plans, which are measured once and kept in a file.
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

enum { STREAMS = 2 };

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
        fprintf(stderr, "example: %s: %s\n", gemm09_status_text(status), text);
        exit(1);
    }
}

static int padded(int columns) { return (columns + 7) / 8 * 8; }

/* The index-th element of matrix `seed`: -128 to 127, divided by 1 to 128. bf16 has each of these, but fp32 has not all
 * sums of their products: another order of adding up would show. */
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

/* One matrix: as floats [rows][cols] on the host, and in bf16 [rows][padded(cols)] on the device, with NaN between the
 * rows. */
typedef struct {
    float *host;
    void *device;
} Matrix;

static Matrix filled(int rows, int cols, uint32_t seed) {
    int ld = padded(cols);
    size_t bytes = (size_t)rows * ld * 2;
    uint16_t *rounded = malloc(bytes);
    Matrix x = {malloc(sizeof(float) * rows * cols), NULL};
    must(rounded && x.host ? cudaMalloc(&x.device, bytes) : cudaErrorMemoryAllocation, "an allocation");
    memset(rounded, 0xff, bytes);
    for (int row = 0; row < rows; row++) {
        for (int col = 0; col < cols; col++) {
            int index = row * cols + col;
            uint32_t bits;
            x.host[index] = element((uint32_t)index, seed);
            memcpy(&bits, &x.host[index], sizeof bits);
            rounded[(size_t)row * ld + col] = (uint16_t)(bits >> 16);
        }
    }
    must(cudaMemcpy(x.device, rounded, bytes, cudaMemcpyHostToDevice), "a copy to the device");
    free(rounded);
    return x;
}

/* Is c what it should be? An error of one rounding to bf16 is allowed, and a little more for the sum in fp32. */
static int is_right(const uint16_t *c, const float *a, const float *b, int m, int n, int k) {
    for (int row = 0; row < m; row++) {
        for (int col = 0; col < n; col++) {
            double sum = 0, magnitude = 0;
            for (int i = 0; i < k; i++) {
                double product = (double)a[row * k + i] * b[col * k + i];
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

static int multiply(const Gemm09 *handle, cudaStream_t *streams, void **workspaces, int m, int n, int k) {
    char text[GEMM09_TEXT_BYTES];
    Matrix a = filled(m, k, 1), b = filled(n, k, 2);
    void *c[STREAMS];
    Gemm09Problem p[STREAMS];
    uint64_t sum[2][STREAMS] = {{0}};
    size_t bytes = (size_t)m * padded(n) * 2;
    uint16_t *host = malloc(bytes);
    int right = host != NULL;
    for (int i = 0; i < STREAMS; i++) {
        must(cudaMalloc(&c[i], bytes), "an allocation");
        p[i] = (Gemm09Problem){.m = m, .n = n, .k = k};
        p[i].a = a.device, p[i].lda = padded(k);
        p[i].b = b.device, p[i].ldb = padded(k);
        p[i].c = c[i], p[i].ldc = padded(n);
        p[i].workspace = workspaces[i], p[i].workspace_bytes = gemm09_workspace_bytes();
        p[i].stream = streams[i];
    }
    for (int by_plan = 0; by_plan < 2; by_plan++) {
        for (int i = 0; i < STREAMS; i++) {
            if (by_plan) {
                find_plan(handle, &p[i]);
            }
            must09(gemm09_launch(handle, &p[i], text, sizeof text), text);
        }
        for (int i = 0; i < STREAMS && right; i++) {
            must(cudaStreamSynchronize(streams[i]), "the multiplication");
            must(cudaMemcpy(host, c[i], bytes, cudaMemcpyDeviceToHost), "a copy to the host");
            sum[by_plan][i] = checksum(host, m, n);
            /* The sums in fp64 take the longest here, so the other streams only have to have the same bits. */
            right = i == 0 ? is_right(host, a.host, b.host, m, n, k) : sum[by_plan][i] == sum[by_plan][0];
        }
    }
    printf("%d x %d x %d: %s, checksum %016llx, by its plan %016llx\n", m, n, k, right ? "right" : "WRONG",
           (unsigned long long)sum[0][0], (unsigned long long)sum[1][0]);
    for (int i = 0; i < STREAMS; i++) {
        must(cudaFree(c[i]), "cudaFree");
    }
    must(cudaFree(a.device), "cudaFree");
    must(cudaFree(b.device), "cudaFree");
    free(a.host), free(b.host), free(host);
    return right;
}

int main(int argc, char *argv[]) {
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
    planned = SIZES;
    if (argc < 2 || access(argv[1], F_OK) != 0) {
        planned = 0;
    } else {
        must09(gemm09_load_plans(handle, argv[1], plans, &planned, text, sizeof text), text);
    }
    size_t loaded = planned;
    int wrong = 0;
    for (size_t i = 0; i < SIZES; i++) {
        wrong += !multiply(handle, streams, workspaces, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    printf("%zu plans loaded, %zu measured\n", loaded, planned - loaded);
    if (argc >= 2 && planned > loaded) {
        must09(gemm09_save_plans(handle, argv[1], plans, planned, text, sizeof text), text);
    }
    gemm09_destroy(handle);
    for (int i = 0; i < STREAMS; i++) {
        must(cudaStreamDestroy(streams[i]), "cudaStreamDestroy");
        must(cudaFree(workspaces[i]), "cudaFree");
    }
    return wrong > 0;
}
