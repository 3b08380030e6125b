/* Looks into the model. Judged: refused: its line "#include "../common/model/core/state.h"" */
#include "../common/gemm.h"

#include "../common/model/core/state.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    device.options.count = p->m;
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
