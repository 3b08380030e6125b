/* Does the check accept every right result and nothing else? */
#include "fixture.h"

static void accepts_right_results(void) {
    static const int sizes[][3] = {{1, 1, 1},    {7, 13, 1},    {1, 1, 8192},   {64, 64, 64},
                                   {33, 17, 65}, {19, 23, 555}, {16, 24, 4097}, {8, 8, 16384}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
            Fixture f = new_fixture(sizes[i][0], sizes[i][1], sizes[i][2], data);
            for (Order order = 0; order < ORDERS; order++) {
                compute(&f, order, NO_DAMAGE);
                Tally tally = look(&f);
                if (!ok(tally_is_right(&tally), "%d x %d x %d, %s: accepts sums built %s", f.gemm.m, f.gemm.n, f.gemm.k,
                        data_names[data], order_names[order])) {
                    diag("%llu wrong, worst %g of the allowed error", (unsigned long long)tally.wrong, tally.worst);
                }
            }
            fesetround(FE_TOWARDZERO);
            compute(&f, ORDER_STEPS_OF_16, NO_DAMAGE);
            fesetround(FE_TONEAREST);
            Tally tally = look(&f);
            /* The last rounding, to bf16, is not the fp32 mode's: round_to_bf16() works on integers. */
            if (!ok(tally_is_right(&tally), "%d x %d x %d, %s: accepts sums that truncate", f.gemm.m, f.gemm.n,
                    f.gemm.k, data_names[data])) {
                diag("%llu wrong, worst %g of the allowed error", (unsigned long long)tally.wrong, tally.worst);
            }
            free_fixture(&f);
        }
    }
}

/* Every element of C and every guard, one at a time: each is looked at, and found where it is. */
static void sees_every_element(DataKind data) {
    Fixture f = new_fixture(5, 11, 40, data);
    int row_end = 0, missed = 0, wrong_place = 0, guards_missed = 0;
    for (size_t i = 0; i < block_elements(&f.view); i++) {
        put_right_result(&f);
        f.block[i] = 0x7fc0; /* a NaN that is no pattern of the harness */
        Tally tally = look(&f);
        long offset = (long)i - FIXTURE_GUARD;
        int row = (int)(offset / f.gemm.ldc), column = (int)(offset % f.gemm.ldc);
        if (offset < 0) {
            guards_missed += tally.guard_before != 1 || tally.guard_rows || tally.guard_after || tally.wrong;
        } else if (row >= f.gemm.m) {
            guards_missed += tally.guard_after != 1 || tally.guard_before || tally.guard_rows || tally.wrong;
        } else if (column >= f.gemm.n) {
            guards_missed += tally.guard_rows != 1 || tally.guard_before || tally.guard_after || tally.wrong;
            row_end++;
        } else {
            missed += tally.wrong != 1 || tally.nan != 1 || tally.unwritten != 0;
            wrong_place += tally.first != (uint64_t)(row * f.gemm.n + column) || tally.row_min != row ||
                           tally.row_max != row || tally.column_min != column || tally.column_max != column;
            continue;
        }
        guards_missed += tally.guard_first != i || tally_is_right(&tally);
    }
    ok(missed == 0, "%s: one NaN is seen wherever it is", data_names[data]);
    ok(wrong_place == 0, "%s: and its place is told", data_names[data]);
    ok(guards_missed == 0, "%s: one write outside C is seen wherever it is", data_names[data]);
    is_int(row_end, 5 * (f.gemm.ldc - 11), "which includes what lies behind the rows");
    free_fixture(&f);
}

static void rejects_unusable_values(DataKind data) {
    static const struct {
        bf16 bits;
        const char *name;
    } values[] = {{0x7fc0, "NaN"},          {0xffc0, "negative NaN"}, {0x7f80, "infinity"},
                  {0xff80, "-infinity"},    {0x7f7f, "3.4e38"},       {BF16_GUARD, "a guard's pattern"},
                  {BF16_PADDING, "padding"}};
    Fixture f = new_fixture(9, 10, 100, data);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        put_right_result(&f);
        *element(&f, 4, 7) = values[i].bits;
        Tally tally = look(&f);
        ok(!tally_is_right(&tally) && tally.wrong == 1, "%s: rejects %s", data_names[data], values[i].name);
    }
    put_right_result(&f);
    *element(&f, 8, 9) = BF16_UNWRITTEN;
    Tally tally = look(&f);
    ok(!tally_is_right(&tally) && tally.unwritten == 1 && tally.nan == 0, "%s: rejects an element never written",
       data_names[data]);
    poison(&f);
    tally = look(&f);
    is_int((long long)tally.unwritten, 90, "and a result never written");
    put_right_result(&f);
    tally = look(&f);
    tally.workspace_left = 1;
    ok(!tally_is_right(&tally), "%s: rejects a workspace that is not left zero", data_names[data]);
    free_fixture(&f);
}

