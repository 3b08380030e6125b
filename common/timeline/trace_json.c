/* trace_json.c - a recording in the Trace Event Format, which ui.perfetto.dev and chrome://tracing read.
 *
 * A process is a CTA; a thread is a track: a role, or a slot of an asynchronous unit, so that the spans of a track
 * never overlap. Times are whole nanoseconds; a step of the model is shown as a microsecond. An arrow goes from a load
 * to the wait that it ends. */
#include "timeline.h"

#include "gpu_trace.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 16 };

typedef struct {
    FILE *out;
    const Recording *recording;
    uint64_t origin; /* of the clock */
    double ns_a_unit;
    int any; /* an event has been written */
    long arrows;
} Writer;

static void text(FILE *out, const char *s) {
    fputc('"', out);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') {
            fputc('\\', out);
        }
        if ((unsigned char)*s >= ' ') {
            fputc(*s, out);
        }
    }
    fputc('"', out);
}

static int64_t ns_of(const Writer *w, uint64_t time) {
    return (int64_t)((double)(time - w->origin) * w->ns_a_unit + 0.5);
}

/* The members that every event has; the caller adds the rest. */
static void begin_event(Writer *w, const char *phase, int pid, int tid) {
    fprintf(w->out, "%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", w->any ? "," : "", phase, pid, tid);
    w->any = 1;
}

/* A time or a duration, in microseconds. */
static void put_time(const Writer *w, const char *name, int64_t ns) {
    fprintf(w->out, ",\"%s\":%lld.%03d", name, (long long)(ns / 1000), (int)(ns % 1000));
}

/* What something is called. */
static void name_it(Writer *w, const char *what, int pid, int tid, const char *name) {
    begin_event(w, "M", pid, tid);
    fprintf(w->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
    text(w->out, name);
    fprintf(w->out, "}}");
}

/* From `begin` on for so long; the caller adds the arguments. */
static void begin_span(Writer *w, int pid, int tid, int64_t begin, int64_t ns, const char *category, const char *name) {
    begin_event(w, "X", pid, tid);
    put_time(w, "ts", begin);
    put_time(w, "dur", ns);
    fprintf(w->out, ",\"cat\":\"%s\",\"name\":", category);
    text(w->out, name);
}

static void event_name(char *name, size_t size, const TraceEvent *e) {
    char barrier[40];
    snprintf(barrier, sizeof barrier, e->stage >= 0 ? "%s[%d]" : "%s", e->name, e->stage);
    switch (e->kind) {
    case TRACE_BARRIER: snprintf(name, size, "barrier %d", e->index); break;
    case TRACE_WAIT: snprintf(name, size, "wait for %s", barrier); break;
    case TRACE_LOAD: snprintf(name, size, "load for %s", barrier); break;
    case TRACE_COPY_WAIT: snprintf(name, size, "wait for copies"); break;
    case TRACE_WGMMA_WAIT: snprintf(name, size, "wait for wgmma"); break;
    case TRACE_STORE_WAIT: snprintf(name, size, "wait for stores"); break;
    case TRACE_COPY:
    case TRACE_STORE:
    case TRACE_WGMMA: snprintf(name, size, "%s group %d", trace_kind_names[e->kind], e->index); break;
    default: snprintf(name, size, "%s", trace_kind_names[e->kind]);
    }
}

/* Of the phase that a wait is for, or that counts a load; -1 if no warp has waited for the load. */
static int parity_of(const Timeline *t, const TraceEvent *e) {
    for (size_t i = 0; e->kind == TRACE_LOAD && i < t->landed_count; i++) {
        if (t->landed[i].load == e) {
            return t->landed[i].wait->index;
        }
    }
    return e->kind == TRACE_WAIT ? e->index : -1;
}

static void arguments(FILE *out, const Timeline *t, const TraceEvent *e) {
    int parity = parity_of(t, e);
    fprintf(out, ",\"args\":{\"begin\":%llu,\"end\":%llu", (unsigned long long)e->begin, (unsigned long long)e->end);
    if (e->stage >= 0) {
        fprintf(out, ",\"stage\":%d", e->stage);
    }
    if (parity >= 0) {
        fprintf(out, ",\"parity\":%d", parity);
    }
    if (e->kind == TRACE_COPY_WAIT || e->kind == TRACE_WGMMA_WAIT || e->kind == TRACE_STORE_WAIT) {
        fprintf(out, ",\"may be unfinished\":%d", e->index);
    }
    if (e->bytes > 0) {
        fprintf(out, ",\"bytes\":%d", e->bytes);
    }
    fprintf(out, "}");
}

static int track_of(int row, int slot) { return (row + 1) * MAX_SLOTS + slot; }

/* Where a span was written. */
typedef struct {
    const TraceEvent *event;
    int row, track;
    int64_t end;
} Written;

/* The spans of a row: each goes to the first slot that is free. Returns the slots used. */
static int write_row(Writer *w, const Timeline *t, int r, Written *written, size_t *count) {
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
        char name[64];
        event_name(name, sizeof name, span->event);
        begin_span(w, t->cta, track_of(r, slot), begin, end - begin, trace_kind_names[span->event->kind], name);
        arguments(w->out, t, span->event);
        fprintf(w->out, "}");
        written[(*count)++] = (Written){span->event, r, track_of(r, slot), end};
    }
    return slots;
}

static const Written *find(const Written *written, size_t count, const TraceEvent *event, int row) {
    for (size_t i = 0; i < count; i++) {
        if (written[i].event == event && written[i].row == row) {
            return &written[i];
        }
    }
    return NULL;
}

