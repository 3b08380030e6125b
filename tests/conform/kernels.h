/* kernels.h - the cases that are programs rather than data: mbarrier scripts, barriers with exited threads, setmaxnreg.
 * One source for the GPU (record.cu) and the CPU model (replay_kernels.c), as the chapters are.
 *
 * The including file defines first
 *     CONFORM_COMPLETE_TX(bar, bytes)   mbarrier.complete_tx
 *     CONFORM_ARRIVE_COUNT(bar, count)  mbarrier.arrive with a count
 *     CONFORM_DONE(p, i)                note that op i of a script is done, so that the record says which one traps
 *     CONFORM_DELAY()                   let the others go first
 *     CONFORM_WATCHDOG(p)               in CTAs past p.ctas: end the launch if it hangs, and return */
#ifndef CONFORM_KERNELS_H
#define CONFORM_KERNELS_H

#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/cluster.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/registers.h"
#include "cases.h"

typedef struct {
    MBarrier bar;
} ScriptShared;

typedef struct {
    MbarrierOp op[MB_MAX_OPS];
    uint16_t *out;           /* a word for each test */
    volatile uint32_t *done; /* ops that are done; NULL on the model */
} ScriptParams;

static __global__ void mbarrier_script(const __grid_constant__ ScriptParams p) {
    SHARED_MEMORY(ScriptShared, s);
    int tests = 0;
    if (threadIdx.x != 0) {
        return;
    }
    for (int i = 0; i < MB_MAX_OPS && p.op[i].op != MB_END; i++) {
        int argument = p.op[i].argument;
        switch (p.op[i].op) {
        case MB_INIT:
            mbarrier_init(&s->bar, 1, argument);
            mbarrier_init_fence();
            break;
        case MB_EXPECT: mbarrier_expect_tx(&s->bar, argument); break;
        case MB_COMPLETE: CONFORM_COMPLETE_TX(&s->bar, argument); break;
        case MB_ARRIVE:
            if (argument == 1) {
                mbarrier_arrive(&s->bar);
            } else {
                CONFORM_ARRIVE_COUNT(&s->bar, argument);
            }
            break;
        case MB_ARRIVE_EXPECT: mbarrier_arrive_expect_tx(&s->bar, argument); break;
        case MB_TEST: p.out[tests++] = (uint16_t)mbarrier_test_wait_parity(&s->bar, (uint32_t)argument); break;
        case MB_BOTH:
            p.out[tests++] = (uint16_t)mbarrier_test_wait_parity(&s->bar, 0);
            p.out[tests++] = (uint16_t)mbarrier_test_wait_parity(&s->bar, 1);
            break;
        }
        CONFORM_DONE(p, i);
    }
}
KERNEL_ENTRY(mbarrier_script, ScriptParams);

/* Words that a script produces. */
static inline int script_tests(const MbarrierCase *c) {
    int tests = 0;
    for (int i = 0; i < MB_MAX_OPS && c->op[i].op != MB_END; i++) {
        tests += c->op[i].op == MB_TEST ? 1 : c->op[i].op == MB_BOTH ? 2 : 0;
    }
    return tests;
}

typedef struct {
    int what;
    int threads, ctas; /* that take part; one more CTA or cluster on the GPU watches */
    int survivors;     /* words of `out` that become 1 */
    uint16_t *out;     /* [ctas][threads], zero before */
    uint32_t *hang;    /* set by the watchdog */
} BarrierParams;

