/* A kernel whose accesses the model does not see. Judged: refused: it says __attribute__ */
#include "../common/gemm.h"

#define JOIN(a, b) a##b
#define UNSEEN JOIN(__attri, bute__)((no_sanitize("thread")))

UNSEEN static void work(const Gemm *p) { p->c[0] = 0; }

static GemmStatus launch(const Gemm *p, GemmError *error) {
    work(p);
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
