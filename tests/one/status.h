/* status.h - host: an error ends the program. */
#ifndef STATUS_H
#define STATUS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum { GEMM_OK = 0, GEMM_WRONG = 1, GEMM_USAGE = 2, GEMM_DEVICE = 3 } GemmStatus;
typedef struct GemmError GemmError; /* in the tutorial it takes the text; here it is always NULL */

/* Prints what is wrong and exits with `status`. */
static inline GemmStatus gemm_fails(GemmError *, GemmStatus status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(status);
}

#endif
