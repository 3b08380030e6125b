/* Takes more memory than it may. Judged: died at */
#include "../common/gemm.h"

static volatile char space[(size_t)1 << 30];

static GemmStatus launch(const Gemm *p, GemmError *error) {
    for (size_t i = 0; i < sizeof space; i += 4096) {
        space[i] = (char)p->m;
    }
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
