/* 09_every_shape - what a library adds to chapter 08: for every shape a kernel that suits it.
 *
 * What is new   A second schedule, cooperative: the consumers, two or three, share each tile, which may then be larger.
 *               Clusters whose CTAs share A, B or both by multicast. Producers that synchronise before each tile, so
 *               that CTAs do not drift apart. Launches that overlap: narrow tiles leave half of each SM to the next
 *               launch. TMA stores at edges too, except for the last box of a row. For few tiles, A and B are swapped,
 *               so that a tile is only as wide as A has rows, and CTAs of a cluster may divide a tile's k-tiles and add
 *               up their sums. A kernel is compiled for its tile; the launch sets how CTAs share data. choice.h chooses
 *               both.
 * Run           make 09 && ./09_every_shape, here; from the top, make run-09 */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/cluster.h"
#include "../../common/device/epilogue.h"
#include "../../common/device/global_counter.h"
#include "../../common/device/grid.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tile_order.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

#include "tiles.h"

#include "choice.h"

enum { MAX_BN = 256, BK = 64 }; /* a CTA's tile is bm x bn; a row of a k-tile is 128 bytes */
enum {
    STEPS = BK / 16, /* k16 steps in a k-tile */
    CTAS_PER_SM = 2, /* at most, for the small kernels; one for the others */
    /* The epilogue stores 64 rows x 64 columns at a time, in boxes of 16 columns, which divide every width. */
    PIECE = 64,
    BOX = 16,
    BARRIER_POLLS = 20000, /* a producer polls no more often than this for the others */
};
static_assert(BK * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: BK is 64");
static_assert(BOX * sizeof(bf16) == 32, "the map of C and swizzle_32b() take rows of 32 bytes: BOX is 16");

typedef struct {
    MBarrier full[MAX_STAGES];  /* completes a phase when a k-tile has landed */
    MBarrier empty[MAX_STAGES]; /* completes a phase when its consumers have finished with the stage */
    MBarrier turn[2];           /* completes a phase when the other consumer has issued its math */
    MBarrier received;          /* completes its phase when the other CTAs' sums have landed */
    char rest[BARRIER_BYTES - (2 * MAX_STAGES + 3) * sizeof(MBarrier)]; /* the ring begins at a multiple of 1024 */
    bf16 ring[RING_BYTES / 2];             /* stages of A [bm][BK] and B [bn][BK], K-major, 128-byte swizzle */
    bf16 out[2][2][PIECE / BOX][64 * BOX]; /* boxes [64][BOX], 32-byte swizzle */
} Shared;
static_assert(sizeof(Shared) == WHOLE_BYTES && offsetof(Shared, ring) == BARRIER_BYTES, "choice.h counts on both");
static_assert(WHOLE_BYTES + 1024 <= 228 * 1024 && CTAS_PER_SM * (HALF_BYTES + 1024) <= 228 * 1024,
              "an SM has 228 KB of shared memory, and each CTA takes 1 KB more than its own: a shorter ring");

typedef struct {
    TensorMap map_a; /* box [bm / cn][BK] */
    TensorMap map_b; /* box [bn / cm][BK] */
    TensorMap map_c; /* box [64][BOX] */
    Gemm g;
    int tiles_m, tiles_n; /* in clusters of tiles */
    int group;            /* tile rows visited together, in clusters */
    int log_cm, log_cn;   /* CTAs of a cluster along m are 1 << log_cm, those along n 1 << log_cn */
    int parts;            /* CTAs of a cluster that compute one tile if k is split; otherwise 1 */
    int swapped;          /* A and B are swapped, so the epilogue transposes */
    /* Values that follow from these. The host computes them, because a division takes a GPU about 100 cycles. */
    int clusters, waves;       /* clusters launched, and the most tiles of a cluster */
    int k_tiles, k_tiles_over; /* k-tiles of each part, and how many parts have one more */
    int stages, share;         /* SPLIT_K: stages of the ring; columns / 8 that each part adds up */
    int received;              /* SPLIT_K: where the sums of the other parts land, in bytes of Shared */
    int *barrier_counter;      /* the counter at which producers synchronise; NULL: they do not synchronise */
} Params;

/* The number of consumers that share a tile: one for every 64 rows, but two for 256 rows. In ping-pong each of the two
 * consumers computes its own tiles. */
HOST_DEVICE int sharers_of(Schedule schedule, int bm) { return schedule == PINGPONG ? 1 : bm == 256 ? 2 : bm / 64; }
HOST_DEVICE int consumers_of(Schedule schedule, int bm) { return schedule == PINGPONG ? 2 : sharers_of(schedule, bm); }
HOST_DEVICE int threads_of(Schedule schedule, int bm) { return 128 * (1 + consumers_of(schedule, bm)); }

/* The number of blocks of 64 rows that a consumer computes of a tile. */
HOST_DEVICE int blocks_of(Schedule schedule, int bm) { return bm / 64 / sharers_of(schedule, bm); }

/* Sets the registers of the roles. setmaxnreg moves registers but adds none. With 168 at launch, 3 * 168 = 24 + 2 * 240
 * = 40 + 2 * 232. With 128 and three consumers, 4 * 128 is 40 + 3 * 152, and a few registers are left over. */
DEVICE void take_registers(int produces, const Schedule schedule, const int bm, const int bn) {
    if (IS_SMALL(schedule, bm, bn)) {
        return; /* the registers at launch are enough for each role */
    }
    if (consumers_of(schedule, bm) == 3) {
        if (produces) {
            setmaxnreg_dec(40);
        } else {
            setmaxnreg_inc(152);
        }
    } else if (schedule == SPLIT_K) {
        if (produces) {
            setmaxnreg_dec(40);
        } else {
            setmaxnreg_inc(232);
        }
    } else if (produces) {
        setmaxnreg_dec(24);
    } else {
        setmaxnreg_inc(240);
    }
}

/* A CTA's place in its cluster, which has cm rows of cn tiles. CTAs in a row share A, CTAs in a column share B. If k is
 * split, cm is 1, and `parts` CTAs compute each tile. */
typedef struct {
    int row, col, part, rank;  /* rank = (part + row) * cn + col: one of part and row is 0 */
    int row_mask, column_mask; /* a bit for each rank of its row, and of its column */
    int cm, cn;
} Place;

DEVICE Place cta_place(const Params *p) {
    Place at = {.rank = cluster_cta_rank(), .cm = 1 << p->log_cm, .cn = 1 << p->log_cn};
    int row = at.rank >> p->log_cn;
    at.part = p->parts > 1 ? row : 0, at.row = row - at.part, at.col = at.rank & (at.cn - 1);
    at.row_mask = ((1 << at.cn) - 1) << (row << p->log_cn);
    for (int other = 0; other < at.cm; other++) {
        at.column_mask |= 1 << ((other << p->log_cn) + at.col);
    }
    return at;
}

/* A role's loop over the tiles, and over the k-tiles of each tile: all k-tiles, or the CTA's part if k is split.
 * The parts alternate k-tiles, so that the data they load at one time are contiguous in memory. */
typedef struct {
    Tile tile;                    /* this CTA's tile */
    int index, step, tiles;       /* number of the tile, step to the next, and count of tiles, all in clusters */
    int k_first, k_step, k_tiles; /* first k-tile, step to the next, and count of k-tiles */
} Work;

/* Advances by `step` clusters of cm x cn tiles. After the last tile, index is at least `tiles`. */
DEVICE void next_tile(const Params *p, Work *work, int step) {
    Place at = cta_place(p);
    work->index += step;
    if (work->index < work->tiles) {
        work->tile = tile_at(work->index, p->tiles_m, p->tiles_n, p->group);
        work->tile.m = (work->tile.m << p->log_cm) + at.row;
        work->tile.n = (work->tile.n << p->log_cn) + at.col;
    }
}

/* Before each tile, a producer waits for the producers of the other CTAs, for a limited time. CTAs that drift apart
 * read the same panels of A and B at different times, from DRAM instead of L2. No result depends on this wait: after
 * BARRIER_POLLS polls a producer goes on. The last arrival of the launch leaves the counter at zero. */
DEVICE void producer_barrier(int *counter, int wave, int waves) {
    int ctas = (int)gridDim.x;
    int before = global_counter_add(counter, 1);
    if (before == ctas * waves - 1) {
        global_counter_set(counter, 0);
    } else if (wave < waves - 1) {
        for (int poll = 0; poll < BARRIER_POLLS && global_counter_read(counter) < ctas * (wave + 1); poll++) {
        }
    }
}

/* The CTA at which this thread of a consumer arrives when a stage is free: thread 0 at its own CTA, the next threads at
 * the other CTAs of its row and column, because each of them writes a part of the stage. -1: at no CTA. */
DEVICE int told_by_this_thread(const Place *at) {
    int thread = (int)threadIdx.x % 128, below = thread - at->cn + 1;
    if (thread < at->cn) {
        return at->rank - at->col + ((at->col + thread) & (at->cn - 1));
    }
    return below < at->cm ? ((at->row + below) & (at->cm - 1)) * at->cn + at->col : -1;
}

/* The number of stages in the ring. If k is split, the host computes it, because sums take some of the space. */
DEVICE int stages_here(const Params *p, const Schedule schedule, const int bm, const int bn) {
    return schedule == SPLIT_K ? p->stages : stages_of(bm, bn);
}

/* A consumer warpgroup, after its wgmma_wait_group, releases the stage at `index` to every producer that writes a part
 * of it. `told` is told_by_this_thread(). */
DEVICE void release(Shared *s, int index, int told) {
    if (threadIdx.x % 128 == 0) {
        consumer_release(s->empty, index);
    } else if (told >= 0) {
        mbarrier_arrive_remote(&s->empty[index], told);
    }
}

/* A consumer warpgroup copies those of `boxes` boxes that extend past the right edge of C from shared memory to C by
 * ordinary stores. */
DEVICE void store_edge(const Params *p, const bf16 *first_box, int row, int col, int boxes) {
    int thread = (int)threadIdx.x % 128;
    int box_row = thread / 2, chunk = thread % 2; /* a thread stores 8 elements of each box */
    int in_box = (int)swizzle_32b((uint32_t)(box_row * BOX * 2 + chunk * 16)) / 2;
    for (int box = 0; box < boxes; box++) {
        int box_col = col + box * BOX;
        if (row + box_row < p->g.m && box_col + BOX > p->g.n) {
            for (int i = 0; i < 8 && box_col + chunk * 8 + i < p->g.n; i++) {
                p->g.c[(size_t)(row + box_row) * p->g.ldc + box_col + chunk * 8 + i] =
                    first_box[box * 64 * BOX + in_box + i];
            }
        }
    }
}

/* A consumer warpgroup stores 64 x bn accumulators through shared memory to C, from element (row, col) on. `store`
 * counts this warpgroup's pieces, which alternate between two buffers. */
DEVICE void store_block(Shared *s, const Params *p, const int bn, const float *acc, int row, int col, int consumer,
                        int *store) {
    int warp = warp_uniform((int)threadIdx.x / 32) % 4, lane = (int)threadIdx.x % 32;
    /* Lane l passes to stmatrix the address of row l % 8 of matrix l / 8. The matrices are rows 0-7 and 8-15 of the
     * left 8 columns, then of the right 8 columns. */
    int in_box = (int)swizzle_32b((uint32_t)((warp * 16 + lane % 16) * BOX * 2 + lane / 16 * 16)) / 2;
    UNROLL
    for (int piece = 0; piece < bn; piece += PIECE) {
        bf16(*out)[64 * BOX] = s->out[consumer][*store % 2];
        const int boxes = min_int(PIECE, bn - piece) / BOX;
        if (warp == 0 && elect_one()) {
            /* Waits until the copy engine has read this buffer for the store before the previous one. */
            bulk_wait_group_read(1);
        }
        /* The warpgroup waits for that thread. After that every thread may write the buffer. */
        named_barrier_sync(1 + consumer, 128);
        UNROLL
        for (int box = 0; box < boxes; box++) {
            const float *v = &acc[(piece + box * BOX) / 2];
            uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                                  pack_bf16x2(v[6], v[7])};
            stmatrix_x4(&out[box][in_box], packed);
        }
        /* Orders this thread's stores before the copy engine's reads, which go through the async proxy. */
        fence_proxy_async();
        /* The warpgroup waits until all its threads have stored and fenced. Otherwise the copy could read old data. */
        named_barrier_sync(1 + consumer, 128);
        /* The copy engine can end a row only at a multiple of 16 bytes. Otherwise ordinary stores write the box that
         * extends past the right edge. */
        int clean_end = p->g.n % 8 == 0 ? INT_MAX : p->g.n;
        if (warp == 0 && elect_one()) {
            UNROLL
            for (int box = 0; box < boxes; box++) {
                int box_col = col + piece + box * BOX;
                if (box_col + BOX <= clean_end) {
                    tma_store_2d(&p->map_c, out[box], box_col, row);
                }
            }
            bulk_commit_group();
        }
        if (col + piece + boxes * BOX > clean_end) {
            store_edge(p, out[0], row, col + piece, boxes);
        }
        *store += 1;
    }
}

