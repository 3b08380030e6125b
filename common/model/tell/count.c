/* count.c - what a launch did, in numbers.
 *
 * Warp-wide instructions and what a single thread does are just added up. An ordinary access is seen once for each
 * lane, and lanes run one after the other; what belongs to one instruction of the warp is collected until the warp is
 * together again, at the next instruction that all lanes execute, and then looked at as the hardware would: which
 * banks, lines, sectors. */
#include <string.h>

#include "../judge/bug_report.h"
#include "../model_count.h"

enum { BANKS = 32, WORD_BYTES = 4, SECTOR_BYTES = 32, LINE_BYTES = 128, SITES = 256, FRAGMENTS = 64 };

/* One instruction of a warp: what each lane accesses. */
typedef struct {
    uint32_t lanes; /* mask */
    uintptr_t address[WARP_SIZE];
    uint8_t size[WARP_SIZE];
} Group;

/* What the lanes have accessed at a site since the warp last converged: the n-th accesses of the lanes are group n. */
typedef struct {
    Site site;
    ModelCount how; /* the first of the counts that it adds to; COPIES, COPY_BYTES: the sides of a cp.async */
    Group *group;
    int groups, capacity;
    int number[WARP_SIZE]; /* accesses so far */
} SiteUse;

typedef struct WarpCount {
    SiteUse use[2 * SITES];              /* by hash */
    int uses, waits;                     /* entries; something is to be counted */
    uint32_t in_barrier;                 /* lanes that have arrived at the CTA's barrier */
    const uint32_t *fragment[FRAGMENTS]; /* loaded since the last mma.sync: lane 0's registers */
    int fragments;
} WarpCount;

typedef struct CtaCount {
    WarpCount *warp[WARP_LIMIT]; /* NULL: nothing yet */
} CtaCount;

static unsigned long long counts[COUNT_KINDS];

static void count_at_least(ModelCount which, unsigned long long amount) {
    counts[which] = counts[which] > amount ? counts[which] : amount;
}

const char *model_count_name(ModelCount which) {
    static const char *const names[COUNT_KINDS] = {
#define COUNT(id, name) name,
        MODEL_COUNTS(COUNT)
#undef COUNT
    };
    return names[which];
}

unsigned long long model_count(ModelCount which) { return device.options.count ? counts[which] : 0; }

/* ---- one instruction of a warp ----------------------------------------------------------------------------------- */

/* Lanes that are served together: 8 of 16 bytes, 16 of 8, or all. */
static int part_lanes(uint32_t bytes) { return bytes > 8 ? 8 : bytes > 4 ? 16 : 32; }

static uint32_t widest(const Group *g) {
    uint32_t bytes = 0;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        if (g->lanes >> lane & 1 && g->size[lane] > bytes) {
            bytes = g->size[lane];
        }
    }
    return bytes;
}

/* The different blocks of `block` bytes that lanes [from, to) touch; returns how many. */
enum { MOST_BLOCKS = 4 * WARP_SIZE };
static int different(const Group *g, int from, int to, uintptr_t block, uintptr_t list[MOST_BLOCKS]) {
    int count = 0;
    for (int lane = from; lane < to; lane++) {
        uintptr_t first = g->address[lane] / block, end = (g->address[lane] + g->size[lane] + block - 1) / block;
        for (uintptr_t b = first; g->lanes >> lane & 1 && g->size[lane] > 0 && b < end; b++) {
            int i = 0;
            while (i < count && list[i] != b) {
                i++;
            }
            if (i == count && count < MOST_BLOCKS) {
                list[count++] = b;
            }
        }
    }
    return count;
}

/* Passes through the banks for lanes [from, to), and how many their words would need at least. */
static int passes(const Group *g, int from, int to, int *least) {
    uintptr_t word[MOST_BLOCKS];
    int in_bank[BANKS] = {0}, words = different(g, from, to, WORD_BYTES, word), most = 0;
    for (int i = 0; i < words; i++) {
        int *bank = &in_bank[word[i] % BANKS];
        most = ++*bank > most ? *bank : most;
    }
    *least = (words + BANKS - 1) / BANKS;
    return most;
}

static void count_shared(const Group *g, ModelCount passes_and_conflicts) {
    int part = part_lanes(widest(g));
    for (int lane = 0; lane < WARP_SIZE; lane += part) {
        int least, needed = passes(g, lane, lane + part, &least);
        counts[passes_and_conflicts] += (unsigned)needed;
        counts[passes_and_conflicts + 1] += (unsigned)(needed - least);
    }
}

