/* kernels_mbarrier.c - what mbarriers can do beyond what the chapters ask of them: arrivals by cp.async. Threads that
 * ask whether something has come: until it has, or only so often. Bugs that some schedules alone show. */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/cp_async.h"
#include "../../common/device/global_atomic.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "mbarrier"

enum { CTAS = 2, VALUE = 42, ASKS = 2, WRITER = 32, THREADS = 64, ROUNDS = 4, CHUNK = 4, N = THREADS * CHUNK };

typedef struct {
    int value[THREADS];
    int chunk[2][N];
    MBarrier bar, other, none;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p);
struct Params {
    const int *in; /* [N] */
    int *out;      /* [N] */
    int *flag;
    int bug;
    Part *part;
};

WRONG_IN(strange, NO_ARRIVALS, BARRIER_UNINIT);
WRONG_IN(strange, ARRIVES_OUTSIDE, SHARED_BOUNDS);

DEVICE void strange(Shared *s, const Params *p) {
    if (p->bug == NO_ARRIVALS) {
        mbarrier_init(&s->none, 1, 0);
    } else {
        mbarrier_arrive(&s->bar + 10000);
    }
}

RIGHT_IN(copies, RIGHT_COPIES);
RIGHT_IN(copies, RIGHT_COPIES_AND_GROUPS);
WRONG_IN(copies, COPIES_ARRIVE_FIRST, RACE_RAW); /* the copies follow the instruction that is to count them */
WRONG_IN(copies, COPIES_STORE, RACE_RAW);        /* half of it by ordinary stores */
WRONG_IN(copies, COPIES_TOO_MANY, ARRIVE_OVERFLOW);
WRONG_IN(copies, COPIES_MISALIGNED, ALIGNMENT);
WRONG_IN(copies, COPIES_32_BYTES, ALIGNMENT);
WRONG_IN(copies, COPIES_OUTSIDE, SHARED_BOUNDS);
WRONG_IN(copies, COPIES_FROM_OUTSIDE, GLOBAL_BOUNDS);
WRONG_IN(copies, COPIES_IN_GROUP, RACE_RAW); /* wait_group is asked for what the barrier counts */

/* Everybody copies 16 bytes and reads those of another. */
DEVICE void copies(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, at = thread * CHUNK, from = (THREADS - 1 - thread) * CHUNK, wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int *chunk = s->chunk[round % 2];
        if (bug == RIGHT_COPIES_AND_GROUPS || bug == COPIES_IN_GROUP) {
            cp_async_16(&s->chunk[1][at], &p->in[from]);
            cp_async_commit_group();
            chunk = s->chunk[0];
        }
        ADDS(COPIES_ARRIVE_FIRST, cp_async_mbarrier_arrive_noinc(&s->bar));
        int to = at + (bug == COPIES_MISALIGNED ? 2 : bug == COPIES_OUTSIDE ? 1 << 16 : 0);
        cp_async_16_zfill(&chunk[to], &p->in[bug == COPIES_FROM_OUTSIDE ? at + N : at],
                          bug == COPIES_32_BYTES ? 32 : 16);
        ADDS(COPIES_STORE, s->value[thread] = 1);
        LEAVES_OUT(COPIES_ARRIVE_FIRST, cp_async_mbarrier_arrive_noinc(bug == COPIES_TOO_MANY ? &s->other : &s->bar));
        if (bug == COPIES_TOO_MANY) {
            cp_async_commit_group();
            cp_async_wait_group(0);
            __syncthreads();
            return;
        }
        if (bug == RIGHT_COPIES_AND_GROUPS || bug == COPIES_IN_GROUP) {
            cp_async_wait_group(0);
            wrong += bug == COPIES_IN_GROUP ? s->chunk[0][at] : s->chunk[1][at] - p->in[from];
        }
        mbarrier_wait_parity(&s->bar, (uint32_t)round & 1);
        for (int i = 0; i < CHUNK; i++) {
            p->out[at + i] = wrong + chunk[from + i] + (bug == COPIES_STORE ? s->value[THREADS - 1 - thread] : 0);
        }
        __syncthreads();
    }
}

RIGHT_IN(hands_on, RIGHT_ISSUER_ARRIVES);
WRONG_IN(hands_on, BYTES_HAND_ON,
         RACE_RAW); /* ... another thread does: bytes say nothing of what is before their copy */

/* Thread 0 stores and starts a copy. Warp 1 waits for its bytes, and reads both. */
DEVICE void hands_on(Shared *s, const Params *p) {
    int thread = (int)threadIdx.x;
    if (thread == 0) {
        s->value[0] = 7;
        bulk_load(s->chunk[1], p->in, sizeof s->chunk[1], &s->other);
    }
    if (thread == (p->bug == RIGHT_ISSUER_ARRIVES ? 0 : 1)) {
        mbarrier_arrive_expect_tx(&s->other, sizeof s->chunk[1]);
    }
    if (thread >= 32) {
        mbarrier_wait_parity(&s->other, 0);
        p->out[thread] = p->out[thread - 32] = s->value[0] + s->chunk[1][thread - 32];
    }
}

