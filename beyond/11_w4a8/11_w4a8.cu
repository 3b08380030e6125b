/* 11_w4a8 - weights of 4 bits, activations of 8: the tensor cores multiply what the threads have converted.
 *
 * What is new   wgmma has no operand of 4 bits. So the weights are operand A, which may come from registers: each
 *               thread loads its part of a packed block (pack.h), converts it, and issues the products. While those of
 *               one k-tile run, the next k-tile is converted into a second set of registers. Operand B is the
 *               activations: wgmma's N is as small as their number of rows allows, and the sums are those of C
 *               transposed. If there are fewer tiles than SMs, the CTAs of a cluster each take a part of a tile's k,
 *               and add their sums in shared memory.
 * Why           With few rows of activations the bytes of the weights set the time. Here they are half of chapter 10's.
 * Run           make 11 && ./11_w4a8, here; from the top, make run-11 */
#include "../../common/gemm.h"
#include "../../common/variants.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/cluster.h"
#include "../../common/device/grid.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

#include "pack.h"

/* V(bm, bn, cluster) for each kernel. A tile of C is bm rows of activations x bn rows of weights. The CTAs of a cluster
 * share it: each has a part of its k. 256 has no cluster, as add_sums() adds the sums of one strip. */
#define EACH_OF(V, bm) V(bm, 256, 1) V(bm, 192, 2) V(bm, 128, 1) V(bm, 128, 2)
#define EACH_KERNEL(V) EACH_OF(V, 8) EACH_OF(V, 16) EACH_OF(V, 32) EACH_OF(V, 64)

/* A strip is 64 rows of weights over all k; pack.h's blocks follow each other in it.
 * A consumer is a warpgroup. It has one strip of the tile, in the widest tiles two, which share the activations.
 * A team is as many consumers as the tile's strips take: they work on a stage together. A CTA has one team, or two that
 * take turns at the stages: two pay where a CTA has few rounds (notes.md). One more warp of the CTA produces.
 * A sharer is a team of a cluster: in the end all teams share the tile's sums.
 * A quad is the 4 sums that a thread has of 8 rows of activations. */
#define STRIPS_OF(bn) ((bn) == 256 ? 2 : 1)
#define CONSUMERS_OF(bn) ((bn) / BLOCK_ROWS / STRIPS_OF(bn)) /* in a team */
#define TEAMS_OF(bm, bn, cluster) ((bm) <= 16 && (bn) == 128 && (cluster) == 2 ? 2 : 1)
#define SHARERS_OF(bm, bn, cluster) ((cluster)*TEAMS_OF(bm, bn, cluster)) /* teams of a cluster */
#define THREADS_OF(bm, bn, cluster) (TEAMS_OF(bm, bn, cluster) * CONSUMERS_OF(bn) * 128 + 32)

enum {
    MAX_STRIPS = 2,
    MAX_BM = 64,    /* for more rows, chapter 10's kernel is faster */
    MAX_WIDTH = 32, /* rows of activations in a product: wider ones are no faster, and take more registers */
    PAIR = 2,       /* k-tiles in a stage: a consumer converts one while the products of the other run */
    PAIR_BYTES = PAIR * BLOCK_BYTES, /* of one strip */
    RING_BYTES = 220 * 1024,         /* as many stages as fit */
    MAX_STAGES = 16,
    TILE_GROUP = 16, /* tile rows in a group */
};
static_assert(BK * sizeof(e4m3) == 128, "the tensor map and the descriptors swizzle rows of 128 bytes: BK is 128");
static_assert(BLOCK_BYTES % 16 == 0, "a bulk copy brings a multiple of 16 bytes");
static_assert(PAIR == 2,
              "a stage's last products are in the second of two accumulators, their weights in the second set");
static_assert((2 * MAX_STAGES + 1) * sizeof(MBarrier) < 1024, "the barriers lie before the ring, in 1024 bytes");

/* A stage has PAIR k-tiles of bm rows of activations and of bn rows of weights. */
#define X_BYTES(bm) (PAIR * (bm)*BK)
#define W_BYTES(bn) ((bn) / BLOCK_ROWS * PAIR_BYTES)

