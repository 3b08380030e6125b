/* covered.h - what the conformance vectors cover. One list for the recorder (record.cu, on a GPU) and for the replay
 * on the CPU model (replay.c), so that the two cannot drift apart. Data only, no code that a build could change.
 *
 * A result is a status and a list of 16-bit words. All values are small integers or indices that bf16 and fp32 hold
 * exactly. A vector belongs to the case of its name: a case that changes gets another one. */
#ifndef CONFORM_COVERED_H
#define CONFORM_COVERED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/device/cuda_c.h"
#include "../../common/device/swizzle.h"

enum { CONFORM_UNWRITTEN = 0xdddd }; /* what memory holds before a copy or a store */

/* A small number that looks random: 0 .. range - 1. */
HOST_DEVICE int conform_hash(uint32_t i, int range) {
    i ^= i >> 16;
    i *= 0x7feb352du;
    i ^= i >> 15;
    i *= 0x846ca68bu;
    i ^= i >> 16;
    return (int)(i % (uint32_t)range);
}

/* Types of element, in the order of the model's MatrixType. */
enum { CONFORM_BF16, CONFORM_F16, CONFORM_E4M3 };

HOST_DEVICE int conform_element_bytes(int type) { return type == CONFORM_E4M3 ? 1 : 2; }

/* The bits of an integer that the type holds exactly, from -256 to 256 at most. */
HOST_DEVICE uint32_t conform_element(int type, int value) {
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value), exponent = 0;
    int fraction = type == CONFORM_BF16 ? 7 : type == CONFORM_F16 ? 10 : 3;
    uint32_t bias = type == CONFORM_BF16 ? 127 : type == CONFORM_F16 ? 15 : 7;
    uint32_t sign = (uint32_t)(value < 0) << (8 * conform_element_bytes(type) - 1);
    while (magnitude >> exponent > 1) {
        exponent++;
    }
    magnitude = magnitude << fraction >> exponent & ((1u << fraction) - 1);
    return value == 0 ? 0 : sign | (bias + exponent) << fraction | magnitude;
}

HOST_DEVICE bf16 conform_bf16(int value) { return (bf16)conform_element(CONFORM_BF16, value); }

/* Four bytes of small integers that look random. */
HOST_DEVICE uint32_t conform_elements(int type, uint32_t number) {
    int bytes = conform_element_bytes(type);
    uint32_t word = 0;
    for (int i = 0; i < 4 / bytes; i++) {
        word |= conform_element(type, conform_hash(number + (uint32_t)i, 7) - 3) << (8 * bytes * i);
    }
    return word;
}

/* ---- tensor maps: what the encoder accepts ----------------------------------------------------------------------- */

/* Arguments of cuTensorMapEncodeTiled. The result is one word: 0 accepted, 1 refused. */
typedef struct {
    const char *name;
    int type, rank, misaligned; /* CUtensorMapDataType; bytes past a 256-byte boundary at which the tensor starts */
    uint64_t size[5], stride[4];
    uint32_t box[5];
    int swizzle;
} EncodeCase;

/* clang-format off */
#define BF16_2D(name, misaligned, cols, rows, pitch, box0, box1, swizzle) \
    {name, 9, 2, misaligned, {cols, rows}, {pitch}, {box0, box1}, swizzle}

static const EncodeCase encode_cases[] = {
    BF16_2D("plain", 0, 100, 50, 208, 64, 16, 3),
    BF16_2D("base_16", 16, 100, 50, 208, 64, 16, 3),
    BF16_2D("base_8", 8, 100, 50, 208, 64, 16, 3),
    BF16_2D("size_0", 0, 0, 50, 208, 64, 16, 3),
    BF16_2D("rows_0", 0, 100, 0, 208, 64, 16, 3),
    BF16_2D("size_2_32", 0, 100, 4294967296u, 208, 64, 16, 3),
    BF16_2D("size_2_32_plus_1", 0, 100, 4294967297u, 208, 64, 16, 3),
    BF16_2D("pitch_200", 0, 100, 50, 200, 64, 16, 3),
    BF16_2D("pitch_below_row", 0, 100, 50, 192, 64, 16, 3),
    BF16_2D("pitch_0", 0, 100, 50, 0, 64, 16, 3),
    BF16_2D("pitch_2_40", 0, 100, 50, 1099511627776u, 64, 16, 3),
    BF16_2D("pitch_2_40_minus_16", 0, 100, 50, 1099511627760u, 64, 16, 3),
    BF16_2D("box_cols_0", 0, 100, 50, 208, 0, 16, 3),
    BF16_2D("box_rows_0", 0, 100, 50, 208, 64, 0, 3),
    BF16_2D("box_rows_256", 0, 100, 50, 208, 64, 256, 3),
    BF16_2D("box_rows_257", 0, 100, 50, 208, 64, 257, 3),
    BF16_2D("box_cols_256_none", 0, 1000, 50, 2000, 256, 4, 0),
    BF16_2D("box_cols_264_none", 0, 1000, 50, 2000, 264, 4, 0),
    BF16_2D("box_cols_12", 0, 100, 50, 208, 12, 16, 0),
    BF16_2D("box_cols_72_sw128", 0, 100, 50, 208, 72, 16, 3),
    BF16_2D("box_cols_40_sw64", 0, 100, 50, 208, 40, 16, 2),
    BF16_2D("box_cols_24_sw32", 0, 100, 50, 208, 24, 16, 1),
    BF16_2D("swizzle_7", 0, 100, 50, 208, 64, 16, 7),
    {"rank_0", 9, 0, 0, {100, 50}, {208}, {64, 16}, 3},
    {"type_99", 99, 2, 0, {100, 50}, {208}, {64, 16}, 3},
};
/* clang-format on */

/* ---- copies of the TMA ------------------------------------------------------------------------------------------- */

enum { TMA_LOAD, TMA_STORE, TMA_ADD };

enum {
    TMA_WINDOW = 4096,     /* bytes of shared memory a case may touch; it starts on a 1024-byte boundary */
    TMA_GUARD = 64,        /* words of global memory before and after the tensor */
    TMA_ANNOUNCED = 65536, /* bytes announced for a load; what the copies leave of it tells their byte count */
};

