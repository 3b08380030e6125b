/* gpu_trace.c - what asynchronous work lasted, worked out from who waited for it. */
#include "gpu_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BARRIER_ARRAYS = 8,
    BARRIER_BYTES = 8,
    NO_WAIT = 48, /* cycles of a wait that finds all done */
};

/* An array of mbarriers, as mbarrier_init() made it. */
typedef struct {
    uint32_t address;
    int count;
    char name[24];
} BarrierArray;

/* Loads on one barrier that have not been seen to land, and the bytes announced for them. */
typedef struct {
    uint32_t address;
    int bytes;
    size_t first; /* event of the first of them */
    int loads;
} Phase;

typedef struct {
    Trace *trace;
    const CtaRecords *in;
    size_t begin;               /* the CTA's first event */
    int count[TRACE_CTA_WARPS]; /* records of each warp */
    BarrierArray array[MAX_BARRIER_ARRAYS];
    int arrays;
} Decoder;

void *trace_memory(void *old, size_t bytes) {
    void *memory = realloc(old, bytes);
    if (memory == NULL) {
        fprintf(stderr, "there is not enough memory for what was recorded\n");
        exit(GEMM_DEVICE);
    }
    return memory;
}

TraceEvent *trace_add(Trace *trace, TraceEvent event) {
    if ((trace->count & (trace->count - 1)) == 0) { /* 0, or a power of two: it is full */
        trace->event = (TraceEvent *)trace_memory(trace->event, (2 * trace->count + 1) * sizeof event);
    }
    trace->event[trace->count] = event;
    return &trace->event[trace->count++];
}

static TraceEvent *add(const Decoder *d, TraceKind kind, uint64_t begin, uint64_t end) {
    return trace_add(d->trace, (TraceEvent){.begin = begin,
                                            .end = end,
                                            .cta = d->in->first_cta + d->in->block,
                                            .sm = (int)d->in->cta->sm,
                                            .warp = -1,
                                            .stage = -1,
                                            .kind = kind});
}

/* The whole clock from its low word, less than 2^31 cycles from the CTA's start, which a warp may precede. */
static uint64_t whole_clock(const Decoder *d, uint32_t low) {
    uint64_t start = d->in->cta->clock;
    return start + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)start);
}

/* "s->full" is called full. */
static void short_name(char *name, size_t size, const char *expression) {
    const char *last = expression;
    for (const char *p = expression; *p; p++) {
        if (*p == '>' || *p == '.' || *p == '&') {
            last = p + 1;
        }
    }
    snprintf(name, size, "%.*s", (int)size - 1, last);
}

static void name_barrier(const Decoder *d, TraceEvent *e, uint32_t address) {
    for (int i = 0; i < d->arrays; i++) {
        const BarrierArray *a = &d->array[i];
        if (address >= a->address && address < a->address + (uint32_t)a->count * BARRIER_BYTES) {
            snprintf(e->name, sizeof e->name, "%s", a->name);
            e->stage = a->count > 1 ? (int)(address - a->address) / BARRIER_BYTES : -1;
            return;
        }
    }
    snprintf(e->name, sizeof e->name, "barrier %u", address);
}

static const TraceRecord *records_of(const Decoder *d, int warp) {
    return &d->in->record[(size_t)warp * (size_t)d->in->room];
}

static void learn_names(Decoder *d, int warp) {
    const TraceRecord *r = records_of(d, warp);
    for (int i = 0; i < d->count[warp]; i++) {
        if ((r[i].what & 0xff) == RECORD_BARRIERS && d->arrays < MAX_BARRIER_ARRAYS) {
            BarrierArray *a = &d->array[d->arrays++];
            char text[64] = "";
            d->in->read_text((uint64_t)r[i].end << 32 | r[i].begin, text, sizeof text);
            short_name(a->name, sizeof a->name, text);
            a->address = r[i].data;
            a->count = (int)(r[i].what >> 8);
        }
    }
}

/* When a warp first stopped waiting for this barrier after `issue`: its phase was complete then. 0: none did. A load is
 * issued when all have passed the phase before, so it is no older phase that they waited for. */
