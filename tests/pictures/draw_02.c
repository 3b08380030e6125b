/* draw_02.c - the levels of tiles, the swizzle, fragments of mma.sync and ldmatrix: from the chapter's constants,
 * swizzle.h and the maps of common/model/data/matrix.h, which tests/conform holds to an H200. */
#include "picture.h"

#include <stdio.h>
#include <string.h>

#include "device/swizzle.h"
#include "model/data/matrix.h"

static uint32_t no_swizzle(uint32_t a) { return a; }

enum { CHUNK_WIDTH = 48, LINE_HEIGHT = 22, COLUMNS = 8, ROWS = 8 };

/* Clocks that reading chunk `chunk` of 8 rows takes: chunks in the same 16-byte column come one after the other. */
static int clocks(uint32_t (*place)(uint32_t), int row_bytes, int chunk) {
    int in_column[COLUMNS] = {0}, most = 0;
    for (int row = 0; row < ROWS; row++) {
        int column = (int)(place((uint32_t)(row * row_bytes + chunk * 16)) / 16 % COLUMNS);
        most = ++in_column[column] > most ? in_column[column] : most;
    }
    return most;
}

static void swizzle_panel(int x, int y, int row_bytes, uint32_t (*place)(uint32_t), const char *name) {
    const int read = 1; /* the chunk column that is read */
    int chunks = row_bytes / 16, lines = ROWS * row_bytes / 128, worst = 0;
    text("t h", x, y, "%s", name);
    for (int column = 0; column < COLUMNS; column++) {
        text("m s c", x + column * CHUNK_WIDTH + CHUNK_WIDTH / 2, y + 17, "%d-%d", column * 4, column * 4 + 3);
    }
    y += 22;
    /* The coloured ones last, so that no neighbour covers their border. */
    for (int i = 0; i < 2 * ROWS * chunks; i++) {
        int row = i / chunks % ROWS, chunk = i % chunks;
        if ((chunk == read) == (i >= ROWS * chunks)) {
            uint32_t at = place((uint32_t)(row * row_bytes + chunk * 16));
            int cx = x + (int)(at / 16 % COLUMNS) * CHUNK_WIDTH, cy = y + (int)(at / 128) * LINE_HEIGHT;
            cell(chunk == read ? "hot" : "n", cx, cy, CHUNK_WIDTH, LINE_HEIGHT, chunk == read ? "t s c h" : "m s c", 15,
                 "%d,%d", row, chunk);
        }
    }
    for (int chunk = 0; chunk < chunks; chunk++) {
        int now = clocks(place, row_bytes, chunk);
        worst = now > worst ? now : worst;
    }
    text("t s", x, y + lines * LINE_HEIGHT + 16, "8 rows of one chunk column: %d clock%s%s",
         clocks(place, row_bytes, read), clocks(place, row_bytes, read) == 1 ? ", no conflict" : "s,",
         worst == 1 ? "; of any other, too" : " one after the other");
}

PICTURE(swizzle) {
    static const struct {
        int row_bytes;
        uint32_t (*place)(uint32_t);
        const char *plain, *swizzled;
    } patterns[] = {
        {128, swizzle_128b, "rows of 128 bytes (64 bf16), as they come",
         "128-byte swizzle: address bits 4-6 ^= bits 7-9"},
        {64, swizzle_64b, "rows of 64 bytes, as they come", "64-byte swizzle: address bits 4-5 ^= bits 7-8"},
        {32, swizzle_32b, "rows of 32 bytes, as they come", "32-byte swizzle: address bit 4 ^= bit 7"},
    };
    const int left = 60, right = 60 + COLUMNS * CHUNK_WIDTH + 60;
    begin("02_smem_tiled/swizzle.svg", 592, "Where 16-byte chunks lie in the banks of shared memory");
    lead("Each cell is a 16-byte chunk in 4 of the 32 banks: \"row,chunk\". A line is 128 bytes of shared memory. "
         "Coloured: chunk 1 of the 8 rows,\n"
         "the 8 x 8 matrix that ldmatrix reads at a time. What stands in one column is read one after the other.");
    int y = 78;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        swizzle_panel(left, y, patterns[i].row_bytes, no_swizzle, patterns[i].plain);
        swizzle_panel(right, y, patterns[i].row_bytes, patterns[i].place, patterns[i].swizzled);
        text("m s e", left - 6, y + 17, "banks");
        y += 22 + ROWS * patterns[i].row_bytes / 128 * LINE_HEIGHT + 50;
    }
    end();
}

enum { PAIR_WIDTH = 44, SUMS_WIDTH = 66, CELL_HEIGHT = 19 };

