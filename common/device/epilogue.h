/* epilogue.h - from fp32 accumulators in registers straight to C in global memory.
 *
 * mma.sync and wgmma distribute their accumulators alike: in every 8 columns of a row, lane t of a quad (4 neighbouring
 * lanes) holds columns 2t and 2t + 1. If each lane stored these 4 bytes, a quad would write 16, half of a 32-byte
 * sector. If the quad first exchanges columns, a lane writes 16 bytes and the quad 64. */
#ifndef EPILOGUE_H
#define EPILOGUE_H

#include "../gemm.h"

#if defined(GEMM_MODEL) || defined(__CUDACC__)

/* 4 x 4 transpose in a quad: word i of lane t becomes word t of lane i. All 32 lanes. */
DEVICE void transpose_quad(uint32_t w[4]) {
    int odd = (int)threadIdx.x & 1, high = (int)threadIdx.x & 2;
    UNROLL
    for (int i = 0; i < 4; i += 2) { /* lanes t and t ^ 1 exchange words 1 and 0, 3 and 2 */
        uint32_t received = __shfl_xor_sync(0xffffffffu, odd ? w[i] : w[i + 1], 1);
        w[i] = odd ? received : w[i];
        w[i + 1] = odd ? w[i + 1] : received;
    }
    UNROLL
    for (int i = 0; i < 2; i++) { /* lanes t and t ^ 2 exchange words 2 and 0, 3 and 1 */
        uint32_t received = __shfl_xor_sync(0xffffffffu, high ? w[i] : w[i + 2], 2);
        w[i] = high ? received : w[i];
        w[i + 2] = high ? w[i + 2] : received;
    }
}

/* Stores a warp's 16 x columns accumulators, as bf16, as the part of C that begins at (row, col). In every 8 columns
 * this lane holds acc[4j] and acc[4j + 1] of row lane / 4, and acc[4j + 2] and acc[4j + 3] of the row 8 further down.
 * Writes nothing outside C. col and columns are multiples of 8; acc has the size of the next multiple of 32 columns.
 * All 32 lanes call it, even those whose row is outside. */
DEVICE void store_warp_rows(const Gemm *g, int row, int col, const float *acc, const int columns) {
    /* Of the last 32 columns not all may belong to this warp. */
    int n = columns % 32 == 0 ? g->n : min_int(g->n, col + columns);
    UNROLL
    for (int j = 0; j < columns; j += 32) {
        UNROLL
        for (int half = 0; half < 2; half++) {
            const float *v = &acc[j / 2 + half * 2];
            uint32_t w[4] = {pack_bf16x2(v[0], v[1]), pack_bf16x2(v[4], v[5]), pack_bf16x2(v[8], v[9]),
                             pack_bf16x2(v[12], v[13])};
            transpose_quad(w);
            int r = row + half * 8 + (int)threadIdx.x % 32 / 4;
            int first = col + j + (int)threadIdx.x % 4 * 8; /* this lane now has 8 columns from here on */
            bf16 *out = g->c + (size_t)r * g->ldc + first;
            if (r < g->m && first + 8 <= n) {
                uint4 all = {w[0], w[1], w[2], w[3]};
                *(uint4 *)out = all;
            } else if (r < g->m) {
                UNROLL
                for (int i = 0; i < 8; i++) {
                    if (first + i < n) {
                        out[i] = (bf16)(w[i / 2] >> i % 2 * 16);
                    }
                }
            }
        }
    }
}

#endif
#endif
