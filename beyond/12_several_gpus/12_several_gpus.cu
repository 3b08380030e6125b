/* 12_several_gpus - each GPU multiplies with its part of B, and writes what it has finished into every GPU's C.
 *
 * What is new   The columns of C are dealt out to the GPUs of a host (ranks). The epilogue's TMA stores write each finished
 *               box into this rank's C and, over NVLink, into the neighbours': no copy and no collective follows. Flags in
 *               the neighbours' memory say that a rank's C may be written, and that a tile has been.
 * What holds it back   The product itself. The links are busy for a quarter of its time.
 * Run           make 12 && mpirun -n 2 ./12_several_gpus_mpi, here; on the model, as two devices, ./12_several_gpus --on model */
#include "../../common/gemm.h"
#include "../../common/ranks.h"
#include "../../common/variants.h"

#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/system_flag.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

enum { BM = 128, MAX_BN = 256, BK = 64 };                   /* a tile is BM x bn, half of its rows for each consumer */
enum { PRODUCER_REGISTERS = 56, CONSUMER_REGISTERS = 224 }; /* 168 at launch: 3 * 168 = 56 + 2 * 224 */
enum {
    CONSUMERS = 2, /* warpgroups */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 16,         /* k16 steps in a k-tile */
    RING_BYTES = 144 * 1024, /* as many stages as fit */
    MAX_STAGES = 4,
    CTAS_PER_SM = 1,
    TILE_GROUP = 12, /* tile rows walked together (tile_order.h) */
    /* Stores have boxes of BOX_ROWS x STRIP. A row of a box is 128 bytes. */
    STRIP = 64,
    BOX_ROWS = 32,
    MAX_PAUSE_NS = 1000000, /* the most that nanosleep takes */
};
static_assert(BK * sizeof(bf16) == 128 && STRIP * sizeof(bf16) == 128,
              "the tensor maps, descriptors and swizzled_index() take rows of 128 bytes: BK and STRIP are 64");
static_assert(BM == CONSUMERS * 64, "a consumer takes 64 rows: none may be left over");
static_assert(BM % BOX_ROWS == 0 && BOX_ROWS == 32, "in store_edge() a lane has one row of a box");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= (1 + CONSUMERS) * (65536 / THREADS / 8 * 8),
              "setmaxnreg moves registers and makes none: together the warpgroups have what they had at launch");
static_assert(MAX_BN / 2 + 64 <= CONSUMER_REGISTERS, "a consumer holds MAX_BN / 2 accumulators, and needs some more");

typedef struct {
    bf16 ring[RING_BYTES / 2];            /* stages of A [BM][BK] and B [bn][BK], K-major, 128-byte swizzle */
    bf16 out[MAX_BN / STRIP][BM * STRIP]; /* a finished tile: strips [BM][STRIP], 128-byte swizzle */
    MBarrier full[MAX_STAGES];            /* completes a phase when a k-tile has landed */
    MBarrier empty[MAX_STAGES];           /* completes a phase when both consumers have finished with it */
    MBarrier filled;                      /* completes a phase when a tile is in out */
    MBarrier drained;                     /* completes a phase when the copy engine has read it */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: a shorter ring");

/* What this rank knows of a rank. */
typedef struct {
    bf16 *c;               /* its C, from this rank's first column on */
    int *flags_there;      /* flags in its memory that this rank sets: flag READY, and one for each tile */
    const int *flags_here; /* flags in this rank's memory that it sets */
    int tiles;             /* how many tiles it has */
} Rank;

typedef struct {
    TensorMap map_a;            /* box [BM][BK] */
    TensorMap map_b;            /* box [bn][BK] */
    TensorMap map_c[MAX_RANKS]; /* this rank's columns of the C of ranks[i]; box [BOX_ROWS][STRIP] */
    Rank ranks[MAX_RANKS];      /* 0: this one; then its neighbours */
    int rank_count, epoch;
    int pause_ns; /* between boxes of a tile */
    Gemm g;       /* n: this rank's columns */
} Params;

/* Of the flags that a rank sets in another's memory, the first says that its own C may be written, the others that it has
 * written a tile there. Set to the launch's epoch, never reset. */
enum { READY, FIRST_TILE };

/* What the copies of a k-tile bring. */
HOST_DEVICE int stage_bytes_of(int bn) { return (BM + bn) * BK * 2; }

HOST_DEVICE int stages_of(int bn) { return min_int(RING_BYTES / stage_bytes_of(bn), MAX_STAGES); }

/* Consumer warpgroup: 64 x bn accumulators, rows `half` and on of the tile, to shared memory. */
DEVICE void fill_out(Shared *s, const int bn, const float *acc, int half) {
    int warp = warp_uniform((int)threadIdx.x / 32) % 4, lane = (int)threadIdx.x % 32;
    UNROLL
    for (int col = 0; col < bn; col += 16) {
        const float *v = &acc[col / 2];
        uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                              pack_bf16x2(v[6], v[7])};
        /* Lane l gives stmatrix the address of row l % 8 of matrix l / 8: rows 0-7 and 8-15 of the left 8 columns, then of
         * the right ones. */
        stmatrix_x4(&s->out[col / STRIP][swizzled_index(half + warp * 16 + lane % 16, col % STRIP / 8 + lane / 16)],
                    packed);
    }
}

