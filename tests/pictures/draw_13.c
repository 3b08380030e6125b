/* draw_13.c - where a thread's scores lie in D, and where operand A wants its weights; two consumers' turns, and what
 * the overlap within a consumer leaves room for. */
#include "picture.h"

#include <stdio.h>

#include "../../beyond/11_w4a8/pack.h"
#include "harness/data.h"
#include "model/data/matrix.h"

static const char source[] = "beyond/13_attention/13_attention.cu";

enum { THREAD = 5, BLOCK = 16, WIDE = 32 }; /* the thread that is shown; rows of warp 0; columns of the wider blocks */

/* Element i of a thread: its place, and the register that it is in. */
typedef struct {
    int row, column, reg;
} Held;

/* Sums of D, two to a register when they are packed as bf16. */
static Held held_in_d(int thread, int i) {
    return (Held){wgmma_accumulator_row(thread, i), wgmma_accumulator_column(thread, i), i / 2};
}

/* Operand A of a k16 step, from what the model makes of a warp's registers. */
static Held held_in_a(int thread, int i) {
    uint32_t registers[WARP_SIZE][4];
    const uint32_t *a[WARP_SIZE];
    float out[BLOCK * BLOCK];
    for (int t = 0; t < WARP_SIZE; t++) {
        a[t] = registers[t];
        for (int reg = 0; reg < 4; reg++) { /* numbers below 256 are exact */
            registers[t][reg] = (uint32_t)round_to_bf16(8 * t + 2 * reg) | (uint32_t)round_to_bf16(8 * t + 2 * reg + 1)
                                                                               << 16;
        }
    }
    matrix_fragment(MATRIX_BF16, out, BLOCK, a);
    int at = 0;
    while (out[at] != (float)(8 * thread + i)) {
        at++;
    }
    return (Held){at % BLOCK, at / BLOCK, i / 2};
}

static Held held_in_a_e4m3(int thread, int i) {
    return (Held){fragment_row(thread, i / 4), fragment_k(thread, i / 4, i % 4), i / 4};
}

/* Strong colours: THREAD's, with its registers' numbers. */
static void draw_block(int x, int y, int columns, int cell, Held (*held)(int, int), const char *name) {
    uint8_t colours[BLOCK * WIDE];
    for (int i = 0; i < WARP_SIZE * columns / 2; i++) {
        Held h = held(i % WARP_SIZE, i / WARP_SIZE);
        colours[h.row * columns + h.column] = (uint8_t)(h.reg % 4 + (i % WARP_SIZE == THREAD ? 4 : 0));
    }
    cells(colours, BLOCK, columns, x, y, cell, cell);
    for (int i = 0; i < columns / 2; i++) {
        Held h = held(THREAD, i);
        text("t x c", x + h.column * cell + cell / 2, y + (h.row + 1) * cell - 3, "%d", h.reg);
    }
    for (int column = 0; column < columns; column += 8) {
        text("m x", x + column * cell, y - 4, "%s %d", name, column);
    }
    text("m x e", x - 4, y + cell - 3, "row 0");
    text("m x e", x - 4, y + 9 * cell - 3, "row 8");
}

/* "2 3 10 11": the columns that THREAD holds of its first row. */
static const char *columns_of(Held (*held)(int, int), int count, char *words, size_t size) {
    int length = 0;
    for (int i = 0; i < count; i++) {
        Held h = held(THREAD, i);
        if (h.row == THREAD / 4) {
            length += snprintf(words + length, size - (size_t)length, "%s%d", length ? " " : "", h.column);
        }
    }
    return words;
}

