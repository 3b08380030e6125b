/* main.c - the program of every chapter. Compiled once for each, with -DCHAPTER_ID=06_wgmma_ss and the like. What
 * the chapter says of itself comes from its directory: CHECK_SIZES is the path of its checks/sizes.inc, if it has
 * one, and TRACED_SMS and MODEL_SIZE come from its build.mk.
 *
 * From the command line to a kernel's parameters, in this order:
 *
 *     shape_of()       here        sizes, padding and kind of the problem
 *     problem_open()   problem.c   the operands that the kind's record lists (kind.c), C and its reference, all
 *                                  allocated by the backend (gpu.cu, backend_model.c); Problem.gemm points to them
 *     run_open()       problem.c   the chapter's workspace: ChapterRun.gemm is Problem.gemm with it
 *     problem_fill()   problem.c   data and reference
 *     run_checked()    problem.c   fills C with NaN, calls the chapter's launch() with ChapterRun.gemm, which makes the
 *                                  kernel's parameters of it, waits, and compares C with the reference */
#include "cublas.h"
#include "explain.h"
#include "report.h"
#include "traced.h"

#include <errno.h>
#include <stdarg.h>

#define PASTE_TOKENS(a, b) a##b
#define PASTE(a, b) PASTE_TOKENS(a, b)
#ifndef GEMM_NO_GPU
#define GPU_CHAPTER PASTE(gpu_chapter_, CHAPTER_ID)
extern const Chapter GPU_CHAPTER;
/* The copy that records what it does; not linked everywhere. */
#define TRACED_CHAPTER PASTE(gpu_traced_chapter_, CHAPTER_ID)
extern const Chapter TRACED_CHAPTER __attribute__((weak));
#endif
#define MODEL_CHAPTER PASTE(model_chapter_, CHAPTER_ID)
extern const Chapter MODEL_CHAPTER;
#define CHAPTER_NAME STRINGIFY(CHAPTER_ID)

/* Where the chapter runs. */
typedef struct {
    const Backend *backend;
    const Chapter *chapter;
    DeviceInfo device;
} Stage;

/* Takes the GPU if there is one that fits. On failure `why` says what was found instead. */
static GemmStatus take_gpu(const Options *options, Stage *stage, char *why, size_t why_size) {
#ifdef GEMM_NO_GPU
    (void)options;
    (void)stage;
    snprintf(why, why_size, CHAPTER_NAME " was built without nvcc and so without its GPU code");
    return GEMM_DEVICE;
#else
    char found[256];
    stage->backend = gpu_backend();
    stage->chapter = &GPU_CHAPTER;
    if (options_trace(options) && &TRACED_CHAPTER != NULL) {
        stage->chapter = &TRACED_CHAPTER;
    }
    GemmStatus status = stage->backend->open(options, stage->chapter->needs, &stage->device, found, sizeof found);
    if (status != GEMM_OK) {
        snprintf(why, why_size, CHAPTER_NAME " needs %s; found: %s", need_text(stage->chapter->needs), found);
    }
    return status;
#endif
}

/* Decides between GPU and model. Prints one line if it is not what the options, or most readers, would expect. */
static GemmStatus set_stage(const Options *options, Stage *stage) {
    char why[512] = "";
    memset(stage, 0, sizeof *stage);
    GemmStatus status = options->on == ON_MODEL ? GEMM_DEVICE : take_gpu(options, stage, why, sizeof why);
    if (status == GEMM_OK) {
        return status;
    }
    if (options->on == ON_GPU) {
        fprintf(stderr, "%s\n", why);
        return status;
    }
    if (why[0]) {
        printf("on the CPU model: %s\n", why);
    }
    stage->backend = model_backend();
    stage->chapter = &MODEL_CHAPTER;
    return stage->backend->open(options, stage->chapter->needs, &stage->device, why, sizeof why);
}

enum { COMMAND_SIZE = 512, PAD_TO_FIND_BUGS = 8 };

