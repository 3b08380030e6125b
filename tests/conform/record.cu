/* record.cu - runs the cases of cases.h on a Hopper GPU and writes the results to OUTDIR/vectors.txt.
 *
 *     build/release/tests/conform/record OUTDIR
 *
 * Some cases hang or trap, which takes the CUDA context with them. So a child process runs the cases one after the
 * other and leaves each result in memory shared with the parent; when it ends or stands still, the parent starts another
 * child with the next case. Kernels that may hang have a CTA that watches them. An error that leaves the context alive is
 * the recorder's own, not the hardware's: its case is not written. Exit status: 0 vectors written, 1 written without some
 * cases, 2 bad usage, 3 no Hopper GPU or the file cannot be written. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../common/gemm.h"

#include "../../common/device/mma_sync.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"
#include "cases.h"
#include "vectors.h"

/* ---- what kernels.h needs ---------------------------------------------------------------------------------------- */

DEVICE uint64_t global_timer(void) {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

DEVICE void delay_us(int us) {
    uint64_t start = global_timer();
    while (global_timer() - start < (uint64_t)us * 1000) {
    }
}

DEVICE void complete_tx(MBarrier *bar, int bytes) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

DEVICE void arrive_count(MBarrier *bar, int count) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

/* A trap comes a little after its instruction. */
DEVICE void script_done(volatile uint32_t *done, int i) {
    delay_us(20);
    *done = (uint32_t)i + 1;
    __threadfence_system();
}

enum { WATCH_MS = 20 };

/* Thread 0 of the watching CTA: return when `survivors` words of out are 1; after a while say that it hangs, and
 * trap. */
DEVICE void watch(int words, int survivors, const uint16_t *out, uint32_t *hang) {
    uint64_t start = global_timer();
    if (threadIdx.x != 0) {
        return;
    }
    for (;;) {
        int through = 0;
        for (int i = 0; i < words; i++) {
            through += ((const volatile uint16_t *)out)[i];
        }
        if (through >= survivors) {
            return;
        }
        if (global_timer() - start > (uint64_t)WATCH_MS * 1000000) {
            *(volatile uint32_t *)hang = 1;
            __threadfence_system();
            __trap();
        }
    }
}

#define CONFORM_COMPLETE_TX(bar, bytes) complete_tx(bar, bytes)
#define CONFORM_ARRIVE_COUNT(bar, count) arrive_count(bar, count)
#define CONFORM_DONE(p, i) script_done((p).done, i)
#define CONFORM_DELAY() delay_us(50)
#define CONFORM_WATCHDOG(p)                                             \
    if ((int)blockIdx.x >= (p).ctas) {                                  \
        watch((p).ctas *(p).threads, (p).survivors, (p).out, (p).hang); \
        return;                                                         \
    }

#include "kernels.h"

/* ---- TMA --------------------------------------------------------------------------------------------------------- */

typedef struct {
    TensorMap map;
    TmaCase c;
    bf16 *out; /* loads: [cluster][1 + TMA_WINDOW / 2] */
} TmaParams;

typedef struct {
    bf16 window[TMA_WINDOW / 2];
    MBarrier bar;
    uint32_t arrived;
} TmaShared;

DEVICE void tma_load_3d(void *dst, const TensorMap *map, int c0, int c1, int c2, MBarrier *bar) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
        :
        : "r"(shared_address(dst)), "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(bar))
        : "memory");
}

DEVICE void tma_store_3d(const TensorMap *map, const void *src, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
                 :
                 : "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(src))
                 : "memory");
}

/* 65536 bytes are announced. Once everything must have landed, the thread completes the rest itself, 16 bytes at a
 * time, until the phase flips: what it did not have to complete is what the copies brought. */
