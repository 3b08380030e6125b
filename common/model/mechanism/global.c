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

void global_free_all(void) {
    while (global_first() != NULL) {
        model_global_free((void *)global_first()->begin);
    }
    global_release();
}

/* Something may have changed for those who poll p. */
static uint64_t version;

static void changed(const void *p) {
    version++;
    pollers_wake(p);
}

int model_global_counter_add(int *counter, int amount, const char *here) {
    Thread *t = current_thread();
    event_atomic(t, counter, 1, "atomic add", site_of(here));
    int before = *counter;
    *counter = (int)((unsigned)before + (unsigned)amount);
    changed(counter);
    thread_pause(t);
    return before;
}

void model_global_counter_set(int *counter, int value, const char *here) {
    Thread *t = current_thread();
    event_atomic(t, counter, 1, "atomic store", site_of(here));
    *counter = value;
    changed(counter);
    thread_pause(t);
}

int model_global_counter_read(const int *counter, const char *here) {
    Thread *t = current_thread();
    event_atomic(t, counter, 0, "atomic load", site_of(here));
    if (poll_again(t, counter, version, 0)) {
        poll_wait(t, (Wait){.kind = WAIT_COUNTER,
                            .site = site_of(here),
                            .what = "poll of a global counter",
                            .address = counter,
                            .value = (uint32_t)*counter});
    }
    t->poll.version = version;
    return *counter;
}

uint32_t model_atomic_add(uint32_t *p, uint32_t amount, const char *here) {
    event_atomic(current_thread(), p, 1, "atomicAdd", site_of(here));
    uint32_t before = *p;
    *p = before + amount;
    changed(p);
    return before;
}

float model_atomic_add_float(float *p, float amount, const char *here) {
    event_atomic(current_thread(), p, 1, "atomicAdd", site_of(here));
    float before = *p;
    *p = before + amount;
    return before;
}
