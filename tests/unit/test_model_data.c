/* The data functions of the CPU model (tensor_map.h, matrix.h, rounding.h), where no vector of tests/conform has them:
 * where each element of a box, a fragment or a tile lies is compared there with what a GPU did. Here: what is said of a
 * refusal, the ends of the ranges, rounding, values. */
#include "tap.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "device/tcgen05.h"
#include "device/wgmma.h"
#include "model/data/matrix.h"
#include "model/data/rounding.h"
#include "model/data/tcgen05.h"
#include "model/data/tensor_map.h"

enum { COLS = 100, ROWS = 50, LD = 104 };
static _Alignas(256) uint16_t matrix[ROWS * LD];

/* ---- the encoder ------------------------------------------------------------------------------------------------- */

typedef struct {
    int type, rank, misaligned;
    uint64_t size[3], stride[2];
    uint32_t box[3];
    int swizzle;
} Arguments;

static const Arguments RIGHT = {TENSOR_BFLOAT16,    2, 0, {COLS, ROWS, 7}, {LD * 2, LD * 2 * ROWS}, {64, 16, 2},
                                TENSOR_SWIZZLE_128B};

static char why[200];

static int encode(TensorMap *map, Arguments a) {
    why[0] = '\0';
    return tensor_map_encode(map, a.type, a.rank, (uint8_t *)matrix + a.misaligned, a.size, a.stride, a.box, a.swizzle,
                             why, sizeof why);
}

/* RIGHT with one change is refused, with a reason that names `part`. What is accepted is in tests/conform. */
#define CHANGED(change, part, name)                       \
    do {                                                  \
        Arguments a = RIGHT;                              \
        change;                                           \
        is_int(encode(&map, a), 1, name " is refused");   \
        contains(why, part, name ": the reason says so"); \
    } while (0)

