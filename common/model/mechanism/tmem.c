/* tmem.c - see tmem.h.
 *
 * Products and commits are asynchronous: an agent does them in the order of their issue, which is one of those that the hardware may
 * choose. A load takes its values when it is issued, and its registers hold NaN until the wait. */
#include "tmem.h"

#include <stdlib.h>
#include <string.h>

#include "../core/memory.h"
#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

typedef struct TmemLoad {
    struct TmemLoad *next;
    const Thread *thread;
    uint32_t *registers;
    int count;
    uint32_t value[];
} TmemLoad;

typedef struct TmemWork {
    struct TmemWork *next;
    TmemProduct product;
    Barrier *commits; /* not NULL: it arrives there, and is no product */
} TmemWork;

static uint32_t *word_at(const CtaTmem *tmem, int lane, int column) {
    return &tmem->word[lane * TMEM_COLUMNS + column];
}

/* ---- the CTA's own ----------------------------------------------------------------------------------------------- */

static void work_step(Agent *agent, int whole);

void tmem_begin(Cta *cta) {
    cta->tmem = cta_alloc(cta, sizeof *cta->tmem);
    cta->tmem->cta = cta;
    cta->tmem->agent = (Agent){.step = work_step, .queued = -1};
}

void tmem_free(Cta *cta) {
    CtaTmem *tmem = cta->tmem;
    agent_dequeue(&tmem->agent);
    for (TmemWork *work = tmem->work, *next; work != NULL; work = next) {
        next = work->next;
        free(work);
    }
    for (TmemLoad *load = tmem->loads, *next; load != NULL; load = next) {
        next = load->next;
        free(load);
    }
    free(tmem->word);
}

/* The first of so many free columns; -1: there are none. */
static int find_columns(const CtaTmem *tmem, int columns) {
    for (int first = 0; first + columns <= TMEM_COLUMNS; first += TMEM_LEAST) {
        int n = 0;
        while (n < columns && !tmem->taken[first + n]) {
            n++;
        }
        if (n == columns) {
            return first;
        }
    }
    return -1;
}

void model_tcgen05_alloc(uint32_t *to, int columns, const char *here) {
    Thread *t = current_thread();
    CtaTmem *tmem = t->cta->tmem;
    if (!warp_meet(t, WARP_TCGEN05_ALLOC, 0xffffffffu, site_of(here))) {
        return;
    }
    int first = columns > 0 ? find_columns(tmem, columns) : -1;
    POST(TMEM_ALLOC, .warp = t->warp, .taddr = (uint32_t)first, .columns = columns, .site = site_of(here));
    if (tmem->word == NULL) {
        tmem->word = model_alloc(TMEM_LANES * TMEM_COLUMNS * sizeof *tmem->word);
        memset(tmem->word, 0xff, TMEM_LANES * TMEM_COLUMNS * sizeof *tmem->word);
    }
    memset(&tmem->taken[first], 1, (size_t)columns);
    tmem->allocated[first] = columns;
    POST(SHARED_ACCESS, .thread = t->warp->thread, .p = to, .size = sizeof *to, .write = 1, .site = site_of(here));
    *to = (uint32_t)first;
    warp_go(t->warp);
}

void model_tcgen05_dealloc(uint32_t address, int columns, const char *here) {
    Thread *t = current_thread();
    CtaTmem *tmem = t->cta->tmem;
    if (!warp_meet(t, WARP_TCGEN05_DEALLOC, 0xffffffffu, site_of(here))) {
        return;
    }
    POST(TMEM_DEALLOC, .warp = t->warp, .taddr = address, .columns = columns, .site = site_of(here));
    memset(&tmem->taken[address], 0, (size_t)columns);
    tmem->allocated[address] = 0;
    for (int lane = 0; lane < TMEM_LANES; lane++) {
        memset(word_at(tmem, lane, (int)address), 0xff, (size_t)columns * sizeof *tmem->word);
    }
    warp_go(t->warp);
}

void model_tcgen05_relinquish(const char *here) {
    Thread *t = current_thread();
    if (warp_meet(t, WARP_TCGEN05_RELINQUISH, 0xffffffffu, site_of(here))) {
        POST(TMEM_RELINQUISH, .warp = t->warp, .site = site_of(here));
        warp_go(t->warp);
    }
}

/* ---- loads and stores: 32x32b, lane l of the warp has lane l of its quarter -------------------------------------------- */

static void access_columns(const Thread *t, uint32_t address, uint32_t *registers, int count, int write) {
    CtaTmem *tmem = t->cta->tmem;
    uint32_t *at = word_at(tmem, tmem_lane(address) + t->lane, tmem_column(address));
    size_t bytes = (size_t)count * sizeof *at;
    if (write) {
        memcpy(at, registers, bytes);
        return;
    }
    TmemLoad *load = model_alloc(sizeof *load + bytes);
    *load = (TmemLoad){tmem->loads, t, registers, count};
    memcpy(load->value, at, bytes);
    tmem->loads = load;
    memset(registers, 0xff, bytes);
}

static void tmem_access(WarpInstruction instruction, uint32_t *registers, uint32_t address, int count,
                        const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    WarpMeeting *m = w->meeting;
    const int write = instruction == WARP_TCGEN05_ST;
    m->pointer[0][t->lane] = registers;
    m->word[0][t->lane] = address;
    if (!warp_meet(t, instruction, 0xffffffffu, site_of(here))) {
        return;
    }
    POST(TMEM_ACCESS, .warp = w, .taddr = address, .columns = count, .write = write, .site = m->site);
    for (int lane = 0; lane < w->lanes; lane++) {
        w->thread[lane].groups[write ? GROUP_TMEM_STORES : GROUP_TMEM_LOADS].open++;
        access_columns(&w->thread[lane], address, (uint32_t *)(uintptr_t)m->pointer[0][lane], count, write);
    }
    warp_go(w);
    thread_pause(t);
}

