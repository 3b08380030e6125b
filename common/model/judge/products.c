/* products.c - the rules of ldmatrix, stmatrix, mma.sync and wgmma: operands, registers, groups. */
#include "../core/schedule.h"
#include "../model.h"
#include "bug_report.h"
#include "results.h"
#include "cells.h"

/* Registers of lane 0 that were written. */
typedef struct {
    uintptr_t begin, end;
    Site site;
} RegisterWrite;
enum { WRITES_KEPT = 16 };

/* A fragment that a product reads from registers. */
typedef struct {
    uintptr_t a[WARP_SIZE]; /* by lane */
    uint64_t number;        /* 1 + the product's */
    Site site;
} FragmentRead;

/* Of a warp. */
typedef struct {
    int touched;       /* accumulators were accessed since the last wgmma.fence, or there was none */
    Site touched_site; /* where; 0: there was no fence yet */
    uint8_t unsettled; /* mask of tiles of accumulators: a product, and no registers_settled() since */
    /* What was written since then, until somebody knows what registers a wgmma uses. */
    RegisterWrite write[WRITES_KEPT];
    int writes, next_write;
    /* Fragments of products that no wait of this warp covers. */
    FragmentRead *fragment;
    int fragments, fragment_capacity;
    /* What it has executed, to be the same in the four warps. */
    uint32_t fences, waits, order;
    Site fence_site, wait_site; /* of the last ones */
    Site site;                  /* of the last wgmma */
} WarpFacts;

/* Of a CTA. */
typedef struct CtaProducts {
    WarpFacts warp[WARP_LIMIT];
} CtaProducts;

enum { LDMATRIX_BYTES = 16 }; /* of registers, a lane */

ON(products, CTA_BEGIN) {
    cta->products = cta_alloc(cta, sizeof *cta->products);
    for (int i = 0; i < cta->warps; i++) {
        cta->products->warp[i].touched = 1;
    }
}

ON(products, CTA_END) {
    for (int i = 0; i < cta->warpgroups; i++) {
        const WarpgroupProducts *p = cta->warpgroup[i].products;
        for (uint64_t number = p->first; number < p->issued; number++) {
            clock_unref(product_at(p, number)->base);
        }
    }
}

ON(products, WGMMA_DONE) { clock_unref(e->product->base); }

/* ---- registers of wgmma ------------------------------------------------------------------------------------------ */

static WarpFacts *facts(const Warp *w) { return &w->cta->products->warp[w->id]; }

static int overlap(uintptr_t p, uint32_t size, uintptr_t begin, uintptr_t bytes) {
    return p < begin + bytes && begin < p + size;
}

static void report_in_flight(Thread *t, Site site, const char *what, Site before, const char *before_what) {
    REPORT(RULE_WGMMA_IN_FLIGHT, report_place("now", t, site, what), report_place("before", t, before, before_what),
           report_line("missing",
                       "a wgmma_wait_group that covers it: %llu groups are committed, this warp has waited for %llu",
                       t->warp->products->groups, t->warp->products->waited));
}

/* Registers that a product in flight reads A from are written. */
static void check_fragments(Thread *t, const void *p, uint32_t size, const char *what, Site site) {
    const WarpFacts *f = facts(t->warp);
    for (int i = 0; i < f->fragments; i++) {
        if (overlap((uintptr_t)p, size, f->fragment[i].a[t->lane], FRAGMENT_BYTES)) {
            report_in_flight(t, site, what, f->fragment[i].site, "wgmma that reads A from it");
        }
    }
}

static void report_unsettled(Thread *t, Site site, Site product) {
    REPORT(RULE_WGMMA_UNSETTLED, report_place("now", t, site, "access to an accumulator"),
           report_place("before", t, product, "wgmma on it"),
           report_line("missing",
                       "registers_settled() between wgmma_wait_group and this: for the compiler the accumulators "
                       "have their values since the wgmma was issued"));
}

ON(products, REGISTERS_SETTLED) {
    w = t->warp;
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        const AccumulatorTile *tile = &w->warpgroup->products->tile[i];
        const float *first = tile->d[t->id % WARPGROUP_SIZE];
        if (first >= e->accumulators && first + tile->n / 2 <= e->accumulators + e->count &&
            !(tile->taken >> w->id % 4 & 1)) {
            facts(w)->unsettled &= (uint8_t) ~(1u << i);
            provenance_accumulators(w->warpgroup, i, 0); /* to be read: clang does not show every read */
        }
    }
}

