/* kernels_plain.c - threads, warps, numbered barriers, registers, global memory: everything that is not a tile.
 *
 * Compiled with DWARF 4 (model.mk), which older compilers write: reports must find lines and members in that too. */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/registers.h"

#include "cases.h"

#define CASE_LIST "plain"

enum { THREADS = 128, GRID = 6, N = THREADS * GRID };

typedef struct {
    int value[THREADS];
    bf16 box[2][4 * 3 * 8];
    struct {
        uint4 word;
        bf16 pair[2][4];
    } lap[2];
    uint8_t byte[THREADS];
    bf16 half[THREADS];
    MBarrier ready;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p, int id);
struct Params {
    int *in, *out; /* [N] */
    int *counter;
    int bug;
    Part *part;
};

/* What every right part leaves in out[id]: the element at the other end of the CTA. */
DEVICE int mirrored(const Params *p, int id) { return p->in[id / 128 * 128 + 127 - id % 128]; }

RIGHT_IN(reverse, RIGHT_REVERSE); /* through shared memory */
WRONG_IN(reverse, NO_SYNC, RACE_RAW);
WRONG_IN(reverse, NO_SYNC_SECOND, RACE_WAR);
WRONG_IN(reverse, UNINITIALISED, UNINIT_SHARED);
WRONG_IN(reverse, SHARED_PAST_END, SHARED_BOUNDS);
WRONG_IN(reverse, SHARED_BEFORE, SHARED_BOUNDS);
WRONG_IN(reverse, SPIN_SHARED, LIVELOCK);
WRONG_IN(reverse, SPIN_GLOBAL, LIVELOCK);

DEVICE void reverse(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x;
    int place = bug == SHARED_PAST_END ? thread + 1000 : bug == SHARED_BEFORE ? thread - 1 : thread;
    if (bug != UNINITIALISED || thread != 7) {
        s->value[place] = p->in[id];
    }
    LEAVES_OUT(NO_SYNC, __syncthreads());
    int got = s->value[THREADS - 1 - thread];
    while (bug == SPIN_SHARED && *(volatile int *)&s->value[5] != 0) {
    }
    while (bug == SPIN_GLOBAL && *(volatile int *)p->counter == 0) {
    }
    ADDS(NO_SYNC_SECOND, s->value[thread] = got);
    p->out[id] = got;
}

RIGHT_IN(readers, RIGHT_READERS);      /* all threads read 16 bytes, then one writes a part of them behind a barrier */
RIGHT_IN(readers, RIGHT_READERS_LAPS); /* ... again and again */
WRONG_IN(readers, READERS_NO_SYNC, RACE_WAR);
WRONG_IN(readers, READERS_PART_NO_SYNC, RACE_WAR); /* all read 2 bytes */
WRONG_IN(readers, READ_OF_PARTS, RACE_RAW);        /* a 16-byte read meets writes of its parts */

DEVICE void readers(Shared *s, const Params *p, int id) {
    const int bug = p->bug, thread = (int)threadIdx.x, laps = bug == RIGHT_READERS_LAPS ? 4 : 1;
    uint32_t sum = 0;
    if (thread == 0) {
        s->lap[1].word = (uint4){1, 2, 3, 4};
        s->lap[1].pair[1][2] = 10;
    }
    LEAVES_OUT(READ_OF_PARTS, __syncthreads());
    for (int lap = 0; lap < laps; lap++) {
        uint4 word = {1, 2, 3, 4};
        if (bug == READERS_PART_NO_SYNC) {
            word.w = s->lap[1].pair[1][2] - 6u;
        } else {
            word = s->lap[1].word;
        }
        sum += word.x + word.y + word.z + word.w;
        if (bug != READERS_NO_SYNC && bug != READERS_PART_NO_SYNC) {
            __syncthreads();
        }
        if (thread == 100) {
            s->lap[1].word.w = 4;
            s->lap[1].pair[1][2] = 10;
        }
        __syncthreads();
    }
    p->out[id] = sum == 10u * (uint32_t)laps ? mirrored(p, id) : -1;
}

RIGHT_IN(bytes, RIGHT_BYTES); /* single bytes and halves of one chunk by different threads */

DEVICE void bytes(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x;
    s->byte[thread] = (uint8_t)thread;
    s->half[thread] = (bf16)(thread * 3);
    __syncthreads();
    int other = thread ^ 1;
    p->out[id] = s->byte[other] == other && s->half[other] == other * 3 ? p->in[id ^ 127] : -1;
}

