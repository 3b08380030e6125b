/* wgmma_types.h - wgmma of types that no chapter multiplies, for the cases that hold the model against the hardware.
 * All are K-major, and otherwise as wgmma_ss() and wgmma_rs() in common/device/wgmma.h. */
#ifndef WGMMA_TYPES_H
#define WGMMA_TYPES_H

#include "../../common/device/wgmma.h"

#ifdef PTX_FUNCTIONS

/* fp16, k16. */
DEVICE void wgmma_ss_f16(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k16.f32.f16.f16", ", 0, 0");
}
DEVICE void wgmma_rs_f16(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k16.f32.f16.f16", ", 0");
}
/* fp8 e5m2, k32; sums as wgmma_ss_e4m3() says. */
DEVICE void wgmma_ss_e5m2(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k32.f32.e5m2.e5m2", "");
}
DEVICE void wgmma_rs_e5m2(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k32.f32.e5m2.e5m2", "");
}
/* tf32, k8: fp32 whose lower 13 bits do not count. */
DEVICE void wgmma_ss_tf32(const int n, float *d, uint64_t a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_SS, "k8.f32.tf32.tf32", "");
}
DEVICE void wgmma_rs_tf32(const int n, float *d, const uint32_t *a, uint64_t b, int accumulate) {
    WGMMA_ANY(n, WGMMA_RS, "k8.f32.tf32.tf32", "");
}

#elif defined(GEMM_MODEL)

#define wgmma_ss_f16(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_F16, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_f16(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_F16, n, d, a, b, accumulate, 0, HERE)
#define wgmma_ss_e5m2(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_E5M2, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_e5m2(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_E5M2, n, d, a, b, accumulate, 0, HERE)
#define wgmma_ss_tf32(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_TF32, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_tf32(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_TF32, n, d, a, b, accumulate, 0, HERE)

#endif
#endif
