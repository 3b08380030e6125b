/* global.h - global memory: allocations, and atomics on it. What the host calls is in model_host.h, what kernels call in
 * model.h. */
#ifndef MODEL_GLOBAL_H
#define MODEL_GLOBAL_H

/* model.c: the model shuts down. */
void global_free_all(void);

#endif
