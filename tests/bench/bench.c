/* bench.c - all chapters, cuBLAS and the best of cuBLASLt's proposals in one process, interleaved, over many shapes.
 *
 * Every kernel's result is checked at every shape before it is timed, and what the last timed launch left is checked
 * again; a wrong one gets FAIL instead of a figure, and the bench exits 1.
 *
 * A peer to compare with needs one object file more: a source that includes common/gemm.h and defines
 *
 *     CHAPTER(peer) = {.name = "its name", .adds = "", .needs = NEEDS_SM90A, .launch = its_launch};
 *
 * (or peer2, peer3), compiled by nvcc with -Icommon and linked: `make bench LDFLAGS=peer.o`. */
#include <errno.h>
#include <getopt.h>
#include <sys/stat.h>

#include "harness/cublas.h"
#include "harness/report.h"

#define EACH_CHAPTER(id) extern const Chapter gpu_chapter_##id;
#include "chapters.inc"
#undef EACH_CHAPTER
extern const Chapter gpu_chapter_peer __attribute__((weak));
extern const Chapter gpu_chapter_peer2 __attribute__((weak));
extern const Chapter gpu_chapter_peer3 __attribute__((weak));

enum {
    MAX_KERNELS = 16,
    MAX_SHAPES = 64,
    PROPOSAL_ROUNDS = 2,       /* samples of each cuBLASLt proposal, to find the best */
    SLOWEST_LAUNCH_MS = 1000,  /* what takes longer is checked but not timed */
    COMPUTE_BOUND_FROM = 2048, /* the summary counts shapes with M, N and K of this or more */
};

typedef enum { IS_CHAPTER, IS_CUBLAS, IS_CUBLASLT } Kind;

typedef struct {
    char name[24];
    Kind kind;
    const Chapter *chapter;
} Kernel;

/* What became of one kernel at one shape. */
typedef struct {
    double tflops;       /* 0 if there is no figure */
    double vs_cublas;    /* 0 if there is no figure */
    const char *instead; /* printed where there is none: "FAIL", "slow", "-" */
} Outcome;

typedef struct {
    Kernel kernels[MAX_KERNELS];
    int kernel_count;
    Shape shapes[MAX_SHAPES];
    int shape_count;
    int rounds;
    double sustained_s; /* 0: with pauses */
    const char *csv_path;
    const char *commit;
    uint64_t seed;
    Outcome outcomes[MAX_SHAPES][MAX_KERNELS];
    DeviceInfo device;
    const Backend *backend;
    Nvml *nvml;
    Cublas *cublas;
    FILE *csv;
    char date[16];
    int failures;
} Bench;

static const char default_shapes[] = "8192x8192x8192,4096x4096x4096,2048x2048x2048,1024x1024x1024,16384x16384x16384,"
                                     "4096x14336x4096,8192x7168x2048,4096x4096x14336,512x7168x7168,128x8192x8192";
static const char sustained_shapes[] = "8192x8192x8192";

static void print_bench_usage(FILE *out) {
    fprintf(out,
            "usage: bench [options]\n"
            "  --shapes LIST     MxNxK,... or single sizes for cubes (default: the environment's SHAPES, else\n"
            "                    ten shapes; one for --sustained)\n"
            "  --kernels LIST    of 01, 02, ..., cublas, cublaslt and peers (default: all)\n"
            "  --rounds R        samples of each kernel and shape (default %d)\n"
            "  --sustained[=S]   no pauses, S seconds a kernel (default 10); also SUSTAINED=1 in the environment\n"
            "  --csv FILE        append the rows there (default: tests/bench/results/<gpu>_<date>.csv)\n"
            "  --commit NAME     for the rows (default: the environment's COMMIT, else unknown)\n"
            "  --seed S          for the data (default 1)\n"
            "  --help            this text\n",
            DEFAULT_ROUNDS);
}

/* ---- arguments ---- */

