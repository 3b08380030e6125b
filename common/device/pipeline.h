/* pipeline.h - a ring of stages between one producer and its consumers, in CUTLASS's terms (PipelineState,
 * PipelineTmaAsync). The producer is one thread that starts TMA loads; a consumer is a warpgroup.
 *
 * Each stage has two barriers. full: the producer arrives once and announces the bytes, the copy engine completes them;
 * consumers wait. empty: every consumer arrives once when it has finished reading, or each of its warps, where warps
 * read by themselves; the producer waits. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "cuda_c.h"
#include "mbarrier.h"

/* A role's position in the ring. Producer and consumers each keep their own. */
typedef struct {
    int index;      /* stage, 0 .. stages - 1 */
    uint32_t phase; /* parity that this role waits for at this stage */
} PipelineState;

/* A consumer starts at stage 0 and waits for phase 0 to complete: parity 0. */
HOST_DEVICE PipelineState consumer_start_state(void) {
    PipelineState state = {0, 0};
    return state;
}

/* The producer starts at stage 0 with parity 1: a fresh empty barrier counts the phase before 0 as complete, so the
 * first lap finds every stage free. */
HOST_DEVICE PipelineState producer_start_state(void) {
    PipelineState state = {0, 1};
    return state;
}

/* To the next stage; past the last one back to stage 0, where the awaited phase is the next one: the parity flips. */
HOST_DEVICE void pipeline_advance(PipelineState *state, int stages) {
    state->index++;
    if (state->index == stages) {
        state->index = 0;
        state->phase ^= 1;
    }
}

/* Over `k_tiles` stages at once, where another consumer takes them. */
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

/* Ask ahead of a wait: nonzero if the stage is free, or its bytes have landed. "try" may suspend the thread for a while
 * first, "test" does not. A thread that gets 1 needs no wait any more. 0 says only "not yet": a thread that has nothing
 * else to do then has to wait. */
#define producer_try_acquire(empty, state) /* producer thread: is the stage free? */ \
    mbarrier_try_wait_parity(&(empty)[(state).index], (state).phase)
#define consumer_try_wait(full, state) /* consumer, all threads: have the stage's bytes landed? */ \
    mbarrier_try_wait_parity(&(full)[(state).index], (state).phase)
#define consumer_test_wait(full, state) /* consumer, all threads: have they landed? Never suspends the thread. */ \
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

#define consumer_release(empty, index)                                                                         \
    /* One thread of a consumer, or of each of its warps, after its wgmma_wait_group: hands the stage back. */ \
    mbarrier_arrive(&(empty)[index])

#endif
#endif
