/* Prints what a right run prints. Judged: wrong at */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    printf("right    %d elements\n0 outcome right\n", p->m * p->n);
    fprintf(stderr, "0 outcome right\n");
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