/* Two neighbours that one lane has in one register, or in two. */
static void pair(int x, int y, int width, int register_number, const char *name, int lane, const char *registers) {
    cell(hue(register_number), x, y, width, CELL_HEIGHT, "t s c", 14, "%d %s%s", lane, name, registers);
}

static void row_names(int x, int y, int rows, int matrix_of_upper, int matrix_of_lower) {
    for (int row = 0; row < rows; row++) {
        int lane = ldmatrix_address_lane(row < 8 ? matrix_of_upper : matrix_of_lower, row % 8);
        text("m s e", x, y + row * CELL_HEIGHT + 14, "%d", lane);
    }
}

PICTURE(fragments) {
    static const char *const digit[] = {"0", "1", "2", "3"};
    const int top = 118, a_x = 80, b_x = a_x + 8 * PAIR_WIDTH + 100;
    begin("02_smem_tiled/fragments.svg", 790, "Fragments of mma.sync m16n8k16 and the lanes of ldmatrix");
    lead("A cell is two neighbouring elements, 4 bytes: \"lane register\" says who holds them. One 8 x 8 matrix of "
         "ldmatrix is one colour, one register\n"
         "in all lanes. Grey, beside a row: the lane that gives ldmatrix the address of its 8 elements. Giving and "
         "receiving are different lanes.");

    text("t h", a_x, top - 36, "A, 16 rows x 16 k: one ldmatrix.x4");
    text("m s", a_x, top - 8, "k 0-7, matrices 0 and 1");
    text("m s", a_x + 4 * PAIR_WIDTH, top - 8, "k 8-15, matrices 2 and 3");
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        for (int r = 0; r < 4; r++) {
            pair(a_x + mma_a_k(lane, r) / 2 * PAIR_WIDTH, top + mma_a_row(lane, r) * CELL_HEIGHT, PAIR_WIDTH, r, "a",
                 lane, digit[r]);
        }
    }
    row_names(a_x - 6, top, 16, 0, 1);
    row_names(a_x + 8 * PAIR_WIDTH + 24, top, 16, 2, 3);
    for (int row = 0; row < 16; row += 4) {
        text("m s e", a_x - 30, top + row * CELL_HEIGHT + 14, "%s%d", row == 0 ? "row " : "", row);
    }

    /* Two 16 x 8 tiles of B come with one ldmatrix.x4: the second one in registers 2 and 3. */
    text("t h", b_x, top - 36, "B, 16 columns x 16 k, two tiles: one ldmatrix.x4");
    text("m s", b_x, top - 8, "k 0-7, matrices 0 and 2");
    text("m s", b_x + 4 * PAIR_WIDTH, top - 8, "k 8-15, matrices 1 and 3");
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        for (int tile = 0; tile < 2; tile++) {
            for (int r = 0; r < 2; r++) {
                pair(b_x + mma_b_k(lane, r) / 2 * PAIR_WIDTH, top + (8 * tile + mma_b_column(lane)) * CELL_HEIGHT,
                     PAIR_WIDTH, 2 * tile + r, "b", lane, digit[2 * tile + r]);
            }
        }
    }
    row_names(b_x - 6, top, 16, 0, 2);
    row_names(b_x + 8 * PAIR_WIDTH + 24, top, 16, 1, 3);

    const int lower = top + 16 * CELL_HEIGHT + 62;
    text("t h", a_x, lower - 26, "D, 16 rows x 8 columns: the sums");
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        for (int v = 0; v < 4; v += 2) {
            pair(a_x + mma_d_column(lane, v) / 2 * SUMS_WIDTH, lower + mma_d_row(lane, v) * CELL_HEIGHT - 12,
                 SUMS_WIDTH, 4 + v / 2, "d", lane, v == 0 ? "0, d1" : "2, d3");
        }
    }
    int x = a_x + 4 * SUMS_WIDTH + 40;
    /* What the notes say is checked: if a map changes, this stops. */
    int lanes = 0; /* that hold rows 2 and 10 of A or columns 2 and 3 of B */
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        lanes += (mma_a_row(lane, 0) == 2 || mma_b_column(lane) == 2 || mma_b_column(lane) == 3) && lane / 8 == 1;
        lanes -= (mma_a_row(lane, 0) == 2 || mma_b_column(lane) == 2 || mma_b_column(lane) == 3) && lane / 8 != 1;
    }
    need(lanes == 8 && mma_a_row(9, 1) == 10 && mma_d_row(9, 0) == 2 && mma_d_column(9, 0) == 2 &&
             mma_d_row(9, 2) == 10 && mma_a_row(9, 0) == 2 && mma_a_k(9, 0) == 2 &&
             ldmatrix_address_lane(0, mma_a_row(9, 0)) == 2,
         "the notes of fragments.svg no longer fit the maps");
    paragraph("t", x, lower + 20, 22,
              "How to use it: follow lane 9. It holds D(2, 2..3) in d0, d1 and D(10, 2..3) in d2, d3.\n"
              "For these the tensor core takes rows 2 and 10 of A and columns 2 and 3 of B,\n"
              "from the registers of lanes 8 to 15.\n"
              "Lane 9 itself received A(2, 2..3) in a0; the address of that row was given by lane 2.");
    end();
}

