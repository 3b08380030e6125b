/* model_trace.h - the events of the last launch with ModelOptions.trace, for whoever draws them. */
#ifndef MODEL_TRACE_H
#define MODEL_TRACE_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    TRACE_BARRIER,    /* a warp waits at __syncthreads() or a numbered barrier; index: its number */
    TRACE_WAIT,       /* a warp waits for an mbarrier; name: the barrier */
    TRACE_COPY_WAIT,  /* a warp waits for cp.async groups */
    TRACE_FRAGMENTS,  /* a warp loads fragments (ldmatrix) */
    TRACE_MMA,        /* a warp multiplies (mma.sync) */
    TRACE_WGMMA_WAIT, /* a warp waits for wgmma groups */
    TRACE_STORE_WAIT, /* a warp waits for bulk stores */
    TRACE_LOAD,       /* the copy engine brings a box; name: its barrier */
    TRACE_STORE,      /* the copy engine takes a box away */
    TRACE_WGMMA,      /* the tensor cores work on a wgmma group; index: its number */
} ModelTraceKind;

typedef struct {
    uint64_t begin, end; /* steps */
    int cta;             /* block index */
    int warp;            /* -1 for asynchronous work */
    int unit;            /* asynchronous: warpgroup of a wgmma, 0 else */
    int index;
    ModelTraceKind kind;
    char name[24];
} ModelTraceEvent;

/* Number of events, and the array; valid until the next launch. */
size_t model_trace_events(const ModelTraceEvent **events);

#endif
