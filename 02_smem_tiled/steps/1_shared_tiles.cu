/* 02_smem_tiled, step 1 - tiles in shared memory.
 *
 * What is new   The CTA copies a k-tile, 64 columns of 128 rows of A and of B, into shared memory once, and all its
 *               threads read it there. A thread computes 8 x 8 elements of C, so it uses each element that it reads
 *               there 8 times.
 * What holds it back   All rows of a k-tile begin in the same bank, so reads of several rows have bank conflicts. And
 *               the fp32 units do 256 FLOP per clock and SM, a sixteenth of what the tensor cores can do.
 * Run           make run-02 STEP=1, from the top */
#include "../../common/gemm.h"

enum { BM = 128, BN = 128, BK = 64 }; /* CTA tile; a row of a k-tile is 128 bytes */
/* DOWN x ACROSS threads compute TM x TN elements each. A thread's elements are DOWN rows and ACROSS columns apart, so
 * that neighbouring threads compute neighbouring columns, as in chapter 01. */
enum { TM = 8, TN = 8 };
enum { DOWN = BM / TM, ACROSS = BN / TN };
enum {
    THREADS = DOWN * ACROSS,
    ROWS_PER_PASS = THREADS / 8, /* 8 threads copy a row, 16 bytes each; all threads together copy this many rows */
};
static_assert(BM % ROWS_PER_PASS == 0 && BN % ROWS_PER_PASS == 0, "passes copy whole tiles: none may leave rows over");

typedef struct {
    bf16 a[BM * BK]; /* [BM][BK], K-major: the elements of a row follow each other along k */
    bf16 b[BN * BK]; /* [BN][BK], the same */
} Shared;

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

static __global__ void __launch_bounds__(THREADS) gemm_kernel(const __grid_constant__ Gemm p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles. Which tile of C, which elements of it. */
    int tiles_n = ceil_div(p.n, BN);
    int tile_m = (int)blockIdx.x / tiles_n, tile_n = (int)blockIdx.x % tiles_n;
    int row = (int)threadIdx.x / ACROSS, col = (int)threadIdx.x % ACROSS;

    /* Step 2: prologue. */
    float acc[TM][TN] = {{0}};

    /* Step 3: main loop. */
    for (int k = 0; k < p.k; k += BK) {
        /* All loads come before the first store, so that they are in flight together. */
        uint4 chunks_a[BM / ROWS_PER_PASS], chunks_b[BN / ROWS_PER_PASS];
        load_tile(chunks_a, BM, p.a, p.lda, p.m, p.k, tile_m * BM, k);
        load_tile(chunks_b, BN, p.b, p.ldb, p.n, p.k, tile_n * BN, k);
        store_tile(s->a, BM, chunks_a, p.k, k);
        store_tile(s->b, BN, chunks_b, p.k, k);
        /* All threads wait until all have stored: a thread reads what other threads have loaded. */
        __syncthreads();
        for (int in_tile = 0; in_tile < BK; in_tile++) {
            float a[TM], b[TN];
            UNROLL
            for (int i = 0; i < TM; i++) {
                a[i] = bf16_to_float(s->a[(row + i * DOWN) * BK + in_tile]);
            }
            UNROLL
            for (int j = 0; j < TN; j++) {
                b[j] = bf16_to_float(s->b[(col + j * ACROSS) * BK + in_tile]);
            }
            UNROLL
            for (int i = 0; i < TM; i++) {
                UNROLL
                for (int j = 0; j < TN; j++) {
                    acc[i][j] += a[i] * b[j];
                }
            }
        }
        /* All threads wait until all have read: the next stores overwrite the tile. */
        __syncthreads();
    }

    /* Step 4: epilogue. */
    UNROLL
    for (int e = 0; e < TM * TN; e++) {
        int c_row = tile_m * BM + row + e / TN * DOWN, c_col = tile_n * BN + col + e % TN * ACROSS;
        if (c_row < p.m && c_col < p.n) {
            p.c[(size_t)c_row * p.ldc + c_col] = float_to_bf16(acc[e / TN][e % TN]);
        }
    }
}
KERNEL_ENTRY(gemm_kernel, Gemm);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    int tiles = ceil_div(p->m, BM) * ceil_div(p->n, BN);
    return launch_grid(KERNEL(gemm_kernel), tiles, THREADS, sizeof(Shared), p, p->stream, error);
}

CHAPTER(02_1_shared_tiles, .adds = "tiles in shared memory", .needs = NEEDS_SM80, .launch = launch);
