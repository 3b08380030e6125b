/* 12_several_gpus - one product on several GPUs: data cross the links while the product is computed.
 *
 * What is new   Three kernels with the same structure, for three ways to divide a product among a host's GPUs (ranks):
 *               gather_c  a rank has its rows of B; each finished box is stored into the C of every rank
 *               gather_a  a rank has only its rows of A, too; it pushes them to the others, where producers await flags
 *               sums      a rank has its part of K; a tile of partial sums goes to the rank that owns these rows of C.
 *                         The owner adds them up (reduce-scatter) and, for all-reduce, stores the sums into every C
 *               Flags in the memory of another rank say that this memory may be written, and that it has been written.
 * What holds it back   The product itself. With more GPUs the links are busy for more of its time.
 * Run           make run-12, on the model; on GPUs beyond/12_several_gpus/12_several_gpus_ranks --ranks 2 */
#include "ranks.h"
#include "../../common/variants.h"

#include "../../common/device/barrier.h"
#include "../../common/device/bulk_copy.h"
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
enum { PRODUCER_REGISTERS = 56, CONSUMER_REGISTERS = 224 }; /* launched with 168: 3 * 168 = 56 + 2 * 224 */
enum {
    CONSUMERS = 2, /* warpgroups */
    THREADS = 128 * (1 + CONSUMERS),
    STEPS = BK / 16,         /* k16 steps in a k-tile */
    RING_BYTES = 144 * 1024, /* as many stages as fit */
    MAX_STAGES = 4,
    CTAS_PER_SM = 1,
    TILE_GROUP = 12, /* tile rows visited together (tile_order.h) */
    /* A store writes a box of Params.box_rows x STRIP. A row of a box is 128 bytes. */
    STRIP = 64,
    MAX_STRIPS = MAX_BN / STRIP,
    PARTIAL_STRIPS = 2, /* sums: strips of another rank's partial sums in a stage */
    PARTIAL_BYTES = PARTIAL_STRIPS * BM * STRIP * 2,
    /* gather_a: a piece of A has BM rows, PIECE_COLUMNS columns and one flag. Its boxes pass through SLOTS slots of
     * shared memory. */
    PIECE_COLUMNS = 256,
    SLOTS = 4,
    SLOT_ROWS = 32,
    SLOT_BYTES = SLOT_ROWS * STRIP * 2,
    MAX_PAUSE_NS = 1000000, /* the longest pause that nanosleep accepts */
};
static_assert(BK * sizeof(bf16) == 128 && STRIP * sizeof(bf16) == 128,
              "the tensor maps, descriptors and swizzled_index() take rows of 128 bytes: BK and STRIP are 64");
static_assert(BM == CONSUMERS * 64, "a consumer takes 64 rows: none may be left over");
static_assert((int)BM == (int)ROWS_BY && (int)BK == (int)K_BY, "ranks.h deals out whole tiles and whole k-tiles");
static_assert((int)TILE_GROUP >= (int)MAX_RANKS, "each rank has rows in a step");
static_assert((int)PARTIAL_BYTES <= 2 * BM * BK * 2, "a stage of the narrowest tile takes partial sums");
static_assert(BM % SLOT_ROWS == 0 && PIECE_COLUMNS % STRIP == 0, "a piece is whole boxes");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= (1 + CONSUMERS) * (65536 / THREADS / 8 * 8),
              "setmaxnreg moves registers and makes none: together the warpgroups have what they had at launch");
static_assert(MAX_BN / 2 + 64 <= CONSUMER_REGISTERS, "a consumer holds MAX_BN / 2 accumulators, and needs some more");

