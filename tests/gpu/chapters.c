/* chapters - runs the chapters on a GPU over sizes that reach every edge, and prints TAP. Without a GPU it skips.
 *
 *     chapters                                          the harness's kernels, then all chapters over all sizes
 *     chapters --chapter 08 --m 1000 --n 1000 --k 1000 --repeat 1000
 *                                                       one chapter, one size, 1000 launches with equal bits
 *
 * --chapter N may be given more than once; the other options are those of every chapter's program. */
#include "backend_checks.h"
#include "harness/problem.h"

/* The chapters that the Makefile found, by their numbers. */
#define EACH_CHAPTER(id) extern const Chapter gpu_chapter_##id;
#include "chapters.inc"
#undef EACH_CHAPTER
#define EACH_CHAPTER(id) &gpu_chapter_##id,
static const Chapter *const chapters[] = {
#include "chapters.inc"
};

enum { CHAPTERS = sizeof chapters / sizeof chapters[0], REPEATS = 1000 };

typedef struct {
    int m, n, k;
} Size;

/* One element, one row, one step; each edge alone; a little more and less than the tiles of 64, 128 and 256; K shorter
 * than a pipeline and longer than any; fewer tiles than SMs and more; nothing a multiple of anything. */
static const Size sizes[] = {
    {1, 1, 1},          {1, 1, 8192},    {7, 13, 1},        {64, 64, 64},       {127, 255, 63},
    {128, 256, 64},     {129, 257, 65},  {255, 129, 4097},  {333, 777, 555},    {16, 8192, 8192},
    {1000, 1000, 1000}, {8192, 16, 128}, {8191, 8193, 257}, {4096, 4096, 4096},
};

static const Size repeated_size = {1000, 1000, 1000};

static const Backend *backend;
static DeviceInfo device;

/* After a failed CUDA call the device answers nothing more: the rest would only repeat it. */
static void stop_if_failed(GemmStatus status, const char *what) {
    if (status != GEMM_OK) {
        printf("Bail out! %s: status %d\n", what, (int)status);
        exit((int)status);
    }
}

/* `repeat` checked launches, which must agree in every bit. */
static void test_chapter(const Problem *p, const Chapter *chapter, int repeat) {
    char name[128];
    char experts[32] = "";
    if (p->shape.experts > 1) {
        snprintf(experts, sizeof experts, ", %d experts", p->shape.experts);
    }
    snprintf(name, sizeof name, "%s at %d x %d x %d, %s, rows of %d, %d and %d%s%s", chapter->name, p->gemm.m,
             p->gemm.n, p->gemm.k, data_names[p->data], p->gemm.lda, p->gemm.ldb, p->gemm.ldc, experts,
             repeat > 1 ? ", repeated" : "");
    if (!need_is_met(chapter->needs, device.capability, device.shared_bytes)) {
        char reason[128];
        snprintf(reason, sizeof reason, "needs %s", need_text(chapter->needs));
        skip(name, reason);
        return;
    }
    ChapterRun run;
    stop_if_failed(run_open(&run, p, chapter), name);
    Tally tally;
    uint64_t first = 0;
    int right = 0, same = 0;
    for (int i = 0; i < repeat; i++) {
        stop_if_failed(run_checked(&run, &tally), name);
        first = i == 0 ? tally.fingerprint : first;
        same += tally.fingerprint == first;
        if (!tally_is_right(&tally)) {
            break;
        }
        right++;
    }
    if (!ok(right == repeat && same == repeat, "%s", name)) {
        diag("%d of %d launches right, %d with the bits of the first", right, repeat, same);
        if (right < repeat) {
            problem_explain(p, &tally, stderr);
        }
    }
    run_close(&run);
}

/* 1 if all chosen chapters of the shape's kind have room; else 0 and one line in `message`. */
static int fits(Shape shape, const unsigned char *chosen, char message[OPTIONS_MESSAGE_SIZE]) {
    for (int i = 0; i < CHAPTERS; i++) {
        if (chosen[i] && chapters[i]->kind == shape.kind && !problem_fits(shape, chapters[i], &device, message)) {
            return 0;
        }
    }
    return 1;
}

static int is_wanted(Kind kind, const unsigned char *chosen) {
    for (int i = 0; i < CHAPTERS; i++) {
        if (chosen[i] && chapters[i]->kind == kind) {
            return 1;
        }
    }
    return 0;
}

