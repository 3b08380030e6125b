/* cost.c - what recording events costs on a GPU: each chapter against its traced copy, interleaved, with pauses.
 *
 *     cost [--csv FILE] [--rounds R]
 *
 * A sample is the third of three launches behind each other, timed from right before its kernel. Every traced result is
 * checked. Writes rows gpu,date,commit,m,n,k,kernel,untraced_us,traced_us,slower_percent,events,lost,busy_percent,
 * flop_percent: the time in which one SM's tensor cores had work by the events, and by the FLOP that they did. Exits 1 if the
 * two differ by more than a tenth in 06 to 08, where the events know when products end. */
#include <getopt.h>
#include <time.h>

#include "harness/problem.h"
#include "timeline/recording.h"
#include "harness/report.h"
#include "harness/timing.h"

typedef struct {
    const Chapter *plain, *traced;
} Pair;

#define EACH_CHAPTER(id) extern const Chapter gpu_chapter_##id, gpu_traced_chapter_##id;
#include "chapters.inc"
#undef EACH_CHAPTER
#define EACH_CHAPTER(id) {&gpu_chapter_##id, &gpu_traced_chapter_##id},
static const Pair pairs[] = {
#include "chapters.inc"
};
enum { PAIRS = sizeof pairs / sizeof pairs[0], BEFORE = 2 };

static const int shapes[][3] = {{4096, 4096, 1024}, {4096, 4096, 4096}};

static void stop_if_failed(GemmStatus status) {
    if (status != GEMM_OK) {
        exit((int)status);
    }
}

/* Microseconds of one launch behind BEFORE others. */
static double sample(const Backend *backend, ChapterRun *run, int traced) {
    struct timespec pause = {0, PAUSE_MS * 1000000L};
    nanosleep(&pause, NULL);
    for (int i = 0; i <= BEFORE; i++) {
        if (!traced) {
            stop_if_failed(backend->record(TRACE_SLOT));
        }
        stop_if_failed(run_launch(run));
        stop_if_failed(backend->record(0));
    }
    double ms = 0;
    stop_if_failed(backend->elapsed_ms(TRACE_SLOT, 0, &ms));
    return ms * 1e3;
}

/* The two shares; `trace` is used up. */
static void shares(Trace *trace, const Pair *pair, const ChapterRun *run, const DeviceInfo *device, double *busy,
                   double *flop) {
    Recording r = {.trace = *trace, .m = run->gemm.m, .n = run->gemm.n, .k = run->gemm.k, .sms = device->sm_count};
    uint64_t begin, end;
    snprintf(r.chapter, sizeof r.chapter, "%s", pair->plain->name);
    if (pair->plain->describe) {
        pair->plain->describe(&run->gemm, r.kernel, sizeof r.kernel);
    }
    recording_keep_sm(&r, -1, 0);
    recording_span(&r, &begin, &end);
    *busy = recording_busy(&r, -1, begin, end) * 100;
    *flop = recording_efficiency(&r) * 100;
    trace_free_events(&r.trace);
}

static int disagreements;

