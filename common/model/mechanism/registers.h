/* registers.h - setmaxnreg: warps give registers to their CTA's pool and take them from it. Kernels call model.h. */
#ifndef MODEL_REGISTERS_H
#define MODEL_REGISTERS_H

#include "../core/types.h"

/* Of a CTA. */
typedef struct RegisterPool {
    int free;
    Thread *waiters; /* for more */
} RegisterPool;

/* Of a warpgroup, whose warps change their registers together: how many have come, to do what. */
typedef struct RegisterChange {
    int arrivals, increase, count;
    Thread *waiters; /* for the other warps */
} RegisterChange;

#endif
