/* pictures.c - draws the mechanisms, as SVG, from the functions that the kernels and the model use: swizzle.h, pipeline.h,
 * tile_order.h, and the fragment maps of common/model/data/matrix.h, which tests/conform holds to an H200. So a picture
 * cannot show anything else than the code does.
 *
 *     pictures DIRECTORY    writes DIRECTORY/02_smem_tiled/swizzle.svg and the others; the directories must be there */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/pipeline.h"
#include "device/swizzle.h"
#include "device/tile_order.h"
#include "gemm.h"
#include "model/data/matrix.h"

enum { WIDTH = 960, MARGIN = 20 };

static FILE *out;

/* ---- SVG --------------------------------------------------------------------------------------------------------- */

/* Colours as classes: f0 to f7 fill what belongs together; text on them is of class t. In a browser they follow its light
 * or dark setting. */
static const char style[] =
    "<style>\n"
    "svg{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:13px}\n"
    ".bg{fill:#fff}.t{fill:#1f2328}.m{fill:#59636e}.h{font-weight:600}.s{font-size:11px}.x{font-size:9px}\n"
    ".c{text-anchor:middle}.e{text-anchor:end}.g{fill:none;stroke:#d1d9e0}.l{stroke:#1f2328;stroke-width:1.5;fill:none}"
    "\n"
    ".n{fill:#f3f5f7;stroke:#d1d9e0}.hot{fill:#ffc9b5;stroke:#bc4c00;stroke-width:1.5}\n"
    ".f0{fill:#b6dcff}.f1{fill:#b4f0c2}.f2{fill:#ffe08a}.f3{fill:#f5c2e7}\n"
    ".f4{fill:#8fc3f5}.f5{fill:#86dca0}.f6{fill:#f2c34b}.f7{fill:#e79cd2}\n"
    ".f0,.f1,.f2,.f3,.f4,.f5,.f6,.f7{stroke:#59636e;stroke-width:.5}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".bg{fill:#0d1117}.t{fill:#f0f6fc}.m{fill:#9198a1}.g{stroke:#3d444d}.l{stroke:#f0f6fc}\n"
    ".n{fill:#161b22;stroke:#3d444d}.hot{fill:#7a2e0e;stroke:#f0883e}\n"
    ".f0{fill:#0c4a7d}.f1{fill:#155e32}.f2{fill:#6b5200}.f3{fill:#6e2a5c}\n"
    ".f4{fill:#1567ab}.f5{fill:#1f8347}.f6{fill:#8f6d00}.f7{fill:#943a7c}\n"
    ".f0,.f1,.f2,.f3,.f4,.f5,.f6,.f7{stroke:#9198a1}\n"
    "}\n"
    "</style>\n";

static void begin(const char *directory, const char *file, int height, const char *title) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    out = fopen(path, "w");
    if (out == NULL) {
        perror(path);
        exit(1);
    }
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>%s</title>\n",
            WIDTH, height, title);
    fprintf(out, "<!-- made by `make pictures` (tests/pictures/pictures.c) -->\n%s", style);
    fprintf(out, "<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
}

static void end(void) {
    fprintf(out, "</svg>\n");
    if (fclose(out) != 0) {
        perror("pictures");
        exit(1);
    }
}

static void box(const char *class, int x, int y, int width, int height) {
    fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class, x, y, width, height);
}

static void colour(int i, int x, int y, int width, int height) {
    char class[8];
    snprintf(class, sizeof class, "f%d", i % 8);
    box(class, x, y, width, height);
}

/* A grid of cells, many of one colour: a path for each of the colours, in their order. colours[row * columns + column] is as
 * for colour(), PLAIN, or EMPTY. */
enum { PLAIN = 8, EMPTY = 9 };

static void cells(const uint8_t *colours, int rows, int columns, int x, int y, int width, int height) {
    for (int c = PLAIN; c >= 0; c--) {
        if (memchr(colours, c, (size_t)(rows * columns)) == NULL) {
            continue;
        }
        fprintf(out, c == PLAIN ? "<path class=\"n\" d=\"" : "<path class=\"f%d\" d=\"", c);
        for (int i = 0; i < rows * columns; i++) {
            int left = x + i % columns * width, top = y + i / columns * height, cells = 0;
            if (colours[i] == c && i % columns > 0 && colours[i - 1] == c) {
                fprintf(out, "M%d %dv%d", left, top, height); /* between two */
            } else if (colours[i] == c) {
                while (i % columns + cells < columns && colours[i + cells] == c) {
                    cells++;
                }
                fprintf(out, "M%d %dh%dv%dh-%dz", left, top, cells * width, height, cells * width);
            }
        }
        fprintf(out, "\"/>\n");
    }
}

