/* check.c - the host's side of the check: comparison, and the words for what is wrong. */
#include "check.h"

GemmStatus check_block(const ResultView *view, uint64_t from, Tally *tally) {
    tally_start(tally);
    for (size_t index = 0; index < block_elements(view); index++) {
        tally_element(tally, view, index, from);
    }
    return GEMM_OK;
}

/* Would `value` in place of the expected one make the mismatch right? */
static int explains(const Mismatch *mismatch, double value) {
    if (mismatch->allowed == 0) {
        return bf16_value(mismatch->got) == bf16_value(round_to_bf16(value));
    }
    double accumulation = mismatch->allowed - fabs(mismatch->expected) * 0x1p-8;
    return fabs((double)bf16_value(mismatch->got) - value) <= fabs(value) * 0x1p-8 + accumulation;
}

static double share_of(const Mismatch *mismatch, int begin, int end) {
    double sum = 0;
    for (int k = begin; k < end; k++) {
        sum += mismatch->a_row[k] * mismatch->b_row[k];
    }
    return sum;
}

KRange find_k_range(const Mismatch *list, int count, int k) {
    static const int widths[] = {64, 32, 128, 16};
    KRange none = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        if (!list[i].a_row || !list[i].b_row) {
            return none;
        }
    }
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (int begin = 0; begin < k; begin += widths[w]) {
            KRange range = {begin, min_int(begin + widths[w], k), 0};
            int missing = 0, twice = 0;
            for (int i = 0; i < count && (missing == i || twice == i); i++) {
                double share = share_of(&list[i], range.begin, range.end);
                missing += explains(&list[i], list[i].expected - share);
                twice += explains(&list[i], list[i].expected + share);
            }
            range.twice = twice == count;
            if (count > 0 && (missing == count || twice == count)) {
                return range;
            }
        }
    }
    return none;
}

/* Where the wrong elements lie, in units of the tile most kernels use. */
static void print_place(FILE *out, const ResultView *view, const Tally *tally) {
    int one_row = tally->row_min / HINT_TILE == tally->row_max / HINT_TILE && view->m > HINT_TILE;
    int one_column = tally->column_min / HINT_TILE == tally->column_max / HINT_TILE && view->n > HINT_TILE;
    fprintf(out, "         all in rows %d..%d, columns %d..%d", tally->row_min, tally->row_max, tally->column_min,
            tally->column_max);
    if (one_row && one_column) {
        fprintf(out, ": within one %d x %d tile", HINT_TILE, HINT_TILE);
    } else if (one_row) {
        fprintf(out, ": within one band of %d rows", HINT_TILE);
    } else if (one_column) {
        fprintf(out, ": within one band of %d columns", HINT_TILE);
    }
    int edge_row = view->m % HINT_TILE && view->m > HINT_TILE && tally->row_min >= view->m / HINT_TILE * HINT_TILE;
    int edge_column =
        view->n % HINT_TILE && view->n > HINT_TILE && tally->column_min >= view->n / HINT_TILE * HINT_TILE;
    if (edge_row || edge_column) {
        fprintf(out, ", in the last, partial %s of tiles", edge_row ? "row" : "column");
    }
    fputc('\n', out);
}

static void print_cause(FILE *out, int k, const Tally *tally, const Mismatch *list, int count) {
    if (tally->unwritten) {
        fprintf(out, "         %llu were never written: they still hold the NaN the harness put there\n",
                (unsigned long long)tally->unwritten);
    }
    if (tally->nan) {
        fprintf(out,
                "         %llu are NaN but were written: the padding behind the rows of A and B is NaN, was it "
                "used? or something never loaded, or added to what nobody had written?\n",
                (unsigned long long)tally->nan);
    }
    int zeros = 0, mirrored = 0, off_diagonal = 0;
    for (int i = 0; i < count; i++) {
        zeros += bf16_value(list[i].got) == 0;
        mirrored += explains(&list[i], list[i].mirrored);
        off_diagonal += list[i].row != list[i].column;
    }
    if (zeros == count) {
        fprintf(out, "         those shown are zero, as if nothing had been accumulated\n");
        return;
    }
    if (mirrored == count && off_diagonal) {
        fprintf(out, "         those shown hold what belongs to C[column][row]: transposed?\n");
        return;
    }
    KRange range = find_k_range(list, count, k);
    if (range.begin < range.end) {
        fprintf(out, "         those shown are off by the share of k %d..%d%s: %s\n", range.begin, range.end - 1,
                range.end == k     ? ", the last"
                : range.begin == 0 ? ", the first"
                                   : "",
                range.twice ? "counted twice?" : "missing?");
    }
}

static void print_guards(FILE *out, const ResultView *view, const Tally *tally) {
    uint64_t guards = tally->guard_before + tally->guard_rows + tally->guard_after;
    if (guards == 0) {
        return;
    }
    fprintf(out,
            "         %llu elements outside C were overwritten: %llu before it, %llu behind its rows, %llu after it\n",
            (unsigned long long)guards, (unsigned long long)tally->guard_before, (unsigned long long)tally->guard_rows,
            (unsigned long long)tally->guard_after);
    long long offset = (long long)tally->guard_first - (long long)view->guard;
    if (offset < 0) {
        fprintf(out, "         the first of them lies %lld elements before C\n", -offset);
    } else {
        fprintf(out, "         the first of them is where row %lld, column %lld would be; C is %d x %d\n",
                offset / view->ldc, offset % view->ldc, view->m, view->n);
    }
}

void print_mismatches(FILE *out, const ResultView *view, int k, const Tally *tally, const Mismatch *list, int count) {
    uint64_t elements = (uint64_t)view->m * (uint64_t)view->n;
    fprintf(out, "WRONG    %llu of %llu elements\n", (unsigned long long)tally->wrong, (unsigned long long)elements);
    if (count > 0) {
        fprintf(out, "         %10s %10s %14s %14s %14s\n", "row", "column", "got", "expected",
                view->exact ? "in bf16" : "allowed +-");
    }
    for (int i = 0; i < count; i++) {
        fprintf(out, "         %10d %10d ", list[i].row, list[i].column);
        if (list[i].got == BF16_UNWRITTEN) {
            fprintf(out, "%14s", "unwritten");
        } else {
            fprintf(out, "%14g", (double)bf16_value(list[i].got));
        }
        fprintf(out, " %14g %14g\n", list[i].expected,
                view->exact ? (double)bf16_value(round_to_bf16(list[i].expected)) : list[i].allowed);
    }
    if (tally->wrong) {
        print_place(out, view, tally);
        print_cause(out, k, tally, list, count);
    }
    print_guards(out, view, tally);
    if (tally->lse_wrong) {
        fprintf(out, "         %llu logarithms are wrong, the first is number %llu: %g, expected %g\n",
                (unsigned long long)tally->lse_wrong, (unsigned long long)tally->lse_first, (double)tally->lse_got,
                (double)tally->lse_expected);
    }
    if (tally->workspace_left) {
        fprintf(out, "         %llu bytes of the workspace were not left zero\n",
                (unsigned long long)tally->workspace_left);
    }
}