typedef struct {
    MBarrier full[MAX_STAGES];  /* completes a phase when a stage's bytes have landed */
    MBarrier empty[MAX_STAGES]; /* completes a phase when all warps of its team have finished with it */
    MBarrier received;          /* completes its phase when the others' sums have landed */
    uint8_t unused[1024 - (2 * MAX_STAGES + 1) * sizeof(MBarrier)]; /* the swizzle needs 1024-byte boundaries */
    /* All stages' activations [PAIR][bm][BK], 128-byte swizzle; then all stages' weights; then the sums received. */
    uint8_t ring[RING_BYTES];
} Shared;
static_assert(sizeof(Shared) + 1024 <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: a shorter ring");

/* Gemm's A is the activations, here x: operand B of wgmma, whose N is bm. Gemm's B is the weights: operand A. */
typedef struct {
    TensorMap map_x;        /* e4m3 [m][k], box [bm][BK] */
    const uint8_t *weights; /* [experts][strips: ceil(n / 64)][k_pairs][PAIR_BYTES] */
    const float *scale_a;   /* [m] */
    const int *first_row;   /* [experts + 1]; not read for a single expert */
    bf16 *c;
    int m, n, k, ldc, experts;
    int k_pairs; /* of a tile */
    int stages;
} Params;

/* The parts of Shared.ring. */
typedef struct {
    int stages;
    uint8_t *x, *w;   /* activations and weights of the first stage */
    float4 *received; /* [teams][sharers][quads of a team][its threads], see add_sums() */
} Ring;

/* What a role does next. */
typedef struct {
    Tile tile;
    int first_pair, end_pair; /* this CTA's part of its k, in pairs of k-tiles; end_pair is excluded */
    int expert, row, end;     /* rows `row` to `end` - 1 of C are the expert's */
    int tiles_before;         /* tiles of the experts before it */
    int index, stride;        /* the next tile's number, of all experts' tiles; the distance to the one after */
} Work;

/* A role's work before its first tile. Each CTA has one stretch of k: packed pairs are contiguous anyway, so there is
 * no need to take turns as in 09. */
DEVICE Work all_work(const Params *p, const int cluster) {
    int rank = cluster > 1 ? cluster_cta_rank() : 0;
    Work work = {.first_pair = p->k_pairs * rank / cluster,
                 .end_pair = p->k_pairs * (rank + 1) / cluster,
                 .end = p->m,
                 .index = (int)blockIdx.x / cluster,
                 .stride = (int)gridDim.x / cluster};
    return work;
}

/* Which rows belong to the first expert. The previous launch may have written this. */
DEVICE void find_first_expert(const Params *p, Work *work) {
    if (p->experts > 1) {
        work->row = p->first_row[0], work->end = p->first_row[1];
    }
}

/* Moves to the next tile of this cluster; 0 if there is none. */
DEVICE int next_tile(const Params *p, Work *work, const int bm, const int bn) {
    int tiles_n = ceil_div(p->n, bn), tiles_m = ceil_div(work->end - work->row, bm);
    while (work->index >= work->tiles_before + tiles_m * tiles_n) {
        if (work->expert + 1 == p->experts) {
            return 0;
        }
        work->tiles_before += tiles_m * tiles_n;
        work->expert++;
        work->row = work->end, work->end = p->first_row[work->expert + 1];
        tiles_m = ceil_div(work->end - work->row, bm);
    }
    work->tile = tile_at(work->index - work->tiles_before, tiles_m, tiles_n, TILE_GROUP);
    work->index += work->stride;
    return 1;
}

/* Producer: announces the bytes of a stage and starts the copies of its weights. */
DEVICE void load_weights(const Params *p, Shared *s, const Ring *ring, const Work *work, int pair, int stage,
                         const int bm, const int bn) {
    const int strips = bn / BLOCK_ROWS;
    mbarrier_arrive_expect_tx(&s->full[stage], X_BYTES(bm) + W_BYTES(bn));
    int all = ceil_div(p->n, BLOCK_ROWS);
    UNROLL_ONCE
    for (int i = 0; i < strips; i++) {
        /* Where the tile extends past the last strip, that strip is loaded again; its products are not stored. */
        size_t strip = (size_t)work->expert * all + min_int(work->tile.n * strips + i, all - 1);
        bulk_load(ring->w + stage * W_BYTES(bn) + i * PAIR_BYTES, p->weights + (strip * p->k_pairs + pair) * PAIR_BYTES,
                  PAIR_BYTES, &s->full[stage]);
    }
}

/* The producer: all pairs of its tiles. The weights of the first `early` pairs are in flight. */
DEVICE void produce(const Params *p, Shared *s, const Ring *ring, const int bm, const int bn, Work work, int early) {
    PipelineState state = producer_start_state();
    find_first_expert(p, &work);
    while (next_tile(p, &work, bm, bn)) {
        for (int pair = work.first_pair; pair < work.end_pair; pair++) {
            if (early > 0) {
                early--;
            } else {
                /* Waits until the consumers have finished with this stage: they may still read it. */
                mbarrier_wait_parity(&s->empty[state.index], state.phase);
                load_weights(p, s, ring, &work, pair, state.index, bm, bn);
            }
            for (int i = 0; i < PAIR; i++) {
                tma_load_2d(ring->x + state.index * X_BYTES(bm) + i * bm * BK, &p->map_x, (pair * PAIR + i) * BK,
                            work.row + work.tile.m * bm, &s->full[state.index]);
            }
            pipeline_advance(&state, ring->stages);
        }
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
    scale[0] = bf16_to_float((bf16)both); /* the cast keeps the lower 16 bits */
    scale[1] = bf16_to_float((bf16)(both >> 16));
}

/* Consumer, when the products of a k-tile are complete: adds them, times the scales of their rows, to the sums. */
DEVICE void promote(float *sum, float *acc, const float scale[2], const int width) {
    registers_settled(acc, width / 2);
    UNROLL
    for (int i = 0; i < width / 2; i++) {
        sum[i] += scale[i / 2 % 2] * acc[i];
    }
}

/* Consumer: main loop. Its team's pairs of a tile, from `pair` on, which is in the stage of `state`. my_w: this
 * consumer's weights in the ring's first stage. */
DEVICE void multiply(Shared *s, const Ring *ring, PipelineState state, int pair, int end_pair, const uint8_t *my_w,
                     float sum[MAX_STRIPS][MAX_BM / 2], const int bm, const int bn, const int cluster) {
    const int teams = TEAMS_OF(bm, bn, cluster);
    /* The products of a block are a wgmma group, or two: one for each half of the activations. One group is added
     * to the sums while the next runs, so there are two accumulators. */
    const int width = min_int(bm, MAX_WIDTH), halves = bm / width, groups = STRIPS_OF(bn) * PAIR * halves;
    float acc[2][MAX_WIDTH / 2]; /* wgmma.h says which element is where */
    uint32_t a[PAIR][STEPS][4];  /* the products read one while the other is written */
    float scale[PAIR][2];
    UNROLL
    for (int i = 0; i < STRIPS_OF(bn) * bm / 2; i++) {
        sum[i / (bm / 2)][i % (bm / 2)] = 0;
    }
    if (pair < end_pair) {
        /* Waits until the bytes of the first pair have landed. */
        consumer_wait(s->full, state);
        convert(my_w + state.index * W_BYTES(bn), a[0], scale[0]);
    }
    UNROLL_ONCE
    for (; pair < end_pair; pair += teams) {
        int stage = state.index;
        UNROLL
        for (int i = 0; i < teams; i++) {
            pipeline_advance(&state, ring->stages);
        }
        UNROLL
        for (int group = 0; group < groups; group++) {
            /* A block of the stage's first k-tile is in a[0], of its second in a[1]: never where the previous block
             * is. */
            const int block = group / halves, k_tile = block % PAIR, previous = group - 1;
            uint64_t x = wgmma_descriptor(ring->x + stage * X_BYTES(bm) + (k_tile * bm + group % halves * width) * BK);
            /* Orders what this thread has converted, and its reads of the accumulators, before the products. */
            wgmma_fence();
            UNROLL
            for (int step = 0; step < STEPS; step++) {
                wgmma_rs_e4m3(width, acc[group % 2], a[k_tile][step], x + step * (32 >> 4), step > 0);
            }
            wgmma_commit_group();
            if (group > 0) {
                /* Waits until the products of the previous group are complete; those of this one go on. */
                wgmma_wait_group(1);
                promote(&sum[previous / halves / PAIR][previous % halves * width / 2], acc[previous % 2],
                        scale[previous / halves % PAIR], width);
            }
            /* During these products: convert the next block into the other registers. Nothing reads them now, since the
             * products of the previous block are complete after the wait above. */
            if (group == groups - 1 && pair + teams < end_pair) {
                consumer_wait(s->full, state);
                convert(my_w + state.index * W_BYTES(bn), a[0], scale[0]);
            } else if (group % halves == 0 && group + halves < groups) {
                convert(my_w + stage * W_BYTES(bn) + (block + 1) * BLOCK_BYTES, a[1 - k_tile], scale[1 - k_tile]);
            }
        }
        /* Waits until the last products are complete too: their sums may be read, and the stage written. */
        wgmma_wait_group(0);
        promote(&sum[STRIPS_OF(bn) - 1][(halves - 1) * width / 2], acc[1], scale[1], width);
        /* Orders each lane's reads of weights before the copy engine's next write there, through another proxy. */
        fence_proxy_async();
        /* The warp waits for all its lanes; then one lane arrives for it. Each warp arrives, because nothing orders the
         * other warps' reads. */
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            consumer_release(s->empty, stage);
        }
    }
}

/* A cluster's teams have numbers, `sharer`, from 0 to sharers - 1. Each stores the quads whose number modulo sharers is
 * its own. */

/* Where the CTA of team `to` receives a quad from team `from`. */
DEVICE float4 *received_quad(const Ring *ring, int quad, int from, int to, const int bm, const int bn,
                             const int cluster) {
    const int teams = TEAMS_OF(bm, bn, cluster), sharers = SHARERS_OF(bm, bn, cluster);
    const int threads = CONSUMERS_OF(bn) * 128, quads = ceil_div(bm / 8, sharers); /* of a team */
    return ring->received + ((to % teams * sharers + from) * quads + quad / sharers) * threads +
           (int)threadIdx.x % threads;
}

/* Consumer: sends each other team the quads that it stores, and adds what the others send to its own quads. */
DEVICE void add_sums(Shared *s, const Ring *ring, float *sum, const int bm, const int bn, const int cluster,
                     int sharer) {
    const int sharers = SHARERS_OF(bm, bn, cluster);
    UNROLL
    for (int quad = 0; quad < bm / 8; quad++) {
        const float *v = &sum[quad * 4];
        int to = quad % sharers;
        if (to != sharer) {
            uint4 bits =
                make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
            st_async_v4(received_quad(ring, quad, sharer, to, bm, bn, cluster), to / TEAMS_OF(bm, bn, cluster), bits,
                        &s->received);
        }
    }
    /* Waits until everything that is sent to this CTA has landed. The CTA must not end before. */
    mbarrier_wait_parity_cluster(&s->received, 0);
    UNROLL
    for (int quad = 0; quad < bm / 8; quad++) {
        if (quad % sharers == sharer) {
            float *v = &sum[quad * 4];
            float4 total = {0, 0, 0, 0};
            /* In the order of the teams, not of their arrival, so that every launch computes the same bits. */
            UNROLL
            for (int from = 0; from < sharers; from++) {
                float4 add = {v[0], v[1], v[2], v[3]};
                if (from != sharer) {
                    add = *received_quad(ring, quad, from, sharer, bm, bn, cluster);
                }
                total.x += add.x, total.y += add.y, total.z += add.z, total.w += add.w;
            }
            v[0] = total.x, v[1] = total.y, v[2] = total.z, v[3] = total.w;
        }
    }
}

/* Consumer: store 64 x bm sums, rows of weights and of activations, in C, which is transposed. In every 8 rows
 * of C, a thread holds two neighbouring rows of two columns that are 8 apart. Lanes 4 apart have neighbouring columns:
 * they exchange a row, so that each stores two columns at once. */
DEVICE void store_strip(const Params *p, const Work *work, const float *sum, const float *scale, const int bm,
                        int first_col, const int sharers, int sharer) {
    int thread = (int)threadIdx.x % 128, lane = thread % 32, odd = lane / 4 % 2;
    int row = work->row + work->tile.m * bm + lane % 4 * 2;
    int col = first_col + fragment_row(thread, 0) - odd;
    UNROLL
    for (int quad = 0; quad < bm / 8; quad++) {
        if (quad % sharers != sharer) {
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
            /* The rows from `end` on belong to the next expert. */
            bf16 *to = p->c + (size_t)(at + odd) * p->ldc + col + i * 8;
            if (at + odd < work->end && col + i * 8 + 1 < p->n) {
                *(uint32_t *)to = both[i];
            } else if (at + odd < work->end && col + i * 8 < p->n) {
                *to = (bf16)both[i]; /* the left column: the lower 16 bits */
            }
        }
    }
}

/* Consumer, step 4: store the sums of a tile's strips, from first_strip on, in C. */
DEVICE void epilogue(const Params *p, Shared *s, const Ring *ring, const Work *work, int first_strip,
                     float sum[MAX_STRIPS][MAX_BM / 2], const int bm, const int bn, const int cluster, int sharer) {
    const int sharers = SHARERS_OF(bm, bn, cluster);
    /* The scales are loaded before the wait for the sums. */
    float scale_a[MAX_BM / 4]; /* two for each quad */
    int row = work->row + work->tile.m * bm + (int)threadIdx.x % 4 * 2;
    UNROLL
    for (int i = 0; i < bm / 4; i++) {
        int at = row + i / 2 * 8 + i % 2;
        scale_a[i] = i / 2 % sharers == sharer && at < work->end ? p->scale_a[at] * DECODED_SCALE : 0;
    }
    if (cluster > 1) {
        /* Waits until the other CTA's barriers are initialised. */
        cluster_wait();
        add_sums(s, ring, sum[0], bm, bn, cluster, sharer);
    }
    UNROLL
    for (int i = 0; i < STRIPS_OF(bn); i++) {
        int first_col = work->tile.n * bn + (first_strip + i) * BLOCK_ROWS;
        store_strip(p, work, sum[i], scale_a, bm, first_col, sharers, sharer);
    }
}

/* The consumers: all tiles. */
DEVICE void consume(const Params *p, Shared *s, const Ring *ring, const int bm, const int bn, const int cluster,
                    Work work, int team, int first_strip) {
    int sharer = cluster > 1 ? cluster_cta_rank() * TEAMS_OF(bm, bn, cluster) + team : 0;
    const uint8_t *my_w = ring->w + first_strip * PAIR_BYTES;
    PipelineState cta_state = consumer_start_state(); /* the stage of the CTA's next pair */
    find_first_expert(p, &work);
    while (next_tile(p, &work, bm, bn)) {
        float sum[MAX_STRIPS][MAX_BM / 2];
        PipelineState state = cta_state;
        pipeline_advance_by(&state, team, ring->stages);
        multiply(s, ring, state, work.first_pair + team, work.end_pair, my_w, sum, bm, bn, cluster);
        epilogue(p, s, ring, &work, first_strip, sum, bm, bn, cluster, sharer);
        if (cluster > 1) {
            break; /* sums are received once: such a CTA has one tile */
        }
        /* If multiply() did this, the compiler would use 20 registers more. */
        pipeline_advance_by(&cta_state, work.end_pair - work.first_pair, ring->stages);
    }
}

/* The kernel, for tiles and clusters that are constants in each call. Step 1: roles and barriers. Step 2: the ring's
 * first weights. Step 3: main loop. Step 4: epilogue. */
DEVICE void gemm(const Params *p, const int bm, const int bn, const int cluster) {
    SHARED_MEMORY(Shared, s);
    const int teams = TEAMS_OF(bm, bn, cluster), sharers = SHARERS_OF(bm, bn, cluster);
    Ring ring = {.stages = p->stages, .x = s->ring, .w = s->ring + p->stages * X_BYTES(bm)};
    ring.received = (float4 *)(ring.w + p->stages * W_BYTES(bn));

    /* Step 1. The last warp produces, the others consume. */
    int warpgroup = warp_uniform((int)threadIdx.x / 128), team = warpgroup / CONSUMERS_OF(bn);
    Work work = all_work(p, cluster);
    int is_producer_warp = team == teams, producer = is_producer_warp && elect_one(), early = 0;
    if (producer) {
        tma_prefetch_map(&p->map_x);
        mbarrier_init(s->full, ring.stages, 1);                     /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, ring.stages, 4 * CONSUMERS_OF(bn)); /* a lane of each warp of the stage's team */
        mbarrier_init(&s->received, 1, 1);                          /* the arrival here */
        mbarrier_init_fence();
        if (cluster > 1) {
            int quads = 0, rank = cluster_cta_rank(); /* quads that this CTA's teams store */
            for (int quad = 0; quad < bm / 8; quad++) {
                quads += quad % sharers / teams == rank;
            }
            mbarrier_arrive_expect_tx(&s->received,
                                      quads * (sharers - 1) * CONSUMERS_OF(bn) * 128 * (int)sizeof(float4));
        }
        /* Step 2: no launch writes weights, so the first copies need not wait for the previous launch. */
        Work first = work;
        if (p->experts == 1 && next_tile(p, &first, bm, bn)) {
            for (; early < min_int(ring.stages, work.end_pair - work.first_pair); early++) {
                load_weights(p, s, &ring, &first, work.first_pair + early, early, bm, bn);
            }
        }
    }
    __syncwarp(); /* orders nothing: the warp converges again, as the .aligned barriers require */
    /* All threads wait until the barriers are initialised. */
    __syncthreads();
    if (cluster > 1) {
        /* Tells the other CTA that it may send sums. Relaxed is enough: mbarrier_init_fence() has released the barriers
         * to the cluster. */
        cluster_arrive_relaxed();
    }
    /* The next launch may start its CTAs as those of this one end. */
    grid_dependency_launch();

    if (is_producer_warp) {
        if (producer) {
            /* Waits until the previous launch has ended: activations and first_row may be its results. */
            grid_dependency_wait();
            produce(p, s, &ring, bm, bn, work, early); /* step 3 */
        }
        __syncwarp();
        if (cluster > 1) {
            /* The producer needs nothing from it, but each arrival must have its wait. */
            cluster_wait();
        }
    } else {
        /* Each thread waits until the previous launch has ended: it may read C, or write the rows' scales. */
        grid_dependency_wait();
        int first_strip = warpgroup % CONSUMERS_OF(bn) * STRIPS_OF(bn);
        consume(p, s, &ring, bm, bn, cluster, work, team, first_strip); /* steps 3 and 4 */
    }
}

