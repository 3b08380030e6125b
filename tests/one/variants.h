/* variants.h - host: the choice among a chapter's kernels. */
#ifndef VARIANTS_H
#define VARIANTS_H

#include "variant_table.h"

/* The variant that costs least, of those whose clusters do not have more CTAs than the GPU has SMs. The tutorial also
 * accepts one by its name. */
static inline const Variant *choose_variant(const Variants *all, const Gemm *g, GemmError *) {
    const Variant *best = NULL;
    for (const Variant *v = all->variant; v < all->variant + all->count; v++) {
        if (v->cluster <= g->sm_count && (best == NULL || all->cost(v, g) < all->cost(best, g))) {
            best = v;
        }
    }
    return best;
}

#endif
