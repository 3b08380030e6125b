/* trace.h - what the harness does with the events of a launch (common/model/model_trace.h). */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "../model/model_trace.h"

void trace_free_events(Trace *trace);

#endif
