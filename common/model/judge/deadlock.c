/* deadlock.c - when no thread can go on: who waits for what, and who should have brought it.
 *
 * Threads that wait for the same thing at the same place are told together. For an mbarrier the report says what its
 * phase lacks and follows those who have brought such things before, to this barrier or another of its array, to where
 * they are now. */
#include <stdio.h>
#include <string.h>

#include "../core/schedule.h"
#include "../place/place.h"
#include "bug_report.h"
#include "phases.h"

enum { MAX_GROUPS = 16 };

/* The n-th thread of all clusters that run; NULL: there are fewer. */
static const Thread *thread_at(int n) {
    for (int c = 0; c < device.clusters; c++) {
        const Cluster *cluster = device.cluster[c];
        const int threads = cluster->launch->block;
        if (n < cluster->size * threads) {
            return &cluster->cta[n / threads]->thread[n % threads];
        }
        n -= cluster->size * threads;
    }
    return NULL;
}

/* CTAs that have not begun. */
static int waiting_ctas(void) {
    int waiting = 0;
    for (int i = 0; i < device.launched; i++) {
        waiting += device.launch[i].end_block - device.launch[i].next_block;
    }
    return waiting;
}

static int same_wait(const Thread *x, const Thread *y) {
    const Wait *a = &x->wait, *b = &y->wait;
    return x->cta == y->cta && a->kind == b->kind && a->site == b->site && a->barrier == b->barrier &&
           a->phase == b->phase && a->id == b->id && a->cta == b->cta && a->address == b->address &&
           (a->kind != WAIT_WARP || x->warp == y->warp) &&
           (a->kind != WAIT_WARPGROUP || x->warp->warpgroup == y->warp->warpgroup);
}

/* Where a thread is now, as part of a sentence. */
static const char *whereabouts(const Thread *t, char *text) {
    const Wait *wait = &t->wait;
    if (t->state == THREAD_EXITED) {
        snprintf(text, PHRASE_SIZE, "it has returned from the kernel");
        return text;
    }
    const char *place = place_text(wait->site);
    switch (wait->kind) {
    case WAIT_MBARRIER:
    case WAIT_POLL:
        snprintf(text, PHRASE_SIZE, "it is itself waiting for phase %llu of %s at %s", wait->phase,
                 barrier_text(wait->barrier, PHRASE), place);
        break;
    case WAIT_NAMED: snprintf(text, PHRASE_SIZE, "it is itself waiting at barrier %d, %s", wait->id, place); break;
    default: snprintf(text, PHRASE_SIZE, "it is itself waiting in %s at %s", wait->what, place);
    }
    return text;
}

static int arrived_in_phase(const Barrier *b, const Thread *t) {
    int arrived = 0;
    for (int k = 0; k < ARRIVAL_HISTORY; k++) {
        arrived |= b->facts->arrival[k].thread == t && b->facts->arrival[k].phase == b->phase;
    }
    return arrived;
}

/* Tells at most four threads that have arrived at barriers of this one's array before: those at this barrier first, and
 * of one barrier the newest first. */
static void tell_contributors(const Barrier *b) {
    const Thread *told[4];
    int count = 0;
    for (int i = -1; i < b->cta->mbarriers->count; i++) {
        const Barrier *at = i < 0 ? b : b->cta->mbarriers->list[i];
        const BarrierFacts *f = at->facts;
        for (uint32_t k = 1; at->array_number == b->array_number && k <= ARRIVAL_HISTORY && k <= f->arrivals; k++) {
            const Deed *arrival = &f->arrival[(f->arrivals - k) % ARRIVAL_HISTORY];
            int known = 0;
            for (int n = 0; n < count; n++) {
                known |= told[n] == arrival->thread;
            }
            if (!known && count < 4) {
                told[count++] = arrival->thread;
                report_line("", "%s %s %s (%s): %s", thread_text(arrival->thread, PHRASE),
                            arrived_in_phase(b, arrival->thread) ? "has arrived at" : "arrived before at",
                            barrier_text(at, PHRASE), place_text(arrival->site), whereabouts(arrival->thread, PHRASE));
            }
        }
    }
    if (count == 0) {
        report_line("",
                    "no thread has arrived at %s yet: either no thread has reached an arrival, or the thread that "
                    "would arrive is itself waiting",
                    barrier_text(b, PHRASE));
    }
}

