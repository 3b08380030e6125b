/* mbarrier.c - see mbarrier.h. The state is kept outside the 8 bytes that represent it in shared memory. */
#include "mbarrier.h"

#include <stdio.h>
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

void mbarriers_begin(Cta *cta) {
    cta->mbarriers = cta_alloc(cta, sizeof *cta->mbarriers);
    cta->mbarriers->at = cta_alloc(cta, (cta->shared_bytes / BARRIER_BYTES + 1) * sizeof *cta->mbarriers->at);
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

/* "s->full" gives "full", "&s->full[i]" too. */
static void short_name(const char *expression, char *name, size_t size) {
    const char *begin = expression + strspn(expression, "&( ");
    for (const char *p = begin; *p != '\0' && *p != '['; p++) {
        if (*p == '.' || (*p == '>' && p > begin && p[-1] == '-')) {
            begin = p + 1;
        }
    }
    snprintf(name, size, "%.*s", (int)strcspn(begin, "[ )"), begin);
}

static Barrier *barrier_new(Cta *cta, uint32_t offset, int arrivals, const char *array, int index) {
    CtaBarriers *all = cta->mbarriers;
    Barrier *b = cta_alloc(cta, sizeof *b);
    all->list = cta_grow(cta, all->list, all->count + 1, &all->capacity, sizeof *all->list);
    all->list[all->count++] = b;
    b->cta = cta;
    b->offset = offset;
    b->expected = b->pending = arrivals;
    snprintf(b->array, sizeof b->array, "%s", array);
    b->index = index;
    b->array_number = all->arrays;
    return b;
}

void model_mbarrier_init(void *bars, int how_many, int arrivals, const char *expression, const char *here) {
    Thread *t = current_thread();
    Cta *cta = t->cta;
    Site site = site_of(here);
    char array[32];
    short_name(expression, array, sizeof array);
    int first = 0;
    int single = how_many == 1 && strchr(expression, '[') == NULL;
    for (int i = 0; i < cta->mbarriers->count && !single; i++) {
        /* Initialised one by one: the next of the same name. */
        const Barrier *b = cta->mbarriers->list[i];
        first += b->index >= 0 && strcmp(b->array, array) == 0;
    }
    cta->mbarriers->arrays++;
    for (int i = 0; i < how_many || i == 0; i++) {
        uint32_t offset = shared_offset(cta, bars) + (uint32_t)i * BARRIER_BYTES;
        POST(MBARRIER_INIT, .thread = t, .barrier = barrier_new(cta, offset, arrivals, array, single ? -1 : first + i),
             .amount = how_many, .site = site);
        cta->mbarriers->at[offset / BARRIER_BYTES] = (uint16_t)cta->mbarriers->count;
    }
    threads_wake(&cta->mbarriers->waiting);
}

void model_mbarrier_init_fence(const char *here) {
    (void)here;
    POST(MBARRIER_INIT_FENCE, .thread = current_thread());
}

/* ---- finding them ------------------------------------------------------------------------------------------------ */

Barrier *mbarrier_reach(Thread *t, int rank, const void *bar, Site site, const char *what, int by_engine) {
    POST(MBARRIER_REACH, .thread = t, .rank = rank, .p = bar, .site = site, .what = what, .by_engine = by_engine);
    Cta *cta = t->cta->cluster->cta[rank];
    uint32_t offset = shared_offset(t->cta, bar);
    const uint16_t *at = &cta->mbarriers->at[offset / BARRIER_BYTES];
    while (*at == 0) {
        /* Another thread may still initialise it: then the report is that this is not ordered. Otherwise all wait. */
        thread_block_in(t, &cta->mbarriers->waiting,
                        (Wait){.kind = WAIT_INIT, .site = site, .what = what, .id = (int)offset, .cta = cta});
    }
    Barrier *b = cta->mbarriers->list[*at - 1];
    POST(MBARRIER_USE, .thread = t, .barrier = b, .site = site, .what = what);
    return b;
}

static Barrier *own(Thread *t, const void *bar, Site site, const char *what) {
    return mbarrier_reach(t, t->cta->rank, bar, site, what, 0);
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void try_complete(Barrier *b) {
    if (b->pending != 0) {
        return;
    }
    if (b->tx != 0) {
        POST(MBARRIER_LACKS_BYTES, .barrier = b);
        return;
    }
    POST(MBARRIER_COMPLETE, .barrier = b);
    b->phase++;
    b->pending = b->expected;
    b->announced = b->brought = 0;
    POST(MBARRIER_PHASE, .barrier = b);
    threads_wake(&b->waiters);
    pollers_wake(b);
}

static void landed(Barrier *b, Thread *by, uint32_t bytes, const char *what, const void *p, Site site) {
    b->tx -= bytes;
    b->brought += bytes;
    POST(MBARRIER_LANDED, .barrier = b, .thread = by, .amount = bytes, .what = what, .p = p, .site = site);
    try_complete(b);
}

void mbarrier_land(Barrier *b, uint32_t bytes, const char *what, const void *p) { landed(b, NULL, bytes, what, p, 0); }

/* What a thread has decided about a phase: twice its number, and 1 if it is late (is_late()). */
static uint64_t *lateness(const Thread *t, Barrier *b) {
    if (b->late == NULL) {
        b->late = cta_alloc(b->cta, (size_t)b->cta->threads * sizeof *b->late);
    }
    return &b->late[t->id];
}

/* A thread that has completed a phase itself finds it complete when it asks: its own operations are in order. */
static void completed_by(const Thread *t, Barrier *b, uint64_t phase_before) {
    if (b->phase != phase_before && t->cta == b->cta) {
        *lateness(t, b) = 2 * b->phase;
    }
}

void model_mbarrier_do(ModelDeed deed, void *bar, int rank, int bytes, const char *here) {
    static const struct {
        const char *what;
        MbarrierChange change;
        Scope scope;
        int pauses;
    } deeds[] = {
        [MODEL_ARRIVE] = {"mbarrier_arrive", MBARRIER_ARRIVE, SCOPE_CTA, 1},
        [MODEL_ARRIVE_REMOTE] = {"mbarrier_arrive_remote", MBARRIER_ARRIVE_REMOTE, SCOPE_CTA, 1},
        [MODEL_ARRIVE_CLUSTER] = {"mbarrier_arrive_release_cluster", MBARRIER_ARRIVE_REMOTE, SCOPE_CLUSTER, 1},
        [MODEL_EXPECT] = {"mbarrier_expect_tx", MBARRIER_EXPECT, SCOPE_CTA, 0},
        [MODEL_ARRIVE_EXPECT] = {"mbarrier_arrive_expect_tx", MBARRIER_ARRIVE_EXPECT, SCOPE_CTA, 0},
        [MODEL_ARRIVE_EXPECT_REMOTE] = {"mbarrier_arrive_expect_tx_remote", MBARRIER_ARRIVE_EXPECT, SCOPE_CLUSTER, 1}};
    const MbarrierChange change = deeds[deed].change;
    const int announces = change == MBARRIER_EXPECT || change == MBARRIER_ARRIVE_EXPECT;
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_reach(t, rank < 0 ? t->cta->rank : rank, bar, site, deeds[deed].what, 0);
    if (announces) {
        b->tx += bytes;
        b->announced += (uint64_t)bytes;
        POST(MBARRIER_ANNOUNCED, .thread = t, .barrier = b, .amount = bytes, .site = site);
    }
    if (change != MBARRIER_EXPECT) {
        POST(MBARRIER_ARRIVE, .thread = t, .barrier = b, .scope = deeds[deed].scope, .site = site,
             .what = deeds[deed].what);
        b->pending -= b->pending > 0;
    }
    POST(MBARRIER_CHANGED, .thread = t, .barrier = b, .site = site, .change = change,
         .amount = change == MBARRIER_ARRIVE_REMOTE ? t->cta->block
                   : announces                      ? bytes
                                                    : 1);
    uint64_t phase = b->phase;
    try_complete(b);
    completed_by(t, b, phase);
    if (deeds[deed].pauses) {
        thread_pause(t);
    }
}

void model_mbarrier_complete_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = own(t, bar, site, "mbarrier_complete_tx");
    uint64_t phase = b->phase;
    landed(b, t, (uint32_t)bytes, NULL, NULL, site);
    completed_by(t, b, phase);
}

/* ---- arrivals of cp.async ---------------------------------------------------------------------------------------- */

void mbarrier_await_copies(Thread *t, Barrier *b, GroupKind group, Site site) {
    POST(MBARRIER_COPIES, .thread = t, .barrier = b, .group = group, .site = site);
}

void mbarrier_copies_arrive(Thread *t, Barrier *b, GroupKind group) {
    POST(MBARRIER_COPIES_ARRIVE, .thread = t, .barrier = b, .group = group);
    b->pending -= b->pending > 0;
    POST(MBARRIER_CHANGED, .thread = t, .barrier = b, .change = MBARRIER_ARRIVE, .amount = 1);
    try_complete(b);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* A thread to which nothing tells that a phase is complete may have come before it was: chance decides once a phase
 * whether it is told no, then until it waits; in the policies that leave little to chance only where another lane of
 * its warp has got a yes. Not where time orders the threads. */
static int is_late(Thread *t, Barrier *b) {
    if (b->phase == 0 || device.order != NULL) {
        return 0;
    }
    uint64_t *late = lateness(t, b);
    if (*late / 2 != b->phase) {
        *late = 2 * b->phase + random_below(2);
    }
    return *late % 2 != 0 && device.is_unaware(t, b, device.options.policy < MODEL_RANDOM || schedule_explorer != NULL);
}

static int ask(Thread *t, Barrier *b, uint32_t parity, Site site) {
    int complete = (b->phase & 1) != parity && !is_late(t, b);
    if (!complete && poll_again(t, b, b->phase, 1)) {
        if ((b->phase & 1) == parity) {
            poll_wait(t, (Wait){.kind = WAIT_POLL, .site = site, .barrier = b, .phase = b->phase, .parity = parity});
        } else {
            b->late[t->id] = 2 * b->phase;
        }
        complete = (b->phase & 1) != parity;
    }
    POST(MBARRIER_ASKED, .thread = t, .barrier = b, .site = site, .asked = complete);
    if (t->lane == 0) {
        POST(MBARRIER_CHANGED, .thread = t, .barrier = b, .site = site,
             .change = complete ? MBARRIER_ASKED_YES : MBARRIER_ASKED_NO, .amount = parity);
    }
    if (!complete) {
        t->poll.version = b->phase;
        return 0;
    }
    t->poll.changed = 0;
    POST(MBARRIER_PASSED, .thread = t, .barrier = b, .phase = b->phase - 1, .asked = 1, .site = site);
    thread_pause(t);
    return 1;
}

static int wait_for(Thread *t, Barrier *b, uint32_t parity, Scope scope, Site site) {
    uint64_t phase = b->phase - 1;
    if ((b->phase & 1) == parity) {
        phase = b->phase;
        if (t->lane == 0) {
            POST(MBARRIER_CHANGED, .thread = t, .barrier = b, .site = site, .change = MBARRIER_WAIT, .amount = parity);
        }
        thread_block_in(t, &b->waiters,
                        (Wait){.kind = WAIT_MBARRIER, .site = site, .barrier = b, .phase = phase, .parity = parity});
    }
    POST(MBARRIER_PASSED, .thread = t, .barrier = b, .phase = phase, .asked = 0, .scope = scope, .site = site);
    thread_pause(t);
    return 1;
}

int model_mbarrier_ask(ModelAsking how, void *bar, uint32_t parity, const char *here) {
    static const char *const text[] = {"mbarrier_test_wait_parity", "mbarrier_try_wait_parity", "mbarrier_wait_parity",
                                       "mbarrier_wait_parity"};
    Thread *t = current_thread();
    POLL_BEGINS(t);
    Site site = site_of(here);
    const char *what = text[how];
    Barrier *b = own(t, bar, site, what);
    POST(MBARRIER_WAIT, .thread = t, .barrier = b, .parity = parity, .site = site, .what = what);
    parity &= 1; /* the barrier reads only this bit */
    if (how == MODEL_TRY) {
        thread_pause(t);
    }
    return how < MODEL_WAIT ? ask(t, b, parity, site)
                            : wait_for(t, b, parity, how == MODEL_WAIT ? SCOPE_CTA : SCOPE_CLUSTER, site);
}
