/* tune.c - fits 09's choice to cards: beyond/09_every_shape/cards.h from tests/bench/results/<card>_<date>_tune.csv, the newest of
 * each card. `make tune` calls it after the bench has run the plan tune.
 *
 *     tune [--memory GB_S CSV]      with --memory it first appends the card's memory speed to that file
 *
 * A speed is fitted where L2 has no room for what tiles share: so that cost() has the ratio of the measured times, as the
 * median over the shapes. Then each speed moves by up to 0.02 as long as the choice gets better. Of the tile groups those count
 * with which the choice is best. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../beyond/09_every_shape/choice.h"

static const Variant variants[] = {
#define ROW(kernel, ...) {.name = #kernel, COLUMNS(__VA_ARGS__)},
    EACH_VARIANT(ROW)
#undef ROW
};
enum { VARIANT_COUNT = sizeof variants / sizeof variants[0] };

enum { MAX_SHAPES = 16, MAX_ROWS = 1024, GROUPS = 33, SMS = 132 };
static const char target[] = "beyond/09_every_shape/cards.h";

typedef struct {
    char gpu[96], date[16], path[512];
    int gb_s, shapes;
    Gemm shape[MAX_SHAPES];
    double cublas[MAX_SHAPES];
    double tflops[VARIANT_COUNT][GROUPS][2][MAX_SHAPES]; /* 0: not measured; the third index: producers meet */
} Run;

/* What cards.h gets. */
typedef struct {
    int group[VARIANT_COUNT];
    double speed[VARIANT_COUNT];
    double mean; /* of the chosen variants, the logarithm of the ratio to cuBLAS */
    double all;  /* of all variants: decides between fits with the same choice */
} Fit;

static void fail(const char *what, const char *path) {
    fprintf(stderr, "tune: %s: %s\n", path, what);
    exit(2);
}

