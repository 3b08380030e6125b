/* kernels_right.c - kernels that are right but unusual, and next to each one that is wrong. */
#include "../../common/gemm.h"

#include <unistd.h>

#include "../../common/device/global_counter.h"
#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "right"

enum { THREADS = 256, GRID = 4, ROW = 40, COUNTERS = 16 + GRID * 64, BARRIERS = 3000 };

typedef struct {
    int value[THREADS];
    MBarrier row[ROW], many[BARRIERS];
} Shared;

typedef struct Params Params;
typedef int Part(Shared *s, const Params *p); /* 1: right */
struct Params {
    int *out;     /* [GRID * THREADS] */
    int *counter; /* [COUNTERS] */
    int bug;
    int last; /* a bug of the last CTA, besides: the place of faults() */
    Part *part;
};

RIGHT_IN(poll_barriers, RIGHT_POLL_BARRIERS);    /* one thread asks two barriers in turn until both are complete */
RIGHT_IN(poll_barriers, RIGHT_POLL_BARRIER_ROW); /* ... more barriers than anybody remembers */
WRONG_IN(poll_barriers, POLL_BARRIERS_NEVER, LIVELOCK);

/* Thread 0 polls; thread i of the others completes barrier i. */
DEVICE int poll_barriers(Shared *s, const Params *p) {
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
WRONG_IN(poll_counters, POLL_COUNTERS_NEVER, LIVELOCK);

/* The first threads of all CTAs synchronise at two counters. */
DEVICE int poll_counters(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        int ctas = (int)gridDim.x + (p->bug == POLL_COUNTERS_NEVER);
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

DEVICE int poll_shared(Shared *s, const Params *p) {
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
WRONG_IN(copied, MEMCPY_NO_SYNC, RACE_RAW); /* ... reads what another thread stores */
WRONG_IN(copied, STRUCT_NO_SYNC, RACE_RAW); /* ... by what newer compilers than these make of a struct's copy */
WRONG_IN(copied, MEMMOVE_NO_SYNC, RACE_WAR);
WRONG_IN(copied, MEMSET_NO_SYNC, RACE_WAW);
WRONG_IN(copied, MEMCPY_UNSET, UNINIT_SHARED);
FIRST_IN(copied, MEMSET_OUTSIDE, SHARED_BOUNDS);
WRONG_IN(copied, MEMCPY_FROM_OUTSIDE, GLOBAL_BOUNDS);
WRONG_IN(copied, MEMCPY_TO_GLOBAL, GLOBAL_CONFLICT); /* all CTAs, the same words */

void *__tsan_memcpy(void *to, const void *from, size_t size);

/* The first two lanes, 64 values each. The shuffles order the run, and nothing else. */
DEVICE int copied(Shared *s, const Params *p) {
    const int bug = p->bug;
    enum { COUNT = 64, BYTES = COUNT * (int)sizeof(int) };
    int thread = (int)threadIdx.x, right = 1, *mine = &s->value[thread * COUNT];
    int *to = p->counter + 16 + (bug == MEMCPY_TO_GLOBAL ? 0 : (int)blockIdx.x * COUNT);
    if (thread >= 32) {
        return 1;
    }
    if (thread == 1 && bug != MEMSET_NO_SYNC) {
        memcpy(mine, p->counter + (bug == MEMCPY_FROM_OUTSIDE ? 1 << 20 : 0), 16 * sizeof(int));
        memset(mine + 16, 0, BYTES - 16 * sizeof(int));
    } else if (thread < 2 && bug != MEMCPY_UNSET) {
        memset(bug == MEMSET_OUTSIDE ? s->value + 100000 : s->value, 0, BYTES);
    }
    __shfl_sync(0xffffffffu, 0, 0);
    if (bug != MEMCPY_NO_SYNC && bug != STRUCT_NO_SYNC) {
        __syncwarp();
    }
    if (thread == 1 && bug == STRUCT_NO_SYNC) {
        __tsan_memcpy(to, s->value, BYTES);
    } else if (thread == 1) {
        memcpy(to, s->value, bug == MEMCPY_NO_SYNC ? 12 : BYTES);
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

DEVICE int parts(Shared *s, const Params *p) {
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

DEVICE int read_both(Shared *s, const Params *p) {
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
enum { RIGHT_LOOP = __LINE__ }; /* these are for right_end() */
enum { RIGHT_EXIT = __LINE__ };
enum { RIGHT_MANY_BARRIERS = __LINE__ };
enum { RIGHT_FORK = __LINE__ };
enum { RIGHT_LEAVE = __LINE__ };
enum { RIGHT_SLEEP = __LINE__ };
enum { RIGHT_ADDS = __LINE__ };
WRONG_IN(faults, MISALIGNED_VECTOR, ALIGNMENT);
PART_CASE(faults, MISALIGNED_BY_8, UNLESS_OTHER("ALIGNMENT"));
WRONG_IN(faults, MISALIGNED_WORD, ALIGNMENT);
WRONG_IN(faults, MISALIGNED_STORE, ALIGNMENT);

DEVICE int faults(Shared *s, const Params *p) {
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

static __global__ void __launch_bounds__(THREADS) right_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int result = p.part(s, &p);
    if (p.last != 0 && blockIdx.x + 1 == gridDim.x) {
        result = faults(s, &p);
    }
    p.out[blockIdx.x * blockDim.x + threadIdx.x] = result;
}
KERNEL_ENTRY(right_kernel, Params);

static int run(const Case *c) {
    int *out = case_memory(GRID * THREADS * sizeof *out, "out");
    Params p = {out, case_memory(COUNTERS * sizeof(int), "counter"), c->bug, 0, (Part *)c->more};
    LaunchShape shape = {.grid = GRID, .block = THREADS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(right_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < GRID * THREADS && status == 0; i++) {
        status = out[i] != 1;
    }
    return status;
}

int right_end(int way) {
    const int ways[] = {RIGHT_LOOP, RIGHT_EXIT, RIGHT_MANY_BARRIERS, RIGHT_FORK, RIGHT_LEAVE, RIGHT_SLEEP, RIGHT_ADDS};
    return run(&(const Case){.bug = ways[way], .more = faults});
}

int right_grid_barrier(int ctas, int overflow) {
    const int last[] = {0, RECURSION, RECURSION_IN_REGISTERS, LARGE_ARRAY};
    int *out = case_memory((size_t)ctas * 1024 * sizeof *out, "out");
    Params p = {out, case_memory(2 * sizeof(int), "counter"), RIGHT_POLL_COUNTERS, last[overflow], poll_counters};
    LaunchShape shape = {.grid = ctas, .block = 1024, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(right_kernel), shape, &p, NULL, NULL);
    case_free();
    return status;
}
