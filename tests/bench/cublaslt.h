/* cublaslt.h - NVIDIA's GEMM with a choice of algorithms, for the bench. */
#ifndef CUBLASLT_H
#define CUBLASLT_H

#include "harness/cublas.h"

enum { CUBLASLT_ALGORITHMS = 8 };

/* cuBLASLt's proposals for one problem, best guess first. fp8: its operands, in place of a and b; NULL: it is of
 * bf16. */
typedef struct CublasLt CublasLt;
CublasLt *cublaslt_open(const Backend *backend, const Gemm *problem, const Fp8 *fp8, char *why, size_t why_size);
void cublaslt_close(CublasLt *lt);      /* NULL is allowed */
int cublaslt_count(const CublasLt *lt); /* 1 .. CUBLASLT_ALGORITHMS */
void cublaslt_choose(CublasLt *lt, int algorithm);
/* Other operands for the next launches, alike in all but their addresses. */
void cublaslt_operands(CublasLt *lt, const Fp8 *fp8);
GemmStatus cublaslt_launch(void *lt);

#endif
