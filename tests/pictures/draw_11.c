/* draw_11.c - where a thread's weights lie in a packed block, from pack.h; and two sets of registers, one converted
 * into while products read the other. */
#include "picture.h"

#include "../../beyond/11_w4a8/pack.h"

static const char source[] = "beyond/11_w4a8/11_w4a8.cu";

enum { THREAD = 5 }; /* the one that is shown */

static void draw_fragment(int x, int y, int cell) {
    enum { ROWS = 16, COLUMNS = 32 }; /* of warp 0, of step 0 */
    uint8_t colours[ROWS * COLUMNS];
    for (int thread = 0; thread < 32; thread++) {
        for (int i = 0; i < 16; i++) {
            int at = fragment_row(thread, i / 4) * COLUMNS + fragment_k(thread, i / 4, i % 4);
            colours[at] = (uint8_t)(i / 4 + (thread == THREAD ? 4 : 0));
        }
    }
    cells(colours, ROWS, COLUMNS, x, y, cell, cell);
    for (int k = 0; k < COLUMNS; k += 4) {
        text("m x", x + k * cell, y - 4, "k %d", k);
    }
    for (int row = 0; row < ROWS; row += 8) {
        text("m x e", x - 4, y + row * cell + 10, "row %d", row);
    }
    for (int reg = 0; reg < 4; reg++) {
        int row = fragment_row(THREAD, reg), k = fragment_k(THREAD, reg, 0);
        line(x + k * cell, y + row * cell, x + (k + 4) * cell, y + row * cell);
        line(x + k * cell, y + (row + 1) * cell, x + (k + 4) * cell, y + (row + 1) * cell);
        text("t s", x + (k + 4) * cell + 4, y + row * cell + 11, "register %d", reg);
    }
}

/* The 16 bytes of a half of the block, two boxes a byte: the weights of an odd and an even register. */
static void draw_bytes(int x, int y, int width) {
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 16; i++) {
            int reg = i / 4, byte = i % 4;
            int at = packed_word(THREAD, step, reg / 2 * 2) - packed_word(THREAD, 0, 0) + byte;
            int left = x + at * width, top = y + (1 - reg % 2) * 24;
            cell(hue(reg + 4), left, top, width, 24, "t s c", 16, "%d,%d", fragment_row(THREAD, reg),
                 step * 32 + fragment_k(THREAD, reg, byte));
        }
    }
    for (int word = 0; word < 4; word++) {
        line(x + word * 4 * width, y - 6, x + word * 4 * width, y + 54);
        text("m s", x + word * 4 * width + 4, y - 6, "word %d: step %d, registers %d and %d", word, word / 2,
             word % 2 * 2, word % 2 * 2 + 1);
    }
    paragraph("m s e", x - 6, y + 16, 24, "odd\neven");
}

static void draw_block(int x, int y, int wide) {
    int weights = wide * WEIGHT_BYTES / BLOCK_BYTES;
    for (int half = 0; half < 2; half++) {
        cell("n", x + half * weights / 2, y, weights / 2, 26, "t s c", 17, "steps %d and %d: %d threads x 16 bytes",
             half * 2, half * 2 + 1, WEIGHT_BYTES / 2 / 16);
        box("hot", x + weights * packed_word(THREAD, half * 2, 0) / WEIGHT_BYTES, y, 4, 26);
    }
    box("epi", x + weights, y, wide - weights, 26);
    text("m s", x, y + 42, "byte 0");
    text("m s e", x + weights / 2 - 4, y + 42, "%d", WEIGHT_BYTES / 2);
    text("m s e", x + wide, y + 42, "from byte %d: %d scales, bf16; of each thread's two rows side by side",
         WEIGHT_BYTES, BLOCK_ROWS);
}

