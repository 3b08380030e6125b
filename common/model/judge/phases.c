/* phases.c - see phases.h.
 *
 * A phase releases what its arrivals release, and one more: its completion itself is a component of the clocks, by
 * which the loads that it counts are known to be over. */
#include "phases.h"

#include <stdio.h>
#include <string.h>

#include "../core/schedule.h"
#include "bug_report.h"
#include "cells.h"

static void forget(Deeds *deeds) {
    while (deeds->count > 0) {
        clock_unref(deeds->list[--deeds->count].known);
    }
}

static void deed_add(const Barrier *b, Deeds *deeds, Deed deed) {
    deeds->list = cta_grow(b->cta, deeds->list, deeds->count + 1, &deeds->capacity, sizeof deed);
    deeds->list[deeds->count++] = deed;
}

ON(phases, CTA_BEGIN) { cta->phases = cta_alloc(cta, sizeof *cta->phases); }

ON(phases, CTA_END) {
    for (int i = 0; i < cta->mbarriers->count; i++) {
        BarrierFacts *f = cta->mbarriers->list[i]->facts;
        if (f != NULL) {
            Clock *const held[] = {f->arriving, f->released, f->arriving_near, f->released_near, f->before};
            for (size_t n = 0; n < sizeof held / sizeof *held; n++) {
                clock_unref(held[n]);
            }
            forget(&f->loads);
            forget(&f->copies);
        }
    }
}

/* Lines of a report: the last arrival, if there was one; the place of the initialisation. */
static void report_last_arrival(const char *label, const Barrier *b, const char *what) {
    const BarrierFacts *f = b->facts;
    if (f->arrivals > 0) {
        uint32_t last = (f->arrivals - 1) % ARRIVAL_HISTORY;
        report_place(label, f->arrival[last].thread, f->arrival[last].site, what);
    }
}

/* ---- making and finding them ------------------------------------------------------------------------------------- */

static void check_address(const Thread *t, const void *bar, Site site, const char *what, int by_engine) {
    uintptr_t offset = (uintptr_t)bar - (uintptr_t)t->cta->shared;
    if (offset % BARRIER_BYTES != 0 || offset + BARRIER_BYTES > t->cta->shared_bytes) {
        char text[PHRASE_SIZE];
        snprintf(text, sizeof text, "%s%s", what, by_engine ? ", its barrier" : "");
        shared_bounds(t, bar, BARRIER_BYTES, text, site);
        report_misuse(RULE_ALIGNMENT, site, 1, "%s at byte %u of shared memory: an mbarrier is 8-byte aligned", text,
                      shared_offset(t->cta, bar));
    }
}

ON(phases, MBARRIER_INIT) {
    int how_many = (int)e->amount;
    cta = t->cta;
    MISUSE_IF(how_many < 1 || b->expected < 1 || b->expected > ARRIVAL_LIMIT, RULE_BARRIER_UNINIT, e->site, 1,
              "mbarrier_init of %d barriers with %d arrivals: accepted are 1 or more "
              "barriers with 1 to 1048575 arrivals",
              how_many, b->expected);
    check_address(t, cta->shared + b->offset, e->site, "mbarrier_init", 0);
    uint16_t old = cta->mbarriers->at[b->offset / BARRIER_BYTES];
    if (old != 0) {
        const Barrier *before = cta->mbarriers->list[old - 1];
        REPORT_LAST(RULE_BARRIER_REINIT, report_place("now", t, e->site, "mbarrier_init"),
                    report_place("before", before->facts->init_thread, before->facts->init_site,
                                 "mbarrier_init of the same 8 bytes"),
                    report_barrier(before),
                    report_line("missing", "%s",
                                before->facts->init_thread != t
                                    ? "a condition that lets one thread initialise it; the others wait at a barrier"
                                    : "an initialisation before the loop, once: phases go on by themselves"));
    }
    Actor actor = actor_plain(t, ACCESS_STORE, e->site);
    cells_shared(cta, &actor, b->offset, BARRIER_BYTES);
    order_settle();
    shared_set_barrier(cta, b->offset);
    b->facts = cta_alloc(cta, sizeof *b->facts);
    *b->facts = (BarrierFacts){.component = component_new(cta->cluster, (ComponentOwner){.barrier = b}),
                               .init_component = thread_component(t),
                               .init_epoch = thread_epoch(t),
                               .init_site = e->site,
                               .init_thread = t};
}

