/* conflicts.c - see conflicts.h.
 *
 * Most memory is only read in a launch and needs no more than the bounds check; once a launch writes an allocation, a
 * cell for every 2 bytes remembers who did, and which of the two. */
#include "conflicts.h"

#include <sys/mman.h>

#include "../core/schedule.h"
#include "bug_report.h"
#include "provenance.h"

/* Who wrote (or read) 2 bytes last. A cell of an earlier launch does not count: its serial is older than the
 * launch's. */
typedef struct GlobalCell {
    uint32_t serial; /* of the cluster */
    uint32_t epoch;
    Site site;
    Component component;
    uint8_t atomic;
    uint8_t bytes;        /* bit 0 the low one, bit 1 the high one */
    uint32_t read_serial; /* of one reader */
    uint32_t read_epoch;
    Site read_site;
    Component read_component;
    uint8_t read_bytes;
    uint8_t read_atomic;
} GlobalCell;

static struct {
    uint32_t first_serial; /* of this launch */
    uint32_t launch;
} now;

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

static int in_this_launch(uint32_t serial) { return serial > now.first_serial; }

/* Is an earlier access unordered with t's? Accesses of other clusters always are: a launch has nothing that orders
 * them. */
static int conflicts(const Thread *t, uint32_t serial, Component component, uint32_t epoch) {
    if (!in_this_launch(serial)) {
        return 0;
    }
    return serial != t->cta->cluster->serial || !thread_knows(t, component, epoch);
}

static void report_conflict(Thread *t, const Allocation *a, uintptr_t p, const char *what, Site site, uint32_t serial,
                            Component component, Site before, const char *before_what) {
    if (!report_begin(RULE_GLOBAL_CONFLICT)) {
        return;
    }
    char tag[PHRASE_SIZE];
    Tag place = tag_of_global((const void *)p);
    report_place("now", t, site, what);
    const Thread *other =
        serial == t->cta->cluster->serial ? component_owner(t->cta->cluster, component)->thread : NULL;
    report_place("before", other, before, before_what);
    report_line("memory", "%s, byte %llu%s%s%s", a->name, (unsigned long long)(p - a->begin),
                place.tensor != TENSOR_UNKNOWN ? ": " : "", place.tensor != TENSOR_UNKNOWN ? tag_text(place, tag) : "",
                other != NULL                    ? ""
                : device.launch.cluster_size > 1 ? "; the earlier access was made by another cluster of this launch"
                                                 : "; the earlier access was made by another CTA of this launch");
    report_end(0);
}

/* The cells of an allocation that this launch writes. */
static GlobalCell *cells(Allocation *a) {
    if (a->cell == NULL) {
        size_t bytes = (a->end - a->begin + 1) / 2 * sizeof *a->cell;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        a->cell = p == MAP_FAILED ? NULL : p;
    }
    a->written_launch = device.launches;
    return a->cell;
}

void conflicts_access(Thread *t, const void *pointer, uint32_t size, GlobalAccess how, Component component,
                      uint32_t epoch, Site site, const char *what) {
    uintptr_t p = (uintptr_t)pointer;
    Allocation *a = global_find(p, site / 8);
    if (a == NULL || size > a->end - p) {
        report_bounds(t, p, size, what, site);
    }
    /* Where somebody observes, nobody looks for conflicts: that would take memory for all of C. */
    if (device.options.observer != NULL || (how == GLOBAL_READ && a->written_launch != device.launches)) {
        return;
    }
    if (now.launch != device.launches) {
        now.launch = device.launches;
        now.first_serial = t->cta->cluster->serial - 1;
        for (int i = 0; i < device.clusters; i++) {
            if (device.cluster[i]->serial <= now.first_serial) {
                now.first_serial = device.cluster[i]->serial - 1;
            }
        }
    }
    GlobalCell *cell = cells(a);
    if (cell == NULL) {
        return;
    }
    uint32_t serial = t->cta->cluster->serial;
    int atomic = how == GLOBAL_ATOMIC || how == GLOBAL_ATOMIC_READ;
    uintptr_t begin = p - a->begin, end = begin + size;
    for (uintptr_t i = begin / 2; i <= (end - 1) / 2; i++) {
        GlobalCell *c = &cell[i];
        uint8_t bytes = (uint8_t)((2 * i >= begin) | (2 * i + 1 < end) << 1);
        int both_atomic = atomic && c->atomic;
        if (c->serial != 0 && (c->bytes & bytes) && !both_atomic &&
            !(c->serial == serial && c->component == component) && conflicts(t, c->serial, c->component, c->epoch)) {
            report_conflict(t, a, p, what, site, c->serial, c->component, c->site,
                            c->atomic ? "atomic access" : "write");
        }
        if (how == GLOBAL_READ || how == GLOBAL_ATOMIC_READ) {
            if (atomic && in_this_launch(c->read_serial) && !c->read_atomic) {
                continue; /* the ordinary read remains: it conflicts with more */
            }
            c->read_atomic = (uint8_t)atomic;
            c->read_serial = serial;
            c->read_epoch = epoch;
            c->read_site = site;
            c->read_component = component;
            c->read_bytes = bytes;
            continue;
        }
        if (c->read_serial != 0 && (c->read_bytes & bytes) &&
            !(c->read_serial == serial && c->read_component == component) && !(atomic && c->read_atomic) &&
            conflicts(t, c->read_serial, c->read_component, c->read_epoch)) {
            report_conflict(t, a, p, what, site, c->read_serial, c->read_component, c->read_site,
                            c->read_atomic ? "atomic read" : "read");
        }
        c->serial = serial;
        c->epoch = epoch;
        c->site = site;
        c->component = component;
        c->atomic = how == GLOBAL_ATOMIC;
        c->bytes = bytes;
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

void conflicts_atomic(Thread *t, const void *p, int write, const char *what, Site site) {
    if (is_shared(p)) {
        report_misuse(RULE_SHARED_ATOMIC, site, 1, "%s at byte %u of shared memory", what, shared_offset(t->cta, p));
    }
    if ((uintptr_t)p % 4 != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s at address %p, which is not a multiple of 4", what, p);
    }
    conflicts_access(t, p, 4, write ? GLOBAL_ATOMIC : GLOBAL_ATOMIC_READ, thread_component(t), thread_epoch(t), site,
                     what);
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
