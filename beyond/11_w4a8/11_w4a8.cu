/* 11_w4a8 - weights of 4 bits, activations of 8: the tensor cores get what the threads have converted.
 *
 * What is new   wgmma has no operand of 4 bits. So the weights are operand A, which may come from registers: each thread
 *               loads its part of a packed block (pack.h), converts it, and issues the products. While those of one k-tile
 *               run, the next k-tile is converted into a second set of registers. Operand B is the activations: wgmma's N
 *               is as few of their rows as there are, and C comes out transposed. Where tiles are fewer than SMs, several
 *               warpgroups and the CTAs of a cluster share a tile's k, and add up their sums through shared memory.
 * Why           With few rows of activations the bytes of the weights set the time. Here they are half of 10's.
 * Run           make 11 && ./11_w4a8, here; from the top, make run-11 */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/cluster.h"
#include "../../common/device/grid.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

#include "pack.h"

/* V(bm, blocks, each, teams, parts, threads) for each kernel. A tile of C is bm rows of activations x `blocks` * 64 rows
 * of weights. A team has a consumer warpgroup for `each` blocks. Two teams take turns at the stages. Of two parts, each of
 * a cluster's two CTAs has one: half of the tile's k. One more warp produces. */
#define EACH_OF(V, bm) V(bm, 4, 2, 1, 1, 288) V(bm, 3, 1, 1, 2, 416) V(bm, 2, 1, 1, 1, 288)
#define EACH_KERNEL(V) \
    EACH_OF(V, 8)      \
    EACH_OF(V, 16)     \
    EACH_OF(V, 32)     \
    EACH_OF(V, 64) V(8, 2, 1, 2, 2, 544) V(16, 2, 1, 2, 2, 544) V(32, 2, 1, 1, 2, 288) V(64, 2, 1, 1, 2, 288)

enum {
    MAX_EACH = 2,
    MAX_BM = 64,    /* for more rows, 10 is faster */
    MAX_WIDTH = 32, /* rows of activations in a product: wider ones are no faster, and take more registers */
    PAIR = 2,       /* k-tiles in a stage: a consumer converts one while it multiplies by the other */
    PAIR_BYTES = PAIR * BLOCK_BYTES,
    RING_BYTES = 220 * 1024, /* as many stages as fit */
    MAX_STAGES = 16,
    GROUP = 16, /* tile rows walked together */
};

typedef struct {
    MBarrier full[MAX_STAGES];  /* completes a phase when a pair of k-tiles has landed */
    MBarrier empty[MAX_STAGES]; /* completes a phase when all warps of its team have finished with it */
    MBarrier received;          /* completes its phase when the others' sums have landed */
    uint8_t unused[1024 - (2 * MAX_STAGES + 1) * sizeof(MBarrier)]; /* the swizzle wants 1024-byte boundaries */
    /* All stages' activations [PAIR][bm][BK], 128-byte swizzle; then all stages' weights; then the sums received. */
    uint8_t ring[RING_BYTES];
} Shared;

