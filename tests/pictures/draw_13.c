/* draw_13.c - where a thread's scores lie in D, and where operand A wants its weights. */
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
