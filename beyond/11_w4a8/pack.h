/* pack.h - the weights as the kernel wants them, and how 4 bits become 8. Host and kernel.
 *
 * A block is 64 rows x 128 k of one expert: what a warpgroup multiplies between two waits. It is BLOCK_BYTES that lie
 * together: 32 bytes for each of the 128 threads, then the 64 scales. */
#ifndef PACK_H
#define PACK_H

#include "../../common/device/cuda_c.h"

enum {
    BLOCK_ROWS = 64, /* wgmma's M */
    BK = 128,        /* k of a block: of a scale, and of a row of 128 bytes of activations */
    STEPS = BK / 32, /* products, of 32 k each */
    WEIGHT_BYTES = BLOCK_ROWS * BK / 2,
    BLOCK_BYTES = WEIGHT_BYTES + BLOCK_ROWS * 2, /* and the scales, bf16 */
};

/* Row (0..63) and k (0..31) of byte `byte` of register `reg` (0..3) of operand A that thread `thread` (0..127) holds for an
 * 8-bit product. PTX 9.7.15.5.1.1.3. */
HOST_DEVICE int fragment_row(int thread, int reg) { return thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8; }
HOST_DEVICE int fragment_k(int thread, int reg, int byte) { return thread % 4 * 4 + byte + reg / 2 * 16; }

/* A weight, -8 .. 7, as the four bits that decode() takes: magnitude and sign, and of the negative ones the magnitude less
 * one. */
HOST_DEVICE uint32_t encode(int weight) { return (uint32_t)(weight < 0 ? (-weight - 1) << 1 | 1 : weight << 1); }

/* The lower nibbles of four bytes to e4m3: the weights times 2^-8.
 *
 * The codes 0 .. 16 of e4m3 are 0 .. 16 times 2^-9: its subnormal numbers and the two steps after them lie on one line. So a
 * magnitude needs no table: shifted by one place, where the nibble has it, it is the code of twice itself. A sign adds the
 * sign's bit, 0x80, and the code of the one that encode() has taken away, 0x02. */
HOST_DEVICE uint32_t decode(uint32_t w) { return (w & 0x0e0e0e0e) + (w & 0x01010101) * 0x82; }

enum { DECODED_SCALE = 1 << 8 }; /* what a sum of decoded weights is to be multiplied by */

/* Where in a block's weights: 16 bytes for each thread, the operands of two steps; a word has two registers, one in the lower
 * nibbles of its bytes. */
HOST_DEVICE int packed_byte(int thread, int step, int reg, int byte) {
    return step / 2 * (WEIGHT_BYTES / 2) + thread * 16 + step % 2 * 8 + reg / 2 * 4 + byte;
}

/* Place, among a block's 64 scales, of row `row`: the two of a thread are neighbours. */
HOST_DEVICE int packed_scale(int row) { return row / 16 * 16 + row % 8 * 2 + row / 8 % 2; }

/* Host: packs the block whose first weight is w[0]: `rows` rows (the others become zeros) of `k` weights, rows `ld` apart.
 * scale: of the first row; the next one's is `ld_scale` further. */
static inline void pack_block(const int8_t *w, size_t ld, const bf16 *scale, size_t ld_scale, int rows, int k,
                              uint8_t *out) {
    memset(out, 0, BLOCK_BYTES);
    for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < STEPS * 4 * 4; i++) {
            int step = i / 16, reg = i / 4 % 4, byte = i % 4;
            int row = fragment_row(thread, reg), col = step * 32 + fragment_k(thread, reg, byte);
            if (row < rows && col < k) {
                out[packed_byte(thread, step, reg, byte)] |= (uint8_t)(encode(w[row * ld + col]) << reg % 2 * 4);
            }
        }
    }
    for (int row = 0; row < rows && row < BLOCK_ROWS; row++) {
        ((bf16 *)(out + WEIGHT_BYTES))[packed_scale(row)] = scale[row * ld_scale];
    }
}

#endif