static void test_encoder(void) {
    TensorMap map;
    CHANGED(a.misaligned = 8, "address", "an address of 8 bytes' alignment");
    CHANGED(a.type = 99, "type 99", "an unknown type");
    CHANGED(a.rank = 0, "rank is 0", "rank 0");
    CHANGED(a.size[1] = 0, "size 0 of dimension 1", "no rows");
    CHANGED(a.size[1] = ((uint64_t)1 << 32) + 1, "dimension 1", "more than 2^32 rows");
    CHANGED(a.stride[0] = 200, "200 bytes", "a pitch of 200 bytes");
    CHANGED(a.box[1] = 257, "257 elements", "a box of 257 rows");
    CHANGED(a.box[0] = 4, "8 bytes", "a box row of 8 bytes");
    CHANGED(a.box[0] = 72, "144 bytes", "a box row wider than the 128-byte swizzle");
    CHANGED(a.swizzle = 7, "swizzle mode 7", "swizzle mode 7");

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

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

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

/* The ends of the range of coordinates, and what is said of starts that are refused: which are is in tests/conform. */
static void test_starts(void) {
    TensorMap map;
    const int between[2] = {4, 3}, left[2] = {-8, 3};
    encode(&map, RIGHT);
    ok(chunk_at(&map, INT_MIN, 3, 0).end == 0 && chunk_at(&map, INT_MAX - 7, 3, 0).end == 0 &&
           chunk_at(&map, 8, INT_MIN, 0).end == 0 && chunk_at(&map, 8, INT_MAX, 0).end == 0,
       "as far outside as coordinates go");
    contains(tensor_load_fault(&map, between), "multiple of 8 ", "a load from element 4: the reason says so");
    contains(tensor_store_fault(&map, left), "negative", "a store from an element to the left: the reason says so");
}

/* A range of bytes is a box that a walk takes 16 bytes at a time; the largest is more than a tensor's box may have. */
static void test_range(void) {
    TensorMap map;
    const int start[1] = {0};
    tensor_map_range(&map, matrix + 24, 208 * 1024);
    ok(tensor_map_fault(&map) == NULL && tensor_box_bytes(&map) == 208 * 1024 && tensor_box_span(&map) == 208 * 1024 &&
           tensor_box_alignment(&map) == 16 && tensor_load_fault(&map, start) == NULL,
       "a range of 208 KB is a box on a multiple of 16 bytes");
}

static void test_additions(void) {
    TensorMap map;
    uint16_t words[8] = {0};
    encode(&map, RIGHT);
    TensorChunk chunk = chunk_at(&map, 0, 0, 0);
    chunk.end = 2;
    matrix[0] = 0x4380; /* 256; its neighbours are 258 and 260 */
    words[0] = 0x3f80;
    ok(tensor_can_add(&map), "bf16 can be added");
    tensor_chunk_add(&map, &chunk, (const uint8_t *)words);
    is_int(matrix[0], 0x4380, "... 256 + 1 rounds to even: 256");
    words[0] = 0x4040;
    tensor_chunk_add(&map, &chunk, (const uint8_t *)words);
    is_int(matrix[0], 0x4382, "... 256 + 3 rounds to even: 260");

    Arguments a = RIGHT;
    a.type = TENSOR_FLOAT16;
    encode(&map, a);
    ok(!tensor_can_add(&map), "fp16 cannot");
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

static void test_descriptor(void) {
    is_int(wgmma_descriptor_decode(0x800a002002003fffu).unknown, 0, "a descriptor without other bits");
    is_int(wgmma_descriptor_decode(0x3ff1c000c000c000u).unknown, 0x3ff1c000c000c000u, "bits that belong to no field");
    is_int(wgmma_descriptor_fields(0xfffc0400, 0, 0, WGMMA_SWIZZLE_NONE), 0x40,
           "address bits from 18 on reach no field");
    is_int(wgmma_descriptor_fields(0x3fff0, 0x3fff0, 0x3fff0, WGMMA_SWIZZLE_32B), 0xc0003fff3fff3fff,
           "the largest of all");
}

/* ---- other types than bf16 --------------------------------------------------------------------------------------- */

/* What sums of tests/conform cannot have. */
static void test_elements(void) {
    ok(isnan(matrix_element(MATRIX_E4M3, 0x7f)) && isnan(matrix_element(MATRIX_E4M3, 0xff)) &&
           isnan(matrix_element(MATRIX_E5M2, 0x7d)) && isnan(matrix_element(MATRIX_F16, 0x7e00)),
       "e4m3's one NaN, and those of others");
    ok(matrix_element(MATRIX_F16, 0xfc00) == -INFINITY && matrix_element(MATRIX_E5M2, 0x7c) == INFINITY, "infinities");
    ok(matrix_element(MATRIX_E2M1, 0x7) == 6 && matrix_element(MATRIX_E2M1, 0x9) == -0.5f &&
           matrix_element(MATRIX_UE8M0, 0x80) == 2 && matrix_element(MATRIX_UE8M0, 0) == 0x1p-127f,
       "e2m1, and scales");
}

/* What the sums that a GPU has recorded (tests/conform) do not have. */
static void test_rounding(void) {
    static float a[MATRIX_MAX_K * WGMMA_M], b[MATRIX_MAX_K * 8], d[WGMMA_M * 8];
    d[0] = INFINITY;
    d[1] = NAN;
    rounding_multiply(MATRIX_E4M3, d, a, b, 8, 1);
    ok(d[0] == INFINITY && isnan(d[1]) && d[8] == 0, "infinity and NaN stay where they are");
}

/* ---- Blackwell's: tests/conform/cute.txt, which CuTe's headers say and no GPU ------------------------------------ */

/* A sum over places: FNV-1a over the bytes of each, the lowest first, as cute.cpp has it. */
static void add_place(uint64_t *sum, uint32_t place) {
    for (int byte = 0; byte < 4; byte++) {
        *sum = (*sum ^ (place >> 8 * byte & 0xff)) * 0x100000001b3;
    }
}

/* Our instruction descriptor, which says by our functions what went into it; 0: it does not. */
static uint64_t shape_of(Tcgen05Kind kind, int a, int b, int m, int n, int a_major, int b_major, int ue8m0) {
    const int scales = tcgen05_has_scales(kind);
    const uint32_t bits = kind == TCGEN05_F16 ? tcgen05_shape_f16(a, m, n, a_major, b_major)
                                              : tcgen05_shape_scaled(a, b, ue8m0, m, n, 0, 0);
    const Tcgen05Shape s = tcgen05_shape(bits, kind, m == 256);
    const int is_right = s.a == tcgen05_type(kind, (uint32_t)a) && s.b == tcgen05_type(kind, (uint32_t)b) && s.m == m &&
                         s.n == n && s.a_major == a_major && s.b_major == b_major && s.unknown == 0 &&
                         (!scales || s.scale == (ue8m0 ? MATRIX_UE8M0 : MATRIX_E4M3)) && tcgen05_has_shape(&s);
    return is_right ? bits : 0;
}

static int is_operand(int swizzle_bytes, int mn_major, int rows, uint64_t bits, uint64_t *sum) {
    static const int swizzles[] = {TCGEN05_SWIZZLE_NONE, TCGEN05_SWIZZLE_32B, TCGEN05_SWIZZLE_64B, 0,
                                   TCGEN05_SWIZZLE_128B};
    WgmmaDescriptor d;
    if (!tcgen05_descriptor_decode(bits, &d) || d.swizzle_bytes != swizzle_bytes) {
        return 0;
    }
    for (int i = 0; i < rows * MATRIX_K; i++) {
        add_place(sum, wgmma_element_address(&d, mn_major, i / MATRIX_K, i % MATRIX_K));
    }
    return tcgen05_descriptor_fields(0, d.leading, d.stride, swizzles[swizzle_bytes / 32]) == bits &&
           !tcgen05_descriptor_decode(bits ^ (uint64_t)1 << 46, &d);
}

static int is_accumulator(int ctas, int m, int n, uint64_t *sum) {
    const Tcgen05Shape s = {.m = m, .n = n, .pair = ctas == 2};
    const int rows = tcgen05_rows(&s), columns = tcgen05_piece_columns(&s);
    for (int i = 0; i < rows * n; i++) {
        int lane = tcgen05_lane(&s, i / n + i % n / columns * rows);
        add_place(sum, (uint32_t)lane << 16 | (uint32_t)(i % n % columns));
    }
    return 1;
}

/* Four scales of each row, in each quarter: lane and byte. */
static int is_scales(int rows, uint64_t *sum) {
    for (int i = 0; i < rows * 4 * 4; i++) {
        int row = i % rows, quarter = i / rows % 4;
        add_place(sum, (uint32_t)(quarter * 32 + row % 32) << 16 | (uint32_t)(row / 32 * 4 + i / rows / 4));
    }
    return tcgen05_scale_columns(rows) * 32 == rows;
}

/* Do our functions say what the line says, with these bits of its last number flipped? Kind 2 is mxf8f6f4. Kind 3 is
 * mxf4nvf4, whose first type is that of the scales. */
static int as_cute(const char *line, uint64_t flipped) {
    uint64_t sum = 0xcbf29ce484222325, last = 0, bits;
    int a, b, c, d, e, same = 1;
    if (sscanf(line, "shape %d %d %d %d %d %" SCNx64, &a, &b, &c, &d, &e, &last) == 6) {
        sum = shape_of(TCGEN05_F16, a, a, b, c, d, e, 0);
    } else if (sscanf(line, "kind %d %d %d %d %d %" SCNx64, &a, &b, &c, &d, &e, &last) == 6) {
        sum =
            a == 3 ? shape_of(TCGEN05_MXF4NVF4, 1, 1, d, e, 0, 0, b) : shape_of(TCGEN05_MXF8F6F4, b, c, d, e, 0, 0, 1);
    } else {
        same = sscanf(line, "operand %d %d %d %" SCNx64 " %" SCNx64, &a, &b, &c, &bits, &last) == 5
                   ? is_operand(a, b, c, bits, &sum)
               : sscanf(line, "accumulator %d %d %d %" SCNx64, &a, &b, &c, &last) == 4 ? is_accumulator(a, b, c, &sum)
               : sscanf(line, "scales %d %d %" SCNx64, &a, &b, &last) == 3             ? is_scales(a, &sum)
                                                                                       : 0;
    }
    return same && sum == (last ^ flipped);
}

static void test_tcgen05(void) {
    FILE *vectors = fopen("tests/conform/cute.txt", "r");
    char line[200];
    int count = 0, right = 0, noticed = 0;
    while (vectors != NULL && fgets(line, sizeof line, vectors) != NULL) {
        if (line[0] != '#') {
            right += as_cute(line, 0);
            noticed += !as_cute(line, (uint64_t)1 << count % 64);
            count++;
        }
    }
    if (vectors != NULL) {
        fclose(vectors);
    }
    ok(count > 60 && right == count, "%d of %d vectors from CuTe's headers are as our functions say", right, count);
    ok(noticed == count, "... and a bit of any that is another is noticed");
    is_int(tcgen05_descriptor_k_major_128b(0), 0x4000404000010000, "a K-major tile with the 128-byte swizzle");
    /* Shapes that CuTe's vectors lack: with sums in f16, of tf32 and of int8, all of which are refused. */
    static const uint32_t others[] = {0x04100010, 0x04100000, 0x08200910, 0x082004a0};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        Tcgen05Shape s = tcgen05_shape(others[i], TCGEN05_F16, 0);
        ok((s.unknown == 0) == (i == 0), "0x%08x is %s", others[i], i == 0 ? "of kind f16" : "none");
    }
    /* Bytes of the first scales: any of A and of B; the first. */
    static const int pairs[] = {[TCGEN05_MXF8F6F4] = 16, [TCGEN05_MXF4NVF4] = 1};
    for (int kind = TCGEN05_MXF8F6F4; kind <= TCGEN05_MXF4NVF4; kind++) {
        int accepted = 0;
        for (int i = 0; i < 16; i++) {
            Tcgen05Shape s = tcgen05_shape(tcgen05_shape_scaled(1, 1, 1, 128, 64, i % 4, i / 4), (Tcgen05Kind)kind, 1);
            accepted += s.unknown == 0 && s.a_id == i % 4 && s.b_id == i / 4;
        }
        ok(accepted == pairs[kind], "kind %d takes the first scales in %d pairs of bytes", kind, accepted);
    }
}

int main(void) {
    test_encoder();
    test_starts();
    test_range();
    test_additions();
    test_descriptor();
    test_tcgen05();
    test_elements();
    test_rounding();
    return tap_done();
}
