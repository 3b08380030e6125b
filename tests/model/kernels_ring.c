/* kernels_ring.c - a producer, two consumer warpgroups and a ring of stages: TMA loads and wgmma. The ways in which
 * right kernels wait, arrive, announce and take turns, and what must be named whatever the schedule. */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/cp_async.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

#include "cases.h"

#define CASE_LIST "roles"

/* Two consumer warpgroups, then two producer warps. A consumer multiplies 64 rows of A by B. */
enum { BM = 64, BN = 64, BK = 64, CONSUMERS = 2, PRODUCER = 128 * CONSUMERS, THREADS = PRODUCER + 64 };
enum { STAGES = 3, K_TILES = 8, STEPS = BK / 16, A_BYTES = CONSUMERS * BM * BK * 2, B_BYTES = BN * BK * 2 };
enum { BYTES = A_BYTES + B_BYTES };

/* the producer */
RIGHT_CASE(RIGHT_EXPECT_BY_OTHER); /* another thread announces B, before a __syncwarp() and the arrival */
RIGHT_CASE(RIGHT_LOADS_FIRST);     /* loads, then arrive.expect_tx */
RIGHT_CASE(RIGHT_FIRST_LAP_FREE);  /* it asks for no stage in the first lap */
RIGHT_CASE(RIGHT_B_BY_CP_ASYNC);   /* all 64 threads copy B, fence and arrive; one of them loads A */
RIGHT_CASE(RIGHT_REFILL_NAMED);    /* no producer: the consumers synchronise at a named barrier, one of them loads */
/* the consumers' waits */
RIGHT_CASE(RIGHT_ASKS_AHEAD);  /* test_wait for the next k-tile, and a wait all the same */
RIGHT_CASE(RIGHT_WAITS_TWICE); /* for the same phase, and arrives at another barrier between */
RIGHT_CASE(RIGHT_HANDED_ON); /* a producer warp waits and arrives at a numbered barrier, at which the consumers sync */
RIGHT_CASE(RIGHT_LATE_RELEASE); /* wait_group(2), two k-tiles late */
/* their products */
RIGHT_CASE(RIGHT_STEP_GROUPS);  /* a group for each k16 step; the wait leaves a k-tile's */
RIGHT_CASE(RIGHT_FENCE_ONCE);   /* before the main loop */
RIGHT_CASE(RIGHT_TWO_SETS);     /* of accumulators, in turn; one is read while the products on the other go on */
RIGHT_CASE(RIGHT_FRAGMENTS);    /* A from registers, two sets in turn */
RIGHT_CASE(RIGHT_LOADED_AHEAD); /* ... the next set is loaded between the fence and the products on this one */
/* phases without bytes */
RIGHT_CASE(RIGHT_OWN_ARRIVAL);                 /* a thread arrives for phase 0, and waits for phase 1 */
RIGHT_CASE(RIGHT_KNOWN_ARRIVAL);               /* a thread that knows of that arrival waits for phase 1 */
WRONG_CASE(ONE_WARP_WAITS_AGAIN, CONVERGENCE); /* at its end */
LOCAL_CASE(FRAGMENT_BEHIND_FENCE, WGMMA_FENCE);

#undef CASE_LIST
#define CASE_LIST "ring"

