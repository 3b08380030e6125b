/* tune.c - fits the numbers of 09's cost() to what `make survey ALL=1` measured: writes beyond/09_every_shape/costs.h.
 *
 *     tune [--steps N] FILE.csv...      surveys of seeds below 1000
 *
 * The best numbers are those with which the chosen variants lose least beside the best ones. Those of the formula are found by
 * trying: some of them move by some percent, and stay where that is better. Then come the factors, two at a time: the pairs of
 * traits with the steepest slope of what is lost, and all of them go downhill again. Same files, same steps: same numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../beyond/09_every_shape/choice.h"

static const Variant variants[] = {
#define ROW(text, kernel, ...) {.name = text, COLUMNS(__VA_ARGS__)},
    EACH_VARIANT(ROW)
#undef ROW
};
enum {
    VARIANT_COUNT = sizeof variants / sizeof variants[0],
    MAX_SHAPES = 16384,
    FACTORS = 600,
    DOWNHILL = 40, /* steps of all factors after new ones */
    LAST_DOWNHILL = 600,
    STEPS = 5000,
    NUMBERS = sizeof(Costs) / sizeof(double)
};

static const char *const names[NUMBERS] = {
    "",         "",       "",        "all_at_once",  "shared",        "out_of_l2", "off_sector",
    "off_line", "k_tile", "cluster", "hidden_store", "exposed_store", "sum_sent",  "dram"};

/* The cards that have been measured. */
static const struct {
    const char *name;
    double l2, gb_s;
} cards[] = {{"NVIDIA H100 80GB HBM3", 50 << 20, 3352}, {"NVIDIA H200", 60 << 20, 4814}};
enum { CARDS = sizeof cards / sizeof cards[0] };

/* Clusters of so many CTAs that both run at a time. */
static int at_once(const Variant *v) {
    static const int clusters[] = {0, 132, 66, 39, 30, 22, 17, 15, 15};
    return clusters[v->cluster] * v->on_sm;
}

/* A variant at a shape. Costs and what they are wrong by are logarithms. */
typedef struct {
    const Variant *v;
    Course course;
    double slower;  /* log of the best variant's speed over this one's */
    double formula; /* cost_by() */
    double wrong;   /* the factors */
    double slope;   /* of what is lost at this shape, by what the factors say */
    double trait[TRAITS];
    float product[FACTORS]; /* of the two traits of each factor */
} Run;

typedef struct {
    int card;
    Gemm g;
    double cublas, tflops[VARIANT_COUNT]; /* 0: not measured */
    double weight;                        /* few of the shapes that a seed draws are long; what was short scattered */
    int runs, alone, is_old, is_hot; /* timed in samples of 400 launches; some of them on a chip that had no rest */
    Run *run;                        /* [runs]; first those whose CTAs have an SM alone */
} Shape;
static Shape shape[MAX_SHAPES];
static int shapes;

static void fail(const char *what, const char *path) {
    fprintf(stderr, "tune: %s: %s\n", path, what);
    exit(2);
}

static Shape *shape_of(int card, int first, int m, int n, int k) {
    for (int i = first; i < shapes; i++) {
        if (shape[i].card == card && shape[i].g.m == m && shape[i].g.n == n && shape[i].g.k == k) {
            return &shape[i];
        }
    }
    if (shapes == MAX_SHAPES) {
        fail("too many shapes", "these files");
    }
    Shape *s = &shape[shapes++];
    *s = (Shape){.card = card, .g = {.m = m, .n = n, .k = k, .sm_count = 132}};
    s->g.lda = s->g.ldb = (k + 7) / 8 * 8;
    return s;
}

