/* kernels_plain.c - threads, warps, numbered barriers, registers, global memory: everything that is not a tile. Then
 * kernels that are right but unusual, and next to each one that is wrong.
 *
 * Compiled with DWARF 4 (model.mk), which older compilers write: reports must find lines and members in that too. */
#include "../../common/gemm.h"

#include <stdlib.h>
#include <unistd.h>

#include "../../common/device/barrier.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/registers.h"

#include "cases.h"

#define CASE_LIST "plain"

enum { THREADS = 128, GRID = 6, N = THREADS * GRID, ROW = 40, COUNTERS = 16 + GRID * 64, BARRIERS = 3000 };

typedef struct {
    int value[THREADS];
    bf16 box[2][4 * 3 * 8];
    struct {
        uint4 word;
        bf16 pair[2][4];
    } lap[2];
    uint8_t byte[THREADS];
    bf16 half[THREADS];
    MBarrier row[ROW], many[BARRIERS];
} Shared;

typedef struct Params Params;
typedef int Part(Shared *s, const Params *p, int id); /* 1: right */
struct Params {
    int *in, *out; /* [N] */
    int *counter;  /* [COUNTERS] */
    int bug;
    int last; /* a bug of the last CTA, besides: the place of faults() */
    Part *part;
};

/* The element at the other end of the CTA. */
DEVICE int mirrored(const Params *p, int id) { return p->in[id / 128 * 128 + 127 - id % 128]; }

RIGHT_IN(reverse, RIGHT_REVERSE); /* through shared memory */
WRONG_IN(reverse, NO_SYNC, RACE_RAW);
WRONG_IN(reverse, SHARED_PAST_END, SHARED_BOUNDS);
WRONG_IN(reverse, SHARED_BEFORE, SHARED_BOUNDS);
WRONG_IN(reverse, SPIN_GLOBAL, LIVELOCK);

DEVICE int reverse(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x;
    int place = bug == SHARED_PAST_END ? thread + (1 << 28) : bug == SHARED_BEFORE ? thread - 1 : thread;
    s->value[place] = p->in[id];
    LEAVES_OUT(NO_SYNC, __syncthreads());
    int got = s->value[THREADS - 1 - thread];
    while (bug == SPIN_GLOBAL && *(volatile int *)p->counter == 0) {
    }
    return got == mirrored(p, id);
}

RIGHT_IN(bytes, RIGHT_BYTES); /* single bytes and halves of one chunk by different threads */

DEVICE int bytes(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x;
    s->byte[thread] = (uint8_t)thread;
    s->half[thread] = (bf16)(thread * 3);
    __syncthreads();
    int other = thread ^ 1;
    return s->byte[other] == other && s->half[other] == other * 3;
}

RIGHT_IN(warp, RIGHT_SHUFFLE);
WRONG_IN(warp, SHUFFLE_DIVERGED, CONVERGENCE);
RIGHT_IN(warp, RIGHT_TYPES);  /* of values that are shuffled or matched: tests/conform compares the rest with a GPU */
RIGHT_IN(warp, RIGHT_ACTIVE); /* the lanes that happen to be together elect one */
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