RIGHT_CASE(RIGHT);
RIGHT_CASE(RIGHT_NO_INIT_FENCE); /* in one CTA __syncthreads() publishes the barriers, to the copy engine too */
WRONG_CASE(EMPTY_PARITY, DEADLOCK);
WRONG_CASE(NO_EXPECT, RACE_RAW);
WRONG_CASE(EXPECT_HALF, TX_COUNT);
WRONG_CASE(EXPECT_DOUBLE, DEADLOCK);
WRONG_CASE(FULL_COUNT_128, DEADLOCK);
WRONG_CASE(ALL_ARRIVE, ARRIVE_OVERFLOW);
WRONG_CASE(NO_FULL_WAIT, ARRIVE_OVERFLOW);
WRONG_CASE(BOX_TOO_LARGE, RACE_WAW);
WRONG_CASE(RELEASE_EARLY, RACE_WAR);
WRONG_CASE(NO_INIT, BARRIER_UNINIT);
WRONG_CASE(REINIT, BARRIER_REINIT); /* by two warps */
WRONG_CASE(STORE_OVER_BARRIER, BARRIER_OVERWRITTEN);
WRONG_CASE(LOAD_OVER_BARRIER, SHARED_BOUNDS);
WRONG_CASE(EXPECT_TOO_LARGE, TX_RANGE);
WRONG_CASE(NO_COMMIT, WGMMA_COMMIT);
LOCAL_CASE(STORE_IN_FLIGHT, WGMMA_IN_FLIGHT);
WRONG_CASE(LANES_DIFFER, WGMMA_OPERANDS);
WRONG_CASE(WRONG_STRIDE, PROVENANCE);
WRONG_CASE(DESCRIPTOR_OUTSIDE, WGMMA_DESCRIPTOR);
WRONG_CASE(DESCRIPTOR_BITS, WGMMA_DESCRIPTOR);
WRONG_CASE(OTHER_ROWS, PROVENANCE);
CASE_OF(run, SAME_K_STEP, SUMS_WRONG, NULL); /* neither descriptor advances */
CASE_OF(run, SAME_K_TILE, SUMS_WRONG, NULL); /* nor do the coordinates of either copy */
WRONG_CASE(LOCAL_MAP, TMA_OPERAND);
WRONG_CASE(READ_BARRIER, BARRIER_OVERWRITTEN);
WRONG_CASE(PARITY_IS_LAP, PHASE_PARITY);
WRONG_CASE(LOAD_MISALIGNED, ALIGNMENT);
WRONG_CASE(LOAD_BAD_MAP, TMA_OPERAND);
WRONG_CASE(BARRIER_MISALIGNED, ALIGNMENT);
WRONG_CASE(ONE_WARP_MISSES_FENCE, WGMMA_FENCE);
WRONG_CASE(ONE_WARP_MULTIPLIES, DEADLOCK);
WRONG_CASE(ONE_WARP_RETURNS, CONVERGENCE);

typedef struct {
    bf16 a[STAGES][CONSUMERS * BM * BK]; /* 128-byte swizzle */
    bf16 b[STAGES][BN * BK];
    MBarrier full[STAGES], empty[STAGES], extra;
} Shared;

typedef struct {
    TensorMap map_a, map_b;
    const bf16 *b;
    float *out; /* [CONSUMERS][BM][BN] */
    int bug, zero;
} Params;

DEVICE int from_registers(int bug) {
    return bug == RIGHT_FRAGMENTS || bug == RIGHT_LOADED_AHEAD || bug == FRAGMENT_BEHIND_FENCE;
}

/* ---- the producer ------------------------------------------------------------------------------------------------ */

DEVICE int announced(int bug) {
    switch (bug) {
    case RIGHT_EXPECT_BY_OTHER:
    case RIGHT_B_BY_CP_ASYNC: return A_BYTES;
    case EXPECT_HALF: return BYTES / 2;
    case EXPECT_DOUBLE: return 2 * BYTES;
    case BOX_TOO_LARGE: return BYTES + A_BYTES;
    case EXPECT_TOO_LARGE: return 1 << 20;
    default: return BYTES;
    }
}

/* One thread. */
DEVICE void load(Shared *s, const Params *p, int k_tile) {
    const int bug = p->bug, stage = k_tile % STAGES, k = bug == SAME_K_TILE ? 0 : k_tile * BK;
    MBarrier *full = &s->full[stage], *bar = bug == BARRIER_MISALIGNED ? (MBarrier *)((char *)full + 4) : full;
    TensorMap local = p->map_a;
    const TensorMap *map_a = bug == LOCAL_MAP      ? &local
                             : bug == LOAD_BAD_MAP ? (const TensorMap *)((const char *)&p->map_a + 16)
                                                   : &p->map_a;
    if (bug == NO_EXPECT) {
        mbarrier_arrive(full);
    } else if (bug != RIGHT_LOADS_FIRST) {
        mbarrier_arrive_expect_tx(full, announced(bug));
    }
    bf16 *b = bug == LOAD_OVER_BARRIER ? (bf16 *)((uintptr_t)s->full / 1024 * 1024) : s->b[stage];
    tma_load_2d(s->a[stage] + (bug == LOAD_MISALIGNED ? 8 : 0), map_a, k, 0, bar);
    if (bug != RIGHT_B_BY_CP_ASYNC) {
        tma_load_2d(b, &p->map_b, k, 0, bar);
    }
    ADDS(RIGHT_LOADS_FIRST, mbarrier_arrive_expect_tx(full, BYTES));
}

