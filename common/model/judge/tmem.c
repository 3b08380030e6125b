/* tmem.c - rules of tensor memory: who allocates, what addresses and descriptors are right. order.c judges the order of
 * accesses, cells.c remembers them. Numbers are of PTX ISA 9.1, 9.7.16. */
#include "../mechanism/tmem.h"

#include <string.h>

#include "bug_report.h"
#include "cells.h"
#include "phases.h"
#include "provenance.h"
#include "results.h"

/* Of a CTA. */
typedef struct TmemFacts {
    int least; /* columns of its smallest allocation; 0: there was none */
    int relinquished;
    int group;                                           /* cta_group of its instructions; 0: there was none */
    uint32_t accumulator[TMEM_LANES / 16][TMEM_COLUMNS]; /* shape and place of the last product that wrote there */
    Site site;                                           /* of an allocation */
    uint8_t word
        [TMEM_COLUMNS]; /* 1 + the word of each copied row of 16 bytes that lies there; 0: none, as far as is known */
} TmemFacts;

ON(tmem, CTA_BEGIN) { cta->tmem_facts = cta_alloc(cta, sizeof *cta->tmem_facts); }

/* ---- one CTA or a pair: 9.7.16.5, 9.7.16.7.1, 9.7.16.12.1 -------------------------------------------------------- */

ON(tmem, TMEM_GROUP) {
    TmemFacts *f = t->cta->tmem_facts;
    const Cluster *cluster = t->cta->cluster;
    const int group = 1 + e->pair;
    MISUSE_IF(f->group != 0 && f->group != group, RULE_CTA_GROUP, e->site, 1,
              "%s of cta_group::%d: the CTA has executed tcgen05 of cta_group::%d, and a kernel has one of them",
              e->what, group, f->group);
    f->group = group;
    MISUSE_IF(e->targets >> cluster->size != 0, RULE_CLUSTER_RANK, e->site, 1,
              "%s to CTAs of mask 0x%x in a cluster of %d", e->what, (unsigned)e->targets, cluster->size);
    const Cta *peer = e->pair ? pair_cta(t, 1, !(t->cta->rank & 1)) : t->cta;
    MISUSE_IF(peer == NULL, RULE_CTA_GROUP, e->site, 1, "%s of cta_group::2 in a cluster of %d: CTA %d has no other",
              e->what, cluster->size, t->cta->block);
    if (peer != t->cta) {
        phases_peer(t, peer->rank, e->what, e->site);
        MISUSE_IF(!cluster_started(t, peer), RULE_CLUSTER_START, e->site, 0,
                  "%s of a pair: this thread has passed no cluster barrier, and knows of nothing that CTA %d has "
                  "done",
                  e->what, peer->block);
    }
}

/* ---- allocation: 9.7.16.1.2, 9.7.16.7.1 -------------------------------------------------------------------------- */

/* A whole warp allocates columns, or frees them, in its own CTA; it must know what both of a pair have done. */
static void change_columns(Warp *w, AccessKind kind, int pair, uint32_t taddr, int columns, Site site) {
    Actor actor = actor_plain(&w->thread[0], kind, site);
    actor.warp = w;
    for (int i = 0; i <= pair; i++) {
        Cta *cta = pair_cta(&w->thread[0], pair, i);
        for (int lane = 0; lane < TMEM_LANES && (kind == ACCESS_TMEM_DEALLOC || cta == w->cta); lane++) {
            cells_tensor(cta, &actor, lane, (int)taddr, columns);
        }
        order_settle(); /* while the actor is in this CTA */
    }
    cells_tensor_forget(w->cta, (int)taddr, columns);
}

ON(tmem, TMEM_ALLOC) {
    TmemFacts *f = w->cta->tmem_facts;
    int n = e->columns;
    const Cta *peer = pair_cta(&w->thread[0], e->pair, !(w->cta->rank & 1));
    /* The other may be at its next one already. */
    const int turn = (w->cta->tmem->asked[PAIR_ALLOC].times + 1) % 2;
    const char *fault =
        e->pair && peer->tmem->asked[PAIR_ALLOC].columns[turn] != n
            ? "the other CTA of the pair asks for another number"
        : n < TMEM_LEAST || n > TMEM_COLUMNS || (n & (n - 1)) != 0 ? "accepted are 32, 64, 128, 256 and 512 columns"
        : f->relinquished              ? "the CTA has executed tcgen05.relinquish_alloc_permit"
        : f->least > 0 && n > f->least ? "an earlier allocation of the CTA was smaller: sizes may not grow"
        : (int)e->taddr < 0
            ? "not as many adjacent columns are free: no other CTA will free any, and the instruction blocks"
            : NULL;
    MISUSE_IF(fault != NULL, RULE_TMEM_ALLOC, e->site, 1, "tcgen05.alloc of %d columns: %s", n, fault);
    f->least = n;
    f->site = e->site;
    change_columns(w, ACCESS_TMEM_ALLOC, e->pair, e->taddr, n, e->site);
}

