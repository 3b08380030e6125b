/* 08_persistent_pingpong - one CTA per SM works through many tiles; one consumer's epilogue hides under the other's math.
 *
 * What is new   Persistent CTAs: each loops over tiles of C, and its producer fills the ring for the next tile while the
 *               consumers finish this one. Ping-pong: the two consumers take turns; while one computes a whole 128 x BN
 *               tile, the other converts and stores the last one. The epilogue goes through swizzled shared memory and
 *               leaves by TMA store. Tiles are walked in an order that keeps their operands in L2, and the tile width is
 *               chosen for the problem.
 * What limits it   Power: the SM clock falls under load. See the README of this chapter.
 * Run           make 08 && ./08_persistent_pingpong */
#include "../common/gemm.h"

#include "../common/device/barrier.h"
#include "../common/device/cluster.h"
#include "../common/device/global_counter.h"
#include "../common/device/epilogue.h"
#include "../common/device/grid.h"
#include "../common/device/mbarrier.h"
#include "../common/device/mma_sync.h"
#include "../common/device/pipeline.h"
#include "../common/device/registers.h"
#include "../common/device/swizzle.h"
#include "../common/device/tile_order.h"
#include "../common/device/tma.h"
#include "../common/device/wgmma.h"

enum {
    BK = 64,       /* CTA tile is bm x bn; a row of a k-tile is 128 bytes */
    CONSUMERS = 2, /* warpgroups */
    THREADS = 128 * (1 + CONSUMERS),
    PRODUCER_REGISTERS = 24,
    CONSUMER_REGISTERS = 240, /* 168 at launch: 3 * 168 = 24 + 2 * 240 */
    STEPS = BK / 16,          /* k16 steps in a k-tile */
    RING_BYTES = 192 * 1024,  /* as many stages as fit */
    MAX_STAGES = 8,
    MAX_BN = 256,
    STORE_COLS = 64, /* the epilogue stores 64 x 64 at a time, */
    BOX_COLS = 16,   /* in boxes of 64 x 16 */
    BOX_ELEMENTS = 64 * BOX_COLS,
    MEETING_POLLS = 20000, /* a producer waits no longer than this for the others */
};

/* Who computes what. */
typedef enum {
    PINGPONG,    /* the consumers take turns on whole tiles */
    COOPERATIVE, /* they share each tile: bm / 2 rows each */
} Schedule;

typedef struct {
    const char *name;
    Schedule schedule;
    int bm, bn;   /* tile */
    int cluster;  /* CTAs that share B by multicast */
    int group;    /* tile rows walked together (tile_order.h) */
    double speed; /* of the main loop, relative to the other variants; for cost() */
    const void *kernel;
    const char *kernel_name;
} Variant;

typedef struct {
    bf16 ring[RING_BYTES / 2]; /* stages of A [bm][BK] and B [bn][BK], K-major, 128-byte swizzle */
    bf16 out[CONSUMERS][2][STORE_COLS / BOX_COLS][BOX_ELEMENTS]; /* boxes [64][16], 32-byte swizzle */
    MBarrier full[MAX_STAGES];                                   /* completes a phase when a k-tile has landed */
    MBarrier empty[MAX_STAGES];                                  /* ... when its consumers have finished with it */
    MBarrier turn[CONSUMERS];                                    /* ... when the other consumer has issued its math */
} Shared;

typedef struct {
    TensorMap map_a; /* box [bm][BK] */
    TensorMap map_b; /* box [bn / cluster][BK] */
    TensorMap map_c; /* box [64][BOX_COLS] */
    int m, n, k;
    bf16 *c; /* for what does not go by TMA store */
    int ldc;
    int tiles_m, tiles_n; /* in clusters of tiles along m */
    int group;
    int *meeting; /* counter of the producers' meetings; NULL: they do not meet */
} Params;

/* The index-th tile of this CTA. The CTAs of a cluster take neighbouring tile rows and so share B. */
DEVICE Tile cta_tile(const Params *p, int index, int cluster) {
    Tile tile = tile_at(index, p->tiles_m, p->tiles_n, p->group);
    tile.m = tile.m * cluster + (cluster > 1 ? cluster_cta_rank() : 0);
    return tile;
}

