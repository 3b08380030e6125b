/* pack.h - the weights in the kernel's layout, and how 4 bits become 8. Host and kernel.
 *
 * A block is 64 rows x 128 k of one expert, which a warpgroup converts at once. It has BLOCK_BYTES contiguous bytes:
 * for each of the 128 threads 16 bytes of two steps, then 16 bytes of the other two steps, then the 64 scales. */
#ifndef PACK_H
#define PACK_H

#include "../../common/device/cuda_c.h"

enum {
    BLOCK_ROWS = 64, /* wgmma's M */
    BK = 128,        /* k of a block: a scale covers it, and so does a row of 128 bytes of activations */
    STEPS = BK / 32, /* products, of 32 k each */
    WEIGHT_BYTES = BLOCK_ROWS * BK / 2,
    BLOCK_BYTES = WEIGHT_BYTES + BLOCK_ROWS * 2, /* and the scales, bf16 */
    MOST_WEIGHT = 7,                             /* the least is -7: sign and magnitude in 4 bits */
};

/* Row (0..63) and k (0..31) of byte `byte` of register `reg` (0..3) of operand A that thread `thread` (0..127) holds
 * for an 8-bit product. PTX 9.7.15.5.1.1.3. The rows of its accumulators in D are the same. */
HOST_DEVICE int fragment_row(int thread, int reg) { return thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8; }
HOST_DEVICE int fragment_k(int thread, int reg, int byte) { return thread % 4 * 4 + byte + reg / 2 * 16; }

/* Place in a block of the word with registers reg and reg + 1, reg even: a thread's words of two steps are 16 bytes. */
HOST_DEVICE int packed_word(int thread, int step, int reg) {
    return step / 2 * (WEIGHT_BYTES / 2) + thread * 16 + step % 2 * 8 + reg / 2 * 4;
}

/* A weight as bits of its word. In e4m3 the codes 0 .. 7 are the subnormal numbers 0 .. 7 times 2^-9, and bit 7 is the
 * sign. So a weight's magnitude and sign form its e4m3 if they are in the right bits of a byte. In the even register
 * they are; in the odd register they are after a rotation by four bits, which moves a sign to the byte below. */
HOST_DEVICE uint32_t encode(int weight, int reg, int byte) {
    uint32_t magnitude = (uint32_t)(weight < 0 ? -weight : weight), sign = weight < 0;
    return reg % 2 ? magnitude << (byte * 8 + 4) | sign << ((byte * 8 + 11) % 32) : (magnitude | sign << 7) << byte * 8;
}

/* Register `reg` of a word: four weights times 2^-9, e4m3. */
HOST_DEVICE uint32_t decode(uint32_t word, int reg) { return (reg % 2 ? word >> 4 | word << 28 : word) & 0x87878787; }

enum { DECODED_SCALE = 1 << 9 }; /* the factor for a sum of decoded weights */

/* Place, among a block's 64 scales, of row `row`: the two of a thread are neighbours. */
HOST_DEVICE int packed_scale(int row) { return row / 16 * 16 + row % 8 * 2 + row / 8 % 2; }

/* Host: packs the block whose first weight is w[0]: `rows` rows (the others become zeros) of `k` weights, rows `ld`
 * apart.
 * scale: of the first row; the next one's is `ld_scale` further. NULL, or the first weight that is not in -7 .. 7. */
static inline const int8_t *pack_block(const int8_t *w, size_t ld, const bf16 *scale, size_t ld_scale, int rows, int k,
                                       uint8_t *out) {
    memset(out, 0, BLOCK_BYTES);
    for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < STEPS * 4 * 4; i++) {
            int step = i / 16, reg = i / 4 % 4, byte = i % 4;
            int row = fragment_row(thread, reg), col = step * 32 + fragment_k(thread, reg, byte);
            if (row < rows && col < k) {
                const int8_t *weight = &w[row * ld + col];
                if (*weight < -MOST_WEIGHT || *weight > MOST_WEIGHT) {
                    return weight;
                }
                uint32_t *word = (uint32_t *)(out + packed_word(thread, step, reg));
                *word |= encode(*weight, reg, byte);
            }
        }
    }
    for (int row = 0; row < rows && row < BLOCK_ROWS; row++) {
        ((bf16 *)(out + WEIGHT_BYTES))[packed_scale(row)] = scale[row * ld_scale];
    }
    return NULL;
}

#endif
