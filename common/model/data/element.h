/* element.h - the types of element that the tensor cores multiply, by their bits. */
#ifndef ELEMENT_H
#define ELEMENT_H

#include <stdint.h>

#include "../../device/tcgen05_kinds.h"

/* A byte holds two E2M1, the first one in its low half. UE8M0, a power of two, is a scale. */
typedef enum { MATRIX_BF16, MATRIX_F16, MATRIX_E4M3, MATRIX_E5M2, MATRIX_E2M1, MATRIX_UE8M0, MATRIX_TYPES } MatrixType;

/* Every instruction takes 32 bytes of k: 16 elements of two bytes, 32 of one, 64 of e2m1. */
enum { MATRIX_K_BYTES = 32, MATRIX_MAX_K = 32 };

/* Bits of an element where elements are packed. */
static inline int matrix_bits(MatrixType type) {
    static const uint8_t bits[MATRIX_TYPES] = {16, 16, 8, 8, 4, 8};
    return bits[type];
}
static inline int matrix_element_bytes(MatrixType type) { return (matrix_bits(type) + 7) / 8; }
static inline int matrix_k(MatrixType type) { return MATRIX_K_BYTES * 8 / matrix_bits(type); }

/* Its value; exact, every one of these is an fp32. */
float matrix_element(MatrixType type, uint32_t bits);

/* The bits of a float, and a float by its bits. */
static inline float model_float(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } x = {bits};
    return x.f;
}
static inline uint32_t model_bits(float value) {
    union {
        float f;
        uint32_t u;
    } x = {value};
    return x.u;
}
/* The same of a bf16: rounded to nearest even; NaN becomes 0x7fff, as cvt.rn.bf16.f32 gives it. */
static inline float matrix_float(uint16_t bits) { return model_float((uint32_t)bits << 16); }
static inline uint16_t matrix_bf16(float value) {
    uint32_t u = model_bits(value);
    return (u & 0x7fffffff) > 0x7f800000 ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