/* Producer, before each tile: wait for the producers of the other CTAs, for a while. CTAs that drift apart read the same
 * panels of A and B at different times, from DRAM instead of L2. Nothing depends on it: a producer that has waited long
 * enough goes on alone. The last arrival of the launch leaves the counter at zero. */
DEVICE void meet(int *counter, int wave, int waves) {
    int ctas = (int)gridDim.x;
    int before = global_counter_add(counter, 1);
    if (before == ctas * waves - 1) {
        global_counter_set(counter, 0);
    } else if (wave < waves - 1) {
        for (int poll = 0; poll < MEETING_POLLS && global_counter_read(counter) < ctas * (wave + 1); poll++) {
        }
    }
}

/* Consumer warpgroup, after its wgmma_wait_group: hand the stage at `index` back to every producer that writes a part of
 * it. Thread i tells the i-th neighbour in the cluster, thread 0 the own producer. */
DEVICE void release(Shared *s, int index, const int cluster) {
    int thread = (int)threadIdx.x % 128;
    if (thread == 0) {
        consumer_release(s->empty, index);
    } else if (thread < cluster) {
        mbarrier_arrive_remote(&s->empty[index], (cluster_cta_rank() + thread) % cluster);
    }
}

/* One product of the chosen width. */
DEVICE void wgmma_k16(const int bn, float *acc, uint64_t a, uint64_t b, int accumulate) {
    switch (bn) {
    case 64: wgmma_m64n64k16(acc, a, b, accumulate); break;
    case 112: wgmma_m64n112k16(acc, a, b, accumulate); break;
    case 128: wgmma_m64n128k16(acc, a, b, accumulate); break;
    case 176: wgmma_m64n176k16(acc, a, b, accumulate); break;
    case 192: wgmma_m64n192k16(acc, a, b, accumulate); break;
    case 256: wgmma_m64n256k16(acc, a, b, accumulate); break;
    }
}

/* Consumer warpgroup: write those of `boxes` boxes that hang over the right edge of C from shared memory to C. */
DEVICE void store_edge(const Params *p, const bf16 *boxes_start, int row, int col, int boxes, int thread) {
    int box_row = thread / 2, chunk = thread % 2; /* a thread takes 8 elements of each box */
    int in_box = (int)swizzle_32b((uint32_t)(box_row * BOX_COLS * 2 + chunk * 16)) / 2;
    for (int box = 0; box < boxes; box++) {
        int box_col = col + box * BOX_COLS;
        if (row + box_row < p->m && box_col + BOX_COLS > p->n) {
            for (int i = 0; i < 8 && box_col + chunk * 8 + i < p->n; i++) {
                p->c[(size_t)(row + box_row) * p->ldc + box_col + chunk * 8 + i] =
                    boxes_start[box * BOX_ELEMENTS + in_box + i];
            }
        }
    }
}

/* Consumer warpgroup: 64 x bn accumulators to C, whose first element is (row, col). `store` counts the 64-column pieces of
 * this warpgroup; pieces alternate between two buffers. */