__attribute__((format(printf, 4, 5))) static void text(const char *class, int x, int y, const char *format, ...) {
    va_list arguments;
    fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fprintf(out, "</text>\n");
}

static void line(int x1, int y1, int x2, int y2) {
    fprintf(out, "<path class=\"l\" d=\"M%d %dL%d %d\"/>\n", x1, y1, x2, y2);
}

/* ---- the swizzle, bank by bank ----------------------------------------------------------------------------------- */

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
        text("m x c", x + column * CHUNK_WIDTH + CHUNK_WIDTH / 2, y + 17, "%d-%d", column * 4, column * 4 + 3);
    }
    y += 22;
    /* The coloured ones last, so that no neighbour covers their border. */
    for (int i = 0; i < 2 * ROWS * chunks; i++) {
        int row = i / chunks % ROWS, chunk = i % chunks;
        if ((chunk == read) == (i >= ROWS * chunks)) {
            uint32_t at = place((uint32_t)(row * row_bytes + chunk * 16));
            int cx = x + (int)(at / 16 % COLUMNS) * CHUNK_WIDTH, cy = y + (int)(at / 128) * LINE_HEIGHT;
            box(chunk == read ? "hot" : "n", cx, cy, CHUNK_WIDTH, LINE_HEIGHT);
            text(chunk == read ? "t s c h" : "m s c", cx + CHUNK_WIDTH / 2, cy + 15, "%d,%d", row, chunk);
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

static void draw_swizzle(const char *directory) {
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
    begin(directory, "02_smem_tiled/swizzle.svg", 592, "Where 16-byte chunks lie in the banks of shared memory");
    text("t", MARGIN, 26,
         "Each cell is a 16-byte chunk in 4 of the 32 banks: \"row,chunk\". A line is 128 bytes of shared memory. "
         "Coloured: chunk 1 of the 8 rows,");
    text("t", MARGIN, 44,
         "the 8 x 8 matrix that ldmatrix reads at a time. What stands in one column is read one after the other.");
    int y = 78;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        swizzle_panel(left, y, patterns[i].row_bytes, no_swizzle, patterns[i].plain);
        swizzle_panel(right, y, patterns[i].row_bytes, patterns[i].place, patterns[i].swizzled);
        text("m x e", left - 6, y + 17, "banks");
        y += 22 + ROWS * patterns[i].row_bytes / 128 * LINE_HEIGHT + 50;
    }
    end();
}

/* ---- fragments of mma.sync, and ldmatrix ------------------------------------------------------------------------- */

enum { PAIR_WIDTH = 44, SUMS_WIDTH = 66, CELL_HEIGHT = 19 };

/* Two neighbours that one lane has in one register, or in two. */
static void pair(int x, int y, int width, int register_number, const char *name, int lane, const char *registers) {
    colour(register_number, x, y, width, CELL_HEIGHT);
    text("t s c", x + width / 2, y + 14, "%d %s%s", lane, name, registers);
}

static void row_names(int x, int y, int rows, int matrix_of_upper, int matrix_of_lower) {
    for (int row = 0; row < rows; row++) {
        int lane = ldmatrix_address_lane(row < 8 ? matrix_of_upper : matrix_of_lower, row % 8);
        text("m s e", x, y + row * CELL_HEIGHT + 14, "%d", lane);
    }
}

static void draw_fragments(const char *directory) {
    static const char *const digit[] = {"0", "1", "2", "3"};
    const int top = 118, a_x = 80, b_x = a_x + 8 * PAIR_WIDTH + 100;
    begin(directory, "02_smem_tiled/fragments.svg", 790, "Fragments of mma.sync m16n8k16 and the lanes of ldmatrix");
    text("t", MARGIN, 26,
         "A cell is two neighbouring elements, 4 bytes: \"lane register\" says who holds them. One 8 x 8 matrix of "
         "ldmatrix is one colour, one register");
    text("t", MARGIN, 44,
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
    static const char *const notes[] = {
        "How to use it: follow lane 9. It holds D(2, 2..3) in d0, d1 and D(10, 2..3) in d2, d3.",
        "For these the tensor core takes rows 2 and 10 of A and columns 2 and 3 of B,",
        "from the registers of lanes 8 to 15.",
        "Lane 9 itself received A(2, 2..3) in a0; the address of that row was given by lane 2.",
    };
    /* What the notes say is checked: if a map changes, this stops. */
    int lanes = 0; /* that hold rows 2 and 10 of A or columns 2 and 3 of B */
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        lanes += (mma_a_row(lane, 0) == 2 || mma_b_column(lane) == 2 || mma_b_column(lane) == 3) && lane / 8 == 1;
        lanes -= (mma_a_row(lane, 0) == 2 || mma_b_column(lane) == 2 || mma_b_column(lane) == 3) && lane / 8 != 1;
    }
    if (lanes != 8 || mma_a_row(9, 1) != 10 || mma_d_row(9, 0) != 2 || mma_d_column(9, 0) != 2 ||
        mma_d_row(9, 2) != 10 || mma_a_row(9, 0) != 2 || mma_a_k(9, 0) != 2 ||
        ldmatrix_address_lane(0, mma_a_row(9, 0)) != 2) {
        fprintf(stderr, "pictures: the notes of fragments.svg no longer fit the maps\n");
        exit(1);
    }
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        text("t", x, lower + 20 + (int)i * 22, "%s", notes[i]);
    }
    end();
}

