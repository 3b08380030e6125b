/* experiments - the variants of tests/experiments/plan on a GPU, those of an experiment in turns. `make experiments`.
 *
 * Every variant's result is checked before it is timed and after. The work is done in a child, which leaves its rows in
 * the CSV as it gets them; the parent kills it if nothing moves any more, strikes out the variant that was running, and
 * starts the next child where the last one was. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/cublas.h"
#include "harness/report.h"

#include "wgmma_alone.h"

typedef enum { RUN_CHAPTER, RUN_CUBLAS, RUN_WGMMA } What;

/* One variant of one experiment. */
typedef struct {
    const char *experiment, *variant;
    What what;
    const Chapter *chapter; /* RUN_CHAPTER; NULL: it could not be built */
    int width;              /* RUN_WGMMA */
    const char *options;    /* as in the plan */
    const char *sizes;
} Row;

/* ROW(chapter record, experiment, variant, what, width, options, sizes), and MISSING(...) without the record. */
#define ROW(symbol, ...) extern const Chapter symbol;
#define MISSING(...)
#include "experiments.inc"
#undef ROW
#undef MISSING
#define RECORD(symbol, experiment, variant, what, width, options, sizes) \
    { experiment, variant, what, symbol, width, options, sizes }
#define ROW(symbol, ...) RECORD(&symbol, __VA_ARGS__),
#define MISSING(...) RECORD(NULL, __VA_ARGS__),
static const Row rows[] = {
#include "experiments.inc"
};
#undef ROW
#undef MISSING

enum {
    ROWS = sizeof rows / sizeof rows[0],
    MAX_GROUPS = 128,
    MAX_GROUP_ROWS = 64,
    MAX_SIZES = 8,
    TEXT = 256,
    ROUNDS = 5,
    SUSTAINED_S = 8,
    PATIENCE_S = 30, /* nothing moves for so long: it hangs. Data and reference of 8192 cubed take a few seconds */
    REST_S = 5,      /* after sustained runs, which leave the chip warm */
};

/* What the child tells the parent, in shared memory. */
typedef struct {
    char gpu[96];
    volatile int group;     /* under way; -1: none */
    volatile int row;       /* whose launches are under way; -1: none */
    volatile unsigned beat; /* changes while something moves */
    volatile int done[MAX_GROUPS];
    volatile int struck[ROWS]; /* not to be run any more */
} Shared;

/* The rows of one experiment at one size. */
typedef struct {
    int m, n, k;
    int row[MAX_GROUP_ROWS];
    int rows;
} Group;

typedef struct {
    int rounds;
    int sustained_s;
    int patience_s;
    int once;         /* launch each variant of --only once and leave; for a profiler */
    const char *only; /* experiments, separated by commas; NULL: all */
    const char *csv_path;
    const char *commit;
    char date[16];
    Group groups[MAX_GROUPS];
    int group_count;
    FILE *csv;
    Shared *shared;
} Session;

/* ---- the plan ---- */

static int parse_size(const char *word, int size[3]) {
    char rest;
    if (sscanf(word, "%dx%dx%d%c", &size[0], &size[1], &size[2], &rest) == 3) {
        return 1;
    }
    if (sscanf(word, "%d%c", &size[0], &rest) == 1) {
        size[1] = size[2] = size[0];
        return 1;
    }
    fprintf(stderr, "experiments: \"%s\" is no size; N or MxNxK is accepted\n", word);
    return 0;
}

static int is_wanted(const Session *session, const char *experiment) {
    size_t length = strlen(experiment);
    for (const char *at = session->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, experiment, length) == 0 && (at[length] == 0 || at[length] == ',')) {
            return 1;
        }
    }
    return session->only == NULL;
}