DEVICE void store_tile(Shared *s, const Params *p, const int bn, const float *acc, int row, int col, int consumer,
                       int *store) {
    int thread = (int)threadIdx.x % 128, lane = (int)threadIdx.x % 32;
    /* Lane l gives stmatrix the address of row l % 8 of matrix l / 8: rows 0-7 and 8-15 of the left 8 columns, then of the
     * right ones. */
    int box_row = thread / 32 * 16 + lane % 16;
    int in_box = (int)swizzle_32b((uint32_t)(box_row * BOX_COLS * 2 + lane / 16 * 16)) / 2;
    UNROLL
    for (int piece = 0; piece < bn; piece += STORE_COLS) {
        bf16(*out)[BOX_ELEMENTS] = s->out[consumer][*store % 2];
        const int boxes = min_int(STORE_COLS, bn - piece) / BOX_COLS;
        if (thread == 0) {
            /* The copy engine has read what the last store but one left in this buffer. */
            bulk_wait_group_read(1);
        }
        /* The warpgroup waits for its thread 0: the buffer may be written. */
        named_barrier_sync(1 + consumer, 128);
        UNROLL
        for (int box = 0; box < boxes; box++) {
            const float *v = &acc[(piece + box * BOX_COLS) / 2];
            uint32_t packed[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[2], v[3]), pack_bf16x2(v[4], v[5]),
                                  pack_bf16x2(v[6], v[7])};
            stmatrix_x4(&out[box][in_box], packed);
        }
        /* This thread's stores come before the copy engine's reads: they go through different proxies. */
        fence_proxy_async();
        /* The warpgroup waits until all have stored and fenced. */
        named_barrier_sync(1 + consumer, 128);
        int piece_col = col + piece;
        /* The copy engine cuts a row off at a multiple of 16 bytes only: what hangs over the right edge then goes by
         * ordinary stores. */
        int clean_end = p->n % 8 == 0 ? INT_MAX : p->n;
        if (thread == 0) {
            UNROLL
            for (int box = 0; box < boxes; box++) {
                int box_col = piece_col + box * BOX_COLS;
                if (row < p->m && box_col < p->n && box_col + BOX_COLS <= clean_end) {
                    tma_store_2d(&p->map_c, out[box], box_col, row);
                }
            }
            bulk_commit_group();
        }
        if (piece_col + boxes * BOX_COLS > clean_end) {
            store_edge(p, out[0], row, piece_col, boxes, thread);
        }
        *store += 1;
    }
}