static void read_csv(const char *path) {
    FILE *in = fopen(path, "r");
    char line[512], gpu[96], date[16], row[96];
    int first = shapes, seed = 0, m, n, k;
    double median;
    const char *name = strstr(path, "_survey_");
    if (in == NULL) {
        fail("cannot be read", path);
    }
    if (name != NULL && sscanf(name, "_survey_%d", &seed) == 1 && seed >= 1000) {
        fail("seeds from 1000 on are for saying how good the choice is, not for fitting", path);
    }
    while (fgets(line, sizeof line, in) != NULL) {
        if (strstr(line, ",TFLOP/s") == NULL || sscanf(line, "%95[^,],%15[^,],%*[^,],survey,%95[^,],%d,%d,%d,%lf,", gpu,
                                                       date, row, &m, &n, &k, &median) != 7) {
            continue;
        }
        int card = 0, v = 0;
        while (card < CARDS && strcmp(cards[card].name, gpu) != 0) {
            card++;
        }
        while (v < VARIANT_COUNT && strcmp(variants[v].name, row) != 0) {
            v++;
        }
        if (card == CARDS) {
            fail("of a card that tune.c does not know", path);
        }
        Shape *s = shape_of(card, first, m, n, k);
        s->is_old = strcmp(date, "2026-11-27") <= 0, s->is_hot = seed < 67;
        if (strcmp(row, "cuBLAS") == 0) {
            s->cublas = median;
        } else if (v < VARIANT_COUNT) {
            s->tflops[v] = median;
        }
    }
    fclose(in);
}

static void list_runs(void) {
    int all = shapes;
    shapes = 0;
    for (int i = 0; i < all; i++) {
        double best = 0;
        int measured = 0;
        Shape *s = &shape[shapes];
        *s = shape[i];
        for (int v = 0; v < VARIANT_COUNT; v++) {
            best = fmax(best, s->tflops[v]), measured += s->tflops[v] > 0;
        }
        s->run = calloc((size_t)measured + 1, sizeof(Run));
        for (int n = 0; n < 2 * VARIANT_COUNT; n++) {
            const Variant *v = &variants[n % VARIANT_COUNT];
            if (s->tflops[v - variants] > 0 && v->on_sm == 1 + n / VARIANT_COUNT) {
                s->run[s->runs++] = (Run){.v = v, .course = course_of(v, &s->g, at_once(v))};
                s->alone += v->on_sm == 1;
            }
        }
        double flop = 2.0 * s->g.m * s->g.n * s->g.k, us = flop / best * 1e-6;
        s->weight = us > 80 ? (s->is_hot ? 0.5 : 6) : !s->is_old ? 1 : us < 5 ? 0.125 : 0.5;
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            run->slower = log(best / s->tflops[run->v - variants]);
        }
        shapes += s->runs > 0;
    }
}

/* What a choice among the first runs of a shape loses by these costs. Variants that cost nearly the same count together, so that
 * a small step of a number is a small step here; much lost counts more; and the costs should be like the times a little, the more
 * so the faster a variant is. Gives each run its slope. */
static double lost(const Shape *s, int runs) {
    const double near = 0.03, alike = 0.5;
    double least = INFINITY, weights = 0, sum = 0, trusts = 0, mean = 0, apart = 0;
    for (int i = 0; i < runs; i++) {
        least = fmin(least, s->run[i].formula + s->run[i].wrong);
    }
    for (int i = 0; i < runs; i++) {
        const Run *run = &s->run[i];
        double cost = run->formula + run->wrong, weight = exp((least - cost) / near), trust = exp(-4 * run->slower);
        weights += weight, sum += weight * (run->slower + 2 * run->slower * run->slower);
        trusts += trust, mean += trust * (run->slower - cost);
    }
    sum /= weights, mean /= trusts;
    for (int i = 0; i < runs; i++) {
        Run *run = &s->run[i];
        double cost = run->formula + run->wrong, weight = exp((least - cost) / near), trust = exp(-4 * run->slower);
        double off = run->slower - cost - mean;
        apart += trust * off * off / trusts;
        run->slope = weight / weights * (sum - run->slower - 2 * run->slower * run->slower) / near -
                     2 * alike * trust * off / trusts;
        run->slope *= 1 - pow(run->wrong / MOST_WRONG, 2); /* as bounded() does */
    }
    return sum + alike * apart;
}

