/* variant_table.h - host: the kernels of a chapter that has several, and what each would cost. */
#ifndef VARIANT_TABLE_H
#define VARIANT_TABLE_H

#include "gemm.h"

/* A row of a chapter's table: kernel, name, and those of the other columns that the chapter uses. */
typedef struct {
    const void *kernel;
    const char *name;
    int bm, bn;                       /* tile of C */
    int cluster;                      /* CTAs in a cluster; 0: launched without any */
    int along_n;                      /* of them side by side in a row of C's tiles */
    int on_sm;                        /* CTAs that fit on an SM, if a table says it */
    int schedule;                     /* who computes what: an enum of the chapter's */
    int group;                        /* tile rows in a group of tiles (tile_order.h) */
    double speed;                     /* of the main loop, relative to the other variants */
    double k_tile_cycles, end_cycles; /* of a k-tile and of a tile's end, as measured */
} Variant;

/* `{VARIANT(kernel, .bm = 128, .bn = 256)}` is a row of the table. */
#define VARIANT(function, ...) VARIANT_OF(KERNEL(function), __VA_ARGS__)
#define VARIANT_OF(...) VARIANT_ROW(__VA_ARGS__)
#define VARIANT_ROW(address, text, ...) .kernel = address, .name = text, __VA_ARGS__

typedef struct Variants {
    const char *chapter;
    const Variant *variant; /* the table */
    int count;
    double (*cost)(const Variant *v, const Gemm *g); /* the least is chosen; INFINITY: it cannot compute this */
} Variants;

#define VARIANTS(name, table, cost) \
    { name, table, sizeof(table) / sizeof *(table), cost }

#endif
