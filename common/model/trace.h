/* trace.h - events of a run, for a timeline. Time is in steps of a rough cost model: it shows order and overlap, not
 * speed. */
#ifndef TRACE_H
#define TRACE_H

#include "core.h"
#include "model_trace.h"

/* The thread did this from `begin` to `end`; index: stage, barrier id or the like; name may be NULL. */
void trace_span(const Thread *t, ModelTraceKind kind, uint64_t begin, uint64_t end, int index, const char *name);
/* Asynchronous work of the CTA. */
void trace_async(const Cta *cta, ModelTraceKind kind, int unit, uint64_t begin, uint64_t end, int index,
                 const char *name);

void trace_launch_begin(void);
void trace_launch_end(void);
void trace_free(void);

#endif
