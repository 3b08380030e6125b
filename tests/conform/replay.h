/* replay.h - between replay.c, which is ordinary C, and replay_kernels.c, which is compiled as chapters are for the
 * model. */
#ifndef CONFORM_REPLAY_H
#define CONFORM_REPLAY_H

#include <stdint.h>

#include "cases.h"
#include "vectors.h"

enum { REPLAY_WORDS = 1 << 16 };

/* What the model makes of a case. */
typedef struct {
    CaseStatus status;
    int count;
    uint16_t words[REPLAY_WORDS];
    char note[400]; /* empty, or what the model reported */
} Outcome;

/* Groups mbarrier, barrier and setmaxnreg: the model runs the kernels of kernels.h. */
void replay_kernel(Group group, int i, Outcome *out);

#endif
