/* schedule.h - who runs next: the warps and the asynchronous work of the running clusters. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "state.h"

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* The current thread waits until thread_wake(). */
void thread_block(Thread *t, Wait wait);
void thread_wake(Thread *t);
/* Wakes a list linked by next_waiter and empties it. */
void threads_wake(Thread **waiters);
/* A place where others may come first, if the policy says so. */
void thread_pause(Thread *t);
/* The current thread has returned from the kernel, and all its checks are done. */
void thread_leave(Thread *t) __attribute__((noreturn));

/* ---- warp-wide instructions -------------------------------------------------------------------------------------- */

/* The current thread arrives at a warp-wide instruction. Returns 1 in the lane that comes last, once all lanes of
 * `mask` have: it does the work of the warp and then calls warp_go(). In the others it returns 0 after that. Reports
 * lanes that are elsewhere. */
int warp_meet(Thread *t, CollectiveKind kind, uint32_t mask, Site site);
void warp_go(Warp *w);
/* Reports lanes that wait in __syncthreads() while others of the warp are at a warp-wide instruction with them. */
void warp_check_sync(const Warp *w);
const char *collective_text(CollectiveKind kind);

/* ---- agents ------------------------------------------------------------------------------------------------------ */

void agent_queue(Agent *agent);
void agent_dequeue(Agent *agent);

/* ---- the launch -------------------------------------------------------------------------------------------------- */

void schedule_begin(void);
void schedule_end(void);
/* Runs until all clusters have ended. Called on the host's stack. */
void schedule_run(void);
void schedule_add_warp(Warp *w);

#endif