/* Appends an option, if it is `given`. */
static void append(char text[COMMAND_SIZE], int given, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char text[COMMAND_SIZE], int given, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, given ? COMMAND_SIZE - used : 1, format, arguments);
    va_end(arguments);
}

/* The options with which the model repeats this launch as the first one. What is a default is left out, but for what
 * the reader has to see. */
static void replay_options(const Options *options, const ChapterRun *run, uint64_t seed, char text[COMMAND_SIZE]) {
    const Problem *problem = run->problem;
    const Shape *shape = &problem->shape;
    const Tuning *tuning = &run->beyond.tuning;
    const Heads heads = has_heads(shape->kind) ? kind_heads(shape) : (Heads){0};
    text[0] = 0;
    append(text, 1, "--m %d --n %d --k %d", shape->m, shape->n, shape->k);
    append(text, options->shape.pad >= 0, " --pad %d", options->shape.pad);
    append(text, shape->experts > 1, " --experts %d", shape->experts);
    append(text, heads.size, " --head-size %d --kv-heads %d --batches %d%s", heads.size, heads.kv, heads.batches,
           heads.causal ? " --causal" : "");
    append(text, heads.window, " --window %d", heads.window);
    append(text, tuning->variant != NULL, " --variant %s", tuning->variant ? tuning->variant : "");
    append(text, tuning->tile_group, " --tile-group %d", tuning->tile_group);
    append(text, tuning->producer_barrier, " --producer-barrier %s",
           tuning->producer_barrier == CHOICE_YES ? "yes" : "no");
    append(text, options->sms != DEFAULT_MODEL_SMS, " --sms %d", options->sms);
    append(text, options->shared != DEFAULT_MODEL_SHARED, " --shared %d", options->shared);
    append(text, problem->seed != 1, " --seed %llu", (unsigned long long)problem->seed);
    append(text, problem->data != DATA_INTEGERS, " --data %s", data_names[problem->data]);
    append(text, 1, " --policy %s", policy_names[options->policy]);
    append(text, seed != 1, " --schedule-seed %llu", (unsigned long long)seed);
}

static long schedules_looked_at; /* on the model */

/* One checked launch. Prints what is wrong with it, and how to see it again. */
static GemmStatus check_launch(const Options *options, const Stage *stage, ChapterRun *run, uint64_t seed, long number,
                               Tally *tally) {
    const Problem *problem = run->problem;
    char replay[COMMAND_SIZE] = "";
    if (stage->backend->is_model) {
        stage->backend->set_schedule(options, seed);
        schedules_looked_at++;
        replay_options(options, run, seed, replay);
    }
    GemmStatus status = run_checked(run, tally);
    if (status == GEMM_MODEL_BUG) {
        fprintf(stderr, "the model found a bug in this launch:\n  %s\n", replay);
    }
    if (status != GEMM_OK || tally_is_right(tally)) {
        return status;
    }
    if (stage->backend->is_model) {
        printf("launch   %s\n", replay);
    } else {
        printf("--data %s, launch %ld:\n", data_names[problem->data], number);
    }
    const char *sums = stage->backend->is_model ? model_sums() : NULL;
    if (sums != NULL) {
        printf("sums     %s\n", sums);
    }
    GEMM_TRY(run_explain(run, tally, stdout));
    if (stage->backend->is_model) { /* the command that draws where it is wrong */
        const char *patch = run->chapter->patch;
        printf("map      make map-%.2s %s%sARGS=\"%s\"\n", run->chapter->name, patch ? patch : "", patch ? " " : "",
               replay);
    }
    return GEMM_WRONG;
}

/* `repeat` checked launches with one kind of data; on the model, that many for each of `schedules` and every one with a
 * schedule of its own. All must be right and give the same bits. */
