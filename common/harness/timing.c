/* timing.c - samples, rounds and what is read while a sample runs. */
#include "timing.h"

#include <time.h>

enum { EVENT_BEGIN, EVENT_END }; /* slots of measure_interleaved() and time_once() */

static void sleep_us(long us) {
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Spread spread_of(const double *values, int count) {
    double sorted[MAX_ROUNDS];
    count = min_int(count, MAX_ROUNDS);
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    Spread spread = {(sorted[(count - 1) / 2] + sorted[count / 2]) / 2, sorted[0], sorted[count - 1]};
    return spread;
}

Spread tflops_of(const Contestant *contestant, double flop) {
    double tflops[MAX_ROUNDS];
    for (int i = 0; i < contestant->samples; i++) {
        tflops[i] = flop / contestant->ms[i] * 1e-9;
    }
    return spread_of(tflops, contestant->samples);
}

double mhz_of(const Contestant *contestant) {
    return contestant->mhz_count ? contestant->mhz_sum / contestant->mhz_count : 0;
}

double watts_of(const Contestant *contestant) {
    return contestant->watt_count ? contestant->watt_sum / contestant->watt_count : 0;
}

static GemmStatus queue_sample(const Backend *backend, const Contestant *contestant, int launches) {
    GEMM_TRY(backend->hold());
    GEMM_TRY(backend->record(EVENT_BEGIN));
    for (int i = 0; i < launches; i++) {
        GEMM_TRY(contestant->launch(contestant->context));
    }
    GEMM_TRY(backend->record(EVENT_END));
    return backend->start_clock();
}

/* Queues `launches` launches, at most MAX_HELD, between two events, so that they run back to back, and counts the SM
 * clock right after them. A burst is too short for the driver's sensors: they lag it, power by a second. */
static GemmStatus run_sample(const Backend *backend, Contestant *contestant, int launches, double *ms) {
    double mhz = 0;
    GemmStatus status = queue_sample(backend, contestant, launches);
    backend->let_go();
    GEMM_TRY(status);
    GEMM_TRY(backend->clock_mhz(&mhz));
    GEMM_TRY(backend->elapsed_ms(EVENT_BEGIN, EVENT_END, ms));
    *ms /= launches;
    contestant->mhz_sum += mhz;
    contestant->mhz_count += mhz > 0;
    return GEMM_OK;
}

GemmStatus time_once(const Problem *problem, const Contestant *contestant, double *ms) {
    Contestant scratch = *contestant;
    GEMM_TRY(contestant->launch(contestant->context)); /* loads the module, wakes the clocks */
    GEMM_TRY(problem->backend->synchronise(contestant->name));
    return run_sample(problem->backend, &scratch, 1, ms);
}

/* As make_plan() wants it; `context` is the ChapterRun. */
static GemmStatus time_variant(void *context, const Gemm *g, int launches, double *ms) {
    ChapterRun *run = (ChapterRun *)context;
    Contestant contestant = {.launch = run_launch, .context = run};
    run->beyond.tuning.variant = beyond_of(g).tuning.variant;
    GEMM_TRY(run_sample(run->problem->backend, &contestant, launches, ms));
    *ms *= launches;
    return GEMM_OK;
}

GemmStatus plan_run(ChapterRun *run, Plan *plan, double *ms) {
    double begin = seconds_now();
    GEMM_TRY(make_plan(run->chapter->variants, &run->gemm, time_variant, run, plan));
    run->beyond.tuning.variant = plan->chosen->name;
    *ms = (seconds_now() - begin) * 1000;
    return GEMM_OK;
}

int launches_for(double wanted_ms, double ms) {
    double launches = ms > 0 ? ceil(wanted_ms / ms) : 1;
    return launches < 1 ? 1 : launches > 100000 ? 100000 : (int)launches;
}

void start_contestant(Contestant *contestant) {
    contestant->samples = 0;
    contestant->mhz_sum = contestant->watt_sum = 0;
    contestant->mhz_count = contestant->watt_count = 0;
    tally_start(&contestant->after);
}

GemmStatus measure_interleaved(const Problem *problem, Contestant *list, int count, int rounds, int pause_ms) {
    const Backend *backend = problem->backend;
    double begin = seconds_now();
    rounds = min_int(rounds, MAX_ROUNDS);
    for (int i = 0; i < count; i++) {
        double ms = 0;
        start_contestant(&list[i]);
        GEMM_TRY(time_once(problem, &list[i], &ms));
        if (ms < SAMPLE_MS) { /* one launch of a small problem says little */
            GEMM_TRY(run_sample(backend, &list[i], min_int(launches_for(1, ms), MAX_HELD), &ms));
        }
        /* A tenth more, since the measured launches ran cold. All of a sample are held until the last is queued: the
         * host may take longer to start a short one than the GPU to run it. */
        list[i].launches = min_int(launches_for(1.1 * SAMPLE_MS, ms), MAX_HELD);
        list[i].mhz_sum = list[i].mhz_count = 0;
    }
    /* The reference and these launches ran without pauses: for some tenths of a second the clock is lower. */
    sleep_us((long)(fmin(0.3, 2 * (seconds_now() - begin)) * 1e6));
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            const Problem *own = list[i].problem ? list[i].problem : problem;
            double ms = 0;
            GEMM_TRY(problem_poison(own));
            GEMM_TRY(backend->synchronise("poison_kernel"));
            sleep_us(pause_ms * 1000L);
            GEMM_TRY(run_sample(backend, &list[i], list[i].launches, &ms));
            list[i].ms[list[i].samples++] = ms;
            if (round == rounds - 1) {
                GEMM_TRY(problem_check(own, &list[i].after));
            }
        }
    }
    return GEMM_OK;
}
