/* tmem.c - see tmem.h.
 *
 * Products, copies and commits are asynchronous: an agent does them in the order of their issue, which is one of those
 * that the hardware may choose. A load takes its values when it is issued; its registers hold NaN until the wait. */
#include "tmem.h"

#include <stdlib.h>
#include <string.h>

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
    enum { DOES_PRODUCT, DOES_COPY, DOES_COMMIT } does;
    union {
        TmemProduct product;
        TmemCopy copy;
        struct {
            Thread *by;
            Barrier *to;
        } commit;
    };
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

/* The first of `columns` free columns in a row; -1: there are none. */
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

/* An instruction that says cta_group::N. targets: CTAs that a commit tells, a mask. */
static void post_group(Thread *t, const char *what, int pair, int targets, Site site) {
    POST(TMEM_GROUP, .thread = t, .what = what, .pair = pair, .targets = targets, .site = site);
}

/* Of a pair: a warp waits for one of the other CTA to execute the same. */
static void wait_for_peer(Thread *t, TmemPairStep step, int columns, const char *what, Site site) {
    CtaTmem *own = t->cta->tmem, *peer = pair_cta(t, 1, !(t->cta->rank & 1))->tmem;
    own->asked[step].columns[own->asked[step].times++ % 2] = columns;
    threads_wake(&peer->waiting);
    while (peer->asked[step].times < own->asked[step].times) {
        thread_block_in(t, &own->waiting, (Wait){.kind = WAIT_PEER, .site = site, .what = what});
    }
}

void model_tcgen05_alloc(uint32_t *to, int columns, int pair, const char *here) {
    Thread *t = current_thread();
    CtaTmem *tmem = t->cta->tmem;
    Site site = site_of(here);
    if (!warp_join(t, "tcgen05.alloc", 0xffffffffu, site)) {
        return;
    }
    post_group(t, "tcgen05.alloc", pair, 0, site);
    if (pair) {
        wait_for_peer(t, PAIR_ALLOC, columns, "tcgen05.alloc", site);
    }
    int first = columns > 0 ? find_columns(tmem, columns) : -1;
    POST(TMEM_ALLOC, .warp = t->warp, .taddr = (uint32_t)first, .columns = columns, .pair = pair, .site = site);
    if (tmem->word == NULL) {
        tmem->word = model_alloc(TMEM_LANES * TMEM_COLUMNS * sizeof *tmem->word);
        memset(tmem->word, 0xff, TMEM_LANES * TMEM_COLUMNS * sizeof *tmem->word);
    }
    memset(&tmem->taken[first], 1, (size_t)columns);
    tmem->allocated[first] = columns;
    POST(SHARED_ACCESS, .thread = t->warp->thread, .p = to, .size = sizeof *to, .write = 1, .site = site);
    *to = (uint32_t)first;
    warp_go(t->warp);
}

void model_tcgen05_dealloc(uint32_t address, int columns, int pair, const char *here) {
    Thread *t = current_thread();
    CtaTmem *tmem = t->cta->tmem;
    Site site = site_of(here);
    if (!warp_join(t, "tcgen05.dealloc", 0xffffffffu, site)) {
        return;
    }
    post_group(t, "tcgen05.dealloc", pair, 0, site);
    POST(TMEM_DEALLOC, .warp = t->warp, .taddr = address, .columns = columns, .pair = pair, .site = site);
    if (pair) {
        wait_for_peer(t, PAIR_DEALLOC, columns, "tcgen05.dealloc", site);
    }
    memset(&tmem->taken[address], 0, (size_t)columns);
    tmem->allocated[address] = 0;
    for (int lane = 0; lane < TMEM_LANES; lane++) {
        memset(word_at(tmem, lane, (int)address), 0xff, (size_t)columns * sizeof *tmem->word);
    }
    warp_go(t->warp);
}

void model_tcgen05_relinquish(int pair, const char *here) {
    Thread *t = current_thread();
    if (warp_join(t, "tcgen05.relinquish_alloc_permit", 0xffffffffu, site_of(here))) {
        post_group(t, "tcgen05.relinquish_alloc_permit", pair, 0, site_of(here));
        POST(TMEM_RELINQUISH, .warp = t->warp, .site = site_of(here));
        warp_go(t->warp);
    }
}

/* ---- loads and stores -------------------------------------------------------------------------------------------- */

