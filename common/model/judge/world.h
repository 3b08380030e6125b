/* world.h - what threads know of other clusters: knowledge that passes through global memory. For event.c and
 * conflicts.c.
 *
 * A release puts what its thread knows beside the word that it writes; an acquire that reads the word takes it from
 * there. A relaxed write releases what its thread knew at its last fence; what a relaxed read finds is known from the
 * next fence on. A read-modify-write adds to what lies beside the word, a store of another thread replaces it: release
 * and acquire patterns of PTX 8.9. Scopes are .gpu, whatever a program says. */
#ifndef WORLD_H
#define WORLD_H

#include "clock.h"

/* ---- for event.c ------------------------------------------------------------------------------------------------- */

/* An atomic access to a word of global memory: before it is done, and behind it. */
void world_acquire(Thread *t, const void *word, AtomicKind kind, MemoryOrder order);
void world_release(Thread *t, const void *word, AtomicKind kind, MemoryOrder order, Site site);
/* fence.acq_rel.gpu */
void world_fence(Thread *t);
/* fence.proxy.async for global memory */
void world_fence_proxy(Thread *t);
void world_cta_end(Cta *cta);
void world_launch_end(void);

/* ---- for conflicts.c --------------------------------------------------------------------------------------------- */

/* Does the thread know an access of a cluster, its own or another? Is it covered by a proxy fence that it knows of? */
int world_knows(const Thread *t, uint32_t serial, Component component, uint32_t epoch);
int world_fenced(const Thread *t, uint32_t serial, Component component, uint32_t epoch);
/* Why it does not: a line of the report in progress. issuer: the thread of the access, `who` in words. */
void world_missing(const Thread *t, uint32_t serial, Component component, uint32_t epoch, const char *who);

#endif
