/* tcgen05.h - Blackwell's tensor cores: one thread starts a product, whose accumulator lies in tensor memory. sm_100a, sm_103a, sm_110a.
 * Nothing here has run on such a GPU: it is assembled, and runs on the CPU model. Section numbers are of PTX ISA 9.1.
 *
 * Tensor memory has 128 lanes of 512 columns, 32 bits each, for a CTA. An address has the lane in its upper 16 bits, the column in
 * the lower. Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31 by loads and stores; products reach all. PTX 9.7.16.1.
 *
 * Order. Products, loads and stores are asynchronous. Only products of one thread, accumulator and shape are in order by themselves.
 * A commit and its mbarrier tell that products are over, a wait that the warp's loads or stores are. Between threads
 * tcgen05_fence_before() comes before what orders the two (a commit has it in itself), tcgen05_fence_after() behind it. PTX 9.7.16.6.
 *
 * Pairs. Two CTAs of a cluster, an even one and the next, multiply together: names end in _pair. A thread of one of them starts the
 * products of both. Each has half of the rows of A, of B, and of D, at the same places of its shared and its tensor memory. A kernel
 * has instructions of pairs or of single CTAs, not both; a cluster_sync() before the first, so that both have started, and
 * before the last, so that none is gone. PTX 9.7.16.5. */
#ifndef TCGEN05_H
#define TCGEN05_H

#include "cluster.h"
#include "mbarrier.h"
#include "tma.h"

/* Operands of kind f16: f16 is 0, bf16 is 1; D is fp32. m is 64 or 128, of a pair 128 or 256; n a multiple of 16, for m = 64 of 8, up to
 * 256. a_major, b_major: 1 if m, or n, lies together in memory. PTX 9.7.16.4.2. */
HOST_DEVICE uint32_t tcgen05_shape_f16(int is_bf16, int m, int n, int a_major, int b_major) {
    return 1u << 4 | (uint32_t)is_bf16 << 7 | (uint32_t)is_bf16 << 10 | (uint32_t)a_major << 15 |
           (uint32_t)b_major << 16 | (uint32_t)(n / 8) << 17 | (uint32_t)(m / 16) << 24;
}

enum { TCGEN05_SWIZZLE_NONE = 0, TCGEN05_SWIZZLE_128B = 2, TCGEN05_SWIZZLE_64B = 4, TCGEN05_SWIZZLE_32B = 6 };

/* An operand in shared memory. The offsets mean what wgmma's do (wgmma.h); the swizzle has other numbers and place, and bit 46 is
 * set: a descriptor of Hopper's is not one here. A step of k inside a swizzled K-major row is 32 bytes, + 2. PTX 9.7.16.4.1. */
HOST_DEVICE uint64_t tcgen05_descriptor_fields(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes,
                                               int swizzle) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading_bytes >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride_bytes >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)swizzle << 61;
}
/* A K-major tile [rows][64] of bf16 with the 128-byte swizzle, as TMA writes it, on a 1024-byte boundary. */
HOST_DEVICE uint64_t tcgen05_descriptor_k_major_128b(uint32_t address) {
    return tcgen05_descriptor_fields(address, 16, 1024, TCGEN05_SWIZZLE_128B);
}

#ifdef PTX_FUNCTIONS

/* The same of a tile in this CTA's shared memory. */
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
#define TCGEN05_MMA(group, kind)                                                          \
    asm volatile("{\n"                                                                    \
                 ".reg .pred p;\n"                                                        \
                 "setp.ne.b32 p, %4, 0;\n"                                                \
                 "tcgen05.mma.cta_group::" group ".kind::" kind " [%0], %1, %2, %3, p;\n" \
                 "}\n" ::"r"(d),                                                          \
                 "l"(a), "l"(b), "r"(shape), "r"(accumulate)                              \
                 : "memory")

/* Takes columns of tensor memory, 32, 64, 128, 256 or 512, and writes the address to shared memory; waits for other CTAs to free
 * them. A whole warp. By an ordinary store: a barrier must be between it and other warps' reads. No later allocation of the CTA may
 * be larger. PTX 9.7.16.7.1, as the next five. */
DEVICE void tcgen05_alloc(uint32_t *to, int columns) { TCGEN05_ALLOC("1"); }
/* The same in both CTAs of a pair: a whole warp in each, as many columns; one waits for the other. */
DEVICE void tcgen05_alloc_pair(uint32_t *to, int columns) { TCGEN05_ALLOC("2"); }
/* The CTA will allocate no more: others may. A whole warp. */
DEVICE void tcgen05_relinquish(void) { TCGEN05_RELINQUISH("1"); }
/* The same in a pair: a warp in each CTA. */
DEVICE void tcgen05_relinquish_pair(void) { TCGEN05_RELINQUISH("2"); }
/* Gives them back, all of an allocation, when all that reaches them is over. A whole warp, before the CTA ends. */
DEVICE void tcgen05_dealloc(uint32_t address, int columns) { TCGEN05_DEALLOC("1"); }
/* The same in a pair: a warp in each CTA, behind a barrier of both; one may wait for the other. */
DEVICE void tcgen05_dealloc_pair(uint32_t address, int columns) { TCGEN05_DEALLOC("2"); }

/* Starts D = A * B (+ D if accumulate), k = 16: a and b descriptors, `shape` of tcgen05_shape_f16(), d in tensor memory. m = 128: row m is
 * lane m; m = 64: lane 32 (m / 16) + m % 16. One thread. PTX 9.7.16.10.9.1. */
