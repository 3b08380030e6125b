/* Do swizzle_128b(), swizzle_64b(), swizzle_32b() and swizzled_index() give the permutation that TMA writes and wgmma
 * reads (PTX 5.5.7)? The tables are written out: the physical 16-byte column of each logical one, for the rows of one
 * period of the pattern. */
#include "device/swizzle.h"
#include "tap.h"

static const unsigned char TABLE_128B[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
    {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0},
};

/* Lines of 128 bytes; a row of the 64-byte pattern is half of one, so a line holds two logical rows. */
static const unsigned char TABLE_64B[4][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}};

static const unsigned char TABLE_32B[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};

/* Every byte of 4 KB: the table says where its 16-byte chunk goes, the byte in the chunk and the line stay. */
static void against_table(const char *name, uint32_t (*swizzle)(uint32_t), const unsigned char (*table)[8],
                          uint32_t lines) {
    int right = 1;
    for (uint32_t address = 0; address < 4096 && right; address++) {
        uint32_t line = address / 128, chunk = address / 16 % 8;
        uint32_t expected = line * 128 + table[line % lines][chunk] * 16u + address % 16;
        right = swizzle(address) == expected ||
                diag("%s(%u) is %u, expected %u", name, address, swizzle(address), expected);
    }
    ok(right, "%s against its table", name);
}

static uint32_t call_128b(uint32_t a) { return swizzle_128b(a); }
static uint32_t call_64b(uint32_t a) { return swizzle_64b(a); }
static uint32_t call_32b(uint32_t a) { return swizzle_32b(a); }

int main(void) {
    against_table("swizzle_128b", call_128b, TABLE_128B, 8);
    against_table("swizzle_64b", call_64b, TABLE_64B, 4);
    against_table("swizzle_32b", call_32b, TABLE_32B, 2);

    int right = 1;
    for (int row = 0; row < 256; row++) {
        for (int chunk = 0; chunk < 8; chunk++) {
            right &= swizzled_index(row, chunk) == row * 64 + TABLE_128B[row % 8][chunk] * 8;
        }
    }
    ok(right, "swizzled_index() is the 128-byte pattern, in elements");
    return tap_done();
}
