/* mbarrier.c - barriers in shared memory that count arrivals and bytes, with the exact state of the hardware's.
 *
 * The state is kept beside the 8 bytes that stand for it in shared memory; what writes there is reported. A phase
 * releases what its arrivals release, and one more: its completion itself is a component of the clocks, by which the
 * loads that it counts are known to be over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "../launch.h"
#include "../model.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../judge/shadow.h"
#include "../sync.h"
#include "../tell/steps.h"

enum { BARRIER_BYTES = 8 };

/* ---- --barriers -------------------------------------------------------------------------------------------------- */

void mbarrier_event(const Barrier *b, const char *event, long long amount) {
    static uint32_t shown_launch;
    char text[64];
    if (!device.options.barriers) {
        return;
    }
    if (shown_launch != device.launches) {
        shown_launch = device.launches;
        printf("%8s %4s %-12s %-24s %6s  %9s %9s  %9s %9s\n", "step", "CTA", "barrier", "event", "phase",
               "arrivals:", "", "bytes:", "");
        printf("%8s %4s %-12s %-24s %6s  %9s %9s  %9s %9s\n", "", "", "", "", "", "expected", "actual", "expected",
               "actual");
    }
    snprintf(text, sizeof text, event, amount);
    printf("%8llu %4d %-12s %-24s %6llu  %9d %9d  %9llu %9llu\n", (unsigned long long)device.step, b->cta->block,
           b->name, text, (unsigned long long)b->phase, b->expected, b->expected - b->pending,
           (unsigned long long)b->announced, (unsigned long long)b->brought);
}

/* ---- finding and making them ------------------------------------------------------------------------------------- */

Barrier *mbarrier_find(Cta *cta, uint32_t offset) {
    uint16_t index = cta->barrier_at[offset / BARRIER_BYTES];
    return index != 0 ? cta->barrier[index - 1] : NULL;
}

uint32_t mbarrier_offset(Thread *t, const void *bar, const char *what, Site site) {
    uint32_t offset = shared_offset(t, bar, BARRIER_BYTES, what, site);
    if (offset % BARRIER_BYTES != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s at byte %u of shared memory: an mbarrier is 8-byte aligned", what,
                      offset);
    }
    return offset;
}

/* "s->full" gives "full", "&s->full[i]" too; *index: the number given in brackets by the caller is not known here. */
static void short_name(const char *expression, char *name, size_t size) {
    const char *begin = expression + strspn(expression, "&( ");
    for (const char *p = begin; *p != '\0' && *p != '['; p++) {
        if (*p == '.' || (*p == '>' && p > begin && p[-1] == '-')) {
            begin = p + 1;
        }
    }
    snprintf(name, size, "%.*s", (int)strcspn(begin, "[ )"), begin);
}

static Barrier *barrier_new(Thread *t, uint32_t offset, int arrivals, Site site) {
    Cta *cta = t->cta;
    if (cta->barriers == cta->barriers_capacity) {
        cta->barriers_capacity = cta->barriers_capacity > 0 ? 2 * cta->barriers_capacity : 16;
        cta->barrier = model_realloc(cta->barrier, (size_t)cta->barriers_capacity * sizeof(Barrier *));
    }
    Barrier *b = model_alloc_zero(sizeof *b);
    cta->barrier[cta->barriers++] = b;
    cta->barrier_at[offset / BARRIER_BYTES] = (uint16_t)cta->barriers;
    b->cta = cta;
    b->offset = offset;
    b->expected = b->pending = arrivals;
    b->component = cluster_component(cta->cluster, NULL, b, NULL);
    b->init_component = thread_component(t);
    b->init_epoch = thread_epoch(t);
    b->init_site = site;
    b->init_thread = t;
    return b;
}

