/* wgmma.c - products of a warpgroup: issued by its four warps, executed when the schedule says, waited for by groups.
 *
 * Each warp issues its part when it comes; warps need not meet. A product can execute once all four have issued it, and
 * products execute in order. From its first product until a wait that covers its last one, a tile of accumulators lives
 * here and the registers hold NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../agents.h"
#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "../launch.h"
#include "../data/matrix.h"
#include "../model.h"
#include "../judge/provenance.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../judge/shadow.h"
#include "../tell/steps.h"
#include "wgmma_registers.h"

static Product *product_at(Warpgroup *g, uint64_t number) { return &g->product[number & (g->capacity - 1)]; }

static Product *product_new(Warpgroup *g) {
    if (g->issued - g->first == g->capacity) {
        uint32_t capacity = g->capacity > 0 ? 2 * g->capacity : 32;
        Product *product = model_alloc_zero(capacity * sizeof *product);
        for (uint64_t i = g->first; i < g->issued; i++) {
            product[i & (capacity - 1)] = *product_at(g, i);
        }
        free(g->product);
        g->product = product;
        g->capacity = capacity;
    }
    Product *product = product_at(g, g->issued++);
    memset(product, 0, sizeof *product);
    return product;
}

static void product_free(Product *product) {
    free(product->a_values);
    clock_unref(product->base);
    product->a_values = NULL;
    product->base = NULL;
}

void wgmma_free(Warpgroup *g) {
    for (uint64_t i = g->first; i < g->issued; i++) {
        product_free(product_at(g, i));
    }
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        free(g->tile[i].tile);
    }
    free(g->product);
}

/* ---- accumulators ------------------------------------------------------------------------------------------------ */

/* The thread's number in its warpgroup. */
static int member(const Thread *t) { return t->id % WARPGROUP_SIZE; }

/* Loads and stores on the thread's accumulators are watched. */
static void guard(Thread *t) {
    const Warpgroup *g = t->warp->warpgroup;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        const AccumulatorTile *tile = &g->tile[i];
        uintptr_t d = (uintptr_t)tile->d[member(t)];
        if (d != 0) {
            begin = d < begin ? d : begin;
            end = d + (uintptr_t)tile->n / 2 * sizeof(float) > end ? d + (uintptr_t)tile->n / 2 * sizeof(float) : end;
        }
    }
    t->guarded = begin;
    t->guarded_bytes = end > begin ? end - begin : 0;
}

/* The tile whose registers begin at d in this thread; made if there is none. */
static AccumulatorTile *find_tile(Warpgroup *g, const Thread *t, const float *d, int n, Site site) {
    AccumulatorTile *free_tile = NULL;
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        AccumulatorTile *tile = &g->tile[i];
        if (tile->d[member(t)] == d && tile->n == n) {
            return tile;
        }
        if (tile->taken == 0 && (free_tile == NULL || tile->used < free_tile->used)) {
            free_tile = tile;
        }
    }
    if (free_tile == NULL) {
        report_misuse(RULE_WGMMA_OPERANDS, site, 1, "more than %d tiles of accumulators in flight in one warpgroup",
                      ACCUMULATOR_TILES);
    }
    memset(free_tile->d, 0, sizeof free_tile->d);
    if (free_tile->n != n) {
        free(free_tile->tile);
        free_tile->tile = model_alloc((size_t)WGMMA_M * (size_t)n * sizeof(float));
        free_tile->n = n;
    }
    return free_tile;
}

/* The warp's registers move into the tile. Their values count only if they are added to. */
static void take_registers(Warp *w, AccumulatorTile *tile, int accumulate, Site site) {
    int n = tile->n, unset = 0;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        Thread *t = &w->thread[lane];
        int i = member(t);
        float *d = tile->d[i];
        for (int v = 0; v < n / 2; v++) {
            if (accumulate) {
                unset |= model_bits(d[v]) == UNSET_BITS;
                tile->tile[wgmma_accumulator_row(i, v) * n + wgmma_accumulator_column(i, v)] = d[v];
            }
            d[v] = NAN;
        }
        guard(t);
    }
    tile->taken |= (uint8_t)(1 << w->id % 4);
    if (unset) {
        report_misuse(RULE_REGISTERS_UNINIT, site, 0,
                      "wgmma adds to accumulators that were never set: the first product of a tile replaces them "
                      "(accumulate 0)");
    }
}