typedef struct {
    bf16 ring[RING_BYTES / 2]; /* stages of A [BM][BK] and B [bn][BK], K-major, 128-byte swizzle; or of partial sums */
    bf16 out[MAX_STRIPS][BM * STRIP];    /* a tile: strips [BM][STRIP], 128-byte swizzle */
    bf16 slot[SLOTS][SLOT_ROWS * STRIP]; /* gather_a: boxes of A in transit to other ranks */
    MBarrier full[MAX_STAGES];           /* completes a phase when a k-tile has landed */
    MBarrier empty[MAX_STAGES];          /* completes a phase when both consumers have finished with the stage */
    MBarrier filled;                     /* completes a phase when a tile is in `out` */
    MBarrier drained;                    /* completes a phase when the copy engine has read the tile */
    MBarrier loaded[SLOTS];              /* gather_a: completes a phase when a box of A is in the slot */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: a shorter ring");

/* Data that this rank keeps about a rank. */
typedef struct {
    bf16 *c;           /* its C, from the first column on that this rank computes */
    bf16 *inbox_there; /* sums: its inbox for this rank's partial sums, [tiles][bn / STRIP][BM * STRIP] */
    bf16 *inbox_here;  /* sums: this rank's inbox for its partial sums */
    int *flags_there;  /* flags in its memory that this rank sets: flag READY, then one flag for each tile or piece */
    const int *flags_here; /* flags in this rank's memory that it sets */
    int flags;             /* number of flags_here, without READY */
    int first_row, rows;   /* its rows of A and C, in tiles */
} Rank;

typedef struct {
    TensorMap map_a;             /* box [BM][BK] */
    TensorMap map_b;             /* box [bn][BK] */
    TensorMap map_c[MAX_RANKS];  /* the C of ranks[i], from c on; box [box_rows][STRIP] */
    TensorMap map_to[MAX_RANKS]; /* gather_a: this rank's rows of the A of ranks[i]; box [SLOT_ROWS][STRIP] */
    Rank ranks[MAX_RANKS];       /* 0: this rank; then the other ranks, from the next rank on */
    int rank_count, epoch;
    int copies;    /* each finished tile goes to the C of ranks[0] to ranks[copies - 1] */
    int box_rows;  /* rows of the boxes that store a tile; 32 at most, because in store_edge() a lane has one row */
    int pause_ns;  /* pause between boxes of a tile, or of pieces of A */
    int step_rows; /* sums: rows of tiles that a step has of each rank (sum_at()) */
    int pieces;    /* gather_a: pieces of a row of tiles, each with a flag. is_pushed: the host's copy engines push */
    int is_pushed;
    Gemm g; /* n: this rank's columns; k: its part of K */
} Params;

/* Bytes that the copies of a k-tile transfer. */
HOST_DEVICE int stage_bytes_of(int bn) { return (BM + bn) * BK * 2; }

HOST_DEVICE int stages_of(int bn) { return min_int(RING_BYTES / stage_bytes_of(bn), MAX_STAGES); }

/* ---- who computes what, and when --------------------------------------------------------------------------------- */

/* A tile of C. `owner`: the rank that owns its rows, as an index into Params.ranks. `in_owner`: its number among the
 * owner's tiles. `is_partial`: the owner is another rank, which adds up the sums. */
typedef struct {
    Tile tile;
    int owner, in_owner, is_partial;
} Work;

/* sums: the number of a rank's rows of tiles in a step. */
DEVICE int rows_in_step(const Params *p, int rank, int step) {
    int left = p->ranks[rank].rows - step * p->step_rows;
    return step < 0 || left < 0 ? 0 : min_int(left, p->step_rows);
}

/* sums: the owner of the index-th tile, and its number among the owner's tiles. A step has a few rows of each rank. It
 * starts with rows of the other ranks, so that their partial sums can be sent early. Then it computes the own rows of
 * the previous step, for which the others' partial sums have arrived meanwhile. */
DEVICE Work sum_at(const Params *p, const Tiles *t) {
    int index = t->index;
    for (int half = 0;; half++) {
        int step = half / 2, is_own = half % 2, rows = 0, first = is_own ? 0 : 1;
        for (int i = first; i < (is_own ? 1 : p->rank_count); i++) {
            rows += rows_in_step(p, i, step - is_own);
        }
        if (index < rows * t->tiles_n) {
            Tile tile = {index % rows, index / rows};
            Work work = {tile, first, 0, !is_own};
            while (work.tile.m >= rows_in_step(p, work.owner, step - is_own)) {
                work.tile.m -= rows_in_step(p, work.owner, step - is_own);
                work.owner++;
            }
            work.tile.m += (step - is_own) * p->step_rows;
            return work;
        }
        index -= rows * t->tiles_n;
    }
}

/* The index-th tile of this rank. gather_c: the owner is this rank. gather_a: the own rows come first, because they are
 * in this rank's memory already, and then the next rank's rows. */
DEVICE Work work_at(const Params *p, const Tiles *t, const Pattern pattern) {
    Work work = {{0, 0}, 0, 0, 0};
    if (pattern == GATHER_C) {
        work.tile = this_tile(t);
        work.in_owner = t->index;
        return work;
    }
    if (pattern == GATHER_A) {
        int index = t->index;
        while (index >= p->ranks[work.owner].rows * t->tiles_n) {
            index -= p->ranks[work.owner++].rows * t->tiles_n;
        }
        work.tile = tile_at(index, p->ranks[work.owner].rows, t->tiles_n, t->group);
    } else {
        work = sum_at(p, t);
    }
    work.in_owner = work.tile.m * t->tiles_n + work.tile.n;
    work.tile.m += p->ranks[work.owner].first_row;
    return work;
}

/* ---- the producer: steps 2 and 3 --------------------------------------------------------------------------------- */

DEVICE void load_tile(const Params *p, Shared *s, Tile tile, PipelineState state, int k_tiles, const int bn) {
    const int stage_bytes = stage_bytes_of(bn), stages = stages_of(bn);
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the consumers have finished with this stage. Otherwise the copy would overwrite operands. */
        producer_acquire(s->full, s->empty, state, stage_bytes);
        bf16 *a = &s->ring[state.index * (stage_bytes / 2)];
        MBarrier *full = &s->full[state.index];
        tma_load_2d(a, &p->map_a, k_tile * BK, tile.m * BM, full);
        tma_load_2d(a + BM * BK, &p->map_b, k_tile * BK, tile.n * bn, full);
        pipeline_advance(&state, stages);
    }
}

