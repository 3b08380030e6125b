/* draw_08.c - four schedules beside each other, the turns of the consumers, the order of tiles; from pipeline.h,
 * tile_order.h and a schedule that is computed here. */
#include "picture.h"

#include <stdio.h>
#include <string.h>

#include "device/pipeline.h"
#include "device/tile_order.h"

static const char source[] = "08_persistent_pingpong/08_persistent_pingpong.cu";

/* ---- schedules: what one SM does, step by step ---- */

/* In units of time, for the widest tile: one load at a time. A stage is free when its math is over. The tensor cores do
 * one k-tile at a time, in the order of issue; a consumer issues the next k-tile when the one before the last is over
 * (wgmma_wait_group(1)). */
enum { UNIT = 20, LOAD = 5 * UNIT / 2, MATH = 3 * UNIT, EPILOGUE = 5 * UNIT, K_TILES = 4, TILES = 6 };
enum { MAX_TILES = 2 * TILES, NEVER = 1 << 20 };

typedef struct {
    const char *name, *remark[2];
    int workers;    /* consumers, or CTAs on the SM, that have tiles of their own: tile i is worker i % workers' */
    int rings;      /* they share the ring, or each CTA has its own, and tiles of half the columns */
    int persistent; /* loads go on to the next tile; else they begin when the tile before has been stored */
    int stages, tiles, load, math, epilogue; /* of a ring; of all CTAs; of a k-tile; of a tile (measure()) */
} Schedule;

typedef struct {
    int load[MAX_TILES][K_TILES], issue[MAX_TILES][K_TILES], math[MAX_TILES][K_TILES]; /* when each begins */
    int handed_on[MAX_TILES]; /* the turn, behind the last issue */
    int epilogue[MAX_TILES];
    int end;
} Times;

enum { RING_KB = 192 };

static int stages_of(int kilobytes, int bm, int bn) {
    int fit = kilobytes * 1024 / ((bm + bn) * constant(source, "BK") * 2), most = constant(source, "MAX_STAGES");
    return fit < most ? fit : most;
}

/* Fills in what follows from the tile: a CTA that shares the SM has half of the ring, and half of the accumulators, so
 * half of the columns. */
static void measure(Schedule *s) {
    int bm = constant(source, "BM"), bn = constant(source, "MAX_BN");
    s->stages = stages_of(RING_KB / s->rings, bm, bn / s->rings);
    s->tiles = TILES * s->rings;
    s->load = (2 * LOAD * (bm + bn / s->rings) + bm + bn) / (2 * (bm + bn)); /* rounded */
    s->math = MATH / s->rings;
    s->epilogue = EPILOGUE / s->rings;
}

/* Whether tile's epilogue is over at `now`; a tile before the first has none. */
static int is_stored(const Schedule *s, const Times *t, int tile, int now) {
    return tile < 0 || t->epilogue[tile] + s->epilogue <= now;
}

/* One load may begin if none is under way. */
static void begin_load(const Schedule *s, Times *t, int now) {
    for (int i = 0; i < s->tiles * K_TILES; i++) {
        int begun = t->load[i / K_TILES][i % K_TILES];
        if (begun != NEVER && begun + s->load > now) {
            return;
        }
    }
    for (int tile = 0; tile < s->tiles; tile++) {
        for (int k = 0; k < K_TILES; k++) {
            int place = tile / s->rings * K_TILES + k; /* in its ring */
            int before = place - 1, freed = place - s->stages;
#define AT(what, place) t->what[(place) / K_TILES * s->rings + tile % s->rings][(place) % K_TILES]
            if (t->load[tile][k] == NEVER && (before < 0 || AT(load, before) != NEVER) &&
                (freed < 0 || AT(math, freed) + s->math <= now) &&
                (s->persistent || is_stored(s, t, tile - s->workers, now))) {
                t->load[tile][k] = now;
                return;
            }
#undef AT
        }
    }
}

