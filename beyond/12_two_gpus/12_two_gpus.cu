/* 12_two_gpus - each GPU multiplies with its part of B, and writes what it has finished into every GPU's C.
 *
 * What is new   The columns of C are dealt out to the GPUs of a host (ranks). The epilogue's TMA stores write each finished
 *               box into this rank's C and, over NVLink, into the neighbours': no copy and no collective follows. Flags in
 *               the neighbours' memory say that a rank's C may be written, and that a tile has been.
 * What holds it back   The product itself. The links are busy for a quarter of its time.
 * Run           make 12 && mpirun -n 2 ./12_two_gpus_mpi, here; on the model, as two devices, ./12_two_gpus --on model */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/epilogue.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/system_flag.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

enum { BM = 128, MAX_BN = 192, BK = 64 }; /* a consumer's tile is BM x bn; a row of a k-tile is 128 bytes */
enum { PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240 }; /* 168 at launch: 3 * 168 = 24 + 2 * 240 */
enum {
    CONSUMERS = 2, /* warpgroups */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 16,         /* k16 steps in a k-tile */
    RING_BYTES = 192 * 1024, /* as many stages as fit */
    MAX_STAGES = 6,
    CTAS_PER_SM = 1,
    TILE_GROUP = 8, /* tile rows walked together (tile_order.h) */
    /* The epilogue stores boxes of 64 rows x 64 columns. A row of a box is 128 bytes, one packet on NVLink. */
    BOX = 64,
};

typedef struct {
    bf16 ring[RING_BYTES / 2];         /* stages of A [BM][BK] and B [bn][BK], K-major, 128-byte swizzle */
    bf16 out[CONSUMERS][2][BOX * BOX]; /* boxes [BOX][BOX], 128-byte swizzle */
    MBarrier full[MAX_STAGES];         /* completes a phase when a k-tile has landed */
    MBarrier empty[MAX_STAGES];        /* completes a phase when its consumer has finished with it */
    MBarrier turn[CONSUMERS];          /* completes a phase when the other consumer has issued its math */
} Shared;

/* What this rank knows of a rank. */
typedef struct {
    bf16 *c;         /* its C, from this rank's first column on */
    int *set;        /* flags in its memory that this rank sets: flag READY, and one for each tile */
    const int *wait; /* flags in this rank's memory that it sets */
    int tiles;       /* how many tiles it has */
} Rank;

typedef struct {
    TensorMap map_a;            /* box [BM][BK] */
    TensorMap map_b;            /* box [bn][BK] */
    TensorMap map_c[MAX_RANKS]; /* this rank's columns of the C of ranks[i]; box [BOX][BOX] */
    Rank ranks[MAX_RANKS];      /* 0: this one; then its neighbours */
    int rank_count, epoch;
    Gemm g; /* n: this rank's columns */
} Params;

/* Of the flags that a rank sets in another's memory, the first says that its own C may be written, the others that it has
 * written a tile there. Set to the launch's epoch, never reset. */
enum { READY, FIRST_TILE };

/* One product of the chosen width. */
DEVICE void wgmma_k16(const int bn, float *acc, uint64_t a, uint64_t b, int accumulate) {
    switch (bn) {
    case 128: wgmma_m64n128k16(acc, a, b, accumulate); break;
    case 192: wgmma_m64n192k16(acc, a, b, accumulate); break;
    }
}

/* Consumer warpgroup: a box that hangs over the last column, from shared memory to every rank's C by ordinary stores. */
DEVICE void store_edge(const Params *p, const bf16 *out, int row, int col) {
    int in_box = (int)threadIdx.x % 128 / 2, half = (int)threadIdx.x % 2 * (BOX / 2); /* a thread takes half a row */
    for (int i = 0; i < p->rank_count && row + in_box < p->g.m; i++) {
        bf16 *c = p->ranks[i].c + (size_t)(row + in_box) * p->g.ldc + col;
        for (int j = half; j < half + BOX / 2 && col + j < p->g.n; j++) {
            c[j] = out[swizzled_index(in_box, j / 8) + j % 8];
        }
    }
}

