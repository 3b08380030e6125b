/* draw_08.c - the order of tiles, from tile_order.h. */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/tile_order.h"

static void order_panel(int x, int y, int tiles_m, int tiles_n, int group, int ctas, const char *name) {
    enum { CELL = 13, SHOWN = 20 };
    uint8_t rows[256] = {0}, columns[256] = {0};
    int panels_a = 0, panels_b = 0;
    text("t h", x, y, "%s", name);
    y += 24;
    uint8_t colours[SHOWN * 256];
    memset(colours, PLAIN, sizeof colours);
    cells(colours, SHOWN, tiles_n, x, y, CELL, CELL);
    memset(colours, EMPTY, sizeof colours);
    for (int index = 0; index < 2 * ctas; index++) {
        Tile tile = tile_at(index, tiles_m, tiles_n, group);
        if (index < ctas) {
            panels_a += !rows[tile.m];
            panels_b += !columns[tile.n];
            rows[tile.m] = columns[tile.n] = 1;
        }
        if (tile.m < SHOWN) {
            colours[tile.m * tiles_n + tile.n] = index < ctas ? 4 : 2;
        }
    }
    cells(colours, SHOWN, tiles_n, x, y, CELL, CELL);
    /* 8192 x 8192 x 8192: a row of A or B is 16 KiB. */
    int mib = (panels_a * 128 + panels_b * 256) * 16 / 1024;
    text("t", x, y + SHOWN * CELL + 22, "A wave reads %d panels of A and %d of B:", panels_a, panels_b);
    text("t h", x, y + SHOWN * CELL + 42, "%d MiB", mib);
    text("m s", x, y - 6, "tile columns 0 to %d", tiles_n - 1);
}

static void draw_tile_order(const char *directory) {
    enum { TILES_M = 64, TILES_N = 32, CTAS = 132 };
    begin(directory, "08_persistent_pingpong/tile_order.svg", 446,
          "Tiles that 132 CTAs work on at a time, by rows and in groups");
    text("t", MARGIN, 26,
         "C of 8192 x 8192 in tiles of 128 x 256: %d rows of %d tiles, the first 20 rows are shown. Blue: the first "
         "wave of %d "
         "CTAs; yellow: the second.",
         TILES_M, TILES_N, CTAS);
    text("t", MARGIN, 44, "A row of tiles shares a panel of A, 128 x K; a column shares a panel of B, 256 x K.");
    order_panel(40, 78, TILES_M, TILES_N, 1, CTAS, "tile_at(..., group 1): row by row");
    order_panel(40 + 32 * 13 + 48, 78, TILES_M, TILES_N, 8, CTAS, "tile_at(..., group 8): 8 rows walked together");
    end();
}

void draw_08(const char *directory) { draw_tile_order(directory); }