DEVICE void wait_empty(Shared *s, const Params *p, int k_tile) {
    int lap = k_tile / STAGES;
    if (p->bug != RIGHT_FIRST_LAP_FREE || lap > 0) {
        mbarrier_wait_parity(&s->empty[k_tile % STAGES], (uint32_t)(lap & 1) ^ (p->bug != EMPTY_PARITY));
    }
}

/* The two producer warps. */
DEVICE void produce(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x - PRODUCER, k_tile = 0;
    int two = bug == RIGHT_EXPECT_BY_OTHER;
    if (thread >= 32 && bug == RIGHT_HANDED_ON) {
        for (; k_tile < K_TILES; k_tile++) {
            int stage = k_tile % STAGES;
            mbarrier_wait_parity(&s->full[stage], (uint32_t)(k_tile / STAGES) & 1);
            named_barrier_arrive(3 + stage, 128 * CONSUMERS + 32);
        }
    } else if (bug == RIGHT_B_BY_CP_ASYNC) {
        for (; k_tile < K_TILES; k_tile++) {
            int stage = k_tile % STAGES;
            wait_empty(s, p, k_tile);
            for (int row = thread / 8; row < BN; row += 8) {
                cp_async_16(&s->b[stage][swizzled_index(row, thread % 8)],
                            p->b + row * K_TILES * BK + k_tile * BK + thread % 8 * 8);
            }
            if (thread == 0) {
                load(s, p, k_tile);
            }
            cp_async_commit_group();
            cp_async_wait_group(0);
            fence_proxy_async();
            mbarrier_arrive(&s->full[stage]);
        }
    } else if (thread == 0 || (two && thread == 1)) {
        for (; k_tile < K_TILES; k_tile++) {
            wait_empty(s, p, k_tile);
            if (two && thread == 1) {
                mbarrier_expect_tx(&s->full[k_tile % STAGES], B_BYTES);
            }
            ADDS(RIGHT_EXPECT_BY_OTHER, __syncwarp(3));
            if (thread == 0) {
                load(s, p, k_tile);
            }
        }
        for (int i = 0; i < STAGES; i++) {
            wait_empty(s, p, k_tile + i);
        }
    }
}

/* ---- the consumers ----------------------------------------------------------------------------------------------- */

DEVICE void wait_full(Shared *s, const Params *p, int k_tile) {
    const int bug = p->bug, stage = k_tile % STAGES;
    int consumer = (int)threadIdx.x / 128, thread = (int)threadIdx.x % 128;
    uint32_t parity = (uint32_t)(k_tile / STAGES) & 1;
    MBarrier *full = &s->full[stage];
    switch (bug) {
    case ONE_WARP_MULTIPLIES:
        if (thread == 0) {
            mbarrier_wait_parity(full, parity);
        }
        named_barrier_sync(1 + consumer, 128);
        break;
    case RIGHT_HANDED_ON: named_barrier_sync(3 + stage, 128 * CONSUMERS + 32); break;
    case NO_FULL_WAIT: break;
    case PARITY_IS_LAP: mbarrier_wait_parity(full, (uint32_t)(k_tile / STAGES)); break;
    default: mbarrier_wait_parity(full, parity);
    }
    if (bug == RIGHT_WAITS_TWICE) {
        mbarrier_arrive(&s->extra);
        mbarrier_wait_parity(full, parity);
        mbarrier_wait_parity(&s->extra, (uint32_t)k_tile & 1);
    }
    if (bug == READ_BARRIER && thread == 3) {
        p->out[0] = (float)*(volatile uint64_t *)&full->state;
    }
}

