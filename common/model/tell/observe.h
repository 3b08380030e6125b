/* observe.h - where the model lets an observer (model_explain.h) look. Every call returns at once if there is none. All
 * are for event.c. */
#ifndef OBSERVE_H
#define OBSERVE_H

#include "../core/state.h"
#include "../model_explain.h"

void observe_launch(void);
void observe_shared(const Launch *l);
void observe_map(const TensorMap *map);
/* One of how_many. */
void observe_barrier(const Barrier *b, int how_many, Site site);
void observe_announcement(const Barrier *b, int bytes);
/* __syncthreads() is barrier 0. */
void observe_sync(int id, int threads, Site site);
/* A thread closes a group of copies. */
void observe_group_commit(const Thread *t, GroupKind kind, Site site);
void observe_registers(const Warp *w, int increase, int registers, Site site);
/* An access to global memory by a thread. */
void observe_global(const Thread *t, const void *p, uint32_t size, int write, Site site);
/* Into one of its targets. */
void observe_load(const TmaLoad *load, int target);
void observe_store(const TmaCopy *copy);
void observe_stored(const TmaStore *store);
void observe_ldmatrix(const Warp *w, uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE], Site site);
/* After the product. */
void observe_mma(const Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                 const uint32_t *const b[WARP_SIZE], Site site);
/* All four warps have issued it; it has been executed. */
void observe_issued(const Warpgroup *g, const Product *product);
void observe_done(const Warpgroup *g, const Product *product);

#endif
