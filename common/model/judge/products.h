/* products.h - the rules of ldmatrix, stmatrix, mma.sync and wgmma: operands, registers, groups. All for event.c. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "../core/state.h"

/* Registers of lane 0 that were written. */
typedef struct {
    uintptr_t begin, end;
    Site site;
} RegisterWrite;
enum { WRITES_KEPT = 16 };

/* A fragment that a product reads from registers. */
typedef struct {
    uintptr_t a[WARP_SIZE]; /* by lane */
    uint64_t number;        /* 1 + the product's */
    Site site;
} FragmentRead;

/* Of a warp. */
typedef struct {
    int touched;       /* accumulators were accessed since the last wgmma.fence, or there was none */
    Site touched_site; /* where; 0: there was no fence yet */
    uint8_t unsettled; /* mask of tiles of accumulators: a product, and no registers_settled() since */
    /* What was written since then, until somebody knows what registers a wgmma uses. */
    RegisterWrite write[WRITES_KEPT];
    int writes, next_write;
    /* Fragments of products that no wait of this warp covers. */
    FragmentRead *fragment;
    int fragments, fragment_capacity;
    /* What it has executed, to be the same in the four warps. */
    uint32_t fences, waits, order;
    Site fence_site, wait_site; /* of the last ones */
    Site site;                  /* of the last wgmma */
} WarpFacts;

/* Of a CTA. */
typedef struct CtaProducts {
    WarpFacts warp[WARP_LIMIT];
} CtaProducts;

void products_cta_begin(Cta *cta);
void products_cta_end(Cta *cta);
void products_returned(Thread *t);

void products_ldmatrix(Warp *w, uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE], int trans, Site site);
void products_stmatrix(Warp *w, const void *const row[WARP_SIZE], Site site);
void products_mma(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                  const uint32_t *const b[WARP_SIZE], Site site);

void products_accessed(Thread *t, const void *p, uint32_t size, int write, Site site);
/* Lane 0 stores to its stack, where registers may be. */
void products_stored(Warp *w, const void *p, uint32_t size, Site site);
void products_fence(Warp *w, Site site);
void products_commit(Warp *w);
void products_warp(Warp *w, const Product *wanted);
void products_part(Warp *w, Product *product, const Product *wanted, int first);
void products_unset(Site site);
void products_done(Product *product);
void products_wait(Warp *w, int newest, Site site);
void products_settled(Thread *t, const float *d, int count);
void products_waited(Warp *w, uint64_t done);

#endif