ON(tmem, TMEM_RELINQUISH) { w->cta->tmem_facts->relinquished = 1; }

ON(tmem, TMEM_DEALLOC) {
    const CtaTmem *tmem = w->cta->tmem;
    MISUSE_IF(e->taddr >= TMEM_COLUMNS || tmem->allocated[e->taddr] == 0 || tmem->allocated[e->taddr] != e->columns,
              RULE_TMEM_FREE, e->site, 1,
              "tcgen05.dealloc of %d columns at address 0x%x: no allocation of that size begins there", e->columns,
              e->taddr);
    const Cta *peer = pair_cta(&w->thread[0], e->pair, !(w->cta->rank & 1));
    MISUSE_IF(peer->tmem->allocated[e->taddr] == 0, RULE_RACE_WAW, e->site, 1,
              "tcgen05.dealloc of a pair: CTA %d has not got its columns yet", peer->block);
    change_columns(w, ACCESS_TMEM_DEALLOC, e->pair, e->taddr, e->columns, e->site);
}

ON(tmem, CTA_RETURNED) {
    for (int column = 0; column < TMEM_COLUMNS; column++) {
        if (cta->tmem->taken[column]) {
            report_misuse(RULE_TMEM_FREE, cta->tmem_facts->site, 0,
                          "%d columns of tensor memory from column %d on: the CTA has ended without tcgen05.dealloc",
                          cta->tmem->allocated[column], column);
            return;
        }
    }
}

/* ---- loads and stores: 9.7.16.8 ---------------------------------------------------------------------------------- */

static void check_columns(const Cta *cta, const char *what, Site site, int first, int columns) {
    for (int column = first; column < first + columns; column++) {
        MISUSE_IF(column >= TMEM_COLUMNS || !cta->tmem->taken[column], RULE_TMEM_ADDRESS, site, 1,
                  "%s of columns %d to %d: column %d of %s is not allocated", what, first, first + columns - 1, column,
                  cta_text(cta, PHRASE));
    }
}

static void access_columns(const Event *e, Thread *t, AccessKind kind) {
    const GroupKind group = e->write ? GROUP_TMEM_STORES : GROUP_TMEM_LOADS;
    Actor actor = actor_async(t, kind, group_component(t, group), t->groups[group].committed + 1, e->site);
    cells_tensor(t->cta, &actor, tmem_lane(e->taddr) + t->lane, tmem_column(e->taddr), e->columns);
    memset(&t->cta->tmem_facts->word[tmem_column(e->taddr)], 0, e->write ? (size_t)e->columns : 0);
    order_settle();
}

ON(tmem, TMEM_ACCESS) {
    const int first = w->id % 4 * WARP_SIZE, n = e->columns;
    const AccessKind kind = e->write ? ACCESS_TMEM_ST : ACCESS_TMEM_LD;
    for (int lane = 0; lane < w->lanes; lane++) {
        MISUSE_IF(w->collective->word[0][lane] != e->taddr, RULE_TMEM_ADDRESS, e->site, 1,
                  "%s with addresses that differ between lanes of a warp", access_name[kind]);
    }
    MISUSE_IF(tmem_lane(e->taddr) != first, RULE_TMEM_ADDRESS, e->site, 1,
              "%s from lane %d: warp %d reaches lanes %d to %d, all of them", access_name[kind], tmem_lane(e->taddr),
              w->id, first, first + WARP_SIZE - 1);
    /* The wrapper splits any other multiple of 8 into several instructions. */
    const int is_one = n > 0 && (n & (n - 1)) == 0 && n <= 128;
    MISUSE_IF(!is_one && (n < 1 || n % 8 != 0), RULE_TMEM_ADDRESS, e->site, 1,
              "%s of %d columns: accepted are powers of two up to 128, and multiples of 8", access_name[kind], n);
    check_columns(w->cta, access_name[kind], e->site, tmem_column(e->taddr), n);
    for (int lane = 0; lane < w->lanes; lane++) {
        access_columns(e, &w->thread[lane], kind);
    }
}

/* ---- products: 9.7.16.10 ----------------------------------------------------------------------------------------- */