/* The kernel. schedule, bm, bn and cluster are constants where it is called. */
DEVICE void gemm(const Params *p, const Schedule schedule, const int bm, const int bn, const int cluster) {
    SHARED_MEMORY(Shared, s);
    const int stage_elements = (bm + bn) * BK;
    const int stages = min_int(RING_BYTES / (stage_elements * 2), MAX_STAGES);
    const int sharers = schedule == PINGPONG ? 1 : CONSUMERS; /* consumers of one tile in a CTA */
    const int m_blocks = bm / 64 / sharers;                   /* 64-row blocks of one consumer */

    /* Step 1: roles and barriers. Warpgroup 0 produces, the others consume. */
    int warpgroup = warp_uniform((int)threadIdx.x / 128);
    int k_tiles = ceil_div(p->k, BK);
    int tiles = p->tiles_m * p->tiles_n;
    int first = (int)blockIdx.x / cluster,
        step = (int)gridDim.x / cluster; /* this CTA's tiles: first, first + step, ... */
    if (threadIdx.x == 0) {
        tma_prefetch_map(&p->map_a);
        tma_prefetch_map(&p->map_b);
        tma_prefetch_map(&p->map_c);
        mbarrier_init(s->full, stages, 1); /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages,
                      sharers * cluster);       /* one thread of each consumer that reads the stage's data */
        mbarrier_init(s->turn, CONSUMERS, 128); /* the other consumer's threads */
        mbarrier_init_fence();
    }
    /* All wait for the barriers to exist, in the other CTAs of the cluster too. */
    if (cluster > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }

    /* All of this launch wait until the launch before has ended: it may write A or B, or read C. */
    grid_dependency_wait();
    /* The next launch may set up its CTAs as this one's end. */
    grid_dependency_launch();

    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (threadIdx.x == 0) {
            /* Steps 2 and 3 of the producer: all k-tiles of all tiles, without a break between tiles. */
            PipelineState state = producer_start_state();
            int waves = ceil_div(tiles, step);
            for (int wave = 0; wave < waves; wave++) {
                if (p->meeting != NULL) {
                    meet(p->meeting, wave, waves);
                }
                int index = first + wave * step;
                if (index >= tiles) {
                    continue;
                }
                Tile tile = cta_tile(p, index, cluster);
                for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                    /* Waits until the consumers have finished with this stage, in every CTA that this producer writes to:
                     * else the copy overwrites what they read. */
                    producer_acquire(s->full, s->empty, state, stage_elements * 2);
                    bf16 *a = &s->ring[state.index * stage_elements], *b = a + bm * BK;
                    MBarrier *full = &s->full[state.index];
                    tma_load_2d(a, &p->map_a, k_tile * BK, tile.m * bm, full);
                    if (cluster == 1) {
                        tma_load_2d(b, &p->map_b, k_tile * BK, tile.n * bn, full);
                    } else {
                        /* Each CTA loads its part of B into all of them. */
                        int part = cluster_cta_rank() * (bn / cluster);
                        tma_load_2d_multicast(b + part * BK, &p->map_b, k_tile * BK, tile.n * bn + part, full,
                                              (1 << cluster) - 1);
                    }
                    pipeline_advance(&state, stages);
                }
            }
            /* Waits until the last k-tiles have been consumed: nothing is in flight, and no CTA of the cluster still
             * arrives on these barriers, when this role ends. */
            producer_tail(s->empty, state, stages);
        }
    } else {
        setmaxnreg_inc(CONSUMER_REGISTERS);
        int consumer = warpgroup - 1;
        int thread = (int)threadIdx.x % 128;
        float acc[2][MAX_BN / 2]; /* m_blocks times 64 x bn (wgmma.h says which element is where) */
        PipelineState state = consumer_start_state();
        uint32_t turn = consumer == 0; /* parity: the first turn of consumer 0 is free */
        int store = 0;
        int tile_step = step;
        int index = first;
        if (schedule == PINGPONG) {
            tile_step = 2 * step;
            if (consumer == 1) {
                index += step;
                pipeline_advance_by(&state, k_tiles, stages);
            }
        }
        for (; index < tiles; index += tile_step) {
            Tile tile = cta_tile(p, index, cluster);
            int half = schedule == PINGPONG ? 0 : consumer * (bm / 2); /* first row of this consumer's part */
            if (schedule == PINGPONG) {
                /* Waits until the other consumer has issued the math of the tile before: the tensor cores serve one at a
                 * time, and the other's epilogue falls into this one's math. Also, its waits have seen every phase of
                 * full before this tile's, so the parity that this consumer waits for is not an older phase's. */
                mbarrier_wait_parity(&s->turn[consumer], turn);
                turn ^= 1;
            }

            /* Step 3 of the consumers: main loop. */
            int previous = 0; /* stage of the k-tile before */
            for (int k_tile = 0; k_tile < k_tiles; k_tile++) {
                /* Waits until the bytes of this k-tile have landed. */
                consumer_wait(s->full, state);
                const bf16 *stage = &s->ring[state.index * stage_elements];
                uint64_t a = wgmma_descriptor(stage + half * BK);
                uint64_t b = wgmma_descriptor(stage + bm * BK);
                /* The warpgroup's earlier accesses to the accumulators come before the wgmmas that follow. */
                wgmma_fence();
                UNROLL
                for (int k16 = 0; k16 < STEPS; k16++) {
                    UNROLL
                    for (int block = 0; block < m_blocks; block++) {
                        uint64_t a_block = a + (uint64_t)(block * 64 * BK * 2 >> 4);
                        wgmma_k16(bn, acc[block], a_block + k16 * WGMMA_K16_STEP, b + k16 * WGMMA_K16_STEP,
                                  k_tile + k16 > 0);
                    }
                }
                wgmma_commit_group();
                /* Waits until the products of the previous k-tile are done; those of this one go on. */
                wgmma_wait_group(1);
                if (k_tile > 0) {
                    release(s, previous, cluster);
                }
                previous = state.index;
                pipeline_advance(&state, stages);
            }
            if (schedule == PINGPONG) {
                /* The math of this tile is issued: the other consumer may issue its own behind it. All threads arrive, so
                 * that the next turn cannot come before each has seen this one. */
                mbarrier_arrive(&s->turn[1 - consumer]);
                /* The other consumer takes the next k_tiles stages. */
                pipeline_advance_by(&state, k_tiles, stages);
            }
            /* The accumulators may be read when the last products are done. */
            wgmma_wait_group(0);
            registers_settled(acc[0], bn / 2);
            if (m_blocks == 2) {
                registers_settled(acc[1], bn / 2);
            }
            release(s, previous, cluster);

            /* Step 4: epilogue. */
            UNROLL
            for (int block = 0; block < m_blocks; block++) {
                int row = tile.m * bm + half + block * 64, col = tile.n * bn;
                if (schedule == PINGPONG) {
                    store_tile(s, p, bn, acc[block], row, col, consumer, &store);
                } else {
                    /* Nothing hides this epilogue: the shortest one is without barriers and shared memory. */
                    store_warpgroup_tile(p->c, p->ldc, p->m, p->n, row, col, acc[block], bn);
                }
            }
        }
        if (thread == 0) {
            /* Shared memory must live until the copy engine has read it, and C is written when the last group is. */
            bulk_wait_group(0);
        }
    }
}

