/* observe.c - the observer's eyes; see model_explain.h. */
#include <stdio.h>
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../judge/cells.h"
#include "../model_explain.h"
#include "../place/place.h"

#define seen device.options.observer /* what is told, to whom */

/* ---- facts ------------------------------------------------------------------------------------------------------- */

ON(observe, LAUNCH_BEGIN) {
    seen->launches++;
    seen->kernel = device.launch->name;
    seen->grid = device.launch->grid;
    seen->block = device.launch->block;
    seen->cluster = device.launch->cluster_size;
    seen->shared_bytes = device.launch->shared_bytes;
}

ON(observe, TENSOR_MAP) {
    if (seen->maps < FACT_MAPS) {
        seen->map[seen->maps++] = *e->map;
    }
}

ON(observe, LAUNCH_END) { /* the kernel has named its shared memory */
    seen->shared_file = device.launch->shared_file;
    seen->shared_type = device.launch->shared_type;
    seen->shared_variable = device.launch->shared_variable;
}

/* Adds a fact to a list if there is space, and no other fact begins with the same `key` bytes. */
static void note(void *list, int *count, int most, const void *fact, size_t bytes, size_t key) {
    int i = 0;
    while (i < *count && memcmp((char *)list + (size_t)i * bytes, fact, key) != 0) {
        i++;
    }
    if (i == *count && i < most) {
        memcpy((char *)list + (size_t)(*count)++ * bytes, fact, bytes);
    }
}
#define NOTE(list, count, most, fact, key) note(list, &(count), most, &(fact), sizeof(fact), key)

static BarrierFact *barrier_fact(const Barrier *b) {
    for (int i = 0; i < seen->barriers; i++) {
        if (strcmp(seen->barrier[i].name, b->array) == 0) {
            return &seen->barrier[i];
        }
    }
    return NULL;
}

ON(observe, MBARRIER_INIT) {
    BarrierFact fact = {.count = (int)e->amount, .arrivals = b->expected, .offset = b->offset, .place = e->site};
    snprintf(fact.name, sizeof fact.name, "%s", b->array);
    NOTE(seen->barrier, seen->barriers, FACT_BARRIERS, fact, sizeof fact.name);
}

ON(observe, BARRIER_ARRIVE) {
    cta = t->cta;
    const SyncFact fact = {e->id, e->site, e->expected > 0 ? e->expected : cta->threads - cta->exited};
    NOTE(seen->sync, seen->syncs, FACT_SYNCS, fact, offsetof(SyncFact, threads));
}

ON(observe, MBARRIER_ANNOUNCED) {
    BarrierFact *fact = barrier_fact(b);
    if (fact != NULL && e->amount > fact->bytes) {
        fact->bytes = (int)e->amount;
    }
}

ON(observe, GROUP_COMMIT) {
    int open = (int)t->groups[e->group].open;
    if (e->group == GROUP_COPIES && open > seen->copies_in_group) {
        seen->copies_in_group = open;
        seen->copies_place = e->site;
    }
}

ON(observe, SETMAXNREG) {
    const RegisterFact fact = {w->id / 4, e->increase, e->count, e->site};
    NOTE(seen->registers, seen->register_changes, FACT_REGISTERS, fact, sizeof fact);
}

ON(observe, TMEM_ALLOC) {
    const TensorFact fact = {(int)e->taddr, e->columns, 0, 0, e->site};
    NOTE(seen->tensor, seen->tensor_facts, FACT_TENSOR, fact, sizeof fact);
}

