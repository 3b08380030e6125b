/* convergence.c - what threads must do together: warp-wide instructions, barriers of CTA and cluster, setmaxnreg. */
#include <stdio.h>
#include <string.h>

#include "../core/schedule.h"
#include "bug_report.h"
#include "clock.h"

/* Barriers that all lanes of a warp execute together; each lane comes by itself here. */
typedef enum { ALIGNED_SYNC, ALIGNED_CLUSTER_ARRIVE, ALIGNED_CLUSTER_WAIT, ALIGNED } Aligned;

/* A warp's lane that came last. */
typedef struct {
    int seen; /* 1 + the barrier's generation */
    Site site;
    const Thread *thread;
    uint32_t waits; /* since the warp was last together */
} WarpPlace;

/* Of a CTA. */
typedef struct CtaConvergence {
    struct { /* a numbered barrier's generation in progress */
        Clock *arriving;
        Site site; /* of the first arrival */
        Thread *first;
        /* Counts generations, for those who waited; 0: none is complete. */
        Component component;
        Site last_site; /* of the first arrival in the last complete one */
        Thread *last_first;
    } named[NAMED_BARRIERS];
    WarpPlace place[ALIGNED][WARP_LIMIT];
    uint32_t together[WARP_LIMIT]; /* times that all lanes of a warp were at one instruction */
    struct {                       /* what a thread has waited for since its warp was last together */
        uint32_t together, waits;
        Site site; /* of the last wait */
    } alone[THREAD_LIMIT];
} CtaConvergence;

ON(convergence, CTA_BEGIN) { cta->convergence = cta_alloc(cta, sizeof *cta->convergence); }

ON(convergence, CTA_END) {
    for (int i = 0; i < NAMED_BARRIERS; i++) {
        clock_unref(cta->convergence->named[i].arriving);
    }
}

/* ---- a warp ------------------------------------------------------------------------------------------------------ */

static void report_apart(const Thread *now, Site site, const char *what, const Thread *but, Site but_site,
                         const char *but_what) {
    REPORT_LAST(RULE_CONVERGENCE, report_place("now", now, site, what), report_place("but", but, but_site, but_what),
                report_line("rule", "all lanes of a warp execute the same one of these instructions together"));
}

static const Thread *first_of(const Warp *w, uint32_t lanes) { return &w->thread[__builtin_ctz(lanes)]; }

/* Lanes wait in __syncthreads() that are needed at the warp's instruction. */
static void report_in_sync(const Warp *w, WarpPart part) {
    report_apart(first_of(w, part.arrived), part.site, part.instruction, first_of(w, w->in_sync & part.mask),
                 w->cta->convergence->place[ALIGNED_SYNC][w->id].site, "__syncthreads");
}

ON(convergence, WARP_APART) {
    w = t->warp;
    WarpCollective *m = w->collective;
    MISUSE_IF(!((e->mask | ~w->all) >> t->lane & 1), RULE_CONVERGENCE, e->site, 1,
              "%s with mask 0x%08x by lane %d, which is not in it", e->what, e->mask, t->lane);
    if (m->now.arrived == 0 && (e->mask & w->exited)) {
        report_misuse(RULE_CONVERGENCE, e->site, 1, "%s, which all lanes of the warp must execute; lane %d has ended",
                      e->what, first_of(w, e->mask & w->exited)->lane);
    } else if (e->what != m->now.instruction || e->site != m->now.site || e->mask != m->now.mask) {
        report_apart(t, e->site, e->what, first_of(w, m->now.arrived), m->now.site, m->now.instruction);
    }
    m->now.arrived |= 1u << t->lane;
    report_in_sync(w, warp_part(m, -1));
    model_stop();
}

ON(convergence, SHUFFLE_SOURCE) {
    report_misuse(RULE_CONVERGENCE, w->collective->now.site, 0,
                  "shfl.sync with mask 0x%08x: lane %d reads from lane %d, which is not in the mask",
                  w->collective->now.mask, e->lane, e->from_lane);
}

ON(convergence, EXCHANGE) {
    const WarpCollective *m = w->collective;
    for (uint32_t lanes = strcmp(m->now.instruction, WARP_SHUFFLE) == 0 ? m->now.arrived : 0; lanes != 0;
         lanes &= lanes - 1) {
        int width = (int)m->word[1][__builtin_ctz(lanes)];
        MISUSE_IF(width < 1 || width > WARP_SIZE || (width & (width - 1)) != 0, RULE_CONVERGENCE, m->now.site, 1,
                  "shfl.sync with width %d: accepted are 1, 2, 4, 8, 16 and 32", width);
    }
}

