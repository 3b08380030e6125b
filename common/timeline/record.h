/* record.h - records what the warps of a kernel do and when. nvcc reads it before a chapter (-include) and so makes its
 * traced copy; no other build knows of it. First come the functions that record, then those of common/device again,
 * under their own names, with the recording around them: a wait before and after, an ldmatrix, an mma.sync, a commit.
 *
 * Lane 0 of each warp writes records of 16 bytes into its warp's part of a buffer in global memory, mostly one for each
 * span of time. When that part is full, further records are counted as lost. Times are the low words of the SM's clock;
 * each CTA notes the whole clock64 and globaltimer once, when it starts. gpu_trace.c makes events of the records.
 *
 * Recording must cost little where every cycle counts. So a thread's state (where the next record goes, what span is
 * open) is in PTX registers. trace_start() declares them by name at the kernel's start, and the other functions use the
 * names: that works because everything is inlined into the kernel, in whose scope they are. Writing a record is then
 * about ten instructions without a branch.
 *
 * A span is open from trace_enter(), or the first instruction of a batch, until something else is recorded; while it is
 * open, trace_kind is its kind and trace_begin its begin. A wait is no such span: it is written whole when it ends. */
#ifndef RECORD_H
#define RECORD_H

#define CHAPTER_SYMBOL(id) gpu_traced_chapter_##id

#include "../gemm.h"
#include "../device/barrier.h"
#include "../device/bulk_copy.h"
#include "../device/cp_async.h"
#include "../device/epilogue.h"
#include "../device/exponent.h"
#include "../device/mbarrier.h"
#include "../device/mma_sync.h"
#include "../device/tile_order.h"
#include "../device/tma_nd.h"
#include "../device/wgmma.h"
#include "gpu_trace.h"

/* ---- what records ------------------------------------------------------------------------------------------------ */

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
 * Without branches: a thread that writes nothing runs through them. Without room, they write the tail's `past`. */
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

/* The open span lasts until now at least. It may be the warp's last, with nothing after it that would write it, so it
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
 * time in trace_fragments. The first mma.sync after them writes two records: the products before those ldmatrix, which
 * were the open span, and the fragments, from the noted time until now. Then it opens the span of the products that
 * begin. In code without branches ptxas knows trace_kind, and only the first of each batch leaves any code.
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

/* After an mma.sync, which is issued when its fragments are there. batch: this is the first one after ldmatrix; open:
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

/* The thread that starts a load; after it. Only the first of a phase counts: after it trace_bytes is 0. */
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

/* A group of wgmma begins with its fence. It stays open until the wait after its commit, whose record includes it;
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

/* ---- common/device, recorded ------------------------------------------------------------------------------------- */

/* Inside of its own expansion a macro's name is the function that it replaces. Arguments may be evaluated twice:
 * kernels write them without side effects. Functions of common/device that call others of it are not seen inside, and
 * recorded as one. */
#define RECORDED_SPAN(kind, number, call)                \
    do {                                                 \
        uint32_t begin_ = trace_close();                 \
        call;                                            \
        trace_span(kind, (uint32_t)(number), begin_, 0); \
    } while (0)

/* cuda_c.h */
#undef SHARED_MEMORY
#define SHARED_MEMORY(type, name)                              \
    extern __shared__ __align__(1024) uint8_t shared_memory[]; \
    type *name = (trace_start(), (type *)shared_memory)
#undef NO_SHARED_MEMORY
#define NO_SHARED_MEMORY trace_start()

#define __syncthreads() RECORDED_SPAN(TRACE_BARRIER, 0, __syncthreads())
#define float_to_bf16(x) (trace_arithmetic_ends(), float_to_bf16(x))

static inline GemmStatus recorded_launch(const void *kernel, const char *name, LaunchShape shape, const void *params,
                                         Stream stream, GemmError *error) {
    TraceBuffers buffers;
    if (trace_buffers_for(name, shape.grid, shape.block, &buffers) ||
        cuda_status(cudaMemcpyToSymbolAsync(trace_buffers, &buffers, sizeof buffers, 0, cudaMemcpyHostToDevice, stream),
                    "handing the trace buffers to the kernel", error)) {
        return GEMM_DEVICE;
    }
    return launch_kernel(kernel, name, shape, params, stream, error);
}
#define launch_kernel recorded_launch
static inline GemmStatus recorded_grid(const void *kernel, const char *name, int grid, int block, int shared_bytes,
                                       const void *params, Stream stream, GemmError *error) {
    LaunchShape shape = {grid, block, 0, shared_bytes, 0};
    return launch_kernel(kernel, name, shape, params, stream, error);
}
#define launch_grid recorded_grid

/* barrier.h */
#define named_barrier_sync(id, threads) RECORDED_SPAN(TRACE_BARRIER, id, named_barrier_sync(id, threads))

/* tile_order.h */
HOST_DEVICE Tile recorded_tile_at(int index, int tiles_m, int tiles_n, int group) {
    Tile tile = tile_at(index, tiles_m, tiles_n, group);
    trace_tile(tile.m, tile.n);
    return tile;
}
#define tile_at recorded_tile_at

/* A wait for groups. Its count is part of the instruction, so it is a macro, which cannot call what it replaces. */
#define RECORDED_WAIT(instruction, n, record)                        \
    do {                                                             \
        uint32_t begin_ = trace_close();                             \
        asm volatile(instruction " %0;" ::"n"((int)(n)) : "memory"); \
        record;                                                      \
    } while (0)