/* All that consumers may issue; the turn follows the last k-tile of a tile. Returns whether there was anything. */
static int issue(const Schedule *s, Times *t, int now) {
    int found = 0, turns = s->workers > s->rings;
    for (int tile = 0; tile < s->tiles; tile++) {
        int has_turn = !turns || tile == 0 || t->handed_on[tile - 1] <= now;
        for (int k = 0; k < K_TILES; k++) {
            int follows = k == 0 ? has_turn && is_stored(s, t, tile - s->workers, now) : t->issue[tile][k - 1] <= now;
            if (t->issue[tile][k] == NEVER && follows && t->load[tile][k] + s->load <= now &&
                (k < 2 || t->math[tile][k - 2] + s->math <= now)) {
                t->issue[tile][k] = now;
                found = 1;
            }
        }
        if (t->handed_on[tile] == NEVER && t->issue[tile][K_TILES - 1] <= now &&
            t->math[tile][K_TILES - 2] + s->math <= now) {
            t->handed_on[tile] = now;
            found = 1;
        }
        if (t->epilogue[tile] == NEVER && t->math[tile][K_TILES - 1] + s->math <= now) {
            t->epilogue[tile] = now;
            t->end = t->end > now + s->epilogue ? t->end : now + s->epilogue;
            found = 1;
        }
    }
    return found;
}

/* The tensor cores take what was issued first, if they are free. */
static void begin_math(const Schedule *s, Times *t, int now) {
    int *first = NULL, issued = NEVER;
    for (int i = 0; i < s->tiles * K_TILES; i++) {
        int *begun = &t->math[i / K_TILES][i % K_TILES], when = t->issue[i / K_TILES][i % K_TILES];
        if (*begun != NEVER && *begun + s->math > now) {
            return;
        }
        if (*begun == NEVER && when < issued) {
            issued = when;
            first = begun;
        }
    }
    if (first) {
        *first = now;
    }
}

static Times schedule(const Schedule *s) {
    Times t;
    int *all = (int *)&t, stored = 0;
    for (size_t i = 0; i < sizeof t / sizeof *all; i++) {
        all[i] = NEVER;
    }
    t.end = 0;
    for (int now = 0; stored < s->tiles; now++) {
        need(now < 10000, "a schedule does not come to an end");
        while (issue(s, &t, now)) {
        }
        begin_load(s, &t, now);
        begin_math(s, &t, now);
        while (issue(s, &t, now)) {
        }
        stored = 0;
        for (int tile = 0; tile < s->tiles; tile++) {
            stored += t.epilogue[tile] != NEVER;
        }
    }
    return t;
}

/* Bars of one tile, where they touch as one. */
static void bars(const char *class, const int *begins, int length, int x, int y, int scale, int height, int tile) {
    for (int k = 0; k < K_TILES; k++) {
        int first = begins[k];
        while (k + 1 < K_TILES && begins[k + 1] == begins[k] + length) {
            k++;
        }
        int left = x + first * scale / UNIT, right = x + (begins[k] + length) * scale / UNIT;
        box(class, left, y, right - left, height);
        if (right - left > 14) {
            text("t s c", (left + right) / 2, y + height / 2 + 4, "%d", tile);
        }
    }
}

