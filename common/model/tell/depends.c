/* depends.c - what a thread did that another schedule may change. model_depends() (model_host.h) tells it.
 *
 * Of an mbarrier a kernel learns nothing but that a phase is complete, if it asks until that is so: in a loop, where each no
 * is followed by the same question or by a wait. A question that was never answered with no may be such a loop, or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/memory.h"
#include "../event.h"
#include "../place/line.h"

typedef struct {
    Site site;
    int waits; /* a no was followed by the same question, or by a wait */
    int used;  /* ... by something else */
} Question;

static struct {
    Question *question;
    int questions, capacity;
    int in_vain;      /* threads that have been told no last */
    const char *what; /* the first other thing; NULL: none */
    Site site;
} seen;

static Question *question_at(Site site) {
    for (Question *q = seen.question; q < seen.question + seen.questions; q++) {
        if (q->site == site) {
            return q;
        }
    }
    seen.question = model_room(seen.question, seen.questions + 1, &seen.capacity, sizeof *seen.question);
    seen.question[seen.questions] = (Question){.site = site};
    return &seen.question[seen.questions++];
}

/* The thread does something else than to ask again. */
static void goes_on(Thread *t) {
    if (t->asked_in_vain != 0) {
        question_at(t->asked_in_vain)->used = 1;
        t->asked_in_vain = 0;
        seen.in_vain--;
    }
}

/* To wait, or to ask again. */
ON(depends, MBARRIER_WAIT) {
    Thread *t = e->thread;
    if (t->asked_in_vain != 0 && t->asked_barrier == e->barrier) {
        question_at(t->asked_in_vain)->waits = 1;
        t->asked_in_vain = 0;
        seen.in_vain--;
    }
    goes_on(t);
}
HEARS(depends, MBARRIER_WAIT_TOKEN, on_MBARRIER_WAIT);

ON(depends, MBARRIER_ASKED) {
    question_at(e->site);
    seen.in_vain += (!e->asked) - (e->thread->asked_in_vain != 0);
    e->thread->asked_in_vain = e->asked ? 0 : e->site;
    e->thread->asked_barrier = e->barrier;
}

static void on_other(const Event *e) { goes_on(e->thread); }
HEARS(depends, THREAD_RETURNED, on_other);
HEARS(depends, SHARED_ACCESS, on_other);
HEARS(depends, GLOBAL_ACCESS, on_other);
HEARS(depends, MBARRIER_ARRIVE, on_other);
HEARS(depends, MBARRIER_ANNOUNCED, on_other);
HEARS(depends, BARRIER_ARRIVE, on_other);
HEARS(depends, CLUSTER_ARRIVE, on_other);

ON(depends, WARP_TOGETHER) {
    for (int lane = 0; lane < e->warp->lanes && seen.in_vain > 0; lane++) {
        goes_on(&e->warp->thread[lane]);
    }
}

static void depends_on(const char *what, Site site) {
    if (seen.what == NULL) {
        seen.what = what;
        seen.site = site;
    }
}

ON(depends, ATOMIC) {
    goes_on(e->thread);
    if (e->atomic != ATOMIC_STORE && e->at_least == NULL) {
        depends_on(e->atomic == ATOMIC_LOAD ? "reads a word that others may change"
                                            : "gets the value that an atomic found",
                   e->site);
    }
}

ON(depends, LAUNCH_ASKED) {
    goes_on(e->thread);
    depends_on("takes over whichever cluster has not started", e->site);
}

ON(depends, TMA_LOAD) { goes_on(e->load->copy.thread); }

ON(depends, TMA_STORE) {
    goes_on(e->copy->thread);
    if (e->copy->add) {
        depends_on("adds to memory in the order of the copies", e->copy->site);
    }
}

const char *model_depends(void) {
    static char text[300];
    char place[200];
    const char *what = seen.what;
    Site site = seen.site;
    for (const Question *q = seen.question; what == NULL && q < seen.question + seen.questions; q++) {
        if (q->used || !q->waits) {
            what = q->used ? "asks a barrier, and does something else after a no"
                           : "asks a barrier, and was always told yes";
            site = q->site;
        }
    }
    if (what == NULL) {
        return NULL;
    }
    snprintf(text, sizeof text, "%s %s", site_text(site, place, sizeof place), what);
    return text;
}

void model_forget_depends(void) {
    free(seen.question);
    memset(&seen, 0, sizeof seen);
}

ON(depends, SHUTDOWN) { model_forget_depends(); }
