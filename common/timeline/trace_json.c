/* trace_json.c - a recording in the Trace Event Format, which ui.perfetto.dev and chrome://tracing read.
 *
 * A process is a CTA; a thread is a track: a role, or a slot of an asynchronous unit, so that the spans of a track
 * never overlap. Times are whole nanoseconds; a step of the model is shown as a microsecond. No name that is written
 * has a quotation mark or a backslash: they are identifiers of C, or made here. */
#include "timeline.h"

#include <string.h>

enum { MAX_SLOTS = 16 };

typedef struct {
    FILE *out;
    const Recording *recording;
    uint64_t origin; /* of the clock */
    double ns_a_unit;
    const char *comma; /* before the next event */
} Writer;

static int64_t ns_of(const Writer *w, uint64_t time) {
    return (int64_t)((double)(time - w->origin) * w->ns_a_unit + 0.5);
}

/* The members that every event has; the caller adds the rest. */
static void begin_event(Writer *w, const char *phase, int pid, int tid, const char *name) {
    fprintf(w->out, "%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\"", w->comma, phase, pid, tid, name);
    w->comma = ",";
}

/* A time or a duration, in microseconds. */
static void put_time(const Writer *w, const char *name, int64_t ns) {
    fprintf(w->out, ",\"%s\":%lld.%03d", name, (long long)(ns / 1000), (int)(ns % 1000));
}

static void name_it(Writer *w, const char *what, int pid, int tid, const char *name) {
    begin_event(w, "M", pid, tid, what);
    fprintf(w->out, ",\"args\":{\"name\":\"%s\"}}", name);
}

static void event_name(char *name, size_t size, const TraceEvent *e) {
    char barrier[40];
    snprintf(barrier, sizeof barrier, e->stage >= 0 ? "%s[%d]" : "%s", e->name, e->stage);
    switch (e->kind) {
    case TRACE_BARRIER: snprintf(name, size, "barrier %d", e->index); break;
    case TRACE_WAIT: snprintf(name, size, "wait for %s, parity %d", barrier, e->index); break;
    case TRACE_LOAD: snprintf(name, size, "load for %s, %d bytes", barrier, e->bytes); break;
    case TRACE_COPY_WAIT: snprintf(name, size, "wait for copies, all but %d groups", e->index); break;
    case TRACE_WGMMA_WAIT: snprintf(name, size, "wait for wgmma, all but %d groups", e->index); break;
    case TRACE_STORE_WAIT: snprintf(name, size, "wait for stores, all but %d groups", e->index); break;
    case TRACE_COPY:
    case TRACE_STORE:
    case TRACE_WGMMA: snprintf(name, size, "%s group %d", trace_kind_names[e->kind], e->index); break;
    default: snprintf(name, size, "%s", trace_kind_names[e->kind]);
    }
}

static int track_of(int row, int slot) { return (row + 1) * MAX_SLOTS + slot; }

/* The spans of a row: each goes to the first slot that is free. Returns the slots used. */
static int write_spans(Writer *w, const Timeline *t, int r) {
    int64_t busy_until[MAX_SLOTS] = {0};
    int slots = 0;
    for (size_t i = 0; i < t->row[r].count; i++) {
        const Span *span = &t->row[r].span[i];
        int64_t begin = ns_of(w, span->begin), end = ns_of(w, span->end);
        int slot = 0;
        if (!span->event) {
            continue;
        }
        while (slot < MAX_SLOTS - 1 && busy_until[slot] > begin) {
            slot++;
        }
        begin = begin < busy_until[slot] ? busy_until[slot] : begin; /* more than the slots: no track overlaps */
        end = end > begin ? end : begin + 1;
        busy_until[slot] = end;
        slots = slot + 1 > slots ? slot + 1 : slots;
        char name[96];
        event_name(name, sizeof name, span->event);
        begin_event(w, "X", t->cta, track_of(r, slot), name);
        put_time(w, "ts", begin);
        put_time(w, "dur", end - begin);
        fprintf(w->out, "}");
    }
    return slots;
}

static void write_cta(Writer *w, int cta, int sm) {
    Timeline t;
    char name[128], track[160], place[96];
    timeline_open(&t, w->recording, &(TimelineView){cta, 1, 1});
    snprintf(name, sizeof name, "%s on SM %d", recording_cta_text(w->recording, cta, place, sizeof place), sm);
    name_it(w, "process_name", cta, 0, name);
    for (int r = 0; r < t.rows; r++) {
        const char *label = t.row[r].label + strspn(t.row[r].label, " ");
        const char *before = t.row[r].kind == ROW_PRODUCTS                                   ? "tensor cores "
                             : t.row[r].kind == ROW_ASYNC && strncmp(label, "stage", 5) == 0 ? "loads: "
                                                                                             : "";
        int slots = write_spans(w, &t, r);
        for (int slot = 0; slot < slots; slot++) {
            snprintf(track, sizeof track, slot ? "%s%s (%d)" : "%s%s", before, label, slot + 1);
            name_it(w, "thread_name", cta, track_of(r, slot), track);
            begin_event(w, "M", cta, track_of(r, slot), "thread_sort_index");
            fprintf(w->out, ",\"args\":{\"sort_index\":%d}}", track_of(r, slot));
        }
    }
    for (const TileMark *tile = t.tile; tile < t.tile + t.tiles; tile++) {
        snprintf(name, sizeof name, "tile %d,%d", tile->row, tile->col);
        begin_event(w, "i", cta, track_of(tile->line, 0), name);
        put_time(w, "ts", ns_of(w, tile->begin));
        fprintf(w->out, ",\"s\":\"t\"}");
    }
    timeline_close(&t);
}

void trace_json(FILE *out, const Recording *recording) {
    const Trace *trace = &recording->trace;
    uint64_t end;
    Writer w = {out, recording, 0, trace->units_a_second > 0 ? 1e9 / trace->units_a_second : 1000, ""};
    recording_span(recording, &w.origin, &end);
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"chapter\":\"%s\",\"unit\":\"%s\",\"lost\":%llu},\n",
            recording->chapter,
            trace->units_a_second > 0 ? "nanoseconds" : "1 us is a step of the model, which is no time",
            (unsigned long long)trace->lost);
    fprintf(out, "\"traceEvents\":[");
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->event[i].kind == TRACE_CTA) {
            write_cta(&w, trace->event[i].cta, trace->event[i].sm);
        }
    }
    fprintf(out, "\n]}\n");
}
