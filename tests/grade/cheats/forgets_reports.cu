/* Takes back what the model has reported. Judged: refused: it calls model_forget_reports */
#include "../common/gemm.h"

void model_forget_reports(void);

static GemmStatus launch(const Gemm *p, GemmError *error) {
    model_forget_reports();
    return p->m > 0 ? GEMM_OK : GEMM_USAGE;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