static double all_lost(int alone) {
    double sum = 0, weights = 0;
    for (Shape *s = shape; s < shape + shapes; s++) {
        int runs = alone ? s->alone : s->runs;
        if (runs > 0) {
            sum += s->weight * lost(s, runs), weights += s->weight;
        }
    }
    return sum / weights;
}

/* ---- the formula ---- */

static double lost_by(const Costs *costs) {
    for (Shape *s = shape; s < shape + shapes; s++) {
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            run->formula = log(cost_by(costs, run->v, &run->course, cards[s->card].l2, cards[s->card].gb_s));
        }
    }
    return all_lost(1); /* it knows nothing of what two CTAs on an SM gain */
}

/* The same numbers with another clock: ping-pong's products take what the tensor cores need. Only the order of costs matters. */
static void scale(Costs *c) {
    double by = c->math[PINGPONG];
    for (int i = 0; i < 3; i++) {
        c->math[i] /= by;
    }
    c->k_tile /= by, c->cluster /= by, c->hidden_store /= by, c->exposed_store /= by, c->sum_sent /= by;
    c->shared *= by, c->out_of_l2 *= by, c->dram *= by;
}

static double uniform(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void fit_formula(Costs *fit, int steps) {
    double least = lost_by(fit), size[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        size[i] = 0.15;
    }
    for (int step = 0; step < steps; step++) {
        Costs other = *fit;
        int moved[3], count = 1 + (int)(uniform() * 3);
        for (int i = 0; i < count; i++) {
            moved[i] = (int)(uniform() * NUMBERS);
            ((double *)&other)[moved[i]] *= exp((uniform() + uniform() + uniform() - 1.5) * 2 * size[moved[i]]);
        }
        double now = lost_by(&other);
        for (int i = 0; i < count; i++) {
            size[moved[i]] = now < least ? size[moved[i]] * 1.3 : fmax(size[moved[i]] * 0.97, 0.01);
        }
        if (now < least) {
            *fit = other, least = now;
        }
    }
    scale(fit);
    lost_by(fit);
}

/* ---- the factors ---- */

static Factor factor[FACTORS];

/* How much a product of two traits differs among the variants of a shape. */
static double spread_of(int a, int b) {
    double sum = 0, weights = 0;
    for (Shape *s = shape; s < shape + shapes; s++) {
        double trusts = 0, mean = 0, square = 0;
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            double trust = exp(-4 * run->slower), product = run->trait[a] * run->trait[b];
            trusts += trust, mean += trust * product, square += trust * product * product;
        }
        sum += square - mean * mean / trusts, weights += trusts;
    }
    return sqrt(fmax(0, sum / weights));
}

static double dot(int count, const double a[], const double b[]) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add(int count, double sum[], double by, const double what[]) {
    for (int i = 0; i < count; i++) {
        sum[i] += by * what[i];
    }
}

/* How what is lost changes with the factor of each pair. */
static void find_slopes(double slopes[TRAITS][TRAITS]) {
    memset(slopes, 0, sizeof(double[TRAITS][TRAITS]));
    for (Shape *s = shape; s < shape + shapes; s++) {
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            for (int a = 0; a < TRAITS; a++) {
                add(TRAITS - a, &slopes[a][a], s->weight * run->slope * run->trait[a], &run->trait[a]);
            }
        }
    }
}

static void weigh(const Shape *s, int count) {
    for (Run *run = s->run; run < s->run + s->runs; run++) {
        run->wrong = 0;
        for (int i = 0; i < count; i++) {
            run->wrong += factor[i].log * run->product[i];
        }
        run->wrong = bounded(run->wrong);
    }
}

