/* tune.c - fits the numbers of 09's cost() to what `make survey ALL=1` measured: writes beyond/09_every_shape/costs.h.
 *
 *     tune [--steps N] FILE.csv...      surveys of seeds below 1000
 *
 * The best numbers are those with which the chosen variants lose least beside the best ones. They are found by trying: some of
 * them move by some percent, and stay where that is better. Same files, same steps: same numbers. */
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
    MAX_SHAPES = 2048,
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
    return clusters[v->cluster];
}

typedef struct {
    int card;
    Gemm g;
    double cublas, tflops[VARIANT_COUNT]; /* 0: not measured */
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
    char line[512], gpu[96], row[96];
    int first = shapes, seed, m, n, k;
    double median;
    const char *name = strstr(path, "_survey_");
    if (in == NULL) {
        fail("cannot be read", path);
    }
    if (name != NULL && sscanf(name, "_survey_%d", &seed) == 1 && seed >= 1000) {
        fail("seeds from 1000 on are for saying how good the choice is, not for fitting", path);
    }
    while (fgets(line, sizeof line, in) != NULL) {
        if (strstr(line, ",TFLOP/s") == NULL ||
            sscanf(line, "%95[^,],%*[^,],%*[^,],survey,%95[^,],%d,%d,%d,%lf,", gpu, row, &m, &n, &k, &median) != 6) {
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
        if (strcmp(row, "cuBLAS") == 0) {
            s->cublas = median;
        } else if (v < VARIANT_COUNT) {
            s->tflops[v] = median;
        }
    }
    fclose(in);
}

/* What a choice by these numbers loses: of a shape, the logarithm of best / chosen. Variants that cost nearly the same count
 * together, so that a small step of a number is a small step here; much lost counts more; and the costs should be like the
 * times a little, also of what is not chosen. */
static double lost(const Costs *costs, const Shape *s) {
    double cost[VARIANT_COUNT], least = INFINITY, best = 0, weights = 0, sum = 0, mean = 0, square = 0;
    int near = 0;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        if (s->tflops[v] > 0) {
            cost[v] =
                log(cost_by(costs, &variants[v], &s->g, cards[s->card].l2, cards[s->card].gb_s, at_once(&variants[v])));
            least = fmin(least, cost[v]);
            best = fmax(best, s->tflops[v]);
        }
    }
    for (int v = 0; v < VARIANT_COUNT; v++) {
        if (s->tflops[v] > 0) {
            double weight = exp((least - cost[v]) / 0.02), loss = log(best / s->tflops[v]);
            weights += weight;
            sum += weight * (loss + 2 * loss * loss);
            if (loss < 0.5) {
                near++;
                mean += loss - cost[v];
                square += (loss - cost[v]) * (loss - cost[v]);
            }
        }
    }
    return sum / weights + 0.15 * sqrt(fmax(0, square / near - mean / near * (mean / near)));
}

/* Long launches count four times: a percent of them is more time, and few of the shapes that a seed draws are long. */
static double all_lost(const Costs *costs) {
    double sum = 0, weights = 0;
    for (int i = 0; i < shapes; i++) {
        const Gemm *g = &shape[i].g;
        double weight = 2.0 * g->m * g->n * g->k > 40e9 ? 4 : 1;
        sum += weight * lost(costs, &shape[i]);
        weights += weight;
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

static void report(const Costs *costs) {
    for (int card = 0; card < CARDS; card++) {
        double to_cublas = 0, to_best = 0, least = INFINITY;
        int count = 0;
        for (int i = 0; i < shapes; i++) {
            const Shape *s = &shape[i];
            int chosen = -1;
            double best = 0, lowest = INFINITY;
            for (int v = 0; v < VARIANT_COUNT; v++) {
                double cost =
                    cost_by(costs, &variants[v], &s->g, cards[card].l2, cards[card].gb_s, at_once(&variants[v]));
                if (s->tflops[v] > 0 && cost < lowest) {
                    lowest = cost, chosen = v;
                }
                best = fmax(best, s->tflops[v]);
            }
            if (s->card == card && chosen >= 0 && s->cublas > 0) {
                count++;
                to_cublas += log(s->tflops[chosen] / s->cublas);
                to_best += log(s->tflops[chosen] / best);
                least = fmin(least, s->tflops[chosen] / s->cublas);
                if (getenv("WORST") != NULL && s->tflops[chosen] < 0.9 * best) {
                    int b = 0;
                    for (int v = 0; v < VARIANT_COUNT; v++) {
                        b = s->tflops[v] == best ? v : b;
                    }
                    printf("%.3f %d x %d x %d: %s, best %s\n", s->tflops[chosen] / best, s->g.m, s->g.n, s->g.k,
                           variants[chosen].name, variants[b].name);
                }
            }
        }
        if (count > 0) {
            printf("%s: %d shapes, %.3f [%.3f] of cuBLAS, %.3f of the best variant\n", cards[card].name, count,
                   exp(to_cublas / count), least, exp(to_best / count));
        }
    }
}

int main(int argc, char **argv) {
    int steps = 20000, files = 1;
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
    Costs fit = costs;
    double least = all_lost(&fit), size[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        size[i] = 0.15;
    }
    for (int step = 0; step < steps; step++) {
        Costs other = fit;
        int moved[3], count = 1 + (int)(uniform() * 3);
        for (int i = 0; i < count; i++) {
            moved[i] = (int)(uniform() * NUMBERS);
            ((double *)&other)[moved[i]] *= exp((uniform() + uniform() + uniform() - 1.5) * 2 * size[moved[i]]);
        }
        double now = all_lost(&other);
        for (int i = 0; i < count; i++) {
            size[moved[i]] = now < least ? size[moved[i]] * 1.3 : fmax(size[moved[i]] * 0.97, 0.01);
        }
        if (now < least) {
            fit = other, least = now;
        }
    }
    scale(&fit);
    report(&fit);
    FILE *out = fopen("beyond/09_every_shape/costs.h", "w");
    if (out == NULL) {
        fail("cannot be written", "beyond/09_every_shape/costs.h");
    }
    fprintf(out, "/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. "
                 "choice.h takes it. */\n"
                 "static const Costs costs = {\n");
    for (int i = 0; i < NUMBERS; i++) {
        if (i < 3) {
            fprintf(out, "%s%.3g%s", i == 0 ? "    .math = {" : ", ", ((double *)&fit)[i], i == 2 ? "},\n" : "");
        } else {
            fprintf(out, "    .%s = %.4g,\n", names[i], ((double *)&fit)[i]);
        }
    }
    fprintf(out, "};\n");
    return fclose(out) != 0;
}