static void add_kernel(Bench *bench, const char *name, Kind kind, const Chapter *chapter) {
    Kernel *kernel = &bench->kernels[bench->kernel_count++];
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->kind = kind;
    kernel->chapter = chapter;
}

static void add_chapter(Bench *bench, const Chapter *chapter) {
    char number[3];
    snprintf(number, sizeof number, "%.2s", chapter->name);
    add_kernel(bench, number, IS_CHAPTER, chapter);
}

static void add_all_kernels(Bench *bench) {
#define EACH_CHAPTER(id) add_chapter(bench, &gpu_chapter_##id);
#include "chapters.inc"
#undef EACH_CHAPTER
    const Chapter *const peers[] = {&gpu_chapter_peer, &gpu_chapter_peer2, &gpu_chapter_peer3};
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        if (peers[i]) {
            add_kernel(bench, peers[i]->name, IS_CHAPTER, peers[i]);
        }
    }
    add_kernel(bench, "cublas", IS_CUBLAS, NULL);
    add_kernel(bench, "cublaslt", IS_CUBLASLT, NULL);
}

/* The next word of a list separated by commas or blanks; returns 0 at its end. */
static int next_word(const char **list, char word[64]) {
    *list += strspn(*list, ", \t\n");
    size_t length = strcspn(*list, ", \t\n");
    snprintf(word, 64, "%.*s", (int)(length < 63 ? length : 63), *list);
    *list += length;
    return length > 0;
}

/* "8192x7168x2048" or "4096". */
static int parse_shape(const char *name, const char *word, Shape *shape, char message[OPTIONS_MESSAGE_SIZE]) {
    int *sizes[] = {&shape->m, &shape->n, &shape->k};
    int parts = 0;
    const char *at = word;
    do {
        char part[64];
        uint64_t value;
        size_t length = strcspn(at, "x");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        if (parts == 3) {
            parts++;
            break;
        }
        if (!parse_number(name, part, 1, MAX_SIZE, &value, message)) {
            return 0;
        }
        *sizes[parts++] = (int)value;
        at += length;
    } while (*at++ == 'x');
    if (parts == 1) {
        shape->n = shape->k = shape->m;
    } else if (parts != 3) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: \"%.40s\" is no shape; MxNxK or one size is accepted", name, word);
        return 0;
    }
    return 1;
}

static int parse_shapes(Bench *bench, const char *name, const char *list, char message[OPTIONS_MESSAGE_SIZE]) {
    char word[64];
    bench->shape_count = 0;
    while (next_word(&list, word)) {
        if (bench->shape_count == MAX_SHAPES) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: at most %d shapes are accepted", name, MAX_SHAPES);
            return 0;
        }
        if (!parse_shape(name, word, &bench->shapes[bench->shape_count++], message)) {
            return 0;
        }
    }
    if (bench->shape_count == 0) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: the list is empty; MxNxK,... is accepted", name);
    }
    return bench->shape_count > 0;
}

/* Keeps the kernels named in the list. */
static int parse_kernels(Bench *bench, const char *list, char message[OPTIONS_MESSAGE_SIZE]) {
    int wanted[MAX_KERNELS] = {0}, kept = 0;
    char word[64];
    while (next_word(&list, word)) {
        int index = 0;
        while (index < bench->kernel_count && strcmp(bench->kernels[index].name, word) != 0) {
            index++;
        }
        if (index == bench->kernel_count) {
            int used = snprintf(message, OPTIONS_MESSAGE_SIZE, "--kernels: \"%.40s\" is not known; accepted are", word);
            for (int i = 0; i < bench->kernel_count && used < OPTIONS_MESSAGE_SIZE; i++) {
                used += snprintf(message + used, (size_t)(OPTIONS_MESSAGE_SIZE - used), " %s", bench->kernels[i].name);
            }
            return 0;
        }
        wanted[index] = 1;
    }
    for (int i = 0; i < bench->kernel_count; i++) {
        if (wanted[i]) {
            bench->kernels[kept++] = bench->kernels[i];
        }
    }
    if (kept == 0) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "--kernels: the list is empty");
        return 0;
    }
    bench->kernel_count = kept;
    return 1;
}