ON(phases, MBARRIER_INIT_FENCE) {
    for (int i = 0; i < t->cta->mbarriers->count; i++) {
        BarrierFacts *f = t->cta->mbarriers->list[i]->facts;
        if (f->init_fence == 0 && f->init_thread == t) {
            f->init_fence = t->cta->clock->fences;
        }
    }
}

void phases_touch(Thread *t, Cta *cta, Site site) {
    CtaPhases *p = cta->phases;
    if (cta == t->cta) {
        return;
    }
    if (p->touched == NULL) {
        size_t components = (size_t)cta->cluster->clock->capacity;
        p->touched = cta_alloc(cta, components * sizeof *p->touched);
        p->touched_site = cta_alloc(cta, components * sizeof *p->touched_site);
    }
    p->touched[thread_component(t)] = thread_epoch(t);
    p->touched_site[thread_component(t)] = site;
}

void phases_peer(const Thread *t, int rank, const char *what, Site site) {
    const Cluster *cluster = t->cta->cluster;
    MISUSE_IF(rank < 0 || rank >= cluster->size, RULE_CLUSTER_RANK, site, 1, "%s to CTA %d of a cluster of %d", what,
              rank, cluster->size);
    MISUSE_IF(cluster->cta[rank]->live == 0, RULE_CLUSTER_EXIT, site, 1,
              "%s into CTA %d, all of whose threads have returned", what, cluster->cta[rank]->block);
}

ON(phases, MBARRIER_REACH) {
    check_address(t, e->p, e->site, e->what, e->by_engine);
    phases_peer(t, e->rank, e->what, e->site);
    if (!e->by_engine) {
        phases_touch(t, t->cta->cluster->cta[e->rank], e->site);
    }
}

ON(phases, MBARRIER_USE) {
    const BarrierFacts *f = b->facts;
    /* A relaxed arrival of the cluster carries the fence and nothing else. */
    int by_fence = f->init_fence != 0 && thread_knows(t, b->cta->clock->fence, f->init_fence);
    if (!by_fence && !thread_knows(t, f->init_component, f->init_epoch)) {
        REPORT(RULE_BARRIER_INIT_ORDER, report_place("now", t, e->site, e->what),
               report_place("before", f->init_thread, f->init_site, "mbarrier_init"), report_barrier(b),
               report_line("missing", "a barrier (of the cluster, if there is one) after %s",
                           f->init_fence == 0
                               ? "mbarrier_init; if the cluster's is relaxed, mbarrier_init_fence() before it"
                               : "mbarrier_init_fence()"));
    }
}

/* ---- arrivals and bytes ------------------------------------------------------------------------------------------ */

/* Does the completion come after this wait? By a chain of barriers that leads to its arrivals or to the start of a load
 * that it counts, by what the waiting thread started after it and is known to have come, or by wgmmas that the waiting
 * warp issued after it and that are known to be done. */
static int is_over(const Passed *p, const BarrierFacts *f, const Clock *released) {
    Component waiter = thread_component(p->thread);
    if (clock_tick(released, waiter).known >= p->epoch) {
        return 1;
    }
    for (int i = 0; i < f->loads.count; i++) {
        const Deed *load = &f->loads.list[i];
        if (clock_tick(load->known, waiter).known >= p->epoch ||
            (load->thread == p->thread && load->epoch >= p->epoch)) {
            return 1;
        }
    }
    const StartedLoad *started = p->thread->cta->phases->thread[p->thread->id].loads;
    for (int i = 0; i < LOADS_KEPT && started != NULL; i++) {
        if (started[i].waits >= p->order && clock_tick(released, started[i].component).known >= started[i].value) {
            return 1;
        }
    }
    const Warpgroup *g = p->thread->warp->warpgroup;
    int component = g->cta->clock->warpgroup[g->id];
    uint32_t groups = component >= 0 ? clock_tick(released, (Component)component).known : 0;
    return groups > 0 && g->products->group_end[(groups - 1) % GROUP_HISTORY] > p->products;
}