/* ---- accumulators of wgmma --------------------------------------------------------------------------------------- */

static void draw_accumulators(const char *directory) {
    enum { COLUMNS_SHOWN = 16, WIDE = 55, HIGH = 15, TOP = 92, LEFT = 60 };
    begin(directory, "06_wgmma_ss/accumulators.svg", TOP + WGMMA_M * HIGH + 34, "Accumulators of wgmma m64nNk16");
    text("t", MARGIN, 26,
         "D of one warpgroup, 64 rows x N columns; columns 0 to 15 are shown. \"thread d register\": thread of the "
         "warpgroup (lane = thread modulo 32)");
    text("t", MARGIN, 44,
         "and index of its accumulator. One colour is one warp: 16 rows. Every 8 columns further right the same "
         "threads go on with the next 4 registers.");
    for (int column = 0; column < COLUMNS_SHOWN; column++) {
        text("m s c", LEFT + column * WIDE + WIDE / 2, TOP - 8, "%d", column);
    }
    uint8_t colours[WGMMA_M * COLUMNS_SHOWN];
    memset(colours, EMPTY, sizeof colours);
    for (int t = 0; t < WARPGROUP_SIZE; t++) {
        for (int v = 0; v < COLUMNS_SHOWN / 2; v++) {
            int row = wgmma_accumulator_row(t, v), darker = row / 8 % 2 ? 4 : 0;
            colours[row * COLUMNS_SHOWN + wgmma_accumulator_column(t, v)] = (uint8_t)(t / WARP_SIZE + darker);
        }
    }
    cells(colours, WGMMA_M, COLUMNS_SHOWN, LEFT, TOP, WIDE, HIGH);
    fprintf(out, "<g class=\"t s c\">\n");
    for (int t = 0; t < WARPGROUP_SIZE; t++) {
        for (int v = 0; v < COLUMNS_SHOWN / 2; v++) {
            int x = LEFT + wgmma_accumulator_column(t, v) * WIDE, y = TOP + wgmma_accumulator_row(t, v) * HIGH;
            fprintf(out, "<text x=\"%d\" y=\"%d\">%d d%d</text>\n", x + WIDE / 2, y + 11, t, v);
        }
    }
    fprintf(out, "</g>\n");
    for (int row = 0; row < WGMMA_M; row += 8) {
        text("m s e", LEFT - 6, TOP + row * HIGH + 11, "row %d", row);
    }
    text("m s", LEFT, TOP + WGMMA_M * HIGH + 22,
         "Stronger colour: the rows 8 below are the same lanes' next two registers.");
    end();
}

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

