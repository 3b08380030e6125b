/* agents.h - asynchronous work: each mechanism has its own file, the scheduler steps them all alike. */
#ifndef AGENTS_H
#define AGENTS_H

#include "core/state.h"

/* A step of the agent's work: all of it, or as much as chance says. Leaves the scheduler's list when nothing is
 * left. */
void agent_step(Agent *agent, int whole);

/* copy.c: cp.async */
void copies_step(Agent *agent, int whole);
void copies_exit_check(Thread *t);
void copies_free(Thread *t);

/* tma.c */
void load_step(Agent *agent, int whole);
void store_step(Agent *agent, int whole);
void stores_exit_check(Thread *t);
void tma_cluster_end(Cluster *cluster);
void tma_end(void);

/* wgmma.c */
void wgmma_step(Agent *agent, int whole);
void wgmma_exit_check(Thread *t);
void wgmma_free(Warpgroup *g);

#endif
