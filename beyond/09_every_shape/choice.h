/* choice.h - which kernel 09 uses for a problem, and how it is launched. Host only; 09_every_shape.cu includes it.
 *
 * The kernel is right with any choice. */
#ifndef CHOICE_H
#define CHOICE_H

#include <assert.h> /* static_assert in C; C++ has it */

#include "../../common/beyond.h"
#include "../../common/variants.h"

#include "../../common/device/card.h"

/* Who computes what. */
typedef enum {
    PINGPONG,    /* the consumers take turns on whole tiles */
    COOPERATIVE, /* they share each tile */
    SPLIT_K,     /* as cooperative, with A and B exchanged; several CTAs may have one tile, each a part of its k */
} Schedule;

/* K(V, kernel, schedule, bm, bn, sharing) for each kernel: its tile, and V(name, kernel, schedule, bm, bn, on_sm, cm, cn) for each
 * way to launch it. on_sm: CTAs that an SM has room for. With two, each has half of the shared memory, and the next launch sets up
 * its CTAs while this one runs, which it does in any case where this one takes no more than half of the SMs. cm, cn: CTAs of a
 * cluster along m, which share B by multicast, and along n, which share A. With SPLIT_K cm is the number of parts of k: so many
 * CTAs have one tile, and add up their sums. */
#define EACH_KERNEL(K, V)                                         \
    K(V, pingpong_128x128, PINGPONG, 128, 128, IN_PAIRS)          \
    K(V, pingpong_128x160, PINGPONG, 128, 160, IN_PAIRS)          \
    K(V, pingpong_128x176, PINGPONG, 128, 176, IN_PAIRS)          \
    K(V, pingpong_128x192, PINGPONG, 128, 192, IN_PAIRS)          \
    K(V, pingpong_128x208, PINGPONG, 128, 208, IN_PAIRS)          \
    K(V, cooperative_128x64, COOPERATIVE, 128, 64, IN_CLUSTERS)   \
    K(V, cooperative_128x80, COOPERATIVE, 128, 80, IN_TWO_ROWS)   \
    K(V, cooperative_128x96, COOPERATIVE, 128, 96, IN_CLUSTERS)   \
    K(V, cooperative_128x112, COOPERATIVE, 128, 112, IN_TWO_ROWS) \
    K(V, cooperative_128x128, COOPERATIVE, 128, 128, IN_CLUSTERS) \
    K(V, cooperative_128x160, COOPERATIVE, 128, 160, IN_CLUSTERS) \
    K(V, cooperative_128x192, COOPERATIVE, 128, 192, IN_CLUSTERS) \
    K(V, cooperative_128x224, COOPERATIVE, 128, 224, IN_CLUSTERS) \
    K(V, cooperative_128x256, COOPERATIVE, 128, 256, IN_CLUSTERS) \
    K(V, cooperative_192x96, COOPERATIVE, 192, 96, IN_CLUSTERS)   \
    K(V, cooperative_192x128, COOPERATIVE, 192, 128, IN_CLUSTERS) \
    K(V, cooperative_192x144, COOPERATIVE, 192, 144, IN_TWO_ROWS) \
    K(V, cooperative_192x160, COOPERATIVE, 192, 160, IN_CLUSTERS) \
    K(V, cooperative_192x192, COOPERATIVE, 192, 192, IN_CLUSTERS) \
    K(V, cooperative_256x128, COOPERATIVE, 256, 128, IN_CLUSTERS) \
    K(V, cooperative_256x160, COOPERATIVE, 256, 160, IN_CLUSTERS) \
    K(V, cooperative_256x176, COOPERATIVE, 256, 176, IN_TWO_ROWS) \
    K(V, cooperative_256x192, COOPERATIVE, 256, 192, IN_CLUSTERS) \
    K(V, cooperative_256x200, COOPERATIVE, 256, 200, IN_ROWS)     \
    K(V, split_128x8, SPLIT_K, 128, 8, IN_PARTS_TWICE)            \
    K(V, split_128x16, SPLIT_K, 128, 16, IN_PARTS_TWICE)          \
    K(V, split_128x24, SPLIT_K, 128, 24, IN_PARTS_TWICE)          \
    K(V, split_128x32, SPLIT_K, 128, 32, IN_PARTS_TWICE)          \
    K(V, split_128x48, SPLIT_K, 128, 48, IN_PARTS_TWICE)          \
    K(V, split_128x64, SPLIT_K, 128, 64, IN_PARTS_TWICE)          \
    K(V, split_128x80, SPLIT_K, 128, 80, IN_PARTS_TWICE)          \
    K(V, split_128x96, SPLIT_K, 128, 96, IN_PARTS_TWICE)          \
    K(V, split_128x104, SPLIT_K, 128, 104, IN_PARTS)              \
    K(V, split_128x112, SPLIT_K, 128, 112, IN_PARTS)              \
    K(V, split_128x136, SPLIT_K, 128, 136, IN_PARTS)              \
    K(V, split_128x144, SPLIT_K, 128, 144, IN_PARTS)              \
    K(V, split_128x160, SPLIT_K, 128, 160, IN_PARTS)              \
    K(V, split_128x176, SPLIT_K, 128, 176, IN_PARTS)              \
    K(V, split_128x208, SPLIT_K, 128, 208, IN_PARTS)              \
    K(V, split_192x24, SPLIT_K, 192, 24, IN_PARTS_TWICE)          \
    K(V, split_192x40, SPLIT_K, 192, 40, IN_PARTS_TWICE)          \
    K(V, split_192x64, SPLIT_K, 192, 64, IN_PARTS)                \
    K(V, split_192x80, SPLIT_K, 192, 80, IN_PARTS)                \
    K(V, split_192x104, SPLIT_K, 192, 104, IN_PARTS)

