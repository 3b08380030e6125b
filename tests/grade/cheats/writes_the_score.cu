/* Writes a file. Judged: refused: it calls f */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    FILE *score = fopen("score", "w");
    fprintf(score, "%d\n", 100 + p->m - p->m);
    fclose(score);
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
