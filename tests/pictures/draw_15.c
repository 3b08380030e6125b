/* draw_15.c - what of a product of a pair lies in which CTA. */
#include "picture.h"

#include "model/data/tcgen05.h"

static const char source[] = "beyond/15_pair/15_pair.cu";

PICTURE(pair) {
    enum {
        TOP = 92,
        WIDE = 420,
        GAP = 40,
        SHARED = 70,
        TENSOR = 96,
        CORES_Y = TOP + SHARED + 40,
        TENSOR_Y = CORES_Y + 84
    };
    const int bm = constant(source, "BM"), bn = constant(source, "BN"), pair = 2;
    const Tcgen05Shape shape = {.m = pair * bm, .n = bn, .pair = 1};
    must_contain(source, "tcgen05_shape_f16(1, PAIR * BM, BN, 0, 0)");
    begin("beyond/15_pair/pair.svg", TENSOR_Y + TENSOR + 60, "A pair: what lies in which CTA");
    paragraph(
        "t", MARGIN, 26, 18,
        "One product of a pair, %d x %d. Each CTA's shared memory holds its rows of A and half of the rows of B, its "
        "tensor\nmemory its rows of the sums. The tensor cores of both read both halves of B.",
        shape.m, shape.n);
    for (int rank = 0; rank < pair; rank++) {
        const int x = MARGIN + 20 + rank * (WIDE + GAP), a = rank * tcgen05_rows(&shape),
                  b = rank * tcgen05_columns(&shape);
        text("t s c", x + WIDE / 2, TOP - 10, "CTA %d%s", rank,
             rank == 0 ? ": the leader, one of its threads starts it" : "");
        cell(hue(rank), x, TOP, WIDE / 2 - 6, SHARED, "t s c", SHARED / 2 + 4, "A: rows %d to %d", a,
             a + tcgen05_rows(&shape) - 1);
        cell(hue(4 + rank), x + WIDE / 2 + 6, TOP, WIDE / 2 - 6, SHARED, "t s c", SHARED / 2 + 4, "B: rows %d to %d", b,
             b + tcgen05_columns(&shape) - 1);
        cell("math", x, CORES_Y, WIDE, 34, "t s c", 21, "tensor cores of its SM");
        cell(hue(rank), x, TENSOR_Y, WIDE, TENSOR, "t s c", TENSOR / 2 + 4,
             "sums: rows %d to %d, all %d columns; lane %d is row %d", a, a + tcgen05_rows(&shape) - 1,
             tcgen05_piece_columns(&shape), tcgen05_lane(&shape, 1), a + 1);
        arrow("async", x + WIDE / 4, TOP + SHARED, x + WIDE / 4, CORES_Y);
        arrow("async", x + 3 * WIDE / 4, TOP + SHARED, x + 3 * WIDE / 4, CORES_Y);
        arrow("async", x + WIDE / 2, CORES_Y + 34, x + WIDE / 2, TENSOR_Y);
    }
    const int left = MARGIN + 20 + 3 * WIDE / 4, right = MARGIN + 20 + WIDE + GAP + 3 * WIDE / 4;
    arrow("async", left + 20, TOP + SHARED, right - WIDE / 2 - 40, CORES_Y);
    arrow("async", right - 20, TOP + SHARED, left + 40, CORES_Y);
    text("m s", MARGIN + 20, TENSOR_Y + TENSOR + 26,
         "Commits arrive in both CTAs. Loads of both count at the leader's full barrier.");
    end();
}
