/* draw_06.c - operands and accumulators of wgmma: the places are those of common/model/data/matrix.h, which
 * tests/conform holds to an H200, the descriptors those of wgmma.h. */
#include "picture.h"

#include <string.h>

#include "device/swizzle.h"
#include "device/wgmma.h"
#include "model/data/matrix.h"

/* ---- descriptor.svg: one tile of 64 x 64 in three layouts */

enum { TILE = 64, CORES = TILE / 8, LINES = 8, START = 1024 };

typedef struct {
    const char *title, *where;
    uint64_t descriptor; /* of the tile at byte START of shared memory */
    uint64_t k16;        /* what a k16 step adds to it */
    int mn_major;
    uint32_t (*place)(uint32_t row, uint32_t k); /* where the copies have put an element, from START */
} Layout;

static uint32_t k_major_128b(uint32_t row, uint32_t k) { return swizzle_128b(row * 128 + k * 2); }
static uint32_t k_major_plain(uint32_t row, uint32_t k) { return k / 8 * TILE * 16 + row * 16 + k % 8 * 2; }
static uint32_t mn_major_128b(uint32_t row, uint32_t k) { return swizzle_128b(k * 128 + row * 2); }

/* Where the descriptor of its k16 step finds an element; it must be where the copies have put it. */
static uint32_t found(const Layout *l, int row, int k) {
    WgmmaDescriptor d = wgmma_descriptor_decode(l->descriptor + (uint64_t)(k / 16) * l->k16);
    uint32_t at = wgmma_element_address(&d, l->mn_major, row, k % 16) - START;
    need(at == l->place((uint32_t)row, (uint32_t)k), "descriptor.svg: %s does not find (%d, %d)", l->title, row, k);
    return at;
}

/* A bent arrow from one place to another, the bend `aside` to the left or `above`. */
static void bent(int x1, int y1, int x2, int y2, int aside, int above) {
    shape("lead", "M%d %dC%d %d %d %d %d %d", x1, y1, x1 - aside, y1 - above, x2 - aside, y2 - above, x2, y2);
}

static void draw_layout(const Layout *l, int left) {
    enum { WIDE = 30, HIGH = 20, CORE_TOP = 148, SHARED_TOP = 412, LINE_HIGH = 18 };
    WgmmaDescriptor d = wgmma_descriptor_decode(l->descriptor);
    int x = left + 52, step = (int)l->k16 * 16;
    text("t h", left, 70, "%s", l->title);
    text("m s", left, 86, "%s", l->where);

    /* The core matrices, by rows and k. */
    uint8_t colours[CORES * CORES];
    for (int i = 0; i < CORES * CORES; i++) {
        colours[i] = (uint8_t)(i % CORES / 2);
    }
    cells(colours, CORES, CORES, x, CORE_TOP, WIDE, HIGH);
    group("t s c");
    for (int row = 0; row < CORES; row++) {
        for (int column = 0; column < CORES; column++) {
            uint32_t first = found(l, 8 * row, 8 * column);
            text(NULL, x + column * WIDE + WIDE / 2, CORE_TOP + row * HIGH + 14, "%u", first);
        }
    }
    end_group();
    for (int row = 0; row < TILE; row++) {
        for (int k = 0; k < TILE; k++) {
            found(l, row, k);
        }
    }
    group("m s c");
    for (int column = 0; column < CORES; column += 2) {
        text(NULL, x + (column + 1) * WIDE, CORE_TOP - 5, "k %d to %d", 8 * column, 8 * column + 15);
    }
    end_group();
    int above = CORE_TOP - 18, middle = x + WIDE / 2, below = CORE_TOP + CORES * HIGH;
    bent(middle, above, middle + 2 * WIDE, above, 0, 30);
    text("t s", middle + 2 * WIDE + 8, above - 10, "next k16: + %d bytes", step);
    if (l->mn_major) {
        bent(middle, above, middle + WIDE, above, 0, 14);
        text("t s e", middle - 4, above - 4, "SBO %u", d.stride);
        bent(x - 2, CORE_TOP + HIGH / 2, x - 2, below + 12, 22, 0);
        paragraph("t s e", x - 20, CORE_TOP + 4 * HIGH + 8, 14, "LBO\n%u", d.leading);
        text("m s", x + 4, below + 16, "row 64: the next panel of 64");
    } else {
        bent(x - 2, CORE_TOP + HIGH / 2, x - 2, CORE_TOP + 3 * HIGH / 2, 20, 0);
        paragraph("t s e", x - 20, CORE_TOP + HIGH - 2, 14, "SBO\n%u", d.stride);
        if (d.swizzle_bytes == 0) {
            bent(middle, above, middle + WIDE, above, 0, 14);
            text("t s e", middle - 4, above - 4, "LBO %u", d.leading);
        } else {
            text("m s e", middle - 4, above - 4, "LBO not used");
        }
    }
    paragraph("t s", left, below + 36, 16,
              "LBO %u, SBO %u, base offset %d, swizzle code %d\n"
              "k16 step: the descriptor + %d (units of 16 bytes)",
              d.leading, d.stride, d.base_offset, (int)(l->descriptor >> 62), (int)l->k16);
    text("m s", left, below + 68, "A tile at byte %d: 0x%016llx", START, (unsigned long long)l->descriptor);

    /* The first lines of shared memory: who is where. */
    struct {
        uint8_t row, k;
    } chunk[LINES * 8] = {{0, 0}};
    for (int i = 0; i < TILE * TILE; i++) {
        int row = i % TILE, k = i / TILE;
        uint32_t at = found(l, row, k);
        if (at % 16 == 0 && at < LINES * 128) {
            chunk[at / 16].row = (uint8_t)row;
            chunk[at / 16].k = (uint8_t)k;
            colours[at / 16] = (uint8_t)(k / 16);
        }
    }
    text("t s", left, SHARED_TOP - 8, "The first %d bytes of it in shared memory:", LINES * 128);
    cells(colours, LINES, 8, x, SHARED_TOP, WIDE, LINE_HIGH);
    group("t s c");
    for (int i = 0; i < LINES * 8; i++) {
        text(NULL, x + i % 8 * WIDE + WIDE / 2, SHARED_TOP + i / 8 * LINE_HIGH + 13, "%d,%d", chunk[i].row, chunk[i].k);
    }
    end_group();
    for (int i = 0; i < LINES * 8; i++) {
        if (chunk[i].row < 8 && chunk[i].k < 8) {
            box("l", x + i % 8 * WIDE + 1, SHARED_TOP + i / 8 * LINE_HIGH + 1, WIDE - 2, LINE_HIGH - 2);
        }
    }
    for (int i = 0; i < LINES; i += 2) {
        text("m s e", x - 6, SHARED_TOP + i * LINE_HIGH + 13, "%d", i * 128);
    }
}

