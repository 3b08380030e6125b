/* draw_06.c - accumulators of wgmma: from common/model/data/matrix.h, which tests/conform holds to an H200. */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/data/matrix.h"

static void draw_accumulators(const char *directory) {
    enum { COLUMNS_SHOWN = 16, WIDE = 55, HIGH = 15, TOP = 92, LEFT = 60 };
    begin(directory, "06_wgmma_ss/accumulators.svg", TOP + WGMMA_M * HIGH + 34, "Accumulators of wgmma m64nNk16");
    text("t", MARGIN, 26,
         "D of one warpgroup, 64 rows x N columns; columns 0 to 15 are shown. \"thread d register\": thread of the "
         "warpgroup (lane = thread modulo 32)");
    text("t", MARGIN, 44,
         "and index of its accumulator. One colour is one warp: 16 rows. Every 8 columns further right the same "
         "threads go on with the next 4 registers.");
    for (int column = 0; column < COLUMNS_SHOWN; column++) {
        text("m s c", LEFT + column * WIDE + WIDE / 2, TOP - 8, "%d", column);
    }
    uint8_t colours[WGMMA_M * COLUMNS_SHOWN];
    memset(colours, EMPTY, sizeof colours);
    for (int t = 0; t < WARPGROUP_SIZE; t++) {
        for (int v = 0; v < COLUMNS_SHOWN / 2; v++) {
            int row = wgmma_accumulator_row(t, v), darker = row / 8 % 2 ? 4 : 0;
            colours[row * COLUMNS_SHOWN + wgmma_accumulator_column(t, v)] = (uint8_t)(t / WARP_SIZE + darker);
        }
    }
    cells(colours, WGMMA_M, COLUMNS_SHOWN, LEFT, TOP, WIDE, HIGH);
    group("t s c");
    for (int t = 0; t < WARPGROUP_SIZE; t++) {
        for (int v = 0; v < COLUMNS_SHOWN / 2; v++) {
            int x = LEFT + wgmma_accumulator_column(t, v) * WIDE, y = TOP + wgmma_accumulator_row(t, v) * HIGH;
            text(NULL, x + WIDE / 2, y + 11, "%d d%d", t, v);
        }
    }
    end_group();
    for (int row = 0; row < WGMMA_M; row += 8) {
        text("m s e", LEFT - 6, TOP + row * HIGH + 11, "row %d", row);
    }
    text("m s", LEFT, TOP + WGMMA_M * HIGH + 22,
         "Stronger colour: the rows 8 below are the same lanes' next two registers.");
    end();
}

void draw_06(const char *directory) { draw_accumulators(directory); }
