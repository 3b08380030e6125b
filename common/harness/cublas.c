/* cublas.c - cuBLAS through dlopen, with the few declarations that it needs, so that building needs no header of it and
 * running does not need the library.
 *
 * cuBLAS thinks in columns. Our row-major C[m][n] with leading dimension ldc is its column-major n x m matrix C^T, and
 * C^T = B A^T: its first operand is our B, a k x n matrix by columns, taken transposed; its second is our A, k x m. */
#include "cublas.h"

#include <dlfcn.h>

enum {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_GEMM_DEFAULT = -1,
    CUDA_R_16BF = 14,
};

struct Cublas {
    void *handle;
    int version;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, Stream stream);
    int (*get_version)(void *handle, int *version);
    int (*gemm_ex)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type,
                   int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                   int compute_type, int algorithm);
};

static const float one = 1, zero = 0;

int find_functions(void *library, const LibraryFunction *list, int count) {
    int found = 0;
    for (int i = 0; i < count && library != NULL; i++) {
        void *symbol = dlsym(library, list[i].name);
        memcpy(list[i].pointer, &symbol, sizeof symbol); /* POSIX: an object pointer that holds a function's address */
        found += symbol != NULL;
    }
    return found == count;
}

void *open_cuda_library(const char *name, char *why, size_t why_size) {
    static const char *const places[] = {"", "/usr/local/cuda/lib64/"};
    static const char *const versions[] = {".13", ".12", ""};
    for (size_t place = 0; place < sizeof places / sizeof *places; place++) {
        for (size_t version = 0; version < sizeof versions / sizeof *versions; version++) {
            char path[128];
            snprintf(path, sizeof path, "%s%s.so%s", places[place], name, versions[version]);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library) {
                return library;
            }
        }
    }
    snprintf(why, why_size, "%s.so was not found", name);
    return NULL;
}

Cublas *cublas_open(Stream stream, char *why, size_t why_size) {
    Cublas *cublas = calloc(1, sizeof *cublas);
    if (!cublas) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    const LibraryFunction functions[] = {{"cublasCreate_v2", &cublas->create},
                                         {"cublasDestroy_v2", &cublas->destroy},
                                         {"cublasSetStream_v2", &cublas->set_stream},
                                         {"cublasGetVersion_v2", &cublas->get_version},
                                         {"cublasGemmEx", &cublas->gemm_ex}};
    void *library = open_cuda_library("libcublas", why, why_size);
    int error = find_functions(library, functions, 5) ? cublas->create(&cublas->handle) : -1;
    error = error ? error : cublas->set_stream(cublas->handle, stream);
    error = error ? error : cublas->get_version(cublas->handle, &cublas->version);
    if (!error) {
        return cublas;
    }
    if (library) {
        snprintf(why, why_size, "libcublas does not start (status %d)", error);
    }
    cublas_close(cublas);
    return NULL;
}

void cublas_close(Cublas *cublas) {
    if (cublas) {
        if (cublas->handle) {
            cublas->destroy(cublas->handle);
        }
        free(cublas); /* the library stays: CUDA may still call into it when the process ends */
    }
}

int cublas_version(const Cublas *cublas) { return cublas->version; }

GemmStatus cublas_launch(void *cublas_run) {
    const CublasRun *run = (const CublasRun *)cublas_run;
    const Gemm *gemm = &run->gemm;
    int error = run->cublas->gemm_ex(run->cublas->handle, CUBLAS_OP_T, CUBLAS_OP_N, gemm->n, gemm->m, gemm->k, &one,
                                     gemm->b, CUDA_R_16BF, gemm->ldb, gemm->a, CUDA_R_16BF, gemm->lda, &zero, gemm->c,
                                     CUDA_R_16BF, gemm->ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (error) {
        fprintf(stderr, "cublasGemmEx failed: status %d\n", error);
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}
