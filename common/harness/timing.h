/* timing.h - interleaved timing on a GPU.
 *
 * A large GEMM draws more power than the card may: run without pauses, clocks fall by a third within a second and
 * single measurements scatter by ten per cent. So a sample is a burst of SAMPLE_MS or of MAX_HELD launches, with a
 * pause before it; the contestants take turns, round after round; and the median over the rounds counts. */
#ifndef TIMING_H
#define TIMING_H

#include "../plan.h"
#include "nvml.h"
#include "problem.h"

enum {
    SAMPLE_MS = 4,
    PAUSE_MS = 200,
};

typedef struct {
    double median, min, max;
} Spread;

/* One kernel in a comparison. The caller fills in the first part. */
typedef struct {
    char name[96];                       /* "08", "cublas", "07: 3 stages" */
    GemmStatus (*launch)(void *context); /* starts one multiplication and does not wait */
    void *context;
    const Problem *problem; /* whose C it writes; NULL: the one that the measuring function gets */

    int launches; /* in a sample */
    int samples;
    double ms[MAX_ROUNDS]; /* per launch */
    double mhz_sum, watt_sum;
    int mhz_count, watt_count;
    Tally after; /* the result as the last timed launch left it */
} Contestant;

/* Median, least and greatest of `count` >= 1 values; leaves them as they are. */
Spread spread_of(const double *values, int count);

Spread tflops_of(const Contestant *contestant, double flop);
double mhz_of(const Contestant *contestant);   /* mean SM clock, while it ran or right after each burst; 0 if unknown */
double watts_of(const Contestant *contestant); /* mean power while it ran; 0 if unknown, as after bursts */

/* `rounds` samples of each contestant with pauses, interleaved, after a rest of 0.3 s at most. C is poisoned before
 * each sample and compared after the last one (into `after`): what was timed is what is checked. */
GemmStatus measure_interleaved(const Problem *problem, Contestant *list, int count, int rounds, int pause_ms);

/* Measures the likeliest variants for the run's problem, whose operands are filled, and has the run launch the
 * fastest. Fills in the plan and how many milliseconds it took. */
GemmStatus plan_run(ChapterRun *run, Plan *plan, double *ms);

/* Forgets what was measured. Launches that take `wanted_ms` if one takes `ms`, at least one. */
void start_contestant(Contestant *contestant);
int launches_for(double wanted_ms, double ms);

/* Milliseconds of one launch, the second of two. */
GemmStatus time_once(const Problem *problem, const Contestant *contestant, double *ms);

#endif
