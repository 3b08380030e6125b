/* products.c - see products.h. */
#include "products.h"

#include "../core/memory.h"
#include "../core/schedule.h"
#include "../model.h"
#include "bug_report.h"
#include "shadow.h"

void products_cta_begin(Cta *cta) {
    cta->products = cta_alloc(cta, sizeof *cta->products);
    for (int i = 0; i < cta->warps; i++) {
        cta->products->warp[i].touched = 1;
    }
}

void products_cta_end(Cta *cta) {
    for (int i = 0; i < cta->warpgroups; i++) {
        const WarpgroupProducts *p = &cta->warpgroup[i].products;
        for (uint64_t number = p->first; number < p->issued; number++) {
            clock_unref(product_at(p, number)->base);
        }
    }
}

void products_done(Product *product) { clock_unref(product->base); }

/* ---- ldmatrix, stmatrix, mma.sync -------------------------------------------------------------------------------- */

/* Lane's address as an offset in shared memory. */
static uint32_t row_offset(const Warp *w, int lane, const void *row, const char *what, Site site) {
    uint32_t offset = shadow_bounds(&w->thread[lane], row, CHUNK_BYTES, what, site);
    if (offset % CHUNK_BYTES != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s: lane %d gives byte %u of shared memory, not a multiple of 16", what,
                      lane, offset);
    }
    return offset;
}

void products_ldmatrix(Warp *w, uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE], int trans, Site site) {
    Tag tag[WARP_SIZE];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        uint32_t offset = row_offset(w, lane, row[lane], "ldmatrix", site);
        Actor actor = actor_plain(&w->thread[lane], ACCESS_LDMATRIX, site);
        shadow_read(w->cta, &actor, offset, CHUNK_BYTES);
        tag[lane] = *shadow_tag(w->cta, offset);
    }
    provenance_ldmatrix(w, r[0], trans, tag);
    w->cta->products->warp[w->id].loaded = 1;
}

void products_stmatrix(Warp *w, void *const row[WARP_SIZE], Site site) {
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        uint32_t offset = row_offset(w, lane, row[lane], "stmatrix", site);
        Actor actor = actor_plain(&w->thread[lane], ACCESS_STMATRIX, site);
        shadow_write(w->cta, &actor, offset, CHUNK_BYTES);
    }
}

void products_mma(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                  const uint32_t *const b[WARP_SIZE], Site site) {
    role_multiplies(w);
    if (model_bits(d[0][0]) == UNSET_BITS || a[0][0] == UNSET_BITS || b[0][0] == UNSET_BITS) {
        report_misuse(RULE_REGISTERS_UNINIT, site, 0, "mma.sync on registers that were never set");
    }
    provenance_mma(w, type, a[0], b[0], site);
}

/* ---- wgmma: registers -------------------------------------------------------------------------------------------- */

void products_accessed(Thread *t, const void *p, uint32_t size, int write, Site site) {
    const Warp *w = t->warp;
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        const AccumulatorTile *tile = &w->warpgroup->products.tile[i];
        uintptr_t d = (uintptr_t)tile->d[t->id % WARPGROUP_SIZE];
        if (d == 0 || (uintptr_t)p + size <= d || (uintptr_t)p >= d + (uintptr_t)tile->n / 2 * sizeof(float)) {
            continue;
        }
        t->cta->products->warp[w->id].touched = 1;
        t->cta->products->warp[w->id].touched_site = site;
        if ((tile->taken >> w->id % 4 & 1) && report_begin(RULE_WGMMA_IN_FLIGHT)) {
            report_place("now", t, site, write ? "store to an accumulator" : "load of an accumulator");
            report_place("before", t, tile->site, "wgmma on it");
            report_line("missing",
                        "a wgmma_wait_group that covers it: %llu groups are committed, this warp has waited for %llu",
                        (unsigned long long)w->products.groups, (unsigned long long)w->products.waited);
            report_end(0);
        }
    }
}

void products_fence(Warp *w) { w->cta->products->warp[w->id].touched = w->cta->products->warp[w->id].loaded = 0; }

static void check_fence(const Warp *w, int rs, Site site) {
    Site before = w->cta->products->warp[w->id].touched_site;
    if (!w->cta->products->warp[w->id].touched && !(rs && w->cta->products->warp[w->id].loaded)) {
        return;
    }
    if (report_begin(RULE_WGMMA_FENCE)) {
        report_place("now", &w->thread[0], site, "wgmma");
        if (before != 0) {
            report_place("before", NULL, before, "access to its registers");
        }
        report_line("missing",
                    before != 0 ? "wgmma_fence() between the two" : "wgmma_fence() before the warp's first wgmma");
        report_end(0);
    }
    w->cta->products->warp[w->id].touched = w->cta->products->warp[w->id].loaded = 0;
}

