/* convergence.h - the rules of what threads do together: warp-wide instructions, barriers of the CTA and the cluster,
 * setmaxnreg. All for event.c. */
#ifndef CONVERGENCE_H
#define CONVERGENCE_H

#include "clock.h"

/* Of a CTA. */
typedef struct CtaConvergence {
    struct { /* a numbered barrier's generation in progress */
        Clock *arriving;
        Site site; /* of the first arrival */
        Thread *first;
        /* Counts generations, for those who waited; 0: none is complete. */
        Component component;
        Site last_site; /* of the first arrival in the last complete one */
        Thread *last_first;
    } named[NAMED_BARRIERS];
    struct { /* a warp's last __syncthreads() by one of its lanes */
        Site site;
        int seen; /* 1 + its generation */
    } sync[WARP_LIMIT];
} CtaConvergence;

void convergence_cta_end(Cta *cta);
void convergence_returned(Thread *t);

/* Reports and stops. */
void convergence_apart(Thread *t, WarpInstruction instruction, uint32_t mask, Site site) __attribute__((noreturn));
void convergence_shuffle_source(const Warp *w, int lane, int from);
void convergence_shuffle_width(int width, Site site);
void convergence_together(const Warp *w);
void convergence_arrive(Thread *t, int id, int expected, Site site);
void convergence_complete(Cta *cta, int id);
void convergence_cluster_arrive(Thread *t, Site site);
void convergence_cluster_wait(Thread *t, Site site);
void convergence_setmaxnreg(Warp *w, int increase, int registers, Site site);

#endif
