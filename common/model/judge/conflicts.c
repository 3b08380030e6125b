/* conflicts.c - see conflicts.h.
 *
 * Most memory is only read and needs no more than the bounds check. Memory that a launch has ever written, and what is
 * small, has a cell for every 2 bytes: its last ordinary write, and in a list the reads and atomic accesses behind it. Two
 * of them are in order if the later one's thread knows the earlier (clock.h; world.h between clusters). A thread
 * must also know its own copies: program order does not hold them together, nor does a group those in it. A launch that overlaps the one before looks at
 * that one's cells too: all threads of it are in order behind grid_dependency_wait().
 *
 * In a chain of layers, what is in the memory of a device belongs to its stream. So another device may write there only when
 * it knows that a launch of that device has begun, and a launch may end only when it knows such writes to be over. */
#include "conflicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../core/schedule.h"
#include "bug_report.h"
#include "provenance.h"
#include "shadow.h"
#include "world.h"

enum {
    SMALL_BYTES = 4096, /* an allocation of which reads are kept before anybody has written it */
    OTHERS_LIMIT = 32,  /* reads and atomic accesses of a cell; the oldest are forgotten */
};

typedef struct {
    uint32_t serial; /* of the cluster; one of an earlier launch mostly does not count any more */
    uint32_t epoch;
    Site site;
    Component component, issuer;
    uint8_t how;    /* GlobalAccess */
    uint8_t bytes;  /* bit 0 the low one, bit 1 the high one */
    uint8_t system; /* an atomic of system scope */
} GlobalEvent;

/* Of 2 bytes. */
typedef struct GlobalCell {
    GlobalEvent write;
    uint32_t others; /* index of an Other; none if it is not one of this cell */
} GlobalCell;

typedef struct {
    GlobalEvent event;
    uint32_t next;
    const GlobalCell *of; /* NULL: free */
} Other;

static struct {
    Other *list; /* from 1 */
    uint32_t count, free;
    int capacity;
} others;

static struct {
    uint32_t first;  /* clusters of this set of launches have the serials behind it */
    uint32_t oldest; /* cells up to this serial do not count: those of launches that have ended */
} now;

static const struct {
    const char *text;
    uint8_t writes, atomic, async;
} access_of[] = {
#define HOW(id, text, writes, atomic, async) {text, writes, atomic, async},
    GLOBAL_ACCESSES(HOW)
#undef HOW
};

