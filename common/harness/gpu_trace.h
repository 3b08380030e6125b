/* gpu_trace.h - from what a traced kernel has recorded (device/trace.h) to events (trace.h). Plain C: tests/unit feeds it
 * with records made by hand. */
#ifndef GPU_TRACE_H
#define GPU_TRACE_H

#include "../device/trace.h"

/* What one CTA has recorded. */
typedef struct {
    int block;                 /* its index */
    int warps;                 /* at most TRACE_CTA_WARPS */
    int room;                  /* records of a warp and its tail */
    const TraceCta *cta;       /* its start */
    const TraceRecord *record; /* [warps][room], the last one a TraceTail; one whose end is 0 ends a warp's */
    /* The text at an address in the GPU's memory, where a barrier array's name lies. */
    void (*read_text)(uint64_t address, char *text, size_t size);
} CtaRecords;

enum { TRACE_CTA_WARPS = 32 };

/* Adds the CTA's events to the trace and its losses to trace->lost. Returns 0, or 3 after one line on stderr if memory is
 * short. */
#ifdef __cplusplus
extern "C"
#endif
    int
    trace_add_cta(Trace *trace, const CtaRecords *records);

/* When all CTAs of one SM are in: gives each TRACE_WGMMA the time in which the tensor cores worked on it. Known are its
 * issue and a time when it was finished; the wait that says so may have come late. So: the groups of an SM run one after
 * the other in the order of their issue; a group that somebody really waited for ends with that wait, any other after as
 * many cycles as its products need at 2048 multiply-adds a cycle. Returns as above. */
#ifdef __cplusplus
extern "C"
#endif
    int
    trace_place_products(Trace *trace);

#endif
