/* results.h - what a CTA has multiplied must be read, and go to its own rows and columns of C. */
#ifndef RESULTS_H
#define RESULTS_H

#include "provenance.h"

enum { RESULT_PLACES = 16 };

/* Of a CTA. A result may be stored a tile later than it was computed: the last places are remembered. */
typedef struct CtaResults {
    struct {
        int row, column, rows, columns;
    } place[RESULT_PLACES];
    uint32_t count;                                   /* of all that there were */
    uint32_t staged;                                  /* stmatrix instructions */
    int row_begin, row_end, column_begin, column_end; /* around all fragments that its warps have multiplied */
} CtaResults;

/* For the other judges: a tile of products of rows that begin with the elements a and b of A and B. */
void results_tile(Cta *cta, Tag a, Tag b, int rows, int columns);
void results_fragment(Cta *cta, Tag a, Tag b);
/* stmatrix: the chunk is row `row` of a matrix, whose number is counted by the CTA. */
Tag results_staged(Cta *cta, int matrix, int row);

/* For event.c: an ordinary store to global memory; a TMA store. */
void results_stored(Thread *t, const void *p, uint32_t size, Site site);
void results_tma_store(const TmaCopy *copy);

#endif
