/* barrier.c - __syncthreads() and the numbered barriers, the cluster barrier, and the register pool of setmaxnreg. */
#include <stdio.h>

#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "../model.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../sync.h"
#include "../tell/steps.h"

/* ---- numbered barriers ------------------------------------------------------------------------------------------- */

static void named_complete(NamedBarrier *b) {
    Clock *released = b->arriving;
    uint64_t time = b->arriving_time + COST_BARRIER;
    b->arriving = NULL;
    b->arriving_time = 0;
    b->arrived = b->expected = 0;
    b->generation++;
    for (Thread *t = b->waiters; t != NULL; t = t->next_waiter) {
        thread_acquire_own(t, released);
        t->time = time > t->time ? time : t->time;
        t->warp->in_sync &= ~(1u << t->lane);
    }
    clock_unref(released);
    threads_wake(&b->waiters);
}

static void report_other_use(Thread *t, int id, int expected, const NamedBarrier *b, Site site) {
    if (report_begin(RULE_NAMED_BARRIER)) {
        char text[PHRASE_SIZE];
        snprintf(text, sizeof text, "barrier %d for %d threads", id, expected);
        report_place("now", t, site, text);
        snprintf(text, sizeof text, "the same barrier for %d threads", b->expected);
        report_place("before", b->first, b->site, text);
        report_end(1);
    }
    model_stop();
}

static void report_second_arrival(Thread *t, int id, const NamedBarrier *b, Site site) {
    if (report_begin(RULE_NAMED_BARRIER)) {
        report_place("now", t, site, "arrival at a barrier at which this warp has arrived already");
        report_line("barrier", "%d: %d of %d threads have arrived since it last completed", id, b->arrived,
                    b->expected);
        report_end(1);
    }
    model_stop();
}

/* The hardware counts whole warps: lanes that have returned arrive with the rest of their warp (tests/conform, an H200:
 * named_lanes_exited). A warp that has returned altogether does not. */
static void credit_returned(Warp *w, NamedBarrier *b, int id) {
    uint32_t absent = w->all & ~w->named[id].arrived;
    if (w->named[id].seen == b->generation + 1 && !w->named[id].credited && !b->uses_all &&
        (absent & w->exited) == absent) {
        w->named[id].credited = 1;
        b->arrived += __builtin_popcount(absent);
    }
}

/* id 0 with expected 0: __syncthreads(). */
static void named_arrive(Thread *t, int id, int expected, int wait, const char *what, Site site) {
    Cta *cta = t->cta;
    NamedBarrier *b = &cta->named[id];
    int all = expected == 0;
    if (all) {
        expected = cta->threads - cta->exited;
    }
    observe_sync(id, expected, site);
    if (b->arrived == 0) {
        b->expected = expected;
        b->uses_all = all;
        b->site = site;
        b->first = t;
    } else if (expected != b->expected) {
        report_other_use(t, id, expected, b, site);
    }
    /* PTX leaves it undefined if a warp arrives twice in one generation; the lanes of a warp come one by one here. */
    if (t->named_seen[id] == b->generation + 1) {
        report_second_arrival(t, id, b, site);
    }
    t->named_seen[id] = b->generation + 1;
    thread_release(t, &b->arriving);
    b->arriving_time = t->time > b->arriving_time ? t->time : b->arriving_time;
    b->arrived++;
    Warp *w = t->warp;
    if (w->named[id].seen != b->generation + 1) {
        w->named[id].seen = b->generation + 1;
        w->named[id].arrived = 0;
        w->named[id].credited = 0;
    }
    w->named[id].arrived |= 1u << t->lane;
    credit_returned(w, b, id);
    uint64_t begin = t->time;
    if (wait) {
        count_barrier(t, all ? COUNT_SYNCTHREADS : COUNT_NAMED_BARRIERS);
        t->next_waiter = b->waiters;
        b->waiters = t;
        if (b->arrived >= b->expected) {
            /* The last one does not wait: it is not on the list that is woken, but learns the same. */
            b->waiters = t->next_waiter;
            t->next_waiter = NULL;
            uint64_t time = b->arriving_time + COST_BARRIER;
            thread_acquire_own(t, b->arriving);
            t->time = time > t->time ? time : t->time;
            t->warp->in_sync &= ~(1u << t->lane);
            named_complete(b);
            thread_pause(t);
        } else {
            thread_block(t, (Wait){.kind = WAIT_NAMED, .site = site, .what = what, .id = id});
        }
        trace_wait(t, TRACE_BARRIER, begin, t->time, id, NULL);
    } else {
        if (b->arrived >= b->expected) {
            named_complete(b);
        }
        thread_pause(t);
    }
}

