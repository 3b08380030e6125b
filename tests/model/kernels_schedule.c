/* kernels_schedule.c - bugs that some schedules alone show: for explore.c. */
#include "../../common/gemm.h"

#include "../../common/device/global_atomic.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "schedule"

enum { CTAS = 2, VALUE = 42 };

typedef struct {
    int value, count;
    MBarrier bar;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p);
struct Params {
    int *counter, *out;
    int bug;
    Part *part;
};

PART_CASE(counts, READ_THEN_ADDED, NULL); /* both CTAs may find that they are not the last */
PART_CASE(votes, BALLOT_SPREADS, NULL);
PART_CASE(last, LAST_BY_LOAD_THEN_ADD, NULL);     /* both or none may be the last */
PART_CASE(adds, COUNTED_BY_LOAD_AND_STORE, NULL); /* one may be lost */
PART_CASE(adds, LOCK_IN_TWO_STEPS, NULL);         /* both may have it */
PART_CASE(adds, COUNTED_IN_SHARED, NULL);
PART_CASE(adds, LOCK_IN_SHARED, NULL);
PART_CASE(resets, RESET_WHILE_OTHERS_ADD, NULL); /* by an atomic store: what came before it is lost */
PART_CASE(stores, TWO_STORES, NULL);             /* either may remain */

DEVICE void counts(Shared *s, const Params *p) {
    int before = global_counter_read(p->counter);
    if (threadIdx.x == 0) {
        global_counter_add(p->counter, 1);
        if (before == CTAS - 1) {
            p->out[0] = VALUE;
        }
    }
}

DEVICE void last(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        int others = global_load(acquire, p->counter);
        global_add(release, p->counter, 1);
        global_add(relaxed, &p->out[0], others == 0 ? VALUE : 0); /* one comes first */
    }
}

/* Two CTAs, or two warps of one, count: by a load and a store, in two steps under a lock that is none. */
DEVICE void adds(Shared *s, const Params *p) {
    int *count = p->bug == COUNTED_IN_SHARED || p->bug == LOCK_IN_SHARED ? &s->count : p->counter;
    int takes_part = threadIdx.x % 32 == 0;
    if (count == &s->count) {
        if (threadIdx.x == 0) {
            s->count = 0;
        }
        __syncthreads();
    } else {
        takes_part = threadIdx.x == 0;
    }
    if (!takes_part) {
        return;
    }
    if (p->bug == LOCK_IN_TWO_STEPS || p->bug == LOCK_IN_SHARED) {
        if (atomicAdd(count, 0) == 0) {
            atomicExch(count, 1);
            atomicAdd(&p->out[0], VALUE);
        }
        return;
    }
    int before = count == p->counter ? global_load(relaxed, count) : atomicAdd(count, 0);
    if (count == p->counter) {
        global_store(relaxed, count, before + 1);
    } else {
        atomicExch(count, before + 1);
    }
    atomicAdd(&p->out[0], before == 1 ? VALUE : 0);
}

DEVICE void resets(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            global_store(relaxed, p->counter, 0);
        }
        atomicAdd(&p->out[0], global_add(relaxed, p->counter, 1) == 0 ? VALUE : 0);
    }
}

DEVICE void stores(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        global_store(relaxed, &p->out[0], blockIdx.x == 0 ? 0 : VALUE);
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
    Params p = {case_memory(sizeof(int), "counter"), case_memory(16, "out"), c->bug, (Part *)(uintptr_t)c->more};
    int one_cta = c->bug == BALLOT_SPREADS || c->bug == COUNTED_IN_SHARED || c->bug == LOCK_IN_SHARED;
    LaunchShape shape = {.grid = one_cta ? 1 : CTAS, .block = one_cta ? 33 : 1, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(schedule_kernel), shape, &p, NULL, NULL);
    return status != 0 ? status : p.out[0] != VALUE;
}
