/* check.h - what the result should be, and the comparison that looks at every element and every guard.
 *
 * The comparison of one element is one function for host and kernel: gpu.cu runs it in parallel, check_block() in a
 * loop (for the model and the unit tests). */
#ifndef CHECK_H
#define CHECK_H

#include "../gemm.h"
#include "kind.h"

#define NOWHERE UINT64_MAX

enum {
    MISMATCHES_SHOWN = 8,
    HINT_TILE = 128, /* "all in one tile" means one of this size */
};

/* The block that holds C, and what should be in it:
 *
 *     guard elements | m rows of ldc elements, of which the first n belong to C | guard elements
 */
typedef struct {
    int m, n, ldc;
    size_t guard;
    const bf16 *block;      /* [guard + m * ldc + guard] */
    const double *expected; /* [m][n], sum of a*b in fp64; with what the kind adds to it (kind.h) */
    const float *magnitude; /* [m][n], sum of |a||b|: the error of a sum is measured by it */
    int exact;              /* the expected value is exact and so is the kernel's accumulation: no tolerance */
    double eps;             /* kind_eps(); not used if exact */
} ResultView;

/* What a comparison found. Counts of elements; the same whatever the order in which the elements are visited. */
typedef struct Tally {
    uint64_t wrong;       /* elements of C out of tolerance, NaN and unwritten ones among them */
    uint64_t nan;         /* NaN, but written */
    uint64_t unwritten;   /* still BF16_UNWRITTEN */
    uint64_t first;       /* row * n + column of the first wrong one at or after `from`; NOWHERE if none */
    int row_min, row_max; /* all wrong ones lie in these rows and columns */
    int column_min, column_max;
    uint64_t guard_before;         /* guard elements overwritten before C, */
    uint64_t guard_rows;           /* after its rows, */
    uint64_t guard_after;          /* and after it */
    uint64_t guard_first;          /* the first of them, as an index into the block; NOWHERE if none */
    uint64_t lse_wrong, lse_first; /* attention: logarithms that are wrong or after the last one, and where */
    float lse_got, lse_expected;   /* of that one */
    uint64_t workspace_left;       /* bytes of the workspace that a launch did not leave zero */
    /* Largest share of the allowance for accumulation (eps * magnitude) that an element used, beyond its last rounding;
     * infinite for a wrong element of exact data. NaN is not in it. */
    float worst;
    uint64_t fingerprint; /* depends on every bit of C and its place; equal results have equal ones */
} Tally;

/* One wrong element, with what it takes to guess at the cause. */
typedef struct {
    int row, column;
    bf16 got;
    double expected, allowed;
    double mirrored;     /* the expected value of C[column][row]; NaN if there is no such element */
    const double *a_row; /* [k], A's row `row`, with its scales; NULL if not at hand */
    const double *b_row; /* [k], B's row `column`; NULL if not at hand */
} Mismatch;

/* Steps of k that would explain the mismatches: every one is off by exactly their share of the sum. */
typedef struct {
    int begin, end; /* begin <= k < end; begin == end: none found */
    int twice;      /* 1: counted twice, 0: missing */
} KRange;

/* The last rounding, to the 8 significant bits of bf16: half a step. */
HOST_DEVICE double rounding_error(const ResultView *view, double expected) {
    return view->exact ? 0 : fabs(expected) * 0x1p-8;
}

/* The share of the sum, see accumulation_eps(). */
HOST_DEVICE double accumulation_error(const ResultView *view, double magnitude) {
    return view->exact ? 0 : view->eps * magnitude;
}

/* The error allowed for an expected value. Exact data: none, so the bits must match, but for the sign of a zero. */
HOST_DEVICE double allowed_error(const ResultView *view, double expected, double magnitude) {
    return rounding_error(view, expected) + accumulation_error(view, magnitude);
}

HOST_DEVICE size_t block_elements(const ResultView *view) {
    return view->guard + (size_t)view->m * (size_t)view->ldc + view->guard;
}

