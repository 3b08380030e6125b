/* kernels_peer.c - two CTAs of a cluster that load from each other's shared memory and store into it. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/bulk_copy.h"
#include "../../common/device/tcgen05.h"
#include "../../common/device/tma.h"

#include "cases.h"

#define CASE_LIST "peer"

enum { CTAS = 2, THREADS = 64, ROUNDS = 4, BYTES = THREADS * 16, ROW = BYTES / CTAS / 2 };

typedef struct {
    uint4 v[THREADS];
    uint32_t u32[THREADS];
    MBarrier full, empty;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p, int rank, int thread);
struct Params {
    TensorMap map; /* box [1][ROW] of [CTAS][ROW] */
    int *out;      /* [CTAS][THREADS] */
    int bug;
    Part *part;
};

/* What CTA `rank` keeps for thread `thread`, in parts. */
DEVICE int number(int rank, int thread) { return 1000 * (rank + 1) + 4 * thread; }

/* Both CTAs have come so far: orders the run, and nothing else. */
DEVICE void lap(void) {
    cluster_arrive_relaxed();
    cluster_wait();
}

WRONG_IN(load_all, LOAD_BEFORE_START, CLUSTER_START);
WRONG_IN(load_all, LOAD_NO_END_SYNC, CLUSTER_EXIT);
WRONG_IN(load_all, LOAD_RANK, CLUSTER_RANK);
WRONG_IN(load_all, LOAD_OUTSIDE, SHARED_BOUNDS);
WRONG_IN(load_all, LOAD_MISALIGNED, ALIGNMENT);

DEVICE void load_all(Shared *s, const Params *p, int rank, int thread) {
    const int bug = p->bug;
    int peer = bug == LOAD_RANK ? CTAS : 1 - rank, n = number(rank, thread), other = THREADS - 1 - thread;
    s->u32[thread] = (uint32_t)n;
    if (bug == LOAD_BEFORE_START) {
        __syncthreads();
    } else {
        cluster_sync();
    }
    const uint32_t *u32 = &s->u32[bug == LOAD_OUTSIDE ? other + 4096 : other];
    p->out[rank * THREADS + thread] =
        (int)cluster_load_u32(bug == LOAD_MISALIGNED ? (const char *)u32 + 2 : (const char *)u32, peer);
    LEAVES_OUT(LOAD_NO_END_SYNC, cluster_sync());
}

RIGHT_IN(store_all, RIGHT_RELAXED);        /* nothing to publish yet, only that both have started */
WRONG_IN(store_all, STORE_BOTH, RACE_WAW); /* both CTAs write the same place */

DEVICE void store_all(Shared *s, const Params *p, int rank, int thread) {
    const int bug = p->bug;
    int n = number(rank, thread), to = THREADS - 1 - thread;
    bug == RIGHT_RELAXED ? lap() : cluster_sync();
    cluster_store_u32(&s->u32[to], 1 - rank, (uint32_t)(5 * n));
    ADDS(STORE_BOTH, cluster_store_u32(&s->u32[to], rank, (uint32_t)n));
    cluster_sync();
    p->out[rank * THREADS + thread] = (int)s->u32[thread];
}

RIGHT_IN(hand_on, RIGHT_MBARRIER); /* ordinary stores, announced by an arrival at the peer's barrier */
RIGHT_IN(hand_on, RIGHT_ASYNC);    /* stores that the peer's barrier counts */
RIGHT_IN(hand_on, RIGHT_NO_FENCE); /* cluster_sync() releases what came before, the barriers too */
WRONG_IN(hand_on, MBARRIER_NO_WAIT, RACE_RAW);
WRONG_IN(hand_on, MBARRIER_GLOBAL_CTA, GLOBAL_CONFLICT); /* the same of global memory */
WRONG_IN(hand_on, MBARRIER_NO_EMPTY, RACE_WAR);          /* the next round does not wait until the peer has read */
WRONG_IN(hand_on, ASYNC_NO_WAIT, RACE_RAW);
WRONG_IN(hand_on, ASYNC_NO_EXPECT, TX_COUNT);
WRONG_IN(hand_on, ASYNC_TOO_FEW, DEADLOCK);
WRONG_IN(hand_on, ASYNC_NO_EMPTY, RACE_WAR);
WRONG_IN(hand_on, ASYNC_RANK, CLUSTER_RANK);
WRONG_IN(hand_on, ASYNC_MISALIGNED, ALIGNMENT);
WRONG_IN(hand_on, RELEASE_RANK, CLUSTER_RANK);

DEVICE int by_store(int bug) { return bug == RIGHT_MBARRIER || (bug >= MBARRIER_NO_WAIT && bug <= MBARRIER_NO_EMPTY); }

