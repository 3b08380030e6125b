/* replay.c - does the CPU model do what the hardware did? Replays the recorded cases (vectors.txt) and compares every
 * bit. Compiled with the flags of a chapter's model build.
 *
 *     replay [VECTORS]          TAP: one test a case
 *
 * A case that is not in the file, or is there with other parameters, is skipped: it waits for the next recording.
 * Without a file of vectors all are. */
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
                          const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int fill) {
    char why[200];
    return tensor_map_encode(map, type, rank, base, size, stride, box, step, interleave, swizzle, 0, fill, why,
                             sizeof why);
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
        m.global = (uint16_t *)model_global_alloc(CASE_WORDS * sizeof *m.global, "tensor");
        m.flags = (uint32_t *)model_global_alloc(4096, "flags");
    }
    if (m.out == NULL || m.global == NULL || m.flags == NULL) {
        fprintf(stderr, "no memory for the results of a case\n");
        exit(3);
    }
    for (int policy = MODEL_EAGER; policy <= (takes_time(group, i) ? MODEL_EAGER : MODEL_PCT); policy++) {
        ModelOptions options = {.policy = policy, .seed = 1, .quiet = 1, .max_reports = 100};
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
    return (group == GROUP_MBARRIER && mbarrier_cases[i].misuse) || (group == GROUP_BULK && bulk_cases[i].misuse);
}

/* Index of the first difference, -1 for none, or the shorter count if the counts differ. */
static int first_difference(const Outcome *model, const Vector *hardware) {
    int common = model->count < hardware->count ? model->count : hardware->count;
    for (int i = 0; i < common; i++) {
        if (model->words[i] != hardware->words[i]) {
            return i;
        }
    }
    return model->count != hardware->count ? common : -1;
}

typedef enum { AGREES, DIFFERS, NOT_RECORDED } Verdict;

static Verdict judge(Group group, int i, const Outcome *model, const Vector *hardware) {
    if (hardware == NULL || hardware->digest != case_digest(group, i)) {
        return NOT_RECORDED;
    }
    if (is_misuse(group, i)) {
        return model->status != CASE_OK && model->note[0] != '\0' ? AGREES : DIFFERS;
    }
    return model->status == hardware->status && first_difference(model, hardware) < 0 ? AGREES : DIFFERS;
}

/* Would a wrong vector be seen? The case is judged again after one bit of one word of its vector, or the status, and
 * then after its digest has been changed. */
static int is_corruption_seen(Group group, int i, const Outcome *model, const Vector *hardware, int number) {
    Vector changed = *hardware;
    uint16_t *word = hardware->count > 0 ? &hardware->words[conform_hash((uint32_t)number, hardware->count)] : NULL;
    uint16_t bit = (uint16_t)(1 << number % 16);
    if (word != NULL) {
        *word ^= bit;
    } else {
        changed.status = CASE_OK;
    }
    int seen = is_misuse(group, i) || judge(group, i, model, &changed) == DIFFERS;
    if (word != NULL) {
        *word ^= bit;
    }
    changed = *hardware;
    changed.digest ^= 1u << number % 32;
    return seen && judge(group, i, model, &changed) == NOT_RECORDED;
}

/* A case, and the vector changed; *unseen counts changes that the judgement does not see. */
static Verdict test_case(Group group, int i, const Vector *hardware, int *unseen) {
    static int number;
    char name[100];
    snprintf(name, sizeof name, "%s %s", group_name(group), case_name(group, i));
    const Outcome *model = replay_case(group, i);
    Verdict verdict = judge(group, i, model, hardware);
    if (verdict == NOT_RECORDED) {
        skip(name, hardware == NULL ? "not recorded yet: run record.cu on a Hopper GPU"
                                    : "recorded with other parameters: run record.cu on a Hopper GPU");
        return verdict;
    }
    if (ok(verdict == AGREES, "%s", name)) {
        if (!is_corruption_seen(group, i, model, hardware, number++)) {
            diag("%s: a change of the vector is not seen", name);
            ++*unseen;
        }
        return verdict;
    }
    diag("hardware: %s, %d words; model: %s, %d words%s%s", case_status_name(hardware->status), hardware->count,
         case_status_name(model->status), model->count, model->note[0] != '\0' ? "; " : "", model->note);
    int at = first_difference(model, hardware);
    if (model->status == CASE_OK && hardware->status == CASE_OK && at >= 0 && at < model->count &&
        at < hardware->count) {
        diag("word %d: hardware 0x%x, model 0x%x", at, hardware->words[at], model->words[at]);
    }
    return verdict;
}