/* A warp stores its sums of 16 rows x 8 columns to C; each thread has four. A and B are swapped, so a row of sums is
 * a column of C. Threads whose rows are 1 and then 2 apart exchange sums, so that each thread stores four columns, and
 * four threads store a sector of 32 bytes. */
DEVICE void store_transposed(const Params *p, int row, int col, const float *v) {
    int odd = row & 1, high = row & 2;
    uint32_t left = pack_bf16x2(v[0], v[2]), right = pack_bf16x2(v[1], v[3]); /* of row and row + 8 */
    uint32_t other = __shfl_xor_sync(0xffffffffu, odd ? left : right, 4);
    uint32_t even_row = odd ? other : left, odd_row = odd ? right : other;
    uint32_t first = (even_row & 0xffff) | odd_row << 16, eighth = even_row >> 16 | (odd_row & 0xffff0000);
    other = __shfl_xor_sync(0xffffffffu, high ? first : eighth, 8);
    uint64_t four = high ? other | (uint64_t)eighth << 32 : first | (uint64_t)other << 32;
    int c_row = col + odd, c_col = row - odd + high * 3; /* the rows from 0 on, or from 8 on if high */
    bf16 *c = &p->g.c[(size_t)c_row * p->g.ldc + c_col];
    if (c_row < p->g.n && c_col + 4 <= p->g.m) {
        *(uint64_t *)c = four;
    } else if (c_row < p->g.n) {
        for (int i = 0; i < 4 && c_col + i < p->g.m; i++) {
            c[i] = (bf16)(four >> i * 16);
        }
    }
}

