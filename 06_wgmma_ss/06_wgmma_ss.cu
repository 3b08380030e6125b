/* 06_wgmma_ss - a warpgroup multiplies tiles straight from shared memory, asynchronously.
 *
 * What is new   wgmma: one instruction, issued by the 4 warps of a warpgroup together, multiplies 64 x 16 by 16 x BN
 *               elements. Descriptors say where both are in shared memory (SS), so there are no fragments, and a
 *               thread needs 154 registers instead of 210. The warps go on meanwhile, and wait as they do for copies.
 * What holds it back   No warp has a job of its own: in every k-tile all synchronise, so that one of them may refill
 *               a stage. And while a CTA writes its result, its tensor cores idle.
 * Run           make 06 && ./06_wgmma_ss, here; from the top, make run-06 */
#include "../common/gemm.h"

#include "../common/device/epilogue.h"
#include "../common/device/mbarrier.h"
#include "../common/device/tile_order.h"
#include "../common/device/tma.h"
#include "../common/device/wgmma.h"

enum { BM = 128, BN = 256, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum {
    WARPGROUPS = BM / 64, /* each takes 64 rows */
    THREADS = 128 * WARPGROUPS,
    STEPS = BK / 16,                  /* k16 steps in a k-tile */
    STAGES = 4,                       /* k-tiles that are in shared memory at a time */
    STAGE_BYTES = (BM + BN) * BK * 2, /* bytes that the copies of a k-tile deliver */
    CTAS_PER_SM = 1,                  /* its stages fill the shared memory */
    TILE_GROUP = 8,                   /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(BM % 64 == 0, "a warpgroup takes 64 rows: none may be left over");
static_assert(STAGES >= 2, "a stage is refilled when the products of the next one have been started");

typedef struct {
    bf16 a[STAGES][BM * BK]; /* [BM][BK] each, K-major, 128-byte swizzle */
    bf16 b[STAGES][BN * BK]; /* [BN][BK] each, the same */
    MBarrier full[STAGES];   /* completes a phase when a k-tile has landed */
} Shared;

typedef struct {
    TensorMap map_a; /* box [BM][BK] */
    TensorMap map_b; /* box [BN][BK] */
    Gemm g;
} Params;

/* One thread: start the copy of k-tile number `k_tile` of A and B to its stage. The bytes are those of full boxes, even
 * at the edges, where the copy engine writes zeros. */
DEVICE void load_stage(Shared *s, const Params *p, Tile tile, int k_tile) {
    int stage = k_tile % STAGES;
    /* The one arrival that each phase of full[stage] expects, and the bytes that it waits for. Without the bytes the
     * phase would complete here, before anything has landed. */
    mbarrier_arrive_expect_tx(&s->full[stage], STAGE_BYTES);
    tma_load_2d(s->a[stage], &p->map_a, k_tile * BK, tile.m * BM, &s->full[stage]);
    tma_load_2d(s->b[stage], &p->map_b, k_tile * BK, tile.n * BN, &s->full[stage]);
}

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. Which tile of C, which 64 rows of it. */
    Tile tile = tile_at((int)blockIdx.x, ceil_div(p.g.m, BM), ceil_div(p.g.n, BN), TILE_GROUP);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p.map_a);
        tma_prefetch_map(&p.map_b);
        mbarrier_init(s->full, STAGES, 1);
        mbarrier_init_fence();
    }
    /* All threads wait until the barriers are initialised: before that, a wait may hang or return at once. */
    __syncthreads();

    /* Step 2: prologue. All stages start to fill. */
    int k_tiles = ceil_div(p.g.k, BK);
    float acc[BN / 2]; /* the warpgroup's 64 x BN (wgmma.h says which element is where) */
    if (warp == 0 && elect_one()) {
        for (int k_tile = 0; k_tile < STAGES && k_tile < k_tiles; k_tile++) {
            load_stage(s, &p, tile, k_tile);
        }
    }

    /* Step 3: main loop. */
    int stage = 0;
    uint32_t parity = 0; /* of the phase that fills this lap's stages */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* All threads wait until the bytes of this k-tile have landed. */
        mbarrier_wait_parity(&s->full[stage], parity);
        uint64_t a = wgmma_descriptor(&s->a[stage][warpgroup * 64 * BK]);
        uint64_t b = wgmma_descriptor(s->b[stage]);
        /* Orders the warpgroup's earlier accesses to the accumulators before the wgmmas that follow. */
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) { /* the first product sets acc, the others add to it */
            wgmma_m64n256k16(acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, k_tile + step > 0);
        }
        wgmma_commit_group();
        /* This warpgroup waits until its products of the previous k-tile are complete; those of this one go on. */
        wgmma_wait_group(1);
        if (k_tile > 0 && k_tile - 1 + STAGES < k_tiles) {
            /* All threads wait until all have finished with the previous k-tile; then its stage may be refilled. The
             * tensor cores multiply this k-tile meanwhile. */
            __syncthreads();
            if (warp == 0 && elect_one()) {
                load_stage(s, &p, tile, k_tile - 1 + STAGES);
            }
        }
        stage++;
        if (stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    /* The accumulators may be read when the last products are complete. */
    wgmma_wait_group(0);
    registers_settled(acc, BN / 2);

    /* Step 4: epilogue. Each warp has 16 of the 64 rows. */
    store_warp_rows(&p.g, tile.m * BM + warpgroup * 64 + warp % 4 * 16, tile.n * BN, acc, BN);
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

CHAPTER(06_wgmma_ss, .adds = "wgmma from shared memory, asynchronous math", .needs = NEEDS_SM90A, .launch = launch);
