/* tmem.c - rules of tensor memory: who allocates, what addresses and descriptors are right. order.c judges the order of accesses,
 * cells.c remembers them. Numbers are of PTX ISA 9.1, 9.7.16. */
#include "../mechanism/tmem.h"

#include "../core/memory.h"
#include "bug_report.h"
#include "cells.h"
#include "provenance.h"
#include "results.h"

/* Of a CTA. */
typedef struct TmemFacts {
    int least; /* columns of its smallest allocation; 0: there was none */
    int relinquished;
    uint32_t accumulator[TMEM_LANES / 16][TMEM_COLUMNS]; /* shape and place of the last product that wrote there */
    Site site;                                           /* of an allocation */
} TmemFacts;

ON(tmem, CTA_BEGIN) { e->cta->tmem_facts = cta_alloc(e->cta, sizeof *e->cta->tmem_facts); }

/* ---- allocation: 9.7.16.1.2, 9.7.16.7.1 -------------------------------------------------------------------------- */

ON(tmem, TMEM_ALLOC) {
    TmemFacts *f = e->warp->cta->tmem_facts;
    int n = e->columns;
    const char *fault =
        n < TMEM_LEAST || n > TMEM_COLUMNS || (n & (n - 1)) != 0 ? "accepted are 32, 64, 128, 256 and 512 columns"
        : f->relinquished              ? "the CTA has executed tcgen05.relinquish_alloc_permit"
        : f->least > 0 && n > f->least ? "an earlier allocation of the CTA was smaller: sizes may not grow"
        : (int)e->taddr < 0 ? "so many columns side by side are not free: no other CTA will free any, and it blocks"
                            : NULL;
    if (fault != NULL) {
        report_misuse(RULE_TMEM_ALLOC, e->site, 1, "tcgen05.alloc of %d columns: %s", n, fault);
    }
    f->least = n;
    f->site = e->site;
    cells_tensor_begin(e->warp->cta);
}

ON(tmem, TMEM_RELINQUISH) { e->warp->cta->tmem_facts->relinquished = 1; }

ON(tmem, TMEM_DEALLOC) {
    Warp *w = e->warp;
    const CtaTmem *tmem = w->cta->tmem;
    if (e->taddr >= TMEM_COLUMNS || tmem->allocated[e->taddr] == 0 || tmem->allocated[e->taddr] != e->columns) {
        report_misuse(RULE_TMEM_FREE, e->site, 1,
                      "tcgen05.dealloc of %d columns at address 0x%x: no allocation of so many begins there",
                      e->columns, e->taddr);
    }
    Actor actor = actor_plain(&w->thread[0], ACCESS_TMEM_DEALLOC, e->site);
    actor.warp = w;
    for (int lane = 0; lane < TMEM_LANES; lane++) {
        cells_tensor(w->cta, &actor, lane, (int)e->taddr, e->columns);
    }
    order_settle();
    cells_tensor_forget(w->cta, (int)e->taddr, e->columns);
}

ON(tmem, CTA_RETURNED) {
    for (int column = 0; column < TMEM_COLUMNS; column++) {
        if (e->cta->tmem->taken[column]) {
            report_misuse(RULE_TMEM_FREE, e->cta->tmem_facts->site, 0,
                          "%d columns of tensor memory from column %d on: the CTA has ended without tcgen05.dealloc",
                          e->cta->tmem->allocated[column], column);
            return;
        }
    }
}

/* ---- loads and stores: 9.7.16.8 ---------------------------------------------------------------------------------- */

static void check_columns(const Cta *cta, const char *what, Site site, int first, int columns) {
    for (int column = first; column < first + columns; column++) {
        if (column >= TMEM_COLUMNS || !cta->tmem->taken[column]) {
            report_misuse(RULE_TMEM_ADDRESS, site, 1, "%s of columns %d to %d: column %d is not allocated", what, first,
                          first + columns - 1, column);
        }
    }
}

ON(tmem, TMEM_ACCESS) {
    Warp *w = e->warp;
    const AccessKind kind = e->write ? ACCESS_TMEM_ST : ACCESS_TMEM_LD;
    const GroupKind group = e->write ? GROUP_TMEM_STORES : GROUP_TMEM_LOADS;
    for (int lane = 0; lane < w->lanes; lane++) {
        if (w->meeting->word[0][lane] != e->taddr) {
            report_misuse(RULE_TMEM_ADDRESS, e->site, 1, "%s with addresses that differ between lanes of a warp",
                          access_name[kind]);
        }
    }
    if (tmem_lane(e->taddr) != w->id % 4 * WARP_SIZE) {
        report_misuse(RULE_TMEM_ADDRESS, e->site, 1, "%s from lane %d: warp %d reaches lanes %d to %d",
                      access_name[kind], tmem_lane(e->taddr), w->id, w->id % 4 * WARP_SIZE,
                      w->id % 4 * WARP_SIZE + WARP_SIZE - 1);
    }
    check_columns(w->cta, access_name[kind], e->site, tmem_column(e->taddr), e->columns);
    for (int lane = 0; lane < w->lanes; lane++) {
        Thread *t = &w->thread[lane];
        Actor actor = actor_async(t, kind, group_component(t, group), t->groups[group].committed + 1, e->site);
        cells_tensor(w->cta, &actor, tmem_lane(e->taddr) + lane, tmem_column(e->taddr), e->columns);
        order_settle();
    }
}