/* What is lost with these factors, in units of their spread, and its slopes. Large ones cost a little. */
static double lost_with(int count, const double spread[], const double x[], double slopes[]) {
    double sum = 0, weights = 0, large = 0;
    for (int i = 0; i < count; i++) {
        factor[i].log = x[i] / spread[i], slopes[i] = 0;
    }
    for (Shape *s = shape; s < shape + shapes; s++) {
        weigh(s, count);
        sum += s->weight * lost(s, s->runs), weights += s->weight;
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            double slope = s->weight * run->slope;
            for (int i = 0; i < count; i++) {
                slopes[i] += slope * run->product[i];
            }
        }
    }
    for (int i = 0; i < count; i++) {
        slopes[i] = slopes[i] / weights + 2e-5 * x[i], large += 1e-5 * x[i] * x[i];
    }
    return sum / weights + large;
}

/* All factors go downhill at once, by L-BFGS (Nocedal and Wright, Numerical Optimization, 7.2): the last steps, and how the slopes
 * changed with them, say how the slope bends. */
static void go_downhill(int count, int steps, const double spread[]) {
    enum { PAST = 8 };
    static double moved[PAST][FACTORS], bent[PAST][FACTORS];
    double x[FACTORS], slopes[FACTORS], way[FACTORS], next[FACTORS], next_slopes[FACTORS], share[PAST], step = 1;
    for (int i = 0; i < count; i++) {
        x[i] = factor[i].log * spread[i];
    }
    double now = lost_with(count, spread, x, slopes);
    for (int n = 0, past = 0; n < steps && step > 1e-6; n++) {
        double size = 0.01 / sqrt(dot(count, slopes, slopes));
        memcpy(way, slopes, sizeof way);
        for (int p = past - 1; p >= 0 && p >= past - PAST; p--) {
            const double *dx = moved[p % PAST], *dy = bent[p % PAST];
            size = p == past - 1 ? dot(count, dx, dy) / dot(count, dy, dy) : size;
            share[p % PAST] = dot(count, dx, way) / dot(count, dx, dy);
            add(count, way, -share[p % PAST], dy);
        }
        add(count, way, size - 1, way);
        for (int p = past > PAST ? past - PAST : 0; p < past; p++) {
            const double *dx = moved[p % PAST], *dy = bent[p % PAST];
            add(count, way, share[p % PAST] - dot(count, dy, way) / dot(count, dx, dy), dx);
        }
        double then = INFINITY, down = dot(count, way, slopes);
        for (step = 2; step > 1e-6 && !(then <= now - 1e-4 * step * down);) {
            step /= 2;
            memcpy(next, x, sizeof next);
            add(count, next, -step, way);
            then = lost_with(count, spread, next, next_slopes);
        }
        double *dx = moved[past % PAST], *dy = bent[past % PAST];
        memcpy(dx, next, sizeof next), memcpy(dy, next_slopes, sizeof next);
        add(count, dx, -1, x), add(count, dy, -1, slopes);
        past += dot(count, dx, dy) > 0;
        memcpy(x, next, sizeof x), memcpy(slopes, next_slopes, sizeof slopes), now = then;
    }
}

/* Takes the n-th factor. */
static void take(int n, Factor taken) {
    factor[n] = taken;
    for (Shape *s = shape; s < shape + shapes; s++) {
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            run->product[n] = (float)(run->trait[taken.a] * run->trait[taken.b]);
        }
    }
}

