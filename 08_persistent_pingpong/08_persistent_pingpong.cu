/* 08_persistent_pingpong - one CTA per SM works through many tiles; one consumer's epilogue overlaps the other's math.
 *
 * What is new   Persistent CTAs: each loops over tiles of C, and its producer fills the ring for the next tile while
 *               the consumers finish this one. Ping-pong: the two consumers take turns; while one multiplies a whole
 *               tile, the other stores its previous one. TMA store: the result leaves through swizzled shared memory.
 * Last step     The width of the tile. The kernel is compiled for three widths, and launch() takes the one whose waves
 *               take the least time. At 8192 x 8192 it chooses 192, as before, so the speed stays. At 4096 x 4096 it
 *               chooses 208: 640 tiles in 5 waves instead of 704 in 6. Most changed lines only replace BN and STAGES
 *               by bn and stages, which are constants in each call, and p. by p->.
 * What holds it back   Power: the SM clock falls under load. What else a library adds is in beyond/09_every_shape.
 * Run           make 08 && ./08_persistent_pingpong, here; from the top, make run-08 */
#include "../common/gemm.h"
#include "../common/variants.h"

#include "../common/device/barrier.h"
#include "../common/device/mbarrier.h"
#include "../common/device/mma_sync.h"
#include "../common/device/pipeline.h"
#include "../common/device/registers.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"
#include "../common/device/tma.h"
#include "../common/device/wgmma.h"

enum { BM = 128, MAX_BN = 208, BK = 64 }; /* a consumer's tile is BM x bn; a row of a k-tile is 128 bytes */
enum { PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240 }; /* 168 at launch: 3 * 168 = 24 + 2 * 240 */
enum {
    CONSUMERS = 2, /* warpgroups */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 16,         /* k16 steps in a k-tile */
    RING_BYTES = 192 * 1024, /* as many stages as fit */
    MAX_STAGES = 6,          /* of the narrowest tile */
    CTAS_PER_SM = 1,         /* its stages fill the shared memory */
    TILE_GROUP = 8,          /* tile rows in a group of tiles (tile_order.h) */
};
enum { PIECE = 64, BOX = 16 }; /* the epilogue stores 64 columns at a time, in boxes of 16, which divide each width */
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(BOX * sizeof(bf16) == 32, "the map of C and swizzle_32b() take rows of 32 bytes: BOX is 16");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= (1 + CONSUMERS) * (65536 / THREADS / 8 * 8),
              "setmaxnreg moves registers and makes none: together the warpgroups have what they had at launch");
static_assert(MAX_BN + 24 <= CONSUMER_REGISTERS, "a thread holds bn accumulators and needs about 24 registers more");

typedef struct {
    bf16 ring[RING_BYTES / 2];                     /* stages of A [BM][BK] and B [bn][BK], K-major, 128-byte swizzle */
    bf16 out[CONSUMERS][2][PIECE / BOX][64 * BOX]; /* two buffers of boxes [64][BOX], 32-byte swizzle */
    MBarrier full[MAX_STAGES];                     /* completes a phase when a k-tile has landed */
    MBarrier empty[MAX_STAGES];                    /* completes a phase when its consumer has finished with it */
    MBarrier turn[CONSUMERS];                      /* completes a phase when the other consumer has issued its math */
} Shared;

typedef struct {
    TensorMap map_a; /* box [BM][BK] */
    TensorMap map_b; /* box [bn][BK] */
    TensorMap map_c; /* box [64][BOX]; without the last n % 8 columns of C */
    Gemm g;
} Params;

/* A consumer warpgroup: store 64 x bn accumulators as the part of C that begins at (row, col), through shared memory.
 * `*store` counts the pieces that this warpgroup has stored; pieces alternate between two buffers. */
