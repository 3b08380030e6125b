/* sums.c - which step of k a sum of C has got twice, for a report on a wrong result. If the result is correct, nothing
 * is reported, because a kernel may add a k twice on purpose (an emulation).
 *
 * A sum is identified by the rows of A and of B with which its products begin. It has all products of these rows in the
 * launches of a set. */
#include "results.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../place/place.h"
#include "bug_report.h"

enum { STEPS = 1024, STEP_BYTES = 32 };

typedef struct Sum {
    Tag a, b; /* that it began with: row of A, row of B */
    int rows, columns;
    uint64_t has[STEPS / 64]; /* steps of k, of 32 bytes */
} Sum;

static struct {
    void *tree;       /* by the rows of A and B */
    const Sum *twice; /* the first that got a step again; NULL: none did */
    int step;         /* that one */
    Site site;        /* of the product */
} all;

static void forget_all(void) {
    tdestroy(all.tree, free);
    memset(&all, 0, sizeof all);
}

ON(sums, LAUNCH_BEGIN) { forget_all(); }
ON(sums, SHUTDOWN) { forget_all(); }

static int by_rows(const void *x, const void *y) {
    const Sum *s = x, *t = y;
    return s->a.tensor != t->a.tensor ? s->a.tensor - t->a.tensor
           : s->a.row != t->a.row     ? s->a.row - t->a.row
                                      : s->b.row - t->b.row;
}

void sums_product(Tag a, Tag b, int rows, int columns, Site site) {
    const int step = a.column * a.element_bytes / STEP_BYTES;
    if (*tag_matrix(a) == '\0' || *tag_matrix(b) == '\0' || a.column != b.column || a.column < 0 || step >= STEPS) {
        return;
    }
    const Sum wanted = {.a = a, .b = b, .rows = rows, .columns = columns};
    Sum **found = model_checked(tsearch(&wanted, &all.tree, by_rows)), *s = *found;
    if (s == &wanted) {
        *found = s = model_alloc(sizeof wanted);
        *s = wanted;
    }
    if (all.twice == NULL && (s->has[step / 64] >> step % 64 & 1)) {
        all.twice = s;
        all.step = step;
        all.site = site;
    }
    s->has[step / 64] |= (uint64_t)1 << step % 64;
}

const char *model_sums(void) {
    static char text[4 * PHRASE_SIZE];
    const Sum *s = all.twice;
    if (s == NULL) {
        return NULL;
    }
    const int k = STEP_BYTES / s->a.element_bytes;
    snprintf(text, sizeof text,
             "%s: the sums of rows %d to %d of %s and %d to %d of %s contain the products of k %d to %d twice",
             place_text(all.site), s->a.row, s->a.row + s->rows - 1, tag_matrix(s->a), s->b.row,
             s->b.row + s->columns - 1, tag_matrix(s->b), all.step * k, (all.step + 1) * k - 1);
    return text;
}
