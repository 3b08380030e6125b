/* tune.c - fits the numbers of 09's cost() to what `make survey ALL=1` measured: writes beyond/09_every_shape/costs.h.
 *
 *     tune [--steps N] FILE.csv...      surveys of seeds below 1000
 *
 * The best numbers are those with which the chosen variants lose least beside the best ones. Those of the formula are found by
 * trying: some of them move by some percent, and stay where that is better. Then the network learns what the formula is wrong by,
 * by gradient descent. Same files, same steps: same numbers. */
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
    MAX_SHAPES = 32768,
    STEPS = 5000,
    EPOCHS = 100, /* each shape teaches the network so many times */
    BATCH = 256,  /* shapes that a step of it is for */
    WEIGHTS = sizeof(Network) / sizeof(float),
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
    double wrong;   /* what the network says */
    double slope;   /* of what is lost at this shape, by what the network says */
    float trait[TRAITS], unit[UNITS];
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

/* ---- the formula ---- */

/* It knows nothing of what two CTAs on an SM gain. */
static double lost_by(const Costs *costs) {
    double sum = 0, weights = 0;
    for (Shape *s = shape; s < shape + shapes; s++) {
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            run->formula = log(cost_by(costs, run->v, &run->course, cards[s->card].l2, cards[s->card].gb_s));
        }
        if (s->alone > 0) {
            sum += s->weight * lost(s, s->alone), weights += s->weight;
        }
    }
    return sum / weights;
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

/* ---- the network ---- */

static void forward(const Network *network, const Shape *s) {
    for (Run *run = s->run; run < s->run + s->runs; run++) {
        run->wrong = wrong_by(network, run->trait, run->unit);
    }
}

/* Traits as far from their mean as they usually are learn best. */
static void standardise(float mean[TRAITS], float spread[TRAITS]) {
    for (int i = 0; i < TRAITS; i++) {
        double sum = 0, square = 0, count = 0;
        for (Shape *s = shape; s < shape + shapes; s++) {
            for (Run *run = s->run; run < s->run + s->runs; run++) {
                sum += run->trait[i], square += run->trait[i] * run->trait[i], count += 1;
            }
        }
        double apart = square / count - sum / count * sum / count;
        mean[i] = (float)(sum / count), spread[i] = apart > 1e-6 ? (float)sqrt(apart) : 1;
        for (Shape *s = shape; s < shape + shapes; s++) {
            for (Run *run = s->run; run < s->run + s->runs; run++) {
                run->trait[i] = (run->trait[i] - mean[i]) / spread[i];
            }
        }
    }
}

/* Adds a shape's slope of what is lost by each number of the network. */
static void add_slopes(const Network *network, const Shape *s, Network *slopes) {
    forward(network, s);
    lost(s, s->runs);
    for (Run *run = s->run; run < s->run + s->runs; run++) {
        float slope = (float)(s->weight * run->slope), by[UNITS];
        for (int u = 0; u < UNITS; u++) {
            by[u] = run->unit[u] > 0 ? slope * network->out[u] : 0;
            slopes->out[u] += slope * run->unit[u], slopes->bias[u] += by[u];
        }
        for (int i = 0; i < TRAITS; i++) {
            for (int u = 0; u < UNITS; u++) {
                slopes->weights[i][u] += by[u] * run->trait[i];
            }
        }
    }
}

/* By Adam (Kingma and Ba, 2015), in batches of shapes in another order each time, with ever smaller steps. */
static void learn(Network *network, int epochs) {
    static Network slopes, mean, square;
    static int order[MAX_SHAPES];
    float *x = (float *)network, *dx = (float *)&slopes, *m = (float *)&mean, *v = (float *)&square;
    int step = 0, batch = shapes < BATCH ? shapes : BATCH, steps = shapes / batch * epochs;
    memset(network, 0, sizeof *network);
    for (int i = 0; i < TRAITS * UNITS; i++) {
        double even = uniform() + uniform() + uniform() + uniform() - 2; /* its variance is a third */
        x[i] = (float)(even * sqrt(3.0 / TRAITS));
    }
    for (int epoch = 0; epoch < epochs; epoch++) {
        for (int i = 0; i < shapes; i++) {
            int other = (int)(uniform() * (i + 1));
            order[i] = order[other], order[other] = i;
        }
        for (int first = 0; first + batch <= shapes; first += batch) {
            double weights = 0;
            memset(&slopes, 0, sizeof slopes);
            for (int i = first; i < first + batch; i++) {
                add_slopes(network, &shape[order[i]], &slopes);
                weights += shape[order[i]].weight;
            }
            double rate = 0.003 * (1 + cos(3.14159265 * step++ / steps));
            for (int i = 0; i < (int)WEIGHTS; i++) {
                dx[i] /= (float)weights;
                m[i] = 0.9f * m[i] + 0.1f * dx[i], v[i] = 0.999f * v[i] + 0.001f * dx[i] * dx[i];
                double way = m[i] / (1 - pow(0.9, step)) / (sqrt(v[i] / (1 - pow(0.999, step))) + 1e-9);
                x[i] -= (float)(rate * (way + 1e-4 * x[i]));
            }
        }
    }
}

static void fit_network(const Costs *costs, Network *network, int epochs) {
    float mean[TRAITS], spread[TRAITS];
    for (Shape *s = shape; s < shape + shapes; s++) {
        for (Run *run = s->run; run < s->run + s->runs; run++) {
            find_traits(costs, run->v, &s->g, &run->course, cards[s->card].l2, cards[s->card].gb_s, run->trait);
        }
    }
    if (epochs > 0) {
        standardise(mean, spread);
        learn(network, epochs);
    }
    for (Shape *s = shape; s < shape + shapes; s++) {
        forward(network, s);
    }
    for (int i = 0; i < TRAITS && epochs > 0; i++) { /* of the traits as they are */
        for (int u = 0; u < UNITS; u++) {
            network->weights[i][u] /= spread[i];
            network->bias[u] -= mean[i] * network->weights[i][u];
        }
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

static void write_row(FILE *out, const float row[UNITS], const char *name) {
    for (int u = 0; u < UNITS; u++) {
        fprintf(out, "%s%.4g%s", u == 0 ? "{" : ", ", row[u], u == UNITS - 1 ? "}, " : "");
    }
    fprintf(out, "/* %s */\n", name);
}

static void write_costs(FILE *out, const Costs *fit, const Network *network) {
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
    fprintf(out, "};\n\n/* clang-format off */\nstatic const Network network = {{\n");
    for (int i = 0; i < TRAITS; i++) {
        write_row(out, network->weights[i], traits[i]);
    }
    fprintf(out, "},\n");
    write_row(out, network->bias, "bias");
    write_row(out, network->out, "out");
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
    Network fitted = network;
    fit_network(&fit, &fitted, EPOCHS * steps / STEPS);
    report();
    FILE *out = fopen("beyond/09_every_shape/costs.h", "w");
    if (out == NULL) {
        fail("cannot be written", "beyond/09_every_shape/costs.h");
    }
    write_costs(out, &fit, &fitted);
    return fclose(out) != 0;
}
