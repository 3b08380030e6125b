/* draw_05.c - a TMA box and its mbarrier: the box of hello_tma.cu, the swizzle of swizzle.h, the states of
 * barrier_states.h. */
#include "picture.h"

#include <stdio.h>
#include <string.h>

#include "barrier_states.h"
#include "device/swizzle.h"

static const char hello[] = "05_tma_mbarrier/hello_tma.cu";
static const char chapter[] = "05_tma_mbarrier/05_tma_mbarrier.cu";

/* ---- the box ----------------------------------------------------------------------------------------------------- */

enum { CHUNK = 8, LINE = 8 }; /* elements in 16 bytes, chunks in 128 */

typedef struct {
    int rows, chunks;           /* of the matrix */
    int first_row, first_chunk; /* of the box */
    int box_rows;               /* of LINE chunks */
} Box;

static int is_inside(const Box *b, int row, int chunk) {
    return b->first_row + row < b->rows && b->first_chunk + chunk < b->chunks;
}

static void draw_matrix(const Box *b, int x, int y) {
    enum { WIDE = 14, HIGH = 13 };
    uint8_t colours[64 * 64];
    need(b->rows <= 64 && b->chunks <= 64, "the matrix is small");
    for (int row = 0; row < b->rows; row++) {
        for (int chunk = 0; chunk < b->chunks; chunk++) {
            int in_box = row >= b->first_row && chunk >= b->first_chunk;
            colours[row * b->chunks + chunk] = (uint8_t)(in_box ? (chunk - b->first_chunk) % LINE : PLAIN);
        }
    }
    cells(colours, b->rows, b->chunks, x, y, WIDE, HIGH);
    int left = x + b->first_chunk * WIDE, top = y + b->first_row * HIGH;
    int width = LINE * WIDE, height = b->box_rows * HIGH;
    shape("l", "M%d %dh%dv%dh-%dz", left, top, width, height, width);
    text("t s e", left - 4, top + 10, "{%d, %d}", b->first_chunk * CHUNK, b->first_row);
    text("m s", x, y - 8, "the matrix: %d rows x %d columns", b->rows, b->chunks * CHUNK);
    paragraph("m s", left, top + height + 14, 14, "the box: %d rows\nx %d columns", b->box_rows, LINE * CHUNK);
    paragraph("m s", x, top + height + 14, 14, "a cell: 16 bytes,\n%d elements", CHUNK);
}

static void draw_tile(const Box *b, int x, int y) {
    enum { WIDE = 38, HIGH = 22 };
    text("m s", x, y - 8, "the box in shared memory, line by line of 128 bytes");
    for (int row = 0; row < b->box_rows; row++) {
        for (int chunk = 0; chunk < LINE; chunk++) {
            int place = swizzled_index(row, chunk) / CHUNK;
            int left = x + place % LINE * WIDE, top = y + place / LINE * HIGH;
            need(place / LINE == row && place % LINE == (chunk ^ (row % LINE)), "chunk c of row r lies at c XOR r");
            if (is_inside(b, row, chunk)) {
                cell(hue(chunk), left, top, WIDE, HIGH, "t s c", 15, "%d,%d", row, chunk);
            } else {
                cell("n", left, top, WIDE, HIGH, "m s c", 15, "0");
            }
        }
        text("m s", x + LINE * WIDE + 6, y + row * HIGH + 15, "byte %d", row * LINE * 16);
    }
}

static void draw_operands(const Box *b, int x, int y) {
    const int wide = WIDTH - MARGIN - x;
    box("n", x, y, wide, 104);
    text("t h s", x + 10, y + 18, "The tensor map says, once:");
    paragraph("t s", x + 10, y + 36, 16,
              "base address; size %d x %d;\nbytes from row to row;\na box is %d x %d;\nswizzle: 128 bytes", b->rows,
              b->chunks * CHUNK, b->box_rows, LINE * CHUNK);
    box("n", x, y + 112, wide, 86);
    text("t h s", x + 10, y + 130, "Each instruction says:");
    paragraph("t s", x + 10, y + 148, 16, "which box: {%d, %d}\nwhere to in shared memory\nwhich mbarrier counts it",
              b->first_chunk * CHUNK, b->first_row);
}

/* ---- the mbarrier
 * ------------------------------------------------------------------------------------------------- */

