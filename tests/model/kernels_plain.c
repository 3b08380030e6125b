/* kernels_plain.c - threads, warps, numbered barriers, registers, global memory: everything that is not a tile. */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/registers.h"

#include "../../common/model/model_host.h"
#include "cases.h"

enum { THREADS = 128, GRID = 6, N = THREADS * GRID };

typedef enum {
    RIGHT_REVERSE,      /* through shared memory */
    RIGHT_BYTES,        /* single bytes and halves of one chunk by different threads */
    RIGHT_GLOBAL_BYTES, /* of one pair by neighbouring threads */
    RIGHT_SHUFFLE,
    RIGHT_SHUFFLE_PART, /* by half a warp, while the other has yet to pick up the result of the last one */
    RIGHT_SYNCWARP,
    RIGHT_EARLY_RETURN, /* the others meet without those who have returned */
    RIGHT_SIGNAL,       /* barrier.arrive by one half, barrier.sync by the other */
    RIGHT_COUNTER,      /* CTAs meet in global memory */
    RIGHT_ATOMIC,
    RIGHT_REGISTERS,
    RIGHT_MBARRIER, /* threads hand over by arrivals alone */
    NO_SYNC,
    NO_SYNC_SECOND,
    SYNC_IN_HALF,
    SYNC_TWO_LINES,
    NO_SYNCWARP,
    UNINITIALISED,
    SHARED_PAST_END,
    SHARED_BEFORE,
    GLOBAL_PAST_END,
    GLOBAL_NULL,
    GLOBAL_HOST,
    SAME_PLACE,
    SAME_BYTE,
    READ_OTHERS,
    READ_OTHERS_BYTE,
    WRITE_READ_BY_OTHERS,
    NAMED_COUNT,
    NAMED_ID,
    NAMED_NOT_WARPS,
    NAMED_TWICE,
    NAMED_TOO_MANY,
    SIGNAL_MISSING,
    SHUFFLE_DIVERGED,
    SHUFFLE_HALF,
    REGISTERS_SUM,
    REGISTERS_COUNT,
    REGISTERS_DIRECTION,
    REGISTERS_ONE_WARP,
    REGISTERS_DIFFER,
    COUNTER_NEVER,
    COUNTER_MISALIGNED,
    MBARRIER_NO_WAIT,
    MBARRIER_NO_ARRIVALS,
    MBARRIER_PAST_END,
    POLL_NEVER,
    SPIN_SHARED,
    SPIN_GLOBAL,
    SLOW_WAITER,
} Bug;

typedef struct {
    int value[THREADS];
    uint8_t byte[THREADS];
    bf16 half[THREADS];
    MBarrier ready;
} Shared;

typedef struct {
    int *in, *out; /* [N] */
    int *counter;
    int bug;
} Params;

DEVICE void reverse(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x;
    int place = bug == SHARED_PAST_END ? thread + 1000 : bug == SHARED_BEFORE ? thread - 1 : thread;
    if (bug != UNINITIALISED || thread != 7) {
        s->value[place] = p->in[id];
    }
    if (bug == SYNC_TWO_LINES) {
        if (thread % 2 == 0) {
            __syncthreads();
        } else {
            __syncthreads();
        }
    } else if (bug != NO_SYNC && !(bug == SYNC_IN_HALF && thread >= 64)) {
        __syncthreads();
    }
    int got = s->value[THREADS - 1 - thread];
    while (bug == SPIN_SHARED && *(volatile int *)&s->value[5] != 0) {
    }
    while (bug == SPIN_GLOBAL && *(volatile int *)p->counter == 0) {
    }
    if (bug == SYNC_IN_HALF && thread >= 64) {
        named_barrier_sync(3, 64);
        named_barrier_sync(4, 128);
    }
    if (bug == NO_SYNC_SECOND) {
        s->value[thread] = got;
    }
    p->out[id] = got;
}

