/* wgmma.h - Hopper's matrix instruction: a warpgroup multiplies tiles in shared memory, asynchronously. sm_90a.
 *
 * A warpgroup is 4 consecutive warps, 128 threads, starting at a warp number divisible by 4. All of them call each of
 * these together. wgmma.mma_async m64nNk16: D (64 x N, fp32, in registers) += A (64 x 16) * B (16 x N), where B comes from
 * shared memory by descriptor, A too (SS) or from registers (RS). N is 8, 16, .. 256. PTX 9.7.15.
 *
 * Thread t of the warpgroup (warp w = t / 32, lane l = t % 32) holds d[v], v = 0 .. N/2 - 1:
 *
 *     row = 16 w + l / 4 + 8 ((v / 2) % 2)          column = 8 (v / 4) + 2 (l % 4) + v % 2
 *
 * Order of a k-tile: wgmma_fence(), the products, wgmma_commit_group(), and before the accumulators are read or the
 * operands' shared memory is reused, wgmma_wait_group(). */
#ifndef WGMMA_H
#define WGMMA_H

#include "cuda_c.h"

/* A matrix descriptor: where a tile lies in shared memory and in what pattern. PTX 9.7.15.5.1.2.2.
 *
 *     bits  0-13   start address / 16
 *     bits 16-29   leading dimension byte offset / 16 (not used by swizzled K-major tiles; 1 by convention)
 *     bits 32-45   stride dimension byte offset / 16: from 8 rows to the next 8 rows
 *     bits 49-51   base offset: 0 for tiles that start on a boundary of the pattern
 *     bits 62-63   0 no swizzle, 1 128-byte, 2 64-byte, 3 32-byte
 *
 * `address` is an address in the shared-memory window. Host and kernel. */
HOST_DEVICE uint64_t wgmma_descriptor_fields(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes,
                                             int swizzle) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading_bytes >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride_bytes >> 4 & 0x3fff) << 32 | (uint64_t)swizzle << 62;
}

enum {
    WGMMA_SWIZZLE_NONE = 0,
    WGMMA_SWIZZLE_128B = 1,
    WGMMA_SWIZZLE_64B = 2,
    WGMMA_SWIZZLE_32B = 3,
    /* From one k16 step to the next inside a 128-byte row: 32 bytes, in the descriptor's units. */
    WGMMA_K16_STEP = 32 >> 4,
    /* The same in an MN-major tile with rows of 128 bytes: 16 rows. */
    WGMMA_K16_STEP_MN = 2048 >> 4,
};

/* The descriptor of a K-major tile [rows][64] of bf16 with the 128-byte swizzle, as TMA writes it. The tile starts on a
 * 1024-byte boundary; 8 rows are 1024 bytes. */
HOST_DEVICE uint64_t wgmma_descriptor_k_major_128b(uint32_t address) {
    return wgmma_descriptor_fields(address, 16, 1024, WGMMA_SWIZZLE_128B);
}

/* The descriptor of an MN-major tile of bf16 with the 128-byte swizzle: A whose M, or B whose N, lies together in memory.
 * TMA writes it in panels of 64 mn: boxes of 64 columns and as many rows as the tile has k, from a matrix [k][mn].
 *
 * In a panel, row k is 128 bytes: its 64 mn. 8 rows are a repetition of the swizzle pattern and the instruction's unit:
 * the next 8 k lie 1024 bytes on, which here is the stride offset. The next 64 mn are the next panel: the leading offset,
 * 128 bytes for each k of the tile if panels follow each other. A k16 step is 16 rows: 2048 bytes, and the pattern starts
 * afresh. (K-major it is 32 bytes inside the row, and 8 rows of the tile are the stride.) */
HOST_DEVICE uint64_t wgmma_descriptor_mn_major_128b(uint32_t address, uint32_t panel_bytes) {
    return wgmma_descriptor_fields(address, panel_bytes, 1024, WGMMA_SWIZZLE_128B);
}