RIGHT_IN(shuffle, RIGHT_SHUFFLE);
WRONG_IN(shuffle, SHUFFLE_DIVERGED, CONVERGENCE);
WRONG_IN(shuffle, SHUFFLE_HALF, CONVERGENCE);

DEVICE void shuffle(Shared *s, const Params *p, int id) {
    int lane = (int)threadIdx.x % 32;
    int value = p->in[id];
    if (p->bug == SHUFFLE_HALF && lane >= 16) {
        value = __shfl_xor_sync(0xffffffffu, value, 1);
    } else if (p->bug == SHUFFLE_DIVERGED && lane < 16) {
        value = __shfl_sync(0xffffffffu, value, 0);
    } else {
        value = __shfl_xor_sync(0xffffffffu, value, 31);
    }
    int chosen = __popc(__ballot_sync(0xffffffffu, elect_one()));
    int right = value == p->in[id ^ 31] && chosen == 1 && warp_uniform(id) == id - lane;
    p->out[id] = right ? mirrored(p, id) : -1;
}

RIGHT_IN(warp, RIGHT_TYPES);  /* of values that are shuffled or matched: tests/conform compares the rest with a GPU */
RIGHT_IN(warp, RIGHT_ACTIVE); /* whoever finds itself together elects a lane */
RIGHT_IN(warp, RIGHT_MATH);   /* that nvcc brings along */
WRONG_IN(warp, VOTE_DIVERGED, CONVERGENCE);
WRONG_IN(warp, VOTE_OTHERS, CONVERGENCE); /* by a lane outside of the mask */
WRONG_IN(warp, VOTE_ORDERS_NOTHING, RACE_RAW);
WRONG_IN(warp, MATCH_DIVERGED, CONVERGENCE);
WRONG_IN(warp, WIDTH_12, CONVERGENCE);
WRONG_IN(warp, WIDTH_64, CONVERGENCE);
WRONG_IN(warp, ACTIVE_IS_ALL, CONVERGENCE); /* taken for the whole warp */

#define ALL 0xffffffffu

DEVICE int types(int lane) {
    int all = -1, right = __shfl_sync(ALL, (double)lane, 1, 8) == lane / 8 * 8 + 1;
    right &= __shfl_up_sync(ALL, (long long)lane, 1, 8) == (lane % 8 > 0 ? lane - 1 : lane);
    right &= __shfl_up_sync(ALL, (float)lane, 6, 8) == (float)(lane % 8 > 5 ? lane - 6 : lane);
    right &= __shfl_down_sync(ALL, (unsigned)lane, 3, 8) == (unsigned)(lane % 8 < 5 ? lane + 3 : lane);
    right &= __shfl_xor_sync(ALL, (uint64_t)lane, 2, 8) == (uint64_t)(lane ^ 2);
    right &= __ffs((int)__match_any_sync(ALL, (float)(lane / 7))) == lane / 7 * 7 + 1;
    return right && __match_all_sync(ALL, (uint64_t)lane / 31, &all) == 0 && all == 0;
}

DEVICE int math(int lane) {
    float x = 1 + (float)lane / 32;
    double exact = (double)x * (double)x; /* twice the digits */
    return fmaf(x, x, -x * x) == (float)(exact - (double)(x * x)) && rsqrtf(x) == (float)(1 / sqrt((double)x)) &&
           __expf(x) == expf(x) && __logf(x) == logf(x) && __fdividef(1, x) == 1 / x &&
           __uint_as_float(__float_as_uint(x) + 1) - x == 0x1p-23f;
}

