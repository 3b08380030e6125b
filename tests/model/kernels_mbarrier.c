/* kernels_mbarrier.c - what mbarriers can do beyond what the chapters ask of them: tokens, questions that suspend, arrivals
 * by the dozen and by cp.async, and the end of a barrier's life. */
#include "../../common/gemm.h"

#include "../../common/device/cp_async.h"
#include "../../common/device/mbarrier.h"

#include "../../common/model/model_host.h"
#include "cases.h"

enum { THREADS = 64, ROUNDS = 4, CHUNK = 4, N = THREADS * CHUNK };

typedef enum {
    RIGHT_TOKEN, /* all threads meet by arrivals with tokens */
    RIGHT_TOKEN_POLL,
    RIGHT_TOKEN_TRY,
    RIGHT_TRY_PARITY,
    RIGHT_COUNT, /* one lane arrives for its warp */
    RIGHT_REINIT,
    RIGHT_REUSE, /* the memory holds numbers after the barrier has ended */
    RIGHT_COPIES,
    RIGHT_COPIES_INC,
    RIGHT_COPIES_AND_GROUPS,
    TOKEN_OF_OTHER,
    TOKEN_INVENTED,
    TOKEN_OLD,
    TRY_ONCE,
    COUNT_TOO_MANY,
    COUNT_ZERO,
    COUNT_NO_SYNCWARP,
    INVAL_NO_INIT,
    INVAL_IN_USE, /* others may still wait */
    INVAL_IN_FLIGHT,
    USE_AFTER_INVAL,
    READ_AFTER_INVAL,
    REUSE_NO_SYNC,
    REINIT_NO_SYNC,
    COPIES_ARRIVE_FIRST, /* the copies come behind the instruction that is to count them */
    COPIES_PLAIN_ARRIVE,
    COPIES_STORE, /* half of it by ordinary stores */
    COPIES_TOO_MANY,
    COPIES_INC_ALONE,
    COPIES_NO_WAIT,
    COPIES_IN_GROUP, /* wait_group is asked for what the barrier counts */
} Bug;

typedef struct {
    int value[THREADS];
    int chunk[2][N];
    MBarrier bar, other, none;
} Shared;

typedef struct {
    const int *in; /* [N] */
    int *out;      /* [N] */
    int bug;
} Params;

/* A meeting of all threads. */
DEVICE void meet(MBarrier *bar, int bug, int round) {
    uint32_t parity = (uint32_t)round & 1;
    if (bug == RIGHT_TRY_PARITY) {
        mbarrier_arrive(bar);
        while (!(threadIdx.x % 2 ? mbarrier_try_wait_parity(bar, parity)
                                 : mbarrier_try_wait_parity_hint(bar, parity, 100))) {
        }
        return;
    }
    if (bug == RIGHT_COUNT || bug == COUNT_TOO_MANY || bug == COUNT_ZERO || bug == COUNT_NO_SYNCWARP) {
        if (bug != COUNT_NO_SYNCWARP) {
            __syncwarp();
        }
        if (threadIdx.x % 32 == 0) {
            mbarrier_arrive_count(bar, bug == COUNT_TOO_MANY ? 33 : bug == COUNT_ZERO ? 0 : 32);
        }
        mbarrier_wait_parity(bar, parity);
        return;
    }
    uint64_t token = mbarrier_arrive_token(bar);
    if (bug == RIGHT_TOKEN_POLL) {
        while (!mbarrier_test_wait(bar, token)) {
        }
    } else if (bug == RIGHT_TOKEN_TRY) {
        while (!(threadIdx.x % 2 ? mbarrier_try_wait(bar, token) : mbarrier_try_wait_hint(bar, token, 100))) {
        }
    } else {
        mbarrier_wait(bar, token);
    }
}

DEVICE int rounds(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, value = p->in[thread];
    for (int round = 0; round < ROUNDS; round++) {
        s->value[thread] = value;
        meet(&s->bar, bug, 2 * round);
        value = s->value[THREADS - 1 - thread];
        meet(&s->bar, bug, 2 * round + 1);
    }
    return value;
}