PICTURE(descriptor) {
    begin("06_wgmma_ss/descriptor.svg", 590, "One tile in three layouts, as a wgmma descriptor describes it");
    paragraph("t", MARGIN, 24, 18,
              "A tile of 64 rows (of m or n) x 64 k of bf16 in three layouts; rows run down, k to the right. A cell is "
              "a core matrix,\n"
              "8 x 8 elements; its number is the byte of the first one, from the start of the tile. One colour is one "
              "k16 step: one wgmma.");
    const Layout layouts[] = {
        {"K-major, 128-byte swizzle", "this chapter: one box 64 columns wide",
         wgmma_descriptor_fields(START, 16, 1024, WGMMA_SWIZZLE_128B), WGMMA_K16_STEP, 0, k_major_128b},
        {"K-major, no swizzle", "eight boxes, 8 columns wide",
         wgmma_descriptor_fields(START, TILE * 16, 128, WGMMA_SWIZZLE_NONE), 2 * TILE * 16 >> 4, 0, k_major_plain},
        {"MN-major, 128-byte swizzle", "stored as [k][m] or [k][n]: exercise 3",
         wgmma_descriptor_fields(START, TILE * 128, 1024, WGMMA_SWIZZLE_128B), WGMMA_K16_STEP_MN, 1, mn_major_128b},
    };
    for (int i = 0; i < 3; i++) {
        draw_layout(&layouts[i], MARGIN + i * 314);
    }
    text("t", MARGIN, 578,
         "Lower half: a line is 128 bytes; a cell is 16 bytes, with row and k of their first element. Framed: core "
         "matrix 0,0 "
         "in 8 pieces.");
    end();
}

/* ---- accumulators.svg: what the threads of one warp hold */

PICTURE(accumulators) {
    enum { ROWS = 16, COLUMNS = 16, WIDE = 54, HIGH = 17, TOP = 88, LEFT = 72 };
    begin("06_wgmma_ss/accumulators.svg", TOP + ROWS * HIGH + 34, "Accumulators of wgmma m64nNk16");
    paragraph("t", MARGIN, 24, 18,
              "Rows 0 to 15 and columns 0 to 15 of D: what warp 0 holds. \"5 d2\" is register d[2] of thread 5. Warps "
              "1 to 3 have the next 16 rows each,\n"
              "in the same pattern. Every 8 columns further right the same threads go on with their next 4 registers. "
              "Framed: thread 0; d0 to d3 run in a Z.");
    for (int column = 0; column < COLUMNS; column++) {
        text("m s c", LEFT + column * WIDE + WIDE / 2, TOP - 8, "%d", column);
    }
    uint8_t colours[ROWS * COLUMNS];
    memset(colours, EMPTY, sizeof colours);
    for (int t = 0; t < WARP_SIZE; t++) {
        for (int v = 0; v < COLUMNS / 2; v++) {
            colours[wgmma_accumulator_row(t, v) * COLUMNS + wgmma_accumulator_column(t, v)] =
                (uint8_t)(v / 4 + 4 * (v / 2 % 2));
        }
    }
    cells(colours, ROWS, COLUMNS, LEFT, TOP, WIDE, HIGH);
    group("t s c");
    for (int t = 0; t < WARP_SIZE; t++) {
        for (int v = 0; v < COLUMNS / 2; v++) {
            int x = LEFT + wgmma_accumulator_column(t, v) * WIDE, y = TOP + wgmma_accumulator_row(t, v) * HIGH;
            text(NULL, x + WIDE / 2, y + 12, "%d d%d", t, v);
        }
    }
    end_group();
    for (int v = 0; v < COLUMNS / 2; v++) {
        int x = LEFT + wgmma_accumulator_column(0, v) * WIDE, y = TOP + wgmma_accumulator_row(0, v) * HIGH;
        box("l", x + 1, y + 1, WIDE - 2, HIGH - 2);
        if (v % 4 == 1) {
            arrow("lead", x, y + HIGH, x, TOP + wgmma_accumulator_row(0, v + 1) * HIGH);
        }
    }
    for (int row = 0; row < ROWS; row += 4) {
        text("m s e", LEFT - 6, TOP + row * HIGH + 12, "row %d", row);
    }
    text("m s", LEFT, TOP + ROWS * HIGH + 22,
         "Stronger colour: 8 rows further down, the same threads' next two registers.");
    end();
}