/* cp_async.h */
#define cp_async_commit_group() (cp_async_commit_group(), trace_commit(TRACE_COPY))
#undef cp_async_wait_group
#define cp_async_wait_group(n) RECORDED_WAIT("cp.async.wait_group", n, trace_span(TRACE_COPY_WAIT, n, begin_, 0))

/* mma_sync.h */
#define ldmatrix_x4(r, row) (trace_ldmatrix(), ldmatrix_x4(r, row))

/* The compiler may move a product, which is no volatile asm, but not across what changes its sums: so it keeps its
 * place among readings of the clock. */
DEVICE void recorded_mma_m16n8k16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
    registers_settled(d, 4);
    mma_m16n8k16(d, a, b);
    registers_settled(d, 4);
    trace_mma();
}
#define mma_m16n8k16 recorded_mma_m16n8k16

/* epilogue.h, and the stores of an epilogue */
#define RECORDED_EPILOGUE(call)      \
    do {                             \
        trace_enter(TRACE_EPILOGUE); \
        call;                        \
    } while (0)
#define stmatrix_x4(...) RECORDED_EPILOGUE(stmatrix_x4(__VA_ARGS__))
#define store_warp_rows(...) RECORDED_EPILOGUE(store_warp_rows(__VA_ARGS__); trace_go_on())

/* exponent.h */
DEVICE float recorded_exp2_approx(float x) {
    trace_enter(TRACE_EXP2);
    return exp2_approx(x);
}
#define exp2_approx recorded_exp2_approx

/* mbarrier.h */
DEVICE void recorded_mbarrier_init(MBarrier *bars, int how_many, int arrivals, const char *name) {
    trace_barriers(shared_address(bars), how_many, name);
    mbarrier_init(bars, how_many, arrivals);
}
#define mbarrier_init(bars, how_many, arrivals) recorded_mbarrier_init(bars, how_many, arrivals, #bars)

#define mbarrier_expect_tx(bar, bytes) (trace_expect(shared_address(bar), bytes), mbarrier_expect_tx(bar, bytes))
#define mbarrier_arrive_expect_tx(bar, bytes) \
    (trace_expect(shared_address(bar), bytes), mbarrier_arrive_expect_tx(bar, bytes))

DEVICE void recorded_mbarrier_wait_parity(MBarrier *bar, uint32_t parity) {
    uint32_t begin = trace_close();
    if (!trace_watch_loads(shared_address(bar), parity)) {
        mbarrier_wait_parity(bar, parity);
    }
    trace_span(TRACE_WAIT, parity, begin, shared_address(bar));
}
#define mbarrier_wait_parity recorded_mbarrier_wait_parity

/* tma.h */
#define RECORDED_LOAD(bar, call) (call, trace_load(shared_address(bar)))
#define tma_load_2d(dst, map, c0, c1, bar) RECORDED_LOAD(bar, tma_load_2d(dst, map, c0, c1, bar))
#define tma_load_5d(dst, map, c0, c1, c2, c3, c4, bar) \
    RECORDED_LOAD(bar, tma_load_5d(dst, map, c0, c1, c2, c3, c4, bar))
#define tma_load_2d_multicast(dst, map, c0, c1, bar, mask) \
    RECORDED_LOAD(bar, tma_load_2d_multicast(dst, map, c0, c1, bar, mask))

#define RECORDED_STORE(call)      \
    do {                          \
        trace_enter(TRACE_STORE); \
        call;                     \
    } while (0)
#define tma_store_2d(...) RECORDED_STORE(tma_store_2d(__VA_ARGS__))
#define tma_store_5d(...) RECORDED_STORE(tma_store_5d(__VA_ARGS__))
#define tma_reduce_add_2d(...) RECORDED_STORE(tma_reduce_add_2d(__VA_ARGS__))

/* bulk_copy.h, and the groups of all these stores */
#define bulk_store(...) RECORDED_STORE(bulk_store(__VA_ARGS__))
#define bulk_commit_group() RECORDED_STORE(trace_close(); bulk_commit_group()) /* a group without stores counts too */

#undef bulk_wait_group_read
#define bulk_wait_group_read(n) \
    RECORDED_WAIT("cp.async.bulk.wait_group.read", n, trace_span(TRACE_STORE_WAIT, n, begin_, 0))
#undef bulk_wait_group
#define bulk_wait_group(n) RECORDED_WAIT("cp.async.bulk.wait_group", n, trace_span(TRACE_STORE_WAIT, n, begin_, 0))

/* wgmma.h */
#define wgmma_fence() (trace_products_begin(), wgmma_fence())
#define wgmma_m64n192k16(...) (trace_product(192), wgmma_m64n192k16(__VA_ARGS__))
#define wgmma_m64n256k16(...) (trace_product(256), wgmma_m64n256k16(__VA_ARGS__))
#define wgmma_m64k16(n, ...) (trace_product(n), wgmma_m64k16(n, __VA_ARGS__))
#define wgmma_ss(n, ...) (trace_product(n), wgmma_ss(n, __VA_ARGS__))
#define wgmma_rs(n, ...) (trace_product(n), wgmma_rs(n, __VA_ARGS__))
#define wgmma_rs_trans_b(n, ...) (trace_product(n), wgmma_rs_trans_b(n, __VA_ARGS__))

#undef wgmma_wait_group
#define wgmma_wait_group(n) RECORDED_WAIT("wgmma.wait_group.sync.aligned", n, trace_products_waited(n, begin_))

#endif