void model_mbarrier_init(void *bars, int how_many, int arrivals, const char *expression, const char *here) {
    Thread *t = current_thread();
    Cta *cta = t->cta;
    Site site = site_of(here);
    char name[32];
    if (how_many < 1 || arrivals < 1 || arrivals > TX_LIMIT) {
        report_misuse(RULE_BARRIER_UNINIT, site, 1,
                      "mbarrier_init of %d barriers with %d arrivals: accepted are 1 or more "
                      "barriers with 1 to 1048575 arrivals",
                      how_many, arrivals);
    }
    short_name(expression, name, sizeof name);
    int first = 0;
    int single = how_many == 1 && strchr(expression, '[') == NULL;
    for (int i = 0; i < cta->barriers && !single; i++) {
        /* Initialised one by one: the next of the same name. */
        first += strncmp(cta->barrier[i]->name, name, strlen(name)) == 0 && cta->barrier[i]->name[strlen(name)] == '[';
    }
    int array = cta->barrier_arrays++;
    for (int i = 0; i < how_many; i++) {
        uint32_t offset = mbarrier_offset(t, (uint8_t *)bars + (size_t)i * BARRIER_BYTES, "mbarrier_init", site);
        Barrier *old = mbarrier_find(cta, offset);
        if (old != NULL) {
            if (report_begin(RULE_BARRIER_REINIT)) {
                report_place("now", t, site, "mbarrier_init");
                report_place("before", old->init_thread, old->init_site, "mbarrier_init of the same 8 bytes");
                report_barrier(old);
                report_end(1);
            }
            model_stop();
        }
        Actor actor = actor_plain(t, ACCESS_PLAIN_WRITE, site);
        shadow_write(cta, &actor, offset, BARRIER_BYTES);
        shadow_set_barrier(cta, offset, 1);
        Barrier *b = barrier_new(t, offset, arrivals, site);
        b->array = array;
        if (single) {
            snprintf(b->name, sizeof b->name, "%s", name);
        } else {
            snprintf(b->name, sizeof b->name, "%s[%d]", name, first + i);
        }
        mbarrier_event(b, "init", 0);
        observe_barriers(b, how_many, arrivals);
        for (int rank = 0; rank < cta->cluster->size; rank++) {
            for (int id = 0; id < cta->threads; id++) {
                Thread *waiting = &cta->cluster->cta[rank]->thread[id];
                if (waiting->state == THREAD_BLOCKED && waiting->wait.kind == WAIT_INIT && waiting->wait.cta == cta &&
                    waiting->wait.id == (int)offset) {
                    thread_wake(waiting);
                }
            }
        }
    }
}

void model_mbarrier_init_fence(const char *here) {
    Thread *t = current_thread();
    Cta *cta = t->cta;
    (void)here;
    if (cta->fences++ == 0) {
        cta->fence_component = cluster_component(cta->cluster, t, NULL, NULL);
    }
    int own = thread_own_component(t, cta->fence_component);
    t->clock.own[own].tick.known = cta->fences;
    for (int i = 0; i < cta->barriers; i++) {
        Barrier *b = cta->barrier[i];
        if (b->init_fence == 0 && b->init_thread == t) {
            b->init_fence = cta->fences;
        }
    }
}

Barrier *mbarrier_use_in(Thread *t, Cta *cta, uint32_t offset, Site site, const char *what) {
    Barrier *b = mbarrier_find(cta, offset);
    while (b == NULL) {
        /* Somebody may still initialise it; then the report is that this is not ordered. If not, all threads will
         * wait. */
        thread_block(t, (Wait){.kind = WAIT_INIT, .site = site, .what = what, .id = (int)offset, .cta = cta});
        b = mbarrier_find(cta, offset);
    }
    int by_fence = b->init_fence != 0 && thread_knows(t, cta->fence_component, b->init_fence);
    int known = by_fence || thread_knows(t, b->init_component, b->init_epoch);
    if (!known || (cta != t->cta && !by_fence)) {
        if (report_begin(RULE_BARRIER_INIT_ORDER)) {
            report_place("now", t, site, what);
            report_place("before", b->init_thread, b->init_site, "mbarrier_init");
            report_barrier(b);
            report_line("missing", b->init_fence == 0
                                       ? "mbarrier_init_fence() by the thread that initialises, and a barrier "
                                         "(of the cluster, if there is one) after it"
                                       : "a barrier (of the cluster, if there is one) after "
                                         "mbarrier_init_fence()");
            report_end(0);
        }
    }
    return b;
}

