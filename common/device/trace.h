/* trace.h - records what the warps of a kernel do and when, in a GPU build with -DGEMM_TRACE. In every other build
 * TRACED(...) is nothing, and a kernel's instructions are what they are without it (tests/timeline/untraced.t).
 * Included by cuda_c.h in such a build, and by the harness, which allocates the buffer and reads it.
 *
 * The headers of this directory call the functions below from their own: a wait before and after, an ldmatrix, an
 * mma.sync, a commit. Lane 0 of each warp writes records of 16 bytes into its warp's part of a buffer in global memory,
 * mostly one for each span of time. When that part is full, further records are counted as lost. Times are the low
 * words of the SM's clock; each CTA notes the whole clock64 and globaltimer once, when it starts. gpu_trace.c makes
 * events of the records.
 *
 * Recording must cost little where every cycle counts. So a thread's state (where the next record goes, what span is
 * open) is in PTX registers. trace_start() declares them by name at the kernel's start, and the other functions use the
 * names: that works because everything is inlined into the kernel, in whose scope they are. Writing a record is then
 * about ten instructions without a branch.
 *
 * A span is open from trace_enter(), or the first instruction of a batch, until something else is recorded; while it is
 * open, trace_kind is its kind and trace_begin its begin. A wait is no such span: it is written whole when it ends. */
#ifndef DEVICE_TRACE_H
#define DEVICE_TRACE_H

#include "../harness/trace.h"

/* A record is mostly an event of ../harness/trace.h with the same kind and index. Others are:
 *
 * TRACE_COPY                the commit of a group of cp.async; when it landed is not known yet
 * TRACE_STORE               a group of bulk stores, from its first instruction to its commit; likewise
 * TRACE_LOAD                the issue of the first box of a phase; data: the barrier's address, number: bytes / 16 that
 *                           were announced for the phase
 * TRACE_WGMMA_WAIT          the wait, and the group of wgmma committed before it. data: the group's begin, 0 if there
 *                           is none. number: groups that may be unfinished, and above RECORD_PRODUCTS bits the sum
 *                           of the group's N, which says how long the tensor cores need for it
 * TRACE_WGMMA               a group without a wait behind its commit; number: the sum of its N
 *
 * and the RECORD_ kinds. */