/* Reads arguments and environment. Returns 1, 0 with a message, or -1 for --help. */
static int parse_bench(int argc, char *argv[], Bench *bench, char message[OPTIONS_MESSAGE_SIZE]) {
    static const struct option long_options[] = {
        {"shapes", required_argument, NULL, 's'},
        {"kernels", required_argument, NULL, 'k'},
        {"rounds", required_argument, NULL, 'r'},
        {"sustained", optional_argument, NULL, 'u'},
        {"csv", required_argument, NULL, 'c'},
        {"commit", required_argument, NULL, 'm'},
        {"seed", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *shapes = getenv("SHAPES"), *shapes_name = "SHAPES", *sustained = getenv("SUSTAINED");
    uint64_t number;
    int option, good = 1;
    bench->rounds = DEFAULT_ROUNDS;
    bench->seed = 1;
    bench->commit = commit_name();
    bench->sustained_s = sustained && *sustained && strcmp(sustained, "0") != 0 ? 10 : 0;
    opterr = 0;
    while (good && (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        switch (option) {
        case 's':
            shapes = optarg;
            shapes_name = "--shapes";
            break;
        case 'k': good = parse_kernels(bench, optarg, message); break;
        case 'r':
            good = parse_number("--rounds", optarg, 1, MAX_ROUNDS, &number, message);
            bench->rounds = good ? (int)number : 0;
            break;
        case 'u':
            number = 10;
            good = !optarg || parse_number("--sustained", optarg, 1, 600, &number, message);
            bench->sustained_s = (double)number;
            break;
        case 'c': bench->csv_path = optarg; break;
        case 'm': bench->commit = optarg; break;
        case 'd': good = parse_number("--seed", optarg, 0, UINT64_MAX, &bench->seed, message); break;
        case 'h': return -1;
        default:
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: %s", argv[optind - 1],
                     option == ':' ? "its value is missing" : "not accepted; --help lists what is");
            good = 0;
        }
    }
    if (good && optind < argc) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "\"%.60s\": not an option; --help lists what is accepted",
                 argv[optind]);
        good = 0;
    }
    if (good && !(shapes && *shapes)) {
        shapes = bench->sustained_s > 0 ? sustained_shapes : default_shapes;
    }
    return good && parse_shapes(bench, shapes_name, shapes, message);
}

/* ---- one shape ---- */

/* What holds a kernel's launch function together with its context, for the time of one shape. */
typedef struct {
    ChapterRun chapter;
    CublasRun cublas;
    CublasLt *lt;
} Runner;

static void show_progress(int round, int rounds) {
    fprintf(stderr, "\r  round %d of %d ", round + 1, rounds);
    if (round + 1 == rounds) {
        fprintf(stderr, "\r%30s\r", "");
    }
}

/* Poison, launch, wait and compare, for what is not a chapter. */
static GemmStatus check_launch(const Problem *problem, const Contestant *contestant, Tally *tally) {
    GemmStatus status = problem_poison(problem);
    if (status == GEMM_OK) {
        status = contestant->launch(contestant->context);
    }
    if (status == GEMM_OK) {
        status = problem->backend->synchronise(contestant->name);
    }
    return status == GEMM_OK ? problem_check(problem, tally) : status;
}

