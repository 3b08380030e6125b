/* kernels_cluster.c - four CTAs that multicast to each other and release each other's stages. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/tcgen05.h"
#include "../../common/device/tma.h"

#include "cases.h"

#define CASE_LIST "cluster"

/* Each CTA loads a quarter of a [16][64] tile into all, and all add up what they got, for several tiles. */
enum { CTAS = 4, ROWS = 16, PART = ROWS / CTAS, COLS = 64, TILES = 5, STAGES = 2, THREADS = 64 };
enum { TILE_BYTES = ROWS * COLS * 2, ALL = (1 << CTAS) - 1 };

RIGHT_CASE(RIGHT);
RIGHT_CASE(RIGHT_RELAXED);  /* cluster_arrive_relaxed() and cluster_wait() after the fence */
RIGHT_CASE(RIGHT_REDUCE);   /* results are added by the copy engine */
RIGHT_CASE(RIGHT_NO_FENCE); /* cluster_sync() releases what came before, the barriers too */
RIGHT_CASE(RIGHT_OF_PAIRS); /* the even CTA of each pair counts the bytes of both, and tells the other one */
WRONG_CASE(PAIR_EXPECTS_ONE, TX_COUNT);
WRONG_CASE(PAIR_NOT_TOLD, DEADLOCK);
WRONG_CASE(NO_CLUSTER_SYNC, BARRIER_INIT_ORDER);
WRONG_CASE(RELAXED_NO_FENCE, BARRIER_INIT_ORDER);
WRONG_CASE(EXPECT_HALF, TX_COUNT);
WRONG_CASE(EXPECT_DOUBLE, DEADLOCK);
WRONG_CASE(LEAVES_ONE_OUT, DEADLOCK);
WRONG_CASE(ONE_KEEPS, RACE_WAR);            /* one of them does not release, and nobody asks it to */
FIRST_CASE(RELEASE_WRONG, ARRIVE_OVERFLOW); /* ... releases another CTA twice instead */
FIRST_CASE(RELEASE_ONLY_OWN, RACE_WAR);     /* as often as all of them together should */
WRONG_CASE(NO_END_SYNC, CLUSTER_EXIT);
WRONG_CASE(MASK_TOO_WIDE, CLUSTER_RANK);
WRONG_CASE(RANK_TOO_HIGH, CLUSTER_RANK);
WRONG_CASE(WAIT_WITHOUT_ARRIVE, NAMED_BARRIER);
WRONG_CASE(ARRIVE_TWICE, NAMED_BARRIER);

typedef struct {
    bf16 tile[STAGES][ROWS * COLS]; /* not swizzled */
    bf16 sum[8 * COLS];
    MBarrier full[STAGES], empty[STAGES];
} Shared;

typedef struct {
    TensorMap map; /* box [PART][COLS] of [TILES * ROWS][COLS] */
    TensorMap map_out;
    float *out; /* [CTAS][COLS] */
    int bug;
} Params;

