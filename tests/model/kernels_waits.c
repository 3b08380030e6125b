/* kernels_waits.c - threads that ask whether something has come: until it has, or only so often. No means "not yet",
 * however often a thread asks (PTX 9.7.13.15.16). Then bugs that some schedules alone show. */
#include "../../common/gemm.h"

#include "../../common/device/global_atomic.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "waits"

enum { CTAS = 2, VALUE = 42, ASKS = 2, WRITER = 32, THREADS = 64 };

typedef struct {
    int value, count;
    MBarrier bar, second;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p);
struct Params {
    int *flag, *data, *out; /* out[0]: what was read; out[1]: how often was asked, if that is told */
    int bug;
    Part *part;
};

/* Thread 32 writes and arrives; thread 0 asks, and reads. */
RIGHT_IN(asks, RIGHT_TEST);
RIGHT_IN(asks, RIGHT_TRY);
RIGHT_IN(asks, RIGHT_TEST_THEN_WAIT);
RIGHT_IN(asks, RIGHT_SLEEPS_LONGER);
RIGHT_IN(asks, RIGHT_WORKS_BETWEEN);
RIGHT_IN(asks, RIGHT_COUNTS_QUIETLY);
RIGHT_IN(asks, RIGHT_ASKS_THEN_WAITS); /* so often, then waits */
WRONG_IN(asks, ONCE, RACE_RAW);
WRONG_IN(asks, TWICE, RACE_RAW);
WRONG_IN(asks, FOUR_TIMES, RACE_RAW);
WRONG_IN(asks, FIFTY_TIMES, RACE_RAW);
WRONG_IN(asks, TRY_1000_TIMES, RACE_RAW);
WRONG_IN(asks, TWICE_IN_TURN, RACE_RAW); /* at two barriers */
RIGHT_IN(asks, TELLS_COUNT);             /* right numbers, but for the count: it depends on the schedule */
RIGHT_IN(asks, TELLS_IF_AT_ONCE);

DEVICE int asks_often(MBarrier *bar, int most, int suspends) {
    int asked = 0;
    while (asked < most && !(suspends ? mbarrier_try_wait_parity(bar, 0) : mbarrier_test_wait_parity(bar, 0))) {
        asked++;
    }
    return asked;
}

DEVICE int asks_too_seldom(int bug) { return bug >= ONCE && bug <= TWICE_IN_TURN; }

DEVICE int asks_and_reads(Shared *s, const Params *p, int bug) {
    switch (bug) {
    case RIGHT_TEST:
        while (!mbarrier_test_wait_parity(&s->bar, 0)) {
        }
        break;
    case RIGHT_TRY:
        while (!mbarrier_try_wait_parity(&s->bar, 0)) {
        }
        break;
    case RIGHT_TEST_THEN_WAIT:
        if (!mbarrier_test_wait_parity(&s->bar, 0)) {
            mbarrier_wait_parity(&s->bar, 0);
        }
        break;
    case RIGHT_SLEEPS_LONGER:
        for (unsigned ns = 8; !mbarrier_test_wait_parity(&s->bar, 0); ns = ns < 256 ? 2 * ns : ns) {
            __nanosleep(ns);
        }
        break;
    case RIGHT_WORKS_BETWEEN:
        for (int sum = 0; !mbarrier_test_wait_parity(&s->bar, 0); sum++) {
            p->out[2] = sum;
        }
        break;
    case RIGHT_COUNTS_QUIETLY: asks_often(&s->bar, 1 << 30, 0); break;
    case RIGHT_ASKS_THEN_WAITS:
        asks_often(&s->bar, 10, 0);
        mbarrier_wait_parity(&s->bar, 0);
        break;
    case ONCE: mbarrier_test_wait_parity(&s->bar, 0); break;
    case TWICE: asks_often(&s->bar, ASKS, 0); break;
    case FOUR_TIMES: asks_often(&s->bar, 4, 0); break;
    case FIFTY_TIMES: asks_often(&s->bar, 50, 0); break;
    case TRY_1000_TIMES: asks_often(&s->bar, 1000, 1); break;
    case TWICE_IN_TURN:
        for (int i = 0; i < 2; i++) {
            if (mbarrier_test_wait_parity(&s->second, 0) || mbarrier_test_wait_parity(&s->bar, 0)) {
                break;
            }
        }
        break;
    case TELLS_COUNT: p->out[1] = asks_often(&s->bar, 1 << 30, 0); break;
    default:
        if (!mbarrier_test_wait_parity(&s->bar, 0)) {
            p->out[1]++;
            mbarrier_wait_parity(&s->bar, 0);
        }
    }
    return s->value;
}

DEVICE void asks(Shared *s, const Params *p) {
    const int bug = p->bug;
    if (threadIdx.x == WRITER && !asks_too_seldom(bug)) {
        s->value = VALUE;
        mbarrier_arrive(&s->bar);
        mbarrier_arrive(&s->second);
    }
    if (threadIdx.x == 0) {
        p->out[0] = asks_and_reads(s, p, bug);
    }
    if (threadIdx.x < 32 && asks_too_seldom(bug)) { /* the shuffle orders the run, and nothing else */
        __shfl_sync(0xffffffffu, 0, 0);
        if (threadIdx.x == 1) {
            s->value = VALUE;
            mbarrier_arrive(&s->bar);
            mbarrier_arrive(&s->second);
        }
    }
}

