/* status.h - what a call on the host came to; also the exit status of every program. */
#ifndef STATUS_H
#define STATUS_H

typedef enum {
    GEMM_OK = 0,
    GEMM_WRONG = 1,     /* the result differs from the reference */
    GEMM_USAGE = 2,     /* an argument is not acceptable, or the chapter refuses this size */
    GEMM_DEVICE = 3,    /* no suitable device, or a CUDA call failed */
    GEMM_MODEL_BUG = 4, /* the CPU model found an error in the kernel */
} GemmStatus;

#endif