ON(products, ACCUMULATOR_ACCESS) {
    w = t->warp;
    /* Tiles are taken from the first on. */
    for (int i = 0; i < ACCUMULATOR_TILES && w->warpgroup->products->tile[i].n != 0; i++) {
        const AccumulatorTile *tile = &w->warpgroup->products->tile[i];
        uintptr_t d = (uintptr_t)tile->d[t->id % WARPGROUP_SIZE];
        if (d == 0 || !overlap((uintptr_t)e->p, e->size, d, (uintptr_t)tile->n / 2 * sizeof(float))) {
            continue;
        }
        provenance_accumulators(w->warpgroup, i, e->write);
        facts(w)->touched = 1;
        facts(w)->touched_site = e->site;
        if (tile->taken >> w->id % 4 & 1) {
            report_in_flight(t, e->site, e->write ? "store to an accumulator" : "load of an accumulator", tile->site,
                             "wgmma on it");
        } else if (facts(w)->unsettled >> i & 1) {
            report_unsettled(t, e->site, tile->site);
        }
    }
    if (e->write) {
        check_fragments(t, e->p, e->size, "store to a fragment of A", e->site);
    }
}

static void written_to(WarpFacts *f, const void *p, uint32_t size, Site site) {
    uintptr_t begin = (uintptr_t)p;
    if (f->touched) {
        return;
    }
    for (int i = 0; i < f->writes; i++) {
        if (f->write[i].end == begin) {
            f->write[i].end += size;
            return;
        }
        if (f->write[i].begin <= begin && begin + size <= f->write[i].end) {
            return;
        }
    }
    f->write[f->next_write] = (RegisterWrite){begin, begin + size, site};
    f->next_write = (f->next_write + 1) % WRITES_KEPT;
    f->writes += f->writes < WRITES_KEPT;
}

ON(products, STACK_STORE) { written_to(facts(t->warp), e->p, e->size, e->site); }

/* ---- ldmatrix, stmatrix, mma.sync -------------------------------------------------------------------------------- */

/* Lane's address as an offset in shared memory. */
static uint32_t row_offset(const Event *e, int lane) {
    const char *what = access_name[e->access];
    uint32_t offset = shared_bounds(&e->warp->thread[lane], e->rows[lane], e->size, what, e->site);
    MISUSE_IF(offset % e->size != 0, RULE_ALIGNMENT, e->site, 1,
              "%s: lane %d gives byte %u of shared memory, not a multiple of %u", what, lane, offset, e->size);
    return offset;
}

/* A warp has loaded four 8x8 matrices. */
static void fragments_loaded(const Event *e, const Tag tag[WARP_SIZE]) {
    Warp *w = e->warp;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        w->cta->results->unknown |= tag[lane].tensor == TENSOR_UNKNOWN;
    }
    provenance_ldmatrix(w, e->registers[0], tag);
    for (int lane = 0; lane < WARP_SIZE && facts(w)->fragments > 0; lane++) {
        check_fragments(&w->thread[lane], e->registers[lane], LDMATRIX_BYTES, "ldmatrix into a fragment of A", e->site);
    }
    written_to(facts(w), e->registers[0], LDMATRIX_BYTES, e->site);
}

ON(products, WARP_ACCESS) {
    Tag tag[WARP_SIZE];
    for (uint32_t lanes = w->collective->now.arrived; lanes != 0; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        uint32_t offset = row_offset(e, lane);
        Actor actor = actor_plain(&w->thread[lane], e->access, e->site);
        cells_shared(w->cta, &actor, offset, e->size);
        order_settle();
        if (e->access == ACCESS_STMATRIX) {
            *shared_tag(w->cta, offset) = results_staged(w->cta, lane / 8, lane % 8);
        } else {
            tag[lane] = provenance_of(w->cta, offset);
        }
    }
    if (e->access == ACCESS_LDMATRIX) {
        fragments_loaded(e, tag);
    }
}

ON(products, MMA) {
    role_multiplies(w);
    MISUSE_IF(model_bits(e->d[0][0]) == UNSET_BITS || e->a[0][0] == UNSET_BITS || e->b[0][0] == UNSET_BITS,
              RULE_REGISTERS_UNINIT, e->site, 0, "mma.sync on registers that were never set");
    Tag first_a, first_b;
    if (provenance_mma(w, e->a[0], e->b[0], e->site, &first_a, &first_b)) {
        results_fragment(w->cta, first_a, first_b);
        sums_product(first_a, first_b, 16, 8, e->site);
    }
}

/* ---- wgmma: fences ----------------------------------------------------------------------------------------------- */

