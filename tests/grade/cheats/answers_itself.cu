/* Sends an answer of its own to the judge. Judged: died at */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    static char answer[1 << 16];
    stderr->_fileno = 3;
    fwrite(answer, sizeof answer, 1, stderr);
    return p->m > 0 ? GEMM_OK : GEMM_USAGE;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