/* sums: after the k-tiles of an own tile, loads the other ranks' partial sums of this tile through the same stages. */
DEVICE void load_partials(const Params *p, Shared *s, Work work, PipelineState *state, const int bn) {
    const int stages = stages_of(bn), loads = bn / STRIP / PARTIAL_STRIPS;
    int lane = (int)threadIdx.x % 32;
    if (lane > 0 && lane < p->rank_count) {
        /* Waits until the partial sums of ranks[lane] for this tile are in the inbox. */
        system_flag_wait_acquire(&p->ranks[lane].flags_here[FIRST_FLAG + work.in_owner], p->epoch);
    }
    /* The thread that loads waits until all lanes have seen their flags. */
    __syncwarp();
    if (elect_one()) {
        /* As in produce(): orders the flags, read through the generic proxy, before the loads of the copy engine. */
        fence_proxy_async_global();
        PipelineState stage = *state;
        for (int i = 1; i < p->rank_count; i++) {
            const bf16 *from = p->ranks[i].inbox_here + (size_t)work.in_owner * (BM * bn);
            for (int load = 0; load < loads; load++) {
                /* Waits until the consumers have finished with this stage, as load_tile() does. */
                producer_acquire(s->full, s->empty, stage, PARTIAL_BYTES);
                bulk_load(&s->ring[stage.index * (stage_bytes_of(bn) / 2)], from + load * (PARTIAL_BYTES / 2),
                          PARTIAL_BYTES, &s->full[stage.index]);
                pipeline_advance(&stage, stages);
            }
        }
    }
    pipeline_advance_by(state, (p->rank_count - 1) * loads, stages);
}

/* The producing warp loads all k-tiles of all tiles, without a break between tiles. */
DEVICE void produce(const Params *p, Shared *s, Tiles tiles, int k_tiles, const int bn, const Pattern pattern) {
    const int stages = stages_of(bn);
    int lane = (int)threadIdx.x % 32, pieces = p->pieces;
    PipelineState state = producer_start_state();
    for (tiles.index = (int)blockIdx.x; has_tile(&tiles); tiles.index += (int)gridDim.x) {
        Work work = work_at(p, &tiles, pattern);
        if (pattern == GATHER_A && work.owner > 0) {
            int first = FIRST_FLAG + (work.tile.m - p->ranks[work.owner].first_row) * pieces;
            for (int piece = lane; piece < pieces; piece += 32) {
                /* Waits until the owner has pushed this piece of the tile's rows of A. */
                system_flag_wait_acquire(&p->ranks[work.owner].flags_here[first + piece], p->epoch);
            }
            /* The thread that loads waits until all lanes have seen their flags. */
            __syncwarp();
        }
        if (elect_one()) {
            if (pattern == GATHER_A) {
                /* The flags were read through the generic proxy, and the loads go through the async proxy. Without
                 * this fence, the loads are not ordered after the flags. */
                fence_proxy_async_global();
            }
            load_tile(p, s, work.tile, state, k_tiles, bn);
        }
        pipeline_advance_by(&state, k_tiles, stages);
        if (pattern == REDUCE_SCATTER && !work.is_partial) {
            load_partials(p, s, work, &state, bn);
        }
    }
    if (elect_one()) {
        /* Waits until the last k-tiles have been consumed. Without a cluster no result depends on this wait, as 07 and
         * 08 show: the CTA exists until its consumers have ended, and they wait for every load. */
        producer_tail(s->empty, state, stages);
    }
}

/* ---- the storing warp: steps 4 and 5 ----------------------------------------------------------------------------- */

/* Waits until all other ranks have begun this launch. Their earlier launches have ended and read no old data now. */
DEVICE void wait_until_ready(const Params *p) {
    for (int i = 1; i < p->rank_count; i++) {
        system_flag_wait_acquire(&p->ranks[i].flags_here[READY], p->epoch);
    }
    /* By our reading of the manual this fence is not needed: a launch begins for all proxies (PTX 8.9.4), and no
     * ordinary access to the written memory comes between that and the copy engine's stores. */
    fence_proxy_async_global();
}

/* Stores a box that extends past the last column from shared memory to each C, by ordinary stores of the whole warp. */
DEVICE void store_edge(const Params *p, const bf16 *box, int row, int col) {
    int lane = (int)threadIdx.x % 32; /* a row of the box */
    for (int i = 0; i < p->copies && lane < p->box_rows && row + lane < p->g.m; i++) {
        bf16 *c = p->ranks[i].c + (size_t)(row + lane) * p->g.ldc + col;
        for (int j = 0; j < STRIP && col + j < p->g.n; j++) {
            c[j] = box[swizzled_index(lane, j / 8) + j % 8];
        }
    }
}

