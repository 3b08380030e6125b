/* 10_fp8 - 8-bit operands with scales for blocks, and sums on two levels.
 *
 *     C[m][n] = sum over k of A[m][k] * scale_a(m, k / 128) * B[n][k] * scale_b(n / 128, k / 128)
 *
 * What is new   e4m3 operands: half of bf16's bytes, and twice the products in the same time. Scales come with each
 *               k-tile, counted by the same barrier. The tensor cores add up only 128 steps of k: they keep about 14
 *               bits of a sum. Then the consumer multiplies by the scales and adds to sums in fp32, which is called
 *               promotion; meanwhile the other consumer's products run. Each warp stores its own 16 rows.
 * What holds it back   The cycles between a wait and the next products, in which a consumer promotes.
 * Run           make 10 && ./10_fp8, here; from the top, make run-10 */
#include "../../common/gemm.h"
#include "../../common/variants.h"

#include "../../common/device/cluster.h"
#include "../../common/device/epilogue.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

enum { BK = SCALE_K }; /* a k-tile is 128 wide: a row of it is 128 bytes, and has one scale */
enum { PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240 }; /* 168 at launch: 3 * 168 = 24 + 2 * 240 */
enum {
    CONSUMERS = 2, /* warpgroups */
    WARPS = 4,     /* of a consumer */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 32,         /* k32 steps in a k-tile */
    RING_BYTES = 208 * 1024, /* as many stages as fit before the tile of C */
    MAX_STAGES = 8,
    CTAS_PER_SM = 1,
    MAX_BM = 256,
    MAX_WIDTH = 192, /* of a product */
    MAX_BLOCKS = 2,  /* of 128 rows of B that a tile can touch */
    BOX_K = 4,       /* a copy has at least 16 bytes: a block's scales for 4 k-tiles */
    BOX_N = 64,      /* C is stored in boxes of 16 rows x 64 columns */
};
static_assert(BK * sizeof(e4m3) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 128");
static_assert(BOX_N * sizeof(bf16) == 128, "the map of C and swizzled_index() take rows of 128 bytes: BOX_N is 64");
static_assert(BOX_K * sizeof(float) == 16, "TMA copies rows of at least 16 bytes, and no more are needed");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= (1 + CONSUMERS) * (65536 / THREADS / 8 * 8),
              "setmaxnreg moves registers and makes none: together the warpgroups have what they had at launch");

