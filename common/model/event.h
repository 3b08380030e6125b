/* event.h - what happens in the model: one function for each thing. The mechanisms and model.c call them; event.c says
 * who listens. Unless said otherwise an event comes right before the thing is done, so that a rule can be asked first: a
 * judge that stops the launch does not return. `what` names an instruction for reports, `site` is its place. */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include "core/memory.h"
#include "core/state.h"

/* ---- the launch: model.c ----------------------------------------------------------------------------------------- */

void event_configured(void);
void event_launch_begin(void);
/* All of its threads have returned. */
void event_launches_done(void);
/* Everything is taken down. */
void event_launch_end(void);
/* Memory kept from launch to launch goes. */
void event_shutdown(void);
/* It has no CTA yet; they are gone. */
void event_cluster_begin(Cluster *cluster);
void event_cluster_end(Cluster *cluster);
/* Its threads are set up; all of them have returned; it is taken down. */
void event_cta_begin(Cta *cta);
void event_cta_returned(Cta *cta);
void event_cta_end(Cta *cta);
void event_thread_returned(Thread *t);
/* The kernel has named its shared memory; it asks for an address in it. */
void event_shared_memory(const Cta *cta);
void event_shared_address(const Cta *cta, const void *p);
/* The thread takes a tile of C. */
void event_tile(Thread *t, int row, int col);
/* No thread can go on, and nothing asynchronous is left. */
void event_stuck(void) __attribute__((noreturn));

/* ---- ordinary accesses: plain.c ---------------------------------------------------------------------------------- */

void event_shared_access(Thread *t, const void *p, uint32_t size, int write, Site site);
void event_global_access(Thread *t, const void *p, uint32_t size, int write, Site site);
/* Of registers that wgmma knows as accumulators or fragments, or that lie between such. */
void event_accumulator_access(Thread *t, const void *p, uint32_t size, int write, Site site);
/* By lane 0 to its stack. */
void event_stack_store(Thread *t, const void *p, uint32_t size, Site site);
/* Ends the launch. */
void event_misaligned(Thread *t, const void *p, uint32_t size, int write, Site site);
/* Of memory that is none of a kernel's. */
void event_unknown_access(Thread *t, const void *p, uint32_t size, int write, Site site) __attribute__((noreturn));

/* ---- global memory: global.c ------------------------------------------------------------------------------------- */

void event_global_free(Allocation *allocation);
/* To 4 bytes, of shared memory too. wanted: a load waits until the word is this or more; NULL: it does not. What the word
 * was before, and is now. */
void event_atomic(Thread *t, const void *p, AtomicKind kind, MemoryOrder order, const char *what, const int *wanted,
                  Site site);
void event_atomic_done(Thread *t, const void *p, MemoryOrder order, uint32_t before, uint32_t value);
/* fence.acq_rel.gpu or .sys */
void event_fence(Thread *t, int system);
void event_grid_wait(Thread *t);

/* ---- a warp: warp.c ---------------------------------------------------------------------------------------------- */

/* The lanes of `mask` do not execute an instruction together: one comes to another instruction, or another mask, than
 * those who wait, or some have returned from the kernel or wait in __syncthreads(). */
void event_warp_apart(Thread *t, WarpInstruction instruction, uint32_t mask, Site site) __attribute__((noreturn));
/* All lanes of the warp are at one instruction. */
void event_warp_together(Warp *w);
void event_syncwarp(Warp *w);
/* A lane reads from one that takes no part. */
void event_shuffle_source(Warp *w, int lane, int from);
/* transposes: by XOR. */
void event_shuffle(Warp *w, int transposes);
void event_shuffle_width(int width, Site site);
/* vote, or match. */
void event_vote(Warp *w);
/* Registers and addresses by lane. */
void event_ldmatrix(Warp *w, uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE], int trans, Site site);
void event_stmatrix(Warp *w, void *const row[WARP_SIZE], Site site);
void event_mma(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
               const uint32_t *const b[WARP_SIZE], Site site);
/* The product has been added to d. */
void event_mma_done(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                    const uint32_t *const b[WARP_SIZE], Site site);

/* ---- cp.async: copy.c -------------------------------------------------------------------------------------------- */

void event_copy(Thread *t, void *dst, const void *src, int bytes, Site site);

/* ---- groups of a thread's copies: group.c, and copy.c for its own ------------------------------------------------ */

void event_group_commit(Thread *t, GroupKind kind, Site site);
/* `done` groups are over then. */
void event_group_wait(Thread *t, GroupKind kind, int newest, uint32_t done, Site site);

/* ---- barriers of the CTA and of the cluster: barrier.c ----------------------------------------------------------- */

/* At number id, which `expected` threads make complete; 0: all that have not returned. waits: or goes on at once. */
void event_barrier_arrive(Thread *t, int id, int expected, int waits, Site site);
/* All who wait for it are in its list, the last one too. */
void event_barrier_complete(Cta *cta, int id);
/* The thread, which waited, goes on. */
void event_barrier_passed(Thread *t, int id);
void event_cluster_arrive(Thread *t, int release, Site site);
void event_cluster_complete(Cluster *cluster);
void event_cluster_wait(Thread *t, Site site);
void event_cluster_passed(Thread *t);

/* ---- shared memory of other CTAs: cluster.c ---------------------------------------------------------------------- */

