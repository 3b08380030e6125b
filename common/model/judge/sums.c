/* sums.c - which steps of k the sums of C contain, for a report on a wrong result. If the result is correct, nothing is
 * reported, because a kernel may add a k twice on purpose (an emulation), or leave some to another CTA (split K).
 *
 * A sum is identified by the rows of A and of B with which its products begin. It has all products of these rows in the
 * launches of a set. */
#include "results.h"

#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../place/place.h"
#include "bug_report.h"

enum { STEPS = 1024, STEP_BYTES = 32, RECENT = 4096 };

typedef struct Sum {
    Tag a, b; /* that it began with: row of A, row of B */
    int rows, columns;
    uint64_t has[STEPS / 64]; /* steps of k, of 32 bytes */
    int twice;                /* 1 + the first step that it got again; 0: none */
    Site site;                /* of its last product; of that one */
    struct Sum *next;
} Sum;

static struct {
    void *tree;  /* by the rows of A and B */
    Sum *first;  /* the last one that was added */
    Sum *twice;  /* the first that got a step again; NULL: none did */
    int steps;   /* up to the highest that any sum has got */
    Site to_nan; /* the first copy that adds to elements of a matrix which are NaN; 0: none */
    Sum *recent[RECENT];
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

static Sum *sum_of(const Sum *wanted) {
    Sum **recent = &all.recent[(unsigned)(wanted->a.row / 8 * 67 + wanted->b.row / 8) % RECENT];
    if (*recent == NULL || by_rows(*recent, wanted) != 0) {
        Sum **sum = model_checked(tsearch(wanted, &all.tree, by_rows));
        if (*sum == wanted) {
            all.first = *sum = model_alloc(sizeof **sum);
            **sum = *wanted;
        }
        *recent = *sum;
    }
    return *recent;
}

static int larger(int x, int y) { return x > y ? x : y; }

void sums_product(Tag a, Tag b, int rows, int columns, Site site) {
    const int step = a.column * a.element_bytes / STEP_BYTES;
    if (*tag_matrix(a) == '\0' || *tag_matrix(b) == '\0' || a.column != b.column || a.column < 0 || step >= STEPS) {
        return;
    }
    Sum *s = sum_of(&(Sum){.a = a, .b = b, .rows = rows, .columns = columns, .next = all.first});
    const int known = (tag_columns(a) * a.element_bytes + STEP_BYTES - 1) / STEP_BYTES;
    all.steps = larger(all.steps, known <= STEPS ? larger(known, step + 1) : step + 1);
    if (s->has[step / 64] >> step % 64 & 1) {
        s->twice = s->twice != 0 ? s->twice : 1 + step;
        all.twice = all.twice != NULL ? all.twice : s;
    }
    s->has[step / 64] |= (uint64_t)1 << step % 64;
    s->site = s->twice == 0 || s->twice == 1 + step ? site : s->site;
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
    const Sum *s = all.twice, *less = NULL;
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
    int length = snprintf(text, sizeof text, "%s: the sums of rows %d to %d of %s and %d to %d of %s",
                          place_text(of->site), of->a.row, of->a.row + of->rows - 1, tag_matrix(of->a), of->b.row,
                          of->b.row + of->columns - 1, tag_matrix(of->b));
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
