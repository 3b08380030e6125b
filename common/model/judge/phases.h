/* phases.h - the rules of mbarriers: initialisation and its order, arrivals, bytes, phases. */
#ifndef PHASES_H
#define PHASES_H

#include "clock.h"

enum { ARRIVAL_HISTORY = 8, LOADS_KEPT = 16 };

/* A wait, or a question, that a phase has let through. */
typedef struct {
    Thread *thread;
    int asked;                           /* by test_wait */
    unsigned long long observed;         /* phases that the thread has so seen complete */
    uint32_t epoch;                      /* the thread's, then */
    uint32_t order;                      /* the thread's waits are numbered from 1 */
    uint32_t arrivals;                   /* that it had made, at any barrier */
    unsigned long long products, groups; /* wgmmas that its warp had issued, and groups of them that it had committed */
    Site site;
    int repeats; /* it may be a mistake: the thread waits for the same phase again, after it has released that phase */
    Site before; /* the thread's last wait on this barrier */
} Passed;

/* What a thread has done at a barrier: announced bytes, started a load, asked for its copies' arrival, arrived. */
typedef struct {
    Thread *thread;
    uint32_t epoch; /* its own; of copies: up to where they are complete */
    GroupKind group;
    Clock *known; /* what it knew; NULL: not kept */
    const char *what;
    Site site;
    unsigned long long phase;
} Deed;
typedef struct {
    Deed *list;
    int count, capacity;
} Deeds;

/* A load that a thread has started, or copies that are to arrive: known to be complete by this value of the
 * component, a phase from 1 or a group; and the waits that the thread had made by then. */
typedef struct {
    Component component;
    uint32_t value, waits;
} StartedLoad;

/* Of a barrier. */
typedef struct BarrierFacts {
    Component component; /* its clock value: phases completed */
    /* What the arrivals of this phase release; what the last completed phase released, and the phase before that. */
    Clock *arriving, *released, *before;
    /* The same, for waits of .cta scope, if another CTA has arrived by .cluster scope; NULL: the same. */
    Clock *arriving_near, *released_near;
    int released_bytes, before_bytes; /* those phases counted bytes */

    /* Announcements of this phase: each must be known to one of its arrivals, or the phase may be over before it. */
    Deeds announced;

    /* Bytes of loads started for this phase; 1 + the last phase for which one was started, 0: none; that load. */
    unsigned long long issued, load_phase;
    Deed load;
    Deeds loads; /* of this phase, one of each thread */

    unsigned long long observed; /* phases that some thread has seen complete */
    /* Waits that this phase has let through: they must end before it completes, because then the parity repeats. */
    Passed *passed;
    int passed_count, passed_capacity;
    /* The last one of each thread of the CTA, whose `repeats` is of its next wait; NULL before the first. Of a thread
     * that has not waited, `thread` is NULL. */
    Passed *last_wait;
    Deeds copies; /* arrivals of them, in the order in which they were asked for */

    Component init_component;
    uint32_t init_epoch;
    uint32_t init_fence; /* value of the CTA's fence component that publishes it; 0: not fenced */
    Site init_site;
    Thread *init_thread;

    /* The last few who arrived, for reports. */
    Deed arrival[ARRIVAL_HISTORY];
    uint32_t arrivals;
} BarrierFacts;

/* Of a CTA: what threads of others have done in it: by component, the epoch of the last access to a barrier here. */
typedef struct CtaPhases {
    uint32_t *touched;
    Site *touched_site;
    struct { /* by thread: its arrivals at barriers, and waits that were let through */
        uint32_t arrivals, waits;
        StartedLoad *loads; /* [LOADS_KEPT], the last ones; NULL: it starts none */
        uint32_t started;
        const Barrier *fresh; /* that it last found in phase 0, where a wait with parity 1 passes */
        Site fresh_site;
    } thread[THREAD_LIMIT];
} CtaPhases;

/* For transfers.c: may the thread reach into CTA `rank` of its cluster? It does; that CTA must outlive it. */
void phases_peer(const Thread *t, int rank, const char *what, Site site);
void phases_touch(Thread *t, Cta *cta, Site site);
/* A load overwrites what is still read: because a thread has looked twice at the phase before, and handed it on? */
void phases_load_races(const Barrier *b);

#endif
