/* every_chapter.c - every chapter and every step of one, unchanged, on the model: right numbers and no report over edge
 * sizes, variants, policies and seeds. TAP.
 *
 *     every_chapter              a sample: a run of each chapter and size, and in a second policy where something
 *                                depends on it; of each kernel at a fifth of the sizes in one, other sizes and another
 *                                variant at each commit (TURN); TIER=long: at all sizes, with two seeds for each
 *                                policy. Of a step, some small sizes in all policies
 *     every_chapter 25           25 of them
 *     every_chapter 25 07        only chapters whose name contains "07"
 *     every_chapter 25 0 500000  only sizes with at most this many products */

#include "../../common/harness/problem.h"
#include "../../common/model/event.h"
#include "../unit/tap.h"
#include "chapters.h"

#define EACH_STEP(id) extern const Chapter model_chapter_##id;
#include "steps.inc"
#undef EACH_STEP
#define EACH_STEP(id) &model_chapter_##id,
static const Chapter *const steps[] = {
#include "steps.inc"
};
enum { STEPS = sizeof steps / sizeof steps[0] };

enum { POLICIES = 4, SMS = 4, SHARED = 227 * 1024, LARGE = 100000000 };

typedef struct {
    int m, n, k;
} Size;

/* The edge sizes of the GPU tests, scaled: one element, one row, one step; a little more and less than the tiles; K
 * shorter than a pipeline and longer; fewer tiles than SMs and several for each; nothing a multiple of anything. */
static const Size sizes[] = {
    {1, 1, 1},       {1, 1, 1100},    {7, 13, 1},      {64, 64, 64},  {127, 255, 63}, {128, 256, 64},  {129, 257, 65},
    {255, 129, 577}, {333, 200, 555}, {16, 1030, 256}, {1030, 16, 8}, {700, 700, 64}, {640, 900, 200},
};

/* Few rows of activations, for packed weights: with SMS SMs each of that chapter's kernels is chosen for one of them. K
 * fills the stages more than once where teams or CTAs share it. */
static const Size few_rows[] = {
    {8, 64, 6000},   {7, 300, 4000},  {5, 600, 1300},  {16, 64, 6000},  {13, 300, 4000},
    {12, 600, 1300}, {15, 400, 3000}, {30, 300, 3000}, {17, 64, 5000},  {31, 500, 2100},
    {31, 800, 2600}, {60, 300, 3000}, {33, 64, 4000},  {64, 500, 1800}, {61, 900, 2100},
};

/* The runs of a chapter at a size: of how many seeds in each policy, whether on normal data too, and whether also where
 * the first has shown that they are the same for every schedule. */
typedef struct {
    int seeds[POLICIES], normal, all;
} Runs;

/* What is the same for every seed is run once. */
static Runs all_runs(int seeds) { return (Runs){{1, 1, seeds, seeds}, 1, 1}; }

/* Of one size in two policies, or of a variant in one: others at the next size. */
static Runs some_runs(int turn, int of_variant) {
    Runs runs = {{0}, turn % 4 == 0, 0};
    runs.seeds[of_variant ? turn % 4 : turn % 2] = 1;
    runs.seeds[of_variant ? turn % 4 : MODEL_RANDOM + turn / 2 % 2] = 1;
    return runs;
}

static unsigned launches;
ON(first, LAUNCH_BEGIN) { launches++; }

static int sms; /* SMS, or as many as the variant's cluster has CTAs */

static void configure(int policy, int seed) {
    ModelOptions options = {.policy = policy, .seed = (unsigned)seed, .sms = sms, .chain = 1};
    model_configure(&options);
    model_forget_reports();
}

static Heads heads; /* of KIND_ATTENTION; 0: the default */

static void told(const Chapter *chapter, Size size, const char *variant, int experts, int several, int bad,
                 const char *what) {
    char more[96] = "";
    if (heads.size) {
        snprintf(more, sizeof more, ", heads of %d, %d of K and V, %d batches%s", heads.size, heads.kv, heads.batches,
                 heads.causal ? ", causal" : "");
    } else if (experts > 1) {
        snprintf(more, sizeof more, ", %d experts", experts);
    } else if (several) {
        snprintf(more, sizeof more, ", several devices");
    }
    if (!ok(bad == 0, "%s%s%s at %d x %d x %d%s", chapter->name, variant != NULL ? " " : "",
            variant != NULL ? variant : "", size.m, size.n, size.k, more)) {
        diag("%d runs; the last: %s", bad, what);
    }
}

