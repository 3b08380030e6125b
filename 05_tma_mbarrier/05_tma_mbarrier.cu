/* 05_tma_mbarrier - one thread asks the copy engine for whole tiles.
 *
 * What is new   A tensor map describes each matrix. One thread starts the copy of a box of it into shared memory; the
 *               copy engine (TMA) computes the addresses, applies the swizzle and fills the edges with zeros. An
 *               mbarrier in shared memory counts the bytes that land; the warps wait for its phase.
 * What holds it back   The copies cost no instructions any more, but the fragments still do, and mma.sync still reaches
 *               about two thirds of the tensor cores' rate. And all warps still synchronise in every k-tile.
 * Run           make 05 && ./05_tma_mbarrier, here; from the top, make run-05 */
#include "../common/gemm.h"

#include "../common/device/epilogue.h"
#include "../common/device/mbarrier.h"
#include "../common/device/mma_sync.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"
#include "../common/device/tma.h"

enum { BM = 128, BN = 256, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum { WARPS_M = 2, WARPS_N = 4 };
enum { WM = BM / WARPS_M, WN = BN / WARPS_N }; /* warp tile */
enum {
    THREADS = 32 * WARPS_M * WARPS_N,
    STEPS = BK / 16,                  /* k16 steps in a k-tile */
    STAGES = 4,                       /* k-tiles that are in shared memory at a time */
    STAGE_BYTES = (BM + BN) * BK * 2, /* bytes that the copies of a k-tile deliver */
    CTAS_PER_SM = 1,                  /* its stages fill the shared memory */
    TILE_GROUP = 8,                   /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "swizzled_index() expects rows of 128 bytes: BK is 64");
static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp loads 16 x 16 fragments and stores 32 columns of C at a time");
static_assert(STAGES >= 2, "with one stage nothing can be loaded while it is multiplied");
static_assert(STEPS % 2 == 0, "a k-tile begins with set 0 of the fragments: the previous one must end with set 1");

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

/* What a warp multiplies in one k16 step. */
typedef struct {
    uint32_t a[WM / 16][4]; /* 16 x 16 each */
    uint32_t b[WN / 16][4]; /* two 16 x 8 each */
} Fragments;

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

/* A warp: load the fragments of k16 step `step` of the k-tile. The swizzle puts the 8 rows of each 8x8 matrix into 8
 * different 16-byte columns, so ldmatrix has no bank conflicts. A's matrices go down the rows first, B's along k. */
DEVICE void load_fragments(Fragments *f, const bf16 *tile_a, const bf16 *tile_b, int warp_m, int warp_n, int step) {
    int lane = (int)threadIdx.x % 32;
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        int row = warp_m * WM + i * 16 + lane % 16;
        ldmatrix_x4(f->a[i], &tile_a[swizzled_index(row, 2 * step + lane / 16)]);
    }
    UNROLL
    for (int j = 0; j < WN / 16; j++) {
        int row = warp_n * WN + j * 16 + lane % 8 + lane / 16 * 8;
        ldmatrix_x4(f->b[j], &tile_b[swizzled_index(row, 2 * step + lane / 8 % 2)]);
    }
}

DEVICE void multiply(float acc[WM / 16][WN / 8][4], const Fragments *f) {
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        UNROLL
        for (int j = 0; j < WN / 8; j++) {
            mma_m16n8k16(acc[i][j], f->a[i], &f->b[j / 2][j % 2 * 2]);
        }
    }
}

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. Which tile of C, which part of it. */
    Tile tile = tile_at((int)blockIdx.x, ceil_div(p.g.m, BM), ceil_div(p.g.n, BN), TILE_GROUP);
    int warp = warp_uniform((int)threadIdx.x / 32); /* the compiler now knows that it is one number per warp */
    int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    if (warp == 0 && elect_one()) { /* one thread of the warp, the same one every time */
        tma_prefetch_map(&p.map_a);
        tma_prefetch_map(&p.map_b);
        mbarrier_init(s->full, STAGES, 1);
        mbarrier_init_fence();
    }
    /* All threads wait until the barriers are initialised: before that, a wait may hang or return at once. */
    __syncthreads();

    /* Step 2: prologue. All stages but one start to fill; the first fragments are loaded. */
    int k_tiles = ceil_div(p.g.k, BK);
    float acc[WM / 16][WN / 8][4] = {{{0}}}; /* the warp tile: 16 x 8 blocks, 4 elements of each in a thread */
    Fragments fragments[2];                  /* steps alternate between the two */
    if (warp == 0 && elect_one()) {
        for (int k_tile = 0; k_tile < STAGES - 1 && k_tile < k_tiles; k_tile++) {
            load_stage(s, &p, tile, k_tile);
        }
    }
    /* All threads wait until k-tile 0 has landed: phase 0 of stage 0. */
    mbarrier_wait_parity(&s->full[0], 0);
    load_fragments(&fragments[0], s->a[0], s->b[0], warp_m, warp_n, 0);

    /* Step 3: main loop. */
    int stage = 0;       /* of the k-tile whose fragments are loaded */
    uint32_t parity = 0; /* of the phase in which it landed; flips with every lap around the ring */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            if (step == STEPS - 1 && k_tile < k_tiles - 1) {
                /* This thread has read this k-tile through the generic proxy; the copy engine will overwrite it through
                 * the async proxy. Without the fence the two are not ordered. */
                fence_proxy_async();
                /* All threads wait until all have read the last fragments of this k-tile: its stage is filled next. */
                __syncthreads();
                stage++;
                if (stage == STAGES) {
                    stage = 0;
                    parity ^= 1;
                }
                /* All threads wait until the bytes of the next k-tile have landed. */
                mbarrier_wait_parity(&s->full[stage], parity);
            }
            if (step < STEPS - 1 || k_tile < k_tiles - 1) {
                load_fragments(&fragments[(step + 1) % 2], s->a[stage], s->b[stage], warp_m, warp_n,
                               (step + 1) % STEPS);
            }
            if (step == 2 && k_tile + STAGES - 1 < k_tiles && warp == 0 && elect_one()) {
                /* Fills the stage of the previous k-tile, which all have read before the barrier above. This is in the
                 * middle of the k-tile, since right after the barrier it would be slower (notes.md). */
                load_stage(s, &p, tile, k_tile + STAGES - 1);
            }
            multiply(acc, &fragments[step % 2]);
        }
    }

    /* Step 4: epilogue. */
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        store_warp_rows(&p.g, tile.m * BM + warp_m * WM + i * 16, tile.n * BN + warp_n * WN, acc[i][0], WN);
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

CHAPTER(05_tma_mbarrier, .adds = "TMA loads by one thread, completion counted by an mbarrier", .needs = NEEDS_SM90,
        .launch = launch);
