/* model_trace.h - what happened in a launch, or in several: the events that the model and a GPU record for
 * a timeline, and those of the model's launches with ModelOptions.trace. Also for CUDA C++. */
#ifndef MODEL_TRACE_H
#define MODEL_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* What a warp does or waits for, one kind at a time, and asynchronous work, of which a unit may do several pieces at
 * once. The drawer has the same list, with names (timeline/events.pl). */
typedef enum {
    TRACE_BARRIER,   /* a warp waits at __syncthreads() or a named barrier; index: its number */
    TRACE_WAIT,      /* a warp waits for an mbarrier; name, stage; index: the parity it waits for */
    TRACE_COPY_WAIT, /* a warp waits for cp.async groups, on the model for ordinary loads too; index: groups that may be
                         unfinished */
    TRACE_FRAGMENTS, /* a warp loads fragments (ldmatrix), to the first mma that uses them */
    TRACE_MMA,       /* a warp issues mma.sync; on 01: multiplies in its FMA units */
    TRACE_WGMMA_WAIT, /* a warp waits for wgmma groups; index: groups that may be unfinished */
    TRACE_STORE_WAIT, /* a warp waits for bulk stores; index: groups that may be unfinished */
    TRACE_EXP2,       /* a warp computes exponentials, with the instructions between them */
    TRACE_EPILOGUE,   /* a warp converts and stores its accumulators */
    TRACE_TILE,       /* a warp takes a tile of C; begin = end; row, col: the tile's */
    TRACE_CTA,        /* asynchronous: the CTA's life, from its first event to its last */
    TRACE_COPY,       /* asynchronous: a warp's cp.async group, from its commit to the wait that saw it land; index: its
                         number in this warp; unit: the warp. On the model, in 02, its ordinary loads of a k-tile too */
    TRACE_LOAD,       /* asynchronous: the copy engine brings a box, on a GPU all boxes of a phase; name, stage: its
                         barrier; bytes */
    TRACE_STORE,      /* asynchronous: the copy engine stores a group of boxes; index: its number; unit: the warp */
    TRACE_WGMMA,      /* asynchronous: the tensor cores work on a wgmma group; index: its number; unit: warpgroup */
    TRACE_KINDS
} TraceKind;

typedef struct {
    uint64_t begin, end; /* in the trace's unit */
    int cta;             /* block index; of several launches, counted on from the previous launch */
    int sm;              /* the SM it ran on; on the model the one that was free first */
    int warp;            /* in its CTA; -1 for asynchronous work */
    int unit;            /* asynchronous: see the kinds; otherwise 0 */
    int index;           /* see the kinds */
    int stage;           /* of a barrier: its place in its array, -1 if it has none */
    int bytes;           /* of a load */
    int row, col;        /* of a tile */
    TraceKind kind;
    char name[24]; /* of a barrier: "full", "empty", "turn" */
} TraceEvent;

enum { MAX_TRACE_LAUNCHES = 8 };

typedef struct {
    char name[48];       /* of its kernel */
    int first_cta, ctas; /* TraceEvent.cta is first_cta + the block's index */
} TraceLaunch;

typedef struct {
    TraceEvent *event; /* in no order */
    size_t count;
    TraceLaunch launch[MAX_TRACE_LAUNCHES]; /* in their order */
    int launches;                           /* 0: one, of which no more is known */
    int ctas;                               /* of all launches */
    uint64_t lost;                          /* events for which there was no space */
    const char *unit;                       /* "cycles" of one SM's clock, or the model's "steps" */
    double units_a_second;                  /* 0 on the model: its steps are no time */
    char source[96];                        /* "NVIDIA H200" or "CPU model" */
} Trace;

/* Of the model's launches since model_configure(); launches beyond MAX_TRACE_LAUNCHES count as the last. Its events are
 * valid until the next launch. */
const Trace *model_trace(void);

#endif
