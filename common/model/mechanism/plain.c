/* plain.c - the functions that -fsanitize=thread makes a compiler call before every load and store of a chapter.
 *
 * Chapters are compiled with that option and linked without its library: the model is told of every ordinary access
 * instead. Host code of a chapter calls them too; it runs outside of any CUDA thread and is let pass. */
#include <stddef.h>
#include <stdint.h>

#include "../judge/clock.h"
#include "../tell/count.h"
#include "global.h"
#include "../judge/provenance.h"
#include "../judge/bug_report.h"
#include "../judge/shadow.h"
#include "../tell/steps.h"
#include "wgmma_registers.h"

static void shared_access(Thread *t, const void *p, uint32_t size, int write, Site site) {
    uint32_t offset = shared_offset(t, p, size, write ? "store" : "load", site);
    Actor actor = actor_plain(t, write ? ACCESS_PLAIN_WRITE : ACCESS_PLAIN_READ, site);
    if (write) {
        shadow_write(t->cta, &actor, offset, size);
    } else {
        shadow_read(t->cta, &actor, offset, size);
    }
}

/* Constants and variables of the program, and what the host left on its stack, are no concern of the model's; what is
 * neither those nor GPU memory would be an illegal address on a GPU. */
static int in_program(const void *p) {
    extern char __executable_start[], end[];
    return (const char *)p >= __executable_start && (const char *)p < end;
}

/* Loads of one place from one instruction, with nothing else between: an ordinary load orders nothing, and no thread
 * stops at it, so that such a loop would run for ever. */
enum { SPIN_LIMIT = 1 << 20 };

static inline void check_spin(const Thread *t, uintptr_t address, uint32_t size, int write, Site site) {
    static struct {
        const Thread *thread;
        uintptr_t address;
        uint64_t step;
        Site site;
        uint32_t count;
    } last;
    if (write || last.address != address || last.site != site || last.thread != t || last.step != device.step) {
        last.thread = t;
        last.address = write ? 0 : address;
        last.step = device.step;
        last.site = site;
        last.count = 0;
    } else if (++last.count == SPIN_LIMIT) {
        last.address = 0;
        report_misuse(RULE_LIVELOCK, site, 1,
                      "ordinary load of the same %u bytes, %d times without anything between: nothing orders it behind "
                      "a store of another thread; wait at a barrier, or poll a counter of global_counter.h",
                      size, SPIN_LIMIT);
    }
}

static inline void plain_access(const void *p, uint32_t size, int write, const void *return_address) {
    Thread *t = device.current;
    if (t == NULL) {
        return;
    }
    uintptr_t address = (uintptr_t)p;
    if (address - (uintptr_t)t->fiber.stack < FIBER_STACK_BYTES) {
        if (address - t->guarded < t->guarded_bytes) {
            registers_accessed(t, p, size, write, site_of(return_address));
        }
        if (write && t->lane == 0 && t->warp->matrix_tags != NULL) {
            provenance_forget(t->warp, p, size);
        }
    } else if (global_is(p)) {
        check_spin(t, address, size, write, site_of(return_address));
        count_access(t, write ? COUNTED_GLOBAL_STORE : COUNTED_GLOBAL_LOAD, p, size, site_of(return_address));
        global_access(t, p, size, write ? GLOBAL_WRITE : GLOBAL_READ, thread_component(t), thread_epoch(t),
                      site_of(return_address), write ? "store" : "load");
        trace_plain(t, 1, write, size);
    } else if (address - (uintptr_t)device.shared_base + SHARED_STRIDE < device.shared_span + 2 * SHARED_STRIDE) {
        check_spin(t, address, size, write, site_of(return_address));
        count_access(t, write ? COUNTED_SHARED_STORE : COUNTED_SHARED_LOAD, p, size, site_of(return_address));
        shared_access(t, p, size, write, site_of(return_address));
        trace_plain(t, 0, write, size);
    } else if (!in_program(p)) {
        global_report_unknown(t, p, size, write, site_of(return_address));
    }
}

#define ACCESS(name, size, write) \
    void __tsan_##name(void *p);  \
    void __tsan_##name(void *p) { plain_access(p, size, write, __builtin_return_address(0)); }
ACCESS(read1, 1, 0)
ACCESS(read2, 2, 0)
ACCESS(read4, 4, 0)
ACCESS(read8, 8, 0)
ACCESS(read16, 16, 0)
ACCESS(write1, 1, 1)
ACCESS(write2, 2, 1)
ACCESS(write4, 4, 1)
ACCESS(write8, 8, 1)
ACCESS(write16, 16, 1)
ACCESS(unaligned_read2, 2, 0)
ACCESS(unaligned_read4, 4, 0)
ACCESS(unaligned_read8, 8, 0)
ACCESS(unaligned_read16, 16, 0)
ACCESS(unaligned_write2, 2, 1)
ACCESS(unaligned_write4, 4, 1)
ACCESS(unaligned_write8, 8, 1)
ACCESS(unaligned_write16, 16, 1)
ACCESS(volatile_read1, 1, 0)
ACCESS(volatile_read2, 2, 0)
ACCESS(volatile_read4, 4, 0)
ACCESS(volatile_read8, 8, 0)
ACCESS(volatile_read16, 16, 0)
ACCESS(volatile_write1, 1, 1)
ACCESS(volatile_write2, 2, 1)
ACCESS(volatile_write4, 4, 1)
ACCESS(volatile_write8, 8, 1)
ACCESS(volatile_write16, 16, 1)
ACCESS(unaligned_volatile_read2, 2, 0)
ACCESS(unaligned_volatile_read4, 4, 0)
ACCESS(unaligned_volatile_read8, 8, 0)
ACCESS(unaligned_volatile_read16, 16, 0)
ACCESS(unaligned_volatile_write2, 2, 1)
ACCESS(unaligned_volatile_write4, 4, 1)
ACCESS(unaligned_volatile_write8, 8, 1)
ACCESS(unaligned_volatile_write16, 16, 1)

void __tsan_read_range(void *p, size_t size);
void __tsan_read_range(void *p, size_t size) { plain_access(p, (uint32_t)size, 0, __builtin_return_address(0)); }
void __tsan_write_range(void *p, size_t size);
void __tsan_write_range(void *p, size_t size) { plain_access(p, (uint32_t)size, 1, __builtin_return_address(0)); }

/* Clang's names for a read and a write of one place. */
#define READ_WRITE(size)                                       \
    void __tsan_read_write##size(void *p);                     \
    void __tsan_read_write##size(void *p) {                    \
        plain_access(p, size, 0, __builtin_return_address(0)); \
        plain_access(p, size, 1, __builtin_return_address(0)); \
    }
READ_WRITE(1)
READ_WRITE(2)
READ_WRITE(4)
READ_WRITE(8)
READ_WRITE(16)

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **p, void *value);
void __tsan_vptr_update(void **p, void *value) {
    (void)p;
    (void)value;
}
