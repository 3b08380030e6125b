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

/* Says why no variant is called `wanted`, and which names begin like it. */
static inline void refuse_variant(const Variants *all, const Gemm *g, const char *wanted, GemmError *error) {
    char names[400] = "", left[32] = "";
    size_t most = 0;
    int more = 0; /* than the message has space for */
    for (const Variant *v = all->variant; v < all->variant + all->count; v++) {
        size_t same = 0, used;
        while (wanted[same] != '\0' && wanted[same] == v->name[same]) {
            same++;
        }
        if (strcmp(wanted, v->name) == 0) {
            gemm_fails(error, GEMM_USAGE,
                       "%s: variant %s is accepted from %d SMs on, as its clusters have %d CTAs, not for %d",
                       all->chapter, wanted, v->cluster, v->cluster, g->sm_count);
            return;
        }
        if (same > most) {
            most = same, more = 0, names[0] = '\0';
        }
        used = strlen(names);
        if (same == most && used < sizeof names - 60) {
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", v->name);
        } else {
            more += same == most;
        }
    }
    if (more > 0) {
        snprintf(left, sizeof left, " and %d more", more);
    }
    gemm_fails(error, GEMM_USAGE, "%s has no variant '%s': the nearest of its %d are %s%s", all->chapter, wanted,
               all->count, names, left);
}

/* The variant asked for, or the cheapest. NULL if there is none of that name, or the GPU has too few SMs for its
 * cluster. A launch asks each time: so text is made only where it is needed. */
static inline const Variant *choose_variant(const Variants *all, const Gemm *g, GemmError *error) {
    const Variant *best = NULL;
    double least = INFINITY;
    const char *wanted = beyond_of(g).tuning.variant;
    if (g->sm_count < 1) {
        gemm_fails(error, GEMM_USAGE, "%s: sm_count is %d, accepted is 1 and more", all->chapter, g->sm_count);
        return NULL;
    }
    for (const Variant *v = all->variant; v < all->variant + all->count; v++) {
        if (has_sms_for(v, g) && (wanted == NULL || strcmp(wanted, v->name) == 0)) {
            double cost = wanted == NULL ? all->cost(v, g) : 0;
            if (best == NULL || cost < least) {
                best = v, least = cost;
            }
        }
    }
    if (best == NULL) {
        refuse_variant(all, g, wanted != NULL ? wanted : "", error);
    }
    return best;
}

/* A line about what launch() would choose, without a newline; empty where it would refuse. */
static inline void describe_choice(const Chapter *chapter, const Gemm *g, char *text, size_t size) {
    GemmError refused;
    const Variant *v = choose_variant(chapter->variants, g, &refused);
    text[0] = '\0';
    if (v != NULL) {
        int tiles = ceil_div(g->m, v->bm) * ceil_div(g->n, v->bn);
        LaunchPlan plan = {tiles, min_int(tiles, g->sm_count), 0, NULL};
        char stages[32] = "";
        if (chapter_beyond(chapter).plan != NULL) {
            plan = chapter_beyond(chapter).plan(v, g);
            snprintf(stages, sizeof stages, ", %d stages", plan.stages);
        }
        snprintf(text, size, "%s: %d tiles of %d x %d on %d CTAs, %d waves%s%s", v->name, plan.tiles, v->bm, v->bn,
                 plan.ctas, ceil_div(plan.tiles, plan.ctas), stages, plan.also != NULL ? plan.also : "");
    }
}

#endif
