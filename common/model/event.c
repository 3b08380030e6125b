/* event.c - brings a launch's events to those who listen. */
#include "event.h"

#include <string.h>

Hear *event_heard[EVENT_KINDS][LISTENER_COUNT + 2];

/* Whoever begins first ends last. */
static int is_reversed(int kind) { return kind == EVENT_CTA_END || kind == EVENT_LAUNCH_END; }

static void add(int kind, Hear *hear) {
    Hear **heard = event_heard[kind];
    int count = 0;
    while (heard[count] != NULL) {
        count++;
    }
    if (is_reversed(kind)) {
        memmove(heard + 1, heard, (size_t)count * sizeof *heard);
        count = 0;
    }
    heard[count] = hear;
}

static void connect(const Listener *listener) {
    int wanted = listener->wanted == NULL || listener->wanted();
    for (int kind = 0; kind < EVENT_KINDS; kind++) {
        Hear *hear = listener->hear[kind];
        if (hear != NULL && (wanted || kind == EVENT_CONFIGURED || kind == EVENT_SHUTDOWN)) {
            add(kind, hear);
        }
    }
}

/* A program may have one of its own, which hears each thing before the rules do. */
extern const Listener first_listener __attribute__((weak));

void event_connect(void) {
    static const Listener *const listeners[] = {
#define LISTENER(name) &name##_listener,
        LISTENERS(LISTENER)
#undef LISTENER
    };
    memset(event_heard, 0, sizeof event_heard);
    if (&first_listener != NULL) {
        connect(&first_listener);
    }
    for (int i = 0; i < LISTENER_COUNT; i++) {
        connect(listeners[i]);
    }
}
