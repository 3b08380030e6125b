/* status.h - the result of a call on the host; also the exit status of every program. */
#ifndef STATUS_H
#define STATUS_H

#include <stdarg.h>
#include <stdio.h>

typedef enum {
    GEMM_OK = 0,
    GEMM_WRONG = 1,     /* the result differs from the reference */
    GEMM_USAGE = 2,     /* an argument is not acceptable, or the chapter refuses this size */
    GEMM_DEVICE = 3,    /* no suitable device, or a CUDA call failed */
    GEMM_MODEL_BUG = 4, /* the CPU model found an error in the kernel */
    GEMM_UNJUDGED = 5,  /* the CPU model cannot judge the program: a limit of its own, or exit() in a kernel */
} GemmStatus;

/* What is wrong, in one line without its newline. A function on the host that may fail takes a pointer to its caller's
 * GemmError; if the pointer is NULL, the line goes to stderr. */
typedef struct {
    char text[512];
} GemmError;

/* Writes the text and returns `status`. */
__attribute__((format(printf, 3, 4))) static inline GemmStatus gemm_fails(GemmError *error, GemmStatus status,
                                                                          const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (error != NULL) {
        vsnprintf(error->text, sizeof error->text, format, arguments);
    } else {
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    va_end(arguments);
    return status;
}

#endif
