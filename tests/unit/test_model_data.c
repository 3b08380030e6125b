/* Do the data functions of the CPU model (tensor_map.h, matrix.h) place every element where the manual's formulas say?
 * The expected places are written out here again, by hand or from the formulas, without the model's code. What the
 * hardware does is compared in tests/conform. */
#include "tap.h"

#ifdef GEMM_NO_MODEL

int main(void) { skip_all("there is no CPU model"); }

#else

#include <math.h>
#include <unistd.h>

#include "device/wgmma.h"
#include "model/data/matrix.h"
#include "model/data/rounding.h"
#include "model/data/tensor_map.h"
#include "model/model.h"

#include "../conform/inexact.h"

enum { COLS = 100, ROWS = 50, LD = 104 };
static _Alignas(256) uint16_t matrix[ROWS * LD];

/* ---- the encoder ------------------------------------------------------------------------------------------------- */

typedef struct {
    int type, rank, misaligned;
    uint64_t size[3], stride[2];
    uint32_t box[3], step[3];
    int interleave, swizzle, promotion, fill;
} Arguments;

static const Arguments RIGHT = {TENSOR_BFLOAT16, 2,         0, {COLS, ROWS, 7},     {LD * 2, LD * 2 * ROWS},
                                {64, 16, 2},     {1, 1, 1}, 0, TENSOR_SWIZZLE_128B, 2,
                                TENSOR_FILL_ZERO};

static char why[200];

static int encode(TensorMap *map, Arguments a) {
    why[0] = '\0';
    return tensor_map_encode(map, a.type, a.rank, (uint8_t *)matrix + a.misaligned, a.size, a.stride, a.box, a.step,
                             a.interleave, a.swizzle, a.promotion, a.fill, why, sizeof why);
}

/* RIGHT with one change is refused with a reason that names `part`; or accepted if part is NULL. */
#define CHANGED(change, part, name)                                                   \
    do {                                                                              \
        Arguments a = RIGHT;                                                          \
        change;                                                                       \
        int refused = encode(&map, a);                                                \
        if ((part) == NULL) {                                                         \
            is_int(refused, 0, name " is accepted");                                  \
        } else {                                                                      \
            is_int(refused, 1, name " is refused");                                   \
            contains(why, (part) == NULL ? "" : (part), name ": the reason says so"); \
        }                                                                             \
    } while (0)

static void test_encoder(void) {
    TensorMap map;
    CHANGED((void)a, NULL, "a matrix");
    CHANGED(a.misaligned = 16, NULL, "an address of 16 bytes' alignment");
    CHANGED(a.misaligned = 8, "address", "an address of 8 bytes' alignment");
    CHANGED(a.type = 99, "type 99", "an unknown type");
    CHANGED(a.rank = 0, "rank is 0", "rank 0");
    CHANGED(a.rank = 6, "rank is 6", "rank 6");
    CHANGED(a.rank = 3, NULL, "rank 3");
    CHANGED(a.size[1] = 0, "size 0 of dimension 1", "no rows");
    CHANGED(a.size[0] = 1, NULL, "one column");
    CHANGED(a.size[1] = (uint64_t)1 << 32, NULL, "2^32 rows");
    CHANGED(a.size[1] = ((uint64_t)1 << 32) + 1, "dimension 1", "more than 2^32 rows");
    CHANGED(a.stride[0] = 200, "200 bytes", "a pitch of 200 bytes");
    CHANGED(a.stride[0] = (uint64_t)1 << 40, "2^40", "a pitch of 2^40 bytes");
    CHANGED((a.stride[0] = 8, a.rank = 1), NULL, "rank 1, where the stride does not count,");
    CHANGED(a.box[1] = 256, NULL, "a box of 256 rows");
    CHANGED(a.box[1] = 257, "257 elements", "a box of 257 rows");
    CHANGED(a.box[0] = 0, "0 elements", "an empty box");
    CHANGED(a.box[0] = 4, "8 bytes", "a box row of 8 bytes");
    CHANGED(a.box[0] = 72, "144 bytes", "a box row wider than the 128-byte swizzle");
    CHANGED((a.box[0] = 40, a.swizzle = TENSOR_SWIZZLE_64B), "80 bytes", "a box row wider than the 64-byte swizzle");
    CHANGED((a.box[0] = 24, a.swizzle = TENSOR_SWIZZLE_32B), "48 bytes", "a box row wider than the 32-byte swizzle");
    CHANGED((a.box[0] = 72, a.swizzle = TENSOR_SWIZZLE_NONE), NULL, "a box row of 144 bytes without a swizzle");
    CHANGED(a.step[1] = 9, "stride of dimension 1 is 9", "an element stride of 9");
    CHANGED(a.step[1] = 0, "stride of dimension 1 is 0", "an element stride of 0");
    CHANGED(a.swizzle = 7, "swizzle mode 7", "swizzle mode 7");
    CHANGED(a.interleave = 1, "interleave mode 1", "an interleaved layout");
    CHANGED(a.promotion = 4, "promotion 4", "L2 promotion 4");
    CHANGED(a.fill = 2, "fill mode 2", "fill mode 2");
    CHANGED(a.fill = TENSOR_FILL_NAN, NULL, "NaN outside a bf16 tensor");
    CHANGED((a.fill = TENSOR_FILL_NAN, a.type = TENSOR_INT32, a.box[0] = 32), "fill mode 1",
            "NaN outside an int32 tensor");

    _Alignas(64) uint8_t memory[256];
    Arguments a = RIGHT;
    ok(encode((TensorMap *)(void *)(memory + 8), a) == 1 && strstr(why, "64") != NULL,
       "a tensor map that is not 64-byte aligned is refused");

    encode(&map, a);
    ok(tensor_map_fault(&map) == NULL, "an encoded map is one");
    map.box[0]++;
    ok(tensor_map_fault(&map) != NULL, "a map that was changed is none");
    memset(&map, 0, sizeof map);
    ok(tensor_map_fault(&map) != NULL, "zeros are none");
}

/* What model_tensor_map_2d() prints. */
static int encode_2d(int rows, int cols, int ld, int box_rows, int box_cols, TensorMap *map, char *text, size_t size) {
    FILE *file = tmpfile();
    int old = dup(2);
    fflush(stderr);
    dup2(fileno(file), 2);
    int result = model_tensor_map_2d(map, "A", matrix, rows, cols, ld, box_rows, box_cols, TENSOR_SWIZZLE_128B, NULL);
    fflush(stderr);
    dup2(old, 2);
    close(old);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return result;
}

