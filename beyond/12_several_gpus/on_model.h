/* on_model.h - runs the chapter on several devices of the CPU model: divides the operands, launches on all devices, and
 * compares every rank's result. It runs all patterns, one after the other, or the pattern that --variant names; a
 * timeline has one. Host; a part of 12_several_gpus.cu. RANKS in the environment is the number of devices, 1 to 8. */
#ifndef ON_MODEL_H
#define ON_MODEL_H

#include "../../common/harness/problem.h"

/* A rank's memory: its operands, with NaN where another rank's share would be, its C, and what others write. */
typedef struct {
    Problem problem;
    Gemm gemm;     /* the problem's, with this rank's share of A and B */
    Beyond beyond; /* gemm.beyond */
    Ranks ranks;
    Buffer inbox, flags;
} RankMemory;

/* The ranks of a pattern. */
typedef struct {
    int count, wrong; /* the rank whose C the last check found wrong; 0 also where all ranks have C together */
    Pattern pattern;
    RankMemory rank[MAX_RANKS];
} Group;

typedef struct {
    int count, wrong; /* the group that the last check found wrong */
    Group group[PATTERNS];
} Groups;

static Groups *groups_of(const ChapterRun *run) { return (Groups *)run->devices; }

/* The number of devices: RANKS of the environment, 3 if it is not set, 0 if it is no number from 1 to MAX_RANKS. */
static int devices_asked_for(void) {
    const char *text = getenv("RANKS");
    if (text == NULL) {
        return 3;
    }
    if (text[0] < '1' || text[0] > '0' + MAX_RANKS || text[1] != '\0') {
        fprintf(stderr, "RANKS=%s: accepted is a number of devices from 1 to %d\n", text, MAX_RANKS);
        return 0;
    }
    return text[0] - '0';
}

/* Is this pattern asked for? Where --variant names none, all are. */
static int is_asked_for(const Gemm *g, int pattern) {
    const char *wanted = beyond_of(g).tuning.variant;
    return wanted == NULL || strncmp(wanted, pattern_name(pattern), strlen(pattern_name(pattern))) == 0;
}

static GemmStatus open_rank(const ChapterRun *run, Group *group, int r) {
    const Backend *backend = run->problem->backend;
    RankMemory *rank = &group->rank[r];
    Gemm *g = &rank->gemm;
    DeviceInfo device = {.sm_count = run->gemm.sm_count, .shared_bytes = run->gemm.shared_bytes};
    model_use_device(r);
    GEMM_TRY(problem_open(&rank->problem, backend, &device, run->problem->shape, run->problem->seed));
    *g = rank->problem.gemm;
    GEMM_TRY(backend->allocate(&rank->inbox, ranks_inbox_bytes(g, group->count), "inbox"));
    GEMM_TRY(backend->allocate(&rank->flags, ranks_flag_bytes(g, group->count), "flags"));
    GEMM_TRY(backend->clear(&rank->flags));
    model_use_device(0);
    size_t first_k = (size_t)rank_first(g->k, group->count, r, K_BY);
    size_t first_column = (size_t)rank_first(g->n, group->count, r, COLUMNS_BY);
    g->a += is_sum(group->pattern) ? first_k : 0;
    g->b += is_sum(group->pattern) ? first_k : first_column * (size_t)g->ldb;
    rank->beyond = run->beyond;
    rank->beyond.ranks = &rank->ranks;
    g->beyond = &rank->beyond;
    return GEMM_OK;
}

static GemmStatus open_group(const ChapterRun *run, Group *group, int count, Pattern pattern) {
    Ranks all = {.pattern = pattern, .count = count};
    group->count = count;
    group->pattern = pattern;
    for (int r = 0; r < count; r++) {
        GEMM_TRY(open_rank(run, group, r));
        all.a[r] = (bf16 *)group->rank[r].problem.a.data;
        all.c[r] = group->rank[r].gemm.c;
        all.inbox[r] = (bf16 *)group->rank[r].inbox.data;
        all.flags[r] = (int *)group->rank[r].flags.data;
    }
    for (int r = 0; r < count; r++) {
        group->rank[r].ranks = all;
        group->rank[r].ranks.rank = r;
    }
    return GEMM_OK;
}

static GemmStatus groups_open(ChapterRun *run) {
    int count = devices_asked_for();
    Groups *groups = count > 0 ? (Groups *)calloc(1, sizeof *groups) : NULL;
    run->devices = groups;
    if (groups == NULL) {
        return count == 0 ? GEMM_USAGE : GEMM_DEVICE;
    }
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        if (is_asked_for(&run->gemm, pattern)) {
            GEMM_TRY(open_group(run, &groups->group[groups->count++], count, (Pattern)pattern));
        }
    }
    if (groups->count == 0) { /* a name of no pattern: launch() says so */
        GEMM_TRY(open_group(run, &groups->group[groups->count++], count, GATHER_C));
    }
    run->beyond.ranks = &groups->group[0].rank[0].ranks;
    return GEMM_OK;
}