ON(observe, TMEM_PRODUCT) {
    const Tcgen05Shape *s = &e->tmem_product->shape;
    const TensorFact fact = {tmem_column(e->tmem_product->d), tcgen05_piece_columns(s), s->m, s->n, e->site};
    NOTE(seen->tensor, seen->tensor_facts, FACT_TENSOR, fact, sizeof fact);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static void widen(int row, int *first, int *last) {
    *first = *last < *first || row < *first ? row : *first;
    *last = row > *last ? row : *last;
}

/* Have all CTAs of the cluster begun tile `number` or a later one? */
static int all_have_begun(const Cluster *cluster, int number) {
    int count = 0;
    for (int i = 0; i < seen->tiles; i++) {
        count += seen->tile[i].number == number &&
                 (unsigned)(seen->tile[i].cta - cluster->first_block) < (unsigned)cluster->size;
    }
    return count == cluster->size;
}

/* The thread has read a row of A (is_a) or B. */
static void observe_row(const Thread *t, int is_a, int row) {
    typedef struct {
        uint32_t serial;
        int tile;   /* the one it reads for */
        int read_b; /* for this tile already */
    } Reader;
    static Reader readers[CLUSTER_LIMIT][THREAD_LIMIT];
    Reader *reader = &readers[t->cta->rank][t->id];
    if (reader->serial != t->cta->cluster->serial) {
        *reader = (Reader){t->cta->cluster->serial, 0, 0};
    }
    reader->tile += is_a && reader->read_b;
    reader->read_b = !is_a;
    int number = reader->tile;
    int i = seen->tiles - 1;
    while (i >= 0 && (seen->tile[i].cta != t->cta->block || seen->tile[i].number != number)) {
        i--;
    }
    if (i < 0) {
        if (seen->tiles == FACT_TILES) {
            return;
        }
        i = seen->tiles++;
        seen->tile[i] = (TileFact){t->cta->block, number, 0, -1, 0, -1};
    }
    TileFact *tile = &seen->tile[i];
    widen(row, is_a ? &tile->a_first : &tile->b_first, is_a ? &tile->a_last : &tile->b_last);
    if (seen->stop_at_tile > 0 && number >= seen->stop_at_tile && all_have_begun(t->cta->cluster, seen->stop_at_tile)) {
        model_stop();
    }
}

static int covers(const void *p, uint32_t size, const void *element) {
    return (uintptr_t)element - (uintptr_t)p < size;
}

static Doer actor_of(const Thread *t, Site site) { return (Doer){t->cta->block, t->id, site}; }

static void observe_load_of(OperandFact *operand, const Thread *t, Site site) {
    if (operand->load.thread < 0) {
        operand->load = actor_of(t, site);
    }
}

static void observe_global(const Thread *t, const void *p, uint32_t size, int write, Site site) {
    if (seen->stop_when_stored && seen->store_bytes > 0) {
        model_stop(); /* the access before this one was the store, and has happened */
    }
    if (write) {
        if (covers(p, size, seen->c_at) && seen->store_bytes == 0 && seen->stored.thread < 0) {
            seen->stored = actor_of(t, site);
            seen->store_bytes = (int)size;
        }
        return;
    }
    uintptr_t a = (uintptr_t)p - (uintptr_t)seen->a, b = (uintptr_t)p - (uintptr_t)seen->b;
    if (seen->a_row > 0 && a / seen->a_row < (uintptr_t)seen->a_rows) {
        observe_row(t, 1, (int)(a / seen->a_row));
    } else if (seen->b_row > 0 && b / seen->b_row < (uintptr_t)seen->b_rows) {
        observe_row(t, 0, (int)(b / seen->b_row));
    }
    if (seen->thread == t->id && seen->cta == t->cta->block) {
        if (covers(p, size, seen->a_at)) {
            observe_load_of(&seen->operand_a, t, site);
        } else if (covers(p, size, seen->b_at)) {
            observe_load_of(&seen->operand_b, t, site);
        }
    }
}

ON(observe, GLOBAL_ACCESS) { observe_global(t, e->p, e->size, e->write, e->site); }

ON(observe, ATOMIC) {
    if (global_is(e->p)) {
        observe_global(t, e->p, 4, e->atomic != ATOMIC_LOAD, e->site);
    }
}

ON(observe, COPY) {
    if (e->from_size > 0 && global_is(e->from)) {
        observe_global(t, e->from, e->from_size, 0, e->site);
    }
}

static void add_load(const TmaLoad *load, const Barrier *b) {
    LoadFact fact = {
        .bytes = (int)tensor_box_bytes(&load->map), .multicast = load->copy.mask != 0, .place = load->copy.site};
    snprintf(fact.map, sizeof fact.map, "%s", load->map.name != NULL ? load->map.name : "a tensor");
    snprintf(fact.barrier, sizeof fact.barrier, "%s", b->array);
    NOTE(seen->load, seen->loads, FACT_LOADS, fact, offsetof(LoadFact, barrier));
}

ON(observe, TMA_LOAD) {
    const TmaLoad *load = e->load;
    for (int i = 0; i < load->targets; i++) {
        /* A box wholly outside of the matrix reads nothing, and yet is of a tile. */
        if (load->map.base == (uintptr_t)seen->a || load->map.base == (uintptr_t)seen->b) {
            observe_row(t, load->map.base == (uintptr_t)seen->a, load->copy.coord[1]);
        }
        add_load(load, load->barrier[i]);
    }
    TensorChunk chunk;
    for (TensorWalk walk = load->walk; tensor_next_inside(&walk, &chunk);) {
        observe_global(t, tensor_chunk_global(&chunk), (uint32_t)chunk.end, 0, e->site);
    }
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

/* Who wrote this byte last. */
static const char *writer_of(const Cta *cta, uint32_t offset, Doer *who) {
    const Access write = shared_writer(cta, offset);
    const Thread *t = component_owner(cta->cluster, write.issuer)->thread;
    *who = (Doer){t != NULL ? t->cta->block : -1, t != NULL ? t->id : -1, write.site};
    return access_name[write.kind];
}

static void look_at(OperandFact *operand, const Cta *cta, uint32_t offset, const void *now, uint16_t expected) {
    uint16_t value;
    memcpy(&value, now, sizeof value);
    operand->found = 1;
    operand->offset = offset;
    operand->value_is_right = value == expected;
    operand->writer = writer_of(cta, offset, &operand->written);
}

/* 16 bytes of a store: from byte `offset` of shared memory to `p`. */
static void add_store(const Thread *t, const void *p, uint32_t size, uint32_t offset, Site site) {
    if (!covers(p, size, seen->c_at) || (seen->stored.thread >= 0 && seen->store_bytes > 0)) {
        return;
    }
    seen->stored = actor_of(t, site);
    seen->store_bytes = 0;
    seen->store_offset = offset + (uint32_t)((uintptr_t)seen->c_at - (uintptr_t)p);
    seen->packer = writer_of(t->cta, seen->store_offset, &seen->packed);
}

ON(observe, TMA_STORE) {
    const TmaCopy *copy = e->copy;
    uint32_t box = shared_offset(t->cta, copy->shared);
    TensorChunk chunk;
    for (TensorWalk walk = tensor_walk_store(copy->map, copy->coord, SHARED_RESERVED + box);
         tensor_next_inside(&walk, &chunk);) {
        const void *p = tensor_chunk_global(&chunk);
        add_store(t, p, (uint32_t)chunk.end, box + chunk.offset, copy->site);
        observe_global(t, p, (uint32_t)chunk.end, 1, copy->site);
    }
}

ON(observe, TMA_STORED) {
    const TmaStore *store = e->store;
    if (!seen->stop_when_stored || seen->stored.thread < 0 || store->copy.add) {
        return;
    }
    TensorChunk chunk;
    for (TensorWalk walk = tensor_walk_store(&store->map, store->copy.coord, SHARED_RESERVED + store->offset);
         tensor_next(&walk, &chunk);) {
        if (covers(tensor_chunk_global(&chunk), (uint32_t)chunk.end, seen->c_at)) {
            model_stop();
        }
    }
}

/* ---- accumulators ------------------------------------------------------------------------------------------------ */

/* From the top of the thread's stack down to its accumulator: the same in all threads that run the same code. */
static size_t depth_of(const Thread *t, const float *d) {
    return (size_t)(t->fiber.stack + FIBER_STACK_BYTES - stack_shift(t->id) - (const uint8_t *)d);
}

static void measure(const Thread *t, const float *d, int count) {
    size_t low = depth_of(t, d), high = low - (size_t)count * sizeof *d;
    if (seen->number != NUMBER_NOT || seen->thread >= 0) {
        return; /* given */
    }
    seen->high = seen->low == 0 || high < seen->high ? high : seen->high;
    seen->low = low > seen->low ? low : seen->low;
}

static int index_of(const Thread *t, const float *d) { return (int)((seen->low - depth_of(t, d)) / sizeof *d); }

static float number_of(const Thread *t, int index) {
    int number = seen->number == NUMBER_INDEX ? index : seen->number == NUMBER_THREAD_LOW ? t->id % 256 : t->id / 256;
    return (float)(number + 1);
}

static int is_held_by(const Thread *t) { return seen->thread == t->id && seen->cta == t->cta->block; }

static void keep_value(int tile, float value) {
    if (tile >= 0 && tile < FACT_VALUES) {
        seen->value[tile] = value;
        seen->values = tile + 1;
    }
}

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

enum { FRAGMENTS = 64 };

/* The last ldmatrix of the watched warp into these registers. */
typedef struct {
    const uint32_t *r0; /* lane 0's */
    Site site;
    uint32_t offset[WARP_SIZE]; /* of the lanes' rows */
    uint8_t data[WARP_SIZE][CHUNK_BYTES];
    OperandFact written[WARP_SIZE];
} Fragment;

static struct {
    uint32_t launch;
    Fragment fragment[FRAGMENTS];
    int count;
    int mma; /* products of the watched accumulator */
} watch;

static int is_watched(const Warp *w) {
    if (seen->thread / WARP_SIZE != w->id || seen->cta != w->cta->block || seen->thread < 0) {
        return 0;
    }
    if (watch.launch != device.sets) {
        watch.launch = device.sets;
        watch.count = watch.mma = 0;
    }
    return 1;
}

ON(observe, WARP_ACCESS) {
    if (e->access != ACCESS_LDMATRIX || e->transposes || !is_watched(w)) {
        return;
    }
    int i = 0;
    while (i < watch.count && watch.fragment[i].r0 != e->registers[0]) {
        i++;
    }
    if (i == FRAGMENTS) {
        return;
    }
    watch.count = i == watch.count ? i + 1 : watch.count;
    Fragment *fragment = &watch.fragment[i];
    fragment->r0 = e->registers[0];
    fragment->site = e->site;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        fragment->offset[lane] = shared_offset(w->cta, e->rows[lane]);
        memcpy(fragment->data[lane], e->rows[lane], CHUNK_BYTES);
        fragment->written[lane].writer = writer_of(w->cta, fragment->offset[lane], &fragment->written[lane].written);
    }
}

/* Half of a register of a lane, and the k that it holds. */
typedef struct {
    int lane, reg, half, k;
} Half;

/* Where ldmatrix took an operand's element from; r0: lane 0's registers of the operand. */
static void find_fragment(OperandFact *operand, const Warp *w, const uint32_t *r0, Half at, uint16_t expected) {
    const uint32_t *r = r0 + at.reg;
    for (int i = 0; i < watch.count; i++) {
        const Fragment *fragment = &watch.fragment[i];
        if (r < fragment->r0 || r >= fragment->r0 + 4) {
            continue;
        }
        int address_lane = ldmatrix_address_lane((int)(r - fragment->r0), ldmatrix_row(at.lane));
        int byte = 2 * (ldmatrix_column(at.lane) + at.half);
        look_at(operand, w->cta, fragment->offset[address_lane] + (uint32_t)byte, &fragment->data[address_lane][byte],
                expected);
        operand->writer = fragment->written[address_lane].writer;
        operand->written = fragment->written[address_lane].written;
        operand->ldmatrix = fragment->site;
        operand->address_lane = address_lane;
        operand->lane = at.lane;
        operand->reg = at.reg;
        operand->half = at.half;
    }
}

/* Where row `row` of an operand (of B: column) has the value in one of its 16 k; k -1: nowhere. */
static Half find_half(const uint32_t *const r[WARP_SIZE], int registers, int (*row_of)(int, int), int (*k_of)(int, int),
                      int row, uint16_t value) {
    for (int i = 0; i < WARP_SIZE * registers * 2; i++) {
        Half at = {i / 2 % WARP_SIZE, i / 2 / WARP_SIZE, i % 2, k_of(i / 2 % WARP_SIZE, i / 2 / WARP_SIZE) + i % 2};
        if (row_of(at.lane, at.reg) == row && (uint16_t)(r[at.lane][at.reg] >> 16 * at.half) == value) {
            return at;
        }
    }
    return (Half){0, 0, 0, -1};
}

static int b_column(int lane, int r) {
    (void)r;
    return mma_b_column(lane);
}

/* If this product multiplies the traced elements into the watched accumulator d[v] of `lane`: notes how. */
static void trace_mma(const Warp *w, int lane, int v, const uint32_t *const a[WARP_SIZE],
                      const uint32_t *const b[WARP_SIZE], Site site) {
    int row = mma_d_row(lane, v), column = mma_d_column(lane, v);
    Half from_a = find_half(a, 4, mma_a_row, mma_a_k, row, seen->a_value);
    Half from_b = find_half(b, 2, b_column, mma_b_k, column, seen->b_value);
    if (seen->a_at != NULL && from_a.k >= 0 && from_a.k == from_b.k) {
        find_fragment(&seen->operand_a, w, a[0], from_a, seen->a_value);
        find_fragment(&seen->operand_b, w, b[0], from_b, seen->b_value);
        seen->row = row;
        seen->column = column;
        seen->n = 8;
        seen->product_number = watch.mma;
        seen->product_place = site;
    }
}

ON(observe, MMA_DONE) {
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        const Thread *t = &w->thread[lane];
        float *d = e->d[lane];
        measure(t, d, 4);
        int first = index_of(t, d);
        for (int v = 0; v < 4; v++) {
            if (seen->number != NUMBER_NOT) {
                d[v] = number_of(t, first + v);
            }
            if (is_held_by(t) && first + v == seen->index && is_watched(w)) {
                if (e->type == MATRIX_BF16) {
                    trace_mma(w, lane, v, e->a, e->b, e->site);
                }
                keep_value(0, d[v]);
                watch.mma++;
            }
        }
    }
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

ON(observe, WGMMA_ISSUED) {
    const Warpgroup *g = e->warpgroup;
    const Product *product = e->product;
    const ProductFact fact = {g->id,       product->n,       product->a,       product->b,   product->type,
                              product->rs, product->a_major, product->b_major, product->site};
    NOTE(seen->product, seen->products, FACT_PRODUCTS, fact, offsetof(ProductFact, type));
}

/* The element's two bytes in shared memory, by the descriptor; NULL if the traced value is not there. */
static const uint8_t *element_at(const Cta *cta, uint64_t bits, int mn_major, int row, int k, uint16_t value) {
    WgmmaDescriptor descriptor = wgmma_descriptor_decode(bits);
    const uint8_t *p = cta->shared + (wgmma_element_address(&descriptor, mn_major, row, k) - SHARED_RESERVED);
    return memcmp(p, &value, sizeof value) == 0 ? p : NULL;
}

static void trace_product(const Warpgroup *g, const Product *product) {
    const Cta *cta = g->cta;
    for (int k = 0; k < MATRIX_K && !product->rs; k++) {
        const uint8_t *a = element_at(cta, product->a, product->a_major, seen->row, k, seen->a_value);
        const uint8_t *b = element_at(cta, product->b, product->b_major, seen->column, k, seen->b_value);
        if (a != NULL && b != NULL) {
            look_at(&seen->operand_a, cta, (uint32_t)(a - cta->shared), a, seen->a_value);
            look_at(&seen->operand_b, cta, (uint32_t)(b - cta->shared), b, seen->b_value);
            seen->operand_a.descriptor = product->a;
            seen->operand_b.descriptor = product->b;
            seen->product_number = watch.mma;
            seen->tile_number = seen->values - 1;
            seen->product_place = product->site;
        }
    }
}

ON(observe, WGMMA_DONE) {
    const Warpgroup *g = e->warpgroup;
    const Product *product = e->product;
    AccumulatorTile *tile = product->tile;
    for (int i = 0; i < WARPGROUP_SIZE; i++) {
        const Thread *t = &g->cta->thread[g->id * WARPGROUP_SIZE + i];
        measure(t, tile->d[i], tile->n / 2);
        int first = index_of(t, tile->d[i]);
        for (int v = 0; v < tile->n / 2 && seen->number != NUMBER_NOT; v++) {
            tile->tile[wgmma_accumulator_row(i, v) * tile->n + wgmma_accumulator_column(i, v)] =
                number_of(t, first + v);
        }
        int v = seen->index - first;
        if (is_held_by(t) && v >= 0 && v < tile->n / 2 && is_watched(t->warp)) {
            int row = wgmma_accumulator_row(i, v), column = wgmma_accumulator_column(i, v);
            watch.mma = product->accumulate ? watch.mma + 1 : 0;
            seen->values += !product->accumulate;
            keep_value(seen->values - 1, tile->tile[row * tile->n + column]);
            if (seen->a_at != NULL && !seen->operand_a.found && product->type == MATRIX_BF16) {
                seen->row = row;
                seen->column = column;
                seen->n = tile->n;
                trace_product(g, product);
            }
        }
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *model_place_text(ModelPlace place, char *text, size_t size) { return site_text(place, text, size); }
const char *model_place_source(ModelPlace place, char *text, size_t size) { return site_source(place, text, size); }

const char *model_shared_name(const ModelObserver *o, uint32_t offset, char *text, size_t size) {
    return SHARED_TEXT(o, offset, text, size);
}

int model_shared_members(const ModelObserver *o, ModelMember *list, int most, uint64_t *size) {
    return layout_members(o->shared_file, o->shared_type, list, most, size);
}