static void explain_mbarrier(const Thread *t) {
    const Barrier *b = t->wait.barrier;
    if (b->pending > 0 && b->tx != 0) {
        report_line("", "%d of %d arrivals are missing, and the tx-count is %+lld", b->pending, b->expected, b->tx);
    } else if (b->pending > 0) {
        report_line("", "%d of %d arrivals are missing%s", b->pending, b->expected,
                    b->announced > 0 ? "; the bytes are complete" : "");
    }
    if (b->tx > 0) {
        report_line("", "%s%lld bytes are missing: %llu announced, %llu delivered by loads",
                    b->pending > 0 ? "" : "all arrivals have come, ", b->tx, b->announced, b->brought);
    } else if (b->tx < 0) {
        report_line("", "loads have delivered %lld bytes more than were announced", -b->tx);
    }
    tell_contributors(b);
}

static void explain_named(const Thread *t) {
    const NamedBarrier *b = &t->cta->named[t->wait.id];
    report_line("", "%d of %d threads have arrived at barrier %d", b->arrived, b->expected, t->wait.id);
    if (!b->uses_all) {
        return;
    }
    /* One absent thread of each kind. */
    const Thread *last = NULL;
    int told = 0;
    for (int i = 0; i < t->cta->threads && told < 3; i++) {
        const Thread *other = &t->cta->thread[i];
        if (other->state == THREAD_EXITED || (other->wait.kind == WAIT_NAMED && other->wait.id == t->wait.id)) {
            continue;
        }
        if (last == NULL || !same_wait(last, other)) {
            report_line("", "absent: %s; %s", thread_text(other, PHRASE), whereabouts(other, PHRASE));
            told++;
        }
        last = other;
    }
}

/* The warp-wide instruction at which the thread waits. */
static WarpPart part_of(const Thread *t) {
    const WarpCollective *m = t->warp->collective;
    int i = -1;
    while (i + 1 < m->parts && !(warp_part(m, i).arrived >> t->lane & 1)) {
        i++;
    }
    return warp_part(m, i);
}

static void explain_warp(const Thread *t) {
    const Warp *w = t->warp;
    WarpPart part = part_of(t);
    for (int lane = 0; lane < w->lanes; lane++) {
        if ((part.mask & ~part.arrived) >> lane & 1) {
            report_line("", "absent: lane %d; %s", lane, whereabouts(&w->thread[lane], PHRASE));
            break;
        }
    }
}

static void explain_warpgroup(const Thread *t) {
    const Warpgroup *g = t->warp->warpgroup;
    for (int i = g->id * 4; i < g->id * 4 + 4 && i < t->cta->warps; i++) {
        const Thread *other = &t->cta->warp[i].thread[0];
        if (!same_wait(t, other) && other->warp != t->warp) {
            report_line("", "absent: %s; %s", thread_text(other, PHRASE), whereabouts(other, PHRASE));
        }
    }
}

static void explain_registers(const Thread *t) {
    report_line("", "the warp needs %d registers, %d are in the CTA's pool; warps of this CTA own:", t->wait.amount,
                t->cta->registers->free);
    for (int i = 0; i < t->cta->warps; i += 4) {
        report_line("", "  warpgroup %d: %d registers a thread", i / 4, t->cta->warp[i].registers);
    }
}

/* "word 3 of counter", or the member of shared memory. */
static const char *word_text(const Thread *t, char *text) {
    const Wait *wait = &t->wait;
    const Allocation *a = global_find((uintptr_t)wait->address, 0);
    char name[PHRASE_SIZE];
    if (a != NULL) {
        snprintf(text, PHRASE_SIZE, "word %lld of %.200s", (long long)((uintptr_t)wait->address - a->begin) / 4,
                 allocation_text(a, name));
        return text;
    }
    uint32_t offset = shared_offset(t->cta, wait->address);
    SHARED_TEXT(launch_of(t->cta), offset, name, sizeof name);
    snprintf(text, PHRASE_SIZE, "byte %u of shared memory%s%.200s", offset, *name != '\0' ? ", " : "", name);
    return text;
}