/* Wrong tokens, and a question that is asked once. The shuffles order the run, and nothing else. */
DEVICE void tokens(Shared *s, const Params *p) {
    int lane = (int)threadIdx.x;
    if (p->bug == TRY_ONCE) {
        if (lane == 0) {
            mbarrier_try_wait_parity_hint(&s->other, 0, 1000000);
            p->out[0] = s->value[1];
        }
        __shfl_sync(0xffffffffu, 0, 0);
        if (lane == 1) {
            s->value[1] = 5;
            mbarrier_arrive(&s->other);
        }
        return;
    }
    uint64_t first = mbarrier_arrive_token(&s->bar);
    mbarrier_wait(p->bug == TOKEN_OF_OTHER ? &s->other : &s->bar, p->bug == TOKEN_INVENTED ? 12345 : first);
    for (int i = 0; i < 2; i++) {
        mbarrier_wait(&s->bar, mbarrier_arrive_token(&s->bar));
    }
    if (lane == 0) {
        mbarrier_test_wait(&s->bar, first);
    }
}

DEVICE int lives(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, ends = thread == 0;
    if (bug == INVAL_IN_FLIGHT) {
        cp_async_16(&s->chunk[0][thread * CHUNK], &p->in[thread * CHUNK]);
        cp_async_mbarrier_arrive_noinc(&s->bar);
    } else {
        mbarrier_wait(&s->bar, mbarrier_arrive_token(&s->bar));
    }
    __shfl_sync(0xffffffffu, 0, 0);
    if (bug != INVAL_IN_USE) {
        __syncthreads();
    }
    if (ends) {
        mbarrier_inval(bug == INVAL_NO_INIT ? &s->none : &s->bar);
    }
    __shfl_sync(0xffffffffu, 0, 0);
    if (bug != REUSE_NO_SYNC) {
        __syncthreads();
    }
    if (bug == RIGHT_REUSE || bug == REUSE_NO_SYNC) {
        if (thread == 1) {
            s->bar.state = 77;
        }
        __syncthreads();
        return p->in[thread] + (s->bar.state != 77);
    }
    if (bug == READ_AFTER_INVAL) {
        return (int)s->bar.state;
    }
    if (ends && bug != USE_AFTER_INVAL) {
        mbarrier_init(&s->bar, 1, (int)blockDim.x);
        mbarrier_init_fence();
    }
    __shfl_sync(0xffffffffu, 0, 0);
    if (bug != REINIT_NO_SYNC) {
        __syncthreads();
    }
    s->value[thread] = p->in[thread];
    mbarrier_wait(&s->bar, mbarrier_arrive_token(&s->bar));
    return s->value[(int)blockDim.x - 1 - thread];
}

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
        if (bug == COPIES_ARRIVE_FIRST) {
            cp_async_mbarrier_arrive_noinc(&s->bar);
        }
        cp_async_16(&chunk[at], &p->in[at]);
        if (bug == COPIES_STORE) {
            s->value[thread] = 1;
        }
        if (bug == COPIES_PLAIN_ARRIVE) {
            mbarrier_arrive(&s->bar);
        } else if (bug == RIGHT_COPIES_INC || bug == COPIES_INC_ALONE) {
            cp_async_mbarrier_arrive(&s->bar);
        } else if (bug != COPIES_ARRIVE_FIRST) {
            cp_async_mbarrier_arrive_noinc(bug == COPIES_TOO_MANY ? &s->other : &s->bar);
        }
        if (bug == COPIES_TOO_MANY) {
            cp_async_commit_group();
            cp_async_wait_group(0);
            __syncthreads();
            return;
        }
        if (bug == RIGHT_COPIES_INC) {
            mbarrier_arrive(&s->bar);
        }
        if (bug == COPIES_NO_WAIT) {
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

static __global__ void __launch_bounds__(THREADS) mbarrier_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_init(&s->bar, 1, (int)blockDim.x);
        mbarrier_init(&s->other, 1, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    switch (p.bug) {
    case TOKEN_OF_OTHER:
    case TOKEN_INVENTED:
    case TOKEN_OLD:
    case TRY_ONCE: tokens(s, &p); break;
    case RIGHT_REINIT:
    case RIGHT_REUSE:
    case INVAL_NO_INIT:
    case INVAL_IN_USE:
    case INVAL_IN_FLIGHT:
    case USE_AFTER_INVAL:
    case READ_AFTER_INVAL:
    case REUSE_NO_SYNC:
    case REINIT_NO_SYNC: p.out[thread] = lives(s, &p); break;
    case RIGHT_COPIES:
    case RIGHT_COPIES_INC:
    case RIGHT_COPIES_AND_GROUPS:
    case COPIES_ARRIVE_FIRST:
    case COPIES_PLAIN_ARRIVE:
    case COPIES_STORE:
    case COPIES_TOO_MANY:
    case COPIES_INC_ALONE:
    case COPIES_NO_WAIT:
    case COPIES_IN_GROUP: copies(s, &p); break;
    default: p.out[thread] = rounds(s, &p);
    }
}
KERNEL_ENTRY(mbarrier_kernel, Params);

static int run(int bug) {
    int *in = model_global_alloc(N * sizeof *in, "in"), *out = model_global_alloc(N * sizeof *out, "out");
    for (int i = 0; i < N; i++) {
        in[i] = 3 * i + 1;
    }
    memset(out, 0, N * sizeof *out);
    Params p = {in, out, bug};
    /* One warp where the run must have an order. */
    int in_order = bug >= TOKEN_OF_OTHER && bug <= REINIT_NO_SYNC && !(bug >= COUNT_TOO_MANY && bug < INVAL_NO_INIT);
    int threads = in_order ? 32 : THREADS;
    LaunchShape shape = {.grid = 1, .block = threads, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(mbarrier_kernel), shape, &p, NULL, NULL);
    int chunks = bug == RIGHT_COPIES || bug == RIGHT_COPIES_INC || bug == RIGHT_COPIES_AND_GROUPS;
    for (int i = 0; i < (chunks ? N : threads) && status == 0; i++) {
        int want = chunks                ? (THREADS - 1 - i / CHUNK) * CHUNK + i % CHUNK
                   : bug == RIGHT_REINIT ? threads - 1 - i
                                         : i; /* turned around an even number of times */
        status = out[i] == in[want] ? 0 : 1;
    }
    model_global_free(in);
    model_global_free(out);
    return status;
}

#define CASE_LIST "mbarrier"
const Case mbarrier_cases[] = {
    RIGHT_CASE(RIGHT_TOKEN),
    RIGHT_CASE(RIGHT_TOKEN_POLL),
    RIGHT_CASE(RIGHT_TOKEN_TRY),
    RIGHT_CASE(RIGHT_TRY_PARITY),
    RIGHT_CASE(RIGHT_COUNT),
    RIGHT_CASE(RIGHT_REINIT),
    RIGHT_CASE(RIGHT_REUSE),
    RIGHT_CASE(RIGHT_COPIES),
    RIGHT_CASE(RIGHT_COPIES_INC),
    RIGHT_CASE(RIGHT_COPIES_AND_GROUPS),
    WRONG_CASE(TOKEN_OF_OTHER, PHASE_TOKEN),
    WRONG_CASE(TOKEN_INVENTED, PHASE_TOKEN),
    WRONG_CASE(TOKEN_OLD, PHASE_SKIPPED),
    WRONG_CASE(TRY_ONCE, RACE_WAR),
    WRONG_CASE(COUNT_TOO_MANY, ARRIVE_OVERFLOW),
    WRONG_CASE(COUNT_ZERO, ARRIVE_OVERFLOW),
    WRONG_CASE(COUNT_NO_SYNCWARP, RACE_RAW),
    WRONG_CASE(INVAL_NO_INIT, BARRIER_UNINIT),
    WRONG_CASE(INVAL_IN_USE, BARRIER_INVAL),
    WRONG_CASE(INVAL_IN_FLIGHT, BARRIER_INVAL),
    WRONG_CASE(USE_AFTER_INVAL, BARRIER_UNINIT),
    WRONG_CASE(READ_AFTER_INVAL, UNINIT_SHARED),
    WRONG_CASE(REUSE_NO_SYNC, RACE_WAW),
    WRONG_CASE(REINIT_NO_SYNC, BARRIER_INIT_ORDER),
    WRONG_CASE(COPIES_ARRIVE_FIRST, RACE_RAW),
    WRONG_CASE(COPIES_PLAIN_ARRIVE, RACE_RAW),
    WRONG_CASE(COPIES_STORE, RACE_RAW),
    WRONG_CASE(COPIES_TOO_MANY, ARRIVE_OVERFLOW),
    WRONG_CASE(COPIES_INC_ALONE, DEADLOCK),
    WRONG_CASE(COPIES_NO_WAIT, EXIT_IN_FLIGHT),
    WRONG_CASE(COPIES_IN_GROUP, RACE_RAW),
};
const int mbarrier_case_count = sizeof mbarrier_cases / sizeof mbarrier_cases[0];
