/* fiber.h - the switch between CUDA threads: a stack for each and one function that changes stacks. It is written for
 * x86-64 and aarch64; ucontext would be 20 times slower, as its swapcontext makes a system call for the signal mask. */
#ifndef FIBER_H
#define FIBER_H

#include <stddef.h>
#include <stdint.h>

enum {
    FIBER_STACK_BYTES = 64 * 1024,
    FIBER_GUARD_BYTES = 4096, /* below each stack, not accessible */
};

typedef struct {
    uint8_t *stack; /* lowest byte; NULL for the context that came with the OS thread */
    void *sp;
} Fiber;

/* Room for `count` stacks, or NULL. Memory is used as stacks are touched. guarded: an overflow ends in a signal. */
uint8_t *fiber_stacks_map(int count, int guarded);
void fiber_stacks_unmap(uint8_t *stacks, int count);
static inline uint8_t *fiber_stack(uint8_t *stacks, int i) {
    return stacks + (size_t)i * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES) + FIBER_GUARD_BYTES;
}

/* Make the fiber call entry() at its first switch, on `stack`, `skip` bytes (a multiple of 64) below its top. entry()
 * must not return. */
void fiber_start(Fiber *fiber, uint8_t *stack, size_t skip, void (*entry)(void));

/* Leave `from`, continue `to`. Returns when somebody switches back to `from`. */
void fiber_switch(Fiber *from, Fiber *to);

/* FIBER_KEPT(), at the start of a function that a kernel calls: the address from which on the fiber's stack holds what
 * the kernel keeps across the call, including the registers that the function must preserve. The address that the
 * function returns to is FIBER_RETURNS bytes further. */
#if defined(__x86_64__)
#define FIBER_KEPT() (__builtin_unwind_init(), (uintptr_t)__builtin_frame_address(0) - 5 * sizeof(uint64_t))
enum { FIBER_RETURNS = 6 * 8 };
#else
#define FIBER_KEPT() (__builtin_unwind_init(), (uintptr_t)__builtin_frame_address(0))
enum { FIBER_RETURNS = 8 };
#endif

#endif
