/* Does tile_at() visit each tile once, also where indices are large? tests/pictures draws its order. */
#include "device/tile_order.h"
#include "tap.h"

enum { MAX_TILES = 64 * 64 };

/* Nonzero if the indices 0 .. tiles - 1 reach every tile exactly once and nothing else. */
static int visits_each_once(int tiles_m, int tiles_n, int group) {
    static unsigned char visits[MAX_TILES];
    int tiles = tiles_m * tiles_n;
    memset(visits, 0, sizeof visits);
    for (int index = 0; index < tiles; index++) {
        Tile tile = tile_at(index, tiles_m, tiles_n, group);
        if (tile.m < 0 || tile.m >= tiles_m || tile.n < 0 || tile.n >= tiles_n || visits[tile.m * tiles_n + tile.n]++) {
            return diag("tile %d of a %d x %d grid in groups of %d is (%d, %d), outside or for the second time", index,
                        tiles_m, tiles_n, group, tile.m, tile.n);
        }
    }
    return 1;
}

static void every_grid(void) {
    static const int groups[] = {1, 2, 3, 4, 7, 8, 11, 16, 64, 1000};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        int right = 1;
        for (int tiles_m = 1; tiles_m <= 33 && right; tiles_m++) {
            for (int tiles_n = 1; tiles_n <= 33 && right; tiles_n++) {
                right = visits_each_once(tiles_m, tiles_n, groups[i]);
            }
        }
        right = right && visits_each_once(64, 64, groups[i]) && visits_each_once(1, MAX_TILES, groups[i]) &&
                visits_each_once(MAX_TILES, 1, groups[i]);
        ok(right, "each tile once, groups of %d", groups[i]);
    }
}

/* As many tiles of 64 rows as the largest M gives, and the largest square that an index can number. */
static void no_overflow(void) {
    int many = (INT32_MAX - 255) / 64 + 1;
    Tile last = tile_at(many - 1, many, 1, 16);
    ok(last.m == many - 1 && last.n == 0, "the last of %d x 1 tiles", many);
    last = tile_at(many - 1, 1, many, 16);
    ok(last.m == 0 && last.n == many - 1, "the last of 1 x %d tiles", many);
    last = tile_at(46340 * 46340 - 1, 46340, 46340, 8);
    ok(last.m == 46339 && last.n == 46339, "the last of 46340 x 46340 tiles");
}

int main(void) {
    every_grid();
    no_overflow();
    return tap_done();
}
