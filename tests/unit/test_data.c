/* Are the numbers in the matrices what data.h says: a function of seed, matrix and index, with the right distribution,
 * and rounded to bf16 correctly? */
#include "harness/kind.h"
#include "tap.h"

enum { COUNT = 1 << 20 };

static bf16 at(DataKind kind, uint64_t seed, OperandId id, int index) {
    DataSource source = {KIND_BF16, kind, seed, 1};
    return (bf16)element_bits(&source, id, TYPE_BF16, (uint64_t)index);
}

/* Elements in which two sequences agree. */
static int agreement(DataKind kind, uint64_t seed, OperandId id, uint64_t other_seed, OperandId other_id, int shift) {
    int same = 0;
    for (int i = 0; i < COUNT / 16; i++) {
        same += at(kind, seed, id, i) == at(kind, other_seed, other_id, i + shift);
    }
    return same;
}

static void depends_on_seed_matrix_and_index(DataKind kind, int chance) {
    const char *name = data_names[kind];
    ok(agreement(kind, 7, OPERAND_A, 7, OPERAND_A, 0) == COUNT / 16, "%s: same seed, same data", name);
    ok(agreement(kind, 7, OPERAND_A, 8, OPERAND_A, 0) < chance, "%s: another seed, other data", name);
    ok(agreement(kind, 7, OPERAND_A, 7, OPERAND_B, 0) < chance, "%s: A and B differ", name);
    /* mix64(2 * seed + matrix): B of one seed must not be A of the next. */
    ok(agreement(kind, 7, OPERAND_B, 8, OPERAND_A, 0) < chance, "%s: B and A of the next seed differ", name);
    for (int shift = 1; shift <= 3; shift++) {
        ok(agreement(kind, 7, OPERAND_A, 7, OPERAND_A, shift) < chance, "%s: shifted by %d, other data", name, shift);
    }
    ok(agreement(kind, 1, OPERAND_A, UINT64_MAX, OPERAND_A, 0) < chance, "%s: the largest seed works", name);
}

/* Mean 0, and these moments, each within five standard errors over a million numbers. */
static void has_moments(DataKind kind, double second, double fourth, double largest) {
    double sum = 0, squares = 0, fourths = 0, lagged = 0, before = 0, most = 0;
    int fractions = 0, nan = 0;
    for (int i = 0; i < COUNT; i++) {
        bf16 bits = at(kind, 1, OPERAND_B, i);
        double value = (double)bf16_value(bits);
        nan += bf16_is_nan(bits);
        fractions += value != rint(value);
        sum += value;
        squares += value * value;
        fourths += value * value * value * value;
        lagged += value * before;
        most = fmax(most, fabs(value));
        before = value;
    }
    const char *name = data_names[kind];
    const double error = 5 / sqrt(COUNT), spread = sqrt(fourth - second * second);
    ok(fabs(sum / COUNT) < error * sqrt(second), "%s: mean 0 (%.4f)", name, sum / COUNT);
    ok(fabs(squares / COUNT - second) < error * spread, "%s: variance %.4f (%.4f)", name, second, squares / COUNT);
    ok(fabs(fourths / COUNT - fourth) < 0.02 * fourth, "%s: fourth moment %.2f (%.3f)", name, fourth, fourths / COUNT);
    ok(fabs(lagged / COUNT) < error * second, "%s: neighbours are not correlated (%.4f)", name, lagged / COUNT);
    ok(nan == 0 && most <= largest, "%s: none beyond %g (%.2f)", name, largest, most);
    ok((fractions == 0) == (kind == DATA_INTEGERS), "%s: %d are no integers", name, fractions);
}

/* The generator must not change unnoticed: results in CSV files and recorded vectors depend on it. */
static void stays_what_it_was(void) {
    is_int(mix64(0x9e3779b97f4a7c15u), 0xe220a8397b1dcdaf, "mix64: the first output of splitmix64 with seed 0");
    is_int(mix64(0x3c6ef372fe94f82au), 0x6e789e6aa1b965f4, "mix64: the second");
}

static void rounds_to_nearest_even(void) {
    static const struct {
        double value;
        bf16 bits;
        const char *name;
    } cases[] = {
        {-0.0, 0x8000, "-0"},
        {1, 0x3f80, "1"},
        {1 + 0x1p-8, 0x3f80, "half a step above 1: to even, down"},
        {1 + 3 * 0x1p-8, 0x3f82, "one and a half steps above 1: to even, up"},
        {1 + 0x1p-8 + 0x1p-52, 0x3f81, "just above the half: up, although float would round it to the half"},
        {1 + 0x1p-8 - 0x1p-52, 0x3f80, "just below the half: down"},
        {2 - 0x1p-9, 0x4000, "up into the next power of two"},
        {0x1.fefffffp127, 0x7f7f, "just below half a step above it"},
        {0x1.ffp127, 0x7f80, "half a step above it: infinity"},
        {-1e300, 0xff80, "far below: -infinity"},
        {0x1p-134, 0x0000, "half of it: to even, zero"},
        {0x1.8p-133, 0x0002, "one and a half of it: to even, two"},
        {0x1p-126 - 0x1p-135, 0x0080, "up into the normal values"},
        {257, 0x4380, "257: between 256 and 258, to even"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_int(round_to_bf16(cases[i].value), cases[i].bits, cases[i].name);
    }
    ok(bf16_is_nan(round_to_bf16(NAN)), "NaN stays NaN");
    int changed = 0, nan = 0;
    for (unsigned bits = 0; bits < 65536; bits++) {
        if (bf16_is_nan((bf16)bits)) {
            nan++;
        } else {
            changed += round_to_bf16((double)bf16_value((bf16)bits)) != bits;
        }
    }
    is_int(changed, 0, "every bf16 value rounds to itself");
    is_int(nan, 2 * 127, "254 bit patterns are NaN");
}

int main(void) {
    depends_on_seed_matrix_and_index(DATA_INTEGERS, COUNT / 16 / 8);
    depends_on_seed_matrix_and_index(DATA_NORMAL, COUNT / 16 / 100);
    has_moments(DATA_INTEGERS, 60 / 9.0, 708 / 9.0, INTEGER_LIMIT); /* -4 to 4, each as often as the others */
    has_moments(DATA_NORMAL, 1, 2.9, 6);                            /* sums of uniform numbers: almost 3 */
    stays_what_it_was();
    rounds_to_nearest_even();
    return tap_done();
}
