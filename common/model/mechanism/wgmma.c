/* wgmma.c - products of a warpgroup: issued by its four warps, executed when the schedule says, waited for by groups.
 *
 * Each warp issues its part when it comes; warps need not wait for each other. A product can execute once all four have
 * issued it, and products execute in order. From its first product until a wait that covers its last one, a tile
 * of accumulators lives here and the registers hold NaN. */
#include "wgmma.h"

#include <math.h>
#include <string.h>

#include "../core/schedule.h"
#include "../data/rounding.h"
#include "../event.h"
#include "../model.h"

static Product *product_new(WarpgroupProducts *p) {
    if (p->issued - p->first == p->capacity) {
        uint32_t capacity = p->capacity > 0 ? 2 * p->capacity : 32;
        Product *product = cta_alloc(p->warpgroup->cta, capacity * sizeof *product);
        for (uint64_t i = p->first; i < p->issued; i++) {
            product[i & (capacity - 1)] = *product_at(p, i);
        }
        p->product = product;
        p->capacity = capacity;
    }
    return product_at(p, p->issued++);
}

/* ---- accumulators ------------------------------------------------------------------------------------------------ */

/* The thread's number in its warpgroup. */
static int member(const Thread *t) { return t->id % WARPGROUP_SIZE; }

/* Loads and stores on the thread's accumulators and fragments are watched. */
static void watch(Thread *t, const void *registers, uintptr_t bytes) {
    uintptr_t begin = (uintptr_t)registers, end = begin + bytes;
    if (t->watched.bytes > 0) {
        uintptr_t old = t->watched.begin, old_end = old + t->watched.bytes;
        begin = old < begin ? old : begin;
        end = old_end > end ? old_end : end;
    }
    t->watched.begin = begin;
    t->watched.bytes = end - begin;
}

/* The tile whose registers begin at d in this thread; made if there is none. NULL if there are too many. */
static AccumulatorTile *find_tile(WarpgroupProducts *p, const Thread *t, const float *d, int n) {
    AccumulatorTile *free_tile = NULL;
    for (int i = 0; i < ACCUMULATOR_TILES; i++) {
        AccumulatorTile *tile = &p->tile[i];
        if (tile->d[member(t)] == d && tile->n == n) {
            return tile;
        }
        if (tile->taken == 0 && (free_tile == NULL || tile->used < free_tile->used)) {
            free_tile = tile;
        }
    }
    if (free_tile != NULL) {
        memset(free_tile->d, 0, sizeof free_tile->d);
        if (free_tile->tile == NULL) {
            free_tile->tile = cta_alloc(t->cta, WGMMA_M * WGMMA_MAX_N * sizeof(float));
        }
        free_tile->n = n;
    }
    return free_tile;
}

/* The warp's registers move into the tile. Their values count only if they are added to; 1 if one was never set. */
static int take_registers(Warp *w, AccumulatorTile *tile, int accumulate) {
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
        watch(t, d, (uintptr_t)n / 2 * sizeof(float));
    }
    tile->taken |= (uint8_t)(1 << w->id % 4);
    return unset;
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

/* A from registers: the rows of one warp. */
static void load_fragments(Warp *w, Product *product) {
    if (product->a_values == NULL) {
        product->a_values = cta_alloc(w->cta, MATRIX_MAX_K * WGMMA_M * sizeof(float));
    }
    const uint32_t *const *a = (const uint32_t *const *)w->collective->pointer[1];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        watch(&w->thread[lane], a[lane], FRAGMENT_BYTES);
    }
    matrix_fragment(product->type, product->a_values + 16 * (w->id % 4), WGMMA_M, a);
}

/* ---- execution --------------------------------------------------------------------------------------------------- */

static void load_operand(MatrixType type, float *values, const Cta *cta, uint64_t bits, int mn_major, int rows) {
    static uint32_t address[2 * WGMMA_MAX_N];
    WgmmaDescriptor descriptor = wgmma_descriptor_decode(bits);
    wgmma_operand_addresses(&descriptor, mn_major, rows, address);
    wgmma_operand_load_of(type, values, cta->shared, SHARED_RESERVED, address, mn_major, rows);
}

static void execute(Warpgroup *g) {
    static float a[MATRIX_MAX_K * WGMMA_M], b[MATRIX_MAX_K * WGMMA_MAX_N];
    Product *product = product_at(g->products, g->products->first++);
    if (!product->rs) {
        load_operand(product->type, a, g->cta, product->a, product->a_major, WGMMA_M);
    }
    load_operand(product->type, b, g->cta, product->b, product->b_major, product->n);
    const float *values = product->rs ? product->a_values : a;
    if (device.options.rounding || matrix_element_bytes(product->type) == 1) {
        rounding_multiply(product->type, product->tile->tile, values, b, product->n, product->accumulate);
    } else {
        wgmma_multiply(product->tile->tile, values, b, product->n, matrix_k(product->type), product->accumulate);
    }
    POST(WGMMA_DONE, .warpgroup = g, .product = product);
}

static int executable(const WarpgroupProducts *p) {
    return p->first < p->issued && product_at(p, p->first)->issued_by == 15;
}

static void wgmma_step(Agent *agent, int whole) {
    Warpgroup *g = ((WarpgroupProducts *)(void *)agent)->warpgroup;
    do {
        if (executable(g->products)) {
            execute(g);
        }
    } while (whole && executable(g->products));
    if (!executable(g->products)) {
        agent_dequeue(agent);
    }
}

