/* Does the check accept every right result and nothing else? On problems in plain memory, whose guards end 40 elements
 * from C. */
#include "host_backend.h"

#include <fenv.h>

#include "tap.h"

enum { GUARD = 40 };

static Problem p;
static bf16 *block; /* of C, with its guards */
static bf16 *right; /* the same with the right result, computed in plain order */

/* Steps of k that a broken kernel leaves out (times 0) or counts twice (times 2); count 0: none. */
typedef struct {
    int begin, count, times;
} Damage;

static const Damage NO_DAMAGE = {0, 0, 1};

/* C in fp32, rounded to bf16: each element as a sum of sums over `step` of k, as tensor cores do it. */
static void compute(int step, Damage damage) {
    const Gemm *g = &p.gemm;
    problem_poison(&p);
    for (int row = 0; row < g->m; row++) {
        for (int column = 0; column < g->n; column++) {
            volatile float sum = 0, part = 0; /* volatile: fp32 after every addition, in this order */
            for (int k = 0; k < g->k; k++) {
                float product = bf16_value(g->a[row * g->lda + k]) * bf16_value(g->b[column * g->ldb + k]);
                part += k >= damage.begin && k < damage.begin + damage.count ? product * (float)damage.times : product;
                if ((k + 1) % step == 0 || k + 1 == g->k) {
                    sum += part;
                    part = 0;
                }
            }
            g->c[row * g->ldc + column] = round_to_bf16((double)sum);
        }
    }
}

static size_t block_bytes(void) { return block_elements(&p.view) * sizeof *block; }
static void put_right_result(void) { memcpy(block, right, block_bytes()); }
static bf16 *element(int row, int column) { return &p.gemm.c[row * p.gemm.ldc + column]; }

static Tally look(void) {
    Tally tally;
    check_block(&p.view, 0, &tally);
    return tally;
}

static void open_case(int m, int n, int k, DataKind data) {
    open_problem(&p, (Shape){m, n, k, 8, KIND_BF16, 1, {0}}, 1, data);
    block = (bf16 *)p.block.data + p.view.guard - GUARD;
    p.view.block = block;
    p.view.guard = GUARD;
    compute(k, NO_DAMAGE);
    right = malloc(block_bytes());
    memcpy(right, block, block_bytes());
}

static void close_case(void) {
    free(right);
    problem_close(&p);
}

static void accepts_right_results(void) {
    static const int sizes[][3] = {{1, 1, 1},    {7, 13, 1},    {1, 1, 8192},   {64, 64, 64},
                                   {33, 17, 65}, {19, 23, 555}, {16, 24, 4097}, {8, 8, 16384}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
            open_case(sizes[i][0], sizes[i][1], sizes[i][2], data);
            static const char *const names[] = {"forward", "in steps of 16", "in steps of 16 that truncate"};
            for (int way = 0; way < 3; way++) {
                /* The last rounding, to bf16, is not the fp32 mode's: round_to_bf16() works on integers. */
                fesetround(way == 2 ? FE_TOWARDZERO : FE_TONEAREST);
                compute(way == 0 ? p.gemm.k : 16, NO_DAMAGE);
                fesetround(FE_TONEAREST);
                Tally tally = look();
                if (!ok(tally_is_right(&tally), "%d x %d x %d, %s: accepts sums built %s", p.gemm.m, p.gemm.n, p.gemm.k,
                        data_names[data], names[way])) {
                    diag("%llu wrong, worst %g of the allowed error", (unsigned long long)tally.wrong, tally.worst);
                }
            }
            close_case();
        }
    }
}

