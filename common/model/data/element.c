/* element.c - see element.h. */
#include "element.h"

float matrix_element(MatrixType type, uint32_t bits) {
    if (type == MATRIX_BF16) {
        return model_float(bits << 16);
    }
    if (type == MATRIX_UE8M0) {
        return model_float(bits == 0xff ? 0x7fc00000 : bits != 0 ? bits << 23 : 0x400000);
    }
    /* Sign, exponent, fraction; a fraction without an exponent is subnormal. */
    static const uint8_t fractions[MATRIX_TYPES] = {0, 10, 3, 2, 1}, exponents[] = {0, 5, 4, 5, 2};
    const int fraction_bits = fractions[type], exponent_bits = exponents[type];
    uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    uint32_t exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1), largest = (1u << exponent_bits) - 1;
    uint32_t sign = bits >> (fraction_bits + exponent_bits) & 1;
    float x;
    if (type < MATRIX_E2M1 && exponent == largest && (type != MATRIX_E4M3 || fraction == 7)) {
        /* e4m3 has no infinities, and one NaN. */
        x = model_float(0x7f800000u | (type == MATRIX_E4M3 || fraction != 0 ? 0x400000u : 0));
    } else {
        int power = (exponent > 0 ? (int)exponent : 1) - ((1 << (exponent_bits - 1)) - 1) - fraction_bits;
        x = model_float((uint32_t)(power + 127) << 23); /* 2 to that power, no less than -24 */
        x *= (float)(fraction | (exponent > 0 ? 1u << fraction_bits : 0));
    }
    return model_float(model_bits(x) | sign << 31);
}
