/* warp.h - what the 32 threads of a warp execute together: warp-wide instructions, shuffles, ldmatrix, mma.sync.
 * What kernels call is in model.h. */
#ifndef MODEL_WARP_H
#define MODEL_WARP_H

#include "../core/types.h"

/* INSTRUCTION(id, name in reports). */
#define WARP_INSTRUCTIONS(INSTRUCTION)                                 \
    INSTRUCTION(SYNCWARP, "__syncwarp")                                \
    INSTRUCTION(SHUFFLE, "shfl.sync")                                  \
    INSTRUCTION(ELECT, "elect.sync")                                   \
    INSTRUCTION(VOTE, "vote.sync")                                     \
    INSTRUCTION(MATCH, "match.sync")                                   \
    INSTRUCTION(LDMATRIX, "ldmatrix")                                  \
    INSTRUCTION(STMATRIX, "stmatrix")                                  \
    INSTRUCTION(MMA, "mma.sync")                                       \
    INSTRUCTION(SETMAXNREG, "setmaxnreg")                              \
    INSTRUCTION(WGMMA_FENCE, "wgmma.fence")                            \
    INSTRUCTION(WGMMA, "wgmma.mma_async")                              \
    INSTRUCTION(WGMMA_COMMIT, "wgmma.commit_group")                    \
    INSTRUCTION(WGMMA_WAIT, "wgmma.wait_group")                        \
    INSTRUCTION(TCGEN05_ALLOC, "tcgen05.alloc")                        \
    INSTRUCTION(TCGEN05_DEALLOC, "tcgen05.dealloc")                    \
    INSTRUCTION(TCGEN05_RELINQUISH, "tcgen05.relinquish_alloc_permit") \
    INSTRUCTION(TCGEN05_LD, "tcgen05.ld")                              \
    INSTRUCTION(TCGEN05_ST, "tcgen05.st")                              \
    INSTRUCTION(TCGEN05_WAIT_LD, "tcgen05.wait::ld")                   \
    INSTRUCTION(TCGEN05_WAIT_ST, "tcgen05.wait::st")

typedef enum {
#define INSTRUCTION(id, name) WARP_##id,
    WARP_INSTRUCTIONS(INSTRUCTION)
#undef INSTRUCTION
        WARP_INSTRUCTION_COUNT
} WarpInstruction;

static inline const char *warp_instruction_text(WarpInstruction instruction) {
    static const char *const text[] = {
#define INSTRUCTION(id, name) name,
        WARP_INSTRUCTIONS(INSTRUCTION)
#undef INSTRUCTION
    };
    return text[instruction];
}

/* Part of the warp at an instruction with a mask of its own, while others are elsewhere. */
typedef struct {
    WarpInstruction instruction;
    Site site;
    uint32_t mask, arrived;
} WarpPart;

/* The instruction in progress. */
typedef struct WarpCollective {
    WarpInstruction instruction;
    Site site;
    uint32_t mask;    /* who must come */
    uint32_t arrived; /* 0: none is in progress */
    int parts;        /* others in progress, of other masks */
    /* Operands, by lane. */
    const void *pointer[3][WARP_SIZE];
    uint64_t word[2][WARP_SIZE];
    int number[WARP_SIZE];
    uint64_t result[WARP_SIZE];
    WarpPart part[WARP_SIZE];
} WarpCollective;

/* What is in progress: -1 the last one, from 0 the other `parts`. */
static inline WarpPart warp_part(const WarpCollective *m, int i) {
    return i >= 0 ? m->part[i] : (WarpPart){m->instruction, m->site, m->mask, m->arrived};
}

/* The current thread arrives at a warp-wide instruction. Returns 1 in the lane that comes last, once all lanes of
 * `mask` have: it does the work of the warp and then calls warp_go(). In the others it returns 0 after that. For the
 * mechanisms whose instructions are warp-wide. */
int warp_join(Thread *t, WarpInstruction instruction, uint32_t mask, Site site);
void warp_go(Warp *w);

#endif
