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
                    word |= encode(i == place ? weight : other, i / 4, i % 4);
                }
                for (int i = 0; i < 8; i++, checked++) {
                    e4m3 code = (e4m3)(decode(word, i / 4) >> i % 4 * 8);
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
    uint32_t word;
    memcpy(&word, out + packed_word(thread, k / 32, reg / 2 * 2), sizeof word);
    return e4m3_value((e4m3)(decode(word, reg) >> k % 4 * 8)) * DECODED_SCALE;
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
    ok(pack_block(w, LD, scale, LD_SCALE, rows, k, out) == NULL, "%d rows and %d k are packed", rows, k);
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

/* A thread's 16 bytes of a step lie together. */
static void threads_have_16_bytes(void) {
    int wrong = 0;
    for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < STEPS * 4; i++) {
            int at = packed_word(thread, i / 4, i % 4 / 2 * 2);
            wrong += at < 0 || at + 4 > WEIGHT_BYTES || at % 4 != 0 || at / 16 % 128 != thread;
        }
    }
    ok(wrong == 0, "%d words lie in another thread's part", wrong);
}

/* A thread reads the scales of its two rows as one word. */
static void scales_are_neighbours(void) {
    int wrong = 0;
    for (int thread = 0; thread < 128; thread++) {
        int first = packed_scale(fragment_row(thread, 0)), second = packed_scale(fragment_row(thread, 1));
        wrong += first < 0 || first % 2 != 0 || second != first + 1 || second >= BLOCK_ROWS;
    }
    ok(wrong == 0, "%d threads do not have their two scales side by side", wrong);
}

/* A weight that has no code is found, if it is one of the block's. */
static void refuses_what_has_no_code(void) {
    enum { ROWS = 10, K = 100 };
    static int8_t w[BLOCK_ROWS * BK];
    static bf16 scale[BLOCK_ROWS];
    static uint8_t out[BLOCK_BYTES];
    for (int i = 0; i < 2; i++) {
        w[9 * BK + 99] = i ? 8 : -8;
        ok(pack_block(w, BK, scale, 1, ROWS, K, out) == &w[9 * BK + 99], "%d is found in the last place", i ? 8 : -8);
    }
    w[9 * BK + 99] = 0;
    w[9 * BK + 100] = w[10 * BK] = -8;
    ok(pack_block(w, BK, scale, 1, ROWS, K, out) == NULL, "what lies behind the edges is not looked at");
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
    threads_have_16_bytes();
    scales_are_neighbours();
    refuses_what_has_no_code();
    packs_a_block(BLOCK_ROWS, BK);
    packs_a_block(1, 1);
    packs_a_block(37, 77);
    packs_a_block(-64, 128);
    packs_a_block(1000, 1000);
    return tap_done();
}