typedef struct {
    int issuer;   /* rank in the cluster of the CTA that starts it */
    int mask;     /* destinations of a multicast; 0: not a multicast */
    int offset;   /* of the box in the window, bytes */
    int coord[5]; /* elements */
} TmaCopy;

/* Loads: the tensor's words are 1, 2, 3, ... counted from the first guard word. The result is, for each CTA of the
 * cluster, the bytes that arrived at its barrier and the window. The recorder stops the case if a copy traps.
 * Stores: the window's words are 1, 2, 3, ...; the result is the tensor with its guards. Additions: tensor and window
 * hold small integers in bf16. */
typedef struct {
    const char *name;
    int op;
    int type, rank;
    uint64_t size[5], stride[4]; /* elements, bytes */
    uint32_t box[5];
    int swizzle;
    int cluster, copies;
    TmaCopy copy[4];
} TmaCase;

/* clang-format off */
/* One 2-D copy of a tensor of 50 rows, of `cols` elements, with a pitch of 208 bytes. */
#define TMA_TYPE(name, op, type, cols, box0, box1, swizzle, c0, c1, offset) \
    {name, op, type, 2, {cols, 50}, {208}, {box0, box1}, swizzle, 1, 1, {{0, 0, offset, {c0, c1}}}}
/* bf16; the tensor has 100 columns unless said. The row's padding reaches to column 104. */
#define TMA_COLS(name, op, cols, box0, box1, swizzle, c0, c1) \
    TMA_TYPE(name, op, 9, cols, box0, box1, swizzle, c0, c1, 0)
#define LOAD_2D(name, ...) TMA_TYPE("load_" name, TMA_LOAD, 9, 100, __VA_ARGS__)
#define STORE_2D(name, ...) TMA_TYPE("store_" name, TMA_STORE, 9, 100, __VA_ARGS__)
#define ADD_2D(name, ...) TMA_TYPE("add_" name, TMA_ADD, 9, 100, __VA_ARGS__)
/* Multicast of boxes of 64 x 8 with the 128-byte swizzle. */
#define MULTICAST(name, cluster, copies, ...) \
    {"multicast_" name, TMA_LOAD, 9, 2, {100, 50}, {208}, {64, 8}, 3, cluster, copies, {__VA_ARGS__}}

static const TmaCase tma_cases[] = {
    LOAD_2D("none_inside", 16, 8, 0, 8, 5, 0),
    LOAD_2D("none_wider", 112, 9, 0, 0, 5, 0),
    LOAD_2D("none_offset_128", 24, 5, 0, 8, 7, 128),
    LOAD_2D("none_corner", 24, 8, 0, 88, 45, 0),
    LOAD_2D("none_left_chunk", 24, 8, 0, -8, 2, 0),
    LOAD_2D("sw32_corner", 16, 16, 1, 88, 40, 0),
    LOAD_2D("sw32_offset_128", 16, 16, 1, 16, 3, 128),
    LOAD_2D("sw64_corner", 32, 16, 2, 88, 40, 0),
    LOAD_2D("sw64_offset_128", 32, 16, 2, 16, 3, 128),
    LOAD_2D("sw128_inside", 64, 16, 3, 16, 3, 0),
    LOAD_2D("sw128_right", 64, 16, 3, 64, 8, 0),
    TMA_COLS("load_sw128_right_by_1", TMA_LOAD, 103, 64, 16, 3, 40, 8),
    TMA_COLS("load_sw128_right_by_7", TMA_LOAD, 97, 64, 16, 3, 40, 8),
    LOAD_2D("sw128_corner", 64, 16, 3, 64, 42, 0),
    LOAD_2D("sw128_left_above", 64, 16, 3, -56, -15, 0),
    LOAD_2D("sw128_outside_right", 64, 16, 3, 200, 0, 0),
    LOAD_2D("sw128_outside_above", 64, 16, 3, 0, -1000, 0),
    TMA_COLS("load_sw128_in_padding", TMA_LOAD, 96, 64, 16, 3, 96, 0),
    LOAD_2D("sw128_offset_128", 64, 16, 3, 16, 3, 128),
    LOAD_2D("sw128_offset_896", 64, 16, 3, 16, 3, 896),
    /* a pattern wider than the box */
    LOAD_2D("sw128_narrow_32", 32, 16, 3, 16, 3, 0),
    LOAD_2D("sw128_narrow_48_corner", 48, 9, 3, 64, 45, 256),
    LOAD_2D("sw128_narrow_8", 8, 21, 3, 16, 3, 0),
    LOAD_2D("sw64_narrow_24", 24, 9, 2, 16, 3, 0),
    LOAD_2D("sw32_narrow_8", 8, 21, 1, 16, 3, 0),
    TMA_TYPE("load_fp32_sw128", TMA_LOAD, 7, 50, 32, 16, 3, 28, 40, 0),
    TMA_TYPE("load_uint8_sw64", TMA_LOAD, 0, 197, 64, 16, 2, 144, 40, 0),
    /* a start in dimension 0 that is no multiple of 16 bytes: by 1 to 8 bytes, with each swizzle, to all sides */
    LOAD_2D("none_left", 24, 8, 0, -3, 2, 0),
    LOAD_2D("none_unaligned_8", 24, 8, 0, 4, 2, 0),
    LOAD_2D("sw32_unaligned_8", 16, 16, 1, 4, 2, 0),
    LOAD_2D("sw64_unaligned_8", 32, 16, 2, 4, 2, 0),
    LOAD_2D("sw128_unaligned_8", 64, 16, 3, 4, 2, 0),
    LOAD_2D("sw128_odd_column", 64, 16, 3, 5, 3, 0),
    LOAD_2D("sw128_unaligned_outside", 64, 16, 3, 1001, 0, 0),
    TMA_TYPE("load_fp32_unaligned_8", TMA_LOAD, 7, 50, 32, 16, 3, 2, 4, 0),
    TMA_TYPE("load_uint8_unaligned_1", TMA_LOAD, 0, 197, 64, 16, 2, 17, 4, 0),
    /* the destination must be 128-byte aligned */
    LOAD_2D("none_offset_16", 16, 8, 0, 8, 5, 16),
    LOAD_2D("none_offset_32", 16, 8, 0, 8, 5, 32),
    LOAD_2D("none_offset_64", 16, 8, 0, 8, 5, 64),
    STORE_2D("none_inside", 16, 8, 0, 8, 5, 0),
    STORE_2D("sw128_inside", 64, 16, 3, 16, 3, 0),
    STORE_2D("sw128_outside", 64, 16, 3, 128, 0, 0),
    STORE_2D("sw128_offset_384", 64, 16, 3, 16, 3, 384),
    STORE_2D("sw128_narrow_32", 32, 16, 3, 16, 3, 0),
    STORE_2D("sw64_narrow_24", 24, 9, 2, 16, 3, 0),
    /* over the right edge, where the last column is not the last of a 16-byte chunk: with each swizzle, by columns that
     * the chunk has beyond the edge (4 unless said), by type */
    STORE_2D("none_right", 24, 5, 0, 88, 7, 128),
    STORE_2D("sw32_right", 16, 16, 1, 96, 8, 0),
    STORE_2D("sw64_corner", 32, 16, 2, 80, 40, 128),
    STORE_2D("sw128_right", 64, 16, 3, 64, 8, 0),
    TMA_COLS("store_sw128_right_by_1", TMA_STORE, 103, 64, 16, 3, 40, 8),
    TMA_COLS("store_sw128_right_by_7", TMA_STORE, 97, 64, 16, 3, 40, 8),
    TMA_COLS("store_sw32_right_by_7", TMA_STORE, 97, 16, 16, 1, 88, 8),
    STORE_2D("sw128_corner", 64, 16, 3, 64, 42, 0),
    TMA_COLS("store_sw128_chunk_end", TMA_STORE, 96, 64, 16, 3, 64, 8),
    TMA_TYPE("store_fp32_right", TMA_STORE, 7, 49, 32, 16, 3, 28, 40, 0),
    TMA_TYPE("store_uint8_right", TMA_STORE, 0, 195, 64, 16, 2, 144, 40, 0),
    /* starts that a store may not have: not a multiple of 16 bytes; negative */
    STORE_2D("none_unaligned_8", 24, 5, 0, 4, 7, 0),
    STORE_2D("sw128_odd_column", 64, 16, 3, 5, 3, 0),
    STORE_2D("sw128_left_chunk", 64, 16, 3, -8, 4, 0),
    STORE_2D("sw128_above", 64, 16, 3, 0, -5, 0),
    STORE_2D("none_offset_64", 16, 8, 0, 8, 5, 64),
    ADD_2D("sw32_right", 16, 16, 1, 96, 8, 0),
    ADD_2D("sw64_right", 32, 16, 2, 72, 8, 0),
    ADD_2D("sw128_inside", 64, 16, 3, 16, 3, 0),
    ADD_2D("sw128_corner", 64, 16, 3, 64, 42, 0),
    ADD_2D("sw128_odd_column", 64, 16, 3, 5, 3, 0),
    MULTICAST("2_to_other", 2, 1, {0, 2, 0, {8, 3, 0}}),
    MULTICAST("2_corner", 2, 2, {0, 3, 0, {64, 39, 0}}, {1, 3, 1024, {64, 47, 0}}),
    MULTICAST("4_quarters", 4, 4, {0, 15, 0, {8, 3, 0}}, {1, 15, 1024, {8, 11, 0}}, {2, 15, 2048, {8, 19, 0}},
              {3, 15, 3072, {8, 27, 0}}),
    MULTICAST("4_from_outside", 4, 1, {2, 11, 0, {8, 3, 0}}),
    MULTICAST("4_pairs", 4, 4, {0, 3, 0, {8, 3, 0}}, {1, 3, 1024, {8, 11, 0}}, {2, 12, 0, {8, 19, 0}},
              {3, 12, 1024, {8, 27, 0}}),
};
/* clang-format on */

