/* tcgen05.h - what the operands of Blackwell's tensor cores say: descriptors, and where an accumulator lies. Section numbers are
 * of PTX ISA 9.1, 9.7.16. Data functions only. */
#ifndef MODEL_TCGEN05_H
#define MODEL_TCGEN05_H

#include "matrix.h"

enum { TMEM_LANES = 128, TMEM_COLUMNS = 512, TMEM_LEAST = 32 /* columns of an allocation */ };

/* An address in tensor memory: lane in the upper 16 bits, column in the lower. 9.7.16.1. */
static inline int tmem_lane(uint32_t address) { return (int)(address >> 16); }
static inline int tmem_column(uint32_t address) { return (int)(address & 0xffff); }

/* Kind f16, D in fp32: the fields of an instruction descriptor that the model has. 9.7.16.4.2. */
typedef struct {
    MatrixType type; /* of A and B */
    int m, n, a_major, b_major;
    int pair;         /* cta_group::2 */
    uint32_t unknown; /* bits that must be 0 here: sparse, saturate, negate, other kinds' */
} Tcgen05Shape;

static inline Tcgen05Shape tcgen05_shape(uint32_t bits, int pair) {
    const uint32_t fields = 3u << 4 | 7u << 7 | 7u << 10 | 3u << 15 | 0x3fu << 17 | 0x1fu << 24;
    uint32_t d = bits >> 4 & 3, a = bits >> 7 & 7, b = bits >> 10 & 7;
    return (Tcgen05Shape){.type = a == 1 ? MATRIX_BF16 : MATRIX_F16,
                          .m = (int)(bits >> 24 & 0x1f) * 16,
                          .n = (int)(bits >> 17 & 0x3f) * 8,
                          .a_major = (int)(bits >> 15 & 1),
                          .b_major = (int)(bits >> 16 & 1),
                          .pair = pair,
                          .unknown = (bits & ~fields) | (d != 1) << 4 | (a > 1 || a != b) << 7};
}

/* M = 128 of one CTA takes N by 16 in CUTLASS and DeepGEMM. 9.7.16.2.1. */
static inline int tcgen05_has_shape(const Tcgen05Shape *s) {
    const int least = s->pair ? 128 : 64;
    return (s->m == least || s->m == 2 * least) && s->n > 0 && s->n <= WGMMA_MAX_N && s->n % (s->m == 64 ? 8 : 16) == 0;
}

/* Rows of A and D, and of B, that each CTA has. */
static inline int tcgen05_rows(const Tcgen05Shape *s) { return s->m >> s->pair; }
static inline int tcgen05_columns(const Tcgen05Shape *s) { return s->n >> s->pair; }

/* Where a CTA has D: in pieces, each in columns of one lane. A row is one piece, i its number: data paths D and A, and F. Of a pair
 * with M = 128, B, it is two, and i counts first halves of the 64 rows, then second ones. The lane from that of D's address; the
 * columns of a piece. 9.7.16.10.5. */
static inline int tcgen05_pieces(const Tcgen05Shape *s) { return s->m == 64 ? 64 : TMEM_LANES; }
static inline int tcgen05_lane(const Tcgen05Shape *s, int i) { return s->m == 64 ? 32 * (i / 16) + i % 16 : i; }
static inline int tcgen05_piece_columns(const Tcgen05Shape *s) { return s->n * tcgen05_rows(s) / tcgen05_pieces(s); }

/* What a load brings to a lane's register i: the place from that of its address. The wrappers have 32x32b alone. 9.7.16.8.2. */
typedef enum { TCGEN05_32X32B, TCGEN05_16X64B, TCGEN05_16X128B, TCGEN05_16X256B } Tcgen05Load;
static inline uint32_t tcgen05_load_place(Tcgen05Load shape, int lane, int i) {
    const int at[4][2] = {{lane, i},
                          {lane / 4 + lane % 2 * 8, i * 2 + lane / 2 % 2},
                          {lane / 4 + i % 2 * 8, i / 2 * 4 + lane % 4},
                          {lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2}};
    return (uint32_t)at[shape][0] << 16 | (uint32_t)at[shape][1];
}

/* A descriptor of an operand in shared memory, which means what wgmma's does; its bits are others. Returns 0 if it is none: bits
 * 46 to 48 must be 0b001, as they never are in wgmma's. 9.7.16.4.1. */
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