static void explain_counter(const Thread *t, const char *place, const char *who) {
    char amount[40] = "";
    if (t->wait.knows) {
        snprintf(amount, sizeof amount, ", until it is %d or more", t->wait.wanted);
    }
    report_line("waiting", "%s: %s, polls a counter whose value is %d%s: %s", place, who, (int)t->wait.value, amount,
                word_text(t, PHRASE));
    if (waiting_ctas() == 0) {
        report_line("", "no thread is left that could change it");
    }
}

static void explain(const Thread *t, int count) {
    const Wait *wait = &t->wait;
    const char *place = place_text(wait->site), *who = threads_text(t, count, PHRASE);
    char text[2 * PHRASE_SIZE];
    switch (wait->kind) {
    case WAIT_MBARRIER:
    case WAIT_POLL:
        snprintf(text, sizeof text, "for phase %llu of %s (parity %u)", wait->phase,
                 barrier_text(wait->barrier, PHRASE), wait->parity);
        break;
    case WAIT_WARP: snprintf(text, sizeof text, "for the rest of the warp at %s", wait->what); break;
    case WAIT_WARPGROUP: snprintf(text, sizeof text, "for the other warps of the warpgroup at %s", wait->what); break;
    case WAIT_CLUSTER:
        snprintf(text, sizeof text, "for the cluster barrier: %d of %d threads have arrived",
                 t->cta->cluster->barrier->arrived, t->cta->cluster->live);
        break;
    case WAIT_PEER:
        snprintf(text, sizeof text, "%s of a pair: for a warp of the other CTA to execute the same", wait->what);
        break;
    case WAIT_INIT:
        snprintf(text, sizeof text, "%s on byte %d of the shared memory of CTA %d, where there is no barrier",
                 wait->what, wait->id, wait->cta->block);
        break;
    case WAIT_COUNTER: explain_counter(t, place, who); return;
    case WAIT_NONE: return;
    default: snprintf(text, sizeof text, "%s", wait->what);
    }
    static void (*const more[])(const Thread *) = {[WAIT_MBARRIER] = explain_mbarrier,
                                                   [WAIT_POLL] = explain_mbarrier,
                                                   [WAIT_NAMED] = explain_named,
                                                   [WAIT_WARP] = explain_warp,
                                                   [WAIT_WARPGROUP] = explain_warpgroup,
                                                   [WAIT_REGISTERS] = explain_registers,
                                                   [WAIT_INIT] = NULL};
    report_line("waiting", "%s: %s, %s", place, who, text);
    if (more[wait->kind] != NULL) {
        more[wait->kind](t);
    }
}

/* A wgmma that some warps have issued, and others not. */
static void explain_products(const Cta *cta) {
    for (int g = 0; g < cta->warpgroups; g++) {
        const WarpgroupProducts *p = cta->warpgroup[g].products;
        const Product *product = p->first < p->issued ? product_at(p, p->first) : NULL;
        if (product != NULL && product->issued_by != 15) {
            char have[40] = "", have_not[40] = "", of[PHRASE_SIZE];
            for (int i = 0; i < 4; i++) {
                char *list = product->issued_by >> i & 1 ? have : have_not;
                snprintf(list + strlen(list), 40 - strlen(list), "%s%d", *list != '\0' ? ", " : "", 4 * g + i);
            }
            report_line("product",
                        "%s: warps %s of %s have issued a wgmma that all four warps of a warpgroup issue; not so: %s",
                        place_text(product->site), have, cta_text(cta, of), have_not);
        }
    }
}

/* Who would give registers back polls before it does. */
static int polls_before_release(const Cta *cta, const Thread *poller) {
    for (int i = 0; i < cta->threads; i++) {
        if (cta->thread[i].state == THREAD_BLOCKED && cta->thread[i].wait.kind == WAIT_REGISTERS) {
            return poller->warp->registers == cta->thread[i].warp->registers;
        }
    }
    return 0;
}

