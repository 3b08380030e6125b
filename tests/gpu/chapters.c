/* chapters - runs the chapters on a GPU over sizes that reach every edge, and prints TAP. Without a GPU it skips.
 *
 *     chapters          the harness's kernels, then all chapters
 *     chapters 08 11    these chapters; for one size of one chapter:
 *                       make run-08 ARGS="--on gpu --repeat 1000 --m 1000 ..." */
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

static const Backend *backend;
static DeviceInfo device;
static int chosen[CHAPTERS];

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

/* Is the chapter chosen, of this kind, and not before the number `from`? */
static int takes_part(int i, Kind kind, const char *from) {
    return chosen[i] && kind_of(chapters[i]) == kind && strncmp(chapters[i]->name, from, 2) >= 0;
}

static void test_shape(Shape shape, const char *from, int repeat) {
    char message[OPTIONS_MESSAGE_SIZE];
    int wanted = 0;
    for (int i = 0; i < CHAPTERS; i++) {
        if (takes_part(i, shape.kind, from)) {
            wanted = 1;
            if (!problem_fits(shape, chapters[i], &device, message)) {
                skip(kind_record(shape.kind)->name, message);
                return;
            }
        }
    }
    if (!wanted) {
        return;
    }
    Problem p;
    stop_if_failed(problem_open(&p, backend, &device, shape, 1), "problem_open");
    for (DataKind data = 0; data < DATA_ZEROS; data++) {
        if (data == DATA_INTEGERS && shape.k > kind_max_exact_k(shape.kind)) {
            continue;
        }
        stop_if_failed(problem_fill(&p, data), "problem_fill");
        for (int i = 0; i < CHAPTERS; i++) {
            if (takes_part(i, shape.kind, from)) {
                test_chapter(&p, chapters[i], repeat);
            }
        }
    }
    problem_close(&p);
}

/* The chapters of every kind; with padded rows also several experts. */
static void test_size(Size size, int pad, const char *from, int repeat) {
    for (Kind kind = 0; kind < KINDS; kind++) {
        test_shape((Shape){size.m, size.n, size.k, pad, kind, kind == KIND_W4A8 && pad ? 5 : 1, {0}}, from, repeat);
    }
}

int main(int argc, char **argv) {
    for (int word = argc == 1 ? 0 : 1; word < argc; word++) {
        int known = word == 0;
        for (int i = 0; i < CHAPTERS; i++) {
            int is_it = word == 0 || (strlen(argv[word]) == 2 && strncmp(argv[word], chapters[i]->name, 2) == 0);
            chosen[i] |= is_it;
            known |= is_it;
        }
        if (!known) {
            fprintf(stderr, "\"%s\" is not a chapter; 01 to %.2s are accepted\n", argv[word],
                    chapters[CHAPTERS - 1]->name);
            return GEMM_USAGE;
        }
    }
    backend = gpu_backend();
    static const GpuNeed wishes[] = {NEEDS_SM90A, NEEDS_SM90, NEEDS_SM80};
    static const Options options;
    char why[OPTIONS_MESSAGE_SIZE] = "";
    GemmStatus status = GEMM_DEVICE;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0] && status != GEMM_OK; i++) {
        status = backend->open(&options, wishes[i], &device, why, sizeof why);
    }
    if (status != GEMM_OK) {
        skip_all(why);
    }
    printf("# %s, %d SMs\n", device.name, device.sm_count);
    if (argc == 1) {
        check_backend(backend, &device);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_size(sizes[i], 0, "01", 1);
        test_size(sizes[i], 8, "01", 1);
    }
    /* The chapters whose warpgroups run apart: the order of their additions must not depend on timing. */
    test_size((Size){1000, 1000, 1000}, 8, "07", REPEATS);
    backend->close();
    return tap_done();
}