static Times draw_schedule(const Schedule *s, int x, int y, int scale) {
    enum { LANE = 13, MIDDLE = 20 };
    Times t = schedule(s);
    int tensor = y + LANE + 3, epilogue = tensor + MIDDLE + 3, shares = s->workers == 2, width = t.end * scale / UNIT;
    text("t h", MARGIN, y + 11, "%s", s->name);
    paragraph("m s", MARGIN, y + 27, 14, "%s\n%s", s->remark[0], s->remark[1]);
    text("m s e", x - 6, y + 10, "loads");
    text("m s e", x - 6, tensor + 14, "tensor cores");
    text("m s e", x - 6, epilogue + 10, "epilogue");
    box("wait", x, tensor, width, MIDDLE);
    for (int tile = 0; tile < s->tiles; tile++) {
        int left = x + t.epilogue[tile] * scale / UNIT, right = x + (t.epilogue[tile] + s->epilogue) * scale / UNIT;
        bars("load", t.load[tile], s->load, x, y, scale, LANE, tile);
        bars("math", t.math[tile], s->math, x, tensor, scale, MIDDLE, tile);
        box("epi", left, epilogue + (shares && tile % 2 ? 7 : 0), right - left, shares ? 7 : LANE);
        if (!shares) {
            text("t s c", (left + right) / 2, epilogue + 10, "%d", tile);
        }
    }
    text("m s", x + width + 8, y + 10, "%d %%", 100 * s->tiles * K_TILES * s->load / t.end);
    text("t h", x + width + 8, tensor + 14, "%d %%", 100 * s->tiles * K_TILES * s->math / t.end);
    return t;
}

/* The first tiles of ping-pong: stages, who waits, who multiplies, who hands on. */
static void draw_detail(const Schedule *s, int left, int y, int scale) {
    enum { SHOWN = 3, RING = 15, LANE = 22 };
    Times t = schedule(s);
    int tensor = y + s->stages * RING + 8, lane[2] = {tensor + LANE + 12, tensor + LANE + 12 + LANE + 32};
#define X(time) (left + (time)*scale / UNIT)
    for (int i = 0; i < s->stages; i++) {
        text("m s e", left - 6, y + i * RING + 11, "stage %d", i);
    }
    text("t h e", left - 6, tensor + 15, "tensor cores");
    PipelineState state = producer_start_state();
    for (int tile = 0; tile < SHOWN; tile++) {
        for (int k = 0; k < K_TILES; k++) {
            int at = X(t.load[tile][k]), loaded = X(t.load[tile][k] + LOAD), read = X(t.math[tile][k] + MATH);
            int top = y + state.index * RING, math = X(t.math[tile][k]);
            box("n", at, top, read - at, RING - 3);
            colour(state.index + (state.phase ? 0 : 4), at, top, loaded - at, RING - 3);
            text("t s c", (at + loaded) / 2, top + 10, "%d", tile * K_TILES + k);
            cell("math", math, tensor, read - math, LANE, "t s c", 15, "%d", tile * K_TILES + k);
            pipeline_advance(&state, s->stages);
        }
    }
    int cut = t.epilogue[SHOWN - 1] + EPILOGUE;
    for (int consumer = 0; consumer < 2; consumer++) {
        text("t h e", left - 6, lane[consumer] + 15, "consumer %d", consumer);
        int free = 0;
        for (int tile = consumer; tile <= SHOWN; tile += 2) {
            int over = t.math[tile][K_TILES - 1] + MATH, first = t.issue[tile][0] < cut ? t.issue[tile][0] : cut;
            if (first > free) {
                box("wait", X(free), lane[consumer], X(first) - X(free), LANE);
                if (tile > 0) {
                    text("m s c", X((free + first) / 2), lane[consumer] + 15,
                         first - free > 8 * UNIT ? "waits for turn[%d]" : "turn[%d]", consumer);
                }
            }
            if (tile >= SHOWN) {
                continue;
            }
            cell("math", X(first), lane[consumer], X(over) - X(first), LANE, "t s c", 15, "math of tile %d", tile);
            box("epi", X(over), lane[consumer], X(over + EPILOGUE) - X(over), LANE);
            text("t s c", X(over + EPILOGUE / 2), lane[consumer] + 15, "store tile %d", tile);
            free = over + EPILOGUE;
            need(t.math[tile][K_TILES - 1] == t.handed_on[tile], "the turn is not handed on when the last math begins");
            need(t.math[tile + 1][0] == over, "there is a gap between two tiles");
            arrow("lead", X(t.handed_on[tile]), consumer == 0 ? lane[0] + LANE : lane[1], X(t.handed_on[tile]),
                  consumer == 0 ? lane[1] : lane[0] + LANE);
            text("t s", X(t.handed_on[tile]) + 6, lane[0] + LANE + 20, "turn[%d], phase %d complete", 1 - consumer,
                 tile / 2);
        }
    }
#undef X
}

