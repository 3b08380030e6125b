/* hello.h - what a hello program has besides its kernel: memory, a wait, and a main() for GPU and CPU model. A hello
 * program is the smallest one that uses a mechanism. It is next to its chapter as hello_NAME.cu and is built with
 * it.
 *
 *     HELLO(NEEDS_SM90_ANY) {
 *         int *out = (int *)hello_memory(4 * sizeof(int), "out");
 *         ...
 *         GemmStatus status = hello_wait(launch_grid(KERNEL(kernel), 1, THREADS, 0, &params, NULL, NULL));
 *         ...
 *         return status;
 *     }
 *
 * It runs on a GPU that has what HELLO() asks for, otherwise on the model; hello.c has its options. */
#ifndef HELLO_H
#define HELLO_H

#include <stdlib.h>
#include <string.h>

#include "../gemm.h"

#ifdef GEMM_MODEL
#include "../model/model_host.h"

#define HELLO(need)        \
    int hello_model(void); \
    int hello_model(void)

/* Memory that kernel and host both see, zero. `name` is for the model's reports. Ends the program if there is none. */
static inline void *hello_memory(size_t bytes, const char *name) {
    void *memory = model_global_alloc(bytes, name);
    if (memory == NULL) {
        fprintf(stderr, "out of memory: %zu bytes for %s\n", bytes, name);
        exit(GEMM_DEVICE);
    }
    return memset(memory, 0, bytes);
}

/* Until the launch has ended. What it came to, also where the launch itself has failed. */
static inline GemmStatus hello_wait(GemmStatus launched) {
    return launched == GEMM_OK && model_reports() ? GEMM_MODEL_BUG : launched;
}

#else

#define HELLO(need)                              \
    extern "C" const GpuNeed hello_needs;        \
    extern "C" const GpuNeed hello_needs = need; \
    extern "C" int hello_gpu(void);              \
    extern "C" int hello_gpu(void)

static inline void *hello_memory(size_t bytes, const char *name) {
    void *memory = NULL;
    if (cuda_status(cudaMallocManaged(&memory, bytes), name, NULL)) {
        exit(GEMM_DEVICE);
    }
    memset(memory, 0, bytes);
    return memory;
}

static inline GemmStatus hello_wait(GemmStatus launched) {
    return launched == GEMM_OK ? cuda_status(cudaDeviceSynchronize(), "the kernel", NULL) : launched;
}

#endif
#endif