static __global__ void tma_load_case(const __grid_constant__ TmaParams p) {
    SHARED_MEMORY(TmaShared, s);
    int rank = cluster_cta_rank();
    for (int i = (int)threadIdx.x; i < TMA_WINDOW / 2; i += (int)blockDim.x) {
        s->window[i] = tma_window_word(&p.c, i);
    }
    fence_proxy_async();
    if (threadIdx.x == 0) {
        mbarrier_init(&s->bar, 1, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&s->bar, TMA_ANNOUNCED);
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        for (int i = 0; i < p.c.copies; i++) {
            const TmaCopy *copy = &p.c.copy[i];
            uint8_t *dst = (uint8_t *)s->window + copy->offset;
            if (copy->issuer != rank) {
                continue;
            }
            if (copy->mask != 0) {
                tma_load_2d_multicast(dst, &p.map, copy->coord[0], copy->coord[1], &s->bar, copy->mask);
            } else if (p.c.rank == 2) {
                tma_load_2d(dst, &p.map, copy->coord[0], copy->coord[1], &s->bar);
            } else {
                tma_load_3d(dst, &p.map, copy->coord[0], copy->coord[1], copy->coord[2], &s->bar);
            }
        }
        delay_us(100);
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        uint32_t rest = 0;
        while (!mbarrier_test_wait_parity(&s->bar, 0) && rest <= TMA_ANNOUNCED) {
            complete_tx(&s->bar, 16);
            rest += 16;
        }
        s->arrived = TMA_ANNOUNCED - rest;
    }
    __syncthreads();
    bf16 *out = p.out + rank * (1 + TMA_WINDOW / 2);
    if (threadIdx.x == 0) {
        out[0] = (bf16)s->arrived;
    }
    for (int i = (int)threadIdx.x; i < TMA_WINDOW / 2; i += (int)blockDim.x) {
        out[1 + i] = s->window[i];
    }
    cluster_sync();
}
KERNEL_ENTRY(tma_load_case, TmaParams);

static __global__ void tma_store_case(const __grid_constant__ TmaParams p) {
    SHARED_MEMORY(TmaShared, s);
    for (int i = (int)threadIdx.x; i < TMA_WINDOW / 2; i += (int)blockDim.x) {
        s->window[i] = tma_window_word(&p.c, i);
    }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        const TmaCopy *copy = &p.c.copy[0];
        uint8_t *src = (uint8_t *)s->window + copy->offset;
        if (p.c.op == TMA_ADD) {
            tma_reduce_add_2d(&p.map, src, copy->coord[0], copy->coord[1]);
        } else if (p.c.rank == 2) {
            tma_store_2d(&p.map, src, copy->coord[0], copy->coord[1]);
        } else {
            tma_store_3d(&p.map, src, copy->coord[0], copy->coord[1], copy->coord[2]);
        }
        bulk_commit_group();
        bulk_wait_group(0);
    }
}
KERNEL_ENTRY(tma_store_case, TmaParams);

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

typedef struct {
    WgmmaCase c;
    int pass;
    uint16_t *out;     /* [128][n / 2] */
    uint32_t *inexact; /* set if a result is not a 16-bit integer, or shared memory is not aligned */
} WgmmaParams;

typedef struct {
    bf16 word[WGMMA_SHARED / 2];
} WgmmaShared;

DEVICE uint64_t case_descriptor(const WgmmaOperand *o, uint32_t shared) {
    return wgmma_descriptor_fields(shared + o->start, o->leading, o->stride, o->swizzle) | (uint64_t)o->base_offset
                                                                                               << 49;
}

DEVICE void wgmma_fill(const WgmmaParams *p, WgmmaShared *s) {
    for (int i = (int)threadIdx.x; i < WGMMA_SHARED / 2; i += (int)blockDim.x) {
        s->word[i] = wgmma_shared_word(p->c.data, p->pass, i);
    }
    if ((shared_address(s) & 1023) != 0) {
        *p->inexact = 2;
    }
    fence_proxy_async();
    __syncthreads();
}

DEVICE void wgmma_dump(const WgmmaParams *p, const float *d, int count) {
    UNROLL
    for (int v = 0; v < count; v++) {
        int value = (int)d[v];
        if ((float)(int16_t)value != d[v]) {
            *p->inexact = 1;
        }
        p->out[(int)threadIdx.x * count + v] = (uint16_t)value;
    }
}

#define WGMMA_NAMES_4 "%0, %1, %2, %3"
#define WGMMA_NAMES_12 WGMMA_NAMES_8 ", %8, %9, %10, %11"

/* As WGMMA_SS of wgmma.h, with A from registers r0_ .. r3_. */
#define WGMMA_RS(n, count, r0_, r1_, r2_, r3_, b_, p_, major, a, b, accumulate, ...)                \
    asm volatile("{\n"                                                                              \
                 ".reg .pred p;\n"                                                                  \
                 "setp.ne.b32 p, %" #p_ ", 0;\n"                                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" WGMMA_NAMES_##count   \
                 "}, {%" #r0_ ", %" #r1_ ", %" #r2_ ", %" #r3_ "}, %" #b_ ", p, 1, 1, " major ";\n" \
                 "}\n"                                                                              \
                 : __VA_ARGS__                                                                      \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(accumulate))

