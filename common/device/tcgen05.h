/* tcgen05.h - Blackwell's tensor cores: one thread starts a product, whose accumulator is in tensor memory. sm_100a,
 * sm_103a, sm_110a. Nothing here has run on such a GPU: it is assembled, and runs on the CPU model. Section numbers are
 * of PTX ISA 9.1.
 *
 * Tensor memory has 128 lanes of 512 columns, 32 bits each, for a CTA. An address has the lane in its upper 16 bits,
 * the column in the lower. Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31 by loads and stores; products reach all.
 * PTX 9.7.16.1.
 *
 * Order. Products, copies, loads and stores are asynchronous. In one thread, products of one accumulator and shape are
 * in order without a fence, and so is a product after a copy. A commit and its mbarrier show that products and copies
 * are complete; a wait shows that the warp's loads or stores are. Between threads, tcgen05_fence_before() precedes the
 * synchronisation (a commit contains it), and tcgen05_fence_after() follows it. PTX 9.7.16.6.
 *
 * Pairs. Two CTAs of a cluster, an even one and the next, multiply together: names end in _pair. A thread of one of
 * them starts the products of both. Each has half of the rows of A, of B, and of D, at the same offsets of its shared
 * and its tensor memory. A kernel has instructions of pairs or of single CTAs, not both. It needs a cluster_sync()
 * before the first, so that both CTAs have started, and before the last, so that neither has ended. PTX 9.7.16.5. */
#ifndef TCGEN05_H
#define TCGEN05_H

#include "cluster.h"
#include "mbarrier.h"
#include "tcgen05_kinds.h"
#include "tma.h"
#include "wgmma_widths.h"

/* Operands of kind f16: f16 is 0, bf16 is 1; D is fp32. m is 64 or 128, of a pair 128 or 256; n is a multiple of 16,
 * or of 8 if m = 64, up to 256. a_major, b_major: 1 if m, or n, is contiguous in memory. PTX 9.7.16.4.2. */
HOST_DEVICE uint32_t tcgen05_shape_f16(int is_bf16, int m, int n, int a_major, int b_major) {
    return 1u << 4 | (uint32_t)is_bf16 << 7 | (uint32_t)is_bf16 << 10 | (uint32_t)a_major << 15 |
           (uint32_t)b_major << 16 | (uint32_t)(n / 8) << 17 | (uint32_t)(m / 16) << 24;
}
/* K-major operands of a kind with scales; m is 128, of a pair 256. a and b: for mxf8f6f4 0 is e4m3 and 1 is e5m2, for
 * mxf4nvf4 1 is e2m1. Scales are ue8m0, or ue4m3 for mxf4nvf4. Those of a k-step begin at byte a_scale, or b_scale, of
 * their columns: 0 to 3 for mxf8f6f4, and 0 for mxf4nvf4, which takes four. PTX 9.7.16.4.2. */
HOST_DEVICE uint32_t tcgen05_shape_scaled(int a, int b, int scale_is_ue8m0, int m, int n, int a_scale, int b_scale) {
    return (uint32_t)b_scale << 4 | (uint32_t)a << 7 | (uint32_t)b << 10 | (uint32_t)(n / 8) << 17 |
           (uint32_t)scale_is_ue8m0 << 23 | (uint32_t)(m / 128) << 27 | (uint32_t)a_scale << 29;
}

enum { TCGEN05_SWIZZLE_NONE = 0, TCGEN05_SWIZZLE_128B = 2, TCGEN05_SWIZZLE_64B = 4, TCGEN05_SWIZZLE_32B = 6 };

/* An operand in shared memory. The offsets mean what wgmma's do (wgmma.h); the swizzle has other numbers in other bits,
 * and bit 46 is set, so a descriptor for wgmma is wrong here. A step of k in a swizzled K-major row is 32 bytes, + 2.
 * PTX 9.7.16.4.1. */
HOST_DEVICE uint64_t tcgen05_descriptor_fields(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes,
                                               int swizzle) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading_bytes >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride_bytes >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)swizzle << 61;
}
/* Contiguous rows of 16 bytes, as tcgen05.cp takes scales. */
HOST_DEVICE uint64_t tcgen05_descriptor_16_byte_rows(uint32_t address) {
    return tcgen05_descriptor_fields(address, 0, 128, TCGEN05_SWIZZLE_NONE);
}
/* A K-major tile [rows][64] of bf16 with the 128-byte swizzle, as TMA writes it, on a 1024-byte boundary. */
HOST_DEVICE uint64_t tcgen05_descriptor_k_major_128b(uint32_t address) {
    return tcgen05_descriptor_fields(address, 16, 1024, TCGEN05_SWIZZLE_128B);
}

