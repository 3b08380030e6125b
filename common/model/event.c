/* event.c - connects the events of a launch with their listeners. */
#include "event.h"

#include <string.h>

Hear *event_heard[EVENT_KINDS][LISTENER_COUNT + 1];

/* What HEARS() lists. */
extern const Hearing *const __start_model_hearings[];
extern const Hearing *const __stop_model_hearings[];

/* In a launch with these options. */
static int is_wanted(ListenerId id) {
    const ModelOptions *o = &device.options;
    switch (id) {
    case LISTENER_count: return o->count;
    case LISTENER_observe: return o->observer != NULL;
    case LISTENER_barrier_rows: return o->barriers;
    case LISTENER_journal: return o->journal != NULL;
    case LISTENER_steps: return o->trace;
    default: return 1;
    }
}

static void add(EventKind kind, Hear *hear) {
    Hear **heard = event_heard[kind];
    int count = 0;
    while (heard[count] != NULL) {
        count++;
    }
    if (kind == EVENT_CTA_END || kind == EVENT_LAUNCH_END) { /* the listener that begins first ends last */
        memmove(heard + 1, heard, (size_t)count * sizeof *heard);
        count = 0;
    }
    heard[count] = hear;
}

void event_connect(void) {
    memset(event_heard, 0, sizeof event_heard);
    for (int id = 0; id < LISTENER_COUNT; id++) {
        for (const Hearing *const *h = __start_model_hearings; h < __stop_model_hearings; h++) {
            EventKind kind = (*h)->kind;
            if ((int)(*h)->listener == id &&
                (is_wanted((*h)->listener) || kind == EVENT_CONFIGURED || kind == EVENT_SHUTDOWN)) {
                add(kind, (*h)->hear);
            }
        }
    }
}
