/* global.c - allocations, bounds, conflicts between CTAs, counters that CTAs share.
 *
 * Allocations lie in one large reserved range with unused pages between them. Most memory is only read in a launch and
 * needs no more than the bounds check; once a launch writes an allocation, a cell for every 2 bytes remembers who
 * did. */
#include "global.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "../model.h"
#include "../judge/provenance.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../sync.h"

enum { PAGE = 4096, GAP = 16 * PAGE, ALLOCATIONS = 256 };

/* Who wrote (or read) 2 bytes last. A cell of an earlier launch does not count: its serial is older than the
 * launch's. */
typedef struct {
    uint32_t serial; /* of the cluster */
    uint32_t epoch;
    Site site;
    Component component;
    uint8_t atomic;
    uint8_t unused;
    uint32_t read_serial; /* of one reader */
    uint32_t read_epoch;
    Site read_site;
    Component read_component;
} GlobalCell;

struct Allocation {
    uintptr_t begin, end; /* as asked for */
    uintptr_t mapped, mapped_end;
    const char *name;
    GlobalCell *cell; /* NULL: never written by a kernel */
    uint32_t written_launch;
};

uintptr_t global_begin;

static struct {
    Allocation list[ALLOCATIONS]; /* by address */
    int count;
    Allocation *last[16];  /* by the site of the access */
    uint32_t first_serial; /* of this launch */
    uint32_t launch;
} global;

/* ---- allocation -------------------------------------------------------------------------------------------------- */

static int reserve(void) {
    if (global_begin != 0) {
        return 1;
    }
    void *p = mmap(NULL, GLOBAL_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return 0;
    }
    global_begin = (uintptr_t)p;
    return 1;
}

void *model_global_alloc(size_t bytes, const char *name) {
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    if (!reserve() || global.count == ALLOCATIONS || bytes == 0 || mapped > GLOBAL_SPAN / 4) {
        return NULL;
    }
    uintptr_t at = global_begin + GAP;
    int i = 0;
    for (; i < global.count && global.list[i].mapped - at < mapped + GAP; i++) {
        at = global.list[i].mapped_end + GAP;
    }
    if (at + mapped + GAP > global_begin + GLOBAL_SPAN || mprotect((void *)at, mapped, PROT_READ | PROT_WRITE) != 0) {
        return NULL;
    }
    memmove(&global.list[i + 1], &global.list[i], (size_t)(global.count - i) * sizeof global.list[0]);
    global.count++;
    global.list[i] = (Allocation){at, at + bytes, at, at + mapped, name, NULL, 0};
    memset(global.last, 0, sizeof global.last);
    return (void *)at;
}

static void release(Allocation *a) {
    void *p = (void *)a->mapped;
    provenance_forget_memory(p, a->mapped_end - a->mapped);
    /* A fresh mapping gives the pages back and closes the range. */
    (void)!mmap(p, a->mapped_end - a->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                0);
    if (a->cell != NULL) {
        munmap(a->cell, (a->end - a->begin + 1) / 2 * sizeof *a->cell);
    }
}

void model_global_free(void *p) {
    for (int i = 0; i < global.count; i++) {
        if (global.list[i].begin == (uintptr_t)p) {
            release(&global.list[i]);
            global.count--;
            memmove(&global.list[i], &global.list[i + 1], (size_t)(global.count - i) * sizeof global.list[0]);
            memset(global.last, 0, sizeof global.last);
            return;
        }
    }
}