static void give_registers(Warp *w, AccumulatorTile *tile) {
    int n = tile->n;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        int i = member(&w->thread[lane]);
        float *d = tile->d[i];
        for (int v = 0; v < n / 2; v++) {
            d[v] = tile->tile[wgmma_accumulator_row(i, v) * n + wgmma_accumulator_column(i, v)];
        }
    }
    tile->taken &= (uint8_t) ~(1 << w->id % 4);
}

void registers_accessed(Thread *t, const void *p, uint32_t size, int write, Site site) {
    Warp *w = t->warp;
    Warpgroup *g = w->warpgroup;
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        AccumulatorTile *tile = &g->tile[i];
        uintptr_t d = (uintptr_t)tile->d[member(t)];
        if (d == 0 || (uintptr_t)p + size <= d || (uintptr_t)p >= d + (uintptr_t)tile->n / 2 * sizeof(float)) {
            continue;
        }
        w->registers_touched = 1;
        w->registers_site = site;
        if ((tile->taken >> w->id % 4 & 1) && report_begin(RULE_WGMMA_IN_FLIGHT)) {
            report_place("now", t, site, write ? "store to an accumulator" : "load of an accumulator");
            report_place("before", t, tile->site, "wgmma on it");
            report_line("missing",
                        "a wgmma_wait_group that covers it: %llu groups are committed, this warp has waited for %llu",
                        (unsigned long long)w->groups, (unsigned long long)w->waited);
            report_end(0);
        }
    }
}

/* ---- execution --------------------------------------------------------------------------------------------------- */

static void execute(Warpgroup *g) {
    static float a[MATRIX_K * WGMMA_M], b[MATRIX_K * WGMMA_MAX_N];
    static uint32_t address[2 * WGMMA_MAX_N];
    Product *product = product_at(g, g->first++);
    const float *a_values = product->a_values;
    if (!product->rs) {
        WgmmaDescriptor descriptor = wgmma_descriptor_decode(product->a);
        wgmma_operand_addresses(&descriptor, product->a_major, WGMMA_M, address);
        wgmma_operand_load(a, g->cta->shared, SHARED_RESERVED, address, product->a_major, WGMMA_M);
        a_values = a;
    }
    WgmmaDescriptor descriptor = wgmma_descriptor_decode(product->b);
    wgmma_operand_addresses(&descriptor, product->b_major, product->n, address);
    wgmma_operand_load(b, g->cta->shared, SHARED_RESERVED, address, product->b_major, product->n);
    wgmma_multiply(product->tile->tile, a_values, b, product->n, product->accumulate);
    observe_product(g, product);
    product_free(product);
}

static int executable(Warpgroup *g) { return g->first < g->issued && product_at(g, g->first)->issued_by == 15; }

void wgmma_step(Agent *agent, int whole) {
    Warpgroup *g = (Warpgroup *)(void *)agent;
    do {
        if (executable(g)) {
            execute(g);
        }
    } while (whole && executable(g));
    if (!executable(g)) {
        agent_dequeue(agent);
    }
}

/* ---- issue ------------------------------------------------------------------------------------------------------- */

static void check_descriptor(const Thread *t, uint64_t bits, int mn_major, int rows, const char *operand, Site site,
                             uint32_t *address) {
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
                wgmma_chunk_row(mn_major, i), wgmma_chunk_k(mn_major, i), operand,
                (long long)address[i] - SHARED_RESERVED, t->cta->shared_bytes);
        }
    }
}

/* The warp may read the operand now. The first warp to issue records the read and looks at the tags. */
static Tag check_operand(Warp *w, Warpgroup *g, Product *product, uint64_t bits, int mn_major, int rows,
                         AccessKind kind, const char *operand, int first, int *beyond_base) {
    static uint32_t address[2 * WGMMA_MAX_N];
    static Tag tag[2 * WGMMA_MAX_N];
    Thread *t = &w->thread[0];
    Actor actor = {.thread = t,
                   .warp = w,
                   .kind = kind,
                   .component = (Component)g->component,
                   .epoch = (uint32_t)product->group + 1,
                   .site = product->site};
    check_descriptor(t, bits, mn_major, rows, kind == ACCESS_WGMMA_A ? "A" : "B", product->site, address);
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
    if (!first || device.options.no_provenance) {
        return (Tag){TENSOR_UNKNOWN, 0, 0, 0};
    }
    return provenance_operand(t, operand, tag, mn_major, rows, product->site);
}