/* Kernel:
 *
 * wgmma_descriptor(tile): the descriptor above for a tile in this CTA's shared memory. Add WGMMA_K16_STEP for each k16
 * step inside the row.
 *
 * wgmma_descriptor_mn(tile, panel_bytes): the descriptor of an MN-major tile, likewise; step WGMMA_K16_STEP_MN.
 *
 * wgmma_fence(): orders the warpgroup's accesses to registers (accumulators, A fragments) before the wgmmas that follow.
 * The manual asks for it before the first one and after registers have been accessed; here it stands at the top of every
 * k-tile, since ptxas adds it there if it stands only before the loop (note C7519). PTX 9.7.15.7.1.
 *
 * wgmma_m64n64k16(d, a, b, accumulate) and the other widths: start D = A * B (+ D if accumulate). float d[N / 2]; a and b
 * descriptors, both K-major. PTX 9.7.15.5.2.
 *
 * wgmma_m64n64k16_rs(d, a, b, accumulate): the same with A from registers, uint32_t a[4] as in mma_sync.h for the warp's
 * 16 rows. They must keep their values until a wait covers the product.
 *
 * Of any width n, a literal 8, 16, .. 256:
 *   wgmma_ss(n, d, a, b, accumulate), wgmma_rs(n, d, a, b, accumulate): as the two above.
 *   wgmma_ss_trans_a, wgmma_ss_trans_b, wgmma_ss_trans_ab: A is M-major, B is N-major, or both. wgmma_rs_trans_b.
 *   wgmma_ss_f16, wgmma_rs_f16: fp16; K-major, as all that follow.
 *   wgmma_ss_e4m3, wgmma_rs_e4m3, wgmma_ss_e5m2, wgmma_rs_e5m2: fp8, k32. The tensor cores keep fewer bits of the sums
 *   than fp32 has: about 14 of the fraction.
 *   wgmma_ss_tf32, wgmma_rs_tf32: k8 of fp32 whose lower 13 bits do not count.
 * A step of k is 32 bytes in each of these types, so a K-major tile has the same descriptor, and a register of A holds the
 * four bytes at the same place in its row. PTX 9.7.15.5.2.
 *
 * wgmma_commit_group(): close the warpgroup's group of products. PTX 9.7.15.7.2.
 *
 * wgmma_wait_group(N): wait until at most the warpgroup's N latest groups are unfinished. N is a constant. PTX 9.7.15.7.3.
 *
 * registers_settled(d, count): no instruction. Tells the compiler that the accumulators change here: after a wait, so
 * that it does not move their use to before it. */
#if defined(GEMM_MODEL)

#define wgmma_descriptor(tile) wgmma_descriptor_k_major_128b(model_shared_address(tile))
#define wgmma_descriptor_mn(tile, panel_bytes) wgmma_descriptor_mn_major_128b(model_shared_address(tile), panel_bytes)
#define wgmma_fence() model_wgmma_fence(HERE)
#define wgmma_commit_group() model_wgmma_commit_group(HERE)
#define wgmma_wait_group(N) model_wgmma_wait_group(N, HERE)
#define registers_settled(d, count) model_registers_settled(d, count)
#define wgmma_m64n16k16(d, a, b, accumulate) wgmma_ss(16, d, a, b, accumulate)
#define wgmma_m64n32k16(d, a, b, accumulate) wgmma_ss(32, d, a, b, accumulate)
#define wgmma_m64n64k16(d, a, b, accumulate) wgmma_ss(64, d, a, b, accumulate)
#define wgmma_m64n112k16(d, a, b, accumulate) wgmma_ss(112, d, a, b, accumulate)
#define wgmma_m64n128k16(d, a, b, accumulate) wgmma_ss(128, d, a, b, accumulate)
#define wgmma_m64n160k16(d, a, b, accumulate) wgmma_ss(160, d, a, b, accumulate)
#define wgmma_m64n176k16(d, a, b, accumulate) wgmma_ss(176, d, a, b, accumulate)
#define wgmma_m64n192k16(d, a, b, accumulate) wgmma_ss(192, d, a, b, accumulate)
#define wgmma_m64n224k16(d, a, b, accumulate) wgmma_ss(224, d, a, b, accumulate)
#define wgmma_m64n256k16(d, a, b, accumulate) wgmma_ss(256, d, a, b, accumulate)
#define wgmma_m64n64k16_rs(d, a, b, accumulate) wgmma_rs(64, d, a, b, accumulate)