static void test_encoder_2d(void) {
    TensorMap map;
    char text[1000];
    is_int(encode_2d(ROWS, COLS, LD, 16, 64, &map, text, sizeof text), 0, "tensor_map_2d of a right matrix");
    ok(text[0] == '\0', "... prints nothing");
    ok(tensor_map_fault(&map) == NULL && map.size[0] == COLS && map.size[1] == ROWS && map.stride[0] == 2 * LD &&
           map.box[0] == 64 && map.box[1] == 16,
       "... and says the same as the general encoder, columns first");
    ok(map.name != NULL && strcmp(map.name, "A") == 0, "... with its name");
    is_int(encode_2d(ROWS, COLS, 100, 16, 64, &map, text, sizeof text), 3, "tensor_map_2d with a pitch of 200 bytes");
    contains(text, "tensor map of A is refused", "... names the tensor");
    contains(text, "multiple of 16", "... and the reason");
    is_int(encode_2d(0, COLS, LD, 16, 64, &map, text, sizeof text), 3, "tensor_map_2d without rows");
    is_int(encode_2d(ROWS, COLS, LD, 16, 128, &map, text, sizeof text), 3,
           "tensor_map_2d with a row wider than the swizzle");
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* Element (row, column) of a box with 128-, 64- and 32-byte rows on a boundary of the pattern, in bytes (C8 of the
 * reference notes; the tables of PTX 5.5.7). */
static uint32_t place(int swizzle, int r, int c) {
    uint32_t chunk = (uint32_t)c / 8, in_chunk = (uint32_t)c % 8 * 2, row = (uint32_t)r;
    switch (swizzle) {
    case TENSOR_SWIZZLE_128B: return row * 128 + ((chunk ^ (row & 7)) << 4) + in_chunk;
    case TENSOR_SWIZZLE_64B: return row * 64 + ((chunk ^ (row / 2 & 3)) << 4) + in_chunk;
    case TENSOR_SWIZZLE_32B: return row * 32 + ((chunk ^ (row / 4 & 1)) << 4) + in_chunk;
    }
    return 0;
}

static void test_inside(void) {
    static const int widths[] = {0, 16, 32, 64};
    for (int swizzle = TENSOR_SWIZZLE_32B; swizzle <= TENSOR_SWIZZLE_128B; swizzle++) {
        TensorMap map;
        Arguments a = RIGHT;
        a.swizzle = swizzle;
        a.box[0] = (uint32_t)widths[swizzle];
        encode(&map, a);
        const int start[2] = {24, 3};
        TensorWalk walk = tensor_walk(&map, start, 3 * 1024);
        TensorChunk chunk;
        int chunks = 0, right = 1;
        while (tensor_next(&walk, &chunk)) {
            int r = (int)chunk.coord[1] - 3, c = (int)chunk.coord[0] - 24;
            right = right && r == chunks / (widths[swizzle] / 8) && c == chunks % (widths[swizzle] / 8) * 8;
            right = right && chunk.offset == place(swizzle, r, c);
            right = right && chunk.global == (uint64_t)(uintptr_t)&matrix[(r + 3) * LD + c + 24];
            right = right && chunk.begin == 0 && chunk.end == 16;
            chunks++;
        }
        ok(right && chunks == 16 * widths[swizzle] / 8, "every chunk of a box with swizzle mode %d", swizzle);
        is_int(tensor_box_bytes(&map), 16 * widths[swizzle] * 2, "... and its bytes");
        is_int(tensor_swizzle_period(&map), 128 << swizzle, "... and the period of its pattern");
    }
}

/* The pattern hangs on the address: a box 128 bytes further on starts with the second line of the pattern. */
static void test_shifted(void) {
    TensorMap map;
    encode(&map, RIGHT);
    const int start[2] = {0, 0};
    TensorWalk walk = tensor_walk(&map, start, 1024 + 128);
    TensorChunk chunk;
    uint32_t first[9];
    for (int i = 0; i < 9; i++) {
        tensor_next(&walk, &chunk);
        first[i] = chunk.offset;
    }
    static const uint32_t expected[9] = {16, 0, 48, 32, 80, 64, 112, 96, 128 + 32};
    ok(memcmp(first, expected, sizeof first) == 0, "a box that starts in the middle of the pattern");
}

/* The chunk at place `index` of the walk. */
static TensorChunk chunk_at(const TensorMap *map, int c0, int c1, int index) {
    const int start[2] = {c0, c1};
    TensorWalk walk = tensor_walk(map, start, 1024);
    TensorChunk chunk = {0};
    for (int i = 0; i <= index; i++) {
        tensor_next(&walk, &chunk);
    }
    return chunk;
}

static void is_valid(const TensorMap *map, int c0, int c1, int index, int end, const char *name) {
    TensorChunk chunk = chunk_at(map, c0, c1, index);
    if (!ok(chunk.begin == 0 && chunk.end == end, "%s", name)) {
        diag("bytes %d .. %d, expected 0 .. %d", chunk.begin, chunk.end, end);
    }
}

static void test_edges(void) {
    TensorMap map;
    encode(&map, RIGHT);
    is_valid(&map, 64, 0, 3, 16, "columns 88 .. 95 of 100 are all there");
    is_valid(&map, 64, 0, 4, 8, "columns 96 .. 103 of 100: four of them");
    is_valid(&map, 64, 0, 5, 0, "columns 104 .. 111 of 100: none");
    is_valid(&map, 96, 0, 0, 8, "the last four columns alone");
    is_valid(&map, 104, 0, 0, 0, "columns past the row's padding");
    is_valid(&map, -8, 0, 0, 0, "columns -8 .. -1");
    is_valid(&map, -8, 0, 1, 16, "columns 0 .. 7 of a box that starts at the left of them");
    is_valid(&map, 0, 49, 7, 16, "the last row");
    is_valid(&map, 0, 49, 8, 0, "the row after it");
    is_valid(&map, 0, -1, 0, 0, "the row before the first");
    is_valid(&map, 0, -1, 8, 16, "the first row, in the box's second");
    is_valid(&map, -2147483647 - 1, -2147483647 - 1, 0, 0, "as far to the left and above as coordinates go");
    is_valid(&map, 2147483640, 2147483647, 0, 0, "as far to the right and below");

    Arguments a = RIGHT;
    a.size[0] = 3;
    encode(&map, a);
    is_valid(&map, 0, 0, 0, 6, "a tensor of three columns");
    a.size[0] = 96;
    encode(&map, a);
    is_valid(&map, 96, 0, 0, 0, "a chunk in the row's padding is outside");
}

/* A store of a box of 64 x 16 into 100 columns goes on to column 103; rows and whole chunks outside are left alone. */
static void test_store_edges(void) {
    TensorMap map;
    encode(&map, RIGHT);
    const int start[2] = {64, 40};
    TensorWalk walk = tensor_walk_store(&map, start, 1024);
    TensorChunk chunk;
    int right = 1;
    while (tensor_next(&walk, &chunk)) {
        right = right && chunk.begin == 0 && chunk.end == (chunk.coord[1] < ROWS && chunk.coord[0] <= 96 ? 16 : 0);
    }
    ok(right, "a store is cut off at the next multiple of 16 bytes after the last column");
}

static void starts(const TensorMap *map, int c0, int c1, const char *load, const char *store, const char *name) {
    const int start[3] = {c0, c1, 0};
    const char *found[2] = {tensor_load_fault(map, start), tensor_store_fault(map, start)};
    const char *expected[2] = {load, store};
    for (int i = 0; i < 2; i++) {
        int right = expected[i] == NULL ? found[i] == NULL : found[i] != NULL && strstr(found[i], expected[i]) != NULL;
        if (!ok(right, "%s %s", i == 0 ? "a load" : "a store", name)) {
            diag("got \"%s\"", found[i] != NULL ? found[i] : "no fault");
        }
    }
}

static void test_starts(void) {
    TensorMap map;
    encode(&map, RIGHT);
    starts(&map, 0, 0, NULL, NULL, "from the first element");
    starts(&map, 8, 3, NULL, NULL, "from column 8");
    starts(&map, 1008, 3, NULL, NULL, "from outside at the right");
    starts(&map, 4, 3, "multiple of 8 ", "multiple of 8 ", "from column 4");
    starts(&map, 1001, 3, "multiple of 8 ", "multiple of 8 ", "from column 1001");
    starts(&map, -8, 3, NULL, "negative", "from column -8");
    starts(&map, -3, 3, "multiple of 8 ", "negative", "from column -3");
    starts(&map, 0, -1, NULL, "negative", "from row -1");
    starts(&map, -2147483647 - 1, 0, NULL, "negative", "from the smallest coordinate");
    static const struct {
        int type, box0, start;
        const char *fault;
    } types[] = {
        {TENSOR_UINT8, 64, 8, "multiple of 16 "},
        {TENSOR_FLOAT32, 32, 2, "multiple of 4 "},
        {TENSOR_FLOAT64, 16, 1, "multiple of 2 "},
    };
    for (int i = 0; i < 3; i++) {
        Arguments a = RIGHT;
        a.type = types[i].type;
        a.box[0] = (uint32_t)types[i].box0;
        encode(&map, a);
        starts(&map, types[i].start, 0, types[i].fault, types[i].fault, "from 8 bytes after the first");
        starts(&map, 2 * types[i].start, 0, NULL, NULL, "from 16 bytes after the first");
    }
    Arguments a = RIGHT;
    a.rank = 3;
    encode(&map, a);
    const int before[3] = {0, 0, -1};
    ok(tensor_load_fault(&map, before) == NULL && tensor_store_fault(&map, before) != NULL,
       "the third coordinate may be negative in a load, not in a store");
}

/* Rows of 24 elements, 48 bytes, in patterns of 64 and 128 bytes: each row takes a line of its own. */
static void test_narrow(void) {
    for (int swizzle = TENSOR_SWIZZLE_64B; swizzle <= TENSOR_SWIZZLE_128B; swizzle++) {
        TensorMap map;
        Arguments a = RIGHT;
        a.swizzle = swizzle;
        a.box[0] = 24;
        a.box[1] = 9;
        encode(&map, a);
        const int start[2] = {16, 3};
        TensorWalk walk = tensor_walk(&map, start, 2048);
        TensorChunk chunk;
        int chunks = 0, right = 1;
        while (tensor_next(&walk, &chunk)) {
            right = right && chunk.offset == place(swizzle, chunks / 3, chunks % 3 * 8);
            chunks++;
        }
        ok(right && chunks == 27, "rows narrower than swizzle mode %d's pattern", swizzle);
        is_int(tensor_box_bytes(&map), 9 * 48, "... the barrier counts their bytes alone");
        is_int(tensor_box_span(&map), 9 * (16 << swizzle), "... and in shared memory they take whole lines");
    }
    TensorMap map;
    Arguments a = RIGHT;
    a.swizzle = TENSOR_SWIZZLE_NONE;
    a.box[0] = 24;
    encode(&map, a);
    is_int(chunk_at(&map, 16, 3, 3).offset, 48, "without a swizzle, row follows row");
    is_int(tensor_box_span(&map), 16 * 48, "... with no gap");
}

static void test_steps_and_panels(void) {
    TensorMap map;
    TensorChunk chunk;
    Arguments a = RIGHT;
    a.step[1] = 3;
    encode(&map, a);
    is_int(tensor_box_bytes(&map), 6 * 128, "16 rows, every third: 6 rows");
    chunk = chunk_at(&map, 0, 5, 8);
    ok(chunk.coord[1] == 8 && chunk.offset == 128 + 16, "the second of them is row 5 + 3");

    /* Three panels of 32 columns; a panel's rows are followed by the next panel's. */
    a = RIGHT;
    a.rank = 3;
    a.size[0] = 32;
    a.size[1] = 20;
    a.size[2] = 3;
    a.stride[1] = 64;
    a.box[0] = 32;
    a.box[1] = 8;
    a.box[2] = 2;
    a.swizzle = TENSOR_SWIZZLE_64B;
    encode(&map, a);
    const int start[3] = {0, 15, 2};
    TensorWalk walk = tensor_walk(&map, start, 2048);
    int chunks = 0, right = 1;
    while (tensor_next(&walk, &chunk)) {
        int c = chunks % 4 * 8, r = chunks / 4 % 8, panel = chunks / 32;
        int there = 15 + r < 20 && 2 + panel < 3;
        right = right && chunk.coord[0] == c && chunk.coord[1] == 15 + r && chunk.coord[2] == 2 + panel;
        right = right && chunk.offset == place(TENSOR_SWIZZLE_64B, panel * 8 + r, c) && chunk.end == (there ? 16 : 0);
        right = right && (!there || chunk.global == (uint64_t)(uintptr_t)&matrix[(15 + r) * LD + (2 + panel) * 32 + c]);
        chunks++;
    }
    ok(right && chunks == 64, "a box of three dimensions");
    ok(!tensor_next(&walk, &chunk), "a walk that is over stays over");
}

/* Five dimensions: every chunk's index in the tensor, and its place in the box, by counting. */
static void test_five_dimensions(void) {
    static const uint64_t size[5] = {80, 6, 5, 4, 3}, stride[4] = {80, 480, 2400, 9600};
    static const uint32_t box[5] = {32, 3, 2, 2, 2}, step[5] = {1, 1, 1, 1, 1};
    const int start[5] = {64, 4, 1, 3, -1};
    TensorMap map;
    TensorChunk chunk;
    is_int(tensor_map_encode(&map, TENSOR_UINT8, 5, matrix, size, stride, box, step, 0, TENSOR_SWIZZLE_NONE, 0,
                             TENSOR_FILL_ZERO, why, sizeof why),
           0, "a tensor of bytes in five dimensions");
    is_int((long)tensor_box_bytes(&map), 32 * 24, "... whose box is 32 x 3 x 2 x 2 x 2 bytes");
    TensorWalk walk = tensor_walk(&map, start, 1024);
    int i = 0, right = 1;
    for (; tensor_next(&walk, &chunk); i++) {
        int at[5] = {64 + i % 2 * 16, 4 + i / 2 % 3, 1 + i / 6 % 2, 3 + i / 12 % 2, -1 + i / 24};
        uint64_t global = (uint64_t)(uintptr_t)matrix + (uint64_t)at[0];
        int inside = at[0] < 80 && at[1] < 6 && at[3] < 4 && at[4] >= 0;
        for (int d = 1; d < 5; d++) {
            right = right && chunk.coord[d] == at[d];
            global += (uint64_t)at[d] * stride[d - 1];
        }
        right = right && chunk.coord[0] == at[0] && chunk.offset == (uint32_t)i * 16 &&
                chunk.end == (inside ? 16 : 0) && (!inside || chunk.global == global);
    }
    ok(right && i == 48, "... is walked dimension 0 first, and ends at each edge");
}

/* A range: 16-byte pieces side by side, on both sides. */
static void test_range(void) {
    TensorMap map;
    TensorChunk chunk;
    const int start[1] = {0};
    uint8_t shared[16];
    tensor_map_range(&map, matrix + 24, 208 * 1024);
    ok(tensor_map_fault(&map) == NULL && tensor_box_bytes(&map) == 208 * 1024 && tensor_box_span(&map) == 208 * 1024 &&
           tensor_box_alignment(&map) == 16 && tensor_load_fault(&map, start) == NULL,
       "a range of 208 KB is a box on a multiple of 16 bytes");
    tensor_map_range(&map, matrix + 24, 48);
    TensorWalk walk = tensor_walk_store(&map, start, 1024 + 16);
    int i = 0, right = 1;
    for (; tensor_next(&walk, &chunk); i++) {
        right = right && chunk.offset == (uint32_t)i * 16 && tensor_chunk_global(&chunk) == matrix + 24 + i * 8 &&
                chunk.begin == 0 && chunk.end == 16;
        tensor_chunk_load(&map, &chunk, shared);
        right = right && memcmp(shared, matrix + 24 + i * 8, 16) == 0;
    }
    ok(right && i == 3, "... of 48 bytes three pieces");
}

static void test_copies(void) {
    TensorMap map;
    uint8_t shared[16];
    uint16_t *words = (uint16_t *)(void *)shared;
    for (int i = 0; i < ROWS * LD; i++) {
        matrix[i] = (uint16_t)(i + 1);
    }
    encode(&map, RIGHT);
    memset(shared, 0xee, sizeof shared);
    TensorChunk chunk = chunk_at(&map, 64, 2, 4);
    tensor_chunk_load(&map, &chunk, shared);
    uint16_t first = 2 * LD + 96 + 1;
    ok(words[0] == first && words[3] == first + 3 && words[4] == 0 && words[7] == 0,
       "a load fills with zeros at the right");
    chunk = chunk_at(&map, -8, 2, 0);
    tensor_chunk_load(&map, &chunk, shared);
    ok(words[0] == 0 && words[7] == 0, "... and at the left");
    Arguments nan = RIGHT;
    nan.fill = TENSOR_FILL_NAN;
    encode(&map, nan);
    chunk = chunk_at(&map, 64, 2, 4);
    tensor_chunk_load(&map, &chunk, shared);
    ok(words[0] == first && words[3] == first + 3 && words[4] == 0x7ff7 && words[7] == 0x7ff7,
       "... or with the NaN that an H200 uses");
    encode(&map, RIGHT);

    for (int i = 0; i < 8; i++) {
        words[i] = (uint16_t)(1000 + i);
    }
    const int start[2] = {96, 2};
    TensorWalk walk = tensor_walk_store(&map, start, 1024);
    tensor_next(&walk, &chunk);
    tensor_chunk_store(&chunk, shared);
    ok(matrix[2 * LD + 95] == 2 * LD + 96 && matrix[2 * LD + 96] == 1000 && matrix[2 * LD + 103] == 1007 &&
           matrix[3 * LD] == 3 * LD + 1,
       "a store over the right edge writes the row's padding too, up to 16 bytes");

    matrix[0] = 0x3f80; /* 1 */
    matrix[1] = 0x4000; /* 2 */
    words[0] = 0xbf80;  /* -1 */
    words[1] = 0x4040;  /* 3 */
    chunk = chunk_at(&map, 0, 0, 0);
    chunk.end = 4;
    is_int(tensor_chunk_add(&map, &chunk, shared), 0, "bf16 can be added");
    ok(matrix[0] == 0 && matrix[1] == 0x40a0, "... 1 - 1 = 0, 2 + 3 = 5");
    matrix[0] = 0x4380; /* 256; its neighbours are 258 and 260 */
    words[0] = 0x3f80;
    chunk.end = 2;
    tensor_chunk_add(&map, &chunk, shared);
    is_hex(matrix[0], 0x4380, "... 256 + 1 rounds to even: 256");
    words[0] = 0x4040;
    tensor_chunk_add(&map, &chunk, shared);
    is_hex(matrix[0], 0x4382, "... 256 + 3 rounds to even: 260");

    Arguments a = RIGHT;
    a.type = TENSOR_FLOAT64;
    a.box[0] = 16;
    encode(&map, a);
    is_int(tensor_chunk_add(&map, &chunk, shared), 1, "fp64 cannot");
}

/* ---- one warp ---------------------------------------------------------------------------------------------------- */

static int small(uint32_t i) { return (int)((i * 2654435761u) >> 16) % 9 - 4; }

static uint16_t bf16_of(int value) {
    union {
        float f;
        uint32_t u;
    } x = {(float)value};
    return (uint16_t)(x.u >> 16);
}

static uint32_t pair_of(int low, int high) { return bf16_of(low) | (uint32_t)bf16_of(high) << 16; }

static void test_warp(void) {
    static _Alignas(16) uint16_t shared[1024];
    uint32_t r[32][4];
    uint32_t *registers[32];
    void *row[32];
    for (int i = 0; i < 1024; i++) {
        shared[i] = (uint16_t)i;
    }
    for (int lane = 0; lane < 32; lane++) {
        registers[lane] = r[lane];
        row[lane] = &shared[(31 - lane) * 24];
    }
    matrix_ldmatrix_x4(registers, (const void *const *)row);
    int right = 1;
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4; i++) {
            uint32_t first = (uint32_t)((31 - (8 * i + lane / 4)) * 24 + 2 * (lane % 4));
            right = right && r[lane][i] == (first | (first + 1) << 16);
        }
    }
    ok(right, "ldmatrix: lane l gets elements 2(l %% 4) and the next of row l / 4 of each matrix");
    memset(shared, 0, sizeof shared);
    matrix_stmatrix_x4(row, (const uint32_t *const *)registers);
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 24; j++) {
            right = right && shared[i * 24 + j] == (j < 8 ? i * 24 + j : 0);
        }
    }
    ok(right, "stmatrix puts them back, and nothing else");

    /* The fragments by the formulas of PTX 9.7.14.5.8, element by element. */
    uint32_t a[32][4], b[32][2];
    float d[32][4];
    int am[16][16], bm[16][8], dm[16][8];
    uint32_t *ar[32], *br[32];
    float *dr[32];
    for (int m = 0; m < 16; m++) {
        for (int k = 0; k < 16; k++) {
            am[m][k] = small((uint32_t)(m * 16 + k));
            if (m < 8) {
                bm[k][m] = small((uint32_t)(1000 + m * 16 + k));
                dm[k][m] = small((uint32_t)(2000 + m * 16 + k));
            }
        }
    }
    for (int lane = 0; lane < 32; lane++) {
        int g = lane >> 2, t = lane & 3;
        ar[lane] = a[lane];
        br[lane] = b[lane];
        dr[lane] = d[lane];
        a[lane][0] = pair_of(am[g][2 * t], am[g][2 * t + 1]);
        a[lane][1] = pair_of(am[g + 8][2 * t], am[g + 8][2 * t + 1]);
        a[lane][2] = pair_of(am[g][2 * t + 8], am[g][2 * t + 9]);
        a[lane][3] = pair_of(am[g + 8][2 * t + 8], am[g + 8][2 * t + 9]);
        b[lane][0] = pair_of(bm[2 * t][g], bm[2 * t + 1][g]);
        b[lane][1] = pair_of(bm[2 * t + 8][g], bm[2 * t + 9][g]);
        d[lane][0] = (float)dm[g][2 * t];
        d[lane][1] = (float)dm[g][2 * t + 1];
        d[lane][2] = (float)dm[g + 8][2 * t];
        d[lane][3] = (float)dm[g + 8][2 * t + 1];
    }
    matrix_mma_m16n8k16(dr, (const uint32_t *const *)ar, (const uint32_t *const *)br);
    right = 1;
    for (int m = 0; m < 16; m++) {
        for (int n = 0; n < 8; n++) {
            int sum = dm[m][n];
            for (int k = 0; k < 16; k++) {
                sum += am[m][k] * bm[k][n];
            }
            right = right && d[m % 8 * 4 + n / 2][m / 8 * 2 + n % 2] == (float)sum;
        }
    }
    ok(right, "mma m16n8k16 with the fragments of the manual");
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

