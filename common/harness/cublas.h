/* cublas.h - NVIDIA's own GEMM for comparison with ours, from a library that is loaded when it is used. */
#ifndef CUBLAS_H
#define CUBLAS_H

#include "backend.h"

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

/* The newest version of a library of CUDA ("libcublas"), where the loader finds it or in the toolkit's usual place;
 * NULL, and one line in `why`. */
void *open_cuda_library(const char *name, char *why, size_t why_size);

/* A function of a library, and the address of the pointer to it. find_functions() sets the pointers, to NULL where the
 * library lacks the function, and returns whether it has all of them. If the library is NULL, none is found. */
typedef struct {
    const char *name;
    void *pointer;
} LibraryFunction;
int find_functions(void *library, const LibraryFunction *list, int count);

#endif
