/* schedule.h - who runs next: the warps and the asynchronous work of the running clusters. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "state.h"

/* ---- threads: for the mechanisms --------------------------------------------------------------------------------- */

/* The current thread waits for what t->wait says, of which only kind, site and `what` must hold. */
void thread_sleep(Thread *t);
/* Waits in a list, which threads_wake() wakes and empties. */
void thread_block_in(Thread *t, Thread **waiters, Wait wait);
void threads_wake(Thread **waiters);
/* A place where others may come first, if the policy says so. */
void thread_pause(Thread *t);
/* CTAs talk to each other here: the next cluster may begin next to the running ones, if the policy says so. */
void clusters_mix(void);
/* Takes the launch's next cluster, which there must be: its first CTA. CUDA promises no order in which CTAs begin: as
 * many as fit side by side begin in any, and no other before them, so that one that waits for a CTA of a lower number
 * does not wait for ever. */
int clusters_take(Launch *l);
/* model.c: the current thread has returned from the kernel. */
void thread_leave(Thread *t) __attribute__((noreturn));

/* The current thread asks at `address`, where `version` is what it finds, `in_vain` if that is known not to be what it
 * waits for. Is that a loop that waits: has the thread kept nothing of the same question before? Then it would ask the
 * same for ever, and must let others run: poll_wait() waits until pollers_wake() says that something has changed there,
 * or where it asked before if it asks at several places in turn, or nothing else can happen. What counts its questions
 * is told the same again, up to the patience of the model. */
int poll_again(Thread *t, const void *address, uint64_t version, int in_vain);
#define POLL_BEGINS(t) \
    ((t)->poll.loops = (t)->poll.counts = 0, (t)->poll.kept = FIBER_KEPT()) /* in the function that the kernel calls */
/* What the thread keeps across that call, but for the place that it returns to. */
uint64_t poll_kept(const Thread *t);
void poll_wait(Thread *t, Wait wait);
void pollers_wake(const void *address);

/* A place between what a thread finds in a word, or is about to do to it, and what it does next. If the policy says so,
 * it waits until another thread has touched the word, or changed it, or nothing else can happen. */
void thread_stall(Thread *t, const void *word, Site site, int until_change);
void stalled_wake(const void *word, int changed);
/* model.c, where nothing else can happen: does anybody wait so, or poll? Wakes the former, or else all who poll; 0 if
 * there is none, or they were woken too often without anything having changed. */
int anybody_waits(void);
int anybody_wakes(void);

/* ---- asynchronous work: for the mechanisms ----------------------------------------------------------------------- */

void agent_queue(Agent *agent);
void agent_dequeue(Agent *agent);

/* ---- an explorer: tests/model/explore.c -------------------------------------------------------------------------- */

/* Decides in place of the policy, if there is one. */
typedef struct {
    /* Which continues: the index of a thread, or `threads` + the index of an agent, which then does all its work. */
    int (*choose)(Thread *const *thread, int threads, Agent *const *agent, int agents);
    void (*queued)(const Agent *agent);            /* there is asynchronous work */
    void (*woken)(const Thread *t);                /* by who is running */
    void (*joined)(const Warp *w, uint32_t lanes); /* they have executed an instruction together */
} Explorer;
extern const Explorer *schedule_explorer;

/* The current thread stays ready, and the explorer chooses. */
void thread_give_way(Thread *t);

/* ---- the launch: for model.c ------------------------------------------------------------------------------------- */

void schedule_begin(void);
void schedule_add_warp(Warp *w);
/* Runs, on the host's stack, as long as next_cluster() returns 1. stuck(): all threads wait and no asynchronous work is
 * left; it wakes somebody or ends the launch. beside(): begins one more cluster if an SM is free. */
void schedule_run(int (*next_cluster)(void), void (*stuck)(void), int (*beside)(void));
void schedule_end(void);

/* Whoever ends the launch: the fiber of the caller is not continued. */
void model_stop(void) __attribute__((noreturn));

#endif
