/* sums.c - which k the sum of a tile has got: for a result that has been found to be wrong. A kernel may add a k twice
 * on purpose (an emulation), or leave some to another CTA (split K): nothing is reported of a result that is right.
 *
 * A sum is known by what its first product began with: a warpgroup's tile of accumulators, or the registers of a warp's
 * mma.sync. It ends when its accumulators are replaced, written or read, or with its CTA; then what it has got is put
 * to what other sums of the same rows of A and of B have got, in the same launches. */
#include "results.h"

#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../place/place.h"
#include "bug_report.h"

enum { STEPS = 1024, WORDS = STEPS / 64, STEP_BYTES = 32, WARP_SUMS = 128 };

typedef struct Sum {
    const void *at; /* lane 0's accumulators; NULL: not in use */
    Tag a, b;       /* that it began with: row of A, row of B */
    int rows, columns;
    uint64_t has[WORDS]; /* steps of k, of 32 bytes */
    int twice;           /* 1 + the first step that it got again; 0: none */
    Site site;           /* of its last product; of that one */
    struct Sum *next;
} Sum;

typedef struct CtaSums {
    Sum *tile;  /* [warpgroups][ACCUMULATOR_TILES] */
    Sum **warp; /* [warps]: [WARP_SUMS], NULL: nothing yet */
} CtaSums;

static struct {
    void *tree;  /* by the rows of A and B */
    Sum *first;  /* the last one that was added */
    int steps;   /* up to the highest that any sum has got */
    Sum twice;   /* the first that got a step again; at NULL: none did */
    Site to_nan; /* the first copy that adds to elements of a matrix which are NaN; 0: none */
} all;

static void forget_all(void) {
    tdestroy(all.tree, free);
    memset(&all, 0, sizeof all);
}

ON(sums, LAUNCH_BEGIN) { forget_all(); }
ON(sums, SHUTDOWN) { forget_all(); }

ON(sums, CTA_BEGIN) {
    CtaSums *s = cta->sums = cta_alloc(cta, sizeof *s);
    s->warp = cta_alloc(cta, (size_t)cta->warps * sizeof *s->warp);
}

static int by_rows(const void *x, const void *y) {
    const Sum *s = x, *t = y;
    return s->a.tensor != t->a.tensor ? s->a.tensor - t->a.tensor
           : s->a.row != t->a.row     ? s->a.row - t->a.row
                                      : s->b.row - t->b.row;
}

/* All that the sums of these rows have got; a copy of this one, if it is the first. */
static Sum *total_of(const Sum *s) {
    Sum **total = model_checked(tsearch(s, &all.tree, by_rows));
    if (*total == s) {
        Sum *added = *total = model_alloc(sizeof *added);
        *added = *s;
        added->next = all.first;
        all.first = added;
    }
    return *total;
}

static void end(Sum *s) {
    if (s->at == NULL) {
        return;
    }
    Sum *to = total_of(s);
    const int known = (tag_columns(s->a) * s->a.element_bytes + STEP_BYTES - 1) / STEP_BYTES;
    all.steps = known > all.steps && known <= STEPS ? known : all.steps;
    for (int i = 0; i < WORDS; i++) {
        to->has[i] |= s->has[i];
        if (s->has[i] != 0) {
            int steps = 64 * i + 64 - __builtin_clzll(s->has[i]);
            all.steps = steps > all.steps ? steps : all.steps;
        }
    }
    all.twice = s->twice != 0 && all.twice.at == NULL ? *s : all.twice;
    memset(s, 0, sizeof *s);
}

ON(sums, CTA_END) {
    for (int i = 0; cta->sums->tile != NULL && i < cta->warpgroups * ACCUMULATOR_TILES; i++) {
        end(&cta->sums->tile[i]);
    }
    for (int w = 0; w < cta->warps; w++) {
        for (int i = 0; cta->sums->warp[w] != NULL && i < WARP_SUMS; i++) {
            end(&cta->sums->warp[w][i]);
        }
    }
}

static void add(Sum *s, const void *at, Tag a, Tag b, int rows, int columns, Site site) {
    if (s->at != at || s->a.row != a.row || s->b.row != b.row || s->a.tensor != a.tensor) {
        end(s);
        *s = (Sum){.at = at, .a = a, .b = b, .rows = rows, .columns = columns};
    }
    int step = a.column * a.element_bytes / STEP_BYTES;
    if (a.column < 0 || step >= STEPS) {
        return;
    }
    if (s->has[step / 64] >> step % 64 & 1) {
        s->twice = s->twice != 0 ? s->twice : 1 + step;
    } else {
        s->has[step / 64] |= (uint64_t)1 << step % 64;
    }
    s->site = s->twice == 0 || s->twice == 1 + step ? site : s->site;
}

