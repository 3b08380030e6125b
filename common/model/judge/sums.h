/* sums.h - which k the sums of a launch have got: for products.c and provenance.c. model_sums() (model_host.h) tells it. */
#ifndef SUMS_H
#define SUMS_H

#include "provenance.h"

/* A product that begins with the elements a and b is added to a tile of the warpgroup's accumulators; the tile ends. */
void sums_tile(const Warpgroup *g, int tile, Tag a, Tag b, int columns, Site site);
void sums_tile_ends(const Warpgroup *g, int tile);
/* ... to the registers of a warp, lane 0's at d. */
void sums_fragment(const Warp *w, const void *d, Tag a, Tag b, Site site);

#endif
