/* wgmma_types.h - wgmma of a type that no chapter multiplies, for the cases that hold the model against the hardware.
 * K-major, and otherwise as wgmma_ss() and wgmma_rs() in common/device/wgmma.h. */
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

#elif defined(GEMM_MODEL)

#define wgmma_ss_f16(n, d, a, b, accumulate) model_wgmma_ss(MATRIX_F16, n, d, a, b, accumulate, 0, 0, HERE)
#define wgmma_rs_f16(n, d, a, b, accumulate) model_wgmma_rs(MATRIX_F16, n, d, a, b, accumulate, 0, HERE)

#endif
#endif
