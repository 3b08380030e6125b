/* launch() multiplies. Judged: died at */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    for (int row = 0; row < p->m; row++) {
        for (int column = 0; column < p->n; column++) {
            float sum = 0;
            for (int k = 0; k < p->k; k++) {
                sum += bf16_to_float(p->a[(size_t)row * p->lda + k]) * bf16_to_float(p->b[(size_t)column * p->ldb + k]);
            }
            p->c[(size_t)row * p->ldc + column] = float_to_bf16(sum);
        }
    }
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