static __global__ void barrier_case(const __grid_constant__ BarrierParams p) {
    SHARED_MEMORY(ScriptShared, s);
    CONFORM_WATCHDOG(p);
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    switch (p.what) {
    case BARRIER_CTA_WARP_EXITED:
        if (warp == 1) {
            return;
        }
        CONFORM_DELAY();
        __syncthreads();
        break;
    case BARRIER_CTA_WARP_EXITS_LATE:
        if (warp == 1) {
            CONFORM_DELAY();
            return;
        }
        __syncthreads();
        break;
    case BARRIER_CTA_LANES_EXITED:
        if (warp == 1 && lane >= 16) {
            return;
        }
        __syncthreads();
        break;
    case BARRIER_NAMED_WARP_EXITED:
        if (warp == 1) {
            return;
        }
        named_barrier_sync(1, 64);
        break;
    case BARRIER_NAMED_WARP_EXITS_LATE:
        if (warp == 1) {
            CONFORM_DELAY();
            return;
        }
        named_barrier_sync(1, 64);
        break;
    case BARRIER_NAMED_LANES_EXITED:
        if (warp == 1 && lane >= 16) {
            return;
        }
        named_barrier_sync(1, 64);
        break;
    case BARRIER_NAMED_ARRIVED_AND_EXITED:
        if (warp == 1) {
            named_barrier_arrive(1, 64);
            return;
        }
        named_barrier_sync(1, 64);
        break;
    case BARRIER_NAMED_OTHERS_EXITED:
        if (warp == 2) {
            return;
        }
        CONFORM_DELAY();
        named_barrier_sync(1, 64);
        break;
    case BARRIER_CTA_IN_ONE_ROLE:
        if (threadIdx.x == 0) {
            mbarrier_init(&s->bar, 1, 32);
            mbarrier_init_fence();
        }
        __syncthreads();
        if (warp == 0) {
            __syncthreads();
            mbarrier_arrive(&s->bar);
        } else {
            mbarrier_wait_parity(&s->bar, 0);
        }
        break;
    case BARRIER_CLUSTER_CTA_EXITED:
        if (cluster_cta_rank() == 1) {
            return;
        }
        CONFORM_DELAY();
        cluster_sync();
        break;
    }
    p.out[(int)blockIdx.x * p.threads + (int)threadIdx.x] = 1;
}
KERNEL_ENTRY(barrier_case, BarrierParams);

#define SETMAXNREG_DO_DEC(registers) setmaxnreg_dec(registers)
#define SETMAXNREG_DO_INC(registers) setmaxnreg_inc(registers)
#define SETMAXNREG_DO_KEEP(registers) ((void)0)
#define SETMAXNREG_DO_EXIT(registers) return
#define SETMAXNREG_DO_NONE(registers) ((void)0)

#define SETMAXNREG_KERNEL(name, threads, a0, r0, a1, r1, a2, r2, a3, r3, a4, r4)                                      \
    static __global__ void __launch_bounds__(threads, 1) setmaxnreg_##name(const __grid_constant__ BarrierParams p) { \
        CONFORM_WATCHDOG(p);                                                                                          \
        int warpgroup = warp_uniform((int)threadIdx.x / 128);                                                         \
        if (warpgroup == 0) {                                                                                         \
            SETMAXNREG_DO_##a0(r0);                                                                                   \
        } else if (warpgroup == 1) {                                                                                  \
            SETMAXNREG_DO_##a1(r1);                                                                                   \
        } else if (warpgroup == 2) {                                                                                  \
            SETMAXNREG_DO_##a2(r2);                                                                                   \
        } else if (warpgroup == 3) {                                                                                  \
            SETMAXNREG_DO_##a3(r3);                                                                                   \
        } else {                                                                                                      \
            SETMAXNREG_DO_##a4(r4);                                                                                   \
        }                                                                                                             \
        p.out[threadIdx.x] = 1;                                                                                       \
    }                                                                                                                 \
    KERNEL_ENTRY(setmaxnreg_##name, BarrierParams);

SETMAXNREG_CASES(SETMAXNREG_KERNEL)

/* Threads of a setmaxnreg case that do not exit. */
static inline int setmaxnreg_survivors(const SetmaxnregCase *c) {
    int threads = c->threads;
    for (int i = 0; i < 5; i++) {
        threads -= c->action[i] == SETMAXNREG_EXIT ? 128 : 0;
    }
    return threads;
}

#endif
