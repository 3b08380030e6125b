/* kernels_global.c - CTAs that talk through global memory: flags, counters, grid barriers; its proxies; launches
 * that overlap; atomics on shared memory. */
#include "../../common/gemm.h"

#include "../../common/device/global_atomic.h"
#include "../../common/device/grid.h"
#include "../../common/device/launch_control.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/system_flag.h"
#include "../../common/device/tma.h"

#define BUG(name) (p->bug == (name))
#include "cases.h"

#define CASE_LIST "global"

enum { THREADS = 64, GRID = 4, ROUNDS = 3, COLS = 64, ROWS = 8, LAUNCH_THREADS = 32 };

typedef struct {
    bf16 box[ROWS * COLS];
    int bin[16];
    uint4 answer;
    int last, count, value;
    MBarrier full;
} Shared;

typedef struct Params Params;
typedef int Part(Shared *s, const Params *p, int block, int thread); /* 1: right */
struct Params {
    TensorMap map; /* of copy, a box of it for each CTA */
    float *sum;    /* [THREADS] */
    int *part;     /* [CTAs * THREADS] */
    int *out;      /* [CTAs * THREADS] */
    int *word;     /* [CTAs], 16 or more */
    bf16 *copy;    /* [GRID * ROWS][COLS] */
    int launch, bug;
    Part *does;
};

/* sums of all CTAs by atomics; the last CTA to come takes them */
RIGHT_IN(split, RIGHT_SPLIT);         /* relaxed, between fences */
RIGHT_IN(split, RIGHT_SPLIT_ACQ_REL); /* the counter is acq_rel */
WRONG_IN(split, SPLIT_NO_BARRIER, GLOBAL_CONFLICT);
WRONG_IN(split, SPLIT_NO_FENCE, GLOBAL_CONFLICT);
WRONG_IN(split, SPLIT_NO_ACQUIRE, GLOBAL_CONFLICT);
RIGHT_IN(split, RIGHT_SPLIT_RESET); /* who comes last sets the counter to zero by an ordinary store */
WRONG_IN(split, SPLIT_RESET_BY_FIRST, GLOBAL_CONFLICT);
WRONG_IN(split, SPLIT_NO_BARRIER_AFTER, GLOBAL_CONFLICT);
/* neighbours exchange data by flags */
RIGHT_IN(flags, RIGHT_FLAGS);
RIGHT_IN(flags, RIGHT_FLAGS_FENCES);
RIGHT_IN(flags, RIGHT_FLAGS_CHAIN); /* another CTA adds to the flag between */
WRONG_IN(flags, FLAGS_STORE_RELAXED, GLOBAL_CONFLICT);
WRONG_IN(flags, FLAGS_LOAD_RELAXED, GLOBAL_CONFLICT);
WRONG_IN(flags, FLAGS_CHAIN_REPLACED, GLOBAL_CONFLICT); /* ... stores to it */
PART_CASE(flags, FLAGS_5_TIMES, "?GLOBAL_CONFLICT");    /* five tests of the flag, then the read */
PART_CASE(flags, FLAGS_TWICE_BY_CAS, "?GLOBAL_CONFLICT");
/* all CTAs synchronise, again and again */
RIGHT_IN(grid_barrier, RIGHT_GRID_BARRIER);
WRONG_IN(grid_barrier, GRID_BARRIER_ONE_THREAD,
         GLOBAL_CONFLICT);                               /* the others do not wait for the thread that synchronises */
