/* 08_persistent_pingpong, step 2 - ping-pong.
 *
 * What is new   Each consumer computes a tile of its own, and the two take turns: while one multiplies a whole tile,
 *               the other writes its previous one, so the tensor cores work during the epilogue too. A tile of
 *               128 x 256 would need 256 accumulators in each thread, which has 240 registers, so BN is 192. The main
 *               loop moves into multiply_tile(), between taking the turn and passing it on.
 * What holds it back   The epilogue writes C from registers, 64 bytes of a row at a time. It may take longer than the
 *               other consumer's math: then the tensor cores wait for a consumer that is still storing.
 * Run           make run-08 STEP=2, from the top */
#include "../../common/gemm.h"

#include "../../common/device/epilogue.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

enum { BM = 128, BN = 192, BK = 64 };                       /* a consumer's tile; a row of a k-tile is 128 bytes */
enum { PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240 }; /* 168 at launch: 3 * 168 = 24 + 2 * 240 */
enum {
    CONSUMERS = 2, /* warpgroups */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 16,                  /* k16 steps in a k-tile */
    STAGES = 4,                       /* k-tiles that are in shared memory at a time */
    STAGE_BYTES = (BM + BN) * BK * 2, /* bytes that the copies of a k-tile deliver */
    CTAS_PER_SM = 1,                  /* its stages fill the shared memory */
    TILE_GROUP = 8,                   /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(STAGES >= 2, "a stage is released when the products of the next one have been started");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= (1 + CONSUMERS) * (65536 / THREADS / 8 * 8),
              "setmaxnreg moves registers and makes none: together the warpgroups have what they had at launch");

typedef struct {
    bf16 a[STAGES][BM * BK];  /* [BM][BK] each, K-major, 128-byte swizzle */
    bf16 b[STAGES][BN * BK];  /* [BN][BK] each, the same */
    MBarrier full[STAGES];    /* completes a phase when a k-tile has landed */
    MBarrier empty[STAGES];   /* completes a phase when its consumer has finished with it */
    MBarrier turn[CONSUMERS]; /* completes a phase when the other consumer has issued its math */
} Shared;

typedef struct {
    TensorMap map_a; /* box [BM][BK] */
    TensorMap map_b; /* box [BN][BK] */
    Gemm g;
} Params;

/* A consumer warpgroup: multiplies the k-tiles of a tile. Returns the stage of the last one, which the caller releases
 * when its products are complete. */