static void draw_ring(const char *directory) {
    enum { STAGES = 4, K_TILES = 12, WIDE = 66, LEFT = 150, TOP = 96, HIGH = 40 };
    begin(directory, "07_warp_specialized/ring.svg", 392,
          "The ring of stages: indices, phases and parities over three laps");
    text("t", MARGIN, 26,
         "One column a k-tile, one colour a stage; the ring has %d. Both roles call pipeline_advance() after each "
         "k-tile. "
         "A wait names the parity",
         STAGES);
    text("t", MARGIN, 44,
         "of the phase that it waits for; parity is all that it can name. It goes on when that phase is complete.");
    PipelineState producer = producer_start_state(), consumer = consumer_start_state();
    text("t h e", LEFT - 12, TOP - 10, "k-tile");
    static const char *const rows[] = {"stage", "producer waits", "for phase", "consumers wait", "for phase"};
    static const int y_of[] = {TOP, TOP + HIGH + 16, TOP + 2 * HIGH + 10, TOP + 3 * HIGH + 36, TOP + 4 * HIGH + 30};
    for (int i = 0; i < 5; i++) {
        text(i == 2 || i == 4 ? "m s e" : "t h e", LEFT - 12, y_of[i] + 25, "%s", rows[i]);
    }
    for (int k_tile = 0; k_tile < K_TILES; k_tile++) {
        int x = LEFT + k_tile * WIDE, lap = k_tile / STAGES;
        text("t c", x + WIDE / 2, TOP - 10, "%d", k_tile);
        colour(consumer.index, x, y_of[0], WIDE - 4, HIGH);
        text("t h c", x + WIDE / 2 - 2, y_of[0] + 25, "%d", consumer.index);
        colour(producer.index + (producer.phase ? 4 : 0), x, y_of[1], WIDE - 4, HIGH - 6);
        text("t s c", x + WIDE / 2 - 2, y_of[1] + 15, "empty[%d]", producer.index);
        text("t h s c", x + WIDE / 2 - 2, y_of[1] + 29, "parity %u", producer.phase);
        if (lap == 0) {
            text("m s c", x + WIDE / 2 - 2, y_of[2] + 25, "at once");
        } else {
            text("m s c", x + WIDE / 2 - 2, y_of[2] + 25, "%d", lap - 1);
        }
        colour(consumer.index + (consumer.phase ? 4 : 0), x, y_of[3], WIDE - 4, HIGH - 6);
        text("t s c", x + WIDE / 2 - 2, y_of[3] + 15, "full[%d]", consumer.index);
        text("t h s c", x + WIDE / 2 - 2, y_of[3] + 29, "parity %u", consumer.phase);
        text("m s c", x + WIDE / 2 - 2, y_of[4] + 25, "%d", lap);
        if ((uint32_t)(lap & 1) != consumer.phase || (uint32_t)((lap + 1) & 1) != producer.phase) {
            fprintf(stderr, "pictures: the phases in ring.svg no longer fit pipeline.h\n");
            exit(1);
        }
        if (consumer.index == 0) {
            line(x - 3, TOP - 4, x - 3, TOP + 5 * HIGH + 26);
            text("m s", x + 3, TOP + 5 * HIGH + 42, "lap %d", lap);
        }
        pipeline_advance(&producer, STAGES);
        pipeline_advance(&consumer, STAGES);
    }
    text("t", MARGIN, 366,
         "Lap 0: a fresh empty barrier counts the phase before phase 0 (parity 1) as complete. Stronger colour: "
         "parity 1.");
    end();
}

/* ---- the order of tiles ------------------------------------------------------------------------------------------ */

static void order_panel(int x, int y, int tiles_m, int tiles_n, int group, int ctas, const char *name) {
    enum { CELL = 13, SHOWN = 20 };
    uint8_t rows[256] = {0}, columns[256] = {0};
    int panels_a = 0, panels_b = 0;
    text("t h", x, y, "%s", name);
    y += 24;
    uint8_t colours[SHOWN * 256];
    memset(colours, PLAIN, sizeof colours);
    cells(colours, SHOWN, tiles_n, x, y, CELL, CELL);
    memset(colours, EMPTY, sizeof colours);
    for (int index = 0; index < 2 * ctas; index++) {
        Tile tile = tile_at(index, tiles_m, tiles_n, group);
        if (index < ctas) {
            panels_a += !rows[tile.m];
            panels_b += !columns[tile.n];
            rows[tile.m] = columns[tile.n] = 1;
        }
        if (tile.m < SHOWN) {
            colours[tile.m * tiles_n + tile.n] = index < ctas ? 4 : 2;
        }
    }
    cells(colours, SHOWN, tiles_n, x, y, CELL, CELL);
    /* 8192 x 8192 x 8192: a row of A or B is 16 KiB. */
    int mib = (panels_a * 128 + panels_b * 256) * 16 / 1024;
    text("t", x, y + SHOWN * CELL + 22, "A wave reads %d panels of A and %d of B:", panels_a, panels_b);
    text("t h", x, y + SHOWN * CELL + 42, "%d MiB", mib);
    text("m s", x, y - 6, "tile columns 0 to %d", tiles_n - 1);
}

static void draw_tile_order(const char *directory) {
    enum { TILES_M = 64, TILES_N = 32, CTAS = 132 };
    begin(directory, "08_persistent_pingpong/tile_order.svg", 446,
          "Tiles that 132 CTAs work on at a time, by rows and in groups");
    text("t", MARGIN, 26,
         "C of 8192 x 8192 in tiles of 128 x 256: %d rows of %d tiles, the first 20 rows are shown. Blue: the first "
         "wave of %d "
         "CTAs; yellow: the second.",
         TILES_M, TILES_N, CTAS);
    text("t", MARGIN, 44, "A row of tiles shares a panel of A, 128 x K; a column shares a panel of B, 256 x K.");
    order_panel(40, 78, TILES_M, TILES_N, 1, CTAS, "tile_at(..., group 1): row by row");
    order_panel(40 + 32 * 13 + 48, 78, TILES_M, TILES_N, 8, CTAS, "tile_at(..., group 8): 8 rows walked together");
    end();
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: pictures DIRECTORY\n");
        return 2;
    }
    draw_swizzle(argv[1]);
    draw_fragments(argv[1]);
    draw_accumulators(argv[1]);
    draw_ring(argv[1]);
    draw_tile_order(argv[1]);
    return 0;
}