static void measure(const Backend *backend, const DeviceInfo *device, const Problem *problem, const Pair *pair,
                    int rounds, FILE *csv, const char *date) {
    static double plain_us[MAX_ROUNDS], traced_us[MAX_ROUNDS];
    ChapterRun plain, traced;
    Tally tally;
    Trace trace;
    stop_if_failed(run_open(&plain, problem, pair->plain));
    stop_if_failed(run_open(&traced, problem, pair->traced));
    if (strncmp(pair->plain->name, "08", 2) == 0 && problem->gemm.k < problem->gemm.m) {
        plain.gemm.tuning.variant = traced.gemm.tuning.variant =
            "pingpong_128x192"; /* as in the picture, see tests/timeline/picture */
    }
    stop_if_failed(backend->trace_begin());
    stop_if_failed(run_checked(&traced, &tally));
    if (!tally_is_right(&tally)) {
        fprintf(stderr, "the traced copy of %s gives a wrong result\n", pair->plain->name);
        exit(GEMM_WRONG);
    }
    stop_if_failed(backend->trace_end(&trace));
    for (int i = 0; i < rounds; i++) {
        plain_us[i] = sample(backend, &plain, 0);
        traced_us[i] = sample(backend, &traced, 1);
    }
    size_t events = trace.count;
    double busy, flop;
    shares(&trace, pair, &traced, device, &busy, &flop);
    if (pair->plain->needs == NEEDS_SM90A && !(busy <= 1.1 * flop && flop <= 1.1 * busy)) {
        fprintf(stderr,
                "%s: the tensor cores had work in %.1f %% of the time by the events, in %.1f %% by their FLOP\n",
                pair->plain->name, busy, flop);
        disagreements++;
    }
    Spread p = spread_of(plain_us, rounds), t = spread_of(traced_us, rounds);
    const Gemm *g = &problem->gemm;
    printf("%-26s %5d x %5d x %5d  %9.1f us, traced %9.1f us: %+5.1f %%, %zu events of one SM, %llu lost, busy %.1f "
           "%%, by FLOP %.1f %%\n",
           pair->plain->name, g->m, g->n, g->k, p.median, t.median, (t.median / p.median - 1) * 100, events,
           (unsigned long long)trace.lost, busy, flop);
    fflush(stdout);
    fprintf(csv, "%s,%s,%s,%d,%d,%d,%.2s,%.1f,%.1f,%.1f,%zu,%llu,%.1f,%.1f\n", device->name, date, commit_name(), g->m,
            g->n, g->k, pair->plain->name, p.median, t.median, (t.median / p.median - 1) * 100, events,
            (unsigned long long)trace.lost, busy, flop);
    run_close(&traced);
    run_close(&plain);
}

int main(int argc, char *argv[]) {
    static const struct option known[] = {
        {"csv", required_argument, NULL, 'c'}, {"rounds", required_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
    const char *path = NULL;
    uint64_t rounds = DEFAULT_ROUNDS;
    char message[OPTIONS_MESSAGE_SIZE];
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'c') {
            path = optarg;
        } else if (option != 'r' || !parse_number("--rounds", optarg, 1, MAX_ROUNDS, &rounds, message)) {
            fprintf(stderr, "%s\n", option == 'r' ? message : "usage: cost [--csv FILE] [--rounds R]");
            return GEMM_USAGE;
        }
    }
    Options options;
    char *no_arguments[] = {argv[0], NULL};
    char why[256], date[16];
    DeviceInfo device;
    const Backend *backend = gpu_backend();
    if (!parse_options(1, no_arguments, &options, message) ||
        backend->open(&options, NEEDS_SM90A, &device, why, sizeof why) != GEMM_OK) {
        fprintf(stderr, "needs %s; found: %s\n", need_text(NEEDS_SM90A), why);
        return GEMM_DEVICE;
    }
    FILE *csv = path ? fopen(path, "w") : stdout;
    if (csv == NULL) {
        fprintf(stderr, "--csv: \"%s\" cannot be written\n", path);
        return GEMM_USAGE;
    }
    fprintf(
        csv,
        "gpu,date,commit,m,n,k,kernel,untraced_us,traced_us,slower_percent,events,lost,busy_percent,flop_percent\n");
    today(date);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        Problem problem;
        stop_if_failed(
            problem_open(&problem, backend, &device, (Shape){shapes[s][0], shapes[s][1], shapes[s][2], 0}, 1));
        stop_if_failed(problem_fill(&problem, DATA_NORMAL));
        for (int i = 0; i < PAIRS; i++) {
            measure(backend, &device, &problem, &pairs[i], (int)rounds, csv, date);
        }
        problem_close(&problem);
    }
    backend->close();
    return csv != stdout && fclose(csv) != 0 ? GEMM_USAGE : disagreements > 0 ? GEMM_WRONG : GEMM_OK;
}