/* At the place of p in CTA `rank`, if there is one. */
void event_cluster_access(Thread *t, int rank, const void *p, uint32_t size, int write, Site site);
/* Into the CTA of the barrier, which counts it. */
void event_st_async(Thread *t, Barrier *b, const void *p, uint32_t size, Site site);

/* ---- setmaxnreg: registers.c ------------------------------------------------------------------------------------- */

/* All lanes of the warp have come. */
void event_setmaxnreg(Warp *w, int increase, int registers, Site site);

/* ---- mbarriers: mbarrier.c --------------------------------------------------------------------------------------- */

/* The thread makes one of how_many barriers. */
void event_mbarrier_init(Thread *t, Barrier *b, int how_many, Site site);
void event_mbarrier_init_fence(Thread *t);
/* The barrier at the place of `bar` in CTA `rank` of the cluster is wanted, by the thread or the copy engine; it is there.
 */
void event_mbarrier_reach(Thread *t, int rank, const void *bar, Site site, const char *what, int by_engine);
void event_mbarrier_use(Thread *t, Barrier *b, Site site, const char *what);
/* The thread ends the barrier's life. */
void event_mbarrier_inval(Thread *t, Barrier *b, Site site);
/* `count` arrivals; those beyond b->pending do not count. */
void event_mbarrier_arrive(Thread *t, Barrier *b, int count, Site site, const char *what);
/* The barrier gets an arrival when the thread's copies so far are done; they are. */
void event_mbarrier_copies(Thread *t, Barrier *b, Site site);
void event_mbarrier_copies_arrive(Thread *t, Barrier *b);
/* The bytes are part of b->tx. */
void event_mbarrier_announced(Thread *t, Barrier *b, int bytes, Site site);
/* Bytes of a copy have come, and are no more part of b->tx. by: who has completed them itself; NULL: a load. */
void event_mbarrier_landed(Barrier *b, Thread *by, uint32_t bytes, Site site);
/* All arrivals have come, and the phase waits for bytes. */
void event_mbarrier_lacks_bytes(Barrier *b);
void event_mbarrier_complete(Barrier *b);
/* It has: the next phase has begun. */
void event_mbarrier_phase(const Barrier *b);
/* The thread asks for the phase of this parity; then it waits, or not. */
void event_mbarrier_wait(Thread *t, Barrier *b, uint32_t parity, Site site);
/* The thread asks for `phase` with a token of barrier `of`; NULL: it is no token. */
void event_mbarrier_wait_token(Thread *t, Barrier *b, const Barrier *of, uint64_t phase, Site site);
/* The thread has been let through by the phase before b->phase; it waited for `phase`, or has asked for it by
 * test_wait. */
void event_mbarrier_passed(Thread *t, Barrier *b, uint64_t phase, int asked, Site site);
/* After it has happened: for --barriers. */
void event_mbarrier_changed(const Barrier *b, MbarrierChange how, long long amount);

/* ---- the copy engine: tma.c -------------------------------------------------------------------------------------- */

/* tensor_map_2d() has made a map; a kernel fetches one ahead. */
void event_tensor_map(const TensorMap *map);
void event_tensor_map_prefetch(const TensorMap *map, Site site);
/* A range of bytes is to be copied between shared and global memory: before the events of a load or store. */
void event_bulk_copy(Thread *t, const void *shared, const void *global, int bytes, const char *what, Site site);
/* The operands are known; then targets and barriers are. */
void event_tma_load_asked(const TmaCopy *copy);
void event_tma_load(const TmaLoad *load);
/* A piece of it has come; its barriers count it next. */
void event_tma_landing(const TmaLoad *load);
void event_tma_store(const TmaCopy *copy);
/* It has written global memory. */
void event_tma_stored(const TmaStore *store);
void event_bulk_commit(Thread *t);
/* `done` groups are over then: read from shared memory if `read`, else written to global memory. */
void event_bulk_wait(Thread *t, int newest, int read, uint32_t done, Site site);
void event_fence_proxy(Thread *t, int shared, int global);

/* ---- wgmma: wgmma.c ---------------------------------------------------------------------------------------------- */

/* All lanes of the warp have come. */
void event_wgmma_fence(Warp *w, Site site);
void event_wgmma_warp(Warp *w, const Product *wanted);
/* The warp's part of a product, with d in its lanes' operands; first: no other warp has issued its own. product->tile is
 * NULL if there are too many. */
void event_wgmma_part(Warp *w, Product *product, const Product *wanted, int first);
/* Accumulators that a product adds to were never set. */
void event_wgmma_unset(Site site);
/* All four warps have issued it; it has been executed, and is about to go. */
void event_wgmma_issued(Warpgroup *g, const Product *product);
void event_wgmma_done(Warpgroup *g, Product *product);
void event_wgmma_commit(Warp *w);
/* All lanes have come; `done` groups are over. */
void event_wgmma_wait(Warp *w, int newest, Site site);
/* The thread says what its registers hold. */
void event_fragment_holds(Thread *t, const uint32_t *a, const char *matrix, int element_bytes, int row, int k);
/* The compiler has been told that these accumulators have changed. */
void event_wgmma_settled(Thread *t, const float *d, int count);
void event_wgmma_waited(Warp *w, int newest, uint64_t done);

#endif
