/* plain.h - ordinary loads and stores: the functions that -fsanitize=thread makes a compiler call before each of them.
 *
 * Chapters are compiled with that option and linked without its library: the model is told of every ordinary access
 * instead. Host code of a chapter calls them too; it runs outside of any CUDA thread and is let pass. */
#ifndef MODEL_PLAIN_H
#define MODEL_PLAIN_H

#include <stddef.h>

/* ACCESS(name, bytes, write) for each function __tsan_<name><bytes>(void *). */
#define PLAIN_ACCESSES(ACCESS)      \
    PLAIN_BYTES(ACCESS, )           \
    PLAIN_BYTES(ACCESS, volatile_)  \
    PLAIN_WORDS(ACCESS, )           \
    PLAIN_WORDS(ACCESS, volatile_)  \
    PLAIN_WORDS(ACCESS, unaligned_) \
    PLAIN_WORDS(ACCESS, unaligned_volatile_)
#define PLAIN_BYTES(ACCESS, prefix) ACCESS(prefix##read, 1, 0) ACCESS(prefix##write, 1, 1)
#define PLAIN_WORDS(ACCESS, prefix)      \
    PLAIN_SIZES(ACCESS, prefix##read, 0) \
    PLAIN_SIZES(ACCESS, prefix##write, 1)
#define PLAIN_SIZES(ACCESS, name, write) \
    ACCESS(name, 2, write) ACCESS(name, 4, write) ACCESS(name, 8, write) ACCESS(name, 16, write)

#define DECLARE(name, bytes, write) void __tsan_##name##bytes(void *p);
PLAIN_ACCESSES(DECLARE)
#undef DECLARE
void __tsan_read_range(void *p, size_t size);
void __tsan_write_range(void *p, size_t size);

/* Clang's names for a read and a write of one place. */
void __tsan_read_write1(void *p);
void __tsan_read_write2(void *p);
void __tsan_read_write4(void *p);
void __tsan_read_write8(void *p);
void __tsan_read_write16(void *p);

/* Clang's copies of a struct, from version 16 on. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int value, size_t size);

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_vptr_update(void **p, void *value);

#endif