DEVICE int warp(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x, lane = thread % 32, right = 1;
    s->value[thread] = 0;
    __syncthreads();
    switch (p->bug) {
    case RIGHT_SHUFFLE:
        right = __shfl_xor_sync(ALL, p->in[id], 31) == p->in[id ^ 31] && warp_uniform(id) == id - lane;
        right &= __popc(__ballot_sync(ALL, elect_one())) == 1;
        break;
    case SHUFFLE_DIVERGED:
        if (lane < 16) {
            right = __shfl_sync(ALL, lane, 0);
        } else {
            right = __shfl_xor_sync(ALL, lane, 31);
        }
        break;
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
    return right;
}

RIGHT_IN(signal, RIGHT_SIGNAL); /* barrier.arrive by one half, barrier.sync by the other */
WRONG_IN(signal, NAMED_ID, NAMED_BARRIER);
WRONG_IN(signal, NAMED_TOO_MANY, NAMED_BARRIER);
WRONG_IN(signal, SIGNAL_MISSING, DEADLOCK);

/* The upper half fills, the lower half reads. */
DEVICE int signal(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, count = bug == NAMED_TOO_MANY ? 256 : 128;
    if (thread >= 64) {
        s->value[thread] = p->in[id - 64];
        s->value[thread - 64] = p->in[id];
        LEAVES_OUT(SIGNAL_MISSING, named_barrier_arrive(bug == NAMED_ID ? 16 : 1, count));
        return 1;
    }
    named_barrier_sync(1, count);
    return s->value[thread ^ 63] == mirrored(p, id) && s->value[(thread ^ 63) + 64] == mirrored(p, id + 64);
}

RIGHT_IN(global, RIGHT_ATOMIC);
WRONG_IN(global, GLOBAL_PAST_END, GLOBAL_BOUNDS);
WRONG_IN(global, GLOBAL_BEFORE, GLOBAL_BOUNDS); /* C, in the same allocation */
WRONG_IN(global, GLOBAL_NULL, GLOBAL_BOUNDS);
WRONG_IN(global, GLOBAL_HOST, GLOBAL_BOUNDS);
WRONG_IN(global, READ_OTHERS_BYTE, GLOBAL_CONFLICT);
WRONG_IN(global, COUNTER_MISALIGNED, ALIGNMENT);

DEVICE int global(Shared *s, const Params *p, int id) {
    switch (p->bug) {
    case GLOBAL_PAST_END: p->out[id + (id == N - 1)] = 1; break;
    case GLOBAL_BEFORE:
        if (id == 0) {
            p->counter[15] = 1;
        }
        break;
    case GLOBAL_NULL: *(volatile int *)(uintptr_t)(id == 9 ? 64 : (uintptr_t)&p->out[id]) = 1; break;
    case GLOBAL_HOST: p->out[id] = *(volatile int *)p->counter; break;
    case READ_OTHERS_BYTE:
        ((uint8_t *)p->out)[id] = 1;
        p->in[id] = ((uint8_t *)p->out)[id ^ 1];
        break;
    case RIGHT_ATOMIC:
        atomicAdd(p->counter, 1);
        atomicAdd((unsigned *)p->counter + 1, 2u);
        atomicAdd((float *)p->counter + 2, 0.5f);
        break;
    case COUNTER_MISALIGNED: global_counter_add((int *)((char *)p->counter + 2), 1); break;
    default: break;
    }
    return 1;
}

RIGHT_IN(registers, RIGHT_REGISTERS_OF_TWO); /* CTAs on an SM, which leave a thread 80 */
WRONG_IN(registers, REGISTERS_SUM, SETMAXNREG);
WRONG_IN(registers, REGISTERS_OF_TWO_SUM, SETMAXNREG);
FIRST_IN(registers, REGISTERS_POLLED, LIVELOCK); /* who would give some back polls before, and nobody answers */
WRONG_IN(registers, REGISTERS_COUNT, SETMAXNREG);
WRONG_IN(registers, REGISTERS_DIRECTION, SETMAXNREG);
WRONG_IN(registers, REGISTERS_ONE_WARP, CONVERGENCE);
WRONG_IN(registers, REGISTERS_DIFFER, CONVERGENCE);

DEVICE int registers(Shared *s, const Params *p, int id) {
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
    default: setmaxnreg_dec(warp == 1 ? 48 : 40); /* REGISTERS_DIFFER */
    }
    return 1;
}

/* ---- right but unusual ------------------------------------------------------------------------------------------- */

#undef CASE_LIST
#define CASE_LIST "right"

RIGHT_IN(poll_barriers, RIGHT_POLL_BARRIERS);    /* one thread asks two barriers in turn until both are complete */
RIGHT_IN(poll_barriers, RIGHT_POLL_BARRIER_ROW); /* ... more barriers than anybody remembers */
WRONG_IN(poll_barriers, POLL_BARRIERS_NEVER, LIVELOCK);

