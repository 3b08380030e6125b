/* Has a function of the model's name that finds no bug. Judged: refused: it defines model_reports */
#include "../common/gemm.h"

int model_reports(void);
int model_reports(void) { return 0; }

static GemmStatus launch(const Gemm *p, GemmError *error) { return p->m > 0 ? GEMM_OK : GEMM_USAGE; }

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
