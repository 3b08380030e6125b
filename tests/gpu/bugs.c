/* bugs - what a GPU does with every bug. Built by `make bugs-gpu`.
 *
 *     bugs OUTFILE [NAME...]     all bugs, or those named; a line each to OUTFILE, for tests/tools/patches record
 *
 * A bug runs in a child of its own, at the size its patch names and at two more, LAUNCHES checked launches each. A
 * child that does not come back is killed; the next one starts with a fresh context. */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/problem.h"

typedef struct {
    const char *name;
    const char *options;    /* as after "# run:" */
    const char *notes;      /* of ptxas, or why it does not compile; "" */
    const char *source;     /* compiler and fingerprint of what was compiled */
    const Chapter *chapter; /* NULL: it does not compile */
} Bug;

/* EACH_BUG(symbol, name, options, notes, source), EACH_MISSING(name, options, notes, source) */
#define EACH_BUG(symbol, ...) extern const Chapter symbol;
#define EACH_MISSING(...)
#include "bugs.inc"
#undef EACH_BUG
#undef EACH_MISSING
#define EACH_BUG(symbol, ...) {__VA_ARGS__, &symbol},
#define EACH_MISSING(...) {__VA_ARGS__, NULL},
static const Bug bugs[] = {
#include "bugs.inc"
};

enum {
    BUGS = sizeof bugs / sizeof bugs[0],
    SIZES = 3, /* the patch's own, and these */
    LAUNCHES = 100,
    SETUP_MS = 20000, /* for the context and the reference */
    RUN_MS = 1000,    /* for all launches of a size, which take 10 to 100 ms */
    TEXT = 256,
};

static const struct { int m, n, k; } more_sizes[SIZES - 1] = {{1024, 1024, 1024}, {3000, 5000, 1000}};

/* What a child tells its parent, in memory that they share. */
static struct {
    volatile int size;    /* that it is at */
    volatile int started; /* its launches have begun */
    char outcome[SIZES][2 * TEXT];
} * told;

/* ---- child ---- */

/* The options of a bug at one of its sizes. Their texts stay until the next call. */
static int options_of(const Bug *bug, int size, Options *options) {
    static char line[TEXT], message[OPTIONS_MESSAGE_SIZE];
    char *argv[32] = {"bugs"};
    int argc = 1;
    snprintf(line, sizeof line, "%s", bug->options);
    for (char *word = strtok(line, " "); word && argc < 31; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (!parse_options(argc, argv, options, message)) {
        fprintf(stderr, "%s: %s\n", bug->name, message);
        return 0;
    }
    if (size > 0) {
        options->shape.m = more_sizes[size - 1].m;
        options->shape.n = more_sizes[size - 1].n;
        options->shape.k = more_sizes[size - 1].k;
    }
    options->shape.pad = 8;
    options->shape.kind = bug->chapter ? kind_of(bug->chapter) : KIND_BF16;
    return 1;
}

static void run_size(const Bug *bug, int size, const Backend *backend, const DeviceInfo *device) {
    Options options;
    Problem problem;
    ChapterRun run;
    int wrong = 0;
    double share = 0; /* of the elements, in the last wrong launch */
    if (!options_of(bug, size, &options) || problem_open(&problem, backend, device, options.shape, 1) != GEMM_OK) {
        _exit(1);
    }
    problem.beyond.tuning.variant = options.tuning.variant;
    if (size == 0 && options.sms != DEFAULT_MODEL_SMS) {
        problem.gemm.sm_count = options.sms; /* as many tiles for a CTA as on the model */
    }
    if (options.shared != DEFAULT_MODEL_SHARED) {
        problem.gemm.shared_bytes = options.shared * 1024; /* as for a GPU with less */
    }
    if (problem_fill(&problem, DATA_INTEGERS) != GEMM_OK || run_open(&run, &problem, bug->chapter) != GEMM_OK ||
        backend->synchronise("the reference") != GEMM_OK) {
        _exit(1);
    }
    told->started = 1;
    for (int i = 0; i < LAUNCHES; i++) {
        Tally tally;
        if (run_checked(&run, &tally) != GEMM_OK) {
            _exit(1);
        }
        if (!tally_is_right(&tally)) {
            wrong++;
            share = (double)tally.wrong / ((double)options.shape.m * options.shape.n);
        }
    }
    if (wrong) {
        snprintf(told->outcome[size], 2 * TEXT, "wrong in %d of %d (%.2g of C)", wrong, LAUNCHES, share);
    } else {
        snprintf(told->outcome[size], 2 * TEXT, "right in %d of %d", LAUNCHES, LAUNCHES);
    }
    told->started = 0;
    told->size = size + 1;
    run_close(&run);
    problem_close(&problem);
}

/* Says in `out` what GPU there is; without one, ends the program and leaves no file. */
static void probe(FILE *out, const char *path) {
    Options options;
    DeviceInfo device;
    char why[TEXT] = "";
    fflush(out);
    pid_t pid = fork();
    if (pid == 0) {
        memset(&options, 0, sizeof options);
        if (gpu_backend()->open(&options, NEEDS_SM90A, &device, why, sizeof why) != GEMM_OK) {
            fprintf(stderr, "bugs: %s is needed; found: %s\n", need_text(NEEDS_SM90A), why);
            _exit(GEMM_DEVICE);
        }
        fprintf(out, "# device %s, %d SMs, CUDA %d.%d, driver for CUDA %d.%d\n", device.name, device.sm_count,
                device.runtime_cuda / 1000, device.runtime_cuda % 1000 / 10, device.driver_cuda / 1000,
                device.driver_cuda % 1000 / 10);
        fflush(out);
        _exit(GEMM_OK);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        unlink(path);
        exit(GEMM_DEVICE);
    }
}

/* The sizes from `first` on. Its stderr goes to `errors`. */
static void child(const Bug *bug, int first, FILE *errors) {
    Options options;
    DeviceInfo device;
    char why[TEXT] = "";
    dup2(fileno(errors), STDERR_FILENO);
    const Backend *backend = gpu_backend();
    if (!options_of(bug, 0, &options) || backend->open(&options, NEEDS_SM90A, &device, why, sizeof why) != GEMM_OK) {
        fprintf(stderr, "no GPU: %s\n", why);
        _exit(3);
    }
    for (int size = first; size < SIZES; size++) {
        run_size(bug, size, backend, &device);
    }
    _exit(0);
}

/* ---- parent ---- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The last line of what the child wrote to stderr, without a tab. */
static void last_error(FILE *errors, char text[TEXT]) {
    char line[TEXT];
    snprintf(text, TEXT, "it ended without a word");
    rewind(errors);
    while (fgets(line, sizeof line, errors)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0]) {
            snprintf(text, TEXT, "%s", line);
        }
    }
    for (char *p = text; *p; p++) {
        *p = *p == '\t' ? ' ' : *p;
    }
}