void model_syncthreads(const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    Site site = site_of(here);
    int seen = t->cta->named[0].generation + 1;
    if (w->sync_seen == seen && w->sync_site != site) {
        if (report_begin(RULE_CONVERGENCE)) {
            report_place("now", t, site, "__syncthreads");
            report_place("but", NULL, w->sync_site, "__syncthreads by other lanes of the same warp");
            report_line("rule", "all lanes of a warp execute the same __syncthreads together");
            report_end(1);
        }
        model_stop();
    }
    w->sync_seen = seen;
    w->sync_site = site;
    w->in_sync |= 1u << t->lane;
    warp_check_sync(w);
    named_arrive(t, 0, 0, 1, "__syncthreads", site);
}

static void check_named(Thread *t, int id, int threads, const char *here) {
    if (id < 0 || id >= NAMED_BARRIERS) {
        report_misuse(RULE_NAMED_BARRIER, site_of(here), 1, "barrier %d: a CTA has barriers 0 to 15", id);
    }
    if (threads < WARP_SIZE || threads % WARP_SIZE != 0 || threads > t->cta->warps * WARP_SIZE) {
        report_misuse(RULE_NAMED_BARRIER, site_of(here), 1,
                      "barrier %d for %d threads: the count is a multiple of 32 and not more than the CTA's %d", id,
                      threads, t->cta->threads);
    }
}

void model_named_barrier_sync(int id, int threads, const char *here) {
    Thread *t = current_thread();
    check_named(t, id, threads, here);
    named_arrive(t, id, threads, 1, "barrier.sync", site_of(here));
}

void model_named_barrier_arrive(int id, int threads, const char *here) {
    Thread *t = current_thread();
    check_named(t, id, threads, here);
    named_arrive(t, id, threads, 0, "barrier.arrive", site_of(here));
}

/* ---- the cluster barrier ----------------------------------------------------------------------------------------- */

static void cluster_complete(Cluster *cluster) {
    Clock *released = cluster->arriving;
    uint64_t time = cluster->arriving_time + COST_BARRIER;
    clock_unref(cluster->released);
    cluster->released = released;
    cluster->released_time = time;
    cluster->arriving = NULL;
    cluster->arriving_time = 0;
    cluster->arrived = 0;
    cluster->generation++;
    threads_wake(&cluster->waiters);
}

void model_cluster_arrive(int release, const char *here) {
    Thread *t = current_thread();
    Cluster *cluster = t->cta->cluster;
    if (t->cluster_arrived) {
        report_misuse(RULE_NAMED_BARRIER, site_of(here), 1,
                      "second arrival at the cluster barrier without a cluster_wait() between");
    }
    t->cluster_arrived = 1;
    t->cluster_generation = cluster->generation;
    if (release) {
        thread_release(t, &cluster->arriving);
    } else {
        for (int rank = 0; rank < cluster->size; rank++) {
            if (cluster->cta[rank]->fences > 0) {
                thread_release_only(t, &cluster->arriving, cluster->cta[rank]->fence_component);
            }
        }
    }
    cluster->arriving_time = t->time > cluster->arriving_time ? t->time : cluster->arriving_time;
    if (++cluster->arrived == cluster->live) {
        cluster_complete(cluster);
    }
}

void model_cluster_wait(const char *here) {
    Thread *t = current_thread();
    Cluster *cluster = t->cta->cluster;
    if (!t->cluster_arrived) {
        report_misuse(RULE_NAMED_BARRIER, site_of(here), 1, "cluster_wait() without an arrival before it");
    }
    if (cluster->generation == t->cluster_generation) {
        t->next_waiter = cluster->waiters;
        cluster->waiters = t;
        thread_block(t, (Wait){.kind = WAIT_CLUSTER, .site = site_of(here), .what = "barrier.cluster.wait"});
    }
    t->cluster_arrived = 0;
    thread_acquire(t, cluster->released);
    t->time = cluster->released_time > t->time ? cluster->released_time : t->time;
    thread_pause(t);
}

