/* measure.c - the child: opens the device, checks and times the rows of each group (runner.c), and writes the CSV as it
 * goes. */
#include "bench.h"

#include <time.h>
#include <unistd.h>

#include "harness/report.h"

enum {
    PROPOSAL_ROUNDS = 2, /* samples of each cuBLASLt proposal, to find the best */
    START_S = 120,       /* until the device is open: libraries may load slowly */
    REST_S = 5,          /* after sustained rows, which leave the chip warm */
    /* Launches without pauses, in batches: a second to warm up, and 8 seconds that count. */
    BATCH_MS = 50,
    WARM_UP_BATCHES = 20,
    BATCHES = 160,
};

const char *const state_text[STATES] = {"-", "", "left out", "wrong", "refused", "hang", "error", "not built"};

/* ---- without pauses ---- */

/* One batch is always queued after the one that is waited for, so that the GPU never rests; clock and power are read
 * in between. Event b is recorded before batch b, in slot b % EVENT_SLOTS. */
static GemmStatus measure_sustained(Runner *runner, Contestant *contestant, const Nvml *nvml) {
    const Backend *backend = runner->problem->backend;
    double ms = 0;
    start_contestant(contestant);
    GEMM_TRY(time_once(runner->problem, contestant, &ms));
    contestant->launches = launches_for(BATCH_MS, ms);
    GEMM_TRY(problem_poison(runner->problem));
    GEMM_TRY(backend->record(0));
    for (int batch = 0; batch <= WARM_UP_BATCHES + BATCHES; batch++) {
        for (int i = 0; i < contestant->launches; i++) {
            GEMM_TRY(contestant->launch(contestant->context));
        }
        GEMM_TRY(backend->record((batch + 1) % EVENT_SLOTS));
        if (batch == 0) {
            continue;
        }
        double mhz = nvml && batch > WARM_UP_BATCHES ? nvml_sm_mhz(nvml) : 0;
        double watts = nvml && batch > WARM_UP_BATCHES ? nvml_watts(nvml) : 0;
        contestant->mhz_sum += mhz, contestant->mhz_count += mhz > 0;
        contestant->watt_sum += watts, contestant->watt_count += watts > 0;
        GEMM_TRY(backend->elapsed_ms((batch - 1) % EVENT_SLOTS, batch % EVENT_SLOTS, &ms));
        if (batch > WARM_UP_BATCHES) {
            contestant->ms[contestant->samples++] = ms / contestant->launches;
        }
    }
    GEMM_TRY(backend->synchronise(contestant->name));
    return problem_check(runner->problem, &contestant->after);
}

/* ---- the CSV ---- */

void strike(Session *session, int group, int place, State state) {
    const Row *row = &session->row[session->group[group].row[place]];
    printf("  %-32s  %s\n", row->label, state_text[state]);
    session->group[group].outcome[place] = state;
}

/* "tests/bench/results/nvidia_h200_2026-01-31_ladder.csv", below the directory the program is started in. */
static const char *choose_csv(Session *session) {
    const char *plan = strrchr(session->plan, '/');
    char *end = session->chosen_csv + sprintf(session->chosen_csv, "tests/bench/results/");
    for (const char *p = session->gpu; *p; p++) {
        int kept = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        *end++ = kept ? *p : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : '_';
    }
    sprintf(end, "_%s_%.60s.csv", session->date, plan ? plan + 1 : session->plan);
    return session->chosen_csv;
}

/* ---- one row ---- */

static void list_runner(Runner *runner, Contestant *contestant) {
    memset(contestant, 0, sizeof *contestant);
    snprintf(contestant->name, sizeof contestant->name, "%.95s", row_of(runner)->label);
    contestant->launch = launch_runner;
    contestant->context = runner;
    contestant->problem = runner->problem;
}