PICTURE(schedules) {
    enum { LEFT = 292, SCALE = 5, TOP = 92, ROW = 68, ROWS = 4, DETAIL = TOP + ROWS * ROW + 50 };
    Schedule s[ROWS] = {
        {.name = "One CTA, one tile (07)",
         .remark = {"the tensor cores wait for the first", "load, and again for the epilogue"},
         .workers = 1,
         .rings = 1},
        {.name = "Two CTAs on the SM",
         .remark = {"each fills gaps of the other, but", "half as wide tiles load more bytes"},
         .workers = 2,
         .rings = 2},
        {.name = "Persistent CTA",
         .remark = {"the next tile's loads run under the", "epilogue, its math does not"},
         .workers = 1,
         .rings = 1,
         .persistent = 1},
        {.name = "Persistent, ping-pong (08)",
         .remark = {"one consumer stores, the other", "multiplies: no gap is left"},
         .workers = 2,
         .rings = 1,
         .persistent = 1},
    };
    int end_of[ROWS];
    for (int i = 0; i < ROWS; i++) {
        measure(&s[i]);
    }
    begin("08_persistent_pingpong/pingpong.svg", DETAIL + 236,
          "One CTA, two CTAs, a persistent CTA, ping-pong: what the tensor cores wait for");
    lead("One SM, %d tiles of %d k-tiles. In units of time a k-tile's load is %d.%d, its math %d, a tile's epilogue "
         "%d. One load at a time, one math.\n"
         "The ring has %d stages. Of two CTAs each has half of it, room for %d smaller stages, and %d tiles of half "
         "the columns: a load %d.%d.\n"
         "Dashed: the tensor cores wait. Single boxes: loads that had to wait for a stage. Right: how much of the time "
         "loads and tensor cores work.",
         TILES, K_TILES, LOAD / UNIT, LOAD % UNIT * 10 / UNIT, MATH / UNIT, EPILOGUE / UNIT, s[0].stages, s[1].stages,
         s[1].tiles / 2, s[1].load / UNIT, s[1].load % UNIT * 100 / UNIT);
    for (int i = 0; i < ROWS; i++) {
        end_of[i] = draw_schedule(&s[i], LEFT, TOP + i * ROW, SCALE).end;
    }
    need(end_of[0] == TILES * (LOAD + K_TILES * MATH + EPILOGUE), "07 overlaps something of one tile with another");
    need(end_of[3] == LOAD + TILES * K_TILES * MATH + EPILOGUE,
         "ping-pong exposes more than the first load and the last epilogue");
    need(end_of[3] < end_of[1] && end_of[1] < end_of[0] && end_of[3] < end_of[2] && end_of[2] < end_of[0],
         "the order of the schedules has changed");
    line(MARGIN, DETAIL - 42, WIDTH - MARGIN, DETAIL - 42);
    text("t h", MARGIN, DETAIL - 20, "Ping-pong, the first tiles, larger.");
    text("t", MARGIN + 256, DETAIL - 20,
         "Numbers are k-tiles. A stage is loaded (colour), then held until its math is over (grey).");
    draw_detail(&s[3], 110, DETAIL, 18);
    paragraph("t", MARGIN, DETAIL + 208, 18,
              "A consumer hands the turn on when the math of its tile is issued, not when it is over: the other one's "
              "products queue behind,\n"
              "and the tensor cores go from tile to tile without a gap. The first load and the last epilogue are "
              "exposed, once.");
    end();
}

/* ---- turns: waits that would pass too early ---- */

/* What a wait for a parity asks: is the phase of this parity over? That is all it can see (mbarrier.h). */
static int passes(int phase_under_way, uint32_t parity) { return ((uint32_t)(phase_under_way - 1) & 1) == parity; }

