/* grid.h - the boundary between two launches in one stream (programmatic dependent launch). sm_90. PTX 9.7.13.13.
 *
 * A launch with LaunchShape.overlap may start while the previous launch still runs: its CTAs start on SMs that become
 * free, initialise their barriers, and wait. */
#ifndef GRID_H
#define GRID_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* Waits until the previous launches have ended and their writes are visible. Called by every thread before its first
 * access to global memory that an earlier launch may have written or may still read, or by a thread that barriers order
 * before it, such as the producer for its consumers. Returns at once in a launch without overlap. */
DEVICE void grid_dependency_wait(void) { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/* The next launch may start as soon as all CTAs of this one have called this or have ended. Any thread. */
DEVICE void grid_dependency_launch(void) { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

#elif defined(GEMM_MODEL)

#define grid_dependency_wait() model_grid_dependency_wait()
#define grid_dependency_launch() model_grid_dependency_launch()

#endif
#endif
