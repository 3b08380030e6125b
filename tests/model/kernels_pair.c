/* kernels_pair.c - two CTAs that multiply together: some rounds of one product, with TMA loads in both, whose sums four warps of each take
 * out. The even CTA, rank 0, starts the products. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/tcgen05.h"
#include "../../common/device/tma.h"

#include "cases.h"

#define CASE_LIST "pair"

enum { N = 64, K = 64, ROUNDS = 3, COLUMNS = 64, EPILOGUE = 128, PRODUCER = 4, MMA = 5, THREADS = 192 };

RIGHT_CASE(RIGHT);
RIGHT_CASE(RIGHT_M128);     /* the second half of D's columns lies 64 lanes below */
RIGHT_CASE(RIGHT_A_STORED); /* in tensor memory, by the epilogue's warps of both */
RIGHT_CASE(RIGHT_A_STORED_M128);
RIGHT_CASE(RIGHT_NO_ROUNDS);
RIGHT_CASE(RIGHT_ALLOCATED_AGAIN);
WRONG_CASE(ALLOC_BEFORE_CLUSTER_SYNC, CLUSTER_START); /* cutlass#3316, DeepGEMM#292, triton#8874, tilelang#2644 */
WRONG_CASE(ALLOC_BY_ONE, DEADLOCK);
WRONG_CASE(ALLOC_DIFFERENT, TMEM_ALLOC);
FIRST_CASE(DEALLOC_WITHOUT_CLUSTER_SYNC, RACE_WAR);   /* sglang#32954, DeepGEMM#293, triton#9498 */
WRONG_CASE(DEALLOC_BEFORE_THE_PEERS_ALLOC, RACE_WAW); /* cutlass#3435 */
FIRST_CASE(FREED_BY_ONE, TMEM_FREE);
WRONG_CASE(COMMIT_OF_ONE_CTA, CTA_GROUP);
WRONG_CASE(NO_PAIR, CTA_GROUP);
WRONG_CASE(COMMIT_TO_NOBODY, CLUSTER_RANK);
WRONG_CASE(M_64, TCGEN05_DESCRIPTOR);
WRONG_CASE(D_PAST_ALLOCATION, TMEM_ADDRESS);
WRONG_CASE(STAGE_RELEASED_IN_ONE, DEADLOCK);
WRONG_CASE(SUMS_TOLD_TO_ONE, DEADLOCK);
FIRST_CASE(PEER_LOADS_WITHOUT_EMPTY, RACE_WAW);
WRONG_CASE(SUMS_TAKEN_BY_ONE, RACE_WAR);
WRONG_CASE(BYTES_OF_ONE, TX_COUNT);
WRONG_CASE(BYTES_OF_FOUR, DEADLOCK); /* tilelang#2644: times the size of the cluster, of which a pair is a part */
WRONG_CASE(PEERS_LOAD_NOT_WAITED_FOR, RACE_RAW); /* cutlass#3647 */
WRONG_CASE(PEERS_LOAD_ON_ITS_OWN_BARRIER, DEADLOCK);
WRONG_CASE(RELEASED_TO_THE_OWN_CTA, TCGEN05_FENCE); /* cutlass#3643 */
WRONG_CASE(ACQUIRED_FROM_THE_OWN_CTA, TCGEN05_FENCE);
WRONG_CASE(NO_FENCE_BEFORE, TCGEN05_FENCE);
WRONG_CASE(NO_WAIT_LD, RACE_WAR);
WRONG_CASE(NO_TAIL, EXIT_IN_FLIGHT);
WRONG_CASE(A_STORED_BY_ONE, UNINIT_TENSOR);
WRONG_CASE(A_STORED_ONCE_M128, UNINIT_TENSOR); /* the lower lanes multiply the other columns, and read their own */
WRONG_CASE(A_STORED_BEHIND_A_BARRIER_OF_ONE, RACE_RAW);

typedef struct {
    bf16 a[128 * K], b[N / 2 * K]; /* 128-byte swizzle */
    MBarrier full, empty, acc_full, acc_empty;
    uint32_t address;
} Shared;

typedef struct {
    TensorMap map_a, map_b;
    float *c; /* [ROUNDS][m][N] */
    const bf16 *a;
    int m, bug;
} Params;

static inline int is_stored(int bug) {
    return bug == RIGHT_A_STORED || bug == RIGHT_A_STORED_M128 || bug >= A_STORED_BY_ONE;
}
static inline int rounds_of(int bug) {
    return bug == RIGHT_NO_ROUNDS || bug == DEALLOC_BEFORE_THE_PEERS_ALLOC ? 0 : is_stored(bug) ? 1 : ROUNDS;
}

