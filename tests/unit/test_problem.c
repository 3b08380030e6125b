/* Does the harness accept a chapter that is right, and refuse one that is not? With chapters in plain C on plain
 * memory: the backend of the CPU model, without the model. */
#include "host_backend.h"

#include "backend_checks.h"

/* What a chapter does wrong. */
typedef enum {
    NOTHING_WRONG,
    WRITES_NOTHING,
    OFF_BY_ONE_STEP,
    READS_PADDING,
    WRITES_BEHIND_ROWS,
    LEAVES_WORKSPACE,
    FAILS_TO_LAUNCH,
    FAILS_TO_PACK,
    REPORTS_A_BUG,
} Fault;

static Fault fault;
static int launches, packings;

static GemmStatus launch(const Gemm *p, GemmError *error) {
    (void)error;
    launches++;
    if (fault == FAILS_TO_LAUNCH || *(const bf16 *)p->beyond->prepared != p->b[1]) {
        return GEMM_DEVICE;
    }
    int k_end = fault == READS_PADDING ? p->k + 1 : p->k;
    for (int row = 0; row < p->m && fault != WRITES_NOTHING; row++) {
        for (int column = 0; column < p->n; column++) {
            float sum = 0;
            for (int k = 0; k < k_end; k++) {
                sum += bf16_value(p->a[row * p->lda + k]) * bf16_value(p->b[column * p->ldb + k]);
            }
            p->c[row * p->ldc + column] = (bf16)(round_to_bf16((double)sum) + (fault == OFF_BY_ONE_STEP));
        }
    }
    if (fault == WRITES_BEHIND_ROWS) {
        p->c[p->n] = 0;
    }
    ((char *)p->workspace)[17] = fault == LEAVES_WORKSPACE;
    reports = fault == REPORTS_A_BUG;
    return GEMM_OK;
}

static size_t workspace_bytes(const Gemm *p) {
    (void)p;
    return 100;
}

/* The chapter packs one element of B. */
static size_t packed_bytes(const Gemm *p) {
    (void)p;
    return sizeof(bf16);
}
static GemmStatus pack(const Gemm *p, void *out, GemmError *error) {
    (void)error;
    packings++;
    *(bf16 *)out = p->b[1];
    return fault == FAILS_TO_PACK ? GEMM_USAGE : GEMM_OK;
}

static const ChapterBeyond more = {.kind = KIND_BF16, .prepared_bytes = packed_bytes, .prepare = pack};
static const Chapter chapter = {
    .name = "plain C", .launch = launch, .workspace_bytes = workspace_bytes, .beyond = &more};

static Tally run_with(Problem *p, Fault wanted, GemmStatus expected, const char *name) {
    ChapterRun run;
    Tally tally;
    tally_start(&tally);
    fault = wanted;
    if (run_open(&run, p, &chapter) != GEMM_OK) {
        ok(0, "%s: opens", name);
        return tally;
    }
    is_int(run_checked(&run, &tally), expected, name);
    run_close(&run);
    reports = 0;
    return tally;
}

static void judges_chapters(Problem *p) {
    ok(problem_fill(p, DATA_INTEGERS) == GEMM_OK, "integers are filled in");
    Tally tally = run_with(p, NOTHING_WRONG, GEMM_OK, "a right chapter runs");
    ok(tally_is_right(&tally), "and is accepted");
    uint64_t fingerprint = tally.fingerprint;
    tally = run_with(p, NOTHING_WRONG, GEMM_OK, "and again");
    ok(tally.fingerprint == fingerprint, "with the same fingerprint");
    tally = run_with(p, WRITES_NOTHING, GEMM_OK, "one that writes nothing runs");
    is_int((long long)tally.unwritten, 33 * 20, "and is refused: the result of the run before does not count");
    tally = run_with(p, OFF_BY_ONE_STEP, GEMM_OK, "one that is off by one bf16 step runs");
    is_int((long long)tally.wrong, 33 * 20, "and is refused in every element");
    tally = run_with(p, READS_PADDING, GEMM_OK, "one that uses what is behind the rows runs");
    is_int((long long)tally.nan, 33 * 20, "and gets NaN everywhere");
    tally = run_with(p, WRITES_BEHIND_ROWS, GEMM_OK, "one that writes behind a row runs");
    ok(!tally_is_right(&tally) && tally.guard_rows == 1, "and is refused");
    tally = run_with(p, LEAVES_WORKSPACE, GEMM_OK, "one that does not clear its workspace runs");
    ok(!tally_is_right(&tally) && tally.workspace_left == 1, "and is refused");
    run_with(p, FAILS_TO_LAUNCH, GEMM_DEVICE, "a launch that fails is told");
    run_with(p, FAILS_TO_PACK, GEMM_USAGE, "packing that fails is told");
    run_with(p, REPORTS_A_BUG, GEMM_MODEL_BUG, "a bug that the model reports is told");
    is_int(launches, 9, "each ran once");
}