/* Words of global memory of a case: guards, and all rows of the tensor. */
HOST_DEVICE int tma_global_words(const TmaCase *c) {
    return 2 * TMA_GUARD + (int)(c->size[c->rank - 1] * c->stride[c->rank - 2] / 2);
}

/* What is added: small integers of a CUtensorMapDataType: bf16 or fp32. Word i of them; `value` is element i's. */
HOST_DEVICE bf16 copy_number(int type, int i, int value) {
    return type == 9 || (i & 1) != 0 ? conform_bf16(value) : (bf16)0;
}

/* Words of global memory and of the window before a copy. */
HOST_DEVICE bf16 copy_global_word(int op, int type, int i) {
    return op == TMA_LOAD    ? (bf16)(i + 1)
           : op == TMA_STORE ? (bf16)CONFORM_UNWRITTEN
                             : copy_number(type, i, (type == 9 ? i : i / 2) % 7 - 3);
}

HOST_DEVICE bf16 copy_window_word(int op, int type, int i) {
    return op == TMA_LOAD    ? (bf16)CONFORM_UNWRITTEN
           : op == TMA_STORE ? (bf16)(i + 1)
                             : copy_number(type, i, (type == 9 ? i : i / 2) * 5 % 11 - 5);
}

/* ---- copies of ranges, and of boxes of other types and ranks ---------------------------------------------------- */

enum { BULK_WORDS = TMA_WINDOW / 2 }; /* of global memory */

/* Words, and results, are those of the boxes; global memory is BULK_WORDS long. Bytes that are 0 and places that are no
 * multiple of 16 are misuse: the model must report it. */
/* clang-format off */
#define BULK(name, op, bytes, shared_offset, global_offset) \
    {name, op, 9, 0, {bytes}, {0}, {0}, 0, 1, 1, {{0, 0, shared_offset, {global_offset}}}}

static const TmaCase bulk_cases[] = {
    BULK("load_48_between", TMA_LOAD, 48, 16, 32),
    BULK("load_1040", TMA_LOAD, 1040, 144, 48),
    BULK("load_0", TMA_LOAD, 0, 0, 0),
    BULK("load_from_8", TMA_LOAD, 32, 0, 8),
    BULK("load_to_8", TMA_LOAD, 32, 8, 0),
    BULK("store_48_between", TMA_STORE, 48, 16, 32),
    BULK("store_1040", TMA_STORE, 1040, 144, 48),
    BULK("store_to_8", TMA_STORE, 32, 0, 8),
    BULK("store_from_8", TMA_STORE, 32, 8, 0),
};

