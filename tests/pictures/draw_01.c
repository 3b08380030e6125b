/* draw_01.c - what a warp's loads and stores touch in global memory: from the constants and the index arithmetic of
 * 01_naive.cu. */
#include "picture.h"

#include "model/data/matrix.h"

enum { LINE_BYTES = 128, SECTOR_BYTES = 32, SECTORS = LINE_BYTES / SECTOR_BYTES, ELEMENT = 2 };
enum { ROW_HEIGHT = 21, LINE_WIDTH = 264, BYTE_TENTHS = 10 * LINE_WIDTH / LINE_BYTES };

/* What an instruction of a warp touches of the first line of each row: bytes[r] from its start on, and who. */
typedef struct {
    const char *name, *what;
    int row[WARP_SIZE], from[WARP_SIZE], bytes; /* of a lane */
} Access;

static int pixels(int bytes) { return bytes * BYTE_TENTHS / 10; }

/* How many different sectors it touches, and bytes of them. */
static void touched(const Access *a, int *sectors, int *bytes) {
    uint8_t used[WARP_SIZE][LINE_BYTES] = {{0}};
    *sectors = *bytes = 0;
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        for (int b = 0; b < a->bytes; b++) {
            used[a->row[lane]][a->from[lane] + b] = 1;
        }
    }
    for (int row = 0; row < WARP_SIZE; row++) {
        for (int sector = 0; sector < SECTORS; sector++) {
            int in_sector = 0;
            for (int b = 0; b < SECTOR_BYTES; b++) {
                in_sector += used[row][sector * SECTOR_BYTES + b];
            }
            *sectors += in_sector > 0;
            *bytes += in_sector;
        }
    }
}

static void panel(int x, int y, const Access *a, int rows, const char *rows_of) {
    int sectors, bytes;
    touched(a, &sectors, &bytes);
    text("t h", x, y - 48, "%s", a->name);
    text("m s", x, y - 30, "%s", a->what);
    for (int s = 0; s < SECTORS; s++) {
        text("m s c", x + pixels(s * SECTOR_BYTES + SECTOR_BYTES / 2), y - 7, "%d-%d", s * SECTOR_BYTES,
             (s + 1) * SECTOR_BYTES - 1);
    }
    for (int row = 0; row < rows; row++) {
        int top = y + row * ROW_HEIGHT, first = -1, last = -1, count = 0, low = LINE_BYTES, high = 0;
        for (int lane = 0; lane < WARP_SIZE; lane++) {
            if (a->row[lane] == row) {
                first = first < 0 ? lane : first;
                last = lane;
                count++;
                low = a->from[lane] < low ? a->from[lane] : low;
                high = a->from[lane] + a->bytes > high ? a->from[lane] + a->bytes : high;
            }
        }
        text("m s e", x - 5, top + 15, "%s%d", row == 0 ? rows_of : "", row);
        for (int s = 0; s < SECTORS; s++) {
            box("n", x + pixels(s * SECTOR_BYTES), top, pixels(SECTOR_BYTES), ROW_HEIGHT - 3);
        }
        if (count > 0) {
            cell("hot", x + pixels(low), top, pixels(high - low), ROW_HEIGHT - 3, "t s c", 13,
                 count == 2 ? "%d,%d" : "%d-%d", first, last);
            if (high - low < SECTOR_BYTES) {
                box("wait", x + pixels(high), top, pixels(SECTOR_BYTES - (high - low)), ROW_HEIGHT - 3);
            }
        }
    }
    text("t", x, y + rows * ROW_HEIGHT + 18, "%d sectors, %d of their %d bytes used", sectors, bytes,
         sectors * SECTOR_BYTES);
}

PICTURE(coalescing) {
    static const char source[] = "01_naive/01_naive.cu";
    const int tile = constant(source, "TILE"), top = 138;
    must_contain(source, "sum += bf16_to_float(a[k]) * bf16_to_float(b[k]);");
    Access store = {"store of C", "each lane its own 2 bytes", {0}, {0}, ELEMENT};
    Access load_a = {"load of A", "16 lanes want the same 2 bytes", {0}, {0}, ELEMENT};
    Access load_b = {"load of B", "each column of C has a row of B", {0}, {0}, ELEMENT};
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        int row = lane / tile, col = lane % tile; /* step 1 of the kernel, CTA 0, warp 0 */
        store.row[lane] = row;
        store.from[lane] = col * ELEMENT;
        load_a.row[lane] = row;
        load_b.row[lane] = col;
    }
    const int bottom = top + tile * ROW_HEIGHT;
    begin("01_naive/coalescing.svg", bottom + 36,
          "Which sectors of global memory the loads and the store of a warp touch");
    lead("The first warp of the first CTA at k = 0. A strip is one 128-byte line, the start of a row of the matrix; a "
         "cell is a sector of %d bytes.\n"
         "Filled: bytes that this instruction uses, and the numbers of the lanes that use them. Dashed: fetched with "
         "them, for k = 1 to %d.",
         SECTOR_BYTES, SECTOR_BYTES / ELEMENT - 1);
    panel(62, top, &store, WARP_SIZE / tile, "row ");
    panel(372, top, &load_a, WARP_SIZE / tile, "row ");
    panel(682, top, &load_b, tile, "row ");
    const int x = 62, y = top + 6 * ROW_HEIGHT;
    int sectors[3], bytes;
    touched(&store, &sectors[0], &bytes);
    touched(&load_a, &sectors[1], &bytes);
    touched(&load_b, &sectors[2], &bytes);
    need(sectors[0] == 2 && sectors[1] == 2 && sectors[2] == 16 && tile == 16,
         "the notes of coalescing.svg no longer fit 01_naive.cu");
    paragraph("t", x, y, 22,
              "Coalesced: the lanes' addresses fall into few sectors. The store of C\n"
              "and the load of A are.\n"
              "The load of B is not. Neighbouring lanes have neighbouring columns of C,\n"
              "and each column needs a row of B of its own: 16 rows, 16 sectors.\n"
              "The dashed parts are not lost: the next 15 loads of the loop find them in L1.\n"
              "But each load looks up every line that it touches again: 2 for the load of A,\n"
              "16 for the load of B.");
    end();
}