/* Two cases with one name, or two with the same parameters: one of them tests nothing. */
static void test_cases_differ(void) {
    int twins = 0;
    for (Group group = 0; group < GROUPS; group++) {
        for (int i = 0; i < group_size(group); i++) {
            for (int j = 0; j < i; j++) {
                if (strcmp(case_name(group, i), case_name(group, j)) == 0 ||
                    case_digest(group, i) == case_digest(group, j)) {
                    twins++;
                    diag("%s: %s and %s", group_name(group), case_name(group, j), case_name(group, i));
                }
            }
        }
    }
    is_int(twins, 0, "no two cases have the same name or the same parameters");
}

/* A damaged file must be refused, not read as a shorter one. */
static void test_damage(void) {
    static const struct {
        const char *text, *why;
    } files[] = {
        {"case tma x 01234567 ok 3\n1 2\n", "too few words"},
        {"case tma x 01234567 ok 3\n1+4\n", "too many words"},
        {"case tma x 01234567 ok 1\n12345\n", "a word of more than 16 bits"},
        {"case tma x 01234567 ok 1\nxyz\n", "a word that is no number"},
        {"case tma x 01234567 fine 1\n1\n", "an unknown status"},
        {"case tma x 0123456z ok 1\n1\n", "a digest that is no number"},
        {"case tma x ok 1\n1\n", "a case line without a digest"},
        {"1 2 3\n", "words without a case"},
        {"# nothing\n", "no case at all"},
    };
    for (int i = 0; i < COUNT_OF(files); i++) {
        FILE *file = fmemopen((void *)files[i].text, strlen(files[i].text), "r");
        VectorFile all = read_vectors(file, "a file");
        ok(all.fault[0] != '\0', "a file with %s is refused", files[i].why);
        free_vectors(&all);
    }
}

int main(int argc, char **argv) {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: %s [VECTORS]\n", argv[0]);
        return 2;
    }
    const char *path = argc == 2 ? argv[1] : "tests/conform/vectors.txt";
    VectorFile all = read_vectors(fopen(path, "r"), path);
    if (all.count == 0 && all.fault[0] == '\0') {
        skip_all("there is no file of vectors; record.cu writes it on a Hopper GPU");
    }
    if (!ok(all.fault[0] == '\0', "the file of vectors is whole")) {
        diag("%s", all.fault);
    }
    int known = 0, unseen = 0;
    for (Group group = 0; group < GROUPS; group++) {
        int judged = 0, there = 0;
        for (int i = 0; i < group_size(group); i++) {
            const Vector *hardware = find_vector(&all, group_name(group), case_name(group, i));
            known += hardware != NULL;
            there += hardware != NULL;
            judged += test_case(group, i, hardware, &unseen) != NOT_RECORDED;
        }
        /* A group that is new waits for its recording; one of which every case has changed is an error. */
        if (there == 0) {
            skip(group_name(group), "no case of the group is recorded yet: run record.cu on a Hopper GPU");
        } else {
            ok(judged > 0, "cases of the group %s are recorded", group_name(group));
        }
    }
    is_int(all.count, known, "every vector belongs to a case");
    test_cases_differ();
    is_int(unseen, 0, "a changed vector is seen in every case");
    test_damage();
    free_vectors(&all);
    return tap_done();
}