WRONG_IN(grid_barrier, GRID_BARRIER_TOO_MANY, LIVELOCK); /* CTAs for the SMs */
/* each CTA adds to what the previous, or the next, CTA has left */
RIGHT_IN(fixup, RIGHT_FIXUP_UP);
RIGHT_IN(fixup, RIGHT_FIXUP_DOWN);
RIGHT_IN(values, RIGHT_VALUES); /* of max, exchange, CAS */
/* a copy in global memory, then TMA */
RIGHT_IN(proxies, RIGHT_PROXY_WRITERS);
RIGHT_IN(proxies, RIGHT_PROXY_ISSUER);
RIGHT_IN(proxies, RIGHT_PROXY_ALL);
RIGHT_IN(proxies, RIGHT_PROXY_FLAG_WRITERS); /* from the CTA before */
RIGHT_IN(proxies, RIGHT_PROXY_FLAG_ISSUER);
RIGHT_IN(proxies, RIGHT_LOAD_THEN_STORE);
RIGHT_IN(tma_store, RIGHT_TMA_STORE);
RIGHT_IN(tma_store, RIGHT_TMA_STORE_FLAG);
WRONG_IN(proxies, NO_PROXY, PROXY_FENCE);
WRONG_IN(proxies, PROXY_SHARED_ONLY, PROXY_FENCE);
WRONG_IN(proxies, STORE_UNDER_LOAD, GLOBAL_CONFLICT);
WRONG_IN(tma_store, TMA_STORE_READ_ONLY, GLOBAL_CONFLICT); /* waits for the reads of shared memory alone */
WRONG_IN(tma_store, TMA_STORE_OVER_STORES, PROXY_FENCE);
WRONG_IN(tma_store, TMA_STORE_TURN, GLOBAL_CONFLICT); /* CTAs store to one place in turn, and wait for the reads */
RIGHT_IN(tma_store, RIGHT_TMA_ADDS);                  /* of all CTAs to one place */
RIGHT_IN(tma_store, RIGHT_TMA_ADD);                   /* onto what the store has left */
/* atomics on shared memory */
RIGHT_IN(shared_atomics, RIGHT_SHARED_ATOMIC);
RIGHT_IN(shared_fences, RIGHT_SHARED_FENCES); /* the warps synchronise by a counter in shared memory, between fences */
WRONG_IN(shared_fences, SHARED_FENCE_BEFORE, RACE_RAW); /* none after */
WRONG_IN(shared_atomics, SHARED_ATOMIC_NO_SYNC, RACE_RAW);
/* cluster launch control: a CTA takes over those that have not started. beyond/15_pair has the rest */
RIGHT_IN(control, RIGHT_CONTROL);
WRONG_IN(control, READ_WITHOUT_WAIT, RACE_RAW);
WRONG_IN(control, ASKED_AFTER_NO, LAUNCH_CONTROL);
WRONG_IN(control, ANSWER_MISALIGNED, ALIGNMENT);
/* two launches: the second reads what the first writes, and writes what it reads */
RIGHT_CASE(RIGHT_OVERLAP);
RIGHT_CASE(RIGHT_OVERLAP_ONE);   /* one thread waits for the CTA */
RIGHT_CASE(RIGHT_OVERLAP_OTHER); /* what the first does not touch is read before */
RIGHT_CASE(RIGHT_OVERLAP_END);   /* the first does not let the second begin */
WRONG_CASE(OVERLAP_NO_WAIT, LAUNCH_OVERLAP);
WRONG_CASE(OVERLAP_ONE_NO_BARRIER, LAUNCH_OVERLAP);
WRONG_CASE(OVERLAP_WRITES_EARLY, LAUNCH_OVERLAP);
WRONG_CASE(OVERLAP_COUNTS_EARLY, LAUNCH_OVERLAP);

DEVICE int split(Shared *s, const Params *p, int block, int thread) {
    atomicAdd(&p->sum[thread], (float)(thread + block));
    LEAVES_OUT(SPLIT_NO_BARRIER, __syncthreads());
    if (thread == 0) {
        int before;
        if (BUG(RIGHT_SPLIT_ACQ_REL)) {
            before = global_add(acq_rel, p->word, 1);
        } else {
            LEAVES_OUT(SPLIT_NO_FENCE, __threadfence());
            before = atomicAdd(p->word, 1);
            LEAVES_OUT(SPLIT_NO_ACQUIRE, __threadfence());
        }
        s->last = before == GRID - 1;
        if ((BUG(RIGHT_SPLIT_RESET) && before == GRID - 1) || (BUG(SPLIT_RESET_BY_FIRST) && before == 0)) {
            *p->word = 0;
        }
    }
    if (!BUG(SPLIT_NO_BARRIER_AFTER)) {
        __syncthreads();
    } else if (thread != 0) { /* each asks for itself */
        return global_load(relaxed, p->word) == GRID ? p->sum[thread] >= 0 : 1;
    }
    return !s->last || p->sum[thread] == (float)(GRID * thread + GRID * (GRID - 1) / 2);
}

