/* mock.c - what the measuring program needs of a GPU, on the CPU, with a clock of its own: a launch takes as long as it
 * says, a pause no time at all. Data, reference and comparison are the model's. Its chapters are right or
 * wrong, hang or fail. For bench.t. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include <signal.h>
#include <time.h>

#include "bench.h"

/* ---- time, in seconds ---- */

static struct {
    double host, gpu; /* gpu: when the work queued so far ends */
    double event[EVENT_SLOTS];
    int held, is_watched;
} at;

static double free_from(void) { return at.held || at.gpu > at.host ? at.gpu : at.host; }
static void queue(double ms) { at.gpu = free_from() + ms * 1e-3; }
static void wait_until(double time) { at.host = time > at.host ? time : at.host; }

/* In place of libc's. */
int nanosleep(const struct timespec *wanted, struct timespec *left) {
    at.host += (double)wanted->tv_sec + (double)wanted->tv_nsec * 1e-9;
    return 0;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    now->tv_sec = (time_t)at.host;
    now->tv_nsec = (long)((at.host - (double)now->tv_sec) * 1e9);
    return 0;
}
unsigned alarm(unsigned seconds) { return at.is_watched = 1, 0; }

/* ---- the backend ---- */

static GemmStatus mock_open(const Options *options, GpuNeed need, DeviceInfo *info, char *why, size_t why_size) {
    snprintf(why, why_size, "a mock");
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "Mock GPU");
    info->capability = 900;
    info->sm_count = 132;
    info->runtime_cuda = 13000;
    info->shared_bytes = 99 * 1024; /* too little for NEEDS_SM90 */
    info->free_bytes = (size_t)1 << 32;
    return GEMM_OK;
}
/* MOCK_SMALL: what is packed for one row, with its copies, fits; that of a second does not. */
static GemmStatus mock_allocate(Buffer *buffer, size_t bytes, const char *name) {
    static int packed;
    packed += bytes > 0 && strcmp(name, "prepared") == 0;
    return packed > MAX_COPIES && getenv("MOCK_SMALL") ? GEMM_DEVICE : model_backend()->allocate(buffer, bytes, name);
}
static GemmStatus mock_synchronise(const char *what) {
    wait_until(at.gpu);
    return GEMM_OK;
}
static GemmStatus mock_record(int slot) {
    at.event[slot] = free_from();
    return GEMM_OK;
}
static GemmStatus mock_elapsed_ms(int from, int to, double *ms) {
    wait_until(at.event[to]);
    *ms = (at.event[to] - at.event[from]) * 1e3;
    return GEMM_OK;
}
/* What is held runs as if the host had taken no time. */
static GemmStatus mock_hold(void) {
    at.gpu = free_from();
    at.held = 1;
    return GEMM_OK;
}
static void mock_let_go(void) { at.held = 0; }
static GemmStatus mock_start_clock(void) { return GEMM_OK; }
static GemmStatus mock_clock_mhz(double *mhz) {
    wait_until(at.gpu);
    *mhz = 1500;
    return GEMM_OK;
}

const Backend *gpu_backend(void) {
    static Backend backend; /* data and reference as on the model */
    backend = *model_backend();
    backend.name = "gpu";
    backend.is_model = 0;
    backend.open = mock_open;
    backend.allocate = mock_allocate;
    backend.synchronise = mock_synchronise;
    backend.record = mock_record;
    backend.elapsed_ms = mock_elapsed_ms;
    backend.hold = mock_hold;
    backend.start_clock = mock_start_clock;
    backend.let_go = mock_let_go;
    backend.clock_mhz = mock_clock_mhz;
    return &backend;
}

/* ---- what is timed ---- */