#define SS_KERNEL(n, count, a_, b_, p_, major_a, major_b, ...)                                     \
    static __global__ void __launch_bounds__(128)                                                  \
        wgmma_ss_##n##_##major_a##major_b(const __grid_constant__ WgmmaParams p) {                 \
        SHARED_MEMORY(WgmmaShared, s);                                                             \
        float d[count];                                                                            \
        UNROLL                                                                                     \
        for (int v = 0; v < count; v++) {                                                          \
            d[v] = (float)(v % 5);                                                                 \
        }                                                                                          \
        wgmma_fill(&p, s);                                                                         \
        UNROLL_ONCE                                                                                \
        for (int step = 0; step < p.c.steps; step++) {                                             \
            uint64_t a = case_descriptor(&p.c.a, shared_address(s) + (uint32_t)step * p.c.a_step); \
            uint64_t b = case_descriptor(&p.c.b, shared_address(s) + (uint32_t)step * p.c.b_step); \
            int accumulate = step > 0 || p.c.accumulate;                                           \
            wgmma_fence();                                                                         \
            WGMMA_SS(n, count, a_, b_, p_, #major_a ", " #major_b, a, b, accumulate, __VA_ARGS__); \
            wgmma_commit_group();                                                                  \
            wgmma_wait_group(0);                                                                   \
            registers_settled(d, count);                                                           \
        }                                                                                          \
        wgmma_dump(&p, d, count);                                                                  \
    }

#define RS_KERNEL(n, count, r0_, r1_, r2_, r3_, b_, p_, major_b, ...)                                                \
    static __global__ void __launch_bounds__(128) wgmma_rs_##n##_0##major_b(const __grid_constant__ WgmmaParams p) { \
        SHARED_MEMORY(WgmmaShared, s);                                                                               \
        float d[count];                                                                                              \
        UNROLL                                                                                                       \
        for (int v = 0; v < count; v++) {                                                                            \
            d[v] = (float)(v % 5);                                                                                   \
        }                                                                                                            \
        wgmma_fill(&p, s);                                                                                           \
        UNROLL_ONCE                                                                                                  \
        for (int step = 0; step < p.c.steps; step++) {                                                               \
            uint32_t a[4];                                                                                           \
            UNROLL                                                                                                   \
            for (int r = 0; r < 4; r++) {                                                                            \
                a[r] = wgmma_a_register(p.c.data, p.pass, (int)threadIdx.x + 128 * step, r);                         \
            }                                                                                                        \
            uint64_t b = case_descriptor(&p.c.b, shared_address(s) + (uint32_t)step * p.c.b_step);                   \
            int accumulate = step > 0 || p.c.accumulate;                                                             \
            wgmma_fence();                                                                                           \
            WGMMA_RS(n, count, r0_, r1_, r2_, r3_, b_, p_, #major_b, a, b, accumulate, __VA_ARGS__);                 \
            wgmma_commit_group();                                                                                    \
            wgmma_wait_group(0);                                                                                     \
            registers_settled(d, count);                                                                             \
        }                                                                                                            \
        wgmma_dump(&p, d, count);                                                                                    \
    }

