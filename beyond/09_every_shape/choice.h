/* choice.h - which variant of tiles.h 09 takes for a problem, and how it is launched. Host only; 09_every_shape.cu
 * includes it.
 *
 * cost() estimates how long a launch takes; the variant with the least is "by the formula". A plan (plan.h) tries the
 * 24 that cost least and measures the fastest of them. C is correct with any of them. */
#ifndef CHOICE_H
#define CHOICE_H

#include "../../common/device/card.h"
#include "tiles.h"

/* What the formula knows of the machine. Cycles are those of an SM. Fitted once to launches on an H200 and an H100;
 * another card with other numbers changes the order of the variants, not the result. */
typedef struct {
    double all_at_once;   /* share by which products take longer where every SM multiplies: power */
    double out_of_l2;     /* bytes per cycle that L2 delivers to all SMs together */
    double saved;         /* share of its reads that multicast saves where rows are whole lines of 128 bytes */
    double off_sector;    /* times as long L2 takes where rows begin off a sector of 32 bytes */
    double off_line;      /* times as long L2 takes where rows begin on a sector, but off a line of 128 bytes */
    double k_tile;        /* cycles of a k-tile on top of its products and bytes: barriers */
    double latency;       /* cycles from a load to its k-tile, fitted; each stage has a load in flight */
    double start;         /* cycles of a launch whose CTAs found no place while the previous launch ran */
    double cluster;       /* cycles that starting and ending a cluster adds */
    double hidden_store;  /* cycles per element of C that ping-pong stores while the other consumer multiplies */
    double exposed_store; /* cycles per element of C that is stored while nobody multiplies */
    double sum_sent;      /* cycles per partial sum that goes to another CTA */
} Costs;
static const Costs costs = {.all_at_once = 0.0394,
                            .out_of_l2 = 11300,
                            .saved = 0.243,
                            .off_sector = 2.5,
                            .off_line = 1.91,
                            .k_tile = 119,
                            .latency = 1640,
                            .start = 3550,
                            .cluster = 325,
                            .hidden_store = 0.446,
                            .exposed_store = 0.267,
                            .sum_sent = 0.272};

/* The number of clusters that run at once. A cluster stays in one GPC, so with three or more CTAs per cluster fewer run
 * than the SMs have space for. */
static inline int room(const Variant *v, const Gemm *g) {
    int at_once = v->cluster < 3 ? 0 : clusters_at_once(v->kernel, v->cluster, 384, 200 << 10);
    return v->on_sm * (at_once > 0 ? min_int(at_once, g->sm_count / v->cluster) : g->sm_count / v->cluster);
}

/* Tile rows visited together, in clusters: as many as make the tiles of a wave about a square of C. */
static inline int tile_group(const Variant *v, const Gemm *g) {
    int square = (int)lrint(sqrt((double)g->sm_count * v->bn / v->bm));
    int wanted = beyond_of(g).tuning.tile_group, group = wanted > 0 ? wanted : square > 0 ? square : 1;
    return ceil_div(min_int(group, ceil_div(seen_by(v, g).m, v->bm)), along_m(v));
}

/* Whether this launch may overlap the previous one. That hides the launch latency, which counts where a launch is
 * short. But CTAs then come onto SMs in any order, neighbours no longer share an L2 port, and longer launches lose more
 * by that. As measured, ping-pong loses from smaller launches on than cooperative. */
static inline int should_overlap(const Variant *v, const Gemm *g) {
    return 2.0 * g->m * g->n * g->k < (v->schedule == COOPERATIVE || v->schedule == SWAPPED ? 600e9 : 34e9);
}

/* About the longer of two times that overlap. */
static inline double longer(double a, double b) {
    a *= a, b *= b;
    return sqrt(sqrt(a * a + b * b));
}

/* Cycles of a k-tile while `ctas` CTAs each have one: the longer of its products and its way from L2; but no less than
 * a load takes, divided by the loads in flight. */
static inline double k_tile_cycles(const Costs *c, const Variant *v, const Gemm *seen, double ctas) {
    int pitch = seen->lda | seen->ldb;
    double busy = fmin(ctas / seen->sm_count, 1), on_sm = fmax(ctas / seen->sm_count, 1);
    double products = on_sm * v->bm * v->bn * 64.0 / 2048 * (1 + c->all_at_once * busy);
    /* If rows are whole lines, L2 mostly serves SMs that read the same rows at about the same time by one read, so
     * multicast saves less. */
    double rows = v->bm + v->bn, own = (double)v->bm / v->along_n + (double)v->bn / along_m(v);
    double from_l2 = ctas * (pitch % 64 == 0 ? rows + c->saved * (own - rows) : own) * 128 / c->out_of_l2;
    from_l2 *= pitch % 64 == 0 ? 1 : pitch % 16 == 0 ? c->off_line : c->off_sector;
    return longer(longer(products, from_l2) + c->k_tile, c->latency / stages_in(v) * on_sm);
}

/* Estimated cycles of a launch of which `room` clusters run at a time: in waves, of which the last one may have
 * fewer. */
static inline double cost_by(const Costs *c, const Variant *v, const Gemm *g, int room) {
    Gemm seen = seen_by(v, g);
    int parts = parts_of(v), clusters = tile_count(v, g);
    int waves = ceil_div(clusters, room), last = clusters - (waves - 1) * room;
    double k_tiles = ceil_div(ceil_div(g->k, 64), parts), elements = (double)v->bm * v->bn * v->on_sm;
    double cycles = k_tiles * k_tile_cycles(c, v, &seen, (double)last * v->cluster);
    if (waves > 1) {
        cycles += (waves - 1) * k_tiles * k_tile_cycles(c, v, &seen, (double)room * v->cluster);
    }
    cycles += v->cluster > 1 ? c->cluster : 0;
    cycles += should_overlap(v, g) && 2 * clusters <= room ? 0 : c->start;
    if (v->schedule == PINGPONG) {
        /* One consumer stores while the other multiplies; if k is short, both only store. */
        cycles = fmax(cycles, (cycles + waves * elements * c->hidden_store) / 2) + elements * c->exposed_store;
    } else {
        cycles += waves * elements * (c->exposed_store + c->sum_sent * (parts - 1)) / parts;
    }
    return cycles;
}

static inline double cost(const Variant *v, const Gemm *g) { return cost_by(&costs, v, g, room(v, g)); }

/* CTAs of a launch. Those that split k are not persistent: sums are received once. The others are the fewest that need
 * no more waves, rounded up to a multiple of the tile group, so that the tiles of a wave are a rectangle; at most one
 * for each SM. */
static inline int cta_count(const Variant *v, const Gemm *g) {
    int clusters = tile_count(v, g);
    if (v->schedule != SPLIT_K) {
        int at_once = room(v, g), group = tile_group(v, g);
        int fewest = ceil_div(clusters, ceil_div(clusters, at_once));
        clusters = min_int(min_int(ceil_div(fewest, group) * group, at_once), clusters);
    }
    return clusters * v->cluster;
}

/* Whether the producers synchronise before each tile: where A and B are several times the L2, drifting apart costs
 * more. */
static inline int should_synchronise(const Gemm *g) {
    Choice wanted = beyond_of(g).tuning.producer_barrier;
    return wanted != CHOICE_DEFAULT ? wanted == CHOICE_YES : ((double)g->m + g->n) * g->k * sizeof(bf16) > 256e6;
}

#endif