/* Every element of C and every guard, one at a time: each is looked at, and found where it is. */
static void sees_every_element(DataKind data) {
    open_case(5, 11, 40, data);
    int row_end = 0, missed = 0, wrong_place = 0, guards_missed = 0;
    for (size_t i = 0; i < block_elements(&p.view); i++) {
        put_right_result();
        block[i] = 0x7fc0; /* a NaN that is no pattern of the harness */
        Tally tally = look();
        long offset = (long)i - GUARD;
        int row = (int)(offset / p.gemm.ldc), column = (int)(offset % p.gemm.ldc);
        if (offset < 0) {
            guards_missed += tally.guard_before != 1 || tally.guard_rows || tally.guard_after || tally.wrong;
        } else if (row >= p.gemm.m) {
            guards_missed += tally.guard_after != 1 || tally.guard_before || tally.guard_rows || tally.wrong;
        } else if (column >= p.gemm.n) {
            guards_missed += tally.guard_rows != 1 || tally.guard_before || tally.guard_after || tally.wrong;
            row_end++;
        } else {
            missed += tally.wrong != 1 || tally.nan != 1 || tally.unwritten != 0;
            wrong_place += tally.first != (uint64_t)(row * p.gemm.n + column) || tally.row_min != row ||
                           tally.row_max != row || tally.column_min != column || tally.column_max != column;
            continue;
        }
        guards_missed += tally.guard_first != i || tally_is_right(&tally);
    }
    ok(missed == 0, "%s: one NaN is seen wherever it is", data_names[data]);
    ok(wrong_place == 0, "%s: and its place is told", data_names[data]);
    ok(guards_missed == 0, "%s: one write outside C is seen wherever it is", data_names[data]);
    is_int(row_end, 5 * (p.gemm.ldc - 11), "which includes what lies behind the rows");
    close_case();
}

static void rejects_unusable_values(DataKind data) {
    static const struct {
        bf16 bits;
        const char *name;
    } values[] = {{0x7fc0, "NaN"},          {0xffc0, "negative NaN"}, {0x7f80, "infinity"},
                  {0xff80, "-infinity"},    {0x7f7f, "3.4e38"},       {BF16_GUARD, "a guard's pattern"},
                  {BF16_PADDING, "padding"}};
    open_case(9, 10, 100, data);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        put_right_result();
        *element(4, 7) = values[i].bits;
        Tally tally = look();
        ok(!tally_is_right(&tally) && tally.wrong == 1, "%s: rejects %s", data_names[data], values[i].name);
    }
    put_right_result();
    *element(8, 9) = BF16_UNWRITTEN;
    Tally tally = look();
    ok(!tally_is_right(&tally) && tally.unwritten == 1 && tally.nan == 0, "%s: rejects an element never written",
       data_names[data]);
    problem_poison(&p);
    tally = look();
    is_int((long long)tally.unwritten, 90, "and a result never written");
    put_right_result();
    tally = look();
    tally.workspace_left = 1;
    ok(!tally_is_right(&tally), "%s: rejects a workspace that is not left zero", data_names[data]);
    close_case();
}

/* Integer data: the bits count. Every element, one bf16 step up and one down. */
static void rejects_one_step(int k) {
    open_case(12, 10, k, DATA_INTEGERS);
    int accepted = 0, zeros = 0;
    for (int row = 0; row < p.gemm.m; row++) {
        for (int column = 0; column < p.gemm.n; column++) {
            for (int step = -1; step <= 1; step += 2) {
                put_right_result();
                bf16 *bits = element(row, column);
                if (bf16_value(*bits) == 0) {
                    zeros++;
                    *bits = 0x8000;
                    accepted += (int)look().wrong;      /* -0 is as right as 0 */
                    *bits = step > 0 ? 0x0001 : 0x8001; /* the smallest numbers next to zero */
                } else {
                    *bits = (bf16)(*bits + step);
                }
                Tally tally = look();
                accepted += tally.wrong != 1 || tally.nan != 0;
            }
        }
    }
    if (!ok(accepted == 0, "K = %d, integers: no element may be off by one bf16 step (%d of them zero)", k,
            zeros / 2)) {
        diag("%d of %d passed", accepted, 2 * 12 * 10);
    }
    close_case();
}

