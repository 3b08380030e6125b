/* schedule.c - the scheduler.
 *
 * What it picks from: warps that have a ready lane, and agents (asynchronous work that can make a step). A warp keeps
 * running until all its lanes wait. The thread that stops makes the choice on its own stack, so continuing with the
 * next thread costs one switch. Everything that is random comes from one generator: policy and seed replay a run. */
#include "schedule.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum {
    PCT_INTERVAL = 400,      /* scheduling steps between two changes of priority, on average */
    POLL_PATIENCE = 25000,   /* fruitless wake-ups of pollers before this is called a livelock */
    PAUSE_ODDS = 4,          /* one of PAUSE_ODDS places that allow a pause makes one */
    BESIDE_ODDS = 4,         /* ... that let another cluster begin does so */
    POLL_TURNS = 16,         /* as many failed tests at several places are a loop */
    POLLS_COUNTED = 1 << 14, /* a thread that counts its questions asks so often in vain, the first time in a launch, */
    POLLS_LATER = 1 << 10,   /* ... so often later, */
    POLLS_OF_ALL = 1 << 17,  /* ... and all threads together */
    STALL_SITES = 64,
    STALL_ODDS = 1,  /* one in so many places between a look at a word and a deed is made to last, at first */
    STALL_FEWER = 5, /* ... then one in twice as many, so often */
};

static struct {
    Warp **ready;
    int ready_count, ready_capacity;
    Agent **agent;
    int agent_count, agent_capacity;
    uint64_t next_change;        /* pct: the step of the next change of priority */
    Thread *pollers;             /* who polls something that does not change */
    Thread *stalled;             /* who waits between a look at a word and a deed */
    uint8_t stalls[STALL_SITES]; /* how often, by place */
    int poll_wakes;              /* times they were woken without anything having happened */
    int polls_counted;           /* questions in vain of threads that count them */
    void (*stuck)(void);
    int (*beside)(void);
    int stop;       /* the launch is to be abandoned */
    Fiber host;     /* the context that called schedule_run() */
    Fiber *context; /* whose stack is in use */
    jmp_buf escape; /* out of the launch, from the host's stack */
} s;

const Explorer *schedule_explorer;

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void queue_warp(Warp *w) {
    if (w->queued < 0) {
        s.ready = model_grow(s.ready, s.ready_count + 1, &s.ready_capacity, sizeof *s.ready);
        w->queued = s.ready_count;
        s.ready[s.ready_count++] = w;
    }
}

/* Takes the i-th warp out; the order of the rest stays. */
static Warp *take_warp(int i) {
    Warp *w = s.ready[i];
    s.ready_count--;
    for (; i < s.ready_count; i++) {
        s.ready[i] = s.ready[i + 1];
        s.ready[i]->queued = i;
    }
    w->queued = -1;
    return w;
}

void agent_queue(Agent *agent) {
    if (agent->queued < 0) {
        s.agent = model_grow(s.agent, s.agent_count + 1, &s.agent_capacity, sizeof *s.agent);
        agent->queued = s.agent_count;
        if (device.options.policy == MODEL_PCT) {
            agent->priority = (int)(random_next() >> 34);
        }
        s.agent[s.agent_count++] = agent;
        if (schedule_explorer != NULL) {
            schedule_explorer->queued(agent);
        }
    }
}

void agent_dequeue(Agent *agent) {
    if (agent->queued >= 0) {
        s.agent_count--;
        for (int i = agent->queued; i < s.agent_count; i++) {
            s.agent[i] = s.agent[i + 1];
            s.agent[i]->queued = i;
        }
        agent->queued = -1;
    }
}

void schedule_add_warp(Warp *w) {
    w->queued = -1;
    w->priority = device.options.policy == MODEL_PCT ? (int)(random_next() >> 34) : 0;
    queue_warp(w);
}

void schedule_begin(void) {
    s.ready_count = s.agent_count = 0;
    device.step = 0;
    device.random = (uint64_t)device.options.seed * 0x9e3779b97f4a7c15u + (uint64_t)device.options.policy;
    s.next_change = PCT_INTERVAL;
    s.poll_wakes = s.polls_counted = 0;
    s.pollers = s.stalled = NULL;
    memset(s.stalls, 0, sizeof s.stalls);
}

