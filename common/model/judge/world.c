/* world.c - see world.h. */
#include "world.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "../place/place.h"
#include "bug_report.h"

/* A release reaches the threads of one device, or of all devices. */
enum { EVERYWHERE = DEVICE_LIMIT, REACHES };

/* A value that a word had, and what had been released with it by then: to all devices, and to the writer's. */
typedef struct Raise {
    uint32_t value;
    World *system, *near; /* may be NULL */
    int device;
} Raise;

/* A word that was released to in this set of launches. */
typedef struct Word {
    const void *at;
    struct Word *next;
    World *on[REACHES]; /* NULL: nothing, or a store has replaced it */
    Raise *raise;       /* oldest first: of atomics of .gpu scope alone the last ones */
    int raises, raise_capacity;
    int forgotten;         /* others were before them */
    Access stored, waited; /* who stored to it, and waited for a value of it, last */
    uint32_t serial;
    Component by; /* the thread that released to it last */
    Site site;
} Word;

static struct {
    void *tree;  /* by address */
    Word *first; /* the last one that was added */
} words;

static Site unordered; /* the first store in no order with another, or with a wait; 0: none */

enum { RAISES_KEPT = 32 };

/* What the ended threads of a device have read without an acquire, and by a scope that is too narrow: for reports. */
static World *ended_seen[DEVICE_LIMIT], *ended_beyond[DEVICE_LIMIT];
static Site ended_seen_at[DEVICE_LIMIT];

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

static const WorldPart *part_of(const World *world, uint32_t serial) {
    int low = 0, high = world != NULL ? world->count : 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (world->part[middle].serial < serial) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return world != NULL && low < world->count && world->part[low].serial == serial ? &world->part[low] : NULL;
}

/* What a thread knows. */
static World *world_of(const Thread *t) {
    const Clock *base = t->clock->base;
    World *mine = world_new(1);
    Clock *known = clock_new();
    clock_join(known, base);
    world_unref(known->world);
    known->world = NULL;
    for (int i = 0; i < t->clock->own_count; i++) {
        clock_raise_tick(known, t->clock->own[i].component, &t->clock->own[i].tick);
    }
    mine->waited = t->clock->waited | known->waited;
    mine->count = 1;
    mine->part[0] = (WorldPart){t->cta->cluster->serial, known};
    if (base != NULL) {
        world_join(&mine, base->world);
    }
    return mine;
}

