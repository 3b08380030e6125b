/* Runs past its limit. Judged: late at */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    for (volatile int m = p->m; m > 0;) {
    }
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
