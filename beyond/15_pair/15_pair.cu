/* 15_pair - two CTAs multiply together, and the hardware hands out the tiles.
 *
 * What is new   Idea 1, a pair: one thread starts products of 256 x 256, which the tensor cores of two SMs compute
 *               together. Each CTA holds 128 rows of A and of the sums, and half of B. A k-tile takes 32 KB of its
 *               shared memory instead of 48 KB in 14, so six stages fit. Idea 2, launch control: the grid has one
 *               cluster per tile, and a running cluster takes over clusters that have not started. No code counts SMs.
 * What holds 14 back   This is not known, because 14 has never run on a Blackwell GPU. Its traffic is high: each CTA
 *                      loads all 256 rows of B for 128 rows of A. If other work occupies some SMs, the tiles of their
 *                      CTAs are finished last.
 * What holds it back   This is not known: the kernel has run only on the CPU model, never on a Blackwell GPU.
 * Run           make 15 && ./15_pair, here; from the top, make run-15 */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/cluster.h"
#include "../../common/device/launch_control.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tcgen05.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"

enum { BM = 128, BN = 256, BK = 64 }; /* a row of a k-tile is 128 bytes; each CTA has BM rows */
enum {
    PAIR = 2,            /* CTAs */
    LEADER = 0,          /* rank of the CTA that multiplies */
    BOTH = 3,            /* a mask of both CTAs */
    BN_HALF = BN / PAIR, /* rows of B in each CTA */
};
enum {
    PRODUCER_WARP,
    MMA_WARP,
    EPILOGUE_WARP,
    EPILOGUE_WARPS = 4,
    SCHEDULER_WARP = EPILOGUE_WARP + EPILOGUE_WARPS,
    WARPS
};
enum {
    THREADS = 32 * WARPS,
    STEPS = BK / 16, /* k16 steps in a k-tile */
    K16_STEP = 2,    /* adds 32 bytes to a descriptor's address */
    STAGES = 6,
    STAGE_BYTES = (BM + BN_HALF) * BK * 2, /* in each CTA */
    ACCUMULATORS = 2,
    COLUMNS = ACCUMULATORS * BN, /* of tensor memory: all columns of an SM */
    ANSWERS = 2,                 /* buffers for answers of launch control */
    /* Threads that read an answer: in both CTAs producer and epilogue, in the leader also MMA thread and scheduler. */
    ANSWER_READERS = PAIR * (1 + 32 * EPILOGUE_WARPS) + 2,
    CTAS_PER_SM = 1,
    TILE_GROUP = 8, /* tile rows visited together (tile_order.h) */
};
enum { PIECE = 64 }; /* a warp of the epilogue loads and stores 32 rows of 64 columns at a time */
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(PIECE * sizeof(bf16) == 128, "the map of C and swizzled_index() take rows of 128 bytes: PIECE is 64");
static_assert(COLUMNS <= 512, "an SM has 512 columns of tensor memory");

