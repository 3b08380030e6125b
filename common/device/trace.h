/* trace.h - records what the warps of a kernel do and when, in a build with -DGEMM_TRACE for a GPU. In every other build
 * TRACED(...) is nothing, and a kernel's instructions are what they are without it (tests/timeline/untraced.t). Included
 * by cuda_c.h in such a build, and by the harness, which allocates the buffer and reads it.
 *
 * Lane 0 of each warp writes records of 16 bytes into its warp's part of a buffer in global memory. When the buffer is
 * full, further records are counted as lost. Times are
 * the low words of the SM's clock; each CTA notes the whole clock64 and globaltimer once, when it starts. */
#ifndef DEVICE_TRACE_H
#define DEVICE_TRACE_H

#include "../harness/trace.h"

/* What is recorded besides the TRACE_ kinds of a warp. TRACE_COPY, TRACE_STORE and TRACE_WGMMA are groups: begin of the
 * first instruction, end of the commit. TRACE_LOAD is the issue of a box; data: the barrier's address. */
enum {
    RECORD_BARRIERS = TRACE_KINDS, /* mbarrier_init: begin and end are the address of a name; number: how many */
    RECORD_EXPECT,                 /* expect_tx on the barrier; number: bytes / 16 */
    RECORD_LANDED,                 /* this thread saw the phase of its loads complete */
};

typedef struct {
    uint32_t begin, end; /* low words of clock64 */
    uint32_t what;       /* kind | number << 8; number: TraceEvent.index, or a tile's row */
    uint32_t data;       /* address of a barrier, or a tile's column */
} TraceRecord;

/* A CTA when it starts. */
typedef struct {
    uint64_t clock, ns; /* clock64, globaltimer; 0 if the CTA has recorded nothing */
    uint32_t sm, unused;
} TraceCta;

/* A warp's span that is still open when it ends, and what it lost. */
typedef struct {
    uint32_t kind, begin, end, lost;
} TraceWarp;

typedef struct {
    TraceRecord *record; /* [CTAs][warps of a CTA][capacity], zero before the launch */
    TraceCta *cta;       /* [CTAs] */
    TraceWarp *warp;     /* [CTAs][warps of a CTA] */
    uint32_t capacity;   /* records of a warp */
    uint32_t launch;     /* another number for each launch */
} TraceBuffers;

/* Host, in the harness: buffers for a launch of `ctas` CTAs of `threads`. Returns 0, or 3 after one line on stderr. */
#ifdef __cplusplus
extern "C"
#endif
int trace_buffers_for(int ctas, int threads, TraceBuffers *buffers);

/* Host, in the harness: called right before the kernel is launched, so that it can be timed without what prepares it. */
#ifdef __cplusplus
extern "C"
#endif
int trace_kernel_follows(void);

#if defined(GEMM_TRACE) && defined(__CUDACC__)

static __constant__ TraceBuffers trace_buffers;

enum { TRACE_MAX_WARPS = 16, TRACE_MAX_LOADS = 8, TRACE_NOTHING = 0xff };

/* A warp's state, in shared memory. */
typedef struct {
    uint32_t launch; /* TraceBuffers.launch, once the rest is set up */
    uint32_t count;  /* records so far */
    uint32_t kind;   /* of the open span, or TRACE_NOTHING */
    uint32_t begin;  /* of the open span */
    uint32_t issued; /* clock of a wgmma_fence(), or of the first store of a group; 0: none */
    uint32_t first, next;            /* loads under way: load[first .. next - 1], modulo the array */
    uint32_t load[TRACE_MAX_LOADS];  /* barrier's address | parity of the phase it is in */
} TraceState;

DEVICE TraceState *trace_state(void) {
    static __shared__ TraceState states[TRACE_MAX_WARPS];
    return &states[threadIdx.x / 32];
}