/* Storing warp: a box that hangs over the last column, from shared memory to every rank's C by ordinary stores. */
DEVICE void store_edge(const Params *p, const bf16 *box, int row, int col) {
    int lane = (int)threadIdx.x % 32; /* a row of the box */
    for (int i = 0; i < p->rank_count && row + lane < p->g.m; i++) {
        bf16 *c = p->ranks[i].c + (size_t)(row + lane) * p->g.ldc + col;
        for (int j = 0; j < STRIP && col + j < p->g.n; j++) {
            c[j] = box[swizzled_index(lane, j / 8) + j % 8];
        }
    }
}

/* The producer, steps 2 and 3: all k-tiles of all tiles, without a break between tiles. */
DEVICE void produce(const Params *p, Shared *s, Tiles tiles, int k_tiles, const int bn) {
    const int stage_bytes = stage_bytes_of(bn), stages = stages_of(bn);
    PipelineState state = producer_start_state();
    for (tiles.index = (int)blockIdx.x; has_tile(&tiles); tiles.index += (int)gridDim.x) {
        Tile tile = this_tile(&tiles);
        for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
            /* Waits until the consumers have finished with this stage: else the copy overwrites what they read. */
            producer_acquire(s->full, s->empty, state, stage_bytes);
            bf16 *a = &s->ring[state.index * (stage_bytes / 2)];
            MBarrier *full = &s->full[state.index];
            tma_load_2d(a, &p->map_a, k_tile * BK, tile.m * BM, full);
            tma_load_2d(a + BM * BK, &p->map_b, k_tile * BK, tile.n * bn, full);
            pipeline_advance(&state, stages);
        }
    }
    /* Waits until the last k-tiles have been consumed. Without a cluster nothing depends on that, as 07 and 08 show: the CTA
     * lives until its consumers have ended, and they wait for every load. */
    producer_tail(s->empty, state, stages);
}

/* Storing warp: a finished tile, from shared memory to all ranks. */
DEVICE void store_tile(const Params *p, Shared *s, const Tiles *t, const int bn) {
    Tile tile = this_tile(t);
    for (int box = 0; box < bn / STRIP * (BM / BOX_ROWS); box++) {
        int in_tile = box % (BM / BOX_ROWS) * BOX_ROWS, strip = box / (BM / BOX_ROWS);
        int row = tile.m * BM + in_tile, col = tile.n * bn + strip * STRIP;
        const bf16 *from = &s->out[strip][in_tile * STRIP];
        if (p->g.n % 8 != 0 && col + STRIP > p->g.n) {
            /* The copy engine cuts a row off at a multiple of 16 bytes only. */
            store_edge(p, from, row, col);
        } else if (elect_one()) {
            /* The same lane as in store(): groups are a thread's own, and that one waits for these stores. */
            for (int i = 0; i < p->rank_count; i++) {
                tma_store_2d(&p->map_c[i], from, col, row);
            }
            bulk_commit_group();
            if (t->index + (int)gridDim.x < t->tiles_m * t->tiles_n) {
                /* Waits until the box has been written, and a while more: loads wait behind what the copy engine has to
                 * store, and all SMs send at the same time. Behind the last tile no load waits. */
                bulk_wait_group(0);
                __nanosleep((unsigned)p->pause_ns);
            }
        }
    }
}