/* Sorts the rows into groups: first size first, so that a child seldom has to make new data. */
static int make_groups(Session *session) {
    int sizes[MAX_SIZES * 8][3], size_count = 0;
    for (int pass = 0; pass <= size_count; pass++) { /* pass 0 finds the sizes */
        for (int i = 0; i < ROWS; i++) {
            char list[TEXT];
            snprintf(list, sizeof list, "%s", rows[i].sizes);
            for (char *word = strtok(list, " "); word && is_wanted(session, rows[i].experiment);
                 word = strtok(NULL, " ")) {
                int size[3], known = 0;
                if (!parse_size(word, size)) {
                    return 0;
                }
                while (known < size_count && memcmp(sizes[known], size, sizeof size) != 0) {
                    known++;
                }
                if (pass == 0 && known == size_count && size_count < MAX_SIZES * 8) {
                    memcpy(sizes[size_count++], size, sizeof size);
                }
                if (pass == 0 || known != pass - 1) {
                    continue;
                }
                Group *last = session->group_count ? &session->groups[session->group_count - 1] : NULL;
                if (!last || strcmp(rows[last->row[0]].experiment, rows[i].experiment) != 0 || last->m != size[0] ||
                    last->n != size[1] || last->k != size[2]) {
                    if (session->group_count == MAX_GROUPS) {
                        fprintf(stderr, "experiments: more than %d experiments and sizes\n", MAX_GROUPS);
                        return 0;
                    }
                    last = &session->groups[session->group_count++];
                    last->m = size[0], last->n = size[1], last->k = size[2];
                }
                if (last->rows == MAX_GROUP_ROWS) {
                    fprintf(stderr, "experiments: %s has more than %d variants\n", rows[i].experiment, MAX_GROUP_ROWS);
                    return 0;
                }
                last->row[last->rows++] = i;
            }
        }
    }
    return 1;
}

/* The options of a row. */
typedef struct {
    Options of_chapter;
    DataKind data;
    int sustained;
    char text[TEXT]; /* of_chapter points into it */
} RowOptions;

static int read_options(const Row *row, RowOptions *options) {
    char message[OPTIONS_MESSAGE_SIZE], *argv[32] = {"experiments"};
    int argc = 1;
    memset(options, 0, sizeof *options);
    snprintf(options->text, sizeof options->text, "%s", row->options);
    for (char *word = strtok(options->text, " "); word && argc < 31; word = strtok(NULL, " ")) {
        if (strcmp(word, "sustained") == 0) {
            options->sustained = 1;
        } else {
            argv[argc++] = word;
        }
    }
    if (!parse_options(argc, argv, &options->of_chapter, message)) {
        fprintf(stderr, "experiments: %s, %s: %s\n", row->experiment, row->variant, message);
        return 0;
    }
    options->data = DATA_NORMAL;
    for (int kind = 0; kind < DATA_KINDS && options->of_chapter.data_given; kind++) {
        if (options->of_chapter.data >> kind & 1) {
            options->data = (DataKind)kind;
        }
    }
    return 1;
}

/* ---- rows of the CSV ---- */

#define HEADER "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit"

static void write_row(const Session *session, const char *gpu, const Row *row, const Group *group, Spread spread,
                      const char *unit) {
    fprintf(session->csv, "%s,%s,%s,%s,%s,%d,%d,%d,%.5g,%.5g,%.5g,%s\n", gpu, session->date, session->commit,
            row->experiment, row->variant, group->m, group->n, group->k, spread.median, spread.min, spread.max, unit);
    fflush(session->csv);
}

static void write_value(const Session *session, const char *gpu, const Row *row, const Group *group, double value,
                        const char *unit) {
    Spread spread = {value, value, value};
    if (value > 0) {
        write_row(session, gpu, row, group, spread, unit);
    }
}

/* ---- child ---- */

/* What a contestant launches, and whose launch it is. */
typedef struct {
    Session *session;
    int row;
    GemmStatus (*launch)(void *context);
    void *context;
    double flop;
    RowOptions options;
    ChapterRun chapter;
    CublasRun cublas;
    WgmmaAlone wgmma;
    int chapter_open;
} Runner;

typedef struct {
    Session *session;
    const Backend *backend;
    DeviceInfo device;
    Cublas *cublas;
    Nvml *nvml;
    Problem problems[DATA_KINDS]; /* all of one size */
    int have[DATA_KINDS];
    int m, n, k;
} Child;

static Runner *runner_of(const Contestant *contestant) { return contestant->context; }

static GemmStatus launch_runner(void *context) {
    Runner *runner = context;
    runner->session->shared->row = runner->row;
    runner->session->shared->beat++;
    return runner->launch(runner->context);
}