static GemmStatus check_data(const Options *options, const Stage *stage, ChapterRun *run, const Problem *problem) {
    long launches = (long)options->repeat * (stage->backend->is_model ? options->schedules : 1);
    uint64_t fingerprint = 0;
    float worst = 0;
    Tally tally;
    for (long i = 0; i < launches; i++) {
        uint64_t seed = options->schedule_seed + (uint64_t)i;
        GEMM_TRY(check_launch(options, stage, run, seed, i + 1, &tally));
        if (i > 0 && tally.fingerprint != fingerprint) {
            printf("WRONG    --data %s, launch %ld: some bit differs from the first launch, though both results are\n"
                   "         within tolerance\n",
                   data_names[problem->data], i + 1);
            return GEMM_WRONG;
        }
        fingerprint = tally.fingerprint;
        worst = tally.worst > worst ? tally.worst : worst;
    }
    tally.worst = worst;
    print_right(stdout, problem, &tally, launches, "");
    return GEMM_OK;
}

/* ---- the model's round ------------------------------------------------------------------------------------------- */

/* What a run without options adds to the default size. First, for all chapters: edges in every direction; then too
 * few k-tiles to fill the stages, an odd number of tile rows for a cluster of two, a producer barrier if there is one.
 * Then what this chapter needs, so that each of its kernels runs and each of its rings wraps twice: rows of
 * checks/sizes.inc in its directory. */
enum { /* 1 << ModelPolicy */
       EACH_POLICY = 1 << MODEL_EAGER | 1 << MODEL_LAZY | 1 << MODEL_RANDOM | 1 << MODEL_PCT,
       ALL_BUT_RANDOM = EACH_POLICY & ~(1 << MODEL_RANDOM), /* the default size has been run in that */
       RANDOM = 1 << MODEL_RANDOM,
       SOME = 1 << MODEL_LAZY | RANDOM,
};
typedef struct {
    int m, n, k, policies; /* in every variant, where the chapter has them */
    int sms, shared;       /* 0: the default */
    Choice producer_barrier;
    int schedule,
        cluster; /* only variants of this schedule, if it is not 0, and with as many CTAs in a cluster or more */
    int experts; /* of a kind that has them */
    Heads heads; /* attention */
} CheckSize;
static const CheckSize check_sizes[] = {
    {200, 300, 333, .policies = ALL_BUT_RANDOM, .experts = 3},
    {260, 264, 40, .policies = EACH_POLICY, .sms = 2, .producer_barrier = CHOICE_YES},
#ifdef CHECK_SIZES
#include CHECK_SIZES
#endif
};

/* Many variants take turns at the policies of a size. */
static int count_of(int policies) { return __builtin_popcount((unsigned)policies); }
static int take_turns(int variants, int policies) { return variants > 16 && count_of(policies) > 1; }

static void print_round(const Options *options, int policies, int variants, int all) {
    const Shape *shape = &options->shape;
    const Heads heads = shape->heads.size ? kind_heads(shape) : (Heads){0};
    char text[COMMAND_SIZE] = "";
    append(text, options->sms != DEFAULT_MODEL_SMS, " on %d SMs", options->sms);
    append(text, options->shared != DEFAULT_MODEL_SHARED, " with --shared %d", options->shared);
    append(text, 1, ": integers %s, --policy",
           kind_is_exact(shape->kind, DATA_INTEGERS) ? "exact" : "within tolerance");
    const char *before = " ";
    for (int policy = 0; policy_names[policy]; policy++) {
        append(text, policies >> policy & 1, "%s%s", before, policy_names[policy]);
        before = policies >> policy & 1 ? ", " : before;
    }
    append(text, options->tuning.producer_barrier == CHOICE_YES, ", --producer-barrier yes");
    append(text, variants && variants < all, ", %d of", variants);
    append(text, variants && variants == all, ", each of");
    append(text, variants, " %d variants%s", all, take_turns(variants, policies) ? " in turns" : "");
    append(text, shape->experts > 1, ", %d experts", shape->experts);
    append(text, heads.size, ", heads of %d, %d of K and V, %d batch%s%s", heads.size, heads.kv, heads.batches,
           heads.batches > 1 ? "es" : "", heads.causal ? ", causal" : "");
    printf("right    %d x %d x %d%s\n", shape->m, shape->n, shape->k, text);
}

