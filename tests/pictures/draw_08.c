/* draw_08.c - the turns of the consumers, the order of tiles; from pipeline.h and tile_order.h. */
#include "picture.h"

#include <stdio.h>
#include <string.h>

#include "device/pipeline.h"
#include "device/tile_order.h"

static const char source[] = "08_persistent_pingpong/08_persistent_pingpong.cu";

/* ---- turns: waits that would pass too early ---- */

/* What a wait for a parity asks: is the phase of this parity over? That is all it can see (mbarrier.h). */
static int passes(int phase_under_way, uint32_t parity) { return ((uint32_t)(phase_under_way - 1) & 1) == parity; }

PICTURE(turns) {
    enum { STAGES = 4, K = 5, SHOWN = 3 * K, WIDE = 52, LEFT = 168, TOP = 104, HIGH = 38, STATE = TOP + 166 };
    begin("08_persistent_pingpong/turns.svg", STATE + 140, "The ring for two consumers: which waits need the turn");
    paragraph(
        "t", MARGIN, 26, 18,
        "A ring of %d stages, tiles of %d k-tiles. Each consumer takes its own tile's k-tiles and skips the other's:\n"
        "pipeline_advance() within a tile, pipeline_advance_by() over the next one. One column a k-tile, one colour a "
        "stage;\n"
        "stronger: parity 1. Framed: the lap before in that stage was the other consumer's.",
        STAGES, K);
    static const char *const rows[] = {"k-tile", "consumer 0 waits", "consumer 1 waits", "a lap before: k-tile"};
    static const int y_of[] = {TOP - 30, TOP, TOP + HIGH + 8, TOP + 2 * HIGH + 16};
    for (int i = 0; i < 4; i++) {
        text(i == 3 ? "m s e" : "t h e", LEFT - 10, y_of[i] + 24, "%s", rows[i]);
    }
    int first = 0; /* the first k-tile whose wait could pass too early */
    PipelineState at_first = {0, 0};
    for (int consumer = 0; consumer < 2; consumer++) {
        PipelineState state = consumer_start_state();
        pipeline_advance_by(&state, consumer * K, STAGES);
        for (int k_tile = consumer * K; k_tile < SHOWN; k_tile++) {
            int x = LEFT + k_tile * WIDE, y = y_of[1 + consumer], before = k_tile - STAGES, tile = k_tile / K;
            int others = before >= 0 && ((tile - before / K) & 1);
            need(state.index == k_tile % STAGES && state.phase == (uint32_t)(k_tile / STAGES & 1),
                 "turns.svg no longer fits pipeline.h");
            text("t c", x + WIDE / 2 - 2, y_of[0] + 24, "%d", k_tile);
            if (others) {
                box("hot", x - 1, y - 3, WIDE - 2, HIGH + 6);
            }
            colour(state.index + (state.phase ? 4 : 0), x + 2, y, WIDE - 8, HIGH);
            paragraph("t s c", x + WIDE / 2 - 2, y + 15, 15, "full[%d]\nparity %u", state.index, state.phase);
            if (before >= 0) {
                text("m s c", x + WIDE / 2 - 2, y_of[3] + 20, "%d", before);
                text(others ? "t h s c" : "m s c", x + WIDE / 2 - 2, y_of[3] + 34, others ? "other's" : "own");
            }
            if (others && consumer == 1 && first == 0) {
                first = k_tile;
                at_first = state;
            }
            pipeline_advance(&state, STAGES);
            if (k_tile % K == K - 1) {
                pipeline_advance_by(&state, K, STAGES);
                k_tile += K;
            }
        }
    }
    for (int tile = 0; tile < SHOWN / K; tile++) {
        int x = LEFT + tile * K * WIDE;
        line(x - 3, TOP - 34, x - 3, y_of[3] + 38);
        text("m s", x + 2, TOP - 28, "tile %d", tile);
    }

    text("t h", MARGIN, STATE,
         "Consumer 1's first wait, for k-tile %d: full[%d], parity %u. Without the turn it may come at any time.",
         first, at_first.index, at_first.phase);
    static const char *const outcomes[] = {"waits", "passes"};
    for (int phase = 0; phase < 3; phase++) {
        int y = STATE + 14 + phase * 30, passed = passes(phase, at_first.phase),
            wrong = passed && phase <= first / STAGES;
        box(wrong ? "hot" : "n", MARGIN, y, 400, 26);
        if (phase == 0) {
            text("t s", MARGIN + 8, y + 17, "full[%d] is in phase 0: k-tile %d is still on its way", at_first.index,
                 first - STAGES);
        } else if (phase == 1) {
            text("t s", MARGIN + 8, y + 17, "in phase 1: k-tile %d has landed, k-tile %d has not", first - STAGES,
                 first);
        } else {
            text("t s", MARGIN + 8, y + 17, "in phase 2: k-tile %d has landed", first);
        }
        text("t h", MARGIN + 414, y + 18, "%s", outcomes[passed]);
        text("t s", MARGIN + 474, y + 18, "%s",
             wrong    ? "too early: the phase before phase 0 has parity 1, and counts as complete"
             : passed ? "right"
                      : "right: the last complete phase, 0, has parity 0");
        need(passed == (phase != 1) && wrong == (phase == 0), "what the first wait finds has changed");
    }
    text("t", MARGIN, STATE + 124,
         "turn[1] comes when consumer 0 has waited for k-tiles 0 to %d. So when consumer 1 waits, the first line is "
         "past.",
         K - 1);

    must_contain(source, "RING_BYTES = 192 * 1024,");
    need(192 * 1024 / ((constant(source, "BM") + constant(source, "MAX_BN")) * constant(source, "BK") * 2) == STAGES,
         "the widest ring has other stages");
    end();
}

