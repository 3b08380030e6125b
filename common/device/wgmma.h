/* wgmma.h - Hopper's matrix instruction: a warpgroup multiplies tiles in shared memory, asynchronously. sm_90a.
 *
 * A warpgroup is 4 consecutive warps, 128 threads, starting at a warp number divisible by 4; all of them call each of
 * these together. D (64 x N, fp32, in registers) += A (64 x 16) * B (16 x N). A descriptor says where B is in shared
 * memory; A is there too (SS) or in registers (RS). N is 8, 16, .. 256. PTX 9.7.15.
 *
 * Thread t of the warpgroup (warp w = t / 32, lane l = t % 32) holds d[v], v = 0 .. N/2 - 1:
 *
 *     row = 16 w + l / 4 + 8 ((v / 2) % 2)          column = 8 (v / 4) + 2 (l % 4) + v % 2
 *
 * A k-tile takes, in this order: wgmma_fence(), the products, wgmma_commit_group(), and wgmma_wait_group() before the
 * accumulators are read or the operands' shared memory is reused. */
#ifndef WGMMA_H
#define WGMMA_H

#include "cuda_c.h"

/* A matrix descriptor from its fields (wgmma_descriptor() has their list); swizzle is a WGMMA_SWIZZLE_. `address` is an
 * address in the window of shared memory. Host and kernel. */
HOST_DEVICE uint64_t wgmma_descriptor_fields(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes,
                                             int swizzle) {
    return (address >> 4 & 0x3fff) | (uint64_t)(leading_bytes >> 4) << 16 | (uint64_t)(stride_bytes >> 4) << 32 |
           (uint64_t)swizzle << 62;
}
enum { WGMMA_SWIZZLE_NONE, WGMMA_SWIZZLE_128B, WGMMA_SWIZZLE_64B, WGMMA_SWIZZLE_32B };

/* From one step of k to the next, in a descriptor's units of 16 bytes: in a K-major row 32 bytes, in every type. */
enum { WGMMA_K16_STEP = 32 >> 4 };
/* In an MN-major tile with rows of 128 bytes: 16 rows. */
enum { WGMMA_K16_STEP_MN = 2048 >> 4 };

#ifdef PTX_FUNCTIONS

#include "wgmma_widths.h"

/* The descriptor, by which wgmma finds a tile in shared memory, of a K-major tile [rows][64] of bf16 with the 128-byte
 * swizzle, as TMA writes it. The tile starts at a multiple of 1024 bytes. Add WGMMA_K16_STEP for each step of k. PTX
 * 9.7.15.5.1.2.2.
 *     bits  0-13   start address / 16
 *     bits 16-29   leading dimension byte offset / 16 (not used by swizzled K-major tiles; 1 by convention)
 *     bits 32-45   stride dimension byte offset / 16: from 8 rows to the next 8 rows, here 1024 bytes
 *     bits 49-51   base offset: 0 for tiles that start on a boundary of the pattern
 *     bits 62-63   0 no swizzle, 1 128-byte, 2 64-byte, 3 32-byte */