RIGHT_IN(ballot, RIGHT_BALLOT_ALL);  /* goes on when all lanes have been told yes */
RIGHT_IN(ballot, RIGHT_BALLOT_SYNC); /* ... when one has, after a __syncwarp() */
RIGHT_IN(ballot, RIGHT_TOLD_YES);    /* who knows that a phase is complete is told so at once */
FIRST_IN(ballot, BALLOT_ANY, RACE_RAW);

/* Each lane asks; a ballot says who was told yes. Each warp reads what the other one has written. They ask when the
 * phase is
 * complete: a counter and shuffles order the run, and nothing else. */
DEVICE void ballot(Shared *s, const Params *p) {
    const int bug = p->bug, one = bug == BALLOT_ANY || bug == RIGHT_BALLOT_SYNC;
    int thread = (int)threadIdx.x, sum = 0, *arrived = &s->chunk[0][0];
    if (thread == 0) {
        *arrived = 0;
    }
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t told = 0;
        s->value[thread] = p->in[thread] + round;
        mbarrier_arrive(&s->bar);
        __shfl_sync(~0u, 0, 0);
        if (thread % 32 == 0) {
            atomicAdd(arrived, 1);
            while (atomicAdd(arrived, 0) < 2 * round + 2) {
            }
        }
        __shfl_sync(~0u, 0, 0);
        if (bug == RIGHT_TOLD_YES) {
            if (thread % 32 == 5) {
                mbarrier_wait_parity(&s->bar, 0);
            }
            __syncwarp();
            sum += !mbarrier_test_wait_parity(&s->bar, 0);
        }
        while (bug != RIGHT_TOLD_YES && (one ? told == 0 : told != ~0u)) {
            told = __ballot_sync(~0u, mbarrier_test_wait_parity(&s->bar, 0));
        }
        ADDS(RIGHT_BALLOT_SYNC, __syncwarp());
        sum += s->value[THREADS - 1 - thread] - round;
        mbarrier_arrive(&s->bar);
        mbarrier_wait_parity(&s->bar, 1);
    }
    p->out[thread] = sum;
}

/* ---- questions ------------------------------------------------------------------------------------------------- */

#undef CASE_LIST
#define CASE_LIST "waits"

/* No means "not yet", however often a thread asks (PTX 9.7.13.15.16). */

/* Thread 32 writes and arrives; thread 0 asks, and reads. */
RIGHT_IN(asks, RIGHT_WORKS_BETWEEN);   /* with a sleep that gets longer */
RIGHT_IN(asks, RIGHT_ASKS_THEN_WAITS); /* a number of tests, then a wait */
WRONG_IN(asks, TWICE, RACE_RAW);
WRONG_IN(asks, TRY_1000_TIMES, RACE_RAW);
WRONG_IN(asks, PASSES_FRESH, UNINIT_SHARED);
RIGHT_IN(asks, TELLS_COUNT); /* all numbers are right but the count, which depends on the schedule */
RIGHT_IN(asks, TELLS_IF_AT_ONCE);

DEVICE int asks_often(MBarrier *bar, int most, int suspends) {
    int asked = 0;
    while (asked < most && !(suspends ? mbarrier_try_wait_parity(bar, 0) : mbarrier_test_wait_parity(bar, 0))) {
        asked++;
    }
    return asked;
}

DEVICE int asks_too_seldom(int bug) { return bug >= TWICE && bug <= PASSES_FRESH; }

DEVICE int asks_and_reads(Shared *s, const Params *p, int bug) {
    switch (bug) {
    case RIGHT_WORKS_BETWEEN:
        for (unsigned ns = 8; !mbarrier_test_wait_parity(&s->other, 0); ns = ns < 256 ? 2 * ns : ns) {
            __nanosleep(ns);
            p->out[2] = (int)ns;
        }
        break;
    case RIGHT_ASKS_THEN_WAITS:
        asks_often(&s->other, 10, 0);
        mbarrier_wait_parity(&s->other, 0);
        break;
    case PASSES_FRESH: mbarrier_wait_parity(&s->other, 1); break;
    case TWICE: asks_often(&s->other, ASKS, 0); break;
    case TRY_1000_TIMES: asks_often(&s->other, 1000, 1); break;
    case TELLS_COUNT: p->out[1] = asks_often(&s->other, 1 << 30, 0); break;
    default:
        if (!mbarrier_test_wait_parity(&s->other, 0)) {
            p->out[1]++;
            mbarrier_wait_parity(&s->other, 0);
        }
    }
    return s->value[0];
}