static void test_descriptor(void) {
    WgmmaDescriptor d = wgmma_descriptor_decode(0x4000004000010000u | (0x8400 >> 4));
    ok(d.start == 0x8400 && d.leading == 16 && d.stride == 1024 && d.swizzle_bytes == 128 && d.base_offset == 0 &&
           d.unknown == 0,
       "the descriptor of a K-major tile with the 128-byte swizzle");
    d = wgmma_descriptor_decode(0x800a002002003fffu);
    ok(d.start == 0x3fff0 && d.leading == 0x2000 && d.stride == 0x200 && d.base_offset == 5 && d.swizzle_bytes == 64,
       "every field of another");
    is_hex(wgmma_descriptor_decode(0x800a002002003fffu).unknown, 0, "... which has no other bits");
    is_hex(wgmma_descriptor_decode(0x3ff1c000c000c000u).unknown, 0x3ff1c000c000c000u, "bits that belong to no field");
    is_int(wgmma_descriptor_decode((uint64_t)3 << 62).swizzle_bytes, 32, "swizzle 3 is 32 bytes");
    is_int(wgmma_descriptor_decode(0).swizzle_bytes, 0, "swizzle 0 is none");
}

static uint32_t element(uint64_t descriptor, int mn_major, int row, int k) {
    WgmmaDescriptor d = wgmma_descriptor_decode(descriptor);
    return wgmma_element_address(&d, mn_major, row, k);
}