/* One size, in all its policies, and each kernel, the next one with another way of sharing. */
static GemmStatus check_size(Options *options, const Stage *stage, const DeviceInfo *device, const CheckSize *size) {
    const Chapter *chapter = stage->chapter;
    int policies = size->policies, ran = 0;
    Shape shape = options->shape;
    Problem problem;
    ChapterRun run;
    Tally tally;
    int variants = chapter->variants ? chapter->variants->count : 0;
    shape.pad = PAD_TO_FIND_BUGS;
    GemmStatus status = problem_open(&problem, stage->backend, device, shape, options->seed);
    status = status == GEMM_OK ? problem_fill(&problem, DATA_INTEGERS) : status;
    for (int i = 0; status == GEMM_OK && i < (variants ? variants : 1); i++) {
        problem.beyond.tuning = options->tuning;
        problem.beyond.tuning.variant = NULL;
        if (variants) {
            const Variant *v = &chapter->variants->variant[i];
            if ((size->schedule != 0 && v->schedule != size->schedule) || v->cluster < size->cluster ||
                !is_in_turn(chapter->variants, i, 1)) {
                continue;
            }
            ran++;
            problem.beyond.tuning.variant = v->name;
            /* Room for a cluster, and an SM that it leaves idle. */
            int sms = v->cluster > 1 ? v->cluster + 1 : 0;
            options->sms = problem.gemm.sm_count = sms > device->sm_count ? sms : device->sm_count;
        }
        status = run_open(&run, &problem, chapter);
        for (int policy = 0, nth = 0; status == GEMM_OK && policy_names[policy]; policy++) {
            options->policy = (ModelPolicy)policy;
            if (policies >> policy & 1 && (!take_turns(variants, policies) || nth++ == ran % count_of(policies))) {
                status = check_launch(options, stage, &run, options->schedule_seed, 1, &tally);
            }
        }
        run_close(&run);
    }
    options->sms = device->sm_count;
    problem_close(&problem);
    if (status == GEMM_OK) {
        print_round(options, policies, ran, variants);
    }
    return status;
}

/* Many bugs need an odd size, a policy or a variant: a reader who names none gets several, and learns where they
 * would still hide. */
static GemmStatus check_round(const Options *options, const Stage *stage) {
    const Chapter *chapter = stage->chapter;
    for (size_t i = 0; i < sizeof check_sizes / sizeof check_sizes[0]; i++) {
        const CheckSize *size = &check_sizes[i];
        Options one = *options;
        DeviceInfo device = stage->device;
        one.shape = (Shape){size->m, size->n, size->k, -1, kind_of(chapter), 1, size->heads};
        if (kind_record(kind_of(chapter))->has_experts && size->experts) {
            one.shape.experts = size->experts;
        }
        one.sms = device.sm_count = size->sms ? size->sms : one.sms;
        one.shared = size->shared ? size->shared : one.shared;
        device.shared_bytes = one.shared * 1024;
        one.tuning.producer_barrier =
            chapter_beyond(chapter).choices & CHOOSES_PRODUCER_BARRIER ? size->producer_barrier : CHOICE_DEFAULT;
        fflush(stdout);
        GEMM_TRY(check_size(&one, stage, &device, size));
    }
    const char *unreached;
    for (int i = 0; (unreached = model_unreached(i)) != NULL; i++) {
        printf("hidden   %s\n", unreached);
    }
    return GEMM_OK;
}

/* Could another schedule show more? */
static void print_depends(void) {
    const char *depends = model_depends();
    if (depends == NULL) {
        printf("order    no thread did anything that depends on the schedule: this holds for every one%s\n",
               model_launches() == 1 ? " of one launch" : "");
    } else {
        printf("order    %s: %ld schedules were looked at, and others may differ\n", depends, schedules_looked_at);
    }
}

