/* observe.c - the observer's eyes; see model_explain.h. */
#include <stdio.h>
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../judge/cells.h"
#include "../model_explain.h"
#include "../place/layout.h"
#include "../place/line.h"

static ModelObserver *observer(void) { return device.options.observer; }

/* ---- facts ------------------------------------------------------------------------------------------------------- */

ON(observe, LAUNCH_BEGIN) {
    ModelObserver *o = observer();
    o->launches++;
    o->kernel = device.launch->name;
    o->grid = device.launch->grid;
    o->block = device.launch->block;
    o->cluster = device.launch->cluster_size;
    o->shared_bytes = device.launch->shared_bytes;
}

ON(observe, TENSOR_MAP) {
    ModelObserver *o = observer();
    if (o->maps < FACT_MAPS) {
        o->map[o->maps++] = *e->map;
    }
}

ON(observe, SHARED_MEMORY) {
    ModelObserver *o = observer();
    const Launch *l = launch_of(e->cta);
    o->shared_file = l->shared_file;
    o->shared_type = l->shared_type;
    o->shared_variable = l->shared_variable;
}

/* Adds a fact to a list if there is room, and no other has the same `key` bytes at its begin. */
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

static BarrierFact *barrier_fact(ModelObserver *o, const Barrier *b) {
    for (int i = 0; i < o->barriers; i++) {
        if (strcmp(o->barrier[i].name, b->array) == 0) {
            return &o->barrier[i];
        }
    }
    return NULL;
}

ON(observe, MBARRIER_INIT) {
    ModelObserver *o = observer();
    const Barrier *b = e->barrier;
    if (o->barriers == FACT_BARRIERS || barrier_fact(o, b) != NULL) {
        return;
    }
    BarrierFact *fact = &o->barrier[o->barriers++];
    memset(fact, 0, sizeof *fact);
    snprintf(fact->name, sizeof fact->name, "%s", b->array);
    fact->count = (int)e->amount;
    fact->arrivals = b->expected;
    fact->offset = b->offset;
    fact->place = e->site;
}

ON(observe, BARRIER_ARRIVE) {
    ModelObserver *o = observer();
    const Cta *cta = e->thread->cta;
    const SyncFact fact = {e->id, e->site, e->expected > 0 ? e->expected : cta->threads - cta->exited};
    NOTE(o->sync, o->syncs, FACT_SYNCS, fact, offsetof(SyncFact, threads));
}

ON(observe, MBARRIER_ANNOUNCED) {
    BarrierFact *fact = barrier_fact(observer(), e->barrier);
    if (fact != NULL && e->amount > fact->bytes) {
        fact->bytes = (int)e->amount;
    }
}

ON(observe, GROUP_COMMIT) {
    ModelObserver *o = observer();
    int open = (int)e->thread->groups[e->group].open;
    if (e->group == GROUP_COPIES && open > o->copies_in_group) {
        o->copies_in_group = open;
        o->copies_place = e->site;
    }
}

ON(observe, SETMAXNREG) {
    ModelObserver *o = observer();
    const RegisterFact fact = {e->warp->id / 4, e->increase, e->count, e->site};
    NOTE(o->registers, o->register_changes, FACT_REGISTERS, fact, sizeof fact);
}

ON(observe, TMEM_ALLOC) {
    ModelObserver *o = observer();
    const TensorFact fact = {(int)e->taddr, e->columns, 0, 0, e->site};
    NOTE(o->tensor, o->tensor_facts, FACT_TENSOR, fact, sizeof fact);
}

