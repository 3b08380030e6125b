/* schedule.c - the scheduler.
 *
 * What it picks from: warps that have a ready lane, and agents (asynchronous work that can make a step). A warp keeps
 * running until all its lanes wait. The choice is made on the stack of whoever stops, so that going on to the next
 * thread costs one switch. Everything that is random comes from one generator: policy and seed replay a run. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "../agents.h"
#include "../tell/count.h"
#include "../judge/deadlock.h"
#include "../launch.h"
#include "../judge/bug_report.h"
#include "../sync.h"

enum {
    PCT_INTERVAL = 400,    /* scheduling steps between two changes of priority, on average */
    POLL_PATIENCE = 25000, /* fruitless wake-ups of pollers before this is called a livelock */
    PAUSE_ODDS = 4,        /* one in so many places that allow a pause makes one */
};

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void queue_warp(Warp *w) {
    if (w->queued < 0) {
        if (device.ready_count == device.ready_capacity) {
            device.ready_capacity = device.ready_capacity > 0 ? 2 * device.ready_capacity : 64;
            device.ready = model_realloc(device.ready, (size_t)device.ready_capacity * sizeof *device.ready);
        }
        w->queued = device.ready_count;
        device.ready[device.ready_count++] = w;
    }
}

/* Takes the i-th warp out; the order of the rest stays. */
static Warp *take_warp(int i) {
    Warp *w = device.ready[i];
    device.ready_count--;
    for (; i < device.ready_count; i++) {
        device.ready[i] = device.ready[i + 1];
        device.ready[i]->queued = i;
    }
    w->queued = -1;
    return w;
}

void agent_queue(Agent *agent) {
    if (agent->queued < 0) {
        if (device.agent_count == device.agent_capacity) {
            device.agent_capacity = device.agent_capacity > 0 ? 2 * device.agent_capacity : 64;
            device.agent = model_realloc(device.agent, (size_t)device.agent_capacity * sizeof *device.agent);
        }
        agent->queued = device.agent_count;
        if (device.options.policy == MODEL_PCT) {
            agent->priority = (int)(random_next() >> 34);
        }
        device.agent[device.agent_count++] = agent;
    }
}

