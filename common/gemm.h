/* gemm.h - the header every chapter includes: the problem, what a chapter is, what the harness does for it.
 *
 * The problem is the same in all chapters of the ladder:
 *
 *     C[m][n] = sum over k of A[m][k] * B[n][k]          bf16 in, fp32 accumulation, bf16 out
 *
 * All three matrices are row-major with a leading dimension, so both operands are K-major (BLAS calls this "TN"). Other
 * kinds of problem multiply other types; a chapter names its own.
 *
 * A chapter is one .cu file in the common subset of C11 and CUDA C++. nvcc compiles it for the GPU; a C compiler with
 * -DGEMM_MODEL compiles the same file for the CPU model. It exports one Chapter record and keeps all else static. The
 * harness (common/harness) supplies main(): options, data, the reference, the check, the timing, the report. */
#ifndef GEMM_H
#define GEMM_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_c.h"

/* What a chapter otherwise chooses itself; for experiments. All zero: it chooses. */
typedef enum { CHOICE_DEFAULT, CHOICE_YES, CHOICE_NO } Choice;
typedef struct {
    const char *variant; /* name of one of the chapter's variants */
    int tile_group;      /* tile rows walked together (tile_order.h) */
    Choice meet;         /* do producers meet before each tile? */
} Tuning;

/* What is multiplied; C is bf16 [m][ldc] in all. common/harness/kind.h: data, reference in fp64, tolerance of each. */
typedef enum { KIND_BF16, KIND_BIAS_GELU, KIND_FP8, KIND_W4A8, KINDS } Kind;

/* C = gelu(A B^T + bias) */
typedef struct {
    const bf16 *bias; /* [n] */
} BiasGelu;

enum { SCALE_K = 128 }; /* steps of k that share a scale */

/* C[m][n] = sum over k of a[m][k] * scale_a(m, k / 128) * b[n][k] * scale_b(n / 128, k / 128) */
typedef struct {
    const e4m3 *a, *b;    /* [m][lda], [n][ldb]; K-major; lda, ldb multiples of 16 */
    const float *scale_a; /* [ceil(k / 128)][ld_scale_a]: for one row x 128 of k; consecutive rows are neighbours */
    const float *scale_b; /* [ceil(n / 128)][ld_scale_b]: for 128 rows x 128 of k */
    int ld_scale_a, ld_scale_b; /* multiples of 4 */
} Fp8;

/* C[m][n] = scale_a[m] * sum over k of a[m][k] * weights[e][n][k] * scale_b[e][n][k / 128], e the expert of row m */
typedef struct {
    const e4m3 *a;         /* [m][lda], lda a multiple of 16 */
    const float *scale_a;  /* [m] */
    const int8_t *weights; /* HOST memory: [experts * n][k], -7 .. 7: what prepare() packs; launch() does not read it */
    const bf16 *scale_b;   /* HOST memory: [experts * n][ceil(k / 128)]; packed too */
    int experts;           /* 1: dense */
    const int
        *first_row; /* device: [experts + 1]; rows first_row[e] .. first_row[e + 1] - 1 are expert e's; may be none */
    const int *first_row_host; /* the same on the host */
} W4a8;

/* One multiplication on the GPUs of several ranks. Each has all of A and its part of B's rows, and wants all of C. Every
 * pointer here is valid on this rank's device. */
enum { MAX_RANKS = 8 };
typedef struct {
    int count, rank;    /* 0 <= rank < count */
    bf16 *c[MAX_RANKS]; /* c[r]: the complete C of rank r, [m][ldc], in its memory */
    int *flags
        [MAX_RANKS]; /* flags[r]: flag_bytes(problem) bytes in the memory of rank r, zero before the first launch */
    int epoch;       /* 1 in the first launch with these flags, one more in each that follows; the same on all ranks */
} Ranks;

/* One multiplication. Pointers are device pointers on the GPU, ordinary ones on the model.
 * The caller guarantees: m, n, k >= 1; every pointer and every row start is 16-byte aligned, that is lda, ldb, ldc are
 * multiples of 8 (of 16 elements of e4m3). What lies between the end of a row and its leading dimension is not part of the matrix: it may hold
 * anything, a kernel must not use it and must not write it. */
typedef struct {
    int m, n, k;
    int lda, ldb, ldc; /* elements from one row to the next */
    const bf16 *a;     /* [m][lda] */
    const bf16 *b;     /* [n][ldb] */
    bf16 *c;           /* [m][ldc] */
    void *workspace;   /* workspace_bytes(problem) bytes, zero before the first launch, left zero by every launch */
    int sm_count;      /* SMs of the device that runs this */
    int shared_bytes;  /* shared memory that one CTA of it may have */
    Tuning tuning;
    Stream stream;        /* cudaStream_t; launches are asynchronous */
    const void *operands; /* host: BiasGelu, Fp8 or W4a8. NULL for KIND_BF16; a and b are NULL for the last two */
    const void *prepared; /* what the chapter's prepare() has packed; NULL: nothing */
    const Ranks *
        ranks; /* host pointer; NULL: one device computes all. Else b has this rank's rows only, and c is ranks->c[rank] */
} Gemm;