static __global__ void __launch_bounds__(THREADS) cluster_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug;
    int thread = (int)threadIdx.x, rank = cluster_cta_rank();
    if (thread == 0) {
        mbarrier_init(s->full, STAGES, 1);
        mbarrier_init(s->empty, STAGES, bug == ONE_KEEPS ? CTAS - 1 : CTAS);
        if (bug != RELAXED_NO_FENCE && bug != RIGHT_NO_FENCE) {
            mbarrier_init_fence();
        }
    }
    if (bug == WAIT_WITHOUT_ARRIVE) {
        cluster_wait();
    } else if (bug == NO_CLUSTER_SYNC) {
        __syncthreads();
    } else if (bug == RIGHT_RELAXED || bug == RELAXED_NO_FENCE) {
        cluster_arrive_relaxed();
        ADDS(ARRIVE_TWICE, cluster_arrive_relaxed());
        cluster_wait();
        /* The relaxed arrival publishes the barriers to threads that know the fence: in this CTA too. */
        __syncthreads();
    } else {
        ADDS(ARRIVE_TWICE, cluster_arrive_relaxed());
        cluster_sync();
    }
    const int pairs = bug == RIGHT_OF_PAIRS || bug == PAIR_EXPECTS_ONE || bug == PAIR_NOT_TOLD,
              odd = pairs && rank % 2 == 1;
    float sum = 0;
    for (int i = 0; i < TILES; i++) {
        int stage = i % STAGES;
        uint32_t parity = (uint32_t)(i / STAGES) & 1;
        if (thread == 0) {
            mbarrier_wait_parity(&s->empty[stage], parity ^ 1);
            int twice = bug == EXPECT_DOUBLE || (pairs && bug != PAIR_EXPECTS_ONE);
            if (!odd) {
                mbarrier_arrive_expect_tx(&s->full[stage], bug == EXPECT_HALF ? TILE_BYTES / 2 : TILE_BYTES << twice);
            }
            int mask = bug == MASK_TOO_WIDE ? 2 * ALL + 1 : bug == LEAVES_ONE_OUT ? ALL / 2 : ALL;
            bf16 *part = &s->tile[stage][rank * PART * COLS];
            if (pairs) {
                tma_load_2d_pair_multicast(part, &p.map, 0, i * ROWS + rank * PART, &s->full[stage], mask);
            } else {
                tma_load_2d_multicast(part, &p.map, 0, i * ROWS + rank * PART, &s->full[stage], mask);
            }
        }
        mbarrier_wait_parity_cluster(&s->full[stage], parity);
        if (pairs && !odd && thread == 0 && bug != PAIR_NOT_TOLD) {
            mbarrier_arrive_release_cluster(&s->full[stage], rank + 1);
        }
        for (int row = 0; row < ROWS; row++) {
            sum += bf16_to_float(s->tile[stage][row * COLS + thread]);
        }
        fence_proxy_async(); /* ordinary reads come before the next load of this stage */
        __syncthreads();
        if (thread < CTAS && !(bug == ONE_KEEPS && rank == CTAS - 1)) {
            int to = bug == RELEASE_WRONG && rank == 3 && thread == 2 ? 1 : bug == RELEASE_ONLY_OWN ? rank : thread;
            mbarrier_arrive_remote(&s->empty[stage], bug == RANK_TOO_HIGH ? thread + 1 : to);
        }
    }
    if (bug == RIGHT_REDUCE) {
        for (int row = 0; row < 8; row++) {
            s->sum[row * COLS + thread] = row == 0 ? float_to_bf16(sum) : 0;
        }
        fence_proxy_async();
        __syncthreads();
        if (thread == 0) {
            tma_reduce_add_2d(&p.map_out, s->sum, 0, 0);
            bulk_commit_group();
            bulk_wait_group(0);
        }
    }
    p.out[rank * COLS + thread] = sum;
    if (bug != NO_END_SYNC) {
        /* The others still arrive on this CTA's barriers. */
        cluster_sync();
    }
}
KERNEL_ENTRY(cluster_kernel, Params);

static int run(const Case *c) {
    bf16 *in = case_memory(TILES * ROWS * COLS * sizeof *in, "in");
    float *out = case_memory(CTAS * COLS * sizeof *out, "out");
    bf16 *added = case_memory(8 * COLS * sizeof *added, "added");
    for (int i = 0; i < TILES * ROWS * COLS; i++) {
        in[i] = float_to_bf16((float)(i % 11 - 5));
    }
    Params p = {.out = out, .bug = c->bug};
    int status = 3;
    if (!tensor_map_2d(&p.map, "in", in, TILES * ROWS, COLS, COLS, PART, COLS, SWIZZLE_NONE, NULL) &&
        !tensor_map_2d(&p.map_out, "added", added, 8, COLS, COLS, 8, COLS, SWIZZLE_NONE, NULL)) {
        LaunchShape shape = {.grid = CTAS, .block = THREADS, .cluster = CTAS, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(cluster_kernel), shape, &p, NULL, NULL);
    }
    for (int column = 0; column < COLS && status == 0; column++) {
        float sum = 0;
        for (int row = 0; row < TILES * ROWS; row++) {
            sum += bf16_to_float(in[row * COLS + column]);
        }
        for (int rank = 0; rank < CTAS; rank++) {
            status |= out[rank * COLS + column] != sum;
        }
        status |= c->bug == RIGHT_REDUCE && added[column] != float_to_bf16(CTAS * sum);
    }
    return status;
}
