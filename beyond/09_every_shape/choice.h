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
    SPLIT_K,     /* A and B are exchanged; a cluster shares each tile, and its CTAs have a part of k each */
} Schedule;

/* V(name, schedule, bm, bn, cluster, ...) for each variant: its kernel's constants, then other columns of variants.h.
 * bm, bn: tile; cluster: CTAs that share B by multicast, or, with SPLIT_K, a tile. Group and speed hold where L2 has room
 * for what tiles share; the speeds of SPLIT_K are those of 8192 x 8192 weights, which memory decides. */
#define EACH_VARIANT(V)                                                                     \
    V(pingpong_128x112, PINGPONG, 128, 112, 1, .group = 8, .speed = 0.880)                  \
    V(pingpong_128x128, PINGPONG, 128, 128, 1, .group = 8, .speed = 0.905)                  \
    V(pingpong_128x176, PINGPONG, 128, 176, 1, .group = 16, .speed = 0.935)                 \
    V(pingpong_128x192, PINGPONG, 128, 192, 1, .group = 8, .speed = 0.950)                  \
    V(pingpong_128x208, PINGPONG, 128, 208, 1, .group = 16, .speed = 0.960)                 \
    V(pingpong_128x208_cluster_2, PINGPONG, 128, 208, 2, .group = 16, .speed = 0.955)       \
    V(cooperative_128x64, COOPERATIVE, 128, 64, 1, .group = 8, .speed = 0.550)              \
    V(cooperative_128x256, COOPERATIVE, 128, 256, 1, .group = 16, .speed = 1.000)           \
    V(cooperative_128x256_cluster_2, COOPERATIVE, 128, 256, 2, .group = 16, .speed = 0.995) \
    V(cooperative_128x224, COOPERATIVE, 128, 224, 1, .group = 12, .speed = 0.980)           \
    V(cooperative_256x200, COOPERATIVE, 256, 200, 1, .group = 12, .speed = 1.040)           \
    V(split_128x16_by_2, SPLIT_K, 128, 16, 2, .group = 64, .speed = 0.060)                  \
    V(split_128x32_by_2, SPLIT_K, 128, 32, 2, .group = 64, .speed = 0.117)                  \
    V(split_128x64_by_2, SPLIT_K, 128, 64, 2, .group = 64, .speed = 0.227)                  \
    V(split_128x128_by_2, SPLIT_K, 128, 128, 2, .group = 64, .speed = 0.417)

/* The same as columns alone. */
#define COLUMNS(who, m, n, ctas, ...) .bm = m, .bn = n, .cluster = ctas, .schedule = who, __VA_ARGS__

/* What `make tune` has measured of a card where L2 has no room: there cards differ. */
typedef struct {
    const char *card;
    int gb_s; /* of its memory, from card.h */
    const char *variant;
    int group;
    double speed;
} Measured;

#include "cards.h"
enum { MEASURED = sizeof measured / sizeof measured[0] };

/* Is the smaller of A and B more than a quarter of L2? Then the CTAs of a wave push each other's panels out. */
static inline int exceeds_l2(const Gemm *g) { return 4.0 * min_int(g->m, g->n) * g->k * sizeof(bf16) > l2_bytes(); }

/* Group and speed for this problem on this card; of a card that was not measured, as on the one whose memory is most like. */
static inline Measured fitted(const Variant *v, const Gemm *g) {
    Measured fit = {"", 0, v->name, v->group, v->speed};
    if (!exceeds_l2(g)) {
        return fit;
    }
    double gb_s = memory_gb_s(), nearest = HUGE_VAL;
    for (int i = 0; i < MEASURED && gb_s > 0; i++) {
        double distance = fabs(log(gb_s / measured[i].gb_s));
        if (strcmp(measured[i].variant, v->name) == 0 && distance < nearest) {
            nearest = distance;
            fit = measured[i];
        }
    }
    return fit;
}

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

/* CTAs that share B: neighbours along m. */
static inline int sharing(const Variant *v) { return v->schedule == SPLIT_K ? 1 : v->cluster; }

/* Tiles of C in this variant: what a cluster takes at a time. */
static inline int tile_count(const Variant *v, const Gemm *g) {
    Gemm seen = seen_by(v, g);
    return ceil_div(ceil_div(seen.m, v->bm), sharing(v)) * ceil_div(seen.n, v->bn);
}

/* Estimated cycles of the busiest SM. Its tensor cores do 2048 multiply-adds a cycle at best, about `speed` times that in
 * this variant's main loop; only the order of the variants matters. The epilogue costs about 0.19 cycles an element: after
 * every tile if the consumers share it, after the last one only if they take turns. */
static inline double cost_at(const Variant *v, const Gemm *g, double speed) {
    const double epilogue = 0.19;
    double tiles = ceil_div(tile_count(v, g), g->sm_count / v->cluster);
    double exposed_tiles = v->schedule == PINGPONG ? 1 : tiles;
    double k = (double)g->k / (v->cluster / sharing(v));
    return (double)v->bm * v->bn * (tiles * k / 2048 / speed + exposed_tiles * epilogue);
}

/* Is C so low that it would not fill a tile of 128 rows? Then TMA spends longer on rows that are not there, which it fills
 * with zeros, than on those that are; tiles whose rows are B's have none of them. */
static inline int suits(const Variant *v, const Gemm *g) { return (v->schedule == SPLIT_K) == (g->m <= 128); }

static inline double cost(const Variant *v, const Gemm *g) {
    return cost_at(v, g, fitted(v, g).speed) * (suits(v, g) ? 1 : 3);
}

/* Tile rows walked together, in clusters. */
static inline int tile_group(const Variant *v, const Gemm *g) {
    int group = g->tuning.tile_group > 0 ? g->tuning.tile_group : fitted(v, g).group;
    return ceil_div(min_int(group, ceil_div(seen_by(v, g).m, v->bm)), sharing(v));
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
