/* 14_tcgen05 - chapter 08's problem on Blackwell: one thread multiplies, and the sums are in tensor memory.
 *
 * What is new   Idea 1, one thread starts all products, 128 x 256 at a time, and the hardware itself releases a stage
 *               when they have read it. Idea 2, tensor memory holds two accumulators: while the tensor cores fill one,
 *               four warps load the previous tile's sums from the other. In 08 ping-pong provided this overlap; here
 *               no warps take turns. Idea 3, each thread of the epilogue holds a row of C, so no transposition is
 *               needed, and a warp need not wait for other warps.
 * What holds it back   This is not known: the kernel has run only on the CPU model, never on a Blackwell GPU.
 * Run           make 14 && ./14_tcgen05, here; from the top, make run-14 */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tcgen05.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"

enum { BM = 128, BN = 256, BK = 64 }; /* a row of a k-tile is 128 bytes */
enum { PRODUCER_WARP, MMA_WARP, EPILOGUE_WARP, EPILOGUE_WARPS = 4, WARPS = EPILOGUE_WARP + EPILOGUE_WARPS };
enum {
    THREADS = 32 * WARPS,
    STEPS = BK / 16, /* k16 steps in a k-tile */
    K16_STEP = 2,    /* adds 32 bytes to a descriptor's address */
    STAGES = 4,
    STAGE_BYTES = (BM + BN) * BK * 2,
    ACCUMULATORS = 2,
    COLUMNS = ACCUMULATORS * BN, /* of tensor memory: all columns of an SM */
    CTAS_PER_SM = 1,
    TILE_GROUP = 8, /* tile rows visited together (tile_order.h) */
};
enum { PIECE = 64 }; /* a warp of the epilogue loads and stores 32 rows of 64 columns at a time */
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(PIECE * sizeof(bf16) == 128, "the map of C and swizzled_index() take rows of 128 bytes: PIECE is 64");
static_assert(COLUMNS <= 512, "an SM has 512 columns of tensor memory");

typedef struct {
    bf16 a[STAGES][BM * BK]; /* K-major, 128-byte swizzle */
    bf16 b[STAGES][BN * BK];
    bf16 out[EPILOGUE_WARPS][2][32 * PIECE]; /* 128-byte swizzle */
    MBarrier full[STAGES];                   /* completes a phase when a k-tile has landed */
    MBarrier empty[STAGES];                  /* completes a phase when the products have read the k-tile */
    MBarrier acc_full[ACCUMULATORS];         /* completes a phase when the sums of a tile are complete */
    MBarrier acc_empty[ACCUMULATORS];        /* completes a phase when the epilogue has loaded the sums */
    uint32_t tensor_memory;                  /* the address of the accumulators */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: fewer stages");

typedef struct {
    TensorMap map_a; /* box [BM][BK] */
    TensorMap map_b; /* box [BN][BK] */
    TensorMap map_c; /* box [32][PIECE] */
    Gemm g;
} Params;

/* Idea 1. One thread starts the products of a tile as its k-tiles land. */
DEVICE void multiply(Shared *s, uint32_t accumulator, int k_tiles, PipelineState *state) {
    const uint32_t shape = tcgen05_shape_f16(1, BM, BN, 0, 0);
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed. */
        consumer_wait(s->full, *state);
        uint64_t a = tcgen05_descriptor(s->a[state->index]), b = tcgen05_descriptor(s->b[state->index]);
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            tcgen05_mma_f16(accumulator, a + step * K16_STEP, b + step * K16_STEP, shape, k_tile + step > 0);
        }
        /* The hardware releases the stage when these products are complete; this thread goes on at once. If the thread
         * arrived itself, the producer would overwrite the stage while the tensor cores still read it. */
        tcgen05_commit(&s->empty[state->index]);
        pipeline_advance(state, STAGES);
    }
}

