/* inexact.h - operands of wgmmas whose sums must be rounded, by a formula: the cases `rounding`.
 *
 * Of each type some products of 64 x 8, added to accumulators. Exponents of a case's elements spread over more and more
 * numbers; its accumulators are fp32 of all sizes, then such as have few bits, then zeros. */
#ifndef INEXACT_H
#define INEXACT_H

#include <stdint.h>
#include <string.h>

enum {
    INEXACT_CASES = 64,
    INEXACT_COLUMNS = 8,
    INEXACT_ROWS = 2 /* of a result are recorded */
};

/* Bits of the fraction, bias and largest exponent; the sign's bit, of a tf32 without the
 * 13 lower ones. */
static const struct {
    int bytes, fraction, bias, largest, sign;
} inexact_types[] = {
    {1, 3, 7, 15, 7}, {2, 7, 127, 254, 15}, {2, 10, 15, 30, 15}, {4, 10, 127, 254, 18}, {1, 2, 15, 30, 7}};

typedef struct {
    uint8_t a[64 * 32], b[INEXACT_COLUMNS * 32]; /* rows of 32 bytes */
    float c[64 * INEXACT_COLUMNS];
} InexactCase;

static inline uint32_t inexact_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 31) >> 16);
}

/* A finite number of the type whose exponent is one of spread + 1 in the middle. */
static inline uint32_t inexact_element(uint64_t *state, int type, int spread) {
    int fraction = inexact_types[type].fraction, largest = inexact_types[type].largest;
    int exponent = inexact_types[type].bias - spread / 2;
    exponent += (int)(inexact_random(state) % (uint32_t)(spread + 1));
    exponent = exponent < 0 ? 0 : exponent > largest ? largest : exponent;
    uint32_t bits = inexact_random(state) & ((1u << fraction) - 1);
    uint32_t sign = (inexact_random(state) & 1) << inexact_types[type].sign;
    bits = type == 0 && exponent == 15 && bits == 7 ? 6 : bits; /* e4m3's NaN */
    bits |= (uint32_t)exponent << fraction;
    bits = inexact_random(state) % 16 == 0 ? 0 : bits;
    return (bits | sign) << (type == 3 ? 13 : 0);
}

static inline float inexact_accumulator(uint64_t *state, int group) {
    int exponent = 127 - 8 + (int)(inexact_random(state) % 17) + group % 4 * 4;
    uint32_t bits = (inexact_random(state) & 1) << 31 | (uint32_t)exponent << 23;
    bits |= inexact_random(state) & 0x7fffff;
    bits = group >= 6 ? 0 : group >= 4 ? bits & 0xfffffc00u : bits;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The next case: of all types one after the other. *state: 1 before the first. */
static inline void inexact_next(uint64_t *state, int type, int number, InexactCase *to) {
    static const int spreads[8] = {0, 1, 2, 4, 6, 8, 14, 30};
    int bytes = inexact_types[type].bytes;
    for (int i = 0; i < 64 * 32 / bytes; i++) {
        uint32_t x = inexact_element(state, type, spreads[number % 8]);
        memcpy(to->a + i * bytes, &x, (size_t)bytes);
    }
    for (int i = 0; i < INEXACT_COLUMNS * 32 / bytes; i++) {
        uint32_t x = inexact_element(state, type, spreads[number % 8]);
        memcpy(to->b + i * bytes, &x, (size_t)bytes);
    }
    for (int i = 0; i < 64 * INEXACT_COLUMNS; i++) {
        to->c[i] = inexact_accumulator(state, number / 8);
    }
}

#endif