#define wgmma_ss(n, d, a, b, accumulate) model_wgmma_ss(n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_ss_trans_a(n, d, a, b, accumulate) model_wgmma_ss(n, d, a, b, accumulate, 1, 0, HERE)
#define wgmma_ss_trans_b(n, d, a, b, accumulate) model_wgmma_ss(n, d, a, b, accumulate, 0, 1, HERE)
#define wgmma_ss_trans_ab(n, d, a, b, accumulate) model_wgmma_ss(n, d, a, b, accumulate, 1, 1, HERE)
#define wgmma_rs(n, d, a, b, accumulate) model_wgmma_rs(n, d, a, b, accumulate, 0, HERE)
#define wgmma_rs_trans_b(n, d, a, b, accumulate) model_wgmma_rs(n, d, a, b, accumulate, 1, HERE)
#define wgmma_ss_f16(n, d, a, b, accumulate) model_wgmma_ss_of(MATRIX_F16, n, d, a, b, accumulate, HERE)
#define wgmma_rs_f16(n, d, a, b, accumulate) model_wgmma_rs_of(MATRIX_F16, n, d, a, b, accumulate, HERE)
#define wgmma_ss_e4m3(n, d, a, b, accumulate) model_wgmma_ss_of(MATRIX_E4M3, n, d, a, b, accumulate, HERE)
#define wgmma_rs_e4m3(n, d, a, b, accumulate) model_wgmma_rs_of(MATRIX_E4M3, n, d, a, b, accumulate, HERE)
#define wgmma_ss_e5m2(n, d, a, b, accumulate) model_wgmma_ss_of(MATRIX_E5M2, n, d, a, b, accumulate, HERE)
#define wgmma_rs_e5m2(n, d, a, b, accumulate) model_wgmma_rs_of(MATRIX_E5M2, n, d, a, b, accumulate, HERE)
#define wgmma_ss_tf32(n, d, a, b, accumulate) model_wgmma_ss_of(MATRIX_TF32, n, d, a, b, accumulate, HERE)
#define wgmma_rs_tf32(n, d, a, b, accumulate) model_wgmma_rs_of(MATRIX_TF32, n, d, a, b, accumulate, HERE)

#elif defined(__CUDACC__)

#include "wgmma_widths.h"

DEVICE uint64_t wgmma_descriptor(const void *tile) { return wgmma_descriptor_k_major_128b(shared_address(tile)); }

DEVICE uint64_t wgmma_descriptor_mn(const void *tile, uint32_t panel_bytes) {
    return wgmma_descriptor_mn_major_128b(shared_address(tile), panel_bytes);
}

DEVICE void wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

