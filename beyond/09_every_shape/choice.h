/* choice.h - which kernel 09 uses for a problem, and how it is launched. Host only; 09_every_shape.cu includes it.
 *
 * Everything here is fitted to measurements: see notes.md. The kernel is right with any choice. */
#ifndef CHOICE_H
#define CHOICE_H

#include <assert.h> /* static_assert in C; C++ has it */

#include "../../common/gemm.h"
#include "../../common/variants.h"

#include "../../common/device/card.h"

/* Who computes what. */
typedef enum {
    PINGPONG,    /* the consumers take turns on whole tiles */
    COOPERATIVE, /* they share each tile: bm / 2 rows each */
    EXCHANGED,   /* they do, but A and B are exchanged: a tile's rows are columns of C */
    SPLIT_K,     /* A and B are exchanged; a cluster shares each tile, and its CTAs have a part of k each */
} Schedule;

/* V(name, schedule, bm, bn, cm, cn) for each variant, its kernel's constants. bm, bn: tile; cm, cn: CTAs of a cluster
 * along m, which share B by multicast, and along n, which share A; with SPLIT_K, parts of k, and 1. */
#define EACH_VARIANT(V) \
    V(pingpong_128x128, PINGPONG, 128, 128, 1, 1) \
    V(pingpong_128x160, PINGPONG, 128, 160, 1, 1) \
    V(pingpong_128x176, PINGPONG, 128, 176, 1, 1) \
    V(pingpong_128x192, PINGPONG, 128, 192, 1, 1) \
    V(pingpong_128x208, PINGPONG, 128, 208, 1, 1) \
    V(pingpong_128x128_cluster_2x1, PINGPONG, 128, 128, 2, 1) \
    V(pingpong_128x160_cluster_2x1, PINGPONG, 128, 160, 2, 1) \
    V(pingpong_128x192_cluster_2x1, PINGPONG, 128, 192, 2, 1) \
    V(pingpong_128x208_cluster_2x1, PINGPONG, 128, 208, 2, 1) \
    V(pingpong_128x208_cluster_1x2, PINGPONG, 128, 208, 1, 2) \
    V(cooperative_128x64, COOPERATIVE, 128, 64, 1, 1) \
    V(cooperative_128x96, COOPERATIVE, 128, 96, 1, 1) \
    V(cooperative_128x128, COOPERATIVE, 128, 128, 1, 1) \
    V(cooperative_128x160, COOPERATIVE, 128, 160, 1, 1) \
    V(cooperative_128x192, COOPERATIVE, 128, 192, 1, 1) \
    V(cooperative_128x224, COOPERATIVE, 128, 224, 1, 1) \
    V(cooperative_128x256, COOPERATIVE, 128, 256, 1, 1) \
    V(cooperative_128x64_cluster_2x1, COOPERATIVE, 128, 64, 2, 1) \
    V(cooperative_128x128_cluster_2x1, COOPERATIVE, 128, 128, 2, 1) \
    V(cooperative_128x192_cluster_2x1, COOPERATIVE, 128, 192, 2, 1) \
    V(cooperative_128x256_cluster_2x1, COOPERATIVE, 128, 256, 2, 1) \
    V(cooperative_128x64_cluster_1x2, COOPERATIVE, 128, 64, 1, 2) \
    V(cooperative_128x128_cluster_1x2, COOPERATIVE, 128, 128, 1, 2) \
    V(cooperative_128x192_cluster_1x2, COOPERATIVE, 128, 192, 1, 2) \
    V(cooperative_128x256_cluster_1x2, COOPERATIVE, 128, 256, 1, 2) \
    V(cooperative_128x128_cluster_2x2, COOPERATIVE, 128, 128, 2, 2) \
    V(cooperative_128x192_cluster_2x2, COOPERATIVE, 128, 192, 2, 2) \
    V(cooperative_128x256_cluster_2x2, COOPERATIVE, 128, 256, 2, 2) \
    V(cooperative_128x64_cluster_4x1, COOPERATIVE, 128, 64, 4, 1) \
    V(cooperative_128x128_cluster_4x1, COOPERATIVE, 128, 128, 4, 1) \
    V(cooperative_128x192_cluster_4x1, COOPERATIVE, 128, 192, 4, 1) \
    V(cooperative_128x128_cluster_4x2, COOPERATIVE, 128, 128, 4, 2) \
    V(cooperative_128x160_cluster_4x2, COOPERATIVE, 128, 160, 4, 2) \
    V(cooperative_256x128, COOPERATIVE, 256, 128, 1, 1) \
    V(cooperative_256x160, COOPERATIVE, 256, 160, 1, 1) \
    V(cooperative_256x200, COOPERATIVE, 256, 200, 1, 1) \
    V(cooperative_256x128_cluster_1x2, COOPERATIVE, 256, 128, 1, 2) \
    V(cooperative_256x160_cluster_1x2, COOPERATIVE, 256, 160, 1, 2) \
    V(cooperative_256x200_cluster_1x2, COOPERATIVE, 256, 200, 1, 2) \
    V(cooperative_256x128_cluster_2x2, COOPERATIVE, 256, 128, 2, 2) \
    V(exchanged_128x64, EXCHANGED, 128, 64, 1, 1) \
    V(exchanged_128x96, EXCHANGED, 128, 96, 1, 1) \
    V(exchanged_128x128, EXCHANGED, 128, 128, 1, 1) \
    V(exchanged_128x160, EXCHANGED, 128, 160, 1, 1) \
    V(exchanged_128x192, EXCHANGED, 128, 192, 1, 1) \
    V(exchanged_128x224, EXCHANGED, 128, 224, 1, 1) \
    V(exchanged_128x256, EXCHANGED, 128, 256, 1, 1) \
    V(exchanged_128x64_cluster_2x1, EXCHANGED, 128, 64, 2, 1) \
    V(exchanged_128x128_cluster_2x1, EXCHANGED, 128, 128, 2, 1) \
    V(exchanged_128x192_cluster_2x1, EXCHANGED, 128, 192, 2, 1) \
    V(exchanged_128x256_cluster_2x1, EXCHANGED, 128, 256, 2, 1) \
    V(exchanged_128x128_cluster_1x2, EXCHANGED, 128, 128, 1, 2) \
    V(exchanged_128x192_cluster_1x2, EXCHANGED, 128, 192, 1, 2) \
    V(exchanged_128x128_cluster_2x2, EXCHANGED, 128, 128, 2, 2) \
    V(exchanged_128x192_cluster_2x2, EXCHANGED, 128, 192, 2, 2) \
    V(exchanged_128x160_cluster_4x2, EXCHANGED, 128, 160, 4, 2) \
    V(exchanged_256x64, EXCHANGED, 256, 64, 1, 1) \
    V(exchanged_256x96, EXCHANGED, 256, 96, 1, 1) \
    V(exchanged_256x160, EXCHANGED, 256, 160, 1, 1) \
    V(split_128x16_by_2, SPLIT_K, 128, 16, 2, 1) \
    V(split_128x32_by_2, SPLIT_K, 128, 32, 2, 1) \
    V(split_128x32_by_4, SPLIT_K, 128, 32, 4, 1) \
    V(split_128x64_by_2, SPLIT_K, 128, 64, 2, 1) \
    V(split_128x64_by_4, SPLIT_K, 128, 64, 4, 1) \
    V(split_128x64_by_8, SPLIT_K, 128, 64, 8, 1) \
    V(split_128x128_by_2, SPLIT_K, 128, 128, 2, 1) \
    V(split_128x128_by_4, SPLIT_K, 128, 128, 4, 1) \
    V(split_128x128_by_8, SPLIT_K, 128, 128, 8, 1) \
    V(split_128x192_by_2, SPLIT_K, 128, 192, 2, 1) \
    V(split_128x192_by_4, SPLIT_K, 128, 192, 4, 1) \
    V(split_128x256_by_2, SPLIT_K, 128, 256, 2, 1)