static void test_shape(Shape shape, const Options *options, const unsigned char *chosen, int repeat) {
    char message[OPTIONS_MESSAGE_SIZE];
    if (!fits(shape, chosen, message)) {
        skip(shape.kind == KIND_BF16 ? "all chapters" : kind_names[shape.kind], message);
        return;
    }
    Problem p;
    stop_if_failed(problem_open(&p, backend, &device, shape, options->seed), "problem_open");
    for (DataKind data = 0; data < DATA_KINDS; data++) {
        if (!(options->data & 1u << data) || (data == DATA_INTEGERS && shape.k > kind_max_exact_k(shape.kind))) {
            continue;
        }
        stop_if_failed(problem_fill(&p, data), "problem_fill");
        for (int i = 0; i < CHAPTERS; i++) {
            if (chosen[i] && chapters[i]->kind == shape.kind) {
                test_chapter(&p, chapters[i], repeat);
            }
        }
    }
    problem_close(&p);
}

/* The chosen chapters of every kind; with padded rows also several experts. */
static void test_size(Size size, const Options *options, int pad, const unsigned char *chosen, int repeat) {
    for (Kind kind = 0; kind < KINDS; kind++) {
        if (is_wanted(kind, chosen)) {
            int experts = options->shape.experts ? options->shape.experts : pad ? 5 : 1;
            Shape shape = {size.m, size.n, size.k, pad, kind, kind == KIND_W4A8 ? experts : 1, options->shape.heads};
            test_shape(shape, options, chosen, repeat);
        }
    }
}

/* Marks the chapter with number or name `text`; exits if there is none. */
static void choose(const char *text, unsigned char *chosen) {
    for (int i = 0; i < CHAPTERS; i++) {
        if (strcmp(text, chapters[i]->name) == 0 || (strlen(text) == 2 && strncmp(text, chapters[i]->name, 2) == 0)) {
            chosen[i] = 1;
            return;
        }
    }
    fprintf(stderr, "--chapter: \"%s\" is not a chapter; 01 to %.2s is accepted\n", text, chapters[CHAPTERS - 1]->name);
    exit(GEMM_USAGE);
}

/* Takes --chapter out of argv. Returns the new argc. */
static int take_chapters(int argc, char **argv, unsigned char *chosen) {
    int kept = 0, any = 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--chapter") == 0 && i + 1 < argc) {
            choose(argv[++i], chosen);
            any = 1;
        } else {
            argv[kept++] = argv[i];
        }
    }
    if (!any) {
        memset(chosen, 1, CHAPTERS);
    }
    return kept;
}

int main(int argc, char **argv) {
    unsigned char chosen[CHAPTERS] = {0}, ring[CHAPTERS] = {0};
    int given = argc > 1;
    argc = take_chapters(argc, argv, chosen);
    Options options;
    char message[OPTIONS_MESSAGE_SIZE], why[OPTIONS_MESSAGE_SIZE] = "";
    if (!parse_options(argc, argv, &options, message)) {
        fprintf(stderr, "%s\n", message);
        return GEMM_USAGE;
    }
    if (options.help) {
        printf("usage: %s [--chapter NN ...] [options of a chapter's program]\n", argv[0]);
        return GEMM_OK;
    }

    backend = gpu_backend();
    static const GpuNeed wishes[] = {NEEDS_SM90A, NEEDS_SM90, NEEDS_SM80};
    GemmStatus status = GEMM_DEVICE;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0] && status != GEMM_OK; i++) {
        status = backend->open(&options, wishes[i], &device, why, sizeof why);
    }
    if (status != GEMM_OK) {
        skip_all(why);
    }
    printf("# %s, %d SMs\n", device.name, device.sm_count);

    if (options.shape.m || options.shape.n || options.shape.k) {
        Size size = {options.shape.m ? options.shape.m : 1, options.shape.n ? options.shape.n : 1,
                     options.shape.k ? options.shape.k : 1};
        int pad = options.shape.pad < 0 ? 8 : options.shape.pad;
        for (Kind kind = 0; kind < KINDS; kind++) {
            Shape shape = {size.m,
                           size.n,
                           size.k,
                           pad,
                           kind,
                           options.shape.experts ? options.shape.experts : 1,
                           options.shape.heads};
            if (is_wanted(kind, chosen) && !fits(shape, chosen, message)) {
                fprintf(stderr, "%s\n", message);
                return GEMM_USAGE;
            }
        }
        test_size(size, &options, pad, chosen, options.repeat);
    } else {
        if (!given) {
            check_backend(backend, &device);
        }
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (int pad = 0; pad <= 8; pad += 8) {
                if (options.shape.pad < 0 || options.shape.pad == pad) {
                    test_size(sizes[i], &options, pad, chosen, options.repeat);
                }
            }
        }
    }
    if (!given) {
        /* The chapters whose warpgroups run apart, 07 and later: the order of their additions must not depend on timing. */
        for (int i = 0; i < CHAPTERS; i++) {
            ring[i] = strncmp(chapters[i]->name, "07", 2) >= 0;
        }
        test_size(repeated_size, &options, 8, ring, REPEATS);
    }
    backend->close();
    return tap_done();
}