/* K-major: tiles as TMA writes them, and as the kernels step through them. */
static void test_k_major(void) {
    static const int modes[4] = {TENSOR_SWIZZLE_NONE, TENSOR_SWIZZLE_128B, TENSOR_SWIZZLE_64B, TENSOR_SWIZZLE_32B};
    for (int swizzle = WGMMA_SWIZZLE_128B; swizzle <= WGMMA_SWIZZLE_32B; swizzle++) {
        int span = 256 >> swizzle, right = 1;
        for (int step = 0; step < span / 32; step++) {
            uint64_t descriptor =
                wgmma_descriptor_fields(4096, 16, (uint32_t)span * 8, swizzle) + (uint64_t)(step * WGMMA_K16_STEP);
            for (int row = 0; row < 256; row++) {
                for (int k = 0; k < 16; k++) {
                    right = right && element(descriptor, 0, row, k) == 4096 + place(modes[swizzle], row, step * 16 + k);
                }
            }
        }
        ok(right, "K-major, swizzle %d bytes: 256 rows, every k16 step of the row", span);
    }
    uint64_t lower = wgmma_descriptor_k_major_128b(4096 + 8192);
    ok(element(lower, 0, 5, 3) == 4096 + place(TENSOR_SWIZZLE_128B, 64 + 5, 3), "64 rows further down are 8192 bytes");
    uint64_t other_leading = wgmma_descriptor_fields(4096, 4096, 1024, WGMMA_SWIZZLE_128B);
    ok(element(other_leading, 0, 9, 12) == 4096 + place(TENSOR_SWIZZLE_128B, 9, 12),
       "the leading offset does not count");

    /* Without a swizzle: core matrices of 8 rows x 16 bytes. */
    uint64_t plain = wgmma_descriptor_fields(4096, 2048, 128, WGMMA_SWIZZLE_NONE);
    ok(element(plain, 0, 0, 0) == 4096 && element(plain, 0, 7, 7) == 4096 + 112 + 14 &&
           element(plain, 0, 8, 0) == 4096 + 128 && element(plain, 0, 0, 8) == 4096 + 2048 &&
           element(plain, 0, 63, 15) == 4096 + 7 * 128 + 112 + 2048 + 14,
       "K-major without a swizzle");
}