static void report_different(Warp *w, const Product *product, Site site, const char *what) {
    if (report_begin(RULE_WGMMA_OPERANDS)) {
        report_place("now", &w->thread[0], site, "wgmma");
        report_place("but", NULL, product->site, "the same product in another warp of the warpgroup");
        report_line("rule",
                    "the four warps of a warpgroup issue the same wgmmas in the same order; here they differ in %s",
                    what);
        report_end(1);
    }
    model_stop();
}

static void report_left(const Warp *w, const Warp *left, Site site) {
    if (report_begin(RULE_CONVERGENCE)) {
        report_place("now", &w->thread[0], site, "wgmma");
        report_line("absent",
                    "warp %d of the same warpgroup has returned from the kernel and issued %llu products; the others "
                    "issue more",
                    left->id, (unsigned long long)left->products);
        report_line("rule", "the four warps of a warpgroup issue the same wgmmas in the same order");
        report_end(1);
    }
    model_stop();
}

static void check_fence(Warp *w, int rs, Site site) {
    if (!w->registers_touched && !(rs && w->fragments_touched)) {
        return;
    }
    if (report_begin(RULE_WGMMA_FENCE)) {
        report_place("now", &w->thread[0], site, "wgmma");
        if (w->registers_site != 0) {
            report_place("before", NULL, w->registers_site, "access to its registers");
        }
        report_line("missing", w->registers_site != 0 ? "wgmma_fence() between the two"
                                                      : "wgmma_fence() before the warp's first wgmma");
        report_end(0);
    }
    w->registers_touched = w->fragments_touched = 0;
}

/* A from registers: the rows of one warp. */
static void load_fragments(Warp *w, Product *product) {
    if (product->a_values == NULL) {
        product->a_values = model_alloc_zero(MATRIX_K * WGMMA_M * sizeof(float));
    }
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        const uint32_t *a = w->operands[lane].p[1];
        int row = 16 * (w->id % 4) + lane / 4, k = 2 * (lane % 4);
        for (int v = 0; v < 8; v++) {
            uint16_t bits = (uint16_t)(a[v / 2] >> 16 * (v % 2));
            product->a_values[(k + v % 2 + 8 * (v / 4)) * WGMMA_M + row + 8 * (v / 2 % 2)] = matrix_float(bits);
        }
    }
}