/* An operand in shared memory: `rows` of 32 bytes; a copy may want the first chunk of each alone. Leaves their tags. */
static void check_rows(Actor *actor, Cta *cta, uint64_t bits, MatrixType type, int mn_major, int rows, int halves,
                       Tag *tag) {
    WgmmaDescriptor d;
    MISUSE_IF(!tcgen05_descriptor_decode(bits, &d), RULE_TCGEN05_DESCRIPTOR, actor->access.site, 1,
              "%s: descriptor 0x%016llx: bits 46 to 48 are %d (1 is accepted: wgmma's have 0), swizzle in bits 61 to "
              "63 is %d (0, 2, 4, 6), and bits of no field are 0x%llx (0)",
              actor->what, (unsigned long long)bits, (int)(bits >> 46 & 7), (int)(bits >> 61),
              (unsigned long long)d.unknown);
    cells_operand(cta, actor, RULE_TCGEN05_DESCRIPTOR, &d, type, mn_major, rows, halves, tag);
    order_settle();
}

/* One that is complete when a commit of its thread says so. */
static Actor actor_tcgen05(Thread *t, AccessKind kind, Site site) {
    return actor_async(t, kind, group_component(t, GROUP_TMEM), t->groups[GROUP_TMEM].committed + 1, site);
}

/* What the CTA has of an operand in shared memory. */
static Tag check_operand(const TmemProduct *p, Cta *cta, AccessKind kind) {
    static Tag tag[2 * WGMMA_MAX_N];
    const Tcgen05Shape *s = &p->shape;
    const int is_a = kind == ACCESS_TCGEN05_A, rows = is_a ? tcgen05_rows(s) : tcgen05_columns(s),
              mn_major = is_a ? s->a_major : s->b_major;
    const MatrixType type = is_a ? s->a : s->b;
    Actor actor = actor_tcgen05(p->thread, kind, p->site);
    check_rows(&actor, cta, is_a ? p->a : p->b, type, mn_major, rows, 1, tag);
    return provenance_operand(p->thread, is_a ? "tcgen05.mma, operand A" : "tcgen05.mma, operand B", tag, type,
                              mn_major, rows, p->site);
}

/* Columns of a lane that are not a product's D. A product may use them only after a commit. */
static void access_other(Cta *cta, Actor *actor, int lane, int column, int columns) {
    cells_tensor(cta, actor, lane, column, columns);
    memset(&cta->tmem_facts->accumulator[lane / 16][column], 0, (size_t)columns * sizeof(uint32_t));
}

/* Scales: these columns of all lanes. */
static void check_scales(const TmemProduct *p, Cta *cta, uint32_t taddr, int rows) {
    const int column = tmem_column(taddr), columns = tcgen05_scale_columns(rows);
    const char *what = access_name[ACCESS_TCGEN05_SCALES];
    Actor actor = actor_tcgen05(p->thread, ACCESS_TCGEN05_SCALES, p->site);
    MISUSE_IF(tmem_lane(taddr) != 0, RULE_TMEM_ADDRESS, p->site, 1, "%s from lane %d on: accepted is 0", what,
              tmem_lane(taddr));
    check_columns(cta, what, p->site, column, columns);
    for (int i = 0; i < columns; i++) {
        const int word = cta->tmem_facts->word[column + i];
        MISUSE_IF(word != 0 && word != 1 + i % 4, RULE_PROVENANCE, p->site, 0,
                  "tcgen05.mma takes the scales of rows %d to %d from column %d, to which tcgen05.cp has copied those "
                  "of rows %d to %d of a block of 128",
                  i * 32, i * 32 + 31, column + i, (word - 1) * 32, word * 32 - 1);
    }
    for (int lane = 0; lane < TMEM_LANES; lane++) {
        access_other(cta, &actor, lane, column, columns);
    }
    order_settle();
}

ON(tmem, TMEM_COPY) {
    Tag tag[2 * TCGEN05_COPY_ROWS];
    const TmemCopy *copy = e->tmem_copy;
    const int column = tmem_column(copy->to);
    Actor from = actor_tcgen05(copy->thread, ACCESS_TCGEN05_CP_FROM, copy->site),
          to = actor_tcgen05(copy->thread, ACCESS_TCGEN05_CP, copy->site);
    MISUSE_IF(tmem_lane(copy->to) != 0, RULE_TMEM_ADDRESS, copy->site, 1, "tcgen05.cp to lane %d: accepted is 0",
              tmem_lane(copy->to));
    for (int i = 0; i <= copy->pair; i++) {
        Cta *cta = pair_cta(copy->thread, copy->pair, i);
        check_columns(cta, "tcgen05.cp", copy->site, column, TCGEN05_COPY_COLUMNS);
        check_rows(&from, cta, copy->from, MATRIX_BF16, 0, TCGEN05_COPY_ROWS, 2, tag);
        for (int lane = 0; lane < TMEM_LANES; lane++) {
            access_other(cta, &to, lane, column, TCGEN05_COPY_COLUMNS);
        }
        for (int i = 0; i < TCGEN05_COPY_COLUMNS; i++) {
            cta->tmem_facts->word[column + i] = (uint8_t)(1 + i);
        }
    }
    order_settle();
}