/* Stores a tile from shared memory: a finished tile to each C, partial sums to the inbox of the rows' owner. */
DEVICE void store_tile(const Params *p, Shared *s, Work work, int is_last, const int bn) {
    const int in_strip = BM / p->box_rows;
    for (int box = 0; box < bn / STRIP * in_strip; box++) {
        int in_tile = box % in_strip * p->box_rows, strip = box / in_strip;
        int row = work.tile.m * BM + in_tile, col = work.tile.n * bn + strip * STRIP;
        const bf16 *from = &s->out[strip][in_tile * STRIP];
        if (!work.is_partial && p->g.n % 8 != 0 && col + STRIP > p->g.n) {
            /* The copy engine can end a row only at a multiple of 16 bytes. */
            store_edge(p, from, row, col);
        } else if (elect_one()) {
            /* The same lane as in store(): bulk groups belong to a thread, and that lane waits for these stores. */
            if (work.is_partial) {
                bulk_store(p->ranks[work.owner].inbox_there + (size_t)work.in_owner * (BM * bn) + (from - s->out[0]),
                           from, p->box_rows * STRIP * 2);
            }
            for (int i = 0; i < p->copies && !work.is_partial; i++) {
                tma_store_2d(&p->map_c[i], from, col, row);
            }
            bulk_commit_group();
            if (!is_last && (work.is_partial || p->copies > 1)) {
                /* The box crosses a link. Waits until the box has been written, and pauses: loads queue after the copy
                 * engine's stores, and all SMs send at the same time. After the last tile no load is left that could
                 * be delayed. */
                bulk_wait_group(0);
                __nanosleep((unsigned)p->pause_ns);
            }
        }
    }
}

/* The storing warp stores each tile while the consumers multiply the next tile. */
DEVICE void store(const Params *p, Shared *s, Tiles tiles, const int bn, const Pattern pattern) {
    PipelineState buffer = consumer_start_state(); /* `out` as a whole is a ring of one stage */
    if (pattern != GATHER_A) {                     /* gather_a stores only into this rank's memory */
        wait_until_ready(p);
    }
    for (tiles.index = (int)blockIdx.x; has_tile(&tiles); tiles.index += (int)gridDim.x) {
        Work work = work_at(p, &tiles, pattern);
        /* Waits until both consumers have filled the buffer and have fenced their stores. */
        mbarrier_wait_parity(&s->filled, buffer.phase);
        store_tile(p, s, work, tiles.index + (int)gridDim.x >= tiles.tiles_m * tiles.tiles_n, bn);
        /* The thread that sets the flags waits until all lanes have stored their part of an edge. */
        __syncwarp();
        if (elect_one()) {
            /* Waits until the tile has been written in all memories. bulk_wait_group_read() would guarantee only that
             * shared memory has been read. */
            bulk_wait_group(0);
            /* The consumers wait for this arrival before they fill the buffer again. */
            mbarrier_arrive(&s->drained);
            /* The release orders the flag after the tile, for every reader. Only the owner needs partial sums. */
            if (work.is_partial) {
                system_flag_set_release(&p->ranks[work.owner].flags_there[FIRST_FLAG + work.in_owner], p->epoch);
            }
            for (int i = 1; i < p->copies && !work.is_partial; i++) {
                int first = pattern == GATHER_C ? 0 : p->ranks[i].rows * tiles.tiles_n; /* after the partial sums */
                system_flag_set_release(&p->ranks[i].flags_there[FIRST_FLAG + first + work.in_owner], p->epoch);
            }
        }
        pipeline_advance(&buffer, 1);
    }
    /* Step 5: waits for the data that other ranks write here. The CTAs divide the flags, and the lanes divide their
     * CTA's flags. All data have arrived when all CTAs have ended. Otherwise the next kernel could read too early. */
    int lane = (int)threadIdx.x % 32;
    for (int i = 1; i < p->rank_count; i++) {
        for (int flag = (int)blockIdx.x + lane * (int)gridDim.x; flag < p->ranks[i].flags;
             flag += 32 * (int)gridDim.x) {
            system_flag_wait_acquire(&p->ranks[i].flags_here[FIRST_FLAG + flag], p->epoch);
        }
    }
}

/* ---- gather_a: the pushing thread -------------------------------------------------------------------------------- */

/* The first column and row of box `box` of a piece, in this rank's rows of A. */
DEVICE int box_column(int piece, int pieces, int box) {
    return piece % pieces * PIECE_COLUMNS + box % (PIECE_COLUMNS / STRIP) * STRIP;
}
DEVICE int box_row(int piece, int pieces, int box) {
    return piece / pieces * BM + box / (PIECE_COLUMNS / STRIP) * SLOT_ROWS;
}

/* Pushes this rank's rows of A to the other ranks, piece by piece. The CTAs share out the pieces. The previous rank
 * receives its copy first, because it multiplies with these rows next. */