static void write_arrow(Writer *w, const Timeline *t, const Written *from, const Written *to) {
    const Written *const ends[] = {from, to};
    w->arrows++;
    for (int i = 0; i < 2; i++) {
        begin_event(w, i == 0 ? "s" : "f", t->cta, ends[i]->track);
        put_time(w, "ts", ends[i]->end - 1);
        fprintf(w->out, ",\"cat\":\"landed\",\"name\":\"landed\",\"id\":%ld%s}", w->arrows,
                i == 0 ? "" : ",\"bp\":\"e\"");
    }
}

static void write_cta(Writer *w, int cta, int sm) {
    Timeline t;
    char name[128], track[160], place[96];
    size_t spans = 0, count = 0;
    timeline_open(&t, w->recording, &(TimelineView){cta, 1, 1});
    for (int r = 0; r < t.rows; r++) {
        spans += t.row[r].count;
    }
    Written *written = trace_memory(NULL, (spans + 1) * sizeof *written);
    if (recording_launches(w->recording) > 1) {
        snprintf(name, sizeof name, "%s on SM %d", recording_cta_text(w->recording, cta, place, sizeof place), sm);
    } else {
        snprintf(name, sizeof name, "CTA %d on SM %d", cta, sm);
    }
    name_it(w, "process_name", cta, 0, name);
    for (int r = 0; r < t.rows; r++) {
        const char *label = t.row[r].label + strspn(t.row[r].label, " ");
        const char *before = t.row[r].kind == ROW_PRODUCTS                                   ? "tensor cores "
                             : t.row[r].kind == ROW_ASYNC && strncmp(label, "stage", 5) == 0 ? "loads: "
                                                                                             : "";
        int slots = write_row(w, &t, r, written, &count);
        for (int slot = 0; slot < slots; slot++) {
            snprintf(track, sizeof track, slot ? "%s%s (%d)" : "%s%s", before, label, slot + 1);
            name_it(w, "thread_name", cta, track_of(r, slot), track);
            begin_event(w, "M", cta, track_of(r, slot));
            fprintf(w->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}", track_of(r, slot));
        }
    }
    for (size_t i = 0; i < t.landed_count; i++) {
        const Written *from = find(written, count, t.landed[i].load, t.landed[i].load_row);
        const Written *to = find(written, count, t.landed[i].wait, t.landed[i].wait_row);
        if (from && to) {
            write_arrow(w, &t, from, to);
        }
    }
    for (const TileMark *tile = t.tile; tile < t.tile + t.tiles; tile++) {
        begin_event(w, "i", cta, track_of(tile->line, 0));
        put_time(w, "ts", ns_of(w, tile->begin));
        fprintf(w->out, ",\"s\":\"t\",\"cat\":\"tile\",\"name\":\"tile %d,%d\",\"args\":{\"row\":%d,\"col\":%d}}",
                tile->row, tile->col, tile->row, tile->col);
    }
    free(written);
    timeline_close(&t);
}

/* Of several launches: a track for each kernel, from its first event here to its last, and a line where it begins. */
static void write_launches(Writer *w) {
    const Trace *trace = &w->recording->trace;
    const int pid = trace->ctas; /* after the CTAs' */
    name_it(w, "process_name", pid, 0, "kernels on this SM");
    for (int launch = 0; launch < trace->launches; launch++) {
        uint64_t begin = UINT64_MAX, end = 0;
        for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
            if (recording_launch_of(w->recording, e->cta) == launch) {
                begin = e->begin < begin ? e->begin : begin;
                end = e->end > end ? e->end : end;
            }
        }
        if (begin != UINT64_MAX) {
            int64_t from = ns_of(w, begin), ns = ns_of(w, end) > from ? ns_of(w, end) - from : 1;
            name_it(w, "thread_name", pid, launch + 1, trace->launch[launch].name);
            begin_span(w, pid, launch + 1, from, ns, "kernel", trace->launch[launch].name);
            fprintf(w->out, ",\"args\":{\"launch\":%d,\"ctas\":%d}}", launch + 1, trace->launch[launch].ctas);
            begin_event(w, "i", pid, launch + 1);
            put_time(w, "ts", from);
            fprintf(w->out, ",\"s\":\"g\",\"cat\":\"kernel\",\"name\":");
            text(w->out, trace->launch[launch].name);
            fprintf(w->out, "}");
        }
    }
}

void trace_json(FILE *out, const Recording *recording) {
    const Trace *trace = &recording->trace;
    uint64_t end;
    Writer w = {out, recording, 0, trace->units_a_second > 0 ? 1e9 / trace->units_a_second : 1000, 0, 0};
    recording_span(recording, &w.origin, &end);
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"chapter\":");
    text(out, recording->chapter);
    fprintf(out, ",\"source\":");
    text(out, trace->source);
    fprintf(out, ",\"date\":");
    text(out, recording->date);
    fprintf(out, ",\"commit\":");
    text(out, recording->commit);
    fprintf(out, ",\"m\":%d,\"n\":%d,\"k\":%d,\"unit\":\"%s\",\"events lost\":%llu},\n\"traceEvents\":[", recording->m,
            recording->n, recording->k,
            trace->units_a_second > 0 ? "nanoseconds; args: cycles" : "1 us is a step of the model, which is no time",
            (unsigned long long)trace->lost);
    if (recording_launches(recording) > 1) {
        write_launches(&w);
    }
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->event[i].kind == TRACE_CTA) {
            write_cta(&w, trace->event[i].cta, trace->event[i].sm);
        }
    }
    fprintf(out, "\n]}\n");
}
