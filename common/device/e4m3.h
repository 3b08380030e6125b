/* e4m3.h - fp8 e4m3: a sign, four bits of exponent, three of fraction; no infinity. */
#ifndef E4M3_H
#define E4M3_H

#include <math.h>

#include "cuda_c.h"

enum { E4M3_NAN = 0x7f };

/* Exact; NaN for 0x7f and 0xff. */
HOST_DEVICE float e4m3_value(e4m3 bits) {
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    float size = exponent ? (float)((8 + fraction) << exponent) * 0x1p-10f : (float)fraction * 0x1p-9f;
    size = (bits & 0x7f) == 0x7f ? NAN : size;
    return bits & 0x80 ? -size : size;
}

/* Rounds to nearest even, in one step; larger values become 448, as in cvt.rn.satfinite. */
HOST_DEVICE e4m3 round_to_e4m3(double value) {
    double size = fabs(value);
    int sign = signbit(value) ? 0x80 : 0, exponent;
    if (size != size) {
        return (e4m3)(sign | E4M3_NAN);
    }
    if (size >= 448) {
        return (e4m3)(sign | 0x7e);
    }
    if (size < 0x1p-6) { /* subnormal: a multiple of 2^-9; eight of them are the smallest normal value */
        return (e4m3)(sign | (int)rint(size * 0x1p9));
    }
    double fraction = frexp(size, &exponent);                              /* 1/2 <= fraction < 1 */
    return (e4m3)(sign | ((exponent + 5) * 8 + (int)rint(fraction * 16))); /* 16 carries into the exponent */
}

#ifdef PTX_FUNCTIONS

/* Packs four, rounded as round_to_e4m3() does, the first in bits 0-7. sm_89. PTX 9.7.9.22 (cvt). */
DEVICE uint32_t pack_e4m3x4(float x0, float x1, float x2, float x3) {
    uint32_t y;
    asm("{\n"
        ".reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n"
        "}\n"
        : "=r"(y)
        : "f"(x0), "f"(x1), "f"(x2), "f"(x3));
    return y;
}

#elif defined(GEMM_MODEL)

static inline uint32_t pack_e4m3x4(float x0, float x1, float x2, float x3) {
    return (uint32_t)round_to_e4m3((double)x0) | (uint32_t)round_to_e4m3((double)x1) << 8 |
           (uint32_t)round_to_e4m3((double)x2) << 16 | (uint32_t)round_to_e4m3((double)x3) << 24;
}

#endif
#endif
