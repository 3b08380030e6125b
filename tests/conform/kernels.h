/* kernels.h - the cases as kernels: one source for the GPU (record.cu) and the CPU model (replay.c), as the
 * chapters are. First the instructions that common/device has no wrapper for. */
#ifndef CONFORM_KERNELS_H
#define CONFORM_KERNELS_H

#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/cluster.h"
#include "../../common/device/cp_async.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/registers.h"
#include "../../common/device/bulk_copy.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"
#include "covered.h"

/* complete_tx(bar, bytes) is mbarrier.complete_tx. delay_us(us) waits, so that other threads act first. wgmma_ss_f16()
 * and wgmma_rs_f16() are as wgmma_ss() and wgmma_rs(), of fp16. */
#ifdef GEMM_MODEL

#define wgmma_ss_f16(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_F16, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_f16(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_F16, n, d, a, b, accumulate, 0, HERE)
#define complete_tx(bar, bytes) model_mbarrier_complete_tx(bar, bytes, HERE)
#define delay_us(us) model_nanosleep(1000u * (us))

#else

DEVICE void wgmma_ss_f16(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k16.f32.f16.f16", ", 0, 0");
}
DEVICE void wgmma_rs_f16(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k16.f32.f16.f16", ", 0");
}

DEVICE void complete_tx(MBarrier *bar, int bytes) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

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

#endif

/* ---- mbarriers, barriers, setmaxnreg ----------------------------------------------------------------------------- */

typedef struct {
    MBarrier bar;
    uint4 copied;
    uint4 kept[64], got[64]; /* by thread: what a neighbour reads, what it writes */
} ScriptShared;

typedef struct {
    MbarrierOp op[MB_MAX_OPS];
    uint16_t *out;     /* a word for each test */
    const uint4 *from; /* what is copied */
} ScriptParams;

static __global__ void mbarrier_script(const __grid_constant__ ScriptParams p) {
    SHARED_MEMORY(ScriptShared, s);
    int tests = 0;
    if (threadIdx.x != 0) {
        return;
    }
    for (int i = 0; i < MB_MAX_OPS && p.op[i].op != MB_END; i++) {
        int argument = p.op[i].argument;
        switch (p.op[i].op) {
        case MB_INIT:
            mbarrier_init(&s->bar, 1, argument);
            mbarrier_init_fence();
            break;
        case MB_EXPECT: mbarrier_expect_tx(&s->bar, argument); break;
        case MB_COMPLETE: complete_tx(&s->bar, argument); break;
        case MB_ARRIVE: mbarrier_arrive(&s->bar); break;
        case MB_ARRIVE_EXPECT: mbarrier_arrive_expect_tx(&s->bar, argument); break;
        case MB_BOTH:
            p.out[tests++] = (uint16_t)mbarrier_test_wait_parity(&s->bar, 0);
            p.out[tests++] = (uint16_t)mbarrier_test_wait_parity(&s->bar, 1);
            break;
        case MB_COPIES:
            cp_async_16(&s->copied, p.from);
            cp_async_mbarrier_arrive_noinc(&s->bar);
            cp_async_commit_group();
            cp_async_wait_group(0);
            delay_us(20); /* the arrival comes by itself */
            break;
        }
    }
}
KERNEL_ENTRY(mbarrier_script, ScriptParams);

typedef struct {
    int what;
    int threads;
    uint16_t *out; /* [ctas][threads], zero before */
} BarrierParams;

/* Word i of a vector: clang gives no address of its members. */
DEVICE void *word(uint4 *v, int i) { return (uint32_t *)v + i; }