typedef struct {
    e4m3
        ring[RING_BYTES]; /* stages of A [bm][BK] and B [bn][BK], K-major, 128-byte swizzle; after them the tile of C */
    float scale_a[MAX_STAGES][MAX_BM];   /* for each row of A */
    float scale_b[MAX_STAGES][8][BOX_K]; /* for each block of B; a copy goes to a multiple of 128 bytes */
    MBarrier full[MAX_STAGES];           /* completes a phase when a k-tile and its scales have landed */
    MBarrier empty[MAX_STAGES];          /* completes a phase when the consumers have finished with both */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: a shorter ring");

typedef struct {
    TensorMap map_a;       /* box [box_m][BK] */
    TensorMap map_b;       /* box [bn][BK] */
    TensorMap map_scale_a; /* box [1][bm] */
    TensorMap map_scale_b; /* box [blocks][BOX_K] */
    TensorMap map_c;       /* box [16][BOX_N] */
    Gemm g;
    int tiles_m, tiles_n; /* in clusters of tiles along n */
    int group;            /* tile rows in a group of tiles (tile_order.h) */
    int box_m; /* rows of A in a copy: a CTA's part of a tile; of a tile of 64, those that A has, in eights */
} Params;

/* Columns of a consumer's part of a tile: the consumers divide its rows, or, if those are only 64, its columns. */
HOST_DEVICE int columns_of(int bm, int bn) { return bm == 64 ? bn / CONSUMERS : bn; }

/* A consumer's number of 64-row halves. */
HOST_DEVICE int halves_of(int bm) { return bm == 256 ? 2 : 1; }

/* B's block of 128 rows, and with it the scale, can change only at multiples of this: the largest power of two that
 * divides `columns`, at most 128. */
HOST_DEVICE int grain_of(int columns) { return min_int(columns & -columns, 128); }

/* Blocks that a tile of bn columns can touch. */
HOST_DEVICE int blocks_of(int bn) { return ceil_div(bn + 128 - grain_of(bn), 128); }

/* Bytes of the tile of C from which TMA stores it. */
HOST_DEVICE int out_bytes_of(int bm, int bn) { return bm == 64 ? 0 : bm * bn * (int)sizeof(bf16); }

HOST_DEVICE int stages_of(int bm, int bn) {
    return min_int((RING_BYTES - out_bytes_of(bm, bn)) / ((bm + bn) * BK), MAX_STAGES);
}

/* A role's loop over the tiles. */
typedef struct {
    int index, step, tiles; /* the tile's number; the distance to the next; how many there are, in clusters */
    int k_tiles;
} Work;

/* Moves to the cluster's next tile; 0 if there is none. */
DEVICE int next_tile(Work *work) {
    work->index += work->step;
    return work->index < work->tiles;
}

/* The index-th tile of this CTA. The CTAs of a cluster take neighbouring tile columns, so they share A. */
DEVICE Tile cta_tile(const Params *p, int index, const int cluster) {
    Tile tile = tile_at(index, p->tiles_m, p->tiles_n, p->group);
    tile.n = tile.n * cluster + (cluster > 1 ? cluster_cta_rank() : 0);
    return tile;
}

/* A descriptor `units` of 16 bytes further. Only its lower half changes; in 64 bits the compiler would add both
 * halves. */
DEVICE uint64_t further(uint64_t descriptor, int units) {
    return (descriptor & 0xffffffff00000000) | (uint32_t)((uint32_t)descriptor + (uint32_t)units);
}

/* Adds the products of a k-tile, 64 x width, to their sums. A thread has two rows of them, with scales scale_a[0] and
 * [1]. Their columns begin `offset` columns after the first of the block whose scale is scale_b[0]. */
DEVICE void promote(float *sum, const float *part, const int width, int offset, const float *scale_a,
                    const float *scale_b, const int blocks) {
    const int grain = grain_of(width);
    UNROLL
    for (int j = 0; j < width; j += 8) {
        const int column = j / grain * grain; /* here the block may change */
        float b = blocks > 1 && offset + column >= 128 ? scale_b[1] : scale_b[0];
        UNROLL
        for (int i = 0; i < 4; i++) {
            sum[j / 2 + i] += scale_a[i / 2] * b * part[j / 2 + i];
        }
    }
}

/* A warp of a consumer: releases the stage at `index` to every producer that writes a part of it. */
DEVICE void release(Shared *s, int index, const int cluster) {
    int lane = (int)threadIdx.x % 32;
    if (cluster == 1 && lane == 0) {
        consumer_release(s->empty, index);
    } else if (cluster > 1 && lane < cluster) {
        mbarrier_arrive_remote(&s->empty[index], lane);
    }
}

/* One warp: stores its 16 rows of a tile of C, from element (row, col) on, through its own part of shared memory. */
DEVICE void store_warp_tile(bf16 *out, const TensorMap *map, const int columns, const float *sum, int row, int col) {
    int lane = (int)threadIdx.x % 32;
    UNROLL
    for (int j = 0; j < columns; j += 16) {
        const float *v = &sum[j / 2];
        uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                              pack_bf16x2(v[6], v[7])};
        /* Lane l supplies the address of row l % 16, of the left or of the right 8 columns. */
        stmatrix_x4(&out[j / BOX_N * (16 * BOX_N) + swizzled_index(lane % 16, j % BOX_N / 8 + lane / 16)], packed);
    }
    /* Orders this lane's stores before the copy engine's reads, which go through another proxy. */
    fence_proxy_async();
    /* The warp waits until all lanes have stored and fenced. */
    __syncwarp();
    if (elect_one()) {
        UNROLL
        for (int j = 0; j < columns; j += BOX_N) {
            tma_store_2d(map, &out[j * 16], col + j, row);
        }
        bulk_commit_group();
    }
}

