/* tiles.h - the kernels of 09: their tiles, and how CTAs may share them. Host and kernel; choice.h chooses among them.
 *
 * Three rules make the list:
 *   ping-pong    128 rows, and every multiple of 16 columns from 128 to 208, which is what the registers hold.
 *   cooperative  128 rows and every multiple of 16 columns from 64 to 256; 192 rows and every multiple of 16 from 64 to
 *                192, and 200; 256 rows and every multiple of 8 from 136 to 208, as a step weighs most where tiles are
 *                largest. Each is launched as it is, and with A and B swapped.
 *   split K      A and B swapped, so that a tile is as narrow as A has rows: 128 rows of B and every multiple of 8 rows
 *                of A up to 104; 192 rows of B and every multiple of 8 from 24 to 104; 64 rows of B and every multiple
 *                of 16 up to 96.
 * A kernel is compiled for its tile. How CTAs share is said at launch: each way is a *variant*. */
#ifndef TILES_H
#define TILES_H

#include <assert.h> /* static_assert in C; C++ has it */

#include "../../common/beyond.h"
#include "../../common/variants.h"

/* How the consumers divide the work. */
typedef enum {
    PINGPONG,    /* the consumers take turns on whole tiles */
    COOPERATIVE, /* they share each tile */
    SPLIT_K,     /* cooperative, A and B swapped; several CTAs may have one tile, each a part of its k */
    SWAPPED,     /* the cooperative kernel, A and B swapped */
} Schedule;

/* The rows of these lists stay as they are. */
/* clang-format off */
/* T(..., width) for widths with one step. */
#define BY_8_TO_96(T, ...)                                                                                  \
    T(__VA_ARGS__, 8) T(__VA_ARGS__, 16) T(__VA_ARGS__, 24) T(__VA_ARGS__, 32) T(__VA_ARGS__, 40)            \
    T(__VA_ARGS__, 48) T(__VA_ARGS__, 56) T(__VA_ARGS__, 64) T(__VA_ARGS__, 72) T(__VA_ARGS__, 80)           \
    T(__VA_ARGS__, 88) T(__VA_ARGS__, 96)
#define BY_16_TO_96(T, ...)                                                                                 \
    T(__VA_ARGS__, 16) T(__VA_ARGS__, 32) T(__VA_ARGS__, 48) T(__VA_ARGS__, 64) T(__VA_ARGS__, 80) T(__VA_ARGS__, 96)
#define BY_8_FROM_48_TO_104(T, ...)                                                                         \
    T(__VA_ARGS__, 48) T(__VA_ARGS__, 56) T(__VA_ARGS__, 64) T(__VA_ARGS__, 72) T(__VA_ARGS__, 80)           \
    T(__VA_ARGS__, 88) T(__VA_ARGS__, 96) T(__VA_ARGS__, 104)
#define BY_32_FROM_64_TO_192(T, ...)                                                                        \
    T(__VA_ARGS__, 64) T(__VA_ARGS__, 96) T(__VA_ARGS__, 128) T(__VA_ARGS__, 160) T(__VA_ARGS__, 192)
#define BY_32_FROM_80_TO_176(T, ...) T(__VA_ARGS__, 80) T(__VA_ARGS__, 112) T(__VA_ARGS__, 144) T(__VA_ARGS__, 176)

/* K(V, kernel, schedule, bm, bn, sharing) for each kernel: its tile, and V(name, kernel, schedule, bm, bn, on_sm, cm,
 * cn) for each of its variants. on_sm: CTAs that fit on an SM. With two, each has half of the shared memory, and
 * the next launch can set up its CTAs while this one runs. cm, cn: CTAs of a cluster along m, which share B by
 * multicast, and along n, which share A. With SPLIT_K cm is the number of parts of k: as many CTAs have one tile, and
 * add up their sums. */