typedef struct {
    TensorMap map_x;        /* e4m3 [m][k], box [bm][BK] */
    const uint8_t *weights; /* [experts][ceil(n / 64)][k_pairs][PAIR_BYTES] */
    const float *scale_a;   /* [m] */
    const int *first_row;   /* [experts + 1]; of a single expert not read */
    bf16 *c;
    int m, n, k, ldc, experts;
    int k_pairs; /* of a tile */
    int stages;
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

/* Goes on to the index-th tile; 0 if there is none. */
DEVICE int find_tile(const Params *p, Place *place, int index, const int bm, const int bn) {
    int tiles_n = ceil_div(p->n, bn), tiles_m = ceil_div(place->end - place->row, bm);
    while (index >= place->before + tiles_m * tiles_n) {
        if (place->expert + 1 == p->experts) {
            return 0;
        }
        place->before += tiles_m * tiles_n;
        place->expert++;
        place->row = place->end, place->end = p->first_row[place->expert + 1];
        tiles_m = ceil_div(place->end - place->row, bm);
    }
    place->tile = tile_at(index - place->before, tiles_m, tiles_n, GROUP);
    return 1;
}

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

/* Consumer: this thread's part of a block, as operand A of STEPS products, and the scales of its two rows. */
DEVICE void convert(const uint8_t *block, uint32_t a[STEPS][4], float scale[2]) {
    int thread = (int)threadIdx.x % 128;
    UNROLL
    for (int half = 0; half < 2; half++) {
        uint4 w = *(const uint4 *)(block + packed_word(thread, half * 2, 0));
        uint32_t word[4] = {w.x, w.y, w.z, w.w};
        UNROLL
        for (int i = 0; i < 4; i++) {
            uint32_t *to = &a[half * 2 + i / 2][i % 2 * 2];
            to[0] = decode(word[i], 0);
            to[1] = decode(word[i], 1);
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

/* Consumer: of the tile's quads of 8 rows of activations, every `shares`-th from `share` on is this team's to store.
 * Sends the sums of the other quads to the teams that store those, and adds what comes from them. */
DEVICE void add_shares(Shared *s, float4 *received, float *sum, const int quads, const int teams, const int shares,
                       const int threads, int share) {
    const int most = ceil_div(quads, shares); /* quads of a team */
    int thread = (int)threadIdx.x % threads;
    UNROLL
    for (int quad = 0; quad < quads; quad++) {
        const float *v = &sum[quad * 4];
        int to = quad % shares;
        if (to != share) {
            uint4 bits =
                make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
            st_async_v4(&received[((to % teams * shares + share) * most + quad / shares) * threads + thread],
                        to / teams, bits, &s->received);
        }
    }
    /* Waits until all that is sent to this CTA has landed. It also keeps the CTA from ending before. */
    mbarrier_wait_parity_cluster(&s->received, 0);
    UNROLL
    for (int quad = 0; quad < quads; quad++) {
        if (quad % shares == share) {
            float *v = &sum[quad * 4];
            float4 total = {0, 0, 0, 0};
            /* In the order of the teams, not of their arrival: every launch has the same bits. */
            UNROLL
            for (int from = 0; from < shares; from++) {
                float4 add = {v[0], v[1], v[2], v[3]};
                if (from != share) {
                    add = received[((share % teams * shares + from) * most + quad / shares) * threads + thread];
                }
                total.x += add.x, total.y += add.y, total.z += add.z, total.w += add.w;
            }
            v[0] = total.x, v[1] = total.y, v[2] = total.z, v[3] = total.w;
        }
    }
}

/* Consumer: 64 x bm sums, rows of weights and of activations, to C, which has them the other way round. In every 8 rows
 * of C, a thread holds two rows of two columns, 8 apart. Neighbours exchange a row, so that each stores two columns at
 * once. */
DEVICE void store_block(const Params *p, const Place *place, const float *sum, const float *scale, const int bm,
                        int first_col, const int shares, int share) {
    int thread = (int)threadIdx.x % 128, lane = thread % 32, odd = lane / 4 % 2;
    int row = place->row + place->tile.m * bm + lane % 4 * 2;
    int col = first_col + fragment_row(thread, 0) - odd;
    UNROLL
    for (int quad = 0; quad < bm / 8; quad++) {
        if (quad % shares != share) {
            continue;
        }
        const float *v = &sum[quad * 4];
        int at = row + quad * 8;
        float scale_0 = scale[quad * 2], scale_1 = scale[quad * 2 + 1];
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

/* bm, blocks, each, teams and parts are constants where this is called. */
DEVICE void gemm(const Params *p, const int bm, const int blocks, const int each, const int teams, const int parts) {
    SHARED_MEMORY(Shared, s);
    const int bn = blocks * BLOCK_ROWS, warpgroups = blocks / each, team_threads = warpgroups * 128;
    const int x_bytes = PAIR * bm * BK, w_bytes = blocks * PAIR_BYTES, stage_bytes = x_bytes + w_bytes;
    /* Products of a k-tile. One is added to the sums while the next runs, so there are two accumulators. */
    const int width = min_int(bm, MAX_WIDTH), halves = bm / width, groups = each * PAIR * halves;
    const int quads = bm / 8, shares = teams * parts; /* a thread has 4 sums in every 8 rows of activations */
    int stages = p->stages;
    uint8_t *w = s->ring + stages * x_bytes;
    float4 *received = (float4 *)(w + stages * w_bytes); /* [teams][shares][quads of a team][its threads] */

    /* Step 1: roles and barriers. The last warp produces, the others consume. */
    int warpgroup = warp_uniform((int)threadIdx.x / 128), team = warpgroup / warpgroups;
    int rank = parts > 1 ? cluster_cta_rank() : 0, share = rank * teams + team;
    int cluster = (int)blockIdx.x / parts, clusters = (int)gridDim.x / parts;
    int first_pair = p->k_pairs * rank / parts, end_pair = p->k_pairs * (rank + 1) / parts;
    int producer = team == teams && elect_one(), early = 0;
    if (producer) {
        tma_prefetch_map(&p->map_x);
        mbarrier_init(s->full, stages, 1);               /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages, 4 * warpgroups); /* a lane of each warp of the team whose stage it is */
        mbarrier_init(&s->received, 1, 1);               /* the arrival here */
        mbarrier_init_fence();
        if (shares > 1) {
            int bytes = 0;
            for (int quad = 0; quad < quads; quad++) {
                bytes += quad % shares / teams == rank ? (shares - 1) * team_threads * (int)sizeof(float4) : 0;
            }
            mbarrier_arrive_expect_tx(&s->received, bytes);
        }
        /* Step 2: no launch writes weights, so the ring's first ones need not wait for the launch before. */
        Place place = {0, 0, p->m, 0, {0, 0}};
        if (p->experts == 1 && find_tile(p, &place, cluster, bm, bn)) {
            for (; early < min_int(stages, end_pair - first_pair); early++) {
                load_weights(p, &place, first_pair + early, w + early * w_bytes, &s->full[early], stage_bytes, blocks);
            }
        }
    }
    __syncwarp();
    /* All wait for the barriers to exist. */
    __syncthreads();
    if (parts > 1) {
        /* Tells the other CTA that it may send sums. */
        cluster_arrive_relaxed();
    }
    /* The next launch may set up its CTAs as this one's end. */
    grid_dependency_launch();

    if (team == teams) {
        if (producer) {
            /* Waits until the launch before has ended: activations, and which rows are whose, may be its results. */
            grid_dependency_wait();

            /* Step 3 of the producer: all pairs of its tiles. */
            PipelineState state = producer_start_state();
            Place place = first_place(p);
            for (int index = cluster; find_tile(p, &place, index, bm, bn); index += clusters) {
                for (int pair = first_pair; pair < end_pair; pair++) {
                    MBarrier *full = &s->full[state.index];
                    if (early > 0) {
                        early--;
                    } else {
                        /* Waits until the consumers have finished with this stage: they may still read it. */
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
        __syncwarp();
        if (parts > 1) {
            /* The barrier counts all threads of the cluster. */
            cluster_wait();
        }
    } else {
        /* Each waits until the launch before has ended: it may read C, or write the rows' scales. */
        grid_dependency_wait();
        const uint8_t *my_w = w + warpgroup % warpgroups * each * PAIR_BYTES;
        PipelineState next = consumer_start_state();
        Place place = first_place(p);
        for (int index = cluster; find_tile(p, &place, index, bm, bn); index += clusters) {
            /* Step 3 of the consumers: main loop. */
            float sum[MAX_EACH][MAX_BM / 2], acc[2][MAX_WIDTH / 2]; /* wgmma.h says which element is where */
            uint32_t a[PAIR][STEPS][4]; /* the products read one while the other is written */
            float scale[PAIR][2];
            UNROLL
            for (int i = 0; i < each * bm / 2; i++) {
                sum[i / (bm / 2)][i % (bm / 2)] = 0;
            }
            PipelineState state = next;
            pipeline_advance_by(&state, team, stages);
            pipeline_advance_by(&next, end_pair - first_pair, stages);
            if (first_pair + team < end_pair) {
                /* Waits until the bytes of the first pair have landed. */
                consumer_wait(s->full, state);
                convert(my_w + state.index * w_bytes, a[0], scale[0]);
            }
            UNROLL_ONCE
            for (int pair = first_pair + team; pair < end_pair; pair += teams) {
                int stage = state.index;
                UNROLL
                for (int i = 0; i < teams; i++) {
                    pipeline_advance(&state, stages);
                }
                UNROLL
                for (int group = 0; group < groups; group++) {
                    /* An item is a k-tile of a block. It is in the set of registers that the item before is not in. */
                    const int item = group / halves, set = item % PAIR, before = group - 1;
                    uint64_t x = wgmma_descriptor(s->ring + stage * x_bytes + (set * bm + group % halves * width) * BK);
                    /* What this thread has converted, and read of the accumulators, comes before the products. */
                    wgmma_fence();
                    UNROLL
                    for (int step = 0; step < STEPS; step++) {
                        wgmma_k32(width, acc[group % 2], a[set][step], x + step * (32 >> 4), step > 0);
                    }
                    wgmma_commit_group();
                    if (group > 0) {
                        /* Waits until the products of the group before are done; those of this one go on. */
                        wgmma_wait_group(1);
                        promote(&sum[before / halves / PAIR][before % halves * width / 2], acc[before % 2],
                                scale[before / halves % PAIR], width);
                    }
                    /* Under these products: the next item, into the other set. Nothing reads that set now: the products
                     * of the item before are done by the wait above. */
                    if (group == groups - 1 && pair + teams < end_pair) {
                        consumer_wait(s->full, state);
                        convert(my_w + state.index * w_bytes, a[0], scale[0]);
                    } else if (group % halves == 0 && group + halves < groups) {
                        convert(my_w + stage * w_bytes + (item + 1) * BLOCK_BYTES, a[1 - set], scale[1 - set]);
                    }
                }
                /* Waits until the last products are done too: their sums may be read, and the stage written. */
                wgmma_wait_group(0);
                promote(&sum[each - 1][(halves - 1) * width / 2], acc[1], scale[1], width);
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
            /* The scales are asked for before the sums are waited for. */
            float scale_a[MAX_BM / 4]; /* [quads][2] */
            int row = place.row + place.tile.m * bm + (int)threadIdx.x % 4 * 2;
            UNROLL
            for (int i = 0; i < bm / 4; i++) {
                int at = row + i / 2 * 8 + i % 2;
                scale_a[i] = i / 2 % shares == share && at < place.end ? p->scale_a[at] * DECODED_SCALE : 0;
            }
            if (parts > 1) {
                /* Waits until the other CTA's barriers exist. */
                cluster_wait();
            }
            if (shares > 1) {
                add_shares(s, received, sum[0], quads, teams, shares, team_threads, share);
            }
            UNROLL
            for (int i = 0; i < each; i++) {
                int first_col = place.tile.n * bn + (warpgroup % warpgroups * each + i) * BLOCK_ROWS;
                store_block(p, &place, sum[i], scale_a, bm, first_col, shares, share);
            }
            if (shares > 1) {
                break; /* sums are received once: such a CTA has one tile */
            }
        }
    }
}

#define TILE_KERNEL(bm, blocks, each, teams, parts, threads)                                  \
    static __global__ void __launch_bounds__(threads, 1)                                      \
        w4a8_##bm##_##blocks##_##each##_##teams##_##parts(const __grid_constant__ Params p) { \
        gemm(&p, bm, blocks, each, teams, parts);                                             \
    }                                                                                         \
    KERNEL_ENTRY(w4a8_##bm##_##blocks##_##each##_##teams##_##parts, Params);
EACH_KERNEL(TILE_KERNEL)

typedef struct {
    int bm, blocks, each, teams, parts, threads;
    const void *kernel;
    const char *name;
} Kernel;

static const Kernel kernels[] = {
#define LISTED(bm, blocks, each, teams, parts, threads) \
    {bm, blocks, each, teams, parts, threads, KERNEL(w4a8_##bm##_##blocks##_##each##_##teams##_##parts)},
    EACH_KERNEL(LISTED)
#undef LISTED
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static int stage_bytes(const Kernel *kernel) { return PAIR * kernel->bm * BK + kernel->blocks * PAIR_BYTES; }

/* Bytes that the CTA with most to do reads: the least of them is chosen. */
static double busiest(const Gemm *g, const Kernel *kernel, int rows) {
    const W4a8 *o = (const W4a8 *)g->operands;
    double tiles = (double)o->experts * ceil_div(rows, kernel->bm) * ceil_div(g->n, kernel->blocks * BLOCK_ROWS);
    double waves = ceil(tiles * kernel->parts / g->sm_count);
    if (kernel->teams * kernel->parts > 1 && (waves > 1 || o->experts > 1)) {
        return INFINITY; /* sums are received once: such a cluster has one tile */
    }
    return waves * ceil_div(ceil_div(g->k, PAIR * BK), kernel->parts) * stage_bytes(kernel);
}

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const W4a8 *o = (const W4a8 *)g->operands;
    int rows = ceil_div(g->m, o->experts), bm = 8; /* as many as an expert has on average */
    while (bm < rows && bm < MAX_BM) {
        bm *= 2;
    }
    const Kernel *kernel = NULL;
    for (int i = 0; i < KERNELS; i++) {
        if (kernels[i].bm == bm && (!kernel || busiest(g, &kernels[i], rows) < busiest(g, kernel, rows))) {
            kernel = &kernels[i];
        }
    }
    Params p;
    p.weights = (const uint8_t *)g->prepared;
    p.scale_a = o->scale_a;
    p.first_row = o->first_row;
    p.c = g->c;
    p.m = g->m, p.n = g->n, p.k = g->k, p.ldc = g->ldc, p.experts = o->experts;
    p.k_pairs = ceil_div(g->k, PAIR * BK);
    int shares = kernel->teams * kernel->parts, threads = kernel->threads;
    int received = shares > 1 ? kernel->teams * shares * ceil_div(bm / 8, shares) * kernel->blocks * 128 : 0;
    /* Each team has stages of its own. If they changed hands, a team would wait for every second phase of a barrier, and
     * the parity could not tell it from the phase before. */
    p.stages = min_int((RING_BYTES - received * (int)sizeof(float4)) / stage_bytes(kernel), MAX_STAGES) /
               kernel->teams * kernel->teams;
    Tensor x = {.type = ELEMENT_FP8,
                .rank = 2,
                .base = o->a,
                .size = {(uint64_t)g->k, (uint64_t)g->m},
                .stride = {(uint64_t)g->lda},
                .box = {BK, (uint32_t)bm},
                .swizzle = SWIZZLE_128B};
    if (tensor_map_nd(&p.map_x, "A", &x, error)) {
        return GEMM_DEVICE;
    }
    int tiles = ceil_div(g->m, bm) * ceil_div(g->n, kernel->blocks * BLOCK_ROWS);
    int grid = shares > 1 ? tiles * kernel->parts : o->experts > 1 ? g->sm_count : min_int(tiles, g->sm_count);
    LaunchShape shape = {.grid = grid,
                         .block = threads,
                         .cluster = kernel->parts > 1 ? kernel->parts : 0,
                         .shared_bytes = sizeof(Shared),
                         .overlap = 1};
    return launch_kernel(kernel->kernel, kernel->name, shape, &p, g->stream, error);
}

static size_t prepared_bytes(const Gemm *g) {
    const W4a8 *o = (const W4a8 *)g->operands;
    return (size_t)o->experts * ceil_div(g->n, BLOCK_ROWS) * ceil_div(g->k, PAIR * BK) * PAIR_BYTES;
}

static GemmStatus prepare(const Gemm *g, void *out, GemmError *error) {
    const W4a8 *o = (const W4a8 *)g->operands;
    int k_tiles = ceil_div(g->k, PAIR * BK) * PAIR, groups = ceil_div(g->k, BK);
    uint8_t *to = (uint8_t *)out;
    for (int expert = 0; expert < o->experts; expert++) {
        for (int row = 0; row < g->n; row += BLOCK_ROWS) {
            for (int k_tile = 0; k_tile < k_tiles; k_tile++, to += BLOCK_BYTES) {
                /* Of a k-tile behind the last one there are no rows. */
                size_t first = (size_t)expert * g->n + row;
                const int8_t *wrong = pack_block(o->weights + first * g->k + k_tile * BK, (size_t)g->k,
                                                 o->scale_b + first * groups + k_tile, (size_t)groups,
                                                 k_tile < groups ? g->n - row : 0, g->k - k_tile * BK, to);
                if (wrong) {
                    long long at = wrong - o->weights;
                    return gemm_fails(error, GEMM_USAGE,
                                      "11_w4a8: weight %d in row %lld at k %lld, accepted is -%d to %d", *wrong,
                                      at / g->k, at % g->k, MOST_WEIGHT, MOST_WEIGHT);
                }
            }
        }
    }
    return GEMM_OK;
}

CHAPTER(11_w4a8, .adds = "weights of 4 bits, converted in registers while the products before run",
        .needs = NEEDS_SM90A, .kind = KIND_W4A8, .launch = launch, .prepared_bytes = prepared_bytes,
        .prepare = prepare);
