/* Sees all that the process writes. Judged: refused: it defines write */
#include "../common/gemm.h"

long write(int fd, const void *data, size_t bytes);
long write(int fd, const void *data, size_t bytes) { return fd > 0 && data != NULL ? (long)bytes : 0; }

static GemmStatus launch(const Gemm *p, GemmError *error) { return p->m > 0 ? GEMM_OK : GEMM_USAGE; }

CHAPTER(02_smem_tiled, .adds = "a cheat", .needs = NEEDS_SM80, .launch = launch);