static void forget_writes(WarpFacts *f) { f->touched = f->writes = f->next_write = 0; }

static void executed(WarpFacts *f, uint32_t what) { f->order = f->order * 31 + what; }

ON(products, WGMMA_FENCE) {
    WarpFacts *f = facts(w);
    forget_writes(f);
    f->fences++;
    f->fence_site = e->site;
    executed(f, 1);
}

/* Where it wrote to these registers since the fence; 0: nowhere. */
static Site written(const WarpFacts *f, const void *registers, uint32_t bytes) {
    for (int i = 0; i < f->writes; i++) {
        if (overlap((uintptr_t)registers, bytes, f->write[i].begin, f->write[i].end - f->write[i].begin)) {
            return f->write[i].site;
        }
    }
    return 0;
}

static void check_fence(const Warp *w, const Product *wanted) {
    WarpFacts *f = facts(w);
    Site before = f->touched_site;
    if (!f->touched) {
        before = written(f, w->collective->pointer[0][0], (uint32_t)wanted->n / 2 * sizeof(float));
        if (before == 0 && wanted->rs) {
            before = written(f, w->collective->pointer[1][0], FRAGMENT_BYTES);
        }
        if (before == 0) {
            return;
        }
    }
    if (report_begin(RULE_WGMMA_FENCE)) {
        report_place("now", &w->thread[0], wanted->site, "wgmma");
        if (before != 0) {
            report_place("before", NULL, before, "access to its registers");
        }
        report_line("missing",
                    before != 0 ? "wgmma_fence() between the two" : "wgmma_fence() before the warp's first wgmma");
        report_end(0);
    }
    forget_writes(f);
}

ON(products, WGMMA_UNSET) {
    report_misuse(RULE_REGISTERS_UNINIT, e->site, 0,
                  "wgmma adds to accumulators that were never set: the first product of a tile replaces them "
                  "(accumulate 0)");
}

/* ---- wgmma: the warps of a warpgroup ----------------------------------------------------------------------------- */

static void report_different(const Warp *w, const Product *product, Site site, const char *what) {
    REPORT_LAST(
        RULE_WGMMA_OPERANDS, report_place("now", &w->thread[0], site, "wgmma"),
        report_place("but", NULL, product->site, "the same product in another warp of the warpgroup"),
        report_line("rule",
                    "the four warps of a warpgroup issue the same wgmmas in the same order; here they differ in %s",
                    what));
}

static void report_left(const Warp *w, const Warp *left, Site site) {
    REPORT_LAST(
        RULE_CONVERGENCE, report_place("now", &w->thread[0], site, "wgmma"),
        report_line("absent",
                    "warp %d of the same warpgroup has returned from the kernel and issued %llu products; the others "
                    "issue more",
                    left->id, left->products->issued),
        report_line("rule", "the four warps of a warpgroup issue the same wgmmas in the same order"));
}

static void check_lanes(const Warp *w, const Product *wanted) {
    for (int lane = 0; lane < w->lanes; lane++) {
        const WarpCollective *m = w->collective;
        MISUSE_IF(m->word[0][lane] != wanted->a || m->word[1][lane] != wanted->b ||
                      m->number[lane] != wanted->accumulate,
                  RULE_WGMMA_OPERANDS, wanted->site, 1,
                  "wgmma whose descriptors or accumulate predicate differ between lanes %d and %d of a warp", lane,
                  current_thread()->lane);
    }
}

/* A whole warp asks for a product that it may ask for. */
static void check_warp(const Warp *w, const Product *wanted) {
    const Warpgroup *g = w->warpgroup;
    Site site = wanted->site;
    check_lanes(w, wanted);
    MISUSE_IF(g->id * 4 + 4 > w->cta->warps || w->lanes < WARP_SIZE, RULE_CONVERGENCE, site, 1,
              "wgmma in a warpgroup that has not four whole warps");
    MISUSE_IF(wanted->n < 8 || wanted->n > WGMMA_MAX_N || wanted->n % 8 != 0, RULE_WGMMA_OPERANDS, site, 1,
              "wgmma with n = %d: accepted are multiples of 8 in 8 .. 256", wanted->n);
    for (int i = g->id * 4; i < g->id * 4 + 4; i++) {
        const Warp *other = &w->cta->warp[i];
        if (other->exited != 0 && other->products->issued <= w->products->issued) {
            report_left(w, other, site);
        }
    }
    check_fence(w, wanted);
}