DEVICE void store_block(Shared *s, const Params *p, const int bn, const float *acc, int row, int col, int consumer,
                        int *store) {
    int warp = warp_uniform((int)threadIdx.x / 32) % 4, lane = (int)threadIdx.x % 32;
    if (p->g.n % 8 != 0 && col + bn > p->g.n) {
        /* In this tile rows of C end inside 16 bytes, and TMA would write all 16, also into the padding. So map_c
         * leaves out the last n % 8 columns, and each thread stores its elements of them; wgmma.h says which. */
        UNROLL
        for (int v = 0; v < bn / 2; v++) {
            int r = row + warp * 16 + lane / 4 + v / 2 % 2 * 8, c = col + v / 4 * 8 + lane % 4 * 2 + v % 2;
            if (col + v / 4 * 8 == p->g.n / 8 * 8 && r < p->g.m && c < p->g.n) {
                p->g.c[(size_t)r * p->g.ldc + c] = float_to_bf16(acc[v]);
            }
        }
    }
    /* For stmatrix, lane l supplies the address of row l % 8 of matrix l / 8. The matrices are rows 0-7 and 8-15 of the
     * left 8 columns, then of the right 8. in_box is this address within a box, in elements. */
    int in_box = (int)swizzle_32b((uint32_t)((warp * 16 + lane % 16) * BOX * 2 + lane / 16 * 16)) / 2;
    UNROLL
    for (int piece = 0; piece < bn; piece += PIECE) {
        bf16(*out)[64 * BOX] = s->out[consumer][*store % 2];
        const int boxes = min_int(PIECE, bn - piece) / BOX;
        if (warp == 0 && elect_one()) {
            /* Waits until the copy engine has read all groups but the newest: then this buffer is free. */
            bulk_wait_group_read(1);
        }
        /* The warpgroup waits for that thread; then the buffer may be written. Named barrier 0 is __syncthreads(), so
         * the consumers use 1 and 2. */
        named_barrier_sync(1 + consumer, 128);
        UNROLL
        for (int box = 0; box < boxes; box++) {
            const float *v = &acc[(piece + box * BOX) / 2];
            uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                                  pack_bf16x2(v[6], v[7])};
            stmatrix_x4(&out[box][in_box], packed);
        }
        /* The generic proxy (ordinary stores) and the async proxy (copies) are not ordered without this fence. */
        fence_proxy_async();
        /* The warpgroup waits until all its threads have stored and fenced. */
        named_barrier_sync(1 + consumer, 128);
        if (warp == 0 && elect_one() && p->g.n >= 8) { /* the copy engine cuts off what is outside of its map */
            UNROLL
            for (int box = 0; box < boxes; box++) {
                tma_store_2d(&p->map_c, out[box], col + piece + box * BOX, row);
            }
            bulk_commit_group();
        }
        *store += 1;
    }
}

/* A consumer warpgroup: multiplies the k-tiles of a tile. Returns the stage of the last one, which the caller releases
 * when its products are complete. */
DEVICE int multiply_tile(Shared *s, const int bn, float acc[][MAX_BN / 2], int k_tiles, PipelineState *state) {
    const int stage_bytes = (BM + bn) * BK * 2, stages = RING_BYTES / stage_bytes;
    int thread = (int)threadIdx.x % 128, previous = 0; /* stage of the previous k-tile */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed. */
        consumer_wait(s->full, *state);
        const bf16 *stage = &s->ring[state->index * (stage_bytes / 2)];
        uint64_t a = wgmma_descriptor(stage), b = wgmma_descriptor(stage + BM * BK);
        /* Orders the warpgroup's earlier accesses to the accumulators before the wgmmas that follow. */
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            UNROLL
            for (int block = 0; block < BM / 64; block++) { /* descriptors count in units of 16 bytes */
                wgmma_m64k16(bn, acc[block], a + block * (64 * BK * 2 >> 4) + step * WGMMA_K16_STEP,
                             b + step * WGMMA_K16_STEP, k_tile + step > 0);
            }
        }
        wgmma_commit_group();
        /* Waits until the products of the previous k-tile are complete; those of this one go on. */
        wgmma_wait_group(1);
        if (k_tile > 0 && thread == 0) {
            /* This consumer has finished with the previous stage: a product belongs to all four warps, so one
             * thread knows. If the stage were released before the wait, the producer would overwrite it while
             * wgmmas still read it. */
            consumer_release(s->empty, previous);
        }
        previous = state->index;
        pipeline_advance(state, stages);
    }
    return previous;
}