/* MN-major: the tile [k][mn] as TMA writes it, panel by panel, read by the operand's row and k. */
static void test_mn_major(void) {
    static const int modes[4] = {TENSOR_SWIZZLE_NONE, TENSOR_SWIZZLE_128B, TENSOR_SWIZZLE_64B, TENSOR_SWIZZLE_32B};
    for (int swizzle = WGMMA_SWIZZLE_128B; swizzle <= WGMMA_SWIZZLE_32B; swizzle++) {
        int span = 256 >> swizzle, panel = span / 2, right = 1;
        uint32_t panel_bytes = (uint32_t)(64 * span);
        uint64_t descriptor = wgmma_descriptor_fields(2048, panel_bytes, (uint32_t)span * 8, swizzle);
        for (int step = 0; step < 4; step++, descriptor += (uint64_t)span) {
            for (int row = 0; row < 192; row++) {
                for (int k = 0; k < 16; k++) {
                    uint32_t expected = 2048 + (uint32_t)(row / panel) * panel_bytes +
                                        place(modes[swizzle], step * 16 + k, row % panel);
                    right = right && element(descriptor, 1, row, k) == expected;
                }
            }
        }
        ok(right, "MN-major, swizzle %d bytes: 192 rows, four k16 steps", span);
    }
    uint64_t plain = wgmma_descriptor_fields(4096, 1024, 128, WGMMA_SWIZZLE_NONE);
    ok(element(plain, 1, 0, 0) == 4096 && element(plain, 1, 7, 7) == 4096 + 112 + 14 &&
           element(plain, 1, 8, 0) == 4096 + 128 && element(plain, 1, 0, 8) == 4096 + 1024,
       "MN-major without a swizzle");
}

