/* Runs when everything is over. Judged: refused: it calls atexit */
#include "../common/gemm.h"

static void last(void) { puts("full marks"); }

static GemmStatus launch(const Gemm *p, GemmError *error) {
    atexit(last);
    return p->m > 0 ? GEMM_OK : GEMM_USAGE;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