/* Steps 2 and 3 of the producer: it loads all k-tiles of all tiles, without a break between tiles. */
DEVICE void produce(const Params *p, Shared *s, const Place *at, Work work, const Schedule schedule, const int bm,
                    const int bn) {
    const int stage_bytes = stage_bytes_of(bm, bn), stages = stages_here(p, schedule, bm, bn);
    /* The first rows of A and of B that this CTA loads, within a tile. */
    int part_a = at->col * (bm >> p->log_cn), part_b = at->row * (bn >> p->log_cm);
    PipelineState state = producer_start_state();
    for (int wave = 0; wave < p->waves; wave++) {
        if (p->barrier_counter != NULL) {
            producer_barrier(p->barrier_counter, wave, p->waves);
        }
        if (work.index >= work.tiles) {
            continue; /* only arrives for the other producers */
        }
        int row = work.tile.m * bm + part_a, col = work.tile.n * bn + part_b;
        for (int i = 0; i < work.k_tiles; i++) {
            int k = (work.k_first + i * work.k_step) * BK;
            /* Waits until the consumers have finished with this stage in every CTA that this producer writes to.
             * Otherwise the copy would overwrite their operands. */
            producer_acquire(s->full, s->empty, state, stage_bytes);
            bf16 *a = &s->ring[state.index * (stage_bytes / 2)], *b = a + bm * BK;
            MBarrier *full = &s->full[state.index];
            /* Each CTA loads its part into all CTAs that share the operand. */
            if (at->cn == 1) {
                tma_load_2d(a, &p->map_a, k, row, full);
            } else {
                tma_load_2d_multicast(a + part_a * BK, &p->map_a, k, row, full, at->row_mask);
            }
            if (at->cm == 1) {
                tma_load_2d(b, &p->map_b, k, col, full);
            } else {
                tma_load_2d_multicast(b + part_b * BK, &p->map_b, k, col, full, at->column_mask);
            }
            pipeline_advance(&state, stages);
        }
        next_tile(p, &work, work.step);
    }
    /* Waits until the last k-tiles have been consumed, so that no CTA of the cluster still arrives at this CTA's
     * barriers when this CTA ends. */
    producer_tail(s->empty, state, stages);
}

