/* kernels_ring.c - a producer, a consumer warpgroup and a ring of stages: TMA loads, wgmma, TMA stores. */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

#include "cases.h"

#define CASE_LIST "ring"

enum { BM = 64, BN = 64, BK = 64, STAGES = 2, THREADS = 256, K_TILES = 5, STAGE_BYTES = (BM + BN) * BK * 2 };

RIGHT_CASE(RIGHT);
RIGHT_CASE(RIGHT_GENERIC_A); /* A is stored by the producer warpgroup and fenced */
RIGHT_CASE(
    RIGHT_GENERIC_A_LATE); /* the thread that issues fences, after the barrier that orders the writers before it */
RIGHT_CASE(RIGHT_STORE_FENCE_LATE); /* the same in the epilogue */
RIGHT_CASE(RIGHT_NO_INIT_FENCE);    /* in one CTA __syncthreads() publishes the barriers, to the copy engine too */
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
WRONG_CASE(PARITY_IS_LAP, PHASE_TOKEN);
WRONG_CASE(NO_READ_WAIT, RACE_WAR);
WRONG_CASE(NO_STORE_COMMIT, EXIT_IN_FLIGHT);
WRONG_CASE(NO_STORE_WAIT, EXIT_IN_FLIGHT);
WRONG_CASE(LOAD_MISALIGNED, ALIGNMENT);
WRONG_CASE(LOAD_BAD_MAP, TMA_OPERAND);
WRONG_CASE(BARRIER_MISALIGNED, ALIGNMENT);
WRONG_CASE(ONE_WARP_MISSES_FENCE, WGMMA_FENCE);
WRONG_CASE(ONE_WARP_MULTIPLIES, DEADLOCK);
WRONG_CASE(ONE_WARP_RETURNS, CONVERGENCE);

typedef struct {
    bf16 a[STAGES][BM * BK]; /* 128-byte swizzle */
    bf16 b[STAGES][BN * BK];
    bf16 out[BN / 16][BM * 16]; /* boxes [64][16], 32-byte swizzle */
    MBarrier full[STAGES];
    MBarrier empty[STAGES];
} Shared;

typedef struct {
    TensorMap map_a, map_b, map_c[2];
    const bf16 *a;
    int bug;
    int k_tiles;
} Params;

/* All producer threads: A by ordinary loads and stores, in the swizzle that TMA would have used. */
DEVICE void store_a(Shared *s, const Params *p, int stage, int k_tile) {
    int thread = (int)threadIdx.x;
    for (int i = thread; i < BM * BK / 8; i += 128) {
        int row = i / 8, chunk = i % 8;
        const uint4 *from = (const uint4 *)(p->a + row * K_TILES * BK + k_tile * BK + chunk * 8);
        *(uint4 *)&s->a[stage][swizzled_index(row, chunk)] = *from;
    }
}

DEVICE void producer(Shared *s, const Params *p) {
    const int bug = p->bug;
    const int generic = bug == RIGHT_GENERIC_A || bug == RIGHT_GENERIC_A_LATE;
    PipelineState state = bug == EMPTY_PARITY ? consumer_start_state() : producer_start_state();
    for (int k_tile = 0; k_tile < p->k_tiles; k_tile++) {
        MBarrier *full = &s->full[state.index];
        mbarrier_wait_parity(&s->empty[state.index], state.phase);
        if (generic) {
            store_a(s, p, state.index, k_tile);
            ADDS(RIGHT_GENERIC_A, fence_proxy_async());
            named_barrier_sync(1, 128);
            if (bug == RIGHT_GENERIC_A_LATE && threadIdx.x == 0) {
                fence_proxy_async();
            }
        }
        if (threadIdx.x == 0) {
            int bytes = generic ? STAGE_BYTES / 2 : STAGE_BYTES;
            bytes = bug == EXPECT_HALF ? bytes / 2 : bug == EXPECT_DOUBLE ? bytes * 2 : bytes;
            bytes += bug == BOX_TOO_LARGE ? BM * BK * 2 : 0;
            ADDS(EXPECT_TOO_LARGE, bytes = 1 << 20);
            bug == NO_EXPECT ? mbarrier_arrive(full) : mbarrier_arrive_expect_tx(full, bytes);
            bf16 *a = s->a[state.index], *b = s->b[state.index];
            ADDS(LOAD_MISALIGNED, a += 8);
            ADDS(LOAD_OVER_BARRIER, b = (bf16 *)((uintptr_t)s->full / 1024 * 1024));
            const TensorMap *map_a =
                bug == LOAD_BAD_MAP ? (const TensorMap *)((const char *)&p->map_a + 16) : &p->map_a;
            MBarrier *bar = bug == BARRIER_MISALIGNED ? (MBarrier *)((char *)full + 4) : full;
            int k = bug == SAME_K_TILE ? 0 : k_tile * BK;
            TensorMap local = p->map_a;
            if (!generic) {
                tma_load_2d(a, bug == LOCAL_MAP ? &local : map_a, k, 0, bar);
            }
            tma_load_2d(b, &p->map_b, k, 0, bar);
        }
        pipeline_advance(&state, STAGES);
    }
}

