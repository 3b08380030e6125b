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
 * operands' shared memory is reused, wgmma_wait_group().
 *
 * A step of k is 32 bytes in each type, so a K-major tile has the same descriptor, and a register of A holds the four bytes
 * at the same place in its row. */
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

#ifdef PTX_FUNCTIONS

#include "wgmma_widths.h"

/* The descriptor of a K-major tile in this CTA's shared memory. Add WGMMA_K16_STEP for each k16 step inside the row. */
DEVICE uint64_t wgmma_descriptor(const void *tile) { return wgmma_descriptor_k_major_128b(shared_address(tile)); }

/* That of an MN-major tile, likewise; step WGMMA_K16_STEP_MN. */
DEVICE uint64_t wgmma_descriptor_mn(const void *tile, uint32_t panel_bytes) {
    return wgmma_descriptor_mn_major_128b(shared_address(tile), panel_bytes);
}

/* Orders the warpgroup's accesses to registers (accumulators, A fragments) before the wgmmas that follow. The manual asks
 * for it before the first one and after registers have been accessed; here it stands at the top of every k-tile, since
 * ptxas adds it there if it stands only before the loop (note C7519). PTX 9.7.15.7.1. */
DEVICE void wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/* Closes the warpgroup's group of products. PTX 9.7.15.7.2. */
DEVICE void wgmma_commit_group(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Waits until at most the warpgroup's n latest groups are unfinished. PTX 9.7.15.7.3. */
DEVICE void wgmma_wait_group(const int n){GROUPS_LEFT("wgmma.wait_group.sync.aligned", n)}

/* No instruction. Tells the compiler that `count` accumulators change here: after a wait, so that it does not move their
 * use to before it. */
DEVICE void registers_settled(float *d, int count) {
    UNROLL
    for (int i = 0; i < count; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

/* Starts D = A * B (+ D if accumulate) of bf16: float d[n / 2], a and b descriptors, both K-major. SS: both operands come
 * from shared memory. n is a constant where this is inlined: 8, 16, .. 256. All of the warpgroup, with the same a, b and
 * accumulate. PTX 9.7.15.5.2, as all below. */
DEVICE void wgmma_ss(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k16.f32.bf16.bf16", ", 0, 0");
}
/* The same with an A that is M-major. */
DEVICE void wgmma_ss_trans_a(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k16.f32.bf16.bf16", ", 1, 0");
}
/* With a B that is N-major. */
DEVICE void wgmma_ss_trans_b(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k16.f32.bf16.bf16", ", 0, 1");
}
/* With both. */
DEVICE void wgmma_ss_trans_ab(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k16.f32.bf16.bf16", ", 1, 1");
}
/* wgmma_ss() with A from registers, a[4] as in mma_sync.h for the warp's 16 rows. They must keep their values until a wait
 * covers the product. */
DEVICE void wgmma_rs(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_RS("k16.f32.bf16.bf16", ", 0");
}
/* The same with a B that is N-major. */
DEVICE void wgmma_rs_trans_b(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_RS("k16.f32.bf16.bf16", ", 1");
}
/* wgmma_ss() of fp16; K-major, as all that follow. */
DEVICE void wgmma_ss_f16(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k16.f32.f16.f16", ", 0, 0");
}
/* wgmma_rs() of fp16. */
DEVICE void wgmma_rs_f16(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_RS("k16.f32.f16.f16", ", 0");
}
/* wgmma_ss() of fp8 e4m3, k32. The tensor cores keep fewer bits of the sums of fp8 than fp32 has: about 14 of the
 * fraction. */
DEVICE void wgmma_ss_e4m3(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k32.f32.e4m3.e4m3", "");
}
/* wgmma_rs() of fp8 e4m3, k32; sums as wgmma_ss_e4m3() says. */
DEVICE void wgmma_rs_e4m3(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_RS("k32.f32.e4m3.e4m3", "");
}
/* wgmma_ss() of fp8 e5m2, k32; sums as wgmma_ss_e4m3() says. */
DEVICE void wgmma_ss_e5m2(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k32.f32.e5m2.e5m2", "");
}
/* wgmma_rs() of fp8 e5m2, k32; sums as wgmma_ss_e4m3() says. */
DEVICE void wgmma_rs_e5m2(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_RS("k32.f32.e5m2.e5m2", "");
}
/* wgmma_ss() of tf32, k8: fp32 whose lower 13 bits do not count. */
DEVICE void wgmma_ss_tf32(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS("k8.f32.tf32.tf32", "");
}
/* wgmma_rs() of tf32, k8: fp32 whose lower 13 bits do not count. */
DEVICE void wgmma_rs_tf32(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_RS("k8.f32.tf32.tf32", "");
}

#elif defined(GEMM_MODEL)

#define wgmma_descriptor(tile) wgmma_descriptor_k_major_128b(model_shared_address(tile))
#define wgmma_descriptor_mn(tile, panel_bytes) wgmma_descriptor_mn_major_128b(model_shared_address(tile), panel_bytes)
#define wgmma_fence() model_wgmma_fence(HERE)
#define wgmma_commit_group() model_wgmma_commit_group(HERE)
#define wgmma_wait_group(n) model_wgmma_wait_group(n, HERE)
#define registers_settled(d, count) model_registers_settled(d, count)
#define wgmma_ss(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_ss_trans_a(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 1, 0, HERE)
#define wgmma_ss_trans_b(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 0, 1, HERE)
#define wgmma_ss_trans_ab(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_BF16, n, d, a, b, accumulate, 1, 1, HERE)
#define wgmma_rs(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_BF16, n, d, a, b, accumulate, 0, HERE)
#define wgmma_rs_trans_b(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_BF16, n, d, a, b, accumulate, 1, HERE)
#define wgmma_ss_f16(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_F16, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_f16(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_F16, n, d, a, b, accumulate, 0, HERE)
#define wgmma_ss_e4m3(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_E4M3, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_e4m3(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_E4M3, n, d, a, b, accumulate, 0, HERE)
#define wgmma_ss_e5m2(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_E5M2, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_e5m2(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_E5M2, n, d, a, b, accumulate, 0, HERE)
#define wgmma_ss_tf32(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_TF32, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_tf32(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_TF32, n, d, a, b, accumulate, 0, HERE)

#endif
#endif
