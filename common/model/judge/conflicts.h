/* conflicts.h - global memory: bounds, and accesses of the same bytes that nothing orders. */
#ifndef CONFLICTS_H
#define CONFLICTS_H

#include "clock.h"
#include "../core/memory.h"

typedef enum { GLOBAL_READ, GLOBAL_WRITE, GLOBAL_ATOMIC, GLOBAL_ATOMIC_READ } GlobalAccess;

/* For the other judges, of what copies do, and for event.c, of ordinary accesses. t: who is to blame; component and epoch
 * as in shadow.h. Stops the launch if the access is outside every allocation, or p no address of global memory. */
void conflicts_access(Thread *t, const void *p, uint32_t size, GlobalAccess how, Component component, uint32_t epoch,
                      Site site, const char *what);
/* The same for a copy's read, as an access of the thread that starts it. */
void conflicts_read(Thread *t, const void *p, uint32_t size, Site site, const char *what);

/* For event.c. */
void conflicts_plain(Thread *t, const void *p, uint32_t size, int write, Site site);
/* write: it may change the word. */
void conflicts_atomic(Thread *t, const void *p, int write, const char *what, Site site);
void conflicts_free(Allocation *allocation);
/* Ordinary access to memory of a kernel: is it a loop that nothing ends? */
void conflicts_spin(const Thread *t, const void *p, uint32_t size, int write, Site site);
/* Ordinary access at an address that does not suit its size. */
void conflicts_misaligned(Thread *t, const void *p, uint32_t size, Site site, const char *what);
/* An address that is in no memory the model knows. */
void conflicts_unknown(Thread *t, const void *p, uint32_t size, Site site, const char *what) __attribute__((noreturn));

#endif
