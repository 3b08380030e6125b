/* 07_warp_specialized - one warpgroup loads, two multiply.
 *
 * What is new   Roles. A producer thread does nothing but start loads; two consumer warpgroups do nothing but multiply.
 *               They synchronise only by mbarriers: full[stage] says that a k-tile has landed, empty[stage] that both
 *               consumers have finished with it. So each role runs as far ahead as the ring allows. setmaxnreg moves
 *               registers from the producer to the consumers, which 08's tiles need; this tile does not.
 * What holds it back   A CTA's tensor cores idle before its first k-tile has landed and while it writes its result.
 * Run           make 07 && ./07_warp_specialized, here; from the top, make run-07 */
#include "../common/gemm.h"

#include "../common/device/epilogue.h"
#include "../common/device/mbarrier.h"
#include "../common/device/pipeline.h"
#include "../common/device/registers.h"
#include "../common/device/tile_order.h"
#include "../common/device/tma.h"
#include "../common/device/wgmma.h"

enum { BM = 128, BN = 256, BK = 64 };                       /* CTA tile; a row of a k-tile is 128 bytes */
enum { PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232 }; /* 168 at launch: 3 * 168 = 40 + 2 * 232 */
enum {
    CONSUMERS = BM / 64, /* warpgroups, each takes 64 rows */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 16,                  /* k16 steps in a k-tile */
    STAGES = 4,                       /* k-tiles that are in shared memory at a time */
    STAGE_BYTES = (BM + BN) * BK * 2, /* bytes that the copies of a k-tile deliver */
    CTAS_PER_SM = 1,                  /* its stages fill the shared memory */
    TILE_GROUP = 8,                   /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(BM % 64 == 0, "a consumer takes 64 rows: none may be left over");
static_assert(STAGES >= 2, "a stage is released when the products of the next one have been started");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= (1 + CONSUMERS) * (65536 / THREADS / 8 * 8),
              "setmaxnreg moves registers and makes none: together the warpgroups have what they had at launch");

typedef struct {
    bf16 a[STAGES][BM * BK]; /* [BM][BK] each, K-major, 128-byte swizzle */
    bf16 b[STAGES][BN * BK]; /* [BN][BK] each, the same */
    MBarrier full[STAGES];   /* completes a phase when a k-tile has landed */
    MBarrier empty[STAGES];  /* completes a phase when all consumers have finished with it */
} Shared;

typedef struct {
    TensorMap map_a; /* box [BM][BK] */
    TensorMap map_b; /* box [BN][BK] */
    Gemm g;
} Params;

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. Which tile of C; warpgroup 0 produces, the others consume. */
    Tile tile = tile_at((int)blockIdx.x, ceil_div(p.g.m, BM), ceil_div(p.g.n, BN), TILE_GROUP);
    int k_tiles = ceil_div(p.g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p.map_a);
        tma_prefetch_map(&p.map_b);
        mbarrier_init(s->full, STAGES, 1);          /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, STAGES, CONSUMERS); /* one thread of each consumer */
        mbarrier_init_fence();
    }
    /* All threads wait until the barriers are initialised: before that, a wait may hang or return at once. */
    __syncthreads();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            /* Steps 2 and 3 of the producer: the prologue is the first lap, in which every stage is free. */
            PipelineState state = producer_start_state();
            for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                /* Waits until both consumers have finished with this stage, which the copy overwrites. */
                producer_acquire(s->full, s->empty, state, STAGE_BYTES);
                MBarrier *full = &s->full[state.index];
                tma_load_2d(s->a[state.index], &p.map_a, k_tile * BK, tile.m * BM, full);
                tma_load_2d(s->b[state.index], &p.map_b, k_tile * BK, tile.n * BN, full);
                pipeline_advance(&state, STAGES);
            }
            /* The producer need not wait for its last loads: the consumers do, and the CTA lives as long as they do. */
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        int consumer = warpgroup - 1;
        int thread = (int)threadIdx.x % 128;
        float acc[BN / 2]; /* the warpgroup's 64 x BN (wgmma.h says which element is where) */

        /* Step 3 of the consumers: main loop. */
        PipelineState state = consumer_start_state();
        int previous = 0; /* stage of the previous k-tile */
        for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
            /* Waits until the bytes of this k-tile have landed. */
            consumer_wait(s->full, state);
            uint64_t a = wgmma_descriptor(&s->a[state.index][consumer * 64 * BK]);
            uint64_t b = wgmma_descriptor(s->b[state.index]);
            /* Orders the warpgroup's earlier accesses to the accumulators before the wgmmas that follow. */
            wgmma_fence();
            UNROLL
            for (int step = 0; step < STEPS; step++) {
                wgmma_m64n256k16(acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, k_tile + step > 0);
            }
            wgmma_commit_group();
            /* Waits until the products of the previous k-tile are complete; those of this one go on. */
            wgmma_wait_group(1);
            if (k_tile > 0 && thread == 0) {
                /* This consumer has finished with the previous stage: a product belongs to all four warps, so one
                 * thread knows. A release before the wait would let a copy overwrite what wgmmas still read. */
                consumer_release(s->empty, previous);
            }
            previous = state.index;
            pipeline_advance(&state, STAGES);
        }
        /* The accumulators may be read when the last products are complete. The last stage need not be released:
         * nothing more will be loaded. */
        wgmma_wait_group(0);
        registers_settled(acc, BN / 2);

        /* Step 4: epilogue. Each warp has 16 of the 64 rows. */
        store_warp_rows(&p.g, tile.m * BM + consumer * 64 + warp % 4 * 16, tile.n * BN, acc, BN);
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
    return launch_grid(KERNEL(gemm_kernel), tiles, THREADS, sizeof(Shared), &p, g->stream, error);
}

CHAPTER(07_warp_specialized, .adds = "producer and consumer warpgroups, full and empty barriers, setmaxnreg",
        .needs = NEEDS_SM90A, .launch = launch);