/* A byte of a word from bit 7 to bit 0, each bit with what it is. */
static void draw_bits(int x, int y, int width) {
    static const char *const names[8] = {"2⁰", "2¹", "2²", "sign", "2⁰", "2¹", "2²", "sign"}; /* from bit 0 */
    for (int bit = 7; bit >= 0; bit--) {
        int left = x + (7 - bit) * width,
            odd = (encode(-7, 1, 1) >> 8 & 1u << bit) != 0 || (encode(-7, 1, 0) >> 8 & 1u << bit) != 0;
        int even = (encode(-7, 0, 1) >> 8 & 1u << bit) != 0;
        need(odd != even, "bit %d of a packed byte belongs to none or to two", bit);
        cell(hue(odd ? 5 : 4), left, y, width, 22, "t s c", 15, "%s", names[bit]);
        text("m x c", left + width / 2, y + 34, odd ? "odd" : "even");
    }
    text("t s", x + 8 * width + 8, y + 15, "bits 7 to 0 of each");
}

static void draw_decoded(int x, int y) {
    static const int weights[] = {5, -3, -7};
    for (int i = 0; i < 3; i++) {
        uint32_t code = decode(encode(weights[i], 1, 0), 1) & 0xff;
        text("t s", x, y + i * 16, "%2d  →  byte 0x%02x, in e4m3 %d · 2⁻⁹", weights[i], code,
             (code & 0x80 ? -1 : 1) * (int)(code & 0x7f));
    }
}

PICTURE(packed) {
    enum { X = 74, GRID = 74, CELL = 15, BYTES = 392, BLOCK = 494 };
    begin("beyond/11_w4a8/packed.svg", 556, "A thread's weights in operand A, and in the packed block");
    text("t", MARGIN, 26,
         "Operand A in registers, of warp 0, for the product of step 0: %d of the block's %d rows, %d of its %d k. "
         "Strong colours: thread %d.",
         16, BLOCK_ROWS, BK / STEPS, BK, THREAD);
    draw_fragment(X, GRID, CELL);
    int right = X + 32 * CELL + 28;
    text("t s", right, GRID + 12, "A thread has two rows, 8 apart, and two runs of 4 k, 16 apart:");
    text("t s", right, GRID + 28, "%d weights of a step. As rows of 4 bits lie in memory that would", 16);
    text("t s", right, GRID + 44, "be four loads of 2 bytes.");
    text("t s", right, GRID + 76, "So the host packs the block once. What thread %d needs for two", THREAD);
    text("t s", right, GRID + 92, "steps lies together below: one load of 16 bytes.");
    text("t s", right, GRID + 124, "A word has the weights of two registers, as magnitude and sign.");
    text("t s", right, GRID + 140, "The odd register's sign of a byte lies in the byte above:");
    draw_bits(right, GRID + 150, 30);
    paragraph("m s", right, GRID + 208, 16, "even = w &amp; 0x87878787\nodd  = rotate(w, 4) &amp; 0x87878787");
    draw_decoded(right, GRID + 244);
    must_contain("beyond/11_w4a8/pack.h", "word >> 4 | word << 28");
    must_contain("beyond/11_w4a8/pack.h", "& 0x87878787");
    text("t", MARGIN, BYTES - 32, "Thread %d's first 16 bytes: row,k of the two weights that share a byte", THREAD);
    draw_bytes(X, BYTES, 54);
    text("t", MARGIN, BLOCK - 14,
         "The packed block, %d bytes; a bulk copy brings %d, of k-tiles side by side. Framed: thread %d's", BLOCK_BYTES,
         constant(source, "PAIR"), THREAD);
    draw_block(X, BLOCK, WIDTH - X - MARGIN);
    end();
}

/* In units of time: the conversion of a k-tile, its products, and adding it to the sums. */
enum { TILES = 4, CONVERT = 4, PRODUCTS = 7, PROMOTE = 1, LEFT = 190, SCALE = 21 };

typedef struct {
    int convert[TILES], issue[TILES], start[TILES], done[TILES], promote[TILES];
} Course;

static int later(int a, int b) { return a > b ? a : b; }

/* A warpgroup's k-tiles, with one set of registers; with two, as a stage has two k-tiles: the second is converted under
 * the products of the first, the next stage's first under those of the second. */