/* Consumer warpgroup: 64 x bn accumulators to every rank's C, by way of shared memory. (row, col) is the first element, col
 * counted from this rank's first column. `store` counts this warpgroup's boxes: they alternate between two buffers. */
DEVICE void store_block(Shared *s, const Params *p, const int bn, const float *acc, int row, int col, int consumer,
                        int *store) {
    int warp = warp_uniform((int)threadIdx.x / 32) % 4, lane = (int)threadIdx.x % 32;
    UNROLL
    for (int box = 0; box < bn; box += BOX) {
        bf16 *out = s->out[consumer][*store % 2];
        if (warp == 0 && elect_one()) {
            /* Waits until the copy engine has read what the last store but one left in this buffer, for all ranks. */
            bulk_wait_group_read(1);
        }
        /* The warpgroup waits for that thread: the buffer may be written. */
        named_barrier_sync(1 + consumer, 128);
        UNROLL
        for (int quarter = 0; quarter < BOX / 16; quarter++) {
            const float *v = &acc[(box + quarter * 16) / 2];
            uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                                  pack_bf16x2(v[6], v[7])};
            /* Lane l gives stmatrix the address of row l % 8 of matrix l / 8: rows 0-7 and 8-15 of the left 8 columns, then
             * of the right ones. */
            int in_box =
                (int)swizzle_128b((uint32_t)((warp * 16 + lane % 16) * BOX * 2 + quarter * 32 + lane / 16 * 16));
            stmatrix_x4(&out[in_box / 2], packed);
        }
        /* This thread's stores come before the copy engine's reads: they go through different proxies. */
        fence_proxy_async();
        /* The warpgroup waits until all have stored and fenced. */
        named_barrier_sync(1 + consumer, 128);
        /* The copy engine cuts a row off at a multiple of 16 bytes only. */
        int edge = p->g.n % 8 != 0 && col + box + BOX > p->g.n;
        if (warp == 0 && elect_one()) {
            for (int i = 0; i < p->rank_count && !edge; i++) {
                tma_store_2d(&p->map_c[i], out, col + box, row);
            }
            bulk_commit_group(); /* an empty one counts too: one for each time that a buffer was filled */
        }
        if (edge) {
            store_edge(p, out, row, col + box);
        }
        *store += 1;
    }
}