void wgmma_begin(Cta *cta) {
    CTA_GIVE(cta, cta->warp, cta->warps, products);
    CTA_GIVE(cta, cta->warpgroup, cta->warpgroups, products);
    for (int i = 0; i < cta->warpgroups; i++) {
        cta->warpgroup[i].products->agent = (Agent){.step = wgmma_step, .queued = -1};
        cta->warpgroup[i].products->warpgroup = &cta->warpgroup[i];
    }
}

/* ---- issue ------------------------------------------------------------------------------------------------------- */

/* All lanes of the warp have come, with its part of a product of which other warps may have issued theirs. */
static void issue(Warp *w, const Product *wanted) {
    Warpgroup *g = w->warpgroup;
    WarpgroupProducts *p = g->products;
    const int part = w->id % 4, bit = 1 << part, first = w->products->issued == p->issued;
    Product *product = first ? product_new(p) : product_at(p, w->products->issued);
    if (first) {
        float *a_values = product->a_values;
        *product = *wanted;
        product->a_values = a_values;
        product->number = w->products->issued;
        product->group = w->products->groups;
        product->tile = find_tile(p, &w->thread[0], w->collective->pointer[0][0], wanted->n);
    }
    POST(WGMMA_PART, .warp = w, .product = product, .wanted = wanted, .first = first, .site = wanted->site);
    AccumulatorTile *tile = product->tile;
    if (first) {
        tile->used = p->issued;
        tile->site = wanted->site;
    }
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        tile->d[member(&w->thread[lane])] = (float *)(uintptr_t)w->collective->pointer[0][lane];
    }
    if (!(tile->taken & bit) && take_registers(w, tile, wanted->accumulate)) {
        POST(WGMMA_UNSET, .site = wanted->site);
    }
    tile->last[part] = ++w->products->issued;
    if (wanted->rs) {
        load_fragments(w, product);
    }
    product->issued_by |= (uint8_t)bit;
    if (product->issued_by == 15) {
        POST(WGMMA_ISSUED, .warpgroup = g, .product = product, .site = product->site);
        agent_queue(&p->agent);
        threads_wake(&p->waiters);
    }
}

void model_wgmma(MatrixType type, int n, float *d, const uint32_t *a_registers, uint64_t a, uint64_t b, int accumulate,
                 int a_major, int b_major, const char *here) {
    const Product wanted = {.type = type,
                            .n = n,
                            .rs = a_registers != NULL,
                            .a = a,
                            .b = b,
                            .accumulate = accumulate != 0,
                            .a_major = a_major,
                            .b_major = b_major,
                            .site = site_of(here)};
    Thread *t = current_thread();
    WarpCollective *m = t->warp->collective;
    m->pointer[0][t->lane] = d;
    m->pointer[1][t->lane] = a_registers;
    m->word[0][t->lane] = a;
    m->word[1][t->lane] = b;
    m->number[t->lane] = wanted.accumulate;
    if (warp_join(t, "wgmma.mma_async", 0xffffffffu, wanted.site)) {
        issue(t->warp, &wanted);
        warp_go(t->warp);
    }
}

/* ---- fence, commit, wait ----------------------------------------------------------------------------------------- */

void model_wgmma_fence(const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    if (warp_join(t, "wgmma.fence", 0xffffffffu, site)) {
        POST(WGMMA_FENCE, .warp = t->warp, .site = site);
        warp_go(t->warp);
    }
}

void model_wgmma_commit_group(const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    WarpProducts *p = w->products;
    if (warp_join(t, "wgmma.commit_group", 0xffffffffu, site_of(here))) {
        POST(WGMMA_COMMIT, .warp = w);
        w->warpgroup->products->group_end[p->groups % GROUP_HISTORY] = p->issued;
        p->committed = p->issued;
        p->groups++;
        warp_go(w);
        thread_pause(t);
    }
}

void model_registers_settled(const float *d, int count) {
    POST(REGISTERS_SETTLED, .thread = current_thread(), .accumulators = d, .count = count);
}

void model_wgmma_wait_group(int newest, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    Warpgroup *g = w->warpgroup;
    Site site = site_of(here);
    if (!warp_join(t, "wgmma.wait_group", 0xffffffffu, site)) {
        return;
    }
    POST(WGMMA_WAIT, .warp = w, .newest = newest, .site = site);
    uint64_t groups = w->products->groups;
    uint64_t done = groups > (uint64_t)newest ? groups - (uint64_t)newest : 0;
    if (done > w->products->waited) {
        uint64_t end = g->products->group_end[(done - 1) % GROUP_HISTORY];
        while (g->products->first < end) {
            if (executable(g->products)) {
                execute(g);
            } else {
                thread_block_in(t, &g->products->waiters,
                                (Wait){.kind = WAIT_WARPGROUP, .site = site, .what = "wgmma_wait_group"});
            }
        }
        for (int i = 0; i < ACCUMULATOR_TILES; i++) {
            AccumulatorTile *tile = &g->products->tile[i];
            if ((tile->taken >> w->id % 4 & 1) && tile->last[w->id % 4] <= end) {
                give_registers(w, tile);
            }
        }
        w->products->waited = done;
        POST(WGMMA_WAITED, .warp = w, .newest = newest, .done = done);
    }
    warp_go(w);
    thread_pause(t);
}