/* The kernel. It is compiled once for each width, since bn is a constant in each call. */
DEVICE void gemm(const Params *p, const int bn) {
    SHARED_MEMORY(Shared, s);
    const int stage_bytes = (BM + bn) * BK * 2, stages = RING_BYTES / stage_bytes; /* how many stages fit */

    /* Step 1: roles and barriers. Warpgroup 0 produces, the others consume. The CTA's tiles are blockIdx.x and every
     * gridDim.x-th one after it. */
    int tiles_m = ceil_div(p->g.m, BM), tiles_n = ceil_div(p->g.n, bn), k_tiles = ceil_div(p->g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p->map_a);
        tma_prefetch_map(&p->map_b);
        tma_prefetch_map(&p->map_c);
        mbarrier_init(s->full, stages, 1);      /* one arrival: the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages, 1);     /* one arrival: of a thread of the consumer whose tile it is */
        mbarrier_init(s->turn, CONSUMERS, 128); /* 128 arrivals: of all threads of the other consumer */
        mbarrier_init_fence();
    }
    /* All threads wait until the barriers are initialised: before that, a wait may hang or return at once. */
    __syncthreads();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            /* Steps 2 and 3 of the producer: all k-tiles of all tiles, without a break between tiles. */
            PipelineState state = producer_start_state();
            for (int index = (int)blockIdx.x; index < tiles_m * tiles_n; index += (int)gridDim.x) {
                Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
                for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                    /* Waits until the consumer has finished with this stage, which the copy overwrites. */
                    producer_acquire(s->full, s->empty, state, stage_bytes);
                    bf16 *a = &s->ring[state.index * (stage_bytes / 2)];
                    MBarrier *full = &s->full[state.index];
                    tma_load_2d(a, &p->map_a, k_tile * BK, tile.m * BM, full);
                    tma_load_2d(a + BM * BK, &p->map_b, k_tile * BK, tile.n * bn, full);
                    pipeline_advance(&state, stages);
                }
            }
            /* The producer need not wait for its last loads: the consumers do, and the CTA lives as long as they do. */
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        int consumer = warpgroup - 1, thread = (int)threadIdx.x % 128;
        float acc[BM / 64][MAX_BN / 2]; /* 64 x bn each (wgmma.h says which element is where) */
        PipelineState state = consumer_start_state();
        pipeline_advance_by(&state, consumer * k_tiles, stages); /* the first tile is consumer 0's */
        /* Parity that this consumer waits for. A fresh barrier counts the phase before its first as complete, so a wait
         * for parity 1 returns at once: consumer 0 begins. */
        uint32_t turn = consumer == 0;
        int store = 0;
        for (int index = (int)blockIdx.x + consumer * (int)gridDim.x; index < tiles_m * tiles_n;
             index += CONSUMERS * (int)gridDim.x) {
            Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
            /* Waits until the other consumer has issued the math of the previous tile: the tensor cores serve one at a
             * time, and the other's epilogue overlaps this one's math. The skip below needs this wait, too. */
            mbarrier_wait_parity(&s->turn[consumer], turn);
            turn ^= 1;

            /* Step 3 of the consumers: main loop. */
            int previous = multiply_tile(s, bn, acc, k_tiles, &state);
            /* The math of this tile is issued, so the other consumer may issue its own. All 128 threads arrive, not
             * one: with a single k-tile nothing else keeps this consumer's four warps together, and a late warp could
             * miss its turn. */
            mbarrier_arrive(&s->turn[1 - consumer]);
            /* Skips the other consumer's k-tiles. A wait tests only a parity, the same for every second phase, so no
             * skipped phase may still be open at this consumer's next wait. None is: the other consumer waits for all
             * of them before it passes on the turn. */
            pipeline_advance_by(&state, k_tiles, stages);
            /* The accumulators may be read when the last products are complete. */
            wgmma_wait_group(0);
            registers_settled(acc[0], bn / 2);
            registers_settled(acc[1], bn / 2);
            if (thread == 0) { /* the last stage must be released too: the producer fills it again for the next tile */
                consumer_release(s->empty, previous);
            }

            /* Step 4: epilogue. */
            UNROLL
            for (int block = 0; block < BM / 64; block++) {
                store_block(s, p, bn, acc[block], tile.m * BM + block * 64, tile.n * bn, consumer, &store);
            }
        }
        if (warp % 4 == 0 && elect_one()) {
            /* Shared memory must live until the copy engine has read it. The wait covers the writes to C, too; for
             * shared memory alone, bulk_wait_group_read() would be enough. */
            bulk_wait_group(0);
        }
    }
}

#define WIDTH_KERNEL(kernel, bn) /* a kernel for one width, with the checks of that width */                   \
    static_assert((bn) % BOX == 0 && (bn) <= MAX_BN, "a tile is whole boxes, and fits into the accumulators"); \
    static_assert(RING_BYTES / ((BM + (bn)) * BK * 2) <= MAX_STAGES, "each stage needs its barriers");         \
    static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) kernel(const __grid_constant__ Params p) {  \
        gemm(&p, bn);                                                                                          \
    }                                                                                                          \
    KERNEL_ENTRY(kernel, Params);
WIDTH_KERNEL(pingpong_128x128, 128)
WIDTH_KERNEL(pingpong_128x192, 192)
WIDTH_KERNEL(pingpong_128x208, 208)

static const Variant widths[] = {
    {VARIANT(pingpong_128x128, .bm = BM, .bn = 128)},
    {VARIANT(pingpong_128x192, .bm = BM, .bn = 192)},
    {VARIANT(pingpong_128x208, .bm = BM, .bn = 208)},
};

static int tile_count(const Variant *v, const Gemm *g) { return ceil_div(g->m, v->bm) * ceil_div(g->n, v->bn); }

/* The time of all waves, in columns of a tile: number of waves x (bn + 20). Loading A's 128 rows takes as long as about
 * 20 columns (measured on an H200). */
static double cost(const Variant *v, const Gemm *g) { return ceil_div(tile_count(v, g), g->sm_count) * (v->bn + 20.0); }

static const Variants variants = VARIANTS("08_persistent_pingpong", widths, cost);

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const Variant *v = choose_variant(&variants, g, error);
    if (v == NULL) {
        return GEMM_USAGE;
    }
    Params p = {.g = *g};
    if (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, BM, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_b, "B", g->b, g->n, g->k, g->ldb, v->bn, BK, SWIZZLE_128B, error) ||
        tensor_map_2d(&p.map_c, "C", g->c, g->m, g->n < 8 ? 8 : g->n / 8 * 8, g->ldc, 64, BOX, SWIZZLE_32B, error)) {
        return GEMM_DEVICE;
    }
    int ctas = min_int(tile_count(v, g), g->sm_count);
    return launch_grid(v->kernel, v->name, ctas, THREADS, sizeof(Shared), &p, g->stream, error);
}

CHAPTER(08_persistent_pingpong, .adds = "persistent CTAs, ping-pong consumers, TMA store", .needs = NEEDS_SM90A,
        .launch = launch, .variants = &variants);
