/* model_trace.h - the events of the last launch with ModelOptions.trace, for whoever draws them. */
#ifndef MODEL_TRACE_H
#define MODEL_TRACE_H

#include "../harness/trace.h"

/* Number of events, and the array; valid until the next launch. `lost`: events for which there was no room. */
size_t model_trace_events(const TraceEvent **events, uint64_t *lost);

#endif