DEVICE void asks(Shared *s, const Params *p) {
    const int bug = p->bug;
    if (threadIdx.x == WRITER && !asks_too_seldom(bug)) {
        s->value[0] = VALUE;
        mbarrier_arrive(&s->other);
    }
    if (threadIdx.x == 0) {
        p->out[0] = asks_and_reads(s, p, bug);
    }
    if (threadIdx.x < 32 && asks_too_seldom(bug)) { /* the shuffle orders the run, and nothing else */
        __shfl_sync(0xffffffffu, 0, 0);
        if (threadIdx.x == 1) {
            s->value[0] = VALUE;
            mbarrier_arrive(&s->other);
        }
    }
}

/* Whoever is elected writes for the warp, and waits for its copy. PTX 9.7.13.14 does not say that it is lane 0. */
RIGHT_IN(elects, RIGHT_ELECTED_TELLS);
PART_CASE(elects, ELECTED_IS_LANE_0, "?RACE_RAW");

DEVICE void elects(Shared *s, const Params *p) {
    const int bug = p->bug;
    if (threadIdx.x < 32) {
        if (elect_one()) {
            s->value[0] = (int)threadIdx.x;
        }
        LEAVES_OUT(ELECTED_IS_LANE_0, __syncwarp());
        if ((bug == ELECTED_IS_LANE_0 ? threadIdx.x == 0 : (int)threadIdx.x == s->value[0])) {
            p->out[0] = VALUE;
            p->out[1] = s->value[0];
        }
    }
}

/* ---- what only some schedules show ------------------------------------------------------------------------------- */

#undef CASE_LIST
#define CASE_LIST "schedule"

PART_CASE(counts, READ_THEN_ADDED, NULL); /* both CTAs may find that they are not the last */
PART_CASE(votes, BALLOT_SPREADS, NULL);
PART_CASE(adds, COUNTED_BY_LOAD_AND_STORE, NULL); /* one may be lost */
PART_CASE(adds, LOCK_IN_TWO_STEPS, NULL);         /* both may have it */
PART_CASE(stores, TWO_STORES, NULL);              /* either may remain */

DEVICE void counts(Shared *s, const Params *p) {
    int before = global_counter_read(p->flag);
    if (threadIdx.x == 0) {
        global_counter_add(p->flag, 1);
        if (before == CTAS - 1) {
            p->out[0] = VALUE;
        }
    }
}

/* Two CTAs count: by a load and a store, or under a lock that is taken in two steps and therefore excludes neither
 * CTA. */
DEVICE void adds(Shared *s, const Params *p) {
    if (threadIdx.x != 0) {
        return;
    }
    if (p->bug == COUNTED_BY_LOAD_AND_STORE) {
        int before = global_load(relaxed, p->flag);
        global_store(relaxed, p->flag, before + 1);
        atomicAdd(&p->out[0], before == 1 ? VALUE : 0);
    } else if (atomicAdd(p->flag, 0) == 0) {
        atomicExch(p->flag, 1);
        atomicAdd(&p->out[0], VALUE);
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
        s->value[0] = VALUE;
        mbarrier_arrive(&s->other);
    } else if (thread < 32) {
        int asks = thread == 0 || thread == 31;
        int complete = asks && mbarrier_test_wait_parity(&s->other, 0);
        if (__any_sync(0xffffffffu, complete) && asks) {
            p->out[1 + thread % 2] = s->value[0];
        }
    }
    if (thread == 0) {
        p->out[0] = VALUE;
    }
}

static __global__ void __launch_bounds__(THREADS) mbarrier_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->bar, 1, (int)blockDim.x);
        mbarrier_init(&s->other, 1, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    p.part(s, &p);
}
KERNEL_ENTRY(mbarrier_kernel, Params);

static int run(const Case *c) {
    int *in = case_memory(N * sizeof *in, "in"), *out = case_memory(N * sizeof *out, "out");
    for (int i = 0; i < N; i++) {
        in[i] = 3 * i + 1;
    }
    Params p = {in, out, case_memory(sizeof(int), "flag"), c->bug, (Part *)c->more};
    LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    if (is_for_explorer(c)) {
        shape.grid = c->bug == BALLOT_SPREADS ? 1 : CTAS;
        shape.block = c->bug == BALLOT_SPREADS ? 33 : 1;
    }
    int status = launch_kernel(KERNEL(mbarrier_kernel), shape, &p, NULL, NULL);
    if (c->bug >= RIGHT_WORKS_BETWEEN) { /* a question */
        return status != 0 ? status : out[0] != VALUE;
    }
    for (int i = 0; i < (p.part == copies ? N : THREADS) && status == 0; i++) {
        int expected = in[(THREADS - 1 - i / CHUNK) * CHUNK + i % CHUNK];
        if (p.part == hands_on) {
            expected = 7 + in[i % 32];
        } else if (p.part == ballot) {
            expected = ROUNDS * in[THREADS - 1 - i];
        }
        status = out[i] == expected ? 0 : 1;
    }
    return status;
}