/* Counts bytes, sectors and, if wanted, lines. */
static void count_global(const Group *g, ModelCount bytes, int wants_lines) {
    uintptr_t list[MOST_BLOCKS];
    int part = part_lanes(widest(g));
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        counts[bytes] += g->lanes >> lane & 1 ? g->size[lane] : 0;
    }
    counts[bytes + 1] += (unsigned)different(g, 0, WARP_SIZE, SECTOR_BYTES, list);
    for (int lane = 0; wants_lines && lane < WARP_SIZE; lane += part) {
        counts[bytes + 2] += (unsigned)different(g, lane, lane + part, LINE_BYTES, list);
    }
}

static void count_group(const Group *g, ModelCount how) {
    counts[how] += how != COUNT_COPY_BYTES;
    switch (how) {
    case COUNT_GLOBAL_LOADS:
    case COUNT_GLOBAL_STORES: count_global(g, how + 1, 1); break;
    case COUNT_COPY_BYTES: count_global(g, how, 0); break;
    case COUNT_COPIES: count_shared(g, COUNT_COPY_PASSES); break;
    default: count_shared(g, how + 1);
    }
}

/* ---- collecting it ----------------------------------------------------------------------------------------------- */

static WarpCount *count_of(const Warp *w) {
    Cta *cta = w->cta;
    if (cta->count == NULL) {
        cta->count = cta_alloc(cta, sizeof *cta->count);
    }
    WarpCount **c = &cta->count->warp[w->id];
    *c = *c != NULL ? *c : cta_alloc(cta, sizeof **c);
    return *c;
}

/* The entry of this site. When SITES entries are in use, all further sites share one. */
static SiteUse *use_of(WarpCount *c, Site site, ModelCount how) {
    unsigned i = (site + (unsigned)how) * 2654435761u >> 16;
    SiteUse *use = &c->use[i % (2 * SITES)];
    while ((use->site != site || use->how != how) && use->site != 0 && c->uses < SITES) {
        use = &c->use[++i % (2 * SITES)];
    }
    if (use->site == 0) {
        *use = (SiteUse){.site = site, .how = how};
        c->uses++;
    }
    return use;
}

static void count_access(const Thread *t, ModelCount how, const void *p, uint32_t size, Site site) {
    WarpCount *c = count_of(t->warp);
    SiteUse *use = use_of(c, site, how);
    const int n = use->number[t->lane]++;
    c->waits = 1;
    if (n == use->groups) {
        use->group = cta_grow(t->cta, use->group, n + 1, &use->capacity, sizeof *use->group);
        use->group[use->groups++].lanes = 0;
    }
    Group *g = &use->group[n];
    g->lanes |= 1u << t->lane;
    g->address[t->lane] = (uintptr_t)p;
    g->size[t->lane] = (uint8_t)size;
}

static void count_together(Warp *w) {
    WarpCount *c = w->cta->count != NULL ? w->cta->count->warp[w->id] : NULL;
    if (c == NULL || !c->waits) {
        return;
    }
    for (int n = 0; n < 2 * SITES; n++) {
        SiteUse *use = &c->use[n];
        for (int i = 0; i < use->groups; i++) {
            count_group(&use->group[i], use->how);
        }
        use->groups = 0;
        memset(use->number, 0, sizeof use->number);
    }
    c->waits = 0;
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

ON(count, LAUNCH_BEGIN) {
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < device.launched; i++) {
        counts[COUNT_CTAS] += (unsigned)device.launch[i].grid;
    }
    counts[COUNT_CTA_THREADS] += (unsigned)device.launch->block;
    counts[COUNT_CTA_SHARED_BYTES] += (unsigned)device.launch->shared_bytes;
}

static void count_roles(const Cta *cta) {
    unsigned loaders = 0, multipliers = 0, both = 0;
    for (int i = 0; i < cta->threads; i++) {
        unsigned loads = cta->roles->thread[i].loads, multiplies = cta->roles->thread[i].multiplies;
        loaders += loads;
        multipliers += multiplies;
        both += loads & multiplies;
    }
    count_at_least(COUNT_LOADERS, loaders);
    count_at_least(COUNT_MULTIPLIERS, multipliers);
    count_at_least(COUNT_BOTH_ROLES, both);
}

