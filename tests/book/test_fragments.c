/* The C fragments of the book, run: descriptors of Blackwell; conversion and packing of 4-bit weights for all values. */
#include <math.h>

#include "tap.h"

#include "blackwell_fragments.inc"
#include "w4a8_fragments.inc"

/* The value of an e4m3 number: 1 sign, 4 exponent (bias 7), 3 fraction. */
static double e4m3_value(uint32_t byte) {
    int exponent = byte >> 3 & 15, fraction = byte & 7;
    double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return byte & 0x80 ? -magnitude : magnitude;
}

/* The value of byte `byte` of a register that a conversion wrote. */
static double converted_value(WeightFormat format, uint32_t reg, int byte) {
    uint32_t bits = reg >> 8 * byte & 0xff;
    return format == WEIGHTS_INT8 ? (int8_t)bits / 16.0 : e4m3_value(bits);
}

static void convert(WeightFormat format, uint32_t word, uint32_t a[2]) {
    if (format == WEIGHTS_INT8) {
        int4_to_int8_times_16(word, a);
    } else {
        int4_to_e4m3(word, E4M3_0_TO_3, E4M3_4_TO_7, a);
    }
}

/* Every value in every place, with every value in all the others. */
static void test_conversion(WeightFormat format, const char *name, int least) {
    int wrong = 0, checked = 0;
    for (int place = 0; place < 8; place++) {
        for (int value = least; value <= 7; value++) {
            for (int other = least; other <= 7; other++) {
                uint32_t word = 0, a[2];
                for (int i = 0; i < 8; i++) {
                    word |= weight_bits(format, i == place ? value : other, i / 4, i % 4);
                }
                convert(format, word, a);
                for (int i = 0; i < 8; i++) {
                    wrong += converted_value(format, a[i / 4], i % 4) != (i == place ? value : other);
                    checked++;
                }
            }
        }
    }
    ok(checked == 64 * (8 - least) * (8 - least) && wrong == 0, "%s: %d conversions, %d wrong", name, checked, wrong);
}

/* Packed and converted, each thread has what wgmma reads in its registers: every weight of the tile exactly once. */
static void test_packing(WeightFormat format, const char *name, int least) {
    enum { LD = 80 };
    static int8_t w[64 * LD];
    static uint32_t packed[128][4];
    static int seen[64][64];
    uint32_t random = 1;
    int wrong = 0, missing = 0;
    memset(w, 99, sizeof w);
    memset(seen, 0, sizeof seen);
    for (int row = 0; row < 64; row++) {
        for (int k = 0; k < 64; k++) {
            random = random * 1664525 + 1013904223;
            w[row * LD + k] = (int8_t)(least + (int)(random >> 16) % (8 - least));
        }
    }
    pack_weights(format, w, LD, packed);
    for (int thread = 0; thread < 128; thread++) {
        for (int word = 0; word < 4; word++) {
            uint32_t a[2];
            convert(format, packed[thread][word], a);
            for (int i = 0; i < 8; i++) {
                int reg = word % 2 * 2 + i / 4;
                int row = fragment_row(thread, reg), k = word / 2 * 32 + fragment_k(thread, reg, i % 4);
                wrong += converted_value(format, a[i / 4], i % 4) != w[row * LD + k];
                seen[row][k]++;
            }
        }
    }
    for (int i = 0; i < 64 * 64; i++) {
        missing += seen[i / 64][i % 64] != 1;
    }
    ok(wrong == 0 && missing == 0, "%s: 4096 packed weights, %d wrong, %d not there once", name, wrong, missing);
}

/* The registers' places against CUTLASS's ALayout_64x32, ((4,8,4),(4,2,2)):((256,1,16),(64,8,1024)): an offset is
 * row + 64 k. */
static void test_fragment_layout(void) {
    int wrong = 0;
    for (int thread = 0; thread < 128; thread++) {
        for (int value = 0; value < 16; value++) {
            int offset = thread % 4 * 256 + thread / 4 % 8 * 1 + thread / 32 * 16 + value % 4 * 64 + value / 4 % 2 * 8 +
                         value / 8 * 1024;
            wrong += fragment_row(thread, value / 4) != offset % 64 ||
                     fragment_k(thread, value / 4, value % 4) != offset / 64;
        }
    }
    is_int(wrong, 0, "fragments of m64nNk32: as CUTLASS has them");
}

int main(void) {
    is_hex(tcgen05_descriptor_k_major_128b(0x12400), 0x4000404000011240, "tcgen05: descriptor of a tile at 0x12400");
    is_hex(tcgen05_bf16_instruction(128, 256), 0x08400490, "tcgen05: instruction descriptor of 128 x 256");
    is_hex(tcgen05_bf16_instruction(128, 128), 136316048, "tcgen05: of 128 x 128");

    int wrong = 0;
    for (int i = 0; i < 8; i++) {
        uint32_t byte = (i < 4 ? E4M3_0_TO_3 : E4M3_4_TO_7) >> 8 * (i % 4) & 0xff;
        wrong += e4m3_value(byte) != i;
    }
    is_int(wrong, 0, "e4m3: the table has 0 to 7");
    is_hex(pick_bytes(0x33221100, 0x77665544, 0x7130), 0x77113300, "bytes are picked by nibbles");
    test_fragment_layout();
    test_conversion(WEIGHTS_INT8, "int8", -8);
    test_conversion(WEIGHTS_E4M3, "e4m3", -7);
    test_packing(WEIGHTS_INT8, "int8", -8);
    test_packing(WEIGHTS_E4M3, "e4m3", -7);
    return tap_done();
}
