/* tensor_map.c - see tensor_map.h. What the driver refuses is in the comment of cuTensorMapEncodeTiled (cuda.h); where
 * the driver differs from it, tests/conform/vectors.txt shows what it did. */
#include "tensor_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "element.h"

enum { SHARED_ALIGNMENT = 128 };

/* 0: no type that the model knows. */
static int element_bytes(int type) {
    static const uint8_t bytes[] = {
        [TENSOR_UINT8] = 1, [TENSOR_FLOAT16] = 2, [TENSOR_FLOAT32] = 4, [TENSOR_BFLOAT16] = 2};
    return type >= 0 && type <= TENSOR_BFLOAT16 ? bytes[type] : 0;
}

/* Width of the pattern in bytes; 0 for none. */
static int swizzle_span(int swizzle) { return swizzle == TENSOR_SWIZZLE_NONE ? 0 : 16 << swizzle; }

/* Tells a tensor map from other bytes, and an encoded one from one that was written to afterwards. */
static uint64_t seal_of(const TensorMap *map) {
    const uint8_t *bytes = (const uint8_t *)map;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = sizeof map->seal; i < sizeof *map; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    }
    return hash;
}

#define REFUSE_IF(condition, ...)                      \
    do {                                               \
        if (condition) {                               \
            return refuse(why, why_size, __VA_ARGS__); \
        }                                              \
    } while (0)
__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t why_size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, why_size, format, arguments);
    va_end(arguments);
    return 1;
}

int tensor_map_encode(TensorMap *map, int type, int rank, const void *base, const uint64_t *size,
                      const uint64_t *stride, const uint32_t *box, int swizzle, char *why, size_t why_size) {
    int bytes = element_bytes(type);
    REFUSE_IF((uintptr_t)map % 64 != 0, "the tensor map itself must lie on a multiple of 64 bytes, it is at %p",
              (void *)map);
    REFUSE_IF(bytes == 0, "element type %d is not one that the model knows: 0 (uint8), 6 (fp16), 7 (fp32), 9 (bf16)",
              type);
    REFUSE_IF(rank < 1 || rank > TENSOR_MAX_RANK, "the rank is %d, 1 to %d is possible", rank, TENSOR_MAX_RANK);
    REFUSE_IF(swizzle < TENSOR_SWIZZLE_NONE || swizzle > TENSOR_SWIZZLE_128B,
              "swizzle mode %d is not one of 0 (none), 1 (32 bytes), 2 (64), 3 (128)", swizzle);
    REFUSE_IF((uintptr_t)base % 16 != 0, "the tensor's address %p must be a multiple of 16 bytes", base);
    for (int i = 0; i < rank; i++) {
        REFUSE_IF(size[i] < 1 || size[i] > (uint64_t)1 << 32, "size %llu of dimension %d is not in 1 .. 2^32",
                  (unsigned long long)size[i], i);
        REFUSE_IF(i > 0 && (stride[i - 1] % 16 != 0 || stride[i - 1] >= (uint64_t)1 << 40),
                  "the stride of dimension %d is %llu bytes: it must be a multiple of 16 below 2^40", i,
                  (unsigned long long)stride[i - 1]);
        REFUSE_IF(box[i] < 1 || box[i] > 256, "the box has %u elements in dimension %d, 1 to 256 are possible", box[i],
                  i);
    }
    uint32_t row_bytes = box[0] * (uint32_t)bytes;
    REFUSE_IF(row_bytes % 16 != 0, "a row of the box has %u elements, %u bytes: it must be a multiple of 16 bytes",
              box[0], row_bytes);
    REFUSE_IF(swizzle != TENSOR_SWIZZLE_NONE && row_bytes > (uint32_t)swizzle_span(swizzle),
              "a row of the box has %u elements, %u bytes: more than the swizzle's %d", box[0], row_bytes,
              swizzle_span(swizzle));

    memset(map, 0, sizeof *map);
    map->base = (uint64_t)(uintptr_t)base;
    for (int i = 0; i < TENSOR_MAX_RANK; i++) {
        map->size[i] = i < rank ? size[i] : 1;
        map->box[i] = (uint16_t)(i < rank ? box[i] : 1);
        if (i > 0) {
            map->stride[i - 1] = i < rank ? stride[i - 1] : 0;
        }
    }
    map->rank = (uint8_t)rank;
    map->type = (uint8_t)type;
    map->element_bytes = (uint8_t)bytes;
    map->swizzle = (uint8_t)swizzle;
    map->seal = seal_of(map);
    return 0;
}

