/* steps.c - an array of events. */
#include "steps.h"

#include "count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 4 * 1024 * 1024, MAX_SMS = 1024 };

static struct {
    TraceEvent *event;
    size_t count, capacity;
    uint64_t lost;
    uint64_t sm_time[MAX_SMS]; /* the SM is free from here on */
    uint8_t sm_taken[MAX_SMS];
} trace;

static void add(const TraceEvent *event, const Barrier *barrier) {
    if (trace.count == MAX_EVENTS) {
        trace.lost++;
        return;
    }
    if (trace.count == trace.capacity) {
        trace.capacity = trace.capacity > 0 ? 2 * trace.capacity : 4096;
        trace.event = model_realloc(trace.event, trace.capacity * sizeof *trace.event);
    }
    TraceEvent *e = &trace.event[trace.count++];
    *e = *event;
    e->stage = -1;
    if (barrier != NULL) { /* "full[2]" */
        size_t length = strcspn(barrier->name, "[");
        snprintf(e->name, sizeof e->name, "%.*s", (int)length, barrier->name);
        e->stage = barrier->name[length] == '[' ? atoi(barrier->name + length + 1) : -1;
    }
}

/* What the warp has been doing ends, at the latest when something else begins. */
static void finish_work(Warp *w, uint64_t before) {
    if (w->work.busy) {
        uint64_t end = w->work.end < before ? w->work.end : before;
        if (end > w->work.begin) {
            add(&(TraceEvent){.begin = w->work.begin,
                              .end = end,
                              .cta = w->cta->block,
                              .sm = w->cta->sm,
                              .warp = w->id,
                              .kind = (TraceKind)w->work.kind},
                NULL);
        }
        w->work.busy = 0;
    }
}

void trace_wait(const Thread *t, TraceKind kind, uint64_t begin, uint64_t end, int index, const Barrier *barrier) {
    count_span(t, kind, end - begin);
    if (!device.options.trace || t->lane != 0) {
        return;
    }
    finish_work(t->warp, begin);
    add(&(TraceEvent){.begin = begin,
                      .end = end,
                      .cta = t->cta->block,
                      .sm = t->cta->sm,
                      .warp = t->warp->id,
                      .index = index,
                      .kind = kind},
        barrier);
}

void trace_work(Warp *w, TraceKind kind, uint64_t begin, uint64_t end) {
    if (!device.options.trace) {
        return;
    }
    if (w->work.busy && w->work.kind == (int)kind) {
        w->work.end = end > w->work.end ? end : w->work.end;
        return;
    }
    if (w->work.busy && w->work.kind == TRACE_FRAGMENTS && kind == TRACE_MMA) {
        w->work.end = begin; /* the fragments are there when the first product can begin */
    }
    finish_work(w, begin);
    w->work.busy = 1;
    w->work.kind = (int)kind;
    w->work.begin = begin;
    w->work.end = end;
}

static void add_async(const Cta *cta, TraceEvent event, const Barrier *barrier) {
    if (device.options.trace) {
        event.cta = cta->block;
        event.sm = cta->sm;
        event.warp = -1;
        add(&event, barrier);
    }
}

void trace_async(const Cta *cta, TraceKind kind, int unit, uint64_t begin, uint64_t end, int index) {
    add_async(cta, (TraceEvent){.begin = begin, .end = end, .unit = unit, .index = index, .kind = kind}, NULL);
}

void trace_load(const Cta *cta, uint64_t begin, uint64_t end, const Barrier *barrier, int bytes) {
    add_async(cta, (TraceEvent){.begin = begin, .end = end, .bytes = bytes, .kind = TRACE_LOAD}, barrier);
}

/* A thread's share of a path that all of the CTA's threads use. */
static uint64_t share(const Thread *t, uint32_t size, uint32_t bytes_a_step) {
    uint64_t steps = (uint64_t)size * (uint64_t)t->cta->threads / bytes_a_step;
    return steps > 0 ? steps : 1;
}