/* What kind of wait is the cause, if the graph says so: mbarriers first. */
static ModelRule verdict(void) {
    int others = 0, polls = 0, registers = 0, uninitialised = 0, held = 0;
    const Thread *t;
    for (int n = 0; (t = thread_at(n)) != NULL; n++) {
        if (t->state == THREAD_BLOCKED) {
            int together = t->wait.kind == WAIT_WARP || t->wait.kind == WAIT_WARPGROUP;
            int poll = t->wait.kind == WAIT_COUNTER || t->wait.kind == WAIT_POLL;
            polls += poll;
            held |= t->wait.kind == WAIT_COUNTER && polls_before_release(t->cta, t);
            registers += t->wait.kind == WAIT_REGISTERS;
            uninitialised += t->wait.kind == WAIT_INIT;
            others += !together && !poll && t->wait.kind != WAIT_REGISTERS;
        }
    }
    return uninitialised > 0        ? RULE_BARRIER_UNINIT
           : registers > 0 && !held ? RULE_SETMAXNREG
           : polls > 0              ? RULE_LIVELOCK
           : others == 0            ? RULE_CONVERGENCE
                                    : RULE_DEADLOCK;
}

/* The groups tell of another cluster of its launch already. */
static int is_elsewhere(const Cluster *cluster, const Thread *const *group, int groups) {
    for (int g = 0; g < groups; g++) {
        if (group[g]->cta->cluster->launch == cluster->launch) {
            return group[g]->cta->cluster != cluster;
        }
    }
    return 0;
}

ON(deadlock, STUCK) {
    const Thread *group[MAX_GROUPS];
    int count[MAX_GROUPS], groups = 0, more = 0, elsewhere = 0, exited = 0, total = 0;
    for (const Thread *t; (t = thread_at(total)) != NULL; total++) {
        if (t->state != THREAD_BLOCKED) {
            exited++;
            continue;
        }
        WarpPart part = part_of(t);
        if (t->wait.kind == WAIT_WARP && (part.arrived & part.mask) == part.mask) {
            continue; /* all have come: they wait for the lane that does the work, which is told of */
        }
        if (is_elsewhere(t->cta->cluster, group, groups) && t->wait.kind != WAIT_COUNTER) {
            elsewhere++; /* the same story again */
            continue;
        }
        int g = 0;
        while (g < groups && !same_wait(group[g], t)) {
            g++;
        }
        if (g < groups) {
            count[g]++;
        } else if (groups < MAX_GROUPS) {
            group[groups] = t;
            count[groups++] = 1;
        } else {
            more++;
        }
    }
    const ModelRule rule = verdict();
    report_begin_last(rule);
    for (int c = 0; c < device.clusters; c++) {
        for (int rank = 0; rank < device.cluster[c]->size; rank++) {
            explain_products(device.cluster[c]->cta[rank]);
        }
    }
    for (int causes = 1; causes >= 0; causes--) {
        for (int g = 0; g < groups; g++) {
            if ((rule == RULE_LIVELOCK && group[g]->wait.kind == WAIT_COUNTER) == causes) {
                explain(group[g], count[g]);
            }
        }
    }
    if (more > 0) {
        report_line("and", "%d more threads wait", more);
    }
    if (elsewhere > 0) {
        report_line("and", "%d threads of other %s wait", elsewhere,
                    group[0]->cta->cluster->size > 1 ? "clusters" : "CTAs");
    }
    if (rule == RULE_LIVELOCK && waiting_ctas() > 0) {
        report_line("absent",
                    "%d CTAs of the grid have not begun: each of the %d SMs has one that does not end. CTAs that wait "
                    "for each other must all fit on the SMs at once",
                    waiting_ctas(), device.devices * device.sms);
    }
    report_line("ended", "%d of %d threads have returned from the kernel; no copy or product is on its way", exited,
                total);
    report_end(1);
    model_stop();
}
