/* trace.c - an array of events. */
#include "trace.h"

#include "count.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_EVENTS = 4 * 1024 * 1024 };

static struct {
    ModelTraceEvent *event;
    size_t count, capacity;
} trace;

static void add(const ModelTraceEvent *event, const char *name) {
    if (trace.count == MAX_EVENTS) {
        return;
    }
    if (trace.count == trace.capacity) {
        trace.capacity = trace.capacity > 0 ? 2 * trace.capacity : 4096;
        trace.event = model_realloc(trace.event, trace.capacity * sizeof *trace.event);
    }
    trace.event[trace.count] = *event;
    snprintf(trace.event[trace.count].name, sizeof event->name, "%s", name != NULL ? name : "");
    trace.count++;
}

void trace_span(const Thread *t, ModelTraceKind kind, uint64_t begin, uint64_t end, int index, const char *name) {
    count_span(t, kind, end - begin);
    if (device.options.trace && t->lane == 0) {
        add(&(ModelTraceEvent){begin, end, t->cta->block, t->warp->id, 0, index, kind, ""}, name);
    }
}

void trace_async(const Cta *cta, ModelTraceKind kind, int unit, uint64_t begin, uint64_t end, int index,
                 const char *name) {
    if (device.options.trace) {
        add(&(ModelTraceEvent){begin, end, cta->block, -1, unit, index, kind, ""}, name);
    }
}

size_t model_trace_events(const ModelTraceEvent **events) {
    *events = trace.event;
    return trace.count;
}

void trace_launch_begin(void) { trace.count = 0; }
void trace_launch_end(void) {}
void trace_free(void) {
    free(trace.event);
    trace.event = NULL;
    trace.count = trace.capacity = 0;
}