void products_unset(Site site) {
    report_misuse(RULE_REGISTERS_UNINIT, site, 0,
                  "wgmma adds to accumulators that were never set: the first product of a tile replaces them "
                  "(accumulate 0)");
}

/* ---- wgmma: the warps of a warpgroup ----------------------------------------------------------------------------- */

static void report_different(const Warp *w, const Product *product, Site site, const char *what) {
    report_begin_last(RULE_WGMMA_OPERANDS);
    report_place("now", &w->thread[0], site, "wgmma");
    report_place("but", NULL, product->site, "the same product in another warp of the warpgroup");
    report_line("rule", "the four warps of a warpgroup issue the same wgmmas in the same order; here they differ in %s",
                what);
    report_end(1);
}

static void report_left(const Warp *w, const Warp *left, Site site) {
    report_begin_last(RULE_CONVERGENCE);
    report_place("now", &w->thread[0], site, "wgmma");
    report_line("absent",
                "warp %d of the same warpgroup has returned from the kernel and issued %llu products; the others "
                "issue more",
                left->id, (unsigned long long)left->products.issued);
    report_line("rule", "the four warps of a warpgroup issue the same wgmmas in the same order");
    report_end(1);
}

static void check_lanes(const Warp *w, const Product *wanted) {
    for (int lane = 0; lane < w->lanes; lane++) {
        const LaneOperands *other = &w->meeting.operands[lane];
        if (other->u[0] != wanted->a || other->u[1] != wanted->b || other->i[0] != wanted->accumulate) {
            report_misuse(RULE_WGMMA_OPERANDS, wanted->site, 1,
                          "wgmma whose descriptors or accumulate predicate differ between lanes %d and %d of a warp",
                          lane, current_thread()->lane);
        }
    }
}

void products_warp(Warp *w, const Product *wanted) {
    const Warpgroup *g = w->warpgroup;
    Site site = wanted->site;
    check_lanes(w, wanted);
    if (g->id * 4 + 4 > w->cta->warps || w->lanes < WARP_SIZE) {
        report_misuse(RULE_CONVERGENCE, site, 1, "wgmma in a warpgroup that has not four whole warps");
    }
    if (wanted->n < 8 || wanted->n > WGMMA_MAX_N || wanted->n % 8 != 0) {
        report_misuse(RULE_WGMMA_OPERANDS, site, 1, "wgmma with n = %d: accepted are multiples of 8 in 8 .. 256",
                      wanted->n);
    }
    for (int i = g->id * 4; i < g->id * 4 + 4; i++) {
        const Warp *other = &w->cta->warp[i];
        if (other->exited != 0 && other->products.issued <= w->products.issued) {
            report_left(w, other, site);
        }
    }
    check_fence(w, wanted->rs, site);
}

static void check_same(const Warp *w, const Product *product, const Product *wanted) {
    if (product->n != wanted->n || product->type != wanted->type || product->rs != wanted->rs ||
        product->accumulate != wanted->accumulate || product->a_major != wanted->a_major ||
        product->b_major != wanted->b_major) {
        report_different(w, product, wanted->site, "shape, type, majors or the accumulate predicate");
    } else if (product->a != wanted->a || product->b != wanted->b) {
        report_different(w, product, wanted->site, "descriptors");
    } else if (product->group != w->products.groups) {
        report_different(w, product, wanted->site, "the number of groups committed before");
    }
}

/* ---- wgmma: operands --------------------------------------------------------------------------------------------- */

static void check_descriptor(const Thread *t, MatrixType type, uint64_t bits, int mn_major, int rows,
                             const char *operand, Site site, uint32_t *address) {
    WgmmaDescriptor descriptor = wgmma_descriptor_decode(bits);
    if (descriptor.unknown != 0) {
        report_misuse(RULE_WGMMA_DESCRIPTOR, site, 1,
                      "wgmma: the descriptor of %s is 0x%016llx, and bits 0x%016llx of it "
                      "belong to no field",
                      operand, (unsigned long long)bits, (unsigned long long)descriptor.unknown);
    }
    int chunks = wgmma_operand_addresses(&descriptor, mn_major, rows, address);
    for (int i = 0; i < chunks; i++) {
        if (address[i] < SHARED_RESERVED || address[i] + CHUNK_BYTES > SHARED_RESERVED + t->cta->shared_bytes) {
            report_misuse(
                RULE_WGMMA_DESCRIPTOR, site, 1,
                "wgmma: by its descriptor (start %u, leading %u, stride %u, swizzle %d), row %d, k %d of %s lies "
                "at byte %lld of the CTA's %u bytes of shared memory",
                descriptor.start - SHARED_RESERVED, descriptor.leading, descriptor.stride, descriptor.swizzle_bytes,
                wgmma_chunk_row(mn_major, i), wgmma_chunk_k_of(type, mn_major, i), operand,
                (long long)address[i] - SHARED_RESERVED, t->cta->shared_bytes);
        }
    }
}