/* D[64][n] by plain loops over what the addresses and fragments name. */
static int product_is_right(int n, int a_major, int b_major, int from_registers, int accumulate) {
    static _Alignas(1024) uint16_t shared[32768];
    static float a[16 * 64], b[16 * 256], tile[64 * 256];
    uint32_t address[512], registers[128][4];
    const uint32_t *fragment[128];
    int right = 1;
    for (int i = 0; i < 32768; i++) {
        shared[i] = bf16_of(small((uint32_t)i));
    }
    /* A from 32 KB on, B before it; 128-byte swizzle; addresses start at 1024. */
    uint64_t a_bits = wgmma_descriptor_fields(1024 + 32768, 16, 1024, WGMMA_SWIZZLE_128B);
    uint64_t b_bits = wgmma_descriptor_fields(1024, 8192, 1024, WGMMA_SWIZZLE_128B);
    WgmmaDescriptor ad = wgmma_descriptor_decode(a_bits), bd = wgmma_descriptor_decode(b_bits);
    for (int t = 0; t < 128; t++) {
        fragment[t] = registers[t];
        for (int r = 0; r < 4; r++) {
            registers[t][r] = pair_of(small((uint32_t)(t * 8 + 2 * r)), small((uint32_t)(t * 8 + 2 * r + 1)));
        }
        for (int v = 0; v < n / 2; v++) {
            tile[wgmma_accumulator_row(t, v) * n + wgmma_accumulator_column(t, v)] =
                (float)small((uint32_t)(90000 + t * 128 + v));
        }
    }
    if (from_registers) {
        for (int warp = 0; warp < 4; warp++) {
            matrix_fragment_a(a + 16 * warp, 64, fragment + 32 * warp);
        }
    } else {
        right = right && wgmma_operand_addresses(&ad, a_major, 64, address) == 128;
        wgmma_operand_load(a, (const uint8_t *)shared, 1024, address, a_major, 64);
    }
    right = right && wgmma_operand_addresses(&bd, b_major, n, address) == 2 * n;
    wgmma_operand_load(b, (const uint8_t *)shared, 1024, address, b_major, n);
    wgmma_multiply(tile, a, b, n, MATRIX_K, accumulate);

    for (int t = 0; t < 128; t++) {
        int w = t / 32, l = t % 32;
        for (int v = 0; v < n / 2; v++) {
            int row = 16 * w + l / 4 + 8 * ((v / 2) & 1), column = 8 * (v / 4) + 2 * (l & 3) + (v & 1);
            int sum = accumulate ? small((uint32_t)(90000 + t * 128 + v)) : 0;
            for (int k = 0; k < 16; k++) {
                uint32_t b_at = b_major ? (uint32_t)(column / 64) * 8192 + place(TENSOR_SWIZZLE_128B, k, column % 64)
                                        : place(TENSOR_SWIZZLE_128B, column, k);
                uint32_t a_at =
                    32768 + (a_major ? place(TENSOR_SWIZZLE_128B, k, row) : place(TENSOR_SWIZZLE_128B, row, k));
                int factor = small(a_at / 2);
                if (from_registers) { /* who holds A(row, k): the manual's map, turned round */
                    int holder = row / 16 * 32 + row % 8 * 4 + k % 8 / 2,
                        element_of = k / 8 * 4 + row / 8 % 2 * 2 + k % 2;
                    factor = small((uint32_t)(holder * 8 + element_of));
                }
                sum += factor * small(b_at / 2);
            }
            float d = tile[wgmma_accumulator_row(t, v) * n + wgmma_accumulator_column(t, v)];
            if (d != (float)sum) {
                return diag("n %d, thread %d, d[%d] = D(%d, %d) is %g, expected %d", n, t, v, row, column, (double)d,
                            sum);
            }
        }
    }
    return right;
}

static void test_products(void) {
    int right = 1;
    for (int n = 8; n <= 256; n += 8) {
        right = right && product_is_right(n, 0, 0, 0, n % 16 == 0);
    }
    ok(right, "products of every width, N = 8 .. 256");
    ok(product_is_right(128, 1, 0, 0, 1), "A M-major");
    ok(product_is_right(128, 0, 1, 0, 0), "B N-major");
    ok(product_is_right(192, 1, 1, 0, 1), "both");
    ok(product_is_right(64, 0, 0, 1, 1), "A from registers");
    ok(product_is_right(256, 0, 1, 1, 0), "A from registers, B N-major");

    int seen[64 * 256] = {0}, once = 1;
    for (int t = 0; t < 128; t++) {
        for (int v = 0; v < 128; v++) {
            seen[wgmma_accumulator_row(t, v) * 256 + wgmma_accumulator_column(t, v)]++;
        }
    }
    for (int i = 0; i < 64 * 256; i++) {
        once = once && seen[i] == 1;
    }
    ok(once, "each accumulator is held by one thread");
    ok(wgmma_accumulator_row(37, 6) == 25 && wgmma_accumulator_column(37, 6) == 10, "thread 37, d[6] is D(25, 10)");
}