static void learn(Thread *t, World *world) {
    if (world == NULL) {
        return;
    }
    const WorldPart *mine = part_of(world, t->cta->cluster->serial);
    Clock *clock = clock_new();
    if (mine != NULL) {
        clock_join(clock, mine->known);
    }
    clock->waited = world->waited;
    clock->world = world_ref(world);
    thread_acquire(t, clock);
    clock_unref(clock);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static int by_address(const void *x, const void *y) {
    uintptr_t a = (uintptr_t)((const Word *)x)->at, b = (uintptr_t)((const Word *)y)->at;
    return (a > b) - (a < b);
}

static Word *word_find(const void *at) {
    Word **word = tfind(&(Word){.at = at}, &words.tree, by_address);
    return word != NULL ? *word : NULL;
}

static Word *word_make(const void *at) {
    const Word wanted = {.at = at, .next = words.first};
    Word **word = model_checked(tsearch(&wanted, &words.tree, by_address));
    if (*word == &wanted) {
        words.first = *word = model_alloc(sizeof wanted);
        **word = wanted;
    }
    return *word;
}

static void forget(World **world) {
    world_unref(*world);
    *world = NULL;
}

/* The oldest ones. */
static void forget_raises(Word *word, int count) {
    for (int i = 0; i < count; i++) {
        world_unref(word->raise[i].system);
        world_unref(word->raise[i].near);
    }
    word->raises -= count;
    if (word->raises > 0 && count > 0) {
        memmove(word->raise, word->raise + count, (size_t)word->raises * sizeof *word->raise);
    }
}

static void forget_word(Word *word) {
    for (int on = 0; on < REACHES; on++) {
        forget(&word->on[on]);
    }
    forget_raises(word, word->raises);
    word->forgotten = 0;
    word->stored.serial = word->waited.serial = 0;
}

static void free_word(void *word) {
    forget_word(word);
    free(((Word *)word)->raise);
    free(word);
}

ON(world, LAUNCH_END) {
    tdestroy(words.tree, free_word);
    memset(&words, 0, sizeof words);
    unordered = 0;
    for (int i = 0; i < device.launched; i++) {
        forget(&device.launch[i].known);
    }
    for (int on = 0; on < DEVICE_LIMIT; on++) {
        forget(&ended_seen[on]);
        forget(&ended_beyond[on]);
    }
}

ON(world, CTA_BEGIN) {
    const Launch *l = launch_of(cta);
    if (l->follows < 0 || device.launch[l->follows].known == NULL) {
        return;
    }
    Clock *clock = clock_new();
    clock->world = world_ref(device.launch[l->follows].known);
    for (int i = 0; i < cta->threads; i++) {
        clock_hold(&cta->thread[i].clock->base, clock);
    }
    clock_unref(clock);
}

/* The next launch of the stream is ordered after everything that the CTA's cluster did, and knows what it knew. */
static void hand_to_stream(const Cta *cta) {
    Launch *l = launch_of(cta);
    World *mine = world_new(1);
    Clock *all = clock_new();
    for (int c = 0; c < cta->cluster->clock->count; c++) {
        clock_raise(all, (Component)c, UINT32_MAX, UINT32_MAX);
    }
    mine->count = 1;
    mine->part[0] = (WorldPart){cta->cluster->serial, all};
    world_join(&l->known, mine);
    world_unref(mine);
    if (cta->clock->exit != NULL) {
        world_join(&l->known, cta->clock->exit->world);
    }
    for (int i = 0; i < cta->threads; i++) {
        const ThreadClock *clock = cta->thread[i].clock;
        for (int scope = SCOPE_GPU; scope < SCOPES; scope++) {
            world_join(&ended_seen[l->facts.device], clock->seen[scope]);
        }
        ended_seen_at[l->facts.device] = clock->seen_at != 0 ? clock->seen_at : ended_seen_at[l->facts.device];
        world_join(&ended_beyond[l->facts.device], clock->beyond);
    }
}

ON(world, CTA_END) {
    if (device.launched > 1) {
        hand_to_stream(cta);
    }
    for (Word *word = words.first; word != NULL; word = word->next) { /* its shared memory will be another CTA's */
        if ((uintptr_t)word->at - (uintptr_t)cta->shared < cta->shared_bytes) {
            forget_word(word);
        }
    }
    for (int i = 0; i < cta->threads; i++) {
        ThreadClock *clock = cta->thread[i].clock;
        world_unref(clock->beyond);
        for (int scope = SCOPE_GPU; scope < SCOPES; scope++) {
            world_unref(clock->seen[scope]);
            world_unref(clock->fence[scope]);
        }
    }
}

/* ---- atomics and fences ------------------------------------------------------------------------------------------ */

/* What does not reach a thread that asks by .gpu scope. */
static void come_across(Thread *t, const Word *word, MemoryOrder order) {
    for (int on = 0; on < device.devices && !(order & ORDER_SYSTEM); on++) {
        if (on != device_of(t)) {
            world_join(&t->clock->beyond, word->on[on]);
        }
    }
}

void world_acquire(Thread *t, const void *at, AtomicKind kind, MemoryOrder order, Site site) {
    const Word *word = kind != ATOMIC_STORE ? word_find(at) : NULL;
    if (word == NULL) {
        return;
    }
    for (Scope scope = SCOPE_GPU; scope <= scope_of(order); scope++) {
        World *reaches = word->on[scope == SCOPE_GPU ? device_of(t) : EVERYWHERE];
        if (order & ORDER_ACQUIRE) {
            learn(t, reaches);
        } else {
            world_join(&t->clock->seen[scope], reaches);
            t->clock->seen_at = reaches != NULL ? site : t->clock->seen_at;
        }
    }
    come_across(t, word, order);
}

/* For its order alone. */
static Access access_of(const Thread *t, Site site) {
    return (Access){
        .serial = t->cta->cluster->serial, .epoch = thread_epoch(t), .component = thread_component(t), .site = site};
}

Site world_unordered(void) { return unordered; }

void world_reached(Thread *t, const void *at, MemoryOrder order, int wanted) {
    Word *word = word_find(at);
    if (word == NULL) {
        return;
    }
    int i = word->raises;
    while (i > 0 && (int)(word->raise[i - 1].value - (uint32_t)wanted) >= 0) {
        i--;
    }
    if (i < word->raises && (order & ORDER_SYSTEM)) {
        learn(t, word->raise[i].system);
    }
    int near = i < word->raises ? i : -1;
    while (near >= 0 && word->raise[near].device != device_of(t)) {
        near--;
    }
    if (near >= 0) {
        learn(t, word->raise[near].near);
    }
    if (i == 0 && word->forgotten) { /* it may have been reached before */
        unordered = unordered != 0 ? unordered : word->site;
    }
    come_across(t, word, order);
    word->waited = access_of(t, 0);
}

/* Which of two stores remains, and which of them a wait has seen, depends on the schedule unless one knows the other.
 * So does what a wait sees if a store takes the value away. */
static int is_concurrent(const Thread *t, const Access *other) {
    const int own = other->serial == t->cta->cluster->serial && other->component == thread_component(t);
    return other->serial != 0 && !own && !world_has(t, other, KNOWN, SPACE_GLOBAL);
}

static void note_store(Thread *t, const void *at, int lowers, Site site) {
    Word *word = word_make(at);
    if (is_concurrent(t, &word->stored) || (lowers && is_concurrent(t, &word->waited))) {
        unordered = unordered != 0 ? unordered : site;
    }
    word->stored = access_of(t, site);
}

ON(world, ATOMIC_DONE) {
    if (e->atomic == ATOMIC_STORE) {
        note_store(t, e->p, (int)(e->after - e->before) < 0, e->site);
    }
    Word *word = e->order & ORDER_SYSTEM ? word_make(e->p) : word_find(e->p);
    if (word == NULL) {
        return;
    }
    if (word->raises >= RAISES_KEPT && device.devices == 1) {
        word->forgotten = 1;
        forget_raises(word, RAISES_KEPT / 2);
    }
    word->raise = model_grow(word->raise, word->raises + 2, &word->raise_capacity, sizeof *word->raise);
    if (word->raises == 0) {
        word->raise[word->raises++] = (Raise){e->before, NULL, NULL, device_of(t)};
    }
    word->raise[word->raises++] =
        (Raise){e->after, world_ref(word->on[EVERYWHERE]), world_ref(word->on[device_of(t)]), device_of(t)};
}

/* What the thread releases, within this scope, with a write of this order; NULL: nothing. The caller unrefs it. */
static World *handed_on(Thread *t, MemoryOrder order, Scope scope) {
    if (order & ORDER_RELEASE) { /* what the thread knows now; its later accesses are not part of it */
        World *now = world_of(t);
        thread_advance(t);
        return now;
    }
    return world_ref(t->clock->fence[scope]);
}

void world_release(Thread *t, const void *at, AtomicKind kind, MemoryOrder order, Site site) {
    if (kind == ATOMIC_LOAD) {
        return;
    }
    World *mine = handed_on(t, order, SCOPE_GPU);
    Word *word = mine != NULL ? word_make(at) : word_find(at);
    if (word == NULL) {
        return;
    }
    int by_itself = word->serial == t->cta->cluster->serial && word->by == thread_component(t);
    for (int on = 0; on < REACHES && kind == ATOMIC_STORE && !by_itself; on++) {
        forget(&word->on[on]);
    }
    if (mine != NULL) {
        World *far = !(order & ORDER_SYSTEM) ? NULL
                     : order & ORDER_RELEASE ? world_ref(mine)
                                             : handed_on(t, order, SCOPE_SYSTEM);
        world_join(&word->on[device_of(t)], mine);
        world_join(&word->on[EVERYWHERE], far);
        world_unref(far);
        world_unref(mine);
        word->serial = t->cta->cluster->serial;
        word->by = thread_component(t);
        word->site = site;
    }
}

ON(world, FENCE) {
    for (Scope scope = SCOPE_GPU; scope <= (e->system ? SCOPE_SYSTEM : SCOPE_GPU); scope++) {
        learn(t, t->clock->seen[scope]);
        forget(&t->clock->seen[scope]);
    }
    for (Scope scope = SCOPE_GPU; scope <= (e->system ? SCOPE_SYSTEM : SCOPE_GPU); scope++) {
        forget(&t->clock->fence[scope]);
        t->clock->fence[scope] = world_of(t);
    }
    thread_advance(t);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const World *known_world(const Thread *t) { return t->clock->base != NULL ? t->clock->base->world : NULL; }

static int holds(const World *world, const Access *e, Aspect aspect, Space space) {
    const WorldPart *part = part_of(world, e->serial);
    Tick tick = clock_tick(part != NULL ? part->known : NULL, e->component);
    return tick_value(&tick, aspect, space) >= e->epoch;
}

static int knows(const World *world, const Access *e) { return holds(world, e, KNOWN, SPACE_GLOBAL); }

int world_has(const Thread *t, const Access *e, Aspect aspect, Space space) {
    return e->serial == t->cta->cluster->serial ? thread_has(t, e->component, e->epoch, aspect, space)
                                                : holds(known_world(t), e, aspect, space);
}

int world_knows_start(const Thread *t, const LaunchFacts *launch) {
    const World *world = known_world(t);
    for (int i = 0; world != NULL && i < world->count; i++) {
        if (world->part[i].serial > launch->first && world->part[i].serial <= launch->last) {
            return 1;
        }
    }
    return 0;
}

int world_device_knows(int on, const Access *e) {
    for (int i = 0; i < device.launched; i++) {
        if (device.launch[i].facts.device == on && knows(device.launch[i].known, e)) {
            return 1;
        }
    }
    return 0;
}

int world_issuer_knows(const Access *e) {
    for (int i = 0; i < device.clusters; i++) {
        if (device.cluster[i]->serial == e->serial) {
            const Thread *issuer = component_owner(device.cluster[i], e->issuer)->thread;
            return thread_newest(issuer, e->component).known >= e->epoch;
        }
    }
    for (int on = 0; on < device.devices; on++) {
        if (world_device_knows(on, e)) {
            return 1;
        }
    }
    return 0;
}

/* A word that hands the access on to a device, or to all; NULL: there is none. */
static const Word *word_with(int on, const Access *e) {
    const Word *word = words.first;
    while (word != NULL && !knows(word->on[on], e)) {
        word = word->next;
    }
    return word;
}

/* ... to another device than this one. */
static const Word *word_beyond(int on, const Access *e) {
    const Word *word = NULL;
    for (int other = 0; other < device.devices && word == NULL; other++) {
        word = other != on ? word_with(other, e) : NULL;
    }
    return word;
}

int world_is_handed_on(const Access *e) { return word_beyond(EVERYWHERE, e) != NULL; }

static int has_seen(const Thread *t, int on, const Access *e) {
    return t == NULL ? knows(ended_seen[on], e)
                     : knows(t->clock->seen[SCOPE_GPU], e) || knows(t->clock->seen[SCOPE_SYSTEM], e);
}

int world_is_beyond(const Thread *t, int on, const Access *e) {
    return device.devices > 1 && !has_seen(t, on, e) &&
           (knows(t != NULL ? t->clock->beyond : ended_beyond[on], e) ||
            (word_beyond(on, e) != NULL && word_with(on, e) == NULL && word_with(EVERYWHERE, e) == NULL));
}

void world_missing(const Thread *t, int on, const Access *e, const char *who) {
    const Word *without = NULL;
    for (const Word *word = words.first; word != NULL; word = word->next) {
        for (int other = 0; other < device.devices; other++) {
            without = part_of(word->on[other], e->serial) != NULL ? word : without;
        }
    }
    const Word *near = word_with(on, e), *far = word_with(EVERYWHERE, e), *beyond = word_beyond(on, e);
    const char *reader = t != NULL ? "neither this thread nor one before it at a barrier" : "no thread of that launch";
    if (has_seen(t, on, e)) {
        report_line("missing",
                    "an acquire: the relaxed atomic at %s has read what was released after that access, and no %s was "
                    "executed between the two",
                    place_text(t != NULL ? t->clock->seen_at : ended_seen_at[on]),
                    near != NULL ? "__threadfence()" : "__threadfence_system()");
    } else if (near != NULL || far != NULL) {
        report_line("missing",
                    "an acquire%s: the atomic at %s publishes that access, and %s has read it by an acquire%s",
                    near == NULL ? " of system scope" : "", place_text(near != NULL ? near->site : far->site), reader,
                    near == NULL ? " of that scope, and waited for a value that counts it" : "");
    } else if (beyond != NULL) {
        report_line(
            "missing",
            "a release of system scope: the atomic at %s publishes that access to the threads of its own device only",
            place_text(beyond->site));
    } else if (t != NULL && e->serial == t->cta->cluster->serial) {
        report_line("missing", "no barrier that both threads take part in lies between");
    } else if (without != NULL) {
        report_line("missing",
                    "a barrier or a release: what the CTA has published by the atomic at %s does not contain that "
                    "access",
                    place_text(without->site));
    } else {
        report_line("missing",
                    "a release: neither %s nor a thread that met it at a barrier has since written an atomic by a "
                    "release, or after __threadfence()",
                    who);
    }
}