/* Thread 0 polls; thread i of the others completes barrier i. */
DEVICE int poll_barriers(Shared *s, const Params *p, int id) {
    int count = p->bug == RIGHT_POLL_BARRIER_ROW ? ROW : 2;
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

RIGHT_IN(poll_counters, RIGHT_POLL_COUNTERS);  /* ... two counters */
RIGHT_IN(poll_counters, RIGHT_POLL_AND_COUNT); /* ... and counts its turns where others see it */

/* The first threads of all CTAs synchronise at two counters. */
DEVICE int poll_counters(Shared *s, const Params *p, int id) {
    if (threadIdx.x == 0) {
        int ctas = (int)gridDim.x;
        global_counter_add(p->counter, 1);
        global_counter_add(p->counter + 1, 1);
        for (int reached = 0; reached < 2;) {
            reached = global_counter_read(p->counter) >= ctas;
            reached += global_counter_read(p->counter + 1) >= ctas;
            if (p->bug == RIGHT_POLL_AND_COUNT) {
                global_counter_add(p->counter + 2, 1);
            }
        }
    }
    return 1;
}

RIGHT_IN(poll_shared, RIGHT_POLL_SHARED); /* warps synchronise at a counter in shared memory */
RIGHT_IN(poll_shared, RIGHT_POLL_SHARED_CAS);
RIGHT_IN(poll_shared, RIGHT_LOCK_SHARED); /* ... take a lock there in turn */
WRONG_IN(poll_shared, POLL_SHARED_NEVER, LIVELOCK);

DEVICE int poll_shared(Shared *s, const Params *p, int id) {
    int *count = &s->value[0], *lock = &s->value[1], warps = (int)blockDim.x / 32;
    if (threadIdx.x < 2) {
        s->value[threadIdx.x] = 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        if (p->bug == RIGHT_LOCK_SHARED) {
            while (atomicExch(lock, 1) != 0) {
            }
            __nanosleep(10);
            atomicAdd(count, 1);
            atomicExch(lock, 0);
        } else {
            atomicAdd(count, 1);
        }
        if (p->bug == RIGHT_POLL_SHARED_CAS) {
            while (atomicCAS(count, warps, warps) != warps) {
            }
        } else {
            while (atomicAdd(count, 0) < warps + (p->bug == POLL_SHARED_NEVER)) {
            }
        }
    }
    __syncthreads();
    return s->value[0] == warps;
}

RIGHT_IN(copied, RIGHT_COPIED);             /* memset(), memcpy() and memmove() of shared and global memory */
WRONG_IN(copied, STRUCT_NO_SYNC, RACE_RAW); /* ... by what newer compilers than these make of a struct's copy */
WRONG_IN(copied, MEMMOVE_NO_SYNC, RACE_WAR);
FIRST_IN(copied, MEMSET_OUTSIDE, SHARED_BOUNDS);

void *__tsan_memcpy(void *to, const void *from, size_t size);

/* The first two lanes, 64 values each. The shuffles order the run, and nothing else. */
DEVICE int copied(Shared *s, const Params *p, int id) {
    const int bug = p->bug;
    enum { COUNT = 64, BYTES = COUNT * (int)sizeof(int) };
    int thread = (int)threadIdx.x, right = 1, *mine = &s->value[thread * COUNT];
    int *to = p->counter + 16 + (int)blockIdx.x * COUNT;
    if (thread >= 32) {
        return 1;
    }
    if (thread == 1) {
        memcpy(mine, p->counter, 16 * sizeof(int));
        memset(mine + 16, 0, BYTES - 16 * sizeof(int));
    } else if (thread == 0) {
        memset(bug == MEMSET_OUTSIDE ? s->value + 100000 : s->value, 0, BYTES);
    }
    __shfl_sync(0xffffffffu, 0, 0);
    LEAVES_OUT(STRUCT_NO_SYNC, __syncwarp());
    if (thread == 1 && bug == STRUCT_NO_SYNC) {
        __tsan_memcpy(to, s->value, BYTES);
    } else if (thread == 1) {
        memcpy(to, s->value, BYTES);
        for (int i = 0; i < 3; i++) {
            right &= to[i] == s->value[i];
        }
    }
    __shfl_sync(0xffffffffu, 0, 0);
    if (thread == 0 && bug == MEMMOVE_NO_SYNC) {
        memmove(s->value + 1, s->value, BYTES);
    }
    return right;
}

RIGHT_IN(parts, RIGHT_PARTS); /* halves of a warp synchronise on their own, quarters too */
WRONG_IN(parts, PARTS_OVERLAP, CONVERGENCE);
WRONG_IN(parts, PART_ABSENT, CONVERGENCE);
WRONG_IN(parts, PART_WITHOUT_ITSELF, CONVERGENCE);
WRONG_IN(parts, PART_READS_OUTSIDE, CONVERGENCE);

DEVICE int parts(Shared *s, const Params *p, int id) {
    int thread = (int)threadIdx.x, lane = thread % 32, half = lane / 16, sum = lane, quarter = lane;
    uint32_t halves = 0xffffu << 16 * half;
    if (p->bug == PARTS_OVERLAP && half == 0) {
        halves = 0x1ffffu;
    }
    if (p->bug == PART_ABSENT && lane == 3) {
        return 1;
    }
    if (p->bug == PART_WITHOUT_ITSELF && lane == 20) {
        halves = 0xffffu;
    }
    if (p->bug == PART_READS_OUTSIDE) {
        sum = __shfl_sync(halves, sum, 16);
    }
    if (half == 0) {
        for (int step = 8; step > 0; step /= 2) {
            sum += __shfl_xor_sync(halves, sum, step);
        }
    } else {
        for (int step = 1; step < 16; step *= 2) {
            sum += __shfl_xor_sync(halves, sum, step);
        }
    }
    for (int step = 1; step < 8; step *= 2) {
        quarter += __shfl_xor_sync(0xffu << lane / 8 * 8, quarter, step);
    }
    s->value[thread] = sum;
    if (lane < 8) {
        __syncwarp(0xffu);
        sum = s->value[thread ^ 7];
    } else {
        __syncwarp(0xffffff00u);
        sum = s->value[thread ^ 1];
    }
    return sum == (half == 0 ? 120 : 376) && quarter == 28 + 64 * (lane / 8);
}

RIGHT_IN(read_both, RIGHT_READ_BOTH); /* ordinary and atomic loads of what nobody writes */
WRONG_IN(read_both, READ_THEN_ATOMIC, GLOBAL_CONFLICT);
WRONG_IN(read_both, WRITE_AND_ATOMIC_READ, GLOBAL_CONFLICT);

DEVICE int read_both(Shared *s, const Params *p, int id) {
    int first = blockIdx.x == 0 && threadIdx.x == 0, right = 1;
    switch (p->bug) {
    case READ_THEN_ATOMIC:
        if (threadIdx.x == 64) {
            global_counter_add(p->counter, 1);
        } else {
            right = *(volatile int *)p->counter >= 0;
        }
        break;
    case WRITE_AND_ATOMIC_READ:
        if (first) {
            *(volatile int *)p->counter = 1;
        } else {
            right = global_counter_read(p->counter) >= 0;
        }
        break;
    default:
        if (first) {
            global_counter_set(p->counter + 1, 1);
        }
        right = threadIdx.x % 2 ? global_counter_read(p->counter) == 0 : *(volatile int *)p->counter == 0;
    }
    return right;
}

static __attribute__((noinline)) int deeper(volatile int *from, int depth) {
    volatile int local[64];
    local[depth % 64] = from[depth % 64];
    return depth < 1 << 20 ? deeper(local, depth + 1) + local[depth % 64] : 0;
}

static __attribute__((noinline)) int deeper_in_registers(volatile int *from, int depth) {
    int here = from[depth % 64];
    return depth < 10000 ? deeper_in_registers(from, depth + 1) * 3 + here : 0;
}

static __attribute__((noinline)) int large(int i) {
    volatile uint8_t local[100000];
    __asm__ volatile("" ::"r"(local)); /* all of it is wanted: clang keeps one byte else */
    local[i] = 1;
    return local[i];
}

static __attribute__((noinline)) int far(int i) {
    volatile int local[8];
    volatile long long away = (long long)i << 33;
    local[i % 8] = i;
    return local[-away];
}

/* As if an array had been written past its end. */
static __attribute__((noinline)) int damaged(void) {
    ((volatile uint64_t *)__builtin_frame_address(0))[1] = 0xdeadbeefdeadbeef;
    return 0;
}

typedef struct {
    uint64_t low, high;
} TwoWords;

RIGHT_IN(faults, RIGHT_TWO_WORDS); /* 16 bytes as a struct of two words, at a multiple of 8 */
#ifdef __x86_64__
#define UNLESS_OTHER(rule) rule
#else
#define UNLESS_OTHER(rule) "# this processor does not stop at it"
#endif
PART_CASE(faults, DIVIDE_BY_ZERO, UNLESS_OTHER("FAULT"));
WRONG_IN(faults, RECURSION, FAULT);
WRONG_IN(faults, RECURSION_IN_REGISTERS, FAULT); /* without local variables in memory */
PART_CASE(faults, LARGE_ARRAY, UNLESS_OTHER("FAULT"));
PART_CASE(faults, LOCAL_INDEX,
          UNLESS_CLANG("FAULT", "shows this access, which is named before the processor stops at it"));
WRONG_IN(faults, DAMAGED_STACK, FAULT);
WRONG_IN(faults, ABORT, FAULT);
/* For right_end(). */
enum { RIGHT_LOOP = 1 << 20, RIGHT_EXIT, RIGHT_MANY_BARRIERS, RIGHT_FORK, RIGHT_LEAVE, RIGHT_SLEEP, RIGHT_ADDS };
WRONG_IN(faults, MISALIGNED_VECTOR, ALIGNMENT);
PART_CASE(faults, MISALIGNED_BY_8, UNLESS_OTHER("ALIGNMENT"));
WRONG_IN(faults, MISALIGNED_WORD, ALIGNMENT);
WRONG_IN(faults, MISALIGNED_STORE, ALIGNMENT);

DEVICE int faults(Shared *s, const Params *p, int id) {
    static volatile int zero;
    volatile int many[64] = {0};
    int thread = (int)threadIdx.x;
    char *bytes = (char *)p->counter;
    if (thread != 37) {
        return 1;
    }
    switch (p->last != 0 ? p->last : p->bug) {
    case DIVIDE_BY_ZERO: return 5 / zero;
    case RECURSION: return deeper(many, 0);
    case RECURSION_IN_REGISTERS: return deeper_in_registers(many, 0);
    case LARGE_ARRAY: return large(thread);
    case LOCAL_INDEX: return far(thread);
    case DAMAGED_STACK: return damaged();
    case ABORT: abort();
    case RIGHT_LOOP:
        for (unsigned i = 1; zero == 0 && i != 0; i += 2) {
        }
        return 1;
    case RIGHT_EXIT: exit(0);
    case RIGHT_FORK: return fork() < 0;
    case RIGHT_LEAVE: _exit(0);
    case RIGHT_SLEEP:
        for (;;) {
            __nanosleep(100);
        }
    case RIGHT_ADDS:
        for (;;) {
            atomicAdd(p->counter, 1);
        }
    case RIGHT_MANY_BARRIERS: mbarrier_init(s->many, BARRIERS, 1); return 1;
    case MISALIGNED_VECTOR: *(uint4 *)(s->value + 4) = *(const uint4 *)(bytes + 4); return 1;
    case MISALIGNED_BY_8: *(uint4 *)(s->value + 4) = *(const uint4 *)(bytes + 8); return 1;
    case MISALIGNED_WORD: return *(volatile int *)((char *)s->value + 2);
    case MISALIGNED_STORE: *(volatile uint64_t *)((char *)s->value + 4) = 1; return 1;
    default: {
        TwoWords *words = (TwoWords *)(void *)(s->value + 2);
        words[1] = (TwoWords){1, 2};
        TwoWords copy = words[1];
        return copy.low == 1 && copy.high == 2;
    }
    }
}

DEVICE void whole(Shared *s, const Params *p) {
    int id = (int)(blockIdx.x * blockDim.x + threadIdx.x), result = p->part(s, p, id);
    if (p->last != 0 && blockIdx.x + 1 == gridDim.x) {
        result = faults(s, p, id);
    }
    p->out[id] = result;
}

static __global__ void __launch_bounds__(THREADS) plain_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    whole(s, &p);
}
KERNEL_ENTRY(plain_kernel, Params);
static __global__ void __launch_bounds__(3 * THREADS, 2) two_on_an_sm(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    whole(s, &p);
}
KERNEL_ENTRY(two_on_an_sm, Params);