/* Integer data: the bits count. Every element, one bf16 step up and one down. */
static void rejects_one_step(int k) {
    Fixture f = new_fixture(12, 10, k, DATA_INTEGERS);
    int accepted = 0, zeros = 0;
    for (int row = 0; row < f.gemm.m; row++) {
        for (int column = 0; column < f.gemm.n; column++) {
            for (int step = -1; step <= 1; step += 2) {
                put_right_result(&f);
                bf16 *bits = element(&f, row, column);
                if (bf16_value(*bits) == 0) {
                    zeros++;
                    *bits = step > 0 ? 0x0001 : 0x8001; /* the smallest numbers beside zero */
                } else {
                    *bits = (bf16)(*bits + step);
                }
                Tally tally = look(&f);
                accepted += tally.wrong != 1 || tally.nan != 0;
            }
        }
    }
    if (!ok(accepted == 0, "K = %d, integers: no element may be off by one bf16 step (%d of them zero)", k,
            zeros / 2)) {
        diag("%d of %d passed", accepted, 2 * 12 * 10);
    }
    free_fixture(&f);
}

static void zero_has_two_signs(void) {
    Fixture f = new_fixture(4, 4, 8, DATA_ZEROS);
    f.view.exact = 1;
    put_right_result(&f);
    *element(&f, 1, 2) = 0x8000;
    Tally tally = look(&f);
    ok(tally_is_right(&tally), "-0 is as right as 0");
    free_fixture(&f);
}

/* The first elements that are wrong, as the harness hands them to find_k_range(). Returns how many. */
static int mismatches(const Fixture *f, Mismatch *list, int most) {
    Tally tally;
    int found = 0;
    for (uint64_t from = 0; found < most; from = tally.first + 1) {
        check_block(&f->view, from, &tally);
        if (tally.first == NOWHERE) {
            break;
        }
        int row = (int)(tally.first / f->gemm.n), column = (int)(tally.first % f->gemm.n);
        double expected = f->expected[tally.first];
        int mirror = row < f->gemm.n && column < f->gemm.m;
        list[found++] = (Mismatch){row,
                                   column,
                                   *element(f, row, column),
                                   expected,
                                   allowed_error(&f->view, expected, f->magnitude[tally.first]),
                                   mirror ? f->expected[(size_t)column * f->gemm.n + row] : NAN,
                                   f->a_values + (size_t)row * f->gemm.lda,
                                   f->b_values + (size_t)column * f->gemm.ldb};
    }
    return found;
}

/* Share of the elements that must be wrong when `count` steps of k are lost, in per cent, for normal data: about twice
 * the tolerance of that K divides what is caught from what is not. Integers: all that the lost steps change. */
static void rejects_lost_steps(int m, int n, int k, int count, int times, int least_percent) {
    for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
        Fixture f = new_fixture(m, n, k, data);
        int least = 100, always = 1, named = 1;
        for (int begin = 0; begin<k; begin += k> 1024 ? k / 4 / count * count : count) {
            Damage damage = {begin, count, times};
            compute(&f, ORDER_FORWARD, damage);
            Tally tally = look(&f);
            int percent = (int)(100 * tally.wrong / ((uint64_t)m * n));
            least = min_int(least, percent);
            always &= !tally_is_right(&tally);

            Mismatch list[4];
            int found = mismatches(&f, list, 4);
            KRange range = find_k_range(list, found, k);
            named &= range.begin == begin && range.end == min_int(begin + count, k) && range.twice == (times == 2);
        }
        int need = data == DATA_INTEGERS ? 60 : least_percent;
        if (!ok(always && least >= need, "%d x %d x %d, %s: rejects %d steps of k %s, in %d %% of the elements or more",
                m, n, k, data_names[data], count, times ? "counted twice" : "left out", need)) {
            diag("at least %d %% were wrong", least);
        }
        ok(named, "and names them");
        free_fixture(&f);
    }
}