/* Threads exchange numbers with those of the other CTA of their cluster. */
DEVICE int exchange(ScriptShared *s, int what) {
    int rank = cluster_cta_rank(), peer = 1 - rank, thread = (int)threadIdx.x, other = 63 - thread;
    uint32_t mine = (uint32_t)(1000 * rank + thread), want = (uint32_t)(1000 * peer + other), last = want + 3;
    s->kept[thread] = make_uint4(mine, mine + 1, mine + 2, mine + 3);
    if (thread == 0) {
        mbarrier_init(&s->bar, 1, 1);
        mbarrier_init_fence();
    }
    cluster_sync();
    uint4 v = make_uint4(mine, mine + 1, mine + 2, mine + 3);
    if (what == BARRIER_peer_loads) {
        v.x = cluster_load_u32(word(&s->kept[other], 0), peer);
        v.y = cluster_load_u32(word(&s->kept[other], 1), peer);
        v.z = cluster_load_u32(word(&s->kept[other], 2), peer);
        v.w = cluster_load_u32(word(&s->kept[other], 3), peer);
        last = __float_as_uint(cluster_load_f32(word(&s->kept[other], 3), peer));
    } else {
        if (thread == 0 && what != BARRIER_peer_stores) {
            mbarrier_arrive_expect_tx(&s->bar, 64 * 16);
        }
        if (what == BARRIER_peer_stores) {
            cluster_store_v4(&s->got[other], peer, make_uint4(mine, 0, v.z, v.w));
            cluster_store_u32(word(&s->got[other], 1), peer, v.y);
        } else if (thread % 2 == 0) {
            st_async_v4(&s->got[other], peer, v, &s->bar);
        } else {
            st_async_u32(word(&s->got[other], 0), peer, v.x, &s->bar);
            st_async_u32(word(&s->got[other], 1), peer, v.y, &s->bar);
            st_async_u32(word(&s->got[other], 2), peer, v.z, &s->bar);
            st_async_u32(word(&s->got[other], 3), peer, v.w, &s->bar);
        }
        if (what == BARRIER_peer_stores) {
            cluster_sync();
        } else {
            mbarrier_wait_parity_cluster(&s->bar, 0);
        }
        v = s->got[thread];
        last = v.w;
    }
    cluster_sync();
    return v.x == want && v.y == want + 1 && v.z == want + 2 && v.w == want + 3 && last == want + 3 ? 1 : 2;
}

static __global__ void barrier_case(const __grid_constant__ BarrierParams p) {
    SHARED_MEMORY(ScriptShared, s);
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, what = p.what;
    if (what >= BARRIER_peer_loads) {
        p.out[(int)blockIdx.x * p.threads + (int)threadIdx.x] = (uint16_t)exchange(s, what);
        return;
    }
    int leaves = what == BARRIER_named_others_exited  ? warp == 2
                 : what == BARRIER_cluster_cta_exited ? cluster_cta_rank() == 1
                 : what == BARRIER_cta_lanes_exited || what == BARRIER_named_lanes_exited
                     ? warp == 1 && lane >= 16
                     : what != BARRIER_cta_in_one_role && warp == 1;
    if (what == BARRIER_cta_warp_exits_late || what == BARRIER_named_warp_exits_late ? leaves
        : what == BARRIER_cta_warp_exited || what == BARRIER_named_others_exited || what == BARRIER_cluster_cta_exited
            ? !leaves
            : 0) {
        delay_us(50);
    }
    if (leaves) {
        if (what == BARRIER_named_arrived_and_exited) {
            named_barrier_arrive(1, 64);
        }
        return;
    }
    switch (what) {
    case BARRIER_cta_warp_exited:
    case BARRIER_cta_warp_exits_late:
    case BARRIER_cta_lanes_exited: __syncthreads(); break;
    case BARRIER_cluster_cta_exited: cluster_sync(); break;
    case BARRIER_cta_in_one_role:
        if (threadIdx.x == 0) {
            mbarrier_init(&s->bar, 1, 32);
            mbarrier_init_fence();
        }
        __syncthreads();
        if (warp == 0) {
            __syncthreads();
            mbarrier_arrive(&s->bar);
        } else {
            mbarrier_wait_parity(&s->bar, 0);
        }
        break;
    default: named_barrier_sync(1, 64);
    }
    p.out[(int)blockIdx.x * p.threads + (int)threadIdx.x] = 1;
}
KERNEL_ENTRY(barrier_case, BarrierParams);

/* What KERNEL() gives. */
typedef struct {
    const void *kernel;
    const char *name;
} NamedKernel;

#define SETMAXNREG_DO_DEC(registers) setmaxnreg_dec(registers)
#define SETMAXNREG_DO_INC(registers) setmaxnreg_inc(registers)
#define SETMAXNREG_DO_KEEP(registers) ((void)0)
#define SETMAXNREG_DO_EXIT(registers) return
#define SETMAXNREG_DO_NONE(registers) ((void)0)