/* An instruction that needs all 32 lanes: a CTA's last warp may have fewer. */
ON(convergence, WARP_ACCESS) {
    MISUSE_IF(w->lanes < WARP_SIZE, RULE_CONVERGENCE, e->site, 1, "%s in a warp of %d threads: it needs all 32",
              w->collective->now.instruction, w->lanes);
}
HEARS(convergence, MMA, on_WARP_ACCESS);

ON(convergence, THREAD_RETURNED) {
    w = t->warp;
    const WarpCollective *m = w->collective;
    for (int i = -1; i < m->parts; i++) {
        WarpPart part = warp_part(m, i);
        MISUSE_IF((part.arrived & part.mask) && (part.mask >> t->lane & 1), RULE_CONVERGENCE, part.site, 1,
                  "%s in lane %d, which all lanes of %s must execute; lane %d has returned from the kernel",
                  part.instruction, first_of(w, part.arrived)->lane, part.mask == w->all ? "the warp" : "its mask",
                  t->lane);
    }
}

/* ---- barriers of the CTA ----------------------------------------------------------------------------------------- */

ON(convergence, WARP_TOGETHER) { w->cta->convergence->together[w->id]++; }

static uint32_t *waits_alone(const Thread *t) {
    CtaConvergence *c = t->cta->convergence;
    if (c->alone[t->id].together != c->together[t->warp->id]) {
        c->alone[t->id].together = c->together[t->warp->id];
        c->alone[t->id].waits = 0;
    }
    return &c->alone[t->id].waits;
}

ON(convergence, MBARRIER_PASSED) {
    ++*waits_alone(t);
    t->cta->convergence->alone[t->id].site = e->site;
}

/* Lanes of one warp come to such a barrier in different places; or to the cluster's, one having waited where others
 * have not: the compiler need not have brought them together again. */
static void check_aligned(const Thread *t, Aligned barrier, int generation, Site site) {
    static const char *const text[] = {"__syncthreads", "barrier.cluster.arrive", "barrier.cluster.wait"};
    CtaConvergence *c = t->cta->convergence;
    WarpPlace *place = &c->place[barrier][t->warp->id];
    const WarpPlace now = {generation + 1, site, t, *waits_alone(t)}, before = *place;
    *place = now;
    int apart = barrier != ALIGNED_SYNC && now.waits != before.waits;
    if (before.seen != now.seen || (before.site == site && !apart)) {
        return;
    }
    report_begin_last(RULE_CONVERGENCE);
    report_place("now", t, site, text[barrier]);
    if (before.site != site) {
        report_place("but", before.thread, before.site, "another lane of the same warp, in another place");
        report_line("rule", "all lanes of a warp execute the same %s together", text[barrier]);
    } else {
        const Thread *alone = now.waits > before.waits ? t : before.thread;
        report_place("but", alone, c->alone[alone->id].site, "a wait that not all lanes of the warp have executed");
        report_line("missing", "__syncwarp() between: all lanes of a warp execute %s together", text[barrier]);
    }
    report_end(1);
}

/* __syncthreads() of lanes of one warp in different places, or while others are at a warp-wide instruction. */
static void check_sync(const Thread *t, Site site) {
    const Warp *w = t->warp;
    check_aligned(t, ALIGNED_SYNC, t->cta->named[0].generation, site);
    for (int i = -1; i < w->collective->parts; i++) {
        WarpPart part = warp_part(w->collective, i);
        if (part.arrived != 0 && (w->in_sync & part.mask)) {
            report_in_sync(w, part);
        }
    }
}

static void check_named(const Thread *t, int id, int threads, Site site) {
    MISUSE_IF(id < 0 || id >= NAMED_BARRIERS, RULE_NAMED_BARRIER, site, 1, "barrier %d: a CTA has barriers 0 to 15",
              id);
    MISUSE_IF(threads < WARP_SIZE || threads % WARP_SIZE != 0 || threads > t->cta->warps * WARP_SIZE,
              RULE_NAMED_BARRIER, site, 1,
              "barrier %d for %d threads: the count is a multiple of 32 and not more than the CTA's %d", id, threads,
              t->cta->threads);
}

static void report_other_use(Thread *t, int id, int expected, Site site) {
    char text[PHRASE_SIZE];
    report_begin_last(RULE_NAMED_BARRIER);
    snprintf(text, sizeof text, "barrier %d for %d threads", id, expected);
    report_place("now", t, site, text);
    snprintf(text, sizeof text, "the same barrier for %d threads", t->cta->named[id].expected);
    report_place("before", t->cta->convergence->named[id].first, t->cta->convergence->named[id].site, text);
    report_end(1);
}