DEVICE uint32_t trace_clock(void) {
    uint32_t now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

DEVICE int trace_lane(void) { return threadIdx.x % 32 == 0; }

DEVICE size_t trace_warp(void) { return (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; }

/* At the start of a kernel. */
DEVICE void trace_start(void) {
    TraceState *t = trace_state();
    if (trace_lane()) {
        t->launch = trace_buffers.launch;
        t->count = 0;
        t->kind = TRACE_NOTHING;
        t->issued = 0;
        t->first = t->next = 0;
    }
    if (threadIdx.x == 0) {
        TraceCta *cta = &trace_buffers.cta[blockIdx.x];
        uint64_t ns;
        uint32_t sm;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        cta->sm = sm;
        cta->ns = ns;
        cta->clock = (uint64_t)clock64();
    }
}

/* Lane 0. */
DEVICE void trace_write(TraceState *t, uint32_t kind, uint32_t number, uint32_t begin, uint32_t end, uint32_t data) {
    uint32_t i = t->count++;
    if (i < trace_buffers.capacity) {
        uint4 record = {begin, end, kind | number << 8, data};
        *(uint4 *)&trace_buffers.record[trace_warp() * trace_buffers.capacity + i] = record;
    } else {
        trace_buffers.warp[trace_warp()].lost = i + 1 - trace_buffers.capacity;
    }
}

DEVICE int trace_phase_complete(uint32_t address, uint32_t parity) {
    uint32_t complete;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(complete)
                 : "r"(address), "r"(parity)
                 : "memory");
    return (int)complete;
}

/* Lane 0 of the warp that has started loads: note it if the oldest that is under way has landed. Without a loop: this is
 * part of loops that must be unrolled. */
DEVICE void trace_look_at_loads(TraceState *t) {
    if (t->first != t->next) {
        uint32_t load = t->load[t->first % TRACE_MAX_LOADS];
        if (trace_phase_complete(load & ~1u, load & 1)) {
            uint32_t now = trace_clock();
            trace_write(t, RECORD_LANDED, 0, now, now, load & ~1u);
            t->first++;
        }
    }
}

DEVICE void trace_close(TraceState *t, uint32_t now) {
    if (t->kind != TRACE_NOTHING) {
        trace_write(t, t->kind, 0, t->begin, now, 0);
        t->kind = TRACE_NOTHING;
    }
}

/* From now on the warp does `kind`: FRAGMENTS, MMA or EPILOGUE. It ends with the next thing that is recorded. */
DEVICE void trace_enter(uint32_t kind) {
    TraceState *t = trace_state();
    if (trace_lane() && t->kind != kind) {
        uint32_t now = trace_clock();
        trace_close(t, now);
        t->kind = kind;
        t->begin = now;
    }
}

/* The same behind a wait, when no span is open. Little code, for loops that must be unrolled. */
DEVICE void trace_enter_after_wait(uint32_t kind) {
    TraceState *t = trace_state();
    uint32_t now = trace_clock();
    if (trace_lane()) {
        t->begin = t->kind == kind ? t->begin : now;
        t->kind = kind;
    }
}

/* The same in a kernel without shared memory, whose start is not recorded. */
DEVICE void trace_enter_first(uint32_t kind) {
    if (trace_state()->launch != trace_buffers.launch) {
        trace_start();
    }
    trace_enter(kind);
}

/* The open span lasts until now at least: it may be the warp's last. */
DEVICE void trace_go_on(void) {
    TraceState *t = trace_state();
    if (trace_lane()) {
        uint4 open = {t->kind, t->begin, trace_clock(), 0};
        uint4 *warp = (uint4 *)&trace_buffers.warp[trace_warp()];
        open.w = t->count > trace_buffers.capacity ? t->count - trace_buffers.capacity : 0;
        *warp = open;
    }
}

/* Before a wait; gives the time. */
DEVICE uint32_t trace_wait_begin(void) {
    uint32_t now = trace_clock();
    TraceState *t = trace_state();
    if (trace_lane()) {
        trace_close(t, now);
    }
    return now;
}

/* A span from `begin` to now. */
DEVICE void trace_span(uint32_t kind, uint32_t number, uint32_t begin, uint32_t data) {
    uint32_t now = trace_clock();
    TraceState *t = trace_state();
    if (trace_lane()) {
        trace_write(t, kind, number, begin, now, data);
        trace_look_at_loads(t);
    }
}

/* A thread about to wait for a phase watches its loads land until then. */
DEVICE void trace_watch_loads(uint32_t bar, uint32_t parity) {
    TraceState *t = trace_state();
    if (trace_lane()) {
        while (t->first != t->next && !trace_phase_complete(bar, parity)) {
            trace_look_at_loads(t);
        }
    }
}

/* The thread that starts a load; after it. */
DEVICE void trace_load(uint32_t bar) {
    TraceState *t = trace_state();
    if (trace_lane()) {
        uint32_t now = trace_clock();
        trace_write(t, TRACE_LOAD, 0, now, now, bar);
        /* The phase under way is the one whose parity is not complete. */
        uint32_t load = bar | (uint32_t)trace_phase_complete(bar, 0);
        if (t->first == t->next || t->load[(t->next - 1) % TRACE_MAX_LOADS] != load) {
            if (t->next - t->first == TRACE_MAX_LOADS) {
                t->first++; /* this one is not watched: its end is that of the first wait for it */
            }
            t->load[t->next % TRACE_MAX_LOADS] = load;
            t->next++;
        }
    }
}

/* Remember when a group of products or of stores began; the first of the group counts. */
DEVICE void trace_group_begin(void) {
    TraceState *t = trace_state();
    if (trace_lane() && t->issued == 0) {
        t->issued = trace_clock() | 1;
    }
}

/* The group is committed. Without instructions in it, as cp.async groups are recorded, it begins now. */
DEVICE void trace_group(uint32_t kind) {
    TraceState *t = trace_state();
    if (trace_lane()) {
        uint32_t now = trace_clock();
        trace_write(t, kind, 0, t->issued != 0 ? t->issued : now, now, 0);
        t->issued = 0;
    }
}

DEVICE void trace_barriers(uint32_t bars, int how_many, const char *name) {
    if (trace_lane()) {
        trace_write(trace_state(), RECORD_BARRIERS, (uint32_t)how_many, (uint32_t)(uintptr_t)name,
                    (uint32_t)((uintptr_t)name >> 32), bars);
    }
}

/* Every thread of a kernel, where it works out its tile; nothing on the host. */
HOST_DEVICE void trace_tile(int row, int col) {
#ifdef __CUDA_ARCH__
    if (trace_lane()) {
        uint32_t now = trace_clock();
        trace_write(trace_state(), TRACE_TILE, (uint32_t)row, now, now, (uint32_t)col);
    }
#else
    (void)row;
    (void)col;
#endif
}

DEVICE void trace_expect(uint32_t bar, int bytes) {
    if (trace_lane()) {
        uint32_t now = trace_clock();
        trace_write(trace_state(), RECORD_EXPECT, (uint32_t)bytes / 16, now, now, bar);
    }
}

#endif
#endif