static void packs_once_for_each_fill(Problem *p) {
    ChapterRun run;
    Tally tally;
    ChapterBeyond other = more;
    Chapter of_another_kind = chapter;
    fault = NOTHING_WRONG;
    is_int(run_open(&run, p, &chapter), GEMM_OK, "a chapter that packs");
    packings = 0;
    for (DataKind data = 0; data < DATA_KINDS; data++) {
        problem_fill(p, data);
        for (int again = 0; again < 2; again++) {
            ok(run_checked(&run, &tally) == GEMM_OK && tally_is_right(&tally), "right with %s", data_names[data]);
        }
    }
    is_int(packings, DATA_KINDS, "packed once for each fill");
    run_close(&run);
    other.kind = KIND_FP8;
    of_another_kind.beyond = &other;
    is_int(run_open(&run, p, &of_another_kind), GEMM_USAGE, "a chapter of another kind is refused");
}

static void sizes_are_weighed(const DeviceInfo *device) {
    char message[OPTIONS_MESSAGE_SIZE] = "";
    DeviceInfo small = *device;
    small.free_bytes = (size_t)10 << 20;
    ok(problem_fits((Shape){512, 512, 512, 0, KIND_BF16, 1, {0}}, NULL, &small, message),
       "512 x 512 x 512 fits into 10 MiB");
    ok(!problem_fits((Shape){1024, 1024, 1024, 0, KIND_BF16, 1, {0}}, NULL, &small, message),
       "1024 x 1024 x 1024 does not");
    contains(message, "--m 1024 --n 1024 --k 1024", "the message names the sizes");
    contains(message, "accepted", "and what is accepted");
    ok(strchr(message, '\n') == NULL, "in one line");
    ok(!problem_fits((Shape){1, 1, MAX_SIZE, MAX_PAD, KIND_BF16, 1, {0}}, NULL, &small, message),
       "nor does the largest K, whose padded rows pass INT_MAX");
    ok(!problem_fits((Shape){MAX_SIZE, MAX_SIZE, MAX_SIZE, MAX_PAD, KIND_BF16, 1, {0}}, &chapter, device, message),
       "the largest sizes do not fit");
    double matrices = 2.0 * (1000.0 * 808 + 900.0 * 816 + 1000.0 * 928), reference = 12.0 * 1000 * 900;
    small.free_bytes = (size_t)(matrices + reference);
    ok(!problem_fits((Shape){1000, 900, 800, 8, KIND_BF16, 1, {0}}, NULL, &small, message),
       "the guards count beside matrices and reference");
    small.free_bytes = (size_t)(1.3 * (matrices + reference));
    ok(problem_fits((Shape){1000, 900, 800, 8, KIND_BF16, 1, {0}}, NULL, &small, message), "and nothing large besides");
}

static void pads_rows(const DeviceInfo *device) {
    Problem p;
    problem_open(&p, host_backend(), device, (Shape){3, 10, 21, 16, KIND_BF16, 1, {0}}, 1);
    ok(p.gemm.lda == 24 + 16 && p.gemm.ldb == 24 + 32 && p.gemm.ldc == 16 + 48,
       "--pad 16: 16, 32 and 48 more elements");
    ok((uintptr_t)p.gemm.a % 16 == 0 && (uintptr_t)p.gemm.b % 16 == 0 && (uintptr_t)p.gemm.c % 16 == 0,
       "every matrix starts on 16 bytes");
    ok(p.view.guard >= 256 * 64, "a tile of 256 rows that is written without clipping stays in the guard");
    problem_close(&p);
}

/* An H100 has 9.0 and 227 KiB, a B200 10.0 and 227, a GeForce Blackwell 12.0 and 99, an A100 8.0 and 163. */
static void needs_are_met(void) {
    static const struct {
        int capability, kib, met[6]; /* by GpuNeed */
    } gpus[] = {{900, 227, {1, 1, 1, 1, 0}},
                {1000, 227, {1, 1, 1, 0, 1}},
                {1200, 99, {1, 0, 1, 0, 0}},
                {800, 163, {1, 0, 0, 0, 0}}};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        for (int need = NEEDS_SM80; need <= NEEDS_NEWER_NVCC; need++) {
            is_int(need_is_met((GpuNeed)need, gpus[i].capability, gpus[i].kib * 1024), gpus[i].met[need],
                   need_text((GpuNeed)need));
        }
    }
}

int main(void) {
    needs_are_met();
    const Backend *backend = host_backend();
    DeviceInfo device = open_host();
    check_backend(backend, &device);
    Problem p;
    ok(problem_open(&p, backend, &device, (Shape){33, 20, 65, 8, KIND_BF16, 1, {0}}, 1) == GEMM_OK,
       "33 x 20 x 65 opens");
    judges_chapters(&p);
    packs_once_for_each_fill(&p);
    problem_close(&p);
    problem_close(&p);
    ok(p.a.data == NULL, "closing twice does no harm");
    sizes_are_weighed(&device);
    pads_rows(&device);
    return tap_done();
}
