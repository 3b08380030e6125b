/* Does beyond/11_w4a8/pack.h encode, place and decode every weight? */
#include "harness/kind.h"
#include "tap.h"

#include "../../beyond/11_w4a8/pack.h"

/* Every weight in each of a word's eight places, with every weight in all the others. */
static void decodes_every_weight(void) {
    int wrong = 0, checked = 0;
    for (int place = 0; place < 8; place++) {
        for (int weight = INT4_LEAST; weight <= INT4_MOST; weight++) {
            for (int other = INT4_LEAST; other <= INT4_MOST; other++) {
                uint32_t word = 0;
                for (int i = 0; i < 8; i++) {
                    word |= encode(i == place ? weight : other) << 4 * i;
                }
                for (int i = 0; i < 8; i++, checked++) {
                    e4m3 code = (e4m3)(decode(i % 2 ? word >> 4 : word) >> i / 2 * 8);
                    wrong += e4m3_value(code) * DECODED_SCALE != (float)(i == place ? weight : other);
                }
            }
        }
    }
    ok(checked == 8 * 8 * 15 * 15 && wrong == 0, "%d weights of 15 values decoded, %d wrong", checked, wrong);
}

/* The value of k `k` of row `row`, as operand A has it when its thread has converted block `out`. */
static float unpacked(const uint8_t *out, int row, int k) {
    int thread = row / 16 * 32 + row % 8 * 4 + k % 16 / 4, reg = row / 8 % 2 + k / 16 % 2 * 2;
    uint8_t byte = out[packed_byte(thread, k / 32, reg, k % 4)];
    return e4m3_value((e4m3)decode(reg % 2 ? byte >> 4 : byte)) * DECODED_SCALE;
}

static void packs_a_block(int rows, int k) {
    enum { LD = BK + 3, LD_SCALE = 5 };
    static int8_t w[BLOCK_ROWS * LD];
    static bf16 scale[BLOCK_ROWS * LD_SCALE];
    static uint8_t out[BLOCK_BYTES + 1];
    memset(out, 0x5a, sizeof out);
    for (int i = 0; i < BLOCK_ROWS * LD; i++) {
        w[i] = (int8_t)(mix64((uint64_t)i) % 15 - 7);
    }
    for (int row = 0; row < BLOCK_ROWS; row++) {
        scale[row * LD_SCALE] = (bf16)(row + 1);
    }
    pack_block(w, LD, scale, LD_SCALE, rows, k, out);
    int wrong = 0, wrong_scales = 0;
    for (int row = 0; row < BLOCK_ROWS; row++) {
        for (int col = 0; col < BK; col++) {
            wrong += unpacked(out, row, col) != (row < rows && col < k ? w[row * LD + col] : 0);
        }
        wrong_scales += ((bf16 *)(out + WEIGHT_BYTES))[packed_scale(row)] != (row < rows ? row + 1 : 0);
    }
    ok(wrong == 0, "block of %d rows and %d k: %d weights wrong, zeros behind the edges", rows, k, wrong);
    ok(wrong_scales == 0, "its scales: %d wrong", wrong_scales);
    ok(out[BLOCK_BYTES] == 0x5a, "nothing is written behind the block");
}

/* Every bit of a block's weights has one place, and a thread's 16 bytes lie together. */
static void places_are_different(void) {
    static uint8_t seen[WEIGHT_BYTES];
    int wrong = 0;
    for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < STEPS * 16; i++) {
            int step = i / 16, reg = i / 4 % 4, at = packed_byte(thread, step, reg, i % 4);
            wrong += at < 0 || at >= WEIGHT_BYTES || (seen[at] >> reg % 2 & 1);
            wrong += at / 16 % 128 != thread;
            seen[at < 0 || at >= WEIGHT_BYTES ? 0 : at] |= (uint8_t)(1 << reg % 2);
        }
    }
    ok(wrong == 0, "%d places are taken twice or lie in another thread's part", wrong);
}

/* The registers' places against CUTLASS's ALayout_64x32, ((4,8,4),(4,2,2)):((256,1,16),(64,8,1024)): an offset is
 * row + 64 k. */
static void places_as_in_cutlass(void) {
    int wrong = 0;
    for (int thread = 0; thread < 128; thread++) {
        for (int value = 0; value < 16; value++) {
            int offset = thread % 4 * 256 + thread / 4 % 8 * 1 + thread / 32 * 16 + value % 4 * 64 + value / 4 % 2 * 8 +
                         value / 8 * 1024;
            wrong += fragment_row(thread, value / 4) != offset % 64 ||
                     fragment_k(thread, value / 4, value % 4) != offset / 64;
        }
    }
    ok(wrong == 0, "%d places of operand A are others than CUTLASS's", wrong);
}

int main(void) {
    places_as_in_cutlass();
    decodes_every_weight();
    places_are_different();
    packs_a_block(BLOCK_ROWS, BK);
    packs_a_block(1, 1);
    packs_a_block(37, 77);
    packs_a_block(-64, 128);
    packs_a_block(1000, 1000);
    return tap_done();
}
