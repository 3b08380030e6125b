/* cublas.h - NVIDIA's own GEMM beside ours, from libraries loaded when used. */
#ifndef CUBLAS_H
#define CUBLAS_H

#include "backend.h"

enum { CUBLASLT_ALGORITHMS = 8 };

typedef struct Cublas Cublas;

/* libcublas, bound to `stream`. NULL if it is missing or does not work: then one line in `why`. */
Cublas *cublas_open(Stream stream, char *why, size_t why_size);
void cublas_close(Cublas *cublas);        /* NULL is allowed */
int cublas_version(const Cublas *cublas); /* 130100 for 13.1 */

/* What cublas_launch() runs: cublasGemmEx with its default heuristics. */
typedef struct {
    const Cublas *cublas;
    Gemm gemm;
} CublasRun;

GemmStatus cublas_launch(void *cublas_run);

/* cuBLASLt's proposals for one problem, best guess first. fp8: its operands, in place of a and b; NULL: it is of bf16. */
typedef struct CublasLt CublasLt;
CublasLt *cublaslt_open(const Backend *backend, const Gemm *problem, const Fp8 *fp8, char *why, size_t why_size);
void cublaslt_close(CublasLt *lt);      /* NULL is allowed */
int cublaslt_count(const CublasLt *lt); /* 1 .. CUBLASLT_ALGORITHMS */
void cublaslt_choose(CublasLt *lt, int algorithm);
/* Other operands for the next launches, alike in all but their addresses. */
void cublaslt_operands(CublasLt *lt, const Fp8 *fp8);
GemmStatus cublaslt_launch(void *lt);

#endif