void agent_dequeue(Agent *agent) {
    if (agent->queued >= 0) {
        device.agent_count--;
        for (int i = agent->queued; i < device.agent_count; i++) {
            device.agent[i] = device.agent[i + 1];
            device.agent[i]->queued = i;
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
    device.ready_count = device.agent_count = 0;
    device.step = 0;
    device.random = (uint64_t)device.options.seed * 0x9e3779b97f4a7c15u + (uint64_t)device.options.policy;
    device.pct_next = PCT_INTERVAL;
    device.poll_wakes = 0;
    device.pollers = NULL;
}

void schedule_end(void) {
    free(device.ready);
    free(device.agent);
    device.ready = NULL;
    device.agent = NULL;
    device.ready_count = device.ready_capacity = device.agent_count = device.agent_capacity = 0;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* For a timeline, eager goes in the order of the threads' time: so that units that several warps share serve them in
 * that order. */
static int is_timed(void) { return device.options.trace && device.options.policy == MODEL_EAGER; }

static Thread *earliest_lane(Warp *w) {
    Thread *earliest = NULL;
    for (uint32_t lanes = w->ready; lanes != 0; lanes &= lanes - 1) {
        Thread *t = &w->thread[__builtin_ctz(lanes)];
        if (earliest == NULL || t->time < earliest->time) {
            earliest = t;
        }
    }
    return earliest;
}

/* Index in device.ready[], which is not empty. */
static int earliest_warp(void) {
    int earliest = 0;
    for (int i = 1; i < device.ready_count; i++) {
        if (earliest_lane(device.ready[i])->time < earliest_lane(device.ready[earliest])->time) {
            earliest = i;
        }
    }
    return earliest;
}

static Thread *ready_lane(Warp *w) {
    if (is_timed()) {
        return earliest_lane(w);
    }
    uint32_t later = w->ready & ~((1u << w->first_lane) - 1);
    return &w->thread[__builtin_ctz(later != 0 ? later : w->ready)];
}

/* PCT: the highest priority goes on, until it blocks or a change point makes it the lowest. */
static Thread *pick_by_priority(void) {
    Warp *warp = NULL;
    Agent *agent = NULL;
    for (int i = 0; i < device.ready_count; i++) {
        if (warp == NULL || device.ready[i]->priority > warp->priority) {
            warp = device.ready[i];
        }
    }
    for (int i = 0; i < device.agent_count; i++) {
        if (agent == NULL || device.agent[i]->priority > agent->priority) {
            agent = device.agent[i];
        }
    }
    int agent_first = agent != NULL && (warp == NULL || agent->priority > warp->priority);
    if (device.step >= device.pct_next) {
        device.pct_next = device.step + 1 + random_below(2 * PCT_INTERVAL);
        *(agent_first ? &agent->priority : &warp->priority) = -(int)random_below(1 << 20);
    }
    if (agent_first) {
        agent_step(agent, 0);
        return NULL;
    }
    return ready_lane(take_warp(warp->queued));
}

/* All threads wait and no asynchronous work is left. Whoever polls may wait for a CTA that has not begun, or may give
 * up. */
static void unblock(void) {
    if (device.pollers != NULL && launch_start_cluster()) {
        return;
    }
    if (device.poll_wakes++ < POLL_PATIENCE && pollers_wake(NULL)) {
        return;
    }
    report_deadlock();
}

/* Never NULL; runs agents as the policy says. */
static Thread *pick(void) {
    for (;;) {
        device.step++;
        if (device.ready_count == 0 && device.agent_count == 0) {
            unblock();
            continue;
        }
        switch (device.options.policy) {
        case MODEL_EAGER:
            while (device.agent_count > 0) {
                agent_step(device.agent[0], 1);
            }
            if (device.ready_count > 0) {
                return ready_lane(take_warp(is_timed() ? earliest_warp() : 0));
            }
            break;
        case MODEL_LAZY:
            if (device.ready_count > 0) {
                return ready_lane(take_warp(0));
            }
            agent_step(device.agent[0], 1);
            break;
        case MODEL_RANDOM: {
            int i = (int)random_below((uint32_t)(device.ready_count + device.agent_count));
            if (i < device.ready_count) {
                Warp *w = take_warp(i);
                w->first_lane = (int)random_below(WARP_SIZE);
                return ready_lane(w);
            }
            agent_step(device.agent[i - device.ready_count], 0);
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
    Fiber *from = device.context;
    t->warp->ready &= ~(1u << t->lane);
    device.current = t;
    if (from == &t->fiber) {
        return;
    }
    device.context = &t->fiber;
    fiber_switch(from, &t->fiber);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

void thread_wake(Thread *t) {
    if (t->state == THREAD_BLOCKED) {
        t->state = THREAD_READY;
        t->wait.kind = WAIT_NONE;
        t->warp->ready |= 1u << t->lane;
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
    if (t->warp->ready != 0) {
        go_to(ready_lane(t->warp));
        return;
    }
    device.current = NULL; /* a wake-up from here on queues this warp too */
    go_to(pick());
}

void thread_block(Thread *t, Wait wait) {
    t->state = THREAD_BLOCKED;
    t->wait = wait;
    yield_from(t);
}

/* Others are behind in time. */
static int is_ahead(const Thread *t) {
    return (t->warp->ready != 0 && earliest_lane(t->warp)->time < t->time) ||
           (device.ready_count > 0 && earliest_lane(device.ready[earliest_warp()])->time < t->time);
}

void thread_pause(Thread *t) {
    if (is_timed() ? !is_ahead(t) : device.options.policy < MODEL_RANDOM || random_below(PAUSE_ODDS) != 0) {
        return;
    }
    t->warp->ready |= 1u << t->lane;
    device.current = NULL;
    queue_warp(t->warp);
    go_to(pick());
}

void thread_leave(Thread *t) {
    t->state = THREAD_EXITED;
    if (t->cta->cluster->live > 0) {
        yield_from(t);
    }
    /* The last of its cluster: the host takes it down and may use its stacks again. */
    device.current = NULL;
    device.context = &device.host;
    fiber_switch(&t->fiber, &device.host);
    abort(); /* nobody continues a thread that has ended */
}

void model_stop(void) {
    Fiber *from = device.context;
    device.stop = 1;
    device.current = NULL;
    device.context = &device.host;
    if (from == &device.host) {
        longjmp(device.escape, 1);
    }
    fiber_switch(from, &device.host);
    abort();
}

void schedule_run(void) {
    if (setjmp(device.escape) != 0) {
        return;
    }
    while (!device.stop && launch_next_cluster()) {
        go_to(pick());
    }
}

/* ---- warps ------------------------------------------------------------------------------------------------------- */

const char *collective_text(CollectiveKind kind) {
    static const char *const text[COLLECTIVE_KINDS] = {
        [COLLECTIVE_NONE] = "nothing",
        [COLLECTIVE_SYNCWARP] = "__syncwarp",
        [COLLECTIVE_SHUFFLE] = "shfl.sync",
        [COLLECTIVE_ELECT] = "elect.sync",
        [COLLECTIVE_LDMATRIX] = "ldmatrix",
        [COLLECTIVE_STMATRIX] = "stmatrix",
        [COLLECTIVE_MMA] = "mma.sync",
        [COLLECTIVE_SETMAXNREG] = "setmaxnreg",
        [COLLECTIVE_WGMMA_FENCE] = "wgmma.fence",
        [COLLECTIVE_WGMMA] = "wgmma.mma_async",
        [COLLECTIVE_WGMMA_COMMIT] = "wgmma.commit_group",
        [COLLECTIVE_WGMMA_WAIT] = "wgmma.wait_group",
    };
    return text[kind];
}

static void report_divergence(Thread *t, CollectiveKind kind, Site site) {
    Warp *w = t->warp;
    Thread *other = &w->thread[__builtin_ctz(w->arrived)];
    if (report_begin(RULE_CONVERGENCE)) {
        report_place("now", t, site, collective_text(kind));
        report_place("but", other, w->collective_site, collective_text(w->collective));
        report_line("rule", "all lanes of a warp execute the same one of these instructions together");
        report_end(1);
    }
    model_stop();
}

void warp_check_sync(const Warp *w) {
    if (w->arrived == 0 || !(w->in_sync & w->collective_mask)) {
        return;
    }
    if (report_begin(RULE_CONVERGENCE)) {
        report_place("now", &w->thread[__builtin_ctz(w->arrived)], w->collective_site, collective_text(w->collective));
        report_place("but", &w->thread[__builtin_ctz(w->in_sync & w->collective_mask)], w->sync_site, "__syncthreads");
        report_line("rule", "all lanes of a warp execute the same one of these instructions together");
        report_end(1);
    }
    model_stop();
}

int warp_meet(Thread *t, CollectiveKind kind, uint32_t mask, Site site) {
    Warp *w = t->warp;
    mask &= w->all;
    if (w->arrived == 0) {
        w->collective = kind;
        w->collective_site = site;
        w->collective_mask = mask;
        if (mask & w->exited) {
            Thread *gone = &w->thread[__builtin_ctz(mask & w->exited)];
            report_misuse(RULE_CONVERGENCE, site, 1, "%s, which all lanes of the warp must execute; lane %d has ended",
                          collective_text(kind), gone->lane);
        }
    } else if (kind != w->collective || site != w->collective_site || mask != w->collective_mask) {
        report_divergence(t, kind, site);
    }
    w->arrived |= 1u << t->lane;
    warp_check_sync(w);
    if ((w->arrived & mask) == mask) {
        if (mask == w->all) {
            count_together(w);
        }
        return 1;
    }
    t->state = THREAD_BLOCKED;
    t->wait.kind = WAIT_WARP;
    t->wait.site = site;
    t->wait.what = collective_text(kind);
    yield_from(t);
    return 0;
}

void warp_go(Warp *w) {
    uint32_t others = w->arrived & ~(1u << current_thread()->lane);
    w->arrived = 0;
    w->ready |= others;
    while (others != 0) {
        Thread *t = &w->thread[__builtin_ctz(others)];
        others &= others - 1;
        t->state = THREAD_READY;
        t->wait.kind = WAIT_NONE;
    }
}