#ifdef PTX_FUNCTIONS

/* tcgen05_descriptor_k_major_128b() of a tile in this CTA's shared memory. */
DEVICE uint64_t tcgen05_descriptor(const void *tile) { return tcgen05_descriptor_k_major_128b(shared_address(tile)); }

#define TCGEN05_ALLOC(group)                                                          \
    asm volatile("tcgen05.alloc.cta_group::" group                                    \
                 ".sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(to)), \
                 "r"(columns)                                                         \
                 : "memory")
#define TCGEN05_RELINQUISH(group) \
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::" group ".sync.aligned;" ::: "memory")
#define TCGEN05_DEALLOC(group)                                                                                \
    asm volatile("tcgen05.dealloc.cta_group::" group ".sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) \
                 : "memory")
#define TCGEN05_MMA(group, kind, scales, ...)                                                       \
    asm volatile("{\n"                                                                              \
                 ".reg .pred p;\n"                                                                  \
                 "setp.ne.b32 p, %4, 0;\n"                                                          \
                 "tcgen05.mma.cta_group::" group ".kind::" kind " [%0], %1, %2, %3, " scales "p;\n" \
                 "}\n" ::"r"(d),                                                                    \
                 "l"(a), "l"(b), "r"(shape), "r"(accumulate)__VA_ARGS__                             \
                 : "memory")
/* A constant that has no instruction leaves a text that ptxas refuses. */
#define TCGEN05_NONE asm volatile("tcgen05 of constants that it does not have;");
#define TCGEN05_MMA_SCALED(kind)                                                \
    if (pair) {                                                                 \
        TCGEN05_MMA("2", kind, "[%5], [%6], ", , "r"(a_scales), "r"(b_scales)); \
    } else {                                                                    \
        TCGEN05_MMA("1", kind, "[%5], [%6], ", , "r"(a_scales), "r"(b_scales)); \
    }
#define TCGEN05_CP(group) \
    asm volatile("tcgen05.cp.cta_group::" group ".32x128b.warpx4 [%0], %1;" ::"r"(address), "l"(rows) : "memory")

/* Allocates columns of tensor memory, 32, 64, 128, 256 or 512, and writes their address to shared memory; waits until
 * other CTAs have freed them. A whole warp. The address is an ordinary store, so other warps read it after a barrier.
 * No later allocation of the CTA may be larger. PTX 9.7.16.7.1, as the next five. */
DEVICE void tcgen05_alloc(uint32_t *to, int columns) { TCGEN05_ALLOC("1"); }
/* tcgen05_alloc() in both CTAs of a pair: a whole warp in each, as many columns; one waits for the other. */
DEVICE void tcgen05_alloc_pair(uint32_t *to, int columns) { TCGEN05_ALLOC("2"); }
/* The CTA will not allocate again, so others may. A whole warp. */
DEVICE void tcgen05_relinquish(void) { TCGEN05_RELINQUISH("1"); }
/* tcgen05_relinquish() in a pair: a warp in each CTA. */
DEVICE void tcgen05_relinquish_pair(void) { TCGEN05_RELINQUISH("2"); }
/* Frees the columns of an allocation, after all accesses to them. A whole warp, before the CTA ends. */
DEVICE void tcgen05_dealloc(uint32_t address, int columns) { TCGEN05_DEALLOC("1"); }
/* tcgen05_dealloc() in a pair: a warp in each CTA, after a barrier of both; each may wait for the other. */
DEVICE void tcgen05_dealloc_pair(uint32_t address, int columns) { TCGEN05_DEALLOC("2"); }

/* Starts D = A * B (+ D if accumulate), k = 16: a and b descriptors, `shape` of tcgen05_shape_f16(), d in tensor
 * memory. m = 128: row m is lane m; m = 64: lane 32 (m / 16) + m % 16. One thread. PTX 9.7.16.10.9.1. */
DEVICE void tcgen05_mma_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, int accumulate) {
    TCGEN05_MMA("1", "f16", "", );
}
/* tcgen05_mma_f16() of a pair, one thread of either CTA. m = 256: each CTA has 128 rows of A and D, in order; m = 128:
 * 64, and the columns of D from n / 2 on are 64 lanes below the others. Each CTA has n / 2 rows of B. */
DEVICE void tcgen05_mma_f16_pair(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, int accumulate) {
    TCGEN05_MMA("2", "f16", "", );
}
/* tcgen05_mma_f16() for elements of 8 or 4 bits, each multiplied by its scale first; tcgen05_shape_scaled() makes
 * `shape`. k is 32 for TCGEN05_MXF8F6F4 and 64 for _MXF4NVF4, which has two e2m1 to a byte. The scales of row m of A,
 * or of B, are in tensor memory, in column m / 32 of lane m % 32 of each quarter, where tcgen05_cp() puts them. Each
 * CTA of a pair has the scales of its rows of A, and of all of B. PTX 9.7.16.10.7. */
DEVICE void tcgen05_mma_scaled(const int kind, const int pair, uint32_t d, uint64_t a, uint64_t b, uint32_t shape,
                               uint32_t a_scales, uint32_t b_scales, int accumulate) {
    if (kind == TCGEN05_MXF8F6F4) {
        TCGEN05_MMA_SCALED("mxf8f6f4.block_scale.scale_vec::1X");
    } else if (kind == TCGEN05_MXF4NVF4) {
        TCGEN05_MMA_SCALED("mxf4nvf4.block_scale.scale_vec::4X");
    } else {
        TCGEN05_NONE
    }
}

/* Starts a copy of scales: 32 rows of 16 bytes of a descriptor to four columns from the address on, row m to lane m of
 * each quarter; in a pair, each CTA's own rows. One thread: a commit tells it when the copy is complete, and its later
 * products follow the copy without one. The copy reads through the async proxy: ordinary stores before it need
 * fence_proxy_async(). PTX 9.7.16.9.2. */
DEVICE void tcgen05_cp(const int pair, uint32_t address, uint64_t rows) {
    if (pair) {
        TCGEN05_CP("2");
    } else {
        TCGEN05_CP("1");
    }
}

/* The hardware arrives at the barrier when the products and copies of this thread are complete. PTX 9.7.16.12.1. */
DEVICE void tcgen05_commit(MBarrier *bar) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(bar))
        : "memory");
}
/* tcgen05_commit() for products of pairs, at the barriers at this offset in all CTAs of the cluster whose bit is set in
 * `mask`. */
