/* kernels_store.c - right though no chapter does it so: warps that store for themselves, one staging buffer, sums onto
 * what a store has left; one full barrier for two stages; four CTAs that share a tile. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/tma.h"

#include "cases.h"

#define CASE_LIST "store"

enum { WARPS = 4, THREADS = 32 * WARPS, ROWS = 16, COLS = 64, BOX = ROWS * COLS, TILES = 4, STAGES = 2, CTAS = 4 };
enum { BOX_BYTES = BOX * 2, PART = BOX / CTAS };

typedef struct {
    bf16 out[WARPS][BOX]; /* not swizzled, as all that follow */
    bf16 in[STAGES][BOX], own[STAGES][BOX];
    MBarrier full[STAGES], empty[STAGES];
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p);
struct Params {
    TensorMap map_in, map_part, map_own, map_out; /* boxes [ROWS][COLS]; of a part [ROWS / CTAS][COLS] */
    float *sum;                                   /* [CTAS][COLS] */
    int bug;
    Part *part;
};

/* Element i of the 16 rows that a warp stores of a tile. */
DEVICE float element(int tile, int warp, int i) { return (float)((tile * 7 + warp * 5 + i) % 13 - 6); }

/* The CTA has one staging buffer, and waits at its end for the reads of it alone. */
RIGHT_IN(store_by_one, RIGHT_ONE_BUFFER);
WRONG_IN(store_by_one, ONE_BUFFER_NO_WAIT, RACE_WAR);
WRONG_IN(store_by_one, ONE_BUFFER_NO_LAST_WAIT, EXIT_IN_FLIGHT);
/* Every tile onto the first one. */
RIGHT_IN(store_by_one, RIGHT_REDUCE);
WRONG_IN(store_by_one, REDUCE_READ_ONLY, GLOBAL_CONFLICT); /* waits for the reads of shared memory alone */

/* One thread. */
DEVICE void store(Shared *s, const Params *p, int tile, int warp) {
    int row = (tile * WARPS + warp) * ROWS;
    if ((p->bug == RIGHT_REDUCE || p->bug == REDUCE_READ_ONLY) && tile > 0) {
        tma_reduce_add_2d(&p->map_out, s->out[warp], 0, warp * ROWS);
    } else {
        tma_store_2d(&p->map_out, s->out[warp], 0, row);
    }
}

/* Each warp stages 16 rows of each tile and stores them. */
RIGHT_IN(store_by_warps, RIGHT_WARPS);
WRONG_IN(store_by_warps, WARPS_NO_FENCE, PROXY_FENCE);
WRONG_IN(store_by_warps, WARPS_NO_SYNCWARP, RACE_RAW);
WRONG_IN(store_by_warps, WARPS_NO_READ_WAIT, RACE_WAR);

DEVICE void store_by_warps(Shared *s, const Params *p) {
    const int bug = p->bug;
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int tile = 0; tile < TILES; tile++) {
        if (lane == 0 && bug != WARPS_NO_READ_WAIT) {
            bulk_wait_group_read(0);
        }
        __syncwarp();
        for (int i = lane; i < BOX; i += 32) {
            s->out[warp][i] = float_to_bf16(element(tile, warp, i));
        }
        if (bug != WARPS_NO_FENCE) {
            fence_proxy_async();
        }
        if (bug != WARPS_NO_SYNCWARP) {
            __syncwarp();
        }
        if (lane == 0) {
            store(s, p, tile, warp);
            bulk_commit_group();
        }
    }
    if (lane == 0) {
        bulk_wait_group(0);
    }
}

DEVICE void store_by_one(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x;
    for (int tile = 0; tile < TILES; tile++) {
        if (thread == 0 && bug == RIGHT_REDUCE) {
            bulk_wait_group(0);
        } else if (thread == 0 && bug != ONE_BUFFER_NO_WAIT) {
            bulk_wait_group_read(0);
        }
        __syncthreads();
        for (int i = thread; i < WARPS * BOX; i += THREADS) {
            s->out[i / BOX][i % BOX] = float_to_bf16(element(tile, i / BOX, i % BOX));
        }
        fence_proxy_async();
        __syncthreads();
        if (thread == 0) {
            for (int warp = 0; warp < WARPS; warp++) {
                store(s, p, tile, warp);
            }
            bulk_commit_group();
        }
    }
    if (thread == 0 && bug != ONE_BUFFER_NO_LAST_WAIT) {
        bulk_wait_group_read(0);
    }
}

