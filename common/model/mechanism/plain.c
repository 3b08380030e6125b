/* plain.c - ordinary loads and stores: the functions that -fsanitize=thread makes a compiler call before each of them.
 *
 * Chapters are compiled with that option and linked without its library: the model is told of every ordinary access
 * instead. Host code of a chapter calls them too; it runs outside of any CUDA thread and is let pass. */
#include <signal.h>
#include <string.h>

#include "../event.h"
#include "../model.h"

/* Constants and variables of the program, and what the host left on its stack, are no concern of the model's; what is
 * neither those nor GPU memory would be an illegal address on a GPU. */
static int in_program(const void *p) {
    extern char __executable_start[], end[];
    return (const char *)p >= __executable_start && (const char *)p < end;
}

/* Tens of millions of these come in a launch: the rest of the record is zero, and stays so. */
static __attribute__((noinline)) void tell(EventKind kind, Thread *t, const void *p, uint32_t size, int write,
                                           const void *place) {
    static Event e;
    device.work++;
    e.kind = kind;
    e.thread = t;
    e.p = p;
    e.size = size;
    e.write = write;
    e.site = site_of(place);
    event_post(&e);
}

/* place: an instruction, or a "file:line" literal. */
static inline void access_at(const void *p, uint32_t size, int write, const void *place) {
    Thread *t = device.current;
    if (t == NULL) {
        return;
    }
    uintptr_t address = (uintptr_t)p;
    if (address - (uintptr_t)t->fiber.stack < FIBER_STACK_BYTES) {
        if (address - t->watched.begin < t->watched.bytes) {
            tell(EVENT_ACCUMULATOR_ACCESS, t, p, size, write, place);
        }
        if (write && t->lane == 0) {
            tell(EVENT_STACK_STORE, t, p, size, write, place);
        }
    } else if (global_is(p)) {
        tell(EVENT_GLOBAL_ACCESS, t, p, size, write, place);
    } else if (address - (uintptr_t)device.shared_base + SHARED_GUARD < device.shared_span + 2 * SHARED_GUARD) {
        tell(EVENT_SHARED_ACCESS, t, p, size, write, place);
    } else if (!in_program(p)) {
        tell(EVENT_UNKNOWN_ACCESS, t, p, size, write, place);
    }
}

/* A function of its own, so that the others end with their access. */
static __attribute__((noinline, cold)) void misaligned(const void *p, uint32_t size, int write,
                                                       const void *return_address) {
    access_at(p, size, write, return_address);
    if (device.current != NULL) {
        tell(EVENT_MISALIGNED_ACCESS, device.current, p, size, write, return_address);
    }
}

/* bytes: what the address must be a multiple of. */
static inline void plain_access(const void *p, uint32_t size, int write, uint32_t bytes, const void *return_address) {
    if (__builtin_expect(((uintptr_t)p & (bytes - 1)) != 0, 0)) {
        misaligned(p, size, write, return_address);
        return;
    }
    access_at(p, size, write, return_address);
}

/* ACCESS(name, bytes, write) for each function __tsan_<name><bytes>(void *). */
#define PLAIN_ACCESSES(ACCESS) \
    ACCESS(read, 1, 0)         \
    ACCESS(write, 1, 1)        \
    PLAIN_WORDS(ACCESS, )      \
    PLAIN_WORDS(ACCESS, unaligned_)
#define PLAIN_WORDS(ACCESS, prefix)      \
    PLAIN_SIZES(ACCESS, prefix##read, 0) \
    PLAIN_SIZES(ACCESS, prefix##write, 1)
#define PLAIN_SIZES(ACCESS, name, write) \
    ACCESS(name, 2, write) ACCESS(name, 4, write) ACCESS(name, 8, write) ACCESS(name, 16, write)

/* A struct of two words of 8 bytes is accessed as 16 bytes, and need not be a multiple of 16: the processor
 * reports such a vector (judge/fault.c). A name that begins with "unaligned_" says that any address is allowed. */
#define ALIGNMENT_OF(name, bytes) (#name[0] == 'u' ? 1 : (bytes) < 8 ? (bytes) : 8)
#define ACCESS(name, bytes, write)                                                             \
    void __tsan_##name##bytes(void *p) {                                                       \
        plain_access(p, bytes, write, ALIGNMENT_OF(name, bytes), __builtin_return_address(0)); \
    }
PLAIN_ACCESSES(ACCESS)

void __tsan_read_range(void *p, size_t size) { plain_access(p, (uint32_t)size, 0, 1, __builtin_return_address(0)); }
void __tsan_write_range(void *p, size_t size) { plain_access(p, (uint32_t)size, 1, 1, __builtin_return_address(0)); }

static inline void *move(void *to, const void *from, size_t bytes, const void *place) {
    if (bytes > 0) {
        access_at(from, (uint32_t)bytes, 0, place);
        access_at(to, (uint32_t)bytes, 1, place);
    }
    return memmove(to, from, bytes);
}

static inline void *set(void *to, int value, size_t bytes, const void *place) {
    if (bytes > 0) {
        access_at(to, (uint32_t)bytes, 1, place);
    }
    return memset(to, value, bytes);
}

void *model_memmove(void *to, const void *from, size_t bytes, const char *here) { return move(to, from, bytes, here); }
void *model_memset(void *to, int value, size_t bytes, const char *here) { return set(to, value, bytes, here); }

void *__tsan_memmove(void *to, const void *from, size_t size) {
    return move(to, from, size, __builtin_return_address(0));
}
void *__tsan_memcpy(void *to, const void *from, size_t size) __attribute__((alias("__tsan_memmove")));
void *__tsan_memset(void *to, int value, size_t size) { return set(to, value, size, __builtin_return_address(0)); }

void __tsan_init(void) {}

/* Not every stack has a guard below it (model.c), and a large frame may reach over one: a function that begins outside
 * its thread's stack ends the launch as an access to the guard does. */
void __tsan_func_entry(void *caller) {
    const Thread *t = device.current;
    (void)caller;
    if (t != NULL && (uintptr_t)__builtin_frame_address(0) - (uintptr_t)t->fiber.stack >= FIBER_STACK_BYTES) {
        raise(SIGSEGV);
    }
}
void __tsan_func_exit(void) {}