DEVICE int flags(Shared *s, const Params *p, int block, int thread) {
    int other = block ^ 1, fences = BUG(RIGHT_FLAGS_FENCES);
    int chain = BUG(RIGHT_FLAGS_CHAIN) || BUG(FLAGS_CHAIN_REPLACED), by_cas = BUG(FLAGS_TWICE_BY_CAS);
    int most = by_cas ? 2 : BUG(FLAGS_5_TIMES) ? 5 : 1 << 30;
    p->part[block * THREADS + thread] = block + thread;
    __syncthreads();
    if (thread == 0) {
        if (fences || BUG(FLAGS_STORE_RELAXED)) {
            LEAVES_OUT(FLAGS_STORE_RELAXED, __threadfence());
            global_store(relaxed, &p->word[block], 1);
        } else {
            global_store(release, &p->word[block], 1);
        }
        if (chain && block >= 2) { /* CTAs 2 and 3 hand on what 0 and 1 began */
            while (global_load(relaxed, &p->word[block - 2]) == 0) {
            }
            if (BUG(RIGHT_FLAGS_CHAIN)) {
                global_add(relaxed, &p->word[block - 2], 1);
            } else {
                global_store(relaxed, &p->word[block - 2], 2);
            }
        }
        int wanted = chain && block < 2 ? 2 : 1;
        const int *flag = &p->word[other];
        if (fences || BUG(FLAGS_LOAD_RELAXED)) {
            while (global_load(relaxed, flag) < wanted) {
            }
            LEAVES_OUT(FLAGS_LOAD_RELAXED, __threadfence());
        } else {
            while (chain && global_load(relaxed, flag) < wanted) { /* no acquire of what came between */
            }
            for (int i = 0;
                 i < most && (by_cas ? atomicCAS(&p->word[other], 1, 1) : global_load(acquire, flag)) < wanted; i++) {
            }
            ADDS(FLAGS_TWICE_BY_CAS, __threadfence());
        }
    }
    __syncthreads();
    return p->part[other * THREADS + (thread ^ 5)] == other + (thread ^ 5) || most < 6;
}

DEVICE int grid_barrier(Shared *s, const Params *p, int block, int thread) {
    int right = 1, ctas = (int)gridDim.x;
    for (int round = 1; round <= ROUNDS; round++) {
        p->part[block * THREADS + thread] = round * (block + thread);
        __syncthreads();
        if (thread == 0) {
            global_add(release, p->word, 1);
            while (global_load(acquire, p->word) < (2 * round - 1) * ctas) {
            }
        }
        LEAVES_OUT(GRID_BARRIER_ONE_THREAD, __syncthreads());
        int other = (block + 1) % ctas;
        right &=
            p->part[other * THREADS + (thread ^ 9)] == round * (other + (thread ^ 9)) || BUG(GRID_BARRIER_ONE_THREAD);
        /* All have read, before any writes again. */
        __syncthreads();
        if (thread == 0) {
            global_add(release, p->word, 1);
            while (global_load(acquire, p->word) < 2 * round * ctas) {
            }
        }
        __syncthreads();
    }
    return right;
}

DEVICE int fixup(Shared *s, const Params *p, int block, int thread) {
    int ctas = (int)gridDim.x, down = BUG(RIGHT_FIXUP_DOWN), first = down ? ctas - 1 : 0;
    int before = down ? block + 1 : block - 1;
    if (block != first) {
        if (thread == 0) {
            system_flag_wait_acquire(&p->word[before], 1);
        }
        __syncthreads();
        p->part[thread] += block;
    } else {
        p->part[thread] = block;
    }
    __syncthreads();
    if (thread == 0) {
        global_store(release, &p->word[block], 1);
    }
    return block != ctas - 1 - first || p->part[thread] == ctas * (ctas - 1) / 2;
}