typedef struct {
    bf16 a[STAGES][BM * BK]; /* K-major, 128-byte swizzle */
    bf16 b[STAGES][BN_HALF * BK];
    bf16 out[EPILOGUE_WARPS][2][32 * PIECE]; /* 128-byte swizzle */
    MBarrier full[STAGES];                   /* leader only: completes a phase when a k-tile has landed in both CTAs */
    MBarrier empty[STAGES];                  /* completes a phase when the products have read the k-tile */
    MBarrier acc_full[ACCUMULATORS];         /* completes a phase when the sums of a tile are complete */
    MBarrier acc_empty[ACCUMULATORS];        /* leader only: when both epilogues have loaded the sums */
    MBarrier answer_full[ANSWERS];           /* completes a phase when an answer has landed in this CTA */
    MBarrier answer_empty[ANSWERS];          /* leader only: when all readers in both CTAs have read the answer */
    uint4 answer[ANSWERS];                   /* names the cluster whose tile is next */
    uint32_t tensor_memory;                  /* the address of the accumulators, the same in both CTAs */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: fewer stages");

typedef struct {
    TensorMap map_a; /* box [BM][BK] */
    TensorMap map_b; /* box [BN_HALF][BK] */
    TensorMap map_c; /* box [32][PIECE] */
    Gemm g;
} Params;

/* Idea 2. Each role calls this before each tile except its first. It returns 0 if no tile is left. */
DEVICE int next_tile(Shared *s, PipelineState *answers, int *index) {
    int first_cta = 0;
    /* Waits until the answer has landed in this CTA. */
    consumer_wait(s->answer_full, *answers);
    int given = launch_query_cancel(&s->answer[answers->index], &first_cta);
    *index = first_cta / PAIR;
    /* Orders this read before the write of the next answer, which goes through the async proxy. */
    fence_proxy_async();
    /* Every reader arrives at the leader's barrier. Otherwise the next answer could overwrite one not yet read. */
    mbarrier_arrive_remote(&s->answer_empty[answers->index], LEADER);
    pipeline_advance(answers, ANSWERS);
    return given;
}

/* Idea 2. One thread of the leader requests the next tile while the other roles work on theirs. It stops when an answer
 * says that no tile is left. */
DEVICE void schedule(Shared *s, int index, PipelineState answers) {
    PipelineState ask = producer_start_state();
    do {
        /* Waits until all readers have read this buffer's last answer. Otherwise the new one would overwrite it. */
        mbarrier_wait_parity(&s->answer_empty[ask.index], ask.phase);
        for (int cta = 0; cta < PAIR; cta++) {
            /* The answer lands in both CTAs. A CTA in which its bytes are not announced would wait for ever. */
            mbarrier_arrive_expect_tx_remote(&s->answer_full[ask.index], cta, sizeof s->answer[0]);
        }
        launch_try_cancel_multicast(&s->answer[ask.index], &s->answer_full[ask.index]);
        pipeline_advance(&ask, ANSWERS);
    } while (next_tile(s, &answers, &index));
}

/* One thread of each CTA loads. */
DEVICE void produce(Shared *s, const Params *p, int rank, int index, PipelineState answers) {
    int tiles_m = ceil_div(p->g.m, PAIR * BM), tiles_n = ceil_div(p->g.n, BN), k_tiles = ceil_div(p->g.k, BK);
    /* Steps 2 and 3 of the producer: it loads all k-tiles of all tiles, without a break between tiles. */
    PipelineState state = producer_start_state();
    do {
        Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
        for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
            MBarrier *full = &s->full[state.index];
            /* Waits until the products have read this stage. Otherwise the copy would overwrite their operands. */
            mbarrier_wait_parity(&s->empty[state.index], state.phase);
            if (rank == LEADER) {
                /* Announces the bytes of both CTAs. Otherwise the products could begin before all have landed. */
                mbarrier_arrive_expect_tx(full, PAIR * STAGE_BYTES);
            }
            /* The data land in this CTA; their bytes count at the leader's barrier. */
            tma_load_2d_pair(s->a[state.index], &p->map_a, k_tile * BK, (tile.m * PAIR + rank) * BM, full);
            tma_load_2d_pair(s->b[state.index], &p->map_b, k_tile * BK, tile.n * BN + rank * BN_HALF, full);
            pipeline_advance(&state, STAGES);
        }
    } while (next_tile(s, &answers, &index));
    /* Waits until the last stages are free too. Otherwise the CTA could exit before the hardware arrives. */
    producer_tail(s->empty, state, STAGES);
}

/* Idea 1. One thread of the leader starts the products of a tile as its k-tiles land in both CTAs. */
DEVICE void multiply(Shared *s, uint32_t accumulator, int k_tiles, PipelineState *state) {
    const uint32_t shape = tcgen05_shape_f16(1, PAIR * BM, BN, 0, 0);
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed in both CTAs: the other CTA's loads count here too. */
        consumer_wait(s->full, *state);
        uint64_t a = tcgen05_descriptor(s->a[state->index]), b = tcgen05_descriptor(s->b[state->index]);
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            tcgen05_mma_f16_pair(accumulator, a + step * K16_STEP, b + step * K16_STEP, shape, k_tile + step > 0);
        }
        /* The hardware releases the stage in both CTAs when these products are complete; this thread goes on at once.
         * If the mask left out a CTA, the producer of that CTA would wait for ever. */
        tcgen05_commit_pair(&s->empty[state->index], BOTH);
        pipeline_advance(state, STAGES);
    }
}