void tensor_map_name(TensorMap *map, const char *name) {
    map->name = name;
    map->seal = seal_of(map);
}

/* In elements of 16 bytes: a box has up to 65535 of them here, and shared memory fewer. */
void tensor_map_range(TensorMap *map, const void *base, uint32_t bytes) {
    memset(map, 0, sizeof *map);
    map->base = (uint64_t)(uintptr_t)base;
    for (int i = 0; i < TENSOR_MAX_RANK; i++) {
        map->size[i] = map->box[i] = 1;
    }
    map->size[0] = map->box[0] = (uint16_t)(bytes / TENSOR_CHUNK_BYTES);
    map->rank = 1;
    map->type = TENSOR_RANGE;
    map->element_bytes = TENSOR_CHUNK_BYTES;
    map->seal = seal_of(map);
}

const char *tensor_map_fault(const TensorMap *map) {
    if ((uintptr_t)map % 64 != 0) {
        return "its address is not a multiple of 64 bytes";
    }
    return map->seal == seal_of(map) ? NULL : "these 128 bytes were not made by tensor_map_2d() or tensor_map_nd()";
}

static uint32_t box_row_bytes(const TensorMap *map) { return map->box[0] * (uint32_t)map->element_bytes; }

/* From one row of the box to the next in shared memory. */
static uint32_t box_row_pitch(const TensorMap *map) {
    return map->swizzle == TENSOR_SWIZZLE_NONE ? box_row_bytes(map) : (uint32_t)swizzle_span(map->swizzle);
}

static uint32_t box_rows(const TensorMap *map) {
    uint32_t rows = 1;
    for (int i = 1; i < map->rank; i++) {
        rows *= map->box[i];
    }
    return rows;
}

uint32_t tensor_box_bytes(const TensorMap *map) { return box_rows(map) * box_row_bytes(map); }

uint32_t tensor_box_span(const TensorMap *map) { return box_rows(map) * box_row_pitch(map); }

uint32_t tensor_box_alignment(const TensorMap *map) {
    return map->type == TENSOR_RANGE ? TENSOR_CHUNK_BYTES : SHARED_ALIGNMENT;
}

uint32_t tensor_swizzle_period(const TensorMap *map) {
    return map->swizzle == TENSOR_SWIZZLE_NONE ? 1 : 8u * (uint32_t)swizzle_span(map->swizzle);
}

TensorWalk tensor_walk(const TensorMap *map, const int *coord, uint32_t address) {
    TensorWalk walk;
    memset(&walk, 0, sizeof walk);
    walk.map = map;
    walk.address = address;
    for (int i = 0; i < map->rank; i++) {
        walk.coord[i] = coord[i];
    }
    return walk;
}

TensorWalk tensor_walk_store(const TensorMap *map, const int *coord, uint32_t address) {
    TensorWalk walk = tensor_walk(map, coord, address);
    walk.whole_chunks = 1;
    return walk;
}

static int clamp(int64_t value, int limit) { return value < 0 ? 0 : value > limit ? limit : (int)value; }

