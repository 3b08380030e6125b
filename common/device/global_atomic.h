/* global_atomic.h - words of global memory by which CTAs communicate: flags and counters. Scope .gpu.
 * PTX 9.7.13.5 (atom), 9.7.9.8 (ld), 9.7.9.11 (st), 9.7.13.4 (fence); what they order is chapter 8 of the manual.
 *
 * `order` is one of
 *
 *     relaxed  orders nothing but accesses to this word
 *     release  publishes, with the word, what this thread did before, and what barriers order before that
 *     acquire  orders what was published with the word before what this thread does from here on
 *     acq_rel  both
 *
 * A release needs an acquire that reads its word, or a value that read-modify-writes have made of it. __threadfence()
 * does both for relaxed accesses: accesses after it publish what came before it, and it acquires what accesses before
 * it have read. In a CTA, barriers extend this to all threads: all threads store, __syncthreads(), one thread releases;
 * one thread acquires, __syncthreads(), all threads load.
 *
 * Any thread; p is a multiple of 4 bytes, in global memory. */
#ifndef GLOBAL_ATOMIC_H
#define GLOBAL_ATOMIC_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

#define global_load(order, p) /* the int at p; order: relaxed or acquire */ global_load_##order(p)
#define global_store(order, p, value) /* stores the int at p; order: relaxed or release */ \
    global_store_##order(p, value)
#define global_add(order, p, value) /* adds to the int at p, whose value before it returns */ \
    global_add_##order(p, value)

#define GLOBAL_LOAD(order)                                    \
    DEVICE int global_load_##order(const int *p) {            \
        int value;                                            \
        asm volatile("ld." #order ".gpu.global.s32 %0, [%1];" \
                     : "=r"(value)                            \
                     : "l"(__cvta_generic_to_global(p))       \
                     : "memory");                             \
        return value;                                         \
    }
#define GLOBAL_STORE(order)                                                                                  \
    DEVICE void global_store_##order(int *p, int value) {                                                    \
        asm volatile("st." #order ".gpu.global.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(value) \
                     : "memory");                                                                            \
    }
#define GLOBAL_ADD(order)                                               \
    DEVICE int global_add_##order(int *p, int value) {                  \
        int before;                                                     \
        asm volatile("atom." #order ".gpu.global.add.s32 %0, [%1], %2;" \
                     : "=r"(before)                                     \
                     : "l"(__cvta_generic_to_global(p)), "r"(value)     \
                     : "memory");                                       \
        return before;                                                  \
    }
GLOBAL_LOAD(relaxed)
GLOBAL_LOAD(acquire)
GLOBAL_STORE(relaxed)
GLOBAL_STORE(release)
GLOBAL_ADD(relaxed)
GLOBAL_ADD(acquire)
GLOBAL_ADD(release)
GLOBAL_ADD(acq_rel)

#elif defined(GEMM_MODEL)

#define global_load(order, p) ((int)model_load(p, MODEL_##order, HERE))
#define global_store(order, p, value) model_store(p, (uint32_t)(value), MODEL_##order, HERE)
#define global_add(order, p, value) ((int)model_atomic(MODEL_ADD, p, (uint32_t)(value), 0, MODEL_##order, HERE))

#endif
#endif
