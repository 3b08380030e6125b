/* launch.h - a kernel's grid: clusters and CTAs come and go. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "core/state.h"

/* Takes down clusters that have ended and starts the next one if none is left. 0 when the grid is done. */
int launch_next_cluster(void);
/* Starts one more beside those that run, if there is one and SMs are free for it. */
int launch_start_cluster(void);

/* A component of the cluster's clocks for what is not NULL. */
Component cluster_component(Cluster *cluster, Thread *t, Barrier *b, Warpgroup *g);

#endif