DEVICE uint64_t wgmma_descriptor(const void *tile) {
    return (shared_address(tile) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/* The descriptor of an MN-major tile of bf16 with the 128-byte swizzle: A whose M, or B whose N, is contiguous in
 * memory. TMA writes it in panels of 64 mn: boxes of 64 columns and as many rows as the tile has k, from a matrix
 * [k][mn].
 *
 * In a panel, row k is 128 bytes, its 64 mn. The swizzle repeats after 8 rows, which is also the instruction's unit:
 * the next 8 k are 1024 bytes further, and this is the stride offset. The next 64 mn are the next panel, and the
 * distance between panels is the leading offset: 128 bytes for each k of the tile if panels follow each other. A step
 * of k is 16 rows, 2048 bytes: WGMMA_K16_STEP_MN. */
DEVICE uint64_t wgmma_descriptor_mn(const void *tile, uint32_t panel_bytes) {
    return wgmma_descriptor_fields(shared_address(tile), panel_bytes, 1024, WGMMA_SWIZZLE_128B);
}

/* Orders the warpgroup's accesses to registers (accumulators, A fragments) before the wgmmas that follow. The manual
 * asks for it before the first wgmma and after accesses to the registers. Call it at the top of every k-tile: otherwise
 * ptxas adds it there (note C7519). PTX 9.7.15.7.1. */
DEVICE void wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/* Closes the warpgroup's group of products. PTX 9.7.15.7.2. */
DEVICE void wgmma_commit_group(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#define wgmma_wait_group(n)                                                                                    \
    /* Waits until at most the warpgroup's n latest groups are unfinished; n is a constant. PTX 9.7.15.7.3. */ \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"((int)(n)) : "memory")

/* No instruction. Tells the compiler that `count` accumulators change here. Call it after a wait, so that the compiler
 * does not move their use to before the wait. */
DEVICE void registers_settled(float *d, int count) {
    UNROLL
    for (int i = 0; i < count; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

/* Starts D = A * B (+ D if accumulate), D 64 x 256, of two K-major bf16 tiles, by their descriptors. All threads of the
 * warpgroup pass the same a, b and accumulate. PTX 9.7.15.5.2. */
DEVICE void wgmma_m64n256k16(float *d, uint64_t a, uint64_t b, int accumulate) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_N256 "}, %128, %129, p, 1, 1, 0, 0; }"
                 : WGMMA_R64(0), WGMMA_R64(64)
                 : "l"(a), "l"(b), "r"(accumulate));
}
/* Starts D = A * B (+ D if accumulate), D 64 x 192, of two K-major bf16 tiles, by their descriptors. All threads of the
 * warpgroup pass the same a, b and accumulate. PTX 9.7.15.5.2. */
DEVICE void wgmma_m64n192k16(float *d, uint64_t a, uint64_t b, int accumulate) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %98, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {" WGMMA_N192 "}, %96, %97, p, 1, 1, 0, 0; }"
                 : WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80)
                 : "l"(a), "l"(b), "r"(accumulate));
}

/* The instruction with both operands in shared memory: `instruction` is its shape and the types of D, A and B; `majors`
 * is ", 0, 0" for two K-major tiles of bf16; a 1 says that A or B is MN-major.  */
#define WGMMA_SS(instruction, majors, c0, c1, c2, c3, c4, c5, names, ...)                                             \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #c2 ", 0;\n"                                                      \
                 "wgmma.mma_async.sync.aligned." instruction " {" names "}, %" #c0 ", %" #c1 ", p, 1, 1" majors "; }" \
                 : __VA_ARGS__                                                                                        \
                 : "l"(a), "l"(b), "r"(accumulate))

#define WGMMA_K16(instruction, ...) WGMMA_SS(instruction "k16.f32.bf16.bf16", ", 0, 0", __VA_ARGS__)
/* Starts D = A * B (+ D if accumulate), D 64 x n, of two K-major bf16 tiles, by their descriptors. n is 128, 160, 192
 * or 208, a constant where this is inlined, so one of the instructions remains. All threads of the warpgroup pass the
 * same a, b and accumulate. PTX 9.7.15.5.2. */
DEVICE void wgmma_m64k16(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    switch (n) {
    case 128: WGMMA_K16("m64n128", 64, 65, 66, 67, 68, 69, WGMMA_N128, WGMMA_R64(0)); break;
    case 160: WGMMA_K16("m64n160", 80, 81, 82, 83, 84, 85, WGMMA_N160, WGMMA_R64(0), WGMMA_R16(64)); break;
    case 192:
        WGMMA_K16("m64n192", 96, 97, 98, 99, 100, 101, WGMMA_N192, WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80));
        break;
    case 208:
        WGMMA_K16("m64n208", 104, 105, 106, 107, 108, 109, WGMMA_N192 ", %96, %97, %98, %99, %100, %101, %102, %103",
                  WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R4(96), WGMMA_R4(100));
        break;
    default: asm volatile("n of wgmma_m64k16() is 128, 160, 192 or 208;");
    }
}

