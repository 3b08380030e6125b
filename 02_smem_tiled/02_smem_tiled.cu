/* 02_smem_tiled - tiles in shared memory, multiplied by the tensor cores.
 *
 * What is new   Three levels of tiles. The CTA tile (BM x BN of C): a k-tile of A and B is loaded once into shared
 *               memory and used by all warps. The warp tile (WM x WN): a warp loads fragments of it into registers
 *               (ldmatrix) and uses each several times. The instruction tile (16 x 8 x 16): mma.sync, on tensor cores.
 * Last step     The order of tiles. CTAs take the tiles of C in groups of 8 tile rows, column by column within a group,
 *               so those that run together share rows of A and of B. Shared rows come from L2 instead of DRAM.
 * What holds it back   A CTA loads, waits, computes and waits: while it loads, its tensor cores idle, and while they
 *               work, it loads nothing. Only a second CTA on the same SM fills some of the gaps.
 * Run           make 02 && ./02_smem_tiled, here; from the top, make run-02 */
#include "../common/gemm.h"

#include "../common/device/epilogue.h"
#include "../common/device/mma_sync.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"

enum { BM = 128, BN = 128, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum { WARPS_M = 2, WARPS_N = 2 };
enum { WM = BM / WARPS_M, WN = BN / WARPS_N }; /* warp tile */
enum {
    THREADS = 32 * WARPS_M * WARPS_N,
    ROWS_PER_PASS = THREADS / 8, /* 8 threads copy a row, 16 bytes each; all threads together copy this many rows */
    CTAS_PER_SM = 2,             /* while one waits, the other computes */
    TILE_GROUP = 8,              /* tile rows in a group of tiles (tile_order.h) */
};
static_assert(BK * sizeof(bf16) == 128, "swizzled_index() expects rows of 128 bytes: BK is 64");
static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp loads 16 x 16 fragments and stores 32 columns of C at a time");
static_assert(BM % ROWS_PER_PASS == 0 && BN % ROWS_PER_PASS == 0, "passes copy whole tiles: none may leave rows over");

typedef struct {
    bf16 a[BM * BK]; /* [BM][BK], K-major, 128-byte swizzle */
    bf16 b[BN * BK]; /* [BN][BK], the same */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: a smaller tile or 1 CTA");

/* What a warp multiplies in a k16 step, 16 columns of the k-tile. A fragment is a lane's part of an operand. */
typedef struct {
    uint32_t a[WM / 16][4]; /* 16 x 16 each */
    uint32_t b[WN / 16][4]; /* two 16 x 8 each */
} Fragments;

/* All threads: load a k-tile of `tile_rows` rows into registers, 16 bytes per thread and pass; 8 neighbouring threads
 * read a row of 128 bytes. Past the matrix's last row they read that row; results computed from it are not stored. */
DEVICE void load_tile(uint4 *chunks, int tile_rows, const bf16 *matrix, int ld, int rows, int k_end, int first_row,
                      int k) {
    int column = k + (int)threadIdx.x % 8 * 8;
    if (column >= k_end) {
        column = 0; /* the chunk is outside the matrix: store_tile() writes zeros */
    }
    UNROLL
    for (int pass = 0; pass < tile_rows / ROWS_PER_PASS; pass++) {
        int row = min_int(first_row + pass * ROWS_PER_PASS + (int)threadIdx.x / 8, rows - 1);
        chunks[pass] = *(const uint4 *)(matrix + (size_t)row * ld + column);
    }
}

/* A mask that keeps the first `valid` of two elements. */
DEVICE uint32_t keep_mask(int valid) { return valid >= 2 ? 0xffffffff : valid == 1 ? 0x0000ffff : 0; }

/* All threads: write what load_tile() has read into shared memory, with zeros past the end of a row. */
DEVICE void store_tile(bf16 *tile, int tile_rows, const uint4 *chunks, int k_end, int k) {
    int chunk = (int)threadIdx.x % 8;
    int valid = k_end - (k + chunk * 8); /* elements inside the matrix, 8 or more except at its edge */
    uint4 keep = {keep_mask(valid), keep_mask(valid - 2), keep_mask(valid - 4), keep_mask(valid - 6)};
    UNROLL
    for (int pass = 0; pass < tile_rows / ROWS_PER_PASS; pass++) {
        int row = pass * ROWS_PER_PASS + (int)threadIdx.x / 8;
        uint4 data = {chunks[pass].x & keep.x, chunks[pass].y & keep.y, chunks[pass].z & keep.z,
                      chunks[pass].w & keep.w};
        *(uint4 *)&tile[swizzled_index(row, chunk)] = data; /* load_fragments() must use the same index */
    }
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

    /* Step 2: prologue. */
    float acc[WM / 16][WN / 8][4] = {{{0}}}; /* the warp tile: 16 x 8 blocks, 4 elements of each in a thread */
    Fragments fragments;

    /* Step 3: main loop. */
    for (int k = 0; k < p.k; k += BK) {
        /* All loads come before the first store, so that they are in flight together. */
        uint4 chunks_a[BM / ROWS_PER_PASS], chunks_b[BN / ROWS_PER_PASS];
        load_tile(chunks_a, BM, p.a, p.lda, p.m, p.k, tile.m * BM, k);
        load_tile(chunks_b, BN, p.b, p.ldb, p.n, p.k, tile.n * BN, k);
        store_tile(s->a, BM, chunks_a, p.k, k);
        store_tile(s->b, BN, chunks_b, p.k, k);
        /* All threads wait until all have stored: a warp reads what other warps have loaded. */
        __syncthreads();
        UNROLL
        for (int step = 0; step < BK / 16; step++) {
            load_fragments(&fragments, s->a, s->b, warp_m, warp_n, step);
            multiply(acc, &fragments);
        }
        /* All threads wait until all have read: the next stores overwrite the tile. */
        __syncthreads();
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

CHAPTER(02_smem_tiled, .adds = "tiles in shared memory, ldmatrix and mma.sync", .needs = NEEDS_SM80, .launch = launch);
