/* Ends the process before anybody looks. Judged: refused: it calls exit */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    exit(p->m == 0);
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