/* Chooses cuBLASLt's fastest proposal; wrong ones and those it cannot run are passed over. */
static GemmStatus choose_proposal(Bench *bench, const Problem *problem, CublasLt *lt, const char **instead) {
    static Contestant proposal;
    double best_ms = 0;
    int best = -1;
    for (int i = 0; i < cublaslt_count(lt); i++) {
        Tally tally;
        memset(&proposal, 0, sizeof proposal);
        snprintf(proposal.name, sizeof proposal.name, "cublaslt");
        proposal.launch = cublaslt_launch;
        proposal.context = lt;
        cublaslt_choose(lt, i);
        fprintf(stderr, "\r  cuBLASLt proposal %d of %d ", i + 1, cublaslt_count(lt));
        GemmStatus status = check_launch(problem, &proposal, &tally);
        if (status != GEMM_OK || !tally_is_right(&tally)) {
            continue;
        }
        status = measure_interleaved(problem, &proposal, 1, PROPOSAL_ROUNDS, NULL);
        if (status != GEMM_OK) {
            return status;
        }
        double ms = spread_of(proposal.ms, proposal.samples).median;
        if (best < 0 || ms < best_ms) {
            best = i;
            best_ms = ms;
        }
    }
    fprintf(stderr, "\r%40s\r", "");
    *instead = best < 0 ? "FAIL" : NULL;
    bench->failures += best < 0;
    cublaslt_choose(lt, best < 0 ? 0 : best);
    return GEMM_OK;
}

/* Prepares and checks one kernel. *instead says why it is not to be timed; NULL: it is. */
static GemmStatus prepare(Bench *bench, const Problem *problem, const Kernel *kernel, Runner *runner,
                          Contestant *contestant, const char **instead) {
    char why[160];
    Tally tally;
    memset(contestant, 0, sizeof *contestant);
    memcpy(contestant->name, kernel->name, sizeof contestant->name);
    *instead = NULL;
    if (kernel->kind == IS_CUBLASLT) {
        runner->lt = cublaslt_open(bench->backend, &problem->gemm, why, sizeof why);
        if (!runner->lt) {
            printf("  cublaslt left out: %s\n", why);
            *instead = "-";
            return GEMM_OK;
        }
        contestant->launch = cublaslt_launch;
        contestant->context = runner->lt;
        return choose_proposal(bench, problem, runner->lt, instead);
    }
    if (kernel->kind == IS_CUBLAS) {
        if (!bench->cublas) {
            *instead = "-";
            return GEMM_OK;
        }
        runner->cublas.cublas = bench->cublas;
        runner->cublas.gemm = problem->gemm;
        contestant->launch = cublas_launch;
        contestant->context = &runner->cublas;
    } else {
        char message[OPTIONS_MESSAGE_SIZE];
        if (!need_is_met(kernel->chapter->needs, bench->device.capability)) {
            *instead = "-";
            return GEMM_OK;
        }
        const Gemm *gemm = &problem->gemm;
        if (!problem_fits((Shape){gemm->m, gemm->n, gemm->k, 0}, kernel->chapter, &bench->device, message)) {
            printf("  %s left out: %s\n", kernel->name, message);
            *instead = "-";
            return GEMM_OK;
        }
        GemmStatus status = run_open(&runner->chapter, problem, kernel->chapter);
        if (status != GEMM_OK) {
            return status;
        }
        contestant->launch = run_launch;
        contestant->context = &runner->chapter;
    }
    double ms = 0;
    GemmStatus status =
        kernel->kind == IS_CHAPTER ? run_checked(&runner->chapter, &tally) : check_launch(problem, contestant, &tally);
    if (status == GEMM_USAGE) { /* it has said what it refuses */
        *instead = "-";
        return GEMM_OK;
    }
    if (status != GEMM_OK) {
        return status;
    }
    if (!tally_is_right(&tally)) {
        printf("  FAIL %s\n", kernel->name);
        bench->failures++;
        *instead = "FAIL";
        return problem_explain(problem, &tally, stdout);
    }
    status = time_once(problem, contestant, &ms);
    if (status == GEMM_OK && ms > SLOWEST_LAUNCH_MS) {
        printf("  %s is right but not timed: one launch takes %.1f s\n", kernel->name, ms / 1e3);
        *instead = "slow";
    }
    return status;
}

static void release(Runner *runner) {
    run_close(&runner->chapter);
    cublaslt_close(runner->lt);
    memset(runner, 0, sizeof *runner);
}