/* Whoever is elected writes for the warp, and waits for its copy. PTX 9.7.13.14 does not say that it is lane 0. */
RIGHT_IN(elects, RIGHT_ELECTED_TELLS);

DEVICE void elects(Shared *s, const Params *p) {
    if (threadIdx.x < 32) {
        if (elect_one()) {
            s->value = (int)threadIdx.x;
        }
        __syncwarp();
        if ((int)threadIdx.x == s->value) {
            p->out[0] = VALUE;
            p->out[1] = (int)threadIdx.x;
        }
    }
}

/* CTA 1 writes and sets a flag; CTA 0 asks for it. */
RIGHT_IN(flags, RIGHT_FLAG);
RIGHT_IN(flags, RIGHT_FLAG_IF_SET); /* whoever finds it unset does not read */
WRONG_IN(flags, FLAG_TWICE, GLOBAL_CONFLICT);
WRONG_IN(flags, FLAG_100_TIMES, GLOBAL_CONFLICT);
WRONG_IN(flags, FLAG_BY_CAS, GLOBAL_CONFLICT);

DEVICE void flags(Shared *s, const Params *p) {
    const int bug = p->bug;
    if (threadIdx.x != 0) {
        return;
    }
    const int seldom = bug == FLAG_TWICE || bug == FLAG_100_TIMES || bug == FLAG_BY_CAS;
    if (blockIdx.x == 1) {
        while (seldom && global_load(relaxed, &p->out[3]) == 0) { /* orders the run, and nothing else */
        }
        p->data[0] = VALUE;
        global_store(release, p->flag, 1);
        return;
    }
    int most = bug == FLAG_TWICE || bug == FLAG_BY_CAS ? 2 : bug == FLAG_100_TIMES ? 100 : 1 << 30, set = 0;
    if (bug == RIGHT_FLAG_IF_SET) {
        p->out[0] = global_load(acquire, p->flag) ? p->data[0] : VALUE;
        return;
    }
    for (int i = 0; i < most && !set; i++) {
        set = bug == FLAG_BY_CAS ? global_cas(acquire, p->flag, 1, 1) : global_load(acquire, p->flag);
    }
    p->out[0] = p->data[0];
    if (seldom) {
        global_store(relaxed, &p->out[3], 1);
    }
}

/* ---- what some schedules alone show: for explore.c --------------------------------------------------------------- */

#undef CASE_LIST
#define CASE_LIST "schedule"

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
    int before = global_counter_read(p->flag);
    if (threadIdx.x == 0) {
        global_counter_add(p->flag, 1);
        if (before == CTAS - 1) {
            p->out[0] = VALUE;
        }
    }
}

DEVICE void last(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        int others = global_load(acquire, p->flag);
        global_add(release, p->flag, 1);
        global_add(relaxed, &p->out[0], others == 0 ? VALUE : 0); /* one comes first */
    }
}

/* Two CTAs, or two warps of one, count: by a load and a store, in two steps under a lock that is none. */
DEVICE void adds(Shared *s, const Params *p) {
    int *count = p->bug == COUNTED_IN_SHARED || p->bug == LOCK_IN_SHARED ? &s->count : p->flag;
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
    int before = count == p->flag ? global_load(relaxed, count) : atomicAdd(count, 0);
    if (count == p->flag) {
        global_store(relaxed, count, before + 1);
    } else {
        atomicExch(count, before + 1);
    }
    atomicAdd(&p->out[0], before == 1 ? VALUE : 0);
}

DEVICE void resets(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            global_store(relaxed, p->flag, 0);
        }
        atomicAdd(&p->out[0], global_add(relaxed, p->flag, 1) == 0 ? VALUE : 0);
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

static __global__ void waits_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->bar, 1, 1);
        mbarrier_init(&s->second, 1, 1);
    }
    __syncthreads();
    p.part(s, &p);
}
KERNEL_ENTRY(waits_kernel, Params);

static int run(const Case *c) {
    Params p = {.flag = case_memory(sizeof(int), "flag"),
                .data = case_memory(sizeof(int), "data"),
                .out = case_memory(4 * sizeof(int), "out"),
                .bug = c->bug,
                .part = (Part *)(uintptr_t)c->more};
    LaunchShape shape = {
        .grid = c->more == (const void *)flags ? 2 : 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    if (is_for_explorer(c)) {
        int of_one = c->bug == BALLOT_SPREADS || c->bug == COUNTED_IN_SHARED || c->bug == LOCK_IN_SHARED;
        shape.grid = of_one ? 1 : CTAS;
        shape.block = of_one ? 33 : 1;
    }
    int status = launch_kernel(KERNEL(waits_kernel), shape, &p, NULL, NULL);
    return status != 0 ? status : p.out[0] != VALUE;
}
