/* 11_w4a8 - weights of 4 bits, activations of 8: the tensor cores get what the threads have converted.
 *
 * What is new   wgmma has no operand of 4 bits. So the weights are operand A, which may come from registers: each thread
 *               loads its part of a packed block (pack.h), converts it, and issues the products. While those of one k-tile
 *               run, the next k-tile is converted into a second set of registers. Operand B is the activations: wgmma's N
 *               is as few of their rows as there are, and C comes out transposed. All CTAs get the same number of k-tiles,
 *               wherever tiles of C begin; who has the first ones of a tile adds up what others have of it, and stores it.
 * Why           With few rows of activations the bytes of the weights set the time. Here they are half of 10's.
 * Run           make 11 && ./11_w4a8, here; from the top, make run-11 */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/bulk_copy.h"
#include "../../common/device/global_atomic.h"
#include "../../common/device/grid.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

#include "pack.h"

/* V(bm, blocks, threads) for each kernel. A tile of C is bm rows of activations x `blocks` * 64 rows of weights. Each block
 * has a consumer warpgroup; one more produces. */
#define EACH_KERNEL(V) V(8, 3, 512) V(16, 3, 512) V(32, 3, 512) V(64, 3, 512) V(128, 2, 384)

enum {
    MAX_BM = 128,
    MAX_WIDTH = 64, /* rows of activations in a product */
    PAIR = 2,       /* k-tiles in a stage: a consumer converts one while it multiplies by the other */
    PAIR_BYTES = PAIR * BLOCK_BYTES,
    RING_BYTES = 220 * 1024, /* as many stages as fit */
    MAX_STAGES = 16,
    GROUP = 16, /* tile rows walked together */
    /* The kernel of the largest tile alone moves registers: 168 at launch, 3 * 168 = 40 + 2 * 232. */
    PRODUCER_REGISTERS = 40,
    CONSUMER_REGISTERS = 232,
};

typedef struct {
    uint8_t ring[RING_BYTES];   /* all stages' activations [PAIR][bm][BK], 128-byte swizzle; then all stages' weights */
    MBarrier full[MAX_STAGES];  /* completes a phase when a pair of k-tiles has landed */
    MBarrier empty[MAX_STAGES]; /* completes a phase when all consumer warps have finished with it */
} Shared;

typedef struct {
    TensorMap map_x;        /* e4m3 [m][k], box [bm][BK] */
    const uint8_t *weights; /* [experts][ceil(n / 64)][k_pairs][PAIR_BYTES] */
    const float *scale_a;   /* [m] */
    const int *first_row;   /* [experts + 1]; of a single expert not read */
    bf16 *c;
    int m, n, k, ldc, experts;
    int k_pairs;     /* of a tile */
    int *cta_done;   /* [CTAs] 1: the CTA's sums of its first tile, which another one stores, are there */
    float4 *cta_sum; /* [CTAs][quads][consumer threads] */
} Params;

/* A role's place among the tiles of all experts. */
typedef struct {
    int expert, row, end; /* rows `row` to `end` - 1 of C are the expert's */
    int before;           /* tiles of the experts before it */
    Tile tile;
} Place;

DEVICE Place first_place(const Params *p) {
    Place place = {0, 0, p->m, 0, {0, 0}};
    if (p->experts > 1) {
        place.row = p->first_row[0], place.end = p->first_row[1];
    }
    return place;
}

DEVICE int expert_tiles(const Params *p, const Place *place, const int bm, const int bn) {
    return ceil_div(place->end - place->row, bm) * ceil_div(p->n, bn);
}

/* Goes on to the next expert; 0 if there is none. */
DEVICE int next_expert(const Params *p, Place *place, const int bm, const int bn) {
    if (place->expert + 1 == p->experts) {
        return 0;
    }
    place->before += expert_tiles(p, place, bm, bn);
    place->expert++;
    place->row = place->end, place->end = p->first_row[place->expert + 1];
    return 1;
}

/* Goes on to the index-th tile. */
DEVICE void find_tile(const Params *p, Place *place, int index, const int bm, const int bn) {
    while (index >= place->before + expert_tiles(p, place, bm, bn) && next_expert(p, place, bm, bn)) {
    }
    place->tile = tile_at(index - place->before, ceil_div(place->end - place->row, bm), ceil_div(p->n, bn), GROUP);
}

/* Pairs of k-tiles of all tiles. */
DEVICE int all_pairs(const Params *p, const int bm, const int bn) {
    Place place = first_place(p);
    while (next_expert(p, &place, bm, bn)) {
    }
    return (place.before + expert_tiles(p, &place, bm, bn)) * p->k_pairs;
}

