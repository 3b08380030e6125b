/* explore.c - runs every schedule of small kernels, up to those that differ only in the order of independent steps, and
 * compares what the model says in each with what it says of a single run. TAP.
 *
 *     explore                  a third of the cases of cases.h, each for a third of a second, others at each commit
 *                              (TURN); TIER=long: all, each for a minute
 *     explore "ring NO" 4      all whose name contains this, each for 4 seconds
 *
 * Dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005), depth first. A step is what a
 * thread does from one question to the scheduler to the next: before each use of an mbarrier and each atomic. Or it is
 * an agent's whole work. Steps are dependent if they touch the same barrier or word, unless both only look or both only
 * arrive: an arrival that completes no phase changes nothing that can be seen. Where two dependent steps of a run are
 * not ordered by others, the other order is run, too. A thread that waits can go on when its wait would let it through.
 *
 * Not explored: the order in which arrivals come to __syncthreads(), named and cluster barriers; a question or a load
 * that found the same thing twice is asked again only when there is something new. */
#include <time.h>

#include "../../common/model/core/schedule.h"
#include "../../common/model/event.h"
#include "../unit/tap.h"
#include "cases.h"

enum { ASKS = 8, PROCS = 4096, OBJECTS = 1024, TOUCHES = 6, MOST_STEPS = 16000, NOWHERE = -1, SLOTS = 4 * PROCS };

typedef enum { ARRIVES, CHANGES, LOOKS, WAITS } Kind;

/* What a step does to a barrier or a word. */
typedef struct {
    int object;
    Kind kind;
    int parity;          /* WAITS for an mbarrier */
    const int *at_least; /* WAITS for a word */
    int least;           /* ... that value */
    uint64_t phase;      /* before: the barrier's phase, the word's value */
    int completes;       /* a phase */
} Touch;

typedef struct {
    int proc, state; /* state NOWHERE: nothing was to be chosen */
    int touches;
    Touch touch[TOUCHES];
    uint16_t clock[PROCS]; /* steps of each proc up to this one come before it */
} Step;

typedef struct {
    const void *who;   /* a thread or an agent */
    const void *about; /* what it touches next; NULL: it stands nowhere */
    Touch next;
    int last, again; /* the object that it looked at last; how often it found nothing new */
    uint64_t version;
    uint16_t clock[PROCS];
} Proc;

typedef struct {
    const void *at;
    const unsigned long long *phase; /* of an mbarrier */
    uint64_t seen, version;
    /* Clocks: of the arrivals in this phase, of everything that was complete before it, and of the threads that tested
     * the barrier. */
    uint16_t open[PROCS], done[PROCS], looked[PROCS];
} Object;

/* Where something was to be chosen. */
typedef struct {
    int chosen, procs;
    uint8_t enabled[PROCS], wanted[PROCS], tried[PROCS];
} State;

static struct {
    Proc proc[PROCS];
    int slot[SLOTS]; /* 1 + proc, by who it is */
    Object object[OBJECTS];
    Step step[MOST_STEPS];
    int procs, objects, steps, running; /* running: the step in progress; NOWHERE: none */
    uint16_t base[PROCS];               /* what came before this launch */
    uint32_t set;                       /* launches so far; what came before this one */
    State state[MOST_STEPS];
    int states, depth; /* of the path; where this run is */
    int cut, overflow;
} x;

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static void join(uint16_t *to, const uint16_t *from) {
    for (int i = 0; i < x.procs; i++) {
        to[i] = from[i] > to[i] ? from[i] : to[i];
    }
}

static uint16_t *running_clock(void) { return x.running == NOWHERE ? NULL : x.proc[x.step[x.running].proc].clock; }

/* ---- who and what ------------------------------------------------------------------------------------------------ */

static int *slot_of(const void *who) {
    unsigned at = (unsigned)((uintptr_t)who >> 4) * 2654435761u % SLOTS;
    while (x.slot[at] != 0 && x.proc[x.slot[at] - 1].who != who) {
        at = (at + 1) % SLOTS;
    }
    return &x.slot[at];
}

static int proc_new(const void *who) {
    if (x.procs == PROCS) {
        x.overflow = 1; /* a smaller kernel is wanted */
        model_stop();
    }
    Proc *p = &x.proc[x.procs];
    memset(p, 0, sizeof *p);
    p->who = who;
    p->last = NOWHERE;
    *slot_of(who) = ++x.procs;
    join(p->clock, running_clock() != NULL ? running_clock() : x.base);
    return x.procs - 1;
}

