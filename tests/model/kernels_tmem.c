/* kernels_tmem.c - tensor memory: two rounds of a product of one CTA, whose accumulator four warps take out. */
#include "../../common/gemm.h"

#include "../../common/device/swizzle.h"
#include "../../common/device/tcgen05.h"
#include "../../common/device/tma.h"

#include "cases.h"

#define CASE_LIST "tmem"

enum { M = 128, N = 64, K = 64, ROUNDS = 2, COLUMNS = 128, THREADS = 128 };

RIGHT_CASE(RIGHT);
RIGHT_CASE(RIGHT_F16);
RIGHT_CASE(RIGHT_M64);
RIGHT_CASE(RIGHT_M64_UPPER); /* in the other half of the lanes */
RIGHT_CASE(RIGHT_STORED);    /* products are added to what the warps have stored */
RIGHT_CASE(RIGHT_TWO_ALLOCATIONS);
RIGHT_CASE(RIGHT_ALLOCATED_AGAIN);
RIGHT_CASE(RIGHT_TWO_ACCUMULATORS);
WRONG_CASE(NO_WAIT_LD, RACE_WAR); /* cutlass#3652, flashinfer#5335 */
FIRST_CASE(NO_WAIT_ST, RACE_WAW); /* cutlass#3653, cutlass#2687 */
WRONG_CASE(NO_COMMIT_WAIT, RACE_RAW);
WRONG_CASE(NO_EMPTY_WAIT, RACE_WAR);
WRONG_CASE(NO_FENCE_AFTER_COMMIT, TCGEN05_FENCE);
WRONG_CASE(NO_FENCE_AFTER_LOADS, TCGEN05_FENCE);
WRONG_CASE(NO_FENCE_BEFORE, TCGEN05_FENCE);
WRONG_CASE(FENCE_BEFORE_TOO_EARLY, TCGEN05_FENCE);
WRONG_CASE(FENCE_AFTER_TOO_EARLY, TCGEN05_FENCE);
WRONG_CASE(COMMIT_BY_OTHER_THREAD, RACE_RAW);
WRONG_CASE(NO_COMMIT, DEADLOCK);
WRONG_CASE(OTHER_SHAPE, RACE_WAW); /* of the second half of k: not in order with the first */
WRONG_CASE(ACCUMULATE_FIRST, UNINIT_TENSOR);
WRONG_CASE(FEW_COLUMNS_LOADED_UNWRITTEN, UNINIT_TENSOR);
WRONG_CASE(OLD_COLUMNS_LOADED, UNINIT_TENSOR); /* written before they were freed and allocated again */
WRONG_CASE(OPERAND_OVERWRITTEN, RACE_WAR);
WRONG_CASE(NO_PROXY_FENCE, PROXY_FENCE);
WRONG_CASE(ADDRESS_UNPUBLISHED, RACE_RAW); /* TIRx-kernels#7, cutlass#2835 */
WRONG_CASE(ALLOC_48, TMEM_ALLOC);
WRONG_CASE(ALLOC_GROWS, TMEM_ALLOC);
WRONG_CASE(ALLOC_TOO_MUCH, TMEM_ALLOC); /* tilelang#2831 */
WRONG_CASE(ALLOC_AFTER_RELINQUISH, TMEM_ALLOC);
WRONG_CASE(NOT_FREED, TMEM_FREE);
WRONG_CASE(FREED_TWICE, TMEM_FREE);
WRONG_CASE(HALF_FREED, TMEM_FREE);
WRONG_CASE(FREED_BEFORE_WAIT_LD, RACE_WAR);
WRONG_CASE(OTHER_QUARTER, TMEM_ADDRESS);
WRONG_CASE(ADDRESSES_DIFFER, TMEM_ADDRESS);
WRONG_CASE(PAST_ALLOCATION, TMEM_ADDRESS);
WRONG_CASE(LOADED_X12, TMEM_ADDRESS); /* neither one instruction nor several */
WRONG_CASE(D_PAST_ALLOCATION, TMEM_ADDRESS);
WRONG_CASE(D_FROM_LANE_16, TMEM_ADDRESS);
WRONG_CASE(HOPPERS_DESCRIPTOR, TCGEN05_DESCRIPTOR);
WRONG_CASE(DESCRIPTOR_OUTSIDE, TCGEN05_DESCRIPTOR);
WRONG_CASE(N_40, TCGEN05_DESCRIPTOR);
WRONG_CASE(TYPES_DIFFER, TCGEN05_DESCRIPTOR);
WRONG_CASE(ALLOC_BY_HALF_A_WARP, CONVERGENCE);

typedef struct {
    bf16 a[ROUNDS][M * K], b[N * K]; /* 128-byte swizzle */
    MBarrier full, empty;
    uint32_t address[2];
} Shared;

