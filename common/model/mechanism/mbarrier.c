/* mbarrier.c - see mbarrier.h. The state is kept beside the 8 bytes that stand for it in shared memory. */
#include "mbarrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/memory.h"
#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

void mbarriers_begin(Cta *cta) {
    cta->mbarriers.at = cta_alloc(cta, (cta->shared_bytes / BARRIER_BYTES + 1) * sizeof *cta->mbarriers.at);
}

void mbarriers_free(Cta *cta) { free(cta->mbarriers.list); }

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
    CtaBarriers *all = &cta->mbarriers;
    Barrier *b = cta_alloc(cta, sizeof *b);
    all->list = model_room(all->list, all->count + 1, &all->capacity, sizeof *all->list);
    all->list[all->count++] = b;
    b->cta = cta;
    b->offset = offset;
    b->expected = b->pending = arrivals;
    snprintf(b->array, sizeof b->array, "%s", array);
    b->index = index;
    b->init = all->inits;
    return b;
}

static void wake_who_waits_for_init(Cta *cta, uint32_t offset) {
    for (int rank = 0; rank < cta->cluster->size; rank++) {
        for (int id = 0; id < cta->threads; id++) {
            Thread *t = &cta->cluster->cta[rank]->thread[id];
            if (t->state == THREAD_BLOCKED && t->wait.kind == WAIT_INIT && t->wait.cta == cta &&
                t->wait.id == (int)offset) {
                thread_wake(t);
            }
        }
    }
}

void model_mbarrier_init(void *bars, int how_many, int arrivals, const char *expression, const char *here) {
    Thread *t = current_thread();
    Cta *cta = t->cta;
    Site site = site_of(here);
    char array[32];
    short_name(expression, array, sizeof array);
    int first = 0;
    int single = how_many == 1 && strchr(expression, '[') == NULL;
    for (int i = 0; i < cta->mbarriers.count && !single; i++) {
        /* Initialised one by one: the next of the same name. */
        const Barrier *b = cta->mbarriers.list[i];
        first += b->index >= 0 && strcmp(b->array, array) == 0;
    }
    cta->mbarriers.inits++;
    for (int i = 0; i < how_many || i == 0; i++) {
        uint32_t offset = shared_offset(cta, bars) + (uint32_t)i * BARRIER_BYTES;
        event_mbarrier_init(t, barrier_new(cta, offset, arrivals, array, single ? -1 : first + i), how_many, site);
        cta->mbarriers.at[offset / BARRIER_BYTES] = (uint16_t)cta->mbarriers.count;
        wake_who_waits_for_init(cta, offset);
    }
}

void model_mbarrier_init_fence(const char *here) {
    (void)here;
    event_mbarrier_init_fence(current_thread());
}

/* ---- finding them ------------------------------------------------------------------------------------------------ */

Barrier *mbarrier_reach(Thread *t, int rank, const void *bar, Site site, const char *what, int by_engine) {
    event_mbarrier_reach(t, rank, bar, site, what, by_engine);
    Cta *cta = t->cta->cluster->cta[rank];
    uint32_t offset = shared_offset(t->cta, bar);
    const uint16_t *at = &cta->mbarriers.at[offset / BARRIER_BYTES];
    while (*at == 0) {
        /* Somebody may still initialise it; then the report is that this is not ordered. If not, all threads will
         * wait. */
        thread_block(t, (Wait){.kind = WAIT_INIT, .site = site, .what = what, .id = (int)offset, .cta = cta});
    }
    Barrier *b = cta->mbarriers.list[*at - 1];
    event_mbarrier_use(t, b, site, what, by_engine);
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
        event_mbarrier_lacks_bytes(b);
        return;
    }
    event_mbarrier_complete(b);
    b->phase++;
    b->pending = b->expected;
    b->announced = b->brought = 0;
    threads_wake(&b->waiters);
    pollers_wake(b);
}

static void landed(Barrier *b, Thread *by, uint32_t bytes, Site site) {
    b->tx -= bytes;
    b->brought += bytes;
    event_mbarrier_landed(b, by, bytes, site);
    try_complete(b);
}

void mbarrier_land(Barrier *b, uint32_t bytes) { landed(b, NULL, bytes, 0); }

static void announce(Thread *t, Barrier *b, int bytes, Site site) {
    b->tx += bytes;
    b->announced += (uint64_t)bytes;
    event_mbarrier_announced(t, b, bytes, site);
}

static void arrive(Thread *t, Barrier *b, Site site, const char *what) {
    event_mbarrier_arrive(t, b, site, what);
    if (b->pending > 0) {
        b->pending--;
    }
}

void model_mbarrier_arrive_count(void *bar, int count, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = own(t, bar, site, "mbarrier_arrive");
    for (int i = 0; i < count; i++) {
        arrive(t, b, site, "mbarrier_arrive");
    }
    event_mbarrier_changed(b, MBARRIER_ARRIVE, count);
    try_complete(b);
    thread_pause(t);
}

void model_mbarrier_arrive_remote(void *bar, int rank, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_reach(t, rank, bar, site, "mbarrier_arrive_remote", 0);
    arrive(t, b, site, "mbarrier_arrive_remote");
    event_mbarrier_changed(b, MBARRIER_ARRIVE_REMOTE, t->cta->block);
    try_complete(b);
    thread_pause(t);
}

void model_mbarrier_expect_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = own(t, bar, site, "mbarrier_expect_tx");
    announce(t, b, bytes, site);
    event_mbarrier_changed(b, MBARRIER_EXPECT, bytes);
    try_complete(b);
}

void model_mbarrier_arrive_expect_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = own(t, bar, site, "mbarrier_arrive_expect_tx");
    announce(t, b, bytes, site);
    arrive(t, b, site, "mbarrier_arrive_expect_tx");
    event_mbarrier_changed(b, MBARRIER_ARRIVE_EXPECT, bytes);
    try_complete(b);
}

void model_mbarrier_complete_tx(void *bar, int bytes, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    landed(own(t, bar, site, "mbarrier_complete_tx"), t, (uint32_t)bytes, site);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

int model_mbarrier_test_wait_parity(void *bar, uint32_t parity, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = own(t, bar, site, "mbarrier_test_wait_parity");
    parity &= 1;
    event_mbarrier_wait(t, b, parity, site);
    if ((b->phase & 1) == parity && poll_again(t, b, b->phase, 1)) {
        poll_wait(t, (Wait){.kind = WAIT_POLL,
                            .site = site,
                            .what = "mbarrier_test_wait_parity in a loop",
                            .barrier = b,
                            .phase = b->phase,
                            .parity = parity});
    }
    if ((b->phase & 1) == parity) {
        t->poll.version = b->phase;
        return 0;
    }
    event_mbarrier_passed(t, b, b->phase - 1, 1, site);
    thread_pause(t);
    return 1;
}

void model_mbarrier_wait_parity(void *bar, uint32_t parity, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = own(t, bar, site, "mbarrier_wait_parity");
    parity &= 1;
    event_mbarrier_wait(t, b, parity, site);
    uint64_t phase = b->phase - 1;
    if ((b->phase & 1) == parity) {
        phase = b->phase;
        if (t->lane == 0) {
            event_mbarrier_changed(b, MBARRIER_WAIT, parity);
        }
        thread_block_in(t, &b->waiters,
                        (Wait){.kind = WAIT_MBARRIER,
                               .site = site,
                               .what = "mbarrier_wait_parity",
                               .barrier = b,
                               .phase = phase,
                               .parity = parity});
    }
    event_mbarrier_passed(t, b, phase, 0, site);
    thread_pause(t);
}