PICTURE(turns) {
    enum { STAGES = 4, K = 5, SHOWN = 3 * K, WIDE = 52, LEFT = 168, TOP = 104, HIGH = 38, STATE = TOP + 166 };
    begin("08_persistent_pingpong/turns.svg", STATE + 140, "The ring for two consumers: which waits need the turn");
    paragraph(
        "t", MARGIN, 26, 18,
        "A ring of %d stages, tiles of %d k-tiles. Each consumer takes its own tile's k-tiles and skips the other's:\n"
        "pipeline_advance() within a tile, pipeline_advance_by() over the next one. One column a k-tile, one colour a "
        "stage;\n"
        "stronger: parity 1. Framed: the lap before in that stage was the other consumer's.",
        STAGES, K);
    static const char *const rows[] = {"k-tile", "consumer 0 waits", "consumer 1 waits", "a lap before: k-tile"};
    static const int y_of[] = {TOP - 30, TOP, TOP + HIGH + 8, TOP + 2 * HIGH + 16};
    for (int i = 0; i < 4; i++) {
        text(i == 3 ? "m s e" : "t h e", LEFT - 10, y_of[i] + 24, "%s", rows[i]);
    }
    int first = 0; /* the first k-tile whose wait could pass too early */
    PipelineState at_first = {0, 0};
    for (int consumer = 0; consumer < 2; consumer++) {
        PipelineState state = consumer_start_state();
        pipeline_advance_by(&state, consumer * K, STAGES);
        for (int k_tile = consumer * K; k_tile < SHOWN; k_tile++) {
            int x = LEFT + k_tile * WIDE, y = y_of[1 + consumer], before = k_tile - STAGES, tile = k_tile / K;
            int others = before >= 0 && ((tile - before / K) & 1);
            need(state.index == k_tile % STAGES && state.phase == (uint32_t)(k_tile / STAGES & 1),
                 "turns.svg no longer fits pipeline.h");
            text("t c", x + WIDE / 2 - 2, y_of[0] + 24, "%d", k_tile);
            if (others) {
                box("hot", x - 1, y - 3, WIDE - 2, HIGH + 6);
            }
            colour(state.index + (state.phase ? 4 : 0), x + 2, y, WIDE - 8, HIGH);
            paragraph("t s c", x + WIDE / 2 - 2, y + 15, 15, "full[%d]\nparity %u", state.index, state.phase);
            if (before >= 0) {
                text("m s c", x + WIDE / 2 - 2, y_of[3] + 20, "%d", before);
                text(others ? "t h s c" : "m s c", x + WIDE / 2 - 2, y_of[3] + 34, others ? "other's" : "own");
            }
            if (others && consumer == 1 && first == 0) {
                first = k_tile;
                at_first = state;
            }
            pipeline_advance(&state, STAGES);
            if (k_tile % K == K - 1) {
                pipeline_advance_by(&state, K, STAGES);
                k_tile += K;
            }
        }
    }
    for (int tile = 0; tile < SHOWN / K; tile++) {
        int x = LEFT + tile * K * WIDE;
        line(x - 3, TOP - 34, x - 3, y_of[3] + 38);
        text("m s", x + 2, TOP - 28, "tile %d", tile);
    }

    text("t h", MARGIN, STATE,
         "Consumer 1's first wait, for k-tile %d: full[%d], parity %u. Without the turn it may come at any time.",
         first, at_first.index, at_first.phase);
    static const char *const outcomes[] = {"waits", "passes"};
    for (int phase = 0; phase < 3; phase++) {
        int y = STATE + 14 + phase * 30, passed = passes(phase, at_first.phase),
            wrong = passed && phase <= first / STAGES;
        box(wrong ? "hot" : "n", MARGIN, y, 400, 26);
        if (phase == 0) {
            text("t s", MARGIN + 8, y + 17, "full[%d] is in phase 0: k-tile %d is still on its way", at_first.index,
                 first - STAGES);
        } else if (phase == 1) {
            text("t s", MARGIN + 8, y + 17, "in phase 1: k-tile %d has landed, k-tile %d has not", first - STAGES,
                 first);
        } else {
            text("t s", MARGIN + 8, y + 17, "in phase 2: k-tile %d has landed", first);
        }
        text("t h", MARGIN + 414, y + 18, "%s", outcomes[passed]);
        text("t s", MARGIN + 474, y + 18, "%s",
             wrong    ? "too early: the phase before phase 0 has parity 1, and counts as complete"
             : passed ? "right"
                      : "right: the last complete phase, 0, has parity 0");
        need(passed == (phase != 1) && wrong == (phase == 0), "what the first wait finds has changed");
    }
    text("t", MARGIN, STATE + 124,
         "turn[1] comes when consumer 0 has waited for k-tiles 0 to %d. So when consumer 1 waits, the first line is "
         "past.",
         K - 1);

    must_contain(source, "RING_BYTES = 192 * 1024,");
    need(stages_of(RING_KB, constant(source, "BM"), constant(source, "MAX_BN")) == STAGES,
         "the widest ring has other stages");
    end();
}