/* The producer, steps 2 and 3 (prologue and main loop): all k-tiles of all tiles, without a break between tiles. */
DEVICE void produce(const Params *p, Shared *s, Work work, const int bm, const int bn, const int cluster) {
    const int tile_bytes = (bm + bn) * BK, stages = stages_of(bm, bn);
    const int scale_bytes = (bm + blocks_of(bn) * BOX_K) * (int)sizeof(float);
    const int stage_bytes = (bm == 64 ? (p->box_m + bn) * BK : tile_bytes) + scale_bytes; /* bytes of the copies */
    PipelineState state = producer_start_state();
    while (next_tile(&work)) {
        Tile tile = cta_tile(p, work.index, cluster);
        for (int k_tile = 0; k_tile < work.k_tiles; k_tile++) {
            /* Waits until the consumers have finished with this stage and its scales, in every CTA that this producer
             * writes to: otherwise the copies would overwrite what they read. */
            producer_acquire(s->full, s->empty, state, stage_bytes);
            e4m3 *a = &s->ring[state.index * tile_bytes];
            MBarrier *full = &s->full[state.index];
            if (cluster == 1) {
                tma_load_2d(a, &p->map_a, k_tile * BK, tile.m * bm, full);
            } else {
                /* Each CTA of the cluster loads its part of A into all its CTAs. */
                int part = cluster_cta_rank() * (bm / cluster);
                tma_load_2d_multicast(a + part * BK, &p->map_a, k_tile * BK, tile.m * bm + part, full,
                                      (1 << cluster) - 1);
            }
            tma_load_2d(a + bm * BK, &p->map_b, k_tile * BK, tile.n * bn, full);
            tma_load_2d(s->scale_a[state.index], &p->map_scale_a, tile.m * bm, k_tile, full);
            tma_load_2d(s->scale_b[state.index], &p->map_scale_b, k_tile / BOX_K * BOX_K, tile.n * bn / 128, full);
            pipeline_advance(&state, stages);
        }
    }
    /* Waits until the last k-tiles have been consumed. After that no CTA of the cluster arrives at these barriers, so
     * this CTA may end. */
    producer_tail(s->empty, state, stages);
}

/* A consumer, step 3 (main loop): adds up the products of the next tile and returns that tile. The consumer's part of
 * the tile begins at first_row and first_column, this warp's at `row`. */
DEVICE Tile multiply(const Params *p, Shared *s, PipelineState *state, const Work *work, int first_row, int row,
                     int first_column, float sum[2][MAX_WIDTH / 2], const int bm, const int bn, const int cluster) {
    const int tile_bytes = (bm + bn) * BK, stages = stages_of(bm, bn), blocks = blocks_of(bn);
    const int columns = columns_of(bm, bn), halves = halves_of(bm);
    int lane = (int)threadIdx.x % 32;
    float part[MAX_WIDTH / 2]; /* what the tensor cores have added up of a k-tile: 64 x columns */
    uint64_t first_a = wgmma_descriptor(&s->ring[first_row * BK]); /* in the ring's first stage */
    uint64_t first_b = wgmma_descriptor(&s->ring[(bm + first_column) * BK]);
    Tile tile = {0, 0};
    UNROLL
    for (int half = 0; half < halves; half++) {
        UNROLL
        for (int i = 0; i < columns / 2; i++) {
            sum[half][i] = 0;
        }
    }
    UNROLL_BY(8)
    for (int k_tile = 0; k_tile < work->k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile, and of its scales, have landed. */
        consumer_wait(s->full, *state);
        int stage = state->index;
        float scale_a[2][2], scale_b[MAX_BLOCKS];
        UNROLL
        for (int half = 0; half < halves; half++) {
            scale_a[half][0] = s->scale_a[stage][row + half * 64 + lane / 4];
            scale_a[half][1] = s->scale_a[stage][row + half * 64 + lane / 4 + 8];
        }
        UNROLL
        for (int i = 0; i < blocks; i++) {
            scale_b[i] = s->scale_b[stage][i][k_tile % BOX_K];
        }
        uint64_t a = further(first_a, stage * (tile_bytes >> 4)), b = further(first_b, stage * (tile_bytes >> 4));
        UNROLL
        for (int half = 0; half < halves; half++) {
            /* Orders the previous promotion, which has read `part`, before the wgmmas that follow. */
            wgmma_fence();
            UNROLL
            for (int k32 = 0; k32 < STEPS; k32++) {
                /* The first product replaces what has been promoted. */
                wgmma_ss_e4m3(columns, part, further(a, half * (64 * BK >> 4) + k32 * WGMMA_K16_STEP),
                              further(b, k32 * WGMMA_K16_STEP), k32 > 0);
            }
            wgmma_commit_group();
            if (k_tile + half == 0) {
                /* cta_tile() divides twice: during the products this takes no extra time. */
                tile = cta_tile(p, work->index, cluster);
            }
            if (half == halves - 1) {
                /* Orders this lane's reads of scales before the copy engine's next writes there. */
                fence_proxy_async();
            }
            /* Waits until these products are complete; the other consumer's go on. */
            wgmma_wait_group(0);
            registers_settled(part, columns / 2);
            if (half == halves - 1) {
                /* All lanes have read their scales, and the products have read the k-tile. Released earlier, the stage
                 * would be overwritten while it is still being read. */
                __syncwarp();
                release(s, stage, cluster);
            }
            promote(sum[half], part, columns, tile.n * bn % 128 + first_column, scale_a[half], scale_b, blocks);
        }
        pipeline_advance(state, stages);
    }
    return tile;
}

