/* plan.h - host: which variant of a chapter is the fastest for a problem? A formula names the likeliest ones; measuring
 * decides. The program, the bench and libgemm09 plan by these functions; each times launches in its own way. */
#ifndef PLAN_H
#define PLAN_H

#include <time.h>

#include "variants.h"

/* The rounds of a plan. The likeliest variants run once, which loads them, and then for a moment; the fastest of them
 * are measured, and the fastest of those for longer, as one that is slower by a percent may win a short race. */
enum {
    PLAN_TRIED = 24,
    PLAN_LAUNCHES = 100, /* at most in a row */
    PLAN_RESTS_FROM_US = 50,
    PLAN_REST = 4, /* times as long as the launches after it */
};
static const struct {
    int variants, rounds, us; /* how many take part; how often each; about how long, but one launch at least */
} plan_rounds[] = {{PLAN_TRIED, 2, 0}, {PLAN_TRIED, 1, 100}, {8, 3, 1000}, {4, 3, 4000}};
enum { PLAN_STEPS = sizeof plan_rounds / sizeof plan_rounds[0] };

typedef struct {
    const Variant *chosen, *by_formula;
    double chosen_us, by_formula_us; /* of a launch: the least of all rounds, as a disturbance makes it longer */
    int measured;                    /* how many variants were tried */
} Plan;

/* Runs `launches` launches of *g one after the other, waits for them, and says how long they took. */
typedef GemmStatus (*TimeLaunches)(void *context, const Gemm *g, int launches, double *ms);

/* Fills in the variants that cost least, the cheapest first; returns how many there are. */
static inline int likeliest_variants(const Variants *all, const Gemm *g, const Variant *list[PLAN_TRIED]) {
    double costs[PLAN_TRIED];
    int count = 0;
    for (const Variant *v = all->variant; v < all->variant + all->count; v++) {
        double cost = has_sms_for(v, g) ? all->cost(v, g) : INFINITY;
        int at = count;
        for (; at > 0 && costs[at - 1] > cost; at--) {
            if (at < PLAN_TRIED) {
                costs[at] = costs[at - 1], list[at] = list[at - 1];
            }
        }
        if (at < PLAN_TRIED && cost < INFINITY) {
            costs[at] = cost, list[at] = v;
            count += count < PLAN_TRIED;
        }
    }
    return count;
}

/* A card that computes without a pause lowers its clock, for whichever variant comes next. */
static inline void rest_for(double ms) {
    struct timespec time = {(time_t)(ms / 1000), (long)(fmod(ms, 1000) * 1e6)};
    nanosleep(&time, NULL);
}

/* Sorts the variants by their times, but for the first, which is the formula's choice and stays. */
static inline void fastest_first(const Variant *list[PLAN_TRIED], double least[PLAN_TRIED], int count) {
    for (int i = 2; i < count; i++) {
        for (int at = i; at > 1 && least[at] < least[at - 1]; at--) {
            const Variant *v = list[at];
            double ms = least[at];
            list[at] = list[at - 1], least[at] = least[at - 1];
            list[at - 1] = v, least[at - 1] = ms;
        }
    }
}

/* Tries the likeliest variants and measures the fastest of them. The caller has checked that *g can be launched; C
 * holds the last one's product afterwards. */
static inline GemmStatus make_plan(const Variants *all, const Gemm *g, TimeLaunches time, void *context, Plan *plan) {
    const Variant *list[PLAN_TRIED] = {NULL};
    double least[PLAN_TRIED], ms = 0;
    Gemm one = *g;
    Beyond beyond = beyond_of(g);
    one.beyond = &beyond;
    int count = likeliest_variants(all, g, list), launches = 1;
    plan->measured = count;
    for (int step = 0; step < PLAN_STEPS; step++) {
        count = count < plan_rounds[step].variants ? count : plan_rounds[step].variants;
        if (step > 0) {
            launches = (int)fmin(PLAN_LAUNCHES, 1 + plan_rounds[step].us / (1000 * least[0]));
        }
        for (int i = 0; i < count * plan_rounds[step].rounds; i++) {
            int at = i % count;
            beyond.tuning.variant = list[at]->name;
            if (step > 0 && 1000 * least[0] > PLAN_RESTS_FROM_US) {
                rest_for(PLAN_REST * launches * least[0]);
            }
            GemmStatus status = time(context, &one, launches, &ms);
            if (status != GEMM_OK) {
                return status;
            }
            least[at] = i < count || ms / launches < least[at] ? ms / launches : least[at];
        }
        fastest_first(list, least, count);
    }
    int best = count > 1 && least[1] < least[0];
    plan->chosen = list[best], plan->chosen_us = 1000 * least[best];
    plan->by_formula = list[0], plan->by_formula_us = 1000 * least[0];
    return GEMM_OK;
}

#endif
