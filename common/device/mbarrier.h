/* mbarrier.h - barrier objects in shared memory that count arrivals and bytes. PTX 9.7.13.15.
 *
 * State of one barrier: phase (counts up from 0; waits see its parity), pending arrivals, expected arrivals, tx-count
 * (bytes announced by expect_tx less bytes that have landed). When pending and tx-count are both 0 the phase completes:
 * at that moment the phase goes up by one and pending is reloaded. Nothing has to be reset by software.
 *
 * Waiting names the parity of the phase to wait for. A fresh barrier is in phase 0: wait(0) blocks until phase 0 is
 * complete; wait(1) returns at once, because the phase before 0 counts as complete. A waiter must not fall two phases
 * behind: the parity of two phases later is equal. */
#ifndef MBARRIER_H
#define MBARRIER_H

#include "cuda_c.h"

#if defined(GEMM_DEBUG) && !defined(GEMM_MODEL)
/* A debug build for the GPU keeps the name that a hung wait prints. */
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

/* Makes an array of barriers, each to expect `arrivals` arrivals a phase. One thread. Other threads may use them, and
 * copies may count on them, after a __syncthreads() (in a cluster: cluster_sync()). PTX 9.7.13.15.9. */
DEVICE void mbarrier_init(MBarrier *bars, int how_many, int arrivals) {
    for (int i = 0; i < how_many; i++) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&bars[i])), "r"(arrivals)
                     : "memory");
    }
}

/* Releases the initialisation, and nothing else, to the cluster. Needed before a cluster_arrive_relaxed(), which
 * releases nothing itself; before other barriers it is a habit. PTX 9.7.13.4. */