void trace_plain(Thread *t, int is_global, int write, uint32_t size) {
    if (!device.options.trace) {
        return;
    }
    uint64_t begin = t->time;
    if (!write) {
        t->time += share(t, size, is_global ? LOAD_BYTES_A_STEP : SHARED_BYTES_A_STEP);
        if (is_global) {
            t->load_ready = t->time + LOAD_LATENCY;
            t->load_begin = t->loading ? t->load_begin : begin;
            t->loading = 1;
            if (device.shared_bytes == 0 && t->lane == 0) {
                /* Without shared memory, loads and products alternate: what the thread does until its epilogue. */
                trace_work(t->warp, TRACE_MMA, begin, t->time);
            }
        }
        return;
    }
    if (t->loading && t->load_ready > t->time) { /* what is stored comes from what was loaded */
        if (t->lane == 0 && device.shared_bytes > 0) {
            trace_async(t->cta, TRACE_COPY, t->warp->id, t->load_begin, t->load_ready, t->load_groups++);
        }
        if (t->lane == 0 && t->warp->work.busy && t->warp->work.kind == TRACE_MMA) {
            t->warp->work.end = t->load_ready;
        } else {
            trace_wait(t, TRACE_COPY_WAIT, begin, t->load_ready, 0, NULL);
        }
        t->time = t->load_ready;
        begin = t->time;
    }
    t->loading = 0;
    t->time += share(t, size, is_global ? STORE_BYTES_A_STEP : SHARED_BYTES_A_STEP);
    if (is_global && t->lane == 0) {
        trace_work(t->warp, TRACE_EPILOGUE, begin, t->time);
    }
}

void model_trace_tile(int row, int col) {
    Thread *t = device.current;
    if (device.options.trace && t != NULL && t->lane == 0) {
        finish_work(t->warp, t->time);
        add(&(TraceEvent){.begin = t->time,
                          .end = t->time,
                          .cta = t->cta->block,
                          .sm = t->cta->sm,
                          .warp = t->warp->id,
                          .row = row,
                          .col = col,
                          .kind = TRACE_TILE},
            NULL);
    }
}

/* CTAs run here one after the other; on the timeline each begins where an SM is free first. */
void trace_cta_begin(Cta *cta) {
    if (!device.options.trace) {
        return;
    }
    int sms = device.sms < MAX_SMS ? device.sms : MAX_SMS;
    cta->sm = -1;
    for (int i = 0; i < sms; i++) {
        if (!trace.sm_taken[i] && (cta->sm < 0 || trace.sm_time[i] < trace.sm_time[cta->sm])) {
            cta->sm = i;
        }
    }
    cta->sm = cta->sm < 0 ? 0 : cta->sm;
    trace.sm_taken[cta->sm] = 1;
    cta->start_time = cta->tma_time = cta->store_time = cta->tensor_time = trace.sm_time[cta->sm];
    for (int i = 0; i < cta->threads; i++) {
        cta->thread[i].time = cta->start_time;
    }
}

void trace_cta_end(Cta *cta) {
    if (!device.options.trace) {
        return;
    }
    uint64_t end = cta->start_time + 1;
    for (int i = 0; i < cta->threads; i++) {
        end = cta->thread[i].time > end ? cta->thread[i].time : end;
    }
    for (int i = 0; i < cta->warps; i++) {
        finish_work(&cta->warp[i], end);
    }
    trace_async(cta, TRACE_CTA, 0, cta->start_time, end, 0);
    trace.sm_time[cta->sm] = end + CTA_START;
    trace.sm_taken[cta->sm] = 0;
}

size_t model_trace_events(const TraceEvent **events, uint64_t *lost) {
    *events = trace.event;
    *lost = trace.lost;
    return trace.count;
}

void trace_launch_begin(void) {
    trace.count = 0;
    trace.lost = 0;
    memset(trace.sm_time, 0, sizeof trace.sm_time);
    memset(trace.sm_taken, 0, sizeof trace.sm_taken);
}

void trace_free(void) {
    free(trace.event);
    trace.event = NULL;
    trace.count = trace.capacity = 0;
}