/* Where the share-th CTA's pairs begin. A share may be empty. */
DEVICE int share_begin(int pairs, int share) { return (int)((long long)pairs * share / (int)gridDim.x); }

/* Producer: announce the bytes of a stage and start the copies of its weights. */
DEVICE void load_weights(const Params *p, const Place *place, int pair, uint8_t *to, MBarrier *full, int stage_bytes,
                         const int blocks) {
    mbarrier_arrive_expect_tx(full, stage_bytes);
    int all = ceil_div(p->n, BLOCK_ROWS);
    UNROLL_ONCE
    for (int i = 0; i < blocks; i++) {
        /* Past the last row of weights the last block again: it is not stored. */
        size_t block = (size_t)place->expert * all + min_int(place->tile.n * blocks + i, all - 1);
        bulk_load(to + i * PAIR_BYTES, p->weights + (block * p->k_pairs + pair) * PAIR_BYTES, PAIR_BYTES, full);
    }
}

/* Consumer: this thread's part of a block, ready to be operand A of STEPS products, and the scales of its two rows. */
DEVICE void convert(const uint8_t *block, uint32_t a[STEPS][4], float scale[2]) {
    int thread = (int)threadIdx.x % 128;
    UNROLL
    for (int half = 0; half < 2; half++) {
        uint4 w = *(const uint4 *)(block + packed_byte(thread, half * 2, 0, 0));
        uint32_t word[4] = {w.x, w.y, w.z, w.w};
        UNROLL
        for (int i = 0; i < 4; i++) {
            uint32_t *to = &a[half * 2 + i / 2][i % 2 * 2];
            to[0] = decode(word[i]);
            to[1] = decode(word[i] >> 4);
        }
    }
    uint32_t both = *(const uint32_t *)(block + WEIGHT_BYTES + packed_scale(fragment_row(thread, 0)) * 2);
    scale[0] = bf16_to_float((bf16)both);
    scale[1] = bf16_to_float((bf16)(both >> 16));
}

/* One product of the chosen width. */
DEVICE void wgmma_k32(const int width, float *acc, const uint32_t a[4], uint64_t x, int accumulate) {
    switch (width) {
    case 8: wgmma_rs_e4m3(8, acc, a, x, accumulate); break;
    case 16: wgmma_rs_e4m3(16, acc, a, x, accumulate); break;
    case 32: wgmma_rs_e4m3(32, acc, a, x, accumulate); break;
    case 64: wgmma_rs_e4m3(64, acc, a, x, accumulate); break;
    }
}

/* Consumer, when the products of a k-tile are done: adds them, times the scales of their rows, to the sums. */
DEVICE void promote(float *sum, float *acc, const float scale[2], const int width) {
    registers_settled(acc, width / 2);
    UNROLL
    for (int i = 0; i < width / 2; i++) {
        sum[i] += scale[i / 2 % 2] * acc[i];
    }
}

DEVICE float4 four_of(const float *v) {
    float4 four = {v[0], v[1], v[2], v[3]};
    return four;
}

DEVICE void add_four(float *v, float4 four) { v[0] += four.x, v[1] += four.y, v[2] += four.z, v[3] += four.w; }

/* Consumer: 64 x bm sums, rows of weights and of activations, to C, which has them the other way round. In every 8 rows of
 * C, a thread holds two rows of two columns, 8 apart. Neighbours exchange a row, so that each stores two columns at once. */
DEVICE void store_block(const Params *p, const Place *place, const float *sum, const int bm, const int bn) {
    int thread = (int)threadIdx.x, lane = thread % 32, odd = lane / 4 % 2;
    int row = place->row + place->tile.m * bm + lane % 4 * 2;
    int col = place->tile.n * bn + thread / 128 * BLOCK_ROWS + fragment_row(thread % 128, 0) - odd;
    UNROLL
    for (int quad = 0; quad < bm / 8; quad++) {
        const float *v = &sum[quad * 4];
        int at = row + quad * 8;
        float scale_0 = at < place->end ? p->scale_a[at] * DECODED_SCALE : 0;
        float scale_1 = at + 1 < place->end ? p->scale_a[at + 1] * DECODED_SCALE : 0;
        uint32_t row_0 = pack_bf16x2(v[0] * scale_0, v[2] * scale_0);
        uint32_t row_1 = pack_bf16x2(v[1] * scale_1, v[3] * scale_1);
        uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? row_0 : row_1, 4);
        uint32_t left = odd ? got : row_0, right = odd ? row_1 : got;
        uint32_t both[2] = {(left & 0xffff) | right << 16, left >> 16 | (right & 0xffff0000)};
        UNROLL
        for (int i = 0; i < 2; i++) {
            /* The rows behind `end` are the next expert's. */
            bf16 *to = p->c + (size_t)(at + odd) * p->ldc + col + i * 8;
            if (at + odd < place->end && col + i * 8 + 1 < p->n) {
                *(uint32_t *)to = both[i];
            } else if (at + odd < place->end && col + i * 8 < p->n) {
                *to = (bf16)both[i];
            }
        }
    }
}