DEVICE void push(const Params *p, Shared *s) {
    const int boxes = PIECE_COLUMNS / STRIP * (BM / SLOT_ROWS);
    int pieces = p->pieces, count = p->ranks[0].rows * pieces;
    PipelineState load = consumer_start_state(), landed = consumer_start_state();
    wait_until_ready(p);
    for (int to = p->rank_count - 1; to > 0; to--) {
        for (int piece = (int)blockIdx.x; piece < count; piece += (int)gridDim.x) {
            for (int box = 0; box < boxes + SLOTS / 2; box++) {
                if (box < boxes) {
                    /* Waits until all stores but the last SLOTS / 2 - 1 have read their slots, so this slot is free. */
                    bulk_wait_group_read(SLOTS / 2 - 1);
                    mbarrier_arrive_expect_tx(&s->loaded[load.index], SLOT_BYTES);
                    tma_load_2d(s->slot[load.index], &p->map_to[0], box_column(piece, pieces, box),
                                box_row(piece, pieces, box), &s->loaded[load.index]);
                    pipeline_advance(&load, SLOTS);
                }
                int stored = box - SLOTS / 2;
                if (stored >= 0) {
                    /* Waits until the box to be stored has landed. */
                    mbarrier_wait_parity(&s->loaded[landed.index], landed.phase);
                    tma_store_2d(&p->map_to[to], s->slot[landed.index], box_column(piece, pieces, stored),
                                 box_row(piece, pieces, stored));
                    bulk_commit_group();
                    pipeline_advance(&landed, SLOTS);
                    __nanosleep((unsigned)p->pause_ns);
                }
            }
            /* Waits until the piece has been written; then the other rank's producers may load the piece. */
            bulk_wait_group(0);
            system_flag_set_release(&p->ranks[to].flags_there[FIRST_FLAG + piece], p->epoch);
        }
    }
}

/* ---- the consumers: steps 3 and 4 -------------------------------------------------------------------------------- */

/* A consumer warpgroup stores 64 x bn accumulators, from row `half` of the tile on, to shared memory. */
DEVICE void fill_out(Shared *s, const int bn, const float *acc, int half) {
    int warp = warp_uniform((int)threadIdx.x / 32) % 4, lane = (int)threadIdx.x % 32;
    UNROLL
    for (int col = 0; col < bn; col += 16) {
        const float *v = &acc[col / 2];
        uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                              pack_bf16x2(v[6], v[7])};
        /* Lane l passes to stmatrix the address of row l % 8 of matrix l / 8. The matrices are rows 0-7 and 8-15 of the
         * left 8 columns, then of the right 8 columns. */
        stmatrix_x4(&s->out[col / STRIP][swizzled_index(half + warp * 16 + lane % 16, col % STRIP / 8 + lane / 16)],
                    packed);
    }
}

/* sums: adds the other ranks' partial sums to the accumulators, always in the same order of ranks. */
DEVICE void add_partials(const Params *p, Shared *s, PipelineState *state, int consumer, const int bn, float *acc) {
    int thread = (int)threadIdx.x % 128, lane = thread % 32, row = consumer * 64 + thread / 32 * 16 + lane % 16;
    for (int i = 1; i < p->rank_count; i++) {
        UNROLL
        for (int first = 0; first < bn; first += PARTIAL_STRIPS * STRIP) {
            /* Waits until the strips have landed. */
            consumer_wait(s->full, *state);
            const bf16 *strips = &s->ring[state->index * (stage_bytes_of(bn) / 2)];
            UNROLL
            for (int col = 0; col < PARTIAL_STRIPS * STRIP; col += 16) {
                float *v = &acc[(first + col) / 2];
                uint32_t packed[4]; /* in the layout in which fill_out() stored it on another rank */
                ldmatrix_x4(packed,
                            &strips[col / STRIP * (BM * STRIP) + swizzled_index(row, col % STRIP / 8 + lane / 16)]);
                UNROLL
                for (int j = 0; j < 4; j++) {
                    v[2 * j] += bf16_to_float((bf16)packed[j]);
                    v[2 * j + 1] += bf16_to_float((bf16)(packed[j] >> 16));
                }
            }
            /* Orders this thread's reads before the copy engine's next load into the stage, through the async proxy. */
            fence_proxy_async();
            /* After all threads of the warpgroup have read, one thread releases the stage for all. */
            named_barrier_sync(1 + consumer, 128);
            if (thread == 0) {
                consumer_release(s->empty, state->index);
            }
            pipeline_advance(state, stages_of(bn));
        }
    }
}

/* The main loop computes 64 rows and bn columns of a tile. */
DEVICE void multiply(Shared *s, PipelineState *state, int k_tiles, int consumer, float *acc, const int bn) {
    const int stage_bytes = stage_bytes_of(bn), stages = stages_of(bn);
    int thread = (int)threadIdx.x % 128;
    int previous = 0;                                  /* stage of the previous k-tile */
    for (int i = 0; i < bn / 2 && k_tiles == 0; i++) { /* sums: this rank has no part of K */
        acc[i] = 0;
    }
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed. */
        consumer_wait(s->full, *state);
        const bf16 *stage = &s->ring[state->index * (stage_bytes / 2)];
        uint64_t a = wgmma_descriptor(stage + consumer * 64 * BK);
        uint64_t b = wgmma_descriptor(stage + BM * BK);
        /* Orders the warpgroup's earlier accesses to the accumulators before the wgmmas that follow. */
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            wgmma_ss(bn, acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, k_tile + step > 0);
        }
        wgmma_commit_group();
        /* Waits until the products of the previous k-tile are complete; the products of this k-tile go on. */
        wgmma_wait_group(1);
        if (k_tile > 0 && thread == 0) {
            /* This consumer has finished with the previous stage. If it were released before the wait, the producer
             * would overwrite it while the tensor cores still read it. */
            consumer_release(s->empty, previous);
        }
        previous = state->index;
        pipeline_advance(state, stages);
    }
    /* Waits until the last products are complete. Only then may the accumulators be read. */
    wgmma_wait_group(0);
    registers_settled(acc, bn / 2);
    if (k_tiles > 0 && thread == 0) {
        consumer_release(s->empty, previous);
    }
}

