/* beyond.h - what a problem and a chapter's record have beyond the ladder: operands of another kind, packed
 * operands, several GPUs, choices for experiments. Chapters 01 to 08 need none of it; gemm.h only points here. */
#ifndef BEYOND_H
#define BEYOND_H

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"
#include "kinds.h"
#include "tuning.h"
#include "variant_table.h"

/* Of a problem, on the host: a kernel cannot follow these pointers through Gemm.beyond. */
typedef struct Beyond {
    Tuning tuning;             /* for experiments; all zero: the chapter chooses */
    const void *operands;      /* those of the chapter's kind (kinds.h); NULL: Gemm.a and Gemm.b are all */
    const void *prepared;      /* on the device: what prepare() has packed; NULL: nothing */
    const struct Ranks *ranks; /* of a chapter that has several devices, its own; NULL: this device computes all */
} Beyond;

/* How a variant would compute a problem. */
typedef struct {
    int tiles, ctas, stages;
    const char *also; /* what else there is to say, from ", " on; NULL: nothing */
} LaunchPlan;

/* Of a chapter; what is not named is absent. */
typedef struct ChapterBeyond {
    Kind kind;
    int choices; /* what launch() chooses besides the variant: CHOOSES_..., or'ed (tuning.h) */
    /* How launch() would compute a problem with a variant; NULL: a tile at a time, on all SMs. */
    LaunchPlan (*plan)(const Variant *v, const Gemm *problem);
    const struct Devices *devices; /* how it is run on several devices of the model (harness/problem.h); NULL: on one */
    /* Offline packing of operands, once before the launches of a problem, on the host; both NULL: none. prepare()
     * writes prepared_bytes() bytes, a number that depends on sizes and experts alone, to `out`; the harness copies
     * them to where `prepared` will point, 256-byte aligned. It reads what is in host memory, and sees no workspace. */
    size_t (*prepared_bytes)(const Gemm *problem);
    GemmStatus (*prepare)(const Gemm *problem, void *out, GemmError *error);
} ChapterBeyond;

/* Both, where there may be none. */
static inline Beyond beyond_of(const Gemm *problem) {
    Beyond none;
    memset(&none, 0, sizeof none);
    return problem->beyond != NULL ? *problem->beyond : none;
}
static inline ChapterBeyond chapter_beyond(const Chapter *chapter) {
    ChapterBeyond none;
    memset(&none, 0, sizeof none);
    return chapter->beyond != NULL ? *chapter->beyond : none;
}
static inline Kind kind_of(const Chapter *chapter) { return chapter_beyond(chapter).kind; }

#endif