/* A warp of a consumer, step 4 (epilogue): stores its sums in C, in the tile from `row` and first_column on. */
DEVICE void epilogue(const Params *p, Shared *s, Tile tile, int row, int first_column, float sum[2][MAX_WIDTH / 2],
                     const int bm, const int bn) {
    const int columns = columns_of(bm, bn);
    int col = tile.n * bn + first_column;
    bf16 *out = (bf16 *)&s->ring[stages_of(bm, bn) * (bm + bn) * BK];
    if (elect_one()) {
        /* Waits until the copy engine has read this warp's rows of the previous tile. */
        bulk_wait_group_read(0);
    }
    /* The warp waits for that lane; then its rows may be written. */
    __syncwarp();
    UNROLL
    for (int half = 0; half < halves_of(bm); half++) {
        if (out_bytes_of(bm, bn) > 0 && p->g.n % 8 == 0) {
            store_warp_tile(&out[(row + half * 64) * columns], &p->map_c, columns, sum[half],
                            tile.m * bm + row + half * 64, col);
        } else { /* a tile of 64 rows; or a row of C ends inside 16 bytes: TMA would write all 16 */
            store_warp_rows(&p->g, tile.m * bm + row + half * 64, col, sum[half], columns);
        }
    }
}

/* The consumers, steps 3 and 4. */
DEVICE void consume(const Params *p, Shared *s, Work work, int warp, const int bm, const int bn, const int cluster) {
    int consumer = warp / 4 - 1;
    int first_row = bm == 64 ? 0 : consumer * (bm / 2), first_column = bm == 64 ? consumer * columns_of(bm, bn) : 0;
    int row = first_row + warp % 4 * 16; /* this warp's first, in the tile */
    float sum[2][MAX_WIDTH / 2];         /* of all previous k-tiles, with scales */
    PipelineState state = consumer_start_state();
    while (next_tile(&work)) {
        Tile tile = multiply(p, s, &state, &work, first_row, row, first_column, sum, bm, bn, cluster);
        epilogue(p, s, tile, row, first_column, sum, bm, bn);
    }
    if (elect_one()) {
        /* Shared memory must live until the copy engine has read it. bulk_wait_group_read() would be enough. */
        bulk_wait_group(0);
    }
}

