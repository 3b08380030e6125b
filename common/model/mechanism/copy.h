/* copy.h - cp.async: 16-byte copies that each thread starts, groups and waits for. What kernels call is in model.h. */
#ifndef MODEL_COPY_H
#define MODEL_COPY_H

#include "../core/types.h"

/* A copy that has not happened, or an arrival at `barrier` once those before it have. */
typedef struct {
    uint8_t *dst;
    const uint8_t *src;
    uint8_t bytes;
    uint32_t group;
    Barrier *barrier; /* NULL: a copy */
} PendingCopy;

/* Of a thread: a ring of such copies, in the order of issue. */
typedef struct ThreadCopies {
    PendingCopy *pending;
    uint32_t head, tail; /* counters; index modulo the capacity */
    uint32_t capacity;   /* a power of two */
} ThreadCopies;

/* model.c: a CTA begins. */
void copies_begin(Cta *cta);

#endif