/* One copy by tensor_map_nd()'s map. */
#define TENSOR_2D(name, op, type, cols, box0, box1, swizzle, c0, c1) \
    {name, op, type, 2, {cols, 20}, {208}, {box0, box1}, swizzle, 1, 1, {{0, 0, 0, {c0, c1}}}}
/* Rows of `cols` elements in pitches of 80 bytes; 6, 5, 4 and 3 of them in the other dimensions. */
#define TENSOR_5D(name, op, type, cols, box0, box1, box2, box3, box4, swizzle, ...) \
    {name, op, type, 5, {cols, 6, 5, 4, 3}, {80, 480, 2400, 9600}, {box0, box1, box2, box3, box4}, \
     swizzle, 1, 1, {{0, 0, 0, {__VA_ARGS__}}}}

static const TmaCase tensor_cases[] = {
    TENSOR_2D("load_fp8_sw128_corner", TMA_LOAD, 0, 197, 128, 16, 3, 96, 11),
    TENSOR_2D("store_fp8_sw128", TMA_STORE, 0, 200, 128, 16, 3, 16, 3),
    TENSOR_2D("add_fp32_none", TMA_ADD, 7, 50, 16, 8, 0, 4, 3),
    TENSOR_2D("add_fp32_sw128_corner", TMA_ADD, 7, 49, 32, 16, 3, 28, 11),
    TENSOR_5D("load_5d_bf16_sw32", TMA_LOAD, 9, 40, 16, 3, 2, 2, 2, 1, 8, 2, 3, 2, 1),
    TENSOR_5D("load_5d_before", TMA_LOAD, 9, 40, 16, 3, 2, 2, 2, 0, -8, -1, -1, -1, -1),
    TENSOR_5D("load_5d_fp8", TMA_LOAD, 0, 80, 32, 3, 2, 2, 2, 0, 16, 1, 1, 1, 1),
    TENSOR_5D("load_5d_unaligned_8", TMA_LOAD, 9, 40, 16, 3, 2, 2, 2, 0, 4, 1, 1, 1, 1),
    TENSOR_5D("store_5d_corner", TMA_STORE, 9, 37, 16, 3, 2, 2, 2, 0, 32, 4, 4, 3, 2),
    TENSOR_5D("store_5d_before", TMA_STORE, 9, 40, 16, 3, 2, 2, 2, 0, 8, 1, 1, 1, -1),
};
/* clang-format on */

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

/* What shared memory and the A registers hold, and what the result is.
 *   WGMMA_PROBE: each bf16 of the probed region, or each element of the A registers, is its own number; the other
 *   operand is the identity, so that D shows where each element was read. Numbers above 256 are not exact in bf16: the
 *   product is made twice, with the low and the high byte of the number, and the result is low + 256 * high.
 *   WGMMA_ELEMENTS + type: small integers of that type, word by word conform_elements().
 *   The result is all of D if n is 8, otherwise of each thread the sum of (2v + 1) d[v].
 * Words are in register order: thread t of the warpgroup, then d[0 .. n / 2 - 1]. */
enum {
    WGMMA_PROBE,
    WGMMA_ELEMENTS,
};

enum {
    WGMMA_PROBED = 65536,                   /* bytes of shared memory that are numbered */
    WGMMA_IDENTITY = WGMMA_PROBED,          /* after them the identity: K-major, 128-byte swizzle, [64 rows][64 k] */
    WGMMA_SHARED = WGMMA_PROBED + 64 * 128, /* all */
    WGMMA_B = 8192,                         /* WGMMA_ELEMENTS: where B begins, after A */
};

/* A descriptor's fields; `start` counts from a 1024-byte boundary. */
typedef struct {
    uint32_t start, leading, stride;
    int base_offset, swizzle, mn_major; /* swizzle: 0 none, 1 128-byte, 2 64-byte, 3 32-byte */
} WgmmaOperand;

typedef struct {
    const char *name;
    int n;
    int from_registers; /* RS: A from registers, `a` is not used */
    int data;
    WgmmaOperand a, b;
    int steps; /* products, each with the operands' start moved by this many bytes */
    uint32_t a_step, b_step;
} WgmmaCase;

/* clang-format off */
#define IDENTITY {WGMMA_IDENTITY, 16, 1024, 0, 1, 0}
#define PROBE_A(name, start, leading, stride, base_offset, swizzle, mn_major) \
    {"a_" name, 16, 0, WGMMA_PROBE, {start, leading, stride, base_offset, swizzle, mn_major}, IDENTITY, 1, 0, 0}
#define PROBE_B(name, n, start, leading, stride, base_offset, swizzle, mn_major) \
    {"b_" name, n, 0, WGMMA_PROBE, IDENTITY, {start, leading, stride, base_offset, swizzle, mn_major}, 1, 0, 0}

