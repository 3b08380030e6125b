/* 04_regfile_double_buffer - fragments are loaded one step ahead of the math, and that makes a larger tile pay.
 *
 * What is new   Idea 1: two sets of fragments. While the tensor cores multiply one, ldmatrix fills the other with the next
 *               k16 step, across the border between k-tiles too. So the wait for the next k-tile stands before the last
 *               step of this one, and the copies of a later one start in its middle. Global to shared and shared to
 *               registers are now both pipelined.
 *               Idea 2: a tile twice as wide, by one CTA of eight warps instead of two CTAs of four. It loads 384 rows
 *               where two small tiles load 512: a quarter fewer bytes from L2. Without idea 1 it loses: the barrier lines
 *               up all eight warps, and then all of them wait for fragments at once. The README says what each brought.
 * What holds it back   Every byte that the tensor cores use is moved by instructions of the same warps: address
 *               arithmetic, cp.async, ldmatrix. And mma.sync itself reaches about two thirds of what the tensor cores of
 *               an SM can do: Hopper's full rate needs wgmma.
 * Run           make 04 && ./04_regfile_double_buffer, here; from the top, make run-04 */
#include "../common/gemm.h"

#include "../common/device/cp_async.h"
#include "../common/device/epilogue.h"
#include "../common/device/mma_sync.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"