static void groups_describe(const ChapterRun *run, FILE *out) {
    static const char *const has[PATTERNS] = {
        "A, its rows of B, and in the end all of C",
        "its rows of A and B, and in the end all of A and its columns of C",
        "its part of K, and in the end its rows of C",
        "its part of K, and in the end all of C",
    };
    const Groups *groups = groups_of(run);
    for (const Group *group = groups->group; group < groups->group + groups->count; group++) {
        fprintf(out, "ranks    %d devices, each with, %s: %s\n", group->count, pattern_name(group->pattern),
                has[group->pattern]);
    }
}

/* Copies the part of a matrix that the rank has, and writes NaN elsewhere. */
static void deal(bf16 *to, const Buffer *all, int ld, int first_row, int rows, int first_column, int columns) {
    memset(to, 0xff, all->bytes);
    for (int row = first_row; row < first_row + rows; row++) {
        size_t at = (size_t)row * (size_t)ld + (size_t)first_column;
        memcpy(to + at, (const bf16 *)all->data + at, (size_t)columns * sizeof *to);
    }
}

static void deal_out(const Problem *problem, Group *group) {
    const Gemm *g = &problem->gemm;
    int count = group->count, sums = is_sum(group->pattern);
    for (int r = 0; r < count; r++) {
        int first_row = group->pattern == GATHER_A ? rank_first(g->m, count, r, ROWS_BY) : 0;
        int rows = group->pattern == GATHER_A ? rank_share(g->m, count, r, ROWS_BY) : g->m;
        int first_n = sums ? 0 : rank_first(g->n, count, r, COLUMNS_BY);
        int columns = sums ? g->n : rank_share(g->n, count, r, COLUMNS_BY);
        int first_k = sums ? rank_first(g->k, count, r, K_BY) : 0, k = sums ? rank_share(g->k, count, r, K_BY) : g->k;
        deal((bf16 *)group->rank[r].problem.a.data, &problem->a, g->lda, first_row, rows, first_k, k);
        deal((bf16 *)group->rank[r].problem.b.data, &problem->b, g->ldb, first_n, columns, first_k, k);
    }
}

static int owner_of(const Gemm *g, int count, int row) { return row / rank_first(g->m, count, 1, ROWS_BY); }

/* The expected C. For sums, every rank but the owner of a row sends its share rounded to bf16. With integers, whose
 * sums are exact in fp32, that gives the bits of C; with other data the tolerance grows by a rounding of each share. */
static GemmStatus expect(const Problem *problem, Group *group) {
    const Gemm *g = &problem->gemm;
    size_t elements = (size_t)g->m * (size_t)g->n;
    double *expected = (double *)group->rank[0].problem.expected.data;
    int rounded = is_sum(group->pattern) && problem->view.exact;
    memcpy(expected, problem->view.expected, elements * sizeof *expected);
    for (int r = 0; r < group->count; r++) {
        Problem *own = &group->rank[r].problem;
        double *share = (double *)own->expected.data; /* rank 0's is where the sum will be */
        ReferencePart part = {.kind = KIND_BF16, .gemm = *g, .end_row = g->m, .eps = problem->view.eps};
        int first = rank_first(g->k, group->count, r, K_BY);
        part.gemm.k = rank_share(g->k, group->count, r, K_BY);
        part.gemm.a += first;
        part.gemm.b += first;
        if (rounded && part.gemm.k > 0) {
            GEMM_TRY(problem->backend->reference(&part, share, (float *)own->magnitude.data));
        }
        for (size_t i = 0; i < elements && rounded; i++) {
            int is_owner = owner_of(g, group->count, (int)(i / (size_t)g->n)) == r;
            double sent = part.gemm.k == 0 ? 0 : is_owner ? share[i] : (double)bf16_value(round_to_bf16(share[i]));
            expected[i] = (r == 0 ? 0 : expected[i]) + sent;
        }
        own->data = problem->data;
        own->view.exact = problem->view.exact;
        own->view.eps = problem->view.eps + (is_sum(group->pattern) && group->count > 1 ? 0x1p-8 : 0);
        own->view.expected = expected;
        own->view.magnitude = problem->view.magnitude;
    }
    return GEMM_OK;
}

static GemmStatus groups_prepare(ChapterRun *run) {
    Groups *groups = groups_of(run);
    for (int i = 0; i < groups->count; i++) {
        deal_out(run->problem, &groups->group[i]);
        GEMM_TRY(expect(run->problem, &groups->group[i]));
    }
    run->prepared_for = run->problem->fills;
    return GEMM_OK;
}