Barrier *mbarrier_use(Thread *t, const void *bar, Site site, const char *what) {
    uint32_t offset = mbarrier_offset(t, bar, what, site);
    return mbarrier_use_in(t, t->cta, offset, site, what);
}

void mbarrier_check_fenced(Thread *t, Barrier *b, Site site, const char *what) {
    if (b->init_fence == 0 && !device.options.lenient && report_begin(RULE_BARRIER_INIT_ORDER)) {
        report_place("now", t, site, what);
        report_place("before", b->init_thread, b->init_site, "mbarrier_init");
        report_barrier(b);
        report_line("missing",
                    "mbarrier_init_fence() by the thread that initialises: it is what publishes the barrier to "
                    "the copy engine");
        report_end(0);
    }
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void check_completion(Barrier *b) {
    if (b->brought >= b->issued) {
        return;
    }
    if (report_begin(RULE_TX_COUNT)) {
        report_place("load", b->load_thread, b->load_site, "TMA load counted by this barrier");
        report_barrier(b);
        report_line("count",
                    "phase %llu completes now; its loads bring %llu bytes, %llu were announced, %llu are still on "
                    "their way",
                    (unsigned long long)b->phase, (unsigned long long)b->issued, (unsigned long long)b->announced,
                    (unsigned long long)(b->issued - b->brought));
        report_end(0);
    }
}

/* Does the completion come after this wait? By a chain of barriers, or by wgmmas that the waiting warp issued after it
 * and that are known to be done. */
static int is_over(const Observer *o, const Clock *released) {
    if (clock_tick(released, thread_component(o->thread)).known >= o->epoch) {
        return 1;
    }
    const Warpgroup *g = o->thread->warp->warpgroup;
    uint32_t groups = g->component >= 0 ? clock_tick(released, (Component)g->component).known : 0;
    return groups > 0 && g->group_end[(groups - 1) % GROUP_HISTORY] > o->products;
}

static void check_observers(Barrier *b, const Clock *released) {
    for (int i = 0; i < b->observers; i++) {
        const Observer *o = &b->observer[i];
        if (!is_over(o, released) && !device.options.lenient && report_begin(RULE_PHASE_SKIPPED)) {
            report_place("wait", o->thread, o->site, "wait that the phase before lets through");
            report_barrier(b);
            if (b->arrival_count > 0) {
                uint32_t last = (b->arrival_count - 1) % BARRIER_HISTORY;
                report_place("arrival", b->arrival[last].thread, b->arrival[last].site, "completes the phase");
            }
            report_line("phase",
                        "phase %llu completes, and nothing makes it come after that wait: had the waiting thread been "
                        "slower, it would have found the parity changed, and waited for phase %llu instead",
                        (unsigned long long)b->phase, (unsigned long long)b->phase);
            report_end(0);
        }
    }
    b->observers = 0;
}

/* All arrivals have come, so nothing more will be announced, and more has landed than was: the phase cannot
 * complete. */
static void check_surplus(const Barrier *b) {
    if (b->tx >= 0 || b->load_phase == 0 || !report_begin(RULE_TX_COUNT)) {
        return;
    }
    report_place("load", b->load_thread, b->load_site, "TMA load counted by this barrier");
    report_barrier(b);
    report_line("count", "all arrivals of phase %llu have come, %llu bytes were announced, and %lld more have landed",
                (unsigned long long)b->phase, (unsigned long long)b->announced, (long long)-b->tx);
    report_end(0);
}

static void try_complete(Barrier *b) {
    if (b->pending != 0) {
        return;
    }
    if (b->tx != 0) {
        check_surplus(b);
        return;
    }
    check_completion(b);
    Clock *released = b->arriving != NULL ? b->arriving : clock_new();
    check_observers(b, released);
    clock_raise(released, b->component, (uint32_t)b->phase + 1, (uint32_t)b->phase + 1);
    clock_unref(b->released);
    b->released = released;
    b->released_time = b->arriving_time;
    b->arriving = NULL;
    b->arriving_time = 0;
    mbarrier_event(b, "phase complete", 0);
    b->phase++;
    count_add(COUNT_MBARRIER_PHASES, 1);
    b->pending = b->expected;
    b->announced = b->brought = b->issued = 0;
    device.poll_wakes = 0;
    threads_wake(&b->waiters);
    pollers_wake(b);
}

static void check_tx(Thread *t, const Barrier *b, Site site) {
    if (b->tx > TX_LIMIT || b->tx < -TX_LIMIT) {
        if (report_begin(RULE_TX_RANGE)) {
            report_place("now", t, site, "transaction count");
            report_barrier(b);
            report_end(1);
        }
        model_stop();
    }
}

void mbarrier_complete_tx(Barrier *b, uint32_t bytes, uint64_t time) {
    b->tx -= bytes;
    b->brought += bytes;
    b->arriving_time = time > b->arriving_time ? time : b->arriving_time;
    check_tx(b->load_thread, b, b->load_site);
    mbarrier_event(b, "%lld bytes landed", bytes);
    try_complete(b);
}

static void remember_arrival(Barrier *b, Thread *t, Site site) {
    uint32_t i = b->arrival_count++ % BARRIER_HISTORY;
    b->arrival[i].thread = t;
    b->arrival[i].site = site;
    b->arrival[i].phase = b->phase;
}

static void announce(Thread *t, Barrier *b, int bytes, Site site) {
    if (bytes < 0 || bytes > TX_LIMIT) {
        report_misuse(RULE_TX_RANGE, site, 1, "expect_tx of %d bytes on %s: accepted are 0 to 1048575", bytes, b->name);
    }
    b->tx += bytes;
    b->announced += (uint64_t)bytes;
    observe_announcement(b, bytes);
    check_tx(t, b, site);
}

static void arrive(Thread *t, Barrier *b, Site site, const char *what) {
    if (b->pending == 0 || (b->phase > 0 && b->observed < b->phase)) {
        if (report_begin(RULE_ARRIVE_OVERFLOW)) {
            report_place("now", t, site, what);
            if (b->arrival_count > 0) {
                uint32_t last = (b->arrival_count - 1) % BARRIER_HISTORY;
                report_place("before", b->arrival[last].thread, b->arrival[last].site, "the arrival before this one");
            }
            report_barrier(b);
            if (b->pending == 0) {
                report_line("count", "all %d arrivals of phase %llu have come", b->expected,
                            (unsigned long long)b->phase);
            } else {
                report_line("count", "this arrival is for phase %llu, but nobody has waited for phase %llu yet",
                            (unsigned long long)b->phase, (unsigned long long)b->phase - 1);
            }
            report_end(0);
        }
        if (b->pending == 0) {
            return;
        }
    }
    count_add(COUNT_MBARRIER_ARRIVALS, 1);
    remember_arrival(b, t, site);
    b->arriving_time = t->time > b->arriving_time ? t->time : b->arriving_time;
    thread_release(t, &b->arriving);
    b->pending--;
}

void model_mbarrier_arrive(void *bar, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_arrive");
    arrive(t, b, site, "mbarrier_arrive");
    mbarrier_event(b, "arrive", 0);
    try_complete(b);
    thread_pause(t);
}

void model_mbarrier_arrive_remote(void *bar, int rank, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Cluster *cluster = t->cta->cluster;
    uint32_t offset = mbarrier_offset(t, bar, "mbarrier_arrive_remote", site);
    if (rank < 0 || rank >= cluster->size) {
        report_misuse(RULE_CLUSTER_RANK, site, 1, "mbarrier_arrive_remote to CTA %d of a cluster of %d", rank,
                      cluster->size);
    }
    Cta *cta = cluster->cta[rank];
    cluster_touch(t, cta, site, "mbarrier_arrive_remote");
    Barrier *b = mbarrier_use_in(t, cta, offset, site, "mbarrier_arrive_remote");
    arrive(t, b, site, "mbarrier_arrive_remote");
    mbarrier_event(b, "arrive from CTA %lld", t->cta->block);
    try_complete(b);
    thread_pause(t);
}

void model_mbarrier_expect_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_expect_tx");
    announce(t, b, bytes, site);
    mbarrier_event(b, "expect_tx %lld", bytes);
    try_complete(b);
}