/* A consumer's main loop. It starts the products of a tile, of which its part begins at row `first`, and returns the
 * stage of the last products, which may still run. */
DEVICE int multiply(Shared *s, PipelineState *state, int k_tiles, const int stages, int first, float acc[2][MAX_BN / 2],
                    const Schedule schedule, const int bm, const int bn, int told) {
    const int stage_bytes = stage_bytes_of(bm, bn), blocks = blocks_of(schedule, bm);
    int previous = 0; /* stage of the previous k-tile */
    for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
        /* Waits until the bytes of this k-tile have landed. */
        consumer_wait(s->full, *state);
        const bf16 *stage = &s->ring[state->index * (stage_bytes / 2)];
        uint64_t a = wgmma_descriptor(stage + first * BK);
        uint64_t b = wgmma_descriptor(stage + bm * BK);
        /* Orders the warpgroup's earlier accesses to the accumulators before the wgmmas that follow. */
        wgmma_fence();
        UNROLL
        for (int k16 = 0; k16 < STEPS; k16++) {
            UNROLL
            for (int block = 0; block < blocks; block++) {
                wgmma_ss(bn, acc[block], a + block * (64 * BK * 2 >> 4) + k16 * WGMMA_K16_STEP,
                         b + k16 * WGMMA_K16_STEP, schedule == SPLIT_K || k_tile + k16 > 0);
            }
        }
        wgmma_commit_group();
        /* Waits until the products of the previous k-tile are complete; the products of this k-tile go on. */
        wgmma_wait_group(1);
        if (k_tile > 0) {
            /* This consumer has finished with the previous stage. If it were released before the wait, the producer
             * would overwrite it while the tensor cores still read it. */
            release(s, previous, told);
        }
        previous = state->index;
        pipeline_advance(state, stages);
    }
    return previous;
}