DEVICE void bytes(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x;
    s->byte[thread] = (uint8_t)thread;
    s->half[thread] = (bf16)(thread * 3);
    __syncthreads();
    int other = thread ^ 1;
    p->out[id] = s->byte[other] == other && s->half[other] == other * 3 ? p->in[id ^ 127] : -1;
}

DEVICE void shuffle(const Params *p, int id) {
    int lane = (int)threadIdx.x % 32;
    int value = p->in[id];
    if (p->bug == SHUFFLE_HALF && lane >= 16) {
        value = __shfl_xor_sync(0xffffffffu, value, 1);
    } else if (p->bug == SHUFFLE_DIVERGED && lane < 16) {
        value = __shfl_sync(0xffffffffu, value, 0);
    } else {
        value = __shfl_xor_sync(0xffffffffu, value, 31);
    }
    int sum = value;
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    float first = __shfl_sync(0xffffffffu, (float)p->in[id], 3);
    unsigned above = __shfl_down_sync(0xffffffffu, (unsigned)lane, 1),
             below = __shfl_up_sync(0xffffffffu, (unsigned)lane, 1);
    int one = elect_one() + __shfl_sync(0xffffffffu, 0, 0);
    int chosen = one;
    for (int step = 16; step > 0; step /= 2) {
        chosen += __shfl_xor_sync(0xffffffffu, chosen, step);
    }
    int right = first == (float)p->in[id - lane + 3] && above == (unsigned)(lane < 31 ? lane + 1 : lane) &&
                below == (unsigned)(lane > 0 ? lane - 1 : lane) && chosen == 1 && warp_uniform(id) == id - lane;
    /* The mirrored element of the warp, then of the CTA: the same result as reverse(). */
    int mirrored = id / 128 * 128 + 127 - id % 128;
    p->out[id] = right && sum != 0 ? p->in[mirrored] : -1;
    (void)value;
}

DEVICE void shuffle_part(const Params *p, int id) {
    int lane = (int)threadIdx.x % 32;
    int value = __shfl_xor_sync(0xffffffffu, p->in[id], 16), other = value;
    if (lane < 16) {
        other = __shfl_xor_sync(0x0000ffffu, -1 - lane, 8);
    }
    int right = value == p->in[id ^ 16] && other == (lane < 16 ? -1 - (lane ^ 8) : value);
    p->out[id] = right ? p->in[id / 128 * 128 + 127 - id % 128] : -1;
}

DEVICE void syncwarp(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x, mirrored = thread ^ 31;
    s->value[thread] = p->in[id];
    if (p->bug != NO_SYNCWARP) {
        __syncwarp();
    }
    int got = s->value[mirrored];
    p->out[id] = got == p->in[id / 32 * 32 + 31 - id % 32] ? p->in[id / 128 * 128 + 127 - id % 128] : -1;
}

/* The upper half fills, the lower half reads. */
DEVICE void signal(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, count = bug == NAMED_NOT_WARPS ? 100 : bug == NAMED_TOO_MANY ? 256 : 128;
    if (thread >= 64) {
        s->value[thread] = p->in[id - 64];
        s->value[thread - 64] = p->in[id];
        if (bug != SIGNAL_MISSING) {
            named_barrier_arrive(bug == NAMED_ID ? 16 : 1, bug == NAMED_COUNT ? 96 : count);
        }
        if (bug == NAMED_TWICE) {
            named_barrier_arrive(1, count);
        }
    } else {
        named_barrier_sync(1, count);
        p->out[id] = s->value[thread ^ 63];
        p->out[id + 64] = s->value[(thread ^ 63) + 64];
    }
}

