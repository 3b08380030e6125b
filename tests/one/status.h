/* status.h - host: an error ends the program. */
#ifndef STATUS_H
#define STATUS_H

#include <stdio.h>
#include <stdlib.h>

typedef enum { GEMM_OK = 0, GEMM_WRONG = 1, GEMM_USAGE = 2, GEMM_DEVICE = 3 } GemmStatus;
typedef struct GemmError GemmError; /* in the tutorial it takes the text; here it is always NULL */

/* Prints what is wrong and exits with `status`. */
#define gemm_fails(error, status, ...) \
    ((void)(error), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(status), status)

#endif