static void check_same(const Warp *w, const Product *product, const Product *wanted) {
    if (product->n != wanted->n || product->type != wanted->type || product->rs != wanted->rs ||
        product->accumulate != wanted->accumulate || product->a_major != wanted->a_major ||
        product->b_major != wanted->b_major) {
        report_different(w, product, wanted->site, "shape, type, majors or the accumulate predicate");
    } else if (product->a != wanted->a || product->b != wanted->b) {
        report_different(w, product, wanted->site, "descriptors");
    } else if (product->group != w->products->groups) {
        report_different(w, product, wanted->site, "the number of groups committed before");
    }
}

/* Two warps of a warpgroup have not executed the same fences, commits and waits: before the wgmma at `site`, or, with
 * 0, before they returned. */
static void report_order(const Warp *w, const WarpFacts *mine, const Warp *other, const WarpFacts *theirs, Site site) {
    if (!report_begin(RULE_CONVERGENCE)) {
        return;
    }
    int fences = mine->fences != theirs->fences && mine->waits == theirs->waits;
    int more = fences ? mine->fences > theirs->fences : mine->waits >= theirs->waits;
    const Warp *who = more ? w : other;
    report_place("now", &who->thread[0], fences ? facts(who)->fence_site : facts(who)->wait_site,
                 fences ? "wgmma_fence" : "wgmma_wait_group");
    if (site != 0) {
        report_place("before", &w->thread[0], site, "wgmma");
    }
    report_line("count", "warp %d has reached %s with %u fences and %u waits, warp %d with %u and %u", w->id,
                site != 0 ? "this wgmma" : "its end", mine->fences, mine->waits, other->id, theirs->fences,
                theirs->waits);
    report_line("rule",
                "the four warps of a warpgroup execute the same wgmma_fence, commit_group and wait_group, in the "
                "same order");
    report_end(0);
}

/* The first warp that issues a product leaves there what it had executed; the others compare. */
static void check_order(const Warp *w, Product *product, int first) {
    const WarpFacts *f = facts(w);
    if (first) {
        product->before.fences = f->fences;
        product->before.waits = f->waits;
        product->before.order = f->order;
    } else if (product->before.order != f->order) {
        WarpFacts theirs = {.fences = product->before.fences, .waits = product->before.waits};
        report_order(w, f, &w->cta->warp[w->id / 4 * 4 + __builtin_ctz(product->issued_by)], &theirs, product->site);
    }
}

/* ---- wgmma: operands --------------------------------------------------------------------------------------------- */

/* The warp may read the operand now. The first warp to issue records the read and looks at the tags. */
static Tag check_operand(Warp *w, const Product *product, AccessKind kind, int first, int *beyond_base) {
    static Tag tag[2 * WGMMA_MAX_N];
    const int is_a = kind == ACCESS_WGMMA_A, rows = is_a ? WGMMA_M : product->n,
              mn_major = is_a ? product->a_major : product->b_major;
    const uint64_t bits = is_a ? product->a : product->b;
    const WgmmaDescriptor d = wgmma_descriptor_decode(bits);
    Thread *t = &w->thread[0];
    Tag origin = {TENSOR_UNKNOWN, 0, 0, 0};
    Actor actor = actor_async(t, kind, products_component(w->warpgroup), (uint32_t)product->group + 1, product->site);
    actor.warp = w;
    MISUSE_IF(d.unknown != 0, RULE_WGMMA_DESCRIPTOR, product->site, 1,
              "%s: the descriptor is 0x%016llx, and bits 0x%016llx of it belong to no field", actor.what,
              (unsigned long long)bits, (unsigned long long)d.unknown);
    if (first) {
        w->cta->results->unknown |=
            cells_operand(w->cta, &actor, RULE_WGMMA_DESCRIPTOR, &d, product->type, mn_major, rows, 1, tag);
    }
    for (int i = 0; i < 2 * rows && !first; i++) {
        cells_look(
            w->cta, &actor,
            wgmma_element_address(&d, mn_major, wgmma_chunk_row(mn_major, i), wgmma_chunk_k(MATRIX_BF16, mn_major, i)) -
                SHARED_RESERVED);
    }
    order_settle();
    *beyond_base |= actor.beyond_base;
    if (first) {
        origin = provenance_operand(t, is_a ? "wgmma, operand A" : "wgmma, operand B", tag, product->type, mn_major,
                                    rows, product->site);
    }
    return origin;
}

