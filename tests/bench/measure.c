/* measure.c - the child: opens the device, checks and times the rows of each group (runner.h), and writes the CSV as it
 * goes. */
#include "runner.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/report.h"

enum {
    SLOWEST_LAUNCH_MS = 1500, /* what takes longer is checked but not timed */
    PROPOSAL_ROUNDS = 2,      /* samples of each cuBLASLt proposal, to find the best */
    SUSTAINED_S = 8,
    REST_S = 5, /* after sustained rows, which leave the chip warm */
};

const char *const state_text[STATES] = {"-", "", "left out", "slow", "wrong", "refused", "hang", "error", "not built"};

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- without pauses ---- */

enum { SUSTAINED_BATCH_MS = 50 };

/* Reads clock and power until the event is reached. Only readings begun while the GPU was still at work count. */
static GemmStatus watch(const Backend *backend, int slot, Contestant *contestant, const Nvml *nvml, long pause_us) {
    int done = 0;
    GEMM_TRY(backend->reached(slot, &done));
    while (!done && nvml) {
        double mhz = nvml_sm_mhz(nvml);
        contestant->mhz_sum += mhz;
        contestant->mhz_count += mhz > 0;
        GEMM_TRY(backend->reached(slot, &done));
        if (!done) {
            double watts = nvml_watts(nvml);
            contestant->watt_sum += watts;
            contestant->watt_count += watts > 0;
            nanosleep(&(struct timespec){0, pause_us * 1000}, NULL);
            GEMM_TRY(backend->reached(slot, &done));
        }
    }
    return GEMM_OK;
}

/* One contestant without pauses for `seconds`, after one second of warm-up; its samples are batches of
 * SUSTAINED_BATCH_MS or more (the last MAX_ROUNDS of them). */
static GemmStatus measure_sustained(const Problem *problem, Contestant *contestant, double seconds, const Nvml *nvml) {
    const Backend *backend = problem->backend;
    const double warm_up_s = 1;
    double ms = 0, joules = 0, launched = 0;
    start_contestant(contestant);
    GEMM_TRY(time_once(problem, contestant, &ms));
    contestant->launches = launches_for(SUSTAINED_BATCH_MS, ms);
    GEMM_TRY(problem_poison(problem));
    GEMM_TRY(backend->record(0));
    double begin = seconds_now();
    int counting = 0;
    /* The event at the end of batch b is slot (b + 1) % EVENT_SLOTS. One batch is always queued after the one that is
     * waited for, so that the GPU never rests. */
    for (int batch = 0;; batch++) {
        for (int i = 0; i < contestant->launches; i++) {
            GEMM_TRY(contestant->launch(contestant->context));
        }
        GEMM_TRY(backend->record((batch + 1) % EVENT_SLOTS));
        if (batch == 0) {
            continue;
        }
        Contestant scratch = *contestant;
        GEMM_TRY(watch(backend, batch % EVENT_SLOTS, counting ? contestant : &scratch, nvml, 5000));
        GEMM_TRY(backend->elapsed_ms((batch - 1) % EVENT_SLOTS, batch % EVENT_SLOTS, &ms));
        double now = seconds_now();
        if (counting) {
            launched += contestant->launches;
            if (contestant->samples < MAX_ROUNDS) {
                contestant->ms[contestant->samples++] = ms / contestant->launches;
            }
            if (now - begin >= seconds) {
                contestant->sustained_s = now - begin;
                joules = nvml ? nvml_joules(nvml) - joules : 0;
                break;
            }
        } else if (now - begin >= warm_up_s) {
            counting = 1;
            begin = now;
            joules = nvml ? nvml_joules(nvml) : 0;
        }
    }
    GEMM_TRY(backend->synchronise(contestant->name));
    if (joules <= 0) {
        joules = watts_of(contestant) * contestant->sustained_s;
    }
    contestant->joules_per_tflop = joules / (launched * kind_flop(&problem->shape, &problem->gemm) * 1e-12);
    return problem_check(problem, &contestant->after);
}

/* ---- the CSV ---- */

static const char *const headers[] = {
    [OF_KERNELS] = CSV_HEADER,
    [OF_VARIANTS] = "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit," CSV_VERSIONS,
};

static FILE *open_csv(const Session *session) {
    return csv_open(session->csv_path ? session->csv_path : session->shared->csv_path,
                    headers[session->plan.row[0].columns]);
}