DEVICE void load_fragments(Shared *s, const Params *p, uint32_t fragment[STEPS][4], int k_tile) {
    int row = (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 16, half = (int)threadIdx.x % 32 / 16;
    for (int step = 0; step < STEPS; step++) {
        ldmatrix_x4(fragment[step], &s->a[k_tile % STAGES][swizzled_index(row, 2 * step + half)]);
    }
    /* ldmatrix has read the stage through the generic proxy. */
    fence_proxy_async();
}

DEVICE void multiply(Shared *s, const Params *p, float *acc, uint32_t fragment[2][STEPS][4], int k_tile, int first) {
    const int bug = p->bug, stage = k_tile % STAGES;
    int consumer = (int)threadIdx.x / 128, warp = (int)threadIdx.x / 32 % 4, set = k_tile % 2;
    const bf16 *tile = &s->a[stage][consumer * BM * BK];
    uint64_t a = bug == WRONG_STRIDE ? wgmma_descriptor_fields(shared_address(tile), 16, 2048, WGMMA_SWIZZLE_128B)
                                     : wgmma_descriptor(tile);
    uint64_t b = wgmma_descriptor(s->b[stage]);
    ADDS(DESCRIPTOR_OUTSIDE, a += 3 << 12);
    ADDS(DESCRIPTOR_BITS, b |= (uint64_t)1 << 46);
    a += bug == OTHER_ROWS && k_tile > 0 ? 512 / 16 * 2 : 0;
    a += bug == LANES_DIFFER && threadIdx.x % 32 == 7 ? WGMMA_K16_STEP : 0;
    if (from_registers(bug)) {
        if (bug != RIGHT_LOADED_AHEAD || k_tile == 0) {
            load_fragments(s, p, fragment[set], k_tile);
        }
    }
    if ((bug != RIGHT_FENCE_ONCE || first) && (bug != ONE_WARP_MISSES_FENCE || warp != 3)) {
        wgmma_fence();
    }
    if (bug == ONE_WARP_MULTIPLIES && warp != 1) {
        return;
    }
    if (bug == RIGHT_LOADED_AHEAD && k_tile + 1 < K_TILES) {
        wait_full(s, p, k_tile + 1);
        load_fragments(s, p, fragment[1 - set], k_tile + 1);
    }
    ADDS(FRAGMENT_BEHIND_FENCE, fragment[set][1][2] += (uint32_t)p->zero);
    for (int step = 0; step < STEPS; step++) {
        int k16 = bug == SAME_K_STEP ? 0 : step * WGMMA_K16_STEP;
        if (from_registers(bug)) {
            wgmma_rs(64, acc, fragment[set][step], b + k16, !first || step > 0);
        } else {
            wgmma_ss(64, acc, a + k16, b + k16, !first || step > 0);
        }
        if (bug == RIGHT_STEP_GROUPS && step < STEPS - 1) {
            wgmma_commit_group();
        }
    }
    LEAVES_OUT(NO_COMMIT, wgmma_commit_group());
    ADDS(STORE_IN_FLIGHT, acc[3] = 0);
}

DEVICE void release(Shared *s, const Params *p, int k_tile) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x % 128;
    if (k_tile < 0) {
        return;
    }
    if (from_registers(bug)) {
        named_barrier_sync(1 + (int)threadIdx.x / 128, 128);
    }
    if (thread == 0 || bug == ALL_ARRIVE) {
        mbarrier_arrive(&s->empty[k_tile % STAGES]);
    }
}

/* All consumers synchronise, and one of their threads fills the stage of k-tile `k_tile`. */
DEVICE void refill(Shared *s, const Params *p, int k_tile) {
    named_barrier_sync(15, 128 * CONSUMERS);
    if (threadIdx.x == 128) {
        load(s, p, k_tile);
    }
}

DEVICE void consume(Shared *s, const Params *p) {
    const int bug = p->bug;
    int consumer = (int)threadIdx.x / 128, thread = (int)threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    int none = bug == RIGHT_LOADED_AHEAD || bug == RELEASE_EARLY;
    int late = bug == RIGHT_LATE_RELEASE ? 2 : !none; /* k-tiles in flight */
    float acc[2][BN / 2];
    uint32_t fragment[2][STEPS][4];
    for (int k_tile = 0; k_tile < STAGES && bug == RIGHT_REFILL_NAMED && threadIdx.x == 128; k_tile++) {
        load(s, p, k_tile);
    }
    for (int k_tile = 0; k_tile < K_TILES; k_tile++) {
        int set = bug == RIGHT_TWO_SETS ? k_tile % 2 : 0;
        if (bug != RIGHT_LOADED_AHEAD || k_tile == 0) {
            wait_full(s, p, k_tile);
        }
        if (bug == ONE_WARP_RETURNS && k_tile == 1 && warp == 3) {
            return;
        }
        multiply(s, p, acc[set], fragment, k_tile, k_tile < (bug == RIGHT_TWO_SETS ? 2 : 1));
        if (bug == RIGHT_ASKS_AHEAD && k_tile + 1 < K_TILES) {
            mbarrier_test_wait_parity(&s->full[(k_tile + 1) % STAGES], (uint32_t)((k_tile + 1) / STAGES) & 1);
        }
        wgmma_wait_group(bug == RIGHT_STEP_GROUPS ? STEPS : bug == RELEASE_EARLY ? 1 : late);
        if (bug != RIGHT_REFILL_NAMED) {
            release(s, p, k_tile - late);
        } else if (k_tile > 0 && k_tile - 1 + STAGES < K_TILES) {
            refill(s, p, k_tile - 1 + STAGES);
        }
    }
    float *out = p->out + consumer * BM * BN;
    for (int set = 0; set < 1 + (bug == RIGHT_TWO_SETS); set++) {
        wgmma_wait_group(bug == RIGHT_TWO_SETS ? 1 - set : 0);
        registers_settled(acc[set], BN / 2);
        for (int v = 0; v < BN / 2; v++) {
            int row = warp * 16 + lane / 4 + v / 2 % 2 * 8, col = v / 4 * 8 + lane % 4 * 2 + v % 2;
            out[row * BN + col] = acc[set][v] + (set > 0 ? out[row * BN + col] : 0);
        }
    }
    if (bug == ONE_WARP_WAITS_AGAIN && warp == 0) {
        wgmma_wait_group(0);
    }
    for (int k_tile = K_TILES - late; k_tile < K_TILES && bug != RIGHT_REFILL_NAMED; k_tile++) {
        release(s, p, k_tile);
    }
}

