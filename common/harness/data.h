/* data.h - the numbers in the matrices. Each element is a function of only seed, matrix and index, in integer
 * arithmetic, so that GPU and CPU make the same matrices without copying them. Host and kernel. */
#ifndef DATA_H
#define DATA_H

#include <math.h>

#include "../beyond.h"

typedef enum {
    DATA_INTEGERS, /* -4 .. 4: the result is exact, see MAX_EXACT_K */
    DATA_NORMAL,   /* mean 0, variance 1, rounded to bf16: what the timing uses */
    DATA_ZEROS,    /* least power: shows how much of a speed is the clock's */
    DATA_KINDS,
} DataKind;

enum {
    INTEGER_LIMIT = 4,
    /* A sum of K products of at most 4 * 4 stays below 2^24 in size, whatever the order, while K * 16 < 2^24: then
     * every partial sum is an integer that fp32 holds exactly, and only the last rounding to bf16 is left. */
    MAX_EXACT_K = (1 << 24) / (INTEGER_LIMIT * INTEGER_LIMIT) - 1,
};

/* Bit patterns the harness leaves where no result is yet, or where none may be. The first two are NaNs; the hardware's
 * conversions make NaNs of the first kind only, so a kernel's own NaN can be distinguished from an element never
 * written. */
enum {
    BF16_PADDING = 0x7fff,   /* after the rows of A and B */
    BF16_UNWRITTEN = 0x7fd5, /* in C before a checked launch */
    BF16_GUARD = 0xdead,     /* before C, after C and after each of its rows: no kernel may write there */
};

/* "integers", "normal", "zeros", NULL. In options.c. */
extern const char *const data_names[DATA_KINDS + 1];

/* Steele, Lea and Flood's splitmix64: the output for state x. Every input bit moves half of the output bits. */
HOST_DEVICE uint64_t mix64(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

HOST_DEVICE float bf16_value(bf16 bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

HOST_DEVICE int bf16_is_nan(bf16 bits) { return (bits & 0x7fff) > 0x7f80; }

/* Round to nearest even, in one step: by way of float it would round twice. */
HOST_DEVICE bf16 round_to_bf16(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << 15;
    double size = fabs(value);
    if (size != size) {
        return BF16_PADDING;
    }
    if (size < 0x1p-126) { /* subnormal: a multiple of 2^-133 */
        return (bf16)(sign | (uint64_t)rint(size * 0x1p133));
    }
    if (size >= 0x1.ffp127) { /* from half a step above the largest finite value on */
        return (bf16)(sign | 0x7f80);
    }
    bits &= ~(uint64_t)0 >> 1;
    bits += ((uint64_t)1 << 44) - 1 + (bits >> 45 & 1);                   /* 52 fraction bits to 7: 45 go */
    return (bf16)(sign | ((bits >> 45) - ((uint64_t)(1023 - 127) << 7))); /* from double's exponent bias to bf16's */
}

/* draw_of() returns number `index` of a stream of random numbers, draw_between() an integer from `least` to `most`, and
 * draw_normal() a number of mean 0 and variance 1, up to 6 in size. The last is a sum of twelve uniform numbers. In
 * 16-bit integers this sum is exact; the logarithm of Box and Muller could differ between two machines. */
#define GOLDEN 0x9e3779b97f4a7c15u
HOST_DEVICE uint64_t draw_of(uint64_t stream, uint64_t index) { return mix64(stream + (index + 1) * GOLDEN); }

HOST_DEVICE int draw_between(uint64_t stream, uint64_t index, int least, int most) {
    return least + (int)((draw_of(stream, index) >> 32) * (uint64_t)(most - least + 1) >> 32);
}

HOST_DEVICE double draw_normal(uint64_t stream, uint64_t index) {
    int sum = 0;
    for (uint64_t word = 0; word < 3; word++) {
        uint64_t draw = draw_of(stream, index * 3 + word);
        sum += (int)(draw & 0xffff) + (int)(draw >> 16 & 0xffff) + (int)(draw >> 32 & 0xffff) + (int)(draw >> 48);
    }
    return (sum - 12 * 65535 / 2) / 65536.0;
}

#endif
