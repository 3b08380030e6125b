/* model_explain.h - what a launch sets up, written down as the model sees it happen, and the path of one element of C.
 * For --explain (common/harness/explain.c) and its test.
 *
 * Nothing here repeats what a chapter means to do: the facts are the arguments of the calls that it makes, and where an
 * element lies is read off from what it does to that element. */
#ifndef MODEL_EXPLAIN_H
#define MODEL_EXPLAIN_H

#include "place/place.h"

enum {
    FACT_MAPS = 8,
    FACT_BARRIERS = 32,
    FACT_LOADS = 32,
    FACT_PRODUCTS = 256,
    FACT_TILES = 8192,
    FACT_VALUES = 256,
};

/* The barriers of one mbarrier_init(). */
typedef struct {
    char name[32]; /* "full" */
    int count;
    int arrivals;    /* a phase */
    uint32_t offset; /* of the first, in shared memory */
    int bytes;       /* the largest announcement by expect_tx; 0: it counts no bytes */
    Site place;
} BarrierFact;

/* A kind of TMA load: one map, one array of barriers, one place in the source. */
typedef struct {
    Site place;
    char map[16];
    char barrier[32];
    int bytes; /* of one box */
    int multicast;
} LoadFact;

/* A wgmma with descriptors that the warpgroup had not used before. */
typedef struct {
    int warpgroup, n;
    uint64_t a, b;
    MatrixType type;
    int rs; /* A from registers: a means nothing */
    int a_major, b_major;
    Site place;
} ProductFact;

/* Rows of A and of B that a CTA read for one of its tiles, and the first row of a box that it asked for, also where
 * that lies outside of the matrix; last < first: none. Needs one k-tile (K no larger): a thread
 * that reads A again after B has begun another tile. */
typedef struct {
    int cta, number;
    int a_first, a_last, b_first, b_last;
} TileFact;

/* Which thread did something, and where in the source. thread < 0: none was seen. */
typedef struct {
    int cta, thread;
    Site place;
} Doer; /* of 16 bytes or fewer */

/* One operand of the product that was looked for. */
typedef struct {
    int found;
    uint32_t offset;    /* of the element in its CTA's shared memory */
    const char *writer; /* "TMA load", "cp.async", "store": what had written it */
    Doer written;
    /* mma.sync: the ldmatrix that read it, whose address it was, and the lane, register and half that received it. */
    Site ldmatrix;
    int address_lane, lane, reg, half;
    /* wgmma: the descriptor. */
    uint64_t descriptor;
    /* 01: the thread's own load. */
    Doer load;
} OperandFact;

typedef struct ModelObserver {
    /* Set by the caller. */
    const void *a, *b; /* matrices; rows are this many bytes apart: */
    size_t a_row, b_row;
    int a_rows, b_rows;
    int stop_when_stored; /* the launch ends when C[R][C] has been written: the rest of it does not matter */
    int stop_at_tile;     /* the launch ends when all CTAs of a cluster have begun this tile of theirs; 0: at its end */
    /* The address of the element of C. The traced elements of A and B and their values, if all other elements of A and
     * B are 0; a_at NULL: none is traced. The accumulator: its CTA, thread and number; thread < 0: not found yet. */
    const void *a_at, *b_at, *c_at;
    uint16_t a_value, b_value;
    int cta, thread, index;
    float mark; /* that accumulator becomes this after every product, and all others 1; 0: they stay as they are */

    /* The last launch, and how many there were. */
    int launches;
    const char *kernel;
    int grid, block, cluster, shared_bytes, ctas_per_sm;
    const char *shared_file, *shared_type, *shared_variable; /* NULL: it has none */
    TensorMap map[FACT_MAPS];
    int maps;
    BarrierFact barrier[FACT_BARRIERS];
    int barriers;
    LoadFact load[FACT_LOADS];
    int loads;
    ProductFact product[FACT_PRODUCTS];
    int products;
    TileFact tile[FACT_TILES];
    int tiles;
    /* Distance in bytes from the top of the stack to the lowest accumulator and past the highest one, of all threads;
     * 0: no product was seen. The caller sets them for a launch in which the accumulator is known; others find them. */
    size_t low, high;

    /* The traced element. */
    OperandFact operand_a, operand_b;
    int row, column, n; /* of D in its product, m64 x n or m16 x n */
    int product_number; /* of its tile, from 0: k16 step that was looked for */
    int tile_number;    /* of this warpgroup or warp, from 0 */
    Site product_place;
    Doer stored;           /* C[R][C] */
    int store_bytes;       /* by one thread; 0: by a TMA store, from */
    uint32_t store_offset; /* ... here in shared memory, */
    Doer packed;           /* ... where this thread's stmatrix or store put it */
    const char *packer;
    /* The accumulator after its tile's last product, for every tile from the traced product's on. */
    float value[FACT_VALUES];
    int values;
} ModelObserver;

#endif