void model_tcgen05_ld(int count, uint32_t *registers, uint32_t address, const char *here) {
    tmem_access(WARP_TCGEN05_LD, registers, address, count, here);
}
void model_tcgen05_st(int count, uint32_t address, const uint32_t *registers, const char *here) {
    tmem_access(WARP_TCGEN05_ST, (uint32_t *)(uintptr_t)registers, address, count, here);
}

/* The registers of the warp's loads get their values. */
static void deliver(const Warp *w) {
    for (TmemLoad **link = &w->cta->tmem->loads, *load; (load = *link) != NULL;) {
        if (load->thread->warp != w) {
            link = &load->next;
            continue;
        }
        memcpy(load->registers, load->value, (size_t)load->count * sizeof *load->value);
        *link = load->next;
        free(load);
    }
}

static void wait_for(GroupKind kind, WarpInstruction instruction, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    if (!warp_meet(t, instruction, 0xffffffffu, site_of(here))) {
        return;
    }
    for (int lane = 0; lane < w->lanes; lane++) {
        ThreadGroups *g = &w->thread[lane].groups[kind];
        if (g->open > 0) {
            groups_close(g);
        }
        groups_waited(g, g->committed);
    }
    POST(TMEM_WAIT, .warp = w, .group = kind);
    if (kind == GROUP_TMEM_LOADS) {
        deliver(w);
    }
    warp_go(w);
    thread_pause(t);
}

void model_tcgen05_wait_ld(const char *here) { wait_for(GROUP_TMEM_LOADS, WARP_TCGEN05_WAIT_LD, here); }
void model_tcgen05_wait_st(const char *here) { wait_for(GROUP_TMEM_STORES, WARP_TCGEN05_WAIT_ST, here); }

void model_tcgen05_fence(int after) { POST(TMEM_FENCE, .thread = current_thread(), .behind = after); }

/* ---- products and commits ---------------------------------------------------------------------------------------- */

static void load_operand(const TmemProduct *p, float *values, uint64_t bits, int mn_major, int rows) {
    static uint32_t address[2 * WGMMA_MAX_N];
    WgmmaDescriptor descriptor;
    tcgen05_descriptor_decode(bits, &descriptor);
    wgmma_operand_addresses(&descriptor, mn_major, rows, address);
    wgmma_operand_load_of(p->shape.type, values, p->thread->cta->shared, SHARED_RESERVED, address, mn_major, rows);
}

static void multiply(const TmemProduct *p) {
    static float a[MATRIX_K * TMEM_LANES], b[MATRIX_K * WGMMA_MAX_N], row[WGMMA_MAX_N];
    const Tcgen05Shape *s = &p->shape;
    load_operand(p, a, p->a, s->a_major, s->m);
    load_operand(p, b, p->b, s->b_major, s->n);
    for (int m = 0; m < s->m; m++) {
        uint32_t *d = word_at(p->thread->cta->tmem, tmem_lane(p->d) + tcgen05_lane(s, m), tmem_column(p->d));
        size_t bytes = (size_t)s->n * sizeof *d;
        memset(row, 0, bytes);
        if (p->accumulate) {
            memcpy(row, d, bytes);
        }
        for (int k = 0; k < MATRIX_K; k++) {
            for (int n = 0; n < s->n; n++) {
                row[n] += a[k * s->m + m] * b[k * s->n + n];
            }
        }
        memcpy(d, row, bytes);
    }
}

static void work_step(Agent *agent, int whole) {
    CtaTmem *tmem = (CtaTmem *)(void *)((char *)agent - offsetof(CtaTmem, agent));
    do {
        TmemWork *work = tmem->work;
        tmem->work = work->next;
        if (work->commits != NULL) {
            mbarrier_copies_arrive(work->product.thread, work->commits, GROUP_TMEM);
        } else {
            multiply(&work->product);
        }
        free(work);
    } while (whole && tmem->work != NULL);
    if (tmem->work == NULL) {
        agent_dequeue(agent);
    }
}

static void issue(CtaTmem *tmem, TmemWork work) {
    TmemWork *added = model_alloc(sizeof *added);
    *added = work;
    *(tmem->work != NULL ? &tmem->last->next : &tmem->work) = added;
    tmem->last = added;
    agent_queue(&tmem->agent);
}

void model_tcgen05_mma_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, int accumulate, const char *here) {
    Thread *t = current_thread();
    TmemWork work = {.product = {t, d, a, b, tcgen05_shape(shape), accumulate != 0, site_of(here)}};
    POST(TMEM_PRODUCT, .thread = t, .tmem_product = &work.product);
    t->groups[GROUP_TMEM].open++;
    issue(t->cta->tmem, work);
    thread_pause(t);
}

void model_tcgen05_commit(void *bar, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_reach(t, t->cta->rank, bar, site, "tcgen05.commit", 0);
    mbarrier_await_copies(t, b, GROUP_TMEM, 1, site);
    groups_close(&t->groups[GROUP_TMEM]);
    issue(t->cta->tmem, (TmemWork){.product.thread = t, .commits = b});
    thread_pause(t);
}