/* The warp may read the operand now. The first warp to issue records the read and looks at the tags. */
static Tag check_operand(Warp *w, const Product *product, AccessKind kind, int first, int *beyond_base) {
    static uint32_t address[2 * WGMMA_MAX_N];
    static Tag tag[2 * WGMMA_MAX_N];
    int is_a = kind == ACCESS_WGMMA_A;
    int rows = is_a ? WGMMA_M : product->n, mn_major = is_a ? product->a_major : product->b_major;
    Thread *t = &w->thread[0];
    Actor actor = {.thread = t,
                   .warp = w,
                   .kind = kind,
                   .component = products_component(w->warpgroup),
                   .epoch = (uint32_t)product->group + 1,
                   .site = product->site};
    check_descriptor(t, product->type, is_a ? product->a : product->b, mn_major, rows, is_a ? "A" : "B", product->site,
                     address);
    for (int i = 0; i < 2 * rows; i++) {
        uint32_t offset = address[i] - SHARED_RESERVED;
        if (first) {
            shadow_read(w->cta, &actor, offset, CHUNK_BYTES);
            tag[i] = *shadow_tag(w->cta, offset);
        } else {
            shadow_check_read(w->cta, &actor, offset);
        }
    }
    *beyond_base |= actor.beyond_base;
    if (!first) {
        return (Tag){TENSOR_UNKNOWN, 0, 0, 0};
    }
    return provenance_operand(t, is_a ? "wgmma, operand A" : "wgmma, operand B", tag, product->type, mn_major, rows,
                              product->site);
}

void products_part(Warp *w, Product *product, const Product *wanted, int first) {
    Thread *t = &w->thread[0];
    if (product->tile == NULL) {
        report_misuse(RULE_WGMMA_OPERANDS, wanted->site, 1,
                      "more than %d tiles of accumulators in flight in one warpgroup", ACCUMULATOR_TILES);
    }
    if (!first) {
        check_same(w, product, wanted);
    }
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        const float *known = product->tile->d[w->thread[lane].id % WARPGROUP_SIZE];
        if (known != NULL && known != w->meeting.operands[lane].p[0]) {
            report_different(w, product, wanted->site, "the accumulators");
        }
    }
    /* Warps that know the same as the first one did need not look at every chunk again. */
    if (first || product->base == NULL || product->base != t->clock->base) {
        int beyond_base = 0;
        Tag a = {TENSOR_UNKNOWN, 0, 0, 0};
        if (!product->rs) {
            a = check_operand(w, product, ACCESS_WGMMA_A, first, &beyond_base);
        }
        Tag b = check_operand(w, product, ACCESS_WGMMA_B, first, &beyond_base);
        if (first) {
            provenance_product(t, product, a, b);
            product->base = beyond_base ? NULL : clock_ref(t->clock->base);
        }
    }
    w->cta->products->warp[w->id].site = wanted->site;
    role_multiplies(w);
}

/* ---- wgmma: groups ----------------------------------------------------------------------------------------------- */

void products_wait(Warp *w, int newest, Site site) {
    const WarpProducts *p = &w->products;
    if (newest == 0 && p->issued > p->committed && report_begin(RULE_WGMMA_COMMIT)) {
        report_place("now", &w->thread[0], site, "wgmma_wait_group(0)");
        report_place("before", NULL, w->cta->products->warp[w->id].site, "wgmma that is in no committed group");
        report_line("missing", "wgmma_commit_group(): %llu products are not covered by the wait",
                    (unsigned long long)(p->issued - p->committed));
        report_end(0);
    }
}

void products_returned(Thread *t) {
    const Warp *w = t->warp;
    if (t->lane != 0) {
        return;
    }
    for (int i = w->id / 4 * 4; i < w->id / 4 * 4 + 4 && i < w->cta->warps; i++) {
        const Warp *other = &w->cta->warp[i];
        if (other->products.issued > w->products.issued) {
            report_left(other, w, w->cta->products->warp[i].site);
        }
    }
    if (w->products.issued == 0) {
        return;
    }
    uint64_t waited = w->products.waited;
    uint64_t covered = waited > 0 ? w->warpgroup->products.group_end[(waited - 1) % GROUP_HISTORY] : 0;
    if (w->products.issued > covered) {
        report_misuse(RULE_EXIT_IN_FLIGHT, w->cta->products->warp[w->id].site, 0,
                      "wgmma: the warp has returned without a wgmma_wait_group that covers it");
    }
}