/* The kernel, for a width that is a constant where it is called. */
DEVICE void gemm(const Params *p, const int bn) {
    SHARED_MEMORY(Shared, s);
    const int stage_bytes = (BM + bn) * BK * 2; /* what the copies of a k-tile bring */
    const int stages = min_int(RING_BYTES / stage_bytes, MAX_STAGES);

    /* Step 1: roles and barriers. Warpgroup 0 produces, the others consume. The CTA's tiles are blockIdx.x and every
     * gridDim.x-th one after it. */
    int tiles_m = ceil_div(p->g.m, BM), tiles_n = ceil_div(p->g.n, bn);
    int k_tiles = ceil_div(p->g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p->map_a);
        tma_prefetch_map(&p->map_b);
        mbarrier_init(s->full, stages, 1);      /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages, 1);     /* one thread of the consumer whose tile it is */
        mbarrier_init(s->turn, CONSUMERS, 128); /* the other consumer's threads */
        mbarrier_init_fence();
        if (blockIdx.x == 0) {
            for (int i = 1; i < p->rank_count; i++) {
                /* The neighbours wait for this before they write into this rank's C. What read it was launched before this
                 * kernel and has ended; without the flag, a neighbour that is a launch ahead overwrites what is being read. */
                system_flag_set_release(&p->ranks[i].set[READY], p->epoch);
            }
        }
    }
    /* All wait for the barriers to exist: a wait on one that is not initialised may hang or pass. */
    __syncthreads();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            /* Steps 2 and 3 of the producer: all k-tiles of all tiles, without a break between tiles. */
            PipelineState state = producer_start_state();
            for (int index = (int)blockIdx.x; index < tiles_m * tiles_n; index += (int)gridDim.x) {
                Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
                for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                    /* Waits until the consumer has finished with this stage: else the copy overwrites what it reads. */
                    producer_acquire(s->full, s->empty, state, stage_bytes);
                    bf16 *a = &s->ring[state.index * (stage_bytes / 2)];
                    MBarrier *full = &s->full[state.index];
                    tma_load_2d(a, &p->map_a, k_tile * BK, tile.m * BM, full);
                    tma_load_2d(a + BM * BK, &p->map_b, k_tile * BK, tile.n * bn, full);
                    pipeline_advance(&state, stages);
                }
            }
            /* Waits until the last k-tiles have been consumed: nothing is in flight when this role ends. */
            producer_tail(s->empty, state, stages);
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        int consumer = warpgroup - 1;
        int thread = (int)threadIdx.x % 128;
        float acc[BM / 64][MAX_BN / 2]; /* 64 x bn each (wgmma.h says which element is where) */
        PipelineState state = consumer_start_state();
        pipeline_advance_by(&state, consumer * k_tiles, stages); /* the first tile is consumer 0's */
        uint32_t turn = consumer == 0;                           /* parity: the first turn of consumer 0 is free */
        int store = 0;
        int may_store = 0; /* have the neighbours said so? */
        for (int index = (int)blockIdx.x + consumer * (int)gridDim.x; index < tiles_m * tiles_n;
             index += CONSUMERS * (int)gridDim.x) {
            Tile tile = tile_at(index, tiles_m, tiles_n, TILE_GROUP);
            /* Waits until the other consumer has issued the math of the tile before: the tensor cores serve one at a time,
             * and the other's epilogue falls into this one's math. Also, its waits have seen every phase of full before
             * this tile's, so the parity that this consumer waits for is not an older phase's. */
            mbarrier_wait_parity(&s->turn[consumer], turn);
            turn ^= 1;

            /* Step 3 of the consumers: main loop. */
            int previous = 0; /* stage of the k-tile before */
            for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                /* Waits until the bytes of this k-tile have landed. */
                consumer_wait(s->full, state);
                const bf16 *stage = &s->ring[state.index * (stage_bytes / 2)];
                uint64_t a = wgmma_descriptor(stage);
                uint64_t b = wgmma_descriptor(stage + BM * BK);
                /* The warpgroup's earlier accesses to the accumulators come before the wgmmas that follow. */
                wgmma_fence();
                UNROLL
                for (int step = 0; step < STEPS; step++) {
                    UNROLL
                    for (int block = 0; block < BM / 64; block++) {
                        wgmma_k16(bn, acc[block], a + block * (64 * BK * 2 >> 4) + step * WGMMA_K16_STEP,
                                  b + step * WGMMA_K16_STEP, k_tile + step > 0);
                    }
                }
                wgmma_commit_group();
                /* Waits until the products of the previous k-tile are done; those of this one go on. */
                wgmma_wait_group(1);
                if (k_tile > 0 && thread == 0) {
                    /* This consumer has finished with the previous stage. Released before the wait, the producer would
                     * overwrite it under the tensor cores. */
                    consumer_release(s->empty, previous);
                }
                previous = state.index;
                pipeline_advance(&state, stages);
            }
            /* The math of this tile is issued: the other consumer may issue its own behind it. All threads arrive, so that
             * the next turn cannot come before each has seen this one. */
            mbarrier_arrive(&s->turn[1 - consumer]);
            /* The other consumer takes the next k_tiles stages. */
            pipeline_advance_by(&state, k_tiles, stages);
            /* The accumulators may be read when the last products are done. */
            wgmma_wait_group(0);
            registers_settled(acc[0], bn / 2);
            registers_settled(acc[1], bn / 2);
            if (thread == 0) {
                consumer_release(s->empty, previous);
            }

            /* Step 4: epilogue. */
            if (!may_store) {
                if (warp % 4 == 0 && elect_one()) {
                    for (int i = 1; i < p->rank_count; i++) {
                        /* Waits until the neighbour has begun this launch: nobody there reads the C of the last one. */
                        system_flag_wait_acquire(&p->ranks[i].wait[READY], p->epoch);
                    }
                    /* The flags came through the generic proxy; the copy engine's stores go through the other one. */
                    fence_proxy_async_global();
                }
                /* The warpgroup waits for that thread: at an edge all store. */
                named_barrier_sync(1 + consumer, 128);
                may_store = 1;
            }
            UNROLL
            for (int block = 0; block < BM / 64; block++) {
                store_block(s, p, bn, acc[block], tile.m * BM + block * 64, tile.n * bn, consumer, &store);
            }
            if (p->g.n % 8 != 0) {
                /* The thread below waits for what all have stored at the edge; the copy engine's stores are its own. */
                named_barrier_sync(1 + consumer, 128);
            }
            if (warp % 4 == 0 && elect_one()) {
                /* Waits until the tile has been written, in all memories: bulk_wait_group_read() would say only that shared
                 * memory has been read. The other consumer multiplies meanwhile. */
                bulk_wait_group(0);
                for (int i = 1; i < p->rank_count; i++) {
                    /* The neighbour waits for this, in Step 5; released, so that it comes behind the tile. */
                    system_flag_set_release(&p->ranks[i].set[FIRST_TILE + index], p->epoch);
                }
            }
        }
        /* Step 5: the neighbours' tiles. The CTAs share their flags, a thread has one of 256 in turn. When all CTAs have
         * ended, this rank's C is complete; without this wait, whoever comes next in the stream reads too early. */
        for (int i = 1; i < p->rank_count; i++) {
            for (int tile = (int)blockIdx.x + ((int)threadIdx.x - 128) * (int)gridDim.x; tile < p->ranks[i].tiles;
                 tile += (THREADS - 128) * (int)gridDim.x) {
                system_flag_wait_acquire(&p->ranks[i].wait[FIRST_TILE + tile], p->epoch);
            }
        }
    }
}

