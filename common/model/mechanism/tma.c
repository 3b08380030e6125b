/* tma.c - the copy engine: boxes of tensors, and ranges of bytes, into and out of shared memory.
 *
 * A copy is an agent. A load brings its box in pieces, in whatever order the schedule has, and counts them on its
 * barrier; until then the box holds NaN. A store reads shared memory at one moment and writes global memory at a later
 * one: two events, with a wait for each. */
#include "tma.h"

#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

enum { PIECE_CHUNKS = 1024 / CHUNK_BYTES };

GemmStatus model_tensor_map_nd(TensorMap *map, const char *name, int type, int rank, const void *base,
                               const uint64_t *size, const uint64_t *stride, const uint32_t *box, int swizzle,
                               GemmError *error) {
    char why[200];
    if (tensor_map_encode(map, type, rank, base, size, stride, box, swizzle, why, sizeof why) == 0) {
        tensor_map_name(map, name);
        POST(TENSOR_MAP, .map = map);
        return GEMM_OK;
    }
    return gemm_fails(error, GEMM_DEVICE,
                      "the tensor map of %s is refused: %s (rank %d, element type %d, at %p, swizzle %d)", name, why,
                      rank, type, base, swizzle);
}

GemmStatus model_tensor_map_2d(TensorMap *map, const char *name, const bf16 *base, int rows, int cols, int ld,
                               int box_rows, int box_cols, int swizzle, GemmError *error) {
    if (rows < 1 || cols < 1 || ld < 0 || box_rows < 1 || box_cols < 1) {
        return gemm_fails(
            error, GEMM_DEVICE,
            "the tensor map of %s is refused: %d x %d elements, row pitch %d, box %d x %d: all must be positive", name,
            rows, cols, ld, box_rows, box_cols);
    }
    const uint64_t size[2] = {(uint64_t)cols, (uint64_t)rows}, stride[1] = {(uint64_t)ld * sizeof(bf16)};
    const uint32_t box[2] = {(uint32_t)box_cols, (uint32_t)box_rows};
    return model_tensor_map_nd(map, name, TENSOR_BFLOAT16, 2, base, size, stride, box, swizzle, error);
}