/* The kernel, for tiles and clusters that are constants in each call. */
DEVICE void gemm(const Params *p, const int bm, const int bn, const int cluster) {
    SHARED_MEMORY(Shared, s);
    const int stages = stages_of(bm, bn);

    /* Step 1: roles and barriers. Warpgroup 0 produces, the others consume. The cluster's tiles are the first one and
     * every `step`-th after it. */
    Work work = {.step = (int)gridDim.x / cluster, .tiles = p->tiles_m * p->tiles_n, .k_tiles = ceil_div(p->g.k, BK)};
    work.index = (int)blockIdx.x / cluster - work.step;
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p->map_a);
        tma_prefetch_map(&p->map_b);
        tma_prefetch_map(&p->map_scale_a);
        tma_prefetch_map(&p->map_scale_b);
        tma_prefetch_map(&p->map_c);
        mbarrier_init(s->full, stages, 1); /* the producer's arrive.expect_tx */
        /* The arrivals of one lane of each warp that reads the stage, in each CTA that gets a copy of its A. */
        mbarrier_init(s->empty, stages, CONSUMERS * WARPS * cluster);
        mbarrier_init_fence();
    }
    if (bm == 64) {
        /* The rows of A that no copy writes are zeroed once. If TMA wrote zeros there for every k-tile, that would take
         * longer than copying rows. */
        int missing = (bm - p->box_m) * BK / 16;
        for (int i = (int)threadIdx.x; i < stages * missing; i += THREADS) {
            *(uint4 *)&s->ring[i / missing * ((bm + bn) * BK) + p->box_m * BK + i % missing * 16] =
                make_uint4(0, 0, 0, 0);
        }
        /* wgmma reads them through the async proxy. */
        fence_proxy_async();
    }
    /* All threads wait until the barriers are initialised, in the other CTAs of the cluster too. */
    if (cluster > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            produce(p, s, work, bm, bn, cluster);
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        consume(p, s, work, warp, bm, bn, cluster);
    }
}

#define TILE_KERNEL(kernel, bm, bn, cluster)                                                                         \
    static_assert((bm) == 64 || (bm) == 128 || (bm) == 256, "two consumers share 64 rows or have 64 or 128 each");   \
    static_assert((bm) <= MAX_BM && ((bm) == 64 ? (bn) / 2 : (bn)) <= MAX_WIDTH,                                     \
                  "scales and sums have room for this");                                                             \
    static_assert(                                                                                                   \
        (bm) < 256 || 3 * (bn) / 2 + 40 <= CONSUMER_REGISTERS,                                                       \
        "a consumer holds a k-tile's products and the sums of two halves, and needs some 40 registers more");        \
    static_assert((bn) + 128 - ((bn) & -(bn)) <= MAX_BLOCKS * 128, "a tile touches at most MAX_BLOCKS blocks of B"); \
    static_assert((bm) / (cluster) % 8 == 0, "each CTA copies whole repetitions of the swizzle");                    \
    static_assert(((bm) == 64 ? RING_BYTES : RING_BYTES - (bm) * (bn)*2) >= 2 * ((bm) + (bn)) * BK,                  \
                  "there are two stages at least: one is copied while the other is multiplied");                     \
    static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) kernel(const __grid_constant__ Params p) {        \
        gemm(&p, bm, bn, cluster);                                                                                   \
    }                                                                                                                \
    KERNEL_ENTRY(kernel, Params);
TILE_KERNEL(fp8_256x128_cluster_2, 256, 128, 2)
TILE_KERNEL(fp8_128x192, 128, 192, 1)
TILE_KERNEL(fp8_64x128, 64, 128, 1)
TILE_KERNEL(fp8_64x96, 64, 96, 1)
TILE_KERNEL(fp8_64x64, 64, 64, 1)

/* The cycles are measured: see notes.md. */
static const Variant table[] = {
    {VARIANT(fp8_256x128_cluster_2, .bm = 256, .bn = 128, .cluster = 2, .group = 8, .k_tile_cycles = 1090,
             .end_cycles = 2630)},
    {VARIANT(fp8_128x192, .bm = 128, .bn = 192, .cluster = 1, .group = 16, .k_tile_cycles = 835, .end_cycles = 1980)},
    {VARIANT(fp8_64x128, .bm = 64, .bn = 128, .cluster = 1, .group = 16, .k_tile_cycles = 400, .end_cycles = 800)},
    {VARIANT(fp8_64x96, .bm = 64, .bn = 96, .cluster = 1, .group = 16, .k_tile_cycles = 310, .end_cycles = 800)},
    {VARIANT(fp8_64x64, .bm = 64, .bn = 64, .cluster = 1, .group = 16, .k_tile_cycles = 230, .end_cycles = 800)},
};

