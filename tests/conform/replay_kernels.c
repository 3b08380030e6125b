/* replay_kernels.c - runs the kernels of kernels.h on the CPU model. Compiled with the flags of a chapter's model
 * build. */
#define CONFORM_COMPLETE_TX(bar, bytes) model_mbarrier_complete_tx(bar, bytes, HERE)
#define CONFORM_ARRIVE_COUNT(bar, count) model_mbarrier_arrive_count(bar, count, HERE)
#define CONFORM_DONE(p, i) ((void)0)
#define CONFORM_DELAY() ((void)0)
#define CONFORM_WATCHDOG(p) ((void)0)
#include "kernels.h"

#include "../../common/model/model_host.h"
#include "replay.h"

static const LaunchShape ONE_WARP = {1, 32, 0, (int)sizeof(ScriptShared), 0};

/* The scripts ask for both parities to see the state; as a way of waiting that would be wrong, as the model says. */
static int is_advice(ModelRule rule) { return rule == RULE_PHASE_STALE || rule == RULE_PHASE_SKIPPED; }

/* Of the first report that is no advice, the first line goes into the note. A deadlock or an increase that can never be
 * satisfied is what the hardware shows as a hang; any other report is an error that it would let pass or trap on. */
static void launch(const void *kernel, const char *name, LaunchShape shape, const void *params, const uint16_t *words,
                   int count, Outcome *out) {
    model_forget_reports();
    int result = launch_kernel(kernel, name, shape, params, NULL);
    out->status = result == 0 || result == 4 ? CASE_OK : CASE_TRAP;
    out->note[0] = '\0';
    for (int i = 0; i < model_reports() && out->status == CASE_OK; i++) {
        const ModelReport *report = model_report(i);
        if (!is_advice(report->rule)) {
            out->status = report->rule == RULE_DEADLOCK || report->rule == RULE_SETMAXNREG ? CASE_HANG : CASE_TRAP;
            snprintf(out->note, sizeof out->note, "%s", report->text);
            out->note[strcspn(out->note, "\n")] = '\0';
        }
    }
    out->count = out->status == CASE_OK ? count : 0;
    memcpy(out->words, words, (size_t)out->count * sizeof *words);
}

static void replay_mbarrier(const MbarrierCase *c, uint16_t *words, Outcome *out) {
    ScriptParams p;
    memset(&p, 0, sizeof p);
    memcpy(p.op, c->op, sizeof p.op);
    p.out = words;
    launch(KERNEL(mbarrier_script), ONE_WARP, &p, words, script_tests(c), out);
}

static void replay_barrier(const BarrierCase *c, uint16_t *words, Outcome *out) {
    BarrierParams p = {c->what, c->threads, c->ctas, c->survivors, words, NULL};
    LaunchShape shape = {c->ctas, c->threads, c->cluster, (int)sizeof(ScriptShared), 0};
    launch(KERNEL(barrier_case), shape, &p, words, c->ctas * c->threads, out);
}

#define SETMAXNREG_ENTRY(name, ...) {KERNEL(setmaxnreg_##name)},
static const struct {
    const void *entry;
    const char *name;
} setmaxnreg_kernels[] = {SETMAXNREG_CASES(SETMAXNREG_ENTRY)};

static void replay_setmaxnreg(int i, uint16_t *words, Outcome *out) {
    const SetmaxnregCase *c = &setmaxnreg_cases[i];
    BarrierParams p = {0, c->threads, 1, setmaxnreg_survivors(c), words, NULL};
    LaunchShape shape = {1, c->threads, 0, (int)sizeof(ScriptShared), 0};
    launch(setmaxnreg_kernels[i].entry, setmaxnreg_kernels[i].name, shape, &p, words, c->threads, out);
}

static void replay_once(Group group, int i, uint16_t *words, Outcome *out) {
    switch (group) {
    case GROUP_MBARRIER: replay_mbarrier(&mbarrier_cases[i], words, out); break;
    case GROUP_BARRIER: replay_barrier(&barrier_cases[i], words, out); break;
    case GROUP_SETMAXNREG: replay_setmaxnreg(i, words, out); break;
    default: break;
    }
}

/* In whatever order the model's threads run, the outcome must be the same. */
void replay_kernel(Group group, int i, Outcome *out) {
    enum { WORDS = 1024 };
    static Outcome other;
    uint16_t *words = (uint16_t *)model_global_alloc(WORDS * sizeof *words, "results");
    if (words == NULL) {
        fprintf(stderr, "no memory for the results of a case\n");
        exit(3);
    }
    for (int policy = MODEL_EAGER; policy <= MODEL_PCT; policy++) {
        ModelOptions options = {.policy = policy, .seed = 1, .quiet = 1, .max_reports = 100};
        model_configure(&options);
        memset(words, 0, WORDS * sizeof *words);
        replay_once(group, i, words, policy == MODEL_EAGER ? out : &other);
        if (policy != MODEL_EAGER &&
            (other.status != out->status || memcmp(other.words, out->words, (size_t)out->count * sizeof *words) != 0)) {
            out->status = CASE_TRAP;
            out->count = 0;
            snprintf(out->note, sizeof out->note, "the outcome depends on the schedule; policy %d: %.300s", policy,
                     other.note);
            break;
        }
    }
    model_global_free(words);
}