static int proc_of(const void *who) {
    int slot = *slot_of(who);
    return slot != 0 ? slot - 1 : proc_new(who);
}

static int object_of(const void *at, const unsigned long long *phase) {
    for (int i = 0; i < x.objects; i++) {
        if (x.object[i].at == at) {
            x.object[i].phase = phase;
            return i;
        }
    }
    if (x.objects == OBJECTS) {
        x.overflow = 1;
        model_stop();
    }
    Object *o = &x.object[x.objects++];
    memset(o, 0, sizeof *o);
    o->at = at;
    o->phase = phase;
    return x.objects - 1;
}

/* Has a phase been completed? Then its arrivals are known to who looks. */
static void settle(Object *o) {
    if (o->phase != NULL && *o->phase != o->seen) {
        o->seen = *o->phase;
        join(o->done, o->open);
        memset(o->open, 0, sizeof o->open);
    }
}

/* ---- steps that could have come in the other order --------------------------------------------------------------- */

static int looks(Kind kind) { return kind == LOOKS || kind == WAITS; }

static int are_dependent(const Touch *a, const Touch *b) {
    if (a->object != b->object || (looks(a->kind) && looks(b->kind))) {
        return 0;
    }
    if (a->kind == ARRIVES && b->kind == ARRIVES) {
        return 0;
    }
    return (a->kind != ARRIVES || !looks(b->kind) || a->completes) &&
           (b->kind != ARRIVES || !looks(a->kind) || b->completes);
}

/* Would the wait have let its thread through before `first` as well? If not, there is but one order. */
static int can_be_first(const Touch *first, const Touch *wait) {
    if (wait->kind != WAITS) {
        return 1;
    }
    return wait->at_least != NULL ? (int)((uint32_t)first->phase - (uint32_t)wait->least) >= 0
                                  : (int)(first->phase & 1) != wait->parity;
}

static int is_before(int i, const uint16_t *clock) { return clock[x.step[i].proc] > i; }

/* Step n is to come before step i, in a run that is the same up to there. */
static void want_before(int n, int i) {
    State *s = &x.state[x.step[i].state];
    int first = n;
    for (int j = i + 1; j < n && first == n; j++) {
        if (x.step[j].state != NOWHERE && !is_before(i, x.step[j].clock)) {
            first = j;
        }
    }
    int proc = x.step[first].proc;
    if (proc < s->procs && s->enabled[proc]) {
        s->wanted[proc] = 1;
        return;
    }
    for (int p = 0; p < s->procs; p++) {
        s->wanted[p] |= s->enabled[p];
    }
}

/* What the step in progress touches: which steps before it are dependent, and not ordered? `known` is what orders
 * it. */
static void find_races(const Touch *touch, const uint16_t *known) {
    static uint16_t clock[PROCS];
    memcpy(clock, known, sizeof clock);
    for (int i = x.running - 1; i >= 0; i--) {
        const Step *before = &x.step[i];
        for (int k = 0; k < before->touches; k++) {
            if (before->touch[k].object == touch->object && are_dependent(&before->touch[k], touch)) {
                if (!is_before(i, clock) && before->state != NOWHERE && can_be_first(&before->touch[k], touch)) {
                    want_before(x.running, i);
                }
                join(clock, before->clock);
            }
        }
    }
}

static void touch(const void *at, const unsigned long long *phase, Touch t) {
    if (x.running == NOWHERE || x.step[x.running].touches == TOUCHES) {
        return;
    }
    Step *step = &x.step[x.running];
    uint16_t *clock = x.proc[step->proc].clock;
    t.object = object_of(at, phase);
    Object *o = &x.object[t.object];
    settle(o);
    t.phase = phase != NULL ? *phase : t.phase;
    if (t.kind != ARRIVES) {
        find_races(&t, clock);
        join(clock, o->done);
        if (t.kind == CHANGES) {
            join(clock, o->open);
            join(clock, o->looked);
        }
    }
    uint16_t *mark = looks(t.kind) ? o->looked : t.kind == ARRIVES ? o->open : o->done;
    join(mark, clock);
    o->version += t.kind == CHANGES;
    step->touch[step->touches++] = t;
}