enum {
    RECORD_BARRIERS = TRACE_KINDS, /* mbarrier_init: begin and end are the address of a name; number: how many */
    RECORD_LANDED,                 /* this thread saw its loads of a phase landed; data: the barrier's address */
    RECORD_NOTHING = 0xff,         /* as the kind of an open span: none */
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

/* Host, in the harness: buffers for a launch of `ctas` CTAs of `threads`. Returns 0, or 3 after one line on stderr. */
#ifdef __cplusplus
extern "C"
#endif
    int
    trace_buffers_for(int ctas, int threads, TraceBuffers *buffers);

/* Host, in the harness: called right before the kernel is launched, so that it can be timed without what prepares it.
 * Returns as above. */
#ifdef __cplusplus
extern "C"
#endif
    int
    trace_kernel_follows(void);

#if defined(GEMM_TRACE) && defined(__CUDACC__)

static __constant__ TraceBuffers trace_buffers;

DEVICE uint32_t trace_clock(void) {
    uint32_t now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

/* At the start of a kernel, once. */
DEVICE void trace_start(void) {
    uint32_t warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    asm volatile(".reg .pred trace_on;\n"               /* lane 0 of the warp */
                 ".reg .u32 trace_at, trace_tail;\n"    /* next record and tail, bytes from the first of all */
                 ".reg .u32 trace_kind, trace_begin;\n" /* of the open span; 255 and 0 if there is none */
                 ".reg .u32 trace_fragments;\n"         /* when the last batch of ldmatrix began */
                 ".reg .u32 trace_group;\n"             /* begin of the group of products since the last wait */
                 ".reg .u32 trace_products;\n"          /* ... and the sum of their N */
                 ".reg .u32 trace_bytes;\n"             /* announced for the loads that follow, / 16 << 8 */
                 ".reg .u32 trace_parity;\n"            /* of each barrier's next phase that this thread announces */
                 ".reg .u64 trace_loads;\n"             /* under way, see trace_look_at_loads() */
                 "setp.eq.u32 trace_on, %2, 0;\n"
                 "mov.u32 trace_at, %0;\n"
                 "add.u32 trace_tail, trace_at, %1;\n"
                 "mov.u32 trace_kind, 255;\n"
                 "mov.u32 trace_begin, %%clock;\n"
                 "mov.u32 trace_fragments, 0;\n"
                 "mov.u32 trace_group, 0;\n"
                 "mov.u32 trace_products, 0;\n"
                 "mov.u32 trace_bytes, 0;\n"
                 "mov.u32 trace_parity, 0;\n"
                 "mov.u64 trace_loads, 0;\n" ::"r"(warp * (trace_buffers.tail + 16)),
                 "r"(trace_buffers.tail), "r"(threadIdx.x % 32)
                 : "memory");
    if (threadIdx.x == 0) {
        TraceCta *cta = &trace_buffers.cta[blockIdx.x];
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(cta->ns));
        asm volatile("mov.u32 %0, %%smid;" : "=r"(cta->sm));
        cta->clock = (uint64_t)clock64();
    }
}

/* The instructions that write a record of four operands where predicate `on` holds. buffer: the operand TRACE_BUFFER.
 * Without branches: a thread that writes nothing runs through them. Without room, it is the tail's `past` that is
 * written. */
#define TRACE_STORE_RECORD(buffer, on, begin, end, what, data)                      \
    "{\n"                                                                           \
    ".reg .pred room, full;\n"                                                      \
    ".reg .u32 offset;\n"                                                           \
    ".reg .u64 address;\n"                                                          \
    "setp.lt.and.u32 room, trace_at, trace_tail, " on ";\n"                         \
    "setp.ge.and.u32 full, trace_at, trace_tail, " on ";\n"                         \
    "min.u32 offset, trace_at, trace_tail;\n"                                       \
    "cvt.u64.u32 address, offset;\n"                                                \
    "add.u64 address, address, " buffer ";\n"                                       \
    "@" on " add.u32 trace_at, trace_at, 16;\n"                                     \
    "@room st.global.v4.u32 [address], {" begin ", " end ", " what ", " data "};\n" \
    "@full st.global.u32 [address + 12], trace_at;\n"                               \
    "}\n"
#define TRACE_BUFFER "l"(__cvta_generic_to_global(trace_buffers.record))

/* what: kind | number << 8 */
DEVICE void trace_write(uint32_t what, uint32_t begin, uint32_t end, uint32_t data) {
    asm volatile(TRACE_STORE_RECORD("%0", "trace_on", "%1", "%2", "%3", "%4")::TRACE_BUFFER, "r"(begin), "r"(end),
                 "r"(what), "r"(data)
                 : "memory");
}

/* From now on the warp does `kind`: opens a span, and writes the one that was open. Nothing if this kind is open
 * already. A group of stores is such a span too, from its first instruction to its commit. ptxas mostly knows what span
 * is open, and removes the rest. */
#define trace_enter(kind)                                                                                       \
    asm volatile("{\n"                                                                                          \
                 ".reg .pred same, none;\n"                                                                     \
                 ".reg .u32 now;\n"                                                                             \
                 "setp.eq.u32 same, trace_kind, %1;\n"                                                          \
                 "@same bra entered;\n"                                                                         \
                 "mov.u32 now, %%clock;\n"                                                                      \
                 "setp.eq.u32 none, trace_kind, 255;\n"                                                         \
                 "@none bra closed;\n" TRACE_STORE_RECORD("%0", "trace_on", "trace_begin", "now", "trace_kind", \
                                                          "0") "closed:\n"                                      \
                                                               "mov.u32 trace_begin, now;\n"                    \
                                                               "entered:\n"                                     \
                                                               "mov.u32 trace_kind, %1;\n"                      \
                                                               "}\n" ::TRACE_BUFFER,                            \
                 "n"((int)(kind))                                                                               \
                 : "memory")

/* Writes the open span, if there is one, and gives the time: before a wait, or at the commit of a group. */
DEVICE uint32_t trace_close(void) {
    uint32_t now = trace_clock();
    asm volatile("{\n"
                 ".reg .pred none;\n"
                 "setp.eq.u32 none, trace_kind, 255;\n"
                 "@none bra closed;\n" TRACE_STORE_RECORD("%0", "trace_on", "trace_begin", "%1", "trace_kind",
                                                          "0") "closed:\n"
                                                               "mov.u32 trace_kind, 255;\n"
                                                               "mov.u32 trace_begin, 0;\n"
                                                               "}\n" ::TRACE_BUFFER,
                 "r"(now)
                 : "memory");
    return now;
}

/* The open span lasts until now at least. It may be the warp's last, with nothing behind it that would write it: so it
 * goes into the tail, over and over. */
DEVICE void trace_go_on(void) {
    asm volatile("{\n"
                 ".reg .u32 now;\n"
                 ".reg .u64 address;\n"
                 "mov.u32 now, %%clock;\n"
                 "cvt.u64.u32 address, trace_tail;\n"
                 "add.u64 address, address, %0;\n"
                 "@trace_on st.global.v2.u32 [address], {trace_begin, now};\n"
                 "@trace_on st.global.u32 [address + 8], trace_kind;\n"
                 "}\n" ::TRACE_BUFFER
                 : "memory");
}

/* Fragments and products come in batches: many ldmatrix, then many mma.sync. The first ldmatrix of a batch notes the
 * time in trace_fragments. The first mma.sync behind them writes two records: the products before those ldmatrix, which
 * were the open span, and the fragments, from the noted time until now. Then it opens the span of the products that
 * begin. In code without branches ptxas knows trace_kind, and nothing of this is left but at the first of each batch.
 * So trace_kind is set in every call, though it would not have to be. */
DEVICE void trace_ldmatrix(void) {
    asm volatile("{\n"
                 ".reg .pred first;\n"
                 "setp.ne.u32 first, trace_kind, %0;\n"
                 "@first mov.u32 trace_fragments, %%clock;\n"
                 "mov.u32 trace_kind, %0;\n"
                 "}\n" ::"n"((int)TRACE_FRAGMENTS)
                 : "memory");
}

/* After an mma.sync, which is issued when its fragments are there. batch: this is the first one behind ldmatrix; open:
 * there were products before. */
DEVICE void trace_mma(void) {
    asm volatile(
        "{\n"
        ".reg .pred same, batch, open;\n"
        ".reg .u32 now;\n"
        "setp.eq.u32 same, trace_kind, %1;\n"
        "@same bra done;\n"
        "mov.u32 now, %%clock;\n"
        "setp.eq.and.u32 batch, trace_kind, %2, trace_on;\n"
        "setp.ne.and.u32 open, trace_begin, 0, batch;\n" TRACE_STORE_RECORD("%0", "open", "trace_begin",
                                                                            "trace_fragments", "%1", "0")
            TRACE_STORE_RECORD("%0", "batch", "trace_fragments", "now", "%2", "0") "mov.u32 trace_begin, now;\n"
                                                                                   "done:\n"
                                                                                   "mov.u32 trace_kind, %1;\n"
                                                                                   "}\n" ::TRACE_BUFFER,
        "n"((int)TRACE_MMA), "n"((int)TRACE_FRAGMENTS)
        : "memory");
}

/* When loads land, nobody is told but who waits for them, perhaps much later. So the thread that has started them looks
 * now and then. trace_loads holds up to four phases whose loads it has started and not seen land, the oldest in the
 * lowest 16 bits: its barrier's address / 8 << 1 | its parity, 0 if there is none. A fifth is not watched: its loads
 * end with the first wait for it. In registers, because shared memory answers late while wgmma reads it. */
DEVICE uint64_t trace_loads_under_way(void) {
    uint64_t loads;
    asm volatile("mov.u64 %0, trace_loads;" : "=l"(loads)::"memory");
    return loads;
}

DEVICE void trace_set_loads(uint64_t loads) { asm volatile("mov.u64 trace_loads, %0;" ::"l"(loads) : "memory"); }

DEVICE uint32_t trace_phase_complete(uint32_t address, uint32_t parity) {
    uint32_t complete;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(complete)
                 : "r"(address), "r"(parity)
                 : "memory");
    return complete;
}

