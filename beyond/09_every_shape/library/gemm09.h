/* gemm09.h - libgemm09: the kernels of beyond/09_every_shape for a program of your own. One Hopper GPU (sm_90): H100,
 * H200.
 *
 *     C[m][n] = sum over k of A[m][k] * B[n][k]          bf16 in, fp32 accumulation, bf16 out
 *
 * Use           handle = gemm09_create() once for a device; gemm09_launch() as often as you like; gemm09_destroy().
 *               Where a problem comes often, gemm09_plan() once before; gemm09_save_plans() and gemm09_load_plans()
 *               keep plans from one process to the next.
 * Link          -lgemm09 (libgemm09.so has its own CUDA runtime), or libgemm09.a with -lcudart or -lcudart_static.
 *
 * Failures      Whatever goes wrong comes back as a status, and as a sentence in `text`, the caller's buffer of
 *               `text_bytes` bytes, cut off where it is full; GEMM09_TEXT_BYTES are enough. NULL: no text is wanted.
 *               After GEMM09_OK the text is empty. Nothing is printed, and no function ends the process.
 * Threads       Every function may be called by any thread at any time, also with a handle that others use at that
 *               time. One exception: a handle is destroyed when no call with it is running and none will come. A handle
 *               does not change once it is made. `text` belongs to one call.
 * CUDA graphs   gemm09_launch() may be captured. It allocates nothing and waits for nothing. */
#ifndef GEMM09_H
#define GEMM09_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GEMM09_OK = 0,
    GEMM09_BAD_ARGUMENT = 1, /* the text names it, its value, and what is accepted; nothing was launched */
    GEMM09_NO_DEVICE = 2,    /* no GPU, no driver, or not a Hopper GPU */
    GEMM09_CUDA_FAILED = 3, /* a CUDA call failed; the text names it, and the error, which may be an earlier launch's */
    GEMM09_NO_MEMORY = 4,   /* of the host, for a handle */
    GEMM09_BAD_FILE = 5,    /* of plans: the text says which line is not accepted, or what the system says */
} Gemm09Status;

enum {
    GEMM09_TEXT_BYTES = 256,
    GEMM09_MAX_SIZE = 2147482624, /* of m, n and k: 2^31 - 1024 */
};

/* What launches need to know of a device: read once. */
typedef struct Gemm09 Gemm09;

/* One multiplication. Device addresses; the elements are bf16. Of each row the first k, or n, elements count: what lies
 * between them and the next row may be anything and is neither used nor written. C overlaps neither A nor B.
 *
 * Accepted: m, n, k from 1 to GEMM09_MAX_SIZE. Addresses that are multiples of 16. lda, ldb, ldc, the elements from one
 * row to the next: multiples of 8, at least k, k and n, at most 2147483640. Matrices of up to 2^38 bytes.
 *
 * The workspace: gemm09_workspace_bytes() bytes of device memory, of the caller's. Zero it once, before its first
 * launch (cudaMemsetAsync on the same stream will do); every launch leaves it zero. Launches that can run at the same
 * time need one each: so one for every stream, and one for every graph that can run at the same time as other launches.
 * CTAs count themselves there: with a shared counter they would wait for CTAs of another launch. */
typedef struct {
    int64_t m, n, k;
    const void *a; /* [m][lda] */
    int64_t lda;
    const void *b; /* [n][ldb] */
    int64_t ldb;
    void *c; /* [m][ldc] */
    int64_t ldc;
    void *workspace;
    size_t workspace_bytes;
    struct CUstream_st *stream; /* cudaStream_t of the handle's device; NULL: the default stream */
    int plan;                   /* 0: a formula chooses the kernel; or what gemm09_plan() has written */
} Gemm09Problem;

/* A handle for the calling thread's current device (cudaSetDevice()). Loads the kernels, so it may allocate and wait:
 * not while a stream is captured. If it fails, *handle is NULL. */
Gemm09Status gemm09_create(Gemm09 **handle, char *text, size_t text_bytes);

/* NULL is allowed. Launches that are still running on the GPU are not disturbed. */
void gemm09_destroy(Gemm09 *handle);

/* The same for all problems and devices. */
size_t gemm09_workspace_bytes(void);

/* Starts a multiplication on its stream, after the work already there, and returns without waiting for it. The calling
 * thread's current device is the handle's. The arguments are looked at before anything else, the problem's first.
 * Errors inside the kernel show in a later call of CUDA, as those of every launch do. The same problem has the same
 * bits every time. */
Gemm09Status gemm09_launch(const Gemm09 *handle, const Gemm09Problem *problem, char *text, size_t text_bytes);

/* Measures which of the likely kernels is the fastest for this problem, and writes its number to problem->plan.
 * Launches with that number take that kernel: yours to keep for the same sizes and ld on the same kind of card, as long
 * as this library is not replaced. They have the same bits every time; launches without it, or with another plan, may
 * add in another order.
 *
 * It launches on the problem's stream and waits for it: for 0.1 seconds, or, where a launch takes more than 50
 * microseconds, for about 100 launches and rests of four times as long. A and B should hold numbers like those to come,
 * as power counts. C has the product afterwards, as the plan's kernel computes it. The stream is not being captured,
 * and nothing else runs on the GPU. If it fails, problem->plan stays as it was. */
Gemm09Status gemm09_plan(const Gemm09 *handle, Gemm09Problem *problem, char *text, size_t text_bytes);

/* Writes the sizes, leading dimensions and plans of `count` problems into a file of text, so that a later process need
 * not measure. An old file stays as it was until the new one is complete. */
Gemm09Status gemm09_save_plans(const Gemm09 *handle, const char *path, const Gemm09Problem *problems, size_t count,
                               char *text, size_t text_bytes);

/* Reads such a file: fills in the same members of `problems`, and leaves the others zero. *count is how many there is
 * room for, and then how many there are. The whole file is refused if a line is not as gemm09_save_plans() writes it,
 * if the end is missing, if it is of another card, or if this library has not got one of its kernels; *count is then 0.
 * A launch with a loaded plan has the same bits as one with the plan that was saved. */
Gemm09Status gemm09_load_plans(const Gemm09 *handle, const char *path, Gemm09Problem *problems, size_t *count,
                               char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif

#endif