static void fit_factors(const Costs *costs, int steps) {
    double all[TRAITS][TRAITS], slopes[TRAITS][TRAITS], spread[FACTORS];
    int used[TRAITS][TRAITS] = {{0}};
    for (Shape *s = shape; s < shape + shapes; s++) {
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            find_traits(costs, run->v, &s->g, &run->course, cards[s->card].l2, cards[s->card].gb_s, run->trait);
        }
    }
    if (steps == 0) { /* as they are */
        int count = sizeof factors / sizeof factors[0];
        for (int i = 0; i < count; i++) {
            take(i, factors[i]);
        }
        for (Shape *s = shape; s < shape + shapes; s++) {
            weigh(s, count);
        }
        return;
    }
    for (int a = 0; a < TRAITS; a++) {
        for (int b = a; b < TRAITS; b++) {
            all[a][b] = spread_of(a, b);
        }
    }
    all_lost(0); /* gives each run its first slope */
    for (int n = 0; n < FACTORS;) {
        Factor last = {TRAITS, TRAITS, 0};
        find_slopes(slopes);
        for (int both = 0; both < 2; both++) { /* the second one has other traits */
            double steepest = 0;
            Factor best = {FEW_CTAS, FEW_CTAS, 0};
            for (int a = 0; a < TRAITS; a++) {
                for (int b = a; b < TRAITS; b++) {
                    int is_out = used[a][b] || all[a][b] < 1e-3 || a == (int)last.a || a == (int)last.b ||
                                 b == (int)last.a || b == (int)last.b;
                    double slope = is_out ? 0 : fabs(slopes[a][b]) / all[a][b];
                    if (slope > steepest) {
                        steepest = slope, best = (Factor){(Trait)a, (Trait)b, 0};
                    }
                }
            }
            take(n, best);
            used[best.a][best.b] = 1, spread[n++] = all[best.a][best.b], last = best;
        }
        go_downhill(n, (n < FACTORS ? DOWNHILL : LAST_DOWNHILL) * steps / STEPS, spread);
    }
}

static void report(void) {
    for (int card = 0; card < CARDS; card++) {
        double to_cublas = 0, to_best = 0, least = INFINITY;
        int count = 0;
        for (Shape *s = shape; s < shape + shapes; s++) {
            const Run *chosen = s->run;
            for (Run *run = s->run; run < s->run + s->runs; run++) {
                chosen = run->formula + run->wrong < chosen->formula + chosen->wrong ? run : chosen;
            }
            if (s->card == card && s->runs > 0 && s->cublas > 0) {
                double ratio = s->tflops[chosen->v - variants] / s->cublas;
                count++, to_cublas += log(ratio), to_best += chosen->slower, least = fmin(least, ratio);
            }
        }
        if (count > 0) {
            printf("%s: %d shapes, %.3f [%.3f] of cuBLAS, %.3f of the best variant\n", cards[card].name, count,
                   exp(to_cublas / count), least, exp(-to_best / count));
        }
    }
}

static void write_costs(FILE *out, const Costs *fit) {
#define TEXT(trait) #trait,
    static const char *const traits[] = {EACH_TRAIT(TEXT)};
#undef TEXT
    fprintf(out, "/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. "
                 "choice.h takes it. */\n"
                 "static const Costs costs = {\n");
    for (int i = 0; i < NUMBERS; i++) {
        if (i < 3) {
            fprintf(out, "%s%.3g%s", i == 0 ? "    .math = {" : ", ", ((double *)fit)[i], i == 2 ? "},\n" : "");
        } else {
            fprintf(out, "    .%s = %.4g,\n", names[i], ((double *)fit)[i]);
        }
    }
    fprintf(out, "};\n\n/* clang-format off */\nstatic const Factor factors[] = {\n");
    for (int i = 0; i < FACTORS; i++) {
        fprintf(out, "%s{%s, %s, %.4f},%s", i % 20 == 0 ? "    " : " ", traits[factor[i].a], traits[factor[i].b],
                factor[i].log, i % 20 == 19 || i == FACTORS - 1 ? "\n" : "");
    }
    fprintf(out, "};\n");
}

int main(int argc, char **argv) {
    int steps = STEPS, files = 1;
    if (argc > 2 && strcmp(argv[1], "--steps") == 0) {
        steps = atoi(argv[2]);
        files = 3;
    }
    for (int i = files; i < argc; i++) {
        read_csv(argv[i]);
    }
    if (shapes == 0) {
        fail("no surveys; make survey SEED=1 COUNT=72 ALL=1 measures one", "tests/bench/results");
    }
    list_runs();
    Costs fit = costs;
    fit_formula(&fit, steps);
    report();
    fit_factors(&fit, steps);
    report();
    FILE *out = fopen("beyond/09_every_shape/costs.h", "w");
    if (out == NULL) {
        fail("cannot be written", "beyond/09_every_shape/costs.h");
    }
    write_costs(out, &fit);
    return fclose(out) != 0;
}
