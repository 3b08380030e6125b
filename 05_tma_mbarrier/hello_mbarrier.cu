/* hello_mbarrier - two threads synchronise at one mbarrier, round after round.
 *
 * Run           make 05 && ./hello_mbarrier, here; with --on model --barriers each arrival and wait is printed */
#include "../common/harness/hello.h"

#include "../common/device/mbarrier.h"

enum { ROUNDS = 3, OTHER = 32 }; /* threads 0 and 32: one of each warp */

typedef struct {
    int value[ROUNDS][2]; /* what thread 0 and thread 32 write in each round */
    MBarrier barrier;     /* a phase completes when both have arrived */
} Shared;

typedef struct {
    int *seen; /* [ROUNDS][2]: what each has read of the other */
} Params;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int me = (int)threadIdx.x / OTHER;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->barrier, 1, 2); /* phase 0 begins; it expects 2 arrivals, and so does every later one */
        mbarrier_init_fence();
    }
    __syncthreads(); /* no thread may arrive at a barrier that is not initialised */
    if (threadIdx.x % OTHER == 0) {
        for (int round = 0; round < ROUNDS; round++) {
            s->value[round][me] = 10 * round + me;
            mbarrier_arrive(&s->barrier);                           /* releases the store above */
            mbarrier_wait_parity(&s->barrier, (uint32_t)round % 2); /* round and phase have the same number here */
            p.seen[2 * round + me] = s->value[round][1 - me];       /* without the wait: perhaps an old value */
        }
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM90_ANY) {
    Params p = {(int *)hello_memory(2 * ROUNDS * sizeof(int), "seen")};
    GemmStatus status = hello_wait(launch_grid(KERNEL(kernel), 1, 2 * OTHER, sizeof(Shared), &p, NULL, NULL));
    for (int round = 0; status == GEMM_OK && round < ROUNDS; round++) {
        printf("phase %d, parity %d: thread 0 has read %d, thread 32 has read %d\n", round, round % 2,
               p.seen[2 * round], p.seen[2 * round + 1]);
    }
    return status;
}
