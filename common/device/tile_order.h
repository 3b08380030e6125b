/* tile_order.h - which tile of C a CTA takes.
 *
 * CTAs that run at the same time share panels of A and B through L2. Walking a wide C row by row, 132 CTAs touch one or
 * two panels of A and a hundred of B; walking it in groups of `group` tile rows, column by column inside a group, they
 * touch `group` panels of A and 132 / group of B, and far fewer bytes come from DRAM. Host and kernel. */
#ifndef TILE_ORDER_H
#define TILE_ORDER_H

#include "cuda_c.h"

typedef struct {
    int m; /* tile row, 0 <= m < tiles_m */
    int n; /* tile column, 0 <= n < tiles_n */
} Tile;

/* The index-th tile, 0 <= index < tiles_m * tiles_n. Groups of `group` tile rows follow each other; the last one may be
 * lower. Inside a group, tiles run down a column, then to the next column. */
HOST_DEVICE Tile tile_at(int index, int tiles_m, int tiles_n, int group) {
    int first_row = index / (group * tiles_n) * group;
    int rows = tiles_m - first_row < group ? tiles_m - first_row : group;
    int in_group = index - first_row * tiles_n;
    Tile tile;
    tile.m = first_row + in_group % rows;
    tile.n = in_group / rows;
#ifdef GEMM_MODEL
    model_tile_taken(tile.m, tile.n);
#endif
    return tile;
}

/* A role's place among the tiles of C. It walks by
 *     for (tiles.index = first; has_tile(&tiles); tiles.index += step) { Tile tile = this_tile(&tiles); */
typedef struct {
    int tiles_m, tiles_n, group;
    int index;
} Tiles;

HOST_DEVICE int has_tile(const Tiles *t) { return t->index < t->tiles_m * t->tiles_n; }
HOST_DEVICE Tile this_tile(const Tiles *t) { return tile_at(t->index, t->tiles_m, t->tiles_n, t->group); }

#endif