/* The step in progress has ended. */
static void end_step(void) {
    if (x.running == NOWHERE) {
        return;
    }
    Step *step = &x.step[x.running];
    Proc *p = &x.proc[step->proc];
    if (step->state == NOWHERE && step->touches == 0) { /* nobody can tell that it has been */
        x.running = NOWHERE;
        x.steps--;
        return;
    }
    for (int i = 0; i < step->touches; i++) {
        Touch *t = &step->touch[i];
        Object *o = &x.object[t->object];
        t->completes = t->kind == ARRIVES && o->phase != NULL && *o->phase != t->phase;
        if (t->completes) {
            find_races(t, p->clock);
            join(p->clock, o->looked);
            join(o->open, p->clock);
        }
        settle(o);
    }
    memcpy(step->clock, p->clock, sizeof p->clock);
    x.running = NOWHERE;
}

static void begin_step(int proc, int state) {
    if (x.steps == MOST_STEPS) {
        x.overflow = 1;
        model_stop();
    }
    Step *step = &x.step[x.steps];
    step->proc = proc;
    step->state = state;
    step->touches = 0;
    x.running = x.steps++;
    x.proc[proc].clock[proc] = (uint16_t)(x.running + 1);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static int can_go_on(Proc *p) {
    const Touch *t = &p->next;
    if (t->kind == WAITS) {
        return t->at_least != NULL ? *(const int *)p->about - t->least >= 0
                                   : (int)(((const Barrier *)p->about)->phase & 1) != t->parity;
    }
    if (t->kind == LOOKS && p->last >= 0 && x.object[p->last].at == p->about) {
        const Object *o = &x.object[p->last];
        /* Who keeps a count of his questions may stop asking. */
        int most = ((const Thread *)p->who)->poll.changed > 0 ? ASKS : 2;
        return p->again < most || p->version != (o->phase != NULL ? *o->phase : o->version);
    }
    return 1;
}

static void go(int proc, int state) {
    begin_step(proc, state);
    x.proc[proc].about = NULL;
}

/* A state that no run has come to yet. */
static State *state_new(const int *list, const uint8_t *open, int count) {
    State *s = &x.state[x.states++];
    memset(s, 0, sizeof *s);
    s->chosen = NOWHERE;
    s->procs = x.procs;
    for (int i = 0; i < count; i++) {
        s->enabled[list[i]] = open[i];
        s->chosen = open[i] && s->chosen == NOWHERE ? list[i] : s->chosen;
    }
    return s;
}

static void new_launch(void) {
    for (int i = 0; i < x.procs; i++) {
        join(x.base, x.proc[i].clock);
        x.proc[i].who = NULL; /* another may have its place in memory */
    }
    memset(x.slot, 0, sizeof x.slot);
    x.set = device.sets;
}

static int choose(Thread *const *thread, int threads, Agent *const *agent, int agents) {
    static int list[PROCS];
    static uint8_t open[PROCS];
    int any = 0;
    end_step();
    if (x.set != device.sets) {
        new_launch();
    }
    for (int i = 0; i < threads; i++) {
        list[i] = proc_of(thread[i]);
        if (x.proc[list[i]].about == NULL) { /* it touches nothing before it asks */
            go(list[i], NOWHERE);
            return i;
        }
        any |= open[i] = (uint8_t)can_go_on(&x.proc[list[i]]);
    }
    for (int i = threads; i < threads + agents; i++) {
        list[i] = proc_of(agent[i - threads]);
        any |= open[i] = 1;
    }
    if (!any) { /* they wait for ever, or ask */
        go(list[0], NOWHERE);
        return 0;
    }
    State *s = x.depth < x.states ? &x.state[x.depth] : state_new(list, open, threads + agents);
    for (int i = 0; i < threads + agents; i++) {
        if (list[i] == s->chosen) {
            go(s->chosen, x.depth++);
            return i;
        }
    }
    x.cut = 1; /* memory was given out in another way, and this run is not as the last one up to here */
    model_stop();
}

/* New work, though its agent may have worked before. */
static void queued(const Agent *agent) {
    if (*slot_of(agent) != 0) {
        x.proc[*slot_of(agent) - 1].who = NULL; /* that work has ended */
    }
    proc_new(agent);
}

static void woken(const Thread *t) {
    if (running_clock() != NULL) {
        join(x.proc[proc_of(t)].clock, running_clock());
    }
}

static void joined(const Warp *w, uint32_t lanes) {
    static uint16_t clock[PROCS];
    memset(clock, 0, sizeof clock);
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t left = lanes; left != 0; left &= left - 1) {
            uint16_t *own = x.proc[proc_of(&w->thread[__builtin_ctz(left)])].clock;
            join(turn == 0 ? clock : own, turn == 0 ? own : clock);
        }
    }
}