void model_mbarrier_arrive_expect_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_arrive_expect_tx");
    announce(t, b, bytes, site);
    arrive(t, b, site, "mbarrier_arrive_expect_tx");
    mbarrier_event(b, "arrive.expect_tx %lld", bytes);
    try_complete(b);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

void model_mbarrier_complete_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_complete_tx");
    b->load_thread = t;
    b->load_site = site;
    mbarrier_complete_tx(b, (uint32_t)bytes, 0);
}

void model_mbarrier_arrive_count(void *bar, int count, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_arrive");
    for (int i = 0; i < count; i++) {
        arrive(t, b, site, "mbarrier_arrive");
    }
    mbarrier_event(b, "arrive %lld", count);
    try_complete(b);
}

/* The thread waits with the parity of its own last wait, though it has done something since, and knows of no newer
 * phase: it has not advanced its phase. */
static void check_stale(Thread *t, Barrier *b, uint32_t parity, Site site) {
    if (b->last_wait == NULL) {
        return;
    }
    const LastWait *last = &b->last_wait[t->id];
    int idle = last->epoch == thread_epoch(t) && last->groups == t->warp->groups; /* a second look at the same phase */
    if (last->waited && !idle && ((last->observed - 1) & 1) == parity &&
        !thread_knows(t, b->component, (uint32_t)last->observed + 1) && report_begin(RULE_PHASE_STALE)) {
        report_place("now", t, site, "wait");
        report_place("before", t, last->site, "its last wait on this barrier");
        report_barrier(b);
        if (last->observed == 0) {
            report_line("phase",
                        "parity %u again: the first wait with it was let through by the fresh barrier; phase 0, the "
                        "next one, has parity 0",
                        parity);
        } else {
            report_line("phase", "parity %u again, which was phase %llu; the next one, phase %llu, has parity %u",
                        parity, (unsigned long long)last->observed - 1, (unsigned long long)last->observed, parity ^ 1);
        }
        report_end(0);
    }
}

