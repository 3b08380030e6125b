/* tmem.h - tensor memory of a CTA, and tcgen05, which reaches it, for a CTA and for pairs. Kernels call model.h. */
#ifndef MODEL_TMEM_H
#define MODEL_TMEM_H

#include "../core/types.h"
#include "../data/tcgen05.h"

/* tcgen05.mma; d and the scales are addresses in tensor memory. */
typedef struct {
    Thread *thread;
    uint32_t d;
    uint64_t a, b; /* descriptors */
    uint32_t a_scales, b_scales;
    Tcgen05Shape shape;
    int accumulate;
    Site site;
} TmemProduct;

typedef struct {
    Thread *thread;
    uint32_t to;
    uint64_t from; /* descriptor */
    int pair;
    Site site;
} TmemCopy;

typedef enum { PAIR_ALLOC, PAIR_DEALLOC, PAIR_STEPS } TmemPairStep;

/* Of a CTA. */
typedef struct CtaTmem {
    uint32_t *word;              /* [TMEM_LANES][TMEM_COLUMNS]; NULL: nothing has been allocated yet */
    int allocated[TMEM_COLUMNS]; /* columns of the allocation that begins here */
    uint8_t taken[TMEM_COLUMNS]; /* by an allocation */
    struct {                   /* cta_group::2: how often a warp of the CTA has come, how many columns it wanted last */
        int times, columns[2]; /* of the last two */
    } asked[PAIR_STEPS];
    Thread *waiting;              /* for the other CTA of the pair to come */
    struct TmemLoad *loads;       /* whose registers no wait has given their values yet */
    struct TmemWork *work, *last; /* products, copies and commits, in the order of their issue */
    Agent agent;                  /* does them */
    Cta *cta;
} CtaTmem;

/* model.c: a CTA ends. */
void tmem_free(Cta *cta);

#endif