PICTURE(chain) {
    enum { CELL = 13, LEFT = 64, RIGHT = 530, FIRST = 74, SECOND = 366 };
    char in_d[64], in_a[64];
    for (int i = 0; i < WARP_SIZE * 8; i++) {
        Held d = held_in_d(i / 8, i % 8), a = held_in_a(i / 8, i % 8);
        need(d.row == a.row && d.column == a.column, "D and A of bf16 differ in thread %d", i / 8);
    }
    must_contain(source, "weights[i] = pack_bf16x2(score[2 * i], score[2 * i + 1]);");
    begin("beyond/13_attention/chain.svg", 600, "D of the first product as A of the second");
    text("t", MARGIN, 26, "A warp's 16 rows. Strong colours: thread %d, with the numbers of its registers.", THREAD);
    text("t h", LEFT, FIRST - 20, "D of S = Q Kᵀ: 16 of its columns");
    draw_block(LEFT, FIRST, BLOCK, CELL, held_in_d, "key");
    text("t h", RIGHT, FIRST - 20, "A of O = P V: a k16 step, bf16");
    draw_block(RIGHT, FIRST, BLOCK, CELL, held_in_a, "key");
    arrow("lead", LEFT + BLOCK * CELL + 20, FIRST + 104, RIGHT - 44, FIRST + 104);
    paragraph("t s", LEFT + BLOCK * CELL + 24, FIRST + 76, 16, "two neighbours, packed,\nare a register of A");
    text("t s", LEFT + BLOCK * CELL + 24, FIRST + 124, "nothing leaves its thread");
    text("t h", LEFT, SECOND - 20, "D of S: 32 of its columns");
    draw_block(LEFT, SECOND, WIDE, CELL, held_in_d, "key");
    text("t h", RIGHT, SECOND - 20, "A of a k32 step, e4m3: four to a register");
    draw_block(RIGHT, SECOND, WIDE, CELL, held_in_a_e4m3, "key");
    text("t s", LEFT, 594, "thread %d has keys %s of row %d", THREAD, columns_of(held_in_d, BLOCK, in_d, sizeof in_d),
         THREAD / 4);
    text("t s", RIGHT, 594, "and would need keys %s", columns_of(held_in_a_e4m3, BLOCK, in_a, sizeof in_a));
    end();
}

/* ---- turns ---- */

/* In units of 128 clocks of an SM, for a step of 64 queries, 128 keys and heads of 128, by arithmetic: a product; the
 * exponentials, 16 a clock; and about half as long again for maximum, scaling, sum and conversion. */
enum { PRODUCT = 4, SOFTMAX = 4 + 2, DRAWN = 4, CONSUMERS = 2, PAIR = 2 * PRODUCT };

typedef struct {
    const char *name, *remark;
    int consumers, overlap; /* the softmax waits for the scores alone, and not for the output of the step before, too */
} Course;

typedef struct {
    int issue[DRAWN][CONSUMERS], begin[DRAWN][CONSUMERS]; /* of the scores; behind them the output of the step before */
    int softmax[DRAWN][CONSUMERS];
} Times;

static int later(int a, int b) { return a > b ? a : b; }
static int products_of(int step) { return step == 0 ? PRODUCT : PAIR; }

static Times run(const Course *course, int softmax) {
    Times t;
    int tensor = 0, turn = 0, free[CONSUMERS] = {0, 0};
    for (int step = 0; step < DRAWN; step++) {
        for (int c = 0; c < course->consumers; c++) {
            turn = t.issue[step][c] = later(turn, free[c]);
            t.begin[step][c] = later(tensor, turn);
            tensor = t.begin[step][c] + products_of(step);
            t.softmax[step][c] = course->overlap ? t.begin[step][c] + PRODUCT : tensor;
            free[c] = later(t.softmax[step][c] + softmax, tensor);
        }
    }
    return t;
}

/* From a consumer's step to its next one. */
static int period(const Course *course, int softmax) {
    Times t = run(course, softmax);
    return t.begin[DRAWN - 1][0] - t.begin[DRAWN - 2][0];
}