/* Does all of D here belong to products of this shape and place already? Only then are those of a thread in order. */
static int pipelines(const TmemProduct *p, const Cta *cta) {
    const Tcgen05Shape *s = &p->shape;
    const uint32_t id =
        (uint32_t)s->n | (uint32_t)s->m << 9 | (uint32_t)tmem_column(p->d) << 18 | (uint32_t)tmem_lane(p->d) / 16 << 27;
    const int first = tmem_column(p->d);
    int same = 1;
    for (int piece = 0; piece < tcgen05_pieces(s); piece += 16) {
        uint32_t *accumulator = cta->tmem_facts->accumulator[(tmem_lane(p->d) + tcgen05_lane(s, piece)) / 16];
        for (int column = first; column < first + tcgen05_piece_columns(s); column++) {
            same &= accumulator[column] == id;
            accumulator[column] = id;
        }
    }
    return same;
}

ON(tmem, TMEM_PRODUCT) {
    const TmemProduct *p = e->tmem_product;
    const Tcgen05Shape *s = &p->shape;
    if (s->unknown != 0 || !tcgen05_has_shape(s)) {
        static const char *const has[] = {"f16, f16 or bf16 without a mixture, D in fp32",
                                          "mxf8f6f4, e4m3 and e5m2, K-major, scales of ue8m0",
                                          "mxf4nvf4 (4X), e2m1, K-major, scales of ue4m3 or ue8m0 from byte 0 on"};
        report_misuse(RULE_TCGEN05_DESCRIPTOR, p->site, 1,
                      "tcgen05.mma with an instruction descriptor of M = %d, N = %d, and bits 0x%x that are not "
                      "accepted: the model has kind %s; M is %s, up to 256",
                      s->m, s->n, s->unknown, has[s->kind],
                      tcgen05_has_scales(s->kind) ? (s->pair ? "256 with N by 16" : "128 with N by 16")
                      : s->pair                   ? "128 or 256 with N by 16"
                                                  : "64 with N by 8, or 128 with N by 16");
    }
    MISUSE_IF(tmem_lane(p->d) != 0 && !(s->m == 64 && tmem_lane(p->d) == 16), RULE_TMEM_ADDRESS, p->site, 1,
              "tcgen05.mma with D from lane %d on: accepted is 0, or 16 for M = 64", tmem_lane(p->d));
    role_multiplies(t->warp);
    t->cta->results->unknown = 1; /* whose rows and columns are in tensor memory nobody follows */
    Actor d = actor_tcgen05(t, p->accumulate ? ACCESS_TCGEN05_ADD : ACCESS_TCGEN05_D, p->site);
    Tag first = {TENSOR_UNKNOWN, 0, 0, 0};
    for (int i = 0; i <= s->pair; i++) {
        Cta *cta = pair_cta(t, s->pair, i);
        check_columns(cta, "tcgen05.mma", p->site, tmem_column(p->d), tcgen05_piece_columns(s));
        Tag part[] = {check_operand(p, cta, ACCESS_TCGEN05_B), check_operand(p, cta, ACCESS_TCGEN05_A)};
        if (tcgen05_has_scales(s->kind)) {
            check_scales(p, cta, p->a_scales, tcgen05_rows(s));
            check_scales(p, cta, p->b_scales, s->n);
        }
        for (int n = 0; n < 2; n++) {
            first = *tag_matrix(first) == '\0' ? part[n] : first;
            MISUSE_IF(*tag_matrix(part[n]) != '\0' && part[n].column != first.column, RULE_PROVENANCE, p->site, 0,
                      "tcgen05.mma of operands from k = %d on and from k = %d on", first.column, part[n].column);
        }
        d.passed.epoch = pipelines(p, cta) ? d.access.epoch : 0;
        d.passed.component = d.access.component;
        for (int piece = 0; piece < tcgen05_pieces(s); piece++) {
            cells_tensor(cta, &d, tmem_lane(p->d) + tcgen05_lane(s, piece), tmem_column(p->d),
                         tcgen05_piece_columns(s));
        }
    }
    order_settle();
}