/* ---- levels of tiles ---- */

enum { MMA_M = 16, MMA_N = 8, MMA_K = MATRIX_K, GAP = 6, TILE_TOP = 236, NOTES_TOP = 392 };

/* A level: C at (x, TILE_TOP), its operands left of it and above it, all `zoom` eighths of a pixel an element. */
typedef struct {
    int x, zoom, m, n, k;
} Level;

static int scaled(const Level *l, int elements) { return elements * l->zoom / 8; }

static void operands(const Level *l, const char *class) {
    box(class, l->x - GAP - scaled(l, l->k), TILE_TOP, scaled(l, l->k), scaled(l, l->m));
    box(class, l->x, TILE_TOP - GAP - scaled(l, l->k), scaled(l, l->n), scaled(l, l->k));
}

static void names(const Level *l) {
    text("m c", l->x - GAP - scaled(l, l->k) / 2, TILE_TOP + scaled(l, l->m) * 3 / 4, "A");
    text("m c", l->x + scaled(l, l->n) * 3 / 4, TILE_TOP - GAP - scaled(l, l->k) / 2 + 5, "B");
}

/* Names, and three lines below, of which the last is `rate`. */
static void level_texts(const Level *l, const char *name, const char *where, const char *notes, double rate) {
    int left = l->x - GAP - scaled(l, l->k);
    text("t h", left, 78, "%s", name);
    text("m s", left, 94, "%s", where);
    paragraph("t s", left, NOTES_TOP, 17, "%s", notes);
    text("t h s", left, NOTES_TOP + 3 * 17,
         rate > 0 ? rate < 10 ? "%.1f FLOP for each byte" : "%.0f FLOP for each byte" : " ", rate);
}

/* From the upper left part of a level, `m` x `n` of its elements, to the whole of the next. */
static void zoom_lines(const Level *l, int m, int n, const Level *next) {
    int right = l->x + scaled(l, n), to = next->x - GAP - scaled(next, next->k);
    shape("wait", "M%d %dL%d %dM%d %dL%d %d", right, TILE_TOP, to, TILE_TOP, right, TILE_TOP + scaled(l, m), to,
          TILE_TOP + scaled(next, next->m));
}

/* The FLOP of a product m x n x k for each byte of its operands. */
static double flop_per_byte(int m, int n, int k) { return 2.0 * m * n * k / (2.0 * (m + n) * k); }

