/* 04_regfile_double_buffer - fragments are loaded one step ahead of the math, which makes a larger tile pay off.
 *
 * What is new   Two sets of fragments. While the tensor cores multiply one, ldmatrix fills the other with those of the
 *               next k16 step, across the boundary between k-tiles too, so the wait for the next k-tile comes before
 *               the last step of this one. Copies to shared memory and to registers are now both pipelined.
 * Last step     A tile twice as wide. One CTA of eight warps loads 384 rows of A and B for a k-tile, where two CTAs of
 *               four warps load 512. So a quarter fewer bytes come from L2. Four stages of 48 KB take 192 KB, as much
 *               as two CTAs with three stages of 32 KB each took, but more than one CTA may have on sm_80. Only four
 *               constants change. This pays only now: before steps 1 and 2 the wide tile was slower.
 * What holds it back   Every byte that the tensor cores use is moved by instructions of the same warps: address
 *               arithmetic, cp.async, ldmatrix. And mma.sync itself reaches about two thirds of what the tensor cores
 *               of an SM can do: Hopper's full rate needs wgmma.
 * Run           make 04 && ./04_regfile_double_buffer, here; from the top, make run-04 */
#include "../common/gemm.h"

#include "../common/device/cp_async.h"
#include "../common/device/epilogue.h"
#include "../common/device/mma_sync.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"

enum { BM = 128, BN = 256, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum { WARPS_M = 2, WARPS_N = 4 };
enum { WM = BM / WARPS_M, WN = BN / WARPS_N }; /* warp tile */
enum {
    THREADS = 32 * WARPS_M * WARPS_N,
    STEPS = BK / 16,             /* k16 steps in a k-tile */
    STAGES = 4,                  /* k-tiles that are in shared memory at a time */
    ROWS_PER_PASS = THREADS / 8, /* 8 threads copy a row, 16 bytes each; all threads together copy this many rows */
    CTAS_PER_SM = 1,             /* its stages fill the shared memory */
    TILE_GROUP = 8,              /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "swizzled_index() expects rows of 128 bytes: BK is 64");
static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp loads 16 x 16 fragments and stores 32 columns of C at a time");
static_assert(BM % ROWS_PER_PASS == 0 && BN % ROWS_PER_PASS == 0, "passes copy whole tiles: none may leave rows over");
static_assert(STAGES >= 2, "with one stage nothing can be loaded while it is multiplied");
static_assert(STEPS % 2 == 0, "a k-tile begins with set 0 of the fragments: the previous one must end with set 1");

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
 * copy a row of 128 bytes. Past the last row they copy it again; results computed from it are not stored. With `edge`,
 * columns from k_end on become zeros: otherwise they would be added to every sum. */
DEVICE void load_tile(bf16 *tile, int tile_rows, const bf16 *matrix, int ld, int rows, int k_end, int first_row, int k,
                      int edge) {
    int chunk = (int)threadIdx.x % 8;
    int column = k + chunk * 8;
    int bytes = min_int(16, (k_end - column) * 2); /* the rest of the 16 becomes zeros */
    if (edge && column >= k_end) {
        column = bytes = 0; /* reads nothing, writes 16 zeros */
    }
    int thread_row = recomputed((int)threadIdx.x / 8); /* hidden from the compiler: no address stays in a register */
    UNROLL
    for (int pass = 0; pass < tile_rows / ROWS_PER_PASS; pass++) {
        int row = pass * ROWS_PER_PASS + thread_row;
        uint32_t source_row = (uint32_t)min_int(first_row + row, rows - 1); /* 32 bits: one multiplication is enough */
        const void *source = (const char *)(matrix + column) + (uint64_t)source_row * ((uint32_t)ld * 2);
        if (edge) {
            cp_async_16_zfill(&tile[swizzled_index(row, chunk)], source, bytes);
        } else {
            cp_async_16(&tile[swizzled_index(row, chunk)], source);
        }
    }
}

/* All threads: start the copies for iteration k_tile of the main loop to its stage, if there is such an iteration, and
 * close the group. After the last iteration the group is empty, so that all but the newest STAGES - 2 groups end at the
 * same k-tile. Iteration 0 takes the last columns of A and B, which may end inside 16 bytes: only they need zeros. */
DEVICE void load_stage(Shared *s, const Gemm *p, Tile tile, int k_tile) {
    int k_tiles = ceil_div(p->k, BK), edge = k_tile == 0;
    if (k_tile < k_tiles) {
        int k = (edge ? k_tiles - 1 : k_tile - 1) * BK;
        int stage = k_tile % STAGES;
        load_tile(s->a[stage], BM, p->a, p->lda, p->m, p->k, tile.m * BM, k, edge);
        load_tile(s->b[stage], BN, p->b, p->ldb, p->n, p->k, tile.n * BN, k, edge);
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

    /* Step 2: prologue. All stages but one start to fill; the first fragments are loaded. */
    int k_tiles = ceil_div(p.k, BK);
    float acc[WM / 16][WN / 8][4] = {{{0}}}; /* the warp tile: 16 x 8 blocks, 4 elements of each in a thread */
    Fragments fragments[2];                  /* steps alternate between the two */
    UNROLL
    for (int k_tile = 0; k_tile < STAGES - 1; k_tile++) {
        load_stage(s, &p, tile, k_tile);
    }
    /* Each k-tile's copies are one group (load_stage()). This thread waits until its copies of k-tile 0 have landed: at
     * most the newest STAGES - 2 groups may be unfinished. */
    cp_async_wait_group(STAGES - 2);
    /* All threads wait until everyone's copies have landed. */
    __syncthreads();
    load_fragments(&fragments[0], s->a[0], s->b[0], warp_m, warp_n, 0);

    /* Step 3: main loop. */
    int stage = 0;
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            if (step == STEPS - 1) {
                /* The next fragments are of the next k-tile: waits until this thread's copies of it have landed. */
                cp_async_wait_group(STAGES - 2);
                /* All threads wait until everyone's copies have landed, and until all have loaded the last fragments of
                 * this k-tile: its stage is filled next. */
                __syncthreads();
                stage = (stage + 1) % STAGES;
            }
            if (step < STEPS - 1 || k_tile < k_tiles - 1) {
                /* Loads the set that is not being multiplied. The next step's products wait for these registers. */
                load_fragments(&fragments[(step + 1) % 2], s->a[stage], s->b[stage], warp_m, warp_n,
                               (step + 1) % STEPS);
            }
            if (step == 1) {
                /* Fills the stage of the previous k-tile, which all have read before the barrier in its last step.
                 * Steps 0 and 2 would be correct too: the wait in the last step counts this group. */
                load_stage(s, &p, tile, k_tile + STAGES - 1);
            }
            multiply(acc, &fragments[step % 2]);
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

CHAPTER(04_regfile_double_buffer, .adds = "fragments of the next step loaded during the math of this one",
        .needs = NEEDS_SM90, .launch = launch);