#define WIDTH_KERNEL(kernel, bn)                                                                              \
    static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) kernel(const __grid_constant__ Params p) { \
        gemm(&p, bn);                                                                                         \
    }                                                                                                         \
    KERNEL_ENTRY(kernel, Params);
WIDTH_KERNEL(pingpong_128x128, 128)
WIDTH_KERNEL(pingpong_128x192, 192)

static const struct Width {
    int bn;
    const void *kernel;
    const char *name;
} widths[] = {
    {128, KERNEL(pingpong_128x128)},
    {192, KERNEL(pingpong_128x192)},
};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

/* The ranks of a problem; without any, this device alone. */
static Ranks ranks_of(const Gemm *g) {
    Ranks alone = {.count = 1, .rank = 0};
    alone.c[0] = g->c;
    return g->ranks != NULL ? *g->ranks : alone;
}

/* The tiles of rank `rank`. Rank 0 has most. */
static int tiles_of(const Gemm *g, int rank, int bn) {
    int count = ranks_of(g).count;
    int columns = rank_first_column(g->n, count, rank + 1) - rank_first_column(g->n, count, rank);
    return ceil_div(g->m, BM) * ceil_div(columns, bn);
}

/* Where in a rank's memory the flags begin that rank `from` sets. */
static int first_flag(const Gemm *g, int from, int bn) { return from * (FIRST_TILE + tiles_of(g, 0, bn)); }

/* What the busiest CTA does, in columns of tiles: in each wave a tile of bn columns, and as much time as 20 more would take
 * for what does not depend on the width. All ranks must choose the same width. */