DEVICE int multiply_tile(Shared *s, float acc[][BN / 2], int k_tiles, PipelineState *state) {
    int thread = (int)threadIdx.x % 128, previous = 0; /* stage of the previous k-tile */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed. */
        consumer_wait(s->full, *state);
        uint64_t a = wgmma_descriptor(s->a[state->index]), b = wgmma_descriptor(s->b[state->index]);
        /* Orders the warpgroup's earlier accesses to the accumulators before the wgmmas that follow. */
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            UNROLL
            for (int block = 0; block < BM / 64; block++) { /* descriptors count in units of 16 bytes */
                wgmma_m64n192k16(acc[block], a + block * (64 * BK * 2 >> 4) + step * WGMMA_K16_STEP,
                                 b + step * WGMMA_K16_STEP, k_tile + step > 0);
            }
        }
        wgmma_commit_group();
        /* Waits until the products of the previous k-tile are complete; those of this one go on. */
        wgmma_wait_group(1);
        if (k_tile > 0 && thread == 0) {
            /* This consumer has finished with the previous stage: a product belongs to all four warps, so one
             * thread knows. If the stage were released before the wait, the producer would overwrite it while
             * wgmmas still read it. */
            consumer_release(s->empty, previous);
        }
        previous = state->index;
        pipeline_advance(state, STAGES);
    }
    return previous;
}

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. Warpgroup 0 produces, the others consume. The CTA's tiles are blockIdx.x and every
     * gridDim.x-th one after it. */
    int tiles_m = ceil_div(p.g.m, BM), tiles_n = ceil_div(p.g.n, BN), k_tiles = ceil_div(p.g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p.map_a);
        tma_prefetch_map(&p.map_b);
        mbarrier_init(s->full, STAGES, 1);      /* one arrival: the producer's arrive.expect_tx */
        mbarrier_init(s->empty, STAGES, 1);     /* one arrival: of a thread of the consumer whose tile it is */
        mbarrier_init(s->turn, CONSUMERS, 128); /* 128 arrivals: of all threads of the other consumer */
        mbarrier_init_fence();
    }
    /* All threads wait until the barriers are initialised: before that, a wait may hang or return at once. */
    __syncthreads();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            /* Steps 2 and 3 of the producer: all k-tiles of all tiles, without a break between tiles. */
            PipelineState state = producer_start_state();
            for (int index = (int)blockIdx.x; index < tiles_m * tiles_n; index += (int)gridDim.x) {
                Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
                for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                    /* Waits until the consumer has finished with this stage, which the copy overwrites. */
                    producer_acquire(s->full, s->empty, state, STAGE_BYTES);
                    MBarrier *full = &s->full[state.index];
                    tma_load_2d(s->a[state.index], &p.map_a, k_tile * BK, tile.m * BM, full);
                    tma_load_2d(s->b[state.index], &p.map_b, k_tile * BK, tile.n * BN, full);
                    pipeline_advance(&state, STAGES);
                }
            }
            /* The producer need not wait for its last loads: the consumers do, and the CTA lives as long as they do. */
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        int consumer = warpgroup - 1;
        int thread = (int)threadIdx.x % 128;
        float acc[BM / 64][BN / 2]; /* 64 x BN each (wgmma.h says which element is where) */
        PipelineState state = consumer_start_state();
        pipeline_advance_by(&state, consumer * k_tiles, STAGES); /* the first tile is consumer 0's */
        /* Parity that this consumer waits for. A fresh barrier counts the phase before its first as complete, so a wait
         * for parity 1 returns at once: consumer 0 begins. */
        uint32_t turn = consumer == 0;
        for (int index = (int)blockIdx.x + consumer * (int)gridDim.x; index < tiles_m * tiles_n;
             index += CONSUMERS * (int)gridDim.x) {
            Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
            /* Waits until the other consumer has issued the math of the previous tile: the tensor cores serve one at a
             * time, and the other's epilogue overlaps this one's math. The skip below needs this wait, too. */
            mbarrier_wait_parity(&s->turn[consumer], turn);
            turn ^= 1;

            /* Step 3 of the consumers: main loop. */
            int previous = multiply_tile(s, acc, k_tiles, &state);
            /* The math of this tile is issued, so the other consumer may issue its own. All 128 threads arrive, not
             * one: with a single k-tile nothing else keeps this consumer's four warps together, and a late warp could
             * miss its turn. */
            mbarrier_arrive(&s->turn[1 - consumer]);
            /* Skips the other consumer's k-tiles. A wait tests only a parity, the same for every second phase, so no
             * skipped phase may still be open at this consumer's next wait. None is: the other consumer waits for all
             * of them before it passes on the turn. */
            pipeline_advance_by(&state, k_tiles, STAGES);
            /* The accumulators may be read when the last products are complete. */
            wgmma_wait_group(0);
            registers_settled(acc[0], BN / 2);
            registers_settled(acc[1], BN / 2);
            if (thread == 0) { /* the last stage must be released too: the producer fills it again for the next tile */
                consumer_release(s->empty, previous);
            }

            /* Step 4: epilogue. */
            UNROLL
            for (int block = 0; block < BM / 64; block++) {
                store_warp_rows(&p.g, tile.m * BM + block * 64 + warp % 4 * 16, tile.n * BN, acc[block], BN);
            }
        }
    }
}
KERNEL_ENTRY(gemm_kernel, Params);

static GemmStatus launch(const Gemm *g, GemmError *error) {
    Params p = {.g = *g};
    if (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, BM, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_b, "B", g->b, g->n, g->k, g->ldb, BN, BK, SWIZZLE_128B, error)) {
        return GEMM_DEVICE;
    }
    int tiles = ceil_div(g->m, BM) * ceil_div(g->n, BN);
    return launch_grid(KERNEL(gemm_kernel), min_int(tiles, g->sm_count), THREADS, sizeof(Shared), &p, g->stream, error);
}

CHAPTER(08_2_ping_pong, .adds = "ping-pong", .needs = NEEDS_SM90A, .launch = launch);
