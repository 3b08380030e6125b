/* steps.h - events of a run, for a timeline. Time is in steps of a rough table of costs (costs.h): it shows order and
 * overlap, not speed. All of these do nothing unless ModelOptions.trace is set. */
#ifndef TRACE_H
#define TRACE_H

#include "../core/state.h"
#include "costs.h"
#include "../model_trace.h"

/* The thread waited from `begin` to `end`. barrier: the mbarrier, or NULL. Of a warp, lane 0 counts. */
void trace_wait(const Thread *t, TraceKind kind, uint64_t begin, uint64_t end, int index, const Barrier *barrier);
/* The warp did this; what follows without anything else between becomes one event. */
void trace_work(Warp *w, TraceKind kind, uint64_t begin, uint64_t end);
/* Asynchronous work of the CTA. */
void trace_async(const Cta *cta, TraceKind kind, int unit, uint64_t begin, uint64_t end, int index);
void trace_load(const Cta *cta, uint64_t begin, uint64_t end, const Barrier *barrier, int bytes);
/* An ordinary access of a thread: takes time, and may be part of an epilogue. */
void trace_plain(Thread *t, int is_global, int write, uint32_t size);

/* The CTA takes an SM, and its threads' time begins; it has ended. */
void trace_cta_begin(Cta *cta);
void trace_cta_end(Cta *cta);

void trace_launch_begin(void);
void trace_free(void);

#endif