/* By the harness's own reference. tile_group is taken for an error to be added to the first element. */
static GemmStatus refer(const Gemm *g, Kind kind, int ms) {
    size_t outputs = (size_t)g->m * (size_t)g->n;
    double *expected = malloc(outputs * sizeof *expected);
    float *magnitude = malloc(outputs * sizeof *magnitude);
    ReferencePart part = {.kind = kind, .gemm = *g, .end_row = g->m, .eps = 1};
    if (kind == KIND_FP8) {
        part.operands.fp8 = *(const Fp8 *)g->beyond->operands;
    } else if (kind == KIND_W4A8) { /* of one expert */
        part.operands.w4a8 = *(const W4a8 *)g->beyond->operands;
    }
    reference_part_on_host(&part, expected, magnitude);
    expected[0] += (double)beyond_of(g).tuning.tile_group;
    for (size_t i = 0; i < outputs; i++) {
        g->c[i / (size_t)g->n * (size_t)g->ldc + i % (size_t)g->n] = round_to_bf16(expected[i]);
    }
    free(expected);
    free(magnitude);
    queue(ms);
    return GEMM_OK;
}
static GemmStatus multiply(const Gemm *g, int ms) { return refer(g, KIND_BF16, ms); }
static inline GemmStatus right(const Gemm *g, GemmError *error) { return multiply(g, 5); }
static inline GemmStatus right_fp8(const Gemm *g, GemmError *error) { return refer(g, KIND_FP8, 5); }
static inline size_t prepared_bytes(const Gemm *g) { return (size_t)g->n; }
static inline GemmStatus prepare(const Gemm *g, void *out, GemmError *error) {
    memset(out, 7, (size_t)g->n);
    queue(3000); /* packing takes long, and is not timed */
    return GEMM_OK;
}
static inline GemmStatus right_w4a8(const Gemm *g, GemmError *error) {
    const char *prepared = g->beyond->prepared;
    return prepared[0] == 7 && prepared[g->n - 1] == 7 ? refer(g, KIND_W4A8, 2) : GEMM_DEVICE;
}

/* The formula likes the slow one; the third, which is the fastest, cannot compute this. */
static const Variant ways[] = {
    {.name = "slow_one", .cluster = 1}, {.name = "fast_one", .cluster = 1}, {.name = "none", .cluster = 1}};
static double cost_of_way(const Variant *v, const Gemm *g) { return v == &ways[0] ? 1 : v == &ways[1] ? 2 : INFINITY; }
static const Variants variants_of_09 = VARIANTS("09_plans", ways, cost_of_way);
static GemmStatus by_way(const Gemm *g, GemmError *error) {
    const Variant *v = choose_variant(&variants_of_09, g, error);
    return multiply(g, v == &ways[0] ? 5 : v == &ways[1] ? 2 : 1);
}
static const ChapterBeyond plans = {.choices = CHOOSES_BY_PLAN};

/* As the alarm that the bench has set does. */
static GemmStatus hang(const Gemm *g, GemmError *error) { return at.is_watched ? raise(SIGALRM) : GEMM_DEVICE; }
static GemmStatus fail(const Gemm *g, GemmError *error) { return GEMM_DEVICE; }
static GemmStatus crash(const Gemm *g, GemmError *error) { abort(); }
/* Right when it is checked, then wrong. */
static GemmStatus turn_wrong(const Gemm *g, GemmError *error) {
    static int launches;
    multiply(g, 5);
    if (launches++ > 0) {
        g->c[0] = 0;
    }
    return GEMM_OK;
}
static GemmStatus need_zeros(const Gemm *g, GemmError *error) { return g->a[0] == 0 ? right(g, error) : GEMM_USAGE; }
static GemmStatus refuse(const Gemm *g, GemmError *error) { return GEMM_USAGE; }
CHAPTER(02_1_step, .launch = right);
CHAPTER(02_right, .launch = right, .needs = NEEDS_SM90A);
CHAPTER(03_hangs, .launch = hang);
CHAPTER(04_fails, .launch = fail);
CHAPTER(05_crashes, .launch = crash);
CHAPTER(06_turns_wrong, .launch = turn_wrong);
CHAPTER(07_refuses, .launch = refuse);
CHAPTER(08_larger, .launch = right, .needs = NEEDS_SM90);
static const ChapterBeyond fp8 = {.kind = KIND_FP8};
static const ChapterBeyond w4a8 = {.kind = KIND_W4A8, .prepared_bytes = prepared_bytes, .prepare = prepare};
CHAPTER(09_plans, .launch = by_way, .variants = &variants_of_09, .beyond = &plans);
CHAPTER(12_fp8, .launch = right_fp8, .beyond = &fp8);
CHAPTER(13_w4a8, .launch = right_w4a8, .beyond = &w4a8);
CHAPTER(peer2, .launch = refuse);
CHAPTER(peer5, .launch = right_fp8, .beyond = &fp8);

