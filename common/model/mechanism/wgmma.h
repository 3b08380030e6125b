/* wgmma.h - products of a warpgroup: issued by its four warps, executed when the schedule says, waited for by groups.
 * What kernels call is in model.h. */
#ifndef MODEL_WGMMA_H
#define MODEL_WGMMA_H

#include "../core/types.h"

enum { ACCUMULATOR_TILES = 8, GROUP_HISTORY = 64, FRAGMENT_BYTES = 16 }; /* of A, a thread */

typedef struct {
    int n;
    MatrixType type;
    int rs; /* A from registers */
    uint64_t a, b;
    int accumulate, a_major, b_major;
    Site site;
    unsigned long long number; /* of the warpgroup's, from 0 */
    unsigned long long group;  /* from 0 */
    uint8_t issued_by;         /* mask of warps */
    struct AccumulatorTile *tile;
    float *a_values;    /* rs: [k][64]; stays with its place among the products */
    struct Clock *base; /* judge/products.c */
    struct {            /* the same: what the first of its warps had executed before it */
        uint32_t fences, waits, order;
    } before;
} Product;

/* 64 x n accumulators of a warpgroup. While products work on it the values are here, and NaN in the registers. */
typedef struct AccumulatorTile {
    float *d[WARPGROUP_SIZE]; /* the threads' registers */
    int n;
    uint8_t taken;           /* mask of warps whose registers are here */
    uint64_t last[4];        /* by warp: 1 + number of its last product on it */
    unsigned long long used; /* 1 + number of the last product, of all warps */
    Site site;               /* of that */
    float *tile;             /* [64][n]; has room for the largest n */
} AccumulatorTile;

/* Of a warpgroup. */
typedef struct WarpgroupProducts {
    Agent agent;
    Warpgroup *warpgroup;
    Product *product;                 /* numbers first .. issued - 1, modulo the capacity, a power of two */
    unsigned long long first, issued; /* oldest not executed; next one of the warp that is furthest */
    uint32_t capacity;
    AccumulatorTile tile[ACCUMULATOR_TILES];
    uint64_t group_end[GROUP_HISTORY]; /* 1 + the last product of a group */
    Thread *waiters;                   /* for other warps to issue their part */
} WarpgroupProducts;

/* Of a warp. */
typedef struct WarpProducts {
    unsigned long long issued;    /* products */
    unsigned long long groups;    /* committed */
    unsigned long long committed; /* products */
    unsigned long long waited;    /* groups that a wait has covered */
} WarpProducts;

static inline Product *product_at(const WarpgroupProducts *p, uint64_t number) {
    return &p->product[number & (p->capacity - 1)];
}

#endif