/* The problem of this size with this data. NULL: it failed. */
static Problem *problem_of(Child *child, const Group *group, DataKind data) {
    char message[OPTIONS_MESSAGE_SIZE];
    if (child->m != group->m || child->n != group->n || child->k != group->k) {
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            if (child->have[kind]) {
                problem_close(&child->problems[kind]);
                child->have[kind] = 0;
            }
        }
        child->m = group->m, child->n = group->n, child->k = group->k;
    }
    Problem *problem = &child->problems[data];
    if (!child->have[data]) {
        if (!problem_fits((Shape){group->m, group->n, group->k, 0}, NULL, &child->device, message)) {
            fprintf(stderr, "%s\n", message);
            return NULL;
        }
        if (problem_open(problem, child->backend, &child->device, (Shape){group->m, group->n, group->k, 0}, 1) !=
            GEMM_OK) {
            return NULL;
        }
        child->have[data] = 1;
        if (problem_fill(problem, data) != GEMM_OK || child->backend->synchronise("the reference") != GEMM_OK) {
            return NULL;
        }
    }
    child->session->shared->beat++;
    return problem;
}

/* Makes a runner of a row. It stays where it is: its chapter's problem points into its options. */
static GemmStatus open_runner(Child *child, const Group *group, int row, Runner *runner) {
    memset(runner, 0, sizeof *runner);
    child->session->shared->row = -1; /* what fails from here on is no other variant's fault */
    runner->session = child->session;
    runner->row = row;
    if (!read_options(&rows[row], &runner->options)) {
        return GEMM_USAGE;
    }
    Problem *problem = problem_of(child, group, runner->options.data);
    if (!problem) {
        return GEMM_DEVICE;
    }
    runner->flop = flop_of(&problem->gemm);
    if (rows[row].what == RUN_CUBLAS) {
        runner->cublas.cublas = child->cublas;
        runner->cublas.gemm = problem->gemm;
        runner->launch = cublas_launch;
        runner->context = &runner->cublas;
        return child->cublas ? GEMM_OK : GEMM_USAGE;
    }
    if (rows[row].what == RUN_WGMMA) {
        runner->wgmma.n = rows[row].width;
        runner->wgmma.sm_count = child->device.sm_count;
        runner->wgmma.stream = child->device.stream;
        runner->flop = wgmma_alone_flop(&runner->wgmma);
        runner->launch = wgmma_alone_launch;
        runner->context = &runner->wgmma;
        return GEMM_OK;
    }
    problem->gemm.tuning = runner->options.of_chapter.tuning;
    GemmStatus status = run_open(&runner->chapter, problem, rows[row].chapter);
    problem->gemm.tuning = (Tuning){0};
    runner->chapter_open = status == GEMM_OK;
    runner->launch = run_launch;
    runner->context = &runner->chapter;
    return status;
}

/* Launches a row once and compares. *right is 1 for the instruction alone, which has no result. */
static GemmStatus check_runner(Child *child, Runner *runner, Tally *tally, int *right) {
    const Problem *problem = &child->problems[runner->options.data];
    GemmStatus status = problem_poison(problem);
    tally_start(tally);
    if (status == GEMM_OK) {
        status = launch_runner(runner);
    }
    if (status == GEMM_OK) {
        status = child->backend->synchronise(rows[runner->row].variant);
    }
    if (status == GEMM_OK && rows[runner->row].what != RUN_WGMMA) {
        status = problem_check(problem, tally);
    }
    *right = tally_is_right(tally);
    return status;
}

static void strike(const Child *child, const Group *group, int row, const char *why) {
    Spread none = {0, 0, 0};
    printf("  %-52s %s\n", rows[row].variant, why);
    write_row(child->session, child->device.name, &rows[row], group, none, why);
    child->session->shared->struck[row] = 1;
}