ON(observe, TMEM_PRODUCT) {
    ModelObserver *o = observer();
    const Tcgen05Shape *s = &e->tmem_product->shape;
    const TensorFact fact = {tmem_column(e->tmem_product->d), tcgen05_piece_columns(s), s->m, s->n, e->site};
    NOTE(o->tensor, o->tensor_facts, FACT_TENSOR, fact, sizeof fact);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static void widen(int row, int *first, int *last) {
    *first = *last < *first || row < *first ? row : *first;
    *last = row > *last ? row : *last;
}

/* Have all CTAs of the cluster begun tile `number` or a later one? */
static int all_have_begun(const ModelObserver *o, const Cluster *cluster, int number) {
    int count = 0;
    for (int i = 0; i < o->tiles; i++) {
        count +=
            o->tile[i].number == number && (unsigned)(o->tile[i].cta - cluster->first_block) < (unsigned)cluster->size;
    }
    return count == cluster->size;
}

/* The thread has read a row of A (is_a) or B. */
static void observe_row(ModelObserver *o, const Thread *t, int is_a, int row) {
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
    int i = o->tiles - 1;
    while (i >= 0 && (o->tile[i].cta != t->cta->block || o->tile[i].number != number)) {
        i--;
    }
    if (i < 0) {
        if (o->tiles == FACT_TILES) {
            return;
        }
        i = o->tiles++;
        o->tile[i] = (TileFact){t->cta->block, number, 0, -1, 0, -1};
    }
    TileFact *tile = &o->tile[i];
    widen(row, is_a ? &tile->a_first : &tile->b_first, is_a ? &tile->a_last : &tile->b_last);
    if (o->stop_at_tile > 0 && number >= o->stop_at_tile && all_have_begun(o, t->cta->cluster, o->stop_at_tile)) {
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
    ModelObserver *o = observer();
    if (o->stop_when_stored && o->store_bytes > 0) {
        model_stop(); /* the access before this one was the store, and has happened */
    }
    if (write) {
        if (covers(p, size, o->c_at) && o->store_bytes == 0 && o->stored.thread < 0) {
            o->stored = actor_of(t, site);
            o->store_bytes = (int)size;
        }
        return;
    }
    uintptr_t a = (uintptr_t)p - (uintptr_t)o->a, b = (uintptr_t)p - (uintptr_t)o->b;
    if (o->a_row > 0 && a / o->a_row < (uintptr_t)o->a_rows) {
        observe_row(o, t, 1, (int)(a / o->a_row));
    } else if (o->b_row > 0 && b / o->b_row < (uintptr_t)o->b_rows) {
        observe_row(o, t, 0, (int)(b / o->b_row));
    }
    if (o->thread == t->id && o->cta == t->cta->block) {
        if (covers(p, size, o->a_at)) {
            observe_load_of(&o->operand_a, t, site);
        } else if (covers(p, size, o->b_at)) {
            observe_load_of(&o->operand_b, t, site);
        }
    }
}

ON(observe, GLOBAL_ACCESS) { observe_global(e->thread, e->p, e->size, e->write, e->site); }

ON(observe, ATOMIC) {
    if (global_is(e->p)) {
        observe_global(e->thread, e->p, 4, e->atomic != ATOMIC_LOAD, e->site);
    }
}

ON(observe, COPY) {
    if (e->from_size > 0 && global_is(e->from)) {
        observe_global(e->thread, e->from, e->from_size, 0, e->site);
    }
}

static void add_load(ModelObserver *o, const TmaLoad *load, const Barrier *b) {
    LoadFact fact = {
        .bytes = (int)tensor_box_bytes(&load->map), .multicast = load->copy.mask != 0, .place = load->copy.site};
    snprintf(fact.map, sizeof fact.map, "%s", load->map.name != NULL ? load->map.name : "a tensor");
    snprintf(fact.barrier, sizeof fact.barrier, "%s", b->array);
    NOTE(o->load, o->loads, FACT_LOADS, fact, offsetof(LoadFact, barrier));
}

ON(observe, TMA_LOAD) {
    ModelObserver *o = observer();
    const TmaLoad *load = e->load;
    for (int i = 0; i < load->targets; i++) {
        /* A box wholly outside of the matrix reads nothing, and yet is of a tile. */
        if (load->map.base == (uintptr_t)o->a || load->map.base == (uintptr_t)o->b) {
            observe_row(o, e->thread, load->map.base == (uintptr_t)o->a, load->copy.coord[1]);
        }
        add_load(o, load, load->barrier[i]);
    }
    TensorWalk walk = load->walk;
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        if (chunk.end > 0) {
            observe_global(e->thread, tensor_chunk_global(&chunk), (uint32_t)chunk.end, 0, e->site);
        }
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
static void add_store(ModelObserver *o, const Thread *t, const void *p, uint32_t size, uint32_t offset, Site site) {
    if (!covers(p, size, o->c_at) || (o->stored.thread >= 0 && o->store_bytes > 0)) {
        return;
    }
    o->stored = actor_of(t, site);
    o->store_bytes = 0;
    o->store_offset = offset + (uint32_t)((uintptr_t)o->c_at - (uintptr_t)p);
    o->packer = writer_of(t->cta, o->store_offset, &o->packed);
}

ON(observe, TMA_STORE) {
    const TmaCopy *copy = e->copy;
    const Thread *t = e->thread;
    uint32_t box = shared_offset(t->cta, copy->shared);
    TensorWalk walk = tensor_walk_store(copy->map, copy->coord, SHARED_RESERVED + box);
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        if (chunk.end > 0) {
            const void *p = tensor_chunk_global(&chunk);
            add_store(observer(), t, p, (uint32_t)chunk.end, box + chunk.offset, copy->site);
            observe_global(t, p, (uint32_t)chunk.end, 1, copy->site);
        }
    }
}

ON(observe, TMA_STORED) {
    ModelObserver *o = observer();
    const TmaStore *store = e->store;
    if (!o->stop_when_stored || o->stored.thread < 0 || store->copy.add) {
        return;
    }
    TensorWalk walk = tensor_walk_store(&store->map, store->copy.coord, SHARED_RESERVED + store->offset);
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        if (covers(tensor_chunk_global(&chunk), (uint32_t)chunk.end, o->c_at)) {
            model_stop();
        }
    }
}

/* ---- accumulators ------------------------------------------------------------------------------------------------ */

/* From the top of the thread's stack down to its accumulator: the same in all threads that run the same code. */
static size_t depth_of(const Thread *t, const float *d) {
    return (size_t)(t->fiber.stack + FIBER_STACK_BYTES - stack_shift(t->id) - (const uint8_t *)d);
}

static void measure(ModelObserver *o, const Thread *t, const float *d, int count) {
    size_t low = depth_of(t, d), high = low - (size_t)count * sizeof *d;
    if (o->number != NUMBER_NOT || o->thread >= 0) {
        return; /* given */
    }
    o->high = o->low == 0 || high < o->high ? high : o->high;
    o->low = low > o->low ? low : o->low;
}

static int index_of(const ModelObserver *o, const Thread *t, const float *d) {
    return (int)((o->low - depth_of(t, d)) / sizeof *d);
}

static float number_of(const ModelObserver *o, const Thread *t, int index) {
    int number = o->number == NUMBER_INDEX ? index : o->number == NUMBER_THREAD_LOW ? t->id % 256 : t->id / 256;
    return (float)(number + 1);
}

static int is_held_by(const ModelObserver *o, const Thread *t) { return o->thread == t->id && o->cta == t->cta->block; }

static void keep_value(ModelObserver *o, int tile, float value) {
    if (tile >= 0 && tile < FACT_VALUES) {
        o->value[tile] = value;
        o->values = tile + 1;
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

static int is_watched(const ModelObserver *o, const Warp *w) {
    if (o->thread / WARP_SIZE != w->id || o->cta != w->cta->block || o->thread < 0) {
        return 0;
    }
    if (watch.launch != device.sets) {
        watch.launch = device.sets;
        watch.count = watch.mma = 0;
    }
    return 1;
}

ON(observe, WARP_ACCESS) {
    const Warp *w = e->warp;
    if (e->access != ACCESS_LDMATRIX || e->transposes || !is_watched(observer(), w)) {
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
static void trace_mma(ModelObserver *o, const Warp *w, int lane, int v, const uint32_t *const a[WARP_SIZE],
                      const uint32_t *const b[WARP_SIZE], Site site) {
    int row = mma_d_row(lane, v), column = mma_d_column(lane, v);
    Half from_a = find_half(a, 4, mma_a_row, mma_a_k, row, o->a_value);
    Half from_b = find_half(b, 2, b_column, mma_b_k, column, o->b_value);
    if (o->a_at != NULL && from_a.k >= 0 && from_a.k == from_b.k) {
        find_fragment(&o->operand_a, w, a[0], from_a, o->a_value);
        find_fragment(&o->operand_b, w, b[0], from_b, o->b_value);
        o->row = row;
        o->column = column;
        o->n = 8;
        o->product_number = watch.mma;
        o->product_place = site;
    }
}

ON(observe, MMA_DONE) {
    ModelObserver *o = observer();
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        const Thread *t = &e->warp->thread[lane];
        float *d = e->d[lane];
        measure(o, t, d, 4);
        int first = index_of(o, t, d);
        for (int v = 0; v < 4; v++) {
            if (o->number != NUMBER_NOT) {
                d[v] = number_of(o, t, first + v);
            }
            if (is_held_by(o, t) && first + v == o->index && is_watched(o, e->warp)) {
                if (e->type == MATRIX_BF16) {
                    trace_mma(o, e->warp, lane, v, e->a, e->b, e->site);
                }
                keep_value(o, 0, d[v]);
                watch.mma++;
            }
        }
    }
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

ON(observe, WGMMA_ISSUED) {
    ModelObserver *o = observer();
    const Warpgroup *g = e->warpgroup;
    const Product *product = e->product;
    const ProductFact fact = {g->id,       product->n,       product->a,       product->b,   product->type,
                              product->rs, product->a_major, product->b_major, product->site};
    NOTE(o->product, o->products, FACT_PRODUCTS, fact, offsetof(ProductFact, type));
}

/* The element's two bytes in shared memory, by the descriptor; NULL if the traced value is not there. */
static const uint8_t *element_at(const Cta *cta, uint64_t bits, int mn_major, int row, int k, uint16_t value) {
    WgmmaDescriptor descriptor = wgmma_descriptor_decode(bits);
    const uint8_t *p = cta->shared + (wgmma_element_address(&descriptor, mn_major, row, k) - SHARED_RESERVED);
    return memcmp(p, &value, sizeof value) == 0 ? p : NULL;
}

static void trace_product(ModelObserver *o, const Warpgroup *g, const Product *product) {
    const Cta *cta = g->cta;
    for (int k = 0; k < MATRIX_K && !product->rs; k++) {
        const uint8_t *a = element_at(cta, product->a, product->a_major, o->row, k, o->a_value);
        const uint8_t *b = element_at(cta, product->b, product->b_major, o->column, k, o->b_value);
        if (a != NULL && b != NULL) {
            look_at(&o->operand_a, cta, (uint32_t)(a - cta->shared), a, o->a_value);
            look_at(&o->operand_b, cta, (uint32_t)(b - cta->shared), b, o->b_value);
            o->operand_a.descriptor = product->a;
            o->operand_b.descriptor = product->b;
            o->product_number = watch.mma;
            o->tile_number = o->values - 1;
            o->product_place = product->site;
        }
    }
}

ON(observe, WGMMA_DONE) {
    ModelObserver *o = observer();
    const Warpgroup *g = e->warpgroup;
    const Product *product = e->product;
    AccumulatorTile *tile = product->tile;
    for (int i = 0; i < WARPGROUP_SIZE; i++) {
        const Thread *t = &g->cta->thread[g->id * WARPGROUP_SIZE + i];
        measure(o, t, tile->d[i], tile->n / 2);
        int first = index_of(o, t, tile->d[i]);
        for (int v = 0; v < tile->n / 2 && o->number != NUMBER_NOT; v++) {
            tile->tile[wgmma_accumulator_row(i, v) * tile->n + wgmma_accumulator_column(i, v)] =
                number_of(o, t, first + v);
        }
        int v = o->index - first;
        if (is_held_by(o, t) && v >= 0 && v < tile->n / 2 && is_watched(o, t->warp)) {
            int row = wgmma_accumulator_row(i, v), column = wgmma_accumulator_column(i, v);
            watch.mma = product->accumulate ? watch.mma + 1 : 0;
            o->values += !product->accumulate;
            keep_value(o, o->values - 1, tile->tile[row * tile->n + column]);
            if (o->a_at != NULL && !o->operand_a.found && product->type == MATRIX_BF16) {
                o->row = row;
                o->column = column;
                o->n = tile->n;
                trace_product(o, g, product);
            }
        }
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *model_place_text(ModelPlace place, char *text, size_t size) { return site_text(place, text, size); }
const char *model_place_source(ModelPlace place, char *text, size_t size) { return site_source(place, text, size); }

const char *model_shared_name(const ModelObserver *seen, uint32_t offset, char *text, size_t size) {
    text[0] = '\0';
    return seen->shared_type == NULL
               ? text
               : layout_text(seen->shared_file, seen->shared_type, seen->shared_variable, offset, text, size);
}

int model_shared_members(const ModelObserver *seen, ModelMember *list, int most, uint64_t *size) {
    *size = 0;
    return seen->shared_type == NULL ? 0 : layout_members(seen->shared_file, seen->shared_type, list, most, size);
}
