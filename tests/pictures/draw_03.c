/* draw_03.c - the ring of stages: k-tiles that land, are read, and give their place to others; groups and waits. */
#include "picture.h"

#define SOURCE "03_cp_async_multistage/03_cp_async_multistage.cu"

/* The main loop's k-tile i is column i; between two columns all threads wait and meet. */
enum { K_TILES = 7, LEFT = 118, PROLOGUE = 92, WIDE = 104, TOP = 92, HIGH = 36, PITCH = 44, PAUSE = 10 };

static int column(int k_tile) { return LEFT + PROLOGUE + k_tile * WIDE; }

PICTURE(ring) {
    int stages = constant(SOURCE, "STAGES");
    int tile_bytes = (constant(SOURCE, "BM") + constant(SOURCE, "BN")) * constant(SOURCE, "BK") * 2;
    must_contain(SOURCE, "cp_async_wait_group(STAGES - 2);");
    must_contain(SOURCE, "load_stage(s, &p, tile, k_tile + STAGES - 1);");
    int commits = TOP + stages * PITCH + 14, waits = commits + (stages - 1) * 22 + 14, bottom = waits + 34;

    begin("03_cp_async_multistage/ring.svg", bottom + 56,
          "The ring: k-tiles that land in a stage, are read there, and give their place to another");
    paragraph(
        "t", MARGIN, 26, 18,
        "Time goes to the right; a column is one k-tile of the main loop, here %d in all. At each line every thread\n"
        "waits for its own copies, then all meet. After it one k-tile is read, and the stage of the one before is "
        "refilled.",
        K_TILES);
    text("t h c", LEFT + PROLOGUE / 2 - 4, TOP - 12, "prologue");
    for (int k_tile = 0; k_tile < K_TILES; k_tile++) {
        text("t h c", column(k_tile) + WIDE / 2, TOP - 12, "k-tile %d", k_tile);
        line(column(k_tile), TOP - 6, column(k_tile), bottom);
    }

    for (int stage = 0; stage < stages; stage++) {
        int y = TOP + stage * PITCH;
        colour(stage, MARGIN, y, LEFT - MARGIN - 12, HIGH);
        text("t h", MARGIN + 8, y + 15, "stage %d", stage);
        text("t s", MARGIN + 8, y + 29, "%d KB", tile_bytes / 1024);
        for (int k_tile = stage; k_tile < K_TILES; k_tile += stages) {
            /* Started when the k-tile before it in this stage has been read; waited for before it is read. */
            int issued = k_tile - (stages - 1);
            int from = issued < 0 ? LEFT + 4 + 6 * stage : column(issued) + PAUSE, to = column(k_tile) - 2;
            cell("load", from, y, to - from, HIGH, "t s c", HIGH / 2 + 4, "k-tile %d lands", k_tile);
            box("math", column(k_tile) + 2, y, WIDE - 4 + (k_tile == K_TILES - 1 ? 0 : 2), HIGH);
            text("t h s c", column(k_tile) + WIDE / 2, y + 15, "k-tile %d", k_tile);
            text("t s c", column(k_tile) + WIDE / 2, y + 29, "read, multiplied");
        }
    }

    text("t h s e", LEFT - 12, commits + 15, "commit_group");
    text("t h s e", LEFT - 12, waits + 15, "wait_group %d", stages - 2);
    text("m s e", LEFT - 12, waits + 29, "at each line");
    for (int k_tile = 1 - stages; k_tile < K_TILES; k_tile++) {
        int group = k_tile + stages - 1; /* closed in this column */
        int x = k_tile < 0 ? LEFT + 4 : column(k_tile) + PAUSE, y = commits + (k_tile < 0 ? group * 22 : 0);
        int wide = k_tile < 0 ? PROLOGUE - 12 : WIDE - PAUSE - 4;
        if (group < K_TILES) {
            cell(hue(group % stages), x, y, wide, 20, "t s c", 14, "group %d", group);
        } else {
            cell("wait", x, y, wide, 20, "t s c", 14, "group %d: empty", group);
        }
    }
    for (int k_tile = 0; k_tile < K_TILES; k_tile++) {
        int closed = k_tile + stages - 1; /* groups 0 to closed - 1, so far */
        int first = k_tile > 0 ? k_tile - 1 : 0;
        for (int group = first; group < closed; group++) {
            int pitch = (WIDE - 10) / stages, wide = pitch - 3, x = column(k_tile) + 6 + (group - first) * pitch;
            if (closed - group > stages - 2) { /* not one of the newest stages - 2 */
                colour(group % stages, x, waits, wide, 20);
            } else {
                box("wait", x, waits, wide, 20);
            }
            text("t s c", x + wide / 2, waits + 14, "%d", group);
        }
    }
    paragraph("t", MARGIN, bottom + 20, 18,
              "At the foot of each line, the newest groups: filled ones have landed when the wait ends, the %s "
              "(dashed) may still be\n"
              "on its way. Past the last k-tile the groups are empty, so that the count means the same until the end.",
              stages == 3 ? "newest one" : "newest ones");
    end();
}
