/* fiber.c - stacks and the switch between them. */
#include "fiber.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint8_t *fiber_stacks_map(int count, int guarded) {
    size_t bytes = (size_t)count * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES);
    uint8_t *stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) {
        return NULL;
    }
    /* Without the guard an overflow would damage the next stack; not fatal if the kernel runs out of mappings. The
     * lowest stack has one in any case, because other memory is below it. Pages are larger on some kernels for Arm:
     * there a guard would take the stack above it. */
    int guards = sysconf(_SC_PAGESIZE) > FIBER_GUARD_BYTES ? 0 : guarded ? count : 1;
    for (int i = 0; i < guards; i++) {
        (void)!mprotect(fiber_stack(stacks, i) - FIBER_GUARD_BYTES, FIBER_GUARD_BYTES, PROT_NONE);
    }
    return stacks;
}

void fiber_stacks_unmap(uint8_t *stacks, int count) {
    if (stacks != NULL) {
        munmap(stacks, (size_t)count * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES));
    }
}

/* fiber_switch(): the registers that a function must preserve go onto the old stack and come from the new one. The
 * floating-point control words are the same in all fibers. */
_Static_assert(offsetof(Fiber, sp) == 8, "8(from) and 8(to) below");

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, 8(%rdi)\n"
        "    movq 8(%rsi), %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n");
enum { SAVED_WORDS = 8, ENTRY_WORD = 6 }; /* six registers, the return address, and one word for the alignment */
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, %function\n"
        "fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0, #8]\n"
        "    ldr x9, [x1, #8]\n"
        "    mov sp, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n");
enum { SAVED_WORDS = 20, ENTRY_WORD = 11 }; /* x30, the return address, is the twelfth word */
#else
#error "the CPU model runs on x86-64 and aarch64"
#endif

void fiber_start(Fiber *fiber, uint8_t *stack, size_t skip, void (*entry)(void)) {
    fiber->stack = stack;
    uint8_t *top = stack + FIBER_STACK_BYTES - skip;
    uint64_t *words = (uint64_t *)(void *)top - SAVED_WORDS;
    memset(words, 0, SAVED_WORDS * sizeof *words);
    words[ENTRY_WORD] = (uint64_t)(uintptr_t)entry;
    fiber->sp = words;
}
