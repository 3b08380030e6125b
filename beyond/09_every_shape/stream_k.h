/* stream_k.h - Stream-K for the cooperative kernel: the last waves' k-tiles are divided evenly, so no SM idles. Only
 * experiments/stream_k.patch uses it; notes.md has the gain.
 *
 * All tiles' k-tiles form a row, tile after tile. Whole waves except the last are computed as usual. The rest of the
 * row is cut into as many equal runs as there are CTAs. A run may begin inside a tile: its CTA then sends the sums
 * of that piece to the CTA that has the tile's first k-tile, which adds them up and stores the tile. All CTAs have to
 * run at the same time. */
#ifndef STREAM_K_H
#define STREAM_K_H

enum { STREAM_FLAGS = 4096 }; /* bytes of the workspace before the sums: a flag for each consumer */

/* A role's loop over the pieces of tiles. */
typedef struct {
    Tile tile;                    /* of the piece */
    int k_first, k_step, k_tiles; /* its first k-tile, 1, and how many it has */
    int index, tiles;             /* the tile's number, and how many there are: after the last piece no less */
    int next, step, whole;        /* the next whole tile, from one to the next, and how many there are */
    int at, end, base;            /* what is left of the run, counted in k-tiles from tile `base` on */
    int of_tile;                  /* k-tiles of a tile */
} Work;

/* The start of this CTA's run, in k-tiles. */
DEVICE int run_begin(int cta, int k_tiles) { return (int)((long long)k_tiles * cta / gridDim.x); }

DEVICE int stream_length(int tiles, int of_tile) {
    int ctas = (int)gridDim.x, whole = tiles % ctas == 0 ? tiles / ctas : tiles / ctas - 1;
    return (tiles - (whole > 0 ? whole : 0) * ctas) * of_tile;
}

DEVICE Work stream_work(int tiles, int of_tile) {
    int length = stream_length(tiles, of_tile), cta = (int)blockIdx.x, ctas = (int)gridDim.x;
    int base = tiles - length / of_tile;
    Work work = {.k_step = 1, .tiles = tiles, .next = cta, .step = ctas, .whole = base / ctas, .base = base};
    work.at = run_begin(cta, length), work.end = run_begin(cta + 1, length), work.of_tile = of_tile;
    return work;
}

/* Goes on to the next piece. */
DEVICE void next_tile(const Params *p, Work *work) {
    if (work->whole > 0) {
        work->whole--;
        work->index = work->next, work->k_first = 0, work->k_tiles = work->of_tile;
        work->next += work->step;
    } else {
        work->index = work->base + work->at / work->of_tile, work->k_first = work->at % work->of_tile;
        work->k_tiles = min_int(work->of_tile - work->k_first, work->end - work->at);
        work->at += work->k_tiles;
        work->index = work->k_tiles > 0 ? work->index : work->tiles;
    }
    if (work->index < work->tiles) {
        work->tile = tile_at(work->index, p->tiles_m, p->tiles_n, p->group);
    }
}

/* The sums that consumer `consumer` of a CTA sends, four for each of `count` / 4 places and each thread; and its
 * flag. */
DEVICE float4 *sums_of(char *workspace, int cta, int consumer, int consumers, int count) {
    return (float4 *)(workspace + STREAM_FLAGS) + (size_t)(cta * consumers + consumer) * (count / 4) * 128;
}
DEVICE int *flag_of(char *workspace, int cta, int consumer) { return (int *)workspace + 4 + cta * 4 + consumer; }

/* A consumer sends its sums of a piece that does not begin its tile. */
DEVICE void send_sums(char *workspace, int consumer, int consumers, const float *acc, const int count) {
    float4 *to = sums_of(workspace, (int)blockIdx.x, consumer, consumers, count) + threadIdx.x % 128;
    UNROLL
    for (int i = 0; i < count / 4; i++) {
        to[i * 128] = make_float4(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
    }
    /* The thread that raises the flag waits for the sums of all others. */
    named_barrier_sync(1 + consumer, 128);
    if (threadIdx.x % 128 == 0) {
        /* Releases the sums to the thread of another CTA that acquires the flag. */
        global_store(release, flag_of(workspace, (int)blockIdx.x, consumer), 1);
    }
}

/* A consumer adds the sums of the CTAs that have the rest of its tile, in their order, and leaves zeros there.
 * `covered` is the end of this CTA's own piece, in k-tiles of the row. */
DEVICE void add_rest(char *workspace, int consumer, int consumers, float *acc, const int count, int covered, int length,
                     int of_tile) {
    int tile_end = (covered / of_tile + 1) * of_tile;
    for (int cta = (int)blockIdx.x + 1; covered < tile_end; cta++) {
        float4 *from = sums_of(workspace, cta, consumer, consumers, count) + threadIdx.x % 128;
        if (threadIdx.x % 128 == 0) {
            /* Waits until the other CTA has sent its sums. */
            while (global_load(acquire, flag_of(workspace, cta, consumer)) == 0) {
            }
            global_store(relaxed, flag_of(workspace, cta, consumer), 0);
        }
        /* The other threads wait for the thread that has seen the flag. */
        named_barrier_sync(1 + consumer, 128);
        UNROLL
        for (int i = 0; i < count / 4; i++) {
            float4 v = from[i * 128];
            acc[4 * i] += v.x, acc[4 * i + 1] += v.y, acc[4 * i + 2] += v.z, acc[4 * i + 3] += v.w;
            from[i * 128] = make_float4(0, 0, 0, 0);
        }
        covered = run_begin(cta + 1, length);
    }
}

#endif
