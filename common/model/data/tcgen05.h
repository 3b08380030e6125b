/* tcgen05.h - what the operands of Blackwell's tensor cores say: descriptors, and where an accumulator is. Section
 * numbers are of PTX ISA 9.1, 9.7.16. Data functions only. */
#ifndef MODEL_TCGEN05_H
#define MODEL_TCGEN05_H

#include "matrix.h"

enum { TMEM_LANES = 128, TMEM_COLUMNS = 512, TMEM_LEAST = 32 /* columns of an allocation */ };

/* An address in tensor memory: lane in the upper 16 bits, column in the lower. 9.7.16.1. */
static inline int tmem_lane(uint32_t address) { return (int)(address >> 16); }
static inline int tmem_column(uint32_t address) { return (int)(address & 0xffff); }

/* The fields of an instruction descriptor that the model has. 9.7.16.4.2. */
typedef struct {
    Tcgen05Kind kind;
    MatrixType a, b; /* MATRIX_TYPES: none */
    int m, n, a_major, b_major;
    int pair;         /* cta_group::2 */
    MatrixType scale; /* of kinds that have scales: UE8M0, or E4M3 */
    int a_id, b_id;   /* which byte of a column is the first scale */
    uint32_t unknown; /* bits that must be other ones here: sparse, saturate, negate, other types' */
} Tcgen05Shape;

static inline int tcgen05_has_scales(Tcgen05Kind kind) { return kind != TCGEN05_F16; }

/* By its number in a descriptor. */
static inline MatrixType tcgen05_type(Tcgen05Kind kind, uint32_t bits) {
    static const MatrixType type[][2] = {[TCGEN05_F16] = {MATRIX_F16, MATRIX_BF16},
                                         [TCGEN05_MXF8F6F4] = {MATRIX_E4M3, MATRIX_E5M2},
                                         [TCGEN05_MXF4NVF4] = {MATRIX_TYPES, MATRIX_E2M1}};
    return (bits & 7) < 2 ? type[kind][bits & 1] : MATRIX_TYPES;
}

static inline Tcgen05Shape tcgen05_shape(uint32_t bits, Tcgen05Kind kind, int pair) {
    const int scales = tcgen05_has_scales(kind), d = (int)(bits >> 4 & 3);
    const uint32_t fields =
        3u << 4 | 7u << 7 | 7u << 10 | 0x3fu << 17 | (scales ? 1u << 23 | 15u << 27 : 3u << 15 | 0x1fu << 24);
    Tcgen05Shape s = {.kind = kind,
                      .a = tcgen05_type(kind, bits >> 7),
                      .b = tcgen05_type(kind, bits >> 10),
                      .m = scales ? (int)(bits >> 27 & 3) * 128 : (int)(bits >> 24 & 0x1f) * 16,
                      .n = (int)(bits >> 17 & 0x3f) * 8,
                      .a_major = (int)(bits >> 15 & 1),
                      .b_major = (int)(bits >> 16 & 1),
                      .pair = pair,
                      .scale = bits >> 23 & 1 ? MATRIX_UE8M0 : MATRIX_E4M3,
                      .a_id = scales ? (int)(bits >> 29 & 3) : 0,
                      .b_id = scales ? d : 0,
                      .unknown = bits & ~fields};
    const int types = s.a == MATRIX_TYPES || s.b == MATRIX_TYPES || (!scales && s.a != s.b);
    s.unknown |= (uint32_t)(!scales && d != 1) << 4 | (uint32_t)types << 7 |
                 (uint32_t)(kind == TCGEN05_MXF8F6F4 && s.scale != MATRIX_UE8M0) << 23 |
                 (uint32_t)(kind == TCGEN05_MXF4NVF4 ? s.a_id | s.b_id : 0) << 29;
    return s;
}

/* M = 128 of one CTA takes N by 16 in CUTLASS and DeepGEMM. 9.7.16.2.1. */
static inline int tcgen05_has_shape(const Tcgen05Shape *s) {
    const int most = s->pair ? 256 : 128, least = tcgen05_has_scales(s->kind) ? most : most / 2;
    return (s->m == least || s->m == most) && s->n > 0 && s->n <= WGMMA_MAX_N && s->n % (s->m == 64 ? 8 : 16) == 0;
}

/* Elements of k that share a scale. */
static inline int tcgen05_scale_k(const Tcgen05Shape *s) { return s->kind == TCGEN05_MXF4NVF4 ? 16 : 32; }
/* Columns of scales: row m of A, or n of B, has its own in each quarter's lane m % 32, column m / 32. 9.7.16.10.7. */
static inline int tcgen05_scale_columns(int rows) { return (rows + 31) / 32; }

/* Rows of A and D, and of B, that each CTA has. */
static inline int tcgen05_rows(const Tcgen05Shape *s) { return s->m >> s->pair; }
static inline int tcgen05_columns(const Tcgen05Shape *s) { return s->n >> s->pair; }

/* Where a CTA has D: in pieces, each in columns of one lane. A row is one piece, i its number: data paths D and A, and
 * F. Of a pair with M = 128, B, it is two, and i counts first halves of the 64 rows, then second ones. The lane from
 * that of D's address; the columns of a piece. 9.7.16.10.5. */
static inline int tcgen05_pieces(const Tcgen05Shape *s) { return s->m == 64 ? 64 : TMEM_LANES; }
static inline int tcgen05_lane(const Tcgen05Shape *s, int i) { return s->m == 64 ? 32 * (i / 16) + i % 16 : i; }
static inline int tcgen05_piece_columns(const Tcgen05Shape *s) { return s->n * tcgen05_rows(s) / tcgen05_pieces(s); }

/* tcgen05.cp.32x128b.warpx4 copies rows of 16 bytes to the same lane of each quarter. 9.7.16.9.2. */
enum { TCGEN05_COPY_ROWS = 32, TCGEN05_COPY_COLUMNS = 4 };

/* A descriptor of an operand in shared memory, which means what wgmma's does; its bits are others. Returns 0 if it is
 * none: bits 46 to 48 must be 0b001, as they never are in wgmma's. 9.7.16.4.1. */
static inline int tcgen05_descriptor_decode(uint64_t bits, WgmmaDescriptor *d) {
    static const int swizzle_bytes[8] = {0, -1, 128, -1, 64, -1, 32, -1}; /* 1, 128 by 32-byte atoms, is for tf32 */
    const uint64_t fields = 0x3fffu | (uint64_t)0x3fff << 16 | (uint64_t)0x3fff << 32 | (uint64_t)7 << 46 |
                            (uint64_t)7 << 49 | (uint64_t)7 << 61;
    d->start = (uint32_t)(bits & 0x3fff) << 4;
    d->leading = (uint32_t)(bits >> 16 & 0x3fff) << 4;
    d->stride = (uint32_t)(bits >> 32 & 0x3fff) << 4;
    d->base_offset = (int)(bits >> 49 & 7);
    d->swizzle_bytes = swizzle_bytes[bits >> 61];
    d->unknown = bits & ~fields;
    return (bits >> 46 & 7) == 1 && d->swizzle_bytes >= 0 && d->unknown == 0;
}

#endif