/* Whether CTAs that exchange sums still have to synchronise. CTAs of a row have done so before they loaded. */
DEVICE int sums_need_a_barrier(const Params *p) { return p->parts > 1 && p->log_cn == 0; }

/* Step 4 of a consumer if k is split. CTA r adds up and stores the r-th part of the columns. The other CTAs' sums land
 * in a separate area, not in the ring, so no CTA has to wait until another CTA has finished with its ring. */
DEVICE void add_sums(const Params *p, Shared *s, Tile tile, float acc[MAX_BN / 2], const int bm, const int bn) {
    const int quads = bn / 8, threads = 128 * consumers_of(SPLIT_K, bm);
    Place at = cta_place(p);
    int part = at.part, share = p->share;
    /* [parts - 1][share][threads]: the sums of the other CTAs, in the order of their ranks */
    float4 *received = (float4 *)((char *)s + p->received);
    int thread = (int)threadIdx.x - 128;
    int owner = 0, nth = 0; /* the quad is the owner's nth */
    UNROLL
    for (int quad = 0; quad < quads; quad++) {
        const float *v = &acc[quad * 4];
        int place = (part - (part > owner)) * share + nth;
        if (owner != part) {
            st_async_v4(
                &received[place * threads + thread], (owner << p->log_cn) + at.col,
                make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])),
                &s->received);
        }
        nth = nth + 1 == share ? 0 : nth + 1;
        owner += nth == 0;
    }
    /* Waits until all sums of the other CTAs have landed. Otherwise old bytes could be added, and this CTA could end
     * while sums for it are in flight. */
    mbarrier_wait_parity_cluster(&s->received, 0);
    int row = tile.m * bm + thread / 128 * 64 + thread % 128 / 32 * 16 + thread % 32 / 4;
    int col = tile.n * bn + thread % 4 * 2;
    /* Adds them to its own sums in the order of ranks, whichever landed first, so every launch has the same bits. */
    for (int from = 0; from < p->parts - 1; from++) {
        UNROLL
        for (int quad = 0; quad < quads; quad++) {
            nth = quad - part * share;
            if (nth >= 0 && nth < share) {
                float4 v = received[(from * share + nth) * threads + thread];
                acc[quad * 4] += v.x, acc[quad * 4 + 1] += v.y, acc[quad * 4 + 2] += v.z, acc[quad * 4 + 3] += v.w;
            }
        }
    }
    UNROLL
    for (int quad = 0; quad < quads; quad++) {
        nth = quad - part * share;
        if (nth >= 0 && nth < share) {
            store_transposed(p, row, col + quad * 8, &acc[quad * 4]);
        }
    }
}

