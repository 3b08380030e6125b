/* The C fragments of the book, run: conversions of 4-bit weights, for all values. */
#include <math.h>
#include <stdlib.h>

#include "tap.h"

#include "w4a8_fragments.inc"

/* The value of an e4m3 number: 1 sign, 4 exponent (bias 7), 3 fraction. */
static double e4m3_value(uint32_t byte) {
    int exponent = byte >> 3 & 15, fraction = byte & 7;
    double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return byte & 0x80 ? -magnitude : magnitude;
}

typedef enum { WEIGHTS_INT8, WEIGHTS_E4M3 } WeightFormat;

/* The bits of a weight in the word whose conversion yields it in byte `byte` of a[half]. */
static uint32_t weight_bits(WeightFormat format, int value, int half, int byte) {
    if (format == WEIGHTS_INT8) {
        return (uint32_t)(value & 15) << (8 * byte + 4 * half);
    }
    uint32_t magnitude = (uint32_t)abs(value), sign = value < 0;
    return magnitude << (16 * half + 4 * byte) | sign << (8 * byte + (half == 0 ? 7 : 3));
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

int main(void) {
    int wrong = 0;
    for (int i = 0; i < 8; i++) {
        uint32_t byte = (i < 4 ? E4M3_0_TO_3 : E4M3_4_TO_7) >> 8 * (i % 4) & 0xff;
        wrong += e4m3_value(byte) != i;
    }
    is_int(wrong, 0, "e4m3: the table has 0 to 7");
    is_hex(pick_bytes(0x33221100, 0x77665544, 0x7130), 0x77113300, "bytes are picked by nibbles");
    test_conversion(WEIGHTS_INT8, "int8", -8);
    test_conversion(WEIGHTS_E4M3, "e4m3", -7);
    return tap_done();
}