DEVICE void consume(const Params *p, Shared *s, Tiles tiles, int k_tiles, int consumer, const int bn,
                    const Pattern pattern) {
    float acc[MAX_BN / 2]; /* wgmma.h says which element is where */
    PipelineState state = consumer_start_state();
    PipelineState buffer = producer_start_state(); /* the consumers produce into the buffer, which is free at first */
    for (tiles.index = (int)blockIdx.x; has_tile(&tiles); tiles.index += (int)gridDim.x) {
        multiply(s, &state, k_tiles, consumer, acc, bn);
        if (pattern == REDUCE_SCATTER && !work_at(p, &tiles, pattern).is_partial) {
            add_partials(p, s, &state, consumer, bn, acc);
        }
        /* Waits until the previous tile has been read from the buffer. Otherwise it would be overwritten too early. */
        mbarrier_wait_parity(&s->drained, buffer.phase);
        fill_out(s, bn, acc, consumer * 64);
        /* Orders this thread's stores before the copy engine's reads, which go through the async proxy. */
        fence_proxy_async();
        /* The storing warp waits for the arrivals of all consumer threads. */
        mbarrier_arrive(&s->filled);
        pipeline_advance(&buffer, 1);
    }
}

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

/* The kernels' body. Width and pattern are constants at each call. */
DEVICE void gemm(const Params *p, const int bn, const Pattern pattern) {
    SHARED_MEMORY(Shared, s);

    /* Step 1: roles and barriers. In warpgroup 0 one warp produces, one stores and one pushes; the other warpgroups
     * consume. The CTA's tiles are blockIdx.x and every gridDim.x-th tile after it. */
    Tiles tiles = {.tiles_m = ceil_div(p->g.m, BM), .tiles_n = ceil_div(p->g.n, bn), .group = TILE_GROUP};
    int k_tiles = ceil_div(p->g.k, BK);
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        if (p->g.n > 0 && p->g.k > 0) { /* otherwise this rank multiplies nothing and has no maps */
            tma_prefetch_map(&p->map_a);
            tma_prefetch_map(&p->map_b);
        }
        mbarrier_init(s->full, stages_of(bn), 1);          /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages_of(bn), CONSUMERS); /* one thread of each consumer */
        mbarrier_init(&s->filled, 1, CONSUMERS * 128);     /* the consumers' threads */
        mbarrier_init(&s->drained, 1, 1);                  /* the thread that stores */
        mbarrier_init(s->loaded, SLOTS, 1);                /* the arrive.expect_tx of the thread that pushes */
        mbarrier_init_fence();
        if (blockIdx.x == 0) {
            for (int i = 1; i < p->rank_count; i++) {
                /* The other ranks wait for this flag before they write into this rank's memory. Earlier launches, which
                 * read that memory, have ended. Without the flag, a rank that is a launch ahead could overwrite data
                 * that this rank is still reading. */
                system_flag_set_release(&p->ranks[i].flags_there[READY], p->epoch);
            }
        }
    }
    /* All threads wait until the barriers are initialised. A wait on an uninitialised barrier may hang or return. */
    __syncthreads();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0) {
            produce(p, s, tiles, k_tiles, bn, pattern);
        } else if (warp == 1) {
            store(p, s, tiles, bn, pattern);
        } else if (warp == 2 && pattern == GATHER_A && !p->is_pushed && elect_one()) {
            push(p, s);
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        consume(p, s, tiles, k_tiles, warpgroup - 1, bn, pattern);
    }
}

#define PATTERN_KERNEL(kernel, bn, pattern)                                                                       \
    static_assert((bn) % STRIP == 0 && (bn) <= MAX_BN, "a tile is whole strips, and fits into the accumulators"); \
    static_assert(RING_BYTES / ((BM + (bn)) * BK * 2) >= 2, "a stage is released when the next one is in use");   \
    static __global__ void __launch_bounds__(THREADS, CTAS_PER_SM) kernel(const __grid_constant__ Params p) {     \
        gemm(&p, bn, pattern);                                                                                    \
    }                                                                                                             \
    KERNEL_ENTRY(kernel, Params);
PATTERN_KERNEL(gather_c_128x128, 128, GATHER_C)
PATTERN_KERNEL(gather_c_128x256, 256, GATHER_C)
PATTERN_KERNEL(gather_a_128x128, 128, GATHER_A)
PATTERN_KERNEL(gather_a_128x256, 256, GATHER_A)
PATTERN_KERNEL(sums_128x128, 128, REDUCE_SCATTER) /* also for ALL_REDUCE: Params.copies selects it */
PATTERN_KERNEL(sums_128x256, 256, REDUCE_SCATTER)