static int variant_of(const char *name) {
    for (int i = 0; i < VARIANT_COUNT; i++) {
        if (strcmp(variants[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static int shape_of(Run *run, int m, int n, int k) {
    int i = 0;
    while (i < run->shapes && (run->shape[i].m != m || run->shape[i].n != n || run->shape[i].k != k)) {
        i++;
    }
    if (i == run->shapes && i < MAX_SHAPES) {
        run->shape[run->shapes++] = (Gemm){.m = m, .n = n, .k = k, .sm_count = SMS};
    }
    return i;
}

/* gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit */
static void read_run(const char *path, Run *run) {
    char line[512], label[128], name[96], meet[8], unit[16];
    int m, n, k, group;
    double median;
    FILE *in = fopen(path, "r");
    memset(run, 0, sizeof *run);
    snprintf(run->path, sizeof run->path, "%s", path);
    while (in && fgets(line, sizeof line, in)) {
        if (sscanf(line, "%95[^,],%15[^,],%*[^,],tune,%127[^,],%d,%d,%d,%lf,%*[^,],%*[^,],%15s", run->gpu, run->date,
                   label, &m, &n, &k, &median, unit) != 8) {
            continue;
        }
        if (strcmp(unit, "GB/s") == 0) {
            run->gb_s = (int)median;
        } else if (strcmp(unit, "TFLOP/s") == 0) {
            int at = shape_of(run, m, n, k), words = sscanf(label, "%95s g%d %7s", name, &group, meet);
            int variant = variant_of(name);
            if (at == MAX_SHAPES || (words > 1 && (variant < 0 || group < 1 || group >= GROUPS))) {
                fail("a row that this program does not know", path);
            } else if (words == 1) {
                run->cublas[at] = median;
            } else {
                run->tflops[variant][group][words == 3][at] = median;
            }
        }
    }
    if (!in || run->shapes == 0) {
        fail("not a run of the plan tune", path);
    }
    fclose(in);
}

/* As 09 would run it: with the meeting where it takes that. */
static double measured_at(const Run *run, int variant, int group, int shape) {
    double meets = run->tflops[variant][group][1][shape];
    return should_meet(&run->shape[shape]) && meets > 0 ? meets : run->tflops[variant][group][0][shape];
}

static int has_group(const Run *run, int variant, int group) { return measured_at(run, variant, group, 0) > 0; }

/* The mean over all shapes of what the choice gets with this fit. */
static double gain(const Run *run, const Fit *fit) {
    double sum = 0;
    for (int s = 0; s < run->shapes; s++) {
        int best = -1;
        double least = HUGE_VAL;
        for (int v = 0; v < VARIANT_COUNT; v++) {
            double at =
                cost_at(&variants[v], &run->shape[s], exceeds_l2(&run->shape[s]) ? fit->speed[v] : variants[v].speed);
            if (fit->group[v] && at < least) {
                least = at;
                best = v;
            }
        }
        sum += log(measured_at(run, best, fit->group[best], s) / run->cublas[s]);
    }
    return sum / run->shapes;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The speed at which cost() has the same ratio to the reference as the measured times, the median over the large shapes. */
static double implied_speed(const Run *run, const Fit *fit, int v, int reference) {
    double speed[MAX_SHAPES];
    int count = 0;
    for (int s = 0; s < run->shapes; s++) {
        const Gemm *g = &run->shape[s];
        if (exceeds_l2(g)) {
            double time = measured_at(run, reference, fit->group[reference], s) / measured_at(run, v, fit->group[v], s);
            double loop = cost_at(&variants[v], g, 1) - cost_at(&variants[v], g, HUGE_VAL);
            speed[count++] = loop / (cost_at(&variants[reference], g, 1) * time - cost_at(&variants[v], g, HUGE_VAL));
        }
    }
    qsort(speed, (size_t)count, sizeof *speed, by_size);
    return (speed[(count - 1) / 2] + speed[count / 2]) / 2;
}

/* From variant `v` on: every group that was measured. */
static void try_groups(const Run *run, int v, int reference, Fit *fit, Fit *best) {
    if (v < VARIANT_COUNT) {
        int any = 0;
        for (int group = 1; group < GROUPS; group++) {
            if (has_group(run, v, group)) {
                fit->group[v] = group;
                any = 1;
                try_groups(run, v + 1, reference, fit, best);
            }
        }
        if (!any) {
            fit->group[v] = 0;
            try_groups(run, v + 1, reference, fit, best);
        }
        return;
    }
    for (int i = 0; i < VARIANT_COUNT; i++) {
        fit->speed[i] = fit->group[i] ? round(implied_speed(run, fit, i, reference) * 200) / 200 : 0;
    }
    fit->mean = gain(run, fit);
    for (int moved = 1; moved;) {
        moved = 0;
        for (int i = 0; i < VARIANT_COUNT; i++) {
            for (int step = -4; fit->group[i] && i != reference && step <= 4; step++) {
                Fit other = *fit;
                other.speed[i] += 0.005 * step;
                other.mean = gain(run, &other);
                if (other.mean > fit->mean + 1e-4) {
                    *fit = other;
                    moved = 1;
                }
            }
        }
    }
    fit->all = 0;
    for (int i = 0; i < VARIANT_COUNT; i++) {
        for (int s = 0; fit->group[i] && s < run->shapes; s++) {
            fit->all += log(measured_at(run, i, fit->group[i], s) / run->cublas[s]);
        }
    }
    if (best->group[reference] == 0 || fit->mean > best->mean + 1e-9 ||
        (fit->mean > best->mean - 1e-9 && fit->all > best->all)) {
        *best = *fit;
    }
}

static void write_fit(FILE *out, const Run *run) {
    Fit fit = {{0}, {0}, 0, 0}, best = {{0}, {0}, 0, 0};
    try_groups(run, 0, variant_of("cooperative_128x256"), &fit, &best);
    fprintf(out, "    /* %s: the choice has %.3f of cuBLAS over its %d shapes */\n", strrchr(run->path, '/') + 1,
            exp(best.mean), run->shapes);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        if (best.group[v]) {
            fprintf(out, "    {\"%s\", %d, \"%s\", %d, %.3f},\n", run->gpu, run->gb_s, variants[v].name, best.group[v],
                    best.speed[v]);
        }
    }
}

int main(int argc, char **argv) {
    static Run run;
    glob_t found = {0};
    if (argc == 4 && strcmp(argv[1], "--memory") == 0) {
        read_run(argv[3], &run);
        FILE *csv = fopen(argv[3], "a");
        if (!csv) {
            fail("cannot be written", argv[3]);
        }
        fprintf(csv, "%s,%s,-,tune,memory,0,0,0,%s,%s,%s,GB/s\n", run.gpu, run.date, argv[2], argv[2], argv[2]);
        return fclose(csv) == 0 ? 0 : 2;
    } else if (argc != 1) {
        fprintf(stderr, "usage: tune [--memory GB_S CSV]\n");
        return 2;
    }
    glob("tests/bench/results/*_tune.csv", 0, NULL, &found); /* the files of one card stand in the order of time */
    char **path = found.gl_pathv;
    FILE *out = fopen(target, "w");
    if (!out) {
        fail("cannot be written", target);
    }
    fprintf(out, "/* cards.h - written by `make tune` from tests/bench/results: for cards where L2 has no room, tile "
                 "group and speed of each\n"
                 " * variant. choice.h takes them. */\nstatic const Measured measured[] = {\n");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t card = strlen(path[i]) - strlen("2026-11-22_tune.csv");
        if (i + 1 == found.gl_pathc || strncmp(path[i], path[i + 1], card) != 0) {
            read_run(path[i], &run);
            if (run.gb_s == 0) {
                fail("has no row with the memory's speed in GB/s: tune --memory appends it", path[i]);
            }
            write_fit(out, &run);
        }
    }
    fprintf(out, "};\n");
    return fclose(out) == 0 ? 0 : 2;
}