/* bm and blocks are constants where this is called. */
DEVICE void gemm(const Params *p, const int bm, const int blocks) {
    SHARED_MEMORY(Shared, s);
    const int bn = blocks * BLOCK_ROWS, consumer_threads = blocks * 128;
    const int x_bytes = PAIR * bm * BK, w_bytes = blocks * PAIR_BYTES, stage_bytes = x_bytes + w_bytes;
    const int stages = min_int(RING_BYTES / stage_bytes, MAX_STAGES);
    /* Of a k-tile's products. With two, one is added to the sums while the other runs, and the two take no more registers
     * than one of all columns. */
    const int halves = bm >= 32 ? 2 : 1, width = bm / halves, groups = PAIR * halves;
    const int quads = bm / 8; /* a thread has 4 sums in every 8 rows of activations */
    uint8_t *w = s->ring + stages * x_bytes;

    /* Step 1: roles and barriers. The last warpgroup produces, the others consume. */
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 4 * blocks && elect_one()) {
        tma_prefetch_map(&p->map_x);
        mbarrier_init(s->full, stages, 1);           /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages, 4 * blocks); /* a lane of each consumer warp */
        mbarrier_init_fence();
    }
    /* All wait for the barriers to exist. */
    __syncthreads();
    /* The next launch may set up its CTAs as this one's end. */
    grid_dependency_launch();
    /* The first CTA has the last share. A CTA adds up what the shares after its own have of its last tile: those are of
     * CTAs that began before it, so the wait ends also where not all CTAs run at once. */
    int share = (int)gridDim.x - 1 - (int)blockIdx.x;

    if (warpgroup == blocks) {
        if (bm == MAX_BM) {
            setmaxnreg_dec(PRODUCER_REGISTERS);
        }
        if (warp == 4 * blocks && elect_one()) {
            /* Step 2: no launch writes weights, so the ring's first ones need not wait for the launch before. */
            int early = 0;
            if (p->experts == 1) {
                int pairs = all_pairs(p, bm, bn), at = share_begin(pairs, share), end = share_begin(pairs, share + 1);
                int first = at % p->k_pairs, count = min_int(stages, min_int(p->k_pairs - first, end - at));
                Place place = first_place(p);
                find_tile(p, &place, at / p->k_pairs, bm, bn);
                for (; early < count; early++) {
                    load_weights(p, &place, first + early, w + early * w_bytes, &s->full[early], stage_bytes, blocks);
                }
            }
            /* Waits until the launch before has ended: activations, and which rows are whose, may be its results. */
            grid_dependency_wait();

            /* Step 3 of the producer: all pairs of its share, tile by tile. */
            int pairs = all_pairs(p, bm, bn), at = share_begin(pairs, share), end = share_begin(pairs, share + 1);
            PipelineState state = producer_start_state();
            Place place = first_place(p);
            while (at < end) {
                int tile = at / p->k_pairs, pair = at % p->k_pairs, last = min_int(p->k_pairs, pair + end - at);
                at += last - pair;
                find_tile(p, &place, tile, bm, bn);
                for (; pair < last; pair++) {
                    MBarrier *full = &s->full[state.index];
                    if (early > 0) {
                        early--;
                    } else {
                        /* Waits until the consumers have finished with this stage: else the copies overwrite what they read. */
                        mbarrier_wait_parity(&s->empty[state.index], state.phase);
                        load_weights(p, &place, pair, w + state.index * w_bytes, full, stage_bytes, blocks);
                    }
                    for (int i = 0; i < PAIR; i++) {
                        tma_load_2d(s->ring + state.index * x_bytes + i * bm * BK, &p->map_x, (pair * PAIR + i) * BK,
                                    place.row + place.tile.m * bm, full);
                    }
                    pipeline_advance(&state, stages);
                }
            }
        }
    } else {
        if (bm == MAX_BM) {
            setmaxnreg_inc(CONSUMER_REGISTERS);
        }
        /* Each waits until the launch before has ended: it may read C, or write the rows' scales. */
        grid_dependency_wait();
        int thread = (int)threadIdx.x;
        int pairs = all_pairs(p, bm, bn), at = share_begin(pairs, share), end = share_begin(pairs, share + 1);
        const uint8_t *my_w = w + warpgroup * PAIR_BYTES;
        PipelineState state = consumer_start_state();
        Place place = first_place(p);
        while (at < end) {
            int tile = at / p->k_pairs, first = at % p->k_pairs, count = min_int(p->k_pairs - first, end - at);
            at += count;
            find_tile(p, &place, tile, bm, bn);

            /* Step 3 of the consumers: main loop. */
            float sum[MAX_BM / 2], acc[2][MAX_WIDTH / 2]; /* wgmma.h says which element is where */
            uint32_t a[PAIR][STEPS][4];                   /* the products read one while the other is written */
            float scale[PAIR][2];
            UNROLL
            for (int i = 0; i < bm / 2; i++) {
                sum[i] = 0;
            }
            /* Waits until the bytes of the first pair have landed. */
            consumer_wait(s->full, state);
            convert(my_w + state.index * w_bytes, a[0], scale[0]);
            UNROLL_ONCE
            for (int i = 0; i < count; i++) {
                int stage = state.index;
                pipeline_advance(&state, stages);
                UNROLL
                for (int group = 0; group < groups; group++) {
                    const int k_tile = group / halves, before = group - 1;
                    uint64_t x = wgmma_descriptor(s->ring + stage * x_bytes + group * width * BK);
                    /* What this thread has converted, and read of the accumulators, comes before the products. */
                    wgmma_fence();
                    UNROLL
                    for (int step = 0; step < STEPS; step++) {
                        wgmma_k32(width, acc[group % 2], a[k_tile][step], x + step * (32 >> 4), step > 0);
                    }
                    wgmma_commit_group();
                    if (group == 0) {
                        /* Under these products: the second k-tile. Nothing reads a[1] now, its last products are done. */
                        convert(my_w + stage * w_bytes + BLOCK_BYTES, a[1], scale[1]);
                        continue;
                    }
                    /* Waits until the products of the group before are done; those of this one go on. */
                    wgmma_wait_group(1);
                    promote(&sum[before % halves * width / 2], acc[before % 2], scale[before / halves], width);
                    if (group == groups - 1 && i + 1 < count) {
                        /* Under these products: the next pair's first k-tile. Before that wait the products of this pair's
                         * first would still read a[0]. */
                        consumer_wait(s->full, state);
                        convert(my_w + state.index * w_bytes, a[0], scale[0]);
                    }
                }
                /* Waits until the last products are done too: their sums may be read, and the stage written. */
                wgmma_wait_group(0);
                promote(&sum[(halves - 1) * width / 2], acc[1], scale[1], width);
                /* Each lane's reads of weights come before the copy engine's next write there: another proxy. */
                fence_proxy_async();
                /* The warp waits for all its lanes; then one speaks for it. Nothing tells the other warps' reads: each
                 * warp arrives. */
                __syncwarp();
                if (threadIdx.x % 32 == 0) {
                    consumer_release(s->empty, stage);
                }
            }

            /* Step 4: epilogue. */
            if (first > 0) {
                /* The CTA that has this tile's first pairs stores it. */
                UNROLL
                for (int quad = 0; quad < quads; quad++) {
                    p->cta_sum[((size_t)share * quads + quad) * consumer_threads + thread] = four_of(&sum[quad * 4]);
                }
                /* The consumers wait until all have stored; then one thread hands it on. */
                named_barrier_sync(1, consumer_threads);
                if (thread == 0) {
                    global_store(release, &p->cta_done[share], 1);
                }
                continue;
            }
            /* In the order of the shares, not of their ends: every launch has the same bits. */
            for (int other = share + 1; share_begin(pairs, other) < min_int((tile + 1) * p->k_pairs, pairs); other++) {
                if (share_begin(pairs, other) == share_begin(pairs, other + 1)) {
                    continue; /* empty: it will never say that it is done */
                }
                if (thread == 0) {
                    /* Waits until the other CTA's sums are there. */
                    while (global_load(acquire, &p->cta_done[other]) == 0) {
                    }
                    global_store(relaxed, &p->cta_done[other], 0);
                }
                /* The consumers wait for that thread. */
                named_barrier_sync(1, consumer_threads);
                UNROLL
                for (int quad = 0; quad < quads; quad++) {
                    float4 *from = &p->cta_sum[((size_t)other * quads + quad) * consumer_threads + thread];
                    float4 zero = {0, 0, 0, 0};
                    add_four(&sum[quad * 4], *from);
                    *from = zero; /* the workspace is left as it was */
                }
            }
            store_block(p, &place, sum, bm, bn);
        }
    }
}