/* ---- other types than bf16 --------------------------------------------------------------------------------------- */

static const char *const type_names[] = {"bf16", "f16", "e4m3", "e5m2", "tf32"};

/* -3 .. 3 in each type, from its definition. */
static const uint32_t small_bits[5][7] = {
    {0xc040, 0xc000, 0xbf80, 0, 0x3f80, 0x4000, 0x4040},
    {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200},
    {0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44},
    {0xc2, 0xc0, 0xbc, 0, 0x3c, 0x40, 0x42},
    {0xc0400000, 0xc0000000, 0xbf800000, 0, 0x3f800000, 0x40000000, 0x40400000},
};
static const int type_bytes[5] = {2, 2, 1, 1, 4};

static void test_elements(void) {
    static const struct {
        MatrixType type;
        uint32_t bits;
        float value;
    } values[] = {
        {MATRIX_BF16, 0xc2c8, -100},     {MATRIX_F16, 0xc500, -5},
        {MATRIX_F16, 0x0001, 0x1p-24f},  {MATRIX_F16, 0x7bff, 65504},
        {MATRIX_F16, 0xfc00, -INFINITY}, {MATRIX_E4M3, 0x7e, 448},
        {MATRIX_E4M3, 0x01, 0x1p-9f},    {MATRIX_E4M3, 0x87, -0x7p-9f},
        {MATRIX_E4M3, 0x08, 0x1p-6f},    {MATRIX_E5M2, 0x7b, 57344},
        {MATRIX_E5M2, 0x01, 0x1p-16f},   {MATRIX_E5M2, 0x7c, INFINITY},
        {MATRIX_TF32, 0x3f801fff, 1},    {MATRIX_TF32, 0xc0493fdb, -3.142578125f},
    };
    int right = 1;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        float value = matrix_element(values[i].type, values[i].bits);
        if (value != values[i].value) {
            right = diag("%s 0x%x is %g, expected %g", type_names[values[i].type], (unsigned)values[i].bits,
                         (double)value, (double)values[i].value);
        }
    }
    ok(right, "values of elements: large, small, subnormal, infinite");
    ok(isnan(matrix_element(MATRIX_E4M3, 0x7f)) && isnan(matrix_element(MATRIX_E4M3, 0xff)) &&
           isnan(matrix_element(MATRIX_E5M2, 0x7d)) && isnan(matrix_element(MATRIX_F16, 0x7e00)),
       "e4m3's one NaN, and those of others");
    for (int type = 0; type < 5; type++) {
        right = matrix_element_bytes((MatrixType)type) == type_bytes[type] &&
                matrix_k((MatrixType)type) == 32 / type_bytes[type];
        for (int i = 0; i < 7; i++) {
            right = right && matrix_element((MatrixType)type, small_bits[type][i]) == (float)(i - 3);
        }
        ok(right, "%s: %d bytes, and -3 to 3", type_names[type], type_bytes[type]);
    }
}

static int small_7(uint32_t i) { return (int)((i * 2654435761u) >> 16) % 7; }

/* Four bytes of a register or of shared memory: elements number first, first + 1, .. */
static uint32_t packed(int type, uint32_t first) {
    uint32_t word = 0;
    for (int i = 0; i < 4 / type_bytes[type]; i++) {
        word |= small_bits[type][small_7(first + (uint32_t)i)] << (8 * type_bytes[type] * i);
    }
    return word;
}

/* m16n8k32 of fp8, k16 of fp16, k8 of tf32, with the fragments of the manual: register r of A holds row lane / 4 + 8
 * (r % 2), bytes 4 (lane % 4) + 16 (r / 2) and the next three. */
static int mma_is_right(int type) {
    int bytes = type_bytes[type], depth = 32 / bytes, right = 1;
    uint32_t a[32][4], b[32][2];
    float d[32][4];
    const uint32_t *ar[32], *br[32];
    float *dr[32];
    for (int lane = 0; lane < 32; lane++) {
        int group = lane / 4, in_row = 4 * (lane % 4) / bytes;
        for (int r = 0; r < 4; r++) {
            a[lane][r] = packed(type, (uint32_t)((group + 8 * (r % 2)) * 64 + in_row + r / 2 * (16 / bytes)));
            d[lane][r] = (float)(lane - r);
        }
        for (int r = 0; r < 2; r++) {
            b[lane][r] = packed(type, (uint32_t)(5000 + group * 64 + in_row + r * (16 / bytes)));
        }
        ar[lane] = a[lane];
        br[lane] = b[lane];
        dr[lane] = d[lane];
    }
    matrix_mma((MatrixType)type, dr, ar, br);
    for (int m = 0; m < 16; m++) {
        for (int n = 0; n < 8; n++) {
            int lane = m % 8 * 4 + n / 2, v = m / 8 * 2 + n % 2, sum = lane - v;
            for (int k = 0; k < depth; k++) {
                sum += (small_7((uint32_t)(m * 64 + k)) - 3) * (small_7((uint32_t)(5000 + n * 64 + k)) - 3);
            }
            right = right && d[lane][v] == (float)sum;
        }
    }
    return right;
}

/* Tiles of 64 and n rows of 128 bytes, 128-byte swizzle; the third 32 bytes of each row. A also from registers. */
static int typed_product_is_right(int type, int n, int from_registers) {
    static _Alignas(1024) uint8_t shared[65536];
    static float a[32 * 64], b[32 * 256], tile[64 * 256];
    uint32_t address[512], registers[128][4];
    const uint32_t *fragment[128];
    int bytes = type_bytes[type], depth = 32 / bytes, right = 1;
    for (int row = 0; row < 64 + 256; row++) {
        for (int word = 0; word < 32; word++) {
            uint32_t bits = packed(type, (uint32_t)(row * 128 + word * 4 / bytes));
            memcpy(shared + row * 128 + ((word / 4 ^ (row & 7)) << 4) + word % 4 * 4, &bits, 4);
        }
    }
    for (int t = 0; t < 128; t++) {
        for (int r = 0; r < 4; r++) {
            int row = t / 32 * 16 + t % 32 / 4 + 8 * (r % 2), byte = 64 + 4 * (t % 4) + 16 * (r / 2);
            registers[t][r] = packed(type, (uint32_t)(row * 128 + byte / bytes));
        }
        fragment[t] = registers[t];
    }
    WgmmaDescriptor ad = wgmma_descriptor_decode(wgmma_descriptor_k_major_128b(1024) + 2 * WGMMA_K16_STEP);
    WgmmaDescriptor bd = wgmma_descriptor_decode(wgmma_descriptor_k_major_128b(1024 + 8192) + 2 * WGMMA_K16_STEP);
    if (from_registers) {
        for (int warp = 0; warp < 4; warp++) {
            matrix_fragment((MatrixType)type, a + 16 * warp, 64, fragment + 32 * warp);
        }
    } else {
        wgmma_operand_addresses(&ad, 0, 64, address);
        wgmma_operand_load_of((MatrixType)type, a, shared, 1024, address, 0, 64);
    }
    wgmma_operand_addresses(&bd, 0, n, address);
    wgmma_operand_load_of((MatrixType)type, b, shared, 1024, address, 0, n);
    wgmma_multiply(tile, a, b, n, depth, 0);
    for (int i = 0; i < 64; i++) {
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int k = 64 / bytes; k < 64 / bytes + depth; k++) {
                sum += (small_7((uint32_t)(i * 128 + k)) - 3) * (small_7((uint32_t)((64 + j) * 128 + k)) - 3);
            }
            right = right && tile[i * n + j] == (float)sum;
        }
    }
    return right;
}

