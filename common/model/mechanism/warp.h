/* warp.h - what the 32 threads of a warp execute together: warp-wide instructions, shuffles, ldmatrix, mma.sync.
 * What kernels call is in model.h. */
#ifndef MODEL_WARP_H
#define MODEL_WARP_H

#include "../core/types.h"

/* Reports name a warp-wide instruction by the string that its one call of warp_join() passes. Judges and tellers
 * compare that string with the name of the shuffles. */
#define WARP_SHUFFLE "shfl.sync"

/* The lanes of a warp that execute an instruction together: all, or those of a mask, while the others are elsewhere. */
typedef struct {
    const char *instruction;
    Site site;
    uint32_t mask, arrived; /* who must come; who has */
} WarpPart;

typedef struct WarpCollective {
    WarpPart now; /* the instruction in progress; arrived 0: none is */
    int parts;    /* others in progress, of other masks */
    /* Operands, by lane. */
    const void *pointer[3][WARP_SIZE];
    uint64_t word[2][WARP_SIZE];
    int number[WARP_SIZE];
    uint64_t result[WARP_SIZE];
    WarpPart part[WARP_SIZE];
} WarpCollective;

/* What is in progress: -1 the last one, from 0 the other `parts`. */
static inline WarpPart warp_part(const WarpCollective *m, int i) { return i >= 0 ? m->part[i] : m->now; }

/* The current thread arrives at a warp-wide instruction. Returns 1 in the lane that comes last, once all lanes of
 * `mask` have: it does the work of the warp and then calls warp_go(). In the others it returns 0 after that. For the
 * mechanisms whose instructions are warp-wide. */
int warp_join(Thread *t, const char *instruction, uint32_t mask, Site site);
void warp_go(Warp *w);

#endif