ON(count, CTA_END) {
    count_roles(cta);
    for (int i = 0; i < cta->warps; i++) {
        count_together(&cta->warp[i]);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

ON(count, SHARED_ACCESS) {
    count_access(t, e->write ? COUNT_SHARED_STORES : COUNT_SHARED_LOADS, e->p, e->size, e->site);
}

ON(count, GLOBAL_ACCESS) {
    count_access(t, e->write ? COUNT_GLOBAL_STORES : COUNT_GLOBAL_LOADS, e->p, e->size, e->site);
}

ON(count, COPY) {
    if (e->access == ACCESS_CP_ASYNC) {
        count_access(t, COUNT_COPY_BYTES, e->from, e->from_size, e->site);
        count_access(t, COUNT_COPIES, e->p, e->size, e->site);
    }
}

ON(count, GROUP_COMMIT) {
    const ThreadGroups *g = &t->groups[e->group];
    if (e->group == GROUP_COPIES) {
        counts[COUNT_COPY_GROUPS] += t->lane == 0;
        count_at_least(COUNT_COPY_DEPTH, g->committed + 1 - g->waited);
    }
}

ON(count, GROUP_WAIT) { counts[COUNT_COPY_WAITS] += e->group == GROUP_COPIES && t->lane == 0; }

ON(count, BARRIER_ARRIVE) {
    w = t->warp;
    if (e->waits) {
        WarpCount *c = count_of(w);
        c->in_barrier |= 1u << t->lane;
        if ((c->in_barrier | w->exited) == w->all) {
            c->in_barrier = 0;
            counts[COUNT_SYNCTHREADS] += e->expected == 0;
            count_together(w);
        }
    }
}

ON(count, ATOMIC) { counts[COUNT_ATOMICS] += global_is(e->p); }

ON(count, MBARRIER_ARRIVE) { counts[COUNT_MBARRIER_ARRIVALS] += b->pending > 0; }
ON(count, MBARRIER_COPIES_ARRIVE) { counts[COUNT_MBARRIER_ARRIVALS] += b->pending > 0; }

ON(count, MBARRIER_COMPLETE) { counts[COUNT_MBARRIER_PHASES]++; }
ON(count, MBARRIER_PASSED) { counts[COUNT_MBARRIER_WAITS]++; }
ON(count, FENCE_PROXY) { counts[COUNT_PROXY_FENCES]++; }
ON(count, LAUNCH_ASKED) { counts[COUNT_LAUNCH_REQUESTS]++; }

/* ---- warps and warpgroups ---------------------------------------------------------------------------------------- */

ON(count, WARP_TOGETHER) { count_together(w); }

ON(count, WARP_ACCESS) {
    Group g = {.lanes = w->collective->now.arrived};
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        g.address[lane] = (uintptr_t)e->rows[lane];
        g.size[lane] = (uint8_t)e->size;
    }
    if (e->access == ACCESS_LDMATRIX) {
        WarpCount *c = count_of(w);
        c->fragment[c->fragments++ % FRAGMENTS] = e->registers[0];
    }
    count_group(&g, e->access == ACCESS_LDMATRIX ? COUNT_LDMATRIX : COUNT_STMATRIX);
}

ON(count, MMA) {
    WarpCount *c = count_of(w);
    const uintptr_t of_a = (uintptr_t)e->a[0], of_b = (uintptr_t)e->b[0];
    int follows = 0;
    for (int i = 0; i < c->fragments && i < FRAGMENTS; i++) {
        follows |= of_a - (uintptr_t)c->fragment[i] < 16 || of_b - (uintptr_t)c->fragment[i] < 16;
    }
    c->fragments = 0;
    counts[COUNT_MMA]++;
    counts[COUNT_MMA_AFTER_LDMATRIX] += (unsigned)follows;
    counts[COUNT_TENSOR_FLOP] += 2 * 16 * 8 * MATRIX_K;
}

/* A product that the first warp issues. */
ON(count, WGMMA_PART) {
    const Product *product = e->product;
    if (e->first) {
        unsigned rows = (unsigned)product->n + (product->rs ? 0 : WGMMA_M);
        counts[COUNT_WGMMA]++;
        counts[COUNT_WGMMA_BYTES] += rows * MATRIX_K_BYTES;
        counts[COUNT_TENSOR_FLOP] += 2ull * WGMMA_M * (unsigned)product->n * (unsigned)matrix_k(product->type);
    }
}

ON(count, TMEM_PRODUCT) {
    const Tcgen05Shape *shape = &e->tmem_product->shape;
    const unsigned long long flop = 2ull * (unsigned)shape->m * (unsigned)shape->n * (unsigned)matrix_k(shape->a);
    counts[COUNT_TENSOR_FLOP] += flop;
    counts[COUNT_PAIR_FLOP] += shape->pair ? flop : 0;
}

/* ---- the copy engine --------------------------------------------------------------------------------------------- */

/* Bytes of global memory that a copy touches. */
static unsigned long long box_bytes(TensorWalk walk) {
    unsigned long long bytes = 0;
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        bytes += (unsigned long long)chunk.end;
    }
    return bytes;
}

ON(count, TMA_LOAD) {
    counts[COUNT_TMA_LOADS]++;
    counts[COUNT_TMA_LOAD_BYTES] += box_bytes(e->load->walk);
}

ON(count, TMA_STORE) {
    counts[COUNT_TMA_STORES]++;
    counts[COUNT_TMA_STORE_BYTES] += box_bytes(tensor_walk_store(e->copy->map, e->copy->coord, 0));
}