/* Each thread its lane's row of A, behind D. */
DEVICE void store_a(const Params *p, const Shared *s, int rank) {
    const int bug = p->bug, lane = (int)threadIdx.x;
    if (lane < EPILOGUE && !(bug == A_STORED_BY_ONE && rank == 1) && !(bug == A_STORED_ONCE_M128 && lane >= 64)) {
        uint32_t r[K / 2];
        memcpy(r, p->a + (rank * (p->m / 2) + lane % (p->m / 2)) * K, sizeof r);
        tcgen05_st(K / 2, s->address + N + ((uint32_t)lane / 32 << 21), r);
        tcgen05_wait_st();
        tcgen05_fence_before();
    }
    if (bug == A_STORED_BEHIND_A_BARRIER_OF_ONE) {
        __syncthreads();
    } else {
        cluster_sync();
    }
}

DEVICE void produce(const Params *p, Shared *s, int rank) {
    const int bug = p->bug, rounds = rounds_of(bug), rows = p->m / 2, bytes = (rows + N / 2) * K * (int)sizeof(bf16);
    const int apart = bug == PEERS_LOAD_NOT_WAITED_FOR;
    for (int round = 0; round < rounds; round++) {
        if (bug != PEER_LOADS_WITHOUT_EMPTY || rank == 0) {
            mbarrier_wait_parity(&s->empty, (round & 1) ^ 1);
        }
        if (rank == 0 || apart) {
            mbarrier_arrive_expect_tx(&s->full, bytes * (apart || bug == BYTES_OF_ONE ? 1
                                                         : bug == BYTES_OF_FOUR       ? 4
                                                                                      : 2));
        }
        if (rank == 1 && (apart || bug == PEERS_LOAD_ON_ITS_OWN_BARRIER)) {
            tma_load_2d(s->a, &p->map_a, 0, round * p->m + rank * rows, &s->full);
            tma_load_2d(s->b, &p->map_b, 0, rank * (N / 2), &s->full);
        } else {
            tma_load_2d_pair(s->a, &p->map_a, 0, round * p->m + rank * rows, &s->full);
            tma_load_2d_pair(s->b, &p->map_b, 0, rank * (N / 2), &s->full);
        }
        if (apart && rank == 1) { /* it tells that its load has begun */
            mbarrier_arrive_remote(&s->full, 0);
            mbarrier_wait_parity(&s->full, round & 1);
        }
    }
    if (rounds > 0 && bug != NO_TAIL) {
        mbarrier_wait_parity(&s->empty, (rounds & 1) ^ 1);
    }
}

DEVICE void multiply(const Params *p, Shared *s) {
    const int bug = p->bug;
    uint64_t a = tcgen05_descriptor(s->a), b = tcgen05_descriptor(s->b);
    uint32_t shape = tcgen05_shape_f16(1, bug == M_64 ? 64 : p->m, N, 0, 0);
    uint32_t d = s->address + (bug == D_PAST_ALLOCATION ? 8 : 0);
    for (int round = 0; round < rounds_of(bug); round++) {
        if (bug == ACQUIRED_FROM_THE_OWN_CTA) {
            mbarrier_wait_parity(&s->acc_empty, (round & 1) ^ 1);
        } else {
            mbarrier_wait_parity_cluster(&s->acc_empty, (round & 1) ^ 1);
        }
        tcgen05_fence_after();
        mbarrier_wait_parity(&s->full, round & 1);
        for (int step = 0; step < K / 16; step++) {
            if (is_stored(bug)) {
                tcgen05_mma_f16_ts_pair(d, d + N + step * 8, b + step * 2, shape, step > 0);
            } else {
                tcgen05_mma_f16_pair(d, a + step * 2, b + step * 2, shape, step > 0);
            }
        }
        tcgen05_commit_pair(&s->empty, bug == STAGE_RELEASED_IN_ONE ? 1 : bug == COMMIT_TO_NOBODY ? 7 : 3);
        if (bug == COMMIT_OF_ONE_CTA) {
            tcgen05_commit(&s->acc_full);
        } else {
            tcgen05_commit_pair(&s->acc_full, bug == SUMS_TOLD_TO_ONE ? 1 : 3);
        }
    }
}

DEVICE void take(const Params *p, Shared *s, int rank) {
    const int bug = p->bug, half = p->m / 2 == 64, lane = (int)threadIdx.x, columns = half ? N / 2 : N;
    for (int round = 0; round < rounds_of(bug); round++) {
        uint32_t r[N];
        mbarrier_wait_parity(&s->acc_full, round & 1);
        tcgen05_fence_after();
        tcgen05_ld(columns, r, s->address + ((uint32_t)lane / 32 << 21));
        if (bug != NO_WAIT_LD) {
            tcgen05_wait_ld();
        }
        if (bug != NO_FENCE_BEFORE || rank == 0) {
            tcgen05_fence_before();
        }
        if (bug == RELEASED_TO_THE_OWN_CTA) {
            mbarrier_arrive_remote(&s->acc_empty, 0);
        } else if (bug != SUMS_TAKEN_BY_ONE || rank == 0) {
            mbarrier_arrive_release_cluster(&s->acc_empty, 0);
        }
        int row = rank * (p->m / 2) + (half ? lane % 64 : lane), first = half && lane >= 64 ? N / 2 : 0;
        for (int n = 0; n < columns; n++) {
            p->c[(round * p->m + row) * N + first + n] = __uint_as_float(r[n]);
        }
    }
}