#define WIDTH_KERNEL(bm, blocks, threads)                                                              \
    static __global__ void __launch_bounds__(threads, 1) w4a8_##bm(const __grid_constant__ Params p) { \
        gemm(&p, bm, blocks);                                                                          \
    }                                                                                                  \
    KERNEL_ENTRY(w4a8_##bm, Params);
EACH_KERNEL(WIDTH_KERNEL)

static const struct {
    int bm, blocks, threads;
    const void *kernel;
    const char *name;
} kernels[] = {
#define LISTED(bm, blocks, threads) {bm, blocks, threads, KERNEL(w4a8_##bm)},
    EACH_KERNEL(LISTED)
#undef LISTED
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/* The kernel for as many rows as an expert has on average. */
static int kernel_for(const Gemm *g) {
    int rows = ceil_div(g->m, ((const W4a8 *)g->operands)->experts), i = 0;
    while (i + 1 < KERNELS && kernels[i].bm < rows) {
        i++;
    }
    return i;
}

/* The flags of the CTAs, of which there is one for each SM; then the sums of one tile of each. */
static size_t done_bytes(const Gemm *g) { return (size_t)ceil_div(g->sm_count, 4) * 16; }

static size_t workspace_bytes(const Gemm *g) {
    int i = kernel_for(g);
    return done_bytes(g) + (size_t)g->sm_count * kernels[i].bm * kernels[i].blocks * BLOCK_ROWS * sizeof(float);
}

static GemmStatus launch(const Gemm *g) {
    const W4a8 *o = (const W4a8 *)g->operands;
    int i = kernel_for(g), bm = kernels[i].bm, threads = kernels[i].threads;
    if (g->sm_count < 1) {
        fprintf(stderr, "11_w4a8: sm_count is %d, accepted is 1 and more\n", g->sm_count);
        return GEMM_USAGE;
    }
    Params p;
    p.weights = (const uint8_t *)g->prepared;
    p.scale_a = o->scale_a;
    p.first_row = o->first_row;
    p.c = g->c;
    p.m = g->m, p.n = g->n, p.k = g->k, p.ldc = g->ldc, p.experts = o->experts;
    p.k_pairs = ceil_div(g->k, PAIR * BK);
    p.cta_done = (int *)g->workspace;
    p.cta_sum = (float4 *)((uint8_t *)g->workspace + done_bytes(g));
    Tensor x = {.type = ELEMENT_FP8,
                .rank = 2,
                .base = o->a,
                .size = {(uint64_t)g->k, (uint64_t)g->m},
                .stride = {(uint64_t)g->lda},
                .box = {BK, (uint32_t)bm},
                .swizzle = SWIZZLE_128B};
    if (tensor_map_nd(&p.map_x, "A", &x)) {
        return GEMM_DEVICE;
    }
    LaunchShape shape = {.grid = g->sm_count, .block = threads, .shared_bytes = sizeof(Shared), .overlap = 1};
    return launch_kernel(kernels[i].kernel, kernels[i].name, shape, &p, g->stream);
}

static size_t prepared_bytes(const Gemm *g) {
    const W4a8 *o = (const W4a8 *)g->operands;
    return (size_t)o->experts * ceil_div(g->n, BLOCK_ROWS) * ceil_div(g->k, PAIR * BK) * PAIR_BYTES;
}

static GemmStatus prepare(const Gemm *g, void *out) {
    const W4a8 *o = (const W4a8 *)g->operands;
    int k_tiles = ceil_div(g->k, PAIR * BK) * PAIR, groups = ceil_div(g->k, BK);
    uint8_t *to = (uint8_t *)out;
    for (int expert = 0; expert < o->experts; expert++) {
        for (int row = 0; row < g->n; row += BLOCK_ROWS) {
            for (int k_tile = 0; k_tile < k_tiles; k_tile++, to += BLOCK_BYTES) {
                /* Of a k-tile behind the last one there are no rows. */
                size_t first = (size_t)expert * g->n + row;
                pack_block(o->weights + first * g->k + k_tile * BK, (size_t)g->k, o->scale_b + first * groups + k_tile,
                           (size_t)groups, k_tile < groups ? g->n - row : 0, g->k - k_tile * BK, to);
            }
        }
    }
    return GEMM_OK;
}

CHAPTER(11_w4a8, .adds = "weights of 4 bits, converted in registers while the products before run",
        .needs = NEEDS_SM90A, .kind = KIND_W4A8, .launch = launch, .workspace_bytes = workspace_bytes,
        .prepared_bytes = prepared_bytes, .prepare = prepare);