/* Writes a record if the oldest load under way has landed: loads are taken to land in the order of their start. Without
 * a loop, as it is called in loops that must be unrolled. */
DEVICE void trace_look_at_loads(void) {
    uint64_t loads = trace_loads_under_way();
    if (loads != 0) {
        uint32_t address = ((uint32_t)loads & 0xfffe) << 2;
        if (trace_phase_complete(address, (uint32_t)loads & 1)) {
            uint32_t now = trace_clock();
            trace_write(RECORD_LANDED, now, now, address);
            trace_set_loads(loads >> 16);
        }
    }
}

/* A thread about to wait for a phase watches its loads land until then. Returns 1 if the phase is complete. */
DEVICE int trace_watch_loads(uint32_t bar, uint32_t parity) {
    while (trace_loads_under_way() != 0) {
        if (trace_phase_complete(bar, parity)) {
            return 1;
        }
        trace_look_at_loads();
    }
    return 0;
}

/* The thread that announces the bytes of loads, before it starts them. Each phase of a barrier is taken to be announced
 * by the same thread: so it knows the parity without asking the barrier, which takes long while wgmma reads shared
 * memory. The parities of up to 32 barriers are bits of trace_parity, by the barrier's address / 8 mod 32. */
DEVICE void trace_expect(uint32_t bar, int bytes) {
    uint64_t loads = trace_loads_under_way();
    uint32_t parities;
    asm volatile("mov.u32 %0, trace_parity;" : "=r"(parities)::"memory");
    uint32_t place_of_bar = bar >> 3 & 31;
    uint64_t phase = bar >> 2 | (parities >> place_of_bar & 1);
    int place = loads == 0 ? 0 : loads >> 16 == 0 ? 16 : loads >> 32 == 0 ? 32 : 48;
    trace_set_loads(loads >> 48 == 0 ? loads | phase << place : loads);
    asm volatile("mov.u32 trace_parity, %0;\n"
                 "mov.u32 trace_bytes, %1;\n" ::"r"(parities ^ 1u << place_of_bar),
                 "r"(bytes / 16 << 8)
                 : "memory");
}