static void access_columns(const Thread *t, uint32_t address, uint32_t *registers, int n, int write) {
    CtaTmem *tmem = t->cta->tmem;
    uint32_t *word = word_at(tmem, tmem_lane(address) + t->lane, tmem_column(address));
    const size_t bytes = (size_t)n * sizeof *word;
    if (write) {
        memcpy(word, registers, bytes);
        return;
    }
    TmemLoad *load = model_alloc(sizeof *load + bytes);
    load->next = tmem->loads;
    load->thread = t;
    load->registers = registers;
    load->count = n;
    memcpy(load->value, word, bytes);
    tmem->loads = load;
    memset(registers, 0xff, bytes);
}

void model_tcgen05_access(int write, int n, const uint32_t *registers, uint32_t address, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    WarpCollective *m = w->collective;
    m->pointer[0][t->lane] = registers;
    m->word[0][t->lane] = address;
    if (!warp_join(t, write ? "tcgen05.st" : "tcgen05.ld", 0xffffffffu, site_of(here))) {
        return;
    }
    POST(TMEM_ACCESS, .warp = w, .taddr = address, .columns = n, .write = write, .site = m->now.site);
    for (int lane = 0; lane < w->lanes; lane++) {
        w->thread[lane].groups[write ? GROUP_TMEM_STORES : GROUP_TMEM_LOADS].open++;
        access_columns(&w->thread[lane], address, (uint32_t *)(uintptr_t)m->pointer[0][lane], n, write);
    }
    warp_go(w);
    thread_pause(t);
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

void model_tcgen05_wait(int stores, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    const GroupKind kind = stores ? GROUP_TMEM_STORES : GROUP_TMEM_LOADS;
    if (!warp_join(t, stores ? "tcgen05.wait::st" : "tcgen05.wait::ld", 0xffffffffu, site_of(here))) {
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
    if (!stores) {
        deliver(w);
    }
    warp_go(w);
    thread_pause(t);
}

void model_tcgen05_fence(int after) { POST(TMEM_FENCE, .thread = current_thread(), .after_sync = after); }

/* ---- products, copies and commits -------------------------------------------------------------------------------- */

static void load_operand(const Cta *cta, MatrixType type, float *values, uint64_t bits, int mn_major, int rows) {
    static uint32_t address[2 * WGMMA_MAX_N];
    WgmmaDescriptor descriptor;
    tcgen05_descriptor_decode(bits, &descriptor);
    wgmma_operand_addresses(&descriptor, mn_major, rows, address);
    wgmma_operand_load_of(type, values, cta->shared, SHARED_RESERVED, address, mn_major, rows);
}

/* Scale `i` of a row, as the lanes of this one's quarter hold it. */
static float scale_of(const Cta *cta, const Tcgen05Shape *s, uint32_t scales, int lane, int row, int i) {
    const uint32_t word = *word_at(cta->tmem, lane / 32 * 32 + row % 32, tmem_column(scales) + row / 32);
    return matrix_element(s->scale, word >> 8 * i & 0xff);
}

enum { MOST_K = 2 * MATRIX_K_BYTES };

/* To sum[] of a piece of D in this lane: a is row `row` of A; b[k] are the columns of B, from the piece's first on. */
static void add_products(const TmemProduct *p, const Cta *cta, float *sum, const float *a, float (*b)[WGMMA_MAX_N],
                         int lane, int row, int first) {
    static float scale_b[WGMMA_MAX_N], scaled[WGMMA_MAX_N];
    const Tcgen05Shape *s = &p->shape;
    const int columns = tcgen05_piece_columns(s), per = tcgen05_scale_k(s), scales = tcgen05_has_scales(s->kind);
    for (int k = 0; k < matrix_k(s->a); k++) {
        const float *row_b = &b[k][first];
        float factor = a[k];
        for (int n = 0; n < columns && scales; n++) {
            scale_b[n] = k % per == 0 ? scale_of(cta, s, p->b_scales, lane, n, s->b_id + k / per) : scale_b[n];
            scaled[n] = row_b[n] * scale_b[n];
        }
        if (scales) {
            factor *= scale_of(cta, s, p->a_scales, lane, row, s->a_id + k / per);
            row_b = scaled;
        }
        for (int n = 0; n < columns; n++) {
            sum[n] += factor * row_b[n];
        }
    }
}

/* Of a pair each CTA has half of the rows of A and of B, and its rows of D. */
static void multiply(const TmemProduct *p) {
    static float a[MOST_K * TMEM_LANES], b[MOST_K][WGMMA_MAX_N], half[MOST_K * WGMMA_MAX_N], sum[WGMMA_MAX_N];
    const Tcgen05Shape *s = &p->shape;
    const int rows = tcgen05_rows(s), of_b = tcgen05_columns(s), columns = tcgen05_piece_columns(s);
    for (int i = 0; i <= s->pair; i++) {
        load_operand(pair_cta(p->thread, s->pair, i), s->b, half, p->b, s->b_major, of_b);
        for (int k = 0; k < matrix_k(s->b); k++) {
            memcpy(&b[k][i * of_b], &half[k * of_b], (size_t)of_b * sizeof *half);
        }
    }
    for (int i = 0; i <= s->pair; i++) {
        const Cta *cta = pair_cta(p->thread, s->pair, i);
        load_operand(cta, s->a, a, p->a, s->a_major, rows);
        for (int piece = 0; piece < tcgen05_pieces(s); piece++) {
            const int lane = tcgen05_lane(s, piece);
            uint32_t *d = word_at(cta->tmem, tmem_lane(p->d) + lane, tmem_column(p->d));
            float row[MOST_K];
            memset(sum, 0, sizeof sum);
            if (p->accumulate) {
                memcpy(sum, d, (size_t)columns * sizeof *d);
            }
            for (int k = 0; k < matrix_k(s->a); k++) {
                row[k] = a[k * rows + piece % rows];
            }
            add_products(p, cta, sum, row, b, lane, piece % rows, piece / rows * columns);
            memcpy(d, sum, (size_t)columns * sizeof *d);
        }
    }
}

static void copy_rows(const TmemCopy *copy, const Cta *cta) {
    uint32_t address[2 * TCGEN05_COPY_ROWS];
    WgmmaDescriptor descriptor;
    tcgen05_descriptor_decode(copy->from, &descriptor);
    wgmma_operand_addresses(&descriptor, 0, TCGEN05_COPY_ROWS, address);
    for (int lane = 0; lane < TMEM_LANES; lane++) {
        memcpy(word_at(cta->tmem, lane, tmem_column(copy->to)),
               cta->shared + (address[lane % TCGEN05_COPY_ROWS * 2] - SHARED_RESERVED), CHUNK_BYTES);
    }
}

static void work_step(Agent *agent, int whole) {
    CtaTmem *tmem = (CtaTmem *)(void *)((char *)agent - offsetof(CtaTmem, agent));
    do {
        TmemWork *work = tmem->work;
        tmem->work = work->next;
        if (work->does == DOES_COMMIT) {
            mbarrier_copies_arrive(work->commit.by, work->commit.to, GROUP_TMEM);
        } else if (work->does == DOES_COPY) {
            for (int i = 0; i <= work->copy.pair; i++) {
                copy_rows(&work->copy, pair_cta(work->copy.thread, work->copy.pair, i));
            }
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

/* A product or a copy begins. */
static void begin(Thread *t, TmemWork work) {
    t->groups[GROUP_TMEM].open++;
    issue(t->cta->tmem, work);
    thread_pause(t);
}

void model_tcgen05_mma(Tcgen05Kind kind, int pair, uint32_t d, uint64_t a, uint64_t b, uint32_t shape,
                       uint32_t a_scales, uint32_t b_scales, int accumulate, const char *here) {
    Thread *t = current_thread();
    TmemWork work = {
        .does = DOES_PRODUCT,
        .product = {t, d, a, b, a_scales, b_scales, tcgen05_shape(shape, kind, pair), accumulate != 0, site_of(here)}};
    post_group(t, "tcgen05.mma", pair, 0, site_of(here));
    POST(TMEM_PRODUCT, .thread = t, .tmem_product = &work.product, .site = site_of(here));
    begin(t, work);
}

void model_tcgen05_cp(int pair, uint32_t to, uint64_t from, const char *here) {
    Thread *t = current_thread();
    TmemWork work = {.does = DOES_COPY, .copy = {t, to, from, pair, site_of(here)}};
    post_group(t, "tcgen05.cp", pair, 0, site_of(here));
    POST(TMEM_COPY, .thread = t, .tmem_copy = &work.copy);
    begin(t, work);
}

void model_tcgen05_commit(void *bar, int pair, int targets, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    targets = targets < 0 ? 1 << t->cta->rank : targets;
    post_group(t, "tcgen05.commit", pair, targets, site);
    for (int rank = 0; rank < t->cta->cluster->size; rank++) {
        if (targets >> rank & 1) {
            Barrier *b = mbarrier_reach(t, rank, bar, site, "tcgen05.commit", 1);
            mbarrier_await_copies(t, b, GROUP_TMEM, site);
            issue(t->cta->tmem, (TmemWork){.does = DOES_COMMIT, .commit = {t, b}});
        }
    }
    groups_close(&t->groups[GROUP_TMEM]);
    thread_pause(t);
}