static const WgmmaCase wgmma_cases[] = {
    /* A, K-major */
    PROBE_A("k_sw128", 0, 16, 1024, 0, 1, 0),
    PROBE_A("k_sw128_step_3", 96, 16, 1024, 0, 1, 0),
    PROBE_A("k_sw128_m_64_step_3", 8192 + 96, 16, 1024, 0, 1, 0),
    PROBE_A("k_sw128_start_112", 112, 16, 1024, 0, 1, 0),
    PROBE_A("k_sw128_leading_0", 0, 0, 1024, 0, 1, 0),
    PROBE_A("k_sw128_leading_4096", 0, 4096, 1024, 0, 1, 0),
    PROBE_A("k_sw128_stride_2048", 0, 16, 2048, 0, 1, 0),
    PROBE_A("k_sw128_start_128", 128, 16, 1024, 0, 1, 0),
    PROBE_A("k_sw128_start_128_base_1", 128, 16, 1024, 1, 1, 0),
    PROBE_A("k_sw128_base_1", 0, 16, 1024, 1, 1, 0),
    PROBE_A("k_sw128_base_4", 0, 16, 1024, 4, 1, 0),
    PROBE_A("k_sw128_start_384_base_6", 384, 16, 1024, 6, 1, 0),
    PROBE_A("k_sw64", 0, 16, 512, 0, 2, 0),
    PROBE_A("k_sw64_start_128", 128, 16, 512, 0, 2, 0),
    PROBE_A("k_sw64_start_128_base_1", 128, 16, 512, 1, 2, 0),
    PROBE_A("k_sw32", 0, 16, 256, 0, 3, 0),
    PROBE_A("k_sw32_start_128", 128, 16, 256, 0, 3, 0),
    PROBE_A("k_sw32_start_128_base_1", 128, 16, 256, 1, 3, 0),
    PROBE_A("k_none", 0, 128, 256, 0, 0, 0),
    PROBE_A("k_none_start_16", 16, 2048, 144, 0, 0, 0),
    PROBE_A("k_none_base_1", 0, 128, 256, 1, 0, 0),
    /* A, M-major */
    PROBE_A("mn_sw128", 0, 8192, 1024, 0, 1, 1),
    PROBE_A("mn_sw128_step_1", 2048, 8192, 1024, 0, 1, 1),
    PROBE_A("mn_sw128_start_128", 128, 8192, 1024, 0, 1, 1),
    PROBE_A("mn_sw128_base_1", 0, 8192, 1024, 1, 1, 1),
    PROBE_A("mn_sw64", 0, 4096, 512, 0, 2, 1),
    PROBE_A("mn_sw32", 0, 2048, 256, 0, 3, 1),
    PROBE_A("mn_sw32_swapped", 0, 256, 2048, 0, 3, 1),
    PROBE_A("mn_none", 0, 1024, 128, 0, 0, 1),
    /* B, K-major */
    PROBE_B("k_sw128_n_256", 256, 0, 16, 1024, 0, 1, 0),
    PROBE_B("k_sw128_n_24", 24, 0, 16, 1024, 0, 1, 0),
    PROBE_B("k_sw128_step_3", 64, 96, 16, 1024, 0, 1, 0),
    PROBE_B("k_sw128_n_offset_64", 64, 8192, 16, 1024, 0, 1, 0),
    PROBE_B("k_sw128_start_128", 16, 128, 16, 1024, 0, 1, 0),
    PROBE_B("k_sw128_start_128_base_1", 16, 128, 16, 1024, 1, 1, 0),
    PROBE_B("k_sw128_base_4", 16, 0, 16, 1024, 4, 1, 0),
    PROBE_B("k_sw64", 64, 0, 16, 512, 0, 2, 0),
    PROBE_B("k_sw32", 64, 0, 16, 256, 0, 3, 0),
    PROBE_B("k_none", 64, 0, 128, 256, 0, 0, 0),
    /* B, N-major */
    PROBE_B("mn_sw128_n_128_swapped", 128, 0, 1024, 2048, 0, 1, 1),
    PROBE_B("mn_sw128_n_256", 256, 0, 8192, 1024, 0, 1, 1),
    PROBE_B("mn_sw128_step_1", 128, 2048, 8192, 1024, 0, 1, 1),
    PROBE_B("mn_sw128_n_24", 24, 0, 8192, 1024, 0, 1, 1),
    PROBE_B("mn_sw64", 64, 0, 4096, 512, 0, 2, 1),
    PROBE_B("mn_sw32", 64, 0, 2048, 256, 0, 3, 1),
    PROBE_B("mn_none", 64, 0, 1024, 128, 0, 0, 1),
    /* A from registers */
    {"rs_a_map", 16, 1, WGMMA_PROBE, {0, 0, 0, 0, 0, 0}, IDENTITY, 1, 0, 0},
};
/* clang-format on */

/* Every type and width. WGMMA_KINDS(KIND, ...): name after wgmma_, type, is A in registers, are A and B MN-major, of
 * ALL or SOME widths, and what follows KIND. */
/* clang-format off */
#define WGMMA_KINDS(KIND, ...)                                                                              \
    KIND(ss, BF16, 0, 0, 0, ALL, __VA_ARGS__) KIND(rs, BF16, 1, 0, 0, ALL, __VA_ARGS__)                     \
    KIND(ss_trans_a, BF16, 0, 1, 0, SOME, __VA_ARGS__) KIND(ss_trans_b, BF16, 0, 0, 1, SOME, __VA_ARGS__)   \
    KIND(ss_trans_ab, BF16, 0, 1, 1, SOME, __VA_ARGS__) KIND(rs_trans_b, BF16, 1, 0, 1, SOME, __VA_ARGS__)  \
    KIND(ss_f16, F16, 0, 0, 0, SOME, __VA_ARGS__) KIND(rs_f16, F16, 1, 0, 0, SOME, __VA_ARGS__)             \
    KIND(ss_e4m3, E4M3, 0, 0, 0, SOME, __VA_ARGS__) KIND(rs_e4m3, E4M3, 1, 0, 0, SOME, __VA_ARGS__)
#define WGMMA_ALL_WIDTHS(X, ...) \
    X(8, __VA_ARGS__) X(16, __VA_ARGS__) X(24, __VA_ARGS__) X(32, __VA_ARGS__) X(40, __VA_ARGS__) \
    X(48, __VA_ARGS__) X(56, __VA_ARGS__) X(64, __VA_ARGS__) X(72, __VA_ARGS__) X(80, __VA_ARGS__) \
    X(88, __VA_ARGS__) X(96, __VA_ARGS__) X(104, __VA_ARGS__) X(112, __VA_ARGS__) X(120, __VA_ARGS__) \
    X(128, __VA_ARGS__) X(136, __VA_ARGS__) X(144, __VA_ARGS__) X(152, __VA_ARGS__) X(160, __VA_ARGS__) \
    X(168, __VA_ARGS__) X(176, __VA_ARGS__) X(184, __VA_ARGS__) X(192, __VA_ARGS__) X(200, __VA_ARGS__) \
    X(208, __VA_ARGS__) X(216, __VA_ARGS__) X(224, __VA_ARGS__) X(232, __VA_ARGS__) X(240, __VA_ARGS__) \
    X(248, __VA_ARGS__) X(256, __VA_ARGS__)
#define WGMMA_SOME_WIDTHS(X, ...) X(8, __VA_ARGS__) X(64, __VA_ARGS__) X(72, __VA_ARGS__) X(256, __VA_ARGS__)
#define WGMMA_OF_KIND(kind, type, registers, a_mn, b_mn, widths, X) \
    WGMMA_##widths##_WIDTHS(X, kind, type, registers, a_mn, b_mn)