/* The thread has seen the phase before b->phase complete. */
static void observe(Thread *t, Barrier *b, uint64_t begin, Site site) {
    if (b->phase > b->observed) {
        b->observed = b->phase;
    }
    if (b->observers == b->observers_capacity) {
        b->observers_capacity = b->observers_capacity > 0 ? 2 * b->observers_capacity : 16;
        b->observer = model_realloc(b->observer, (size_t)b->observers_capacity * sizeof *b->observer);
    }
    b->observer[b->observers++] = (Observer){t, thread_epoch(t), t->warp->products, site};
    if (b->last_wait == NULL) {
        b->last_wait = model_alloc_zero((size_t)b->cta->threads * sizeof *b->last_wait);
    }
    b->last_wait[t->id] = (LastWait){1, b->phase, thread_epoch(t), t->warp->groups, site};
    count_add(COUNT_MBARRIER_WAITS, 1);
    thread_acquire(t, b->released);
    t->time = (b->released_time > t->time ? b->released_time : t->time) + COST_WAIT;
    trace_wait(t, TRACE_WAIT, begin, t->time, (int)((b->phase + 1) & 1), b);
}

int model_mbarrier_test_wait_parity(void *bar, uint32_t parity, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_test_wait_parity");
    check_stale(t, b, parity & 1, site);
    if ((b->phase & 1) == (parity & 1) && t->poll_address == b && t->poll_version == b->phase) {
        /* Asked again, and nothing has changed: a loop. */
        poll_wait(t, (Wait){.kind = WAIT_POLL,
                            .site = site,
                            .what = "mbarrier_test_wait_parity in a loop",
                            .barrier = b,
                            .phase = b->phase,
                            .parity = parity & 1});
    }
    t->poll_address = b;
    t->poll_version = b->phase;
    if ((b->phase & 1) == (parity & 1)) {
        return 0;
    }
    observe(t, b, t->time, site);
    thread_pause(t);
    return 1;
}