static GemmStatus measure(Bench *bench, const Problem *problem, Contestant *list, int count) {
    if (bench->sustained_s <= 0) {
        return measure_interleaved(problem, list, count, bench->rounds, show_progress);
    }
    GemmStatus status = GEMM_OK;
    for (int i = 0; i < count && status == GEMM_OK; i++) {
        fprintf(stderr, "\r  %s for %.0f s ", list[i].name, bench->sustained_s);
        status = measure_sustained(problem, &list[i], bench->sustained_s, bench->nvml);
    }
    fprintf(stderr, "\r%40s\r", "");
    return status;
}

static void print_result(const Bench *bench, const Contestant *contestant, double flop, double cublas) {
    Spread tflops = tflops_of(contestant, flop);
    printf("  %-10s %8.4g TFLOP/s (%.4g .. %.4g)", contestant->name, tflops.median, tflops.min, tflops.max);
    if (cublas > 0) {
        printf("  %.3f of cuBLAS", tflops.median / cublas);
    }
    if (mhz_of(contestant) > 0) {
        printf("  %.0f MHz", mhz_of(contestant));
    }
    if (watts_of(contestant) > 0) {
        printf("  %.0f W", watts_of(contestant));
    }
    if (bench->sustained_s > 0 && contestant->joules_per_tflop > 0) {
        printf("  %.3f J/TFLOP", contestant->joules_per_tflop);
    }
    putchar('\n');
}

/* Times what is right, prints and stores the figures. */
static GemmStatus time_shape(Bench *bench, const Problem *problem, Contestant *list, int count, const int *kernel_of,
                             Outcome *outcomes) {
    const double flop = flop_of(&problem->gemm);
    const CsvSource source = {bench->device.name, bench->date, bench->commit,
                              bench->sustained_s > 0 ? "sustained" : "paused"};
    double cublas = 0;
    GemmStatus status = measure(bench, problem, list, count);
    if (status != GEMM_OK) {
        return status;
    }
    for (int i = 0; i < count; i++) {
        if (bench->kernels[kernel_of[i]].kind == IS_CUBLAS && tally_is_right(&list[i].after)) {
            cublas = tflops_of(&list[i], flop).median;
        }
    }
    for (int i = 0; i < count; i++) {
        Outcome *outcome = &outcomes[kernel_of[i]];
        if (!tally_is_right(&list[i].after)) {
            printf("  FAIL %s: the result is wrong after timing (%llu elements), before it it was right\n",
                   list[i].name, (unsigned long long)list[i].after.wrong);
            bench->failures++;
            outcome->instead = "FAIL";
            continue;
        }
        print_result(bench, &list[i], flop, cublas);
        outcome->tflops = tflops_of(&list[i], flop).median;
        outcome->vs_cublas = cublas > 0 ? outcome->tflops / cublas : 0;
        csv_row(bench->csv, &source, &problem->gemm, &list[i], cublas);
    }
    return GEMM_OK;
}

static GemmStatus run_shape(Bench *bench, const Shape *shape, Outcome *outcomes) {
    static Contestant list[MAX_KERNELS];
    Runner runners[MAX_KERNELS];
    int kernel_of[MAX_KERNELS], count = 0;
    char message[OPTIONS_MESSAGE_SIZE];
    Problem problem;
    memset(runners, 0, sizeof runners);
    for (int i = 0; i < bench->kernel_count; i++) {
        outcomes[i].instead = "-";
    }
    if (!problem_fits(*shape, NULL, &bench->device, message)) {
        printf("  left out: %s\n", message);
        return GEMM_OK;
    }
    GemmStatus status = problem_open(&problem, bench->backend, &bench->device, *shape, bench->seed);
    if (status != GEMM_OK) {
        return status;
    }
    fprintf(stderr, "\r  data and reference ");
    status = problem_fill(&problem, DATA_NORMAL);
    if (status == GEMM_OK) {
        status = bench->backend->synchronise("reference_kernel");
    }
    for (int i = 0; i < bench->kernel_count && status == GEMM_OK; i++) {
        fprintf(stderr, "\r  checking %-12s ", bench->kernels[i].name);
        status = prepare(bench, &problem, &bench->kernels[i], &runners[count], &list[count], &outcomes[i].instead);
        if (status == GEMM_OK && outcomes[i].instead) {
            release(&runners[count]);
        } else if (status == GEMM_OK) {
            kernel_of[count++] = i;
        }
    }
    fprintf(stderr, "\r%30s\r", "");
    if (status == GEMM_OK && count > 0) {
        status = time_shape(bench, &problem, list, count, kernel_of, outcomes);
    }
    for (int i = 0; i < MAX_KERNELS; i++) {
        release(&runners[i]);
    }
    problem_close(&problem);
    return status;
}

