/* tensor_map.h - what the copy engine does with a tensor map: encode it, and visit a box of it chunk by chunk.
 *
 * Data functions only: no state between calls, no scheduling, no checks of ordering. The model's core calls them; the
 * tests replay vectors recorded on a GPU on them (tests/conform). What an H200 does and the manual does not say:
 *   - A copy must start at a multiple of 16 bytes in dimension 0; any other start traps, wherever the box is.
 *   - Loads cut a box off at the tensor's last element. Stores and additions cut it off at the next multiple of 16
 *     bytes: what shared memory holds there overwrites, or is added to, the padding of the row.
 *   - The rows of a box that are narrower than the swizzle pattern are as far apart as the pattern is wide. */
#ifndef TENSOR_MAP_H
#define TENSOR_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef uint16_t bf16; /* as in cuda_c.h, which may not be included yet */

enum {
    TENSOR_MAX_RANK = 5,
    TENSOR_CHUNK_BYTES = 16, /* the unit in which boxes are laid out, swizzled and tagged */
};

/* Values of CUtensorMapDataType, and of ElementType in tma_nd.h. */
enum {
    TENSOR_UINT8 = 0,
    TENSOR_FLOAT16 = 6,
    TENSOR_FLOAT32 = 7,
    TENSOR_BFLOAT16 = 9,
    TENSOR_RANGE = 255, /* no tensor: what tensor_map_range() makes */
};

/* Values of CUtensorMapSwizzle, and of Swizzle in tma.h. */
enum { TENSOR_SWIZZLE_NONE = 0, TENSOR_SWIZZLE_32B = 1, TENSOR_SWIZZLE_64B = 2, TENSOR_SWIZZLE_128B = 3 };

/* The model's tensor map: 128 bytes, 64-byte aligned, as the driver's. Dimension 0 is the contiguous one. Filled in
 * only by the encoders below; a kernel passes it on. */
typedef struct {
    _Alignas(64) uint64_t seal;           /* set by the encoder: tells a tensor map from other bytes */
    uint64_t base;                        /* address of element (0, 0, ...) */
    uint64_t size[TENSOR_MAX_RANK];       /* elements */
    uint64_t stride[TENSOR_MAX_RANK - 1]; /* bytes from one index of dimension i + 1 to the next */
    const char *name;                     /* for reports; a string that outlives the map, or NULL */
    uint16_t box[TENSOR_MAX_RANK];        /* elements in each dimension, 1..256 */
    uint8_t rank;
    uint8_t type; /* TENSOR_... */
    uint8_t element_bytes;
    uint8_t swizzle;
} TensorMap;
_Static_assert(sizeof(TensorMap) == 128 && _Alignof(TensorMap) == 64, "as the driver's CUtensorMap");

/* cuTensorMapEncodeTiled of whole boxes: element strides of 1, no interleaved layout, zeros outside the tensor. Returns
 * 0, or 1 with a sentence in `why` where the driver returns CUDA_ERROR_INVALID_VALUE, and for types of elements that
 * this model does not know. */
int tensor_map_encode(TensorMap *map, int type, int rank, const void *base, const uint64_t *size,
                      const uint64_t *stride, const uint32_t *box, int swizzle, char *why, size_t why_size);

/* A name for reports; it must outlive the map. */
void tensor_map_name(TensorMap *map, const char *name);

/* `bytes` of memory at `base`, both multiples of 16, as a map whose box at coordinate 0 is all of them. */
void tensor_map_range(TensorMap *map, const void *base, uint32_t bytes);

/* NULL if `map` is a tensor map at a 64-byte aligned address, otherwise what is wrong with it (a constant string). */
const char *tensor_map_fault(const TensorMap *map);

/* Bytes that a load brings to its barrier's tx-count: the full box, including what is outside the tensor. */
uint32_t tensor_box_bytes(const TensorMap *map);

/* Bytes of shared memory from its first to its last: more if the swizzle pattern is wider than a row of the box. */
uint32_t tensor_box_span(const TensorMap *map);

/* What it must start at a multiple of: 128 bytes, of a range 16. */
uint32_t tensor_box_alignment(const TensorMap *map);

/* Bytes after which the swizzle pattern repeats: 1 (none), 256, 512 or 1024. */
uint32_t tensor_swizzle_period(const TensorMap *map);

/* Shared address after the swizzle: the hardware XORs address bits, so the same tile is arranged differently if it
 * starts elsewhere. `swizzle` as in TensorMap. */
static inline uint32_t tensor_swizzle_address(uint32_t address, int swizzle) {
    static const uint8_t mask[4] = {0, 1, 3, 7};
    return address ^ (address >> 7 & mask[swizzle]) << 4;
}

/* 16 bytes of a box. */
typedef struct {
    uint32_t offset; /* in shared memory, from the start of the box, after the swizzle; 16-byte aligned */
    int64_t coord[TENSOR_MAX_RANK]; /* of its first element; may lie outside the tensor. 0 beyond the rank */
    uint64_t global;                /* address of its first element, 16-byte aligned; not valid if end is 0 */
    int end;                        /* this many of its bytes of global memory are read or written */
} TensorChunk;

/* The bytes of global memory that it reads or writes begin here. */
static inline void *tensor_chunk_global(const TensorChunk *chunk) { return (void *)(uintptr_t)chunk->global; }

/* A walk over the chunks of one copy, in the order of shared memory before the swizzle: dimension 0 fastest. It may
 * stop anywhere and go on later. */
typedef struct {
    const TensorMap *map;
    int whole_chunks;               /* a store: what is at all in the tensor is written up to the chunk's end */
    uint32_t address;               /* of the box in the shared-memory window */
    int64_t coord[TENSOR_MAX_RANK]; /* where the box begins */
    uint32_t at[TENSOR_MAX_RANK];   /* next chunk: bytes in dimension 0, indices of the box in the others */
    uint32_t linear;                /* its offset before the swizzle */
} TensorWalk;

/* The walk of a load; of a store or of an addition. coord: without a tensor_load_fault() or tensor_store_fault();
 * address: shared-window address of the box, whose bits 7..9 enter the swizzle. */
TensorWalk tensor_walk(const TensorMap *map, const int *coord, uint32_t address);
TensorWalk tensor_walk_store(const TensorMap *map, const int *coord, uint32_t address);

/* The next chunk; 0 after the last. The next one of which bytes are read or written. */
int tensor_next(TensorWalk *walk, TensorChunk *chunk);
int tensor_next_inside(TensorWalk *walk, TensorChunk *chunk);

/* What a load writes to the chunk's place in shared memory: all 16 bytes, with zeros outside the tensor. */
void tensor_chunk_load(const TensorChunk *chunk, uint8_t shared[TENSOR_CHUNK_BYTES]);

/* What a store does with the chunk: writes bytes begin .. end - 1 to global memory. */
void tensor_chunk_store(const TensorChunk *chunk, const uint8_t shared[TENSOR_CHUNK_BYTES]);

/* The same for a reduction with .add, of a type whose elements the model can add. */
int tensor_can_add(const TensorMap *map);
void tensor_chunk_add(const TensorMap *map, const TensorChunk *chunk, const uint8_t shared[TENSOR_CHUNK_BYTES]);

/* NULL, or why a load may not start at these coordinates (a string that holds until the next call): the hardware traps
 * with an illegal-instruction error. */
const char *tensor_load_fault(const TensorMap *map, const int *coord);

/* The same for a store or an addition. */
const char *tensor_store_fault(const TensorMap *map, const int *coord);

#endif
