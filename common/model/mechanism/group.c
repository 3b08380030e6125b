/* group.c - see group.h. */
#include "group.h"

#include <stdlib.h>

#include "../core/schedule.h"
#include "../event.h"

static Flight *flights;

void groups_begin(Cta *cta) {
    ThreadGroups *of_thread = cta_alloc(cta, (size_t)cta->threads * GROUP_KINDS * sizeof *of_thread);
    for (int i = 0; i < cta->threads; i++) {
        cta->thread[i].groups = &of_thread[i * GROUP_KINDS];
    }
}

void *flight_begin(size_t bytes, Thread *t, int kind, void (*step)(Agent *agent, int whole)) {
    Flight *flight = model_alloc_zero(bytes);
    *flight =
        (Flight){.agent = {.step = step, .queued = -1}, .next = flights, .link = &flights, .thread = t, .kind = kind};
    if (flights != NULL) {
        flights->link = &flight->next;
    }
    flights = flight;
    if (kind < GROUP_KINDS) {
        flight->group = t->groups[kind].committed;
        t->groups[kind].open++;
    }
    agent_queue(&flight->agent);
    return flight;
}

void flight_end(Flight *flight) {
    agent_dequeue(&flight->agent);
    *flight->link = flight->next;
    if (flight->next != NULL) {
        flight->next->link = flight->link;
    }
    free(flight);
}

void flights_finish(Thread *t, GroupKind kind, uint32_t done, void (*finish)(Flight *flight)) {
    for (Flight *flight = flights, *next; flight != NULL; flight = next) {
        next = flight->next;
        if (flight->thread == t && flight->kind == (int)kind && flight->group < done) {
            finish(flight);
        }
    }
}

static void finish_whole(Flight *flight) { flight->agent.step(&flight->agent, 1); }

void group_commit(GroupKind kind, const char *here) {
    Thread *t = current_thread();
    POST(GROUP_COMMIT, .thread = t, .group = kind, .site = site_of(here));
    groups_close(&t->groups[kind]);
}

uint32_t group_wait(GroupKind kind, int newest, const char *here) {
    Thread *t = current_thread();
    uint32_t done = groups_covered(&t->groups[kind], newest);
    POST(GROUP_WAIT, .thread = t, .group = kind, .newest = newest, .done = done, .site = site_of(here));
    flights_finish(t, kind, done, finish_whole);
    groups_waited(&t->groups[kind], done);
    return done;
}

void flights_cluster_end(const Cluster *cluster) {
    for (Flight *flight = flights, *next; flight != NULL; flight = next) {
        next = flight->next;
        if (flight->thread->cta->cluster == cluster) {
            if (flight->kind < GROUP_KINDS) {
                finish_whole(flight);
            } else {
                flight_end(flight);
            }
        }
    }
}

void flights_end(void) {
    while (flights != NULL) {
        flight_end(flights);
    }
}