int tensor_next(TensorWalk *walk, TensorChunk *chunk) {
    const TensorMap *map = walk->map;
    int last = map->rank - 1;
    if (last > 0 ? walk->at[last] == map->box[last] : walk->at[0] == box_row_bytes(map)) {
        return 0;
    }
    int elements = TENSOR_CHUNK_BYTES / map->element_bytes;
    memset(chunk->coord, 0, sizeof chunk->coord);
    chunk->coord[0] = walk->coord[0] + walk->at[0] / map->element_bytes;
    chunk->global = map->base + (uint64_t)chunk->coord[0] * map->element_bytes;
    int inside = chunk->coord[0] >= 0;
    for (int i = 1; i <= last; i++) {
        chunk->coord[i] = walk->coord[i] + (int64_t)walk->at[i];
        chunk->global += (uint64_t)chunk->coord[i] * map->stride[i - 1];
        inside = inside && chunk->coord[i] >= 0 && (uint64_t)chunk->coord[i] < map->size[i];
    }
    chunk->end = inside ? clamp((int64_t)map->size[0] - chunk->coord[0], elements) * map->element_bytes : 0;
    if (walk->whole_chunks && chunk->end > 0) {
        chunk->end = TENSOR_CHUNK_BYTES;
    }
    chunk->offset = tensor_swizzle_address(walk->address + walk->linear, map->swizzle) - walk->address;

    walk->linear += TENSOR_CHUNK_BYTES;
    walk->at[0] += TENSOR_CHUNK_BYTES;
    if (walk->at[0] == box_row_bytes(map)) {
        walk->linear += box_row_pitch(map) - box_row_bytes(map);
        for (int i = 0; i < last; i++) {
            walk->at[i] = 0;
            if (++walk->at[i + 1] < map->box[i + 1]) {
                break;
            }
        }
    }
    return 1;
}

int tensor_next_inside(TensorWalk *walk, TensorChunk *chunk) {
    int more;
    while ((more = tensor_next(walk, chunk)) && chunk->end == 0) {
    }
    return more;
}

void tensor_chunk_load(const TensorChunk *chunk, uint8_t shared[TENSOR_CHUNK_BYTES]) {
    if (chunk->end > 0) {
        memcpy(shared, tensor_chunk_global(chunk), (size_t)chunk->end);
    }
    memset(shared + chunk->end, 0, (size_t)(TENSOR_CHUNK_BYTES - chunk->end));
}

void tensor_chunk_store(const TensorChunk *chunk, const uint8_t shared[TENSOR_CHUNK_BYTES]) {
    if (chunk->end > 0) {
        memcpy(tensor_chunk_global(chunk), shared, (size_t)chunk->end);
    }
}

int tensor_can_add(const TensorMap *map) { return map->type == TENSOR_BFLOAT16 || map->type == TENSOR_FLOAT32; }

void tensor_chunk_add(const TensorMap *map, const TensorChunk *chunk, const uint8_t shared[TENSOR_CHUNK_BYTES]) {
    uint8_t *global = tensor_chunk_global(chunk);
    for (int i = 0; i < chunk->end; i += map->element_bytes, global += map->element_bytes) {
        union {
            uint16_t h;
            float f;
        } a = {0}, b = {0};
        memcpy(&a, global, map->element_bytes);
        memcpy(&b, shared + i, map->element_bytes);
        if (map->type == TENSOR_BFLOAT16) {
            a.h = matrix_bf16(matrix_float(a.h) + matrix_float(b.h));
        } else {
            a.f += b.f;
        }
        memcpy(global, &a, map->element_bytes);
    }
}

const char *tensor_load_fault(const TensorMap *map, const int *coord) {
    static char text[64];
    int elements = TENSOR_CHUNK_BYTES / map->element_bytes;
    snprintf(text, sizeof text, "the first coordinate must be a multiple of %d (16 bytes)", elements);
    return coord[0] % elements != 0 ? text : NULL;
}

const char *tensor_store_fault(const TensorMap *map, const int *coord) {
    for (int i = 0; i < map->rank; i++) {
        if (coord[i] < 0) {
            return "a store must not start at a negative coordinate";
        }
    }
    return tensor_load_fault(map, coord);
}
