/* copy.c - cp.async: 16-byte copies that each thread starts, groups and waits for.
 *
 * A copy happens some time between its issue and the wait that covers it; until then its destination holds NaN. Its
 * epoch is (its thread's copy component, its group): only that thread's wait reaches it, and a barrier after that tells
 * others. cp.async writes through the generic proxy. */
#include <stdlib.h>
#include <string.h>

#include "../agents.h"
#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "global.h"
#include "../launch.h"
#include "../model.h"
#include "../judge/provenance.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../judge/shadow.h"
#include "../tell/steps.h"

static PendingCopy *pending(Thread *t, uint32_t number) { return &t->copies[number & (t->copies_capacity - 1)]; }

static PendingCopy *pending_add(Thread *t) {
    if (t->copies_tail - t->copies_head == t->copies_capacity) {
        uint32_t capacity = t->copies_capacity > 0 ? 2 * t->copies_capacity : 32;
        PendingCopy *copies = model_alloc(capacity * sizeof *copies);
        for (uint32_t i = t->copies_head; i != t->copies_tail; i++) {
            copies[i & (capacity - 1)] = *pending(t, i);
        }
        free(t->copies);
        t->copies = copies;
        t->copies_capacity = capacity;
    }
    return pending(t, t->copies_tail++);
}

static void copy_oldest(Thread *t) {
    const PendingCopy *copy = pending(t, t->copies_head++);
    memcpy(copy->dst, copy->src, copy->bytes);
    memset(copy->dst + copy->bytes, 0, CHUNK_BYTES - (size_t)copy->bytes);
}

void copies_step(Agent *agent, int whole) {
    Warp *w = (Warp *)((char *)agent - offsetof(Warp, copies));
    int left = 0;
    int chosen = (int)random_below(WARP_SIZE);
    for (int lane = 0; lane < w->lanes; lane++) {
        Thread *t = &w->thread[lane];
        if (whole) {
            while (t->copies_head != t->copies_tail) {
                copy_oldest(t);
            }
        } else if (t->copies_head != t->copies_tail && (lane ^ chosen) % 4 == 0) {
            copy_oldest(t);
        }
        left |= t->copies_head != t->copies_tail;
    }
    if (!left) {
        agent_dequeue(agent);
    }
}

void model_cp_async_16(void *dst, const void *src, int bytes, const char *here) {
    Thread *t = current_thread();
    Cta *cta = t->cta;
    Site site = site_of(here);
    uint32_t offset = shared_offset(t, dst, CHUNK_BYTES, "cp.async", site);
    if (bytes < 0 || bytes > CHUNK_BYTES) {
        report_misuse(RULE_ALIGNMENT, site, 1, "cp.async of %d bytes: accepted are 0 to 16", bytes);
    }
    if (offset % CHUNK_BYTES != 0 || (uintptr_t)src % CHUNK_BYTES != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1,
                      "cp.async from address %p to byte %u of shared memory: both are multiples "
                      "of 16",
                      src, offset);
    }
    if (bytes > 0) {
        if (!global_is(src)) {
            global_report_unknown(t, src, (uint32_t)bytes, 0, site);
        }
        global_access(t, src, (uint32_t)bytes, GLOBAL_READ, thread_component(t), thread_epoch(t), site, "cp.async");
    }
    if (t->copy_component == 0) {
        t->copy_component = thread_own_component(t, cluster_component(cta->cluster, t, NULL, NULL));
    }
    Actor actor = {.thread = t,
                   .kind = ACCESS_CP_ASYNC,
                   .component = t->clock.own[t->copy_component].component,
                   .epoch = t->copy_groups + 1,
                   .site = site};
    count_access(t, COUNTED_COPY_FROM, src, (uint32_t)bytes, site);
    count_access(t, COUNTED_COPY_TO, dst, CHUNK_BYTES, site);
    shadow_write(cta, &actor, offset, CHUNK_BYTES);
    *shadow_tag(cta, offset) = bytes > 0 ? tag_of_global(src) : (Tag){TENSOR_ZEROS, 0, 0, 0};
    memset(dst, 0xff, CHUNK_BYTES);
    *pending_add(t) = (PendingCopy){dst, src, (uint8_t)bytes, t->copy_groups};
    t->copies_in_group++;
    t->copy_site = site;
    t->loads = 1;
    /* A thread has its share of the path from L2. */
    t->time += COST_COPY;
    t->copy_path =
        (t->copy_path > t->time ? t->copy_path : t->time) + CHUNK_BYTES * (uint64_t)cta->threads / LOAD_BYTES_A_STEP;
    t->copy_ready[t->copy_groups % COPY_TIMES] = t->copy_path + LOAD_LATENCY;
    agent_queue(&t->warp->copies);
}

void model_cp_async_commit_group(const char *here) {
    Thread *t = current_thread();
    observe_copies(t, site_of(here));
    if (t->copies_in_group > 0) {
        t->copy_data_group = t->copy_groups + 1;
        t->copies_in_group = 0;
    }
    t->copy_commit[t->copy_groups % COPY_TIMES] = t->time;
    t->copy_groups++;
    count_copy_group(t);
    t->copy_ready[t->copy_groups % COPY_TIMES] = 0;
}

/* The groups before `done` that no wait has covered yet. An empty one is no copy. */
static void trace_landed(const Thread *t, uint32_t done) {
    uint32_t known = t->copy_component != 0 ? t->clock.own[t->copy_component].tick.known : 0;
    for (uint32_t group = known; t->lane == 0 && group < done && t->copy_groups - group < COPY_TIMES; group++) {
        uint64_t begin = t->copy_commit[group % COPY_TIMES], end = t->copy_ready[group % COPY_TIMES];
        if (end > begin) {
            trace_async(t->cta, TRACE_COPY, t->warp->id, begin, end, (int)group);
        }
    }
}

void model_cp_async_wait_group(int newest, const char *here) {
    Thread *t = current_thread();
    if (newest < 0) {
        report_misuse(RULE_ALIGNMENT, site_of(here), 1, "cp_async_wait_group(%d): accepted is 0 or more", newest);
    }
    uint32_t done = t->copy_groups > (uint32_t)newest ? t->copy_groups - (uint32_t)newest : 0;
    while (t->copies_head != t->copies_tail && pending(t, t->copies_head)->group < done) {
        copy_oldest(t);
    }
    count_add(COUNT_COPY_WAITS, t->lane == 0);
    uint64_t begin = t->time;
    trace_landed(t, done);
    t->time += COST_WAIT;
    if (done > 0 && t->copy_ready[(done - 1) % COPY_TIMES] > t->time) {
        t->time = t->copy_ready[(done - 1) % COPY_TIMES];
    }
    if (t->copy_component != 0) {
        Tick *tick = &t->clock.own[t->copy_component].tick;
        tick->known = done > tick->known ? done : tick->known;
    }
    trace_wait(t, TRACE_COPY_WAIT, begin, t->time, newest, NULL);
}

void copies_exit_check(Thread *t) {
    if (t->copy_component == 0) {
        return;
    }
    uint32_t waited = t->clock.own[t->copy_component].tick.known;
    if (t->copies_in_group > 0) {
        report_misuse(RULE_EXIT_IN_FLIGHT, t->copy_site, 0,
                      "cp.async that no commit_group closes: the thread has returned");
    } else if (t->copy_data_group > waited) {
        report_misuse(RULE_EXIT_IN_FLIGHT, t->copy_site, 0,
                      "cp.async of group %u: the thread has returned and has waited only for the %u groups before",
                      t->copy_data_group - 1, waited);
    }
}

void copies_free(Thread *t) { free(t->copies); }