static Course run(int sets, int waits) {
    Course c;
    int now = 0, tensor = 0;
    for (int i = 0; i < TILES; i++) {
        int second = sets == 2 && i % 2 == 1;
        if (i == 0 || sets == 1) {
            c.convert[i] = now;
            now += CONVERT;
        }
        c.issue[i] = now;
        c.start[i] = later(tensor, now);
        tensor = c.done[i] = c.start[i] + PRODUCTS;
        if (second) {
            c.promote[i - 1] = waits ? later(now, c.done[i - 1]) : now;
            now = c.promote[i - 1] + PROMOTE;
        }
        if (sets == 2 && i + 1 < TILES) {
            c.convert[i + 1] = now;
            now += CONVERT;
        }
        if (sets == 1 || second) {
            c.promote[i] = later(now, c.done[i]);
            now = c.promote[i] + PROMOTE;
        }
    }
    return c;
}

static void bar(const char *class, int y, int from, int to, const char *name, int i) {
    cell(class, LEFT + from * SCALE, y, (to - from) * SCALE, 22, "t s c", 15, name, i);
}

static void draw_course(const Course *c, int y, int tiles, int promoted) {
    paragraph("t s e", LEFT - 8, y + 15, 26, "threads\ntensor cores");
    for (int i = 0; i < tiles; i++) {
        bar("frag", y, c->convert[i], c->convert[i] + CONVERT, "convert %d", i);
        bar("math", y + 26, c->start[i], c->done[i], "products %d", i);
        if (i < promoted) {
            bar("epi", y, c->promote[i], c->promote[i] + PROMOTE, "+%d", i);
        }
    }
}

/* Of each set, above when it is written, below when products read it. */
static void draw_sets(const Course *c, int y, int tiles) {
    for (int set = 0; set < 2; set++) {
        int at = y + set * 46;
        text("m s e", LEFT - 8, at + 25, "registers a[%d]", set);
        for (int i = set; i < tiles; i += 2) {
            bar("frag", at, c->convert[i], c->convert[i] + CONVERT, "written: %d", i);
            bar("wait", at + 20, c->issue[i], c->done[i], "read by products %d", i);
        }
    }
}

PICTURE(pipeline) {
    enum { TWO = 84, ONE = 284, NONE = 380 };
    must_contain(source, "uint32_t a[PAIR][STEPS][4];");
    must_contain(source, "wgmma_wait_group(1);");
    must_contain(source, "wgmma_wait_group(0);");
    Course two = run(2, 1), one = run(1, 1), none = run(2, 0);
    begin("beyond/11_w4a8/pipeline.svg", 548, "Conversion of a k-tile under the products of the one before");
    lead("One warpgroup, its first k-tiles. Products are issued where a conversion ends, and run when the tensor cores "
         "come to them.\n"
         "+0: the sums of k-tile 0, times their scales, are added to those in fp32. Behind +1 another warpgroup's "
         "products fill the gap.");
    text("t h", MARGIN, TWO - 10, "Two sets of registers");
    draw_course(&two, TWO, TILES, TILES);
    draw_sets(&two, TWO + 60, TILES);
    for (int i = 0; i < TILES; i++) {
        int x = LEFT + two.promote[i] * SCALE;
        line(x, TWO - 6, x, TWO + 52);
        text("m x", x + 3, TWO - 2, "wait_group(%d)", 1 - i % 2);
    }
    text("t h", MARGIN, ONE - 10, "One set: the tensor cores wait for each conversion");
    draw_course(&one, ONE, 3, 2);
    text("t h", MARGIN, NONE - 10,
         "Two sets, wgmma_wait_group(1) left out: k-tile 2 is converted over what products 0 still read");
    draw_course(&none, NONE, 3, 1);
    int over = none.done[0] < none.convert[2] + CONVERT ? none.done[0] : none.convert[2] + CONVERT;
    need(over > none.convert[2] && two.convert[2] >= two.done[0] && one.start[1] != one.done[0],
         "the three pipelines of 11_w4a8 do not show what they are for");
    box("hot", LEFT + none.convert[2] * SCALE, NONE + 56, (over - none.convert[2]) * SCALE, 50);
    draw_sets(&none, NONE + 60, 3);
    text("t s", LEFT + (none.convert[2] + CONVERT) * SCALE + 60, NONE + 76,
         "Framed: the products get weights of both k-tiles.");
    end();
}