/* ---- the order of tiles ---- */

enum { SIZE = 8192, CTAS = 132, SHOWN = 20 };

static void order_panel(int x, int y, int bm, int bn, int group, const char *name) {
    enum { CELL = 10, MOST = 64 };
    int tiles_m = SIZE / bm, tiles_n = (SIZE + bn - 1) / bn;
    uint8_t rows[MOST] = {0}, columns[MOST] = {0}, colours[SHOWN * MOST];
    int panels_a = 0, panels_b = 0;
    need(tiles_m <= MOST && tiles_n <= MOST, "too many tiles to draw");
    text("t h", x, y, "%s", name);
    text("m s", x, y + 18, "tile columns 0 to %d", tiles_n - 1);
    y += 24;
    memset(colours, PLAIN, sizeof colours);
    for (int index = 0; index < 2 * CTAS; index++) {
        Tile tile = tile_at(index, tiles_m, tiles_n, group);
        if (index < CTAS) {
            panels_a += !rows[tile.m];
            panels_b += !columns[tile.n];
            rows[tile.m] = columns[tile.n] = 1;
        }
        if (tile.m < SHOWN) {
            colours[tile.m * tiles_n + tile.n] = index < CTAS ? 4 : 2;
        }
    }
    cells(colours, SHOWN, tiles_n, x, y, CELL, CELL);
    int kib_a_row = SIZE * 2 / 1024; /* of A or B, and K is SIZE too */
    text("t", x, y + SHOWN * CELL + 22, "A wave reads %d panels of A and %d of B:", panels_a, panels_b);
    text("t h", x, y + SHOWN * CELL + 42, "%d MiB", (panels_a * bm + panels_b * bn) * kib_a_row / 1024);
}

PICTURE(tile_order) {
    int bm = constant(source, "BM"), bn = constant(source, "MAX_BN"), group = constant(source, "TILE_GROUP");
    char name[64];
    begin("08_persistent_pingpong/tile_order.svg", 376, "Tiles that 132 CTAs work on at a time, by rows and in groups");
    paragraph("t", MARGIN, 26, 18,
              "%d x %d x %d in tiles of %d x %d: the first %d rows of tiles. Blue (dark): the first wave of %d CTAs; "
              "yellow: the second.\n"
              "A row of tiles shares a panel of A, %d x K; a column shares a panel of B, %d x K.",
              SIZE, SIZE, SIZE, bm, bn, SHOWN, CTAS, bm, bn);
    order_panel(MARGIN, 78, bm, bn, 1, "tile_at(..., group 1): row by row");
    snprintf(name, sizeof name, "tile_at(..., group %d): %d rows walked together", group, group);
    order_panel(MARGIN + 490, 78, bm, bn, group, name);
    end();
}