#define EACH_VARIANT(V) EACH_KERNEL(SHARED, V)
#define SHARED(V, kernel, schedule, bm, bn, sharing) sharing(V, kernel, schedule, bm, bn)
#define IN_PAIRS(V, kernel, ...)             \
    V(#kernel, kernel, __VA_ARGS__, 1, 1, 1) \
    V(#kernel "_cluster_2x1", kernel, __VA_ARGS__, 1, 2, 1)
#define IN_ROWS(V, kernel, ...)                             \
    V(#kernel, kernel, __VA_ARGS__, 1, 1, 1)                \
    V(#kernel "_cluster_1x2", kernel, __VA_ARGS__, 1, 1, 2) \
    V(#kernel "_cluster_1x4", kernel, __VA_ARGS__, 1, 1, 4)
#define IN_TWO_ROWS(V, kernel, ...)                         \
    IN_ROWS(V, kernel, __VA_ARGS__)                         \
    V(#kernel "_cluster_2x1", kernel, __VA_ARGS__, 1, 2, 1) \
    V(#kernel "_cluster_2x2", kernel, __VA_ARGS__, 1, 2, 2) \
    V(#kernel "_cluster_2x4", kernel, __VA_ARGS__, 1, 2, 4)
#define IN_CLUSTERS(V, kernel, ...)                         \
    IN_TWO_ROWS(V, kernel, __VA_ARGS__)                     \
    V(#kernel "_cluster_4x1", kernel, __VA_ARGS__, 1, 4, 1) \
    V(#kernel "_cluster_4x2", kernel, __VA_ARGS__, 1, 4, 2)
#define IN_PARTS(V, kernel, ...) PARTS_OF(V, kernel, "", __VA_ARGS__, 1)
#define IN_PARTS_TWICE(V, kernel, ...)      \
    PARTS_OF(V, kernel, "", __VA_ARGS__, 1) \
    PARTS_OF(V, kernel, "@2", __VA_ARGS__, 2)
#define PARTS_OF(V, kernel, on, ...)                             \
    V(#kernel "_by_1" on, kernel, __VA_ARGS__, 1, 1)             \
    V(#kernel "_by_1_cluster_1x2" on, kernel, __VA_ARGS__, 1, 2) \
    V(#kernel "_by_1_cluster_1x4" on, kernel, __VA_ARGS__, 1, 4) \
    V(#kernel "_by_2" on, kernel, __VA_ARGS__, 2, 1)             \
    V(#kernel "_by_2_cluster_1x2" on, kernel, __VA_ARGS__, 2, 2) \
    V(#kernel "_by_2_cluster_1x4" on, kernel, __VA_ARGS__, 2, 4) \
    V(#kernel "_by_3" on, kernel, __VA_ARGS__, 3, 1)             \
    V(#kernel "_by_3_cluster_1x2" on, kernel, __VA_ARGS__, 3, 2) \
    V(#kernel "_by_4" on, kernel, __VA_ARGS__, 4, 1)             \
    V(#kernel "_by_4_cluster_1x2" on, kernel, __VA_ARGS__, 4, 2) \
    V(#kernel "_by_6" on, kernel, __VA_ARGS__, 6, 1)

/* The same as columns of the table. */
#define COLUMNS(who, m, n, ctas, cm, cn) \
    .bm = m, .bn = n, .cluster = (cm) * (cn), .along_n = cn, .on_sm = ctas, .schedule = who

/* The problem as this variant computes it. */
static inline Gemm seen_by(const Variant *v, const Gemm *g) {
    Gemm seen = *g;
    if (v->schedule == SPLIT_K) {
        seen.m = g->n, seen.n = g->m;
        seen.a = g->b, seen.b = g->a;
        seen.lda = g->ldb, seen.ldb = g->lda;
    }
    return seen;
}

/* CTAs of a cluster that share B: neighbours along m. */
static inline int along_m(const Variant *v) { return v->schedule == SPLIT_K ? 1 : v->cluster / v->along_n; }

/* What clusters take at a time of C: each a tile for each of its CTAs, or with SPLIT_K one. */
static inline int tile_count(const Variant *v, const Gemm *g) {
    Gemm seen = seen_by(v, g);
    return ceil_div(seen.m, v->bm * along_m(v)) * ceil_div(seen.n, v->bn * v->along_n);
}

/* Kernels that need so few registers that an SM has room for two CTAs. */
#define IS_SMALL(schedule, bm, bn) ((schedule) == SPLIT_K && (bn) <= ((bm) == 128 ? 96 : 40))

/* Shared memory of a CTA that has an SM for itself, and of one of two on an SM; and what is in it. */
enum { WHOLE_BYTES = 225 * 1024, HALF_BYTES = 113 * 1024 };
enum { BARRIER_BYTES = 1024, RING_BYTES = 192 * 1024, MAX_STAGES = 10 };

/* What the copies of a k-tile bring. */
HOST_DEVICE int stage_bytes_of(int bm, int bn) { return (bm + bn) * 64 * 2; }

HOST_DEVICE int stages_of(int bm, int bn) { return min_int(RING_BYTES / stage_bytes_of(bm, bn), MAX_STAGES); }

/* Where k is split, a quad is 4 sums of each thread, 8 columns of the tile. The CTAs of a cluster share the quads; the last ones may
 * have fewer, or none. */
HOST_DEVICE int share_of(int bn, int parts) { return ceil_div(bn / 8, parts); }

static inline int shared_bytes_of(const Variant *v) { return v->on_sm == 2 ? HALF_BYTES : WHOLE_BYTES; }

/* The sums that a CTA receives lie at the end of its shared memory, and may reach into the ring. */
static inline int received_at(const Variant *v) {
    int parts = v->cluster / v->along_n;
    return shared_bytes_of(v) - (parts - 1) * share_of(v->bn, parts) * v->bm * 8 * (int)sizeof(float);
}

static inline int stages_in(const Variant *v) {
    int bytes = min_int(received_at(v) - BARRIER_BYTES, RING_BYTES);
    return v->schedule == SPLIT_K ? min_int(bytes / stage_bytes_of(v->bm, v->bn), MAX_STAGES) : stages_of(v->bm, v->bn);
}

/* Clusters that run at a time. A cluster stays in one GPC: of three CTAs or more fewer run than the SMs have room for. */
static inline int room(const Variant *v, const Gemm *g) {
    int at_once = v->cluster < 3 ? 0 : clusters_at_once(v->kernel, v->cluster, 384, 200 << 10);
    return v->on_sm * (at_once > 0 ? min_int(at_once, g->sm_count / v->cluster) : g->sm_count / v->cluster);
}

/* What cost() takes the machine to do, in cycles of an SM. Fitted to an H100 and an H200: see notes.md. */
typedef struct {
    double math[3];       /* of 2048 multiply-adds, in each Schedule's main loop */
    double all_at_once;   /* how much longer they take where every SM multiplies: power, and L2 shared */
    double shared;        /* bytes a cycle into and out of shared memory: each wgmma reads 64 rows of A and all of B */
    double out_of_l2;     /* bytes a cycle that all SMs get from L2 */
    double off_sector;    /* how many times as long L2 takes where rows begin off a sector of 32 bytes */
    double off_line;      /* and where they begin off a line of 128 bytes */
    double k_tile;        /* of a k-tile, on top of its bytes and products */
    double cluster;       /* of a launch of clusters, on top of its CTAs */
    double hidden_store;  /* of an element of C that ping-pong stores */
    double exposed_store; /* of an element of C that the other schedules store */
    double sum_sent;      /* of a partial sum that goes to another CTA */
    double dram;          /* share of the memory's speed that is reached; above 1, as L2 serves a part */
} Costs;
static const Costs costs = {.math = {1, 1, 0.957},
                            .all_at_once = 0.1156,
                            .shared = 244.3,
                            .out_of_l2 = 6252,
                            .off_sector = 1.925,
                            .off_line = 1.484,
                            .k_tile = 125.7,
                            .cluster = 1674,
                            .hidden_store = 0.17,
                            .exposed_store = 0.1614,
                            .sum_sent = 0.3506,
                            .dram = 2.107};

/* About the longest of three times that overlap. */
static inline double longest(double a, double b, double c) {
    a *= a, b *= b, c *= c;
    return sqrt(sqrt(a * a + b * b + c * c));
}

/* A k-tile where so many CTAs have one: its products, its way through shared memory, and what all SMs ask of L2 at that time. */
typedef struct {
    double products, shared, asked;
} KTile;

static inline KTile k_tile_by(const Costs *c, const Variant *v, const Gemm *seen, double ctas) {
    int pitch = seen->lda | seen->ldb;
    double busy = fmin(ctas / seen->sm_count, 1), on_sm = fmax(ctas / seen->sm_count, 1);
    KTile k_tile = {.products =
                        on_sm * v->bm * v->bn * 64.0 / 2048 * c->math[v->schedule] * (1 + c->all_at_once * busy),
                    .shared = on_sm * (v->bm + v->bn + v->bm / 64 * (64 + v->bn)) * 128 / c->shared,
                    .asked = ctas * ((double)v->bm / v->along_n + (double)v->bn / along_m(v)) * 128 / c->out_of_l2};
    k_tile.asked *= pitch % 64 == 0 ? 1 : pitch % 16 == 0 ? c->off_line : c->off_sector;
    return k_tile;
}

/* How a launch goes: in waves of clusters, of which the last may have fewer. */
typedef struct {
    Gemm seen;
    int parts, room, clusters, waves, last;
    int k_tiles; /* of each part */
} Course;

static inline Course course_of(const Variant *v, const Gemm *g, int room) {
    Course course = {
        .seen = seen_by(v, g), .parts = v->schedule == SPLIT_K ? v->cluster / v->along_n : 1, .room = room};
    course.clusters = tile_count(v, g);
    course.waves = ceil_div(course.clusters, room);
    course.last = course.clusters - (course.waves - 1) * room;
    course.k_tiles = ceil_div(ceil_div(g->k, 64), course.parts);
    return course;
}

static inline double main_loop_by(const Costs *c, const Variant *v, const Course *course, int clusters) {
    KTile k_tile = k_tile_by(c, v, &course->seen, (double)clusters * v->cluster);
    return course->k_tiles * (longest(k_tile.products, k_tile.shared, k_tile.asked) + c->k_tile);
}

/* Of A, B and C together. */
static inline double bytes_of(const Gemm *g) {
    return 2.0 * ((double)g->m * g->k + (double)g->n * g->k + (double)g->m * g->n);
}

/* Estimated cycles on a card with so many bytes of L2 and GB/s of memory; only the order of the variants matters. */
static inline double cost_by(const Costs *c, const Variant *v, const Course *course, double l2, double gb_s) {
    int waves = course->waves, parts = course->parts;
    double elements = (double)v->bm * v->bn * v->on_sm;
    double loops = main_loop_by(c, v, course, course->last);
    if (waves > 1) {
        loops += (waves - 1) * main_loop_by(c, v, course, course->room);
    }

    double cycles = v->cluster > 1 ? c->cluster : 0;
    if (v->schedule == PINGPONG) {
        /* One consumer stores while the other multiplies; where k is short, both only store. */
        double store = elements * c->hidden_store;
        cycles += fmax(loops, (loops + waves * store) / 2) + store;
    } else if (v->schedule == COOPERATIVE) {
        cycles += loops + waves * elements * c->exposed_store;
    } else {
        cycles += loops + waves * elements * (c->exposed_store + c->sum_sent * (parts - 1)) / parts;
    }
    /* The memory may take longer than the SMs. What fits L2 is there already, as in a chain of layers. */
    double bytes = bytes_of(&course->seen);
    return longest(cycles, bytes > 0.8 * l2 ? bytes / gb_s * 1.98 / c->dram : 0, 0);
}

/* Tile rows walked together, in clusters: so many that the tiles of a wave are about a square of C. */
static inline int tile_group(const Variant *v, const Gemm *g) {
    int square = (int)lrint(sqrt((double)g->sm_count * v->bn / v->bm));
    int wanted = beyond_of(g).tuning.tile_group, group = wanted > 0 ? wanted : square > 0 ? square : 1;
    return ceil_div(min_int(group, ceil_div(seen_by(v, g).m, v->bm)), along_m(v));
}

/* Whether this launch may overlap the one before. That hides the launch latency, which counts where a launch is short. But
 * CTAs then come onto SMs in any order, neighbours no longer share an L2 port, and longer launches lose more by that. As
 * measured, ping-pong loses from smaller launches on than cooperative. */
static inline int should_overlap(const Variant *v, const Gemm *g) {
    return 2.0 * g->m * g->n * g->k < (v->schedule == COOPERATIVE ? 600e9 : 34e9);
}

static inline double cost(const Variant *v, const Gemm *g) {
    double gb_s = memory_gb_s() > 0 ? memory_gb_s() : 3352;
    Course course = course_of(v, g, room(v, g));
    return cost_by(&costs, v, &course, l2_bytes(), gb_s);
}

/* CTAs of a launch. Those that split k are not persistent: sums are received once. The others are the fewest that need no more
 * waves, rounded up to a multiple of the tile group, so that the tiles of a wave are a rectangle; at most one for each SM. */
static inline int cta_count(const Variant *v, const Gemm *g) {
    int clusters = tile_count(v, g);
    if (v->schedule != SPLIT_K) {
        int at_once = room(v, g), group = tile_group(v, g);
        int fewest = ceil_div(clusters, ceil_div(clusters, at_once));
        clusters = min_int(min_int(ceil_div(fewest, group) * group, at_once), clusters);
    }
    return clusters * v->cluster;
}

/* Whether the producers meet before each tile: where A and B are several times the L2, drifting apart costs more than the
 * meeting. */
static inline int should_meet(const Gemm *g) {
    Choice meet = beyond_of(g).tuning.meet;
    return meet != CHOICE_DEFAULT ? meet == CHOICE_YES
                                            : ((double)g->m + g->n) * g->k * sizeof(bf16) > 256e6;
}

#endif