/* Steps 3 and 4 of the consumers. */
DEVICE void consume(const Params *p, Shared *s, Work work, int consumer, const Schedule schedule, const int bm,
                    const int bn) {
    Place at = cta_place(p);
    int told = told_by_this_thread(&at);
    const int stages = stages_here(p, schedule, bm, bn), blocks = blocks_of(schedule, bm);
    float acc[2][MAX_BN / 2]; /* `blocks` times 64 x bn (wgmma.h says which element is where) */
    PipelineState state = consumer_start_state();
    uint32_t turn = consumer == 0; /* parity: the first turn of consumer 0 is free */
    int store = 0;
    int first = consumer * blocks * 64; /* row of this consumer's part of a tile */
    if (schedule == PINGPONG) {
        first = 0;
        /* Consumer 0 computes the CTA's first tile and every second tile after it; consumer 1 computes the others. */
        next_tile(p, &work, consumer * work.step);
        work.step *= 2;
        pipeline_advance_by(&state, consumer * work.k_tiles, stages);
    }
    for (; work.index < work.tiles; next_tile(p, &work, work.step)) {
        if (schedule == PINGPONG) {
            /* Waits until the other consumer has issued the math of the previous tile. So the consumers use the tensor
             * cores in turn, and one's epilogue overlaps with the other's math. Also, the other's waits have seen every
             * earlier phase of `full`, so this consumer cannot mistake an older phase's parity for its own. */
            mbarrier_wait_parity(&s->turn[consumer], turn);
            turn ^= 1;
        }
        if (schedule == SPLIT_K) { /* if k is short, a part may have no product */
            UNROLL
            for (int i = 0; i < bn / 2; i++) {
                acc[0][i] = 0;
            }
        }
        int last = multiply(s, &state, work.k_tiles, stages, first, acc, schedule, bm, bn, told);
        if (schedule == PINGPONG) {
            /* The math of this tile is issued, so the other consumer may issue its own after it. All threads arrive, so
             * that the next turn cannot start before each thread has seen this turn. */
            mbarrier_arrive(&s->turn[1 - consumer]);
            /* The other consumer uses the next k_tiles stages. */
            pipeline_advance_by(&state, work.k_tiles, stages);
        }
        /* Waits until the last products are complete. Only then may the accumulators be read. */
        wgmma_wait_group(0);
        registers_settled(acc[0], bn / 2);
        if (blocks == 2) {
            registers_settled(acc[1], bn / 2);
        }
        if (schedule != SPLIT_K || work.k_tiles > 0) {
            release(s, last, told);
        }

        /* Step 4: epilogue. */
        if (schedule == SPLIT_K) {
            if (sums_need_a_barrier(p)) {
                /* All threads of the cluster, as the barrier counts them, wait until the other CTAs have initialised
                 * `received`. Earlier sums could find no barrier, or a CTA that has not started. */
                cluster_wait();
            }
            add_sums(p, s, work.tile, acc[0], bm, bn);
            continue;
        }
        UNROLL
        for (int block = 0; block < blocks; block++) {
            int row = work.tile.m * bm + first + block * 64, col = work.tile.n * bn;
            int warp_row = row + (int)threadIdx.x % 128 / 32 * 16;
            if (schedule == PINGPONG) {
                store_block(s, p, bn, acc[block], row, col, consumer, &store);
            } else if (p->swapped) {
                UNROLL
                for (int quad = 0; quad < bn / 8; quad++) {
                    store_transposed(p, warp_row + (int)threadIdx.x % 32 / 4, col + quad * 8 + (int)threadIdx.x % 4 * 2,
                                     &acc[block][quad * 4]);
                }
            } else { /* This epilogue overlaps with nothing, so it avoids barriers and shared memory to be short. */
                store_warp_rows(&p->g, warp_row, col, acc[block], bn);
            }
        }
    }
    if (schedule == PINGPONG && warp_uniform((int)threadIdx.x / 32) % 4 == 0 && elect_one()) {
        /* Shared memory must exist until the copy engine has read it; bulk_wait_group_read() would be enough. */
        bulk_wait_group(0);
    }
}

/* The kernel's body. schedule, bm and bn are constants at each call; how CTAs share data is not. With SPLIT_K, for few
 * tiles, A and B are swapped (seen_by()). A is then the caller's B, with 64 rows per wgmma. B is the caller's A, and
 * bn, wgmma's N, is as small as the number of its rows allows. */