static const Explorer explorer = {choose, queued, woken, joined};

/* ---- what the threads are about to do ---------------------------------------------------------------------------- */

/* The thread asks who goes on; then it does this. */
static void ask(Thread *t, const void *at, const unsigned long long *phase, Touch next) {
    if (schedule_explorer == NULL) {
        return;
    }
    Proc *p = &x.proc[proc_of(t)];
    p->about = at;
    p->next = next;
    thread_give_way(t);
    touch(at, phase, next);
    if (next.kind == LOOKS) {
        int object = object_of(at, phase);
        uint64_t version = phase != NULL ? *phase : x.object[object].version;
        p->again = p->last == object && p->version == version ? p->again + 1 : 1;
        p->last = object;
        p->version = version;
    }
}

static int only_waits; /* what is used next */

ON(first, MBARRIER_USE) {
    only_waits = strncmp(e->what, "mbarrier_wait", 13) == 0;
    int arrives = strstr(e->what, "arrive") != NULL || strstr(e->what, "_tx") != NULL;
    if (arrives) {
        ask(e->thread, e->barrier, &e->barrier->phase, (Touch){.kind = ARRIVES});
    }
}

ON(first, MBARRIER_WAIT) {
    ask(e->thread, e->barrier, &e->barrier->phase,
        (Touch){.kind = only_waits ? WAITS : LOOKS, .parity = (int)e->parity});
}

ON(first, ATOMIC) {
    ask(e->thread, e->p, NULL,
        (Touch){.kind = e->at_least != NULL        ? WAITS
                        : e->atomic == ATOMIC_LOAD ? LOOKS
                                                   : CHANGES,
                .at_least = e->at_least,
                .least = e->at_least != NULL ? *e->at_least : 0,
                .phase = *(const uint32_t *)e->p});
}

/* By an agent, or in the middle of something else. */
ON(first, MBARRIER_LANDED) { touch(e->barrier, &e->barrier->phase, (Touch){.kind = ARRIVES}); }
HEARS(first, MBARRIER_COPIES_ARRIVE, on_MBARRIER_LANDED);

ON(first, BARRIER_ARRIVE) { touch(&e->thread->cta->named[e->id], NULL, (Touch){.kind = ARRIVES}); }
ON(first, CLUSTER_ARRIVE) { touch(&e->thread->cta->cluster->barrier, NULL, (Touch){.kind = ARRIVES}); }
/* The memory of its barriers goes. */
ON(first, CTA_END) {
    end_step();
    for (int i = 0; i < x.objects; i++) {
        if (x.object[i].phase != NULL && ((const Barrier *)x.object[i].at)->cta == e->cta) {
            x.object[i].phase = NULL;
            x.object[i].at = NULL;
        }
    }
}

static void pass(const Event *e, const void *at) {
    if (schedule_explorer != NULL) {
        join(x.proc[proc_of(e->thread)].clock, x.object[object_of(at, NULL)].open);
    }
}
ON(first, BARRIER_PASSED) { pass(e, &e->thread->cta->named[e->id]); }
ON(first, CLUSTER_PASSED) { pass(e, &e->thread->cta->cluster->barrier); }

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* What a run says. */
typedef struct {
    int bug, status;
    int named; /* the rule of the case is among the reports */
} Verdict;

static Verdict run_once(const Case *c, ModelPolicy policy) {
    ModelOptions options = {.policy = policy, .quiet = 1, .chain = is_chain(c), .count = is_counted(c)};
    Verdict v = {.status = run_case(c, &options)};
    v.bug = model_reports() > 0;
    for (int i = 0; i < model_reports(); i++) {
        v.named |= c->rule != NULL && strcmp(model_rule_name(model_report(i)->rule), rule_of(c)) == 0;
    }
    return v;
}

/* Goes on to the next path; 0: there is none. */
static int next_path(void) {
    for (; x.states > 0; x.states--) {
        State *s = &x.state[x.states - 1];
        s->tried[s->chosen] = 1;
        for (int p = 0; p < s->procs; p++) {
            if (s->wanted[p] && !s->tried[p]) {
                s->chosen = p;
                return 1;
            }
        }
    }
    return 0;
}

typedef struct {
    long schedules, cuts, others; /* others: whose verdict is not the first one's */
    int all, bugs, silent;
} Found;