/* ---- the launch -------------------------------------------------------------------------------------------------- */

/* A row of the table: a pattern and the kernel that computes it. */
#define PATTERN(text, width, which, function) PATTERN_OF(text, width, which, KERNEL(function))
#define PATTERN_OF(...) PATTERN_ROW(__VA_ARGS__)
#define PATTERN_ROW(text, width, which, address, ...) \
    { .kernel = address, .name = text, .bm = BM, .bn = width, .schedule = which }

static const Variant table[] = {
    PATTERN("gather_c_128x128", 128, GATHER_C, gather_c_128x128),
    PATTERN("gather_c_128x256", 256, GATHER_C, gather_c_128x256),
    PATTERN("gather_a_128x128", 128, GATHER_A, gather_a_128x128),
    PATTERN("gather_a_128x256", 256, GATHER_A, gather_a_128x256),
    PATTERN("reduce_scatter_128x128", 128, REDUCE_SCATTER, sums_128x128),
    PATTERN("reduce_scatter_128x256", 256, REDUCE_SCATTER, sums_128x256),
    PATTERN("all_reduce_128x128", 128, ALL_REDUCE, sums_128x128),
    PATTERN("all_reduce_128x256", 256, ALL_REDUCE, sums_128x256),
};

/* The ranks of a problem; without ranks, only this device. */
static Ranks ranks_of(const Gemm *g) {
    Ranks alone = {.count = 1, .rank = 0};
    alone.a[0] = (bf16 *)g->a;
    alone.c[0] = g->c;
    return beyond_of(g).ranks != NULL ? *g->beyond->ranks : alone;
}

/* The columns of C that rank `rank` computes. */
static int columns_of(const Ranks *ranks, const Gemm *g, int pattern, int rank) {
    return is_sum(pattern) ? g->n : rank_share(g->n, ranks->count, rank, COLUMNS_BY);
}

/* The number of tiles of rank `rank`. No rank has more than rank 0. */
static int tiles_of(const Ranks *ranks, const Gemm *g, const Variant *v, int rank) {
    return ceil_div(g->m, BM) * ceil_div(columns_of(ranks, g, v->schedule, rank), v->bn);
}

/* The boxes of a tile should be spread evenly over the time in which the next tile is multiplied. The pause after a box
 * takes a third of the box's share; the box itself takes the rest. With more than two copies a box takes longer. */
static int pause_ns(const Params *p, int bn) {
    const double flop_per_ns = 6000; /* speed of an SM under load */
    const int boxes = bn / STRIP * (BM / p->box_rows);
    double ns = 2.0 * BM * bn * p->g.k / flop_per_ns / boxes / 3 / (p->copies > 2 ? p->copies : 1);
    return ns < MAX_PAUSE_NS ? (int)ns : MAX_PAUSE_NS;
}

/* gather_a: with two ranks the links are not busy, and A may arrive as late as the end of the own rows' products. The
 * pause takes half of a box's share of that time. If one wave holds all tiles, some CTAs wait for A from the start. */
static int push_pause_ns(const Params *p, int bn) {
    const double flop_per_ns = 6000;
    double ns = 2.0 * SLOT_ROWS * STRIP * p->g.n / flop_per_ns / 2;
    int is_one_wave = ceil_div(p->g.m, BM) * ceil_div(p->g.n, bn) <= p->g.sm_count;
    return p->rank_count > 2 || is_one_wave ? 0 : ns < MAX_PAUSE_NS ? (int)ns : MAX_PAUSE_NS;
}

/* The work of the busiest CTA, in columns of tiles: in each wave a tile of bn columns, plus the time of 20 columns for
 * work that does not depend on the width. In a single wave of gather_a, CTAs wait for the rows of other ranks, for the
 * time of 30 columns. All ranks must choose the same width. */
static double cost(const Variant *v, const Gemm *g) {
    Ranks ranks = ranks_of(g);
    int waves = ceil_div(tiles_of(&ranks, g, v, 0), g->sm_count);
    double columns = waves * (v->bn + 20) + (v->schedule == GATHER_A && waves == 1 ? 30 : 0);
    return v->schedule == (int)ranks.pattern ? columns : INFINITY;
}

static LaunchPlan plan(const Variant *v, const Gemm *g) {
    Ranks ranks = ranks_of(g);
    int tiles = tiles_of(&ranks, g, v, 0);
    LaunchPlan plan = {tiles, min_int(tiles, g->sm_count), stages_of(v->bn),
                       beyond_of(g).ranks != NULL ? ", on each GPU" : NULL};
    return plan;
}

static const Variants variants = VARIANTS("12_several_gpus", table, cost);