static Times draw_course(const Course *course, int left, int y, int scale) {
    enum { HIGH = 20, LANE = 26 };
    Times t = run(course, SOFTMAX);
    int least = course->consumers * PAIR, each = period(course, SOFTMAX), room = 0;
    while (period(course, SOFTMAX + room + 1) == least) {
        room++;
    }
    text("t h", MARGIN, y - 8, "%s", course->name);
    text("m s", left + 150, y - 8, "%s", course->remark);
    text("t s", WIDTH - 280, y - 8,
         each > least ? "tensor cores at work: %d %%" : "at work: %d %%; room for %d units more", 100 * least / each,
         room);
    text("m s e", left - 6, y + 14, "tensor cores");
    for (int c = 0; c < course->consumers; c++) {
        int top = y + (c + 1) * LANE;
        text("m s e", left - 6, top + 14, "consumer %d", c);
        for (int step = 0; step < DRAWN; step++) {
            int begin = left + t.begin[step][c] * scale, issue = left + t.issue[step][c] * scale;
            int softmax = left + t.softmax[step][c] * scale;
            cell(hue(c), begin, y, PRODUCT * scale, HIGH, "t s c", 14, "%d: S%d", c, step);
            if (step > 0) {
                cell(hue(c + 4), begin + PRODUCT * scale, y, PRODUCT * scale, HIGH, "t s c", 14, "%d: O%d", c,
                     step - 1);
            }
            box("wait", issue, top, softmax - issue, HIGH);
            cell("frag", softmax, top, SOFTMAX * scale, HIGH, "t s c", 14, "softmax %d", step);
        }
    }
    return t;
}

PICTURE(turns) {
    enum { LEFT = 120, SCALE = 13, ONE = 92, TWO = 180, BOTH = 294, OWNED = BOTH + 112 };
    static const Course courses[] = {
        {"In a row", "one consumer: while it computes, nobody multiplies", 1, 0},
        {"Turns", "each softmax lies under the other's products", CONSUMERS, 0},
        {"Turns, and overlap", "... and under its own: it waits for its scores alone", CONSUMERS, 1},
    };
    must_contain(source, "wgmma_wait_group(1);");
    must_contain(source, "named_barrier_sync(turn, 2 * 128);");
    begin("beyond/13_attention/turns.svg", 520, "Two consumers take turns, and each computes under its own products");
    paragraph("t", MARGIN, 24, 18,
              "0: S2: consumer 0's scores of step 2. 0: O1: its output of step 1, issued behind them. Dashed: it waits "
              "for its "
              "products.\nTimes by arithmetic, for heads of 128; a unit is 128 clocks.");
    draw_course(&courses[0], LEFT, ONE, SCALE);
    Times turns = draw_course(&courses[1], LEFT, TWO, SCALE), t = draw_course(&courses[2], LEFT, BOTH, SCALE);
    need(period(&courses[0], SOFTMAX) > PAIR && period(&courses[1], SOFTMAX) == 2 * PAIR, "turns do not close the gap");
    need(turns.softmax[1][0] > t.softmax[1][0], "the overlap starts no softmax earlier");
    text("t h", MARGIN, OWNED - 8, "Consumer 0's registers");
    static const char *const owned[] = {"scores", "weights, O"};
    for (int i = 0; i < 2; i++) {
        text("m s e", LEFT - 6, OWNED + 14 + i * 26, "%s", owned[i]);
    }
    for (int step = 0; step < DRAWN; step++) {
        int issue = LEFT + t.issue[step][0] * SCALE, softmax = LEFT + t.softmax[step][0] * SCALE;
        int both = LEFT + later(t.softmax[step][0] + SOFTMAX, t.begin[step][0] + PAIR) * SCALE;
        cell("math", issue, OWNED, softmax - issue, 20, "t s c", 14, "products'");
        cell("frag", softmax, OWNED, both - softmax, 20, "t s c", 14, "the threads'");
        line(softmax, BOTH + 24, softmax, OWNED + 56);
        text("t x", softmax + 2, OWNED + 64, "wait_group(%d)", step > 0);
        if (step > 0) {
            cell("math", issue, OWNED + 26, LEFT + (t.begin[step][0] + PAIR) * SCALE - issue, 20, "t s c", 14,
                 "products'");
            line(both, OWNED - 4, both, OWNED + 70);
            text("t x", both + 2, OWNED + 78, "wait_group(0)");
        }
    }
    text("t s", MARGIN, 508,
         "After wait_group(1) the scores are the threads'; weights and O are still read and written by the products, "
         "until "
         "wait_group(0).");
    end();
}
