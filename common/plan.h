/* plan.h - host: which variant of a chapter is the fastest for a problem? A formula names the likeliest ones; measuring
 * decides. The program, the bench and libgemm09 plan by these functions; each times launches in its own way. */
#ifndef PLAN_H
#define PLAN_H

#include "variants.h"

enum {
    PLAN_TRIED = 24,        /* variants that run for a moment: the likeliest */
    PLAN_CANDIDATES = 8,    /* the fastest of them, which are measured */
    PLAN_ROUNDS = 5,        /* in which they take turns */
    PLAN_STRETCH_US = 1000, /* about how long a variant runs in a round ... */
    PLAN_LAUNCHES = 100,    /* ... but no more launches than these */
    PLAN_MOMENT = 4,        /* launches of a variant that is tried */
};

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

/* Moves the fastest variants to the front, behind the first, which is the formula's choice and stays. */
static inline void fastest_first(const Variant *list[PLAN_TRIED], double least[PLAN_TRIED], int count) {
    for (int place = 1; place < PLAN_CANDIDATES && place < count; place++) {
        int best = place;
        for (int i = place + 1; i < count; i++) {
            best = least[i] < least[best] ? i : best;
        }
        const Variant *v = list[best];
        double ms = least[best];
        list[best] = list[place], least[best] = least[place];
        list[place] = v, least[place] = ms;
    }
}

/* Tries the likeliest variants and measures the fastest of them. Round 0 warms up, round 1 tries. The caller has
 * checked that *g can be launched; C holds the last one's product afterwards. */
static inline GemmStatus make_plan(const Variants *all, const Gemm *g, TimeLaunches time, void *context, Plan *plan) {
    const Variant *list[PLAN_TRIED] = {NULL};
    double least[PLAN_TRIED], ms = 0;
    Gemm one = *g;
    Beyond beyond = beyond_of(g);
    one.beyond = &beyond;
    int tried = likeliest_variants(all, g, list), count = tried, launches = 1, best = 0;
    for (int round = 0; round < 2 + PLAN_ROUNDS; round++) {
        for (int i = 0; i < count; i++) {
            beyond.tuning.variant = list[i]->name;
            GemmStatus status = time(context, &one, launches, &ms);
            if (status != GEMM_OK) {
                return status;
            }
            ms /= launches;
            least[i] = round <= 2 || ms < least[i] ? ms : least[i];
        }
        if (round == 0) {
            launches = PLAN_MOMENT;
        } else if (round == 1) {
            fastest_first(list, least, count);
            count = count < PLAN_CANDIDATES ? count : PLAN_CANDIDATES;
            launches = (int)fmin(PLAN_LAUNCHES, 1 + PLAN_STRETCH_US / (1000 * least[0]));
        }
    }
    for (int i = 1; i < count; i++) {
        best = least[i] < least[best] ? i : best;
    }
    plan->chosen = list[best], plan->chosen_us = 1000 * least[best];
    plan->by_formula = list[0], plan->by_formula_us = 1000 * least[0];
    plan->measured = tried;
    return GEMM_OK;
}

#endif