SS_KERNEL(8, 4, 4, 5, 6, 0, 0, WGMMA_REGS_4(d, 0))
SS_KERNEL(16, 8, 8, 9, 10, 0, 0, WGMMA_REGS_8(d, 0))
SS_KERNEL(24, 12, 12, 13, 14, 0, 0, WGMMA_REGS_8(d, 0), WGMMA_REGS_4(d, 8))
SS_KERNEL(64, 32, 32, 33, 34, 0, 0, WGMMA_REGS_32(d, 0))
SS_KERNEL(112, 56, 56, 57, 58, 0, 0, WGMMA_REGS_32(d, 0), WGMMA_REGS_16(d, 32), WGMMA_REGS_8(d, 48))
SS_KERNEL(128, 64, 64, 65, 66, 0, 0, WGMMA_REGS_64(d, 0))
SS_KERNEL(160, 80, 80, 81, 82, 0, 0, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64))
SS_KERNEL(176, 88, 88, 89, 90, 0, 0, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64), WGMMA_REGS_8(d, 80))
SS_KERNEL(192, 96, 96, 97, 98, 0, 0, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64))
SS_KERNEL(256, 128, 128, 129, 130, 0, 0, WGMMA_REGS_64(d, 0), WGMMA_REGS_64(d, 64))
SS_KERNEL(16, 8, 8, 9, 10, 1, 0, WGMMA_REGS_8(d, 0))
SS_KERNEL(24, 12, 12, 13, 14, 0, 1, WGMMA_REGS_8(d, 0), WGMMA_REGS_4(d, 8))
SS_KERNEL(64, 32, 32, 33, 34, 0, 1, WGMMA_REGS_32(d, 0))
SS_KERNEL(64, 32, 32, 33, 34, 1, 0, WGMMA_REGS_32(d, 0))
SS_KERNEL(64, 32, 32, 33, 34, 1, 1, WGMMA_REGS_32(d, 0))
SS_KERNEL(128, 64, 64, 65, 66, 0, 1, WGMMA_REGS_64(d, 0))
SS_KERNEL(256, 128, 128, 129, 130, 0, 1, WGMMA_REGS_64(d, 0), WGMMA_REGS_64(d, 64))
RS_KERNEL(16, 8, 8, 9, 10, 11, 12, 13, 0, WGMMA_REGS_8(d, 0))
RS_KERNEL(64, 32, 32, 33, 34, 35, 36, 37, 0, WGMMA_REGS_32(d, 0))
RS_KERNEL(64, 32, 32, 33, 34, 35, 36, 37, 1, WGMMA_REGS_32(d, 0))
RS_KERNEL(256, 128, 128, 129, 130, 131, 132, 133, 0, WGMMA_REGS_64(d, 0), WGMMA_REGS_64(d, 64))

static const struct {
    int n, from_registers, major_a, major_b;
    const void *kernel;
} wgmma_kernels[] = {
    {8, 0, 0, 0, (const void *)wgmma_ss_8_00},     {16, 0, 0, 0, (const void *)wgmma_ss_16_00},
    {24, 0, 0, 0, (const void *)wgmma_ss_24_00},   {64, 0, 0, 0, (const void *)wgmma_ss_64_00},
    {112, 0, 0, 0, (const void *)wgmma_ss_112_00}, {128, 0, 0, 0, (const void *)wgmma_ss_128_00},
    {160, 0, 0, 0, (const void *)wgmma_ss_160_00}, {176, 0, 0, 0, (const void *)wgmma_ss_176_00},
    {192, 0, 0, 0, (const void *)wgmma_ss_192_00}, {256, 0, 0, 0, (const void *)wgmma_ss_256_00},
    {16, 0, 1, 0, (const void *)wgmma_ss_16_10},   {24, 0, 0, 1, (const void *)wgmma_ss_24_01},
    {64, 0, 0, 1, (const void *)wgmma_ss_64_01},   {64, 0, 1, 0, (const void *)wgmma_ss_64_10},
    {64, 0, 1, 1, (const void *)wgmma_ss_64_11},   {128, 0, 0, 1, (const void *)wgmma_ss_128_01},
    {256, 0, 0, 1, (const void *)wgmma_ss_256_01}, {16, 1, 0, 0, (const void *)wgmma_rs_16_00},
    {64, 1, 0, 0, (const void *)wgmma_rs_64_00},   {64, 1, 0, 1, (const void *)wgmma_rs_64_01},
    {256, 1, 0, 0, (const void *)wgmma_rs_256_00},
};

/* ---- one warp ---------------------------------------------------------------------------------------------------- */

typedef struct {
    WarpCase c;
    uint16_t *out;
} WarpParams;

typedef struct {
    bf16 word[WARP_SHARED / 2];
} WarpShared;

static __global__ void warp_case(const __grid_constant__ WarpParams p) {
    SHARED_MEMORY(WarpShared, s);
    int lane = (int)threadIdx.x;
    for (int i = lane; i < WARP_SHARED / 2; i += 32) {
        s->word[i] = p.c.op == WARP_LDMATRIX ? (bf16)i : (bf16)CONFORM_UNWRITTEN;
    }
    __syncthreads();
    uint8_t *row = (uint8_t *)s->word + warp_row_offset(p.c.rows, lane);
    if (p.c.op == WARP_LDMATRIX) {
        uint32_t r[4];
        ldmatrix_x4(r, row);
        UNROLL
        for (int i = 0; i < 4; i++) {
            p.out[lane * 8 + i * 2] = (uint16_t)r[i];
            p.out[lane * 8 + i * 2 + 1] = (uint16_t)(r[i] >> 16);
        }
    } else if (p.c.op == WARP_STMATRIX) {
        uint32_t r[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            r[i] = (uint32_t)(8 * lane + 2 * i) | (uint32_t)(8 * lane + 2 * i + 1) << 16;
        }
        stmatrix_x4(row, r);
        __syncthreads();
        for (int i = lane; i < WARP_SHARED / 2; i += 32) {
            p.out[i] = s->word[i];
        }
    } else {
        uint32_t a[4], b[2];
        float d[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            a[i] = warp_mma_operand(p.c.rows, lane, i);
            d[i] = warp_mma_start(p.c.rows, lane, i);
        }
        b[0] = warp_mma_operand(p.c.rows, lane, 4);
        b[1] = warp_mma_operand(p.c.rows, lane, 5);
        mma_m16n8k16(d, a, b);
        UNROLL
        for (int i = 0; i < 4; i++) {
            p.out[lane * 4 + i] = (uint16_t)(int)d[i];
        }
    }
}
KERNEL_ENTRY(warp_case, WarpParams);

