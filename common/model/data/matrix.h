/* matrix.h - what the tensor-core instructions do with their data: which thread holds which element, where a descriptor
 * finds an operand in shared memory, and the products.
 *
 * Shapes are named as in PTX: D[M][N] += A[M][K] * B[K][N]; "row" of an operand is m for A and n for B. */
#ifndef MATRIX_H
#define MATRIX_H

#include <stdint.h>

#include "element.h"

enum {
    WARP_SIZE = 32,
    WARPGROUP_SIZE = 128,
    MATRIX_K = 16, /* bf16: 32 bytes */
    WGMMA_M = 64,
    WGMMA_MAX_N = 256,
};

/* ---- one warp: ldmatrix, stmatrix, mma.sync ---------------------------------------------------------------------- */

/* Who holds what of m16n8k16. Register r of a lane has two neighbours of A: (row, k) in its low half, (row, k + 1) in
 * its high one; of B likewise (k, column), (k + 1, column); d[v] is D(row, column). */
static inline int mma_a_row(int lane, int r) { return lane / 4 + 8 * (r % 2); }
static inline int mma_a_k(int lane, int r) { return 2 * (lane % 4) + 8 * (r / 2); }
static inline int mma_b_column(int lane) { return lane / 4; }
static inline int mma_b_k(int lane, int r) { return 2 * (lane % 4) + 8 * r; }
static inline int mma_d_row(int lane, int v) { return lane / 4 + 8 * (v / 2); }
static inline int mma_d_column(int lane, int v) { return 2 * (lane % 4) + v % 2; }

/* ldmatrix and stmatrix: lane l has in register i two neighbours of matrix i: of this row, from this column on. */
static inline int ldmatrix_row(int lane) { return lane / 4; }
static inline int ldmatrix_column(int lane) { return 2 * (lane % 4); }
/* Whose address row `row` of matrix i is. */
static inline int ldmatrix_address_lane(int i, int row) { return 8 * i + row; }

/* ldmatrix.x4: row[32] are the lanes' addresses, 16 readable bytes each; r[lane] receives uint32_t[4]. */
void matrix_ldmatrix_x4(uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE]);

/* stmatrix.x4, the mirror. */
void matrix_stmatrix_x4(void *const row[WARP_SIZE], const uint32_t *const r[WARP_SIZE]);

/* mma.m16n8k16 of bf16 to fp32: d[lane] is float[4], a[lane] uint32_t[4], b[lane] uint32_t[2]; d += a * b. */
void matrix_mma(float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE], const uint32_t *const b[WARP_SIZE]);

/* Convert a warp's fragment of A to float: out[k][16 rows], `rows` floats from one k to the next. Of every type a
 * register holds the same four bytes of its row. */
void matrix_fragment(MatrixType type, float *out, int rows, const uint32_t *const a[WARP_SIZE]);

/* ---- one warpgroup: wgmma m64nNk16 and k32 ----------------------------------------------------------------------- */

/* A matrix descriptor's fields (wgmma.h shows the bits). Bytes, not the encoded units. */
typedef struct {
    uint32_t start;    /* shared-window address, 16-byte aligned, < 2^18 */
    uint32_t leading;  /* LBO */
    uint32_t stride;   /* SBO */
    int base_offset;   /* 0..7 */
    int swizzle_bytes; /* 0, 128, 64 or 32: the width of the pattern */
    uint64_t unknown;  /* bits that belong to no field; a right descriptor has none set */
} WgmmaDescriptor;

WgmmaDescriptor wgmma_descriptor_decode(uint64_t descriptor);

/* An operand of `rows` rows (64 for A, N for B) and 32 bytes of k is 2 * rows chunks of 16 bytes. Of bf16:
 *   K-major:  chunk i holds k = 8 (i % 2) .. + 7 of row i / 2
 *   MN-major: chunk i holds rows 8 (i / 16) .. + 7 at k = i % 16
 * Elements of another size have other numbers of k at the same bytes; MN-major are only those of two. */
static inline int wgmma_chunk_row(int mn_major, int i) { return mn_major ? i / 16 * 8 : i / 2; }
static inline int wgmma_chunk_k(MatrixType type, int mn_major, int i) {
    return mn_major ? i % 16 : i % 2 * matrix_k(type) / 2;
}

/* Shared-window address of the operand's element (row, k), swizzle and base offset applied. */
uint32_t wgmma_element_address(const WgmmaDescriptor *descriptor, int mn_major, int row, int k);

/* The same for all chunks: address[2 * rows]. Returns 2 * rows. The caller checks that each address is in shared
 * memory before it lets wgmma_operand_load_of() read there. */
int wgmma_operand_addresses(const WgmmaDescriptor *descriptor, int mn_major, int rows, uint32_t *address);

/* Convert an operand to float: out[k][rows], row fastest. `shared` points at the byte with shared-window address
 * `shared_start`; address[] as above. */
void wgmma_operand_load_of(MatrixType type, float *out, const uint8_t *shared, uint32_t shared_start,
                           const uint32_t *address, int mn_major, int rows);

/* d[64][n] = a * b, or += if accumulate; a[k][64] and b[k][n] as the loads above give them. n: 8..256, multiple of 8;
 * k: 16, 32. */
void wgmma_multiply(float *d, const float *a, const float *b, int n, int k, int accumulate);

/* Element of D that thread t (0..127) of the warpgroup holds in d[v], v = 0 .. n / 2 - 1. */
static inline int wgmma_accumulator_row(int t, int v) { return 16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2); }
static inline int wgmma_accumulator_column(int t, int v) { return 8 * (v / 4) + 2 * (t % 4) + v % 2; }

#endif