DEVICE void global(const Params *p, int id) {
    switch (p->bug) {
    case GLOBAL_PAST_END: p->out[id + (id == N - 1)] = 1; break;
    case GLOBAL_NULL: *(volatile int *)(uintptr_t)(id == 9 ? 64 : (uintptr_t)&p->out[id]) = 1; break;
    case GLOBAL_HOST: p->out[id] = *(volatile int *)p->counter; break;
    case RIGHT_GLOBAL_BYTES:
        if (id < 64) {
            ((uint8_t *)p->counter)[id] = (uint8_t)id;
        }
        p->out[id] = p->in[id / 128 * 128 + 127 - id % 128];
        break;
    case SAME_PLACE: p->out[id % THREADS] = id; break;
    case SAME_BYTE: ((uint8_t *)p->out)[id / 2] = 1; break;
    case READ_OTHERS_BYTE:
        ((uint8_t *)p->out)[id] = 1;
        p->in[id] = ((uint8_t *)p->out)[id ^ 1];
        break;
    case READ_OTHERS:
        p->out[id] = 1;
        p->in[id] = p->out[(id + THREADS) % N];
        break;
    case WRITE_READ_BY_OTHERS: {
        p->in[id] = 5;
        int seen = p->in[(id + 1) % N];
        p->in[(id + 2) % N] = seen;
        break;
    }
    case RIGHT_ATOMIC:
        atomicAdd(p->counter, 1);
        atomicAdd((unsigned *)p->counter + 1, 2u);
        atomicAdd((float *)p->counter + 2, 0.5f);
        p->out[id] = p->in[id / 128 * 128 + 127 - id % 128];
        break;
    case COUNTER_MISALIGNED: global_counter_add((int *)((char *)p->counter + 2), 1); break;
    default: break;
    }
}

/* All CTAs meet: needs that they run together. */
DEVICE void meet(const Params *p, int id) {
    if (threadIdx.x == 0) {
        int ctas = (int)gridDim.x + (p->bug == COUNTER_NEVER);
        if (global_counter_add(p->counter, 1) == ctas - 1) {
            global_counter_set(p->counter + 1, 1);
        }
        while (global_counter_read(p->counter + 1) == 0) {
        }
    }
    __syncthreads();
    p->out[id] = p->in[id / 128 * 128 + 127 - id % 128];
}

DEVICE void registers(const Params *p, int id) {
    int warp = (int)threadIdx.x / 32, wg = warp / 4;
    switch (p->bug) {
    case REGISTERS_SUM: wg == 0 ? setmaxnreg_dec(80) : setmaxnreg_inc(240); break;
    case REGISTERS_COUNT: setmaxnreg_dec(20); break;
    case REGISTERS_DIRECTION: setmaxnreg_inc(24); break;
    case REGISTERS_ONE_WARP:
        if (warp == 0) {
            setmaxnreg_dec(40);
        }
        break;
    case REGISTERS_DIFFER: setmaxnreg_dec(warp == 1 ? 48 : 40); break;
    default:
        if (wg == 0) {
            setmaxnreg_dec(40);
        } else {
            setmaxnreg_inc(232);
        }
    }
    if (id < N) {
        p->out[id] = p->in[id / 128 * 128 + 127 - id % 128];
    }
}

DEVICE void hand_over(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x;
    MBarrier *ready = bug == MBARRIER_PAST_END ? &s->ready + 100 : &s->ready;
    if (thread == 0) {
        mbarrier_init(&s->ready, 1, bug == MBARRIER_NO_ARRIVALS ? 0 : bug == POLL_NEVER ? THREADS + 1 : THREADS);
        mbarrier_init_fence();
    }
    __syncthreads();
    s->value[thread] = p->in[id];
    mbarrier_arrive(ready);
    if (bug == POLL_NEVER) {
        while (!mbarrier_test_wait_parity(ready, 0)) {
        }
    } else if (bug != MBARRIER_NO_WAIT) {
        mbarrier_wait_parity(ready, 0);
    }
    p->out[id] = s->value[THREADS - 1 - thread];
    if (bug == SLOW_WAITER) {
        /* Thread 1 waits for a phase that others may complete and follow with the next one before it looks. */
        if (thread == 1) {
            mbarrier_wait_parity(ready, 1);
        } else {
            mbarrier_arrive(ready);
            if (thread == 0) {
                mbarrier_arrive(ready);
            }
            mbarrier_wait_parity(ready, 1);
            mbarrier_arrive(ready);
            if (thread == 0) {
                mbarrier_arrive(ready);
            }
        }
    }
}