DEVICE void gemm(const Params *p, const Schedule schedule, const int bm, const int bn) {
    SHARED_MEMORY(Shared, s);
    const int stages = stages_here(p, schedule, bm, bn);

    /* Step 1: roles and barriers. Warpgroup 0 produces, the others consume. The cluster's tiles are its first tile and
     * every `step`-th tile after it. Finding the first tile here overlaps the divisions with the previous launch. */
    Place at = cta_place(p);
    Work work = {.step = p->clusters,
                 .tiles = p->tiles_m * p->tiles_n,
                 .k_first = at.part,
                 .k_step = p->parts,
                 .k_tiles = p->k_tiles + (at.part < p->k_tiles_over)}; /* may be 0 if k is short */
    next_tile(p, &work, (int)(blockIdx.x / (unsigned)(at.cm * at.cn * p->parts)));
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        tma_prefetch_map(&p->map_a);
        tma_prefetch_map(&p->map_b);
        mbarrier_init(s->full, stages, 1); /* the producer's arrive.expect_tx */
        /* One thread of each consumer that reads what this producer loads, in its row and its column of the cluster. */
        mbarrier_init(s->empty, stages, sharers_of(schedule, bm) * (at.cm + at.cn - 1));
        if (schedule == PINGPONG) {
            mbarrier_init(s->turn, 2, 128); /* the other consumer's threads */
        } else if (schedule == SPLIT_K) {
            mbarrier_init(&s->received, 1, 1); /* the arrival below */
        }
        mbarrier_init_fence();
        if (schedule == SPLIT_K) {
            int own = min_int(p->share, bn / 8 - at.part * p->share);
            mbarrier_arrive_expect_tx(&s->received, (p->parts - 1) * (own > 0 ? own : 0) * bm * 8 * (int)sizeof(float));
        }
    }
    /* All threads wait until the barriers are initialised, in the other CTAs of the cluster too. */
    if (at.cm * at.cn > 1) {
        cluster_sync();
    } else {
        __syncthreads();
        if (schedule == SPLIT_K && sums_need_a_barrier(p)) {
            /* This arrival allows the other CTAs to send sums. */
            cluster_arrive_relaxed();
        }
    }

    /* All threads wait until the previous launch has ended, because it may write A or B, or read C. */
    grid_dependency_wait();
    /* The next launch may start its CTAs as CTAs of this launch end. */
    grid_dependency_launch();

    if (warpgroup == 0) {
        take_registers(1, schedule, bm, bn);
        if (warp == 0 && elect_one()) {
            produce(p, s, &at, work, schedule, bm, bn);
        }
        if (schedule == SPLIT_K && sums_need_a_barrier(p)) {
            /* A warp waits for its elected lane, because whole warps arrive at the cluster's barrier. The arrival above
             * needs a matching wait, although no code here depends on the other CTAs. */
            __syncwarp();
            cluster_wait();
        }
    } else {
        take_registers(0, schedule, bm, bn);
        consume(p, s, work, warpgroup - 1, schedule, bm, bn);
    }
}

#define TILE_KERNEL(V, kernel, schedule, bm, bn, ...)                                                                  \
    static_assert((bm) % 64 == 0 && (bm) <= 256, "sharers_of() knows these");                                          \
    static_assert((bn) / 2 * (schedule == PINGPONG || (bm) == 256 ? (bm) / 64 / (schedule == PINGPONG ? 1 : 2) : 1) <= \
                      ((bm) == 192 ? 100 : 208),                                                                       \
                  "a consumer holds its part of a tile, and needs some 24 registers more");                            \
    static_assert(schedule != PINGPONG || ((bm) == 128 && (bn) % BOX == 0), "ping-pong stores whole boxes");           \
    static_assert((bn) % 8 == 0, "a product has a multiple of 8 columns");                                             \
    static_assert(RING_BYTES / (((bm) + (bn)) * BK * 2) >= 2, "a stage is released when the next one is in use");      \
    static __global__ void __launch_bounds__(128 * (1 + (schedule == PINGPONG || (bm) == 256 ? 2 : (bm) / 64)),        \
                                             IS_SMALL(schedule, bm, bn) ? CTAS_PER_SM : 1)                             \
        kernel(const __grid_constant__ Params p) {                                                                     \
        gemm(&p, schedule, bm, bn);                                                                                    \
    }                                                                                                                  \
    KERNEL_ENTRY(kernel, Params);
EACH_KERNEL(TILE_KERNEL, )

#define CAN_BE_SHARED(text, kernel, schedule, bm, bn, on_sm, cm, cn)                                             \
    static_assert((bm) / (cn) % 8 == 0 && (schedule == SPLIT_K || (bn) / (cm) % 8 == 0),                         \
                  "each CTA copies whole repetitions of the swizzle");                                           \
    static_assert((on_sm) == 1 || IS_SMALL(schedule, bm, bn), "an SM has registers for two");                    \
    static_assert(schedule != SPLIT_K || ((cm)-1) * (((bn) / 8 + (cm)-1) / (cm)) * (bm)*8 * (int)sizeof(float) + \
                                                 2 * ((bm) + (bn)) * BK * 2 + BARRIER_BYTES <=                   \
                                             ((on_sm) == 2 ? HALF_BYTES : WHOLE_BYTES),                          \
                  "the sums leave the ring two stages");
EACH_VARIANT(CAN_BE_SHARED)

static const Variant table[] = {
#define ROW(text, kernel, ...) ROW_OF(text, KERNEL(kernel), __VA_ARGS__)
#define ROW_OF(...) ROW_WITH(__VA_ARGS__)
#define ROW_WITH(text, address, kernel_text, ...) {.kernel = address, .name = text, COLUMNS(__VA_ARGS__)},
    EACH_VARIANT(ROW)};