/* `rounds` samples of each with pauses. Those of other data take part in the same rounds. */
static GemmStatus measure_in_turns(Child *child, Contestant *list, int count, int rounds) {
    GemmStatus status = GEMM_OK;
    static Contestant parts[MAX_GROUP_ROWS];
    int kinds = 0;
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        int uses = 0;
        for (int i = 0; i < count; i++) {
            uses |= runner_of(&list[i])->options.data == (DataKind)kind;
        }
        kinds += uses;
    }
    int turns = kinds > 1 ? rounds : 1;
    for (int turn = 0; turn < turns; turn++) {
        for (int kind = 0; kind < DATA_KINDS && status == GEMM_OK; kind++) {
            int part[MAX_GROUP_ROWS], parts_count = 0;
            for (int i = 0; i < count; i++) {
                if (runner_of(&list[i])->options.data == (DataKind)kind) {
                    part[parts_count] = i;
                    parts[parts_count++] = list[i];
                }
            }
            if (parts_count == 0) {
                continue;
            }
            status = measure_interleaved(&child->problems[kind], parts, parts_count, rounds / turns, NULL);
            for (int i = 0; i < parts_count && status == GEMM_OK; i++) {
                Contestant *to = &list[part[i]];
                for (int sample = 0; sample < parts[i].samples; sample++) {
                    to->ms[to->samples++] = parts[i].ms[sample];
                }
                to->mhz_sum += parts[i].mhz_sum;
                to->mhz_count += parts[i].mhz_count;
                to->after = parts[i].after;
            }
        }
    }
    return status;
}

static void report(const Child *child, const Group *group, const Contestant *contestant) {
    const Runner *runner = runner_of(contestant);
    const Row *row = &rows[runner->row];
    const char *gpu = child->device.name;
    if (row->what != RUN_WGMMA && !tally_is_right(&contestant->after)) {
        strike(child, group, runner->row, "wrong");
        return;
    }
    Spread tflops = tflops_of(contestant, runner->flop);
    printf("  %-52s %8.4g TFLOP/s (%.4g .. %.4g) %5.0f MHz", row->variant, tflops.median, tflops.min, tflops.max,
           mhz_of(contestant));
    if (runner->options.sustained) {
        printf("  %.0f W  %.3f J/TFLOP", watts_of(contestant), contestant->joules_per_tflop);
    }
    putchar('\n');
    write_row(child->session, gpu, row, group, tflops, "TFLOP/s");
    write_value(child->session, gpu, row, group, mhz_of(contestant), "MHz");
    if (runner->options.sustained) {
        write_value(child->session, gpu, row, group, watts_of(contestant), "W");
        write_value(child->session, gpu, row, group, contestant->joules_per_tflop, "J/TFLOP");
    }
}

static GemmStatus run_group(Child *child, const Group *group) {
    static Runner runners[MAX_GROUP_ROWS];
    static Contestant list[MAX_GROUP_ROWS];
    Shared *shared = child->session->shared;
    int count = 0, listed = 0, paused = 0;
    GemmStatus status = GEMM_OK;
    printf("%s, %d x %d x %d\n", rows[group->row[0]].experiment, group->m, group->n, group->k);
    shared->group = (int)(group - child->session->groups);
    for (int i = 0; i < group->rows && status == GEMM_OK; i++) {
        int row = group->row[i], right = 0;
        Tally tally;
        if (shared->struck[row]) {
            continue;
        }
        if (rows[row].what == RUN_CHAPTER && rows[row].chapter == NULL) {
            strike(child, group, row, "not built");
            continue;
        }
        Runner *runner = &runners[count];
        status = open_runner(child, group, row, runner);
        if (status == GEMM_OK) {
            status = check_runner(child, runner, &tally, &right);
        }
        if (status == GEMM_USAGE || (status == GEMM_OK && !right)) {
            strike(child, group, row, status == GEMM_OK ? "wrong" : "refused");
            if (status == GEMM_OK) {
                problem_explain(&child->problems[runner->options.data], &tally, stdout);
            }
            if (runner->chapter_open) {
                run_close(&runner->chapter);
            }
            status = GEMM_OK;
            continue;
        }
        count++;
    }
    /* The sustained ones last. */
    for (int sustained = 0; sustained <= 1; sustained++) {
        for (int i = 0; i < count; i++) {
            if (runners[i].options.sustained == sustained) {
                Contestant *next = &list[listed++];
                memset(next, 0, sizeof *next);
                snprintf(next->name, sizeof next->name, "%.23s", rows[runners[i].row].variant);
                next->launch = launch_runner;
                next->context = &runners[i];
                tally_start(&next->after);
                paused += !sustained;
            }
        }
    }
    if (status == GEMM_OK && paused > 0) {
        status = measure_in_turns(child, list, paused, child->session->rounds);
    }
    for (int i = 0; i < paused && status == GEMM_OK; i++) {
        report(child, group, &list[i]);
    }
    for (int i = paused; i < count && status == GEMM_OK; i++) {
        status = measure_sustained(&child->problems[runner_of(&list[i])->options.data], &list[i],
                                   child->session->sustained_s, child->nvml);
        if (status == GEMM_OK) {
            report(child, group, &list[i]);
        }
    }
    for (int tenth = 0; tenth < 10 * REST_S && count > paused; tenth++) {
        struct timespec rest = {0, 100 * 1000000};
        nanosleep(&rest, NULL);
        shared->beat++;
    }
    for (int i = 0; i < count; i++) {
        if (runners[i].chapter_open) {
            run_close(&runners[i].chapter);
        }
    }
    if (status == GEMM_OK) {
        shared->done[shared->group] = 1;
        shared->group = shared->row = -1;
    }
    fflush(stdout);
    return status;
}