/* WGMMA_PRODUCTS(X) calls X(n, and what KIND gets up to b_mn). */
#define WGMMA_PRODUCTS(X) WGMMA_KINDS(WGMMA_OF_KIND, X)

/* Four products, one for each 32 bytes of k or 16 rows. A has 64 rows of 128 bytes (MN-major: 64 k) with the 128-byte
 * swizzle, B 256 such rows (panels of 64 k). */
#define PRODUCT(name, data, n, registers, a_mn, b_mn)                     \
    {name, n, registers, data, {0, (a_mn) ? 8192 : 16, 1024, 0, 1, a_mn}, \
     {WGMMA_B, (b_mn) ? 8192 : 16, 1024, 0, 1, b_mn}, 4, (a_mn) ? 2048 : 32, (b_mn) ? 2048 : 32}
#define PRODUCT_ROW(n, kind, type, registers, a_mn, b_mn) \
    PRODUCT(#kind "_n" #n, WGMMA_ELEMENTS + CONFORM_##type, n, registers, a_mn, b_mn),
static const WgmmaCase product_cases[] = {WGMMA_PRODUCTS(PRODUCT_ROW)};
/* clang-format on */

/* Of `data`. */
HOST_DEVICE int wgmma_type(int data) { return data >= WGMMA_ELEMENTS ? data - WGMMA_ELEMENTS : CONFORM_BF16; }

/* Is the result a sum of each thread? */
HOST_DEVICE int wgmma_tells_sums(const WgmmaCase *c) { return c->data >= WGMMA_ELEMENTS && c->n != 8; }

/* A number as bf16 can hold it in this pass. */
HOST_DEVICE bf16 wgmma_number(int number, int pass) { return conform_bf16(pass == 0 ? number & 255 : number >> 8); }

/* 16-bit word i of shared memory; pass 0, or 0 and 1 for a probe. */
HOST_DEVICE bf16 wgmma_shared_word(int data, int pass, int i) {
    if (data >= WGMMA_ELEMENTS) {
        uint32_t word = conform_elements(wgmma_type(data), (uint32_t)(i / 2 * 4));
        return (bf16)(word >> (i % 2 * 16));
    }
    if (i < WGMMA_PROBED / 2) {
        return wgmma_number(i, pass);
    }
    int row = (i - WGMMA_PROBED / 2) / 64;
    return conform_bf16(row < 16 && i - WGMMA_PROBED / 2 == swizzled_index(row, row / 8) + row % 8);
}

/* Thread t's register a[r]. */
HOST_DEVICE uint32_t wgmma_a_register(int data, int pass, int t, int r) {
    if (data >= WGMMA_ELEMENTS) {
        return conform_elements(wgmma_type(data), (uint32_t)(t * 16 + r * 4) + 99991);
    }
    int i = t * 8 + r * 2;
    return wgmma_number(i, pass) | (uint32_t)wgmma_number(i + 1, pass) << 16;
}

/* ---- ldmatrix, stmatrix, mma.sync -------------------------------------------------------------------------------- */

enum {
    WARP_LDMATRIX,
    WARP_STMATRIX,
    WARP_MMA,
    WARP_SHUFFLES,
    WARP_VOTES,
};
enum { WARP_SHARED = 4096 }; /* bytes */

/* ldmatrix: shared memory's words are 0, 1, 2, ...; the result is r[0..3] of each lane, low half first.
 * stmatrix: half h (0, 1) of lane l's r[i] is 8 l + 2 i + h; the result is shared memory.
 * mma: small integers; the result is d[0..3] of each lane.
 * shuffles: of lane numbers; the result is WARP_ANSWERS of each lane, and so for votes and matches. */
typedef struct {
    const char *name;
    int op;
    int rows; /* where the lanes' rows lie, below; for mma a seed; for shuffles a width; for votes a mask */
} WarpCase;

enum { WARP_ANSWERS = 12 };

enum { ROWS_DENSE, ROWS_SWIZZLED, ROWS_SCATTERED };

/* clang-format off */
static const WarpCase warp_cases[] = {
    {"ldmatrix_dense", WARP_LDMATRIX, ROWS_DENSE},         {"ldmatrix_swizzled", WARP_LDMATRIX, ROWS_SWIZZLED},
    {"ldmatrix_scattered", WARP_LDMATRIX, ROWS_SCATTERED}, {"stmatrix_dense", WARP_STMATRIX, ROWS_DENSE},
    {"stmatrix_swizzled", WARP_STMATRIX, ROWS_SWIZZLED},   {"stmatrix_scattered", WARP_STMATRIX, ROWS_SCATTERED},
    {"mma_0", WARP_MMA, 0},                                {"mma_1", WARP_MMA, 1000},
    {"shuffles_width_32", WARP_SHUFFLES, 32},              {"shuffles_width_16", WARP_SHUFFLES, 16},
    {"shuffles_width_8", WARP_SHUFFLES, 8},                {"shuffles_width_2", WARP_SHUFFLES, 2},
    {"shuffles_width_1", WARP_SHUFFLES, 1},                {"votes", WARP_VOTES, -1},
    {"votes_half", WARP_VOTES, 0xffff},
};
/* clang-format on */

/* Offset in bytes of the row that the lane names: one after the other; a 16 x 16 tile with 128-byte rows and the
 * 128-byte swizzle; anywhere. */
HOST_DEVICE int warp_row_offset(int rows, int lane) {
    return rows == ROWS_DENSE      ? lane * 16
           : rows == ROWS_SWIZZLED ? swizzled_index(lane % 16, lane / 16) * 2
                                   : (lane * 37 + 11) % 256 * 16;
}

/* Register r of a lane: a[0..3] are 0..3, b[0..1] are 4, 5. */
HOST_DEVICE uint32_t warp_mma_operand(int seed, int lane, int r) {
    uint32_t i = (uint32_t)(seed + lane * 12 + r * 2);
    return conform_bf16(conform_hash(i, 9) - 4) | (uint32_t)conform_bf16(conform_hash(i + 1, 9) - 4) << 16;
}

HOST_DEVICE float warp_mma_start(int seed, int lane, int i) {
    return (float)(conform_hash((uint32_t)(seed + lane * 4 + i), 21) - 10);
}

/* ---- mbarrier ---------------------------------------------------------------------------------------------------- */

/* A script of one thread on one barrier: letters, each with its number (0 if none). The result has a word for each
 * test, two for each '?'. */
enum { MB_MAX_OPS = 24 };
enum {
    MB_END,
    MB_INIT = 'I',          /* expected arrivals */
    MB_EXPECT = 'X',        /* expect_tx: bytes */
    MB_COMPLETE = 'C',      /* complete_tx: bytes */
    MB_ARRIVE = 'A',        /* an arrival */
    MB_ARRIVE_EXPECT = 'B', /* arrive.expect_tx: bytes */
    MB_BOTH = '?',          /* test_wait of parity 0, then of parity 1: 1 if complete */
    MB_COPIES = 'P',        /* cp.async, then cp.async.mbarrier.arrive.noinc, and time for both */
};

typedef struct {
    int op, argument;
} MbarrierOp;

typedef struct {
    const char *name;
    int misuse; /* the manual forbids it: the model must report it; the vector shows what the hardware did */
    const char *script;
} MbarrierCase;

/* clang-format off */
static const MbarrierCase mbarrier_cases[] = {
    {"old_phases", 0, "I1 ? A1 ? A1 ? A1 ? A1 ? A1 ?"},
    {"expect_then_arrive", 0, "I1 X64 ? A1 ? C64 ?"},
    {"expect_arrive_at_once", 0, "I1 B64 ? C48 ? C16 ?"},
    {"bytes_before_arrive_expect", 0, "I1 C64 ? B64 ?"},
    {"negative_holds_the_phase", 0, "I1 C64 A1 ? X64 ?"},
    {"too_many_bytes", 0, "I1 B16 C64 ? X48 ?"},
    {"bytes_arrive_late", 0, "I1 A1 ? C64 ? B64 ?"}, /* arrive without expect_tx: the bytes count for the next phase */
    {"tx_largest", 0, "I1 B1048575 ? C1048575 ?"},
    {"tx_smallest", 0, "I1 C1048575 ? B1048575 ?"},
    {"copies_count", 0, "I2 P ? A1 ?"},
    {"copies_arrive_for_all", 0, "I1 P ? P ?"},
    {"over_arrival", 1, "I1 B64 A1 ? C64 ? A1 ?"}, /* the phase waits for bytes only, and one more arrives */
    {"tx_overflow", 1, "I1 X1048575 X1 A1 ? C1048575 ? C1 ?"},
    {"tx_overflow_twice", 1, "I1 X1048575 X1048575 A1 ? C1048575 ? C1048575 ?"},
    {"tx_underflow", 1, "I1 C1048575 C2 A1 ? X1048575 ? X2 ?"},
    {"tx_underflow_by_1", 1, "I1 C1048575 C1 A1 ? X1048575 ? X1 ?"},
};
/* clang-format on */

/* The script's ops, then MB_END. */
static inline void mbarrier_ops(const MbarrierCase *c, MbarrierOp op[MB_MAX_OPS]) {
    memset(op, 0, MB_MAX_OPS * sizeof *op);
    for (const char *at = c->script; *at != '\0'; op++) {
        char *end;
        op->op = *at;
        op->argument = (int)strtol(at + 1, &end, 10);
        at = end > at + 1 ? end : at + 1;
        at += strspn(at, " ");
    }
}

/* ---- barriers of the CTA and the cluster when threads have exited ------------------------------------------------ */

/* What the threads do: kernels.h. The result has a word for each thread: 1 if it got through, 0 if it exited before. */
/* BARRIER_CASES(X) calls X(name, threads, CTAs, CTAs of a cluster). Of peers' cases a word is 1 only for threads that
 * get the right numbers from the other CTA, otherwise 2. */
/* clang-format off */
#define BARRIER_CASES(X)                                                                                 \
    X(cta_warp_exited, 64, 1, 0) X(cta_warp_exits_late, 64, 1, 0) X(cta_lanes_exited, 64, 1, 0)          \
    X(named_warp_exited, 64, 1, 0) X(named_warp_exits_late, 64, 1, 0) X(named_lanes_exited, 64, 1, 0)    \
    X(named_arrived_and_exited, 64, 1, 0) X(named_others_exited, 96, 1, 0) X(cta_in_one_role, 64, 1, 0)  \
    X(cluster_cta_exited, 32, 2, 2) X(peer_loads, 64, 2, 2) X(peer_stores, 64, 2, 2)                     \
    X(peer_st_async, 64, 2, 2)
#define BARRIER_ENUM(name, ...) BARRIER_##name,
#define BARRIER_ROW(name, ...) {#name, BARRIER_##name, __VA_ARGS__},
/* clang-format on */
enum { BARRIER_CASES(BARRIER_ENUM) };

typedef struct {
    const char *name;
    int what;
    int threads, ctas, cluster;
} BarrierCase;

static const BarrierCase barrier_cases[] = {BARRIER_CASES(BARRIER_ROW)};

/* ---- setmaxnreg -------------------------------------------------------------------------------------------------- */

/* clang-format off */
/* SETMAXNREG_CASES(X) calls X(name, threads, then for each of 5 warpgroups an action and its number): DEC, INC, KEEP
 * (does nothing), EXIT (leaves), NONE (there is no such warpgroup). The result has a word for each thread: 1 if it got
 * through, 0 if it left; or the case hangs. The sum over the warpgroups, after the name, is in registers per 128
 * threads; the launch allocates 3 * 168 = 504 for 384 threads, 4 * 128 = 512 for 512, 5 * 96 = 480 for 640; an SM has
 * 512. */
#define SETMAXNREG_CASES(X)                                                                     \
    X(t384_40_232_232_sum_504, 384, DEC, 40, INC, 232, INC, 232, NONE, 24, NONE, 24)            \
    X(t384_32_240_240_sum_512, 384, DEC, 32, INC, 240, INC, 240, NONE, 24, NONE, 24)            \
    X(t384_40_240_240_sum_520, 384, DEC, 40, INC, 240, INC, 240, NONE, 24, NONE, 24)            \
    X(t384_keep_keep_168, 384, KEEP, 24, KEEP, 24, INC, 168, NONE, 24, NONE, 24)                \
    X(t384_keep_keep_176_sum_512, 384, KEEP, 24, KEEP, 24, INC, 176, NONE, 24, NONE, 24)        \
    X(t384_exit_232_232, 384, EXIT, 24, INC, 232, INC, 232, NONE, 24, NONE, 24)                 \
    X(t512_32_160_160_160_sum_512, 512, DEC, 32, INC, 160, INC, 160, INC, 160, NONE, 24)        \
    X(t512_40_160_160_160_sum_520, 512, DEC, 40, INC, 160, INC, 160, INC, 160, NONE, 24)        \
    X(t640_32_112_112_112_112_sum_480, 640, DEC, 32, INC, 112, INC, 112, INC, 112, INC, 112)    \
    X(t640_40_112_112_112_112_sum_488, 640, DEC, 40, INC, 112, INC, 112, INC, 112, INC, 112)
/* clang-format on */

typedef struct {
    const char *name;
    int threads;
} SetmaxnregCase;

#define SETMAXNREG_ROW(name, threads, ...) {#name, threads},
static const SetmaxnregCase setmaxnreg_cases[] = {SETMAXNREG_CASES(SETMAXNREG_ROW)};

/* ---- sums that must be rounded ----------------------------------------------------------------------------------- */

/* ROUNDING_CASES(X) calls X(name, wgmma_'s suffix), in inexact_types' order. A case is INEXACT_CASES products of a
 * type, 64 x 8, added to accumulators; its result is the bits of each one's first INEXACT_ROWS rows, low half first.
 * Operands are by a formula: exponents of a product's elements spread over more and more numbers; its accumulators are
 * fp32 of all sizes, then such as have few bits, then zeros. */
#define ROUNDING_CASES(X) X(e4m3, ss_e4m3) X(bf16, ss) X(f16, ss_f16)

typedef struct {
    const char *name;
} RoundingCase;

enum {
    INEXACT_CASES = 64,
    INEXACT_COLUMNS = 8,
    INEXACT_ROWS = 2 /* of a result are recorded */
};

/* Bits of the fraction, bias and largest exponent; the sign's bit. */
static const struct {
    int bytes, fraction, bias, largest, sign;
} inexact_types[] = {{1, 3, 7, 15, 7}, {2, 7, 127, 254, 15}, {2, 10, 15, 30, 15}};

typedef struct {
    uint8_t a[64 * 32], b[INEXACT_COLUMNS * 32]; /* rows of 32 bytes */
    float c[64 * INEXACT_COLUMNS];
} InexactCase;

static inline uint32_t inexact_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 31) >> 16);
}