/* ---- the order of tiles ---- */

enum { SIZE = 8192, CTAS = 132, SHOWN = 20 };

static void order_panel(int x, int y, int bm, int bn, int group, const char *name) {
    enum { CELL = 10, MOST = 64 };
    int tiles_m = SIZE / bm, tiles_n = (SIZE + bn - 1) / bn;
    uint8_t rows[MOST] = {0}, columns[MOST] = {0}, colours[SHOWN * MOST];
    int panels_a = 0, panels_b = 0;
    need(tiles_m <= MOST && tiles_n <= MOST, "too many tiles to draw");
    text("t h", x, y, "%s", name);
    text("m s", x, y + 18, "tile columns 0 to %d", tiles_n - 1);
    y += 24;
    memset(colours, PLAIN, sizeof colours);
    for (int index = 0; index < 2 * CTAS; index++) {
        Tile tile = tile_at(index, tiles_m, tiles_n, group);
        if (index < CTAS) {
            panels_a += !rows[tile.m];
            panels_b += !columns[tile.n];
            rows[tile.m] = columns[tile.n] = 1;
        }
        if (tile.m < SHOWN) {
            colours[tile.m * tiles_n + tile.n] = index < CTAS ? 4 : 2;
        }
    }
    cells(colours, SHOWN, tiles_n, x, y, CELL, CELL);
    int kib_a_row = SIZE * 2 / 1024; /* of A or B, and K is SIZE too */
    text("t", x, y + SHOWN * CELL + 22, "A wave reads %d panels of A and %d of B:", panels_a, panels_b);
    text("t h", x, y + SHOWN * CELL + 42, "%d MiB", (panels_a * bm + panels_b * bn) * kib_a_row / 1024);
}

PICTURE(tile_order) {
    int bm = constant(source, "BM"), bn = constant(source, "MAX_BN"), group = constant(source, "TILE_GROUP");
    char name[64];
    begin("08_persistent_pingpong/tile_order.svg", 376, "Tiles that 132 CTAs work on at a time, by rows and in groups");
    lead("%d x %d x %d in tiles of %d x %d: the first %d rows of tiles. Blue (dark): the first wave of %d CTAs; "
         "yellow: the second.\n"
         "A row of tiles shares a panel of A, %d x K; a column shares a panel of B, %d x K.",
         SIZE, SIZE, SIZE, bm, bn, SHOWN, CTAS, bm, bn);
    order_panel(MARGIN, 78, bm, bn, 1, "tile_at(..., group 1): row by row");
    snprintf(name, sizeof name, "tile_at(..., group %d): %d rows walked together", group, group);
    order_panel(MARGIN + 490, 78, bm, bn, group, name);
    end();
}