/* A warp stores PIECE columns of its 32 rows to C, from element (row, col) on. Lane l holds row l. */
DEVICE void store_piece(bf16 *out, const Params *p, const uint32_t *sums, int row, int col) {
    int lane = (int)threadIdx.x % 32;
    if (p->g.n % 8 != 0) { /* a row of C ends inside 16 bytes; TMA would write all 16 and change the padding */
        UNROLL
        for (int i = 0; i < PIECE; i++) {
            if (row + lane < p->g.m && col + i < p->g.n) {
                p->g.c[(size_t)(row + lane) * p->g.ldc + col + i] = float_to_bf16(__uint_as_float(sums[i]));
            }
        }
        return;
    }
    if (lane == 0) {
        /* Waits until the copy engine has read this buffer for the store before the previous one. */
        bulk_wait_group_read(1);
    }
    /* The warp waits for lane 0. After that every lane may write the buffer. */
    __syncwarp();
    UNROLL
    for (int chunk = 0; chunk < PIECE / 8; chunk++) {
        const uint32_t *v = &sums[chunk * 8];
        uint4 packed = {pack_bf16x2(__uint_as_float(v[0]), __uint_as_float(v[1])),
                        pack_bf16x2(__uint_as_float(v[2]), __uint_as_float(v[3])),
                        pack_bf16x2(__uint_as_float(v[4]), __uint_as_float(v[5])),
                        pack_bf16x2(__uint_as_float(v[6]), __uint_as_float(v[7]))};
        *(uint4 *)&out[swizzled_index(lane, chunk)] = packed;
    }
    /* Orders this thread's stores before the copy engine's reads, which go through the async proxy. */
    fence_proxy_async();
    /* Lane 0 waits until all lanes have stored and fenced. Otherwise the copy could read old data. */
    __syncwarp();
    if (lane == 0) {
        tma_store_2d(&p->map_c, out, col, row);
        bulk_commit_group();
    }
}

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. A cluster's first tile is the tile of its own index. */
    int tiles_m = ceil_div(p.g.m, PAIR * BM), tiles_n = ceil_div(p.g.n, BN), k_tiles = ceil_div(p.g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), rank = cluster_cta_rank(), index = (int)blockIdx.x / PAIR;
    PipelineState answers = consumer_start_state();
    if (warp == PRODUCER_WARP && elect_one()) {
        tma_prefetch_map(&p.map_a);
        tma_prefetch_map(&p.map_b);
        tma_prefetch_map(&p.map_c);
        mbarrier_init(s->full, STAGES, 1);                                     /* the leader's arrive.expect_tx */
        mbarrier_init(s->empty, STAGES, 1);                                    /* the commit of the stage's products */
        mbarrier_init(s->acc_full, ACCUMULATORS, 1);                           /* the commit of the tile's products */
        mbarrier_init(s->acc_empty, ACCUMULATORS, PAIR * 32 * EPILOGUE_WARPS); /* the epilogues' threads */
        mbarrier_init(s->answer_full, ANSWERS, 1);                             /* the scheduler's arrive.expect_tx */
        mbarrier_init(s->answer_empty, ANSWERS, ANSWER_READERS);
        mbarrier_init_fence();
    }
    /* Both CTAs wait until both have started and have initialised their barriers. Otherwise an allocation for the pair
     * could precede the other CTA's start, and an arrival could precede its barrier's initialisation. */
    cluster_sync();
    if (warp == MMA_WARP) {
        /* Waits until no other CTA on these SMs holds the columns, such as the last CTA of the previous launch, and
         * until the other CTA of the pair has requested the same number. */
        tcgen05_alloc_pair(&s->tensor_memory, COLUMNS);
        tcgen05_relinquish_pair();
    }
    /* All threads of the CTA wait until the address has been written. */
    __syncthreads();

    if (warp == PRODUCER_WARP) {
        if (elect_one()) {
            produce(s, &p, rank, index, answers);
        }
    } else if (warp == MMA_WARP) {
        if (rank == LEADER && elect_one()) {
            /* Step 3 of the thread that multiplies: main loop. */
            PipelineState state = consumer_start_state(), acc = producer_start_state();
            do {
                /* Waits until both epilogues have loaded the earlier tile's sums from this accumulator. Otherwise the
                 * products would overwrite them. The fence orders the products after those loads. The wait has cluster
                 * scope because half of the arrivals come from the other CTA. */
                mbarrier_wait_parity_cluster(&s->acc_empty[acc.index], acc.phase);
                tcgen05_fence_after();
                multiply(s, s->tensor_memory + acc.index * BN, k_tiles, &state);
                /* The hardware arrives at both epilogues' barriers when all products of the tile are complete. */
                tcgen05_commit_pair(&s->acc_full[acc.index], BOTH);
                pipeline_advance(&acc, ACCUMULATORS);
            } while (next_tile(s, &answers, &index));
        }
    } else if (warp == SCHEDULER_WARP) {
        if (rank == LEADER && elect_one()) {
            schedule(s, index, answers);
        }
    } else {
        /* Step 4: epilogue. A warp can access only 32 lanes of tensor memory, selected by its number modulo 4. These
         * lanes are its rows. */
        const int first_row = warp % 4 * 32, warp_of_four = warp - EPILOGUE_WARP;
        PipelineState acc = consumer_start_state();
        int store = 0;
        do {
            Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
            /* Waits until the tile's products are complete. The fence orders the loads after them. */
            consumer_wait(s->acc_full, acc);
            tcgen05_fence_after();
            uint32_t from = s->tensor_memory + acc.index * BN + ((uint32_t)first_row << 16);
            UNROLL
            for (int piece = 0; piece < BN; piece += PIECE) {
                uint32_t sums[PIECE];
                tcgen05_ld(PIECE, sums, from + piece);
                /* The warp waits until the sums are in its registers. */
                tcgen05_wait_ld();
                if (piece == BN - PIECE) {
                    /* The last sums are in registers, so the accumulator is free while they are stored. Each thread
                     * arrives for its own loads. The fence orders these loads before the next products. */
                    tcgen05_fence_before();
                    mbarrier_arrive_release_cluster(&s->acc_empty[acc.index], LEADER);
                }
                store_piece(s->out[warp_of_four][store % 2], &p, sums, (tile.m * PAIR + rank) * BM + first_row,
                            tile.n * BN + piece);
                store++;
            }
            pipeline_advance(&acc, ACCUMULATORS);
        } while (next_tile(s, &answers, &index));
        if (threadIdx.x % 32 == 0) {
            /* Shared memory must exist until the copy engine has read it; bulk_wait_group_read() would be enough. */
            bulk_wait_group(0);
        }
    }
    /* The lanes of a warp that took different branches reconverge. */
    __syncwarp();
    /* Both CTAs wait until the last sums have been loaded from both tensor memories and no thread will arrive at the
     * other CTA's barriers any more. */
    cluster_sync();
    if (warp == MMA_WARP) {
        tcgen05_dealloc_pair(s->tensor_memory, COLUMNS);
    }
}
KERNEL_ENTRY(gemm_kernel, Params);

static GemmStatus launch(const Gemm *g, GemmError *error) {
    Params p;
    p.g = *g;
    if (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, BM, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_b, "B", g->b, g->n, g->k, g->ldb, BN_HALF, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_c, "C", g->c, g->m, g->n, g->ldc, 32, PIECE, SWIZZLE_128B, error)) {
        return GEMM_DEVICE;
    }
    int tiles = ceil_div(g->m, PAIR * BM) * ceil_div(g->n, BN);
    LaunchShape shape = {.grid = PAIR * tiles, .block = THREADS, .cluster = PAIR, .shared_bytes = sizeof(Shared)};
    return launch_kernel(KERNEL(gemm_kernel), shape, &p, g->stream, error);
}

CHAPTER(15_pair, .adds = "two CTAs multiply together, tiles by launch control (Blackwell)", .needs = NEEDS_SM100A,
        .launch = launch);
