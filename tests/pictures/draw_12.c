/* draw_12.c - one tile on its way into both memories, with its flags; and what four ranks do in each pattern, on one
 * time axis. */
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
    must_contain(source,
                 "system_flag_set_release(&p->ranks[i].flags_there[FIRST_FLAG + first + work.in_owner], p->epoch);");
    int columns = constant(source, "STRIP");
    must_contain(source, "p.copies > 2 ? 8 : 32;");
    for (int rank = 0; rank < 2; rank++) {
        int x = MARGIN + rank * STEP;
        box("n", x, TOP, GPU, 300);
        text("t h", x + 12, TOP + 22, "GPU of rank %d", rank);
    }
    int smem = MARGIN + 20, c0 = MARGIN + 270, c1 = MARGIN + STEP + 40;
    cell("epi", smem, TOP + 60, 150, 76, "t h s c", 20, "the buffer of a CTA");
    paragraph("t s c", smem + 75, TOP + 97, 16, "tile t, stored in boxes\nof 32 x %d, one at a time", columns);
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

/* What rank 0 of four multiplies, above, and sends, below, in each pattern. A part of the product takes a quarter of
 * its time, and the links carry what belongs to it in about as long. */
static void draw_patterns(void) {
    enum { LEFT = 190, PART = 150, HIGH = 22, ROW = 62, RANKS = 4, PATTERNS = 4 };
    static const char *const names[PATTERNS] = {"gather_c", "gather_a", "reduce_scatter", "all_reduce"};
    static const char *const parts[PATTERNS][RANKS] = {
        {"own tiles", "own tiles", "own tiles", "own tiles"},
        {"own rows", "rank 1's rows", "rank 2's rows", "rank 3's rows"},
        {"for rank 1", "for rank 2", "for rank 3", "own rows, + sums"},
        {"for rank 1", "for rank 2", "for rank 3", "own rows, + sums"},
    };
    static const char *const sent[PATTERNS][RANKS] = {
        {"C to all", "C to all", "C to all", "C to all"},
        {"A to rank 3", "A to rank 2", "A to rank 1", ""},
        {"to rank 1", "to rank 2", "to rank 3", ""},
        {"to rank 1", "to rank 2", "to rank 3", "own C to all"},
    };
    must_contain(source, "work.owner = pattern == GATHER_A ? 0 : 1 % p->rank_count;");
    must_contain(source, "for (int to = p->rank_count - 1; to > 0; to--) {");
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        int y = BARS + 30 + pattern * ROW, behind = pattern == 1 ? 0 : PART / 5;
        text("t h s", MARGIN, y + 15, "%s", names[pattern]);
        text("m x", MARGIN, y + 36, "product above, links below");
        for (int i = 0; i < RANKS; i++) {
            int last = i == RANKS - 1 && pattern == 3;
            cell("math", LEFT + i * PART, y, PART, HIGH, "t s c", 15, "%s", parts[pattern][i]);
            if (*sent[pattern][i] != '\0') {
                cell("store", LEFT + i * PART + behind, y + HIGH, last ? PART : PART - 4, HIGH, "t s c", 15, "%s",
                     sent[pattern][i]);
            }
        }
    }
    text("m s", MARGIN, BARS + 30 + PATTERNS * ROW + 4,
         "Time goes to the right. Only what the links carry after the last product is not hidden.");
}

PICTURE(stores) {
    begin("beyond/12_several_gpus/stores.svg", 680, "One tile on its way into two memories, and four patterns");
    lead("A tile of rank 0. Its storing warp stores each box twice: into its own C and, by a tensor map of the\n"
         "neighbour's memory, into the neighbour's. Solid arrows: copies. Dashed: a flag.");
    draw_gpus();
    draw_patterns();
    end();
}
