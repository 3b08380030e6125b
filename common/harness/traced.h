/* traced.h - one launch with recording on, its result checked, and what is made of the events. */
#ifndef TRACED_H
#define TRACED_H

#include "problem.h"
#include "../timeline/recording.h"

/* With data filled in by itself. Prints the check's result and the picture, writes the files that the options name.
 * GEMM_USAGE if a file cannot be written. */
GemmStatus run_traced(const Options *options, const DeviceInfo *device, ChapterRun *run, Problem *problem);

#endif