/* Chooses cuBLASLt's fastest proposal, or takes the first. Skips those that are wrong and those that do not run. */
static GemmStatus choose_proposal(Runner *runner, State *state) {
    static Contestant proposal;
    double best_ms = 0;
    int best = -1, count = row_of(runner)->first_choice ? 1 : cublaslt_count(runner->lt);
    for (int i = 0; i < count; i++) {
        Tally tally;
        cublaslt_choose(runner->lt, i);
        if (check_once(runner, &tally) != GEMM_OK || !tally_is_right(&tally)) {
            continue;
        }
        list_runner(runner, &proposal);
        GEMM_TRY(measure_interleaved(runner->problem, &proposal, 1, PROPOSAL_ROUNDS, runner->session->pause_ms));
        double ms = spread_of(proposal.ms, proposal.samples).median;
        if (best < 0 || ms < best_ms) {
            best = i;
            best_ms = ms;
        }
    }
    *state = best < 0 ? WRONG : NOT_RUN;
    cublaslt_choose(runner->lt, best < 0 ? 0 : best);
    return GEMM_OK;
}

static GemmStatus try_runner(Runner *runner, State *state) {
    Tally tally;
    if (runner->lt) {
        return choose_proposal(runner, state);
    }
    GemmStatus status = check_once(runner, &tally);
    if (status == GEMM_USAGE) { /* it has said what it refuses */
        *state = row_of(runner)->is_peer ? LEFT_OUT : REFUSED;
        return GEMM_OK;
    }
    GEMM_TRY(status);
    if (!tally_is_right(&tally)) {
        *state = WRONG;
        return problem_explain(runner->problem, &tally, stdout);
    }
    return GEMM_OK;
}

/* Opens a row, checks it, and appends it to the list; a row that cannot be timed is struck out. */
static GemmStatus prepare(Child *child, int group, int place, Runner *runner, Contestant *contestant, int *count) {
    Session *session = child->session;
    State *outcome = &session->group[group].outcome[place], state = NOT_RUN;
    if (*outcome == NOT_RUN) {
        *outcome = session->row[session->group[group].row[place]].struck;
    }
    if (*outcome != NOT_RUN) {
        return GEMM_OK;
    }
    GEMM_TRY(open_runner(child, group, place, runner, &state));
    GEMM_TRY(state == NOT_RUN ? try_runner(runner, &state) : GEMM_OK);
    if (state != NOT_RUN) {
        strike(session, group, place, state);
        close_runner(child, runner);
        return GEMM_OK;
    }
    list_runner(runner, contestant);
    ++*count;
    return copy_weights(child, runner);
}

/* cublas: TFLOP/s; 0: there is nothing to compare with. */
static void report(Session *session, int group, const Contestant *contestant, double cublas) {
    Runner *runner = contestant->context;
    const Row *row = row_of(runner);
    if (row->what != RUN_ALONE && !tally_is_right(&contestant->after)) {
        printf("  %s: wrong after timing (%llu elements), right before it\n", row->label,
               (unsigned long long)contestant->after.wrong);
        strike(session, group, runner->place, WRONG);
        return;
    }
    Spread rate = tflops_of(contestant, runner->work);
    const char *unit = row->what == RUN_ALONE && strcmp(row->chapter->name, "copy") == 0 ? "TB/s" : "TFLOP/s";
    printf("  %-32s %8.4g %s (%.4g .. %.4g)", row->label, rate.median, unit, rate.min, rate.max);
    if (cublas > 0) {
        printf("  %.3f of cuBLAS", rate.median / cublas);
    }
    printf("  %.0f MHz", mhz_of(contestant));
    if (row->sustained) {
        printf("  %.0f W", watts_of(contestant));
    }
    putchar('\n');
    session->group[group].outcome[runner->place] = TIMED;
    const char *mode = strcmp(row->group, "ladder") == 0 ? "paused" : row->group;
    const CsvSource source = {session->gpu, session->date, session->commit, mode, session->versions};
    FILE *csv = csv_open(session->csv, CSV_HEADER);
    if (csv) {
        csv_rate(csv, &source, &session->group[group].shape, contestant, rate, cublas);
        fclose(csv);
    }
}

/* ---- one group ---- */