/* ---- the table ---- */

static void print_cell(const Outcome *outcome, double value, const char *format) {
    if (value > 0) {
        printf(format, value);
    } else {
        printf(" %8s", outcome->instead ? outcome->instead : "-");
    }
}

/* Has cuBLAS a figure at any shape? Without it the table has no ratios. */
static int have_cublas(const Bench *bench) {
    for (int s = 0; s < bench->shape_count; s++) {
        for (int i = 0; i < bench->kernel_count; i++) {
            if (bench->kernels[i].kind == IS_CUBLAS && bench->outcomes[s][i].tflops > 0) {
                return 1;
            }
        }
    }
    return 0;
}

static void print_table(const Bench *bench) {
    int kernels = bench->kernel_count, ratios = have_cublas(bench);
    printf("\n%s, commit %s, %s, %s: %s\n%-20s", bench->device.name, bench->commit, bench->date,
           bench->sustained_s > 0 ? "sustained" : "with pauses",
           ratios ? "TFLOP/s of cuBLAS, the others' ratio to it" : "TFLOP/s", "M x N x K");
    for (int i = 0; i < kernels; i++) {
        printf(" %8s", bench->kernels[i].name);
    }
    putchar('\n');
    for (int s = 0; s < bench->shape_count; s++) {
        char shape[40];
        snprintf(shape, sizeof shape, "%dx%dx%d", bench->shapes[s].m, bench->shapes[s].n, bench->shapes[s].k);
        printf("%-20s", shape);
        for (int i = 0; i < kernels; i++) {
            const Outcome *outcome = &bench->outcomes[s][i];
            int absolute = !ratios || bench->kernels[i].kind == IS_CUBLAS;
            print_cell(outcome, absolute ? outcome->tflops : outcome->vs_cublas, absolute ? " %8.4g" : " %8.3f");
        }
        putchar('\n');
    }
    if (!ratios) {
        return;
    }
    /* Geometric mean and least ratio over the shapes large enough to be bound by arithmetic. */
    for (int least = 0; least <= 1; least++) {
        printf("%-20s", least ? "  least of them" : "mean, all >= 2048");
        for (int i = 0; i < kernels; i++) {
            double logs = 0, smallest = 0;
            int count = 0, large = 0;
            for (int s = 0; s < bench->shape_count; s++) {
                const Shape *shape = &bench->shapes[s];
                double ratio = bench->outcomes[s][i].vs_cublas;
                if (min_int(min_int(shape->m, shape->n), shape->k) < COMPUTE_BOUND_FROM) {
                    continue;
                }
                large++;
                if (ratio > 0) {
                    smallest = count == 0 || ratio < smallest ? ratio : smallest;
                    logs += log(ratio);
                    count++;
                }
            }
            char cell[32] = "-";
            if (count > 0) { /* a star where a shape has no figure */
                snprintf(cell, sizeof cell, "%.3f%s", least ? smallest : exp(logs / count), count < large ? "*" : "");
            }
            printf(" %8s", cell);
        }
        putchar('\n');
    }
}