/* The result as the last timed launch left it. */
static GemmStatus check_after(const Problem *problem, const Contestant *contestant) {
    if (tally_is_right(&contestant->after)) {
        print_right(stdout, problem, &contestant->after, 1, " after timing");
        return GEMM_OK;
    }
    printf("WRONG    after timing: %llu elements, %llu outside C; before it the same launch was right\n",
           (unsigned long long)contestant->after.wrong,
           (unsigned long long)(contestant->after.guard_before + contestant->after.guard_rows +
                                contestant->after.guard_after));
    return GEMM_WRONG;
}

static GemmStatus time_chapter(const Options *options, const Stage *stage, ChapterRun *run, const Problem *problem,
                               const Cublas *cublas) {
    static Contestant list[2]; /* the chapter, and cuBLAS if it is there */
    CublasRun cublas_run = {cublas, problem->gemm};
    int count = cublas ? 2 : 1;
    snprintf(list[0].name, sizeof list[0].name, "%.2s", stage->chapter->name);
    list[0].launch = run_launch;
    list[0].context = run;
    snprintf(list[1].name, sizeof list[1].name, "cublas");
    list[1].launch = cublas_launch;
    list[1].context = &cublas_run;
    GEMM_TRY(measure_interleaved(problem, list, count, options->rounds, PAUSE_MS));
    GEMM_TRY(options->check ? check_after(problem, &list[0]) : GEMM_OK);
    print_speed(stdout, &stage->device, problem, &list[0], count > 1 ? &list[1] : NULL);
    if (options->check && count > 1 && list[1].after.wrong) {
        printf("         cuBLAS itself did not pass the check: %llu elements\n",
               (unsigned long long)list[1].after.wrong);
    }
    return GEMM_OK;
}

/* The model at the size of a GPU: a line that says how long it will take, where it is more than a minute. */
static void warn_if_slow(const Options *options, const Stage *stage, const Gemm *gemm) {
    const double products_a_second = 1e9;
    double kinds = options_trace(options) ? 1 : __builtin_popcount(options->data);
    double products = (double)gemm->m * gemm->n * gemm->k * kinds * options->repeat * (double)options->schedules;
    if (stage->backend->is_model && products > 60 * products_a_second) {
        printf("slow     the model does about 10^9 multiply-adds a second: this takes %.0f minutes or more\n",
               products / products_a_second / 60);
    }
}

/* A chapter that plans measures its likeliest variants before it is timed. */
static GemmStatus plan_chapter(const Options *options, Problem *problem, ChapterRun *run) {
    Plan plan;
    double ms;
    if (!(chapter_beyond(run->chapter).choices & CHOOSES_BY_PLAN) || options->tuning.variant) {
        return GEMM_OK;
    }
    GEMM_TRY(problem_fill_operands(problem, DATA_NORMAL));
    GEMM_TRY(plan_run(run, &plan, &ms));
    printf("plan     %d variants in %.0f ms: %s takes %.1f us; by the formula %s, %.1f us\n", plan.measured, ms,
           plan.chosen->name, plan.chosen_us, plan.by_formula->name, plan.by_formula_us);
    return GEMM_OK;
}