static void report_stale(const Thread *t, const Barrier *b, Site site, Site before, unsigned long long observed) {
    if (report_begin(RULE_PHASE_STALE)) {
        unsigned long long next = observed, parity = (observed - 1) & 1;
        report_place("now", t, site, "wait");
        report_place("before", t, before, "its last wait on this barrier");
        report_barrier(b);
        if (observed == 0) {
            report_line("phase",
                        "parity %llu again: the fresh barrier let the first wait with it through; phase 0, the "
                        "next one, has parity 0",
                        (unsigned long long)parity);
        } else {
            report_line("phase", "parity %llu again, which was phase %llu; the next one, phase %llu, has parity %llu",
                        (unsigned long long)parity, next - 1, next, (unsigned long long)parity ^ 1);
        }
        report_end(0);
    }
}

void phases_load_races(const Barrier *b) {
    for (int i = 0; i < b->facts->passed_count; i++) {
        const Passed *p = &b->facts->passed[i];
        if (p->repeats) {
            report_stale(p->thread, b, p->site, p->before, b->phase);
            return;
        }
    }
}

/* The thread is about to be accused: has its warp made such a second look before, or another warp? */
static void tell_repeated(const Thread *t) {
    const CtaBarriers *all = t->cta->mbarriers;
    const Passed *first = NULL;
    const Barrier *of = NULL;
    for (int i = 0; i < all->count; i++) {
        const BarrierFacts *f = all->list[i]->facts;
        for (const Passed *p = f->passed; p < f->passed + f->passed_count; p++) {
            const int mine = p->thread->warp == t->warp, is_mine = first != NULL && first->thread->warp == t->warp;
            if (p->repeats && (first == NULL || (mine == is_mine ? p->order < first->order : mine))) {
                first = p;
                of = all->list[i];
            }
        }
    }
    if (first != NULL) {
        report_stale(first->thread, of, first->site, first->before, of->phase);
    }
}

/* The phase completes, or lacks only the bytes of loads that have started. If a wait for the previous phase is not
 * ordered before this, and it was the thread's second wait for that phase although the thread has released it since,
 * the thread has not advanced its phase. */
static void check_repeated(const Barrier *b, const Clock *released) {
    const BarrierFacts *f = b->facts;
    const Passed *repeated = NULL;
    for (int i = 0; i < f->passed_count; i++) {
        const Passed *p = &f->passed[i];
        repeated = p->repeats && (repeated == NULL || !is_over(p, f, released)) ? p : repeated;
    }
    for (int i = 0; i < f->passed_count && repeated != NULL; i++) {
        if (!is_over(&f->passed[i], f, released)) {
            tell_repeated(repeated->thread);
            report_stale(repeated->thread, b, repeated->site, repeated->before, b->phase);
            return;
        }
    }
}

static void check_loads_started(const Barrier *b) {
    if (b->pending == 0 && b->facts->loads.count > 0) {
        check_repeated(b, b->facts->arriving);
    }
}

static void check_arrival(const Thread *t, const Barrier *b, Site site, const char *what) {
    if (b->pending > 0 && (b->phase == 0 || b->facts->observed >= b->phase)) {
        return;
    }
    tell_repeated(t);
    if (report_begin(RULE_ARRIVE_OVERFLOW)) {
        report_place("now", t, site, what);
        report_last_arrival("before", b, "the arrival before this one");
        report_barrier(b);
        if (b->pending == 0) {
            report_line("count", "all %d arrivals of phase %llu have been made", b->expected, b->phase);
        } else {
            report_line("count", "this arrival counts for phase %llu, but no thread has waited for phase %llu yet",
                        b->phase, b->phase - 1);
            report_line("missing",
                        "a wait that tells this thread that the wait for phase %llu is over: for example at a second "
                        "barrier, at which the waiting threads arrive in turn",
                        b->phase - 1);
        }
        report_end(0);
    }
}

