/* element.h - the types of element that the tensor cores multiply, by their bits. */
#ifndef ELEMENT_H
#define ELEMENT_H

#include <stdint.h>

/* tf32 is an fp32 of whose fraction the upper 10 bits count. */
typedef enum { MATRIX_BF16, MATRIX_F16, MATRIX_E4M3, MATRIX_E5M2, MATRIX_TF32 } MatrixType;

/* Every instruction takes 32 bytes of k: 16 elements of two bytes, 32 of one, 8 of tf32. */
enum { MATRIX_K_BYTES = 32, MATRIX_MAX_K = 32 };

static inline int matrix_element_bytes(MatrixType type) {
    return type == MATRIX_TF32 ? 4 : type == MATRIX_E4M3 || type == MATRIX_E5M2 ? 1 : 2;
}

static inline int matrix_k(MatrixType type) { return MATRIX_K_BYTES / matrix_element_bytes(type); }

/* Its value; exact, every one of these is an fp32. */
float matrix_element(MatrixType type, uint32_t bits);

#endif
