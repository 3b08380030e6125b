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

double flop_of(const Gemm *problem) { return 2.0 * problem->m * problem->n * problem->k; }

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

/* Reads clock and power until the event is reached. Only readings begun while the GPU was still at work count. */
static GemmStatus watch(const Backend *backend, int slot, Contestant *contestant, const Nvml *nvml, long pause_us) {
    int done = 0;
    GemmStatus status = backend->reached(slot, &done);
    while (status == GEMM_OK && !done && nvml) {
        double mhz = nvml_sm_mhz(nvml);
        contestant->mhz_sum += mhz;
        contestant->mhz_count += mhz > 0;
        status = backend->reached(slot, &done);
        if (status == GEMM_OK && !done) {
            double watts = nvml_watts(nvml);
            contestant->watt_sum += watts;
            contestant->watt_count += watts > 0;
            sleep_us(pause_us);
            status = backend->reached(slot, &done);
        }
    }
    return status;
}

/* Queues `launches` launches between two events, so that they run back to back, and counts the SM clock right behind them.
 * A burst is too short for the driver's sensors: they lag it, power by a second. */
static GemmStatus run_sample(const Backend *backend, Contestant *contestant, int launches, double *ms) {
    GemmStatus status = backend->hold();
    if (status == GEMM_OK) {
        status = backend->record(EVENT_BEGIN);
    }
    for (int i = 0; i < launches && status == GEMM_OK; i++) {
        if (i == MAX_HELD) {
            backend->let_go();
        }
        status = contestant->launch(contestant->context);
    }
    if (status == GEMM_OK) {
        status = backend->record(EVENT_END);
    }
    if (status == GEMM_OK) {
        status = backend->start_clock();
    }
    backend->let_go();
    double mhz = 0;
    if (status == GEMM_OK) {
        status = backend->clock_mhz(&mhz);
    }
    if (status == GEMM_OK) {
        status = backend->elapsed_ms(EVENT_BEGIN, EVENT_END, ms);
    }
    if (status == GEMM_OK) {
        *ms /= launches;
        contestant->mhz_sum += mhz;
        contestant->mhz_count += mhz > 0;
    }
    return status;
}

GemmStatus time_once(const Problem *problem, const Contestant *contestant, double *ms) {
    const Backend *backend = problem->backend;
    GemmStatus status = contestant->launch(contestant->context); /* loads the module, wakes the clocks */
    if (status == GEMM_OK) {
        status = backend->synchronise(contestant->name);
    }
    if (status == GEMM_OK) {
        Contestant scratch = *contestant;
        status = run_sample(backend, &scratch, 1, ms);
    }
    return status;
}

/* Launches that take `wanted_ms`, at least one. */
static int launches_for(double wanted_ms, double ms) {
    double launches = ms > 0 ? ceil(wanted_ms / ms) : 1;
    return launches < 1 ? 1 : launches > 100000 ? 100000 : (int)launches;
}

static void start_contestant(Contestant *contestant) {
    contestant->samples = 0;
    contestant->mhz_sum = contestant->watt_sum = 0;
    contestant->mhz_count = contestant->watt_count = 0;
    contestant->joules_per_tflop = contestant->sustained_s = 0;
    tally_start(&contestant->after);
}

GemmStatus measure_interleaved(const Problem *problem, Contestant *list, int count, int rounds) {
    const Backend *backend = problem->backend;
    GemmStatus status = GEMM_OK;
    rounds = min_int(rounds, MAX_ROUNDS);
    for (int i = 0; i < count && status == GEMM_OK; i++) {
        double ms = 0;
        start_contestant(&list[i]);
        status = time_once(problem, &list[i], &ms);
        if (status == GEMM_OK && ms < SAMPLE_MS) { /* one launch of a small problem says little */
            status = run_sample(backend, &list[i], launches_for(1, ms), &ms);
        }
        /* A tenth more, since the measured launches ran cold. */
        list[i].launches = launches_for(1.1 * SAMPLE_MS, ms);
        list[i].mhz_sum = list[i].mhz_count = 0;
    }
    for (int round = 0; round < rounds && status == GEMM_OK; round++) {
        for (int i = 0; i < count && status == GEMM_OK; i++) {
            const Problem *own = list[i].problem ? list[i].problem : problem;
            double ms = 0;
            status = problem_poison(own);
            if (status == GEMM_OK) {
                status = backend->synchronise("poison_kernel");
            }
            if (status != GEMM_OK) {
                break;
            }
            sleep_us(PAUSE_MS * 1000L);
            status = run_sample(backend, &list[i], list[i].launches, &ms);
            if (status == GEMM_OK) {
                list[i].ms[list[i].samples++] = ms;
            }
            if (status == GEMM_OK && round == rounds - 1) {
                status = problem_check(own, &list[i].after);
            }
        }
    }
    return status;
}

GemmStatus measure_sustained(const Problem *problem, Contestant *contestant, double seconds, const Nvml *nvml) {
    const Backend *backend = problem->backend;
    const double warm_up_s = 1;
    double ms = 0, joules = 0, launched = 0;
    start_contestant(contestant);
    GemmStatus status = time_once(problem, contestant, &ms);
    contestant->launches = launches_for(SUSTAINED_BATCH_MS, ms);
    if (status == GEMM_OK) {
        status = problem_poison(problem);
    }
    if (status == GEMM_OK) {
        status = backend->record(0);
    }
    double begin = seconds_now();
    int counting = 0;
    /* The event at the end of batch b is slot (b + 1) % EVENT_SLOTS. One batch is always queued behind the one that is
     * waited for, so that the GPU never rests. */
    for (int batch = 0; status == GEMM_OK; batch++) {
        for (int i = 0; i < contestant->launches && status == GEMM_OK; i++) {
            status = contestant->launch(contestant->context);
        }
        if (status == GEMM_OK) {
            status = backend->record((batch + 1) % EVENT_SLOTS);
        }
        if (batch == 0 || status != GEMM_OK) {
            continue;
        }
        Contestant scratch = *contestant;
        status = watch(backend, batch % EVENT_SLOTS, counting ? contestant : &scratch, nvml, 5000);
        if (status == GEMM_OK) {
            status = backend->elapsed_ms((batch - 1) % EVENT_SLOTS, batch % EVENT_SLOTS, &ms);
        }
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
    if (status == GEMM_OK) {
        status = backend->synchronise(contestant->name);
    }
    if (status == GEMM_OK) {
        if (joules <= 0) {
            joules = watts_of(contestant) * contestant->sustained_s;
        }
        contestant->joules_per_tflop = joules / (launched * flop_of(&problem->gemm) * 1e-12);
        status = problem_check(problem, &contestant->after);
    }
    return status;
}
