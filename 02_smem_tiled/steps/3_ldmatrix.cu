/* 02_smem_tiled, step 3 - ldmatrix.
 *
 * What is new   One ldmatrix fills four registers of every lane, where step 2 needed four loads. Lane l supplies the
 *               address of row l % 8 of the 8x8 matrix l / 8, and ldmatrix moves the elements to the lanes in which
 *               mma.sync expects them.
 * What holds it back   Bank conflicts: the eight rows of a matrix begin in the same bank, so ldmatrix reads them one
 *               after the other, as the loads of step 2 did.
 * Run           make run-02 STEP=3, from the top */
#include "../../common/gemm.h"

#include "../../common/device/epilogue.h"
#include "../../common/device/mma_sync.h"

enum { BM = 128, BN = 128, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
enum { WARPS_M = 2, WARPS_N = 2 };
enum { WM = BM / WARPS_M, WN = BN / WARPS_N }; /* warp tile */
enum {
    THREADS = 32 * WARPS_M * WARPS_N,
    ROWS_PER_PASS = THREADS / 8, /* 8 threads copy a row, 16 bytes each; all threads together copy this many rows */
    CTAS_PER_SM = 2,             /* while one waits, the other computes */
};
static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp loads 16 x 16 fragments and stores 32 columns of C at a time");
static_assert(BM % ROWS_PER_PASS == 0 && BN % ROWS_PER_PASS == 0, "passes copy whole tiles: none may leave rows over");

typedef struct {
    bf16 a[BM * BK]; /* [BM][BK], K-major: the elements of a row follow each other along k */
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
        *(uint4 *)&tile[row * BK + chunk * 8] = data;
    }
}

/* A warp: load the fragments of k16 step `step` of the k-tile. For A, the four matrices are rows 0-7 and 8-15 of the
 * left 8 columns, then of the right 8. For B, they are left and right of rows 0-7, then of rows 8-15: the order that
 * each operand's registers need. */
DEVICE void load_fragments(Fragments *f, const bf16 *tile_a, const bf16 *tile_b, int warp_m, int warp_n, int step) {
    int lane = (int)threadIdx.x % 32;
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        int row = warp_m * WM + i * 16 + lane % 16;
        ldmatrix_x4(f->a[i], &tile_a[row * BK + (2 * step + lane / 16) * 8]);
    }
    UNROLL
    for (int j = 0; j < WN / 16; j++) {
        int row = warp_n * WN + j * 16 + lane % 8 + lane / 16 * 8;
        ldmatrix_x4(f->b[j], &tile_b[row * BK + (2 * step + lane / 8 % 2) * 8]);
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
    int tiles_n = ceil_div(p.n, BN);
    int tile_m = (int)blockIdx.x / tiles_n, tile_n = (int)blockIdx.x % tiles_n;
    int warp = (int)threadIdx.x / 32;
    int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;

    /* Step 2: prologue. */
    float acc[WM / 16][WN / 8][4] = {{{0}}}; /* the warp tile: 16 x 8 blocks, 4 elements of each in a thread */
    Fragments fragments;

    /* Step 3: main loop. */
    for (int k = 0; k < p.k; k += BK) {
        /* All loads come before the first store, so that they are in flight together. */
        uint4 chunks_a[BM / ROWS_PER_PASS], chunks_b[BN / ROWS_PER_PASS];
        load_tile(chunks_a, BM, p.a, p.lda, p.m, p.k, tile_m * BM, k);
        load_tile(chunks_b, BN, p.b, p.ldb, p.n, p.k, tile_n * BN, k);
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
        store_warp_rows(&p, tile_m * BM + warp_m * WM + i * 16, tile_n * BN + warp_n * WN, acc[i][0], WN);
    }
}
KERNEL_ENTRY(gemm_kernel, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    int tiles = ceil_div(p->m, BM) * ceil_div(p->n, BN);
    return launch_grid(KERNEL(gemm_kernel), tiles, THREADS, sizeof(Shared), p, p->stream, error);
}

CHAPTER(02_3_ldmatrix, .adds = "ldmatrix", .needs = NEEDS_SM80, .launch = launch);