void sums_tile_ends(const Warpgroup *g, int tile) {
    CtaSums *s = g->cta->sums;
    if (s->tile != NULL) {
        end(&s->tile[g->id * ACCUMULATOR_TILES + tile]);
    }
}

void sums_product(const Warpgroup *g, const Product *product, Tag a, Tag b) {
    const int tile = (int)(product->tile - g->products->tile);
    CtaSums *s = g->cta->sums;
    if (!product->accumulate) {
        sums_tile_ends(g, tile);
    }
    if (*tag_matrix(a) == '\0' || *tag_matrix(b) == '\0' || a.column != b.column) {
        return;
    }
    if (s->tile == NULL) {
        s->tile = cta_alloc(g->cta, (size_t)g->cta->warpgroups * ACCUMULATOR_TILES * sizeof *s->tile);
    }
    add(&s->tile[g->id * ACCUMULATOR_TILES + tile], g, a, b, WGMMA_M, product->n, product->site);
}

void sums_fragment(const Warp *w, const void *d, Tag a, Tag b, Site site) {
    CtaSums *s = w->cta->sums;
    if (s->warp[w->id] == NULL) {
        s->warp[w->id] = cta_alloc(w->cta, WARP_SUMS * sizeof **s->warp);
    }
    add(&s->warp[w->id][(uintptr_t)d / 16 % WARP_SUMS], d, a, b, 16, 8, site);
}

ON(sums, TMA_STORE) {
    const TmaCopy *copy = e->copy;
    if (copy->add && copy->map->rank == 2 && all.to_nan == 0) {
        const int64_t coord[TENSOR_MAX_RANK] = {copy->coord[0], copy->coord[1]};
        const uint8_t *to = (const uint8_t *)(uintptr_t)copy->map->base + coord[1] * (int64_t)copy->map->stride[0] +
                            coord[0] * copy->map->element_bytes;
        const Tag tag = tag_of_global(to);
        all.to_nan = tag.tensor != TENSOR_UNKNOWN && tag.element_bytes == 2 &&
                             isnan(matrix_float(*(const uint16_t *)(const void *)to))
                         ? copy->site
                         : 0;
    }
}

/* ---- what a wrong result may come from --------------------------------------------------------------------------- */

/* "k 16 to 639", of the first run of steps that the sum has not got; 0: it has all. */
static int missing_text(const Sum *s, char *text) {
    int first = 0;
    while (first < all.steps && (s->has[first / 64] >> first % 64 & 1)) {
        first++;
    }
    int last = first, k = STEP_BYTES / s->a.element_bytes;
    while (last < all.steps && !(s->has[last / 64] >> last % 64 & 1)) {
        last++;
    }
    snprintf(text, PHRASE_SIZE, "k %d to %d", first * k, last * k - 1);
    return first < all.steps;
}

const char *model_sums(void) {
    static char text[4 * PHRASE_SIZE];
    char missing[PHRASE_SIZE];
    const Sum *s = all.twice.at != NULL ? &all.twice : NULL, *less = NULL;
    if (all.to_nan != 0) {
        snprintf(text, sizeof text,
                 "%s: this copy adds to elements that no thread has written, and that are NaN: C has to be zero first",
                 place_text(all.to_nan));
        return text;
    }
    for (const Sum *total = all.first; total != NULL; total = total->next) {
        less = missing_text(total, missing) ? total : less;
    }
    if (s == NULL && less == NULL) {
        return NULL;
    }
    const Sum *of = s != NULL ? s : less;
    const char *matrix = tag_matrix(of->a);
    int length =
        snprintf(text, sizeof text, "%s: the sums of rows %d to %d of %s and %d to %d of %s", place_text(of->site),
                 of->a.row, of->a.row + of->rows - 1, *matrix != '\0' ? matrix : "one operand", of->b.row,
                 of->b.row + of->columns - 1, *tag_matrix(of->b) != '\0' ? tag_matrix(of->b) : "the other");
    if (s != NULL) {
        int k = STEP_BYTES / s->a.element_bytes;
        length += snprintf(text + length, sizeof text - (size_t)length, " contain the products of k %d to %d twice",
                           (s->twice - 1) * k, s->twice * k - 1);
    }
    if (less != NULL) {
        missing_text(less, missing);
        snprintf(text + length, sizeof text - (size_t)length, "%s of %s",
                 s != NULL ? ", and lack those" : " lack the products", missing);
    }
    return text;
}
