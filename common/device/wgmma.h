/* wgmma.h - Hopper's matrix instruction: a warpgroup multiplies tiles in shared memory, asynchronously. sm_90a.
 *
 * A warpgroup is 4 consecutive warps, 128 threads, starting at a warp number divisible by 4. All of them call each of
 * these together. wgmma.mma_async m64nNk16: D (64 x N, fp32, in registers) += A (64 x 16) * B (16 x N), where B comes from
 * shared memory by descriptor, A too (SS) or from registers (RS). PTX 9.7.15.
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
};

/* The descriptor of a K-major tile [rows][64] of bf16 with the 128-byte swizzle, as TMA writes it. The tile starts on a
 * 1024-byte boundary; 8 rows are 1024 bytes. */
HOST_DEVICE uint64_t wgmma_descriptor_k_major_128b(uint32_t address) {
    return wgmma_descriptor_fields(address, 16, 1024, WGMMA_SWIZZLE_128B);
}

/* Kernel:
 *
 * wgmma_descriptor(tile): the descriptor above for a tile in this CTA's shared memory. Add WGMMA_K16_STEP for each k16
 * step inside the row.
 *
 * wgmma_fence(): orders the warpgroup's accesses to registers (accumulators, A fragments) before the wgmmas that follow.
 * At the top of every k-tile; ptxas serialises what lacks it. PTX 9.7.15.7.1.
 *
 * wgmma_m64n64k16(d, a, b, accumulate) and the other widths: start D = A * B (+ D if accumulate). float d[N / 2]; a and b
 * descriptors, both K-major. PTX 9.7.15.5.2.
 *
 * wgmma_m64n64k16_rs(d, a, b, accumulate): the same with A from registers, uint32_t a[4] as in mma_sync.h for the warp's
 * 16 rows.
 *
 * wgmma_commit_group(): close the warpgroup's group of products. PTX 9.7.15.7.2.
 *
 * wgmma_wait_group(N): wait until at most the warpgroup's N latest groups are unfinished. N is a constant. PTX 9.7.15.7.3.
 *
 * registers_settled(d, count): no instruction. Tells the compiler that the accumulators change here: after a wait, so
 * that it does not move their use to before it. */
#if defined(GEMM_MODEL)

#define wgmma_descriptor(tile) wgmma_descriptor_k_major_128b(model_shared_address(tile))
#define wgmma_fence() model_wgmma_fence(HERE)
#define wgmma_commit_group() model_wgmma_commit_group(HERE)
#define wgmma_wait_group(N) model_wgmma_wait_group(N, HERE)
#define registers_settled(d, count) ((void)0)
#define wgmma_m64n64k16(d, a, b, accumulate) model_wgmma_ss(64, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n112k16(d, a, b, accumulate) model_wgmma_ss(112, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n128k16(d, a, b, accumulate) model_wgmma_ss(128, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n160k16(d, a, b, accumulate) model_wgmma_ss(160, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n176k16(d, a, b, accumulate) model_wgmma_ss(176, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n192k16(d, a, b, accumulate) model_wgmma_ss(192, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n256k16(d, a, b, accumulate) model_wgmma_ss(256, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_m64n64k16_rs(d, a, b, accumulate) model_wgmma_rs(64, d, a, b, accumulate, 0, HERE)

#elif defined(__CUDACC__)

DEVICE uint64_t wgmma_descriptor(const void *tile) { return wgmma_descriptor_k_major_128b(shared_address(tile)); }

DEVICE void wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

DEVICE void wgmma_commit_group(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#define wgmma_wait_group(N) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"((int)(N)) : "memory")

DEVICE void registers_settled(float *d, int count) {
    UNROLL
    for (int i = 0; i < count; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

/* The operand lists, eight accumulators at a time: "%0, %1, ..." for the instruction's text, "+f"(d[0]), ... for the
 * compiler. */
#define WGMMA_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WGMMA_NAMES_16 WGMMA_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_NAMES_24 WGMMA_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_NAMES_32 WGMMA_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_40 WGMMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_NAMES_48 WGMMA_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_56 WGMMA_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_NAMES_64 WGMMA_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_72 WGMMA_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_NAMES_80 WGMMA_NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_NAMES_88 WGMMA_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_NAMES_96 WGMMA_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_NAMES_104 WGMMA_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define WGMMA_NAMES_112 WGMMA_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_NAMES_120 WGMMA_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define WGMMA_NAMES_128 WGMMA_NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define WGMMA_REGS_4(d, i) "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3])
#define WGMMA_REGS_8(d, i) WGMMA_REGS_4(d, i), WGMMA_REGS_4(d, i + 4)
#define WGMMA_REGS_16(d, i) WGMMA_REGS_8(d, i), WGMMA_REGS_8(d, i + 8)
#define WGMMA_REGS_32(d, i) WGMMA_REGS_16(d, i), WGMMA_REGS_16(d, i + 16)
#define WGMMA_REGS_64(d, i) WGMMA_REGS_32(d, i), WGMMA_REGS_32(d, i + 32)

/* One SS product of width n, with the given list of accumulators; a_, b_, p_ number the operands after them. `majors` is
 * "0, 0" for two K-major tiles; a 1 says that A or B is MN-major. */
#define WGMMA_SS(n, count, a_, b_, p_, majors, a, b, accumulate, ...)                             \
    asm volatile("{\n"                                                                            \
                 ".reg .pred p;\n"                                                                \
                 "setp.ne.b32 p, %" #p_ ", 0;\n"                                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" WGMMA_NAMES_##count \
                 "}, %" #a_ ", %" #b_ ", p, 1, 1, " majors ";\n"                                  \
                 "}\n"                                                                            \
                 : __VA_ARGS__                                                                    \
                 : "l"(a), "l"(b), "r"(accumulate))

DEVICE void wgmma_m64n64k16(float d[32], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(64, 32, 32, 33, 34, "0, 0", a, b, accumulate, WGMMA_REGS_32(d, 0));
}
DEVICE void wgmma_m64n112k16(float d[56], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(112, 56, 56, 57, 58, "0, 0", a, b, accumulate, WGMMA_REGS_32(d, 0), WGMMA_REGS_16(d, 32),
             WGMMA_REGS_8(d, 48));
}
DEVICE void wgmma_m64n128k16(float d[64], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(128, 64, 64, 65, 66, "0, 0", a, b, accumulate, WGMMA_REGS_64(d, 0));
}
DEVICE void wgmma_m64n160k16(float d[80], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(160, 80, 80, 81, 82, "0, 0", a, b, accumulate, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64));
}
DEVICE void wgmma_m64n176k16(float d[88], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(176, 88, 88, 89, 90, "0, 0", a, b, accumulate, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64),
             WGMMA_REGS_8(d, 80));
}
DEVICE void wgmma_m64n192k16(float d[96], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(192, 96, 96, 97, 98, "0, 0", a, b, accumulate, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64));
}
DEVICE void wgmma_m64n256k16(float d[128], uint64_t a, uint64_t b, int accumulate) {
    WGMMA_SS(256, 128, 128, 129, 130, "0, 0", a, b, accumulate, WGMMA_REGS_64(d, 0), WGMMA_REGS_64(d, 64));
}

DEVICE void wgmma_m64n64k16_rs(float d[32], const uint32_t a[4], uint64_t b, int accumulate) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WGMMA_NAMES_32
                 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n"
                 "}\n"
                 : WGMMA_REGS_32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}

#endif
#endif
