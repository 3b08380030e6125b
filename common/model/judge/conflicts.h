/* conflicts.h - global memory: bounds, and accesses of the same bytes that nothing orders. */
#ifndef CONFLICTS_H
#define CONFLICTS_H

#include "../core/memory.h"
#include "clock.h"

/* HOW(id, name in reports, 1 if it writes, 1 if atomic, 1 if it goes through the async proxy). ATOMIC reads and writes. */
#define GLOBAL_ACCESSES(HOW)                                     \
    HOW(READ, "load", 0, 0, 0)                                   \
    HOW(WRITE, "store", 1, 0, 0)                                 \
    HOW(ATOMIC, "atomic access", 1, 1, 0)                        \
    HOW(ATOMIC_READ, "atomic load", 0, 1, 0)                     \
    HOW(ATOMIC_STORE, "atomic store", 1, 1, 0)                   \
    HOW(TMA_READ, "TMA load (reading global memory)", 0, 0, 1)   \
    HOW(TMA_WRITE, "TMA store (writing global memory)", 1, 0, 1) \
    HOW(TMA_ADD, "TMA reduction (adding to global memory)", 1, 1, 1)

typedef enum {
#define HOW(id, ...) GLOBAL_##id,
    GLOBAL_ACCESSES(HOW)
#undef HOW
} GlobalAccess;

/* For event.c. */
void conflicts_launch_begin(void);
/* All threads of the set of launches have returned. */
void conflicts_launches_done(void);
void conflicts_shutdown(void);

/* For the other judges, of what copies do, and for event.c, of ordinary accesses. t: who is to blame; component and epoch
 * as in shadow.h. Stops the launch if the access is outside every allocation, or p no address of global memory. */
void conflicts_access(Thread *t, const void *p, uint32_t size, GlobalAccess how, Component component, uint32_t epoch,
                      Site site, const char *what);
/* The same for a copy's read, as an access of the thread that starts it. */
void conflicts_read(Thread *t, const void *p, uint32_t size, Site site, const char *what);

/* For event.c. */
void conflicts_plain(Thread *t, const void *p, uint32_t size, int write, Site site);
/* An atomic access, and what it orders. */
void conflicts_atomic(Thread *t, const void *p, AtomicKind kind, MemoryOrder order, const char *what, const int *wanted,
                      Site site);
void conflicts_free(Allocation *allocation);
/* Ordinary access to memory of a kernel: is it a loop that nothing ends? */
void conflicts_spin(const Thread *t, const void *p, uint32_t size, int write, Site site);
/* Ordinary access at an address that does not suit its size. */
void conflicts_misaligned(Thread *t, const void *p, uint32_t size, Site site, const char *what);
/* An address that is in no memory the model knows. */
void conflicts_unknown(Thread *t, const void *p, uint32_t size, Site site, const char *what) __attribute__((noreturn));

#endif