static __global__ void __launch_bounds__(THREADS) plain_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int id = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    switch (p.bug) {
    case RIGHT_BYTES: bytes(s, &p, id); break;
    case RIGHT_SHUFFLE:
    case SHUFFLE_DIVERGED:
    case SHUFFLE_HALF: shuffle(&p, id); break;
    case RIGHT_SHUFFLE_PART: shuffle_part(&p, id); break;
    case RIGHT_SYNCWARP:
    case NO_SYNCWARP: syncwarp(s, &p, id); break;
    case RIGHT_EARLY_RETURN:
        if (threadIdx.x >= 32) {
            p.out[id] = p.in[id / 128 * 128 + 127 - id % 128];
            return;
        }
        __syncthreads();
        p.out[id] = p.in[id / 128 * 128 + 127 - id % 128];
        break;
    case RIGHT_SIGNAL:
    case NAMED_COUNT:
    case NAMED_ID:
    case NAMED_NOT_WARPS:
    case NAMED_TWICE:
    case NAMED_TOO_MANY:
    case SIGNAL_MISSING: signal(s, &p, id); break;
    case RIGHT_GLOBAL_BYTES:
    case RIGHT_ATOMIC:
    case GLOBAL_PAST_END:
    case GLOBAL_NULL:
    case GLOBAL_HOST:
    case SAME_PLACE:
    case SAME_BYTE:
    case READ_OTHERS:
    case READ_OTHERS_BYTE:
    case WRITE_READ_BY_OTHERS:
    case COUNTER_MISALIGNED: global(&p, id); break;
    case RIGHT_COUNTER:
    case COUNTER_NEVER: meet(&p, id); break;
    case RIGHT_REGISTERS:
    case REGISTERS_SUM:
    case REGISTERS_COUNT:
    case REGISTERS_DIRECTION:
    case REGISTERS_ONE_WARP:
    case REGISTERS_DIFFER: registers(&p, (int)(blockIdx.x * blockDim.x + threadIdx.x)); break;
    case RIGHT_MBARRIER:
    case MBARRIER_NO_WAIT:
    case MBARRIER_NO_ARRIVALS:
    case MBARRIER_PAST_END:
    case POLL_NEVER:
    case SLOW_WAITER: hand_over(s, &p, id); break;
    default: reverse(s, &p, id);
    }
}
KERNEL_ENTRY(plain_kernel, Params);