/* Idea 3. A warp stores PIECE columns of its 32 rows to C, from element (row, col) on. Lane l holds row l. */
DEVICE void store_piece(bf16 *out, const Params *p, const uint32_t *sums, int row, int col) {
    int lane = (int)threadIdx.x % 32;
    if (p->g.n % 8 != 0) { /* a row of C ends inside 16 bytes; TMA would write all 16 and change the padding */
        UNROLL
        for (int i = 0; i < PIECE; i++) {
            if (row + lane < p->g.m && col + i < p->g.n) {
                p->g.c[(size_t)(row + lane) * p->g.ldc + col + i] = float_to_bf16(__uint_as_float(sums[i]));
            }
        }
        return;
    }
    if (lane == 0) {
        /* Waits until the copy engine has read this buffer for the store before the previous one. */
        bulk_wait_group_read(1);
    }
    /* The warp waits for lane 0. After that every lane may write the buffer. */
    __syncwarp();
    UNROLL
    for (int chunk = 0; chunk < PIECE / 8; chunk++) {
        const uint32_t *v = &sums[chunk * 8];
        uint4 packed = {pack_bf16x2(__uint_as_float(v[0]), __uint_as_float(v[1])),
                        pack_bf16x2(__uint_as_float(v[2]), __uint_as_float(v[3])),
                        pack_bf16x2(__uint_as_float(v[4]), __uint_as_float(v[5])),
                        pack_bf16x2(__uint_as_float(v[6]), __uint_as_float(v[7]))};
        *(uint4 *)&out[swizzled_index(lane, chunk)] = packed;
    }
    /* Orders this thread's stores before the copy engine's reads, which go through the async proxy. */
    fence_proxy_async();
    /* Lane 0 waits until all lanes have stored and fenced. Otherwise the copy could read old data. */
    __syncwarp();
    if (lane == 0) {
        tma_store_2d(&p->map_c, out, col, row);
        bulk_commit_group();
    }
}