static void note_arrival(Thread *t, BarrierFacts *f, unsigned long long phase, Site site) {
    f->arrival[f->arrivals++ % ARRIVAL_HISTORY] = (Deed){.thread = t, .site = site, .phase = phase};
}

/* What an arrival releases. Threads of another CTA get the writes only if arrival and wait have .cluster scope.
 * Otherwise they learn only that the reads and the asynchronous work before the arrival are complete. */
static void release(Thread *t, const Barrier *b, Scope scope) {
    BarrierFacts *f = b->facts;
    const int remote = t->cta != b->cta;
    if (remote && scope == SCOPE_CLUSTER && f->arriving_near == NULL) {
        clock_add(&f->arriving_near, f->arriving);
    }
    if (f->arriving_near != NULL) {
        thread_release_to(t, &f->arriving_near, !remote);
    }
    thread_release_to(t, &f->arriving, !remote || scope == SCOPE_CLUSTER);
}

ON(phases, MBARRIER_ARRIVE) {
    BarrierFacts *f = b->facts;
    check_arrival(t, b, e->site, e->what);
    if (b->pending > 0) {
        note_arrival(t, f, b->phase, e->site);
        t->cta->phases->thread[t->id].arrivals++;
        release(t, b, e->scope);
    }
}

static void note_last_load(const Barrier *b, Thread *t, const char *what, Site site) {
    BarrierFacts *f = b->facts;
    f->load_phase = b->phase + 1 > f->load_phase ? b->phase + 1 : f->load_phase;
    f->load = (Deed){.thread = t, .epoch = thread_epoch(t), .what = what, .site = site};
}

/* The thread has started what is over when this component has this value. */
static void note_started(const Thread *t, Component component, uint32_t value) {
    CtaPhases *p = t->cta->phases;
    StartedLoad load = {component, value, p->thread[t->id].waits};
    if (p->thread[t->id].loads == NULL) {
        p->thread[t->id].loads = cta_alloc(t->cta, LOADS_KEPT * sizeof load);
    }
    StartedLoad *last = &p->thread[t->id].loads[p->thread[t->id].started % LOADS_KEPT];
    if (last->component != load.component || last->value != load.value) {
        last = &p->thread[t->id].loads[++p->thread[t->id].started % LOADS_KEPT];
    }
    *last = load;
}

static const char *copies_arrive_text(GroupKind group) {
    return group == GROUP_COPIES ? "cp.async.mbarrier.arrive" : "tcgen05.commit";
}

/* The arrival says that the copies are complete, and is ordered after everything that the thread did before it
 * requested the arrival; but it releases nothing that the thread has written itself. */
ON(phases, MBARRIER_COPIES) {
    BarrierFacts *f = b->facts;
    uint32_t group = t->groups[e->group].committed + 1;
    note_started(t, group_component(t, e->group), group);
    deed_add(
        b, &f->copies,
        (Deed){.thread = t, .group = e->group, .known = clock_ref(t->clock->base), .epoch = group, .site = e->site});
    note_last_load(b, t, copies_arrive_text(e->group), e->site);
}

ON(phases, MBARRIER_COPIES_ARRIVE) {
    BarrierFacts *f = b->facts;
    int i = 0;
    while (f->copies.list[i].thread != t || f->copies.list[i].group != e->group) {
        i++;
    }
    Deed arrival = f->copies.list[i];
    memmove(&f->copies.list[i], &f->copies.list[i + 1], (size_t)(--f->copies.count - i) * sizeof arrival);
    check_arrival(t, b, arrival.site, copies_arrive_text(e->group));
    if (b->pending > 0) {
        note_arrival(t, f, b->phase, arrival.site);
        Clock **const to[] = {&f->arriving, &f->arriving_near};
        for (int n = 0; n < 1 + (f->arriving_near != NULL); n++) {
            clock_add(to[n], arrival.known);
            clock_raise(*to[n], group_component(t, e->group), arrival.epoch, 0);
        }
    }
    clock_unref(arrival.known);
}