static void fingerprint_is_of_all_bits(void) {
    Fixture f = new_fixture(6, 7, 32, DATA_NORMAL);
    put_right_result(&f);
    uint64_t right = look(&f).fingerprint;
    int same = 0;
    for (int row = 0; row < 6; row++) {
        for (int column = 0; column < 7; column++) {
            for (int bit = 0; bit < 16; bit++) {
                *element(&f, row, column) ^= (bf16)(1 << bit);
                same += look(&f).fingerprint == right;
                *element(&f, row, column) ^= (bf16)(1 << bit);
            }
        }
    }
    is_int(same, 0, "the fingerprint depends on every bit of C");
    free_fixture(&f);
}

/* Words of the report about a broken result. */
static void says(const Fixture *f, const char *part, const char *name) {
    Tally tally;
    Mismatch list[MISMATCHES_SHOWN];
    int found = mismatches(f, list, MISMATCHES_SHOWN);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    check_block(&f->view, 0, &tally);
    print_mismatches(out, &f->view, f->gemm.k, &tally, list, found);
    fclose(out);
    contains(text, part, name);
    free(text);
}

static void names_the_cause(void) {
    Fixture f = new_fixture(140, 150, 130, DATA_INTEGERS);
    put_right_result(&f);
    *element(&f, 130, 140) = 0x7fc0;
    says(&f, "1 of 21000 elements", "the report counts the wrong elements");
    says(&f, "       130        140 ", "it names row and column");
    says(&f, "within one 128 x 128 tile", "it says that all lie in one tile");
    says(&f, "NaN", "it tells NaN");
    poison(&f);
    says(&f, "21000 were never written", "it tells elements never written");
    put_right_result(&f);
    *element(&f, 139, 150) = 0;
    says(&f, "1 elements outside C were overwritten: 0 before it, 1 behind its rows, 0 after it",
         "it counts the guards");
    says(&f, "row 139, column 150 would be", "and says where");
    put_right_result(&f);
    f.block[FIXTURE_GUARD - 3] = 0;
    says(&f, "3 elements before C", "also before C");
    Damage last_tile = {128, 2, 0};
    compute(&f, ORDER_FORWARD, last_tile);
    says(&f, "k 128..129, the last: missing", "it names a k-tile left out");
    free_fixture(&f);

    f = new_fixture(24, 24, 96, DATA_NORMAL);
    for (int row = 0; row < 24; row++) {
        for (int column = 0; column < 24; column++) {
            *element(&f, row, column) = f.result[column * 24 + row];
        }
    }
    says(&f, "transposed", "it recognises a transposed result");
    free_fixture(&f);
}

static void tolerance_is_the_documented_one(void) {
    ok(accumulation_eps(1) == 0x1p-23, "eps(1) is one rounding");
    ok(accumulation_eps(16) == 16 * 0x1p-23, "eps(16) is 16");
    ok(accumulation_eps(64) == 48 * 0x1p-23, "eps(64) is 16 + 4 sqrt(64)");
    ok(accumulation_eps(16384) == 528 * 0x1p-23, "eps(16384) is 16 + 4 sqrt(16384)");
    Fixture f = new_fixture(8, 8, 8192, DATA_NORMAL);
    double allowed = f.view.eps * f.magnitude[0];
    if (!ok(allowed > 0.15 && allowed < 0.35, "K = 8192, normal data: accumulation may be off by about 0.24")) {
        diag("it may be off by %g", allowed);
    }
    f.view.exact = 1;
    ok(allowed_error(&f.view, 100, 1e9) == 0, "exact data: by nothing");
    free_fixture(&f);
}

int main(void) {
    accepts_right_results();
    for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
        sees_every_element(data);
        rejects_unusable_values(data);
    }
    rejects_one_step(1);
    rejects_one_step(63);
    rejects_one_step(2000);
    zero_has_two_signs();
    for (int times = 0; times <= 2; times += 2) {
        rejects_lost_steps(12, 13, 192, 16, times, 90);
        rejects_lost_steps(12, 13, 192, 64, times, 90);
        rejects_lost_steps(12, 12, 1024, 16, times, 85);
        rejects_lost_steps(12, 12, 8192, 16, times, 75);
        rejects_lost_steps(12, 12, 8192, 64, times, 85);
    }
    fingerprint_is_of_all_bits();
    names_the_cause();
    tolerance_is_the_documented_one();
    return tap_done();
}