/* The storing warp, steps 4 and 5: each finished tile goes to all ranks while the consumers multiply the next. */
DEVICE void store(const Params *p, Shared *s, Tiles tiles, const int bn) {
    PipelineState buffer = consumer_start_state(); /* of the buffer: a ring of one stage */
    for (int i = 1; i < p->rank_count; i++) {
        /* Waits until the neighbour has begun this launch: nobody there reads the C of the last one. */
        system_flag_wait_acquire(&p->ranks[i].flags_here[READY], p->epoch);
    }
    /* Not needed by the manual, as we read it: a launch begins for all proxies (PTX 8.9.4), and no ordinary access to C lies
     * between that and the copy engine's stores. */
    fence_proxy_async_global();
    for (tiles.index = (int)blockIdx.x; has_tile(&tiles); tiles.index += (int)gridDim.x) {
        /* Waits until both consumers have filled the buffer, and fenced. */
        mbarrier_wait_parity(&s->filled, buffer.phase);
        store_tile(p, s, &tiles, bn);
        /* The thread that sets the flags waits for the lanes: all have stored at the edge. */
        __syncwarp();
        if (elect_one()) {
            /* Waits until the tile has been written, in all memories: bulk_wait_group_read() would say only that shared
             * memory has been read. */
            bulk_wait_group(0);
            /* The consumers wait for this before they fill the buffer again. */
            mbarrier_arrive(&s->drained);
            for (int i = 1; i < p->rank_count; i++) {
                /* The neighbour waits for this, in Step 5; released, so that it comes behind the tile. */
                system_flag_set_release(&p->ranks[i].flags_there[FIRST_TILE + tiles.index], p->epoch);
            }
        }
        pipeline_advance(&buffer, 1);
    }
    /* Step 5: the neighbours' tiles. The CTAs divide their flags, and a CTA's lanes divide its own. When all CTAs have
     * ended, this rank's C is complete; without this wait, whoever comes next in the stream reads too early. */
    int lane = (int)threadIdx.x % 32;
    for (int i = 1; i < p->rank_count; i++) {
        for (int tile = (int)blockIdx.x + lane * (int)gridDim.x; tile < p->ranks[i].tiles;
             tile += 32 * (int)gridDim.x) {
            system_flag_wait_acquire(&p->ranks[i].flags_here[FIRST_TILE + tile], p->epoch);
        }
    }
}

/* Consumer: main loop. Its 64 rows of a tile, times bn columns. */
DEVICE void multiply(Shared *s, PipelineState *state, int k_tiles, int consumer, float *acc, const int bn) {
    const int stage_bytes = stage_bytes_of(bn), stages = stages_of(bn);
    int thread = (int)threadIdx.x % 128;
    int previous = 0; /* stage of the k-tile before */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed. */
        consumer_wait(s->full, *state);
        const bf16 *stage = &s->ring[state->index * (stage_bytes / 2)];
        uint64_t a = wgmma_descriptor(stage + consumer * 64 * BK);
        uint64_t b = wgmma_descriptor(stage + BM * BK);
        /* The warpgroup's earlier accesses to the accumulators come before the wgmmas that follow. */
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            wgmma_ss(bn, acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, k_tile + step > 0);
        }
        wgmma_commit_group();
        /* Waits until the products of the previous k-tile are done; those of this one go on. */
        wgmma_wait_group(1);
        if (k_tile > 0 && thread == 0) {
            /* This consumer has finished with the previous stage. If it were released before the wait, the producer
             * would overwrite it under the tensor cores. */
            consumer_release(s->empty, previous);
        }
        previous = state->index;
        pipeline_advance(state, stages);
    }
    /* The accumulators may be read when the last products are done. */
    wgmma_wait_group(0);
    registers_settled(acc, bn / 2);
    if (thread == 0) {
        consumer_release(s->empty, previous);
    }
}