static int run(int bug) {
    int *in = model_global_alloc(N * sizeof *in, "in"), *out = model_global_alloc(N * sizeof *out, "out");
    int *counter = model_global_alloc(64, "counter");
    static int on_the_host[4];
    int *heap = malloc(64);
    for (int i = 0; i < N; i++) {
        in[i] = i * i + 1;
        out[i] = 0;
    }
    memset(counter, 0, 64);
    (void)on_the_host;
    Params p = {in, out, bug == GLOBAL_HOST ? heap : counter, bug};
    int registers = bug == RIGHT_REGISTERS || (bug >= REGISTERS_SUM && bug <= REGISTERS_DIFFER);
    int meeting = bug == RIGHT_COUNTER || bug == COUNTER_NEVER;
    LaunchShape shape = {.grid = registers ? 2
                                 : meeting ? 4
                                           : GRID,
                         .block = registers ? 3 * THREADS : THREADS,
                         .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(plain_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < (meeting ? 4 * THREADS : N) && status == 0; i++) {
        if (out[i] != in[i / 128 * 128 + 127 - i % 128] && bug != WRITE_READ_BY_OTHERS) {
            status = 1;
        }
    }
    if (bug == RIGHT_ATOMIC && (counter[0] != N || counter[1] != 2 * N || ((float *)counter)[2] != 0.5f * N)) {
        status = 1;
    }
    model_global_free(in);
    model_global_free(out);
    model_global_free(counter);
    free(heap);
    return status;
}

#define CASE_LIST "plain"
const Case plain_cases[] = {
    RIGHT_CASE(RIGHT_REVERSE),
    RIGHT_CASE(RIGHT_BYTES),
    RIGHT_CASE(RIGHT_GLOBAL_BYTES),
    RIGHT_CASE(RIGHT_SHUFFLE),
    RIGHT_CASE(RIGHT_SHUFFLE_PART),
    RIGHT_CASE(RIGHT_SYNCWARP),
    RIGHT_CASE(RIGHT_EARLY_RETURN),
    RIGHT_CASE(RIGHT_SIGNAL),
    RIGHT_CASE(RIGHT_COUNTER),
    RIGHT_CASE(RIGHT_ATOMIC),
    RIGHT_CASE(RIGHT_REGISTERS),
    RIGHT_CASE(RIGHT_MBARRIER),
    WRONG_CASE(NO_SYNC, RACE_RAW),
    WRONG_CASE(NO_SYNC_SECOND, RACE_WAR),
    WRONG_CASE(SYNC_IN_HALF, DEADLOCK),
    WRONG_CASE(SYNC_TWO_LINES, CONVERGENCE),
    WRONG_CASE(NO_SYNCWARP, RACE_RAW),
    WRONG_CASE(UNINITIALISED, UNINIT_SHARED),
    WRONG_CASE(SHARED_PAST_END, SHARED_BOUNDS),
    WRONG_CASE(SHARED_BEFORE, SHARED_BOUNDS),
    WRONG_CASE(GLOBAL_PAST_END, GLOBAL_BOUNDS),
    WRONG_CASE(GLOBAL_NULL, GLOBAL_BOUNDS),
    WRONG_CASE(GLOBAL_HOST, GLOBAL_BOUNDS),
    WRONG_CASE(SAME_PLACE, GLOBAL_CONFLICT),
    WRONG_CASE(SAME_BYTE, GLOBAL_CONFLICT),
    WRONG_CASE(READ_OTHERS, GLOBAL_CONFLICT),
    WRONG_CASE(READ_OTHERS_BYTE, GLOBAL_CONFLICT),
    WRONG_CASE(WRITE_READ_BY_OTHERS, GLOBAL_CONFLICT),
    WRONG_CASE(NAMED_COUNT, NAMED_BARRIER),
    WRONG_CASE(NAMED_ID, NAMED_BARRIER),
    WRONG_CASE(NAMED_NOT_WARPS, NAMED_BARRIER),
    WRONG_CASE(NAMED_TWICE, NAMED_BARRIER),
    WRONG_CASE(NAMED_TOO_MANY, NAMED_BARRIER),
    WRONG_CASE(SIGNAL_MISSING, DEADLOCK),
    WRONG_CASE(SHUFFLE_DIVERGED, CONVERGENCE),
    WRONG_CASE(SHUFFLE_HALF, CONVERGENCE),
    WRONG_CASE(REGISTERS_SUM, SETMAXNREG),
    WRONG_CASE(REGISTERS_COUNT, SETMAXNREG),
    WRONG_CASE(REGISTERS_DIRECTION, SETMAXNREG),
    WRONG_CASE(REGISTERS_ONE_WARP, CONVERGENCE),
    WRONG_CASE(REGISTERS_DIFFER, CONVERGENCE),
    WRONG_CASE(COUNTER_NEVER, LIVELOCK),
    WRONG_CASE(COUNTER_MISALIGNED, ALIGNMENT),
    WRONG_CASE(MBARRIER_NO_WAIT, RACE_RAW),
    WRONG_CASE(MBARRIER_NO_ARRIVALS, BARRIER_UNINIT),
    WRONG_CASE(MBARRIER_PAST_END, SHARED_BOUNDS),
    WRONG_CASE(POLL_NEVER, LIVELOCK),
    WRONG_CASE(SPIN_SHARED, LIVELOCK),
    WRONG_CASE(SPIN_GLOBAL, LIVELOCK),
    WRONG_CASE(SLOW_WAITER, PHASE_SKIPPED),
};
const int plain_case_count = sizeof plain_cases / sizeof plain_cases[0];