DEVICE uint64_t operand(const bf16 *tile, int bug) {
    if (bug == WRONG_STRIDE) {
        return wgmma_descriptor_fields(shared_address(tile), 16, 2048, WGMMA_SWIZZLE_128B);
    }
    return wgmma_descriptor(tile);
}

DEVICE void multiply(Shared *s, const Params *p, float *acc, int stage, int k_tile) {
    const int bug = p->bug;
    int warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32;
    uint64_t a = operand(s->a[stage], bug), b = operand(s->b[stage], bug);
    ADDS(DESCRIPTOR_OUTSIDE, a += 3 << 12);
    ADDS(DESCRIPTOR_BITS, b |= (uint64_t)1 << 46);
    if (bug == OTHER_ROWS && k_tile > 0) {
        a += 512 / 16 * 2;
    }
    if (bug == LANES_DIFFER && lane == 7) {
        a += WGMMA_K16_STEP;
    }
    if (bug != ONE_WARP_MISSES_FENCE || warp != 3) {
        wgmma_fence();
    }
    if (bug == ONE_WARP_MULTIPLIES && warp != 1) {
        return;
    }
    for (int step = 0; step < BK / 16; step++) {
        int k16 = bug == SAME_K_STEP ? 0 : step * WGMMA_K16_STEP;
        wgmma_ss(64, acc, a + k16, b + k16, k_tile + step > 0);
    }
    LEAVES_OUT(NO_COMMIT, wgmma_commit_group());
}

DEVICE void consumer(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x % 128, lane = thread % 32;
    float acc[BN / 2];
    PipelineState state = consumer_start_state();
    for (int k_tile = 0; k_tile < p->k_tiles; k_tile++) {
        int last = k_tile == p->k_tiles - 1;
        if (bug != NO_FULL_WAIT) {
            mbarrier_wait_parity(&s->full[state.index],
                                 bug == PARITY_IS_LAP ? (uint32_t)(k_tile / STAGES) : state.phase);
        }
        if (bug == READ_BARRIER && thread == 3 && *(volatile uint64_t *)&s->full[0].state == 1) {
            acc[0] = 0;
        }
        if (bug == ONE_WARP_RETURNS && k_tile == 1 && thread / 32 == 3) {
            return;
        }
        multiply(s, p, acc, state.index, k_tile);
        ADDS(STORE_IN_FLIGHT, acc[3] = 0);
        if (bug != RELEASE_EARLY && bug != NO_COMMIT) {
            wgmma_wait_group(0);
        }
        if (thread == 0 || bug == ALL_ARRIVE) {
            mbarrier_arrive(&s->empty[state.index]);
        }
        if (last && (bug == RELEASE_EARLY || bug == NO_COMMIT)) {
            wgmma_wait_group(0);
        }
        pipeline_advance(&state, STAGES);
    }
    registers_settled(acc, BN / 2);

    /* Into two matrices, so that the second round conflicts with the first round's reads. */
    for (int round = 0; round < 2; round++) {
        if (round > 0 && bug != NO_READ_WAIT) {
            if (thread == 0) {
                bulk_wait_group_read(0);
            }
            named_barrier_sync(2, 128);
        }
        int row = thread / 32 * 16 + lane % 16;
        int in_box = (int)swizzle_32b((uint32_t)(row * 32 + lane / 16 * 16)) / 2;
        for (int box = 0; box < BN / 16; box++) {
            const float *v = &acc[box * 8];
            uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                                  pack_bf16x2(v[6], v[7])};
            stmatrix_x4(&s->out[box][in_box], packed);
        }
        LEAVES_OUT(RIGHT_STORE_FENCE_LATE, fence_proxy_async());
        named_barrier_sync(2, 128);
        if (thread == 0) {
            ADDS(RIGHT_STORE_FENCE_LATE, fence_proxy_async());
            for (int box = 0; box < BN / 16; box++) {
                tma_store_2d(&p->map_c[round], s->out[box], box * 16, 0);
            }
            LEAVES_OUT(NO_STORE_COMMIT, bulk_commit_group());
        }
    }
    if (thread == 0 && bug != NO_STORE_WAIT) {
        bulk_wait_group(0);
    }
}

