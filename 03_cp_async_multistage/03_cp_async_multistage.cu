/* 03_cp_async_multistage - loads run ahead of the math in a ring of stages.
 *
 * What is new   cp.async copies from global to shared memory without passing through registers and without waiting.
 *               Shared memory holds STAGES k-tiles: while one is multiplied, the next STAGES - 1 are in flight, which
 *               hides the latency of global memory.
 * What holds it back   Each k16 step still begins with ldmatrix and waits for it, so the latency of shared memory
 *               delays every batch of mma.sync.
 * Run           make 03 && ./03_cp_async_multistage, here; from the top, make run-03 */
#include "../common/gemm.h"

#include "../common/device/cp_async.h"
#include "../common/device/epilogue.h"
#include "../common/device/mma_sync.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"

enum { BM = 128, BN = 128, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum { WARPS_M = 2, WARPS_N = 2 };
enum { WM = BM / WARPS_M, WN = BN / WARPS_N }; /* warp tile */
enum {
    THREADS = 32 * WARPS_M * WARPS_N,
    STAGES = 3,                  /* k-tiles that are in shared memory at a time */
    ROWS_PER_PASS = THREADS / 8, /* 8 threads copy a row, 16 bytes each; all threads together copy this many rows */
    CTAS_PER_SM = 2,             /* while one waits, the other computes */
    TILE_GROUP = 8,              /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "swizzled_index() expects rows of 128 bytes: BK is 64");
static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp loads 16 x 16 fragments and stores 32 columns of C at a time");
static_assert(BM % ROWS_PER_PASS == 0 && BN % ROWS_PER_PASS == 0, "passes copy whole tiles: none may leave rows over");
static_assert(STAGES >= 2, "with one stage nothing can be loaded while it is multiplied");

typedef struct {
    bf16 a[STAGES][BM * BK]; /* [BM][BK] each, K-major, 128-byte swizzle */
    bf16 b[STAGES][BN * BK]; /* [BN][BK] each, the same */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: fewer stages, or CTAs");

/* What a warp multiplies in a k16 step, 16 columns of the k-tile. A fragment is a lane's part of an operand. */
typedef struct {
    uint32_t a[WM / 16][4]; /* 16 x 16 each */
    uint32_t b[WN / 16][4]; /* two 16 x 8 each */
} Fragments;

/* All threads: start the copy of a k-tile of `tile_rows` rows, 16 bytes per thread and pass; 8 neighbouring threads
 * copy a row of 128 bytes. Past the last row they copy it again; results computed from it are not stored. Columns from
 * k_end on become zeros: otherwise they would be added to every sum. */
DEVICE void load_tile(bf16 *tile, int tile_rows, const bf16 *matrix, int ld, int rows, int k_end, int first_row,
                      int k) {
    int chunk = (int)threadIdx.x % 8;
    int column = k + chunk * 8;
    int bytes = min_int(16, (k_end - column) * 2); /* the rest of the 16 becomes zeros */
    if (column >= k_end) {
        column = bytes = 0; /* reads nothing, writes 16 zeros */
    }
    UNROLL
    for (int pass = 0; pass < tile_rows / ROWS_PER_PASS; pass++) {
        int row = pass * ROWS_PER_PASS + (int)threadIdx.x / 8;
        const bf16 *source = matrix + (size_t)min_int(first_row + row, rows - 1) * ld + column;
        cp_async_16_zfill(&tile[swizzled_index(row, chunk)], source, bytes);
    }
}

/* All threads: start the copies of this k-tile to its stage, if there is such a k-tile, and close the group. After
 * the last k-tile the group is empty, so that all but the newest STAGES - 2 groups always end at the same k-tile. */
DEVICE void load_stage(Shared *s, const Gemm *p, Tile tile, int k_tile) {
    int k = k_tile * BK;
    if (k < p->k) {
        int stage = k_tile % STAGES;
        load_tile(s->a[stage], BM, p->a, p->lda, p->m, p->k, tile.m * BM, k);
        load_tile(s->b[stage], BN, p->b, p->ldb, p->n, p->k, tile.n * BN, k);
    }
    cp_async_commit_group();
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

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Gemm p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles. Which tile of C, which part of it. */
    Tile tile = tile_at((int)blockIdx.x, ceil_div(p.m, BM), ceil_div(p.n, BN), TILE_GROUP);
    int warp = (int)threadIdx.x / 32;
    int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;

    /* Step 2: prologue. All stages but one start to fill. */
    int k_tiles = ceil_div(p.k, BK);
    float acc[WM / 16][WN / 8][4] = {{{0}}}; /* the warp tile: 16 x 8 blocks, 4 elements of each in a thread */
    Fragments fragments;
    UNROLL
    for (int k_tile = 0; k_tile < STAGES - 1; k_tile++) {
        load_stage(s, &p, tile, k_tile);
    }

    /* Step 3: main loop. */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until this thread's copies of this k-tile have landed: all but the newest STAGES - 2 groups. */
        cp_async_wait_group(STAGES - 2);
        /* All threads wait for the copies of all, and until all have read the previous k-tile, whose stage is next. */
        __syncthreads();
        load_stage(s, &p, tile, k_tile + STAGES - 1);
        int stage = k_tile % STAGES;
        UNROLL
        for (int step = 0; step < BK / 16; step++) {
            load_fragments(&fragments, s->a[stage], s->b[stage], warp_m, warp_n, step);
            multiply(acc, &fragments);
        }
    }

    /* Step 4: epilogue. */
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        store_warp_rows(&p, tile.m * BM + warp_m * WM + i * 16, tile.n * BN + warp_n * WN, acc[i][0], WN);
    }
}
KERNEL_ENTRY(gemm_kernel, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    int tiles = ceil_div(p->m, BM) * ceil_div(p->n, BN);
    return launch_grid(KERNEL(gemm_kernel), tiles, THREADS, sizeof(Shared), p, p->stream, error);
}

CHAPTER(03_cp_async_multistage, .adds = "cp.async into a ring of stages", .needs = NEEDS_SM80, .launch = launch);
