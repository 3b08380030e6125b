/* global.c - see global.h. */
#include "global.h"

#include "../core/memory.h"
#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

void *model_global_alloc(size_t bytes, const char *name) { return global_map(bytes, name); }

void model_global_free(void *p) {
    Allocation *allocation = p != NULL ? global_find((uintptr_t)p, 0) : NULL;
    if (allocation != NULL && allocation->begin == (uintptr_t)p) {
        event_global_free(allocation);
        global_unmap(allocation);
    }
}

void model_global_constant(const void *p) {
    Allocation *allocation = p != NULL ? global_find((uintptr_t)p, 0) : NULL;
    if (allocation != NULL) {
        allocation->constant = 1;
    }
}

void global_free_all(void) {
    while (global_first() != NULL) {
        model_global_free((void *)global_first()->begin);
    }
    global_release();
}

/* ---- atomics ----------------------------------------------------------------------------------------------------- */

_Static_assert((int)MODEL_acquire == (int)ORDER_ACQUIRE && (int)MODEL_release == (int)ORDER_RELEASE &&
                   (int)MODEL_acq_rel == (int)ORDER_ACQ_REL,
               "the orders of model.h are those of types.h");

/* Something may have changed for those who poll. */
static uint64_t version;

static void changed(const void *p) {
    version++;
    pollers_wake(p);
}

/* The thread asks for a change of the word, in vain so far: in a loop it lets others run. */
static void poll(Thread *t, const void *p, const char *what, Site site) {
    if (poll_again(t, p, version, 0)) {
        uint32_t value = global_find((uintptr_t)p, 0) != NULL ? *(const uint32_t *)p : 0;
        poll_wait(t, (Wait){.kind = WAIT_COUNTER, .site = site, .what = what, .address = p, .value = value});
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

/* A lock that is taken: whoever asks for it in a loop polls. */
static int is_vain(ModelAtomic op, const void *p, uint32_t value, uint32_t expected) {
    if ((op != MODEL_EXCHANGE && op != MODEL_CAS) || global_find((uintptr_t)p, 0) == NULL || (uintptr_t)p % 4 != 0) {
        return 0;
    }
    uint32_t before = *(const uint32_t *)p;
    return result_of(op, before, value, expected) == before;
}

uint32_t model_atomic(ModelAtomic op, void *p, uint32_t value, uint32_t expected, ModelOrder order, const char *here) {
    static const char *const what[] = {"atomic add",      "atomic max", "atomic max",
                                       "atomic exchange", "atomic CAS", "atomic add"};
    Thread *t = current_thread();
    if (is_vain(op, p, value, expected)) {
        poll(t, p, what[op], site_of(here));
    }
    event_atomic(t, p, ATOMIC_CHANGE, (MemoryOrder)order, what[op], site_of(here));
    uint32_t before = *(uint32_t *)p, after = result_of(op, before, value, expected);
    *(uint32_t *)p = after;
    if (after != before) {
        changed(p);
    }
    if (op != MODEL_ADD_FLOAT && global_is(p)) {
        clusters_mix();
        thread_pause(t);
    }
    return before;
}

void model_store(void *p, uint32_t value, ModelOrder order, const char *here) {
    Thread *t = current_thread();
    event_atomic(t, p, ATOMIC_STORE, (MemoryOrder)order, "atomic store", site_of(here));
    *(uint32_t *)p = value;
    changed(p);
    clusters_mix();
    thread_pause(t);
}

uint32_t model_load(const void *p, ModelOrder order, const char *here) {
    Thread *t = current_thread();
    poll(t, p, "poll of global memory", site_of(here));
    event_atomic(t, p, ATOMIC_LOAD, (MemoryOrder)order, "atomic load", site_of(here));
    return *(const uint32_t *)p;
}

void model_fence_gpu(const char *here) {
    (void)here;
    event_fence(current_thread());
}

/* ---- launches that overlap --------------------------------------------------------------------------------------- */

/* Launches run one after the other: nobody has to wait. */
void model_grid_dependency_wait(void) { event_grid_wait(current_thread()); }
void model_grid_dependency_launch(void) { device.launch.dependents = 1; }
