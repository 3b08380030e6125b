/* conflicts.c - see conflicts.h.
 *
 * Most memory is only read and needs no more than the bounds check. Memory that a launch has ever written, and what is
 * small, has a cell for every 2 bytes: its last ordinary write, and in a list the reads and atomic accesses behind it. Two
 * of them are in order if the later one's thread knows the earlier (clock.h; world.h between clusters). A thread
 * must also know its own copies: program order does not hold them together. A launch that overlaps the one before looks at
 * that one's cells too: all threads of it are in order behind grid_dependency_wait(). */
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
    uint8_t how;   /* GlobalAccess */
    uint8_t bytes; /* bit 0 the low one, bit 1 the high one */
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

/* Clusters of a launch have the serials behind `first`. */
typedef struct {
    uint32_t first;
    int block, cluster_size, first_block;
} LaunchFacts;

static struct {
    LaunchFacts here, before;
    uint32_t oldest; /* cells up to this serial do not count: those of launches that have ended */
    int chained;     /* the launch before may still run, and may access all memory */
} now;

static const struct {
    const char *text;
    uint8_t writes, atomic, async;
} access_of[] = {
#define HOW(id, text, writes, atomic, async) {text, writes, atomic, async},
    GLOBAL_ACCESSES(HOW)
#undef HOW
};

void conflicts_launch_begin(void) {
    const Launch *l = &device.launch;
    now.before = now.here;
    now.here = (LaunchFacts){device.serial, l->block, l->cluster_size, device.options.first_block};
    now.chained = l->overlap && device.options.chain;
    now.oldest = l->overlap && l->dependents_before ? now.before.first : now.here.first;
    if (now.oldest == now.here.first) {
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
        report_line("memory", "%u bytes at byte %lld of %s, which has %lld bytes", size, (long long)(p - below->begin),
                    below->name, (long long)(below->end - below->begin));
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
    const LaunchFacts *l = e->serial > now.here.first ? &now.here : &now.before;
    int thread = e->issuer % l->block;
    int cta = l->first_block + (int)(e->serial - l->first - 1) * l->cluster_size + e->issuer / l->block;
    snprintf(text, PHRASE_SIZE, "CTA %d warp %d lane %d%s", cta, thread / WARP_SIZE, thread % WARP_SIZE,
             l == &now.before ? " of the launch before" : "");
    return text;
}

static void report_memory(const Allocation *a, uintptr_t p) {
    char text[PHRASE_SIZE];
    Tag place = tag_of_global((const void *)p);
    int named = place.tensor != TENSOR_UNKNOWN;
    report_line("memory", "%s, byte %llu%s%s", a->name, (unsigned long long)(p - a->begin), named ? ": " : "",
                named ? tag_text(place, text) : "");
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
    } else if (access_of[e->how].async) {
        report_line("missing",
                    e->how == GLOBAL_TMA_READ
                        ? "a wait for the mbarrier phase in which the copy lands, by this thread or by one that is "
                          "before it"
                        : "bulk_wait_group(0) by the thread of the copy, and what orders this thread behind it");
    } else {
        world_missing(t, e->serial, e->component, e->epoch, who);
    }
    report_end(0);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Is t's access, how and bytes of `mine`, in order behind e? */
static void check(Thread *t, const Allocation *a, uintptr_t p, const char *what, const GlobalEvent *mine,
                  const GlobalEvent *e) {
    const int writes = access_of[mine->how].writes, wrote = access_of[e->how].writes;
    if (e->serial <= now.oldest || !(e->bytes & mine->bytes) || !(writes | wrote) ||
        (e->serial == mine->serial && e->component == mine->component &&
         (!access_of[mine->how].async || e->epoch == mine->epoch))) {
        return;
    }
    if (e->serial <= now.here.first) {
        if (!thread_waited(t)) {
            report_order(RULE_LAUNCH_OVERLAP, t, a, p, what, mine->site, e);
        }
    } else if (access_of[mine->how].atomic && access_of[e->how].atomic) {
        return;
    } else if (!world_knows(t, e->serial, e->component, e->epoch)) {
        report_order(RULE_GLOBAL_CONFLICT, t, a, p, what, mine->site, e);
    } else if (access_of[mine->how].async && !access_of[e->how].async && wrote &&
               !world_fenced(t, e->serial, e->component, e->epoch)) {
        report_order(RULE_PROXY_FENCE, t, a, p, what, mine->site, e);
    }
}

/* The list of a cell; 0: empty. */
static uint32_t first_of(const GlobalCell *c) {
    return c->others != 0 && c->others < others.count && others.list[c->others].of == c ? c->others : 0;
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
        if (mine->how == GLOBAL_WRITE && access_of[e->how].atomic && e->serial > now.here.first) {
            seen = e->how != GLOBAL_ATOMIC_STORE && (seen || world_knows(t, e->serial, e->component, e->epoch));
        }
        int covered = (e->bytes & ~mine->bytes) == 0 &&
                      (overwrites || (e->how == mine->how && e->serial > now.here.first &&
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

void conflicts_access(Thread *t, const void *pointer, uint32_t size, GlobalAccess how, Component component,
                      uint32_t epoch, Site site, const char *what) {
    uintptr_t p = (uintptr_t)pointer;
    Allocation *a = global_find(p, site / 8);
    if (a == NULL || size > a->end - p) {
        report_bounds(t, p, size, what, site);
    }
    if (now.chained && !thread_waited(t) && !(a->constant && !access_of[how].writes)) {
        report_order(RULE_LAUNCH_OVERLAP, t, a, p, what, site, NULL);
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
    GlobalEvent mine = {t->cta->cluster->serial, epoch, site, component, thread_component(t), (uint8_t)how, 3};
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

void conflicts_atomic(Thread *t, const void *p, AtomicKind kind, MemoryOrder order, const char *what, Site site) {
    if ((uintptr_t)p % 4 != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s at address %p, which is not a multiple of 4", what, p);
    }
    if (is_shared(p)) {
        shadow_atomic(t, p, site);
        return;
    }
    world_acquire(t, p, kind, order);
    conflicts_access(t, p, 4,
                     kind == ATOMIC_LOAD    ? GLOBAL_ATOMIC_READ
                     : kind == ATOMIC_STORE ? GLOBAL_ATOMIC_STORE
                                            : GLOBAL_ATOMIC,
                     thread_component(t), thread_epoch(t), site, what);
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