DEVICE void warp(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x, lane = thread % 32, right = 1;
    s->value[thread] = 0;
    __syncthreads();
    switch (p->bug) {
    case RIGHT_TYPES: right = types(lane); break;
    case RIGHT_MATH: right = math(lane); break;
    case RIGHT_ACTIVE: {
        uint32_t active = __activemask();
        __nanosleep(100);
        if (lane == __ffs((int)active) - 1) {
            atomicAdd(p->counter, __popc(active));
        }
        break;
    }
    case VOTE_DIVERGED:
        if (lane < 16) {
            right = __any_sync(ALL, lane == 1);
        } else {
            right = __any_sync(ALL, lane == 2);
        }
        break;
    case VOTE_OTHERS: right = __any_sync(0xffff, lane); break;
    case VOTE_ORDERS_NOTHING:
        s->value[thread] = lane;
        __all_sync(ALL, 1);
        right = s->value[thread ^ 1];
        break;
    case MATCH_DIVERGED:
        if (lane != 3) {
            right = (int)__match_any_sync(ALL, lane);
        }
        break;
    case WIDTH_12: right = __shfl_sync(ALL, lane, 0, 12); break;
    case WIDTH_64: right = __shfl_xor_sync(ALL, lane, 1, 64); break;
    default: right = __shfl_sync(__activemask(), lane, 0); break;
    }
    p->out[id] = right ? mirrored(p, id) : -1;
}

RIGHT_IN(signal, RIGHT_SIGNAL); /* barrier.arrive by one half, barrier.sync by the other */
WRONG_IN(signal, NAMED_COUNT, NAMED_BARRIER);
WRONG_IN(signal, NAMED_ID, NAMED_BARRIER);
WRONG_IN(signal, NAMED_NOT_WARPS, NAMED_BARRIER);
WRONG_IN(signal, NAMED_TWICE, NAMED_BARRIER);
WRONG_IN(signal, NAMED_TOO_MANY, NAMED_BARRIER);
WRONG_IN(signal, SIGNAL_MISSING, DEADLOCK);

/* The upper half fills, the lower half reads. */
DEVICE void signal(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, count = bug == NAMED_NOT_WARPS ? 100 : bug == NAMED_TOO_MANY ? 256 : 128;
    if (thread >= 64) {
        s->value[thread] = p->in[id - 64];
        s->value[thread - 64] = p->in[id];
        LEAVES_OUT(SIGNAL_MISSING, named_barrier_arrive(bug == NAMED_ID ? 16 : 1, bug == NAMED_COUNT ? 96 : count));
        ADDS(NAMED_TWICE, named_barrier_arrive(1, count));
    } else {
        named_barrier_sync(1, count);
        p->out[id] = s->value[thread ^ 63];
        p->out[id + 64] = s->value[(thread ^ 63) + 64];
    }
}

RIGHT_IN(global, RIGHT_GLOBAL_BYTES); /* of one pair by neighbouring threads */
RIGHT_IN(global, RIGHT_ATOMIC);
WRONG_IN(global, GLOBAL_PAST_END, GLOBAL_BOUNDS);
WRONG_IN(global, GLOBAL_NULL, GLOBAL_BOUNDS);
WRONG_IN(global, GLOBAL_HOST, GLOBAL_BOUNDS);
WRONG_IN(global, SAME_PLACE, GLOBAL_CONFLICT);
WRONG_IN(global, SAME_BYTE, GLOBAL_CONFLICT);
WRONG_IN(global, READ_OTHERS, GLOBAL_CONFLICT);
WRONG_IN(global, READ_OTHERS_BYTE, GLOBAL_CONFLICT);
WRONG_IN(global, WRITE_READ_BY_OTHERS, GLOBAL_CONFLICT);
WRONG_IN(global, COUNTER_MISALIGNED, ALIGNMENT);

DEVICE void global(Shared *s, const Params *p, int id) {
    switch (p->bug) {
    case GLOBAL_PAST_END: p->out[id + (id == N - 1)] = 1; break;
    case GLOBAL_NULL: *(volatile int *)(uintptr_t)(id == 9 ? 64 : (uintptr_t)&p->out[id]) = 1; break;
    case GLOBAL_HOST: p->out[id] = *(volatile int *)p->counter; break;
    case RIGHT_GLOBAL_BYTES:
        if (id < 64) {
            ((uint8_t *)p->counter)[id] = (uint8_t)id;
        }
        p->out[id] = mirrored(p, id);
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
        p->out[id] = mirrored(p, id);
        break;
    case COUNTER_MISALIGNED: global_counter_add((int *)((char *)p->counter + 2), 1); break;
    default: break;
    }
}