/* ---- the child: runs cases --------------------------------------------------------------------------------------- */

enum { MAX_CASES = 1024, MAX_WORDS = 1 << 21, CASE_WORDS = 1 << 16, NOTE_BYTES = 600 };

typedef struct {
    int done;
    CaseStatus status; /* CASE_STATUSES: could not be recorded */
    int first, count;  /* of its words */
    char note[NOTE_BYTES];
} Result;

/* Shared by parent and child. */
typedef struct {
    volatile int current; /* case that the child is at */
    volatile int ready;   /* the child has a context */
    int used;
    char device[400];
    Result result[MAX_CASES];
    uint16_t words[MAX_WORDS];
} Record;

typedef struct {
    uint16_t *out;  /* device, CASE_WORDS words */
    bf16 *global;   /* device, CASE_WORDS words */
    uint32_t *hang; /* host, seen by the device: the watchdog's word, an error's word, the ops that a script has done */
    uint16_t host[CASE_WORDS];
} Child;

#define CHECK(call)                  \
    do {                             \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            return error_;           \
        }                            \
    } while (0)

static cudaError_t launch(const void *kernel, int grid, int block, int cluster, int shared_bytes, const void *params) {
    LaunchShape shape = {grid, block, cluster, shared_bytes};
    if (launch_kernel(kernel, "a conformance kernel", shape, params, NULL) != 0) {
        cudaError_t error = cudaGetLastError();
        return error != cudaSuccess ? error : cudaErrorLaunchFailure;
    }
    return cudaDeviceSynchronize();
}

static CUresult encode(TensorMap *map, int type, int rank, void *base, const uint64_t *size, const uint64_t *stride,
                       const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int fill) {
    cuuint64_t sizes[5], strides[5];
    cuuint32_t boxes[5], steps[5];
    for (int i = 0; i < 5; i++) {
        sizes[i] = i < rank ? size[i] : 0;
        strides[i] = i < rank - 1 ? stride[i] : 0;
        boxes[i] = i < rank ? box[i] : 0;
        steps[i] = i < rank ? step[i] : 0;
    }
    TensorMapEncoder encoder = tensor_map_encoder();
    return encoder == NULL ? CUDA_ERROR_NOT_SUPPORTED
                           : encoder(map, (CUtensorMapDataType)type, (cuuint32_t)rank, base, sizes, strides, boxes,
                                     steps, (CUtensorMapInterleave)interleave, (CUtensorMapSwizzle)swizzle,
                                     CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)fill);
}

static cudaError_t run_encode(Child *child, const EncodeCase *c, Result *r) {
    TensorMap map;
    CUresult result = encode(&map, c->type, c->rank, (uint8_t *)child->global + c->misaligned, c->size, c->stride,
                             c->box, c->step, c->interleave, c->swizzle, c->fill);
    child->host[0] = result != CUDA_SUCCESS;
    r->count = 1;
    snprintf(r->note, NOTE_BYTES, "CUresult %d", (int)result);
    return cudaSuccess;
}