static void report_second_arrival(Thread *t, int id, Site site) {
    const NamedBarrier *b = &t->cta->named[id];
    REPORT_LAST(RULE_NAMED_BARRIER,
                report_place("now", t, site, "arrival at a barrier at which this warp has arrived already"),
                report_line("barrier", "%d: %d of %d threads have arrived since it last completed", id, b->arrived,
                            b->expected));
}

/* Whose arrival has nothing to do with the last generation might have been counted in it. */
static void check_last_is_over(const Thread *t, int id, Site site) {
    const CtaConvergence *c = t->cta->convergence;
    int generation = t->cta->named[id].generation;
    if (generation > 0 && clock_tick(t->clock->base, c->named[id].component).known < (uint32_t)generation) {
        REPORT(RULE_NAMED_BARRIER, report_place("now", t, site, "arrival at a numbered barrier"),
               report_place("before", c->named[id].last_first, c->named[id].last_site,
                            "first arrival when it last completed"),
               report_line(
                   "barrier",
                   "%d: it has completed %d times, and this thread cannot know that the last time is complete: had it "
                   "arrived sooner, it would have been counted with those threads",
                   id, generation));
    }
}

ON(convergence, BARRIER_ARRIVE) {
    int id = e->id;
    int expected = e->expected;
    if (expected == 0) {
        check_sync(t, e->site);
        expected = t->cta->threads - t->cta->exited;
    } else {
        check_named(t, id, expected, e->site);
    }
    const NamedBarrier *n = &t->cta->named[id];
    CtaConvergence *c = t->cta->convergence;
    if (n->arrived == 0) {
        c->named[id].site = e->site;
        c->named[id].first = t;
    } else if (expected != n->expected) {
        report_other_use(t, id, expected, e->site);
    }
    /* PTX leaves it undefined if a warp arrives twice in one generation; the lanes of a warp come one by one here. */
    if (t->barriers->named_seen[id] == n->generation + 1) {
        report_second_arrival(t, id, e->site);
    }
    check_last_is_over(t, id, e->site);
    *waits_alone(t) = 0; /* the barrier brings the warp together too */
    thread_release(t, &c->named[id].arriving);
}

ON(convergence, BARRIER_COMPLETE) {
    int id = e->id;
    CtaConvergence *c = cta->convergence;
    uint32_t complete = (uint32_t)cta->named[id].generation + 1;
    if (c->named[id].component == 0) {
        c->named[id].component = component_new(cta->cluster, (ComponentOwner){.thread = c->named[id].first});
    }
    c->named[id].last_site = c->named[id].site;
    c->named[id].last_first = c->named[id].first;
    clock_raise(c->named[id].arriving, c->named[id].component, complete, complete);
    clock_barrier_complete(&c->named[id].arriving, cta->named[id].waiters);
}

/* ---- the cluster's barrier, registers ---------------------------------------------------------------------------- */

ON(convergence, CLUSTER_ARRIVE) {
    MISUSE_IF(t->barriers->cluster_arrived, RULE_NAMED_BARRIER, e->site, 1,
              "second arrival at the cluster barrier without a cluster_wait() between");
    check_aligned(t, ALIGNED_CLUSTER_ARRIVE, t->cta->cluster->barrier->generation, e->site);
}

ON(convergence, CLUSTER_WAIT) {
    MISUSE_IF(!t->barriers->cluster_arrived, RULE_NAMED_BARRIER, e->site, 1,
              "cluster_wait() without an arrival before it");
    check_aligned(t, ALIGNED_CLUSTER_WAIT, t->barriers->cluster_generation, e->site);
}

ON(convergence, SETMAXNREG) {
    int increase = e->increase;
    int registers = e->count;
    const RegisterChange *others = w->warpgroup->registers;
    role_registers(w, increase);
    for (int lane = 0; lane < w->lanes; lane++) {
        MISUSE_IF(w->collective->number[lane] != registers, RULE_CONVERGENCE, e->site, 1,
                  "setmaxnreg with different counts in the lanes of a warp");
    }
    MISUSE_IF(registers < 24 || registers > 256 || registers % 8 != 0, RULE_SETMAXNREG, e->site, 1,
              "setmaxnreg with %d registers: accepted are multiples of 8 in 24 .. 256", registers);
    MISUSE_IF(increase ? registers < w->registers : registers > w->registers, RULE_SETMAXNREG, e->site, 1,
              "setmaxnreg.%s to %d registers in a warp that owns %d", increase ? "inc" : "dec", registers,
              w->registers);
    MISUSE_IF(others->arrivals > 0 && (others->increase != increase || others->count != registers), RULE_CONVERGENCE,
              e->site, 1, "setmaxnreg to %d registers; another warp of the warpgroup asks for %d", registers,
              others->count);
}