void schedule_end(void) {
    free(s.ready);
    free(s.agent);
    s.ready = NULL;
    s.agent = NULL;
    s.ready_count = s.ready_capacity = s.agent_count = s.agent_capacity = 0;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static Thread *earliest_lane(Warp *w) {
    Thread *earliest = NULL;
    for (uint32_t lanes = w->ready; lanes != 0; lanes &= lanes - 1) {
        Thread *t = &w->thread[__builtin_ctz(lanes)];
        if (earliest == NULL || device.order(t) < device.order(earliest)) {
            earliest = t;
        }
    }
    return earliest;
}

/* Index in s.ready[], which is not empty. */
static int earliest_warp(void) {
    int earliest = 0;
    for (int i = 1; i < s.ready_count; i++) {
        if (device.order(earliest_lane(s.ready[i])) < device.order(earliest_lane(s.ready[earliest]))) {
            earliest = i;
        }
    }
    return earliest;
}

static Thread *ready_lane(Warp *w) {
    if (device.order != NULL) {
        return earliest_lane(w);
    }
    uint32_t later = w->ready & ~((1u << w->first_lane) - 1);
    return &w->thread[__builtin_ctz(later != 0 ? later : w->ready)];
}

/* PCT: the highest priority goes on, until it blocks or a change point makes it the lowest. */
static Thread *pick_by_priority(void) {
    Warp *warp = NULL;
    Agent *agent = NULL;
    for (int i = 0; i < s.ready_count; i++) {
        if (warp == NULL || s.ready[i]->priority > warp->priority) {
            warp = s.ready[i];
        }
    }
    for (int i = 0; i < s.agent_count; i++) {
        if (agent == NULL || s.agent[i]->priority > agent->priority) {
            agent = s.agent[i];
        }
    }
    int agent_first = agent != NULL && (warp == NULL || agent->priority > warp->priority);
    if (device.step >= s.next_change) {
        s.next_change = device.step + 1 + random_below(2 * PCT_INTERVAL);
        *(agent_first ? &agent->priority : &warp->priority) = -(int)random_below(1 << 20);
    }
    if (agent_first) {
        agent->step(agent, 0);
        return NULL;
    }
    return ready_lane(take_warp(warp->queued));
}

static Thread *pick_by_explorer(void) {
    for (;;) {
        static Thread *thread[DEVICE_LIMIT * THREAD_LIMIT];
        int threads = 0;
        device.step++;
        while (s.beside()) { /* what may run side by side does */
        }
        for (int i = 0; i < s.ready_count; i++) {
            for (uint32_t lanes = s.ready[i]->ready; lanes != 0; lanes &= lanes - 1) {
                thread[threads++] = &s.ready[i]->thread[__builtin_ctz(lanes)];
            }
        }
        if (threads == 0 && s.agent_count == 0) {
            s.stuck();
            continue;
        }
        int i = schedule_explorer->choose(thread, threads, s.agent, s.agent_count);
        if (i >= threads) {
            s.agent[i - threads]->step(s.agent[i - threads], 1);
            continue;
        }
        if (thread[i]->warp->ready == 1u << thread[i]->lane) {
            take_warp(thread[i]->warp->queued);
        }
        return thread[i];
    }
}

/* Never NULL; runs agents as the policy says. */
static Thread *pick(void) {
    if (schedule_explorer != NULL) {
        return pick_by_explorer();
    }
    for (;;) {
        device.step++;
        if (s.ready_count == 0 && s.agent_count == 0) {
            s.stuck();
            continue;
        }
        switch (device.options.policy) {
        case MODEL_EAGER:
            while (s.agent_count > 0) {
                s.agent[0]->step(s.agent[0], 1);
            }
            if (s.ready_count > 0) {
                return ready_lane(take_warp(device.order != NULL ? earliest_warp() : 0));
            }
            break;
        case MODEL_LAZY:
            if (s.ready_count > 0) {
                return ready_lane(take_warp(0));
            }
            s.agent[0]->step(s.agent[0], 1);
            break;
        case MODEL_RANDOM: {
            int i = (int)random_below((uint32_t)(s.ready_count + s.agent_count));
            if (i < s.ready_count) {
                Warp *w = take_warp(i);
                w->first_lane = (int)random_below(WARP_SIZE);
                return ready_lane(w);
            }
            s.agent[i - s.ready_count]->step(s.agent[i - s.ready_count], 0);
            break;
        }
        default: {
            Thread *t = pick_by_priority();
            if (t != NULL) {
                return t;
            }
        }
        }
    }
}

/* Leaves the stack in use for t's. */
static void go_to(Thread *t) {
    Fiber *from = s.context;
    t->warp->ready &= ~(1u << t->lane);
    device.current = t;
    if (from == &t->fiber) {
        return;
    }
    s.context = &t->fiber;
    fiber_switch(from, &t->fiber);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void thread_wake(Thread *t) {
    if (t->state == THREAD_BLOCKED) {
        t->state = THREAD_READY;
        t->wait.kind = WAIT_NONE;
        t->warp->ready |= 1u << t->lane;
        if (schedule_explorer != NULL) {
            schedule_explorer->woken(t);
        }
        if (device.current == NULL || device.current->warp != t->warp) {
            queue_warp(t->warp);
        }
    }
}

void threads_wake(Thread **waiters) {
    Thread *t = *waiters;
    *waiters = NULL;
    while (t != NULL) {
        Thread *next = t->next_waiter;
        t->next_waiter = NULL;
        thread_wake(t);
        t = next;
    }
}

/* Goes on elsewhere: another lane of the warp first. */
static void yield_from(Thread *t) {
    if (schedule_explorer != NULL && t->warp->ready != 0) {
        queue_warp(t->warp);
    } else if (t->warp->ready != 0) {
        go_to(ready_lane(t->warp));
        return;
    }
    device.current = NULL; /* a wake-up from here on queues this warp too */
    go_to(pick());
}

void thread_sleep(Thread *t) {
    t->state = THREAD_BLOCKED;
    yield_from(t);
}

void thread_block_in(Thread *t, Thread **waiters, Wait wait) {
    t->next_waiter = *waiters;
    *waiters = t;
    t->wait = wait;
    thread_sleep(t);
}

/* Is any other thread earlier in time? */
static int is_ahead(const Thread *t) {
    return (t->warp->ready != 0 && device.order(earliest_lane(t->warp)) < device.order(t)) ||
           (s.ready_count > 0 && device.order(earliest_lane(s.ready[earliest_warp()])) < device.order(t));
}

void thread_give_way(Thread *t) {
    t->warp->ready |= 1u << t->lane;
    device.current = NULL;
    queue_warp(t->warp);
    go_to(pick());
}

void thread_pause(Thread *t) {
    if (device.interrupt != NULL) {
        device.interrupt(t);
    }
    if (device.order != NULL ? !is_ahead(t) : device.options.policy < MODEL_RANDOM || random_below(PAUSE_ODDS) != 0) {
        return;
    }
    thread_give_way(t);
}

void clusters_mix(void) {
    if (device.options.policy >= MODEL_RANDOM && device.order == NULL && random_below(BESIDE_ODDS) == 0) {
        s.beside();
    }
}

int clusters_take(Launch *l) {
    const int side = device.sms / l->cluster_size, number = (l->next_block - l->facts.first_block) / l->cluster_size;
    const int first = number / side * side, left = (l->end_block - l->facts.first_block) / l->cluster_size - first;
    const int count = left < side ? left : side;
    if (number == first) {
        const int by_chance = device.options.policy == MODEL_PCT ||
                              (device.options.policy == MODEL_RANDOM && device.options.seed % 2 == 0);
        const int mixed = schedule_explorer == NULL && device.order == NULL;
        l->turn = mixed && (device.options.policy == MODEL_LAZY || (by_chance && random_below(2) == 0)) ? -1 : 1;
        l->first_cluster = mixed && by_chance ? (int)random_below((uint32_t)count) : l->turn < 0 ? count - 1 : 0;
    }
    const int at = ((l->first_cluster + l->turn * (number - first)) % count + count) % count;
    l->next_block += l->cluster_size;
    return l->facts.first_block + (first + at) * l->cluster_size;
}

/* ---- polling ----------------------------------------------------------------------------------------------------- */

static int has_asked(const ThreadPolls *p, const void *address) {
    for (int i = 0; i < POLLS_KEPT; i++) {
        if (p->asked[i] == address) {
            return 1;
        }
    }
    return 0;
}

/* What a thread keeps across its question: its stack, but for what tensor cores write; place: and where it returns. */
static uint64_t kept_by(const Thread *t, int place) {
    uint64_t state = 0;
    uintptr_t top = (uintptr_t)t->fiber.stack + FIBER_STACK_BYTES - stack_shift(t->id);
    for (uintptr_t at = t->poll.kept & ~(uintptr_t)7; at < top; at += 8) {
        if (at - t->watched.begin >= t->watched.bytes && (place || at != t->poll.kept + FIBER_RETURNS)) {
            state = (state ^ *(const uint64_t *)at) * 0x9e3779b97f4a7c15u;
            state ^= state >> 29;
        }
    }
    return state;
}

uint64_t poll_kept(const Thread *t) { return kept_by(t, 0); }

/* Is the thread, which asks the same as before, to be told the same? */
static int counts_on(ThreadPolls *p) {
    int patience = s.polls_counted < POLLS_COUNTED ? POLLS_COUNTED : POLLS_LATER;
    p->changed++;
    p->counts = p->changed >= patience || s.polls_counted++ >= POLLS_OF_ALL;
    return !p->counts;
}

int poll_again(Thread *t, const void *address, uint64_t version, int in_vain) {
    if (device.interrupt != NULL) {
        device.interrupt(t);
    }
    ThreadPolls *p = &t->poll;
    int same = p->address == address && p->version == version;
    uint64_t before = p->state;
    p->address = address;
    p->version = version;
    p->state = kept_by(t, 1);
    p->loops = same && p->state == before;
    if (same && !p->loops && counts_on(p)) {
        return 0;
    }
    p->changed = 0;
    if (!same) {
        int known = has_asked(p, address);
        if (!known) {
            p->asked[p->next++ % POLLS_KEPT] = address;
        }
        p->again += known || in_vain;
        if (p->again < POLL_TURNS) {
            return 0;
        }
    }
    p->again = 0;
    p->in_turn = !same;
    return 1;
}

void poll_wait(Thread *t, Wait wait) { thread_block_in(t, &s.pollers, wait); }

/* Those of a list who wait for what happens at this address. Returns how many. */
static int wake_at(Thread **link, const void *address, int (*waits)(const ThreadPolls *p, const void *address)) {
    int woken = 0;
    for (Thread *t; (t = *link) != NULL;) {
        if (waits(&t->poll, address)) {
            *link = t->next_waiter;
            t->next_waiter = NULL;
            thread_wake(t);
            woken++;
        } else {
            link = &t->next_waiter;
        }
    }
    return woken;
}

static int polls(const ThreadPolls *p, const void *address) {
    return address == NULL || p->address == address || (p->in_turn && has_asked(p, address));
}

void pollers_wake(const void *address) {
    s.poll_wakes = 0;
    wake_at(&s.pollers, address, polls);
}

/* ---- between a look and a deed ----------------------------------------------------------------------------------- */

static int is_stalled(const void *word) {
    const Thread *t = s.stalled;
    while (t != NULL && t->poll.stalled_at != word) {
        t = t->next_waiter;
    }
    return t != NULL;
}

/* Often at first, then seldom: each place is tried in each launch. */
void thread_stall(Thread *t, const void *word, Site site, int until_change) {
    uint8_t *odds = &s.stalls[(site ^ site >> 6) % STALL_SITES];
    if (device.options.policy < MODEL_RANDOM || device.order != NULL || is_stalled(word) ||
        random_below((uint32_t)STALL_ODDS << *odds) != 0) {
        return;
    }
    *odds += *odds < STALL_FEWER;
    t->poll.stalled_at = word;
    t->poll.until_change = until_change;
    thread_block_in(t, &s.stalled, (Wait){.kind = WAIT_NONE, .site = site});
}

static int stalls(const ThreadPolls *p, const void *word) { return word == NULL || p->stalled_at == word; }
static int stalls_until_touched(const ThreadPolls *p, const void *word) { return stalls(p, word) && !p->until_change; }

void stalled_wake(const void *word, int changed) { wake_at(&s.stalled, word, changed ? stalls : stalls_until_touched); }
int anybody_waits(void) { return s.stalled != NULL || s.pollers != NULL; }
int anybody_wakes(void) {
    return wake_at(&s.stalled, NULL, stalls) > 0 ||
           (s.poll_wakes++ < POLL_PATIENCE && wake_at(&s.pollers, NULL, polls) > 0);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void thread_leave(Thread *t) {
    t->state = THREAD_EXITED;
    if (t->cta->cluster->live > 0) {
        yield_from(t);
    }
    /* The last of its cluster: the host takes it down and may use its stacks again. */
    device.current = NULL;
    s.context = &s.host;
    fiber_switch(&t->fiber, &s.host);
    abort(); /* nobody continues a thread that has ended */
}

void model_stop(void) {
    Fiber *from = s.context;
    s.stop = 1;
    device.current = NULL;
    s.context = &s.host;
    if (from == &s.host) {
        longjmp(s.escape, 1);
    }
    fiber_switch(from, &s.host);
    abort();
}

void schedule_run(int (*next_cluster)(void), void (*stuck)(void), int (*beside)(void)) {
    s.stuck = stuck;
    s.beside = beside;
    s.stop = 0;
    device.current = NULL;
    s.context = &s.host;
    if (setjmp(s.escape) == 0) {
        while (!s.stop && next_cluster()) {
            go_to(pick());
        }
    }
    device.current = NULL;
}