/* Everything between the buffers' allocation and their release. */
static GemmStatus run_problem(const Options *options, const Stage *stage, Problem *problem, ChapterRun *run, int timed,
                              const Cublas *cublas) {
    const Gemm *gemm = &problem->gemm;
    char product[192];
    kind_record(problem->shape.kind)->text(&problem->shape, gemm, product, sizeof product);
    printf("problem  %s, leading dimensions %d, %d, %d, seed %llu\n", product, gemm->lda, gemm->ldb, gemm->ldc,
           (unsigned long long)problem->seed);
    GEMM_TRY(timed ? plan_chapter(options, problem, run) : GEMM_OK);
    if (stage->chapter->variants) {
        char text[256];
        describe_choice(stage->chapter, &run->gemm, text, sizeof text);
        if (*text) { /* otherwise launch() will say what is wrong */
            printf("kernel   %s\n", text);
        }
    }
    if (run->on->describe) {
        run->on->describe(run, stdout);
    }
    warn_if_slow(options, stage, gemm);
    if (options_trace(options)) {
        fflush(stdout);
        return run_traced(options, &stage->device, run, problem);
    }
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        if (!(options->data >> kind & 1)) {
            continue;
        }
        if (kind == DATA_INTEGERS && gemm->k > kind_max_exact_k(problem->shape.kind)) {
            printf("not checked with integers: they are exact in fp32 only up to k = %d\n",
                   kind_max_exact_k(problem->shape.kind));
            continue;
        }
        fflush(stdout);
        GEMM_TRY(problem_fill(problem, (DataKind)kind));
        if (options->check) {
            GEMM_TRY(check_data(options, stage, run, problem));
        } else if (!timed) {
            if (stage->backend->is_model) {
                stage->backend->set_schedule(options, options->schedule_seed);
            }
            GEMM_TRY(run_launch(run));
            GEMM_TRY(stage->backend->synchronise(stage->chapter->name));
            printf("ran      %s: the result was not compared\n", data_names[kind]);
        }
    }
    if (options->count) {
        stage->backend->print_counts(stdout);
    }
    fflush(stdout);
    return timed ? time_chapter(options, stage, run, problem, cublas) : GEMM_OK;
}

/* What is multiplied; sizes and padding that the options leave open are chosen here. */
static Shape shape_of(const Options *options, const Stage *stage, int timed) {
    Shape shape = options->shape;
    int is_model = stage->backend->is_model, traced = options_trace(options);
    int size = is_model ? MODEL_SIZE : stage->backend->default_size, k = size;
    if (traced) { /* a readable picture */
        size = is_model ? 256 : 4096;
        k = is_model ? 512 : 1024;
    }
    shape.kind = kind_of(stage->chapter);
    shape.m = shape.m ? shape.m : size;
    shape.n = shape.n ? shape.n : size;
    shape.k = shape.k ? shape.k : k;
    shape.experts = shape.experts ? shape.experts : 1;
    /* Padded rows find more bugs; but they cost speed, which a timed or recorded launch is to show. */
    int for_speed = timed || (traced && !is_model);
    shape.pad = shape.pad >= 0 ? shape.pad : for_speed ? 0 : PAD_TO_FIND_BUGS;
    return shape;
}

