/* Has the harness multiply. Judged: refused: it calls reference_on_host */
#include "../common/gemm.h"

void reference_on_host(const Gemm *problem, double *expected, float *magnitude);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    static double expected[1 << 20];
    static float magnitude[1 << 20];
    reference_on_host(p, expected, magnitude);
    for (int i = 0; i < p->m * p->n; i++) {
        p->c[i / p->n * p->ldc + i % p->n] = float_to_bf16((float)expected[i]);
    }
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