/* Fills in the data about ranks[i], which is rank `other`. */
static void describe_rank(Params *p, int i, const Ranks *ranks, const Gemm *g, const Variant *v, int other) {
    Rank *rank = &p->ranks[i];
    int own = ranks->rank, is_gather = v->schedule == GATHER_C;
    size_t inbox = ranks_inbox_of_one(g, ranks->count);
    int tiles_n = ceil_div(p->g.n, v->bn);
    rank->first_row = rank_first(g->m, ranks->count, other, ROWS_BY) / BM;
    rank->rows = ceil_div(rank_share(g->m, ranks->count, other, ROWS_BY), BM);
    rank->c = ranks->c[other] + (is_sum(v->schedule) ? 0 : rank_first(g->n, ranks->count, own, COLUMNS_BY));
    if (i == 0) {
        return;
    }
    int own_rows = ceil_div(rank_share(g->m, ranks->count, own, ROWS_BY), BM);
    rank->flags_there = ranks_flags(ranks, g, other, own);
    rank->flags_here = ranks_flags(ranks, g, own, other);
    rank->flags = is_gather                       ? tiles_of(ranks, g, v, other)
                  : v->schedule == GATHER_A       ? rank->rows * p->pieces
                  : v->schedule == REDUCE_SCATTER ? own_rows * tiles_n
                                                  : (own_rows + rank->rows) * tiles_n;
    if (is_sum(v->schedule)) {
        rank->inbox_there = ranks->inbox[other] + (size_t)own * inbox;
        rank->inbox_here = ranks->inbox[own] + (size_t)other * inbox;
    }
}

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const Variant *v = choose_variant(&variants, g, error);
    if (v == NULL) {
        return GEMM_USAGE;
    }
    Params p;
    memset(&p, 0, sizeof p);
    Ranks ranks = ranks_of(g);
    if (beyond_of(g).ranks != NULL && v->schedule != (int)ranks.pattern) {
        return gemm_fails(error, GEMM_USAGE, "12_several_gpus: %s is of another pattern than the ranks ask for",
                          v->name);
    }
    int rows = rank_share(g->m, ranks.count, ranks.rank, ROWS_BY), from_a = v->schedule == GATHER_A;
    p.rank_count = ranks.count;
    p.epoch = ranks.epoch;
    p.g = *g;
    p.g.n = columns_of(&ranks, g, v->schedule, ranks.rank);
    p.g.k = is_sum(v->schedule) ? rank_share(g->k, ranks.count, ranks.rank, K_BY) : g->k;
    p.copies = v->schedule == GATHER_C || v->schedule == ALL_REDUCE ? ranks.count : 1;
    p.is_pushed = ranks.is_pushed;
    p.pieces = ranks.is_pushed ? 1 : ceil_div(g->k, PIECE_COLUMNS);
    p.box_rows =
        p.copies > 2 ? 8 : 32; /* smaller boxes delay loads for less time, but cost the storing warp more of its time */
    p.pause_ns = ranks.count == 1 ? 0 : from_a ? push_pause_ns(&p, v->bn) : pause_ns(&p, v->bn);
    p.step_rows = 2 * TILE_GROUP / ranks.count; /* with two ranks, TILE_GROUP rows of tiles are visited together */
    const bf16 *a = from_a ? ranks.a[ranks.rank] : g->a;
    if (p.g.n > 0 && p.g.k > 0 &&
        (tensor_map_2d(&p.map_a, "A", a, g->m, p.g.k, g->lda, BM, BK, SWIZZLE_128B, error) ||
         tensor_map_2d(&p.map_b, "B", g->b, p.g.n, p.g.k, g->ldb, v->bn, BK, SWIZZLE_128B, error))) {
        return GEMM_DEVICE;
    }
    for (int i = 0; i < ranks.count; i++) {
        int other = (ranks.rank + i) % ranks.count;
        describe_rank(&p, i, &ranks, g, v, other);
        if (p.g.n > 0 && tensor_map_2d(&p.map_c[i], "C", p.ranks[i].c, g->m, p.g.n, g->ldc, p.box_rows, STRIP,
                                       SWIZZLE_128B, error)) {
            return GEMM_DEVICE;
        }
        const bf16 *to = from_a ? ranks.a[other] + (size_t)p.ranks[0].first_row * BM * (size_t)g->lda : NULL;
        if (from_a && rows > 0 &&
            tensor_map_2d(&p.map_to[i], "A", to, rows, g->k, g->lda, SLOT_ROWS, STRIP, SWIZZLE_128B, error)) {
            return GEMM_DEVICE;
        }
    }
    LaunchShape shape = {.grid = plan(v, g).ctas, .block = THREADS, .shared_bytes = sizeof(Shared)};
    return launch_kernel(v->kernel, v->name, shape, &p, g->stream, error);
}

#ifdef GEMM_MODEL
#include "on_model.h"
#else
#define ON_DEVICES NULL
#endif

static const ChapterBeyond beyond_the_ladder = {.plan = plan, .devices = ON_DEVICES};
CHAPTER(12_several_gpus, .adds = "what crosses the links does so during the product: C or A gathered, sums scattered",
        .needs = NEEDS_SM90A, .launch = launch, .variants = &variants, .beyond = &beyond_the_ladder);
