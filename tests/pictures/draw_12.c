/* draw_12.c - one tile on its way into both memories, with its flags; and three ways to a complete C, one below the
 * other. */
#include "picture.h"

static const char source[] = "beyond/12_several_gpus/12_several_gpus.cu";

enum {
    GPU = 440,  /* width of one */
    STEP = 480, /* to the next */
    SIDE = 150, /* of C */
    TOP = 60,
    BARS = 385,
};

/* C of one GPU: the left half is rank 0's work, the right half rank 1's, with tile t of rank 0 in it. */
static void draw_c(int x, int y, int rank) {
    colour(0, x, y, SIDE / 2, SIDE);
    colour(3, x + SIDE / 2, y, SIDE / 2, SIDE);
    cell("hot", x + 14, y + 62, 34, 26, "t s c", 17, "t");
    text("t h s c", x + SIDE / 2, y - 8, "C of rank %d", rank);
    text("t x c", x + SIDE / 4, y + SIDE - 8, "rank 0's");
    text("t x c", x + SIDE * 3 / 4, y + SIDE - 8, "rank 1's");
}

static void draw_gpus(void) {
    must_contain(source, "tma_store_2d(&p->map_c[i], from, col, row);");
    must_contain(source, "bulk_wait_group(0);");
    must_contain(source, "system_flag_set_release(&p->ranks[i].flags_there[FIRST_TILE + tiles.index], p->epoch);");
    int rows = constant(source, "BOX_ROWS"), columns = constant(source, "STRIP");
    for (int rank = 0; rank < 2; rank++) {
        int x = MARGIN + rank * STEP;
        box("n", x, TOP, GPU, 300);
        text("t h", x + 12, TOP + 22, "GPU of rank %d", rank);
    }
    int smem = MARGIN + 20, c0 = MARGIN + 270, c1 = MARGIN + STEP + 40;
    cell("epi", smem, TOP + 60, 150, 76, "t h s c", 20, "the buffer of a CTA");
    paragraph("t s c", smem + 75, TOP + 97, 16, "tile t, stored in boxes\nof %d x %d, one at a time", rows, columns);
    draw_c(c0, TOP + 62, 0);
    draw_c(c1, TOP + 62, 1);
    arrow("async", smem + 150, TOP + 84, c0 + 12, TOP + 134);
    text("m s", smem + 160, TOP + 84, "1  TMA");
    /* Over NVLink, below C of rank 0. */
    shape("async", "M120 196V316H480V190H546");
    text("m s", smem + 118, TOP + 250, "1  TMA, over NVLink");
    /* The flags of rank 1, set by rank 0. */
    int flags = MARGIN + STEP + 240;
    for (int i = 0; i < 6; i++) {
        cell(i == 3 ? "hot" : "n", flags + i * 28, TOP + 200, 28, 26, "t x c", 17, i == 0 ? "R" : i == 3 ? "t" : "");
    }
    paragraph("m s", flags, TOP + 246, 15, "rank 1's flags,\nset by rank 0");
    shape("generic", "M60 196V342H838V288");
    text("m s", smem + 30, TOP + 276, "2  bulk_wait_group(0): both are written.  3  set to the epoch, with release");
    cell("math", flags, TOP + 62, 168, 62, "t h s c", 18, "Step 5, before the end");
    paragraph("t s c", flags + 84, TOP + 97, 16, "4  waits for flag t,\nwith acquire");
    arrow("lead", flags + 98, TOP + 124, flags + 98, TOP + 198);
    text("m s", MARGIN, 380,
         "R: \"rank 0 has begun this launch: its C may be written.\" The same in the other direction, at the same "
         "time.");
}

/* Three ways, in parts of the time that the product takes. */
static void draw_ways(void) {
    static const char *const names[] = {"(a) cuBLAS, then NCCL", "(b) 09 in pieces", "(c) 12"};
    enum { LEFT = 200, PRODUCT = 480, GATHER = 200, HIGH = 22, ROW = 62, PIECES = 4 };
    for (int way = 0; way < 3; way++) {
        int y = BARS + 30 + way * ROW;
        text("t h s", MARGIN, y + 15, "%s", names[way]);
        text("m x", MARGIN, y + 36, "tensor cores, above; NVLink, below");
        for (int piece = 0; piece < (way == 1 ? PIECES : 1); piece++) {
            int part = way == 1 ? PRODUCT / PIECES : PRODUCT, begin = LEFT + piece * part;
            cell("math", begin, y, part, HIGH, "t s c", 15, way == 1 ? "piece %d" : "product", piece);
            if (way < 2) {
                int length = GATHER / (way == 1 ? PIECES : 1);
                cell("store", begin + part, y + HIGH, length, HIGH, "t s c", 15, way == 1 ? "%d" : "gather", piece);
            }
        }
        for (int tile = 0; way == 2 && tile < 12; tile++) {
            box("store", LEFT + PRODUCT / 12 * (tile + 1) - 8, y + HIGH, 12, HIGH);
        }
    }
    text("m s", MARGIN, BARS + 30 + 3 * ROW + 4,
         "What cannot be hidden is the last part: all of C in (a), a piece in (b), the last tiles in (c).");
}

PICTURE(stores) {
    begin("beyond/12_several_gpus/stores.svg", 620, "One tile on its way into two memories, and three ways to C");
    lead("A tile of rank 0. Its storing warp stores each box twice: into its own C and, by a tensor map of the\n"
         "neighbour's memory, into the neighbour's. Solid arrows: copies. Dashed: a flag.");
    draw_gpus();
    draw_ways();
    end();
}