static void open_problem(Problem *problem, const Chapter *chapter, Size size, int experts) {
    DeviceInfo device = {.sm_count = sms, .shared_bytes = SHARED};
    Shape shape = {size.m, size.n, size.k, 8, kind_of(chapter), experts, heads};
    if (problem_open(problem, model_backend(), &device, shape, 1) != GEMM_OK ||
        problem_fill(problem, DATA_INTEGERS) != GEMM_OK) {
        printf("Bail out! no memory for %s\n", chapter->name);
        exit(1);
    }
}

/* With the harness's data, reference and tolerance, of integers and, in one run, of normal data. */
static void check_launches(const Chapter *chapter, Size size, const char *variant, Runs runs, int experts) {
    Problem problem;
    ChapterRun run;
    Tally tally;
    int bad = 0;
    char what[200] = "";
    sms = SMS;
    for (int v = 0; variant != NULL && v < chapter->variants->count; v++) {
        const Variant *one = &chapter->variants->variant[v];
        sms = strcmp(one->name, variant) == 0 && one->cluster > SMS ? one->cluster : sms;
    }
    open_problem(&problem, chapter, size, experts);
    problem.beyond.tuning.variant = variant;
    if (run_open(&run, &problem, chapter) != GEMM_OK) {
        bad = 1;
        snprintf(what, sizeof what, "it does not open");
    }
    int done = 0; /* with integers: nothing that a thread did depends on the schedule */
    model_forget_depends();
    for (int policy = 0; policy < POLICIES + runs.normal && !bad; policy++) {
        int again = policy == POLICIES;
        if (again) {
            problem_fill(&problem, DATA_NORMAL);
        }
        for (int seed = 0; seed < (again ? 1 : done ? 0 : runs.seeds[policy]); seed++) {
            configure(again ? MODEL_RANDOM : policy, seed);
            run.beyond.tuning.producer_barrier = seed % 2 == 0 ? CHOICE_NO : CHOICE_YES;
            tally_start(&tally);
            int status = (int)run_checked(&run, &tally);
            done = !runs.all && model_depends() == NULL;
            if (status != 0 || !tally_is_right(&tally) || model_reports() > 0) {
                bad++;
                snprintf(what, sizeof what, "%s, policy %d, seed %d: status %d, %llu elements wrong, %s",
                         data_names[problem.data], policy, seed, status, (unsigned long long)tally.wrong,
                         model_reports() > 0 ? model_rule_name(model_report(0)->rule) : "no report");
            }
        }
    }
    told(chapter, size, variant, experts, run.devices != NULL, bad, what);
    run_close(&run);
    problem_close(&problem);
}

/* A chapter of several ranks also alone, one of packed weights also for several experts. */
static void check(const Chapter *chapter, Size size, const char *variant, Runs runs) {
    check_launches(chapter, size, variant, runs, 1);
    if (chapter_beyond(chapter).devices != NULL) {
        Chapter alone = *chapter;
        ChapterBeyond more = *chapter->beyond;
        more.devices = NULL;
        alone.beyond = &more;
        check_launches(&alone, size, variant, runs, 1);
    }
    if (kind_of(chapter) == KIND_W4A8 && size.m > 1) {
        check_launches(chapter, size, variant, runs, 5);
    }
    if (kind_of(chapter) == KIND_ATTENTION) {
        heads = (Heads){64, 1, 2, 1, 0};
        check_launches(chapter, size, variant, runs, 1);
        heads = (Heads){0};
    }
}

static int commits_turn; /* another at each commit (tests/run) */

/* At each of `count` sizes, the chapter and its variants. `seeds` 0: the sample, without the largest size but for a
 * third of the chapters. */
static void check_sizes(const Chapter *chapter, const Size *list, int count, int variants, int seeds, long long most) {
    for (int s = 0; s < count; s++) {
        long long products = (long long)list[s].m * list[s].n * list[s].k;
        if (products > most || (seeds == 0 && products > LARGE && (chapter->name[1] + commits_turn) % 3 != 0)) {
            continue;
        }
        check(chapter, list[s], NULL, seeds > 0 ? all_runs(seeds) : some_runs(s, 0));
        int kernel = -1;
        for (int v = 0; v < variants; v++) {
            kernel += begins_kernel(chapter->variants, v);
            if (is_in_turn(chapter->variants, v, commits_turn + s) &&
                (seeds > 0 || (s + kernel + commits_turn) % 5 == 0)) {
                check(chapter, list[s], chapter->variants->variant[v].name,
                      seeds > 0 ? all_runs(1) : some_runs((s + kernel) / 5 + kernel, 1));
            }
        }
    }
}