/* The consumers, steps 3 and 4. */
DEVICE void consume(Shared *s, Tiles tiles, int k_tiles, int consumer, const int bn) {
    float acc[MAX_BN / 2]; /* wgmma.h says which element is where */
    PipelineState state = consumer_start_state();
    PipelineState buffer = producer_start_state(); /* the consumers are the buffer's producers: at first it is free */
    for (tiles.index = (int)blockIdx.x; has_tile(&tiles); tiles.index += (int)gridDim.x) {
        multiply(s, &state, k_tiles, consumer, acc, bn);
        /* Waits until the tile before has left the buffer: else it is overwritten on its way. */
        mbarrier_wait_parity(&s->drained, buffer.phase);
        fill_out(s, bn, acc, consumer * 64);
        /* This thread's stores come before the copy engine's reads: they go through different proxies. */
        fence_proxy_async();
        /* The storing warp waits for all of these. */
        mbarrier_arrive(&s->filled);
        pipeline_advance(&buffer, 1);
    }
}

/* The kernel, for a width that is a constant where it is called. */
DEVICE void gemm(const Params *p, const int bn) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. Of warpgroup 0 one warp produces and one stores; the others consume. The CTA's tiles are
     * blockIdx.x and every gridDim.x-th one after it. */
    Tiles tiles = {.tiles_m = ceil_div(p->g.m, BM), .tiles_n = ceil_div(p->g.n, bn), .group = TILE_GROUP};
    int k_tiles = ceil_div(p->g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        if (p->g.n > 0) { /* else this rank has no columns, and no maps */
            tma_prefetch_map(&p->map_a);
            tma_prefetch_map(&p->map_b);
        }
        mbarrier_init(s->full, stages_of(bn), 1);          /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages_of(bn), CONSUMERS); /* one thread of each consumer */
        mbarrier_init(&s->filled, 1, CONSUMERS * 128);     /* the consumers' threads */
        mbarrier_init(&s->drained, 1, 1);                  /* the thread that stores */
        mbarrier_init_fence();
        if (blockIdx.x == 0) {
            for (int i = 1; i < p->rank_count; i++) {
                /* The neighbours wait for this before they write into this rank's C. What read it was launched before this
                 * kernel and has ended; without the flag, a neighbour that is a launch ahead overwrites what is being read. */
                system_flag_set_release(&p->ranks[i].flags_there[READY], p->epoch);
            }
        }
    }
    /* All wait for the barriers to exist: a wait on one that is not initialised may hang or pass. */
    __syncthreads();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            produce(p, s, tiles, k_tiles, bn);
        } else if (warp == 1) {
            store(p, s, tiles, bn);
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        consume(s, tiles, k_tiles, warpgroup - 1, bn);
    }
}

#define WIDTH_KERNEL(kernel, bn)                                                                                  \
    static_assert((bn) % STRIP == 0 && (bn) <= MAX_BN, "a tile is whole strips, and fits into the accumulators"); \
    static_assert(RING_BYTES / ((BM + (bn)) * BK * 2) >= 2, "a stage is released when the next one is in use");   \
    static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) kernel(const __grid_constant__ Params p) {     \
        gemm(&p, bn);                                                                                             \
    }                                                                                                             \
    KERNEL_ENTRY(kernel, Params);
/* cooperative: the two consumers share each tile */
WIDTH_KERNEL(cooperative_128x128, 128)
WIDTH_KERNEL(cooperative_128x256, 256)

static const Variant widths[] = {
    {VARIANT(cooperative_128x128, .bm = BM, .bn = 128)},
    {VARIANT(cooperative_128x256, .bm = BM, .bn = 256)},
};

/* The ranks of a problem; without any, this device alone. */
static Ranks ranks_of(const Gemm *g) {
    Ranks alone = {.count = 1, .rank = 0};
    alone.c[0] = g->c;
    return beyond_of(g).ranks != NULL ? *g->beyond->ranks : alone;
}

/* The tiles of rank `rank`. Rank 0 has most. */
static int tiles_of(const Gemm *g, int rank, int bn) {
    int count = ranks_of(g).count;
    int columns = rank_first_column(g->n, count, rank + 1) - rank_first_column(g->n, count, rank);
    return ceil_div(g->m, BM) * ceil_div(columns, bn);
}