/* Refuses an option that this chapter, or the place where it runs, does not have. */
static GemmStatus refuse_options(const Options *options, const Stage *stage) {
    const Chapter *chapter = stage->chapter;
    const Tuning *tuning = &options->tuning;
    const int choices = chapter_beyond(chapter).choices, is_model = stage->backend->is_model;
    const KindRecord *kind = kind_record(kind_of(chapter));
    const struct {
        int is_one;
        const char *fault; /* %s: the chapter */
    } faults[] = {
        {tuning->variant && !chapter->variants, "--variant: %s does not have that choice"},
        {tuning->tile_group && !(choices & CHOOSES_TILE_GROUP), "--tile-group: %s does not have that choice"},
        {tuning->producer_barrier && !(choices & CHOOSES_PRODUCER_BARRIER),
         "--producer-barrier: %s does not have that choice"},
        {is_model && options->bench == CHOICE_YES, "--bench: only a GPU can be timed, and %s runs on the CPU model"},
        {options->count && !is_model, "--count: only the CPU model counts, and %s runs on a GPU; --on model does it"},
        {memcmp(&options->shape.heads, &(Heads){0}, sizeof(Heads)) && !has_heads(kind_of(chapter)),
         "--head-size, --kv-heads, --batches, --causal, --window: %s has no heads"},
        {options->shape.experts && !kind->has_experts, "--experts: %s has no experts"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (faults[i].is_one) {
            return gemm_fails(NULL, GEMM_USAGE, faults[i].fault, chapter->name);
        }
    }
    FILE *file = options->steps ? fopen(options->steps, "w") : NULL;
    if (options->steps && !file) { /* the model opens it at the launch, and names no option */
        return gemm_fails(NULL, GEMM_USAGE, "--steps: \"%s\" cannot be opened for writing: %s", options->steps,
                          strerror(errno));
    }
    if (file) {
        fclose(file);
    }
    return GEMM_OK;
}

static GemmStatus run_on(const Options *options, Stage *stage) {
    int timed = !stage->backend->is_model && options->bench != CHOICE_NO && !options_trace(options);
    Shape shape = shape_of(options, stage, timed);
    char message[OPTIONS_MESSAGE_SIZE];
    GEMM_TRY(refuse_options(options, stage));
    if (kind_record(shape.kind)->fits && !kind_record(shape.kind)->fits(&shape, message)) {
        return gemm_fails(NULL, GEMM_USAGE, "%s", message);
    }
    if (options->explain) { /* by the model's build of the chapter, wherever it would run */
        return explain_chapter(options, &MODEL_CHAPTER, &stage->device, shape);
    }
    if (!problem_fits(shape, stage->chapter, &stage->device, message)) {
        return gemm_fails(NULL, GEMM_USAGE, "%s", message);
    }
    char no_nvml[160] = "", no_cublas[160] = "";
    Nvml *nvml = NULL;
    Cublas *cublas = NULL;
    if (!stage->backend->is_model) {
        nvml = nvml_open(stage->device.pci_bus_id, no_nvml, sizeof no_nvml);
    }
    if (timed && shape.kind != KIND_BF16) {
        snprintf(no_cublas, sizeof no_cublas, "here it multiplies only bf16");
    } else if (timed) {
        cublas = cublas_open(stage->device.stream, no_cublas, sizeof no_cublas);
    }
    if (nvml) {
        nvml_driver_version(nvml, stage->device.driver_version, sizeof stage->device.driver_version);
        int mhz = (int)nvml_max_sm_mhz(nvml);
        stage->device.max_sm_mhz = mhz > 0 ? mhz : stage->device.max_sm_mhz;
    }
    printf("chapter  %s: %s\n", stage->chapter->name, stage->chapter->adds);
    print_device(stdout, &stage->device, cublas ? cublas_version(cublas) : 0);
    if (stage->chapter->needs == NEEDS_SM100A && !stage->backend->is_model) {
        printf("not yet run by us on this GPU: so far the chapter has run only on the CPU model\n");
    }
    if (timed && !nvml) {
        printf("no driver version and highest clock: %s\n", no_nvml);
    }
    if (timed && !cublas) {
        printf("no comparison with cuBLAS: %s\n", no_cublas);
    }
    Problem problem;
    ChapterRun run;
    GemmStatus status = problem_open(&problem, stage->backend, &stage->device, shape, options->seed);
    problem.beyond.tuning = options->tuning;
    const Devices *devices = chapter_beyond(stage->chapter).devices;
    if (options_trace(options) && stage->backend->is_model && devices && !options->tuning.variant) {
        problem.beyond.tuning.variant = devices->recorded;
    }
    if (status == GEMM_OK) {
        status = run_open(&run, &problem, stage->chapter);
        if (status == GEMM_OK) {
            status = run_problem(options, stage, &problem, &run, timed, cublas);
            run_close(&run);
            if (status == GEMM_OK && stage->backend->is_model && !options->named) {
                status = check_round(options, stage);
            }
            if (status == GEMM_OK && schedules_looked_at > 0) {
                print_depends();
            }
        }
        problem_close(&problem);
    }
    cublas_close(cublas);
    nvml_close(nvml);
    return status;
}

int main(int argc, char *argv[]) {
    Options options;
    char message[OPTIONS_MESSAGE_SIZE];
    if (!parse_options(argc, argv, &options, message)) {
        return gemm_fails(NULL, GEMM_USAGE, "%s", message);
    }
    if (options.help) {
        print_usage(stdout, argv[0]);
        return end_output(GEMM_OK);
    }
    if (options_trace(&options) && !options.sms_given) {
        options.sms = TRACED_SMS;
    }
    Stage stage;
    GemmStatus status = set_stage(&options, &stage);
    if (status == GEMM_OK) {
        status = run_on(&options, &stage);
        stage.backend->close();
    }
    return end_output(status);
}