static void write_variant(const Session *session, int group, const Row *row, Spread spread, const char *unit) {
    const Shape *shape = &session->plan.group[group].shape;
    FILE *csv = open_csv(session);
    if (csv) {
        fprintf(csv, "%s,%s,%s,%s,%s,%d,%d,%d,%.5g,%.5g,%.5g,%s,%s\n", session->shared->gpu, session->date,
                session->commit, row->group, row->label, shape->m, shape->n, shape->k, spread.median, spread.min,
                spread.max, unit, session->shared->versions);
        fclose(csv);
    }
}

static void write_value(const Session *session, int group, const Row *row, double value, const char *unit) {
    if (value > 0) {
        write_variant(session, group, row, (Spread){value, value, value}, unit);
    }
}

static int label_width(const BenchRows *plan, const Group *group) {
    int width = 0;
    for (int i = 0; i < group->rows; i++) {
        int length = (int)strlen(plan->row[group->row[i]].label);
        width = length > width ? length : width;
    }
    return width;
}

void strike(Session *session, int group, int place, State state) {
    int index = session->plan.group[group].row[place];
    const Row *row = &session->plan.row[index];
    printf("  %-*s  %s\n", label_width(&session->plan, &session->plan.group[group]), row->label, state_text[state]);
    if (session->plan.row[0].columns == OF_VARIANTS && state >= WRONG) {
        write_variant(session, group, row, (Spread){0, 0, 0}, state_text[state]);
    }
    session->shared->outcome[group][place] = state;
}

/* "tests/bench/results/nvidia_h200_2026-01-31_ladder.csv", below the directory the program is started in. */
static GemmStatus choose_csv(Session *session) {
    static const char folder[] = "tests/bench/results";
    char gpu[96], *end = gpu;
    if (!session->csv_path) {
        const char *plan = strrchr(session->plan_name, '/');
        for (const char *p = session->shared->gpu; *p; p++) {
            int kept = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
            *end++ = kept ? *p : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : '_';
        }
        *end = 0;
        snprintf(session->shared->csv_path, sizeof session->shared->csv_path, "%s/%s_%s_%.60s.csv", folder, gpu,
                 session->date, plan ? plan + 1 : session->plan_name);
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            fprintf(stderr, "%s: %s; start the bench at the top of the tree or give --csv FILE\n", folder,
                    strerror(errno));
            return GEMM_USAGE;
        }
    }
    FILE *csv = open_csv(session);
    return csv && fclose(csv) == 0 ? GEMM_OK : GEMM_USAGE;
}

/* ---- one row ---- */

static void list_runner(Runner *runner, Contestant *contestant) {
    memset(contestant, 0, sizeof *contestant);
    snprintf(contestant->name, sizeof contestant->name, "%.23s", row_of(runner)->label);
    contestant->launch = launch_runner;
    contestant->context = runner;
    contestant->problem = runner->problem;
}

