/* replay.c - does the CPU model do what the hardware did? Replays the recorded cases (vectors.txt) and compares every
 * bit. Compiled with the flags of a chapter's model build.
 *
 *     replay [VECTORS]          TAP: one test a case
 *
 * A case that is not in the file is skipped: it waits for the next recording. */
#include "kernels.h"

#include "../../common/model/data/matrix.h"
#include "../../common/model/model_host.h"
#include "../unit/tap.h"

/* ---- the model as a machine -------------------------------------------------------------------------------------- */

static int machine_copy(void *to, const void *from, size_t bytes, int to_machine) {
    (void)to_machine;
    memcpy(to, from, bytes);
    return 0;
}

/* What the model has found is looked at when the case is over. */
static int machine_wait(int launched) { return launched == GEMM_MODEL_BUG ? 0 : launched; }

static int machine_encode(TensorMap *map, int type, int rank, void *base, const uint64_t *size, const uint64_t *stride,
                          const uint32_t *box, int swizzle) {
    char why[200];
    return tensor_map_encode(map, type, rank, base, size, stride, box, swizzle, why, sizeof why);
}

/* The scripts ask for both parities to see the state; as a way of waiting that would be wrong, as the model says.
 * And bytes may hold a phase open for an announcement; whether they will be there is what the model asks. */
static int is_advice(ModelRule rule) {
    return rule == RULE_PHASE_STALE || rule == RULE_PHASE_SKIPPED || rule == RULE_TX_COUNT;
}

/* Of the first report that is no advice, the first line goes into the note. A deadlock or an increase that can never be
 * satisfied is what the hardware shows as a hang; any other report is an error that it would let pass or trap on. */
static void run(const Machine *m, Group group, int i, Outcome *o) {
    model_forget_reports();
    o->status = run_case(m, group, i, o) == 0 ? CASE_OK : CASE_TRAP;
    if (o->status == CASE_OK) {
        o->note[0] = '\0';
    }
    for (int n = 0; n < model_reports() && o->status == CASE_OK; n++) {
        const ModelReport *report = model_report(n);
        if (!is_advice(report->rule)) {
            o->status = report->rule == RULE_DEADLOCK || report->rule == RULE_SETMAXNREG ? CASE_HANG : CASE_TRAP;
            snprintf(o->note, sizeof o->note, "%s", report->text);
            o->note[strcspn(o->note, "\n")] = '\0';
        }
    }
    o->count = o->status == CASE_OK ? o->count : 0;
}

/* Does its kernel count what has landed after a time? The model has no time: only where copies land at once, as in the
 * policy eager, is that what the hardware had. */
static int takes_time(Group group, int i) {
    const char *name = case_name(group, i);
    return strncmp(name, "load_", 5) == 0 || strncmp(name, "multicast_", 10) == 0;
}

/* What the model makes of a case. In whatever order its threads run, the outcome is the same, or it is a trap that says
 * so. Valid until the next call. */
static const Outcome *replay_case(Group group, int i) {
    static Machine m;
    static Outcome first, other;
    if (m.out == NULL) {
        m.out = (uint16_t *)model_global_alloc(CASE_WORDS * sizeof *m.out, "results");
        m.global = (uint16_t *)model_global_alloc(GLOBAL_WORDS * sizeof *m.global, "tensor");
        m.fault = (uint32_t *)model_global_alloc(sizeof *m.fault, "fault");
    }
    if (m.out == NULL || m.global == NULL || m.fault == NULL) {
        fprintf(stderr, "no memory for the results of a case\n");
        exit(3);
    }
    for (int policy = MODEL_EAGER; policy <= (takes_time(group, i) ? MODEL_EAGER : MODEL_PCT); policy++) {
        ModelOptions options = {
            .policy = policy, .seed = 1, .quiet = 1, .max_reports = 100, .rounding = group == GROUP_ROUNDING};
        Outcome *o = policy == MODEL_EAGER ? &first : &other;
        model_configure(&options);
        run(&m, group, i, o);
        if (o->status != first.status || memcmp(o->words, first.words, (size_t)first.count * sizeof *o->words) != 0) {
            first.status = CASE_TRAP;
            first.count = 0;
            snprintf(first.note, sizeof first.note, "the outcome depends on the schedule; policy %d: %.300s", policy,
                     other.note);
            break;
        }
    }
    return &first;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Misuse that the hardware lets pass, or answers in some way of its own: the model must report it. */
static int is_misuse(Group group, int i) {
    const TmaCase *range = &bulk_cases[i];
    return (group == GROUP_MBARRIER && mbarrier_cases[i].misuse) ||
           (group == GROUP_BULK &&
            (range->size[0] == 0 || range->copy[0].offset % 16 != 0 || range->copy[0].coord[0] % 16 != 0));
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* The recording of a case: its text up to the next remark, case or empty line. NULL: there is none. */
static const char *recorded(const char *all, Group group, int i, size_t *length) {
    char head[100];
    snprintf(head, sizeof head, "\ncase %s %s ", groups[group].name, case_name(group, i));
    const char *at = strstr(all, head), *end = at;
    static const char *const ends[] = {"\n#", "\n\n", "\ncase "};
    *length = at != NULL ? strlen(++at) : 0;
    for (int e = 0; e < COUNT_OF(ends) && at != NULL; e++) {
        end = strstr(at, ends[e]);
        *length = end != NULL ? smaller(*length, (size_t)(end - at) + 1) : *length;
    }
    return at;
}

/* Is there a recording of it? Then the model's outcome must be the same text. */
static int test_case(const char *all, Group group, int i) {
    char name[100], *text = NULL;
    size_t length, size, same = 0;
    const char *hardware = recorded(all, group, i, &length);
    snprintf(name, sizeof name, "%s %s", groups[group].name, case_name(group, i));
    if (hardware == NULL) {
        skip(name, "not recorded yet: run record.cu on a Hopper GPU");
        return 0;
    }
    const Outcome *model = replay_case(group, i);
    if (is_misuse(group, i)) {
        ok(model->status != CASE_OK && model->note[0] != '\0', "%s", name);
        return 1;
    }
    FILE *out = open_memstream(&text, &size);
    write_vector(out, groups[group].name, case_name(group, i), model->status, model->words, model->count);
    fclose(out);
    while (same < smaller(size, length) && text[same] == hardware[same]) {
        same++;
    }
    if (!ok(same == size && same == length, "%s", name)) {
        diag("hardware: %.*s", (int)smaller(length, 100), hardware);
        diag("model:    %.100s%s", text, model->note);
        diag("from character %zu on, hardware: %.60s", same, hardware + same);
        diag("model: %.60s", text + same);
    }
    free(text);
    return 1;
}

int main(int argc, char **argv) {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: %s [VECTORS]\n", argv[0]);
        return 2;
    }
    static char all[4 << 20];
    const char *path = argc == 2 ? argv[1] : "tests/conform/vectors.txt";
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(all, 1, sizeof all, file) : 0;
    int known = 0, count = 0;
    if (size == 0 || size == sizeof all) {
        fprintf(stderr, "%s: accepted is a file of vectors of 1 to %zu bytes\n", path, sizeof all - 1);
        return 2;
    }
    fclose(file);
    for (Group group = 0; group < GROUPS; group++) {
        for (int i = 0; i < groups[group].count; i++) {
            known += test_case(all, group, i);
        }
    }
    for (const char *at = all; (at = strstr(at, "\ncase ")) != NULL; at++) {
        count++;
    }
    (void)(ok(count > 0 && count == known, "every vector belongs to a case, and to one alone") ||
           diag("%d vectors, %d cases with one", count, known));
    return tap_done();
}