RIGHT_IN(registers, RIGHT_REGISTERS);
RIGHT_IN(registers, RIGHT_REGISTERS_OF_TWO); /* CTAs on an SM, which leave a thread 80 */
WRONG_IN(registers, REGISTERS_SUM, SETMAXNREG);
WRONG_IN(registers, REGISTERS_OF_TWO_SUM, SETMAXNREG);
FIRST_IN(registers, REGISTERS_POLLED, LIVELOCK); /* who would give some back polls before, and nobody answers */
WRONG_IN(registers, REGISTERS_COUNT, SETMAXNREG);
WRONG_IN(registers, REGISTERS_DIRECTION, SETMAXNREG);
WRONG_IN(registers, REGISTERS_ONE_WARP, CONVERGENCE);
WRONG_IN(registers, REGISTERS_DIFFER, CONVERGENCE);

DEVICE void registers(Shared *s, const Params *p, int id) {
    int warp = (int)threadIdx.x / 32, wg = warp / 4;
    switch (p->bug) {
    case RIGHT_REGISTERS_OF_TWO: wg == 0 ? setmaxnreg_dec(24) : setmaxnreg_inc(104); break;
    case REGISTERS_OF_TWO_SUM: wg == 0 ? setmaxnreg_dec(24) : setmaxnreg_inc(112); break;
    case REGISTERS_SUM: wg == 0 ? setmaxnreg_dec(80) : setmaxnreg_inc(240); break;
    case REGISTERS_POLLED:
        while (threadIdx.x == 0 && global_counter_read(p->counter) < 1) {
        }
        wg == 0 ? setmaxnreg_dec(40) : setmaxnreg_inc(232);
        break;
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
    p->out[id] = mirrored(p, id);
}

RIGHT_IN(hand_over, RIGHT_MBARRIER); /* threads hand over by arrivals alone */
WRONG_IN(hand_over, MBARRIER_NO_WAIT, RACE_RAW);
WRONG_IN(hand_over, MBARRIER_NO_ARRIVALS, BARRIER_UNINIT);
WRONG_IN(hand_over, MBARRIER_PAST_END, SHARED_BOUNDS);

DEVICE void hand_over(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x;
    MBarrier *ready = bug == MBARRIER_PAST_END ? &s->ready + 100 : &s->ready;
    if (thread == 0) {
        mbarrier_init(&s->ready, 1, bug == MBARRIER_NO_ARRIVALS ? 0 : THREADS);
        mbarrier_init_fence();
    }
    __syncthreads();
    s->value[thread] = p->in[id];
    mbarrier_arrive(ready);
    LEAVES_OUT(MBARRIER_NO_WAIT, mbarrier_wait_parity(ready, 0));
    p->out[id] = s->value[THREADS - 1 - thread];
}

RIGHT_IN(early_return, RIGHT_EARLY_RETURN); /* the others synchronise without those who have returned */

DEVICE void early_return(Shared *s, const Params *p, int id) {
    p->out[id] = mirrored(p, id);
    if (threadIdx.x < 32) {
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(THREADS) plain_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    p.part(s, &p, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}
KERNEL_ENTRY(plain_kernel, Params);
static __global__ void __launch_bounds__(3 * THREADS, 2) two_on_an_sm(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    p.part(s, &p, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}
KERNEL_ENTRY(two_on_an_sm, Params);

static int run(const Case *c) {
    const int bug = c->bug;
    int *in = case_memory(N * sizeof *in, "in"), *out = case_memory(N * sizeof *out, "out");
    int *counter = case_memory(64, "counter"), *heap = malloc(64);
    for (int i = 0; i < N; i++) {
        in[i] = i * i + 1;
    }
    Params p = {in, out, bug == GLOBAL_HOST ? heap : counter, bug, (Part *)c->more};
    LaunchShape shape = {.grid = GRID, .block = THREADS, .shared_bytes = sizeof(Shared)};
    if (p.part == registers) {
        shape.grid = 2;
        shape.block = 3 * THREADS;
    }
    const int of_two = bug == RIGHT_REGISTERS_OF_TWO || bug == REGISTERS_OF_TWO_SUM;
    int status = of_two ? launch_kernel(KERNEL(two_on_an_sm), shape, &p, NULL, NULL)
                        : launch_kernel(KERNEL(plain_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < shape.grid * shape.block && status == 0; i++) {
        status = out[i] != mirrored(&p, i) && bug != WRITE_READ_BY_OTHERS;
    }
    if (bug == RIGHT_ACTIVE && counter[0] != N) {
        status = 1;
    }
    if (bug == RIGHT_ATOMIC && (counter[0] != N || counter[1] != 2 * N || ((float *)counter)[2] != 0.5f * N)) {
        status = 1;
    }
    free(heap);
    return status;
}