#define EACH_KERNEL(K, V)                                                                                    \
    PINGPONG_TILE(K, V, 128, 128) PINGPONG_TILE(K, V, 128, 144) PINGPONG_TILE(K, V, 128, 160)                \
    PINGPONG_TILE(K, V, 128, 176) PINGPONG_TILE(K, V, 128, 192) PINGPONG_TILE(K, V, 128, 208)                \
    BY_32_FROM_64_TO_192(B_SHARED_TILE, K, V, 128) BY_32_FROM_80_TO_176(COOPERATIVE_TILE, K, V, 128)         \
    COOPERATIVE_TILE(K, V, 128, 208) B_SHARED_TILE(K, V, 128, 224)                                           \
    COOPERATIVE_TILE(K, V, 128, 240) B_SHARED_TILE(K, V, 128, 256)                                           \
    BY_32_FROM_64_TO_192(B_SHARED_TILE, K, V, 192) BY_32_FROM_80_TO_176(COOPERATIVE_TILE, K, V, 192)         \
    A_SHARED_TILE(K, V, 192, 200)                                                                            \
    A_SHARED_TILE(K, V, 256, 136) COOPERATIVE_TILE(K, V, 256, 144) A_SHARED_TILE(K, V, 256, 152)             \
    B_SHARED_TILE(K, V, 256, 160) A_SHARED_TILE(K, V, 256, 168) COOPERATIVE_TILE(K, V, 256, 176)             \
    A_SHARED_TILE(K, V, 256, 184) B_SHARED_TILE(K, V, 256, 192) A_SHARED_TILE(K, V, 256, 200)                \
    COOPERATIVE_TILE(K, V, 256, 208)                                                                         \
    BY_8_TO_96(SMALL_TILE, K, V, 128) SPLIT_TILE(K, V, 128, 104) BY_16_TO_96(SMALL_TILE, K, V, 64)           \
    SMALL_TILE(K, V, 192, 24) SMALL_TILE(K, V, 192, 32) SMALL_TILE(K, V, 192, 40)                            \
    BY_8_FROM_48_TO_104(SPLIT_TILE, K, V, 192)
/* clang-format on */
#define PINGPONG_TILE(K, V, bm, bn) K(V, pingpong_##bm##x##bn, PINGPONG, bm, bn, IN_PAIRS)
#define COOPERATIVE_TILE(K, V, bm, bn) K(V, cooperative_##bm##x##bn, COOPERATIVE, bm, bn, IN_CLUSTERS)
#define B_SHARED_TILE(K, V, bm, bn) K(V, cooperative_##bm##x##bn, COOPERATIVE, bm, bn, IN_COLUMNS)
#define A_SHARED_TILE(K, V, bm, bn) K(V, cooperative_##bm##x##bn, COOPERATIVE, bm, bn, IN_ROWS)
#define SPLIT_TILE(K, V, bm, bn) K(V, split_##bm##x##bn, SPLIT_K, bm, bn, IN_PARTS)
#define SMALL_TILE(K, V, bm, bn) K(V, split_##bm##x##bn, SPLIT_K, bm, bn, IN_PARTS_TWICE)

/* The variants of a kernel. Each CTA copies whole repetitions of the swizzle, 8 rows: so B of 200 columns is not
 * shared, and four CTAs share it where its width is a multiple of 32. */
