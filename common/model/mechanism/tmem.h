/* tmem.h - tensor memory of a CTA, and the instructions that reach it: tcgen05, for cta_group::1 and kind f16. What kernels call is in
 * model.h. */
#ifndef MODEL_TMEM_H
#define MODEL_TMEM_H

#include "../core/types.h"
#include "../data/tcgen05.h"

typedef struct {
    Thread *thread;
    uint32_t d; /* an address in tensor memory */
    uint64_t a, b;
    Tcgen05Shape shape;
    int accumulate;
    Site site;
} TmemProduct;

/* Of a CTA. */
typedef struct CtaTmem {
    uint32_t *word;               /* [TMEM_LANES][TMEM_COLUMNS]; NULL: nothing has been allocated yet */
    int allocated[TMEM_COLUMNS];  /* columns of the allocation that begins here */
    uint8_t taken[TMEM_COLUMNS];  /* by an allocation */
    struct TmemLoad *loads;       /* whose registers no wait has given their values yet */
    struct TmemWork *work, *last; /* products and commits, in the order of their issue */
    Agent agent;                  /* does them */
    Cta *cta;
} CtaTmem;

/* model.c: a CTA begins; it ends. */
void tmem_begin(Cta *cta);
void tmem_free(Cta *cta);

#endif
