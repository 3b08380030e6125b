/* kernels_control.c - cluster launch control: clusters of one or two CTAs leave their number where a tile would be, and
 * take over those that have not started. A thread of CTA 0 asks; a warp of each CTA, and that thread, read the
 * answers. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/launch_control.h"
#include "../../common/device/tma.h"

#include "cases.h"

#define CASE_LIST "control"

enum { CLUSTERS = 12, SLOTS = 2, ASKER = 1, THREADS = 64 };

RIGHT_CASE(RIGHT);
RIGHT_CASE(RIGHT_ALONE);                /* clusters of one */
WRONG_CASE(ANNOUNCED_IN_ONE, DEADLOCK); /* facebookexperimental/triton#908 */
WRONG_CASE(READ_WITHOUT_WAIT, RACE_RAW);
FIRST_CASE(SLOT_FREED_BY_ONE, RACE_WAR); /* triton#10922 */
WRONG_CASE(NO_PROXY_FENCE, PROXY_FENCE);
WRONG_CASE(ASKED_AFTER_NO, LAUNCH_CONTROL);
WRONG_CASE(NO_ANSWER, LAUNCH_CONTROL);
WRONG_CASE(MISALIGNED, ALIGNMENT);

typedef struct {
    struct {
        uint32_t word[4];
    } answer[SLOTS], other;
    MBarrier full[SLOTS], empty[SLOTS]; /* empty: CTA 0's alone */
} Shared;

typedef struct {
    int *taken; /* [CTAs of the grid] */
    int ctas, bug;
} Params;

/* Whoever reads answers: 0 if there is nothing left. */
DEVICE int next(const Params *p, Shared *s, int round, int *first_cta) {
    const int bug = p->bug, slot = round % SLOTS;
    if (bug != READ_WITHOUT_WAIT) {
        mbarrier_wait_parity(&s->full[slot], (uint32_t)(round / SLOTS) & 1);
    }
    int given = launch_query_cancel(bug == NO_ANSWER ? &s->other : &s->answer[slot], first_cta);
    if (bug != NO_PROXY_FENCE) {
        fence_proxy_async();
    }
    if (bug != SLOT_FREED_BY_ONE || cluster_cta_rank() == 0) {
        mbarrier_arrive_remote(&s->empty[slot], 0);
    }
    return given;
}

static __global__ void __launch_bounds__(THREADS, 1) control_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug, rank = cluster_cta_rank(), warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0) {
        mbarrier_init(s->full, SLOTS, 1);
        mbarrier_init(s->empty, SLOTS, 1 + 32 * (bug == SLOT_FREED_BY_ONE ? 1 : p.ctas));
        mbarrier_init_fence();
        s->other.word[0] = 0;
        for (int i = 1; i < 4; i++) {
            s->other.word[i] = 0;
        }
    }
    cluster_sync();
    int cta = (int)blockIdx.x - rank;
    if (warp == ASKER && rank == 0 && threadIdx.x % 32 == 0) {
        int given = 1;
        for (int round = 0; given; round++) {
            const int slot = round % SLOTS;
            mbarrier_wait_parity(&s->empty[slot], ((uint32_t)(round / SLOTS) & 1) ^ 1);
            for (int to = 0; to < (bug == ANNOUNCED_IN_ONE ? 1 : p.ctas); to++) {
                mbarrier_arrive_expect_tx_remote(&s->full[slot], to, 16);
            }
            void *answer = (uint8_t *)&s->answer[slot] + (bug == MISALIGNED ? 8 : 0);
            if (p.ctas == 1) {
                launch_try_cancel(answer, &s->full[slot]);
            } else {
                launch_try_cancel_multicast(answer, &s->full[slot]);
            }
            given = next(&p, s, round, &cta) || (bug == ASKED_AFTER_NO && round < 2 * CLUSTERS);
        }
    } else if (warp != ASKER) {
        int round = 0;
        do {
            if (threadIdx.x == 0) {
                p.taken[cta + rank] += 1 + cta;
            }
        } while (next(&p, s, round++, &cta));
    }
    __syncwarp();
    cluster_sync();
}
KERNEL_ENTRY(control_kernel, Params);

static int run(const Case *c) {
    const int ctas = c->bug == RIGHT_ALONE ? 1 : 2, grid = ctas * CLUSTERS;
    Params p = {case_memory((size_t)grid * sizeof *p.taken, "taken"), ctas, c->bug};
    LaunchShape shape = {.grid = grid, .block = THREADS, .cluster = ctas, .shared_bytes = sizeof(Shared)};
    GemmStatus status = launch_kernel(KERNEL(control_kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK) {
        return (int)status;
    }
    for (int i = 0; i < grid; i++) {
        if (p.taken[i] != 1 + i / ctas * ctas) {
            return 1;
        }
    }
    return 0;
}