static GemmStatus launch_group(const ChapterRun *run, Group *group) {
    GemmStatus status = GEMM_OK;
    model_hold_launches();
    for (int r = 0; r < group->count && status == GEMM_OK; r++) {
        group->rank[r].beyond.tuning = run->beyond.tuning;
        group->rank[r].ranks.epoch++;
        model_use_device(r);
        status = launch(&group->rank[r].gemm, NULL);
    }
    model_use_device(0);
    return status == GEMM_OK ? model_run_launches() : status;
}

static GemmStatus groups_launch(ChapterRun *run) {
    Groups *groups = groups_of(run);
    GEMM_TRY(run->prepared_for != run->problem->fills ? groups_prepare(run) : GEMM_OK);
    for (int i = 0; i < groups->count; i++) {
        GEMM_TRY(launch_group(run, &groups->group[i]));
    }
    return GEMM_OK;
}

/* Writes NaN into every C and, where A is gathered, into the rows of A that other ranks push. */
static GemmStatus groups_poison(const ChapterRun *run) {
    Groups *groups = groups_of(run);
    for (int i = 0; i < groups->count; i++) {
        deal_out(run->problem, &groups->group[i]);
        for (int r = 0; r < groups->group[i].count; r++) {
            GEMM_TRY(problem_poison(&groups->group[i].rank[r].problem));
        }
    }
    return GEMM_OK;
}

/* Where each rank has a part of C, copies all parts into the C of rank 0. An element there becomes NaN if a rank has
 * written anything else. */
static void collect(Group *group, const Gemm *g) {
    const ResultView *view = &group->rank[0].problem.view;
    bf16 *to = (bf16 *)group->rank[0].problem.block.data;
    size_t stray = block_elements(view);
    for (int r = 0; r < group->count; r++) {
        const bf16 *from = (const bf16 *)group->rank[r].problem.block.data;
        int first = rank_first(g->n, group->count, r, COLUMNS_BY);
        int share = rank_share(g->n, group->count, r, COLUMNS_BY);
        for (size_t i = 0; i < block_elements(view); i++) {
            size_t at = i - view->guard;
            int row = (int)(at / (size_t)g->ldc), column = (int)(at % (size_t)g->ldc);
            int own = in_c(view, i) && (is_sum(group->pattern) ? owner_of(g, group->count, row) == r
                                                               : column >= first && column < first + share);
            if (own) {
                to[i] = from[i];
            } else if (from[i] != unwritten_pattern(view, i)) {
                stray = i;
            }
        }
    }
    if (stray < block_elements(view)) {
        to[stray] = 0x7fff;
    }
}

static GemmStatus check_group(const Problem *problem, Group *group, Tally *tally) {
    int all_have_c = group->pattern == GATHER_C || group->pattern == ALL_REDUCE;
    group->wrong = 0;
    if (!all_have_c) {
        collect(group, &problem->gemm);
    }
    GEMM_TRY(problem_check(&group->rank[0].problem, tally));
    for (int r = 1; r < group->count && all_have_c && tally_is_right(tally); r++) {
        GEMM_TRY(problem_check(&group->rank[r].problem, tally));
        group->wrong = tally_is_right(tally) ? 0 : r;
    }
    return GEMM_OK;
}

/* The tally of the first C that is wrong; otherwise the one in which most of the tolerance was used. */
static GemmStatus groups_check(ChapterRun *run, Tally *tally) {
    Groups *groups = groups_of(run);
    Tally most = {0};
    for (int i = 0; i < groups->count; i++) {
        GEMM_TRY(check_group(run->problem, &groups->group[i], tally));
        groups->wrong = i;
        if (!tally_is_right(tally)) {
            return GEMM_OK;
        }
        most = i == 0 || tally->worst > most.worst ? *tally : most;
    }
    *tally = most;
    return GEMM_OK;
}

static GemmStatus groups_explain(const ChapterRun *run, const Tally *tally, FILE *out) {
    const Groups *groups = groups_of(run);
    const Group *group = &groups->group[groups->wrong];
    if (group->wrong > 0) {
        fprintf(out, "C of rank %d:\n", group->wrong);
    }
    return problem_explain(&group->rank[group->wrong].problem, tally, out);
}

static void groups_close(ChapterRun *run) {
    Groups *groups = groups_of(run);
    for (int i = 0; groups != NULL && i < groups->count; i++) {
        for (int r = 0; r < groups->group[i].count; r++) {
            RankMemory *rank = &groups->group[i].rank[r];
            run->problem->backend->release(&rank->inbox);
            run->problem->backend->release(&rank->flags);
            problem_close(&rank->problem);
        }
    }
    free(groups);
}

static const Devices on_devices = {groups_open,    groups_launch,   groups_poison, groups_check,
                                   groups_explain, groups_describe, groups_close,  "reduce_scatter_128x128"};
#define ON_DEVICES &on_devices

#endif
