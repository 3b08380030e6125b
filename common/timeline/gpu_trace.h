/* gpu_trace.h - what a traced kernel (record.h) leaves in the GPU's memory, and how it becomes events. Plain C:
 * tests/unit feeds the decoder with records made by hand. */
#ifndef GPU_TRACE_H
#define GPU_TRACE_H

#include "../device/cuda_c.h"
#include "../device/status.h"
#include "../model/model_trace.h"

/* A record is mostly an event of model_trace.h with the same kind and index. Others are:
 *
 * TRACE_COPY                the commit of a group of cp.async; when it landed is not known yet
 * TRACE_STORE               a group of bulk stores, from its first instruction to its commit; likewise
 * TRACE_LOAD                the issue of the first box of a phase; data: the barrier's address, number: bytes / 16 that
 *                           were announced for the phase
 * TRACE_WGMMA_WAIT          the wait, and the group of wgmma committed before it. data: the group's begin, 0 if there
 *                           is none. number: groups that may be unfinished, and above RECORD_PRODUCTS bits the sum
 *                           of the group's N, which says how long the tensor cores need for it
 * TRACE_WGMMA               a group without a wait after its commit; number: the sum of its N
 *
 * and the RECORD_ kinds. */
enum {
    RECORD_BARRIERS = TRACE_KINDS, /* mbarrier_init: begin and end are the address of a name; number: how many */
    RECORD_LANDED,                 /* this thread saw its loads of a phase landed; data: the barrier's address */
    RECORD_PRODUCTS = 4,           /* bits of a TRACE_WGMMA_WAIT's number that count groups */
};

typedef struct {
    uint32_t begin, end; /* low words of clock64; end 0: nothing has been written here */
    uint32_t what;       /* kind | number << 8; number: TraceEvent.index, or a tile's row */
    uint32_t data;       /* address of a barrier, or a tile's column */
} TraceRecord;

/* Behind a warp's records: its last span, which nothing has closed (trace_go_on()), and, once the warp has run out of
 * room, where its next record would be. */
typedef struct {
    uint32_t begin, end, kind; /* end 0: no such span */
    uint32_t past;             /* in bytes from the first record of the launch; 0 if all had room */
} TraceTail;

/* A CTA when it starts. */
typedef struct {
    uint64_t clock, ns; /* clock64, globaltimer; 0 if the CTA has recorded nothing */
    uint32_t sm, unused;
} TraceCta;

typedef struct {
    TraceRecord *record; /* [CTAs][warps of a CTA][records], the last one a TraceTail; zero before the launch */
    TraceCta *cta;       /* [CTAs] */
    uint32_t tail;       /* (records - 1) * 16: from a warp's first record to its tail, in bytes */
} TraceBuffers;

/* What one CTA has recorded. */
typedef struct {
    int first_cta;             /* TraceLaunch.first_cta of its launch */
    int block;                 /* its index */
    int warps;                 /* at most TRACE_CTA_WARPS */
    int room;                  /* records of a warp and its tail */
    const TraceCta *cta;       /* its start */
    const TraceRecord *record; /* [warps][room], the last one a TraceTail; one whose end is 0 ends a warp's */
    /* The text at an address in the GPU's memory, where a barrier array's name lies. */
    void (*read_text)(uint64_t address, char *text, size_t size);
} CtaRecords;

enum { TRACE_CTA_WARPS = 32 };

#ifdef __cplusplus
extern "C" {
#endif

/* realloc(); without memory the program ends, with a line on stderr and the status GEMM_DEVICE. */
void *trace_memory(void *old, size_t bytes);
/* Adds an event, in memory of trace_memory(); returns where it is until the next one is added. */
TraceEvent *trace_add(Trace *trace, TraceEvent event);

/* Adds the CTA's events to the trace and its losses to trace->lost. */
void trace_add_cta(Trace *trace, const CtaRecords *records);

/* When all CTAs of one SM are in: gives each TRACE_WGMMA the time in which the tensor cores worked on it. Known are
 * its issue and a time when it was finished; the wait that says so may have come late. So: the groups of an SM run
 * one after the other in the order of their issue; a group that somebody really waited for ends with that wait, any
 * other after as many cycles as its products need at 2048 multiply-adds a cycle. */
void trace_place_products(Trace *trace);

/* In gpu_recorder.cu, called by the harness. What launches on `stream` record between recorder_begin() and
 * recorder_end() becomes the trace: the events of the SM where CTA 0 ran, of the launch with the fewest CTAs. */
void recorder_open(Stream stream);
/* Each returns GEMM_OK, or GEMM_DEVICE after one line on stderr. */
GemmStatus recorder_begin(void);
GemmStatus recorder_end(Trace *trace);
void recorder_close(void);

/* Called by every launch of a traced kernel; the program that links one provides it (gpu_recorder.cu). Buffers for a
 * launch of `ctas` CTAs of `threads`, of the kernel `name`. GEMM_DEVICE after one line on stderr. */
GemmStatus trace_buffers_for(const char *name, int ctas, int threads, TraceBuffers *buffers);

#ifdef __cplusplus
}
#endif
#endif