/* A product of any width: n is 8, 16, .. 256, a constant where this is inlined, and float d[n / 2]. SS: both operands
 * are in shared memory. PTX 9.7.15.5.2. */
DEVICE void wgmma_ss(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k16.f32.bf16.bf16", ", 0, 0");
}
/* wgmma_ss() with an A that is M-major. */
DEVICE void wgmma_ss_trans_a(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k16.f32.bf16.bf16", ", 1, 0");
}
/* wgmma_ss() with a B that is N-major. */
DEVICE void wgmma_ss_trans_b(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k16.f32.bf16.bf16", ", 0, 1");
}
/* wgmma_ss() with an A that is M-major and a B that is N-major. */
DEVICE void wgmma_ss_trans_ab(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k16.f32.bf16.bf16", ", 1, 1");
}
/* wgmma_ss() of fp8 e4m3, k32. The tensor cores keep fewer bits of the sums of fp8 than fp32 has: about 14 of the
 * fraction. */
DEVICE void wgmma_ss_e4m3(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k32.f32.e4m3.e4m3", "");
}

/* The instruction with A in registers. */
#define WGMMA_RS(instruction, major, c0, c1, c2, c3, c4, c5, names, ...)                                          \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #c5 ", 0;\n"                                                  \
                 "wgmma.mma_async.sync.aligned." instruction " {" names "}, {%" #c0 ", %" #c1 ", %" #c2 ", %" #c3 \
                 "}, %" #c4 ", p, 1, 1" major "; }"                                                               \
                 : __VA_ARGS__                                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))

/* wgmma_ss() with A in registers, a[4] as in mma_sync.h for the warp's 16 rows. They must keep their values until a
 * wait covers the product. */
DEVICE void wgmma_rs(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k16.f32.bf16.bf16", ", 0");
}
/* wgmma_rs() with a B that is N-major. */
DEVICE void wgmma_rs_trans_b(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k16.f32.bf16.bf16", ", 1");
}
/* wgmma_rs() of fp8 e4m3, k32; sums as wgmma_ss_e4m3() says. */
DEVICE void wgmma_rs_e4m3(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k32.f32.e4m3.e4m3", "");
}

#elif defined(GEMM_MODEL)

#define wgmma_descriptor(tile) wgmma_descriptor_fields(shared_address(tile), 16, 1024, WGMMA_SWIZZLE_128B)
#define wgmma_descriptor_mn(tile, panel_bytes) \
    wgmma_descriptor_fields(shared_address(tile), panel_bytes, 1024, WGMMA_SWIZZLE_128B)
#define wgmma_fence() model_wgmma_fence(HERE)
#define wgmma_commit_group() model_wgmma_commit_group(HERE)
#define wgmma_wait_group(n) model_wgmma_wait_group(n, HERE)
#define registers_settled(d, count) model_registers_settled(d, count)
#define wgmma_m64n256k16(d, a, b, accumulate) wgmma_ss(256, d, a, b, accumulate)
#define wgmma_m64n192k16(d, a, b, accumulate) wgmma_ss(192, d, a, b, accumulate)
#define wgmma_m64k16(n, d, a, b, accumulate) wgmma_ss(n, d, a, b, accumulate)
#define wgmma_ss(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_ss_trans_a(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 1, 0, HERE)
#define wgmma_ss_trans_b(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 0, 1, HERE)
#define wgmma_ss_trans_ab(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 1, 1, HERE)
#define wgmma_rs(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_BF16, n, d, a, b, accumulate, 0, HERE)
#define wgmma_rs_trans_b(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_BF16, n, d, a, b, accumulate, 1, HERE)
#define wgmma_ss_e4m3(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_E4M3, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_e4m3(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_E4M3, n, d, a, b, accumulate, 0, HERE)

#endif
#endif