/* A finite number of the type whose exponent is one of spread + 1 in the middle. */
static inline uint32_t inexact_element(uint64_t *state, int type, int spread) {
    int fraction = inexact_types[type].fraction, largest = inexact_types[type].largest;
    int exponent = inexact_types[type].bias - spread / 2;
    exponent += (int)(inexact_random(state) % (uint32_t)(spread + 1));
    exponent = exponent < 0 ? 0 : exponent > largest ? largest : exponent;
    uint32_t bits = inexact_random(state) & ((1u << fraction) - 1);
    uint32_t sign = (inexact_random(state) & 1) << inexact_types[type].sign;
    bits = type == 0 && exponent == 15 && bits == 7 ? 6 : bits; /* e4m3's NaN */
    bits |= (uint32_t)exponent << fraction;
    bits = inexact_random(state) % 16 == 0 ? 0 : bits;
    return bits | sign;
}

static inline float inexact_accumulator(uint64_t *state, int group) {
    int exponent = 127 - 8 + (int)(inexact_random(state) % 17) + group % 4 * 4;
    uint32_t bits = (inexact_random(state) & 1) << 31 | (uint32_t)exponent << 23;
    bits |= inexact_random(state) & 0x7fffff;
    bits = group >= 6 ? 0 : group >= 4 ? bits & 0xfffffc00u : bits;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The next case: of all types one after the other. *state: 1 before the first. */
static inline void inexact_next(uint64_t *state, int type, int number, InexactCase *to) {
    static const int spreads[8] = {0, 1, 2, 4, 6, 8, 14, 30};
    int bytes = inexact_types[type].bytes;
    for (int i = 0; i < 64 * 32 / bytes; i++) {
        uint32_t x = inexact_element(state, type, spreads[number % 8]);
        memcpy(to->a + i * bytes, &x, (size_t)bytes);
    }
    for (int i = 0; i < INEXACT_COLUMNS * 32 / bytes; i++) {
        uint32_t x = inexact_element(state, type, spreads[number % 8]);
        memcpy(to->b + i * bytes, &x, (size_t)bytes);
    }
    for (int i = 0; i < 64 * INEXACT_COLUMNS; i++) {
        to->c[i] = inexact_accumulator(state, number / 8);
    }
}

#define ROUNDING_ROW(name, suffix) {#name},
static const RoundingCase rounding_cases[] = {ROUNDING_CASES(ROUNDING_ROW)};

/* ---- all of them ------------------------------------------------------------------------------------------------- */

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* clang-format off */
#define CONFORM_GROUPS(X)                                                                                          \
    X(ENCODE, encode) X(TMA, tma) X(WGMMA, wgmma) X(WARP, warp) X(MBARRIER, mbarrier) X(BARRIER, barrier)          \
    X(SETMAXNREG, setmaxnreg) X(BULK, bulk) X(TENSOR, tensor) X(PRODUCT, product) X(ROUNDING, rounding)
#define GROUP_ENUM(id, name) GROUP_##id,
#define GROUP_ROW(id, name) {#name, name##_cases, COUNT_OF(name##_cases), sizeof name##_cases[0]},
/* clang-format on */
typedef enum { CONFORM_GROUPS(GROUP_ENUM) GROUPS } Group;

static const struct {
    const char *name;
    const void *cases; /* each begins with its name */
    int count;
    size_t size;
} groups[GROUPS] = {CONFORM_GROUPS(GROUP_ROW)};

static inline const char *case_name(Group group, int i) {
    return *(const char *const *)(const void *)((const char *)groups[group].cases + (size_t)i * groups[group].size);
}

#endif