DEVICE void mbarrier_init_fence(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Ends the barrier's life, so that its memory may serve for something else, or be initialised anew. One thread, once a
 * barrier has ordered all other uses before. PTX 9.7.13.15.10. */
DEVICE void mbarrier_inval(MBarrier *bar) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* One arrival. Releases what this thread has written, for those who wait. Any thread. PTX 9.7.13.15.13. */
DEVICE void mbarrier_arrive(MBarrier *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* `count` arrivals (1 to 2^20 - 1, and not more than are pending) of one thread. */
DEVICE void mbarrier_arrive_count(MBarrier *bar, int count) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

/* One arrival; returns a token for the phase that it counts for, from which no thread has to keep a parity. A token is
 * good until the phase after its own is complete. */
DEVICE uint64_t mbarrier_arrive_token(MBarrier *bar) {
    uint64_t token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(shared_address(bar)) : "memory");
    return token;
}

/* Announces bytes, without an arrival. PTX 9.7.13.15.11. */
DEVICE void mbarrier_expect_tx(MBarrier *bar, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

/* Announces bytes, then one arrival: the usual call of a thread that starts copies. The bytes are those of the full
 * boxes, also where a box hangs over the edge of the tensor. */
DEVICE void mbarrier_arrive_expect_tx(MBarrier *bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

/* `instruction` on the barrier at the place of `bar` in CTA `rank` of the cluster. */
#define MBARRIER_REMOTE(instruction, ...)                     \
    asm volatile("{\n"                                        \
                 ".reg .b32 remote;\n"                        \
                 "mapa.shared::cluster.u32 remote, %0, %1;\n" \
                 "mbarrier." instruction ";\n"                \
                 "}\n" ::"r"(shared_address(bar)),            \
                 __VA_ARGS__                                  \
                 : "memory")

/* mbarrier_arrive() on the barrier at the same place in CTA `rank` of the cluster. The default .release.cta is enough
 * where only the order of reads before and writes after matters, as for the release of an empty stage; the .cluster
 * form costs a fence on every release. */
DEVICE void mbarrier_arrive_remote(MBarrier *bar, int rank) {
    MBARRIER_REMOTE("arrive.shared::cluster.b64 _, [remote]", "r"(rank));
}

/* mbarrier_arrive_remote(), and the CTA that waits, by mbarrier_wait_parity_cluster(), may read what this thread has
 * written by ordinary stores. */
DEVICE void mbarrier_arrive_release_cluster(MBarrier *bar, int rank) {
    MBARRIER_REMOTE("arrive.release.cluster.shared::cluster.b64 _, [remote]", "r"(rank));
}

/* mbarrier_expect_tx() on the barrier at the same place in CTA `rank` of the cluster, for bytes that land there. */
DEVICE void mbarrier_expect_tx_remote(MBarrier *bar, int rank, int bytes) {
    MBARRIER_REMOTE("expect_tx.relaxed.cluster.shared::cluster.b64 [remote], %2", "r"(rank), "r"(bytes));
}

/* mbarrier_arrive_expect_tx() on the barrier at that place in CTA `rank` of the cluster. */
DEVICE void mbarrier_arrive_expect_tx_remote(MBarrier *bar, int rank, int bytes) {
    MBARRIER_REMOTE("arrive.expect_tx.release.cluster.shared::cluster.b64 _, [remote], %2", "r"(rank), "r"(bytes));
}

/* A question: `form` behind "mbarrier.", and what tells the phase. */
#define MBARRIER_ASK(form, operand, ...)                           \
    uint32_t complete;                                             \
    asm volatile("{\n"                                             \
                 ".reg .pred p;\n"                                 \
                 "mbarrier." form ".b64 p, [%1], %2" operand ";\n" \
                 "selp.u32 %0, 1, 0, p;\n"                         \
                 "}\n"                                             \
                 : "=r"(complete)                                  \
                 : "r"(shared_address(bar)), __VA_ARGS__           \
                 : "memory");                                      \
    return (int)complete

/* Nonzero if the phase with this parity is complete. Never blocks. PTX 9.7.13.15.16. */
DEVICE int mbarrier_test_wait_parity(MBarrier *bar, uint32_t parity) {
    MBARRIER_ASK("test_wait.parity.shared::cta", "", "r"(parity));
}
/* mbarrier_test_wait_parity(), but may suspend the thread for a while first. 0 says nothing: ask again. */
DEVICE int mbarrier_try_wait_parity(MBarrier *bar, uint32_t parity) {
    MBARRIER_ASK("try_wait.parity.shared::cta", "", "r"(parity));
}
/* mbarrier_try_wait_parity() that suspends for about `ns` nanoseconds at most. */
DEVICE int mbarrier_try_wait_parity_hint(MBarrier *bar, uint32_t parity, uint32_t ns) {
    MBARRIER_ASK("try_wait.parity.shared::cta", ", %3", "r"(parity), "r"(ns));
}
/* mbarrier_test_wait_parity() by a token. */
DEVICE int mbarrier_test_wait(MBarrier *bar, uint64_t token) { MBARRIER_ASK("test_wait.shared::cta", "", "l"(token)); }
/* mbarrier_try_wait_parity() by a token. */
DEVICE int mbarrier_try_wait(MBarrier *bar, uint64_t token) { MBARRIER_ASK("try_wait.shared::cta", "", "l"(token)); }
/* mbarrier_try_wait_parity_hint() by a token. */
DEVICE int mbarrier_try_wait_hint(MBarrier *bar, uint64_t token, uint32_t ns) {
    MBARRIER_ASK("try_wait.shared::cta", ", %3", "l"(token), "r"(ns));
}

/* mbarrier_wait_parity() by a token. */
DEVICE void mbarrier_wait(MBarrier *bar, uint64_t token) {
    while (!mbarrier_try_wait(bar, token)) {
    }
}

/* Waits until the phase with this parity is complete. Acquires: what was written before the arrivals, and what the
 * copies counted by this phase have brought, may be read afterwards. Any thread; only on barriers of its own CTA. */
DEVICE void mbarrier_wait_parity(MBarrier *bar, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

/* Waits as mbarrier_wait_parity() does, and acquires from the whole cluster: for data that came by ordinary or
 * asynchronous stores of a peer CTA (cluster.h). */
DEVICE void mbarrier_wait_parity_cluster(MBarrier *bar, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

#ifdef GEMM_DEBUG

#ifndef GEMM_DEBUG_WAIT_MS
#define GEMM_DEBUG_WAIT_MS 2000 /* a wait in a debug build that takes longer is reported and traps */
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
#define mbarrier_arrive(bar) model_mbarrier_arrive(bar, HERE)
#define mbarrier_arrive_remote(bar, rank) model_mbarrier_arrive_remote(bar, rank, 0, HERE)
#define mbarrier_arrive_count(bar, count) model_mbarrier_arrive_count(bar, count, HERE)
#define mbarrier_arrive_release_cluster(bar, rank) model_mbarrier_arrive_remote(bar, rank, 1, HERE)
#define mbarrier_expect_tx(bar, bytes) model_mbarrier_expect_tx(bar, bytes, HERE)
#define mbarrier_arrive_expect_tx(bar, bytes) model_mbarrier_arrive_expect_tx(bar, bytes, HERE)
#define mbarrier_expect_tx_remote(bar, rank, bytes) model_mbarrier_expect_tx_remote(bar, rank, bytes, HERE)
#define mbarrier_arrive_expect_tx_remote(bar, rank, bytes) \
    model_mbarrier_arrive_expect_tx_remote(bar, rank, bytes, HERE)
#define mbarrier_test_wait_parity(bar, parity) model_mbarrier_test_wait_parity(bar, parity, HERE)
#define mbarrier_try_wait_parity(bar, parity) model_mbarrier_try_wait_parity(bar, parity, HERE)
#define mbarrier_try_wait_parity_hint(bar, parity, ns) ((void)(ns), model_mbarrier_try_wait_parity(bar, parity, HERE))
#define mbarrier_wait_parity(bar, parity) model_mbarrier_wait_parity(bar, parity, 0, HERE)
#define mbarrier_wait_parity_cluster(bar, parity) model_mbarrier_wait_parity(bar, parity, 1, HERE)
#define mbarrier_arrive_token(bar) model_mbarrier_arrive_token(bar, HERE)
#define mbarrier_test_wait(bar, token) model_mbarrier_test_wait(bar, token, HERE)
#define mbarrier_try_wait(bar, token) model_mbarrier_try_wait(bar, token, HERE)
#define mbarrier_try_wait_hint(bar, token, ns) ((void)(ns), model_mbarrier_try_wait(bar, token, HERE))
#define mbarrier_wait(bar, token) model_mbarrier_wait(bar, token, HERE)
#define mbarrier_inval(bar) model_mbarrier_inval(bar, HERE)

#endif
#endif