/* Chooses cuBLASLt's fastest proposal; wrong ones and those it cannot run are passed over. */
static GemmStatus choose_proposal(Runner *runner, State *state) {
    static Contestant proposal;
    double best_ms = 0;
    int best = -1;
    int count = row_of(runner)->first_choice ? 1 : cublaslt_count(runner->lt);
    for (int i = 0; i < count; i++) {
        Tally tally;
        cublaslt_choose(runner->lt, i);
        if (check_once(runner, &tally) != GEMM_OK || !tally_is_right(&tally)) {
            continue;
        }
        if (count == 1) {
            best = i;
            break;
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

/* Is a row right, and fast enough to be timed? */
static GemmStatus try_runner(Runner *runner, State *state) {
    const Backend *backend = runner->problem->backend;
    Tally tally;
    double ms = 0;
    if (runner->lt) {
        return choose_proposal(runner, state);
    }
    GEMM_TRY(backend->record(0));
    GemmStatus status = check_once(runner, &tally);
    if (status == GEMM_USAGE) { /* it has said what it refuses */
        *state = row_of(runner)->is_peer ? LEFT_OUT : REFUSED;
        return GEMM_OK;
    }
    GEMM_TRY(status);
    GEMM_TRY(backend->record(1));
    GEMM_TRY(backend->elapsed_ms(0, 1, &ms));
    if (ms > SLOWEST_LAUNCH_MS && runner->chapter.prepared.data) { /* that had the weights packed, too */
        static Contestant contestant;
        list_runner(runner, &contestant);
        GEMM_TRY(time_once(runner->problem, &contestant, &ms));
    }
    if (!tally_is_right(&tally)) {
        *state = WRONG;
        return problem_explain(runner->problem, &tally, stdout);
    }
    if (ms > SLOWEST_LAUNCH_MS) {
        printf("  %s is right but not timed: one launch takes %.1f s\n", row_of(runner)->label, ms / 1e3);
        *state = SLOW;
    }
    return GEMM_OK;
}

/* ---- one group ---- */

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
    const char *unit = row->alone.kind == ALONE_COPY ? "TB/s" : "TFLOP/s";
    double joules =
        contestant->joules_per_tflop * kind_flop(&runner->problem->shape, &runner->problem->gemm) / runner->work;
    const Shape *shape = &session->plan.group[group].shape;
    printf("  %-*s %8.4g %s (%.4g .. %.4g)", label_width(&session->plan, &session->plan.group[group]), row->label,
           rate.median, unit, rate.min, rate.max);
    if (cublas > 0) {
        printf("  %.3f of cuBLAS", rate.median / cublas);
    }
    printf("  %.0f MHz", mhz_of(contestant));
    if (row->sustained) {
        printf("  %.0f W  %.3f J/TFLOP", watts_of(contestant), joules);
    }
    putchar('\n');
    session->shared->outcome[group][runner->place] = TIMED;
    if (session->plan.row[0].columns == OF_KERNELS) {
        const char *mode = strcmp(row->group, "ladder") == 0 ? "paused" : row->group;
        const CsvSource source = {session->shared->gpu, session->date, session->commit, mode,
                                  session->shared->versions};
        FILE *csv = open_csv(session);
        if (csv) {
            csv_rate(csv, &source, shape, contestant, rate, cublas);
            fclose(csv);
        }
        return;
    }
    write_variant(session, group, row, rate, unit);
    if (strcmp(row->group, "survey") == 0) { /* which kernel it was, for tests/bench/survey */
        const Variants *variants = row->what == RUN_CHAPTER ? row->chapter->variants : NULL;
        const Variant *chosen = variants ? choose_variant(variants, &runner->chapter.gemm, NULL) : NULL;
        write_value(session, group, row, chosen != NULL, chosen ? chosen->name : "");
        return;
    }
    write_value(session, group, row, mhz_of(contestant), "MHz");
    if (row->sustained) {
        write_value(session, group, row, watts_of(contestant), "W");
        write_value(session, group, row, joules, "J/TFLOP");
    }
}

/* Opens a row and tries it. *state: NOT_RUN if it is to be timed; else it has been struck out. */
static GemmStatus prepare(Child *child, int group, int place, Runner *runner, State *state) {
    Session *session = child->session;
    State *outcome = &session->shared->outcome[group][place];
    if (*outcome == NOT_RUN) { /* it may hang at another shape */
        *outcome = session->shared->struck[session->plan.group[group].row[place]];
    }
    memset(runner, 0, sizeof *runner);
    *state = *outcome;
    if (*state != NOT_RUN) {
        return GEMM_OK;
    }
    GEMM_TRY(open_runner(child, group, place, runner, state));
    GEMM_TRY(*state == NOT_RUN ? try_runner(runner, state) : GEMM_OK);
    if (*state == NOT_RUN) {
        return copy_prepared(child, runner);
    }
    strike(session, group, place, *state);
    close_runner(child, runner);
    return GEMM_OK;
}

/* Appends the sound rows, of those that are sustained or of those that are not. */
static GemmStatus list_rows(Child *child, int group, int sustained, Runner *runners, Contestant *list, int *count) {
    const BenchRows *plan = &child->session->plan;
    for (int place = 0; place < plan->group[group].rows; place++) {
        State state = LEFT_OUT;
        if (plan->row[plan->group[group].row[place]].sustained == sustained) {
            GEMM_TRY(prepare(child, group, place, &runners[*count], &state));
        }
        if (state == NOT_RUN) {
            list_runner(&runners[*count], &list[*count]);
            ++*count;
        }
    }
    return GEMM_OK;
}

static void rest(Session *session) {
    for (int tenth = 0; tenth < 10 * REST_S; tenth++) {
        struct timespec pause = {0, 100 * 1000000};
        nanosleep(&pause, NULL);
        beat(session, -1);
    }
}

static GemmStatus time_group(Child *child, int group) {
    static Runner runners[MAX_GROUP_ROWS];
    static Contestant list[MAX_GROUP_ROWS];
    Session *session = child->session;
    int paused = 0;
    GEMM_TRY(list_rows(child, group, 0, runners, list, &paused));
    int count = paused;
    GEMM_TRY(list_rows(child, group, 1, runners, list, &count));
    if (paused > 0) {
        GEMM_TRY(measure_interleaved(runners[0].problem, list, paused, session->rounds, session->pause_ms));
    }
    for (int i = paused; i < count; i++) {
        GEMM_TRY(measure_sustained(runners[i].problem, &list[i], SUSTAINED_S, child->nvml));
    }
    double cublas = 0;
    for (int i = 0; i < count; i++) {
        if (session->plan.row[0].columns == OF_KERNELS &&
            (row_of(&runners[i])->what == RUN_CUBLAS || row_of(&runners[i])->first_choice) &&
            tally_is_right(&list[i].after)) {
            cublas = tflops_of(&list[i], runners[i].work).median;
        }
    }
    for (int i = 0; i < count; i++) {
        report(session, group, &list[i], cublas);
        close_runner(child, &runners[i]);
    }
    if (count > paused && group + 1 < session->plan.groups) {
        rest(session);
    }
    return GEMM_OK;
}

/* ---- all groups ---- */

static GemmStatus open_child(Child *child, Session *session, int quiet) {
    Options none;
    char why[256] = "", no_nvml[160] = "", no_cublas[160] = "";
    memset(&none, 0, sizeof none);
    memset(child, 0, sizeof *child);
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
    memcpy(session->shared->gpu, child->device.name, sizeof session->shared->gpu);
    child->nvml = nvml_open(child->device.pci_bus_id, no_nvml, sizeof no_nvml);
    child->cublas = cublas_open(child->device.stream, no_cublas, sizeof no_cublas);
    if (child->nvml) {
        nvml_driver_version(child->nvml, child->device.driver_version, sizeof child->device.driver_version);
    }
    versions_text(&child->device, child->cublas ? cublas_version(child->cublas) : 0, session->shared->versions);
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

double group_seconds(const Session *session, int group) {
    const Group *g = &session->plan.group[group];
    double flop = 2.0 * g->shape.m * g->shape.n * g->shape.k, sustained = 0;
    const double sample = (session->pause_ms + 1.5 * SAMPLE_MS) * 1e-3;
    double seconds = group > 0 && memcmp(&g->shape, &g[-1].shape, sizeof g->shape) == 0 ? 0 : 0.3 + 2 * flop / 10e12;
    for (int i = 0; i < g->rows; i++) {
        const Row *row = &session->plan.row[g->row[i]];
        double launches = 0.05 + 8 * flop / 400e12; /* those apart from the samples */
        seconds += launches;
        if (row->sustained) {
            seconds += SUSTAINED_S + 1.5;
            sustained = REST_S;
        } else {
            int samples = session->rounds + (row->what == RUN_CUBLASLT ? CUBLASLT_ALGORITHMS * PROPOSAL_ROUNDS : 0);
            seconds += samples * sample + (row->what == RUN_CUBLASLT ? CUBLASLT_ALGORITHMS * launches : 0);
        }
    }
    return seconds + (group + 1 < session->plan.groups ? sustained : 0);
}

static GemmStatus run_group(Child *child, int group) {
    Session *session = child->session;
    const Group *g = &session->plan.group[group];
    char shape[48];
    printf("%s, %s\n", session->plan.row[g->row[0]].group, shape_text(&g->shape, shape));
    session->shared->group = group;
    GEMM_TRY(time_group(child, group));
    session->shared->done[group] = 1;
    session->shared->group = session->shared->row = -1;
    return GEMM_OK;
}

GemmStatus measure_all(Session *session, int quiet) {
    static Child child;
    GEMM_TRY(open_child(&child, session, quiet));
    GEMM_TRY(choose_csv(session));
    session->shared->started = 1;
    for (int group = 0; group < session->plan.groups; group++) {
        GEMM_TRY(session->shared->done[group] ? GEMM_OK : run_group(&child, group));
    }
    cublas_close(child.cublas);
    nvml_close(child.nvml);
    return GEMM_OK;
}
