/* count.h - what a launch does, added up, with ModelOptions.count. For steps.c, which adds how long threads waited. */
#ifndef COUNT_H
#define COUNT_H

#include "../event.h"
#include "../model_count.h"
#include "../model_trace.h"

extern unsigned long long counts[COUNT_KINDS];

static inline void count_at_least(ModelCount which, unsigned long long amount) {
    if (counts[which] < amount) {
        counts[which] = amount;
    }
}
/* The thread waited. */
void count_span(const Thread *t, TraceKind kind, uint64_t steps);

#endif