/* Tiles of C in this variant, in clusters. */
static int tile_count(const Variant *v, const Gemm *g) {
    return ceil_div(g->m, v->bm) * ceil_div(ceil_div(g->n, v->bn), v->cluster);
}

/* Cycles of the busiest CTA; only the order of the variants matters. */
static double cost(const Variant *v, const Gemm *g) {
    double tiles = ceil_div(tile_count(v, g), g->sm_count / v->cluster);
    return tiles * ((double)ceil_div(g->k, BK) * v->k_tile_cycles + v->end_cycles);
}

static LaunchPlan plan(const Variant *v, const Gemm *g) {
    int clusters = tile_count(v, g);
    LaunchPlan plan = {clusters * v->cluster, min_int(clusters, g->sm_count / v->cluster) * v->cluster,
                       stages_of(v->bm, v->bn), NULL};
    return plan;
}

static const Variants variants = VARIANTS("10_fp8", table, cost);

/* The map of a matrix [rows][columns] with `pitch` bytes from row to row. */
static GemmStatus map_of(TensorMap *map, const char *name, ElementType type, const void *base, int rows, int columns,
                         int pitch, int box_rows, int box_columns, Swizzle swizzle, GemmError *error) {
    Tensor tensor = {.type = type,
                     .rank = 2,
                     .base = base,
                     .size = {(uint64_t)columns, (uint64_t)rows},
                     .stride = {(uint64_t)pitch},
                     .box = {(uint32_t)box_columns, (uint32_t)box_rows},
                     .swizzle = swizzle};
    return tensor_map_nd(map, name, &tensor, error);
}

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const Variant *v = choose_variant(&variants, g, error);
    if (v == NULL) {
        return GEMM_USAGE;
    }
    const Fp8 *f = (const Fp8 *)g->beyond->operands;
    int k_tiles = ceil_div(g->k, BK);
    Params p;
    p.g = *g;
    p.tiles_m = ceil_div(g->m, v->bm);
    p.tiles_n = ceil_div(ceil_div(g->n, v->bn), v->cluster);
    /* If all of A fits into L2, B is read once. */
    p.group = (double)g->m * g->k < 16e6 ? p.tiles_m : min_int(v->group, p.tiles_m);
    p.box_m = v->bm == 64 ? min_int(ceil_div(g->m, 8) * 8, v->bm) : v->bm / v->cluster;
    if (map_of(&p.map_a, "A", ELEMENT_FP8, f->a, g->m, g->k, g->lda, p.box_m, BK, SWIZZLE_128B, error) ||
        map_of(&p.map_b, "B", ELEMENT_FP8, f->b, g->n, g->k, g->ldb, v->bn, BK, SWIZZLE_128B, error) ||
        map_of(&p.map_scale_a, "scales of A", ELEMENT_FP32, f->scale_a, k_tiles, g->m, f->ld_scale_a * 4, 1, v->bm,
               SWIZZLE_NONE, error) ||
        map_of(&p.map_scale_b, "scales of B", ELEMENT_FP32, f->scale_b, ceil_div(g->n, 128), k_tiles, f->ld_scale_b * 4,
               blocks_of(v->bn), BOX_K, SWIZZLE_NONE, error) ||
        tensor_map_2d(&p.map_c, "C", g->c, g->m, g->n, g->ldc, 16, BOX_N, SWIZZLE_128B, error)) {
        return GEMM_DEVICE;
    }
    LaunchShape shape = {.grid = plan(v, g).ctas,
                         .block = THREADS,
                         .cluster = v->cluster > 1 ? v->cluster : 0,
                         .shared_bytes = sizeof(Shared)};
    return launch_kernel(v->kernel, v->name, shape, &p, g->stream, error);
}

static const ChapterBeyond beyond_the_ladder = {.kind = KIND_FP8, .plan = plan};
CHAPTER(10_fp8, .adds = "e4m3 operands with scales for blocks, promoted into fp32", .needs = NEEDS_SM90A,
        .launch = launch, .variants = &variants, .beyond = &beyond_the_ladder);
