/* kernels_access.c - many readers of one place.
 *
 * Compiled with DWARF 4 (model.mk), which older compilers write: reports must find lines and members in that too. */
#include "../../common/gemm.h"

#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "access"

enum { THREADS = 128, BOX = 4 * 3 * 8 };

typedef struct {
    bf16 box[2 * BOX];
    struct {
        uint4 word;
        bf16 pair[2][4];
    } lap[2];
    MBarrier full;
} Shared;

typedef struct {
    uint32_t *sum; /* [THREADS] */
    int bug;
} Params;

RIGHT_CASE(RIGHT_READERS);      /* all threads read 16 bytes, then one writes a part of them behind a barrier */
RIGHT_CASE(RIGHT_READERS_LAPS); /* ... again and again */
WRONG_CASE(READERS_NO_SYNC, RACE_WAR);
WRONG_CASE(READERS_PART_NO_SYNC, RACE_WAR); /* all read 2 bytes */
WRONG_CASE(READ_OF_PARTS, RACE_RAW);        /* a 16-byte read meets writes of its parts */

static __global__ void access_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int thread = (int)threadIdx.x, laps = p.bug == RIGHT_READERS_LAPS ? 4 : 1;
    uint32_t sum = 0;
    if (thread == 0) {
        s->lap[1].word = (uint4){1, 2, 3, 4};
        s->lap[1].pair[1][2] = 10;
    }
    if (p.bug != READ_OF_PARTS) {
        __syncthreads();
    }
    for (int lap = 0; lap < laps; lap++) {
        uint4 word = {1, 2, 3, 4};
        if (p.bug == READERS_PART_NO_SYNC) {
            word.w = s->lap[1].pair[1][2] - 6u;
        } else {
            word = s->lap[1].word;
        }
        sum += word.x + word.y + word.z + word.w;
        if (p.bug != READERS_NO_SYNC && p.bug != READERS_PART_NO_SYNC) {
            __syncthreads();
        }
        if (thread == 100) {
            s->lap[1].word.w = 4;
            s->lap[1].pair[1][2] = 10;
        }
        __syncthreads();
    }
    p.sum[thread] = sum;
}
KERNEL_ENTRY(access_kernel, Params);

static int run(const Case *c) {
    Params p = {case_memory(THREADS * sizeof *p.sum, "sum"), c->bug};
    LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(access_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < THREADS && status == 0; i++) {
        status = p.sum[i] != (p.bug == RIGHT_READERS_LAPS ? 40 : 10);
    }
    return status;
}