/* The boxes of a tile are to leave evenly while the next one is multiplied. A third of each box's share of that
 * time is the pause behind it: the rest is for the box itself. */
static int pause_ns(const Gemm *g, int bn) {
    const double flop_per_ns = 6000; /* of an SM, under load */
    const int boxes = bn / STRIP * (BM / BOX_ROWS);
    double ns = 2.0 * BM * bn * g->k / flop_per_ns / boxes / 3;
    return ns < MAX_PAUSE_NS ? (int)ns : MAX_PAUSE_NS;
}

/* Where in a rank's memory the flags begin that rank `from` sets. */
static int first_flag(const Gemm *g, int from, int bn) { return from * (FIRST_TILE + tiles_of(g, 0, bn)); }

/* What the busiest CTA does, in columns of tiles: in each wave a tile of bn columns, and as much time as 20 more would take
 * for what does not depend on the width. All ranks must choose the same width. */
static double cost(const Variant *v, const Gemm *g) {
    return (double)ceil_div(tiles_of(g, 0, v->bn), g->sm_count) * (v->bn + 20);
}

static LaunchPlan plan(const Variant *v, const Gemm *g) {
    int tiles = tiles_of(g, 0, v->bn);
    LaunchPlan plan = {tiles, min_int(tiles, g->sm_count), stages_of(v->bn), beyond_of(g).ranks != NULL ? ", on each GPU" : NULL};
    return plan;
}

static const Variants variants = VARIANTS("12_several_gpus", widths, cost, plan);

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const Variant *v = choose_variant(&variants, g, error);
    if (v == NULL) {
        return GEMM_USAGE;
    }
    Params p;
    memset(&p, 0, sizeof p);
    Ranks ranks = ranks_of(g);
    int first = rank_first_column(g->n, ranks.count, ranks.rank);
    p.rank_count = ranks.count;
    p.epoch = ranks.epoch;
    p.pause_ns = pause_ns(g, v->bn);
    p.g = *g;
    p.g.n = rank_first_column(g->n, ranks.count, ranks.rank + 1) - first;
    if (p.g.n > 0 && (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, BM, BK, SWIZZLE_128B, error) ||
                      tensor_map_2d(&p.map_b, "B", g->b, p.g.n, g->k, g->ldb, v->bn, BK, SWIZZLE_128B, error))) {
        return GEMM_DEVICE;
    }
    for (int i = 0; i < ranks.count; i++) {
        int rank = (ranks.rank + i) % ranks.count; /* each rank begins with another neighbour */
        p.ranks[i].c = ranks.c[rank] + first;
        p.ranks[i].tiles = tiles_of(g, rank, v->bn);
        if (i > 0) {
            p.ranks[i].flags_there = ranks.flags[rank] + first_flag(g, ranks.rank, v->bn);
            p.ranks[i].flags_here = ranks.flags[ranks.rank] + first_flag(g, rank, v->bn);
        }
        if (p.g.n > 0 &&
            tensor_map_2d(&p.map_c[i], "C", p.ranks[i].c, g->m, p.g.n, g->ldc, BOX_ROWS, STRIP, SWIZZLE_128B, error)) {
            return GEMM_DEVICE;
        }
    }
    LaunchShape shape = {.grid = plan(v, g).ctas, .block = THREADS, .shared_bytes = sizeof(Shared)};
    return launch_kernel(v->kernel, v->name, shape, &p, g->stream, error);
}

static size_t flag_bytes(const Gemm *g) {
    GemmError refused; /* not reported here: launch() is refused too, and reports it */
    const Variant *v = choose_variant(&variants, g, &refused);
    return v == NULL ? 0 : (size_t)first_flag(g, ranks_of(g).count, v->bn) * sizeof(int);
}

static const ChapterBeyond beyond_the_ladder = {.flag_bytes = flag_bytes};
CHAPTER(12_several_gpus, .adds = "C complete on each of several GPUs: stores into the neighbours' memory, and flags",
        .needs = NEEDS_SM90A, .launch = launch, .variants = &variants, .beyond = &beyond_the_ladder);