static int run(const Case *c) {
    const int bug = c->bug;
    int *in = case_memory(N * sizeof *in, "in"), *out = case_memory(N * sizeof *out, "out");
    int *counter = case_memory(COUNTERS * sizeof(int), "counter"), *heap = malloc(64);
    for (int i = 0; i < N; i++) {
        in[i] = i * i + 1;
    }
    Params p = {in, out, bug == GLOBAL_HOST ? heap : counter, bug, 0, (Part *)c->more};
    if (bug == GLOBAL_BEFORE) {
        model_describe_rows(counter + 16, "C", 0, GRID, 64, sizeof(int));
    }
    /* Of what polls, all CTAs run at once. */
    LaunchShape shape = {
        .grid = bug >= RIGHT_POLL_BARRIERS ? 4 : GRID, .block = THREADS, .shared_bytes = sizeof(Shared)};
    if (p.part == registers) {
        shape.grid = 2;
        shape.block = 3 * THREADS;
    }
    const int of_two = bug == RIGHT_REGISTERS_OF_TWO || bug == REGISTERS_OF_TWO_SUM;
    int status = of_two ? launch_kernel(KERNEL(two_on_an_sm), shape, &p, NULL, NULL)
                        : launch_kernel(KERNEL(plain_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < shape.grid * shape.block && status == 0; i++) {
        status = out[i] != 1;
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

int right_end(int way) { return run(&(const Case){.bug = RIGHT_LOOP + way, .more = faults}); }

int right_grid_barrier(int ctas, int overflow) {
    const int last[] = {0, RECURSION, RECURSION_IN_REGISTERS, LARGE_ARRAY};
    int *out = case_memory((size_t)ctas * 1024 * sizeof *out, "out");
    Params p = {NULL, out, case_memory(2 * sizeof(int), "counter"), RIGHT_POLL_COUNTERS, last[overflow], poll_counters};
    LaunchShape shape = {.grid = ctas, .block = 1024, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(plain_kernel), shape, &p, NULL, NULL);
    case_free();
    return status;
}