DEVICE void wgmma_commit_group(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#define wgmma_wait_group(N) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"((int)(N)) : "memory")

DEVICE void registers_settled(float *d, int count) {
    UNROLL
    for (int i = 0; i < count; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

/* One SS product of width n, with the given list of accumulators; a_, b_, p_ number the operands after them. `types` are k
 * and the types of D, A and B, `majors` is "0, 0" for two K-major tiles of bf16 or f16; a 1 says that A or B is
 * MN-major. */
#define WGMMA_SS_OF(n, types, count, a_, b_, p_, majors, a, b, accumulate, ...)                                 \
    asm volatile("{\n"                                                                                          \
                 ".reg .pred p;\n"                                                                              \
                 "setp.ne.b32 p, %" #p_ ", 0;\n"                                                                \
                 "wgmma.mma_async.sync.aligned.m64n" #n types " {" WGMMA_NAMES_##count "}, %" #a_ ", %" #b_     \
                                                                                       ", p, 1, 1" majors ";\n" \
                                                                                       "}\n"                    \
                 : __VA_ARGS__                                                                                  \
                 : "l"(a), "l"(b), "r"(accumulate))
#define WGMMA_SS(n, count, a_, b_, p_, majors, a, b, accumulate, ...) \
    WGMMA_SS_OF(n, "k16.f32.bf16.bf16", count, a_, b_, p_, ", " majors, a, b, accumulate, __VA_ARGS__)

/* The same with A from registers r0_ .. r3_. */
#define WGMMA_RS_OF(n, types, count, r0_, r1_, r2_, r3_, b_, p_, major, a, b, accumulate, ...)    \
    asm volatile("{\n"                                                                            \
                 ".reg .pred p;\n"                                                                \
                 "setp.ne.b32 p, %" #p_ ", 0;\n"                                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #n types " {" WGMMA_NAMES_##count            \
                 "}, {%" #r0_ ", %" #r1_ ", %" #r2_ ", %" #r3_ "}, %" #b_ ", p, 1, 1" major ";\n" \
                 "}\n"                                                                            \
                 : __VA_ARGS__                                                                    \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(accumulate))

/* The row of the width makes the numbers and the list. */
#define WGMMA_SS_ROW(n, types, majors, a, b, accumulate, row) WGMMA_SS_NUMBERS(n, types, majors, a, b, accumulate, row)
#define WGMMA_SS_NUMBERS(n, types, majors, a, b, accumulate, c0, c1, c2, c3, c4, c5, ...) \
    WGMMA_SS_OF(n, types, c0, c0, c1, c2, majors, a, b, accumulate, __VA_ARGS__)
#define WGMMA_RS_ROW(n, types, major, a, b, accumulate, row) WGMMA_RS_NUMBERS(n, types, major, a, b, accumulate, row)
#define WGMMA_RS_NUMBERS(n, types, major, a, b, accumulate, c0, c1, c2, c3, c4, c5, ...) \
    WGMMA_RS_OF(n, types, c0, c0, c1, c2, c3, c4, c5, major, a, b, accumulate, __VA_ARGS__)

/* n has been expanded. By a pointer: the compiler does not mind that accumulators which the product sets were not set. */
#define WGMMA_SS_ANY(n, types, majors, d, a, b, accumulate)                                \
    do {                                                                                   \
        float *wgmma_d = (d);                                                              \
        WGMMA_SS_ROW(n, types, majors, a, b, (int)(accumulate), WGMMA_WIDTH_##n(wgmma_d)); \
    } while (0)
#define WGMMA_RS_ANY(n, types, major, d, a, b, accumulate)                                \
    do {                                                                                  \
        float *wgmma_d = (d);                                                             \
        WGMMA_RS_ROW(n, types, major, a, b, (int)(accumulate), WGMMA_WIDTH_##n(wgmma_d)); \
    } while (0)

#define wgmma_ss(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k16.f32.bf16.bf16", ", 0, 0", d, a, b, accumulate)
#define wgmma_ss_trans_a(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k16.f32.bf16.bf16", ", 1, 0", d, a, b, accumulate)
#define wgmma_ss_trans_b(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k16.f32.bf16.bf16", ", 0, 1", d, a, b, accumulate)
#define wgmma_ss_trans_ab(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k16.f32.bf16.bf16", ", 1, 1", d, a, b, accumulate)
#define wgmma_rs(n, d, a, b, accumulate) WGMMA_RS_ANY(n, "k16.f32.bf16.bf16", ", 0", d, a, b, accumulate)
#define wgmma_rs_trans_b(n, d, a, b, accumulate) WGMMA_RS_ANY(n, "k16.f32.bf16.bf16", ", 1", d, a, b, accumulate)
#define wgmma_ss_f16(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k16.f32.f16.f16", ", 0, 0", d, a, b, accumulate)
#define wgmma_rs_f16(n, d, a, b, accumulate) WGMMA_RS_ANY(n, "k16.f32.f16.f16", ", 0", d, a, b, accumulate)
#define wgmma_ss_e4m3(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k32.f32.e4m3.e4m3", "", d, a, b, accumulate)
#define wgmma_rs_e4m3(n, d, a, b, accumulate) WGMMA_RS_ANY(n, "k32.f32.e4m3.e4m3", "", d, a, b, accumulate)
#define wgmma_ss_e5m2(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k32.f32.e5m2.e5m2", "", d, a, b, accumulate)
#define wgmma_rs_e5m2(n, d, a, b, accumulate) WGMMA_RS_ANY(n, "k32.f32.e5m2.e5m2", "", d, a, b, accumulate)
#define wgmma_ss_tf32(n, d, a, b, accumulate) WGMMA_SS_ANY(n, "k8.f32.tf32.tf32", "", d, a, b, accumulate)
#define wgmma_rs_tf32(n, d, a, b, accumulate) WGMMA_RS_ANY(n, "k8.f32.tf32.tf32", "", d, a, b, accumulate)

DEVICE void wgmma_m64n16k16(float d[8], uint64_t a, uint64_t b, int accumulate) { wgmma_ss(16, d, a, b, accumulate); }
DEVICE void wgmma_m64n32k16(float d[16], uint64_t a, uint64_t b, int accumulate) { wgmma_ss(32, d, a, b, accumulate); }
DEVICE void wgmma_m64n64k16(float d[32], uint64_t a, uint64_t b, int accumulate) { wgmma_ss(64, d, a, b, accumulate); }
DEVICE void wgmma_m64n112k16(float d[56], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(112, d, a, b, accumulate);
}
DEVICE void wgmma_m64n128k16(float d[64], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(128, d, a, b, accumulate);
}
DEVICE void wgmma_m64n160k16(float d[80], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(160, d, a, b, accumulate);
}
DEVICE void wgmma_m64n176k16(float d[88], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(176, d, a, b, accumulate);
}
DEVICE void wgmma_m64n192k16(float d[96], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(192, d, a, b, accumulate);
}
DEVICE void wgmma_m64n224k16(float d[112], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(224, d, a, b, accumulate);
}
DEVICE void wgmma_m64n256k16(float d[128], uint64_t a, uint64_t b, int accumulate) {
    wgmma_ss(256, d, a, b, accumulate);
}

DEVICE void wgmma_m64n64k16_rs(float d[32], const uint32_t a[4], uint64_t b, int accumulate) {
    wgmma_rs(64, d, a, b, accumulate);
}

#endif
#endif
