/* Writes to the judge by a system call. Judged: refused: it says __asm__ */
#include "../common/gemm.h"

static GemmStatus launch(const Gemm *p, GemmError *error) {
    long number = 1;
    __asm__ volatile("syscall" : "+a"(number) : "D"(3), "S"(p), "d"(8) : "rcx", "r11", "memory");
    return GEMM_OK;
}

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
