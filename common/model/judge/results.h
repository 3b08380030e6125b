/* results.h - what becomes of products: a CTA's results must go to its own rows and columns of C (results.c), and of
 * each sum it is known which k it has got twice (sums.c; model_sums() of model_host.h tells it). */
#ifndef RESULTS_H
#define RESULTS_H

#include "provenance.h"

enum { RESULT_PLACES = 8 };

/* The last tiles of a warpgroup: a result may be stored a few tiles later than it was computed. */
typedef struct {
    struct {
        int row, column, rows, columns;
    } place[RESULT_PLACES];
    uint32_t count; /* of all that there were */
} WarpgroupResults;

/* Of a CTA. */
typedef struct CtaResults {
    WarpgroupResults warpgroup[WARPGROUP_LIMIT];
    int row_begin, row_end, column_begin, column_end; /* around all fragments that its warps have multiplied */
    int any;                                          /* tiles or fragments of known origin */
    int unknown;                                      /* operands of unknown origin: nothing is asked */
    uint32_t staged;                                  /* stmatrix instructions */
} CtaResults;

/* For the other judges: a tile of products of rows that begin with the elements a and b of A and B. */
void results_tile(Warpgroup *g, Tag a, Tag b, int rows, int columns);
void results_fragment(Cta *cta, Tag a, Tag b);
/* stmatrix: the chunk is row `row` of a matrix, whose number is counted by the CTA. */
Tag results_staged(Cta *cta, int matrix, int row);

/* For transfers.c: a TMA store whose operands are sound. */
void results_tma_store(const TmaCopy *copy);

/* For products.c: a product of rows that begin with the elements a and b. */
void sums_product(Tag a, Tag b, int rows, int columns, Site site);

#endif