/* ---- phases without bytes ---------------------------------------------------------------------------------------- */

DEVICE void arrivals(Shared *s, const Params *p) {
    const int bug = p->bug, thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_arrive(&s->extra);
    }
    __syncthreads();
    if (thread == 32) {
        mbarrier_wait_parity(&s->extra, 0);
        mbarrier_arrive(&s->extra);
    } else if (thread == (bug == RIGHT_OWN_ARRIVAL ? 0 : 64)) {
        mbarrier_wait_parity(&s->extra, 1);
    }
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS, 1) ring_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug;
    if (threadIdx.x == 0 || (bug == REINIT && threadIdx.x == 32)) {
        LEAVES_OUT(NO_INIT, mbarrier_init(s->full, STAGES,
                                          bug == FULL_COUNT_128        ? 128
                                          : bug == RIGHT_B_BY_CP_ASYNC ? 65
                                                                       : 1));
        mbarrier_init(s->empty, STAGES, CONSUMERS);
        mbarrier_init(&s->extra, 1, bug == RIGHT_WAITS_TWICE ? 128 * CONSUMERS : 1);
        LEAVES_OUT(RIGHT_NO_INIT_FENCE, mbarrier_init_fence());
    }
    __syncthreads();
    if (bug == STORE_OVER_BARRIER && threadIdx.x == 200) {
        s->full[1].state = 0;
    }
    if (bug == RIGHT_OWN_ARRIVAL || bug == RIGHT_KNOWN_ARRIVAL) {
        arrivals(s, &p);
    } else if (threadIdx.x < PRODUCER) {
        consume(s, &p);
    } else if (bug != RIGHT_REFILL_NAMED) {
        produce(s, &p);
    }
}
KERNEL_ENTRY(ring_kernel, Params);

static int run(const Case *c) {
    const int bug = c->bug;
    enum { K = K_TILES * BK, ROWS = CONSUMERS * BM };
    bf16 *a = case_memory(ROWS * K * sizeof *a, "A"), *b = case_memory(BN * K * sizeof *b, "B");
    float *out = case_memory(ROWS * BN * sizeof *out, "out");
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < ROWS; i++) {
            a[i * K + k] = float_to_bf16((float)((i * 7 + k * 3) % 5 - 2));
        }
        for (int i = 0; i < BN; i++) {
            b[i * K + k] = float_to_bf16((float)((i * 5 + k * 11) % 7 - 3));
        }
    }
    memset(out, 0xff, ROWS * BN * sizeof *out);
    Params p = {.b = b, .out = out, .bug = bug};
    int status =
        tensor_map_2d(&p.map_a, "A", a, ROWS, K, K, bug == BOX_TOO_LARGE ? 2 * ROWS : ROWS, BK, SWIZZLE_128B, NULL) ||
        tensor_map_2d(&p.map_b, "B", b, BN, K, K, BN, BK, SWIZZLE_128B, NULL);
    if (status == 0) {
        LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(ring_kernel), shape, &p, NULL, NULL);
    }
    int right = bug == RIGHT_OWN_ARRIVAL || bug == RIGHT_KNOWN_ARRIVAL; /* they multiply nothing */
    for (int i = 0; i < ROWS && status == 0 && !right; i++) {
        for (int j = 0; j < BN; j++) {
            status |= out[i * BN + j] != case_dot(a + i * K, b + j * K, K);
        }
    }
    return status;
}