/* The thread that starts a load; after it. The first of a phase counts: behind it trace_bytes is 0. */
DEVICE void trace_load(uint32_t bar) {
    uint32_t bytes;
    asm volatile("mov.u32 %0, trace_bytes;" : "=r"(bytes)::"memory");
    if (bytes != 0) {
        uint32_t now = trace_clock();
        trace_write(TRACE_LOAD | bytes, now, now, bar);
        asm volatile("mov.u32 trace_bytes, 0;" ::: "memory");
    }
}

/* After a wait that began at `begin`, when trace_close() was called; kind, number, data as in a record. */
DEVICE void trace_span(uint32_t kind, uint32_t number, uint32_t begin, uint32_t data) {
    trace_write(kind | number << 8, begin, trace_clock(), data);
    if (kind != TRACE_WAIT) { /* which has just looked */
        trace_look_at_loads();
    }
}

/* A group of wgmma begins with its fence. It stays open until the wait behind its commit, whose record takes it along;
 * if one is still open here, there was no such wait, and it gets a record of its own. */
DEVICE void trace_products_begin(void) {
    uint32_t products, begin, now = trace_clock();
    asm volatile("mov.u32 %0, trace_products;\n"
                 "mov.u32 %1, trace_group;"
                 : "=r"(products), "=r"(begin)::"memory");
    if (products != 0) {
        trace_write(TRACE_WGMMA | products << 8, begin, now, 0);
    }
    asm volatile("mov.u32 trace_products, 0;\n"
                 "mov.u32 trace_group, %0;\n" ::"r"(now)
                 : "memory");
}

DEVICE void trace_product(int n) { asm volatile("add.u32 trace_products, trace_products, %0;" ::"r"(n) : "memory"); }

/* After a wait for groups of wgmma, of which `unfinished` may be under way. */
DEVICE void trace_products_waited(uint32_t unfinished, uint32_t wait_begin) {
    uint32_t products, begin, now = trace_clock();
    asm volatile("mov.u32 %0, trace_products;\n"
                 "mov.u32 %1, trace_group;\n"
                 "mov.u32 trace_products, 0;\n"
                 "mov.u32 trace_group, 0;"
                 : "=r"(products), "=r"(begin)::"memory");
    trace_write(TRACE_WGMMA_WAIT | (unfinished | products << RECORD_PRODUCTS) << 8, wait_begin, now, begin);
    trace_look_at_loads();
}

/* A group of cp.async is committed: kind is TRACE_COPY. */
DEVICE void trace_commit(uint32_t kind) {
    uint32_t now = trace_clock();
    trace_write(kind, now, now, 0);
}

/* Kernels without shared memory: all since the start, or since the last call, has been arithmetic. */
DEVICE void trace_arithmetic_ends(void) {
    asm volatile("{\n"
                 ".reg .u32 now;\n"
                 "mov.u32 now, %%clock;\n" TRACE_STORE_RECORD("%0", "trace_on", "trace_begin", "now", "%1",
                                                              "0") "mov.u32 trace_begin, now;\n"
                                                                   "}\n" ::TRACE_BUFFER,
                 "n"((int)TRACE_MMA)
                 : "memory");
}

/* mbarrier_init(): the address of the name, which the host reads after the launch. */
DEVICE void trace_barriers(uint32_t bars, int how_many, const char *name) {
    uint64_t text = (uint64_t)(uintptr_t)name;
    trace_write(RECORD_BARRIERS | (uint32_t)how_many << 8, (uint32_t)text, (uint32_t)(text >> 32), bars);
}

/* Every thread of a kernel, where it works out its tile; nothing on the host. */
HOST_DEVICE void trace_tile(int row, int col) {
#ifdef __CUDA_ARCH__
    uint32_t now = trace_clock();
    trace_write(TRACE_TILE | (uint32_t)row << 8, now, now, (uint32_t)col);
#else
    (void)row;
    (void)col;
#endif
}

#endif
#endif
