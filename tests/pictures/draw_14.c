/* draw_14.c - tensor memory: whose accumulators lie where, which warp reaches which lanes, and the lanes of a row of
 * D. */
#include "picture.h"

#include "model/data/tcgen05.h"

static const char source[] = "beyond/14_tcgen05/14_tcgen05.cu";

/* Sixteen lanes side by side, for each sixteen rows of D. */
static void draw_lanes(int x, int y, int m) {
    enum { SIXTEEN = 92, HIGH = 26 };
    const Tcgen05Shape shape = {.m = m, .n = 16};
    text("t s e", x - 10, y + 17, "M = %d", m);
    for (int lane = 0; lane < TMEM_LANES; lane += 16) {
        cell("wait", x + lane / 16 * SIXTEEN, y, SIXTEEN - 4, HIGH, "m s c", 17, "free");
    }
    for (int row = 0; row < m; row += 16) {
        int lane = tcgen05_lane(&shape, row);
        need(tcgen05_lane(&shape, row + 15) == lane + 15, "16 rows of D lie in 16 lanes");
        cell(hue(lane / 32), x + lane / 16 * SIXTEEN, y, SIXTEEN - 4, HIGH, "t s c", 17, "rows %d-%d", row, row + 15);
    }
}

PICTURE(tensor_memory) {
    enum { LEFT = 120, TOP = 92, QUARTER = 54, WARPS_X = 700, BELOW = TOP + 4 * QUARTER, LANES_Y = BELOW + 128 };
    const int bn = constant(source, "BN"), accumulators = constant(source, "ACCUMULATORS");
    must_contain(source, "PRODUCER_WARP, MMA_WARP, EPILOGUE_WARP, EPILOGUE_WARPS = 4");
    must_contain(source, "first_row = warp % 4 * 32");
    need(bn * accumulators == TMEM_COLUMNS, "the accumulators take all columns");
    begin("beyond/14_tcgen05/tensor_memory.svg", LANES_Y + 104,
          "Tensor memory: two accumulators, and four warps that take them out");
    lead("Tensor memory of an SM: %d lanes x %d columns of 32 bits. The chapter keeps two tiles of 128 x %d there: a "
         "lane for each row,\na column for each column. Products reach all lanes. A warp loads and stores only the 32 "
         "of its number modulo 4.",
         TMEM_LANES, TMEM_COLUMNS, bn);
    for (int a = 0; a < accumulators; a++) {
        text("t s c", LEFT + a * bn + bn / 2, TOP - 10, "columns %d to %d: accumulator %d", a * bn, (a + 1) * bn - 1,
             a);
    }
    for (int q = 0; q < 4; q++) {
        int y = TOP + q * QUARTER, warp = 2;
        while (warp % 4 != q) {
            warp++;
        }
        text("t s e", LEFT - 10, y + QUARTER / 2 + 4, "lanes %d-%d", 32 * q, 32 * q + 31);
        for (int a = 0; a < accumulators; a++) {
            cell(hue(q + 4 * a), LEFT + a * bn, y, bn, QUARTER, "t s c", QUARTER / 2 + 4,
                 "rows %d to %d of tile %d, %d, ...", 32 * q, 32 * q + 31, a, a + 2);
        }
        cell("epi", WARPS_X, y + 8, 240, QUARTER - 16, "t s c", QUARTER / 2 - 4, "warp %d of the CTA: its 32 rows of C",
             warp);
        arrow("lead", LEFT + TMEM_COLUMNS, y + QUARTER / 2, WARPS_X, y + QUARTER / 2);
    }
    cell("math", LEFT + 60, BELOW + 40, 392, 34, "t s c", 21,
         "the tensor cores, started by a thread of warp 1: D += A B");
    arrow("async", LEFT + bn / 2, BELOW + 40, LEFT + bn / 2, BELOW);
    arrow("async", LEFT + bn + bn / 2, BELOW + 40, LEFT + bn + bn / 2, BELOW);
    text("m s", WARPS_X, BELOW + 30, "While warps take one accumulator out,");
    text("m s", WARPS_X, BELOW + 46, "products fill the other.");
    text("t", MARGIN, LANES_Y - 14, "Which lanes have which rows of D, for a product of one CTA:");
    draw_lanes(LEFT, LANES_Y, 128);
    draw_lanes(LEFT, LANES_Y + 36, 64);
    text("m s", LEFT, LANES_Y + 84,
         "A product of 64 rows leaves half of the lanes; from lane 16 on a second one has its place there.");
    end();
}