/* "tests/bench/results/nvidia_h200_2026-01-31.csv", below the directory the bench is started in. */
static void default_csv_path(const Bench *bench, char path[256]) {
    char gpu[96];
    size_t used = 0;
    for (const char *p = bench->device.name; *p && used + 1 < sizeof gpu; p++) {
        int letter = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        gpu[used++] = letter ? *p : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : '_';
    }
    gpu[used] = 0;
    snprintf(path, 256, "tests/bench/results/%s_%s.csv", gpu, bench->date);
}

static GemmStatus run_bench(Bench *bench) {
    char path[256], why[256];
    GemmStatus status = GEMM_OK;
    today(bench->date);
    default_csv_path(bench, path);
    if (!bench->csv_path) {
        bench->csv_path = path;
        if (mkdir("tests/bench/results", 0777) != 0 && errno != EEXIST) {
            fprintf(stderr,
                    "tests/bench/results: %s; start the bench at the top of the repository or give --csv FILE\n",
                    strerror(errno));
            return GEMM_USAGE;
        }
    }
    bench->csv = csv_open(bench->csv_path);
    if (!bench->csv) {
        return GEMM_USAGE;
    }
    bench->nvml = nvml_open(bench->device.pci_bus_id, why, sizeof why);
    if (bench->nvml) {
        nvml_driver_version(bench->nvml, bench->device.driver_version, sizeof bench->device.driver_version);
    } else {
        printf("no clock and power readings: %s\n", why);
    }
    bench->cublas = cublas_open(bench->device.stream, why, sizeof why);
    if (!bench->cublas) {
        printf("no comparison with cuBLAS: %s\n", why);
    }
    for (int i = 0; i < bench->kernel_count; i++) {
        const Chapter *chapter = bench->kernels[i].chapter;
        if (chapter && !need_is_met(chapter->needs, bench->device.capability)) {
            printf("%s left out: it needs %s\n", bench->kernels[i].name, need_text(chapter->needs));
        }
    }
    print_device(stdout, &bench->device, bench->cublas ? cublas_version(bench->cublas) : 0);
    for (int s = 0; s < bench->shape_count && status == GEMM_OK; s++) {
        const Shape *shape = &bench->shapes[s];
        printf("%d x %d x %d\n", shape->m, shape->n, shape->k);
        fflush(stdout);
        status = run_shape(bench, shape, bench->outcomes[s]);
        fflush(stdout);
    }
    print_table(bench);
    if (status == GEMM_OK) {
        printf("\nappended to %s; tests/bench/ladder %s draws it\n", bench->csv_path, bench->csv_path);
    }
    cublas_close(bench->cublas);
    nvml_close(bench->nvml);
    if (fclose(bench->csv) != 0) {
        fprintf(stderr, "\"%s\" could not be written: %s\n", bench->csv_path, strerror(errno));
        status = status == GEMM_OK ? GEMM_USAGE : status;
    }
    return status;
}

int main(int argc, char *argv[]) {
    static Bench bench;
    char message[OPTIONS_MESSAGE_SIZE] = "", found[256];
    add_all_kernels(&bench);
    int good = parse_bench(argc, argv, &bench, message);
    if (good < 0) {
        print_bench_usage(stdout);
        return GEMM_OK;
    }
    if (!good) {
        fprintf(stderr, "%s\n", message);
        return GEMM_USAGE;
    }
    Options none;
    memset(&none, 0, sizeof none);
    bench.backend = gpu_backend();
    /* The whole ladder needs Hopper; on another GPU the chapters it can run are timed. */
    GemmStatus status = bench.backend->open(&none, NEEDS_SM90A, &bench.device, found, sizeof found);
    if (status != GEMM_OK) {
        status = bench.backend->open(&none, NEEDS_SM80, &bench.device, found, sizeof found);
    }
    if (status != GEMM_OK) {
        fprintf(stderr, "the bench needs %s; found: %s\n", need_text(NEEDS_SM80), found);
        return (int)status;
    }
    status = run_bench(&bench);
    bench.backend->close();
    return status == GEMM_OK && bench.failures ? GEMM_WRONG : (int)status;
}