/* Sums that a CTA receives: of each quad that its teams store, from all sharers, of each thread of a team. */
#define RECEIVED_BYTES(bm, bn, cluster)                                                                  \
    ((cluster) == 1 ? 0                                                                                  \
                    : TEAMS_OF(bm, bn, cluster) * SHARERS_OF(bm, bn, cluster) *                          \
                          (((bm) / 8 + SHARERS_OF(bm, bn, cluster) - 1) / SHARERS_OF(bm, bn, cluster)) * \
                          CONSUMERS_OF(bn) * 128 * (int)sizeof(float4))
/* A multiple of TEAMS_OF: each team has stages of its own. If a stage changed hands, a team would wait for every second
 * phase of its barrier, and the parity could not tell that one from the phase before. */
#define STAGES_OF(bm, bn, cluster)                                                                              \
    ((RING_BYTES - RECEIVED_BYTES(bm, bn, cluster)) / (X_BYTES(bm) + W_BYTES(bn)) / TEAMS_OF(bm, bn, cluster) * \
     TEAMS_OF(bm, bn, cluster))

#define KERNEL_OF(kernel, bm, bn, cluster, threads)                                                                   \
    static_assert((bm) % 8 == 0 && (bm) <= MAX_BM, "wgmma and the swizzle take rows in eights; sums are for MAX_BM"); \
    static_assert((bm) <= MAX_WIDTH || (bm) == 2 * MAX_WIDTH,                                                         \
                  "a product takes all rows of activations, or half of them");                                        \
    static_assert((bn) % (BLOCK_ROWS * STRIPS_OF(bn)) == 0, "a consumer has whole strips");                           \
    static_assert((cluster) == 1 || STRIPS_OF(bn) == 1, "add_sums() adds the sums of one strip");                     \
    static_assert((cluster) > 1 || TEAMS_OF(bm, bn, cluster) == 1,                                                    \
                  "sums are received once: only where a CTA has one tile");                                           \
    static_assert(STAGES_OF(bm, bn, cluster) >= 2 * TEAMS_OF(bm, bn, cluster),                                        \
                  "a team waits for its next stage before it releases the last");                                     \
    static __global__ void __launch_bounds__(threads, 1) kernel(const __grid_constant__ Params p) {                   \
        gemm(&p, bm, bn, cluster);                                                                                    \
    }                                                                                                                 \
    KERNEL_ENTRY(kernel, Params);
