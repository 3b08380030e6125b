/* depends.c - what a thread did that another schedule may change. model_depends() (model_host.h) reports it.
 *
 * Of an mbarrier a kernel learns nothing but that a phase is complete, if each no is followed by the same question, for
 * which the thread has kept nothing of the no (schedule.c compares its stack and registers), or by a wait, for which
 * the same holds. A question of which no run has shown that may be such a loop, or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../judge/world.h"
#include "../place/place.h"

typedef struct {
    Site site;
    int waits;  /* a no was followed by the same question, or by a wait, and nothing of it was kept */
    int used;   /* ... by something else */
    int counts; /* ... by the same question, and something was kept: a count of them */
} Question;

static struct {
    Question *question;
    int questions, capacity;
    int launches;     /* that a claim is about */
    int in_vain;      /* threads whose last question was answered with no */
    const char *what; /* the first other thing; NULL: none */
    Site site;
} seen;

static Question *question_at(Site site) {
    for (Question *q = seen.question; q < seen.question + seen.questions; q++) {
        if (q->site == site) {
            return q;
        }
    }
    seen.question = model_grow(seen.question, seen.questions + 1, &seen.capacity, sizeof *seen.question);
    seen.question[seen.questions] = (Question){.site = site};
    return &seen.question[seen.questions++];
}

/* The thread does something other than asking again. */
static void goes_on(Thread *t) {
    if (t->asked_in_vain != 0) {
        question_at(t->asked_in_vain)->used = 1;
        t->asked_in_vain = 0;
        seen.in_vain--;
    }
}

/* To wait, or to ask again. */
ON(depends, MBARRIER_WAIT) {
    if (t->asked_in_vain != 0 && t->asked_barrier == b) {
        if (strncmp(e->what, "mbarrier_wait", 13) == 0) {
            Question *q = question_at(t->asked_in_vain);
            *(poll_kept(t) == t->asked_kept ? &q->waits : &q->counts) = 1;
        }
        t->asked_in_vain = 0;
        seen.in_vain--;
    }
    goes_on(t);
}

ON(depends, MBARRIER_ASKED) {
    enum { LIKE_A_LOOP = 3 }; /* the first turns of one may be compiled apart */
    Question *q = question_at(e->site);
    q->waits |= t->poll.loops;
    q->counts |= t->poll.counts || (e->asked && t->poll.changed >= LIKE_A_LOOP);
    seen.in_vain += (!e->asked) - (t->asked_in_vain != 0);
    t->asked_in_vain = e->asked ? 0 : e->site;
    t->asked_barrier = b;
    t->asked_kept = e->asked ? 0 : poll_kept(t);
}

ON(depends, THREAD_RETURNED) { goes_on(t); }
HEARS(depends, SHARED_ACCESS, on_THREAD_RETURNED);
HEARS(depends, GLOBAL_ACCESS, on_THREAD_RETURNED);
HEARS(depends, MBARRIER_ARRIVE, on_THREAD_RETURNED);
HEARS(depends, MBARRIER_ANNOUNCED, on_THREAD_RETURNED);
HEARS(depends, BARRIER_ARRIVE, on_THREAD_RETURNED);
HEARS(depends, CLUSTER_ARRIVE, on_THREAD_RETURNED);

ON(depends, WARP_TOGETHER) {
    for (int lane = 0; lane < w->lanes && seen.in_vain > 0; lane++) {
        goes_on(&w->thread[lane]);
    }
}

static void depends_on(const char *what, Site site) {
    if (seen.what == NULL) {
        seen.what = what;
        seen.site = site;
    }
}

ON(depends, LAUNCH_BEGIN) { seen.launches += device.launched; }

ON(depends, ATOMIC) {
    goes_on(t);
    if (e->atomic != ATOMIC_STORE && e->at_least == NULL) {
        depends_on(e->atomic == ATOMIC_LOAD ? "reads a word that others may change"
                                            : "gets the value that an atomic found",
                   e->site);
    } else if (e->at_least != NULL && launch_of(t->cta)->grid > device.sms) {
        depends_on("waits for another CTA, and CUDA promises no order in which CTAs begin", e->site);
    }
}

ON(depends, ATOMIC_DONE) {
    if (world_unordered() != 0) {
        depends_on("stores to a word that another thread stores to or waits for, and nothing orders the two",
                   world_unordered());
    }
}

ON(depends, LAUNCH_ASKED) {
    goes_on(t);
    depends_on("takes over a cluster that has not started, whichever that is", e->site);
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
        if (q->used || q->counts || !q->waits) {
            what = q->used     ? "tests a barrier, and does something else after a false"
                   : q->counts ? "tests a barrier, and keeps something of each false: does it count them?"
                               : "tests a barrier, and the answer was always true";
            site = q->site;
        }
    }
    if (what == NULL) {
        return NULL;
    }
    snprintf(text, sizeof text, "%s %s", site_text(site, place, sizeof place), what);
    return text;
}

int model_launches(void) { return seen.launches; }

void model_forget_depends(void) {
    free(seen.question);
    memset(&seen, 0, sizeof seen);
}

ON(depends, SHUTDOWN) { model_forget_depends(); }
