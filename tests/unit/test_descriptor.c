/* Do the functions that build wgmma matrix descriptors (PTX 9.7.15.5.1.2.2) keep each field in its place, and do they
 * read as CuTe's layouts do? What a GPU reads by every field is in tests/conform. */
#include "device/swizzle.h"
#include "device/wgmma.h"
#include "model/data/matrix.h"
#include "tap.h"

enum { START = 1024 };

static uint32_t address_of(uint64_t descriptor, int mn_major, int row, int k) {
    WgmmaDescriptor d = wgmma_descriptor_decode(descriptor);
    return wgmma_element_address(&d, mn_major, row, k);
}

/* 06_wgmma_ss/notes.md reads CuTe's layouts of a tile of 128 x 64 with three stages: tCsA, in elements, and tCrA, what
 * is added to the descriptor, in units of 16 bytes. Both must lead to the same byte. */
typedef struct {
    int mn_major, row[2], k[2],
        pipe;       /* tCsA: strides of a row and a k inside the atom's 64 and 8, and of the next of these */
    uint64_t first; /* the descriptor of the first atom */
    uint64_t mma_m, mma_k, mma_pipe; /* tCrA */
} CuteTile;

static int strides_fit(const CuteTile *t) {
    int right = 1;
    for (int i = 0; i < 128 * 64 * 3; i++) {
        int row = i % 128, k = i / 128 % 64, stage = i / (128 * 64);
        int element = row % 64 * t->row[0] + row / 64 * t->row[1] + k % 8 * t->k[0] + k / 8 * t->k[1] + stage * t->pipe;
        uint64_t descriptor =
            t->first + (uint64_t)(row / 64) * t->mma_m + (uint64_t)(k / 16) * t->mma_k + (uint64_t)stage * t->mma_pipe;
        right = right &&
                address_of(descriptor, t->mn_major, row % 64, k % 16) == swizzle_128b(START + 2 * (uint32_t)element);
    }
    return right;
}

static void test_cute(void) {
    const CuteTile k_major = {.row = {64, 4096},
                              .k = {1, 8},
                              .pipe = 8192,
                              .first = wgmma_descriptor_fields(START, 16, 1024, WGMMA_SWIZZLE_128B),
                              .mma_m = 512,
                              .mma_k = WGMMA_K16_STEP,
                              .mma_pipe = 1024};
    ok(strides_fit(&k_major), "tCrA of a K-major tile: (1,2,4,3):(0,512,2,1024)");
    const CuteTile mn_major = {.mn_major = 1,
                               .row = {1, 512},
                               .k = {64, 1024},
                               .pipe = 8192,
                               .first = wgmma_descriptor_fields(START, 1024, 2048, WGMMA_SWIZZLE_128B),
                               .mma_m = 64,
                               .mma_k = 256,
                               .mma_pipe = 1024};
    ok(strides_fit(&mn_major), "tCrA of an MN-major tile: (1,2,4,3):(0,64,256,1024)");

    /* tCgC, C column-major with 512 rows: ((2,2,8),2,2):((512,8,4096),64,32768); tCrC: ((1,2,4),32,64). */
    int right = 1;
    for (int v = 0; v < 32; v++) {
        for (int t = 0; t < WARPGROUP_SIZE; t++) {
            int first = wgmma_accumulator_row(t, 0) + 512 * wgmma_accumulator_column(t, 0);
            int at = wgmma_accumulator_row(t, v) + 512 * wgmma_accumulator_column(t, v);
            right = right && at - first == v % 2 * 512 + v / 2 % 2 * 8 + v / 4 * 4096;
        }
    }
    ok(right, "tCgC and tCrC of a 64 x 64 atom");
}

int main(void) {
    is_hex(wgmma_descriptor_fields(0xfffc0400, 0, 0, WGMMA_SWIZZLE_NONE), 0x0000000000000040,
           "address bits from 18 on do not reach the next field");
    is_hex(wgmma_descriptor_fields(0x3fff0, 0x3fff0, 0x3fff0, WGMMA_SWIZZLE_32B), 0xc0003fff3fff3fff,
           "the largest of all");
    test_cute();
    return tap_done();
}