/* What a chapter needs from a GPU. */
typedef enum {
    NEEDS_SM80,     /* runs on compute capability 8.0 and later */
    NEEDS_SM90,     /* on 9.0 and later with the shared memory of chapter 05's four stages, which 12.0 does not have */
    NEEDS_SM90_ANY, /* on 9.0 and later */
    NEEDS_SM90A,    /* on Hopper only: wgmma and setmaxnreg are not forward compatible */
} GpuNeed;

/* What of a Tuning a chapter heeds. */
enum { CHOOSES_VARIANT = 1, CHOOSES_TILE_GROUP = 2, CHOOSES_MEET = 4 };

typedef struct {
    const char *name; /* directory and program; CHAPTER(06_wgmma_ss, ...) makes it "06_wgmma_ss" */
    /* Of a copy that tests/tools/patches has changed: "BUG=name", as make map-06 takes it, or "" if it takes no such patch.
     * NULL: the chapter as it is. */
    const char *patch;
    const char *adds; /* what is new, in a line */
    GpuNeed needs;
    Kind kind;
    /* Starts one multiplication on problem->stream and returns without waiting for it. On failure prints one line to
     * stderr and returns its status. */
    GemmStatus (*launch)(const Gemm *problem);
    /* Bytes of workspace this problem needs, from its sizes and experts alone; NULL if none ever. */
    size_t (*workspace_bytes)(const Gemm *problem);
    /* Bytes of flags in the memory of each rank; NULL if the chapter knows no ranks. The same on all of them. */
    size_t (*flag_bytes)(const Gemm *problem);
    int choices; /* CHOOSES_..., or'ed; none: the same kernel for every problem */
    /* With choices: one line about what launch() would choose for this problem (tile, schedule, ...), without a newline. */
    void (*describe)(const Gemm *problem, char *text, size_t size);
    /* With CHOOSES_VARIANT: the names of the variants, from index 0 on; NULL behind the last. */
    const char *(*variant)(int index);
    /* Offline packing of operands, once before the launches of a problem, on the host; both NULL: none. prepare() writes
     * prepared_bytes() bytes, a number that depends on sizes and experts alone, to `out`; the harness copies them to where
     * problem->prepared will point, 256-byte aligned. It reads what is in host memory, and sees no workspace. */
    size_t (*prepared_bytes)(const Gemm *problem);
    GemmStatus (*prepare)(const Gemm *problem, void *out);
} Chapter;

/* The chapter's record, at file scope; what is not named is absent:
 *
 *     CHAPTER(06_wgmma_ss, .adds = "...", .needs = NEEDS_SM90A, .launch = launch);
 *
 * The GPU build exports it as gpu_chapter_06_wgmma_ss, the model build as model_chapter_06_wgmma_ss; another
 * build of the same source defines CHAPTER_SYMBOL before it includes this. */
#if defined(GEMM_MODEL)
#define CHAPTER_SYMBOL(id) model_chapter_##id
#elif !defined(CHAPTER_SYMBOL)
#define CHAPTER_SYMBOL(id) gpu_chapter_##id
#endif
#ifndef CHAPTER_PATCH
#define CHAPTER_PATCH NULL
#endif
#ifdef __cplusplus
#define CHAPTER(id, ...)                         \
    extern "C" const Chapter CHAPTER_SYMBOL(id); \
    extern "C" const Chapter CHAPTER_SYMBOL(id) = {.name = #id, .patch = CHAPTER_PATCH, __VA_ARGS__}
#else
#define CHAPTER(id, ...)                     \
    extern const Chapter CHAPTER_SYMBOL(id); \
    const Chapter CHAPTER_SYMBOL(id) = {.name = #id, .patch = CHAPTER_PATCH, __VA_ARGS__}
#endif

HOST_DEVICE int ceil_div(int a, int b) { return a / b + (a % b != 0); }
HOST_DEVICE int min_int(int a, int b) { return a < b ? a : b; }

/* The first column of C, and row of B, that is rank `rank`'s; n for rank == count. Columns are dealt out by 8, so that
 * each part begins at a multiple of 16 bytes. The last ranks may have none. */
HOST_DEVICE int rank_first_column(int n, int count, int rank) {
    long long first = (long long)ceil_div(ceil_div(n, count), 8) * 8 * rank;
    return first < n ? (int)first : n;
}

#endif