/* ---- products: 9.7.16.10 ----------------------------------------------------------------------------------------- */

static Tag check_operand(const TmemProduct *p, AccessKind kind) {
    static uint32_t address[2 * WGMMA_MAX_N];
    static Tag tag[2 * WGMMA_MAX_N];
    Thread *t = p->thread;
    const int is_a = kind == ACCESS_TCGEN05_A, rows = is_a ? p->shape.m : p->shape.n,
              mn_major = is_a ? p->shape.a_major : p->shape.b_major;
    const uint64_t bits = is_a ? p->a : p->b;
    WgmmaDescriptor d;
    if (!tcgen05_descriptor_decode(bits, &d)) {
        report_misuse(
            RULE_TCGEN05_DESCRIPTOR, p->site, 1,
            "%s: descriptor 0x%016llx: bits 46 to 48 are %d (1 is accepted: wgmma's have 0), swizzle in bits 61 to "
            "63 is %d (0, 2, 4, 6), and bits of no field are 0x%llx (0)",
            access_name[kind], (unsigned long long)bits, (int)(bits >> 46 & 7), (int)(bits >> 61),
            (unsigned long long)d.unknown);
    }
    Actor actor = actor_async(t, kind, group_component(t, GROUP_TMEM), t->groups[GROUP_TMEM].committed + 1, p->site);
    wgmma_operand_addresses(&d, mn_major, rows, address);
    for (int i = 0; i < 2 * rows; i++) {
        uint32_t offset = address[i] - SHARED_RESERVED;
        if (address[i] < SHARED_RESERVED || offset + CHUNK_BYTES > t->cta->shared_bytes) {
            report_misuse(RULE_TCGEN05_DESCRIPTOR, p->site, 1,
                          "%s: its row %d lies at byte %lld; the CTA has %u bytes of shared memory", access_name[kind],
                          wgmma_chunk_row(mn_major, i), (long long)address[i] - SHARED_RESERVED, t->cta->shared_bytes);
        }
        cells_shared(t->cta, &actor, offset, CHUNK_BYTES);
        tag[i] = provenance_of(t->cta, offset);
    }
    order_settle();
    return provenance_operand(t, is_a ? "tcgen05.mma, operand A" : "tcgen05.mma, operand B", tag, p->shape.type,
                              mn_major, rows, p->site);
}

/* Does all of D belong to products of this shape and place already? Those of one thread are in order then, and no others. */
static int pipelines(const TmemProduct *p, uint32_t id) {
    uint32_t(*accumulator)[TMEM_COLUMNS] = p->thread->cta->tmem_facts->accumulator;
    int same = 1;
    for (int m = 0; m < p->shape.m; m += 16) {
        int part = (tmem_lane(p->d) + tcgen05_lane(&p->shape, m)) / 16;
        for (int column = tmem_column(p->d); column < tmem_column(p->d) + p->shape.n; column++) {
            same &= accumulator[part][column] == id;
            accumulator[part][column] = id;
        }
    }
    return same;
}

ON(tmem, TMEM_PRODUCT) {
    const TmemProduct *p = e->tmem_product;
    Thread *t = p->thread;
    const Tcgen05Shape *s = &p->shape;
    if (s->unknown != 0 || !tcgen05_has_shape(s)) {
        report_misuse(
            RULE_TCGEN05_DESCRIPTOR, p->site, 1,
            "tcgen05.mma with an instruction descriptor of M = %d, N = %d, and bits 0x%x that are not accepted: "
            "the model has kind f16 with D in fp32; M is 64 with N by 8, or 128 with N by 16, up to 256",
            s->m, s->n, s->unknown);
    }
    if (tmem_lane(p->d) != 0 && !(s->m == 64 && tmem_lane(p->d) == 16)) {
        report_misuse(RULE_TMEM_ADDRESS, p->site, 1,
                      "tcgen05.mma with D from lane %d on: accepted is 0, or 16 for M = 64", tmem_lane(p->d));
    }
    check_columns(t->cta, "tcgen05.mma", p->site, tmem_column(p->d), s->n);
    Tag a = check_operand(p, ACCESS_TCGEN05_A), b = check_operand(p, ACCESS_TCGEN05_B);
    if (*tag_matrix(a) != '\0' && *tag_matrix(b) != '\0' && a.column != b.column) {
        report_misuse(RULE_PROVENANCE, p->site, 0, "tcgen05.mma of A from k = %d on and B from k = %d on", a.column,
                      b.column);
    }
    t->cta->results->unknown = 1; /* whose rows and columns are in tensor memory nobody follows */
    const Component component = group_component(t, GROUP_TMEM);
    const uint32_t epoch = t->groups[GROUP_TMEM].committed + 1;
    Actor d = actor_async(t, p->accumulate ? ACCESS_TCGEN05_ADD : ACCESS_TCGEN05_D, component, epoch, p->site);
    if (pipelines(p, (uint32_t)s->n | (uint32_t)s->m << 9 | (uint32_t)tmem_column(p->d) << 18 |
                         (uint32_t)tmem_lane(p->d) << 27)) {
        d.passed = (Epoch){d.access.serial, epoch, component};
    }
    for (int m = 0; m < s->m; m++) {
        cells_tensor(t->cta, &d, tmem_lane(p->d) + tcgen05_lane(s, m), tmem_column(p->d), s->n);
    }
    order_settle();
}