/* CTA 0 sends, CTA 1 receives. */
DEVICE void send(Shared *s, const Params *p, int thread) {
    const int bug = p->bug;
    int to = THREADS - 1 - thread;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t n = (uint32_t)number(round, thread);
        if (bug == MBARRIER_NO_EMPTY || bug == ASYNC_NO_EMPTY) {
            lap();
        } else {
            mbarrier_wait_parity_cluster(&s->empty, (uint32_t)(round & 1) ^ 1);
        }
        uint4 v = make_uint4(n, n, n, n);
        if (by_store(bug)) {
            ADDS(MBARRIER_GLOBAL_CTA, p->out[THREADS + thread] = 0);
            cluster_store_v4(&s->v[to], 1, v);
            if (bug == MBARRIER_GLOBAL_CTA) {
                mbarrier_arrive_remote(&s->full, 1);
            } else {
                mbarrier_arrive_release_cluster(&s->full, 1);
            }
            if (bug == MBARRIER_NO_WAIT) {
                lap();
                return;
            }
            continue;
        }
        char *at = (char *)&s->v[to] + (bug == ASYNC_MISALIGNED ? 4 : 0);
        if (round % 2 == 0) {
            st_async_v4(at, bug == ASYNC_RANK ? 2 : 1, v, &s->full);
        }
        for (int i = 0; i < 4 && round % 2 != 0; i++) {
            st_async_u32(at + 4 * i, 1, n, &s->full);
        }
        ADDS(ASYNC_NO_WAIT, lap());
        if (bug == ASYNC_NO_WAIT) {
            return;
        }
    }
}

DEVICE void receive(Shared *s, const Params *p, int thread) {
    const int bug = p->bug;
    int announces = bug >= ASYNC_NO_WAIT || bug == RIGHT_ASYNC || bug == RIGHT_NO_FENCE, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (thread == 0 && announces) {
            bug == ASYNC_NO_EXPECT ? mbarrier_arrive(&s->full)
                                   : mbarrier_arrive_expect_tx(&s->full, bug == ASYNC_TOO_FEW ? BYTES + 16 : BYTES);
        }
        if (bug == MBARRIER_NO_EMPTY || bug == ASYNC_NO_EMPTY) {
            lap();
        }
        if (bug == MBARRIER_NO_WAIT || bug == ASYNC_NO_WAIT) {
            lap();
        } else {
            mbarrier_wait_parity_cluster(&s->full, (uint32_t)round & 1);
        }
        sum += bug == MBARRIER_GLOBAL_CTA ? p->out[THREADS + thread] : 0;
        sum += (int)s->v[thread].x + (int)(s->v[thread].w - s->v[thread].z);
        if (bug == MBARRIER_NO_WAIT || bug == ASYNC_NO_WAIT) {
            break;
        }
        mbarrier_arrive_remote(&s->empty, bug == RELEASE_RANK ? CTAS : 0);
    }
    p->out[thread] = sum;
}

DEVICE void hand_on(Shared *s, const Params *p, int rank, int thread) {
    const int bug = p->bug;
    if (thread == 0) {
        mbarrier_init(&s->full, 1, by_store(bug) ? THREADS : 1);
        mbarrier_init(&s->empty, 1, THREADS);
        LEAVES_OUT(RIGHT_NO_FENCE, mbarrier_init_fence());
    }
    cluster_sync();
    if (rank == 0) {
        send(s, p, thread);
    } else {
        receive(s, p, thread);
    }
    cluster_sync();
}

RIGHT_IN(leave, RIGHT_LEAVE);               /* some threads arrive and return; the rest waits for those that have not */
WRONG_IN(leave, LEAVE_EARLY, CLUSTER_EXIT); /* they return, and so does their CTA before the peer reads there */

DEVICE void leave(Shared *s, const Params *p, int rank, int thread) {
    int other = THREADS - 1 - thread, early = p->bug == LEAVE_EARLY && rank == 1;
    s->u32[thread] = (uint32_t)(5 * number(rank, thread));
    cluster_sync();
    if (thread < 32 || early) {
        p->out[rank * THREADS + thread] = 5 * number(1 - rank, other);
        cluster_arrive_relaxed();
        return;
    }
    for (int i = 0; i < 3; i++) {
        lap();
        p->out[rank * THREADS + thread] = (int)cluster_load_u32(&s->u32[other], 1 - rank);
        cluster_sync();
    }
}

RIGHT_IN(together, RIGHT_TOGETHER); /* a lane of each warp waits, and the warp for it, before the cluster barrier */
FIRST_IN(together, LANE_WAITS_ALONE, CONVERGENCE); /* ... which takes whole warps */
WRONG_IN(together, ARRIVES_IN_TWO_PLACES, CONVERGENCE);
WRONG_IN(together, ARRIVES_TWICE, NAMED_BARRIER);
WRONG_IN(together, WAITS_WITHOUT_ARRIVAL, NAMED_BARRIER);

DEVICE void together(Shared *s, const Params *p, int rank, int thread) {
    const int bug = p->bug;
    if (thread == 0) {
        mbarrier_init(&s->full, 1, 1);
    }
    __syncthreads();
    if (thread == 40) {
        mbarrier_arrive(&s->full);
    }
    if (thread % 32 == 0) {
        mbarrier_wait_parity(&s->full, 0);
    }
    LEAVES_OUT(LANE_WAITS_ALONE, __syncwarp());
    if (bug == ARRIVES_IN_TWO_PLACES && thread % 32 < 16) {
        cluster_arrive_relaxed();
    } else if (bug != WAITS_WITHOUT_ARRIVAL) {
        cluster_arrive_relaxed();
    }
    ADDS(ARRIVES_TWICE, cluster_arrive_relaxed());
    cluster_wait();
    p->out[rank * THREADS + thread] = 5 * number(1 - rank, THREADS - 1 - thread);
}

