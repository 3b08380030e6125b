/* Does tile_at() find the last tiles where indices are large? That it visits each tile once is seen wherever a chapter
 * multiplies: elements of the others would never be written. tests/pictures draws its order. */
#include "device/tile_order.h"
#include "tap.h"

/* As many tiles of 64 rows as the largest M gives, and the largest square that an index can number. */
int main(void) {
    int many = (INT32_MAX - 255) / 64 + 1;
    Tile last = tile_at(many - 1, many, 1, 16);
    ok(last.m == many - 1 && last.n == 0, "the last of %d x 1 tiles", many);
    last = tile_at(many - 1, 1, many, 16);
    ok(last.m == 0 && last.n == many - 1, "the last of 1 x %d tiles", many);
    last = tile_at(46340 * 46340 - 1, 46340, 46340, 8);
    ok(last.m == 46339 && last.n == 46339, "the last of 46340 x 46340 tiles");
    return tap_done();
}
