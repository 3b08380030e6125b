/* count.h - what a launch does, added up. All do nothing without ModelOptions.count, and are for event.c, but count_span()
 * and count_at_least(), which are for steps.c. */
#ifndef COUNT_H
#define COUNT_H

#include "../core/state.h"
#include "../model_count.h"
#include "../model_trace.h"

/* An ordinary access or one side of a cp.async. */
typedef enum {
    COUNTED_GLOBAL_LOAD,
    COUNTED_GLOBAL_STORE,
    COUNTED_SHARED_LOAD,
    COUNTED_SHARED_STORE,
    COUNTED_COPY_FROM,
    COUNTED_COPY_TO,
} CountedAccess;

extern unsigned long long counts[COUNT_KINDS];

static inline void count_add(ModelCount which, unsigned long long amount) {
    if (device.options.count) {
        counts[which] += amount;
    }
}
static inline void count_at_least(ModelCount which, unsigned long long amount) {
    if (device.options.count && counts[which] < amount) {
        counts[which] = amount;
    }
}

/* One thread's access. The n-th access that a lane makes by one instruction goes together with the n-th of the other lanes,
 * counted since the warp was last together. */
void count_one_access(const Thread *t, CountedAccess how, const void *p, uint32_t size, Site site);
static inline void count_access(const Thread *t, CountedAccess how, const void *p, uint32_t size, Site site) {
    if (device.options.count) {
        count_one_access(t, how, p, size, site);
    }
}
/* All lanes of the warp are at one instruction. */
void count_together(Warp *w);
/* The thread waits at __syncthreads() or a named barrier. */
void count_barrier(const Thread *t, ModelCount which);
/* ldmatrix, stmatrix. */
void count_ldmatrix(Warp *w, const uint32_t *r0, const void *const row[WARP_SIZE]);
void count_stmatrix(void *const row[WARP_SIZE]);

/* The thread closes a group of copies; it waits for some. */
void count_group_commit(const Thread *t, GroupKind kind);
void count_group_wait(const Thread *t, GroupKind kind);
void count_load(const TmaLoad *load);
void count_store(const TmaCopy *copy);
/* a0, b0: lane 0's registers. */
void count_mma(Warp *w, MatrixType type, const uint32_t *a0, const uint32_t *b0);
/* The thread waited, for the timeline. */
void count_span(const Thread *t, TraceKind kind, uint64_t steps);

/* Of wgmma: a product that the first warp issues. */
void count_wgmma(const Product *product);

void count_launch_begin(void);
void count_cta_end(Cta *cta);

#endif
