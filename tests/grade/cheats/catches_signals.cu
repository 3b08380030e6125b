/* Wants to go on where it is stopped. Judged: refused: it calls signal */
#include "../common/gemm.h"

void (*signal(int number, void (*handler)(int)))(int);
static void ignore(int number) { (void)number; }

static GemmStatus launch(const Gemm *p, GemmError *error) {
    signal(11, ignore);
    return p->m > 0 ? GEMM_OK : GEMM_USAGE;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