DEVICE int values(Shared *s, const Params *p, int block, int thread) {
    int *word = &p->word[block * 4];
    if (thread != 0) {
        return 1;
    }
    int right = atomicMax(word, -3) == 0 && atomicMax(word, 7) == 0 && *word == 7;
    right &= atomicExch(word, -5) == 7 && atomicMax(word, -6) == -5;
    right &= atomicCAS(word, 4, 9) == -5 && atomicCAS(word, -5, 9) == -5 && *word == 9;
    right &= atomicMax((unsigned *)word, 0x80000000u) == 9 && atomicExch(word, 3) == (int)0x80000000u;
    right &= atomicCAS(word, 3, 1) == 3 && atomicAdd((unsigned *)word, 5u) == 1 && global_add(acquire, word, -6) == 6;
    right &= atomicAdd((float *)word + 1, 0.5f) == 0 && atomicAdd((float *)word + 1, 1.0f) == 0.5f;
    return right && *word == 0 && ((float *)word)[1] == 1.5f && atomicExch((float *)word + 1, 0.0f) == 1.5f;
}

/* Thread 0 loads the box of CTA `from`. */
DEVICE int load(Shared *s, const Params *p, int from, int thread) {
    int right = 1;
    if (thread == 0) {
        mbarrier_arrive_expect_tx(&s->full, ROWS * COLS * 2);
        tma_load_2d(s->box, &p->map, 0, from * ROWS, &s->full);
    }
    __syncwarp();
    if (BUG(STORE_UNDER_LOAD) && thread < 32) {
        p->copy[from * ROWS * COLS + thread] = 1;
    }
    mbarrier_wait_parity(&s->full, 0);
    for (int i = thread; i < ROWS * COLS; i += THREADS) {
        right &= s->box[i] == (bf16)(from + i);
    }
    ADDS(RIGHT_LOAD_THEN_STORE, p->copy[from * ROWS * COLS + thread] = 1);
    return right || BUG(STORE_UNDER_LOAD);
}

DEVICE int proxies(Shared *s, const Params *p, int block, int thread) {
    int by_flag = BUG(RIGHT_PROXY_FLAG_WRITERS) || BUG(RIGHT_PROXY_FLAG_ISSUER);
    int from = by_flag ? (block + 1) % GRID : block;
    if (thread == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
    }
    for (int i = thread; i < ROWS * COLS; i += THREADS) {
        p->copy[block * ROWS * COLS + i] = (bf16)(block + i);
    }
    if (BUG(PROXY_SHARED_ONLY)) {
        fence_proxy_async();
    } else if (BUG(RIGHT_PROXY_ALL)) {
        fence_proxy_async_all();
    } else if (!BUG(NO_PROXY) && !BUG(RIGHT_PROXY_ISSUER) && !BUG(RIGHT_PROXY_FLAG_ISSUER)) {
        fence_proxy_async_global();
    }
    __syncthreads();
    if (by_flag && thread == 0) {
        global_store(release, &p->word[block], 1);
        while (global_load(acquire, &p->word[from]) == 0) {
        }
    }
    if ((BUG(RIGHT_PROXY_ISSUER) || BUG(RIGHT_PROXY_FLAG_ISSUER)) && thread == 0) {
        fence_proxy_async_global();
    }
    return load(s, p, from, thread);
}