static cudaError_t run_tma(Child *child, const TmaCase *c, Result *r) {
    TmaParams p;
    int words = tma_global_words(c);
    memset((void *)&p, 0, sizeof p);
    for (int i = 0; i < words; i++) {
        child->host[i] = tma_global_word(c, i);
    }
    CHECK(cudaMemcpy(child->global, child->host, (size_t)words * 2, cudaMemcpyHostToDevice));
    CUresult encoded = encode(&p.map, c->type, c->rank, child->global + TMA_GUARD, c->size, c->stride, c->box, c->step,
                              0, c->swizzle, c->fill);
    if (encoded != CUDA_SUCCESS) {
        snprintf(r->note, NOTE_BYTES, "cuTensorMapEncodeTiled refused the map: %d", (int)encoded);
        return cudaErrorInvalidValue;
    }
    p.c = *c;
    p.c.name = NULL;
    p.out = child->out;
    if (c->op == TMA_LOAD) {
        CHECK(launch((const void *)tma_load_case, c->cluster, 128, c->cluster, (int)sizeof(TmaShared), &p));
        r->count = c->cluster * (1 + TMA_WINDOW / 2);
        return cudaMemcpy(child->host, child->out, (size_t)r->count * 2, cudaMemcpyDeviceToHost);
    }
    CHECK(launch((const void *)tma_store_case, 1, 128, 0, (int)sizeof(TmaShared), &p));
    r->count = words;
    return cudaMemcpy(child->host, child->global, (size_t)words * 2, cudaMemcpyDeviceToHost);
}

static cudaError_t run_wgmma(Child *child, const WgmmaCase *c, Result *r) {
    const void *kernel = NULL;
    for (int i = 0; i < COUNT_OF(wgmma_kernels); i++) {
        if (wgmma_kernels[i].n == c->n && wgmma_kernels[i].from_registers == c->from_registers &&
            wgmma_kernels[i].major_a == c->a.mn_major && wgmma_kernels[i].major_b == c->b.mn_major) {
            kernel = wgmma_kernels[i].kernel;
        }
    }
    if (kernel == NULL) {
        snprintf(r->note, NOTE_BYTES, "record.cu has no kernel for n = %d with these majors", c->n);
        return cudaErrorInvalidValue;
    }
    r->count = 128 * c->n / 2;
    for (int pass = 0; pass < (c->data == WGMMA_PROBE ? 2 : 1); pass++) {
        WgmmaParams p;
        memset((void *)&p, 0, sizeof p);
        p.c = *c;
        p.c.name = NULL;
        p.pass = pass;
        p.out = child->out;
        p.inexact = child->hang + 1;
        *p.inexact = 0;
        CHECK(launch(kernel, 1, 128, 0, (int)sizeof(WgmmaShared), &p));
        if (child->hang[1] != 0) {
            snprintf(r->note, NOTE_BYTES,
                     child->hang[1] == 1 ? "a result is not a 16-bit integer" : "shared memory is not aligned");
            return cudaErrorInvalidValue;
        }
        static uint16_t half[CASE_WORDS];
        CHECK(cudaMemcpy(half, child->out, (size_t)r->count * 2, cudaMemcpyDeviceToHost));
        for (int i = 0; i < r->count; i++) {
            child->host[i] = (uint16_t)(pass == 0 ? half[i] : child->host[i] + 256 * half[i]);
        }
    }
    return cudaSuccess;
}

static cudaError_t run_warp(Child *child, const WarpCase *c, Result *r) {
    WarpParams p;
    memset((void *)&p, 0, sizeof p);
    p.c = *c;
    p.c.name = NULL;
    p.out = child->out;
    CHECK(launch((const void *)warp_case, 1, 32, 0, (int)sizeof(WarpShared), &p));
    r->count = c->op == WARP_LDMATRIX ? 32 * 8 : c->op == WARP_STMATRIX ? WARP_SHARED / 2 : 32 * 4;
    return cudaMemcpy(child->host, child->out, (size_t)r->count * 2, cudaMemcpyDeviceToHost);
}

static cudaError_t run_mbarrier(Child *child, const MbarrierCase *c, Result *r) {
    static const char *const names[] = {
        "end", "init", "expect_tx", "complete_tx", "arrive", "arrive.expect_tx", "test_wait", "two test_waits"};
    ScriptParams p;
    memset((void *)&p, 0, sizeof p);
    memcpy(p.op, c->op, sizeof p.op);
    p.out = child->out;
    p.done = child->hang + 2;
    *p.done = 0;
    r->count = script_tests(c);
    cudaError_t error = launch((const void *)mbarrier_script, 1, 32, 0, (int)sizeof(ScriptShared), &p);
    if (error != cudaSuccess) {
        uint32_t done = *p.done;
        const MbarrierOp *op = &c->op[done < MB_MAX_OPS ? done : MB_MAX_OPS - 1];
        snprintf(r->note, NOTE_BYTES, "at op %u of the script, %s %d", done + 1, names[op->op], op->argument);
        return error;
    }
    return cudaMemcpy(child->host, child->out, (size_t)r->count * 2, cudaMemcpyDeviceToHost);
}

