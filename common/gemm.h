/* gemm.h - the problem, which is the same in all chapters of the ladder:
 *
 *     C[m][n] = sum over k of A[m][k] * B[n][k]          bf16 in, fp32 accumulation, bf16 out
 *
 * All three matrices are row-major with a leading dimension, so both operands are K-major (BLAS calls this "TN"). */
#ifndef GEMM_H
#define GEMM_H

/* A chapter is one .cu file in the common subset of C11 and CUDA C++. nvcc compiles it for the GPU; a C compiler with
 * -DGEMM_MODEL compiles the same file for the CPU model. It exports one Chapter record; everything else is static. The
 * harness (common/harness) supplies main(): options, data, the reference, the check, the timing, the report. Chapters
 * beyond the ladder may have problems of another kind. */

#include <stddef.h>

#include "device/cuda_c.h"
#include "device/launch.h"

/* One multiplication. Pointers are device pointers on the GPU, ordinary pointers on the model.
 * The caller guarantees: m, n, k >= 1; every pointer and every row start is 16-byte aligned, so lda, ldb, ldc are
 * multiples of 8. The elements between the end of a row and its leading dimension do not belong to the matrix: they may
 * hold anything, and a kernel must neither use nor write them. */
typedef struct {
    int m, n, k;
    int lda, ldb, ldc; /* elements from one row to the next */
    const bf16 *a;     /* [m][lda] */
    const bf16 *b;     /* [n][ldb] */
    bf16 *c;           /* [m][ldc] */
    void *workspace;   /* workspace_bytes(problem) bytes, zero before the first launch, left zero by every launch */
    int sm_count;      /* SMs of the device that runs this */
    int shared_bytes;  /* shared memory that one CTA may have there */
    Stream stream;     /* cudaStream_t; launches are asynchronous */
    const struct Beyond *beyond; /* NULL, or what else chapters beyond the ladder need (beyond.h) */
} Gemm;

/* What a chapter needs from a GPU. */
typedef enum {
    NEEDS_SM80,     /* runs on compute capability 8.0 and later */
    NEEDS_SM90,     /* on 9.0 and later with the shared memory of chapter 05's four stages, which 12.0 does not have */
    NEEDS_SM90_ANY, /* on 9.0 and later */
    NEEDS_SM90A,    /* on Hopper only: wgmma and setmaxnreg are not forward compatible */
    NEEDS_SM100A,   /* on Blackwell of 10.0 and 10.3 only: tcgen05 */
    NEEDS_NEWER_NVCC, /* on none: takes the place of what this nvcc cannot compile */
} GpuNeed;

typedef struct {
    const char *name; /* directory and program; CHAPTER(06_wgmma_ss, ...) makes it "06_wgmma_ss" */
    /* Of a copy that tests/tools/patches has changed: "BUG=name", as make map-06 takes it, or "" if that takes no
     * such patch. NULL: the chapter as it is. */
    const char *patch;
    const char *adds; /* what is new, in a line */
    GpuNeed needs;
    /* Starts one multiplication on problem->stream and returns without waiting for it. `error` gets what is wrong. */
    GemmStatus (*launch)(const Gemm *problem, GemmError *error);
    /* Bytes of workspace that this problem needs, from its sizes and experts only; NULL if it never needs any. */
    size_t (*workspace_bytes)(const Gemm *problem);
    const struct Variants *variants;    /* the kernels among which launch() chooses (variants.h); NULL: none */
    const struct ChapterBeyond *beyond; /* NULL, or what else chapters beyond the ladder have (beyond.h) */
} Chapter;

/* The chapter's record, at file scope; members that are not named are absent:
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

#endif