static LaunchPlan plan(const Variant *v, const Gemm *g) {
    static const char *const also[2][2] = {{NULL, ", launches overlap"},
                                           {", producer barrier", ", producer barrier, launches overlap"}};
    LaunchPlan plan = {tile_count(v, g) * (v->schedule == SPLIT_K ? 1 : v->cluster), cta_count(v, g), stages_in(v),
                       also[should_synchronise(g)][should_overlap(v, g)]};
    return plan;
}

static const Variants variants = VARIANTS("09_every_shape", table, cost);

/* The choice for a problem; a thread remembers its last choices. Computing all costs takes the host about 300
 * microseconds, longer than a small kernel. */
static const Variant *chosen(const Gemm *g, GemmError *error) {
    static __thread struct {
        const Variant *v;
        int problem[8];
    } known[16];
    const char *wanted = beyond_of(g).tuning.variant;
    int problem[8] = {g->m, g->n, g->k, g->lda, g->ldb, g->sm_count, current_card(), wanted != NULL};
    unsigned hash = 0;
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (unsigned)problem[i]) * 0x9e3779b1u;
    }
    hash >>= 28;
    if (known[hash].v == NULL || memcmp(known[hash].problem, problem, sizeof problem) != 0 ||
        (wanted != NULL && strcmp(known[hash].v->name, wanted) != 0)) {
        known[hash].v = choose_variant(&variants, g, error);
        memcpy(known[hash].problem, problem, sizeof problem);
    }
    return known[hash].v;
}

static GemmStatus launch(const Gemm *g, GemmError *error) {
    const Variant *v = chosen(g, error);
    if (v == NULL) {
        return GEMM_USAGE;
    }
    Params p;
    p.g = seen_by(v, g);
    p.tiles_m = ceil_div(p.g.m, v->bm * along_m(v));
    p.tiles_n = ceil_div(p.g.n, v->bn * v->along_n);
    p.group = tile_group(v, g);
    p.swapped = v->schedule == SWAPPED;
    p.parts = parts_of(v), p.log_cm = along_m(v) / 2, p.log_cn = v->along_n / 2; /* of 1, 2 or 4 */
    p.clusters = cta_count(v, g) / v->cluster, p.waves = ceil_div(p.tiles_m * p.tiles_n, p.clusters);
    p.k_tiles = ceil_div(g->k, BK) / p.parts, p.k_tiles_over = ceil_div(g->k, BK) % p.parts;
    p.stages = stages_in(v), p.share = share_of(v->bn, p.parts), p.received = received_at(v);
    p.barrier_counter = should_synchronise(g) ? (int *)g->workspace : NULL;
    int swapped = is_swapped(v);
    if (tensor_map_2d(&p.map_a, swapped ? "B" : "A", p.g.a, p.g.m, p.g.k, p.g.lda, v->bm / v->along_n, BK, SWIZZLE_128B,
                      error) ||
        tensor_map_2d(&p.map_b, swapped ? "A" : "B", p.g.b, p.g.n, p.g.k, p.g.ldb, v->bn / along_m(v), BK, SWIZZLE_128B,
                      error) ||
        tensor_map_2d(&p.map_c, "C", g->c, g->m, g->n, g->ldc, 64, BOX, SWIZZLE_32B, error)) {
        return GEMM_DEVICE;
    }
    LaunchShape shape = {.grid = cta_count(v, g),
                         .block = threads_of((Schedule)v->schedule, v->bm),
                         .cluster = v->cluster > 1 ? v->cluster : 0,
                         .shared_bytes = shared_bytes_of(v),
                         .overlap = should_overlap(v, g)};
    return launch_kernel(v->kernel, v->name, shape, &p, g->stream, error);
}

static size_t workspace_bytes(const Gemm *g) {
    (void)g;
    return sizeof(int); /* the counter at which producers synchronise */
}

static const ChapterBeyond beyond_the_ladder = {
    .choices = CHOOSES_TILE_GROUP | CHOOSES_PRODUCER_BARRIER | CHOOSES_BY_PLAN, .plan = plan};
CHAPTER(09_every_shape,
        .adds = "two schedules, clusters, a producer barrier, overlapping launches: a kernel for every shape",
        .needs = NEEDS_SM90A, .launch = launch, .workspace_bytes = workspace_bytes, .variants = &variants,
        .beyond = &beyond_the_ladder);
