/* matrix.c - see matrix.h. */
#include "matrix.h"

#include <string.h>

#include "tensor_map.h"

void matrix_ldmatrix_x4(uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE]) {
    for (int matrix = 0; matrix < 4; matrix++) {
        for (int lane = 0; lane < WARP_SIZE; lane++) {
            const uint8_t *from = row[ldmatrix_address_lane(matrix, ldmatrix_row(lane))];
            memcpy(&r[lane][matrix], from + 2 * ldmatrix_column(lane), 4);
        }
    }
}

void matrix_stmatrix_x4(void *const row[WARP_SIZE], const uint32_t *const r[WARP_SIZE]) {
    for (int matrix = 0; matrix < 4; matrix++) {
        for (int lane = 0; lane < WARP_SIZE; lane++) {
            uint8_t *to = row[ldmatrix_address_lane(matrix, ldmatrix_row(lane))];
            memcpy(to + 2 * ldmatrix_column(lane), &r[lane][matrix], 4);
        }
    }
}

/* Columns of a row, added at once: gcc and clang have SIMD instructions for it on any machine. */
typedef float Four __attribute__((vector_size(16)));

/* Four rows by eight columns at a time stay in registers. The products of two bf16 are exact in fp32, so the order of
 * addition, k = 0, 1, .. onto d, alone decides the bits. */
static inline __attribute__((always_inline)) void multiply(float *d, const float *a, const float *b, const int rows,
                                                           int n, const int depth, int accumulate) {
    for (int m = 0; m < rows; m += 4) {
        for (int column = 0; column < n; column += 8) {
            Four sum[4][2] = {{{0}}};
            if (accumulate) {
                _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
                    memcpy(sum[i], &d[(m + i) * n + column], sizeof sum[i]);
                }
            }
            for (int k = 0; k < depth; k++) {
                Four row[2];
                memcpy(row, &b[k * n + column], sizeof row);
                _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
                    float factor = a[k * rows + m + i];
                    sum[i][0] += factor * row[0];
                    sum[i][1] += factor * row[1];
                }
            }
            _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
                memcpy(&d[(m + i) * n + column], sum[i], sizeof sum[i]);
            }
        }
    }
}

/* ---- by type: where it is a constant, that of bf16, compilers leave the others out ------------------------------- */

#define FOR_TYPE static inline __attribute__((always_inline))

FOR_TYPE void elements(MatrixType type, float *out, int step, const void *from, int bytes) {
    if (type == MATRIX_E2M1) {
        for (int i = 0; i < 2 * bytes; i++) {
            out[i * step] = matrix_element(type, ((const uint8_t *)from)[i / 2] >> i % 2 * 4 & 15);
        }
        return;
    }
    int size = matrix_element_bytes(type);
    for (int i = 0; i < bytes / size; i++) {
        uint32_t bits = 0;
        memcpy(&bits, (const uint8_t *)from + i * size, (size_t)size);
        out[i * step] = type == MATRIX_BF16 ? matrix_float((uint16_t)bits) : matrix_element(type, bits);
    }
}

/* What bf16 has at k, another type has at this one. */
FOR_TYPE int k_of(MatrixType type, int k) { return 2 * k / matrix_element_bytes(type); }

FOR_TYPE void fragment(MatrixType type, float *out, int rows, const uint32_t *const a[WARP_SIZE]) {
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            elements(type, out + k_of(type, mma_a_k(lane, r)) * rows + mma_a_row(lane, r), rows, &a[lane][r], 4);
        }
    }
}

void matrix_mma(float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE], const uint32_t *const b[WARP_SIZE]) {
    float av[MATRIX_K][16], bv[MATRIX_K][8], dv[16][8];
    fragment(MATRIX_BF16, &av[0][0], 16, a);
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        for (int r = 0; r < 2; r++) {
            elements(MATRIX_BF16, &bv[mma_b_k(lane, r)][mma_b_column(lane)], 8, &b[lane][r], 4);
        }
        for (int v = 0; v < 4; v += 2) {
            memcpy(&dv[mma_d_row(lane, v)][mma_d_column(lane, v)], &d[lane][v], 2 * sizeof(float));
        }
    }
    multiply(&dv[0][0], &av[0][0], &bv[0][0], 16, 8, MATRIX_K, 1);
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        for (int v = 0; v < 4; v += 2) {
            memcpy(&d[lane][v], &dv[mma_d_row(lane, v)][mma_d_column(lane, v)], 2 * sizeof(float));
        }
    }
}

