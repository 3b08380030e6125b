/* tile_order.h - which tile of C a CTA computes. Host and kernel.
 *
 * CTAs that run at the same time share panels of A and B through L2. If tiles are numbered row by row, the 132 CTAs of
 * a wide C need one or two panels of A and a hundred of B. If they are numbered in groups of `group` tile rows, column
 * by column within a group, the CTAs need `group` panels of A and 132 / group of B: far fewer bytes from DRAM. */
#ifndef TILE_ORDER_H
#define TILE_ORDER_H

#include "cuda_c.h"

typedef struct {
    int m; /* tile row, 0 <= m < tiles_m */
    int n; /* tile column, 0 <= n < tiles_n */
} Tile;

/* The index-th tile, 0 <= index < tiles_m * tiles_n. The last group may have fewer tile rows. */
HOST_DEVICE Tile tile_at(int index, int tiles_m, int tiles_n, int group) {
    int first_row = index / (group * tiles_n) * group;
    int rows = tiles_m - first_row < group ? tiles_m - first_row : group;
    int in_group = index - first_row * tiles_n;
    Tile tile = {first_row + in_group % rows, in_group / rows};
#ifdef GEMM_MODEL
    model_tile_taken(tile.m, tile.n);
#endif
    return tile;
}

/* A role's place among the tiles of C. The role visits its tiles by
 *     for (tiles.index = first; has_tile(&tiles); tiles.index += step) { Tile tile = this_tile(&tiles); */
typedef struct {
    int tiles_m, tiles_n, group;
    int index;
} Tiles;

HOST_DEVICE int has_tile(const Tiles *t) { return t->index < t->tiles_m * t->tiles_n; }
HOST_DEVICE Tile this_tile(const Tiles *t) { return tile_at(t->index, t->tiles_m, t->tiles_n, t->group); }

#endif