/* Runs a child from size `first` on, and notes how the size ended that it did not get through. Returns the next one to
 * run. */
static int run_child(const Bug *bug, int first) {
    FILE *errors = tmpfile();
    told->size = first;
    told->started = 0;
    pid_t pid = errors ? fork() : -1;
    if (pid < 0) {
        perror("bugs");
        exit(2);
    }
    if (pid == 0) {
        child(bug, first, errors);
    }
    double since = now_ms();
    int seen = -1, ended = 0;
    while (!ended && now_ms() - since < (told->started ? RUN_MS : SETUP_MS)) {
        int at = 2 * told->size + told->started;
        since = at != seen ? now_ms() : since;
        seen = at;
        poll(NULL, 0, 2);
        ended = waitpid(pid, NULL, WNOHANG) == pid;
    }
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    int size = told->size;
    if (size < SIZES && ended) {
        char text[TEXT];
        last_error(errors, text);
        snprintf(told->outcome[size++], 2 * TEXT, "trap: %s", text);
    } else if (size < SIZES) {
        snprintf(told->outcome[size++], 2 * TEXT, told->started ? "hang" : "hang before the launch");
    }
    fclose(errors);
    return size;
}

static void run_bug(const Bug *bug, FILE *out) {
    char(*outcome)[2 * TEXT] = told->outcome;
    double start = now_ms();
    int size = 0;
    memset(told, 0, sizeof *told);
    while (bug->chapter && size < SIZES) {
        size = run_child(bug, size);
        /* Two hangs tell enough, and a third costs as much again. */
        if (size == SIZES - 1 && strcmp(outcome[0], "hang") == 0 && strcmp(outcome[1], "hang") == 0) {
            snprintf(outcome[size++], 2 * TEXT, "not run");
        }
    }
    fprintf(out, "%s", bug->name);
    for (int i = 0; i < SIZES && bug->chapter; i++) {
        Options options = {.shape = {0}};
        options_of(bug, i, &options);
        fprintf(out, "\t%dx%dx%d: %s", options.shape.m, options.shape.n, options.shape.k, outcome[i]);
    }
    fprintf(out, "%s%s\tsource: %s\n", bug->notes[0] ? "\tnotes: " : "", bug->notes, bug->source);
    fflush(out);
    fprintf(stderr, "%-50s %.1f s  %s | %s | %s\n", bug->name, (now_ms() - start) / 1e3, outcome[0], outcome[1],
            outcome[2]);
}

static int is_wanted(const char *name, int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return 1;
        }
    }
    return argc <= 2;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s OUTFILE [NAME...]\n", argv[0]);
        return GEMM_USAGE;
    }
    for (int i = 2; i < argc; i++) {
        int known = 0;
        for (int j = 0; j < BUGS; j++) {
            known |= strcmp(argv[i], bugs[j].name) == 0;
        }
        if (!known) {
            fprintf(stderr, "bugs: there is no bug \"%s\"\n", argv[i]);
            return GEMM_USAGE;
        }
    }
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *out = told != MAP_FAILED ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, "bugs: \"%s\" cannot be written\n", argv[1]);
        return GEMM_USAGE;
    }
    char date[16];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    fprintf(out, "# date %s, %d launches a size\n", date, LAUNCHES);
    probe(out, argv[1]);
    for (int i = 0; i < BUGS; i++) {
        if (is_wanted(bugs[i].name, argc, argv)) {
            run_bug(&bugs[i], out);
        }
    }
    return fclose(out) == 0 ? GEMM_OK : GEMM_USAGE;
}