typedef struct {
    float *c; /* [ROUNDS][M][N] */
    int bug;
} Params;

/* Elements are 0, 1, 2 and -1; in the second round those of A are shifted. */
static inline int element(int row, int k, int shift) { return (row * 5 + k * 3 + row * k + shift) % 4; }
static const float value_of[] = {0, 1, 2, -1};
static const uint16_t bits_of[2][4] = {{0, 0x3f80, 0x4000, 0xbf80}, {0, 0x3c00, 0x4000, 0xbc00}};

static inline int rows_of(int bug) { return bug == RIGHT_M64 || bug == RIGHT_M64_UPPER ? 64 : M; }

DEVICE void fill(bf16 *tile, int rows, int shift, int is_f16) {
    for (int i = (int)threadIdx.x; i < rows * K / 8; i += THREADS) {
        int row = i / 8, chunk = i % 8;
        for (int j = 0; j < 8; j++) {
            tile[row * K + (chunk ^ row % 8) * 8 + j] = bits_of[is_f16][element(row, chunk * 8 + j, shift)];
        }
    }
}

DEVICE void multiply(Shared *s, uint32_t d, int bug, int round) {
    const int m = rows_of(bug);
    uint32_t shape = tcgen05_shape_f16(bug != RIGHT_F16, m, bug == N_40 ? 40 : N, 0, 0);
    uint64_t a = tcgen05_descriptor(s->a[round]), b = tcgen05_descriptor(s->b);
    d += bug == RIGHT_M64_UPPER || bug == D_FROM_LANE_16 ? 16 << 16 : bug == D_PAST_ALLOCATION ? COLUMNS - N + 8 : 0;
    a -= bug == HOPPERS_DESCRIPTOR ? (uint64_t)1 << 46 : 0;
    a += bug == DESCRIPTOR_OUTSIDE ? sizeof *s >> 4 : 0;
    shape ^= bug == TYPES_DIFFER ? 1u << 10 : 0;
    for (int step = 0; step < K / 16; step++) {
        int adds = step > 0 || bug == RIGHT_STORED || bug == NO_WAIT_ST || bug == ACCUMULATE_FIRST;
        uint32_t half = bug == OTHER_SHAPE && step == 2 ? tcgen05_shape_f16(1, m, N / 2, 0, 0) : shape;
        tcgen05_mma_f16(d, a + step * 2, b + step * 2, half, adds);
    }
    if (bug != NO_COMMIT && bug != COMMIT_BY_OTHER_THREAD) {
        tcgen05_commit(&s->full);
    }
}

/* The warps take out their lanes of D. */
DEVICE void take(const Params *p, Shared *s, uint32_t d, int round) {
    const int bug = p->bug, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    uint32_t quarter = (uint32_t)(bug == OTHER_QUARTER ? warp ^ 1 : warp) << 21, r[N];
    d += bug == ADDRESSES_DIFFER && lane == 5 ? 8 : bug == PAST_ALLOCATION ? COLUMNS - N + 8 : 0;
    int beside = bug == FEW_COLUMNS_LOADED_UNWRITTEN || (bug == OLD_COLUMNS_LOADED && warp == 0);
    tcgen05_ld(bug == LOADED_X12 ? 12 : N, r, d + quarter + (beside ? 8 : 0));
    if (bug == FENCE_BEFORE_TOO_EARLY) {
        tcgen05_fence_before();
    }
    if (bug != (round > 0 ? FREED_BEFORE_WAIT_LD : NO_WAIT_LD)) {
        tcgen05_wait_ld();
    }
    if (bug != NO_FENCE_BEFORE && bug != FENCE_BEFORE_TOO_EARLY) {
        tcgen05_fence_before();
    }
    mbarrier_arrive(&s->empty);
    const int half = rows_of(bug) == 64, upper = bug == RIGHT_M64_UPPER;
    if (half && lane / 16 != upper) {
        return;
    }
    int row = half ? warp * 16 + lane % 16 : warp * 32 + lane;
    for (int n = 0; n < N; n++) {
        p->c[(round * M + row) * N + n] = __uint_as_float(r[n]);
    }
}

/* Each thread its lane of D: 1 everywhere. */
DEVICE void store_ones(uint32_t d, int bug) {
    uint32_t r[N];
    for (int n = 0; n < N; n++) {
        r[n] = __float_as_uint(1.0f);
    }
    tcgen05_st(N, d + ((uint32_t)threadIdx.x / 32 << 21), r);
    if (bug != NO_WAIT_ST) {
        tcgen05_wait_st();
    }
    tcgen05_fence_before();
}

