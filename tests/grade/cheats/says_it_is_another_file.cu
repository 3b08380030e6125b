/* What follows would count as a header's. Judged: refused: its line "#line 1 "common/device/tma.h"" */
#include "../common/gemm.h"

#line 1 "common/device/tma.h"
__attribute__((constructor)) static void first(void) { puts("full marks"); }

static GemmStatus launch(const Gemm *p, GemmError *error) { return p->m > 0 ? GEMM_OK : GEMM_USAGE; }

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