#undef CHAPTER_SYMBOL
#define CHAPTER_SYMBOL(id) gpu_exercise_##id
CHAPTER(02_patched, .launch = need_zeros);

/* Starting it takes the host longer than the GPU takes to copy. */
static GemmStatus launch_copy(const Gemm *g, GemmError *error) { return at.host += 1e-5, queue(0.005), GEMM_OK; }
static GemmStatus launch_wgmma(const Gemm *g, GemmError *error) { return queue(5), GEMM_OK; }
double alone_work(const Chapter *chapter, int sm_count) { return chapter->launch == launch_copy ? 1e10 : 1e12; }
#undef CHAPTER_SYMBOL
#define CHAPTER_SYMBOL(id) gpu_chapter_##id
CHAPTER(wgmma, .launch = launch_wgmma);
CHAPTER(copy, .launch = launch_copy);

/* ---- libraries ---- */

struct CublasLt {
    Gemm gemm;
    const Fp8 *fp8;
    int chosen;
};
static int opened; /* stands for what a library would return */

Cublas *cublas_open(Stream stream, char *why, size_t why_size) {
    snprintf(why, why_size, "the mock was told so");
    return getenv("MOCK_NO_CUBLAS") ? NULL : (Cublas *)&opened;
}
void cublas_close(Cublas *cublas) {
    if (cublas && getenv("MOCK_BAD_END")) {
        abort();
    }
}
int cublas_version(const Cublas *cublas) { return cublas ? 130000 : 0; }
GemmStatus cublas_launch(void *run) { return multiply(&((CublasRun *)run)->gemm, 4); }

/* Three proposals: slow, wrong, fast. */
CublasLt *cublaslt_open(const Backend *backend, const Gemm *problem, const Fp8 *fp8, char *why, size_t why_size) {
    CublasLt *lt = calloc(1, sizeof *lt);
    lt->gemm = *problem;
    lt->fp8 = fp8;
    return lt;
}
void cublaslt_close(CublasLt *lt) { free(lt); }
int cublaslt_count(const CublasLt *lt) { return lt ? 3 : 0; }
void cublaslt_choose(CublasLt *lt, int algorithm) { lt->chosen = algorithm; }
GemmStatus cublaslt_launch(CublasLt *lt, const void *b) {
    Gemm gemm = lt->gemm;
    Fp8 fp8 = lt->fp8 ? *lt->fp8 : (Fp8){0};
    Beyond beyond = {.operands = &fp8, .tuning.tile_group = lt->chosen == 1};
    fp8.b = b ? b : fp8.b;
    gemm.beyond = &beyond;
    return refer(&gemm, lt->fp8 ? KIND_FP8 : KIND_BF16, lt->chosen == 0 ? 8 : 2);
}

Nvml *nvml_open(const char *bus, char *why, size_t why_size) { return (Nvml *)&opened; }
void nvml_close(Nvml *nvml) { (void)nvml; }
double nvml_sm_mhz(const Nvml *nvml) { return nvml ? 1400 : 0; }
double nvml_watts(const Nvml *nvml) { return nvml ? 500 : 0; }
void nvml_driver_version(const Nvml *nvml, char *text, size_t size) { snprintf(text, size, "1.0"); }
