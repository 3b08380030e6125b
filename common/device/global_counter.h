/* global_counter.h - a counter in global memory that CTAs share. Relaxed: it orders nothing but itself; global_atomic.h
 * has what orders more. PTX 9.7.13.5 (atom), 9.7.9.8 (ld), 9.7.9.11 (st). */
#ifndef GLOBAL_COUNTER_H
#define GLOBAL_COUNTER_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* Adds, and returns the value before. Any thread. */
DEVICE int global_counter_add(int *counter, int amount) {
    int before;
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(counter)), "r"(amount)
                 : "memory");
    return before;
}

/* The value now, not a cached one. Any thread. */
DEVICE int global_counter_read(const int *counter) {
    int value;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];"
                 : "=r"(value)
                 : "l"(__cvta_generic_to_global(counter))
                 : "memory");
    return value;
}

/* Stores. Any thread. */
DEVICE void global_counter_set(int *counter, int value) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(counter)), "r"(value) : "memory");
}

#elif defined(GEMM_MODEL)

#define global_counter_add(counter, amount) \
    ((int)model_atomic(MODEL_ADD, counter, (uint32_t)(amount), 0, MODEL_relaxed, HERE))
#define global_counter_read(counter) ((int)model_load(counter, MODEL_relaxed, HERE))
#define global_counter_set(counter, value) model_store(counter, (uint32_t)(value), MODEL_relaxed, HERE)

#endif
#endif