/* Idea 2: 03's tile, warps, stages and CTAs an SM are 128 x 128, 2 x 2, 3 and 2. */
enum { BM = 128, BN = 256, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum { WARPS_M = 2, WARPS_N = 4 };
enum { WM = BM / WARPS_M, WN = BN / WARPS_N }; /* warp tile */
enum {
    THREADS = 32 * WARPS_M * WARPS_N,
    STEPS = BK / 16,             /* k16 steps in a k-tile */
    STAGES = 4,                  /* 192 KB */
    FEW_STAGES = 2,              /* 96 KB, for GPUs whose CTAs may have 99 KB: 8.6, 8.9, 12.0 */
    ROWS_PER_PASS = THREADS / 8, /* tile rows that all threads copy together */
    CTAS_PER_SM = 1,
    TILE_GROUP = 8, /* tile rows walked together (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "swizzled_index() takes rows of 128 bytes for granted: BK is 64");
static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp loads 16 x 16 fragments and stores 32 columns of C at a time");
static_assert(BM % ROWS_PER_PASS == 0 && BN % ROWS_PER_PASS == 0, "passes copy whole tiles: none may leave rows over");
static_assert(ROWS_PER_PASS % 8 == 0, "load_tile() swizzles once for all passes: the pattern repeats every 8 rows");
static_assert(FEW_STAGES >= 2, "with one stage nothing can be loaded while it is multiplied");
static_assert(STEPS % 2 == 0, "a k-tile begins with set 0 of the fragments: the one before must end with set 1");

typedef struct {
    bf16 a[BM * BK]; /* [BM][BK], K-major, 128-byte swizzle */
    bf16 b[BN * BK]; /* [BN][BK], the same */
} Stage;
static_assert(CTAS_PER_SM * (STAGES * sizeof(Stage) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: fewer stages, or CTAs");

/* What a warp multiplies in one k16 step. */
typedef struct {
    uint32_t a[WM / 16][4]; /* 16 x 16 each */
    uint32_t b[WN / 16][4]; /* two 16 x 8 each */
} Fragments;

/* What a thread copies of every k-tile of one matrix: 16 bytes of row `row` and of every ROWS_PER_PASS-th row after it. 8
 * neighbouring threads copy one 128-byte row of the tile. */
typedef struct {
    const bf16 *matrix;
    int row, last_row;  /* rows past the last one repeat it: what is computed from them is not stored */
    uint32_t row_bytes; /* from one row to the next */
} Copies;

DEVICE Copies plan_copies(const bf16 *matrix, int ld, int rows, int first_row) {
    Copies copies = {matrix, first_row + (int)threadIdx.x / 8, rows - 1, (uint32_t)ld * (uint32_t)sizeof(bf16)};
    return copies;
}

/* All threads: start the copy of `tile_rows` rows of the k-tile that begins at column k. With `edge`, columns from k_end on
 * become zeros: they would be added to every sum. */
DEVICE void load_tile(bf16 *tile, int tile_rows, const Copies *copies, int k, int k_end, int edge) {
    int chunk = (int)threadIdx.x % 8;
    int column = k + chunk * 8;
    int bytes = (k_end - column) * (int)sizeof(bf16); /* left in this row */
    const bf16 *first = copies->matrix + (edge && bytes <= 0 ? 0 : column);
    bf16 *target = &tile[swizzled_index((int)threadIdx.x / 8, chunk)];
    int first_row = recomputed(copies->row); /* addresses cost less to compute than to keep */
    UNROLL
    for (int pass = 0; pass < tile_rows / ROWS_PER_PASS; pass++) {
        uint32_t row = (uint32_t)min_int(first_row + pass * ROWS_PER_PASS, copies->last_row);
        const void *source = (const char *)first + (uint64_t)row * copies->row_bytes;
        /* The swizzle repeats every 8 rows, and so does the place in the row. */
        if (edge) {
            cp_async_16_zfill(target + pass * ROWS_PER_PASS * BK, source, bytes < 0 ? 0 : min_int(bytes, 16));
        } else {
            cp_async_16(target + pass * ROWS_PER_PASS * BK, source);
        }
    }
}

/* All threads: start the copy of the k-tile that is multiplied as number `k_tile` into its stage, if there is one: of A, of
 * B, or of both. After B, close the group. Past the end the group is empty: so that the newest stages - 2 groups always
 * mean the same tiles. The last columns of A and B, whose tile may hang over the edge, go first: all other copies need no
 * test. Idea 1 starts the copies of A and of B in different steps. */
typedef enum { LOAD_A = 1, LOAD_B = 2, LOAD_BOTH = LOAD_A | LOAD_B } Operands;

DEVICE void load_stage(Stage *s, const Copies *a, const Copies *b, int k_end, int k_tile, int k_tiles, const int stages,
                       const Operands operands) {
    if (k_tile < k_tiles) {
        int edge = k_tile == 0;
        int k = edge ? (k_tiles - 1) * BK : (k_tile - 1) * BK;
        int stage = k_tile % stages;
        if (operands & LOAD_A) {
            load_tile(s[stage].a, BM, a, k, k_end, edge);
        }
        if (operands & LOAD_B) {
            load_tile(s[stage].b, BN, b, k, k_end, edge);
        }
    }
    if (operands & LOAD_B) {
        cp_async_commit_group();
    }
}

/* A warp: load the fragments of k16 step `step` of the k-tile. The swizzle puts the 8 rows of each 8x8 matrix into 8
 * different 16-byte columns, so ldmatrix meets no bank conflict. */
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

/* This thread waits until only the newest stages - 2 groups may still be on their way. */
DEVICE void wait_for_oldest_copies(const int stages) {
    if (stages == STAGES) { /* the instruction takes a literal */
        cp_async_wait_group(STAGES - 2);
    } else {
        cp_async_wait_group(FEW_STAGES - 2);
    }
}

/* The kernel. Compiled once for each number of stages, which is a constant where it is called. */
DEVICE void gemm(Gemm p, const int stages) {
    SHARED_MEMORY(Stage, s); /* stages of them */

    /* Step 1: roles. Which tile of C, which part of it. */
    Tile tile = tile_at((int)blockIdx.x, ceil_div(p.m, BM), ceil_div(p.n, BN), TILE_GROUP);
    int warp = (int)threadIdx.x / 32;
    int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;

    Copies a = plan_copies(p.a, p.lda, p.m, tile.m * BM), b = plan_copies(p.b, p.ldb, p.n, tile.n * BN);

    /* Step 2: prologue. All stages but one start to fill; the first fragments are loaded. */
    int k_tiles = ceil_div(p.k, BK);
    float acc[WM / 16][WN / 8][4] = {{{0}}}; /* the warp tile: 16 x 8 blocks, 4 elements of each in a thread */
    Fragments fragments[2];                  /* idea 1: steps alternate between the two */
    UNROLL
    for (int k_tile = 0; k_tile < stages - 1; k_tile++) {
        load_stage(s, &a, &b, p.k, k_tile, k_tiles, stages, LOAD_BOTH);
    }
    wait_for_oldest_copies(stages);
    /* All wait for the copies of all: k-tile 0 is there. */
    __syncthreads();
    load_fragments(&fragments[0], s[0].a, s[0].b, warp_m, warp_n, 0);

    /* Step 3: main loop. */
    int stage = 0;
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            if (step == STEPS - 1) {
                /* Idea 1 moves the wait to here. The next fragments are those of the next k-tile: only the newest
                 * stages - 2 groups may still be on their way. */
                wait_for_oldest_copies(stages);
                /* All wait for the copies of all; and until all have read the last fragments of this k-tile, whose
                 * stage is filled next. */
                __syncthreads();
                stage = (stage + 1) % stages;
            }
            if (step < STEPS - 1 || k_tile < k_tiles - 1) {
                /* Idea 1: into the set that is not multiplied now. mma.sync waits for these registers, a step later. */
                load_fragments(&fragments[(step + 1) % 2], s[stage].a, s[stage].b, warp_m, warp_n, (step + 1) % STEPS);
            }
            if (step == 1 || step == 2) {
                /* Into the stage of the previous k-tile, which all have read: they met in its last step. In two parts in
                 * the middle of this one: ldmatrix would queue behind a burst of copies. */
                load_stage(s, &a, &b, p.k, k_tile + stages - 1, k_tiles, stages, step == 1 ? LOAD_A : LOAD_B);
            }
            multiply(acc, &fragments[step % 2]);
        }
    }

    /* Step 4: epilogue. */
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        store_warp_rows(p.c, p.ldc, p.m, p.n, tile.m * BM + warp_m * WM + i * 16, tile.n * BN + warp_n * WN, acc[i][0],
                        WN);
    }
}

#define STAGES_KERNEL(kernel, stages)                                                                       \
    static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) kernel(const __grid_constant__ Gemm p) { \
        gemm(p, stages);                                                                                    \
    }                                                                                                       \
    KERNEL_ENTRY(kernel, Gemm);
STAGES_KERNEL(gemm_kernel, STAGES)
STAGES_KERNEL(gemm_few_stages, FEW_STAGES)

static GemmStatus launch(const Gemm *p, GemmError *error) {
    int stages = p->shared_bytes < STAGES * (int)sizeof(Stage) ? FEW_STAGES : STAGES;
    LaunchShape shape = {
        .grid = ceil_div(p->m, BM) * ceil_div(p->n, BN), .block = THREADS, .shared_bytes = stages * (int)sizeof(Stage)};
    return stages == STAGES ? launch_kernel(KERNEL(gemm_kernel), shape, p, p->stream, error)
                            : launch_kernel(KERNEL(gemm_few_stages), shape, p, p->stream, error);
}

CHAPTER(04_regfile_double_buffer, .adds = "fragments of the next step loaded during the math of this one",
        .needs = NEEDS_SM80, .launch = launch);
