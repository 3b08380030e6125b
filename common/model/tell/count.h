/* count.h - the rest of the model tells what happens; count.c adds it up. All do nothing without ModelOptions.count. */
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
/* ldmatrix or stmatrix with these rows. */
void count_matrix(int store, const void *const row[WARP_SIZE]);

/* The thread has closed a group of cp.async. */
void count_copy_group(const Thread *t);
/* The warp has loaded four registers by ldmatrix, of which this is lane 0's first; it multiplies with such. */
void count_fragment(Warp *w, const uint32_t *r);
void count_mma(Warp *w, const uint32_t *a, const uint32_t *b);
/* The thread waited, for the timeline. */
void count_span(const Thread *t, TraceKind kind, uint64_t steps);

void count_launch_begin(void);
void count_cta_end(Cta *cta);

#endif