static void check_tx(const Thread *t, const Barrier *b, Site site) {
    if (b->tx > TX_LIMIT || b->tx < -TX_LIMIT) {
        REPORT_LAST(RULE_TX_RANGE, report_place("now", t, site, "transaction count"), report_barrier(b));
    }
}

ON(phases, MBARRIER_ANNOUNCED) {
    int bytes = (int)e->amount;
    BarrierFacts *f = b->facts;
    MISUSE_IF(bytes < 0 || bytes > TX_LIMIT, RULE_TX_RANGE, e->site, 1,
              "expect_tx of %d bytes on %s: accepted are 0 to 1048575", bytes, barrier_text(b, PHRASE));
    if (bytes > 0) {
        deed_add(b, &f->announced, (Deed){.thread = t, .epoch = thread_epoch(t), .site = e->site});
    }
    check_tx(t, b, e->site);
}

static void note_load(const Barrier *b, Thread *t) {
    BarrierFacts *f = b->facts;
    note_started(t, f->component, (uint32_t)b->phase + 1);
    for (int i = 0; i < f->loads.count; i++) {
        if (f->loads.list[i].thread == t) {
            return; /* what it knew at its first one */
        }
    }
    deed_add(b, &f->loads, (Deed){.thread = t, .known = clock_ref(t->clock->base), .epoch = thread_epoch(t)});
}

/* A multicast goes to another CTA: its issuer knows that the previous phase is complete here, but not there. Then
 * a release is missing, which the check of the copies' order reports. */
static int lacks_release(const Thread *t, const Barrier *b, uint32_t meant) {
    int at = t->cta->mbarriers->at[b->offset / BARRIER_BYTES];
    const Barrier *own = at != 0 ? t->cta->mbarriers->list[at - 1] : b;
    return own != b && thread_newest(t, own->facts->component).known > meant;
}

/* A load of `bytes` that this barrier counts. */
static void load_starts(Barrier *b, Thread *t, uint32_t bytes, const char *what, Site site) {
    BarrierFacts *f = b->facts;
    note_load(b, t);
    check_loads_started(b);
    /* A load is meant for the first phase that its issuer does not know to be complete. If that one is over, too few
     * bytes were announced for it. */
    uint32_t meant = thread_newest(t, f->component).known;
    if (b->phase > meant && !lacks_release(t, b, meant)) {
        REPORT(
            RULE_TX_COUNT, report_place("now", t, site, what), report_barrier(b),
            report_line("count",
                        "phase %u of %s is complete already, though this load, which it should count, starts only now: "
                        "fewer bytes were announced, and have landed, than all its loads deliver",
                        meant, barrier_text(b, PHRASE)));
    }
    f->issued += bytes;
    note_last_load(b, t, what, site);
}

ON(phases, TMA_LOAD) {
    for (int i = 0; i < e->load->targets; i++) {
        load_starts(e->load->barrier[i], t, tensor_box_bytes(&e->load->map), e->what, e->site);
    }
}

ON(phases, COPY) {
    if (b != NULL) {
        load_starts(b, t, e->size, e->what, e->site);
    }
}

ON(phases, MBARRIER_LANDED) {
    if (t != NULL) {
        b->facts->load = (Deed){.thread = t, .epoch = thread_epoch(t), .what = "mbarrier_complete_tx", .site = e->site};
    }
    check_tx(b->facts->load.thread, b, b->facts->load.site);
}

static int begin_tx_count(const Barrier *b) {
    if (!report_begin(RULE_TX_COUNT)) {
        return 0;
    }
    char what[PHRASE_SIZE];
    snprintf(what, sizeof what, "%s counted by this barrier", b->facts->load.what);
    report_place("load", b->facts->load.thread, b->facts->load.site, what);
    report_barrier(b);
    return 1;
}

