/* sums.h - which k the sums of a launch have got: for products.c. model_sums() (model_host.h) tells it. */
#ifndef SUMS_H
#define SUMS_H

#include "provenance.h"

/* A product that begins with the elements a and b is added to a tile of the warpgroup's accumulators; the tile ends. */
void sums_product(const Warpgroup *g, const Product *product, Tag a, Tag b);
void sums_tile_ends(const Warpgroup *g, int tile);
/* ... to the registers of a warp, lane 0's at d. */
void sums_fragment(const Warp *w, const void *d, Tag a, Tag b, Site site);

#endif
