/* journal.h - what --steps writes: a line of JSON for each thing that happens to barriers, copies, products and those who
 * wait for them, in the order in which it happens; and the reports between. All do nothing without ModelOptions.journal,
 * and are for event.c.
 *
 * Every line has "step" and "what"; then "cta" and who: a thread by its number in the CTA, a warp or a warpgroup. A line
 * about a barrier has the state that the barrier is in afterwards. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include "../core/state.h"

void journal_launch_begin(void);
void journal_launch_end(void);
void journal_tile(const Thread *t, int row, int col);
void journal_returned(const Thread *t);

/* The thread is about to make or use the barrier, here. */
void journal_use(const Thread *t, Site site);
void journal_barrier(const Barrier *b, MbarrierChange how, long long amount);
/* A phase is over, and the next one has begun. */
void journal_phase(const Barrier *b);
void journal_wait(const Thread *t, const Barrier *b, uint32_t parity, Site site);
void journal_passed(const Thread *t, const Barrier *b, uint64_t phase, Site site);

/* __syncthreads() is barrier 0. */
void journal_sync(const Thread *t, int id, int expected, int waits, Site site);
void journal_sync_complete(const Cta *cta, int id);

void journal_load(const TmaLoad *load);
/* A piece of the load's box is about to be counted; it, or what a thread completes itself, has been. */
void journal_landing(const TmaLoad *load);
void journal_landed(const Barrier *b, const Thread *by, uint32_t bytes);
void journal_store(const TmaCopy *copy);
void journal_stored(const TmaStore *store);
void journal_bulk_commit(const Thread *t);
void journal_bulk_wait(const Thread *t, int newest, int read, Site site);
void journal_fence_proxy(const Thread *t);

void journal_registers(const Warp *w, int increase, int registers, Site site);
void journal_ldmatrix(const Warp *w, const void *const row[WARP_SIZE], Site site);
void journal_stmatrix(const Warp *w, void *const row[WARP_SIZE], Site site);
void journal_part(const Warp *w, const Product *product);
void journal_issued(const Warpgroup *g, const Product *product);
void journal_done(const Warpgroup *g, const Product *product);
void journal_commit(const Warp *w);
void journal_wgmma_wait(const Warp *w, int newest, Site site);
/* The first so many groups are over for this warp. */
void journal_waited(const Warp *w, uint64_t done);

#endif