/* Launches each row of each experiment once, at its first size, and says in which order. */
static GemmStatus launch_each_once(Child *child) {
    GemmStatus status = GEMM_OK;
    for (int g = 0; g < child->session->group_count; g++) {
        const Group *group = &child->session->groups[g];
        int first = 1;
        for (int before = 0; before < g; before++) {
            first &=
                strcmp(rows[child->session->groups[before].row[0]].experiment, rows[group->row[0]].experiment) != 0;
        }
        for (int i = 0; i < group->rows && first && status == GEMM_OK; i++) {
            Runner runner;
            Tally tally;
            int right;
            if (rows[group->row[i]].chapter == NULL) {
                continue;
            }
            status = open_runner(child, group, group->row[i], &runner);
            if (status == GEMM_OK) {
                status = check_runner(child, &runner, &tally, &right);
            }
            if (status == GEMM_OK) {
                printf("launched,%s,%s,%s,%d,%d,%d,%s\n", child->device.name, rows[group->row[i]].experiment,
                       rows[group->row[i]].variant, group->m, group->n, group->k, right ? "right" : "wrong");
                fflush(stdout);
            }
            if (runner.chapter_open) {
                run_close(&runner.chapter);
            }
        }
    }
    return status;
}

static GemmStatus open_child(Child *child, Session *session, int quiet) {
    Options none;
    char why[TEXT] = "";
    memset(&none, 0, sizeof none);
    memset(child, 0, sizeof *child);
    child->session = session;
    child->backend = gpu_backend();
    GemmStatus status = child->backend->open(&none, NEEDS_SM90A, &child->device, why, sizeof why);
    if (status != GEMM_OK) {
        fprintf(stderr, "experiments: %s is needed; found: %s\n", need_text(NEEDS_SM90A), why);
        return status;
    }
    memcpy(session->shared->gpu, child->device.name, sizeof session->shared->gpu);
    child->nvml = nvml_open(child->device.pci_bus_id, why, sizeof why);
    if (child->nvml) {
        nvml_driver_version(child->nvml, child->device.driver_version, sizeof child->device.driver_version);
    } else if (!quiet) {
        printf("no power readings: %s\n", why);
    }
    child->cublas = cublas_open(child->device.stream, why, sizeof why);
    if (!quiet) {
        if (!child->cublas) {
            printf("no cuBLAS: %s\n", why);
        }
        print_device(stdout, &child->device, child->cublas ? cublas_version(child->cublas) : 0);
    }
    return GEMM_OK;
}

/* All groups that are not done. */
static int run_child(Session *session, int quiet) {
    static Child child;
    GemmStatus status = open_child(&child, session, quiet);
    if (status != GEMM_OK) {
        return (int)status;
    }
    for (int g = 0; g < session->group_count && status == GEMM_OK; g++) {
        if (!session->shared->done[g]) {
            status = run_group(&child, &session->groups[g]);
        }
    }
    cublas_close(child.cublas);
    nvml_close(child.nvml);
    return (int)status;
}

/* ---- parent ---- */

