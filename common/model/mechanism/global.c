/* global.c - global memory: allocations, and atomics on it. The host calls model_host.h, and kernels model.h. */
#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

void *model_global_alloc(size_t bytes, const char *name) { return global_map(bytes, name, device.using_device); }

void model_global_free(void *p) {
    Allocation *allocation = p != NULL ? global_find((uintptr_t)p, 0) : NULL;
    if (allocation != NULL && allocation->begin == (uintptr_t)p) {
        POST(GLOBAL_FREE, .allocation = allocation);
        global_unmap(allocation);
    }
}

void model_global_constant(const void *p) {
    Allocation *allocation = p != NULL ? global_find((uintptr_t)p, 0) : NULL;
    if (allocation != NULL) {
        allocation->constant = 1;
    }
}

/* ---- atomics ----------------------------------------------------------------------------------------------------- */

_Static_assert((int)MODEL_acquire == (int)ORDER_ACQUIRE && (int)MODEL_release == (int)ORDER_RELEASE &&
                   (int)MODEL_acq_rel == (int)ORDER_ACQ_REL && (int)MODEL_SYSTEM == (int)ORDER_SYSTEM,
               "the orders of model.h are those of types.h");

/* Something may have changed for those who poll. */
static uint64_t version;

static void changed(const void *p) {
    version++;
    pollers_wake(p);
}

/* The word, of global memory or of the CTA's own shared memory; NULL: the address is neither. */
static const uint32_t *word_at(const Thread *t, const void *p) {
    int in_shared = (uintptr_t)p - (uintptr_t)t->cta->shared < t->cta->shared_bytes;
    return (uintptr_t)p % 4 == 0 && (in_shared || global_find((uintptr_t)p, 0) != NULL) ? p : NULL;
}

/* The thread has tested the word without success: in a loop, it lets others run. wanted: the value it waits for; NULL:
 * only the kernel knows. */
static void poll(Thread *t, const void *p, const char *what, const int *wanted, Site site) {
    if (poll_again(t, p, version, 0)) {
        const uint32_t *word = word_at(t, p);
        poll_wait(t, (Wait){.kind = WAIT_COUNTER,
                            .site = site,
                            .what = what,
                            .address = p,
                            .value = word != NULL ? *word : 0,
                            .knows = wanted != NULL,
                            .wanted = wanted != NULL ? *wanted : 0});
    }
    t->poll.version = version;
}

static uint32_t result_of(ModelAtomic op, uint32_t before, uint32_t value, uint32_t expected) {
    switch (op) {
    case MODEL_ADD: return before + value;
    case MODEL_MAX: return (int)before > (int)value ? before : value;
    case MODEL_MAX_UNSIGNED: return before > value ? before : value;
    case MODEL_EXCHANGE: return value;
    case MODEL_CAS: return before == expected ? value : before;
    default: return model_bits(model_float(before) + model_float(value));
    }
}

/* A lock that is taken, or a counter that is read by adding 0: a thread that does this in a loop polls. */
static int is_vain(const Thread *t, ModelAtomic op, const void *p, uint32_t value, uint32_t expected) {
    const uint32_t *word = word_at(t, p);
    return word != NULL && (op == MODEL_EXCHANGE || op == MODEL_CAS || (op == MODEL_ADD && value == 0)) &&
           result_of(op, *word, value, expected) == *word;
}

/* Others may come between this access and what follows: threads of the CTA or, of global memory, also the next CTAs. */
static void mix(Thread *t, const void *p) {
    if (global_is(p)) {
        clusters_mix();
    }
    thread_pause(t);
}

uint32_t model_atomic(ModelAtomic op, void *p, uint32_t value, uint32_t expected, ModelOrder order, const char *here) {
    POLL_BEGINS(current_thread());
    static const char *const what[] = {"atomic add",      "atomic max", "atomic max",
                                       "atomic exchange", "atomic CAS", "atomic add"};
    Thread *t = current_thread();
    if (is_vain(t, op, p, value, expected)) {
        poll(t, p, what[op], NULL, site_of(here));
    }
    if (op != MODEL_ADD_FLOAT) {
        thread_stall(t, p, site_of(here), 0);
    }
    POST(ATOMIC, .thread = t, .p = p, .atomic = ATOMIC_CHANGE, .order = (MemoryOrder)order, .what = what[op],
         .site = site_of(here));
    uint32_t before = *(uint32_t *)p, after = result_of(op, before, value, expected);
    *(uint32_t *)p = after;
    POST(ATOMIC_DONE, .thread = t, .p = p, .atomic = ATOMIC_CHANGE, .order = (MemoryOrder)order, .before = before,
         .after = after);
    if (after != before) {
        changed(p);
    }
    stalled_wake(p, after != before);
    if (op != MODEL_ADD_FLOAT) {
        mix(t, p);
        thread_stall(t, p, site_of(here), 1);
    } else if (device.interrupt != NULL) {
        device.interrupt(t);
    }
    return before;
}

void model_store(void *p, uint32_t value, ModelOrder order, const char *here) {
    Thread *t = current_thread();
    thread_stall(t, p, site_of(here), 0);
    POST(ATOMIC, .thread = t, .p = p, .atomic = ATOMIC_STORE, .order = (MemoryOrder)order, .what = "atomic store",
         .site = site_of(here));
    uint32_t before = *(uint32_t *)p;
    *(uint32_t *)p = value;
    POST(ATOMIC_DONE, .thread = t, .p = p, .atomic = ATOMIC_STORE, .order = (MemoryOrder)order, .before = before,
         .after = value, .site = site_of(here));
    stalled_wake(p, 1);
    changed(p);
    mix(t, p);
}

static uint32_t load(const void *p, ModelOrder order, const int *wanted, const char *here) {
    Thread *t = current_thread();
    poll(t, p, "poll of a counter", wanted, site_of(here));
    POST(ATOMIC, .thread = t, .p = p, .atomic = ATOMIC_LOAD, .order = (MemoryOrder)order, .what = "atomic load",
         .at_least = wanted, .site = site_of(here));
    uint32_t found = *(const uint32_t *)p;
    stalled_wake(p, 0);
    if (wanted == NULL && t->poll.changed == 0) {
        mix(t, p);
        thread_stall(t, p, site_of(here), 1);
    }
    return found;
}

uint32_t model_load(const void *p, ModelOrder order, const char *here) {
    POLL_BEGINS(current_thread());
    return load(p, order, NULL, here);
}

void model_wait_word(const void *p, int value, ModelOrder order, const char *here) {
    POLL_BEGINS(current_thread());
    while ((int)(load(p, order, &value, here) - (uint32_t)value) < 0) {
    }
}

void model_fence(int system, const char *here) {
    (void)here;
    POST(FENCE, .thread = current_thread(), .system = system);
}

/* ---- launches that overlap --------------------------------------------------------------------------------------- */

/* Launches of a stream run one after the other: nobody has to wait. */
void model_grid_dependency_wait(void) { POST(GRID_WAIT, .thread = current_thread()); }
void model_grid_dependency_launch(void) { launch_of(current_thread()->cta)->facts.dependents = 1; }