DEVICE void allocate(Shared *s, int bug) {
    if (bug == ALLOC_BY_HALF_A_WARP && threadIdx.x % 32 >= 16) {
        return;
    }
    tcgen05_alloc(&s->address[0], bug == ALLOC_48 ? 48 : COLUMNS);
    if (bug == RIGHT_TWO_ALLOCATIONS || bug == ALLOC_GROWS || bug == ALLOC_TOO_MUCH) {
        tcgen05_alloc(&s->address[1], bug == ALLOC_GROWS ? 256 : COLUMNS);
    }
    if (bug == ALLOC_TOO_MUCH) {
        for (int i = 0; i < 3; i++) {
            tcgen05_alloc(&s->address[1], COLUMNS);
        }
    }
    tcgen05_relinquish();
    if (bug == ALLOC_AFTER_RELINQUISH) {
        tcgen05_alloc(&s->address[1], 32);
    }
}

DEVICE void release(Shared *s, uint32_t d, int bug) {
    if (bug != NOT_FREED) {
        tcgen05_dealloc(d, bug == HALF_FREED ? COLUMNS / 2 : COLUMNS);
    }
    if (bug == FREED_TWICE) {
        tcgen05_dealloc(d, COLUMNS);
    }
    if (bug == RIGHT_TWO_ALLOCATIONS) {
        tcgen05_dealloc(s->address[1], COLUMNS);
    }
}

static __global__ void __launch_bounds__(THREADS, 1) tmem_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug, issuer = threadIdx.x == 0, is_stored = bug == RIGHT_STORED || bug == NO_WAIT_ST;
    if (issuer) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init(&s->empty, 1, THREADS);
        mbarrier_init_fence();
    }
    if (threadIdx.x < 32) {
        __syncwarp();
        if (bug == RIGHT_ALLOCATED_AGAIN || bug == OLD_COLUMNS_LOADED) {
            tcgen05_alloc(&s->address[0], COLUMNS);
            for (uint32_t half = 0; half < COLUMNS && bug == OLD_COLUMNS_LOADED; half += N) {
                store_ones(half, bug);
            }
            tcgen05_dealloc(0, COLUMNS);
        }
        allocate(s, bug);
    }
    for (int round = 0; round < ROUNDS; round++) {
        fill(s->a[round], rows_of(bug), round, bug == RIGHT_F16);
    }
    fill(s->b, N, 0, bug == RIGHT_F16);
    if (bug != NO_PROXY_FENCE) {
        fence_proxy_async();
    }
    if (bug != ADDRESS_UNPUBLISHED) {
        __syncthreads();
    }
    uint32_t first = s->address[0];
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t d = first + (bug == RIGHT_TWO_ACCUMULATORS ? round * N : 0);
        if (is_stored) {
            if (round > 0) {
                mbarrier_wait_parity(&s->empty, 0);
            }
            store_ones(d, bug);
            __syncthreads();
        }
        if (bug == FENCE_AFTER_TOO_EARLY && round > 0) {
            tcgen05_fence_after();
        }
        if (issuer) {
            if (round > 0 && !is_stored && bug != NO_EMPTY_WAIT) {
                mbarrier_wait_parity(&s->empty, 0);
            }
            if ((bug != NO_FENCE_AFTER_LOADS && bug != FENCE_AFTER_TOO_EARLY) || round == 0) {
                tcgen05_fence_after();
            }
            multiply(s, d, bug, round);
            if (bug == OPERAND_OVERWRITTEN) {
                s->a[round][0] = 0;
            }
        }
        if (bug == COMMIT_BY_OTHER_THREAD && threadIdx.x == 1) {
            tcgen05_commit(&s->full);
        }
        __syncwarp();
        if (bug != NO_COMMIT_WAIT) {
            mbarrier_wait_parity(&s->full, round % 2);
        }
        if (bug != NO_FENCE_AFTER_COMMIT) {
            tcgen05_fence_after();
        }
        take(&p, s, d, round);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        release(s, first, bug);
    }
}
KERNEL_ENTRY(tmem_kernel, Params);

static int run(const Case *c) {
    Params p = {case_memory(ROUNDS * M * N * sizeof(float), "C"), c->bug};
    LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    GemmStatus status = launch_kernel(KERNEL(tmem_kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK) {
        return (int)status;
    }
    for (int i = 0; i < ROUNDS * M * N; i++) {
        int round = i / (M * N), row = i / N % M, n = i % N;
        float sum = c->bug == RIGHT_STORED;
        for (int k = 0; k < K; k++) {
            sum += value_of[element(row, k, round)] * value_of[element(n, k, 0)];
        }
        if (row < rows_of(c->bug) && p.c[i] != sum) {
            return 1;
        }
    }
    return 0;
}