static Found explore(const Case *c, Verdict single, long most, double seconds) {
    Found f = {0};
    clock_t begin = clock();
    x.overflow = 0;
    do {
        x.procs = x.objects = x.steps = x.depth = x.cut = 0;
        x.running = NOWHERE;
        x.set = device.sets;
        memset(x.slot, 0, sizeof x.slot);
        memset(x.base, 0, sizeof x.base);
        schedule_explorer = &explorer;
        Verdict v = run_once(c, MODEL_EAGER);
        schedule_explorer = NULL;
        if (x.overflow) {
            break;
        }
        if (x.cut) {
            f.cuts++;
            continue;
        }
        f.schedules++;
        f.bugs += v.bug;
        f.silent += !v.bug;
        f.others += v.bug != single.bug || v.named != single.named || (!v.bug && v.status != single.status);
    } while (next_path() && f.schedules < most && (double)(clock() - begin) / CLOCKS_PER_SEC < seconds);
    f.all = x.states == 0 && !x.overflow && f.cuts == 0;
    x.states = x.objects = 0;
    x.running = NOWHERE;
    return f;
}

/* Is what is wrong seen in some schedules, and not in others? */
static void check_found(const Case *c) {
    enum { RANDOM_RUNS = 48 }; /* of which more than an eighth show it: so a run without options does nearly always */
    int shown = 0;
    for (int seed = 0; seed < RANDOM_RUNS; seed++) {
        ModelOptions options = {.policy = seed % 2 ? MODEL_RANDOM : MODEL_PCT, .seed = (unsigned)seed, .quiet = 1};
        shown += run_case(c, &options) != 0;
    }
    model_forget_depends();
    run_once(c, MODEL_RANDOM);
    ok(model_depends() != NULL, "%s: a run says that other schedules may differ: %s", c->name,
       model_depends() != NULL ? model_depends() : "it does not");
    Found f = explore(c, (Verdict){.status = 0}, 1000, 10);
    ok(f.all && f.others > 0 && f.others < f.schedules && shown > RANDOM_RUNS / 8,
       "%s: %ld of all %ld schedules show it, and %d of %d random ones", c->name, f.others, f.schedules, shown,
       RANDOM_RUNS);
}

/* What does not end by itself takes seconds. */
static int is_left_out(const Case *c) {
    return c->rule != NULL &&
           (c->rule[0] == '#' || strcmp(c->rule, "ENDLESS") == 0 || strcmp(c->rule, "LIVELOCK") == 0 ||
            strcmp(c->name, "waits ELECTED_IS_LANE_0") == 0); /* the explorer elects lane 0 in each schedule */
}

int main(int argc, char **argv) {
    const char *tier = getenv("TIER"), *part = argc > 1 ? argv[1] : "";
    int is_long = argc > 2 || (tier != NULL && strcmp(tier, "long") == 0);
    int turn = getenv("TURN") != NULL ? atoi(getenv("TURN")) % 3 : 0;
    double most = argc > 2 ? atof(argv[2]) : is_long ? 60 : 0.3;
    long schedules = 0, kernels = 0, whole = 0, depending = 0, more = 0, disagree = 0;
    x.running = NOWHERE;
    EACH_CASE(c) {
        if (strstr((*c)->name, part) == NULL || is_left_out(*c)) {
            continue;
        }
        if (is_for_explorer(*c)) {
            check_found(*c);
            continue;
        }
        if (!is_long && part[0] == '\0' && turn++ % 3 != 0) {
            continue;
        }
        model_forget_depends();
        Verdict single = run_once(*c, MODEL_RANDOM);
        int depends = model_depends() != NULL;
        Found f = explore(*c, single, is_long ? 20000 : 60, most);
        if (x.overflow) {
            diag("%s: too large: %d threads and agents, %d steps", (*c)->name, x.procs, x.steps);
            continue;
        }
        kernels++;
        schedules += f.schedules;
        whole += f.all;
        depending += depends;
        if (depends) {
            more += f.others > 0;
        } else if (!ok(f.others == 0, "%s: %ld schedules%s, %ld cut short", (*c)->name, f.schedules,
                       f.all ? "" : " and more", f.cuts)) {
            disagree++;
            diag("of these %ld say something else than one run: a bug in %d, none in %d", f.others, f.bugs, f.silent);
        }
    }
    diag("%ld kernels, %ld of them in all schedules; %ld schedules, %.0f s", kernels, whole, schedules,
         (double)clock() / CLOCKS_PER_SEC);
    diag("%ld say that nothing depends on the schedule: %ld of them differ in one; of the other %ld %ld do",
         kernels - depending, disagree, depending, more);
    model_shutdown();
    return tap_done();
}