/* Lengths of 1 to 300 of queries and of keys: every one, or a sample; each head size, causal or not. */
static void check_lengths(const Chapter *chapter, int all) {
    for (int i = 1; i <= 300; i += all ? 1 : 13) {
        Runs runs = {{1, 0, 0, 0}, 0, 0};
        heads = (Heads){i % 2 ? 64 : 128, 1, 1, i / 2 % 2, 0};
        check_launches(chapter, (Size){i, 2 * heads.size, 301 - i}, NULL, runs, 1);
        heads.causal = !heads.causal;
        check_launches(chapter, (Size){i, 2 * heads.size, 150}, NULL, runs, 1);
    }
    heads = (Heads){0};
}

/* What depends on the schedule in a chapter, by its number: of every other one each run says that nothing does. */
static const struct {
    const char *number, *what;
} depending[] = {
    {"09", "gets the value that an atomic found"},
    {"15", "takes over a cluster"},
};

static void check_claim(const Chapter *chapter) {
    const char *found = model_depends(), *known = NULL;
    for (size_t i = 0; i < sizeof depending / sizeof depending[0]; i++) {
        known = strncmp(depending[i].number, chapter->name, 2) == 0 ? depending[i].what : known;
    }
    ok(known == NULL ? found == NULL : found == NULL || strstr(found, known) != NULL, "%s: %s", chapter->name,
       found != NULL ? found : "this holds for every schedule");
}

/* A step, at all sizes or at every second small one: nothing that its threads do may depend on the schedule, so that
 * what these runs show holds for every schedule. */
static void check_step(const Chapter *step, int number, int seeds, long long most) {
    const long long small = 3000000;
    for (int s = 0; s < (int)(sizeof sizes / sizeof sizes[0]); s++) {
        long long products = (long long)sizes[s].m * sizes[s].n * sizes[s].k;
        if (products <= most && (seeds > 0 || (products <= small && (s + number) % 2 == 0))) {
            check_launches(step, sizes[s], NULL, all_runs(seeds > 0 ? seeds : 1), 1);
            ok(model_depends() == NULL, "... for every schedule");
        }
    }
}

/* Asked for a variant that it has not, the chapter names those that it has, or says that there are more. */
static void check_refusal(const Chapter *chapter) {
    GemmError error = {""};
    Gemm g = {.m = 8, .n = 8, .k = 8, .lda = 16, .ldb = 16, .ldc = 8, .sm_count = SMS};
    Beyond beyond = {.tuning.variant = "none of these"};
    g.beyond = &beyond;
    ok(chapter->launch(&g, &error) == GEMM_USAGE, "%s refuses a variant that it has not", chapter->name);
    for (int v = 0; v < chapter->variants->count; v++) {
        const char *name = chapter->variants->variant[v].name;
        if (begins_kernel(chapter->variants, v)) {
            ok(strstr(error.text, name) != NULL || strstr(error.text, " more") != NULL,
               "%s: ... and names %s, or says that there are more", chapter->name, name);
        }
    }
}

int main(int argc, char **argv) {
    const char *tier = getenv("TIER");
    int seeds = argc > 1 ? atoi(argv[1]) : tier != NULL && strcmp(tier, "long") == 0 ? 2 : 0;
    long long most = argc > 3 ? atoll(argv[3]) : LLONG_MAX;
    commits_turn = getenv("TURN") != NULL ? atoi(getenv("TURN")) : 0;
    diag("TURN=%d", commits_turn);
    for (int i = 0; i < CHAPTERS; i++) {
        const Chapter *chapter = chapters[i];
        if (argc > 2 && strstr(chapter->name, argv[2]) == NULL) {
            continue;
        }
        model_forget_depends();
        if (chapter->variants != NULL) {
            check_refusal(chapter);
        }
        check_sizes(chapter, sizes, sizeof sizes / sizeof sizes[0],
                    chapter->variants != NULL ? chapter->variants->count : 0, seeds, most);
        if (kind_of(chapter) == KIND_ATTENTION) {
            check_lengths(chapter, seeds > 0);
        }
        if (kind_of(chapter) == KIND_W4A8) {
            check_sizes(chapter, few_rows, sizeof few_rows / sizeof few_rows[0], 0, seeds, most);
        }
        check_claim(chapter);
    }
    for (int i = 0; i < STEPS; i++) {
        if (argc <= 2 || strstr(steps[i]->name, argv[2]) != NULL) {
            check_step(steps[i], i + commits_turn, seeds, most);
        }
    }
    printf("# %u launches\n", launches);
    model_shutdown();
    return tap_done();
}