/* All lanes of the warp have come. */
static void issue(Warp *w, const Product *wanted) {
    Warpgroup *g = w->warpgroup;
    Thread *t = &w->thread[0];
    Site site = wanted->site;
    int part = w->id % 4, bit = 1 << part;
    if (g->id * 4 + 4 > w->cta->warps || w->lanes < WARP_SIZE) {
        report_misuse(RULE_CONVERGENCE, site, 1, "wgmma in a warpgroup that has not four whole warps");
    }
    if (wanted->n < 8 || wanted->n > WGMMA_MAX_N || wanted->n % 8 != 0) {
        report_misuse(RULE_WGMMA_OPERANDS, site, 1, "wgmma with n = %d: accepted are multiples of 8 in 8 .. 256",
                      wanted->n);
    }
    for (int i = g->id * 4; i < g->id * 4 + 4; i++) {
        const Warp *other = &w->cta->warp[i];
        if (other->exited != 0 && other->products <= w->products) {
            report_left(w, other, site);
        }
    }
    if (g->component < 0) {
        g->component = cluster_component(w->cta->cluster, NULL, NULL, g);
    }
    check_fence(w, wanted->rs, site);
    int first = w->products == g->issued;
    Product *product = first ? product_new(g) : product_at(g, w->products);
    if (first) {
        *product = *wanted;
        product->group = w->groups;
        product->tile = find_tile(g, t, w->operands[0].p[0], wanted->n, site);
        product->tile->used = g->issued;
        product->tile->site = site;
    } else if (product->n != wanted->n || product->rs != wanted->rs || product->accumulate != wanted->accumulate ||
               product->a_major != wanted->a_major || product->b_major != wanted->b_major) {
        report_different(w, product, site, "shape, majors or the accumulate predicate");
    } else if (product->a != wanted->a || product->b != wanted->b) {
        report_different(w, product, site, "descriptors");
    } else if (product->group != w->groups) {
        report_different(w, product, site, "the number of groups committed before");
    }
    AccumulatorTile *tile = product->tile;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        float *d = (float *)(uintptr_t)w->operands[lane].p[0];
        float **known = &tile->d[member(&w->thread[lane])];
        if (*known != NULL && *known != d) {
            report_different(w, product, site, "the accumulators");
        }
        *known = d;
    }
    if (!(tile->taken & bit)) {
        take_registers(w, tile, wanted->accumulate, site);
    }
    tile->last[part] = w->products + 1;

    int beyond_base = 0;
    if (first || product->base == NULL || product->base != t->clock.base) {
        Tag a = {TENSOR_UNKNOWN, 0, 0, 0};
        if (!wanted->rs) {
            a = check_operand(w, g, product, wanted->a, wanted->a_major, WGMMA_M, ACCESS_WGMMA_A, "wgmma, operand A",
                              first, &beyond_base);
        }
        Tag b = check_operand(w, g, product, wanted->b, wanted->b_major, wanted->n, ACCESS_WGMMA_B, "wgmma, operand B",
                              first, &beyond_base);
        if (first) {
            provenance_product(t, tile, a, b, wanted->accumulate, site);
            product->base = beyond_base ? NULL : clock_ref(t->clock.base);
        }
    }
    if (wanted->rs) {
        load_fragments(w, product);
    }
    if (first) {
        count_add(COUNT_WGMMA, 1);
        count_add(COUNT_WGMMA_BYTES, (unsigned)(wanted->n + (wanted->rs ? 0 : WGMMA_M)) * 16 * 2);
        count_add(COUNT_TENSOR_FLOP, 2ull * WGMMA_M * (unsigned)wanted->n * 16);
    }
    w->products++;
    w->product_site = site;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        w->thread[lane].time += COST_WGMMA;
        w->thread[lane].math = 1;
    }
    product->time = t->time > product->time ? t->time : product->time;
    product->issued_by |= (uint8_t)bit;
    if (product->issued_by == 15) {
        observe_issue(g, product);
        Cta *cta = w->cta;
        uint64_t begin = product->time > cta->tensor_time ? product->time : cta->tensor_time;
        cta->tensor_time = begin + (uint64_t)product->n / WGMMA_COLUMNS_A_STEP;
        if (g->groups_begun <= product->group) {
            g->groups_begun = product->group + 1;
            g->group_begin[product->group % GROUP_HISTORY] = begin;
        }
        g->group_time[product->group % GROUP_HISTORY] = cta->tensor_time;
        agent_queue(&g->agent);
        threads_wake(&g->issue_waiters);
    }
}

static void wgmma(const Product *wanted, float *d, const uint32_t *a_registers) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    LaneOperands *mine = &w->operands[t->lane];
    mine->p[0] = d;
    mine->p[1] = a_registers;
    mine->u[0] = wanted->a;
    mine->u[1] = wanted->b;
    mine->i[0] = wanted->accumulate;
    if (!warp_meet(t, COLLECTIVE_WGMMA, 0xffffffffu, wanted->site)) {
        return;
    }
    for (int lane = 0; lane < w->lanes; lane++) {
        const LaneOperands *other = &w->operands[lane];
        if (other->u[0] != wanted->a || other->u[1] != wanted->b || other->i[0] != wanted->accumulate) {
            report_misuse(RULE_WGMMA_OPERANDS, wanted->site, 1,
                          "wgmma whose descriptors or accumulate predicate differ between lanes %d and %d of a warp",
                          lane, t->lane);
        }
    }
    issue(w, wanted);
    warp_go(w);
}

void model_wgmma_ss(int n, float *d, uint64_t a, uint64_t b, int accumulate, int a_major, int b_major,
                    const char *here) {
    Product wanted = {.n = n,
                      .a = a,
                      .b = b,
                      .accumulate = accumulate != 0,
                      .a_major = a_major,
                      .b_major = b_major,
                      .site = site_of(here)};
    wgmma(&wanted, d, NULL);
}

void model_wgmma_rs(int n, float *d, const uint32_t *a, uint64_t b, int accumulate, int b_major, const char *here) {
    Product wanted = {
        .n = n, .rs = 1, .b = b, .accumulate = accumulate != 0, .b_major = b_major, .site = site_of(here)};
    wgmma(&wanted, d, a);
}

uint32_t model_shared_address(const void *p) {
    Thread *t = current_thread();
    uintptr_t offset = (uintptr_t)p - (uintptr_t)t->cta->shared;
    if (offset > SHARED_STRIDE) {
        report_misuse(RULE_SHARED_BOUNDS, 0, 1, "shared-memory address of %p, which is not in this CTA's shared memory",
                      p);
    }
    return SHARED_RESERVED + (uint32_t)offset;
}