/* ---- a thread has ended ------------------------------------------------------------------------------------------ */

void barriers_thread_exit(Thread *t) {
    NamedBarrier *all = &t->cta->named[0];
    if (all->arrived > 0 && all->uses_all) {
        /* Since Volta, __syncthreads() waits for the threads that have not ended. */
        all->expected--;
        if (all->arrived == all->expected) {
            named_complete(all);
        }
    }
    for (int id = 0; id < NAMED_BARRIERS; id++) {
        NamedBarrier *b = &t->cta->named[id];
        if (b->arrived > 0 && !b->uses_all) {
            credit_returned(t->warp, b, id);
            if (b->arrived >= b->expected) {
                named_complete(b);
            }
        }
    }
    Cluster *cluster = t->cta->cluster;
    if (cluster->arrived > 0 && cluster->arrived == cluster->live) {
        cluster_complete(cluster);
    }
}

void barriers_cta_free(Cta *cta) {
    for (int i = 0; i < NAMED_BARRIERS; i++) {
        clock_unref(cta->named[i].arriving);
    }
}

/* ---- registers --------------------------------------------------------------------------------------------------- */

static void registers_wake(Cta *cta) { threads_wake(&cta->register_waiters); }

static void check_registers(Thread *t, int increase, int registers, Site site) {
    const Warp *w = t->warp;
    if (registers < 24 || registers > 256 || registers % 8 != 0) {
        report_misuse(RULE_SETMAXNREG, site, 1,
                      "setmaxnreg with %d registers: accepted are multiples of 8 in 24 .. 256", registers);
    }
    if (increase ? registers < w->registers : registers > w->registers) {
        report_misuse(RULE_SETMAXNREG, site, 1, "setmaxnreg.%s to %d registers in a warp that owns %d",
                      increase ? "inc" : "dec", registers, w->registers);
    }
}

void model_setmaxnreg(int increase, int registers, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    Warpgroup *g = w->warpgroup;
    Cta *cta = t->cta;
    Site site = site_of(here);
    w->operands[t->lane].i[0] = registers;
    if (!warp_meet(t, COLLECTIVE_SETMAXNREG, 0xffffffffu, site)) {
        return;
    }
    for (int lane = 0; lane < w->lanes; lane++) {
        if (w->operands[lane].i[0] != registers) {
            report_misuse(RULE_CONVERGENCE, site, 1, "setmaxnreg with different counts in the lanes of a warp");
        }
    }
    check_registers(t, increase, registers, site);
    observe_registers(w, increase, registers, site);
    /* All four warps of a warpgroup execute it: the last one lets the others go on. */
    if (g->register_arrivals > 0 && (g->register_increase != increase || g->register_count != registers)) {
        report_misuse(RULE_CONVERGENCE, site, 1,
                      "setmaxnreg to %d registers; another warp of the warpgroup asks for %d", registers,
                      g->register_count);
    }
    g->register_increase = increase;
    g->register_count = registers;
    g->register_site = site;
    int first = g->id * 4;
    int warps = cta->warps - first < 4 ? cta->warps - first : 4;
    if (++g->register_arrivals < warps) {
        t->next_waiter = g->register_waiters;
        g->register_waiters = t;
        thread_block(t, (Wait){.kind = WAIT_WARPGROUP, .site = site, .what = "setmaxnreg"});
    } else {
        g->register_arrivals = 0;
        threads_wake(&g->register_waiters);
    }
    if (!increase) {
        cta->free_registers += WARP_SIZE * (w->registers - registers);
        w->registers = registers;
        registers_wake(cta);
    } else {
        int amount = WARP_SIZE * (registers - w->registers);
        while (cta->free_registers < amount) {
            t->next_waiter = cta->register_waiters;
            cta->register_waiters = t;
            thread_block(t, (Wait){.kind = WAIT_REGISTERS, .site = site, .what = "setmaxnreg.inc", .amount = amount});
        }
        cta->free_registers -= amount;
        w->registers = registers;
    }
    warp_go(w);
}
