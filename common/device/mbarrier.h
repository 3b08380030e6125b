/* mbarrier.h - barrier objects in shared memory that count arrivals and bytes. PTX 9.7.13.15.
 *
 * The state of a barrier: phase (counts up from 0), pending arrivals, expected arrivals, tx-count (bytes announced by
 * expect_tx minus bytes that have landed). When pending and tx-count are both 0, the phase completes: the phase goes up
 * by one and pending is reloaded. Software resets nothing.
 *
 * A wait takes the parity of a phase. A fresh barrier is in phase 0: wait(0) blocks until phase 0 is complete; wait(1)
 * returns at once, because the phase before 0 counts as complete. A thread that waits must not fall two phases behind,
 * since the parity of two phases later is the same. */
#ifndef MBARRIER_H
#define MBARRIER_H

#include "cuda_c.h"

#if defined(GEMM_DEBUG) && !defined(GEMM_MODEL)
/* A debug build for the GPU keeps the name that a wait prints if it hangs. */
typedef struct {
    uint64_t state;
    const char *name;
    uint64_t index;
} MBarrier;
#else
/* 8 bytes, 8-byte aligned. */
typedef struct {
    uint64_t state;
} MBarrier;
#endif

#ifdef PTX_FUNCTIONS

/* Initialises an array of barriers; each expects `arrivals` arrivals a phase. One thread. Other threads and copies may
 * use them after a __syncthreads() (in a cluster: cluster_sync()). PTX 9.7.13.15.9. */
DEVICE void mbarrier_init(MBarrier *bars, int how_many, int arrivals) {
    for (int i = 0; i < how_many; i++) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&bars[i])), "r"(arrivals)
                     : "memory");
    }
}

/* Releases the initialisation, and nothing else, to the cluster. Needed before a cluster_arrive_relaxed(), which
 * releases nothing itself; before other barriers it is only a convention. PTX 9.7.13.4. */