/* ---- fence, commit, wait ----------------------------------------------------------------------------------------- */

void model_wgmma_fence(const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    if (warp_meet(t, COLLECTIVE_WGMMA_FENCE, 0xffffffffu, site_of(here))) {
        w->registers_touched = w->fragments_touched = 0;
        warp_go(w);
    }
}

void model_wgmma_commit_group(const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    if (warp_meet(t, COLLECTIVE_WGMMA_COMMIT, 0xffffffffu, site_of(here))) {
        w->warpgroup->group_end[w->groups % GROUP_HISTORY] = w->products;
        w->committed = w->products;
        count_add(COUNT_WGMMA_GROUPS, w->id % 4 == 0);
        w->groups++;
        warp_go(w);
        thread_pause(t);
    }
}

static void check_committed(Warp *w, Site site) {
    if (w->products > w->committed && report_begin(RULE_WGMMA_COMMIT)) {
        report_place("now", &w->thread[0], site, "wgmma_wait_group(0)");
        report_place("before", NULL, w->product_site, "wgmma that is in no committed group");
        report_line("missing", "wgmma_commit_group(): %llu products are not covered by the wait",
                    (unsigned long long)(w->products - w->committed));
        report_end(0);
    }
}

void model_wgmma_wait_group(int newest, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    Warpgroup *g = w->warpgroup;
    Site site = site_of(here);
    if (newest < 0) {
        report_misuse(RULE_WGMMA_OPERANDS, site, 1, "wgmma_wait_group(%d): accepted is 0 or more", newest);
    }
    if (!warp_meet(t, COLLECTIVE_WGMMA_WAIT, 0xffffffffu, site)) {
        return;
    }
    count_add(COUNT_WGMMA_WAITS, w->id % 4 == 0);
    if (newest == 0) {
        check_committed(w, site);
    }
    uint64_t done = w->groups > (uint64_t)newest ? w->groups - (uint64_t)newest : 0;
    if (done > w->waited) {
        uint64_t end = g->group_end[(done - 1) % GROUP_HISTORY];
        while (g->first < end) {
            if (executable(g)) {
                execute(g);
            } else {
                t->next_waiter = g->issue_waiters;
                g->issue_waiters = t;
                thread_block(t, (Wait){.kind = WAIT_WARPGROUP, .site = site, .what = "wgmma_wait_group"});
            }
        }
        for (int i = 0; i < ACCUMULATOR_TILES; i++) {
            AccumulatorTile *tile = &g->tile[i];
            if ((tile->taken >> w->id % 4 & 1) && tile->last[w->id % 4] <= end) {
                give_registers(w, tile);
            }
        }
        w->waited = done;
        uint64_t time = g->group_time[(done - 1) % GROUP_HISTORY];
        for (; g->groups_traced < done; g->groups_traced++) {
            uint64_t slot = g->groups_traced % GROUP_HISTORY;
            if (g->group_time[slot] > g->group_begin[slot]) { /* not an empty group */
                trace_async(w->cta, TRACE_WGMMA, g->id, g->group_begin[slot], g->group_time[slot],
                            (int)g->groups_traced);
            }
        }
        uint64_t begin = w->thread[0].time;
        time = (time > begin ? time : begin) + COST_WAIT;
        trace_wait(&w->thread[0], TRACE_WGMMA_WAIT, begin, time, newest, NULL);
        for (int lane = 0; lane < WARP_SIZE; lane++) {
            Thread *other = &w->thread[lane];
            int own = thread_own_component(other, (Component)g->component);
            other->clock.own[own].tick.known = (uint32_t)done;
            other->time = time > other->time ? time : other->time;
        }
    }
    warp_go(w);
    thread_pause(t);
}

void wgmma_exit_check(Thread *t) {
    Warp *w = t->warp;
    if (t->lane != 0) {
        return;
    }
    for (int i = w->id / 4 * 4; i < w->id / 4 * 4 + 4 && i < w->cta->warps; i++) {
        const Warp *other = &w->cta->warp[i];
        if (other->products > w->products) {
            report_left(other, w, other->product_site);
        }
    }
    if (w->products == 0) {
        return;
    }
    uint64_t covered = w->waited > 0 ? w->warpgroup->group_end[(w->waited - 1) % GROUP_HISTORY] : 0;
    if (w->products > covered) {
        report_misuse(RULE_EXIT_IN_FLIGHT, w->product_site, 0,
                      "wgmma: the warp has returned without a wgmma_wait_group that covers it");
    }
}