#define VARIANT_KERNEL(kernel, schedule, bm, bn, cluster)                                           \
    static __global__ void __launch_bounds__(THREADS, 1) kernel(const __grid_constant__ Params p) { \
        gemm(&p, schedule, bm, bn, cluster);                                                        \
    }                                                                                               \
    KERNEL_ENTRY(kernel, Params);
VARIANT_KERNEL(pingpong_128x112, PINGPONG, 128, 112, 1)
VARIANT_KERNEL(pingpong_128x128, PINGPONG, 128, 128, 1)
VARIANT_KERNEL(pingpong_128x176, PINGPONG, 128, 176, 1)
VARIANT_KERNEL(pingpong_128x192, PINGPONG, 128, 192, 1)
VARIANT_KERNEL(cooperative_128x64, COOPERATIVE, 128, 64, 1)
VARIANT_KERNEL(cooperative_128x256, COOPERATIVE, 128, 256, 1)
VARIANT_KERNEL(cooperative_128x256_cluster_2, COOPERATIVE, 128, 256, 2)
VARIANT_KERNEL(cooperative_256x192, COOPERATIVE, 256, 192, 1)

/* Speeds are fitted to measurements on an H200: see "What was tried" in this chapter's README. */
static const Variant variants[] = {
    {"pingpong_128x112", PINGPONG, 128, 112, 1, 8, 0.880, KERNEL(pingpong_128x112)},
    {"pingpong_128x128", PINGPONG, 128, 128, 1, 8, 0.905, KERNEL(pingpong_128x128)},
    {"pingpong_128x176", PINGPONG, 128, 176, 1, 16, 0.935, KERNEL(pingpong_128x176)},
    {"pingpong_128x192", PINGPONG, 128, 192, 1, 8, 0.950, KERNEL(pingpong_128x192)},
    {"cooperative_128x64", COOPERATIVE, 128, 64, 1, 8, 0.550, KERNEL(cooperative_128x64)},
    {"cooperative_128x256", COOPERATIVE, 128, 256, 1, 12, 1.000, KERNEL(cooperative_128x256)},
    {"cooperative_128x256_cluster_2", COOPERATIVE, 128, 256, 2, 16, 0.995, KERNEL(cooperative_128x256_cluster_2)},
    {"cooperative_256x192", COOPERATIVE, 256, 192, 1, 8, 1.030, KERNEL(cooperative_256x192)},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* Tiles of C in this variant, in clusters. */
static int tile_count(const Variant *v, const Gemm *g) {
    return ceil_div(ceil_div(g->m, v->bm), v->cluster) * ceil_div(g->n, v->bn);
}

/* Estimated cycles of the busiest SM. Its tensor cores do 2048 multiply-adds a cycle at best, about `speed` times that in
 * this variant's main loop; only the order of the variants matters. The epilogue costs about 0.19 cycles an element: after
 * every tile if the consumers share it, after the last one only if they take turns. */
static double cost(const Variant *v, const Gemm *g) {
    const double epilogue = 0.19;
    int clusters = g->sm_count / v->cluster;
    double tiles = ceil_div(tile_count(v, g), clusters > 0 ? clusters : 1);
    double exposed_tiles = v->schedule == COOPERATIVE ? tiles : 1;
    return (double)v->bm * v->bn * (tiles * g->k / 2048 / v->speed + exposed_tiles * epilogue);
}

/* The variant asked for, or the cheapest; NULL if there is none of that name. */
static const Variant *choose(const Gemm *g) {
    const Variant *best = NULL;
    for (int i = 0; i < VARIANTS; i++) {
        const Variant *v = &variants[i];
        int fits = v->cluster <= g->sm_count;
        if (g->variant != NULL ? strcmp(g->variant, v->name) == 0
                               : fits && (best == NULL || cost(v, g) < cost(best, g))) {
            best = v;
        }
    }
    return best;
}

/* Whether the producers meet before each tile: where A and B are many times the L2, drifting apart costs more than the
 * meeting. */
static int should_meet(const Gemm *g) {
    return g->meet != 0 ? g->meet > 0 : ((double)g->m + g->n) * g->k * sizeof(bf16) > 512e6;
}

/* Whether this launch may overlap the one before. That hides the launch latency, which counts where a launch is short. But
 * CTAs then come onto SMs in any order, neighbours no longer share an L2 port, and longer launches lose more by that. */
static int should_overlap(const Gemm *g) { return 2.0 * g->m * g->n * g->k < 34e9; }

static GemmStatus launch(const Gemm *g) {
    const Variant *v = choose(g);
    if (v == NULL) {
        fprintf(stderr, "08_persistent_pingpong has no variant '%s'; it has:", g->variant);
        for (int i = 0; i < VARIANTS; i++) {
            fprintf(stderr, " %s", variants[i].name);
        }
        fprintf(stderr, "\n");
        return GEMM_USAGE;
    }
    Params p;
    if (tensor_map_2d(&p.map_a, "A", g->a, g->m, g->k, g->lda, v->bm, BK, SWIZZLE_128B) ||
        tensor_map_2d(&p.map_b, "B", g->b, g->n, g->k, g->ldb, v->bn / v->cluster, BK, SWIZZLE_128B) ||
        tensor_map_2d(&p.map_c, "C", g->c, g->m, g->n, g->ldc, 64, BOX_COLS, SWIZZLE_32B)) {
        return GEMM_DEVICE;
    }
    p.m = g->m;
    p.n = g->n;
    p.k = g->k;
    p.c = g->c;
    p.ldc = g->ldc;
    p.tiles_m = ceil_div(ceil_div(g->m, v->bm), v->cluster);
    p.tiles_n = ceil_div(g->n, v->bn);
    p.group = (g->tile_group > 0 ? g->tile_group : v->group) / v->cluster;
    p.meeting = should_meet(g) ? (int *)g->workspace : NULL;
    int clusters = min_int(tile_count(v, g), g->sm_count / v->cluster);
    LaunchShape shape = {.grid = clusters * v->cluster,
                         .block = THREADS,
                         .cluster = v->cluster > 1 ? v->cluster : 0,
                         .shared_bytes = sizeof(Shared),
                         .overlap = should_overlap(g)};
    return (GemmStatus)launch_kernel(v->kernel, v->name, shape, &p, g->stream);
}

static size_t workspace_bytes(const Gemm *g) {
    (void)g;
    return sizeof(int);
}

static void describe(const Gemm *g, char *text, size_t size) {
    const Variant *v = choose(g);
    if (v != NULL) {
        int tiles = tile_count(v, g), clusters = min_int(tiles, g->sm_count / v->cluster);
        snprintf(text, size, "%s: %d tiles of %d x %d on %d CTAs, %d stages, about %.0f thousand cycles%s%s", v->name,
                 tiles * v->cluster, v->bm, v->bn, clusters * v->cluster,
                 min_int(RING_BYTES / ((v->bm + v->bn) * BK * 2), MAX_STAGES), cost(v, g) / 1e3,
                 should_meet(g) ? ", producers meet" : "", should_overlap(g) ? ", launches overlap" : "");
    }
}

CHAPTER(08_persistent_pingpong) = {
    .name = "08_persistent_pingpong",
    .adds = "persistent CTAs, ping-pong consumers, TMA store",
    .needs = NEEDS_SM90A,
    .launch = launch,
    .workspace_bytes = workspace_bytes,
    .describe = describe,
};