/* Share of the elements that must be wrong when `count` steps of k are lost, in per cent, for normal data: about twice
 * the tolerance of that K divides what is caught from what is not. Integers: everything that the lost steps change. */
static void rejects_lost_steps(int m, int n, int k, int count, int times, int least_percent) {
    for (DataKind data = DATA_INTEGERS; data <= DATA_NORMAL; data++) {
        open_case(m, n, k, data);
        int least = 100, always = 1, named = 1;
        for (int begin = 0; begin<k; begin += k> 1024 ? k / 4 / count * count : count) {
            Damage damage = {begin, count, times};
            compute(k, damage);
            Tally tally = look();
            int percent = (int)(100 * tally.wrong / ((uint64_t)m * n));
            least = min_int(least, percent);
            always &= !tally_is_right(&tally);

            char range[64];
            snprintf(range, sizeof range, "k %d..%d", begin, min_int(begin + count, k) - 1);
            named &= says(&p, range) && says(&p, times == 2 ? "counted twice?" : "missing?");
        }
        int need = data == DATA_INTEGERS ? 60 : least_percent;
        if (!ok(always && least >= need, "%d x %d x %d, %s: rejects %d steps of k %s, in %d %% of the elements or more",
                m, n, k, data_names[data], count, times ? "counted twice" : "left out", need)) {
            diag("at least %d %% were wrong", least);
        }
        ok(named, "and names them");
        close_case();
    }
}

static void fingerprint_is_of_all_bits(void) {
    open_case(6, 7, 32, DATA_NORMAL);
    put_right_result();
    uint64_t right = look().fingerprint;
    int same = 0;
    for (int row = 0; row < 6; row++) {
        for (int column = 0; column < 7; column++) {
            for (int bit = 0; bit < 16; bit++) {
                *element(row, column) ^= (bf16)(1 << bit);
                same += look().fingerprint == right;
                *element(row, column) ^= (bf16)(1 << bit);
            }
        }
    }
    is_int(same, 0, "the fingerprint depends on every bit of C");
    close_case();
}

static void names_the_cause(void) {
    open_case(140, 150, 130, DATA_INTEGERS);
    put_right_result();
    *element(130, 140) = 0x7fc0;
    ok(says(&p, "1 of 21000 elements"), "the report counts the wrong elements");
    ok(says(&p, "       130        140 "), "it names row and column");
    ok(says(&p, "within one 128 x 128 tile"), "it says that all lie in one tile");
    ok(says(&p, "NaN"), "it tells NaN");
    problem_poison(&p);
    ok(says(&p, "21000 were never written"), "it tells elements never written");
    put_right_result();
    *element(139, 150) = 0;
    ok(says(&p, "1 elements outside C were overwritten: 0 before it, 1 behind its rows, 0 after it"),
       "it counts the guards");
    ok(says(&p, "row 139, column 150 would be"), "and says where");
    put_right_result();
    block[GUARD - 3] = 0;
    ok(says(&p, "3 elements before C"), "also before C");
    Damage last_tile = {128, 2, 0};
    compute(p.gemm.k, last_tile);
    ok(says(&p, "k 128..129, the last: missing"), "it names a k-tile left out");
    close_case();

    open_case(24, 24, 96, DATA_NORMAL);
    for (int row = 0; row < 24; row++) {
        for (int column = 0; column < 24; column++) {
            *element(row, column) = right[GUARD + column * p.gemm.ldc + row];
        }
    }
    ok(says(&p, "transposed"), "it recognises a transposed result");
    close_case();
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
    for (int times = 0; times <= 2; times += 2) {
        rejects_lost_steps(12, 13, 192, 16, times, 90);
        rejects_lost_steps(12, 13, 192, 64, times, 90);
        rejects_lost_steps(12, 12, 1024, 16, times, 85);
        rejects_lost_steps(12, 12, 8192, 16, times, 75);
        rejects_lost_steps(12, 12, 8192, 64, times, 85);
    }
    fingerprint_is_of_all_bits();
    names_the_cause();
    return tap_done();
}