static void draw_life(int bytes, int y) {
    enum { LEFT = 150, WIDE = 131, HIGH = 26, BAR = 44 };
    BarrierState states[] = {{.event = ON_INIT, .amount = 1},
                             {.event = ON_ARRIVE_EXPECT_TX, .amount = bytes},
                             {.event = ON_BYTES, .amount = bytes / 2},
                             {.event = ON_BYTES, .amount = bytes - bytes / 2},
                             {.event = ON_ARRIVE_EXPECT_TX, .amount = bytes},
                             {.event = ON_BYTES, .amount = bytes}};
    enum { COUNT = sizeof states / sizeof states[0] };
    static const char *const rows[] = {"phase", "pending arrivals", "tx-count", "wait for parity 0",
                                       "wait for parity 1"};
    const int y_of[] = {y + 52, y + 52 + HIGH, y + 52 + 2 * HIGH, y + 56 + 2 * HIGH + BAR, y + 56 + 3 * HIGH + BAR};
    barrier_states(states, COUNT);
    need(states[2].phase == 0 && states[3].phase == 1 && states[3].pending == 1 && states[3].tx == 0,
         "the phase goes up with the last byte");
    need(!states[1].passes[0] && states[1].passes[1] && states[3].passes[0] && !states[5].passes[0],
         "a wait for parity 0 passes in phase 1 alone");
    for (int i = 0; i < 5; i++) {
        text(i < 3 ? "t h s e" : "t s e", LEFT - 12, y_of[i] + (i == 2 ? 28 : 17), "%s", rows[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        const BarrierState *s = &states[i];
        int x = LEFT + i * WIDE, middle = x + (WIDE - 6) / 2, completes = i > 0 && s->phase > states[i - 1].phase;
        if (s->event == ON_INIT) {
            text("t s c", middle, y + 28, "init(%d)", s->amount);
        } else {
            text("t s c", middle, y + 28, s->event == ON_BYTES ? "%d bytes land" : "arrive.expect_tx %d", s->amount);
        }
        text("m s c", middle, y + 44, "%s", completes ? "the phase completes" : "");
        if (completes) {
            line(x - 3, y + 18, x - 3, y_of[4] + HIGH);
        }
        cell(hue(s->phase % 2 ? 4 : 0), x, y_of[0], WIDE - 6, HIGH - 4, "t h s c", 15, "%d", s->phase);
        text("t s c", middle, y_of[1] + 17, "%d", s->pending);
        box("n", x, y_of[2], WIDE - 6, BAR);
        if (s->tx > 0) {
            box("load", x + WIDE - 40, y_of[2] + BAR - s->tx * BAR / bytes, 34, s->tx * BAR / bytes);
        }
        text("t s c", middle, y_of[2] + 28, "%d", s->tx);
        for (int parity = 0; parity < 2; parity++) {
            text(s->passes[parity] ? "t h s c" : "m s c", middle, y_of[3 + parity] + 17,
                 s->passes[parity] ? "goes on" : "waits");
        }
    }
}

PICTURE(box) {
    enum { TILE_X = 350, TOP = 76, LIFE = 344, HEIGHT = 606 };
    Box b = {constant(hello, "ROWS"), constant(hello, "COLUMNS") / CHUNK, constant(hello, "FIRST_ROW"),
             constant(hello, "FIRST_COLUMN") / CHUNK, constant(hello, "BOX_ROWS")};
    need(constant(hello, "BOX_COLUMNS") == LINE * CHUNK, "a row of the box is 128 bytes");
    begin("05_tma_mbarrier/box.svg", HEIGHT, "A box on its way to shared memory, and the mbarrier that counts it");
    text("t h", MARGIN, 26, "One instruction copies a box. What lies outside the matrix arrives as zeros.");
    draw_matrix(&b, MARGIN + 10, TOP);
    arrow("async", 276, TOP + 130, TILE_X - 12, TOP + 100);
    text("m s c", 310, TOP + 90, "TMA");
    draw_tile(&b, TILE_X, TOP);
    draw_operands(&b, 732, TOP - 20);
    text("t h", MARGIN, LIFE, "Its mbarrier counts one arrival and the bytes. A second box follows in the same place.");
    draw_life(b.box_rows * LINE * 16, LIFE);
    paragraph("t", MARGIN, HEIGHT - 34, 20,
              "A phase completes when pending arrivals and tx-count are both 0. At that moment the phase goes up by "
              "one and pending is %d again.\n"
              "A wait names a parity. It goes on while the phase before the present one has that parity: after phase "
              "1, a wait for parity 0 waits again.",
              1);
    end();
}

/* ---- wrong counts
 * ------------------------------------------------------------------------------------------------- */

enum { PANELS = 4, PANEL_EVENTS = 9 };

typedef struct {
    const char *title, *verdict[2];
    int count;
    BarrierState states[PANEL_EVENTS];
} Panel;

static void draw_panel(const Panel *p, int all, int box_a, int x, int y) {
    enum { STEP = 23, HALF = 64, PLOT = 2 * HALF + 8 };
    const int zero = y + 30 + HALF;
    const int most = 4 * all / 3;
    int at = 0, began = 0;
    text("t h s", x, y + 8, "%s", p->title);
    box("n", x, zero - HALF - 4, PANEL_EVENTS * STEP, PLOT);
    char path[1024];
    shape("g", "M%d %dh%d", x, zero, PANEL_EVENTS * STEP);
    text("m s e", x - 3, zero + 3, "0");
    text("m s e", x - 3, zero - all * HALF / most + 3, "%dK", all / 1024);
    for (int i = 0; i < p->count; i++) {
        const BarrierState *s = &p->states[i];
        int left = x + i * STEP, level = zero - s->tx * HALF / most;
        at += snprintf(path + at, sizeof path - (size_t)at, i ? "V%dh%d" : "M%d %dh%d", i ? level : left,
                       i ? STEP : level, STEP);
        const char *name = s->event == ON_INIT     ? "init"
                           : s->event == ON_ARRIVE ? "arr"
                           : s->event != ON_BYTES  ? "exp"
                           : s->amount == box_a    ? "A"
                                                   : "B";
        text("t s c", left + STEP / 2, zero + PLOT / 2 + 14, "%s", name);
        if (i + 1 == p->count || p->states[i + 1].phase != s->phase) {
            int width = (i + 1 - began) * STEP;
            cell(hue(s->phase % 2 ? 4 : 0), x + began * STEP, zero + PLOT / 2 + 20, width, 16, "t s c", 11,
                 width > 44 ? "phase %d" : "%d", s->phase);
            began = i + 1;
        }
    }
    shape("l", path);
    paragraph("t s", x, zero + PLOT / 2 + 54, 16, "%s\n%s", p->verdict[0], p->verdict[1]);
}

PICTURE(counts) {
    const int a = constant(chapter, "BM") * constant(chapter, "BK") * 2;
    const int b = constant(chapter, "BN") * constant(chapter, "BK") * 2, all = a + b;
    const BarrierState init = {.event = ON_INIT, .amount = 1}, box_a = {.event = ON_BYTES, .amount = a},
                       box_b = {.event = ON_BYTES, .amount = b}, arrive = {.event = ON_ARRIVE};
    const BarrierState right = {.event = ON_ARRIVE_EXPECT_TX, .amount = all},
                       few = {.event = ON_ARRIVE_EXPECT_TX, .amount = a},
                       many = {.event = ON_ARRIVE_EXPECT_TX, .amount = all + a},
                       late = {.event = ON_EXPECT_TX, .amount = all};
    Panel panels[PANELS] = {
        {"Exact",
         {"Each phase completes when all", "its bytes are there."},
         7,
         {init, right, box_a, box_b, right, box_a, box_b}},
        {"Too few: B is forgotten",
         {"Phase 0 completes before B is", "there, phase 1 never: a hang."},
         7,
         {init, few, box_a, box_b, few, box_a, box_b}},
        {"Too many: A is counted twice", {"Phase 0 never completes: a hang.", ""}, 4, {init, many, box_a, box_b}},
        {"Arrive, then expect_tx",
         {"Phase 0 completes before any", "byte is there: all go on too early."},
         9,
         {init, arrive, late, box_a, box_b, arrive, late, box_a, box_b}},
    };
    for (int i = 0; i < PANELS; i++) {
        barrier_states(panels[i].states, panels[i].count);
    }
    const BarrierState *exact = panels[0].states, *less = panels[1].states, *more = panels[2].states,
                       *swapped = panels[3].states;
    need(exact[2].phase == 0 && exact[3].phase == 1 && exact[5].phase == 1 && exact[6].phase == 2,
         "exact counts end phases with the last byte");
    need(less[2].phase == 1 && less[3].tx < 0 && less[6].phase == 1 && less[6].pending == 0 && less[6].tx < 0,
         "with too few bytes phase 0 completes early and phase 1 hangs");
    need(more[3].phase == 0 && more[3].pending == 0 && more[3].tx > 0, "with too many bytes phase 0 hangs");
    need(swapped[1].phase == 1 && swapped[5].phase == 2, "an arrival before the announcement completes the phase");
    begin("05_tma_mbarrier/tx_count.svg", 310, "The tx-count for exact, too few and too many announced bytes");
    text("t", MARGIN, 24,
         "tx-count of full[0] over two laps. A k-tile is two boxes: A, %d bytes, and B, %d. Here A lands first.", a, b);
    for (int i = 0; i < PANELS; i++) {
        draw_panel(&panels[i], all, a, MARGIN + 22 + i * 230, 44);
    }
    text("m s", MARGIN, 300,
         "exp: arrive.expect_tx, on the right expect_tx alone; arr: arrive; A, B: that box has landed. "
         "Below: the barrier's phase.");
    end();
}