/* Waits for the child; kills it if it stands still. Returns its wait status, or -1: it stood still. */
static int wait_for(const Session *session, pid_t pid) {
    unsigned beat = session->shared->beat;
    for (int still = 0; still < session->patience_s * 1000; still += 20) {
        int status;
        struct timespec pause = {0, 20 * 1000000};
        if (waitpid(pid, &status, WNOHANG) == pid) {
            return status;
        }
        nanosleep(&pause, NULL);
        if (session->shared->beat != beat) {
            beat = session->shared->beat;
            still = 0;
        }
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

/* Children, one after the other, until all groups are done. Returns the program's exit status. */
static int run_all(Session *session) {
    Shared *shared = session->shared;
    int skipped = 0;
    for (int children = 0;; children++) {
        shared->group = shared->row = -1;
        fflush(stdout);
        fflush(session->csv);
        pid_t pid = fork();
        if (pid < 0) {
            perror("experiments: fork");
            return GEMM_DEVICE;
        }
        if (pid == 0) {
            int status = run_child(session, children > 0);
            fflush(stdout);
            _exit(status);
        }
        int status = wait_for(session, pid), row = shared->row, group = shared->group;
        if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == GEMM_OK) {
            break;
        }
        if (group < 0) {
            fprintf(stderr, "experiments: broken off before the first experiment\n");
            return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : GEMM_DEVICE;
        }
        const char *why = status < 0 ? "hang" : "error";
        if (row < 0) { /* not by a launch of a variant: without memory, say */
            printf("  %s: this experiment and size are left out\n", why);
            shared->done[group] = 1;
            skipped++;
            continue;
        }
        Spread none = {0, 0, 0};
        printf("  %-52s %s: struck out, and on without it\n", rows[row].variant, why);
        write_row(session, shared->gpu, &rows[row], &session->groups[group], none, why);
        shared->struck[row] = 1;
    }
    int struck = 0;
    printf("%d experiments and sizes, %d of them left out; variants without a figure:", session->group_count, skipped);
    for (int i = 0; i < ROWS; i++) {
        if (shared->struck[i]) {
            printf("%s %s (%s)", struck++ ? "," : "", rows[i].variant, rows[i].experiment);
        }
    }
    printf("%s\n", struck ? "" : " none");
    return struck || skipped ? GEMM_WRONG : GEMM_OK;
}

static void print_experiments_usage(FILE *out) {
    fprintf(out,
            "usage: experiments [options]\n"
            "  --only LIST      experiments of tests/experiments/plan, separated by commas (default: all)\n"
            "  --rounds R       samples of each variant (default %d)\n"
            "  --sustained S    seconds of a sustained run (default %d)\n"
            "  --patience S     a variant that stands still for S seconds is struck out (default %d)\n"
            "  --csv FILE       append the rows there (default: tests/experiments/results/<gpu>_<date>.csv)\n"
            "  --once           launch each variant once, without timing; for a profiler\n"
            "  --list           say what would run\n"
            "  --help           this text\n",
            ROUNDS, SUSTAINED_S, PATIENCE_S);
}

static void print_list(const Session *session) {
    for (int g = 0; g < session->group_count; g++) {
        const Group *group = &session->groups[g];
        for (int i = 0; i < group->rows; i++) {
            const Row *row = &rows[group->row[i]];
            printf("%s, %d x %d x %d: %s%s\n", row->experiment, group->m, group->n, group->k, row->variant,
                   row->what == RUN_CHAPTER && !row->chapter ? " (not built)" : "");
        }
    }
}

/* "tests/experiments/results/nvidia_h200_2026-01-31.csv", below the directory the program is started in. */
static int default_csv_path(Session *session, char path[TEXT]) {
    char gpu[96];
    pid_t pid = fork(); /* CUDA does not survive a fork: the parent must not touch it */
    if (pid == 0) {
        static Child child;
        _exit((int)open_child(&child, session, 1));
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        return 0;
    }
    snprintf(gpu, sizeof gpu, "%s", session->shared->gpu);
    for (char *p = gpu; *p; p++) {
        int letter = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        *p = letter ? *p : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : '_';
    }
    snprintf(path, TEXT, "tests/experiments/results/%s_%s.csv", gpu, session->date);
    if (mkdir("tests/experiments/results", 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "tests/experiments/results: %s; start at the top of the repository or give --csv FILE\n",
                strerror(errno));
        return 0;
    }
    return 1;
}

/* 1: go on; 0: after a message; -1: --help; -2: --list */
static int parse_arguments(int argc, char *argv[], Session *session) {
    static const struct option long_options[] = {
        {"only", required_argument, NULL, 'o'},
        {"rounds", required_argument, NULL, 'r'},
        {"csv", required_argument, NULL, 'c'},
        {"sustained", required_argument, NULL, 's'},
        {"once", no_argument, NULL, '1'},
        {"patience", required_argument, NULL, 'p'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    char message[OPTIONS_MESSAGE_SIZE] = "";
    uint64_t number = 0;
    int option, list = 0, good = 1;
    session->rounds = ROUNDS;
    session->sustained_s = SUSTAINED_S;
    session->patience_s = PATIENCE_S;
    session->commit = commit_name();
    opterr = 0;
    while (good && (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        switch (option) {
        case 'o': session->only = optarg; break;
        case 'c': session->csv_path = optarg; break;
        case '1': session->once = 1; break;
        case 'l': list = 1; break;
        case 'h': return -1;
        case 'r':
            good = parse_number("--rounds", optarg, 1, MAX_ROUNDS, &number, message);
            session->rounds = (int)number;
            break;
        case 's':
            good = parse_number("--sustained", optarg, 1, 600, &number, message);
            session->sustained_s = (int)number;
            break;
        case 'p':
            good = parse_number("--patience", optarg, 1, 600, &number, message);
            session->patience_s = (int)number;
            break;
        default:
            snprintf(message, sizeof message, "%.60s: %s", argv[optind - 1],
                     option == ':' ? "its value is missing" : "not accepted; --help lists what is");
            good = 0;
        }
    }
    if (good && optind < argc) {
        snprintf(message, sizeof message, "\"%.60s\": not an option; --help lists what is accepted", argv[optind]);
        good = 0;
    }
    char only[TEXT];
    snprintf(only, sizeof only, "%s", session->only ? session->only : "");
    for (char *word = strtok(only, ","); good && word; word = strtok(NULL, ",")) {
        good = 0;
        for (int i = 0; i < ROWS; i++) {
            good |= strcmp(rows[i].experiment, word) == 0;
        }
        if (!good) {
            snprintf(message, sizeof message, "--only: there is no experiment \"%.60s\"; --list names them", word);
        }
    }
    if (!good) {
        fprintf(stderr, "experiments: %s\n", message);
        return 0;
    }
    return list ? -2 : 1;
}

int main(int argc, char *argv[]) {
    static Session session;
    char path[TEXT];
    int go = parse_arguments(argc, argv, &session);
    if (go == -1) {
        print_experiments_usage(stdout);
        return GEMM_OK;
    }
    if (go == 0 || !make_groups(&session)) {
        return GEMM_USAGE;
    }
    for (int i = 0; i < ROWS; i++) {
        RowOptions options;
        if (!read_options(&rows[i], &options)) {
            return GEMM_USAGE;
        }
    }
    if (go == -2) {
        print_list(&session);
        return GEMM_OK;
    }
    session.shared = mmap(NULL, sizeof *session.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session.shared == MAP_FAILED) {
        perror("experiments: mmap");
        return GEMM_DEVICE;
    }
    today(session.date);
    if (session.once) {
        static Child child;
        GemmStatus status = open_child(&child, &session, 1);
        return (int)(status == GEMM_OK ? launch_each_once(&child) : status);
    }
    if (!session.csv_path) {
        if (!default_csv_path(&session, path)) {
            return GEMM_DEVICE;
        }
        session.csv_path = path;
    }
    session.csv = fopen(session.csv_path, "a");
    if (!session.csv) {
        fprintf(stderr, "\"%s\" cannot be written: %s\n", session.csv_path, strerror(errno));
        return GEMM_USAGE;
    }
    fseek(session.csv, 0, SEEK_END);
    if (ftell(session.csv) == 0) {
        fprintf(session.csv, "%s\n", HEADER);
    }
    int status = run_all(&session);
    printf("rows appended to %s; make experiments-page writes the tables\n", session.csv_path);
    if (fclose(session.csv) != 0) {
        fprintf(stderr, "\"%s\" could not be written: %s\n", session.csv_path, strerror(errno));
        status = status == GEMM_OK ? GEMM_USAGE : status;
    }
    return status;
}