PICTURE(levels) {
    static const char source[] = "02_smem_tiled/02_smem_tiled.cu";
    const int bm = constant(source, "BM"), bn = constant(source, "BN"), bk = constant(source, "BK");
    const int warps_m = constant(source, "WARPS_M"), warps_n = constant(source, "WARPS_N");
    const int wm = bm / warps_m, wn = bn / warps_n, lane = 9;
    const Level c = {110, 2, 4 * bm, 4 * bn, 256}, cta = {340, 8, bm, bn, bk}, warp = {560, 16, wm, wn, MMA_K},
                mma = {846, 64, MMA_M, MMA_N, MMA_K};
    char notes[160];
    need(warps_m == 2 && warps_n == 2 && mma_d_row(lane, 0) == 2 && mma_d_column(lane, 0) == 2,
         "levels.svg no longer fits 02_smem_tiled.cu");
    begin("02_smem_tiled/levels.svg", 464, "Levels of tiles: C, a CTA tile, a warp tile, one mma.sync");
    lead("C[2][2] through the levels. Each level: a tile of C; left of it the rows of A, above it the columns of B "
         "that it needs for one step.\n"
         "Blue: k-tiles. Violet: fragments. Orange: what the next level takes of C, and in the end what one lane holds "
         "of it.");

    /* C: tiles of CTAs, whole rows and columns along k. */
    operands(&c, "n");
    for (int k = 0; k < c.k; k += bk) {
        box("load", c.x - GAP - scaled(&c, c.k - k), TILE_TOP, scaled(&c, bk), scaled(&c, bm));
        box("load", c.x, TILE_TOP - GAP - scaled(&c, c.k - k), scaled(&c, bn), scaled(&c, bk));
    }
    names(&c);
    for (int i = 15; i >= 0; i--) {
        box(i == 0 ? "hot" : "n", c.x + i % 4 * scaled(&c, bn), TILE_TOP + i / 4 * scaled(&c, bm), scaled(&c, bn),
            scaled(&c, bm));
    }
    snprintf(notes, sizeof notes, "one CTA for each tile of\n%d x %d elements; it goes\nalong k in steps of %d", bm, bn,
             bk);
    level_texts(&c, "C, M x N", "A and B in global memory", notes, 0);
    zoom_lines(&c, bm, bn, &cta);

    /* A CTA tile: a quarter for each warp. */
    operands(&cta, "load");
    box("frag", cta.x - GAP - scaled(&cta, bk), TILE_TOP, scaled(&cta, MMA_K), scaled(&cta, wm));
    box("frag", cta.x, TILE_TOP - GAP - scaled(&cta, bk), scaled(&cta, wn), scaled(&cta, MMA_K));
    names(&cta);
    for (int w = warps_m * warps_n - 1; w >= 0; w--) {
        int left = cta.x + w / warps_m * scaled(&cta, wn), top = TILE_TOP + w % warps_m * scaled(&cta, wm);
        box(w == 0 ? "hot" : "n", left, top, scaled(&cta, wn), scaled(&cta, wm));
        text("t s c", left + scaled(&cta, wn) / 2, top + scaled(&cta, wm) - 8, "warp %d", w);
    }
    snprintf(notes, sizeof notes, "a k-tile: %d x %d of A,\n%d x %d of B: %d KB\nfrom global memory", bm, bk, bn, bk,
             (bm + bn) * bk * 2 / 1024);
    level_texts(&cta, "CTA tile", "k-tile in shared memory", notes, flop_per_byte(bm, bn, bk));
    zoom_lines(&cta, wm, wn, &warp);

    /* A warp tile: blocks of one instruction. */
    operands(&warp, "frag");
    names(&warp);
    for (int i = wm / MMA_M * (wn / MMA_N) - 1; i >= 0; i--) {
        box(i == 0 ? "hot" : "n", warp.x + i % (wn / MMA_N) * scaled(&warp, MMA_N),
            TILE_TOP + i / (wn / MMA_N) * scaled(&warp, MMA_M), scaled(&warp, MMA_N), scaled(&warp, MMA_M));
    }
    snprintf(notes, sizeof notes, "a k16 step: %d x %d of A,\n%d x %d of B: %d KB\nfrom shared memory", wm, MMA_K, wn,
             MMA_K, (wm + wn) * MMA_K * 2 / 1024);
    level_texts(&warp, "warp tile", "fragments in registers", notes, flop_per_byte(wm, wn, MMA_K));
    zoom_lines(&warp, MMA_M, MMA_N, &mma);

    /* One instruction: elements, and those of one lane. */
    const int cell = scaled(&mma, 1), a_left = mma.x - GAP - scaled(&mma, MMA_K),
              b_top = TILE_TOP - GAP - scaled(&mma, MMA_K);
    uint8_t a[MMA_M * MMA_K], b[MMA_K * MMA_N], d[MMA_M * MMA_N];
    memset(a, PLAIN, sizeof a);
    memset(b, PLAIN, sizeof b);
    memset(d, PLAIN, sizeof d);
    cells(a, MMA_M, MMA_K, a_left, TILE_TOP, cell, cell);
    cells(b, MMA_K, MMA_N, mma.x, b_top, cell, cell);
    cells(d, MMA_M, MMA_N, mma.x, TILE_TOP, cell, cell);
    for (int r = 0; r < 4; r++) {
        box("frag", a_left + mma_a_k(lane, r) * cell, TILE_TOP + mma_a_row(lane, r) * cell, 2 * cell, cell);
        if (r < 2) {
            box("frag", mma.x + mma_b_column(lane) * cell, b_top + mma_b_k(lane, r) * cell, cell, 2 * cell);
        }
        box("hot", mma.x + mma_d_column(lane, r) * cell, TILE_TOP + mma_d_row(lane, r) * cell, cell, cell);
    }
    snprintf(notes, sizeof notes,
             "%d x %d of A, %d x %d of B\nfrom registers; coloured: what\nlane %d holds of A, B and C", MMA_M, MMA_K,
             MMA_N, MMA_K, lane);
    level_texts(&mma, "one mma.sync", "m16n8k16, a whole warp", notes, flop_per_byte(MMA_M, MMA_N, MMA_K));
    end();
}
