/* system_flag.h - words through which GPUs of one host report their progress to each other. Scope .sys. sm_70.
 *
 * A flag orders the writes of a device into the memory of another: ordinary stores, and TMA stores that its thread has
 * waited for by bulk_wait_group(0); bulk_wait_group_read() is not enough. The scope of global_atomic.h is .gpu, which
 * is the threads of one device, so a flag of that scope orders nothing here, even if its value arrives. PTX 9.7.13.6
 * (red), 9.7.9.11 (st), 9.7.9.8 (ld); chapter 8 of the manual says what a scope is.
 *
 * Any thread; a flag is an int in the memory of any of the devices. */
#ifndef SYSTEM_FLAG_H
#define SYSTEM_FLAG_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

#define SYSTEM_FLAG_CHANGE(instruction) \
    asm volatile(instruction " [%0], %1;" ::"l"(__cvta_generic_to_global(flag)), "r"(value) : "memory")
#define SYSTEM_FLAG_READ(order)                          \
    int value;                                           \
    asm volatile("ld." order ".sys.global.s32 %0, [%1];" \
                 : "=r"(value)                           \
                 : "l"(__cvta_generic_to_global(flag))   \
                 : "memory");                            \
    return value

/* Adds, and publishes with the flag this thread's earlier accesses and all accesses that barriers order before them. */
DEVICE void system_flag_add_release(int *flag, int value) { SYSTEM_FLAG_CHANGE("red.release.sys.global.add.s32"); }

/* Stores, and publishes as system_flag_add_release() does. For a flag that one thread sets. */
DEVICE void system_flag_set_release(int *flag, int value) { SYSTEM_FLAG_CHANGE("st.release.sys.global.s32"); }

/* Stores, and orders nothing but the flag itself. */
DEVICE void system_flag_set_relaxed(int *flag, int value) { SYSTEM_FLAG_CHANGE("st.relaxed.sys.global.s32"); }

/* Returns the value. Orders the accesses that were published with it before this thread's next accesses. */
DEVICE int system_flag_read_acquire(const int *flag) { SYSTEM_FLAG_READ("acquire"); }

/* Returns the value, and orders nothing but the flag itself. */
DEVICE int system_flag_read_relaxed(const int *flag) { SYSTEM_FLAG_READ("relaxed"); }

/* Reads, and acquires, until the flag is `value` or more; ints may wrap around. */
DEVICE void system_flag_wait_acquire(const int *flag, int value) {
    while ((int)((unsigned)system_flag_read_acquire(flag) - (unsigned)value) < 0) {
    }
}

#elif defined(GEMM_MODEL)

#define MODEL_SYSTEM_ADD(order, flag, value) \
    ((void)model_atomic(MODEL_ADD, flag, (uint32_t)(value), 0, (ModelOrder)(order | MODEL_SYSTEM), HERE))
#define MODEL_SYSTEM_SET(order, flag, value) \
    model_store(flag, (uint32_t)(value), (ModelOrder)(order | MODEL_SYSTEM), HERE)
#define MODEL_SYSTEM_READ(order, flag) ((int)model_load(flag, (ModelOrder)(order | MODEL_SYSTEM), HERE))
#define system_flag_add_release(flag, value) MODEL_SYSTEM_ADD(MODEL_release, flag, value)
#define system_flag_set_release(flag, value) MODEL_SYSTEM_SET(MODEL_release, flag, value)
#define system_flag_set_relaxed(flag, value) MODEL_SYSTEM_SET(MODEL_relaxed, flag, value)
#define system_flag_read_acquire(flag) MODEL_SYSTEM_READ(MODEL_acquire, flag)
#define system_flag_read_relaxed(flag) MODEL_SYSTEM_READ(MODEL_relaxed, flag)
#define system_flag_wait_acquire(flag, value) \
    model_wait_word(flag, value, (ModelOrder)(MODEL_acquire | MODEL_SYSTEM), HERE)

#endif
#endif
