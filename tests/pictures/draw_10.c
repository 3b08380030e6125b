/* draw_10.c - the two levels of a sum, and how two consumers promote in turn; from the chapter's numbers. */
#include "picture.h"

static const char source[] = "beyond/10_fp8/10_fp8.cu";

/* ---- one k-tile: from operands to sums ---- */

PICTURE(levels) {
    enum { TOP = 70, CELL = 26, STEP = 236, WIDE = 196, ROW = 148, HIGH = 52 };
    int bk = 128, steps = bk / 32;
    must_contain(source, "enum { BK = SCALE_K };");
    must_contain(source, "STEPS = BK / 32,");
    must_contain(source, "sum[j / 2 + i] += scale_a[i / 2] * b * part[j / 2 + i];");
    begin("beyond/10_fp8/levels.svg", 330, "A sum on two levels: 128 steps of k in the tensor cores, the rest in fp32");
    text("t", MARGIN, 26,
         "One element of C. k runs to the right, in k-tiles of %d; each has a scale of A's row and one of B's block.",
         bk);
    for (int tile = 0; tile < 4; tile++) {
        int x = MARGIN + tile * STEP;
        text("t s", x, TOP - 12, tile < 3 ? "k-tile %d" : "and so on", tile);
        for (int step = 0; step < steps; step++) {
            cell(hue(tile), x + step * (WIDE / 4), TOP, WIDE / 4, CELL, "t x c", 17, "32 k");
        }
        text("m s", x, TOP + 44, "%d wgmmas", steps);
        arrow("async", x + WIDE / 2, TOP + 52, x + WIDE / 2, ROW);
        cell("math", x, ROW, WIDE, HIGH, "t h s c", 20, "part");
        text("t s c", x + WIDE / 2, ROW + 38, "begins anew, about 14 bits");
        arrow("generic", x + WIDE / 2, ROW + HIGH, x + WIDE / 2, ROW + 2 * HIGH + 10);
        text("t s", x + WIDE / 2 + 8, ROW + HIGH + 34, "x two scales");
    }
    int y = ROW + 2 * HIGH + 10;
    box("frag", MARGIN, y, 3 * STEP + WIDE, 36);
    text("t h s", MARGIN + 12, y + 22, "sum");
    text("t s", MARGIN + 52, y + 22,
         "fp32, 24 bits, in registers of its own: one multiplication and one addition for each element and k-tile");
    text("m s", MARGIN, y + 58, "Solid: the tensor cores. Dashed: ordinary instructions of the consumer.");
    end();
}

/* ---- time: who multiplies, who promotes ---- */

/* In cycles: four products of n columns and k32 take n / 2 each; an addition takes each of a warp's 64 x n / 128
 * elements a cycle, and finding the next stage, waiting and asking some more. */
enum { CONSUMERS = 2, AROUND = 70 };

PICTURE(turns) {
    enum { LEFT = 130, LANE = 46, TOP = 84, BAR = 30, ROUNDS = 3, PIXELS = 820 };
    int columns = 128, math = 4 * columns / 2, promotion = columns / 2 + AROUND;
    need(constant(source, "CONSUMERS") == CONSUMERS && promotion <= math,
         "turns.svg is drawn for two consumers whose promotion is shorter than the other's math");
    int total = (2 * ROUNDS + 1) * math;
    begin("beyond/10_fp8/promotion.svg", 274, "While one consumer promotes, the other one's products run");
    paragraph(
        "t", MARGIN, 26, 18,
        "64 x %d products of a consumer, 4 x k32: %d cycles of the tensor cores. Then %d additions a thread, and what "
        "surrounds them.\n"
        "The tensor cores serve one at a time: the other consumer's products fill the time in which this one adds.",
        columns, math, columns / 2);
    static const char *const lane[] = {"consumer 0", "consumer 1", "tensor cores"};
    for (int i = 0; i < 3; i++) {
        text("t h s e", LEFT - 10, TOP + i * LANE + 20, "%s", lane[i]);
    }
    for (int c = 0; c < CONSUMERS; c++) {
        for (int round = 0; round < ROUNDS; round++) {
            int from = (2 * round + c) * math, x = LEFT + from * PIXELS / total, w = math * PIXELS / total;
            cell("math", x, TOP + c * LANE, w, BAR, "t x c", 19, "products, part %d", round);
            int px = x + w, pw = promotion * PIXELS / total, ww = (math - promotion) * PIXELS / total;
            cell("epi", px, TOP + c * LANE, pw, BAR, "t x c", 19, "adds %d", round);
            if (round < ROUNDS - 1) {
                box("wait", px + pw, TOP + c * LANE, ww, BAR);
            }
            cell(hue(c * 2), x, TOP + 2 * LANE, w, BAR, "t x c", 19, "consumer %d", c);
        }
    }
    paragraph("m s", MARGIN, TOP + 3 * LANE + 14, 16,
              "Dashed: its next products are issued and wait for the other's. Were the additions longer than the "
              "other's products, the tensor cores would\n"
              "wait: that is why a wider product is better, and why nothing but additions should stand between a wait "
              "and the next products.");
    end();
}