static cudaError_t run_watched(Child *child, const void *kernel, BarrierParams *p, int cluster, Result *r) {
    r->count = p->ctas * p->threads;
    p->out = child->out;
    p->hang = child->hang;
    CHECK(cudaMemset(child->out, 0, (size_t)r->count * 2));
    CHECK(launch(kernel, p->ctas + (cluster > 0 ? cluster : 1), p->threads, cluster, (int)sizeof(ScriptShared), p));
    return cudaMemcpy(child->host, child->out, (size_t)r->count * 2, cudaMemcpyDeviceToHost);
}

static cudaError_t run_barrier(Child *child, const BarrierCase *c, Result *r) {
    BarrierParams p = {c->what, c->threads, c->ctas, c->survivors, NULL, NULL};
    return run_watched(child, (const void *)barrier_case, &p, c->cluster, r);
}

static cudaError_t run_setmaxnreg(Child *child, int i, Result *r) {
#define SETMAXNREG_FUNCTION(name, ...) (const void *)setmaxnreg_##name,
    static const void *const kernels[] = {SETMAXNREG_CASES(SETMAXNREG_FUNCTION)};
    const SetmaxnregCase *c = &setmaxnreg_cases[i];
    BarrierParams p = {0, c->threads, 1, setmaxnreg_survivors(c), NULL, NULL};
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, kernels[i]));
    snprintf(r->note, NOTE_BYTES, "%d registers a thread at launch", attributes.numRegs);
    return run_watched(child, kernels[i], &p, 0, r);
}

static cudaError_t run_case(Child *child, Group group, int i, Result *r) {
    switch (group) {
    case GROUP_ENCODE: return run_encode(child, &encode_cases[i], r);
    case GROUP_TMA: return run_tma(child, &tma_cases[i], r);
    case GROUP_WGMMA: return run_wgmma(child, &wgmma_cases[i], r);
    case GROUP_WARP: return run_warp(child, &warp_cases[i], r);
    case GROUP_MBARRIER: return run_mbarrier(child, &mbarrier_cases[i], r);
    case GROUP_BARRIER: return run_barrier(child, &barrier_cases[i], r);
    case GROUP_SETMAXNREG: return run_setmaxnreg(child, i, r);
    case GROUPS: break;
    }
    return cudaErrorInvalidValue;
}

/* The group and the number in it of case `index` of all. */
static Group locate(int index, int *in_group) {
    int group = 0;
    while (index >= group_size((Group)group)) {
        index -= group_size((Group)group++);
    }
    *in_group = index;
    return (Group)group;
}

static cudaError_t set_up(Child *child, Record *record) {
    struct cudaDeviceProp device;
    int driver = 0, runtime = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    snprintf(record->device, sizeof record->device, "%s, compute capability %d.%d, CUDA driver %d.%d, runtime %d.%d",
             device.name, device.major, device.minor, driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
    if (device.major != 9 || device.minor != 0) {
        fprintf(stderr, "the vectors are Hopper's: %s is of compute capability %d.%d, 9.0 is needed\n", device.name,
                device.major, device.minor);
        return cudaErrorInvalidDevice;
    }
    CHECK(cudaMalloc((void **)&child->out, CASE_WORDS * 2));
    CHECK(cudaMalloc((void **)&child->global, CASE_WORDS * 2));
    CHECK(cudaHostAlloc((void **)&child->hang, 4096, cudaHostAllocMapped));
    return cudaSuccess;
}

/* Never returns. Exit status 0: all done; 1: the current case has ended the context; 3: no device. */
static void run_child(Record *record, int first, int cases) {
    static Child child;
    if (cuda_status(set_up(&child, record), "setting up the GPU")) {
        _exit(3);
    }
    record->ready = 1;
    for (int i = first; i < cases; i++) {
        int in_group;
        Group group = locate(i, &in_group);
        Result *r = &record->result[i];
        record->current = i;
        child.hang[0] = 0;
        cudaError_t error = run_case(&child, group, in_group, r);
        if (error != cudaSuccess) {
            cudaGetLastError();
            int alive = cudaDeviceSynchronize() == cudaSuccess;
            r->status = alive ? CASE_STATUSES : child.hang[0] != 0 ? CASE_HANG : CASE_TRAP;
            r->count = 0;
            if (r->status != CASE_HANG) {
                size_t length = strlen(r->note);
                snprintf(r->note + length, NOTE_BYTES - length, "%s%s", length > 0 ? "; " : "",
                         cudaGetErrorName(error));
            }
            r->done = 1;
            if (alive) {
                continue;
            }
            _exit(1);
        }
        r->status = CASE_OK;
        r->first = record->used;
        memcpy(record->words + record->used, child.host, (size_t)r->count * 2);
        record->used += r->count;
        r->done = 1;
    }
    _exit(0);
}

/* ---- the parent -------------------------------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { START_SECONDS = 30, CASE_SECONDS = 5 };

/* Waits for a child. Returns the first case that is not done. Sets *failed if it could not start. */
static int attend(Record *record, pid_t child, int first, int cases, int *failed) {
    double since = seconds();
    int seen = -1, status = 0, killed = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        int at = record->ready ? record->current : -1;
        if (at != seen) {
            seen = at;
            since = seconds();
        } else if (!killed && seconds() - since > (at < 0 ? START_SECONDS : CASE_SECONDS)) {
            kill(child, SIGKILL);
            killed = 1;
        }
        usleep(2000);
    }
    int current = record->current;
    if (!record->ready || (WIFEXITED(status) && WEXITSTATUS(status) == 3)) {
        *failed = 1;
        return first;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return cases;
    }
    if (!record->result[current].done) {
        record->result[current].status = killed ? CASE_HANG : CASE_STATUSES;
        snprintf(record->result[current].note, NOTE_BYTES,
                 killed ? "the host ended it after %d s" : "the process died (status %d)",
                 killed ? (int)CASE_SECONDS : status);
        record->result[current].done = 1;
    }
    return current + 1;
}

