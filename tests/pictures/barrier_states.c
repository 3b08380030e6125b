/* barrier_states.c - see barrier_states.h. A kernel that looks at the model from inside. */
#include "barrier_states.h"

#include "../../common/gemm.h"

#include "../../common/device/mbarrier.h"
#include "../../common/model/core/state.h"
#include "../../common/model/mechanism/mbarrier.h"
#include "../../common/model/model_host.h"

typedef struct {
    MBarrier bar;
} Shared;

typedef struct {
    BarrierState *state;
    int count;
} Params;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    for (int i = 0; i < p.count && threadIdx.x == 0; i++) {
        BarrierState *state = &p.state[i];
        switch (state->event) {
        case ON_INIT:
            mbarrier_init(&s->bar, 1, state->amount);
            mbarrier_init_fence();
            break;
        case ON_ARRIVE_EXPECT_TX: mbarrier_arrive_expect_tx(&s->bar, state->amount); break;
        case ON_ARRIVE: mbarrier_arrive(&s->bar); break;
        case ON_EXPECT_TX: mbarrier_expect_tx(&s->bar, state->amount); break;
        case ON_BYTES: model_mbarrier_complete_tx(&s->bar, state->amount, HERE); break;
        }
        const Barrier *b = current_thread()->cta->mbarriers->list[0];
        state->phase = (int)b->phase;
        state->pending = b->pending;
        state->tx = (int)b->tx;
        for (uint32_t parity = 0; parity < 2; parity++) {
            state->passes[parity] = mbarrier_test_wait_parity(&s->bar, parity);
        }
    }
}
KERNEL_ENTRY(kernel, Params);

void barrier_states(BarrierState *states, int count) {
    /* Wrong counts, and waits for both parities, are what is to be shown: the model may name them, and goes on. */
    ModelOptions options = {.policy = MODEL_EAGER, .quiet = 1, .max_reports = 1000};
    model_configure(&options);
    Params p = {states, count};
    LaunchShape shape = {.grid = 1, .block = 32, .shared_bytes = sizeof(Shared)};
    GemmStatus status = launch_kernel(KERNEL(kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK && status != GEMM_MODEL_BUG) {
        exit(1);
    }
    model_forget_reports();
}
