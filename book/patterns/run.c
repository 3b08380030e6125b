/* run - the programs of this folder on the CPU model. Built by `make patterns`.
 *
 *     run                            all, right and without each line: program, line, what is reported, whether of
 *                                    every schedule
 *     run NAME [LINE]                one of them, with its report
 *
 * "-": nothing is reported, and the result is right. Each of all runs in a child of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATTERN_RUN(name, line) model_##name##_##line
#include "pattern.h"

#include "../../common/model/model_host.h"

enum { CTAS = 4, LAUNCHES = 2, SEEDS = 3, DEFAULT_SEED = 1 };

static int *ints(int count, const char *name) {
    int *memory = (int *)model_global_alloc((size_t)count * sizeof(int), name);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(GEMM_DEVICE);
    }
    return memset(memory, 0, (size_t)count * sizeof(int));
}

/* GEMM_WRONG: nothing was reported, but the result is not right. */
static GemmStatus run(const Pattern *pattern, int policy, int seed, int quiet) {
    ModelOptions options = {.policy = (ModelPolicy)policy, .seed = (unsigned)seed, .quiet = quiet, .patience = 2};
    int *in = ints(CTAS * ITEMS, "in"), *out = ints(CTAS * ITEMS, "out"), *words = ints(CTAS, "words");
    Params p = {.in = in, .out = out, .between = ints(CTAS * ITEMS, "between"), .words = words, .ctas = CTAS};
    GemmStatus status = GEMM_OK;
    model_configure(&options);
    for (int launch = 0; launch < LAUNCHES && status == GEMM_OK; launch++) {
        for (int i = 0; i < CTAS * ITEMS; i++) {
            in[i] = launch * CTAS * ITEMS + i;
            out[i] = -1;
        }
        memset(words, 0, CTAS * sizeof *words);
        status = pattern->run(&p, NULL);
        status = status == GEMM_OK && model_reports()         ? GEMM_MODEL_BUG
                 : status                                     ? status
                 : memcmp(in, out, CTAS * ITEMS * sizeof *in) ? GEMM_WRONG
                                                              : GEMM_OK;
    }
    return status;
}

/* One row. A right program is run in every policy. */
static void row(const Pattern *pattern) {
    GemmStatus status = run(pattern, MODEL_RANDOM, DEFAULT_SEED, 1);
    for (int i = 0; pattern->without == 0 && status == GEMM_OK && i < (MODEL_PCT + 1) * SEEDS; i++) {
        status = run(pattern, i / SEEDS, i % SEEDS, 1);
    }
    printf("%-18s %d  %-20s %s\n", pattern->name, pattern->without,
           status == GEMM_MODEL_BUG ? model_rule_name(model_report(0)->rule)
           : status == GEMM_OK      ? "-"
                                    : "WRONG",
           model_depends() ? "some schedules" : "every schedule");
}

int main(int argc, char **argv) {
    int without = argc > 2 ? atoi(argv[2]) : 0, found = 0;
    GemmStatus status = GEMM_OK;
    for (int i = 0; i < PATTERNS; i++) {
        if (argc > 1 && strcmp(argv[1], patterns[i].name) == 0 && without == patterns[i].without) {
            status = run(&patterns[i], MODEL_RANDOM, DEFAULT_SEED, 0);
            printf("%s\n", status == GEMM_OK ? "right" : status == GEMM_WRONG ? "wrong" : "reported");
            found = 1;
        } else if (argc == 1) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                row(&patterns[i]);
                exit(GEMM_OK);
            }
            int ended;
            if (waitpid(child, &ended, 0) != child || ended != 0) {
                fprintf(stderr, "%s %d: it did not come to its end\n", patterns[i].name, patterns[i].without);
                status = GEMM_UNJUDGED;
            }
            found = 1;
        }
    }
    if (!found) {
        fprintf(stderr, "%s %d: there is no such program or line\n", argc > 1 ? argv[1] : "", without);
        return GEMM_USAGE;
    }
    return status;
}