static GemmStatus time_group(Child *child, int group) {
    static Runner runners[MAX_ROWS];
    static Contestant list[MAX_ROWS];
    Session *session = child->session;
    const Group *g = &session->group[group];
    int count = 0, paused = 0;
    double cublas = 0;
    char shape[48];
    printf("%s, %s\n", session->row[g->row[0]].group, shape_text(&g->shape, shape));
    for (int sustained = 0; sustained < 2; sustained++) { /* last in the list */
        for (int place = 0; place < g->rows; place++) {
            if (session->row[g->row[place]].sustained == sustained) {
                GEMM_TRY(prepare(child, group, place, &runners[count], &list[count], &count));
                paused = sustained ? paused : count;
            }
        }
    }
    if (paused > 0) {
        GEMM_TRY(measure_interleaved(runners[0].problem, list, paused, session->rounds, session->pause_ms));
    }
    for (int i = paused; i < count; i++) {
        GEMM_TRY(measure_sustained(&runners[i], &list[i], child->nvml));
    }
    for (int i = 0; i < paused; i++) {
        const Row *row = row_of(&runners[i]);
        if ((row->what == RUN_CUBLAS || row->first_choice) && tally_is_right(&list[i].after)) {
            cublas = tflops_of(&list[i], runners[i].work).median;
        }
    }
    for (int i = 0; i < count; i++) {
        report(session, group, &list[i], i < paused ? cublas : 0);
        close_runner(child, &runners[i]);
    }
    close_problems(child);
    under_way(session, -1);
    nanosleep(&(struct timespec){count > paused && group + 1 < session->groups ? REST_S : 0, 0}, NULL);
    return GEMM_OK;
}

static GemmStatus open_child(Child *child, Session *session, int quiet) {
    Options none;
    char why[256] = "", no_nvml[160] = "", no_cublas[160] = "";
    memset(&none, 0, sizeof none);
    child->session = session;
    child->backend = gpu_backend();
    /* The whole ladder needs Hopper; on another GPU the chapters that it can run are timed. */
    GemmStatus status = child->backend->open(&none, NEEDS_SM90A, &child->device, why, sizeof why);
    if (status != GEMM_OK) {
        status = child->backend->open(&none, NEEDS_SM80, &child->device, why, sizeof why);
    }
    if (status != GEMM_OK) {
        fprintf(stderr, "bench: it needs %s; found: %s\n", need_text(NEEDS_SM80), why);
        return status;
    }
    memcpy(session->gpu, child->device.name, sizeof session->gpu);
    child->nvml = nvml_open(child->device.pci_bus_id, no_nvml, sizeof no_nvml);
    child->cublas = cublas_open(child->device.stream, no_cublas, sizeof no_cublas);
    if (child->nvml) {
        nvml_driver_version(child->nvml, child->device.driver_version, sizeof child->device.driver_version);
    }
    versions_text(&child->device, child->cublas ? cublas_version(child->cublas) : 0, session->versions);
    if (!quiet) {
        print_device(stdout, &child->device, child->cublas ? cublas_version(child->cublas) : 0);
        if (!child->nvml) {
            printf("no power readings: %s\n", no_nvml);
        }
        if (!child->cublas) {
            printf("no cuBLAS: %s\n", no_cublas);
        }
    }
    return GEMM_OK;
}

GemmStatus measure_all(Session *session, int quiet) {
    static Child child;
    alarm(START_S);
    GEMM_TRY(open_child(&child, session, quiet));
    session->csv = session->csv ? session->csv : choose_csv(session);
    FILE *csv = csv_open(session->csv, CSV_HEADER);
    if (!csv || fclose(csv) != 0) {
        return csv ? gemm_fails(NULL, GEMM_USAGE, "--csv: \"%s\" cannot be written", session->csv) : GEMM_USAGE;
    }
    for (session->started = 1; session->at_group < session->groups; session->at_group++) {
        GEMM_TRY(time_group(&child, session->at_group));
    }
    cublas_close(child.cublas);
    nvml_close(child.nvml);
    return GEMM_OK;
}