/* The list of a cell; 0: empty. */
static uint32_t first_of(const GlobalCell *c) {
    return c->others != 0 && c->others < others.count && others.list[c->others].of == c ? c->others : 0;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int is_of(const LaunchFacts *facts, uint32_t serial) { return serial > facts->first && serial <= facts->last; }

/* The launch before in its stream. */
static const LaunchFacts *before_of(const Launch *l) {
    return l->follows >= 0 ? &device.launch[l->follows].facts : &l->before;
}

static int overlaps(const Launch *l) { return l->overlap && before_of(l)->last != 0 && before_of(l)->dependents; }

/* The launch of a cluster of this set or, `of_before` 1, of one before. */
static const LaunchFacts *facts_of(uint32_t serial, int *of_before) {
    for (int i = 0; i < device.launched; i++) {
        *of_before = 0;
        if (is_of(&device.launch[i].facts, serial)) {
            return &device.launch[i].facts;
        }
        *of_before = 1;
        if (is_of(&device.launch[i].before, serial)) {
            return &device.launch[i].before;
        }
    }
    return NULL;
}

/* Of another device than the launch. */
static int is_far(const Launch *l, uint32_t serial) {
    int of_before;
    return facts_of(serial, &of_before)->device != l->facts.device;
}

void conflicts_launch_begin(void) {
    now.first = now.oldest = device.launch->facts.first;
    for (int i = 0; i < device.launched; i++) {
        const Launch *l = &device.launch[i];
        if (l->follows < 0 && overlaps(l) && l->before.first < now.oldest) {
            now.oldest = l->before.first;
        }
    }
    if (now.oldest == now.first) {
        others.count = 1;
        others.free = 0;
    }
}

void conflicts_unknown(Thread *t, const void *p, uint32_t size, Site site, const char *what) {
    report_begin_last(RULE_GLOBAL_BOUNDS);
    report_place("now", t, site, what);
    report_line("memory",
                "%u bytes at address %p: not global memory, not this CTA's shared memory, not the thread's own", size,
                p);
    report_end(1);
    model_stop();
}

static void report_bounds(Thread *t, uintptr_t p, uint32_t size, const char *what, Site site) {
    if (!global_is((const void *)p)) {
        conflicts_unknown(t, (const void *)p, size, site, what);
    }
    const Allocation *below = global_below(p);
    report_begin_last(RULE_GLOBAL_BOUNDS);
    report_place("now", t, site, what);
    if (below != NULL) {
        char name[PHRASE_SIZE];
        report_line("memory", "%u bytes at byte %lld of %s, which has %lld bytes", size, (long long)(p - below->begin),
                    allocation_text(below, name), (long long)(below->end - below->begin));
    } else {
        report_line("memory", "%u bytes at address 0x%llx, below every allocation", size, (unsigned long long)p);
    }
    report_end(1);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

/* Who made an access: of a cluster that has ended as well. */
static const char *issuer_text(const GlobalEvent *e, char *text) {
    for (int i = 0; i < device.clusters; i++) {
        if (device.cluster[i]->serial == e->serial) {
            return thread_text(component_owner(device.cluster[i], e->issuer)->thread, text);
        }
    }
    /* The first components of a cluster are its threads'. */
    int of_before;
    const LaunchFacts *l = facts_of(e->serial, &of_before);
    int thread = e->issuer % l->block;
    int cta = l->first_block + (int)(e->serial - l->first - 1) * l->cluster_size + e->issuer / l->block;
    int length = snprintf(text, PHRASE_SIZE, "CTA %d", cta);
    if (device.devices > 1) {
        length += snprintf(text + length, (size_t)(PHRASE_SIZE - length), " of device %d", l->device);
    }
    snprintf(text + length, (size_t)(PHRASE_SIZE - length), " warp %d lane %d%s", thread / WARP_SIZE,
             thread % WARP_SIZE, of_before ? " of the launch before" : "");
    return text;
}

static void report_memory(const Allocation *a, uintptr_t p) {
    char text[PHRASE_SIZE], name[PHRASE_SIZE];
    Tag place = tag_of_global((const void *)p);
    int named = place.tensor != TENSOR_UNKNOWN;
    report_line("memory", "%s, byte %llu%s%s", allocation_text(a, name), (unsigned long long)(p - a->begin),
                named ? ": " : "", named ? tag_text(place, text) : "");
}

/* What a thread, or NULL, a launch of device `on` would have to know of e. */
static void report_missing(const Thread *t, int on, const GlobalEvent *e, const char *who) {
    if (!access_of[e->how].async || (device.devices > 1 && world_is_handed_on(e->serial, e->component, e->epoch))) {
        world_missing(t, on, e->serial, e->component, e->epoch, who);
    } else if (e->how == GLOBAL_TMA_READ) {
        report_line("missing",
                    "a wait for the mbarrier phase in which the copy lands, by this thread or by one that is "
                    "before it");
    } else if (t != NULL && !is_far(launch_of(t->cta), e->serial)) {
        report_line("missing", "bulk_wait_group(0) by the thread of the copy, and what orders this thread behind it");
    } else {
        report_line("missing", "bulk_wait_group(0) by the thread of the copy, behind it a release of system scope, and "
                               "an acquire on this device that reads what was released");
    }
}

/* e: NULL if it is any access of the launch before. */
static void report_order(ModelRule rule, Thread *t, const Allocation *a, uintptr_t p, const char *what, Site site,
                         const GlobalEvent *e) {
    char who[PHRASE_SIZE];
    if (!report_begin(rule)) {
        return;
    }
    report_place("now", t, site, what);
    if (e != NULL) {
        report_place_of("before", issuer_text(e, who), e->site, access_of[e->how].text);
    } else {
        report_line("before", "the launch before, which may still run: in a chain of layers it writes and reads "
                              "what this one reads and writes");
    }
    report_memory(a, p);
    if (rule == RULE_LAUNCH_OVERLAP) {
        report_line("missing", "grid_dependency_wait(), by this thread or by one that is before it at a barrier");
    } else if (rule == RULE_PROXY_FENCE) {
        report_line("missing", "fence_proxy_async_global() behind the earlier access: by its thread before it hands "
                               "it on, or by this one before the copy");
    } else if (rule == RULE_SCOPE && access_of[e->how].atomic) {
        report_line("missing", "an atomic of system scope: one of .gpu scope is atomic for its own device alone");
    } else {
        report_missing(t, device_of(t), e, who);
    }
    report_end(0);
}

static void report_start(Thread *t, const Allocation *a, uintptr_t p, const char *what, Site site) {
    if (!report_begin(RULE_PEER_START)) {
        return;
    }
    report_place("now", t, site, what);
    report_memory(a, p);
    report_line("missing",
                "an acquire of a flag that device %d raises when this launch of it has begun: until then the work "
                "before in its stream may use that memory",
                a->device);
    report_end(0);
}

/* ---- the end of launches ----------------------------------------------------------------------------------------- */

/* A launch of the device that memory lies on has ended: is this access from elsewhere known to be over? */
static int is_open(const Allocation *a, const GlobalEvent *e) {
    int of_before;
    if (e->serial <= now.first || !access_of[e->how].writes || (access_of[e->how].atomic && !access_of[e->how].async)) {
        return 0;
    }
    return facts_of(e->serial, &of_before)->device != a->device &&
           !world_device_knows(a->device, e->serial, e->component, e->epoch);
}

static void report_open(const Allocation *a, uintptr_t p, const GlobalEvent *e) {
    char who[PHRASE_SIZE];
    ModelRule rule = world_is_beyond(NULL, a->device, e->serial, e->component, e->epoch) ? RULE_SCOPE : RULE_PEER_END;
    if (!report_begin(rule)) {
        return;
    }
    report_line("now", "the launch on device %d has ended", a->device);
    report_place_of("before", issuer_text(e, who), e->site, access_of[e->how].text);
    report_memory(a, p);
    report_missing(NULL, a->device, e, who);
    report_end(0);
}

static int has_launch(int on) {
    int i = 0;
    while (i < device.launched && device.launch[i].facts.device != on) {
        i++;
    }
    return i < device.launched;
}

void conflicts_launches_done(void) {
    const Allocation *a;
    for (int n = 0; device.devices > 1 && device.options.chain && (a = global_at(n)) != NULL; n++) {
        for (size_t i = 0; a->cell != NULL && has_launch(a->device) && i < (a->end - a->begin + 1) / 2; i++) {
            const GlobalCell *c = &a->cell[i];
            const GlobalEvent *open = is_open(a, &c->write) ? &c->write : NULL;
            for (uint32_t k = first_of(c); k != 0 && open == NULL; k = others.list[k].next) {
                open = is_open(a, &others.list[k].event) ? &others.list[k].event : NULL;
            }
            if (open != NULL) {
                report_open(a, a->begin + 2 * i, open);
                return;
            }
        }
    }
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Is t's access, how and bytes of `mine`, in order behind e? */
static void check(Thread *t, const Allocation *a, uintptr_t p, const char *what, const GlobalEvent *mine,
                  const GlobalEvent *e) {
    const int writes = access_of[mine->how].writes, wrote = access_of[e->how].writes;
    if (e->serial <= now.oldest || !(e->bytes & mine->bytes) || !(writes | wrote) ||
        (e->serial == mine->serial && e->component == mine->component && !access_of[mine->how].async)) {
        return;
    }
    const Launch *l = launch_of(t->cta);
    if (overlaps(l) && is_of(before_of(l), e->serial)) {
        if (!thread_waited(t)) {
            report_order(RULE_LAUNCH_OVERLAP, t, a, p, what, mine->site, e);
        }
    } else if (e->serial <= now.first) {
        return;
    } else if (access_of[mine->how].atomic && access_of[e->how].atomic) {
        if (!(mine->system & e->system) && device.devices > 1 && is_far(l, e->serial) &&
            !world_knows(t, e->serial, e->component, e->epoch)) {
            report_order(RULE_SCOPE, t, a, p, what, mine->site, e);
        }
    } else if (!world_knows(t, e->serial, e->component, e->epoch)) {
        int beyond = world_is_beyond(t, device_of(t), e->serial, e->component, e->epoch);
        report_order(beyond ? RULE_SCOPE : RULE_GLOBAL_CONFLICT, t, a, p, what, mine->site, e);
    } else if (access_of[mine->how].async && !access_of[e->how].async && wrote &&
               !world_fenced(t, e->serial, e->component, e->epoch)) {
        report_order(RULE_PROXY_FENCE, t, a, p, what, mine->site, e);
    }
}

static void other_add(GlobalCell *c, const GlobalEvent *e) {
    uint32_t i = others.free;
    if (i != 0) {
        others.free = others.list[i].next;
    } else {
        others.count += others.count == 0;
        others.list = model_room(others.list, (int)others.count + 1, &others.capacity, sizeof *others.list);
        i = others.count++;
    }
    others.list[i] = (Other){*e, first_of(c), c};
    c->others = i;
}

static uint32_t other_drop(uint32_t i) {
    uint32_t next = others.list[i].next;
    others.list[i].of = NULL;
    others.list[i].next = others.free;
    others.free = i;
    return next;
}

/* Checks the list of a cell, and takes out what need not be kept behind an access that is to be kept. */
static void check_others(Thread *t, const Allocation *a, uintptr_t p, const char *what, const GlobalEvent *mine,
                         GlobalCell *c) {
    const int overwrites = access_of[mine->how].writes && !access_of[mine->how].atomic;
    uint32_t kept = 0, last = 0, n = 0;
    int seen = 0; /* by an atomic that this thread knows: older ones are in the order of the word's values before it */
    for (uint32_t i = first_of(c); i != 0;) {
        const GlobalEvent *e = &others.list[i].event;
        if (!seen || !access_of[e->how].writes) {
            check(t, a, p, what, mine, e);
        }
        if (mine->how == GLOBAL_WRITE && access_of[e->how].atomic && e->serial > now.first) {
            seen = e->how != GLOBAL_ATOMIC_STORE && (seen || world_knows(t, e->serial, e->component, e->epoch));
        }
        int covered = (e->bytes & ~mine->bytes) == 0 &&
                      (overwrites || (e->how == mine->how && e->system == mine->system && e->serial > now.first &&
                                      ((e->serial == mine->serial && e->component == mine->component) ||
                                       world_knows(t, e->serial, e->component, e->epoch))));
        if (covered || e->serial <= now.oldest || ++n >= OTHERS_LIMIT) {
            i = other_drop(i);
            continue;
        }
        if (last != 0) {
            others.list[last].next = i;
        } else {
            kept = i;
        }
        last = i;
        i = others.list[i].next;
    }
    if (last != 0) {
        others.list[last].next = 0;
    }
    c->others = kept;
}

/* The cells of an allocation; NULL: its accesses are not kept. */
static GlobalCell *cells(Allocation *a) {
    if (a->cell == NULL) {
        size_t bytes = (a->end - a->begin + 1) / 2 * sizeof *a->cell;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        a->cell = p == MAP_FAILED ? NULL : p;
    }
    return a->cell;
}

/* The launch of that device that goes with this one: as many are before it there. */
static const LaunchFacts *peer_of(const Launch *l, int on) {
    int number = 0;
    for (const Launch *before = device.launch; before < l; before++) {
        number += before->facts.device == l->facts.device;
    }
    for (int i = 0; i < device.launched; i++) {
        if (device.launch[i].facts.device == on && number-- == 0) {
            return &device.launch[i].facts;
        }
    }
    return NULL;
}

/* A write to the memory of another device, whose launch must be known to have begun. */
static void check_start(Thread *t, const Allocation *a, uintptr_t p, const char *what, Site site) {
    const LaunchFacts *peer = peer_of(launch_of(t->cta), a->device);
    if (peer != NULL && !world_knows_start(t, peer)) {
        report_start(t, a, p, what, site);
    }
}

static void access_memory(Thread *t, const void *pointer, uint32_t size, GlobalEvent mine, const char *what) {
    const GlobalAccess how = (GlobalAccess)mine.how;
    const Site site = mine.site;
    uintptr_t p = (uintptr_t)pointer;
    Allocation *a = global_find(p, site / 8);
    if (a == NULL || size > a->end - p) {
        report_bounds(t, p, size, what, site);
    }
    if (device.options.chain && launch_of(t->cta)->overlap && !thread_waited(t) &&
        !(a->constant && !access_of[how].writes)) {
        report_order(RULE_LAUNCH_OVERLAP, t, a, p, what, site, NULL);
    }
    if (device.options.chain && a->device != device_of(t) && access_of[how].writes &&
        (!access_of[how].atomic || access_of[how].async)) {
        check_start(t, a, p, what, site);
    }
    /* Where somebody observes, nobody looks for conflicts: that would take memory for all of C. */
    if ((a->cell == NULL && !access_of[how].writes && a->end - a->begin > SMALL_BYTES) ||
        device.options.observer != NULL) {
        return;
    }
    GlobalCell *cell = cells(a);
    if (cell == NULL) {
        return;
    }
    const int overwrites = access_of[how].writes && !access_of[how].atomic;
    uintptr_t begin = p - a->begin, end = begin + size;
    for (uintptr_t i = begin / 2; i <= (end - 1) / 2; i++) {
        GlobalCell *c = &cell[i];
        mine.bytes = (uint8_t)((2 * i >= begin) | (2 * i + 1 < end) << 1);
        if (c->write.serial > now.oldest) {
            check(t, a, p, what, &mine, &c->write);
        }
        if (c->others != 0) {
            check_others(t, a, p, what, &mine, c);
        }
        if (!overwrites) {
            other_add(c, &mine);
        } else {
            if (c->write.serial > now.oldest && (c->write.bytes & ~mine.bytes) != 0) {
                other_add(c, &c->write);
            }
            c->write = mine;
        }
    }
}

static GlobalEvent event_of(const Thread *t, GlobalAccess how, Component component, uint32_t epoch, Site site) {
    return (GlobalEvent){.serial = t->cta->cluster->serial,
                         .epoch = epoch,
                         .site = site,
                         .component = component,
                         .issuer = thread_component(t),
                         .how = (uint8_t)how};
}

void conflicts_access(Thread *t, const void *p, uint32_t size, GlobalAccess how, Component component, uint32_t epoch,
                      Site site, const char *what) {
    access_memory(t, p, size, event_of(t, how, component, epoch, site), what);
}

void conflicts_read(Thread *t, const void *p, uint32_t size, Site site, const char *what) {
    conflicts_access(t, p, size, GLOBAL_READ, thread_component(t), thread_epoch(t), site, what);
}

/* Loads of one place from one instruction, with nothing else between: an ordinary load orders nothing, and no thread
 * stops at it, so that such a loop would run for ever. */
enum { SPIN_LIMIT = 1 << 20 };

void conflicts_spin(const Thread *t, const void *p, uint32_t size, int write, Site site) {
    uintptr_t address = (uintptr_t)p;
    static struct {
        const Thread *thread;
        uintptr_t address;
        uint64_t step;
        Site site;
        uint32_t count;
    } last;
    if (write || last.address != address || last.site != site || last.thread != t || last.step != device.step) {
        last.thread = t;
        last.address = write ? 0 : address;
        last.step = device.step;
        last.site = site;
        last.count = 0;
    } else if (++last.count == SPIN_LIMIT) {
        last.address = 0;
        report_misuse(RULE_LIVELOCK, site, 1,
                      "ordinary load of the same %u bytes, %d times without anything between: nothing orders it behind "
                      "a store of another thread; wait at a barrier, or poll a counter of global_counter.h",
                      size, SPIN_LIMIT);
    }
}

void conflicts_plain(Thread *t, const void *p, uint32_t size, int write, Site site) {
    conflicts_spin(t, p, size, write, site);
    conflicts_access(t, p, size, write ? GLOBAL_WRITE : GLOBAL_READ, thread_component(t), thread_epoch(t), site,
                     write ? "store" : "load");
}

static int is_shared(const void *p) { return (uintptr_t)p - (uintptr_t)device.shared_base < device.shared_span; }

void conflicts_atomic(Thread *t, const void *p, AtomicKind kind, MemoryOrder order, const char *what, const int *wanted,
                      Site site) {
    if ((uintptr_t)p % 4 != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s at address %p, which is not a multiple of 4", what, p);
    }
    if (is_shared(p)) {
        shadow_atomic(t, p, site);
        return;
    }
    if (wanted == NULL) {
        world_acquire(t, p, kind, order);
    }
    GlobalAccess how = kind == ATOMIC_LOAD    ? GLOBAL_ATOMIC_READ
                       : kind == ATOMIC_STORE ? GLOBAL_ATOMIC_STORE
                                              : GLOBAL_ATOMIC;
    GlobalEvent mine = event_of(t, how, thread_component(t), thread_epoch(t), site);
    mine.system = (order & ORDER_SYSTEM) != 0;
    access_memory(t, p, 4, mine, what);
    if (wanted != NULL && (int)(*(const uint32_t *)p - (uint32_t)*wanted) >= 0) {
        world_reached(t, p, order, *wanted);
    }
    world_release(t, p, kind, order, site);
}

void conflicts_misaligned(Thread *t, const void *p, uint32_t size, Site site, const char *what) {
    report_begin_last(RULE_ALIGNMENT);
    report_place("now", t, site, what);
    if (is_shared(p)) {
        report_line("memory", "%u bytes at byte %u of shared memory", size, shared_offset(t->cta, p));
    } else {
        const Allocation *a = global_below((uintptr_t)p);
        report_line("memory", "%u bytes at byte %lld of %s", size, a != NULL ? (long long)((uintptr_t)p - a->begin) : 0,
                    a != NULL && (uintptr_t)p < a->end ? a->name : "a local variable");
    }
    report_end(1);
}

void conflicts_free(Allocation *a) {
    provenance_forget_memory((const void *)a->mapped, a->mapped_end - a->mapped);
    if (a->cell != NULL) {
        munmap(a->cell, (a->end - a->begin + 1) / 2 * sizeof *a->cell);
    }
}

void conflicts_shutdown(void) {
    free(others.list);
    memset(&others, 0, sizeof others);
}
