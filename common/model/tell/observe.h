/* observe.h - where the model lets an observer (model_explain.h) look. Every call returns at once if there is none. */
#ifndef MODEL_EXPLAIN_CALLS_H
#define MODEL_EXPLAIN_CALLS_H

#include "../core/state.h"
#include "../model_explain.h"

void observe_launch(void);
void observe_shared(void);
void observe_map(const TensorMap *map);
void observe_barriers(const Barrier *first, int count, int arrivals);
/* __syncthreads() is barrier 0. */
void observe_sync(int id, int threads, Site site);
void observe_announcement(const Barrier *b, int bytes);
void observe_load(const Thread *t, const TensorMap *map, const int *coord, const Barrier *b, int multicast, Site site);
/* A thread closes a group of cp.async. */
void observe_copies(const Thread *t, Site site);
void observe_registers(const Warp *w, int increase, int registers, Site site);
/* An access to global memory by a thread; an access of the copy engine by the one that started it. Returns 1 if somebody
 * observes: then nobody looks for conflicts between CTAs, which would take memory for all of C. */
int observe_global(const Thread *t, const void *p, uint32_t size, int write, Site site);
/* 16 bytes of a TMA store: from byte `offset` of shared memory to `p`. */
void observe_store(const Thread *t, const void *p, uint32_t size, uint32_t offset, Site site);
/* The copy engine has written global memory. */
void observe_written(const void *p, uint32_t size);
/* All lanes' addresses; out: their registers. */
void observe_ldmatrix(Warp *w, uint32_t *const out[WARP_SIZE], const void *const in[WARP_SIZE], Site site);
void observe_mma(Warp *w, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                 const uint32_t *const b[WARP_SIZE], Site site);
/* All four warps have issued it; it has been executed. */
void observe_issue(const Warpgroup *g, const Product *product);
void observe_product(Warpgroup *g, const Product *product);

#endif
