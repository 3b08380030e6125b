/* products.h - the rules of ldmatrix, stmatrix, mma.sync and wgmma: operands, registers, groups. All for event.c. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "../core/state.h"

/* Of a CTA, by warp. */
typedef struct CtaProducts {
    struct {
        int touched;       /* accumulators were accessed since the last wgmma.fence, or there was none */
        Site touched_site; /* where; 0: there was no fence yet */
        int loaded;        /* fragments were, by ldmatrix */
        Site site;         /* of the last wgmma */
    } warp[WARP_LIMIT];
} CtaProducts;

void products_cta_begin(Cta *cta);
void products_cta_end(Cta *cta);
void products_returned(Thread *t);

void products_ldmatrix(Warp *w, uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE], int trans, Site site);
void products_stmatrix(Warp *w, void *const row[WARP_SIZE], Site site);
void products_mma(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                  const uint32_t *const b[WARP_SIZE], Site site);

void products_accessed(Thread *t, const void *p, uint32_t size, int write, Site site);
void products_fence(Warp *w);
void products_warp(Warp *w, const Product *wanted);
void products_part(Warp *w, Product *product, const Product *wanted, int first);
void products_unset(Site site);
void products_done(Product *product);
void products_wait(Warp *w, int newest, Site site);

#endif
