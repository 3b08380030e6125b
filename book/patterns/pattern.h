/* pattern.h - what the programs in memory_model.md and you_know_syncthreads.md share. Each moves `in` to `out` by one
 * way of handing data over. What stands there alone is a kernel's body, with PatternShared as its `s`.
 *
 * A program is compiled once for each of its lines that can be taken out, with WITHOUT the number of that line, and
 * once with WITHOUT 0, as it should be. */
#ifndef PATTERN_H
#define PATTERN_H

#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/bulk_copy.h"
#include "../../common/device/cluster.h"
#include "../../common/device/cp_async.h"
#include "../../common/device/global_atomic.h"
#include "../../common/device/grid.h"
#include "../../common/device/mbarrier.h"

/* A CTA is two warps. In each round one of them hands 32 ints, one a lane, to the other, or to another CTA's. */
enum { LANES = 32, ROUNDS = 8, ITEMS = ROUNDS * LANES, THREADS = 2 * LANES };

typedef struct {
    const int *in; /* `ctas` times ITEMS, different numbers in each launch */
    int *out;      /* must become equal to `in`; -1 when the launch begins */
    int *between;  /* as large; has what the previous launch left there */
    int *words;    /* one for each CTA, 0 when the launch begins */
    int ctas;      /* even, and all on the SMs at once */
} Params;

typedef struct {
    int box[ITEMS], negative[ITEMS];
    int header, last;
    MBarrier full, empty, copied, stored;
} PatternShared;

/* LINE is a line that a build can leave out; INSTEAD is what that build has in another place. */
#define LINE(number, ...)          \
    do {                           \
        if (WITHOUT != (number)) { \
            __VA_ARGS__;           \
        }                          \
    } while (0)
#define INSTEAD(number, ...)       \
    do {                           \
        if (WITHOUT == (number)) { \
            __VA_ARGS__;           \
        }                          \
    } while (0)

#if defined(__CUDACC__) || defined(GEMM_MODEL)

DEVICE int lane(void) { return (int)threadIdx.x % LANES; }
DEVICE int is_writer(void) { return threadIdx.x < LANES; }  /* warp 0 */
DEVICE int is_reader(void) { return threadIdx.x >= LANES; } /* warp 1 */
/* The place of a CTA's round in `in`, `out` and `between`. */
DEVICE int place(int cta, int round) { return (cta * ROUNDS + round) * LANES; }
/* The CTA with which this one exchanges data. */
DEVICE int neighbour(void) { return (int)blockIdx.x ^ 1; }

#endif

#ifdef __CUDACC__
#define PATTERN_OF(name) extern "C" GemmStatus name(const Params *p, Stream stream)
#else
#define PATTERN_OF(name) GemmStatus name(const Params *p, Stream stream)
#endif
#define PATTERN_FUNCTION PATTERN_OF(PATTERN_NAME)

/* Behind the kernel: the host's part, and what the launch has beyond its CTAs of THREADS. */
#define PATTERN(kernel, ...)                                                  \
    KERNEL_ENTRY(kernel, Params);                                             \
    PATTERN_FUNCTION;                                                         \
    PATTERN_FUNCTION {                                                        \
        LaunchShape shape = {.grid = p->ctas, .block = THREADS, __VA_ARGS__}; \
        return launch_kernel(KERNEL(kernel), shape, p, stream, NULL);         \
    }

#ifdef PATTERN_RUN /* the name of the function for a program and a line; programs that run all patterns define it */
typedef struct {
    const char *name;
    int without;
    GemmStatus (*run)(const Params *p, Stream stream);
} Pattern;

#define EACH_PATTERN(name, line) PATTERN_OF(PATTERN_RUN(name, line));
#include "patterns.inc"
#undef EACH_PATTERN
#define EACH_PATTERN(name, line) {#name, line, PATTERN_RUN(name, line)},
static const Pattern patterns[] = {
#include "patterns.inc"
};
enum { PATTERNS = sizeof patterns / sizeof patterns[0] };
#endif

#endif
