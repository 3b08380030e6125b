/* tcgen05.h - what the operands of Blackwell's tensor cores say: descriptors, and where an accumulator is. Section
 * numbers are of PTX ISA 9.1, 9.7.16. Data functions only. */
#ifndef MODEL_TCGEN05_H
#define MODEL_TCGEN05_H

#include "matrix.h"

enum { TMEM_LANES = 128, TMEM_COLUMNS = 512, TMEM_LEAST = 32 /* columns of an allocation */ };

/* Of A in tensor memory, in the lanes of D: 32 bytes of k. 9.7.16.10.4. */
enum { TCGEN05_A_COLUMNS = MATRIX_K_BYTES / 4 };

/* An address in tensor memory: lane in the upper 16 bits, column in the lower. 9.7.16.1. */
static inline int tmem_lane(uint32_t address) { return (int)(address >> 16); }
static inline int tmem_column(uint32_t address) { return (int)(address & 0xffff); }

/* The fields of an instruction descriptor that the model has. 9.7.16.4.2. */
typedef struct {
    Tcgen05Kind kind;
    MatrixType a, b; /* MATRIX_TYPES: none */
    int m, n, a_major, b_major;
    int d_is_f16;
    int pair;         /* cta_group::2 */
    MatrixType scale; /* of kinds that have scales: UE8M0, or E4M3 */
    int a_id, b_id;   /* which byte of a column is the first scale */
    uint32_t unknown; /* bits that must be other ones here: sparse, saturate, negate, other types' */
} Tcgen05Shape;

static inline int tcgen05_has_scales(Tcgen05Kind kind) { return kind >= TCGEN05_MXF8F6F4; }
static inline int tcgen05_is_4_bits(Tcgen05Kind kind) { return kind >= TCGEN05_MXF4NVF4; }

/* By its number in a descriptor. */
static inline MatrixType tcgen05_type(Tcgen05Kind kind, uint32_t bits) {
    static const MatrixType type[] = {MATRIX_E4M3,      MATRIX_E5M2,      MATRIX_TYPES, MATRIX_E2M3_IN_8,
                                      MATRIX_E3M2_IN_8, MATRIX_E2M1_IN_8, MATRIX_TYPES, MATRIX_TYPES};
    bits &= 7;
    return tcgen05_is_4_bits(kind) ? (bits == 1 ? MATRIX_E2M1 : MATRIX_TYPES)
           : kind != TCGEN05_F16   ? type[bits]
           : bits < 2              ? (bits == 0 ? MATRIX_F16 : MATRIX_BF16)
                                   : MATRIX_TYPES;
}

static inline Tcgen05Shape tcgen05_shape(uint32_t bits, Tcgen05Kind kind, int pair) {
    const int scales = tcgen05_has_scales(kind), d = (int)(bits >> 4 & 3);
    const uint32_t fields = 3u << 4 | 7u << 7 | 7u << 10 | (tcgen05_is_4_bits(kind) ? 0 : 3u << 15) | 0x3fu << 17 |
                            (scales ? 1u << 23 | 15u << 27 : 0x1fu << 24);
    Tcgen05Shape s = {.kind = kind,
                      .a = tcgen05_type(kind, bits >> 7),
                      .b = tcgen05_type(kind, bits >> 10),
                      .m = scales ? (int)(bits >> 27 & 3) * 128 : (int)(bits >> 24 & 0x1f) * 16,
                      .n = (int)(bits >> 17 & 0x3f) * 8,
                      .a_major = (int)(bits >> 15 & 1),
                      .b_major = (int)(bits >> 16 & 1),
                      .d_is_f16 = !scales && d == 0,
                      .pair = pair,
                      .scale = bits >> 23 & 1 ? MATRIX_UE8M0 : MATRIX_E4M3,
                      .a_id = scales ? (int)(bits >> 29 & 3) : 0,
                      .b_id = scales ? d : 0,
                      .unknown = bits & ~fields};
    const int types = s.a == MATRIX_TYPES || s.b == MATRIX_TYPES || (kind == TCGEN05_F16 && s.a != s.b),
              ids = kind == TCGEN05_MXF4NVF4 ? 3 : tcgen05_is_4_bits(kind);
    s.unknown |= (uint32_t)(!scales && (d > 1 || (d == 0 && s.a == MATRIX_BF16))) << 4 | (uint32_t)types << 7 |
                 (uint32_t)(scales && kind != TCGEN05_MXF4NVF4 && s.scale != MATRIX_UE8M0) << 23 |
                 (uint32_t)((s.a_id | s.b_id) & ids) << 29 | (uint32_t)(s.a_major && matrix_is_in_8(s.a)) << 15 |
                 (uint32_t)(s.b_major && matrix_is_in_8(s.b)) << 16;
    return s;
}