static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) gemm_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. The CTA's tiles are blockIdx.x and every gridDim.x-th tile after it. */
    int tiles_m = ceil_div(p.g.m, BM), tiles_n = ceil_div(p.g.n, BN), k_tiles = ceil_div(p.g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32);
    if (warp == PRODUCER_WARP && elect_one()) {
        tma_prefetch_map(&p.map_a);
        tma_prefetch_map(&p.map_b);
        tma_prefetch_map(&p.map_c);
        mbarrier_init(s->full, STAGES, 1);                              /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, STAGES, 1);                             /* the commit of the stage's products */
        mbarrier_init(s->acc_full, ACCUMULATORS, 1);                    /* the commit of the tile's products */
        mbarrier_init(s->acc_empty, ACCUMULATORS, 32 * EPILOGUE_WARPS); /* the epilogue's threads */
        mbarrier_init_fence();
    }
    if (warp == MMA_WARP) {
        /* Waits until no other CTA on this SM holds the columns, such as the last CTA of the previous launch. */
        tcgen05_alloc(&s->tensor_memory, COLUMNS);
        tcgen05_relinquish();
    }
    /* All threads wait until the barriers are initialised and the address is written. Neither is valid earlier. */
    __syncthreads();

    if (warp == PRODUCER_WARP) {
        if (elect_one()) {
            /* Steps 2 and 3 of the producer: it loads all k-tiles of all tiles, without a break between tiles. */
            PipelineState state = producer_start_state();
            for (int index = (int)blockIdx.x; index < tiles_m * tiles_n; index += (int)gridDim.x) {
                Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
                for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                    /* Waits until the products have read this stage. Otherwise the copy would overwrite operands. */
                    producer_acquire(s->full, s->empty, state, STAGE_BYTES);
                    MBarrier *full = &s->full[state.index];
                    tma_load_2d(s->a[state.index], &p.map_a, k_tile * BK, tile.m * BM, full);
                    tma_load_2d(s->b[state.index], &p.map_b, k_tile * BK, tile.n * BN, full);
                    pipeline_advance(&state, STAGES);
                }
            }
            /* Waits until the last stages are free too. Otherwise the CTA could exit before the hardware arrives. */
            producer_tail(s->empty, state, STAGES);
        }
    } else if (warp == MMA_WARP) {
        if (elect_one()) {
            /* Step 3 of the thread that multiplies: main loop. */
            PipelineState state = consumer_start_state(), acc = producer_start_state();
            for (int index = (int)blockIdx.x; index < tiles_m * tiles_n; index += (int)gridDim.x) {
                /* Idea 2. Waits until the epilogue has loaded the earlier tile's sums from this accumulator. Otherwise
                 * the products would overwrite them. The fence orders the products after those loads. */
                mbarrier_wait_parity(&s->acc_empty[acc.index], acc.phase);
                tcgen05_fence_after();
                multiply(s, s->tensor_memory + acc.index * BN, k_tiles, &state);
                /* The hardware arrives at the epilogue's barrier when all products of the tile are complete. */
                tcgen05_commit(&s->acc_full[acc.index]);
                pipeline_advance(&acc, ACCUMULATORS);
            }
        }
    } else {
        /* Step 4: epilogue. A warp can access only 32 lanes of tensor memory, selected by its number modulo 4. These
         * lanes are its rows. */
        const int first_row = warp % 4 * 32, warp_of_four = warp - EPILOGUE_WARP;
        PipelineState acc = consumer_start_state();
        int store = 0;
        for (int index = (int)blockIdx.x; index < tiles_m * tiles_n; index += (int)gridDim.x) {
            Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
            /* Waits until the tile's products are complete. The fence orders the loads after them. */
            consumer_wait(s->acc_full, acc);
            tcgen05_fence_after();
            uint32_t from = s->tensor_memory + acc.index * BN + ((uint32_t)first_row << 16);
            UNROLL
            for (int piece = 0; piece < BN; piece += PIECE) {
                uint32_t sums[PIECE];
                tcgen05_ld(PIECE, sums, from + piece);
                /* The warp waits until the sums are in its registers. */
                tcgen05_wait_ld();
                if (piece == BN - PIECE) {
                    /* The last sums are in registers, so the accumulator is free while they are stored. Each thread
                     * arrives for its own loads. The fence orders these loads before the next products. */
                    tcgen05_fence_before();
                    mbarrier_arrive(&s->acc_empty[acc.index]);
                }
                store_piece(s->out[warp_of_four][store % 2], &p, sums, tile.m * BM + first_row, tile.n * BN + piece);
                store++;
            }
            pipeline_advance(&acc, ACCUMULATORS);
        }
        if (threadIdx.x % 32 == 0) {
            /* Shared memory must exist until the copy engine has read it; bulk_wait_group_read() would be enough. */
            bulk_wait_group(0);
        }
    }
    /* The lanes of a warp that took different branches reconverge. */
    __syncwarp();
    /* All threads wait until the last sums have been loaded from tensor memory. */
    __syncthreads();
    if (warp == MMA_WARP) {
        tcgen05_dealloc(s->tensor_memory, COLUMNS);
    }
}
KERNEL_ENTRY(gemm_kernel, Params);

static GemmStatus launch(const Gemm *g, GemmError *error) {
    Params p;
    p.g = *g;
    if (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, BM, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_b, "B", g->b, g->n, g->k, g->ldb, BN, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_c, "C", g->c, g->m, g->n, g->ldc, 32, PIECE, SWIZZLE_128B, error)) {
        return GEMM_DEVICE;
    }
    int tiles = ceil_div(g->m, BM) * ceil_div(g->n, BN);
    LaunchShape shape = {.grid = min_int(tiles, g->sm_count), .block = THREADS, .shared_bytes = sizeof(Shared)};
    return launch_kernel(KERNEL(gemm_kernel), shape, &p, g->stream, error);
}

CHAPTER(14_tcgen05, .adds = "one thread multiplies, sums in tensor memory (Blackwell)", .needs = NEEDS_SM100A,
        .launch = launch);