/* Is element `index` of the block an element of C? */
HOST_DEVICE int in_c(const ResultView *view, size_t index) {
    return index >= view->guard && index - view->guard < (size_t)view->m * (size_t)view->ldc &&
           (index - view->guard) % (size_t)view->ldc < (size_t)view->n;
}

/* What the harness leaves in the block before a checked launch. */
HOST_DEVICE bf16 unwritten_pattern(const ResultView *view, size_t index) {
    return in_c(view, index) ? BF16_UNWRITTEN : BF16_GUARD;
}

HOST_DEVICE void tally_start(Tally *tally) {
    memset(tally, 0, sizeof *tally);
    tally->first = tally->guard_first = NOWHERE;
    tally->row_min = tally->column_min = INT_MAX;
    tally->row_max = tally->column_max = -1;
}

/* How far an element is from what it should be: exact data from the exact value rounded to bf16, other data from the
 * value itself. NaN for NaN. */
HOST_DEVICE double element_error(const ResultView *view, bf16 got, double expected) {
    return fabs((double)bf16_value(got) - (view->exact ? (double)bf16_value(round_to_bf16(expected)) : expected));
}

/* Looks at element `index` of the block. `from`: see Tally.first. */
HOST_DEVICE void tally_element(Tally *tally, const ResultView *view, size_t index, uint64_t from) {
    bf16 got = view->block[index];
    if (!in_c(view, index)) {
        if (got != BF16_GUARD) {
            tally->guard_before += index < view->guard;
            tally->guard_after += index >= block_elements(view) - view->guard;
            tally->guard_rows += index >= view->guard && index < block_elements(view) - view->guard;
            tally->guard_first = index < tally->guard_first ? index : tally->guard_first;
        }
        return;
    }
    int row = (int)((index - view->guard) / (size_t)view->ldc);
    int column = (int)((index - view->guard) % (size_t)view->ldc);
    uint64_t place = (uint64_t)row * (uint64_t)view->n + (uint64_t)column;
    double expected = view->expected[place];
    double magnitude = (double)view->magnitude[place];
    tally->fingerprint += mix64(place << 16 ^ got);
    double error = element_error(view, got, expected);
    double allowed = allowed_error(view, expected, magnitude);
    double rounding = rounding_error(view, expected);
    if (error > rounding) {
        float share = (float)((error - rounding) / accumulation_error(view, magnitude)); /* exact data: by zero */
        tally->worst = share > tally->worst ? share : tally->worst;
    }
    if (error <= allowed) { /* false for NaN: a NaN is never right */
        return;
    }
    tally->wrong++;
    if (got == BF16_UNWRITTEN) {
        tally->unwritten++;
    } else if (bf16_is_nan(got)) {
        tally->nan++;
    }
    tally->first = place >= from && place < tally->first ? place : tally->first;
    tally->row_min = row < tally->row_min ? row : tally->row_min;
    tally->row_max = row > tally->row_max ? row : tally->row_max;
    tally->column_min = column < tally->column_min ? column : tally->column_min;
    tally->column_max = column > tally->column_max ? column : tally->column_max;
}

/* All right: no wrong element, no guard overwritten, workspace left zero. */
static inline int tally_is_right(const Tally *tally) {
    return tally->wrong == 0 && tally->guard_before == 0 && tally->guard_rows == 0 && tally->guard_after == 0 &&
           tally->lse_wrong == 0 && tally->workspace_left == 0;
}

/* The whole block, on the host. */
GemmStatus check_block(const ResultView *view, uint64_t from, Tally *tally);

/* The steps of k (one step of 16, or one k-tile of 32, 64 or 128) whose share is missing from, or counted twice in, all
 * `count` mismatches. Those without a_row and b_row explain nothing. */
KRange find_k_range(const Mismatch *list, int count, int k);

/* Prints what is wrong: how many elements, the first `count` of them, guards, and what the pattern suggests. */
void print_mismatches(FILE *out, const ResultView *view, int k, const Tally *tally, const Mismatch *list, int count);

#endif