DEVICE int tma_store(Shared *s, const Params *p, int block, int thread) {
    int by_flag = BUG(RIGHT_TMA_STORE_FLAG), from = by_flag ? (block + 1) % GRID : block, right = 1;
    int adds = BUG(RIGHT_TMA_ADD);
    const int one = 0x3f80, twice = 0x80; /* the bits of 1.0; what twice a number has more */
    for (int i = thread; i < ROWS * COLS; i += THREADS) {
        s->box[i] = (bf16)(one + (BUG(RIGHT_TMA_ADDS) ? 0 : block + i));
        ADDS(TMA_STORE_OVER_STORES, p->copy[block * ROWS * COLS + i] = 0);
    }
    fence_proxy_async();
    __syncthreads();
    if (thread == 0) {
        while (BUG(TMA_STORE_TURN) && block > 0 && global_load(acquire, &p->word[block - 1]) == 0) {
        }
        if (BUG(RIGHT_TMA_ADDS)) {
            tma_reduce_add_2d(&p->map, s->box, 0, 0);
        } else {
            tma_store_2d(&p->map, s->box, 0, BUG(TMA_STORE_TURN) ? 0 : block * ROWS);
        }
        bulk_commit_group();
        if (BUG(RIGHT_TMA_ADD)) {
            bulk_wait_group(0);
            tma_reduce_add_2d(&p->map, s->box, 0, block * ROWS);
            bulk_commit_group();
        }
        if (BUG(TMA_STORE_TURN)) {
            bulk_wait_group_read(0);
            global_store(release, &p->word[block], 1);
        }
        BUG(TMA_STORE_READ_ONLY) ? bulk_wait_group_read(0) : bulk_wait_group(0);
        if (by_flag) {
            global_store(release, &p->word[block], 1);
            while (global_load(acquire, &p->word[from]) == 0) {
            }
        }
    }
    __syncthreads();
    for (int i = thread; i < ROWS * COLS && !BUG(RIGHT_TMA_ADDS); i += THREADS) {
        bf16 want = (bf16)(one + from + i + (adds ? twice : 0));
        right &= p->copy[from * ROWS * COLS + i] == want || BUG(TMA_STORE_READ_ONLY);
    }
    return right;
}

DEVICE int shared_atomics(Shared *s, const Params *p, int block, int thread) {
    if (thread < 16) {
        s->bin[thread] = 0;
    }
    __syncthreads();
    atomicAdd(&s->bin[thread % 16], thread);
    atomicAdd(&s->bin[thread / 16], 1);
    LEAVES_OUT(SHARED_ATOMIC_NO_SYNC, __syncthreads());
    int bin = thread % 16, sum = bin * (THREADS / 16) + 16 * 6 + (bin < THREADS / 16 ? 16 : 0);
    return s->bin[bin] == sum || BUG(SHARED_ATOMIC_NO_SYNC);
}

/* A warp waits for what the other has stored. */
DEVICE int shared_fences(Shared *s, const Params *p, int block, int thread) {
    if (thread == 0) {
        s->count = 0;
    }
    __syncthreads();
    if (thread == 32) {
        s->value = 7;
        __threadfence();
        atomicAdd(&s->count, 1);
    } else if (thread == 0) {
        while (atomicAdd(&s->count, 0) == 0) {
        }
        if (p->bug == RIGHT_SHARED_FENCES) {
            __threadfence();
        }
        return s->value == 7;
    }
    return 1;
}

DEVICE int control(Shared *s, const Params *p, int block, int thread) {
    if (thread != 0) {
        return 1;
    }
    int cta = block, given = 1, last = 2 * (int)gridDim.x;
    mbarrier_init(&s->full, 1, 1);
    mbarrier_init_fence();
    for (int round = 0; given; round++) {
        p->word[cta] += 1 + cta;
        for (int i = 0; i < THREADS && cta != block; i++) {
            p->out[cta * THREADS + i] = 1;
        }
        mbarrier_arrive_expect_tx(&s->full, sizeof s->answer);
        launch_try_cancel_multicast((char *)&s->answer + (BUG(ANSWER_MISALIGNED) ? 8 : 0), &s->full);
        LEAVES_OUT(READ_WITHOUT_WAIT, mbarrier_wait_parity(&s->full, (uint32_t)round & 1));
        given = launch_query_cancel(&s->answer, &cta) || (BUG(ASKED_AFTER_NO) && round < last);
        fence_proxy_async(); /* the next answer overwrites what has been read */
    }
    return p->word[cta] == 1 + cta;
}

static __global__ void __launch_bounds__(THREADS) global_kernel(const __grid_constant__ Params params) {
    SHARED_MEMORY(Shared, s);
    const Params *p = &params;
    int block = (int)blockIdx.x, thread = (int)threadIdx.x;
    p->out[block * THREADS + thread] = p->does(s, p, block, thread);
}
KERNEL_ENTRY(global_kernel, Params);

