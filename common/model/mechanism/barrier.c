/* barrier.c - see barrier.h. */
#include "barrier.h"

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

void barriers_begin(Cta *cta) {
    cta->named = cta_alloc(cta, NAMED_BARRIERS * sizeof *cta->named);
    CTA_GIVE(cta, cta->thread, cta->threads, barriers);
    CTA_GIVE(cta, cta->warp, cta->warps, barriers);
}

/* ---- numbered barriers ------------------------------------------------------------------------------------------- */

/* current: who arrived last and is in the list of waiters; NULL if it does not wait. */
static void named_complete(Cta *cta, int id, Thread *current) {
    NamedBarrier *b = &cta->named[id];
    POST(BARRIER_COMPLETE, .cta = cta, .id = id);
    b->arrived = b->expected = 0;
    b->generation++;
    for (Thread *t = b->waiters; t != NULL; t = t->next_waiter) {
        t->warp->in_sync &= ~(1u << t->lane);
    }
    if (current != NULL) {
        b->waiters = current->next_waiter;
        current->next_waiter = NULL;
    }
    threads_wake(&b->waiters);
}

/* The hardware counts whole warps: lanes that have returned arrive with the rest of their warp (tests/conform, an H200:
 * named_lanes_exited). A warp that has returned altogether does not. */
static void credit_returned(Warp *w, NamedBarrier *b, int id) {
    uint32_t absent = w->all & ~w->barriers->named[id].arrived;
    if (w->barriers->named[id].seen == b->generation + 1 && !w->barriers->named[id].credited && !b->uses_all &&
        (absent & w->exited) == absent) {
        w->barriers->named[id].credited = 1;
        b->arrived += __builtin_popcount(absent);
    }
}

/* id 0 with expected 0: __syncthreads(). */
static void named_arrive(Thread *t, int id, int expected, int waits, const char *what, Site site) {
    Cta *cta = t->cta;
    Warp *w = t->warp;
    int all = expected == 0;
    POST(BARRIER_ARRIVE, .thread = t, .id = id, .expected = expected, .waits = waits, .site = site);
    NamedBarrier *b = &cta->named[id];
    if (all) {
        expected = cta->threads - cta->exited;
    }
    if (b->arrived == 0) {
        b->expected = expected;
        b->uses_all = all;
    }
    t->barriers->named_seen[id] = b->generation + 1;
    b->arrived++;
    if (w->barriers->named[id].seen != b->generation + 1) {
        w->barriers->named[id].seen = b->generation + 1;
        w->barriers->named[id].arrived = 0;
        w->barriers->named[id].credited = 0;
    }
    w->barriers->named[id].arrived |= 1u << t->lane;
    credit_returned(w, b, id);
    if (b->arrived >= b->expected) {
        if (waits) {
            t->next_waiter = b->waiters;
            b->waiters = t;
        }
        named_complete(cta, id, waits ? t : NULL);
        thread_pause(t);
    } else if (waits) {
        thread_block_in(t, &b->waiters, (Wait){.kind = WAIT_NAMED, .site = site, .what = what, .id = id});
    } else {
        thread_pause(t);
    }
    if (waits) {
        POST(BARRIER_PASSED, .thread = t, .id = id);
    }
}

void model_syncthreads(const char *here) {
    Thread *t = current_thread();
    t->warp->in_sync |= 1u << t->lane;
    named_arrive(t, 0, 0, 1, "__syncthreads", site_of(here));
}

/* A count of 0 is no __syncthreads(). */
static int counted(int threads) { return threads != 0 ? threads : -1; }

void model_named_barrier_sync(int id, int threads, const char *here) {
    named_arrive(current_thread(), id, counted(threads), 1, "barrier.sync", site_of(here));
}

void model_named_barrier_arrive(int id, int threads, const char *here) {
    named_arrive(current_thread(), id, counted(threads), 0, "barrier.arrive", site_of(here));
}

/* ---- the cluster barrier ----------------------------------------------------------------------------------------- */

static void cluster_complete(Cluster *cluster) {
    POST(CLUSTER_COMPLETE, .cluster = cluster);
    cluster->barrier->arrived = 0;
    cluster->barrier->generation++;
    threads_wake(&cluster->barrier->waiters);
}

void model_cluster_arrive(int release, const char *here) {
    Thread *t = current_thread();
    Cluster *cluster = t->cta->cluster;
    POST(CLUSTER_ARRIVE, .thread = t, .release = release, .site = site_of(here));
    t->barriers->cluster_arrived = 1;
    t->barriers->cluster_generation = cluster->barrier->generation;
    if (++cluster->barrier->arrived == cluster->live) {
        cluster_complete(cluster);
    }
}

void model_cluster_wait(const char *here) {
    Thread *t = current_thread();
    ClusterBarrier *b = t->cta->cluster->barrier;
    POST(CLUSTER_WAIT, .thread = t, .site = site_of(here));
    if (b->generation == t->barriers->cluster_generation) {
        thread_block_in(t, &b->waiters,
                        (Wait){.kind = WAIT_CLUSTER, .site = site_of(here), .what = "barrier.cluster.wait"});
    }
    t->barriers->cluster_arrived = 0;
    POST(CLUSTER_PASSED, .thread = t);
    thread_pause(t);
}

/* ---- a thread has ended ------------------------------------------------------------------------------------------ */

void barriers_thread_exit(Thread *t) {
    Cta *cta = t->cta;
    NamedBarrier *all = &cta->named[0];
    if (all->arrived > 0 && all->uses_all) {
        /* Since Volta, __syncthreads() waits for the threads that have not ended. */
        all->expected--;
        if (all->arrived == all->expected) {
            named_complete(cta, 0, NULL);
        }
    }
    for (int id = 0; id < NAMED_BARRIERS; id++) {
        NamedBarrier *b = &cta->named[id];
        if (b->arrived > 0 && !b->uses_all) {
            credit_returned(t->warp, b, id);
            if (b->arrived >= b->expected) {
                named_complete(cta, id, NULL);
            }
        }
    }
    /* It waits for all threads that have not returned; a thread that has arrived and returned no longer counts. */
    Cluster *cluster = cta->cluster;
    ClusterBarrier *b = cluster->barrier;
    b->arrived -= t->barriers->cluster_arrived && t->barriers->cluster_generation == b->generation;
    if (b->arrived > 0 && b->arrived == cluster->live) {
        cluster_complete(cluster);
    }
}