static double cost(const Gemm *g, int bn) { return (double)ceil_div(tiles_of(g, 0, bn), g->sm_count) * (bn + 20); }

/* The width asked for, or the cheapest; NULL if there is none of that name. */
static const struct Width *choose(const Gemm *g) {
    const struct Width *best = NULL;
    for (const struct Width *w = widths; w < widths + WIDTHS; w++) {
        if (g->tuning.variant != NULL ? strcmp(g->tuning.variant, w->name) == 0
                                      : best == NULL || cost(g, w->bn) < cost(g, best->bn)) {
            best = w;
        }
    }
    return best;
}

static GemmStatus launch(const Gemm *g) {
    const struct Width *w = choose(g);
    if (w == NULL) {
        fprintf(stderr, "12_two_gpus has no variant '%s'; it has:", g->tuning.variant);
        for (int i = 0; i < WIDTHS; i++) {
            fprintf(stderr, " %s", widths[i].name);
        }
        fprintf(stderr, "\n");
        return GEMM_USAGE;
    }
    Params p;
    memset(&p, 0, sizeof p);
    Ranks ranks = ranks_of(g);
    int first = rank_first_column(g->n, ranks.count, ranks.rank);
    p.rank_count = ranks.count;
    p.epoch = ranks.epoch;
    p.g = *g;
    p.g.n = rank_first_column(g->n, ranks.count, ranks.rank + 1) - first;
    if (p.g.n > 0 && (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, BM, BK, SWIZZLE_128B) ||
                      tensor_map_2d(&p.map_b, "B", g->b, p.g.n, g->k, g->ldb, w->bn, BK, SWIZZLE_128B))) {
        return GEMM_DEVICE;
    }
    for (int i = 0; i < ranks.count; i++) {
        int rank = (ranks.rank + i) % ranks.count; /* each rank begins with another neighbour */
        p.ranks[i].c = ranks.c[rank] + first;
        p.ranks[i].tiles = tiles_of(g, rank, w->bn);
        if (i > 0) {
            p.ranks[i].set = ranks.flags[rank] + first_flag(g, ranks.rank, w->bn);
            p.ranks[i].wait = ranks.flags[ranks.rank] + first_flag(g, rank, w->bn);
        }
        if (p.g.n > 0 && tensor_map_2d(&p.map_c[i], "C", p.ranks[i].c, g->m, p.g.n, g->ldc, BOX, BOX, SWIZZLE_128B)) {
            return GEMM_DEVICE;
        }
    }
    LaunchShape shape = {
        .grid = min_int(tiles_of(g, 0, w->bn), g->sm_count), .block = THREADS, .shared_bytes = sizeof(Shared)};
    return launch_kernel(w->kernel, w->name, shape, &p, g->stream);
}

static size_t flag_bytes(const Gemm *g) {
    const struct Width *w = choose(g);
    return w == NULL ? 0 : (size_t)first_flag(g, ranks_of(g).count, w->bn) * sizeof(int);
}

static void describe(const Gemm *g, char *text, size_t size) {
    const struct Width *w = choose(g);
    if (w != NULL) {
        int count = ranks_of(g).count, tiles = tiles_of(g, 0, w->bn), ctas = min_int(tiles, g->sm_count);
        snprintf(text, size, "%s: %d tiles of %d x %d on %d CTAs of each of %d GPUs, %d waves, %d stages", w->name,
                 tiles, BM, w->bn, ctas, count, ceil_div(tiles, ctas),
                 min_int(RING_BYTES / ((BM + w->bn) * BK * 2), MAX_STAGES));
    }
}

static const char *variant(int index) { return index < WIDTHS ? widths[index].name : NULL; }

CHAPTER(12_two_gpus, .adds = "C complete on each of several GPUs: stores into the neighbours' memory, and flags",
        .needs = NEEDS_SM90A, .launch = launch, .flag_bytes = flag_bytes, .choices = CHOOSES_VARIANT,
        .describe = describe, .variant = variant);