DEVICE void tcgen05_mma_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, int accumulate) {
    TCGEN05_MMA("1", "f16");
}
/* The same for a pair, one thread of either CTA. m = 256: each CTA has 128 rows of A and D, in order; m = 128: 64, and columns n / 2
 * on of D lie 64 lanes below the others. Each has n / 2 rows of B. */
DEVICE void tcgen05_mma_f16_pair(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, int accumulate) {
    TCGEN05_MMA("2", "f16");
}
/* The barrier gets an arrival when the products that this thread has started are over. PTX 9.7.16.12.1. */
DEVICE void tcgen05_commit(MBarrier *bar) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(bar))
        : "memory");
}
/* The same for products of pairs: an arrival at the barriers at this place in all CTAs of the cluster whose bit is set in `mask`. */
DEVICE void tcgen05_commit_pair(MBarrier *bar, int mask) {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            shared_address(bar)),
        "h"((uint16_t)mask)
        : "memory");
}

/* tma_load_2d() into this CTA's shared memory, whose bytes complete on the barrier at the place of `bar` in the even CTA of the pair.
 * PTX 9.7.9.27.1.2. */
DEVICE void tma_load_2d_pair(void *dst, const TensorMap *map, int c0, int c1, MBarrier *bar) {
    asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(dst)),
                 "l"(map), "r"(c0), "r"(c1), "r"(cluster_address(bar, cluster_cta_rank() & ~1))
                 : "memory");
}

/* What this thread has started comes before what it does next to hand it on. Each thread. PTX 9.7.16.11.1. */
DEVICE void tcgen05_fence_before(void) { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
/* What it starts next comes behind what it has just waited for. Each thread. PTX 9.7.16.11.1. */
DEVICE void tcgen05_fence_after(void) { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

/* The warp waits for its loads: the registers have their values, and the columns may be written. PTX 9.7.16.8.5. */
DEVICE void tcgen05_wait_ld(void) { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
/* It waits for its stores. PTX 9.7.16.8.5. */
DEVICE void tcgen05_wait_st(void) { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

/* clang-format off */
#define TCGEN05_8(to, r, i) to(r[i]), to(r[i + 1]), to(r[i + 2]), to(r[i + 3]), to(r[i + 4]), to(r[i + 5]), to(r[i + 6]), to(r[i + 7])
#define TCGEN05_32(to, r, i) TCGEN05_8(to, r, i), TCGEN05_8(to, r, i + 8), TCGEN05_8(to, r, i + 16), TCGEN05_8(to, r, i + 24)
#define TCGEN05_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define TCGEN05_NAMES_32 TCGEN05_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
/* clang-format on */
#define TCGEN05_LD(n, i)                                                                          \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x" #n ".b32 {" TCGEN05_NAMES_##n "}, [%" #n "];" \
                 : TCGEN05_##n("=r", r, i)                                                        \
                 : "r"(address + i)                                                               \
                 : "memory")
#define TCGEN05_ST(n, i)                                                                     \
    asm volatile("tcgen05.st.sync.aligned.32x32b.x" #n ".b32 [%" #n "], {" TCGEN05_NAMES_##n \
                 "};" ::TCGEN05_##n("r", r, i),                                              \
                 "r"(address + i)                                                            \
                 : "memory")

/* Starts the load of n columns, a multiple of 8 and a constant where this is inlined: lane l of the warp gets those of its quarter's lane l.
 * The registers have their values after tcgen05_wait_ld(). The address's lane is the quarter's first. PTX 9.7.16.8.3. */
DEVICE void tcgen05_ld(const int n, uint32_t *r, uint32_t address) {
    UNROLL
    for (int i = 0; i < n / 32 * 32; i += 32) {
        TCGEN05_LD(32, i);
    }
    UNROLL
    for (int i = n / 32 * 32; i < n; i += 8) {
        TCGEN05_LD(8, i);
    }
}
/* The reverse. PTX 9.7.16.8.4. */
DEVICE void tcgen05_st(const int n, uint32_t address, const uint32_t *r) {
    UNROLL
    for (int i = 0; i < n / 32 * 32; i += 32) {
        TCGEN05_ST(32, i);
    }
    UNROLL
    for (int i = n / 32 * 32; i < n; i += 8) {
        TCGEN05_ST(8, i);
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
#define tcgen05_mma_f16(d, a, b, shape, accumulate) model_tcgen05_mma_f16(d, a, b, shape, accumulate, 0, HERE)
#define tcgen05_mma_f16_pair(d, a, b, shape, accumulate) model_tcgen05_mma_f16(d, a, b, shape, accumulate, 1, HERE)
#define tcgen05_commit(bar) model_tcgen05_commit(bar, 0, 0, HERE)
#define tcgen05_commit_pair(bar, mask) model_tcgen05_commit(bar, 1, mask, HERE)
#define tma_load_2d_pair(dst, map, c0, c1, bar) model_tma_load_pair(dst, map, c0, c1, bar, HERE)
#define tcgen05_fence_before() model_tcgen05_fence(0)
#define tcgen05_fence_after() model_tcgen05_fence(1)
#define tcgen05_wait_ld() model_tcgen05_wait_ld(HERE)
#define tcgen05_wait_st() model_tcgen05_wait_st(HERE)
#define tcgen05_ld(n, r, address) model_tcgen05_ld(n, r, address, HERE)
#define tcgen05_st(n, address, r) model_tcgen05_st(n, address, r, HERE)

#endif
#endif
