/* mma_sync.h - tensor cores as Ampere has them: one warp, operands in registers. PTX 9.7.14.5. All 32 threads of a warp
 * call each of these together. */
#ifndef MMA_SYNC_H
#define MMA_SYNC_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* Loads four 8x8 matrices of bf16 from shared memory. Lanes 8i..8i+7 supply the addresses of the 8 rows (16 bytes each,
 * 16-byte aligned) of matrix i; lane l receives in r[i] elements 2(l % 4) and the next of row l / 4 of matrix i. There
 * are no bank conflicts if the 8 rows of a matrix are in 8 different 16-byte columns. PTX 9.7.14.5.15. */
DEVICE void ldmatrix_x4(uint32_t r[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Stores four 8x8 matrices to shared memory: lanes 8i..8i+7 supply the addresses of the 8 rows of matrix i, and r[i] of
 * lane l has elements 2(l % 4) and the next of row l / 4, as after ldmatrix_x4(). sm_90. PTX 9.7.14.5.16. */
DEVICE void stmatrix_x4(void *row, const uint32_t r[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* With g = lane / 4 and t = lane % 4, the fragments of one m16n8k16 product are
 *
 *     a[0] = A(g, 2t..2t+1)      a[1] = A(g + 8, 2t..)      a[2] = A(g, 2t + 8..)      a[3] = A(g + 8, 2t + 8..)
 *     b[0] = B(k = 2t..2t+1, n = g)                         b[1] = B(k = 2t + 8.., n = g)
 *     d[0], d[1] = D(g, 2t..2t+1)                           d[2], d[3] = D(g + 8, 2t..2t+1)
 *
 * ldmatrix_x4() loads a and b. */

/* D += A (16x16) * B (16x8) of bf16. PTX 9.7.14.5.14. */
DEVICE void mma_m16n8k16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#elif defined(GEMM_MODEL)

#define ldmatrix_x4(r, row) model_ldmatrix_x4(r, row, HERE)
#define stmatrix_x4(row, r) model_stmatrix_x4(row, r, HERE)
#define mma_m16n8k16(d, a, b) model_mma(d, a, b, HERE)

#endif
#endif