void global_free_all(void) {
    while (global.count > 0) {
        release(&global.list[--global.count]);
    }
    if (global_begin != 0) {
        munmap((void *)global_begin, GLOBAL_SPAN);
    }
    global_begin = 0;
    memset(&global, 0, sizeof global);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static Allocation *find(uintptr_t p, Site site) {
    Allocation **last = &global.last[site / 8 % 16];
    if (*last != NULL && p - (*last)->begin < (*last)->end - (*last)->begin) {
        return *last;
    }
    for (int i = 0; i < global.count; i++) {
        if (p - global.list[i].begin < global.list[i].end - global.list[i].begin) {
            return *last = &global.list[i];
        }
    }
    return NULL;
}

static void report_bounds(Thread *t, uintptr_t p, uint32_t size, const char *what, Site site) {
    if (report_begin(RULE_GLOBAL_BOUNDS)) {
        report_place("now", t, site, what);
        const Allocation *below = NULL;
        for (int i = 0; i < global.count && global.list[i].begin <= p; i++) {
            below = &global.list[i];
        }
        if (below != NULL) {
            report_line("memory", "%u bytes at byte %lld of %s, which has %lld bytes", size,
                        (long long)(p - below->begin), below->name, (long long)(below->end - below->begin));
        } else {
            report_line("memory", "%u bytes at address 0x%llx, below every allocation", size, (unsigned long long)p);
        }
        report_end(1);
    }
    model_stop();
}

void global_report_unknown(Thread *t, const void *p, uint32_t size, int write, Site site) {
    if (report_begin(RULE_GLOBAL_BOUNDS)) {
        report_place("now", t, site, write ? "store" : "load");
        report_line("memory",
                    "%u bytes at address %p: not global memory, not this CTA's shared memory, not the thread's own",
                    size, p);
        report_end(1);
    }
    model_stop();
}

static int in_this_launch(uint32_t serial) { return serial > global.first_serial; }

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
    const Thread *other = serial == t->cta->cluster->serial ? t->cta->cluster->thread_of[component] : NULL;
    report_place("before", other, before, before_what);
    report_line("memory", "%s, byte %llu%s%s%s", a->name, (unsigned long long)(p - a->begin),
                place.tensor != TENSOR_UNKNOWN ? ": " : "", place.tensor != TENSOR_UNKNOWN ? tag_text(place, tag) : "",
                other == NULL ? "; the earlier access was made by another cluster of this launch" : "");
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

void global_access(Thread *t, const void *pointer, uint32_t size, GlobalAccess how, Component component, uint32_t epoch,
                   Site site, const char *what) {
    uintptr_t p = (uintptr_t)pointer;
    Allocation *a = find(p, site);
    if (a == NULL || size > a->end - p) {
        report_bounds(t, p, size, what, site);
    }
    if (observe_global(t, pointer, size, how != GLOBAL_READ, site) ||
        (how == GLOBAL_READ && a->written_launch != device.launches)) {
        return;
    }
    if (global.launch != device.launches) {
        global.launch = device.launches;
        global.first_serial = t->cta->cluster->serial - 1;
        for (int i = 0; i < device.clusters; i++) {
            if (device.cluster[i]->serial <= global.first_serial) {
                global.first_serial = device.cluster[i]->serial - 1;
            }
        }
    }
    GlobalCell *cell = cells(a);
    if (cell == NULL) {
        return;
    }
    uint32_t serial = t->cta->cluster->serial;
    for (uintptr_t i = (p - a->begin) / 2; i <= (p - a->begin + size - 1) / 2; i++) {
        GlobalCell *c = &cell[i];
        int both_atomic = how == GLOBAL_ATOMIC && c->atomic;
        if (c->serial != 0 && !both_atomic && !(c->serial == serial && c->component == component) &&
            conflicts(t, c->serial, c->component, c->epoch)) {
            report_conflict(t, a, p, what, site, c->serial, c->component, c->site, "write");
        }
        if (how == GLOBAL_READ) {
            c->read_serial = serial;
            c->read_epoch = epoch;
            c->read_site = site;
            c->read_component = component;
            continue;
        }
        if (c->read_serial != 0 && !(c->read_serial == serial && c->read_component == component) &&
            how == GLOBAL_WRITE && conflicts(t, c->read_serial, c->read_component, c->read_epoch)) {
            report_conflict(t, a, p, what, site, c->read_serial, c->read_component, c->read_site, "read");
        }
        c->serial = serial;
        c->epoch = epoch;
        c->site = site;
        c->component = component;
        c->atomic = how == GLOBAL_ATOMIC;
    }
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static void check_counter(Thread *t, const void *p, Site site, const char *what) {
    if ((uintptr_t)p % 4 != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s at address %p, which is not a multiple of 4", what, p);
    }
    if (!global_is(p)) {
        global_report_unknown(t, p, 4, 1, site);
    }
    count_add(COUNT_ATOMICS, 1);
    global_access(t, p, 4, GLOBAL_ATOMIC, thread_component(t), thread_epoch(t), site, what);
}

/* Wakes those who poll this address or barrier, or all if NULL. */
int pollers_wake(const void *address) {
    int woken = 0;
    Thread **link = &device.pollers;
    while (*link != NULL) {
        Thread *t = *link;
        if (address == NULL || t->poll_address == address) {
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

void poll_wait(Thread *t, Wait wait) {
    t->next_waiter = device.pollers;
    device.pollers = t;
    thread_block(t, wait);
}

static void counter_changed(const void *p) {
    device.counter_version++;
    device.poll_wakes = 0;
    pollers_wake(p);
}

int model_global_counter_add(int *counter, int amount, const char *here) {
    Thread *t = current_thread();
    check_counter(t, counter, site_of(here), "atomic add");
    int before = *counter;
    *counter = (int)((unsigned)before + (unsigned)amount);
    counter_changed(counter);
    thread_pause(t);
    return before;
}

void model_global_counter_set(int *counter, int value, const char *here) {
    Thread *t = current_thread();
    check_counter(t, counter, site_of(here), "atomic store");
    *counter = value;
    counter_changed(counter);
    thread_pause(t);
}

int model_global_counter_read(const int *counter, const char *here) {
    Thread *t = current_thread();
    check_counter(t, counter, site_of(here), "atomic load");
    if (t->poll_address == counter && t->poll_version == device.counter_version) {
        /* Asked again, and nothing has changed: this is a loop. It goes on when the counter does, or when nothing else
         * can happen. */
        poll_wait(t, (Wait){.kind = WAIT_COUNTER,
                            .site = site_of(here),
                            .what = "poll of a global counter",
                            .address = counter,
                            .value = (uint32_t)*counter});
    }
    t->poll_address = counter;
    t->poll_version = device.counter_version;
    return *counter;
}

uint32_t model_atomic_add(uint32_t *p, uint32_t amount, const char *here) {
    Thread *t = current_thread();
    check_counter(t, p, site_of(here), "atomicAdd");
    uint32_t before = *p;
    *p = before + amount;
    counter_changed(p);
    return before;
}

float model_atomic_add_float(float *p, float amount, const char *here) {
    Thread *t = current_thread();
    check_counter(t, p, site_of(here), "atomicAdd");
    float before = *p;
    *p = before + amount;
    return before;
}