#define SETMAXNREG_KERNEL(name, threads, a0, r0, a1, r1, a2, r2, a3, r3, a4, r4)                                      \
    static __global__ void __launch_bounds__(threads, 1) setmaxnreg_##name(const __grid_constant__ BarrierParams p) { \
        int warpgroup = warp_uniform((int)threadIdx.x / 128);                                                         \
        if (warpgroup == 0) {                                                                                         \
            SETMAXNREG_DO_##a0(r0);                                                                                   \
        } else if (warpgroup == 1) {                                                                                  \
            SETMAXNREG_DO_##a1(r1);                                                                                   \
        } else if (warpgroup == 2) {                                                                                  \
            SETMAXNREG_DO_##a2(r2);                                                                                   \
        } else if (warpgroup == 3) {                                                                                  \
            SETMAXNREG_DO_##a3(r3);                                                                                   \
        } else {                                                                                                      \
            SETMAXNREG_DO_##a4(r4);                                                                                   \
        }                                                                                                             \
        p.out[threadIdx.x] = 1;                                                                                       \
    }                                                                                                                 \
    KERNEL_ENTRY(setmaxnreg_##name, BarrierParams);

SETMAXNREG_CASES(SETMAXNREG_KERNEL)

/* ---- copies of boxes and ranges ---------------------------------------------------------------------------------- */

typedef struct {
    TensorMap map;
    int op, type, rank, copies; /* rank 0: a range of `bytes` at `global` */
    TmaCopy copy[4];
    int bytes;
    bf16 *global, *out; /* out: of loads, [cluster][1 + TMA_WINDOW / 2] */
} CopyParams;

typedef struct {
    bf16 window[TMA_WINDOW / 2];
    MBarrier bar;
    uint32_t arrived;
} CopyShared;

DEVICE void start_load(CopyShared *s, const CopyParams *p, const TmaCopy *copy) {
    const int *c = copy->coord;
    uint8_t *dst = (uint8_t *)s->window + copy->offset;
    if (copy->mask != 0) {
        tma_load_2d_multicast(dst, &p->map, c[0], c[1], &s->bar, copy->mask);
        return;
    }
    switch (p->rank) {
    case 0: bulk_load(dst, p->global, p->bytes, &s->bar); break;
    case 2: tma_load_2d(dst, &p->map, c[0], c[1], &s->bar); break;
    default: tma_load_5d(dst, &p->map, c[0], c[1], c[2], c[3], c[4], &s->bar); break;
    }
}

DEVICE void start_store(CopyShared *s, const CopyParams *p, const TmaCopy *copy) {
    const int *c = copy->coord;
    const uint8_t *src = (const uint8_t *)s->window + copy->offset;
    switch (p->rank + (p->op == TMA_ADD ? 10 : 0)) {
    case 0: bulk_store(p->global, src, p->bytes); break;
    case 2: tma_store_2d(&p->map, src, c[0], c[1]); break;
    case 5: tma_store_5d(&p->map, src, c[0], c[1], c[2], c[3], c[4]); break;
    default: tma_reduce_add_2d(&p->map, src, c[0], c[1]); break;
    }
}

/* 65536 bytes are announced. Once everything must have landed, the thread completes the rest itself, 16 bytes at a
 * time, until the phase flips: what it did not have to complete is what the copies brought. */
static __global__ void load_case(const __grid_constant__ CopyParams p) {
    SHARED_MEMORY(CopyShared, s);
    int rank = cluster_cta_rank();
    for (int i = (int)threadIdx.x; i < TMA_WINDOW / 2; i += (int)blockDim.x) {
        s->window[i] = copy_window_word(p.op, p.type, i);
    }
    fence_proxy_async();
    if (threadIdx.x == 0) {
        mbarrier_init(&s->bar, 1, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&s->bar, TMA_ANNOUNCED);
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        fence_proxy_async(); /* also in the CTA that loads, after what the others have stored: PTX 8.9.5 */
        for (int i = 0; i < p.copies; i++) {
            if (p.copy[i].issuer == rank) {
                start_load(s, &p, &p.copy[i]);
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
KERNEL_ENTRY(load_case, CopyParams);

static __global__ void store_case(const __grid_constant__ CopyParams p) {
    SHARED_MEMORY(CopyShared, s);
    for (int i = (int)threadIdx.x; i < TMA_WINDOW / 2; i += (int)blockDim.x) {
        s->window[i] = copy_window_word(p.op, p.type, i);
    }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        start_store(s, &p, &p.copy[0]);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}
KERNEL_ENTRY(store_case, CopyParams);

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
    const int words = (p->c.data >= WGMMA_ELEMENTS ? WGMMA_B + 256 * 128 : WGMMA_SHARED) / 2;
    for (int i = (int)threadIdx.x; i < words; i += (int)blockDim.x) {
        s->word[i] = wgmma_shared_word(p->c.data, p->pass, i);
    }
    if ((shared_address(s) & 1023) != 0) {
        *p->inexact = 2;
    }
    fence_proxy_async();
    __syncthreads();
}

DEVICE void wgmma_dump(const WgmmaParams *p, const float *d, int count) {
    if (wgmma_tells_sums(&p->c)) {
        int sum = 0;
        UNROLL
        for (int v = 0; v < count; v++) {
            sum += (2 * v + 1) * (int)d[v];
        }
        p->out[threadIdx.x] = (uint16_t)sum;
        return;
    }
    UNROLL
    for (int v = 0; v < count; v++) {
        int value = (int)d[v];
        if ((float)(int16_t)value != d[v]) {
            *p->inexact = 1;
        }
        p->out[(int)threadIdx.x * count + v] = (uint16_t)value;
    }
}

DEVICE void case_fragment(const WgmmaParams *p, int step, uint32_t r[4]) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = wgmma_a_register(p->c.data, p->pass, (int)threadIdx.x + 128 * step, i);
    }
}

/* A product of `a` and `b` is added to `d`, and waited for. */
#define MULTIPLY(kind, n, accumulate)     \
    wgmma_fence();                        \
    wgmma_##kind(n, d, a, b, accumulate); \
    wgmma_commit_group();                 \
    wgmma_wait_group(0);                  \
    registers_settled(d, n / 2)

/* Operand A of a product: from shared memory by descriptor (0), or from registers (1). */
#define WGMMA_A_0 uint64_t a = case_descriptor(&p.c.a, shared_address(s) + (uint32_t)step * p.c.a_step)
#define WGMMA_A_1  \
    uint32_t a[4]; \
    case_fragment(&p, step, a)

#define WGMMA_KERNEL(n, kind, type, registers, a_mn, b_mn)                                                   \
    static __global__ void __launch_bounds__(128) case_##kind##_##n(const __grid_constant__ WgmmaParams p) { \
        SHARED_MEMORY(WgmmaShared, s);                                                                       \
        float d[n / 2];                                                                                      \
        UNROLL                                                                                               \
        for (int v = 0; v < n / 2; v++) {                                                                    \
            d[v] = (float)(v % 5);                                                                           \
        }                                                                                                    \
        wgmma_fill(&p, s);                                                                                   \
        UNROLL_ONCE                                                                                          \
        for (int step = 0; step < p.c.steps; step++) {                                                       \
            WGMMA_A_##registers;                                                                             \
            uint64_t b = case_descriptor(&p.c.b, shared_address(s) + (uint32_t)step * p.c.b_step);           \
            MULTIPLY(kind, n, step > 0);                                                                     \
        }                                                                                                    \
        wgmma_dump(&p, d, n / 2);                                                                            \
    }                                                                                                        \
    KERNEL_ENTRY(case_##kind##_##n, WgmmaParams);

/* Those of the products, and what other cases need besides. */
#define WGMMA_KERNELS(X) \
    WGMMA_PRODUCTS(X)    \
    X(16, ss_trans_a, BF16, 0, 1, 0) X(24, ss_trans_b, BF16, 0, 0, 1) X(128, ss_trans_b, BF16, 0, 0, 1)
WGMMA_KERNELS(WGMMA_KERNEL)

#define WGMMA_ROW(n, kind, type, registers, a_mn, b_mn) \
    {n, CONFORM_##type, registers, a_mn, b_mn, {KERNEL(case_##kind##_##n)}},
static const struct {
    int n, type, from_registers, a_mn, b_mn;
    NamedKernel kernel;
} wgmma_kernels[] = {WGMMA_KERNELS(WGMMA_ROW)};

/* ---- sums that must be rounded ----------------------------------------------------------------------------------- */

typedef struct {
    const InexactCase *cases;
    uint16_t *out; /* [INEXACT_CASES][INEXACT_ROWS][INEXACT_COLUMNS][2] */
} RoundingParams;

typedef struct {
    uint8_t a[64 * 128], b[INEXACT_COLUMNS * 128]; /* rows of 128 bytes, of which 32 count; 128-byte swizzle */
} RoundingShared;

DEVICE void load_rows(uint8_t *tile, const uint8_t *from, int rows) {
    for (int i = (int)threadIdx.x; i < rows * 2; i += 128) {
        *(uint4 *)(void *)(tile + 2 * swizzled_index(i / 2, i % 2)) = *(const uint4 *)(const void *)(from + i * 16);
    }
}

/* A CTA for each product. */
#define ROUNDING_KERNEL(name, kind)                                                                           \
    static __global__ void __launch_bounds__(128) rounding_##name(const __grid_constant__ RoundingParams p) { \
        SHARED_MEMORY(RoundingShared, s);                                                                     \
        const InexactCase *r = &p.cases[blockIdx.x];                                                          \
        int row = (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2;  \
        float d[4];                                                                                           \
        load_rows(s->a, r->a, 64);                                                                            \
        load_rows(s->b, r->b, INEXACT_COLUMNS);                                                               \
        UNROLL                                                                                                \
        for (int i = 0; i < 4; i++) {                                                                         \
            d[i] = r->c[(row + i / 2 * 8) * INEXACT_COLUMNS + column + i % 2];                                \
        }                                                                                                     \
        fence_proxy_async();                                                                                  \
        __syncthreads();                                                                                      \
        uint64_t a = wgmma_descriptor(s->a), b = wgmma_descriptor(s->b);                                      \
        MULTIPLY(kind, 8, 1);                                                                                 \
        for (int i = 0; i < 2 && row < INEXACT_ROWS; i++) {                                                   \
            int at = ((int)blockIdx.x * INEXACT_ROWS + row) * INEXACT_COLUMNS + column + i;                   \
            p.out[2 * at] = (uint16_t)__float_as_uint(d[i]);                                                  \
            p.out[2 * at + 1] = (uint16_t)(__float_as_uint(d[i]) >> 16);                                      \
        }                                                                                                     \
    }                                                                                                         \
    KERNEL_ENTRY(rounding_##name, RoundingParams);
ROUNDING_CASES(ROUNDING_KERNEL)

#define ROUNDING_ENTRY(name, kind) {KERNEL(rounding_##name)},
static const NamedKernel rounding_kernels[] = {ROUNDING_CASES(ROUNDING_ENTRY)};

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
    } else if (p.c.op == WARP_SHUFFLES) {
        const uint32_t all = 0xffffffffu;
        uint16_t *out = p.out + lane * WARP_ANSWERS;
        int width = p.c.rows;
        out[0] = (uint16_t)__shfl_sync(all, lane, 1, width);
        out[1] = (uint16_t)__shfl_sync(all, lane, lane * 5 + 3, width);
        out[2] = (uint16_t)__shfl_sync(all, lane, -3, width);
        out[3] = (uint16_t)__shfl_up_sync(all, lane, 1, width);
        out[4] = (uint16_t)__shfl_up_sync(all, lane, 7, width);
        out[5] = (uint16_t)__shfl_up_sync(all, lane, 33, width);
        out[6] = (uint16_t)__shfl_down_sync(all, lane, 1, width);
        out[7] = (uint16_t)__shfl_down_sync(all, lane, 7, width);
        out[8] = (uint16_t)__shfl_down_sync(all, lane, 34, width);
        out[9] = (uint16_t)__shfl_xor_sync(all, lane, 1, width);
        out[10] = (uint16_t)__shfl_xor_sync(all, lane, 12, width);
        out[11] = (uint16_t)__shfl_xor_sync(all, lane, 48, width);
    } else if (p.c.op == WARP_VOTES) {
        uint32_t mask = (uint32_t)p.c.rows;
        uint16_t *out = p.out + lane * WARP_ANSWERS;
        int same = 7;
        for (int i = 0; i < WARP_ANSWERS; i++) {
            out[i] = 0;
        }
        if (mask >> lane & 1) {
            uint32_t ballot = __ballot_sync(mask, lane % 3), match = __match_any_sync(mask, lane / 5);
            uint32_t alike = __match_all_sync(mask, lane / 16, &same);
            out[0] = (uint16_t)ballot;
            out[1] = (uint16_t)(ballot >> 16);
            out[2] = (uint16_t)__any_sync(mask, lane == 9);
            out[3] = (uint16_t)__any_sync(mask, lane > 40);
            out[4] = (uint16_t)__all_sync(mask, lane < 16);
            out[5] = (uint16_t)__all_sync(mask, lane < 9);
            out[6] = (uint16_t)match;
            out[7] = (uint16_t)(match >> 16);
            out[8] = (uint16_t)alike;
            out[9] = (uint16_t)(alike >> 16);
            out[10] = (uint16_t)same;
            out[11] = (uint16_t)(__popc(ballot) + 64 * __ffs((int)match) + 4096 * (__clz((int)match) & 15));
        }
    } else {
        uint32_t a[4], b[2];
        float d[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            a[i] = warp_mma_operand(p.c.rows, lane, i);
            d[i] = warp_mma_start(p.c.rows, lane, i);
        }
        for (int i = 0; i < 2; i++) {
            b[i] = warp_mma_operand(p.c.rows, lane, 4 + i);
        }
        mma_m16n8k16(d, a, b);
        UNROLL
        for (int i = 0; i < 4; i++) {
            p.out[lane * 4 + i] = (uint16_t)(int)d[i];
        }
    }
}
KERNEL_ENTRY(warp_case, WarpParams);

/* ---- running them ------------------------------------------------------------------------------------------------ */

enum { CASE_WORDS = 1 << 16, GLOBAL_WORDS = 1 << 18, NOTE_BYTES = 600 };

typedef enum { CASE_OK, CASE_HANG, CASE_TRAP, CASE_STATUSES } CaseStatus;

static inline const char *case_status_name(CaseStatus status) {
    static const char *const names[CASE_STATUSES] = {"ok", "hang", "trap"};
    return names[status];
}

/* The file of recorded results is text, so that a change of the hardware's behaviour shows in a diff:
 *
 *     # comment
 *     case tma load_none_inside ok 2049
 *     100 dddd*8 1+8 ...
 *
 * A case line has the group, the name, what happened (ok, hang, trap) and the number of 16-bit words that follow, in
 * hex: "a" is one word, "a*n" the same n times, "a+n" n words that count up from a; n is decimal. A longer line than
 * 120 columns goes on in the next one. The recorder and the replay write it by one function, so their texts can be
 * compared. */
static inline void write_vector(FILE *file, const char *group, const char *name, CaseStatus status,
                                const uint16_t *words, int count) {
    fprintf(file, "case %s %s %s %d\n", group, name, case_status_name(status), count);
    int column = 0;
    for (int i = 0; i < count;) {
        int same = 1, up = 1;
        while (i + same < count && words[i + same] == words[i]) {
            same++;
        }
        while (i + up < count && words[i + up] == (uint16_t)(words[i] + up)) {
            up++;
        }
        int length = same > up ? same : up;
        char token[32];
        if (length < 3) {
            length = 1;
            snprintf(token, sizeof token, "%x", words[i]);
        } else {
            snprintf(token, sizeof token, "%x%c%d", words[i], same > up ? '*' : '+', length);
        }
        if (column > 0 && column + 1 + (int)strlen(token) > 120) {
            fputc('\n', file);
            column = 0;
        }
        column += fprintf(file, "%s%s", column > 0 ? " " : "", token);
        i += length;
    }
    if (count > 0) {
        fputc('\n', file);
    }
}

/* What became of a case. */
typedef struct {
    CaseStatus status;
    int count;
    uint16_t words[CASE_WORDS];
    char note[NOTE_BYTES]; /* empty, or a remark */
} Outcome;

/* Memory that kernels reach. */
typedef struct {
    uint16_t *out;    /* CASE_WORDS words */
    uint16_t *global; /* GLOBAL_WORDS words */
    uint32_t *fault;  /* what went wrong; the host can read it */
} Machine;

/* record.cu and replay.c have these; 0 or an error. machine_wait() gets what launch_kernel() returned;
 * machine_encode() is cuTensorMapEncodeTiled of whole boxes, which refuses with 1. */
static int machine_copy(void *to, const void *from, size_t bytes, int to_machine);
static int machine_wait(int launched);
static int machine_encode(TensorMap *map, int type, int rank, void *base, const uint64_t *size, const uint64_t *stride,
                          const uint32_t *box, int swizzle);

/* Launches, and fetches the case's words. */
static int run_kernel(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                      const void *params, const uint16_t *from, Outcome *o) {
    LaunchShape shape = {grid, block, cluster, shared_bytes, 0};
    int error = machine_wait(launch_kernel(kernel, name, shape, params, NULL, NULL));
    return error ? error : machine_copy(o->words, from, (size_t)o->count * 2, 0);
}

static int run_encode(const Machine *m, const EncodeCase *c, Outcome *o) {
    TensorMap map;
    int result = machine_encode(&map, c->type, c->rank, (uint8_t *)m->global + c->misaligned, c->size, c->stride,
                                c->box, c->swizzle);
    o->words[0] = result != 0;
    o->count = 1;
    snprintf(o->note, NOTE_BYTES, "CUresult %d", result);
    return 0;
}

/* Of a range, rank 0, the size is its bytes and the coordinate where it begins. */
static int run_boxes(const Machine *m, const TmaCase *c, int words, Outcome *o) {
    CopyParams p = {.op = c->op, .type = c->type, .rank = c->rank, .copies = c->copies, .bytes = (int)c->size[0]};
    memcpy(p.copy, c->copy, sizeof p.copy);
    p.global = (bf16 *)(void *)((uint8_t *)m->global + c->copy[0].coord[0]);
    int refused = c->rank > 0 ? machine_encode(&p.map, c->type, c->rank, m->global + TMA_GUARD, c->size, c->stride,
                                               c->box, c->swizzle)
                              : 0;
    if (refused) {
        snprintf(o->note, NOTE_BYTES, "cuTensorMapEncodeTiled: %d", refused);
        return 1;
    }
    for (int i = 0; i < words; i++) {
        o->words[i] = copy_global_word(p.op, p.type, i);
    }
    p.out = m->out;
    int error = machine_copy(m->global, o->words, (size_t)words * 2, 1), load = p.op == TMA_LOAD;
    if (error) {
        return error;
    }
    o->count = load ? c->cluster * (1 + TMA_WINDOW / 2) : words;
    return load ? run_kernel(KERNEL(load_case), c->cluster, 128, c->cluster, (int)sizeof(CopyShared), &p, m->out, o)
                : run_kernel(KERNEL(store_case), 1, 128, 0, (int)sizeof(CopyShared), &p, m->global, o);
}

static int run_bulk(const Machine *m, const TmaCase *c, Outcome *o) { return run_boxes(m, c, BULK_WORDS, o); }
static int run_tma(const Machine *m, const TmaCase *c, Outcome *o) { return run_boxes(m, c, tma_global_words(c), o); }
static int run_tensor(const Machine *m, const TmaCase *c, Outcome *o) {
    return run_boxes(m, c, tma_global_words(c) + 16, o);
}

static int run_wgmma(const Machine *m, const WgmmaCase *c, Outcome *o) {
    static uint16_t low[CASE_WORDS];
    int k = 0;
    while (k < COUNT_OF(wgmma_kernels) &&
           !(wgmma_kernels[k].n == c->n && wgmma_kernels[k].type == wgmma_type(c->data) &&
             wgmma_kernels[k].from_registers == c->from_registers &&
             (c->from_registers || wgmma_kernels[k].a_mn == c->a.mn_major) && wgmma_kernels[k].b_mn == c->b.mn_major)) {
        k++;
    }
    if (k == COUNT_OF(wgmma_kernels)) {
        snprintf(o->note, NOTE_BYTES, "kernels.h has no kernel for n = %d with these majors", c->n);
        return 1;
    }
    o->count = wgmma_tells_sums(c) ? 128 : 128 * c->n / 2;
    for (int pass = 0; pass < (c->data == WGMMA_PROBE ? 2 : 1); pass++) {
        WgmmaParams p = {*c, pass, m->out, m->fault};
        *p.inexact = 0;
        memcpy(low, o->words, (size_t)o->count * 2);
        int error = run_kernel(wgmma_kernels[k].kernel.kernel, wgmma_kernels[k].kernel.name, 1, 128, 0,
                               (int)sizeof(WgmmaShared), &p, m->out, o);
        if (error) {
            return error;
        }
        if (*m->fault != 0) {
            snprintf(o->note, NOTE_BYTES, "%s",
                     *m->fault == 1 ? "a result is not a 16-bit integer" : "shared memory is not aligned");
            return 1;
        }
        for (int i = 0; i < o->count && pass == 1; i++) {
            o->words[i] = (uint16_t)(low[i] + 256 * o->words[i]);
        }
    }
    return 0;
}

static int run_product(const Machine *m, const WgmmaCase *c, Outcome *o) { return run_wgmma(m, c, o); }

/* The formula goes on from one type to the next. */
static int run_rounding(const Machine *m, const RoundingCase *c, Outcome *o) {
    static InexactCase cases[INEXACT_CASES];
    int type = (int)(c - rounding_cases);
    uint64_t state = 1;
    for (int i = 0; i < (type + 1) * INEXACT_CASES; i++) {
        inexact_next(&state, i / INEXACT_CASES, i % INEXACT_CASES, &cases[i % INEXACT_CASES]);
    }
    RoundingParams p = {(const InexactCase *)(const void *)m->global, m->out};
    int error = machine_copy(m->global, cases, sizeof cases, 1);
    o->count = INEXACT_CASES * INEXACT_ROWS * INEXACT_COLUMNS * 2;
    return error ? error
                 : run_kernel(rounding_kernels[type].kernel, rounding_kernels[type].name, INEXACT_CASES, 128, 0,
                              (int)sizeof(RoundingShared), &p, m->out, o);
}

static int run_warp(const Machine *m, const WarpCase *c, Outcome *o) {
    WarpParams p = {*c, m->out};
    o->count = c->op == WARP_LDMATRIX                          ? 32 * 8
               : c->op == WARP_STMATRIX                        ? WARP_SHARED / 2
               : c->op == WARP_SHUFFLES || c->op == WARP_VOTES ? 32 * WARP_ANSWERS
                                                               : 32 * 4;
    return run_kernel(KERNEL(warp_case), 1, 32, 0, (int)sizeof(WarpShared), &p, m->out, o);
}

static int run_mbarrier(const Machine *m, const MbarrierCase *c, Outcome *o) {
    ScriptParams p;
    memset((void *)&p, 0, sizeof p);
    mbarrier_ops(c, p.op);
    p.out = m->out;
    p.from = (const uint4 *)(const void *)m->global;
    for (int i = 0; i < MB_MAX_OPS; i++) {
        o->count += p.op[i].op == MB_BOTH ? 2 : 0;
    }
    return run_kernel(KERNEL(mbarrier_script), 1, 32, 0, (int)sizeof(ScriptShared), &p, m->out, o);
}

static int run_threads(const Machine *m, NamedKernel kernel, int what, int threads, int ctas, int cluster, Outcome *o) {
    BarrierParams p = {what, threads, m->out};
    o->count = ctas * threads;
    memset(o->words, 0, (size_t)o->count * 2);
    int error = machine_copy(m->out, o->words, (size_t)o->count * 2, 1);
    return error ? error
                 : run_kernel(kernel.kernel, kernel.name, ctas, threads, cluster, (int)sizeof(ScriptShared), &p, m->out,
                              o);
}

static int run_barrier(const Machine *m, const BarrierCase *c, Outcome *o) {
    return run_threads(m, (NamedKernel){KERNEL(barrier_case)}, c->what, c->threads, c->ctas, c->cluster, o);
}

#define SETMAXNREG_ENTRY(name, ...) {KERNEL(setmaxnreg_##name)},
static const NamedKernel setmaxnreg_kernels[] = {SETMAXNREG_CASES(SETMAXNREG_ENTRY)};

static int run_setmaxnreg(const Machine *m, const SetmaxnregCase *c, Outcome *o) {
    return run_threads(m, setmaxnreg_kernels[c - setmaxnreg_cases], 0, c->threads, 1, 0, o);
}

/* 0, or an error of the machine's. */
static int run_case(const Machine *m, Group group, int i, Outcome *o) {
    o->count = 0;
    o->note[0] = '\0';
    switch (group) {
#define RUN_GROUP(id, name) \
    case GROUP_##id: return run_##name(m, &name##_cases[i], o);
        CONFORM_GROUPS(RUN_GROUP)
    default: return 1;
    }
}

#endif