static void test_types(void) {
    for (int type = 0; type < 5; type++) {
        ok(mma_is_right(type), "mma.sync of %s with the fragments of the manual", type_names[type]);
        ok(typed_product_is_right(type, 8, 0) && typed_product_is_right(type, 136, 0) &&
               typed_product_is_right(type, 256, 0),
           "wgmma of %s, n 8, 136 and 256", type_names[type]);
        ok(typed_product_is_right(type, 72, 1), "... with A from registers");
    }
}

/* One product of inexact.h, on the model. */
static void round_case(int type, const InexactCase *r, float *d) {
    static const MatrixType types[INEXACT_TYPES] = {MATRIX_E4M3, MATRIX_BF16, MATRIX_F16, MATRIX_TF32, MATRIX_E5M2};
    static float a[MATRIX_MAX_K * WGMMA_M], b[MATRIX_MAX_K * INEXACT_COLUMNS];
    int bytes = inexact_types[type].bytes;
    for (int i = 0; i < (WGMMA_M + INEXACT_COLUMNS) * 32 / bytes; i++) {
        int is_a = i < WGMMA_M * 32 / bytes, at = is_a ? i : i - WGMMA_M * 32 / bytes;
        int row = at / (32 / bytes), k = at % (32 / bytes);
        uint32_t bits = 0;
        memcpy(&bits, (is_a ? r->a : r->b) + at * bytes, (size_t)bytes);
        *(is_a ? &a[k * WGMMA_M + row] : &b[k * INEXACT_COLUMNS + row]) = matrix_element(types[type], bits);
    }
    memcpy(d, r->c, sizeof r->c);
    rounding_multiply(types[type], d, a, b, INEXACT_COLUMNS, 1);
}

static void test_rounding(void) {
    static InexactCase r;
    static float d[WGMMA_M * INEXACT_COLUMNS];
    FILE *recorded = fopen("tests/conform/inexact.txt", "r");
    char line[400], name[8];
    uint64_t state = 1;
    int number, at, right[INEXACT_TYPES] = {0}, types = 0, inexact = 0;
    while (recorded != NULL && fgets(line, sizeof line, recorded) != NULL) {
        if (line[0] == '#' || sscanf(line, "%7s %d%n", name, &number, &at) != 2 || types == INEXACT_TYPES) {
            continue;
        }
        inexact_next(&state, types, number, &r);
        round_case(types, &r, d);
        int same = strcmp(name, inexact_types[types].name) == 0;
        for (int i = 0; i < INEXACT_ROWS * INEXACT_COLUMNS; i++) {
            uint32_t bits;
            memcpy(&bits, &d[i], sizeof bits);
            char *end;
            same &= (uint32_t)strtoul(line + at, &end, 16) == bits;
            at = (int)(end - line);
            inexact += (bits & 0x3ff) != 0;
        }
        right[types] += same;
        types += number == INEXACT_CASES - 1;
    }
    if (recorded != NULL) {
        fclose(recorded);
    }
    for (int type = 0; type < INEXACT_TYPES; type++) {
        ok(right[type] == INEXACT_CASES, "sums of %s are rounded as an H200 rounds them", inexact_types[type].name);
    }
    ok(inexact > 1000, "... and many use all bits of an fp32");
    r.a[0] = r.b[0] = 0;
    r.c[0] = INFINITY;
    round_case(0, &r, d);
    ok(isinf(d[0]) && isfinite(d[8]), "infinity stays where it is");
}

/* Rows that lie apart; every matrix is transposed. */
static void test_transposed(void) {
    static _Alignas(16) uint16_t shared[1024];
    uint32_t r[32][4], *registers[32];
    const void *row[32];
    int right = 1;
    for (int i = 0; i < 1024; i++) {
        shared[i] = (uint16_t)i;
    }
    for (int lane = 0; lane < 32; lane++) {
        registers[lane] = r[lane];
        row[lane] = &shared[(31 - lane) * 24];
    }
    matrix_ldmatrix_x4_trans(registers, row);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4; i++) {
            uint32_t first = (uint32_t)((31 - (8 * i + 2 * (lane % 4))) * 24 + lane / 4);
            right = right && r[lane][i] == (first | (first - 24) << 16);
        }
    }
    ok(right, "ldmatrix.trans: lane l gets element l / 4 of rows 2(l %% 4) and the next of each matrix");
}

/* The descriptor of an MN-major tile: panels of 64 mn, 48 k each; k16 steps of WGMMA_K16_STEP_MN. */
static void test_mn_descriptor(void) {
    int right = 1;
    for (int step = 0; step < 3; step++) {
        uint64_t descriptor = wgmma_descriptor_mn_major_128b(4096, 48 * 128) + (uint64_t)(step * WGMMA_K16_STEP_MN);
        for (int row = 0; row < 256; row++) {
            for (int k = 0; k < 16; k++) {
                uint32_t expected =
                    4096 + (uint32_t)(row / 64 * 48 * 128) + place(TENSOR_SWIZZLE_128B, step * 16 + k, row % 64);
                right = right && element(descriptor, 1, row, k) == expected;
            }
        }
    }
    ok(right, "wgmma_descriptor_mn_major_128b: 256 rows, three k16 steps of panels with 48 k");
}

int main(void) {
    test_encoder();
    test_encoder_2d();
    test_inside();
    test_shifted();
    test_edges();
    test_store_edges();
    test_starts();
    test_narrow();
    test_steps_and_panels();
    test_five_dimensions();
    test_range();
    test_copies();
    test_warp();
    test_descriptor();
    test_k_major();
    test_mn_major();
    test_products();
    test_elements();
    test_types();
    test_rounding();
    test_transposed();
    test_mn_descriptor();
    return tap_done();
}

#endif