static void remember_fragment(const Warp *w, const Product *product) {
    WarpFacts *f = facts(w);
    f->fragment = cta_grow(w->cta, f->fragment, f->fragments + 1, &f->fragment_capacity, sizeof *f->fragment);
    FragmentRead *read = &f->fragment[f->fragments++];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        read->a[lane] = (uintptr_t)w->collective->pointer[1][lane];
    }
    read->number = product->number + 1;
    read->site = product->site;
}

ON(products, WGMMA_PART) {
    Product *product = e->product;
    const Product *wanted = e->wanted;
    int first = e->first;
    t = &w->thread[0];
    check_warp(w, wanted);
    MISUSE_IF(product->tile == NULL, RULE_WGMMA_OPERANDS, wanted->site, 1,
              "more than %d tiles of accumulators in flight in one warpgroup", ACCUMULATOR_TILES);
    if (!first) {
        check_same(w, product, wanted);
    }
    check_order(w, product, first);
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        const float *known = product->tile->d[w->thread[lane].id % WARPGROUP_SIZE];
        if (known != NULL && known != w->collective->pointer[0][lane]) {
            report_different(w, product, wanted->site, "the accumulators");
        }
    }
    /* Warps that know the same as the first one did need not look at every chunk again. */
    if (first || product->base == NULL || product->base != t->clock->base) {
        int beyond_base = 0;
        Tag a = {TENSOR_UNKNOWN, 0, 0, 0};
        if (!product->rs) {
            a = check_operand(w, product, ACCESS_WGMMA_A, first, &beyond_base);
        } else {
            a = first ? provenance_fragment(w, product->type, w->collective->pointer[1][0], wanted->site) : a;
            w->cta->results->unknown |= first && a.tensor == TENSOR_UNKNOWN;
        }
        Tag b = check_operand(w, product, ACCESS_WGMMA_B, first, &beyond_base);
        if (first) {
            if (provenance_product(t, product, a, b)) {
                results_tile(w->warpgroup, a, b, WGMMA_M, product->n);
            }
            sums_product(a, b, WGMMA_M, product->n, product->site);
            product->base = beyond_base ? NULL : clock_ref(t->clock->base);
        }
    }
    facts(w)->site = wanted->site;
    facts(w)->unsettled |= (uint8_t)(1u << (product->tile - w->warpgroup->products->tile));
    if (wanted->rs) {
        remember_fragment(w, product);
    }
    role_multiplies(w);
}

/* ---- wgmma: groups ----------------------------------------------------------------------------------------------- */

ON(products, WGMMA_COMMIT) { executed(facts(w), 2); }

ON(products, WGMMA_WAIT) {
    const WarpProducts *p = w->products;
    report_negative(RULE_WGMMA_OPERANDS, e->site, "wgmma_wait_group", e->newest);
    facts(w)->waits++;
    facts(w)->wait_site = e->site;
    executed(facts(w), 3 + (uint32_t)e->newest);
    if (e->newest == 0 && p->issued > p->committed) {
        REPORT(RULE_WGMMA_COMMIT, report_place("now", &w->thread[0], e->site, "wgmma_wait_group(0)"),
               report_place("before", NULL, facts(w)->site, "wgmma that is in no committed group"),
               report_line("missing", "wgmma_commit_group(): %llu products are not covered by the wait",
                           p->issued - p->committed));
    }
}

ON(products, WGMMA_WAITED) {
    WarpFacts *f = facts(w);
    uint64_t end = w->warpgroup->products->group_end[(e->done - 1) % GROUP_HISTORY];
    int left = 0;
    for (int i = 0; i < f->fragments; i++) {
        if (f->fragment[i].number > end) {
            f->fragment[left++] = f->fragment[i];
        }
    }
    f->fragments = left;
}

ON(products, THREAD_RETURNED) {
    w = t->warp;
    if (t->lane != 0) {
        return;
    }
    for (int i = w->id / 4 * 4; i < w->id / 4 * 4 + 4 && i < w->cta->warps; i++) {
        const Warp *other = &w->cta->warp[i];
        if (other->products->issued > w->products->issued) {
            report_left(other, w, facts(other)->site);
        }
        if ((other->exited & 1) && facts(other)->order != facts(w)->order) {
            report_order(w, facts(w), other, facts(other), 0);
        }
    }
    if (w->products->issued == 0) {
        return;
    }
    uint64_t waited = w->products->waited;
    uint64_t covered = waited > 0 ? w->warpgroup->products->group_end[(waited - 1) % GROUP_HISTORY] : 0;
    MISUSE_IF(w->products->issued > covered, RULE_EXIT_IN_FLIGHT, facts(w)->site, 0,
              "wgmma: the warp has returned without a wgmma_wait_group that covers it");
}