FOR_TYPE void operand_load(MatrixType type, float *out, const uint8_t *shared, uint32_t shared_start,
                           const uint32_t *address, int mn_major, int rows) {
    for (int i = 0; i < 2 * rows; i++) {
        float *at = out + wgmma_chunk_k(type, mn_major, i) * rows + wgmma_chunk_row(mn_major, i);
        elements(type, at, mn_major ? 1 : rows, shared + (address[i] - shared_start), 16);
    }
}

#define BY_TYPE(function, type, ...) \
    (type == MATRIX_BF16 ? function(MATRIX_BF16, __VA_ARGS__) : function(type, __VA_ARGS__))

void matrix_fragment(MatrixType type, float *out, int rows, const uint32_t *const a[WARP_SIZE]) {
    BY_TYPE(fragment, type, out, rows, a);
}

void wgmma_operand_load_of(MatrixType type, float *out, const uint8_t *shared, uint32_t shared_start,
                           const uint32_t *address, int mn_major, int rows) {
    BY_TYPE(operand_load, type, out, shared, shared_start, address, mn_major, rows);
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

WgmmaDescriptor wgmma_descriptor_decode(uint64_t descriptor) {
    static const int swizzle_bytes[4] = {0, 128, 64, 32};
    const uint64_t fields =
        0x3fffu | (uint64_t)0x3fff << 16 | (uint64_t)0x3fff << 32 | (uint64_t)7 << 49 | (uint64_t)3 << 62;
    WgmmaDescriptor d;
    d.start = (uint32_t)(descriptor & 0x3fff) << 4;
    d.leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4;
    d.stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4;
    d.base_offset = (int)(descriptor >> 49 & 7);
    d.swizzle_bytes = swizzle_bytes[descriptor >> 62];
    d.unknown = descriptor & ~fields;
    return d;
}

uint32_t wgmma_element_address(const WgmmaDescriptor *d, int mn_major, int row, int k) {
    static const uint8_t mode[5] = {TENSOR_SWIZZLE_NONE, TENSOR_SWIZZLE_32B, TENSOR_SWIZZLE_64B, 0,
                                    TENSOR_SWIZZLE_128B};
    uint32_t r = (uint32_t)row, c = (uint32_t)k;
    uint32_t span = (uint32_t)d->swizzle_bytes; /* bytes of a row of the pattern */
    uint32_t address = d->start;
    if (!mn_major) {
        if (span == 0) { /* 8 x 16-byte core matrices */
            address += r / 8 * d->stride + r % 8 * 16 + c / 8 * d->leading + c % 8 * 2;
        } else {
            address += r / 8 * d->stride + r % 8 * span + c * 2;
        }
    } else {
        if (span == 0) { /* core matrices of 8 k, each 16 bytes of mn */
            address += r / 8 * d->stride + c / 8 * d->leading + c % 8 * 16 + r % 8 * 2;
        } else {
            uint32_t panel = span / 2;
            address += r / panel * d->leading + c / 8 * d->stride + c % 8 * span + r % panel * 2;
        }
    }
    uint32_t pattern = (uint32_t)d->base_offset << 7;
    return tensor_swizzle_address(address - pattern, mode[span / 32]) + pattern;
}

int wgmma_operand_addresses(const WgmmaDescriptor *descriptor, int mn_major, int rows, uint32_t *address) {
    int chunks = 2 * rows;
    for (int i = 0; i < chunks; i++) {
        address[i] = wgmma_element_address(descriptor, mn_major, wgmma_chunk_row(mn_major, i),
                                           wgmma_chunk_k(MATRIX_BF16, mn_major, i));
    }
    return chunks;
}

void wgmma_multiply(float *d, const float *a, const float *b, int n, int k, int accumulate) {
    if (k == MATRIX_K) {
        multiply(d, a, b, WGMMA_M, n, MATRIX_K, accumulate);
    } else {
        multiply(d, a, b, WGMMA_M, n, MATRIX_MAX_K, accumulate);
    }
}
