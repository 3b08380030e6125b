/* pipeline.h - a ring of stages between one producer and its consumers, in CUTLASS's terms (PipelineState,
 * PipelineTmaAsync). The producer is one thread that starts TMA loads; a consumer is a warpgroup.
 *
 * Each stage has two barriers. full: the producer arrives once and announces the bytes, which the copy engine delivers;
 * consumers wait. empty: each consumer arrives once when it has finished reading (where warps read independently, each
 * of its warps); the producer waits. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "cuda_c.h"
#include "mbarrier.h"

/* A role's position in the ring. The producer and each consumer keep their own. */
typedef struct {
    int index;      /* stage, 0 .. stages - 1 */
    uint32_t phase; /* parity that this role waits for at this stage */
} PipelineState;

/* Both start at stage 0. A consumer waits for phase 0: parity 0. The producer starts with parity 1: a fresh empty
 * barrier counts the phase before 0 as complete, so every stage is free in the first lap. */
HOST_DEVICE PipelineState start_state(uint32_t phase) {
    PipelineState state = {0, phase};
    return state;
}
#define consumer_start_state() start_state(0)
#define producer_start_state() start_state(1)

/* Moves to the next stage; after the last stage, to stage 0 and the next phase, so the parity flips. */
HOST_DEVICE void pipeline_advance(PipelineState *state, int stages) {
    state->index++;
    if (state->index == stages) {
        state->index = 0;
        state->phase ^= 1;
    }
}

/* Skips `k_tiles` stages, which another consumer takes. */
HOST_DEVICE void pipeline_advance_by(PipelineState *state, int k_tiles, int stages) {
    int position = state->index + k_tiles;
    state->phase ^= (uint32_t)(position / stages) & 1;
    state->index = position % stages;
}

#if defined(GEMM_MODEL) || defined(__CUDACC__)

#define producer_acquire(full, empty, state, bytes)                                                              \
    /* Producer thread: waits until the stage is free, then announces the `bytes` that the loads will deliver. \
       Without the wait the loads overwrite what consumers still read; without the announcement the stage counts as \
       full at once. */ \
    (mbarrier_wait_parity(&(empty)[(state).index], (state).phase),                                               \
     mbarrier_arrive_expect_tx(&(full)[(state).index], bytes))

/* Tests before a wait: nonzero if the stage is free, or if its bytes have landed. "try" may suspend the thread for a
 * while first, "test" does not. After a 1, a thread need not wait; after a 0, it must wait or test again. */
#define producer_try_acquire(empty, state) /* producer thread: is the stage free? */ \
    mbarrier_try_wait_parity(&(empty)[(state).index], (state).phase)
#define consumer_try_wait(full, state) /* consumer, all threads: have the stage's bytes landed? */ \
    mbarrier_try_wait_parity(&(full)[(state).index], (state).phase)
#define consumer_test_wait(full, state) /* consumer, all threads: the same, and never suspends the thread */ \
    mbarrier_test_wait_parity(&(full)[(state).index], (state).phase)

#define producer_tail(empty, state, stages)                                                                           \
    /* Producer thread, after its last load: waits until every stage is free again, so that no CTA of a cluster     \
       leaves while others still arrive on its barriers. */ \
    do {                                                                                                              \
        for (int tail_ = 0; tail_ < (stages); tail_++) {                                                              \
            mbarrier_wait_parity(&(empty)[(state).index], (state).phase);                                             \
            pipeline_advance(&(state), stages);                                                                       \
        }                                                                                                             \
    } while (0)

#define consumer_wait(full, state) /* consumer, all threads: waits until the stage's bytes have landed */ \
    mbarrier_wait_parity(&(full)[(state).index], (state).phase)

#define consumer_release(empty, index)                                                                      \
    /* One thread of a consumer, or of each of its warps, after its wgmma_wait_group: returns the stage. */ \
    mbarrier_arrive(&(empty)[index])

#endif
#endif