DEVICE void tcgen05_commit_pair(MBarrier *bar, int mask) {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            shared_address(bar)),
        "h"((uint16_t)mask)
        : "memory");
}

/* tma_load_2d() to this CTA's shared memory; the bytes complete on the barrier at the offset of `bar` in the even CTA
 * of the pair. PTX 9.7.9.27.1.2. */
DEVICE void tma_load_2d_pair(void *dst, const TensorMap *map, int c0, int c1, MBarrier *bar) {
    asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(dst)),
                 "l"(map), "r"(c0), "r"(c1), "r"(cluster_address(bar, cluster_cta_rank() & ~1))
                 : "memory");
}

/* Orders this thread's started operations before its next synchronisation. Each thread. PTX 9.7.16.11.1. */
DEVICE void tcgen05_fence_before(void) { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
/* Orders this thread's next operations after its last synchronisation. Each thread. PTX 9.7.16.11.1. */
DEVICE void tcgen05_fence_after(void) { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

/* The warp waits for its loads: the registers have their values, and the columns may be written. PTX 9.7.16.8.5. */
DEVICE void tcgen05_wait_ld(void) { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
/* The warp waits for its stores. PTX 9.7.16.8.5. */
DEVICE void tcgen05_wait_st(void) { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

/* Operands r[i], .., as many as the name says, and their names. */
#define TCGEN05_1(to, r, i) to(r[i])
#define TCGEN05_2(to, r, i) TCGEN05_1(to, r, i), TCGEN05_1(to, r, i + 1)
#define TCGEN05_4(to, r, i) TCGEN05_2(to, r, i), TCGEN05_2(to, r, i + 2)
#define TCGEN05_8(to, r, i) TCGEN05_4(to, r, i), TCGEN05_4(to, r, i + 4)
#define TCGEN05_16(to, r, i) TCGEN05_8(to, r, i), TCGEN05_8(to, r, i + 8)
#define TCGEN05_32(to, r, i) TCGEN05_16(to, r, i), TCGEN05_16(to, r, i + 16)
#define TCGEN05_64(to, r, i) TCGEN05_32(to, r, i), TCGEN05_32(to, r, i + 32)
#define TCGEN05_128(to, r, i) TCGEN05_64(to, r, i), TCGEN05_64(to, r, i + 64)
#define TCGEN05_NAMES_1 "%0"
#define TCGEN05_NAMES_2 "%0, %1"
#define TCGEN05_NAMES_4 "%0, %1, %2, %3"
#define TCGEN05_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TCGEN05_NAMES_16 WGMMA_N32
#define TCGEN05_NAMES_32 WGMMA_N64
#define TCGEN05_NAMES_64 WGMMA_N128
#define TCGEN05_NAMES_128 WGMMA_N256
#define TCGEN05_LD(n)                                                                             \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x" #n ".b32 {" TCGEN05_NAMES_##n "}, [%" #n "];" \
                 : TCGEN05_##n("=r", r, i)                                                        \
                 : "r"(address + i)                                                               \
                 : "memory")
#define TCGEN05_ST(n)                                                                        \
    asm volatile("tcgen05.st.sync.aligned.32x32b.x" #n ".b32 [%" #n "], {" TCGEN05_NAMES_##n \
                 "};" ::TCGEN05_##n("r", r, i),                                              \
                 "r"(address + i)                                                            \
                 : "memory")

/* Chooses the instruction of `piece` columns, a constant where this is inlined. */
#define TCGEN05_IF(one, n) \
    if (piece == n) {      \
        one(n);            \
    } else
#define TCGEN05_EACH(one) \
    TCGEN05_IF(one, 1)    \
    TCGEN05_IF(one, 2)    \
    TCGEN05_IF(one, 4)    \
    TCGEN05_IF(one, 8)    \
    TCGEN05_IF(one, 16)   \
    TCGEN05_IF(one, 32)   \
    TCGEN05_IF(one, 64)   \
    TCGEN05_IF(one, 128)  \
    TCGEN05_NONE
#define TCGEN05_ONE(num) (((num) & ((num)-1)) == 0 && (num) <= 128)
#define TCGEN05_PIECE(num, i) (TCGEN05_ONE(num) ? (num) : (num) - (i) >= 32 ? 32 : 8)

/* Starts the load of num columns, a constant where this is inlined: by one instruction if it is a power of two of up to
 * 128, otherwise, for a multiple of 8, by several. Lane l of the warp gets those of lane l of its quarter. The
 * registers are valid after tcgen05_wait_ld(). The address's lane is the first of the quarter. PTX 9.7.16.8.3. */
DEVICE void tcgen05_ld(const int num, uint32_t *r, uint32_t address) {
    UNROLL
    for (int i = 0, piece; i < num; i += piece) {
        piece = TCGEN05_PIECE(num, i);
        TCGEN05_EACH(TCGEN05_LD)
    }
}
/* Starts a store in the layout that tcgen05_ld() loads. PTX 9.7.16.8.4. */
DEVICE void tcgen05_st(const int num, uint32_t address, const uint32_t *r) {
    UNROLL
    for (int i = 0, piece; i < num; i += piece) {
        piece = TCGEN05_PIECE(num, i);
        TCGEN05_EACH(TCGEN05_ST)
    }
}

#elif defined(GEMM_MODEL)

#define tcgen05_descriptor(tile) tcgen05_descriptor_k_major_128b(model_shared_address(tile))
#define tcgen05_alloc(to, columns) model_tcgen05_alloc(to, columns, 0, HERE)
#define tcgen05_alloc_pair(to, columns) model_tcgen05_alloc(to, columns, 1, HERE)
#define tcgen05_relinquish() model_tcgen05_relinquish(0, HERE)
#define tcgen05_relinquish_pair() model_tcgen05_relinquish(1, HERE)
#define tcgen05_dealloc(address, columns) model_tcgen05_dealloc(address, columns, 0, HERE)
#define tcgen05_dealloc_pair(address, columns) model_tcgen05_dealloc(address, columns, 1, HERE)
#define tcgen05_mma_f16(d, a, b, shape, accumulate) \
    model_tcgen05_mma(TCGEN05_F16, 0, d, a, b, shape, 0, 0, accumulate, HERE)
#define tcgen05_mma_f16_pair(d, a, b, shape, accumulate) \
    model_tcgen05_mma(TCGEN05_F16, 1, d, a, b, shape, 0, 0, accumulate, HERE)
#define tcgen05_mma_scaled(kind, pair, ...) model_tcgen05_mma(kind, pair, __VA_ARGS__, HERE)
#define tcgen05_cp(pair, address, rows) model_tcgen05_cp(pair, address, rows, HERE)
#define tcgen05_commit(bar) model_tcgen05_commit(bar, 0, -1, HERE)
#define tcgen05_commit_pair(bar, mask) model_tcgen05_commit(bar, 1, mask, HERE)
#define tma_load_2d_pair(dst, map, c0, c1, bar) tma_load_2d_multicast(dst, map, c0, c1, bar, MODEL_PAIR)
#define tcgen05_fence_before() model_tcgen05_fence(0)
#define tcgen05_fence_after() model_tcgen05_fence(1)
#define tcgen05_wait_ld() model_tcgen05_wait(0, HERE)
#define tcgen05_wait_st() model_tcgen05_wait(1, HERE)
#define tcgen05_ld(n, r, address) model_tcgen05_access(0, n, r, address, HERE)
#define tcgen05_st(n, address, r) model_tcgen05_access(1, n, r, address, HERE)

#endif
#endif