static __global__ void __launch_bounds__(THREADS, 1) pair_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug, rank = cluster_cta_rank(), warp = (int)threadIdx.x / 32, first = threadIdx.x % 32 == 0;
    const int columns = is_stored(bug) ? 2 * COLUMNS : bug == ALLOC_DIFFERENT && rank == 1 ? 32 : COLUMNS;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, bug == PEERS_LOAD_NOT_WAITED_FOR && rank == 0 ? 2 : 1);
        mbarrier_init(&s->empty, 1, 1);
        mbarrier_init(&s->acc_full, 1, 1);
        mbarrier_init(&s->acc_empty, 1, bug == SUMS_TAKEN_BY_ONE ? EPILOGUE : 2 * EPILOGUE);
        mbarrier_init_fence();
    }
    if (warp == MMA && bug == ALLOC_BEFORE_CLUSTER_SYNC) {
        tcgen05_alloc_pair(&s->address, columns);
    }
    cluster_sync();
    if (bug == RIGHT_ALLOCATED_AGAIN) {
        if (warp == MMA) {
            tcgen05_alloc_pair(&s->address, columns);
        }
        cluster_sync();
        if (warp == MMA) {
            tcgen05_dealloc_pair(s->address, columns);
            __syncwarp(); /* all lanes have read the address */
        }
    }
    if (warp == MMA && bug != ALLOC_BEFORE_CLUSTER_SYNC && (bug != ALLOC_BY_ONE || rank == 0)) {
        tcgen05_alloc_pair(&s->address, columns);
        tcgen05_relinquish_pair();
    }
    __syncthreads();
    if (is_stored(bug)) {
        store_a(&p, s, rank);
    }
    if (warp == PRODUCER && first) {
        produce(&p, s, rank);
    } else if (warp == MMA && first && rank == 0) {
        multiply(&p, s);
    } else if (warp < PRODUCER) {
        take(&p, s, rank);
    }
    __syncwarp();
    if (bug == DEALLOC_WITHOUT_CLUSTER_SYNC || bug == DEALLOC_BEFORE_THE_PEERS_ALLOC) {
        __syncthreads();
    } else {
        cluster_sync();
    }
    if (warp == MMA && (bug != FREED_BY_ONE || rank == 0)) {
        tcgen05_dealloc_pair(s->address, columns);
    }
}
KERNEL_ENTRY(pair_kernel, Params);

static int run(const Case *c) {
    const int m = c->bug == RIGHT_M128 || c->bug == RIGHT_A_STORED_M128 || c->bug == A_STORED_ONCE_M128 ? 128 : 256;
    Params p = {.c = case_memory((size_t)ROUNDS * m * N * sizeof(float), "C"), .m = m, .bug = c->bug};
    bf16 *a = case_memory((size_t)ROUNDS * m * K * sizeof *a, "A"), *b = case_memory(N * K * sizeof *b, "B");
    p.a = a;
    static const uint16_t bits[] = {0, 0x3f80, 0x4000, 0xbf80}; /* 0, 1, 2, -1 */
    for (int i = 0; i < ROUNDS * m * K; i++) {
        a[i] = bits[(i / K * 5 + i % K * 3 + i / K * (i % K) + i / (m * K)) % 4];
    }
    for (int i = 0; i < N * K; i++) {
        b[i] = bits[(i / K * 3 + i % K + i / K * (i % K)) % 4];
    }
    if (tensor_map_2d(&p.map_a, "A", a, ROUNDS * m, K, K, m / 2, K, SWIZZLE_128B, NULL) ||
        tensor_map_2d(&p.map_b, "B", b, N, K, K, N / 2, K, SWIZZLE_128B, NULL)) {
        return GEMM_DEVICE;
    }
    const int pair = c->bug == NO_PAIR ? 1 : 2;
    LaunchShape shape = {.grid = pair, .block = THREADS, .cluster = pair, .shared_bytes = sizeof(Shared)};
    GemmStatus status = launch_kernel(KERNEL(pair_kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK) {
        return (int)status;
    }
    for (int i = 0; i < rounds_of(c->bug) * m * N; i++) {
        if (p.c[i] != case_dot(&a[i / N * K], &b[i % N * K], K)) {
            return 1;
        }
    }
    return 0;
}