#define EACH_VARIANT(V) EACH_KERNEL(SHARED, V)
#define SHARED(V, kernel, schedule, bm, bn, sharing) sharing(V, kernel, schedule, bm, bn)
#define IN_PAIRS(V, kernel, ...)             \
    V(#kernel, kernel, __VA_ARGS__, 1, 1, 1) \
    V(#kernel "_cluster_2x1", kernel, __VA_ARGS__, 1, 2, 1)
#define ALONG_A_ROW(V, name, kernel, ...)                \
    V(name, kernel, __VA_ARGS__, 1, 1, 1)                \
    V(name "_cluster_1x2", kernel, __VA_ARGS__, 1, 1, 2) \
    V(name "_cluster_1x4", kernel, __VA_ARGS__, 1, 1, 4)
#define ALONG_TWO_ROWS(V, name, kernel, ...)             \
    V(name "_cluster_2x1", kernel, __VA_ARGS__, 1, 2, 1) \
    V(name "_cluster_2x2", kernel, __VA_ARGS__, 1, 2, 2) \
    V(name "_cluster_2x4", kernel, __VA_ARGS__, 1, 2, 4)
#define ALONG_FOUR_ROWS(V, name, kernel, ...)            \
    V(name "_cluster_4x1", kernel, __VA_ARGS__, 1, 4, 1) \
    V(name "_cluster_4x2", kernel, __VA_ARGS__, 1, 4, 2)
#define IN_ROWS(V, kernel, schedule, bm, bn)             \
    ALONG_A_ROW(V, #kernel, kernel, COOPERATIVE, bm, bn) \
    ALONG_A_ROW(V, "swapped_" #bm "x" #bn, kernel, SWAPPED, bm, bn)
#define IN_CLUSTERS(V, kernel, schedule, bm, bn)            \
    IN_ROWS(V, kernel, schedule, bm, bn)                    \
    ALONG_TWO_ROWS(V, #kernel, kernel, COOPERATIVE, bm, bn) \
    ALONG_TWO_ROWS(V, "swapped_" #bm "x" #bn, kernel, SWAPPED, bm, bn)
#define IN_COLUMNS(V, kernel, schedule, bm, bn)              \
    IN_CLUSTERS(V, kernel, schedule, bm, bn)                 \
    ALONG_FOUR_ROWS(V, #kernel, kernel, COOPERATIVE, bm, bn) \
    ALONG_FOUR_ROWS(V, "swapped_" #bm "x" #bn, kernel, SWAPPED, bm, bn)
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

/* The same lists as columns of the table. */
#define COLUMNS(who, m, n, ctas, cm, cn) \
    .bm = m, .bn = n, .cluster = (cm) * (cn), .along_n = cn, .on_sm = ctas, .schedule = who

static inline int is_swapped(const Variant *v) { return v->schedule == SPLIT_K || v->schedule == SWAPPED; }

/* The problem as this variant computes it. */
static inline Gemm seen_by(const Variant *v, const Gemm *g) {
    Gemm seen = *g;
    if (is_swapped(v)) {
        seen.m = g->n, seen.n = g->m;
        seen.a = g->b, seen.b = g->a;
        seen.lda = g->ldb, seen.ldb = g->lda;
    }
    return seen;
}

/* The CTAs of a cluster that compute one tile, each a part of its k; and the CTAs along m, which share B. */
static inline int parts_of(const Variant *v) { return v->schedule == SPLIT_K ? v->cluster / v->along_n : 1; }
static inline int along_m(const Variant *v) { return v->schedule == SPLIT_K ? 1 : v->cluster / v->along_n; }

/* The number of units of C that clusters compute: a unit is a tile per CTA, or with SPLIT_K per `parts` CTAs. */
static inline int tile_count(const Variant *v, const Gemm *g) {
    Gemm seen = seen_by(v, g);
    return ceil_div(seen.m, v->bm * along_m(v)) * ceil_div(seen.n, v->bn * v->along_n);
}

/* Kernels that need so few registers that two CTAs fit on an SM. */
#define IS_SMALL(schedule, bm, bn) ((schedule) == SPLIT_K && (bn) <= ((bm) == 192 ? 40 : 96))

/* Shared memory of a CTA that has an SM for itself, and of one of two on an SM; and what is in it. */
enum { WHOLE_BYTES = 225 * 1024, HALF_BYTES = 113 * 1024 };
enum { BARRIER_BYTES = 1024, RING_BYTES = 192 * 1024, MAX_STAGES = 10 };

/* Bytes that the copies of a k-tile transfer. */
HOST_DEVICE int stage_bytes_of(int bm, int bn) { return (bm + bn) * 64 * 2; }

HOST_DEVICE int stages_of(int bm, int bn) { return min_int(RING_BYTES / stage_bytes_of(bm, bn), MAX_STAGES); }

/* Where k is split, a quad is 4 sums of each thread, 8 columns of the tile. The CTAs of a cluster share the quads; the
 * last ones may have fewer, or none. */
HOST_DEVICE int share_of(int bn, int parts) { return ceil_div(bn / 8, parts); }

static inline int shared_bytes_of(const Variant *v) { return v->on_sm == 2 ? HALF_BYTES : WHOLE_BYTES; }

/* The sums that a CTA receives are at the end of its shared memory, and may extend into the ring. */
static inline int received_at(const Variant *v) {
    int parts = parts_of(v);
    return shared_bytes_of(v) - (parts - 1) * share_of(v->bn, parts) * v->bm * 8 * (int)sizeof(float);
}

static inline int stages_in(const Variant *v) {
    int bytes = min_int(received_at(v) - BARRIER_BYTES, RING_BYTES);
    return v->schedule == SPLIT_K ? min_int(bytes / stage_bytes_of(v->bm, v->bn), MAX_STAGES) : stages_of(v->bm, v->bn);
}

#endif
