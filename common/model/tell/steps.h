/* steps.h - when things happen, and events of it for a timeline.
 *
 * Time is in steps of a rough table of costs (costs.h): it shows order and overlap, not speed. Nobody measures unless
 * ModelOptions.trace or count is set: t->steps and cta->steps are NULL then, and all of these do nothing. All are for
 * event.c; model_trace.h has what the harness calls. */
#ifndef STEPS_H
#define STEPS_H

#include "../core/state.h"

/* What the launches before have left: those that follow make a trace of their own. */
void steps_forget(void);
void steps_launch_begin(void);
void steps_shutdown(void);
/* The CTA takes an SM, and its threads' time begins; all have returned; it is taken down. */
void steps_cta_begin(Cta *cta);
void steps_cta_returned(Cta *cta);
void steps_cta_end(Cta *cta);
void steps_tile(Thread *t, int row, int col);

void steps_plain(Thread *t, int is_global, int write, uint32_t size);

void steps_shuffle(Warp *w, int transposes);
void steps_ldmatrix(Warp *w, const uint32_t *r0);
void steps_stmatrix(Warp *w);
void steps_mma(Warp *w, const uint32_t *a0, const uint32_t *b0);

void steps_copy(Thread *t);
void steps_group_commit(Thread *t, GroupKind kind);
void steps_group_wait(Thread *t, GroupKind kind, int newest, uint32_t done);

void steps_barrier_arrive(Thread *t, int id);
void steps_barrier_complete(Cta *cta, int id);
void steps_barrier_passed(Thread *t, int id);
void steps_cluster_arrive(Thread *t);
void steps_cluster_complete(Cluster *cluster);
void steps_cluster_passed(Thread *t);

void steps_mbarrier_arrive(Thread *t, Barrier *b);
/* The thread's copies so far will arrive there. */
void steps_copies(Thread *t, Barrier *b);
void steps_st_async(Thread *t, Barrier *b);
void steps_mbarrier_complete(Barrier *b);
void steps_mbarrier_wait(Thread *t);
void steps_mbarrier_passed(Thread *t, const Barrier *b);

void steps_load(const TmaLoad *load);
void steps_store(const TmaCopy *copy);
void steps_bulk_commit(Thread *t);
void steps_bulk_wait(Thread *t, int newest, int read, uint32_t done);

void steps_wgmma_part(Warp *w, const Product *product);
void steps_wgmma_issued(Warpgroup *g, const Product *product);
void steps_wgmma_waited(Warp *w, int newest, uint64_t done);

#endif
