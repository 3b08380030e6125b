/* sync.h - barriers of all kinds, and what else threads wait for. */
#ifndef SYNC_H
#define SYNC_H

#include "core/state.h"

/* barrier.c: __syncthreads, named barriers, cluster barriers, setmaxnreg. A thread has ended: barriers that wait for
 * all may complete. */
void barriers_thread_exit(Thread *t);
void barriers_cta_free(Cta *cta);

/* mbarrier.c */
Barrier *mbarrier_find(Cta *cta, uint32_t offset);
/* Offset of a barrier in the thread's CTA; reports and stops if it is outside or not aligned. */
uint32_t mbarrier_offset(Thread *t, const void *bar, const char *what, Site site);
/* The barrier at `bar` in the current CTA, after checking that the thread may use it. Reports and returns NULL if
 * not. */
Barrier *mbarrier_use(Thread *t, const void *bar, Site site, const char *what);
/* The same in another CTA of the cluster. */
Barrier *mbarrier_use_in(Thread *t, Cta *cta, uint32_t offset, Site site, const char *what);
/* The copy engine is to use it: its initialisation must have been fenced. */
void mbarrier_check_fenced(Thread *t, Barrier *b, Site site, const char *what);
/* Bytes of a copy have landed. */
void mbarrier_complete_tx(Barrier *b, uint32_t bytes, uint64_t time);
void mbarrier_exit_check(Cta *cta);
void mbarriers_free(Cta *cta);
/* The thread reaches into the shared memory of `cta`, which must outlive that. */
void cluster_touch(Thread *t, Cta *cta, Site site, const char *what);
/* A row of --barriers: `event` is a format that may take the amount. */
void mbarrier_event(const Barrier *b, const char *event, long long amount);

/* global.c: polling. A thread that asks again though nothing has changed waits until something has. */
void poll_wait(Thread *t, Wait wait);
/* Wakes those who poll this counter or barrier, or all if NULL; returns how many. */
int pollers_wake(const void *address);

#endif