/* Bytes that are MN-major: 16 rows are a chunk of 16 bytes. */
static inline int tcgen05_is_mn_bytes(MatrixType type, int mn_major) { return mn_major && matrix_bits(type) == 8; }

/* M = 128 of one CTA takes N by 16, and MN-major bytes by 16 in each CTA in CUTLASS and DeepGEMM. 9.7.16.2.1. */
static inline int tcgen05_has_shape(const Tcgen05Shape *s) {
    const int scales = tcgen05_has_scales(s->kind), least = s->pair || scales ? 128 : 64, most = s->pair ? 256 : 128;
    return (s->m == least || s->m == most) && s->n > 0 && s->n <= WGMMA_MAX_N && s->n % (s->m == 64 ? 8 : 16) == 0 &&
           (!tcgen05_is_mn_bytes(s->b, s->b_major) || s->n % (16 << s->pair) == 0);
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

/* A lane's registers of tcgen05.ld or .st with .xN; those of 16 lanes come twice for a quarter's 32. */
static inline int tcgen05_registers(Tcgen05Registers shape, int n) {
    static const int of_one[] = {1, 1, 2, 4, 1};
    return of_one[shape % TCGEN05_PACKED] * n;
}
static inline int tcgen05_register_lanes(Tcgen05Registers shape) {
    return shape % TCGEN05_PACKED == TCGEN05_32X32B ? 32 : 16;
}
/* Columns of a register, and all columns that they touch. */
static inline int tcgen05_register_width(Tcgen05Registers shape) { return 1 + shape / TCGEN05_PACKED; }
static inline int tcgen05_register_columns(Tcgen05Registers shape, int n) {
    return tcgen05_registers(shape, n) * 32 / tcgen05_register_lanes(shape) * tcgen05_register_width(shape);
}
/* Register i of a lane: the place from that of the address. The second half of 16x32bx2 is n columns further on.
 * 9.7.16.8.2. */
static inline uint32_t tcgen05_register_place(Tcgen05Registers shape, int n, int lane, int i) {
    const int at[5][2] = {{lane, i},
                          {lane / 4 + lane % 2 * 8, i * 2 + lane / 2 % 2},
                          {lane / 4 + i % 2 * 8, i / 2 * 4 + lane % 4},
                          {lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2},
                          {lane % 16, i + lane / 16 * n}},
              *place = at[shape % TCGEN05_PACKED];
    return (uint32_t)place[0] << 16 | (uint32_t)(place[1] * tcgen05_register_width(shape));
}

/* tcgen05.cp copies a descriptor's K-major `rows` from shared memory to `columns` of tensor memory, each row `times`
 * times. `together` rows go to neighbouring lanes, the next of them `apart` lanes further; each repetition is `again`
 * lanes further. 9.7.16.9.2. */
typedef struct {
    int rows, columns, times, together, apart, again;
} Tcgen05CopyPlaces;
static inline Tcgen05CopyPlaces tcgen05_copy_places(Tcgen05Copy shape) {
    static const Tcgen05CopyPlaces places[] = {{128, 8, 1, 128, 0, 0}, {128, 4, 1, 128, 0, 0}, {64, 4, 2, 64, 0, 64},
                                               {64, 4, 2, 32, 64, 32}, {32, 4, 4, 32, 0, 32},  {4, 8, 1, 1, 32, 0}};
    return places[shape];
}
static inline int tcgen05_copy_lane(const Tcgen05CopyPlaces *p, int row, int time) {
    return row / p->together * p->apart + row % p->together + time * p->again;
}

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

/* wgmma_operand_addresses(), also of MN-major bytes: pairs of them are its rows, and the chunks of 16 k more follow. */
static inline void tcgen05_operand_addresses(WgmmaDescriptor d, MatrixType type, int mn_major, int rows,
                                             uint32_t *address) {
    const int halves = tcgen05_is_mn_bytes(type, mn_major) ? 2 : 1;
    for (int half = 0; half < halves; half++, d.start += 2 * d.stride) {
        wgmma_operand_addresses(&d, mn_major, rows / halves, address + half * rows);
    }
}

#endif
