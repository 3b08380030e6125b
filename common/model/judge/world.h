/* world.h - what threads know of other clusters: knowledge that passes through global memory. For event.c and order.c.
 *
 * A release stores what its thread knows next to the word that it writes; an acquire that reads the word takes it from
 * there. A relaxed write releases what its thread knew at its last fence; what a relaxed read finds is known from the
 * next fence on. A read-modify-write adds to what is next to the word, a store of another thread replaces it: release
 * and acquire patterns of PTX 8.9. A scope of .gpu reaches the threads of one device, system scope all of them: a word
 * has what was released on it for each device, and for all. A launch knows what the previous launch of its
 * stream did and knew. */
#ifndef WORLD_H
#define WORLD_H

#include "clock.h"

/* ---- for event.c ------------------------------------------------------------------------------------------------- */

/* An atomic access to a word of global memory: before it is performed, and after it. */
void world_acquire(Thread *t, const void *word, AtomicKind kind, MemoryOrder order, Site site);
void world_release(Thread *t, const void *word, AtomicKind kind, MemoryOrder order, Site site);
/* The word was `before` and has this value now. A load has waited until it was `wanted` or more: the thread learns what
 * had been released by then, and not what came with the value that it happened to find. */
void world_reached(Thread *t, const void *word, MemoryOrder order, int wanted);
/* The first store of this set that another schedule may order differently with a store or a wait; 0: none. */
Site world_unordered(void);

/* ---- for order.c ------------------------------------------------------------------------------------------------- */

/* Does the thread know an access of a cluster, its own or another? Does it see it; is it covered by a proxy fence? */
int world_has(const Thread *t, const Access *e, Aspect aspect, Space space);
/* ... does it know that the launch has begun? Does the device know an access, by a launch of its that has ended? */
int world_knows_start(const Thread *t, const LaunchFacts *launch);
int world_device_knows(int on, const Access *e);
/* Has the thread that issued a copy waited for it? */
int world_issuer_knows(const Access *e);
/* It does not, and it would if the scope of an atomic or a fence were .sys. t: NULL for the device. */
int world_is_beyond(const Thread *t, int on, const Access *e);
/* Does an atomic release this access? */
int world_is_handed_on(const Access *e);
/* Why the thread, or NULL, the device, does not know it: a line of the report in progress. `who` made the access. */
void world_missing(const Thread *t, int on, const Access *e, const char *who);

#endif