void model_mbarrier_wait_parity(void *bar, uint32_t parity, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    uint64_t begin = t->time;
    Barrier *b = mbarrier_use(t, bar, site, "mbarrier_wait_parity");
    parity &= 1;
    check_stale(t, b, parity, site);
    if ((b->phase & 1) == parity) {
        uint64_t phase = b->phase;
        if (t->lane == 0) {
            mbarrier_event(b, "wait, parity %lld", parity);
        }
        t->next_waiter = b->waiters;
        b->waiters = t;
        thread_block(t, (Wait){.kind = WAIT_MBARRIER,
                               .site = site,
                               .what = "mbarrier_wait_parity",
                               .barrier = b,
                               .phase = phase,
                               .parity = parity});
        if (b->phase > phase + 1) {
            if (report_begin(RULE_PHASE_SKIPPED)) {
                report_place("now", t, site, "mbarrier_wait_parity");
                report_barrier(b);
                report_line("phase",
                            "waited for phase %llu; before this thread looked again, phase %llu completed too, and "
                            "the parity is the same as before",
                            (unsigned long long)phase, (unsigned long long)phase + 1);
                report_end(0);
            }
        }
    }
    observe(t, b, begin, site);
    thread_pause(t);
}

/* ---- the end of a CTA -------------------------------------------------------------------------------------------- */

void mbarrier_exit_check(Cta *cta) {
    for (int i = 0; i < cta->barriers; i++) {
        Barrier *b = cta->barrier[i];
        if (b->load_phase > b->observed) {
            if (report_begin(RULE_EXIT_IN_FLIGHT)) {
                report_place("load", b->load_thread, b->load_site, "TMA load");
                report_barrier(b);
                report_line("missing",
                            "nobody in CTA %d has waited for phase %llu of %s, by which the load is known to be "
                            "over, and all its threads have returned",
                            cta->block, (unsigned long long)b->load_phase - 1, b->name);
                report_end(0);
            }
        } else if (b->tx != 0) {
            if (report_begin(RULE_TX_COUNT)) {
                report_barrier(b);
                report_line("count", "all threads of CTA %d have returned, and the phase is still open", cta->block);
                report_end(0);
            }
        }
    }
    for (int c = 0; cta->touched_by != NULL && c < cta->cluster->components; c++) {
        if (cta->touched_by[c] > clock_tick(cta->exit_clock, (Component)c).known) {
            if (report_begin(RULE_CLUSTER_EXIT)) {
                report_place("touched", cta->cluster->thread_of[c], cta->touched_site[c], "access to another CTA");
                report_line("missing",
                            "all threads of CTA %d have returned, and none of them has waited for anything that "
                            "comes after it",
                            cta->block);
                report_end(0);
            }
        }
    }
}

/* The thread reaches into another CTA of its cluster. */
void cluster_touch(Thread *t, Cta *cta, Site site, const char *what) {
    if (cta == t->cta) {
        return;
    }
    if (cta->live == 0) {
        report_misuse(RULE_CLUSTER_EXIT, site, 1, "%s into CTA %d, all of whose threads have returned", what,
                      cta->block);
    }
    if (cta->touched_by == NULL) {
        cta->touched_by = model_alloc_zero((size_t)cta->cluster->capacity * sizeof *cta->touched_by);
        cta->touched_site = model_alloc_zero((size_t)cta->cluster->capacity * sizeof *cta->touched_site);
    }
    cta->touched_by[thread_component(t)] = thread_epoch(t);
    cta->touched_site[thread_component(t)] = site;
}

void mbarriers_free(Cta *cta) {
    for (int i = 0; i < cta->barriers; i++) {
        clock_unref(cta->barrier[i]->arriving);
        clock_unref(cta->barrier[i]->released);
        free(cta->barrier[i]->observer);
        free(cta->barrier[i]->last_wait);
        free(cta->barrier[i]);
    }
    free(cta->barrier);
}