static __global__ void __launch_bounds__(THREADS, 1) ring_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug;
    if (threadIdx.x == 0 || (bug == REINIT && threadIdx.x == 32)) {
        tma_prefetch_map(&p.map_a);
        LEAVES_OUT(NO_INIT, mbarrier_init(s->full, STAGES, bug == FULL_COUNT_128 ? 128 : 1));
        mbarrier_init(s->empty, STAGES, 1);
        LEAVES_OUT(RIGHT_NO_INIT_FENCE, mbarrier_init_fence());
    }
    __syncthreads();
    if (bug == STORE_OVER_BARRIER && threadIdx.x == 200) {
        s->full[1].state = 0;
    }
    int generic = bug == RIGHT_GENERIC_A || bug == RIGHT_GENERIC_A_LATE;
    if (threadIdx.x >= 128) {
        consumer(s, &p);
    } else if (threadIdx.x == 0 || generic) {
        producer(s, &p);
    }
}
KERNEL_ENTRY(ring_kernel, Params);

static int run(const Case *wanted) {
    const int bug = wanted->bug;
    enum { K = K_TILES * BK };
    bf16 *a = case_memory(BM * K * sizeof *a, "A"), *b = case_memory(BN * K * sizeof *b, "B");
    bf16 *c[2] = {case_memory(BM * BN * sizeof **c, "C"), case_memory(BM * BN * sizeof **c, "D")};
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < BM; i++) {
            a[i * K + k] = float_to_bf16((float)((i * 7 + k * 3) % 5 - 2));
            b[i * K + k] = float_to_bf16((float)((i * 5 + k * 11) % 7 - 3));
        }
    }
    for (int i = 0; i < BM * BN; i++) {
        c[0][i] = c[1][i] = 0x7fc0;
    }
    Params p = {.a = a, .bug = bug, .k_tiles = K_TILES};
    int box_rows = bug == BOX_TOO_LARGE ? 2 * BM : BM;
    int failed = tensor_map_2d(&p.map_a, "A", a, BM, K, K, box_rows, BK, SWIZZLE_128B, NULL) ||
                 tensor_map_2d(&p.map_b, "B", b, BN, K, K, BN, BK, SWIZZLE_128B, NULL);
    failed |= tensor_map_2d(&p.map_c[0], "C", c[0], BM, BN, BN, BM, 16, SWIZZLE_32B, NULL) ||
              tensor_map_2d(&p.map_c[1], "D", c[1], BM, BN, BN, BM, 16, SWIZZLE_32B, NULL);
    int status = 3;
    if (!failed) {
        LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(ring_kernel), shape, &p, NULL, NULL);
    }
    for (int i = 0; i < BM && status == 0; i++) {
        for (int j = 0; j < BN; j++) {
            bf16 want = float_to_bf16(case_dot(a + i * K, b + j * K, K));
            status |= c[0][i * BN + j] != want || c[1][i * BN + j] != want;
        }
    }
    return status;
}
