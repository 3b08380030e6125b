/* system_atomic.h - words of global memory by which GPUs, and the host, talk to each other. As global_atomic.h, with scope
 * .sys: .gpu orders nothing for who reads on another GPU. PTX 9.7.13.5 (red), 9.7.9.8 (ld), 9.7.9.11 (st); what they order
 * is chapter 8 of the manual.
 *
 * The word may lie in this GPU's memory or, mapped, in a neighbour's. A flag lies with the one who waits for it: storing
 * into a neighbour's memory costs the writer nothing, a load from there keeps the reader waiting for a microsecond.
 *
 * `order` is one of
 *
 *     relaxed  orders nothing but accesses to this word
 *     release  what this thread did before, and what barriers or bulk_wait_group() put before that, is handed on
 *     acquire  what was handed on with the word comes before what this thread does from here on
 *
 * Any thread; p is a multiple of 4 bytes, in global memory.
 *
 * system_load(order, p): relaxed or acquire.
 * system_store(order, p, value): relaxed or release.
 * system_add(order, p, value): relaxed or release; without an answer (red), so nobody waits for one. */
#ifndef SYSTEM_ATOMIC_H
#define SYSTEM_ATOMIC_H

#include "cuda_c.h"

#if defined(GEMM_MODEL)

#define system_load(order, p) ((int)model_system_load(p, MODEL_##order, HERE))
#define system_store(order, p, value) model_system_store(p, (uint32_t)(value), MODEL_##order, HERE)
#define system_add(order, p, value) model_system_add(p, (uint32_t)(value), MODEL_##order, HERE)

#elif defined(__CUDACC__)

#define system_load(order, p) system_load_##order(p)
#define system_store(order, p, value) system_store_##order(p, value)
#define system_add(order, p, value) system_add_##order(p, value)

#define SYSTEM_LOAD(order)                                    \
    DEVICE int system_load_##order(const int *p) {            \
        int value;                                            \
        asm volatile("ld." #order ".sys.global.s32 %0, [%1];" \
                     : "=r"(value)                            \
                     : "l"(__cvta_generic_to_global(p))       \
                     : "memory");                             \
        return value;                                         \
    }
#define SYSTEM_CHANGE(order, name, instruction)                                                      \
    DEVICE void system_##name##_##order(int *p, int value) {                                         \
        asm volatile(instruction " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(value) : "memory"); \
    }
SYSTEM_LOAD(relaxed)
SYSTEM_LOAD(acquire)
SYSTEM_CHANGE(relaxed, store, "st.relaxed.sys.global.s32")
SYSTEM_CHANGE(release, store, "st.release.sys.global.s32")
SYSTEM_CHANGE(relaxed, add, "red.relaxed.sys.global.add.s32")
SYSTEM_CHANGE(release, add, "red.release.sys.global.add.s32")

#endif
#endif
