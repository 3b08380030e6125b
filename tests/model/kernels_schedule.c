/* kernels_schedule.c - bugs that some schedules alone show: for explore.c. */
#include "../../common/gemm.h"

#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "schedule"

enum { CTAS = 2, VALUE = 42 };

typedef struct {
    int value;
    MBarrier bar;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p);
struct Params {
    int *counter, *out;
    Part *part;
};

PART_CASE(counts, READ_THEN_ADDED, NULL); /* both CTAs may find that they are not the last */
PART_CASE(votes, BALLOT_SPREADS, NULL);

DEVICE void counts(Shared *s, const Params *p) {
    int before = global_counter_read(p->counter);
    if (threadIdx.x == 0) {
        global_counter_add(p->counter, 1);
        if (before == CTAS - 1) {
            p->out[0] = VALUE;
        }
    }
}

/* Two lanes ask, and both read if one was told that the phase is complete. */
DEVICE void votes(Shared *s, const Params *p) {
    int thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_init(&s->bar, 1, 1);
    }
    __syncthreads();
    if (thread == 32) {
        s->value = VALUE;
        mbarrier_arrive(&s->bar);
    } else if (thread < 32) {
        int asks = thread == 0 || thread == 31;
        int complete = asks && mbarrier_test_wait_parity(&s->bar, 0);
        if (__any_sync(0xffffffffu, complete) && asks) {
            p->out[1 + thread % 2] = s->value;
        }
    }
    if (thread == 0) {
        p->out[0] = VALUE;
    }
}

static __global__ void schedule_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    p.part(s, &p);
}
KERNEL_ENTRY(schedule_kernel, Params);

static int run(const Case *c) {
    Params p = {case_memory(sizeof(int), "counter"), case_memory(16, "out"), (Part *)(uintptr_t)c->more};
    int is_count = c->bug == READ_THEN_ADDED;
    LaunchShape shape = {.grid = is_count ? CTAS : 1, .block = is_count ? 1 : 33, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(schedule_kernel), shape, &p, NULL, NULL);
    return status != 0 ? status : p.out[0] != VALUE;
}