int main(int argc, char **argv) {
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: %s OUTDIR    writes OUTDIR/vectors.txt\n", argv[0]);
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/vectors.txt", argv[1]);
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "cannot make the directory %s: %s\n", argv[1], strerror(errno));
        return 3;
    }

    int cases = 0;
    for (int group = 0; group < GROUPS; group++) {
        cases += group_size((Group)group);
    }
    Record *record = (Record *)mmap(NULL, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED || cases > MAX_CASES) {
        fprintf(stderr, "cannot map %zu bytes for %d cases\n", sizeof(Record), cases);
        return 3;
    }
    double start = seconds();
    int children = 0, failed = 0;
    for (int next = 0; next < cases && !failed; children++) {
        fflush(NULL);
        record->ready = 0;
        pid_t child = fork();
        if (child == 0) {
            run_child(record, next, cases);
        }
        if (child < 0) {
            fprintf(stderr, "cannot start a process: %s\n", strerror(errno));
            return 3;
        }
        next = attend(record, child, next, cases, &failed);
    }
    if (failed) {
        fprintf(stderr, "no vectors were recorded: the GPU could not be set up\n");
        return 3;
    }

    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        return 3;
    }
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(file,
            "# Recorded by tests/conform/record.cu on %s: %s.\n# The format is described in tests/conform/vectors.h.\n",
            date, record->device);
    int counts[CASE_STATUSES + 1] = {0, 0, 0, 0};
    for (int i = 0; i < cases; i++) {
        int in_group;
        Group group = locate(i, &in_group);
        const Result *r = &record->result[i];
        if (in_group == 0) {
            fprintf(file, "\n# ---- %s\n", group_name(group));
        }
        counts[r->status]++;
        if (r->status == CASE_STATUSES) {
            fprintf(stderr, "%s %s could not be recorded: %s\n", group_name(group), case_name(group, in_group),
                    r->note);
            continue;
        }
        if (r->note[0] != '\0') {
            fprintf(file, "# %s\n", r->note);
        }
        write_vector(file, group_name(group), case_name(group, in_group), case_digest(group, in_group), r->status,
                     record->words + r->first, r->count);
        if (r->status != CASE_OK) {
            printf("%-10s %-36s %s  %s\n", group_name(group), case_name(group, in_group), case_status_name(r->status),
                   r->note);
        }
    }
    if (fclose(file) != 0) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        remove(path);
        return 3;
    }
    printf("%d cases in %.1f s with %d processes: %d ok, %d hang, %d trap, %d not recorded; %s\n", cases,
           seconds() - start, children, counts[CASE_OK], counts[CASE_HANG], counts[CASE_TRAP], counts[CASE_STATUSES],
           path);
    return counts[CASE_STATUSES] > 0;
}