DEVICE float column_sum(const bf16 *box, int column) {
    float sum = 0;
    for (int row = 0; row < ROWS; row++) {
        sum += bf16_to_float(box[row * COLS + column]);
    }
    return sum;
}

DEVICE void load(Shared *s, const Params *p, int stage, int tile) {
    tma_load_2d(s->in[stage], &p->map_in, 0, tile * ROWS, s->full);
}

/* Loads: a full barrier for a pair of stages. */
RIGHT_IN(pair, RIGHT_PAIR_COUNT);               /* two arrivals for a phase: both boxes are there */
RIGHT_IN(pair, RIGHT_PAIR_PHASES);              /* a phase for each: the first has parity 0, the second 1 */
WRONG_IN(pair, PAIR_ONE_ARRIVAL, RACE_RAW);     /* comes before the second load, and is all the barrier counts */
WRONG_IN(pair, PAIR_NO_BARRIER, PHASE_SKIPPED); /* the second load does not wait until all have seen the first phase */

DEVICE void pair(Shared *s, const Params *p) {
    const int bug = p->bug, phases = bug == RIGHT_PAIR_PHASES || bug == PAIR_NO_BARRIER;
    int thread = (int)threadIdx.x, column = thread % COLS;
    float sum = 0;
    for (int tile = 0; tile < TILES; tile += 2) {
        if (thread == 0) {
            mbarrier_arrive_expect_tx(s->full, BOX_BYTES);
            load(s, p, 0, tile);
        }
        if (thread == 32 && bug == RIGHT_PAIR_COUNT) {
            mbarrier_arrive_expect_tx(s->full, BOX_BYTES);
            load(s, p, 1, tile + 1);
        } else if (thread == 0 && bug == PAIR_ONE_ARRIVAL) {
            mbarrier_wait_parity(s->full, (uint32_t)(tile / 2) & 1);
            mbarrier_arrive_expect_tx(s->full, BOX_BYTES);
            load(s, p, 1, tile + 1);
        }
        mbarrier_wait_parity(s->full, phases ? 0 : (uint32_t)(tile / 2) & 1);
        if (phases) {
            if (bug == RIGHT_PAIR_PHASES) {
                __syncthreads();
            }
            if (thread == 0) {
                mbarrier_arrive_expect_tx(s->full, BOX_BYTES);
                load(s, p, 1, tile + 1);
            }
        }
        sum += column_sum(s->in[0], column);
        if (phases) {
            mbarrier_wait_parity(s->full, 1);
        }
        sum += column_sum(s->in[1], column);
        fence_proxy_async(); /* ordinary reads come before the next loads */
        __syncthreads();
    }
    if (thread < COLS) {
        p->sum[column] = sum;
    }
}

/* A cluster: each CTA loads a quarter of a tile into all, and another tile for itself. */
RIGHT_IN(four, RIGHT_FOUR);
RIGHT_IN(four, RIGHT_FOUR_RELAXED); /* cluster_arrive_relaxed() publishes the barriers: the fence comes before it */
WRONG_IN(four, FOUR_RELAXED_NO_FENCE, BARRIER_INIT_ORDER);
WRONG_IN(four, FOUR_LEAVES_ONE_OUT, DEADLOCK);
WRONG_IN(four, FOUR_ONE_KEEPS, RACE_WAR); /* one of them does not release, and nobody asks it to */