/* Launch 0 and launch 1 exchange what they read and what they write. */
static __global__ void __launch_bounds__(LAUNCH_THREADS) launch_kernel_pair(const __grid_constant__ Params params) {
    NO_SHARED_MEMORY;
    const Params *p = &params;
    int id = (int)(blockIdx.x * blockDim.x + threadIdx.x), other = 0;
    const int *in = p->launch == 0 ? p->part : p->out;
    int *out = p->launch == 0 ? p->out : p->part;
    ADDS(RIGHT_OVERLAP_OTHER, other = p->word[15]);
    ADDS(OVERLAP_WRITES_EARLY, out[id] = 0);
    if (BUG(OVERLAP_COUNTS_EARLY) && threadIdx.x == 0) {
        global_add(relaxed, p->word, 1);
    }
    if (BUG(RIGHT_OVERLAP_ONE) || BUG(OVERLAP_ONE_NO_BARRIER)) {
        if (threadIdx.x == 0) {
            grid_dependency_wait();
        }
        ADDS(RIGHT_OVERLAP_ONE, __syncthreads());
    } else if (!BUG(OVERLAP_NO_WAIT) && !BUG(RIGHT_OVERLAP_END)) {
        grid_dependency_wait();
    }
    LEAVES_OUT(RIGHT_OVERLAP_END, grid_dependency_launch());
    out[id] = in[id] + 1 + other;
}
KERNEL_ENTRY(launch_kernel_pair, Params);

static int run_pair(const Params *params) {
    Params p = *params;
    int status = 0;
    for (p.launch = 0; p.launch < 2 && status == 0; p.launch++) {
        LaunchShape shape = {.grid = GRID, .block = LAUNCH_THREADS};
        shape.overlap = p.launch == 1;
        status = launch_kernel(KERNEL(launch_kernel_pair), shape, &p, NULL, NULL);
    }
    for (int i = 0; i < GRID * LAUNCH_THREADS && status == 0; i++) {
        status = p.out[i] != 1 || p.part[i] != 2;
    }
    return status;
}

static int run_grid(Part *part, int bug, int ctas) {
    enum { ELEMENTS = GRID * ROWS * COLS };
    size_t all = (size_t)ctas * THREADS;
    Params p;
    memset(&p, 0, sizeof p);
    p.sum = (float *)case_memory(THREADS * sizeof *p.sum, "sum");
    p.part = (int *)case_memory(all * sizeof *p.part, "part");
    p.out = (int *)case_memory(all * sizeof *p.out, "out");
    p.word = (int *)case_memory((size_t)(ctas > 16 ? ctas : 16) * sizeof *p.word, "word");
    p.copy = (bf16 *)case_memory(ELEMENTS * sizeof *p.copy, "copy");
    p.bug = bug;
    p.does = part;
    if (part == NULL) {
        return run_pair(&p);
    }
    if (tensor_map_2d(&p.map, "copy", p.copy, GRID * ROWS, COLS, COLS, ROWS, COLS, SWIZZLE_NONE, NULL) != GEMM_OK) {
        return 3;
    }
    LaunchShape shape = {.grid = ctas, .block = THREADS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(global_kernel), shape, &p, NULL, NULL);
    for (size_t i = 0; i < all && status == 0; i++) {
        status = p.out[i] != 1;
    }
    for (int i = 0; i < ROWS * COLS && status == 0 && bug == RIGHT_TMA_ADDS; i++) {
        status = p.copy[i] != 0x4080; /* 4 */
    }
    return status;
}

static int run_large(Part *part, int bug, int ctas) {
    int status = run_grid(part, bug, ctas);
    case_free();
    return status;
}

int global_grid_barrier(int ctas) { return run_large(grid_barrier, RIGHT_GRID_BARRIER, ctas); }
int global_fixup(int ctas, int down) { return run_large(fixup, down ? (int)RIGHT_FIXUP_DOWN : RIGHT_FIXUP_UP, ctas); }

static int run(const Case *c) {
    Part *part = (Part *)(uintptr_t)c->more;
    return run_grid(part, c->bug, part == control ? 3 * GRID : c->bug == GRID_BARRIER_TOO_MANY ? 2 * GRID : GRID);
}
