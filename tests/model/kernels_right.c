/* kernels_right.c - kernels that are right but unusual, and next to each one that is wrong. */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/wgmma.h"

#include "../../common/model/model_host.h"
#include "cases.h"

enum { THREADS = 256, GRID = 4, ROUNDS = 100, ROW = 40 };

typedef enum {
    RIGHT_EMPTY_GROUPS,     /* a warpgroup commits and waits without any product */
    RIGHT_POLL_BARRIERS,    /* one thread asks two barriers in turn until both are complete */
    RIGHT_POLL_BARRIER_ROW, /* ... more barriers than anybody remembers */
    RIGHT_POLL_COUNTERS,    /* ... two counters */
    RIGHT_POLL_AND_COUNT,   /* ... and counts its turns where others see it */
    POLL_BARRIERS_NEVER,
    POLL_COUNTERS_NEVER,
} Bug;

typedef struct {
    int value[THREADS];
    MBarrier full[2], empty[2], row[ROW];
} Shared;

typedef struct {
    int *out;     /* [GRID * THREADS] */
    int *counter; /* [4] */
    int bug;
} Params;

DEVICE void empty_groups(void) {
    for (int round = 0; round < ROUNDS; round++) {
        wgmma_fence();
        wgmma_commit_group();
        wgmma_wait_group(round % 3);
        if (round % 10 == 0) {
            __syncthreads();
        }
    }
    wgmma_wait_group(0);
}

/* Thread 0 polls; thread i of the others completes barrier i. */
DEVICE int poll_barriers(Shared *s, const Params *p, int count) {
    int thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_init(s->row, ROW, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    if (thread > 0 && thread <= count - (p->bug == POLL_BARRIERS_NEVER)) {
        s->value[thread] = thread;
        mbarrier_arrive(&s->row[thread - 1]);
    }
    int sum = 0, complete = thread > 0 ? count : 0;
    while (complete < count) {
        complete = 0;
        for (int i = 0; i < count; i++) {
            complete += mbarrier_test_wait_parity(&s->row[i], 0);
        }
    }
    for (int i = 1; i <= count && thread == 0; i++) {
        sum += s->value[i];
    }
    return thread > 0 || sum == count * (count + 1) / 2;
}

/* The first threads of all CTAs meet at two counters. */
DEVICE int poll_counters(const Params *p) {
    if (threadIdx.x == 0) {
        int ctas = (int)gridDim.x + (p->bug == POLL_COUNTERS_NEVER);
        global_counter_add(p->counter, 1);
        global_counter_add(p->counter + 1, 1);
        for (int met = 0; met < 2;) {
            met = global_counter_read(p->counter) >= ctas;
            met += global_counter_read(p->counter + 1) >= ctas;
            if (p->bug == RIGHT_POLL_AND_COUNT) {
                global_counter_add(p->counter + 2, 1);
            }
        }
    }
    return 1;
}

static __global__ void __launch_bounds__(THREADS) right_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int id = (int)(blockIdx.x * blockDim.x + threadIdx.x), result = 1;
    switch (p.bug) {
    case RIGHT_EMPTY_GROUPS: empty_groups(); break;
    case RIGHT_POLL_BARRIERS:
    case POLL_BARRIERS_NEVER: result = poll_barriers(s, &p, 2); break;
    case RIGHT_POLL_BARRIER_ROW: result = poll_barriers(s, &p, ROW); break;
    case RIGHT_POLL_COUNTERS:
    case RIGHT_POLL_AND_COUNT:
    case POLL_COUNTERS_NEVER: result = poll_counters(&p); break;
    default: break;
    }
    p.out[id] = result;
}
KERNEL_ENTRY(right_kernel, Params);

static int run(int bug) {
    int *out = model_global_alloc(GRID * THREADS * sizeof *out, "out");
    int *counter = model_global_alloc(4 * sizeof *counter, "counter");
    memset(out, 0, GRID * THREADS * sizeof *out);
    memset(counter, 0, 4 * sizeof *counter);
    Params p = {out, counter, bug};
    LaunchShape shape = {.grid = GRID, .block = THREADS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(right_kernel), shape, &p, NULL);
    for (int i = 0; i < GRID * THREADS && status == 0; i++) {
        status = out[i] != 1;
    }
    model_global_free(out);
    model_global_free(counter);
    return status;
}

#define RIGHT_CASE(bug) \
    { "right " #bug, NULL, run, bug }
#define WRONG_CASE(bug, rule) \
    { "right " #bug, #rule, run, bug }
const Case right_cases[] = {
    RIGHT_CASE(RIGHT_EMPTY_GROUPS),
    RIGHT_CASE(RIGHT_POLL_BARRIERS),
    RIGHT_CASE(RIGHT_POLL_BARRIER_ROW),
    RIGHT_CASE(RIGHT_POLL_COUNTERS),
    RIGHT_CASE(RIGHT_POLL_AND_COUNT),
    WRONG_CASE(POLL_BARRIERS_NEVER, LIVELOCK),
    WRONG_CASE(POLL_COUNTERS_NEVER, LIVELOCK),
};
const int right_case_count = sizeof right_cases / sizeof right_cases[0];