#define TILE_KERNEL(bm, bn, cluster) \
    KERNEL_OF(w4a8_##bm##x##bn##_cluster_##cluster, bm, bn, cluster, THREADS_OF(bm, bn, cluster))
EACH_KERNEL(TILE_KERNEL)

static const Variant kernels[] = {
/* Not named bm, bn, cluster: these names would be replaced in the initialiser too. */
#define ROW(rows, columns, ctas) \
    {VARIANT(w4a8_##rows##x##columns##_cluster_##ctas, .bm = rows, .bn = columns, .cluster = ctas)},
    EACH_KERNEL(ROW)
#undef ROW
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/* Bytes that the busiest CTA reads; the variant with the fewest is chosen. */
static double bytes_of_busiest(const Gemm *g, const Variant *v, int rows) {
    const W4a8 *o = (const W4a8 *)g->beyond->operands;
    double tiles = (double)o->experts * ceil_div(rows, v->bm) * ceil_div(g->n, v->bn);
    double waves = ceil(tiles * v->cluster / g->sm_count);
    if (v->cluster > 1 && (waves > 1 || o->experts > 1)) {
        return INFINITY; /* sums are received once: such a cluster has one tile */
    }
    return waves * ceil_div(ceil_div(g->k, PAIR * BK), v->cluster) * (X_BYTES(v->bm) + W_BYTES(v->bn));
}

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const W4a8 *o = (const W4a8 *)g->beyond->operands;
    int rows = ceil_div(g->m, o->experts), bm = 8; /* as many as an expert has on average */
    while (bm < rows && bm < MAX_BM) {
        bm *= 2;
    }
    const Variant *v = NULL;
    for (int i = 0; i < KERNELS; i++) {
        if (kernels[i].bm == bm && (!v || bytes_of_busiest(g, &kernels[i], rows) < bytes_of_busiest(g, v, rows))) {
            v = &kernels[i];
        }
    }
    Params p;
    p.weights = (const uint8_t *)g->beyond->prepared;
    p.scale_a = o->scale_a;
    p.first_row = o->first_row;
    p.c = g->c;
    p.m = g->m, p.n = g->n, p.k = g->k, p.ldc = g->ldc, p.experts = o->experts;
    p.k_pairs = ceil_div(g->k, PAIR * BK);
    p.stages = min_int(STAGES_OF(bm, v->bn, v->cluster), MAX_STAGES);
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
    int tiles = ceil_div(g->m, bm) * ceil_div(g->n, v->bn);
    int grid = v->cluster > 1 ? tiles * v->cluster : o->experts > 1 ? g->sm_count : min_int(tiles, g->sm_count);
    int threads = THREADS_OF(bm, v->bn, v->cluster);
    LaunchShape shape = {.grid = grid,
                         .block = threads,
                         .cluster = v->cluster > 1 ? v->cluster : 0,
                         .shared_bytes = sizeof(Shared),
                         .overlap = 1};
    return launch_kernel(v->kernel, v->name, shape, &p, g->stream, error);
}

static size_t prepared_bytes(const Gemm *g) {
    const W4a8 *o = (const W4a8 *)g->beyond->operands;
    return (size_t)o->experts * ceil_div(g->n, BLOCK_ROWS) * ceil_div(g->k, PAIR * BK) * PAIR_BYTES;
}

static GemmStatus prepare(const Gemm *g, void *out, GemmError *error) {
    const W4a8 *o = (const W4a8 *)g->beyond->operands;
    int k_tiles = ceil_div(g->k, PAIR * BK) * PAIR, row_scales = ceil_div(g->k, BK);
    uint8_t *to = (uint8_t *)out;
    for (int expert = 0; expert < o->experts; expert++) {
        for (int row = 0; row < g->n; row += BLOCK_ROWS) {
            for (int k_tile = 0; k_tile < k_tiles; k_tile++, to += BLOCK_BYTES) {
                /* A k-tile after the last one has no rows. */
                size_t first = (size_t)expert * g->n + row;
                const int8_t *wrong = pack_block(o->weights + first * g->k + k_tile * BK, (size_t)g->k,
                                                 o->scale_b + first * row_scales + k_tile, (size_t)row_scales,
                                                 k_tile < row_scales ? g->n - row : 0, g->k - k_tile * BK, to);
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

static const ChapterBeyond beyond_the_ladder = {
    .kind = KIND_W4A8, .prepared_bytes = prepared_bytes, .prepare = prepare};
CHAPTER(11_w4a8, .adds = "weights of 4 bits, converted in registers while the products before run",
        .needs = NEEDS_SM90A, .launch = launch, .beyond = &beyond_the_ladder);