static uint64_t first_wait_after(const Decoder *d, uint32_t address, uint64_t issue) {
    uint64_t first = 0;
    for (int w = 0; w < d->in->warps; w++) {
        const TraceRecord *r = records_of(d, w);
        int from = 0,
            to = d->count[w]; /* records are in the order of their ends: those before `from` end before issue */
        while (from < to) {
            int middle = (from + to) / 2;
            if ((r[middle].what & 0xff) == RECORD_BARRIERS || whole_clock(d, r[middle].end) <= issue) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        for (; from < d->count[w]; from++) {
            if ((r[from].what & 0xff) == TRACE_WAIT && r[from].data == address) {
                uint64_t end = whole_clock(d, r[from].end);
                first = first == 0 || end < first ? end : first;
                break;
            }
        }
    }
    return first;
}

/* The loads of this phase have landed at `seen`, or before if somebody went on earlier. */
static void land(const Decoder *d, Phase *p, uint64_t seen) {
    uint64_t waited = p->loads > 0 ? first_wait_after(d, p->address, d->trace->event[p->first].begin) : 0;
    uint64_t landed = waited != 0 && (seen == 0 || waited < seen) ? waited : seen;
    int found = 0;
    for (size_t i = p->first; found < p->loads; i++) {
        TraceEvent *e = &d->trace->event[i];
        if (e->kind == TRACE_LOAD && e->index == (int)p->address) {
            e->end = landed > e->begin ? landed : e->begin;
            e->bytes = p->bytes / p->loads;
            found++;
        }
    }
    p->loads = 0;
    p->bytes = 0;
}

/* Did a wait for the phase end between the start of its loads and `now`? Then what starts now is of the next phase. */
static int started_before_a_wait(const Decoder *d, const Phase *p, uint64_t now) {
    uint64_t waited = first_wait_after(d, p->address, d->trace->event[p->first].begin);
    return waited != 0 && waited <= now;
}

static Phase *phase_of(Phase *phases, int *count, int most, uint32_t address) {
    for (int i = 0; i < *count; i++) {
        if (phases[i].address == address) {
            return &phases[i];
        }
    }
    if (*count == most) {
        return NULL;
    }
    phases[*count] = (Phase){address, 0, 0, 0};
    return &phases[(*count)++];
}

/* Groups of one kind that a warp has committed and not yet seen finished. */
typedef struct {
    size_t event[64];
    int first, next; /* numbers */
} Groups;

enum { OPEN_GROUPS = sizeof((Groups *)0)->event / sizeof(size_t) };

/* products: of wgmma, the sum of their N. */
static void commit(const Decoder *d, Groups *g, TraceKind kind, uint64_t begin, uint64_t end, int products, int warp) {
    TraceEvent *e = add(d, kind, begin, end);
    e->unit = kind == TRACE_WGMMA ? warp / 4 : warp;
    e->bytes = products / 2; /* the cycles they need, until trace_place_products() */
    e->index = g->next;
    if (g->next - g->first == OPEN_GROUPS) {
        g->first++; /* never waited for: it ends with its commit */
    }
    g->event[g->next++ % OPEN_GROUPS] = d->trace->count - 1;
}

/* After a wait from `begin` to `end`. Only one that really waited says when the last of the groups ended. */
static void finish(const Decoder *d, Groups *g, int unfinished, uint64_t begin, uint64_t end) {
    for (; g->next - g->first > unfinished; g->first++) {
        TraceEvent *e = &d->trace->event[g->event[g->first % OPEN_GROUPS]];
        e->end = end;
        if (e->kind == TRACE_WGMMA) { /* until trace_place_products() */
            e->row = end - begin > NO_WAIT && g->next - g->first == unfinished + 1;
        }
    }
}

/* From the wait that leaves no products unfinished to the next tile, or to the next wait for an mbarrier, a warp is in
 * its epilogue, where it does not wait; the hooks see only parts of that. Events of a warp are in the order of their
 * ends. A warp that computes exponentials waits for all products more often: there the parts are all. */
static void fill_epilogues(const Decoder *d, int warp, size_t from) {
    uint64_t until = 0; /* of the epilogue known so far; 0: the warp is not in one */
    for (size_t i = from; i < d->trace->count; i++) {
        if (d->trace->event[i].warp == warp && d->trace->event[i].kind == TRACE_EXP2) {
            return;
        }
    }
    for (size_t i = from, end = d->trace->count; i < end; i++) {
        TraceEvent e = d->trace->event[i];
        if (e.warp != warp) {
            continue;
        }
        if (e.kind == TRACE_WGMMA_WAIT) {
            until = e.index == 0 ? e.end : 0;
        } else if (until != 0 && e.kind == TRACE_EPILOGUE) {
            d->trace->event[i].begin = until;
            until = e.end;
        } else if (until != 0) {
            if (e.begin > until) {
                add(d, TRACE_EPILOGUE, until, e.begin)->warp = warp;
            }
            until = e.kind == TRACE_WAIT || e.kind == TRACE_TILE ? 0 : e.end;
        }
    }
}

static void decode_warp(const Decoder *d, int warp) {
    enum { MAX_PHASES = 32 };
    const TraceRecord *r = records_of(d, warp);
    size_t first = d->trace->count;
    Groups copies = {{0}, 0, 0}, products = {{0}, 0, 0}, stores = {{0}, 0, 0};
    Phase phases[MAX_PHASES];
    int phase_count = 0;
    for (int i = 0; i < d->count[warp]; i++) {
        uint32_t kind = r[i].what & 0xff;
        int number = (int)(r[i].what >> 8);
        uint64_t begin = whole_clock(d, r[i].begin), end = whole_clock(d, r[i].end);
        Phase *phase;
        TraceEvent *e;
        switch (kind) {
        case RECORD_BARRIERS: break;
        case TRACE_LOAD:
            phase = phase_of(phases, &phase_count, MAX_PHASES, r[i].data);
            if (phase != NULL && phase->loads > 0 && started_before_a_wait(d, phase, begin)) {
                land(d, phase, 0); /* no warp looked when the previous phase completed */
            }
            e = add(d, TRACE_LOAD, begin, begin);
            if (phase != NULL) {
                phase->bytes = number * 16;
                e->index = (int)r[i].data; /* until the load has landed */
                phase->first = phase->loads++ == 0 ? d->trace->count - 1 : phase->first;
            }
            break;
        case RECORD_LANDED:
            phase = phase_of(phases, &phase_count, MAX_PHASES, r[i].data);
            if (phase != NULL && phase->loads > 0) {
                land(d, phase, end);
            }
            break;
        case TRACE_COPY: commit(d, &copies, TRACE_COPY, begin, end, 0, warp); break;
        case TRACE_STORE: commit(d, &stores, TRACE_STORE, begin, end, 0, warp); break;
        case TRACE_WGMMA:
            if (warp % 4 == 0) {
                commit(d, &products, TRACE_WGMMA, begin, end, number, warp);
            }
            break;
        default:
            e = add(d, (TraceKind)kind, begin, end);
            e->warp = warp;
            e->index = number;
            if (kind == TRACE_TILE) {
                e->index = 0;
                e->row = number;
                e->col = (int)r[i].data;
            } else if (kind == TRACE_WAIT) {
                name_barrier(d, e, r[i].data);
            } else if (kind == TRACE_COPY_WAIT) {
                finish(d, &copies, number, begin, end);
            } else if (kind == TRACE_WGMMA_WAIT) {
                e->index = number & ((1 << RECORD_PRODUCTS) - 1);
                if (r[i].data != 0 && warp % 4 == 0) {
                    commit(d, &products, TRACE_WGMMA, whole_clock(d, r[i].data), begin, number >> RECORD_PRODUCTS,
                           warp);
                }
                finish(d, &products, number & ((1 << RECORD_PRODUCTS) - 1), begin, end);
            } else if (kind == TRACE_STORE_WAIT) {
                finish(d, &stores, number, begin, end);
            }
        }
    }
    for (int i = 0; i < phase_count; i++) {
        land(d, &phases[i], 0);
    }
    TraceTail tail;
    memcpy(&tail, &r[d->in->room - 1], sizeof tail);
    int closed =
        d->count[warp] > 0 && r[d->count[warp] - 1].begin == tail.begin && r[d->count[warp] - 1].what == tail.kind;
    if (tail.end != 0 && tail.kind < TRACE_KINDS && !closed) {
        add(d, (TraceKind)tail.kind, whole_clock(d, tail.begin), whole_clock(d, tail.end))->warp = warp;
    }
    fill_epilogues(d, warp, first);
    if (tail.past != 0) {
        d->trace->lost += tail.past / sizeof *r - ((size_t)(d->in->block * d->in->warps + warp + 1) * d->in->room - 1);
    }
}

/* Groups of copies that no warp has waited for are empty: kernels commit them to keep count. */
static void drop_empty_copies(const Decoder *d) {
    size_t kept = d->begin;
    for (size_t i = d->begin; i < d->trace->count; i++) {
        const TraceEvent *e = &d->trace->event[i];
        if (e->kind != TRACE_COPY || e->end > e->begin) {
            d->trace->event[kept++] = *e;
        }
    }
    d->trace->count = kept;
}

/* The next event from *at on of this warp at this barrier; NULL if there is none. *at is then past it. */
static TraceEvent *next_wait(TraceEvent *event, size_t count, int warp, int id, size_t *at) {
    while (*at < count) {
        TraceEvent *e = &event[(*at)++];
        if (e->kind == TRACE_BARRIER && e->warp == warp && e->index == id) {
            return e;
        }
    }
    return NULL;
}

/* Ends every round at a barrier of the CTA no earlier than its last warp came. A warp goes on for an instruction or two
 * before the barrier holds it, so it may have read the clock too early. */
static void settle_barriers(TraceEvent *event, size_t count) {
    enum { BARRIERS = 16 }; /* of a CTA, by number */
    for (int id = 0; id < BARRIERS; id++) {
        size_t at[TRACE_CTA_WARPS] = {0};
        TraceEvent *of[TRACE_CTA_WARPS], *first[TRACE_CTA_WARPS];
        for (int warp = 0; warp < TRACE_CTA_WARPS; warp++) {
            first[warp] = of[warp] = next_wait(event, count, warp, id, &at[warp]);
        }
        for (int met = 1; met;) {
            uint64_t last = 0;
            met = 0;
            for (int warp = 0; warp < TRACE_CTA_WARPS; warp++) {
                last = of[warp] && of[warp]->begin > last ? of[warp]->begin : last;
            }
            for (int warp = 0; warp < TRACE_CTA_WARPS; warp++) {
                if (of[warp]) {
                    of[warp]->end = of[warp]->end < last ? last : of[warp]->end;
                    of[warp] = next_wait(event, count, warp, id, &at[warp]);
                    met |= of[warp] != NULL;
                }
            }
            for (int warp = 0; warp < TRACE_CTA_WARPS;
                 warp++) { /* without room, one warp's records end before another's */
                met = met && (of[warp] || !first[warp]);
            }
        }
    }
}

void trace_add_cta(Trace *trace, const CtaRecords *in) {
    Decoder d = {.trace = trace, .in = in, .begin = trace->count};
    for (int w = 0; w < in->warps; w++) {
        while (d.count[w] < in->room - 1 && records_of(&d, w)[d.count[w]].end != 0) {
            d.count[w]++;
        }
        learn_names(&d, w);
    }
    for (int w = 0; w < in->warps; w++) {
        decode_warp(&d, w);
    }
    settle_barriers(&trace->event[d.begin], trace->count - d.begin);
    uint64_t begin = in->cta->clock, end = begin;
    for (size_t i = d.begin; i < trace->count; i++) {
        TraceEvent *e = &trace->event[i];
        begin = e->begin < begin ? e->begin : begin;
        end = e->end > end ? e->end : end;
        if (e->kind == TRACE_LOAD) { /* index held the barrier's address */
            name_barrier(&d, e, (uint32_t)e->index);
            e->index = 0;
        }
    }
    drop_empty_copies(&d);
    add(&d, TRACE_CTA, begin, end > begin ? end : begin + 1); /* of one that records nothing else, its begin is known */
}

static int earlier(const void *a, const void *b) {
    const TraceEvent *x = *(TraceEvent *const *)a, *y = *(TraceEvent *const *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void trace_place_products(Trace *trace) {
    TraceEvent **product = (TraceEvent **)trace_memory(NULL, (trace->count + 1) * sizeof *product);
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->event[i].kind == TRACE_WGMMA) {
            product[count++] = &trace->event[i];
        }
    }
    qsort(product, count, sizeof *product, earlier);
    uint64_t free_at = 0;
    for (size_t i = 0; i < count; i++) {
        TraceEvent *e = product[i];
        int waited = e->row;
        uint64_t begin = e->begin > free_at ? e->begin : free_at, done = begin + (uint64_t)e->bytes;
        e->end = waited || done > e->end ? e->end : done;
        if (begin >= e->end) { /* it did not run after the others but between them */
            uint64_t least = e->end - (uint64_t)e->bytes;
            begin = e->begin > least ? e->begin : least;
        }
        e->begin = begin;
        e->row = e->bytes = 0;
        free_at = e->end > free_at ? e->end : free_at;
    }
    free(product);
}