/* The same as columns alone. */
#define COLUMNS(who, m, n, cm, cn) .bm = m, .bn = n, .cluster = (cm) * (cn), .along_n = cn, .schedule = who

static inline int exchanges(const Variant *v) { return v->schedule == EXCHANGED || v->schedule == SPLIT_K; }

/* The problem as this variant computes it. */
static inline Gemm seen_by(const Variant *v, const Gemm *g) {
    Gemm seen = *g;
    if (exchanges(v)) {
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

/* Estimated cycles of the busiest SM; only the order of the variants matters. */
static inline double cost(const Variant *v, const Gemm *g) {
    Gemm seen = seen_by(v, g);
    double waves = ceil_div(tile_count(v, g), g->sm_count / v->cluster);
    double k = (double)seen.k / (v->schedule == SPLIT_K ? v->cluster : 1);
    double speed = (double)(v->bm * v->bn) / (v->bm * v->bn + 3000);
    double exposed = v->schedule == PINGPONG ? 1 : waves;
    return (double)v->bm * v->bn * (waves * k / 2048 / speed + exposed * 0.19) * ((v->schedule == SPLIT_K) == (g->m <= 128) ? 1 : 3);
}

/* Tile rows walked together, in clusters: so many that the tiles of a wave are about a square of C. */
static inline int tile_group(const Variant *v, const Gemm *g) {
    int square = (int)lrint(sqrt((double)g->sm_count * v->bn / v->bm));
    int group = g->tuning.tile_group > 0 ? g->tuning.tile_group : square;
    return ceil_div(min_int(group, ceil_div(seen_by(v, g).m, v->bm)), along_m(v));
}

/* CTAs of a launch. Those that split k are not persistent: sums are received once. The others are the fewest that need no more
 * waves, rounded up to a multiple of the tile group, so that the tiles of a wave are a rectangle; at most one for each SM. */
static inline int cta_count(const Variant *v, const Gemm *g) {
    int clusters = tile_count(v, g);
    if (v->schedule != SPLIT_K) {
        int room = g->sm_count / v->cluster, group = tile_group(v, g);
        int fewest = ceil_div(clusters, ceil_div(clusters, room));
        clusters = min_int(min_int(ceil_div(fewest, group) * group, room), clusters);
    }
    return clusters * v->cluster;
}

/* Whether the producers meet before each tile: where A and B are several times the L2, drifting apart costs more than the
 * meeting. */
static inline int should_meet(const Gemm *g) {
    return g->tuning.meet != CHOICE_DEFAULT ? g->tuning.meet == CHOICE_YES
                                            : ((double)g->m + g->n) * g->k * sizeof(bf16) > 256e6;
}

/* Whether this launch may overlap the one before. That hides the launch latency, which counts where a launch is short. But
 * CTAs then come onto SMs in any order, neighbours no longer share an L2 port, and longer launches lose more by that. As
 * measured, ping-pong loses from smaller launches on than cooperative. */
static inline int should_overlap(const Variant *v, const Gemm *g) {
    return 2.0 * g->m * g->n * g->k < (v->schedule == COOPERATIVE ? 600e9 : 34e9);
}

#endif