/* All arrivals have come, so nothing more will be announced; if more has landed than was, the phase cannot complete. */
ON(phases, MBARRIER_LACKS_BYTES) {
    if (b->tx < 0 && b->facts->load_phase != 0 && begin_tx_count(b)) {
        report_line("count",
                    "all arrivals of phase %llu have been made, %llu bytes were announced, and %lld more have landed",
                    b->phase, b->announced, -b->tx);
        report_end(0);
    }
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void check_passed(const Barrier *b, const Passed *p, const Clock *released) {
    if (!is_over(p, b->facts, released)) {
        REPORT(RULE_PHASE_SKIPPED, report_place("wait", p->thread, p->site, "wait released by the previous phase"),
               report_barrier(b), report_last_arrival("arrival", b, "completes the phase"),
               report_line(
                   "phase",
                   "phase %llu completes, and nothing orders it after that wait: had the waiting thread been slower, "
                   "it would have found the parity changed and waited for phase %llu instead",
                   b->phase, b->phase));
    }
}

/* An arrival after an announcement holds the phase open for it: the thread's own, or that of one who knows of it. */
static void check_announced(const Barrier *b, const Deed *a, const Clock *released) {
    if (clock_tick(released, thread_component(a->thread)).known < a->epoch) {
        REPORT(RULE_TX_COUNT, report_place("now", a->thread, a->site, "mbarrier_expect_tx"), report_barrier(b),
               report_last_arrival("arrival", b, "nothing orders it after the announcement"),
               report_line(
                   "count",
                   "nothing orders an arrival of phase %llu after the announcement of these bytes: had the earlier "
                   "bytes landed first, the phase would have completed, and these would count for the next",
                   b->phase));
    }
}

ON(phases, MBARRIER_COMPLETE) {
    BarrierFacts *f = b->facts;
    if (b->brought < f->issued && begin_tx_count(b)) {
        report_line(
            "count",
            "phase %llu completes now; its loads deliver %llu bytes, %llu were announced, %llu are still in flight",
            b->phase, f->issued, b->announced, f->issued - b->brought);
        report_end(0);
    }
    Clock *released = f->arriving != NULL ? f->arriving : clock_new();
    check_repeated(b, released);
    for (int i = 0; i < f->passed_count; i++) {
        check_passed(b, &f->passed[i], released);
    }
    f->passed_count = 0;
    for (int i = 0; i < f->announced.count; i++) {
        check_announced(b, &f->announced.list[i], released);
    }
    f->announced.count = 0;
    forget(&f->loads);
    clock_raise(released, f->component, (uint32_t)b->phase + 1, (uint32_t)b->phase + 1);
    clock_unref(f->before);
    f->before = f->released;
    f->before_bytes = f->released_bytes;
    f->released = released;
    f->released_bytes = b->announced > 0 || b->brought > 0;
    clock_unref(f->released_near);
    f->released_near = f->arriving_near;
    if (f->released_near != NULL) {
        clock_raise(f->released_near, f->component, (uint32_t)b->phase + 1, (uint32_t)b->phase + 1);
    }
    f->arriving = f->arriving_near = NULL;
    f->issued = 0;
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Has the thread wrapped around to this barrier? That is: since its last wait or test here, it has waited at another
 * barrier of the array; or, if that was an early test, at all barriers of the array at which it ever waits. */
static int has_come_round(const Thread *t, const Barrier *b, const Passed *last) {
    const CtaBarriers *all = b->cta->mbarriers;
    int others = 0, since = 0;
    for (int i = 0; i < all->count; i++) {
        const Barrier *other = all->list[i];
        const Passed *seen = other->facts->last_wait;
        if (other != b && other->array_number == b->array_number && seen != NULL && seen[t->id].thread != NULL) {
            others++;
            since += seen[t->id].order > last->order;
        }
    }
    return last->asked ? since == others : since > 0 || others == 0;
}

/* A second wait for a phase must be a mistake if the next one has completed, or the thread knows of a load for it. */
static int is_stale(const Thread *t, const Barrier *b, const Passed *last) {
    const BarrierFacts *f = b->facts;
    return b->phase > last->observed ||
           (f->load_phase > last->observed && f->load.thread->cta->cluster == t->cta->cluster &&
            thread_knows(t, thread_component(f->load.thread), f->load.epoch));
}

/* Has the thread released something since, and wrapped around to this barrier? Then this is a repeated wait, unless the
 * next phase cannot complete before this wait ends, which check_repeated() and check_passed() find out. */
static int looks_again(const Thread *t, const Barrier *b, const Passed *last) {
    int handed_on =
        last->arrivals != t->cta->phases->thread[t->id].arrivals || last->groups != t->warp->products->groups;
    return handed_on && has_come_round(t, b, last);
}

/* Does the thread know of every arrival that released this? */
static int knows_arrivals(const Thread *t, const Clock *released, Component completion) {
    for (int c = 0; released != NULL && c < released->count; c++) {
        if (c != completion && released->tick[c].known > thread_newest(t, (Component)c).known) {
            return 0;
        }
    }
    return released != NULL;
}

/* How many phases the thread knows to be complete: from a wait, its own or another thread's, or because it knows of all
 * arrivals of one that counted no bytes. */
static uint64_t phases_known(const Thread *t, const Barrier *b) {
    const BarrierFacts *f = b->facts;
    uint64_t known = clock_tick(t->clock->base, f->component).known;
    if (known < b->phase && !f->released_bytes && knows_arrivals(t, f->released, f->component)) {
        known = b->phase;
    } else if (known + 1 < b->phase && !f->before_bytes && knows_arrivals(t, f->before, f->component)) {
        known = b->phase - 1;
    }
    return known;
}

static int is_unaware(const Thread *t, const Barrier *b, int others) {
    const Passed *last = b->facts->last_wait;
    int seen = !others;
    for (int lane = 0; lane < t->warp->lanes && last != NULL; lane++) {
        const Thread *other = &t->warp->thread[lane];
        seen |= other != t && last[other->id].thread != NULL && last[other->id].observed == b->phase;
    }
    return seen && phases_known(t, b) < b->phase;
}

ON(phases, LAUNCH_BEGIN) { device.is_unaware = is_unaware; }

/* A parity distinguishes a phase only from the next one: a thread that waits must know that the previous is complete.
 * */
static void check_knows_before(const Thread *t, const Barrier *b, uint32_t parity, Site site) {
    unsigned long long phase = (b->phase & 1) == parity ? b->phase : b->phase - 1; /* that ends this wait */
    if (b->phase > 0 && clock_tick(t->clock->base, b->facts->component).known < phase && phases_known(t, b) < phase) {
        REPORT(RULE_PHASE_SKIPPED, report_place("now", t, site, "wait"), report_barrier(b),
               report_last_arrival("arrival", b, "the last one at this barrier"),
               report_line("phase",
                           "it waits for phase %llu by its parity %u, but this thread cannot know that phase %llu is "
                           "complete: had it asked sooner, an older phase of that parity would have let it through",
                           phase, parity, phase - 1));
    }
}

/* Does the thread wait with the parity of its own last wait, though it has done something since, and knows of no newer
 * phase? Then it may not have advanced its phase. */
static int repeats_parity(const Thread *t, const Barrier *b, const Passed *last, uint32_t parity) {
    int idle = last->epoch == thread_epoch(t) && last->groups == t->warp->products->groups; /* a second look at it */
    return !idle && ((last->observed - 1) & 1) == parity &&
           !thread_knows(t, b->facts->component, (uint32_t)last->observed + 1);
}

ON(phases, MBARRIER_WAIT) {
    MISUSE_IF(e->parity > 1, RULE_PHASE_PARITY, e->site, 0,
              "wait at %s with parity %u: accepted are 0 and 1, the number of the phase modulo 2",
              barrier_text(b, PHRASE), e->parity);
    Passed *last = b->facts->last_wait != NULL ? &b->facts->last_wait[t->id] : NULL;
    if (last != NULL && last->thread != NULL && repeats_parity(t, b, last, e->parity & 1)) {
        if (is_stale(t, b, last)) {
            tell_repeated(t);
            report_stale(t, b, e->site, last->site, last->observed);
            return;
        }
        last->repeats = looks_again(t, b, last);
    }
    check_knows_before(t, b, e->parity & 1, e->site);
}

ON(phases, MBARRIER_PASSED) {
    unsigned long long phase = e->phase;
    BarrierFacts *f = b->facts;
    if (b->phase > phase + 1) {
        REPORT(RULE_PHASE_SKIPPED, report_place("now", t, e->site, "wait"), report_barrier(b),
               report_line("phase",
                           "waited for phase %llu; before this thread looked again, phase %llu completed too, and "
                           "the parity is the same as before",
                           phase, phase + 1));
    }
    f->observed = b->phase > f->observed ? b->phase : f->observed;
    if (b->phase == 0) {
        t->cta->phases->thread[t->id].fresh = b;
        t->cta->phases->thread[t->id].fresh_site = e->site;
    }
    f->passed = cta_grow(b->cta, f->passed, f->passed_count + 1, &f->passed_capacity, sizeof *f->passed);
    if (f->last_wait == NULL) {
        f->last_wait = cta_alloc(b->cta, (size_t)b->cta->threads * sizeof *f->last_wait);
    }
    Passed *last = &f->last_wait[t->id];
    f->passed[f->passed_count++] = (Passed){.thread = t,
                                            .asked = e->asked,
                                            .observed = b->phase,
                                            .epoch = thread_epoch(t),
                                            .order = ++t->cta->phases->thread[t->id].waits,
                                            .arrivals = t->cta->phases->thread[t->id].arrivals,
                                            .products = t->warp->products->issued,
                                            .groups = t->warp->products->groups,
                                            .site = e->site,
                                            .repeats = last->repeats,
                                            .before = last->site};
    if (last->repeats) {
        check_loads_started(b);
    }
    *last = f->passed[f->passed_count - 1];
    last->repeats = 0;
    thread_acquire(t, f->released_near != NULL && e->scope == SCOPE_CTA ? f->released_near : f->released);
}

/* ---- the end of a CTA -------------------------------------------------------------------------------------------- */

static void check_left(const Barrier *b) {
    const BarrierFacts *f = b->facts;
    if (f->load_phase > f->observed && report_begin(RULE_EXIT_IN_FLIGHT)) {
        const char *what = strstr(f->load.what, "commit") != NULL ? "commit" : "load";
        report_place(what, f->load.thread, f->load.site, f->load.what);
        report_barrier(b);
        report_line("missing",
                    "all threads of CTA %d have returned, and none has waited for phase %llu of %s, which completes "
                    "when the %s does",
                    b->cta->block, f->load_phase - 1, barrier_text(b, PHRASE), what);
        report_end(0);
    } else if (f->load_phase <= f->observed && b->tx != 0) {
        REPORT(RULE_TX_COUNT, report_barrier(b),
               report_line("count", "all threads of CTA %d have returned, and the phase is still open", b->cta->block));
    }
}

ON(phases, CTA_RETURNED) {
    for (int i = 0; i < cta->mbarriers->count; i++) {
        check_left(cta->mbarriers->list[i]);
    }
    for (int c = 0; cta->phases->touched != NULL && c < cta->cluster->clock->count; c++) {
        if (cta->phases->touched[c] > clock_tick(cta->clock->exit, (Component)c).known) {
            REPORT(RULE_CLUSTER_EXIT,
                   report_place("touched", component_owner(cta->cluster, (Component)c)->thread,
                                cta->phases->touched_site[c], "access to another CTA"),
                   report_line(
                       "missing",
                       "all threads of CTA %d have returned, and none of them has waited for anything that is ordered "
                       "after it",
                       cta->block));
        }
    }
}