DEVICE void four(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, rank = cluster_cta_rank();
    float sum = 0;
    for (int tile = 0; tile < TILES; tile++) {
        int stage = tile % STAGES;
        uint32_t parity = (uint32_t)(tile / STAGES) & 1;
        MBarrier *full = &s->full[stage];
        if (thread == 0) {
            /* Waits until all four have read what this CTA loads over, here and there. */
            mbarrier_wait_parity(&s->empty[stage], parity ^ 1);
            mbarrier_arrive_expect_tx(full, 2 * BOX_BYTES);
            tma_load_2d(s->own[stage], &p->map_own, 0, rank * ROWS, full);
            tma_load_2d_multicast(&s->in[stage][rank * PART], &p->map_part, 0, tile * ROWS + rank * ROWS / CTAS, full,
                                  bug == FOUR_LEAVES_ONE_OUT ? 7 : 15);
        }
        mbarrier_wait_parity(full, parity);
        sum += column_sum(s->in[stage], thread % COLS) + column_sum(s->own[stage], thread % COLS);
        fence_proxy_async(); /* ordinary reads come before the next loads */
        __syncthreads();
        if (thread < CTAS && !(bug == FOUR_ONE_KEEPS && rank == 3)) {
            mbarrier_arrive_remote(&s->empty[stage], thread);
        }
    }
    if (thread < COLS) {
        p->sum[rank * COLS + thread] = sum;
    }
    cluster_sync(); /* the others still arrive on this CTA's barriers */
}

static __global__ void __launch_bounds__(THREADS) store_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(s->full, STAGES, p.bug == RIGHT_PAIR_COUNT ? 2 : 1);
        mbarrier_init(s->empty, STAGES, p.bug == FOUR_ONE_KEEPS ? CTAS - 1 : CTAS);
        if (p.bug != FOUR_RELAXED_NO_FENCE) {
            mbarrier_init_fence();
        }
    }
    if (p.bug == RIGHT_FOUR_RELAXED || p.bug == FOUR_RELAXED_NO_FENCE) {
        cluster_arrive_relaxed();
        cluster_wait();
    } else {
        cluster_sync();
    }
    p.part(s, &p);
}
KERNEL_ENTRY(store_kernel, Params);

/* 0: C is what was stored, or added up. */
static int check_stores(const bf16 *out, int bug) {
    int wrong = 0;
    for (int i = 0; i < TILES * WARPS * BOX; i++) {
        int tile = i / (WARPS * BOX), warp = i / BOX % WARPS;
        float want = element(tile, warp, i % BOX);
        if (bug == RIGHT_REDUCE) {
            want = 0;
            for (int t = 0; t < TILES && tile == 0; t++) {
                want += element(t, warp, i % BOX);
            }
        }
        wrong |= bf16_to_float(out[i]) != want;
    }
    return wrong;
}

static int check_sums(const float *sum, const bf16 *in, int ctas) {
    int wrong = 0;
    for (int i = 0; i < ctas * COLS; i++) {
        float want = ctas > 1 ? TILES * column_sum(in + i / COLS * BOX, i % COLS) : 0;
        for (int tile = 0; tile < TILES; tile++) {
            want += column_sum(in + tile * BOX, i % COLS);
        }
        wrong |= sum[i] != want;
    }
    return wrong;
}

static int run(const Case *c) {
    enum { OUT_ROWS = TILES * WARPS * ROWS };
    bf16 *in = case_memory(TILES * BOX * sizeof *in, "in");
    bf16 *out = case_memory(OUT_ROWS * COLS * sizeof *out, "out");
    float *sum = case_memory(CTAS * COLS * sizeof *sum, "sum");
    for (int i = 0; i < TILES * BOX; i++) {
        in[i] = float_to_bf16((float)(i % 11 - 5));
    }
    Params p = {.sum = sum, .bug = c->bug, .part = (Part *)c->more};
    int status =
        tensor_map_2d(&p.map_in, "in", in, TILES * ROWS, COLS, COLS, ROWS, COLS, SWIZZLE_NONE, NULL) ||
        tensor_map_2d(&p.map_part, "in", in, TILES * ROWS, COLS, COLS, ROWS / CTAS, COLS, SWIZZLE_NONE, NULL) ||
        tensor_map_2d(&p.map_own, "in", in, TILES * ROWS, COLS, COLS, ROWS, COLS, SWIZZLE_NONE, NULL) ||
        tensor_map_2d(&p.map_out, "out", out, OUT_ROWS, COLS, COLS, ROWS, COLS, SWIZZLE_NONE, NULL);
    int ctas = p.part == four ? CTAS : 1;
    if (status == 0) {
        LaunchShape shape = {.grid = ctas, .block = THREADS, .cluster = ctas, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(store_kernel), shape, &p, NULL, NULL);
    }
    if (status == 0) {
        int stores = p.part == store_by_warps || p.part == store_by_one;
        status = stores ? check_stores(out, p.bug) : check_sums(sum, in, ctas);
    }
    return status;
}