void model_tma_prefetch_map(const TensorMap *map, const char *here) {
    POST(TENSOR_MAP_PREFETCH, .map = map, .site = site_of(here));
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

static void load_step(Agent *agent, int whole) {
    TmaLoad *load = (TmaLoad *)(void *)agent;
    uint32_t chunks = tensor_box_bytes(&load->map) / CHUNK_BYTES;
    /* Pieces of whole KB: --barriers then reads like the talk's slides. */
    uint32_t wanted = whole ? chunks : PIECE_CHUNKS * (1 + random_below((chunks + PIECE_CHUNKS - 1) / PIECE_CHUNKS));
    uint32_t moved = 0;
    TensorChunk chunk;
    int more = 1;
    while (moved < wanted && (more = tensor_next(&load->walk, &chunk))) {
        uint8_t *first = load->target[0]->shared + load->offset + chunk.offset;
        tensor_chunk_load(&chunk, first);
        for (int i = 1; i < load->targets; i++) {
            memcpy(load->target[i]->shared + load->offset + chunk.offset, first, CHUNK_BYTES);
        }
        moved++;
    }
    TensorWalk rest = load->walk;
    const char *name = load->map.name != NULL ? load->map.name : "";
    for (int i = 0; i < load->targets && moved > 0; i++) {
        mbarrier_land(load->barrier[i], moved * CHUNK_BYTES, name, load->target[i]->shared + load->offset);
    }
    if (!more || !tensor_next(&rest, &chunk)) {
        flight_end(&load->flight);
    }
}

/* Nobody finds anything in the box until the load has brought it. Between its rows may lie what is not part of it. */
static void poison(const TmaLoad *load) {
    uint32_t span = tensor_box_span(&load->map);
    for (int i = 0; i < load->targets; i++) {
        uint8_t *box = load->target[i]->shared + load->offset;
        if (span == tensor_box_bytes(&load->map)) {
            memset(box, 0xff, span);
            continue;
        }
        TensorChunk chunk;
        for (TensorWalk walk = load->walk; tensor_next(&walk, &chunk);) {
            memset(box + chunk.offset, 0xff, CHUNK_BYTES);
        }
    }
}

static void start_load(TmaCopy copy) {
    Thread *t = copy.thread = current_thread();
    Cluster *cluster = t->cta->cluster;
    POST(TMA_LOAD_ASKED, .thread = t, .copy = &copy, .site = copy.site);
    Cta *target[CLUSTER_LIMIT];
    Barrier *barrier[CLUSTER_LIMIT];
    int targets = 0;
    for (int i = 0; i < cluster->size; i++) {
        Cta *cta = cluster->cta[i];
        if (copy.mask == 0 ? cta == t->cta : copy.mask >> i & 1) {
            target[targets] = cta;
            barrier[targets++] = mbarrier_reach(t, copy.pair ? i & ~1 : i, copy.bar, copy.site, copy.what, 1);
        }
    }
    TmaLoad *load = flight_begin(sizeof *load, t, GROUP_KINDS, load_step);
    load->map = *copy.map;
    load->copy = copy;
    load->copy.map = &load->map;
    load->offset = shared_offset(t->cta, copy.shared);
    load->walk = tensor_walk(&load->map, copy.coord, SHARED_RESERVED + load->offset);
    load->targets = targets;
    memcpy(load->target, target, sizeof target);
    memcpy(load->barrier, barrier, sizeof barrier);
    POST(TMA_LOAD, .thread = t, .load = load, .what = copy.what, .site = copy.site);
    poison(load);
}

void model_tma_load(void *dst, const TensorMap *map, int rank, int c0, int c1, int c2, int c3, int c4, void *bar,
                    int mask, const char *here) {
    start_load((TmaCopy){.what = mask & MODEL_PAIR ? "TMA load of a pair" : "TMA load",
                         .map = map,
                         .rank = rank,
                         .coord = {c0, c1, c2, c3, c4},
                         .shared = dst,
                         .bar = bar,
                         .mask = mask & ~MODEL_PAIR,
                         .pair = mask / MODEL_PAIR,
                         .site = site_of(here)});
}

/* A range of global memory as a tensor. */
static TmaCopy bulk_copy(TensorMap *range, const char *what, const void *shared, const void *global, int bytes,
                         void *bar, const char *here) {
    Site site = site_of(here);
    POST(BULK_COPY, .thread = current_thread(), .p = shared, .from = global, .size = bytes, .what = what, .site = site);
    tensor_map_range(range, global, (uint32_t)bytes);
    return (TmaCopy){.what = what, .rank = 1, .map = range, .shared = shared, .bar = bar, .site = site};
}

void model_bulk_load(void *dst, const void *src, int bytes, void *bar, const char *here) {
    TensorMap range;
    start_load(bulk_copy(&range, "bulk load", dst, src, bytes, bar, here));
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

static void store_read(TmaStore *store) {
    if (!store->read) {
        memcpy(store->data, store->copy.thread->cta->shared + store->offset, tensor_box_span(&store->map));
        store->read = 1;
    }
}

static void store_write(TmaStore *store) {
    store_read(store);
    TensorChunk chunk;
    for (TensorWalk walk = tensor_walk_store(&store->map, store->copy.coord, SHARED_RESERVED + store->offset);
         tensor_next(&walk, &chunk);) {
        if (store->copy.add) {
            tensor_chunk_add(&store->map, &chunk, store->data + chunk.offset);
        } else {
            tensor_chunk_store(&chunk, store->data + chunk.offset);
        }
    }
    POST(TMA_STORED, .thread = store->copy.thread, .store = store);
    flight_end(&store->flight);
}

static void store_step(Agent *agent, int whole) {
    TmaStore *store = (TmaStore *)(void *)agent;
    if (!store->read && !whole) {
        store_read(store);
    } else {
        store_write(store);
    }
}

static void start_store(TmaCopy copy) {
    Thread *t = copy.thread = current_thread();
    POST(TMA_STORE, .thread = t, .copy = &copy, .site = copy.site);
    TmaStore *store = flight_begin(sizeof *store + tensor_box_span(copy.map), t, GROUP_READS, store_step);
    store->map = *copy.map;
    store->copy = copy;
    store->copy.map = &store->map;
    store->offset = shared_offset(t->cta, copy.shared);
}

void model_tma_store(const TensorMap *map, const void *src, int rank, int c0, int c1, int c2, int c3, int c4, int add,
                     const char *here) {
    start_store((TmaCopy){.what = "TMA store",
                          .map = map,
                          .rank = rank,
                          .coord = {c0, c1, c2, c3, c4},
                          .shared = src,
                          .add = add,
                          .site = site_of(here)});
}

void model_bulk_store(void *dst, const void *src, int bytes, const char *here) {
    TensorMap range;
    start_store(bulk_copy(&range, "bulk store", src, dst, bytes, NULL, here));
}

/* Stores lie in READS, and WRITES counts along. */
void model_bulk_commit_group(const char *here) {
    Thread *t = current_thread();
    (void)here;
    POST(BULK_COMMIT, .thread = t);
    groups_close(&t->groups[GROUP_READS]);
    groups_close(&t->groups[GROUP_WRITES]);
    thread_pause(t);
}

static void finish_read(Flight *flight) { store_read((TmaStore *)(void *)flight); }
static void finish_write(Flight *flight) { store_write((TmaStore *)(void *)flight); }

void model_bulk_wait_group(int newest, int read, const char *here) {
    Thread *t = current_thread();
    uint32_t done = groups_covered(&t->groups[GROUP_READS], newest);
    POST(BULK_WAIT, .thread = t, .newest = newest, .read = read, .done = done, .site = site_of(here));
    flights_finish(t, GROUP_READS, done, read ? finish_read : finish_write);
    groups_waited(&t->groups[GROUP_READS], done);
    if (!read) {
        groups_waited(&t->groups[GROUP_WRITES], done);
    }
    thread_pause(t);
}

_Static_assert(MODEL_FENCE_SHARED == 1u << SPACE_SHARED && MODEL_FENCE_GLOBAL == 1u << SPACE_GLOBAL, "as model.h says");
void model_fence_proxy(ModelFence spaces) { POST(FENCE_PROXY, .thread = current_thread(), .spaces = spaces); }
