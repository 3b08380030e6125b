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
    seen->ctas_per_sm = device.launch->ctas_per_sm;
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

ON(observe, MBARRIER_INIT) {
    BarrierFact fact = {.count = (int)e->amount, .arrivals = b->expected, .offset = b->offset, .place = e->site};
    snprintf(fact.name, sizeof fact.name, "%s", b->array);
    NOTE(seen->barrier, seen->barriers, FACT_BARRIERS, fact, sizeof fact.name);
}

ON(observe, MBARRIER_ANNOUNCED) {
    for (BarrierFact *fact = seen->barrier; fact < seen->barrier + seen->barriers; fact++) {
        if (strcmp(fact->name, b->array) == 0 && e->amount > fact->bytes) {
            fact->bytes = (int)e->amount;
        }
    }
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
        Doer *load = covers(p, size, seen->a_at)   ? &seen->operand_a.load
                     : covers(p, size, seen->b_at) ? &seen->operand_b.load
                                                   : NULL;
        if (load != NULL && load->thread < 0) {
            *load = actor_of(t, site);
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

static void look_at(OperandFact *operand, const Cta *cta, uint32_t offset) {
    *operand = (OperandFact){.found = 1, .offset = offset};
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

/* Notes where the thread's accumulators are on its stack. */
static void measure(const Thread *t, const float *d, int count) {
    size_t low = depth_of(t, d), high = low - (size_t)count * sizeof *d;
    if (seen->a_at == NULL && seen->thread < 0) { /* otherwise they are given */
        seen->high = seen->low == 0 || high < seen->high ? high : seen->high;
        seen->low = low > seen->low ? low : seen->low;
    }
}

static int index_of(const Thread *t, const float *d) { return (int)((seen->low - depth_of(t, d)) / sizeof *d); }

/* A product has left this value in accumulator v of the thread's at d. */
static void look(const Thread *t, const float *d, int v, float *value, int tile) {
    const int is_mine = seen->thread == t->id && seen->cta == t->cta->block && index_of(t, d) + v == seen->index;
    if (is_mine && tile < FACT_VALUES) {
        seen->value[tile] = *value;
        seen->values = tile + 1;
    }
    *value = seen->mark == 0 ? *value : is_mine ? seen->mark : 1;
}

/* Of the CTA whose products are traced, or which has the accumulator that is observed. */
static struct {
    uint32_t launch;
    /* By warp, of A and of B: lane 0's register that an ldmatrix has filled with the traced element; NULL: none. */
    struct {
        const uint32_t *r;
        OperandFact operand;
    } got[WARP_LIMIT][2];
    int mma[WARP_LIMIT][128]; /* products, by lane 0's accumulators */
    struct {
        int products, tiles; /* of the tile in progress; so far */
    } wgmma[WARPGROUP_LIMIT][ACCUMULATOR_TILES];
} watch;

static int is_watched(const Cta *cta) {
    if (watch.launch != device.sets) {
        memset(&watch, 0, sizeof watch);
        watch.launch = device.sets;
    }
    return seen->cta == cta->block && (seen->a_at != NULL || seen->thread >= 0);
}

static int holds(const void *p, uint16_t value) { return memcmp(p, &value, sizeof value) == 0; }

/* Are these the operands of the product? If a kernel has copies of an edge row in the rows after it, the row itself is
 * the first in shared memory. */
static int takes(const OperandFact *a, const OperandFact *b) {
    const int first =
        !seen->operand_a.found || (a->offset <= seen->operand_a.offset && b->offset <= seen->operand_b.offset);
    if (a->found && b->found && first) {
        seen->operand_a = *a;
        seen->operand_b = *b;
    }
    return a->found && b->found && first;
}

/* The product adds to D(row, column), accumulator v of the thread's at d. */
static void note_product(const Thread *t, const float *d, int v, int row, int column, int n, Site site) {
    seen->thread = t->id;
    seen->index = index_of(t, d) + v;
    seen->row = row;
    seen->column = column;
    seen->n = n;
    seen->product_place = site;
}

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

ON(observe, WARP_ACCESS) {
    for (int of = 0; of < 2 && e->access == ACCESS_LDMATRIX && seen->a_at != NULL; of++) {
        for (int i = 0; i < WARP_SIZE * 8 && is_watched(w->cta); i++) {
            const int lane = i / 8, x = i % 8; /* the lane that supplies the row's address; the element of the row */
            const uint16_t *p = (const uint16_t *)e->rows[lane] + x;
            const uint32_t **r = &watch.got[w->id][of].r, offset = shared_offset(w->cta, p);
            OperandFact *operand = &watch.got[w->id][of].operand;
            if (holds(p, of == 0 ? seen->a_value : seen->b_value) && (*r == NULL || offset < operand->offset)) {
                look_at(operand, w->cta, offset);
                operand->ldmatrix = e->site;
                operand->address_lane = lane;
                operand->lane = lane % 8 * 4 + x / 2;
                operand->half = x % 2;
                *r = e->registers[0] + lane / 8;
            }
        }
    }
}

/* What the warp has loaded of an operand; `found` if it is in these registers, which are given for each lane. */
static OperandFact operand_in(const Warp *w, int of, const uint32_t *const *r, int registers, uint16_t value) {
    OperandFact operand = watch.got[w->id][of].operand;
    const uintptr_t at = ((uintptr_t)watch.got[w->id][of].r - (uintptr_t)r[0]) / sizeof **r;
    operand.reg = at < (uintptr_t)registers ? (int)at : 0;
    operand.found &= at < (uintptr_t)registers && (uint16_t)(r[operand.lane][at] >> 16 * operand.half) == value;
    return operand;
}

ON(observe, MMA_DONE) {
    int *number = &watch.mma[w->id][(uintptr_t)e->d[0] / 16 % 128];
    if (is_watched(w->cta)) {
        const OperandFact a = operand_in(w, 0, e->a, 4, seen->a_value), b = operand_in(w, 1, e->b, 2, seen->b_value);
        const int row = mma_a_row(a.lane, a.reg), column = mma_b_column(b.lane), lane = row % 8 * 4 + column / 2;
        if (takes(&a, &b)) {
            note_product(&w->thread[lane], e->d[lane], row / 8 * 2 + column % 2, row, column, 8, e->site);
            seen->product_number = *number;
        }
        ++*number;
    }
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        measure(&w->thread[lane], e->d[lane], 4);
        for (int v = 0; v < 4; v++) {
            look(&w->thread[lane], e->d[lane], v, &e->d[lane][v], 0);
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

/* The traced element, if the descriptor finds it in this row of the operand. */
static OperandFact operand_at(const Cta *cta, uint64_t bits, int mn_major, int row, uint16_t value) {
    const WgmmaDescriptor descriptor = wgmma_descriptor_decode(bits);
    OperandFact operand = {.found = 0};
    for (int k = 0; k < MATRIX_K; k++) {
        const uint32_t offset = wgmma_element_address(&descriptor, mn_major, row, k) - SHARED_RESERVED;
        if (holds(cta->shared + offset, value)) {
            look_at(&operand, cta, offset);
            operand.descriptor = bits;
        }
    }
    return operand;
}

ON(observe, WGMMA_DONE) {
    const Warpgroup *g = e->warpgroup;
    const Product *product = e->product;
    const AccumulatorTile *tile = product->tile;
    const int watched = is_watched(g->cta), of_bf16 = product->type == MATRIX_BF16 && !product->rs;
    int *products = &watch.wgmma[g->id][tile - g->products->tile].products;
    int *tiles = &watch.wgmma[g->id][tile - g->products->tile].tiles;
    const int is_first = !product->accumulate || *tiles == 0; /* sums may also start from zeros in registers */
    *products = watched && !is_first ? *products + 1 : 0;
    *tiles += watched && is_first;
    for (int i = 0; i < WARPGROUP_SIZE; i++) {
        const Thread *t = &g->cta->thread[g->id * WARPGROUP_SIZE + i];
        measure(t, tile->d[i], tile->n / 2);
        for (int v = 0; (watched || seen->mark != 0) && v < tile->n / 2; v++) {
            const int row = wgmma_accumulator_row(i, v), column = wgmma_accumulator_column(i, v);
            float *value = &tile->tile[row * tile->n + column];
            if (watched && of_bf16 && seen->a_at != NULL && *value != 0) { /* all other sums are 0 */
                const OperandFact a = operand_at(g->cta, product->a, product->a_major, row, seen->a_value),
                                  b = operand_at(g->cta, product->b, product->b_major, column, seen->b_value);
                if (takes(&a, &b)) {
                    note_product(t, tile->d[i], v, row, column, tile->n, product->site);
                    seen->product_number = *products;
                    seen->tile_number = *tiles - 1;
                }
            }
            look(t, tile->d[i], v, value, *tiles - 1);
        }
    }
}
