/* variants.h - host: the kernels of a chapter that has several, and the choice among them. */
#ifndef VARIANTS_H
#define VARIANTS_H

#include <math.h>

#include "beyond.h"
#include "variant_table.h"

/* Is the i-th variant the first of its kernel? A kernel's variants follow each other. */
static inline int begins_kernel(const Variants *all, int i) {
    return i == 0 || all->variant[i].kernel != all->variant[i - 1].kernel;
}

/* Does a check that has not the time for all take the i-th? It takes one of each kernel, in each turn another: of the
 * next kernel the next, so that each way in which CTAs share is taken. */
static inline int is_in_turn(const Variants *all, int i, int turn) {
    int kernel = 0, first = 0, end = i + 1;
    for (int j = 1; j <= i; j++) {
        if (begins_kernel(all, j)) {
            kernel++, first = j;
        }
    }
    while (end < all->count && !begins_kernel(all, end)) {
        end++;
    }
    return i == first + (kernel + turn) % (end - first);
}

/* A cluster needs as many SMs. */
static inline int has_sms_for(const Variant *v, const Gemm *g) { return v->cluster <= g->sm_count; }

/* The variant asked for, or the cheapest. NULL if there is none of that name, or the GPU has too few SMs for its
 * cluster. A launch asks each time: so a cost is computed once, and text is made only where it is needed. */
static inline const Variant *choose_variant(const Variants *all, const Gemm *g, GemmError *error) {
    const Variant *best = NULL, *end = all->variant + all->count;
    double least = INFINITY;
    char names[400] = "";
    int more = 0; /* than a message has room for */
    const char *wanted = beyond_of(g).tuning.variant;
    if (g->sm_count < 1) {
        gemm_fails(error, GEMM_USAGE, "%s: sm_count is %d, accepted is 1 and more", all->chapter, g->sm_count);
        return NULL;
    }
    for (const Variant *v = all->variant; v < end; v++) {
        if (has_sms_for(v, g) && (wanted == NULL || strcmp(wanted, v->name) == 0)) {
            double cost = wanted == NULL ? all->cost(v, g) : 0;
            if (best == NULL || cost < least) {
                best = v;
                least = cost;
            }
        }
    }
    for (int i = 0; best == NULL && i < all->count; i++) {
        const Variant *v = &all->variant[i];
        size_t used = strlen(names);
        int asked_for = wanted != NULL && strcmp(wanted, v->name) == 0;
        if (asked_for || (begins_kernel(all, i) && used < sizeof names - 100)) {
            snprintf(names + used, sizeof names - used, has_sms_for(v, g) ? " %s" : " %s (from %d SMs on)", v->name,
                     v->cluster);
        } else {
            more = 1;
        }
    }
    if (best == NULL) {
        gemm_fails(error, GEMM_USAGE, "%s has no variant '%s' for a GPU of %d SMs; it has%s:%s", all->chapter, wanted,
                   g->sm_count, more ? " more than these" : "", names);
    }
    return best;
}

/* A line about what launch() would choose, without a newline; empty where it would refuse. */
static inline void describe_choice(const Variants *all, const Gemm *g, char *text, size_t size) {
    GemmError refused;
    const Variant *v = choose_variant(all, g, &refused);
    text[0] = '\0';
    if (v != NULL) {
        LaunchPlan plan = all->plan(v, g);
        snprintf(text, size, "%s: %d tiles of %d x %d on %d CTAs, %d waves, %d stages%s", v->name, plan.tiles, v->bm,
                 v->bn, plan.ctas, wave_count(plan), plan.stages, plan.also != NULL ? plan.also : "");
    }
}

#endif