DEVICE void mbarrier_init_fence(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* One arrival. Releases, to the threads that wait, what this thread has written. Any thread. PTX 9.7.13.15.13. */
DEVICE void mbarrier_arrive(MBarrier *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* Announces bytes, without an arrival. PTX 9.7.13.15.11. */
DEVICE void mbarrier_expect_tx(MBarrier *bar, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

/* Announces bytes, then arrives once: the usual call of a thread that starts copies. The bytes are those of full boxes,
 * even where a box extends over the edge of the tensor. */
DEVICE void mbarrier_arrive_expect_tx(MBarrier *bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

/* `instruction` on the barrier at the offset of `bar` in CTA `rank` of the cluster. */
#define MBARRIER_REMOTE(instruction, ...)                                  \
    asm volatile("{ .reg .b32 remote;\n"                                   \
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"              \
                 "mbarrier." instruction "; }" ::"r"(shared_address(bar)), \
                 __VA_ARGS__                                               \
                 : "memory")

/* mbarrier_arrive() on the barrier at the same offset in CTA `rank` of the cluster. The default, .release.cta, is
 * enough to order earlier reads before later writes, as the release of an empty stage must; the .cluster form costs a
 * fence on every release. */
DEVICE void mbarrier_arrive_remote(MBarrier *bar, int rank) {
    MBARRIER_REMOTE("arrive.shared::cluster.b64 _, [remote]", "r"(rank));
}

/* mbarrier_arrive_remote() that also publishes this thread's ordinary stores to the CTA that waits, with
 * mbarrier_wait_parity_cluster(). */
DEVICE void mbarrier_arrive_release_cluster(MBarrier *bar, int rank) {
    MBARRIER_REMOTE("arrive.release.cluster.shared::cluster.b64 _, [remote]", "r"(rank));
}

/* mbarrier_arrive_expect_tx() on the barrier at the same offset in CTA `rank` of the cluster, for bytes that land
 * there. */
DEVICE void mbarrier_arrive_expect_tx_remote(MBarrier *bar, int rank, int bytes) {
    MBARRIER_REMOTE("arrive.expect_tx.release.cluster.shared::cluster.b64 _, [remote], %2", "r"(rank), "r"(bytes));
}

/* The test "mbarrier.`form`". */
#define MBARRIER_ASK(form)                                                 \
    uint32_t complete;                                                     \
    asm volatile("{\n"                                                     \
                 ".reg .pred p;\n"                                         \
                 "mbarrier." form ".parity.shared::cta.b64 p, [%1], %2;\n" \
                 "selp.u32 %0, 1, 0, p;\n"                                 \
                 "}\n"                                                     \
                 : "=r"(complete)                                          \
                 : "r"(shared_address(bar)), "r"(parity)                   \
                 : "memory");                                              \
    return (int)complete

/* Nonzero if the phase with this parity is complete. Never blocks. PTX 9.7.13.15.16. */
DEVICE int mbarrier_test_wait_parity(MBarrier *bar, uint32_t parity) { MBARRIER_ASK("test_wait"); }
/* mbarrier_test_wait_parity(), but may suspend the thread for a while first. After a 0, call it again. */
DEVICE int mbarrier_try_wait_parity(MBarrier *bar, uint32_t parity) { MBARRIER_ASK("try_wait"); }

/* Waits until the phase with this parity is complete. Acquires: the thread may then read what others wrote before their
 * arrivals, and the bytes of the copies that this phase counted. Any thread, for barriers of its own CTA. */
DEVICE void mbarrier_wait_parity(MBarrier *bar, uint32_t parity) {
    asm volatile("{ .reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again; }" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

/* Waits as mbarrier_wait_parity() does, and acquires from the whole cluster: for data that ordinary or asynchronous
 * stores of a peer CTA have written (cluster.h). */
DEVICE void mbarrier_wait_parity_cluster(MBarrier *bar, uint32_t parity) {
    asm volatile("{ .reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again; }" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

#ifdef GEMM_DEBUG

#ifndef GEMM_DEBUG_WAIT_MS
#define GEMM_DEBUG_WAIT_MS 2000 /* a debug build reports a wait that takes longer, and traps */
#endif

/* mbarrier_init(), and keeps the name. */
DEVICE void mbarrier_init_named(MBarrier *bars, int how_many, int arrivals, const char *name) {
    mbarrier_init(bars, how_many, arrivals);
    for (int i = 0; i < how_many; i++) {
        bars[i].name = name;
        bars[i].index = (uint64_t)i;
    }
}
#define mbarrier_init(bars, how_many, arrivals) mbarrier_init_named(bars, how_many, arrivals, #bars)

/* mbarrier_wait_parity() that gives up. */
DEVICE void mbarrier_wait_parity_bounded(MBarrier *bar, uint32_t parity, const char *where) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    while (!mbarrier_try_wait_parity(bar, parity)) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > (uint64_t)GEMM_DEBUG_WAIT_MS * 1000000) {
            printf("%s: CTA %d warp %d lane %d waited %d ms for barrier %s[%d], parity %u\n", where, (int)blockIdx.x,
                   (int)threadIdx.x / 32, (int)threadIdx.x % 32, GEMM_DEBUG_WAIT_MS, bar->name, (int)bar->index,
                   parity);
            __trap();
        }
    }
}
#define mbarrier_wait_parity(bar, parity) mbarrier_wait_parity_bounded(bar, parity, HERE)

#endif

#elif defined(GEMM_MODEL)

#define mbarrier_init(bars, how_many, arrivals) model_mbarrier_init(bars, how_many, arrivals, #bars, HERE)
#define mbarrier_init_fence() model_mbarrier_init_fence(HERE)
#define mbarrier_arrive(bar) model_mbarrier_do(MODEL_ARRIVE, bar, -1, 0, HERE)
#define mbarrier_arrive_remote(bar, rank) model_mbarrier_do(MODEL_ARRIVE_REMOTE, bar, rank, 0, HERE)
#define mbarrier_arrive_release_cluster(bar, rank) model_mbarrier_do(MODEL_ARRIVE_CLUSTER, bar, rank, 0, HERE)
#define mbarrier_expect_tx(bar, bytes) model_mbarrier_do(MODEL_EXPECT, bar, -1, bytes, HERE)
#define mbarrier_arrive_expect_tx(bar, bytes) model_mbarrier_do(MODEL_ARRIVE_EXPECT, bar, -1, bytes, HERE)
#define mbarrier_arrive_expect_tx_remote(bar, rank, bytes) \
    model_mbarrier_do(MODEL_ARRIVE_EXPECT_REMOTE, bar, rank, bytes, HERE)
#define mbarrier_test_wait_parity(bar, parity) model_mbarrier_ask(MODEL_TEST, bar, parity, HERE)
#define mbarrier_try_wait_parity(bar, parity) model_mbarrier_ask(MODEL_TRY, bar, parity, HERE)
#define mbarrier_wait_parity(bar, parity) ((void)model_mbarrier_ask(MODEL_WAIT, bar, parity, HERE))
#define mbarrier_wait_parity_cluster(bar, parity) ((void)model_mbarrier_ask(MODEL_WAIT_CLUSTER, bar, parity, HERE))

#endif
#endif