RIGHT_IN(forward, RIGHT_ISSUER_FENCES); /* what a CTA has stored in its peer, the peer's copy engine stores */
RIGHT_IN(forward, RIGHT_PEER_FENCES);   /* ... all threads there, after the barrier of the cluster */
RIGHT_IN(forward, RIGHT_ASYNC_FENCED);  /* ... which st.async has brought */
WRONG_IN(forward, NOBODY_FENCES, PROXY_FENCE);
WRONG_IN(forward, SENDERS_FENCE, PROXY_FENCE); /* in their own CTA, before that barrier */
WRONG_IN(forward, ASYNC_UNFENCED, PROXY_FENCE);

DEVICE void forward(Shared *s, const Params *p, int rank, int thread) {
    const int bug = p->bug, counted = bug == RIGHT_ASYNC_FENCED || bug == ASYNC_UNFENCED;
    int to = THREADS - 1 - thread, other = 1 - rank;
    uint32_t n = (uint32_t)(5 * number(rank, thread));
    if (thread == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_arrive_expect_tx(&s->full, counted ? THREADS * 4 : 0);
    }
    cluster_sync();
    if (counted) {
        st_async_u32(&s->u32[to], other, n, &s->full);
    } else {
        cluster_store_u32(&s->u32[to], other, n);
    }
    ADDS(SENDERS_FENCE, fence_proxy_async());
    cluster_sync();
    if (bug == RIGHT_PEER_FENCES) {
        fence_proxy_async();
        __syncthreads();
    }
    if (thread == 0) {
        mbarrier_wait_parity_cluster(&s->full, 0);
        if (bug == RIGHT_ISSUER_FENCES || bug == RIGHT_ASYNC_FENCED) {
            fence_proxy_async();
        }
        bulk_store(&p->out[rank * THREADS], s->u32, THREADS * 4);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

RIGHT_IN(pairs, RIGHT_OF_PAIRS); /* the even CTA of the pair counts the bytes of both, and tells the other one */
WRONG_IN(pairs, PAIR_EXPECTS_ONE, TX_COUNT);
WRONG_IN(pairs, PAIR_NOT_TOLD, DEADLOCK);
WRONG_IN(pairs, PAIR_NOT_READY, BARRIER_INIT_ORDER);

/* Each CTA loads both halves of a tile. */
DEVICE void pairs(Shared *s, const Params *p, int rank, int thread) {
    if (thread == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
    }
    p->bug == PAIR_NOT_READY ? __syncthreads() : cluster_sync();
    if (thread == 0) {
        if (rank == 0) {
            mbarrier_arrive_expect_tx(&s->full, p->bug == PAIR_EXPECTS_ONE ? BYTES : CTAS * BYTES);
        }
        for (int half = 0; half < CTAS; half++) {
            tma_load_2d_pair(&s->v[half * THREADS / CTAS], &p->map, 0, half, &s->full);
        }
    }
    mbarrier_wait_parity_cluster(&s->full, 0);
    if (rank == 0 && thread == 0 && p->bug != PAIR_NOT_TOLD) {
        mbarrier_arrive_release_cluster(&s->full, 1);
    }
    p->out[rank * THREADS + thread] = (int)s->v[thread].x + 5000 * (1 - rank);
    cluster_sync();
}

static __global__ void __launch_bounds__(THREADS) peer_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    p.part(s, &p, cluster_cta_rank(), (int)threadIdx.x);
}
KERNEL_ENTRY(peer_kernel, Params);

static int run(const Case *c) {
    int *out = case_memory(CTAS * THREADS * sizeof *out, "out");
    uint4 *in = case_memory(BYTES, "in");
    for (int i = 0; i < THREADS; i++) {
        in[i].x = (uint32_t)(5 * number(0, THREADS - 1 - i));
    }
    Params p = {.out = out, .bug = c->bug, .part = (Part *)c->more};
    if (tensor_map_2d(&p.map, "in", (bf16 *)in, CTAS, ROW, ROW, 1, ROW, SWIZZLE_NONE, NULL) != GEMM_OK) {
        return 3;
    }
    LaunchShape shape = {.grid = CTAS, .block = THREADS, .cluster = CTAS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(peer_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < CTAS * THREADS && status == 0; i++) {
        int other = THREADS - 1 - i % THREADS, want = 0;
        if (p.part != hand_on) {
            want = 5 * number(1 - i / THREADS, other);
        } else if (i < THREADS) {
            for (int round = 0; round < ROUNDS; round++) {
                want += number(round, other);
            }
        }
        status = out[i] == want ? 0 : 1;
    }
    return status;
}
