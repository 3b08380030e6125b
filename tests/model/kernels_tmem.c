/* kernels_tmem.c - tensor memory: one product of four k-steps, whose rows are 128 bytes, or two one after the other,
 * by a CTA or a pair; its accumulator is taken out by four warps. What goes into it: tiles in shared memory, A in
 * tensor memory, other types, scales; or there is no product, but a copy. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/tcgen05.h"
#include "../../common/model/data/tcgen05.h"

#include "cases.h"

#define CASE_LIST "tmem"

enum { LANES = 128, N = 64, ROW = 128, STEPS = 4, STEP = ROW / STEPS, COLUMNS = 256, THREADS = 128, BLOCK = 1024 };
/* Columns: D; A; scales of A, and of B. */
enum { AT_A = N, AT_SCALES_A = 128, AT_SCALES_B = 160 };

typedef struct {
    uint8_t a[2][LANES * ROW], b[N * ROW]; /* 128-byte swizzle; A of each product */
    uint8_t scales[2][STEPS][BLOCK];
    MBarrier full, empty;
    uint32_t address[2];
} Shared;

typedef struct {
    enum { SHARED, STORED, COPIED, COPY } from; /* A; or there is no product, but a copy to where D would be */
    int twice;                                  /* two products */
    int m_major;                                /* A, of bytes */
    int m;                                      /* 0: 128 */
    int upper;                                  /* A and D are in the other half of the lanes */
    int adds;                                   /* D, or what a copy leaves out, has been stored: 1, 2, 1, 2... */
    int pair, copy, d_is_f16;
    Tcgen05Kind kind;
    MatrixType a, b;
    Tcgen05Registers registers; /* A is stored, and D loaded, by this shape */
    /* Of wrong ones: bits of the instruction descriptor that are others, of all products and of the third; what is
     * added to addresses and to A's descriptor; the N of the loads' .xN; CTAs whose barriers the commit tells. */
    uint32_t shape, third, at_d, at_a, at_scales, at_load;
    uint64_t rows;
    int num, told;
} Mode;

#define IN(name, rule, ...) CASE_OF(run, name, rule, (&(const Mode){__VA_ARGS__}))
#define TWICE .twice = 1
#define IN_TENSOR .from = STORED
#define F8(of_a, of_b) .kind = TCGEN05_F8F6F4, .a = MATRIX_##of_a, .b = MATRIX_##of_b
#define MXF8 .kind = TCGEN05_MXF8F6F4, .a = MATRIX_E4M3, .b = MATRIX_E4M3
#define OF_4(of) .kind = TCGEN05_##of, .a = MATRIX_E2M1, .b = MATRIX_E2M1
#define IN_F16(of) .adds = 1, .d_is_f16 = 1, .a = MATRIX_##of, .b = MATRIX_##of
#define PAIR(rows) .pair = 1, .m = rows
#define HOPPERS .rows = -((uint64_t)1 << 46)
#define OUTSIDE .rows = sizeof(Shared) >> 4
#define COPY_BY(shape) .from = COPY, .copy = TCGEN05_##shape

IN(RIGHT, NULL, TWICE);
IN(RIGHT_F16, NULL, .a = MATRIX_F16, .b = MATRIX_F16);
IN(RIGHT_M64_UPPER, NULL, TWICE, .m = 64, .upper = 1);
IN(RIGHT_ADDED, NULL, TWICE, .adds = 1);
IN(RIGHT_TWO_ALLOCATIONS, NULL, TWICE);
IN(RIGHT_TWO_ACCUMULATORS, NULL, TWICE);
IN(RIGHT_STORED, NULL, IN_TENSOR);
IN(RIGHT_STORED_M64_UPPER, NULL, IN_TENSOR, .m = 64, .upper = 1);
IN(RIGHT_16X256B, NULL, IN_TENSOR, .registers = TCGEN05_16X256B);
IN(RIGHT_16X32BX2, NULL, IN_TENSOR, .registers = TCGEN05_16X32BX2);
IN(RIGHT_TOLD_BY_MULTICAST, NULL, TWICE);
IN(RIGHT_COPIED, NULL, .from = COPIED); /* by the thread that multiplies: no commit between */
IN(RIGHT_F8_M_MAJOR, NULL, F8(E5M2, E4M3), .m_major = 1);
IN(RIGHT_MXF8_M_MAJOR, NULL, MXF8, .m_major = 1);
IN(RIGHT_E2M3_E3M2, NULL, F8(E2M3_IN_8, E3M2_IN_8));
IN(RIGHT_SUMS_IN_F16, NULL, IN_F16(F16)); /* stored and loaded packed */
IN(RIGHT_SUMS_IN_F16_16X256B, NULL, IN_F16(E4M3), .kind = TCGEN05_F8F6F4, .registers = TCGEN05_16X256B);
IN(RIGHT_MXF8, NULL, MXF8);
IN(RIGHT_MXF6, NULL, .kind = TCGEN05_MXF8F6F4, .a = MATRIX_E2M3_IN_8, .b = MATRIX_E5M2);
IN(RIGHT_STORED_MXF8, NULL, IN_TENSOR, MXF8);
IN(RIGHT_SCALES_STORED, NULL, MXF8); /* those of B, others in the second quarter */
IN(RIGHT_MXF4, NULL, OF_4(MXF4));
IN(RIGHT_NVF4_2X, NULL, OF_4(MXF4NVF4_2X));
IN(RIGHT_NVF4, NULL, OF_4(MXF4NVF4));
IN(RIGHT_NVF4_UE8M0, NULL, OF_4(MXF4NVF4));
IN(RIGHT_PAIR, NULL, TWICE, PAIR(256));
IN(RIGHT_PAIR_M128, NULL, TWICE, PAIR(128)); /* the second half of D's columns lies 64 lanes below */
IN(RIGHT_PAIR_ALLOCATED_AGAIN, NULL, PAIR(256));
IN(RIGHT_PAIR_STORED, NULL, IN_TENSOR, PAIR(256));
IN(RIGHT_PAIR_STORED_M128, NULL, IN_TENSOR, PAIR(128));
IN(RIGHT_PAIR_COPIED, NULL, .from = COPIED, PAIR(256));
IN(RIGHT_PAIR_MXF8_M128, NULL, MXF8, PAIR(128));
IN(RIGHT_PAIR_MXF4_M128, NULL, OF_4(MXF4), PAIR(128));
IN(RIGHT_128X256B, NULL, COPY_BY(128X256B));
IN(RIGHT_128X128B, NULL, COPY_BY(128X128B));
IN(RIGHT_64X128B_02_13, NULL, COPY_BY(64X128B_02_13));
IN(RIGHT_64X128B_01_23, NULL, COPY_BY(64X128B_01_23));
IN(RIGHT_32X128B, NULL, COPY_BY(32X128B));
IN(RIGHT_4X256B, NULL, COPY_BY(4X256B), .adds = 1);
IN(RIGHT_PAIR_64X128B_01_23, NULL, COPY_BY(64X128B_01_23), PAIR(256));

IN(NO_COMMIT_WAIT, "RACE_RAW", TWICE);
IN(NO_EMPTY_WAIT, "RACE_WAR", TWICE);
IN(FENCE_BEFORE_TOO_EARLY, "TCGEN05_FENCE", TWICE);
IN(NO_COMMIT, "DEADLOCK", TWICE);
IN(OTHER_SHAPE, "RACE_WAW", TWICE, .third = 12 << 17); /* of the second half of k: not in order with the first */
IN(NO_PROXY_FENCE, "PROXY_FENCE", TWICE);
IN(ADDRESS_UNPUBLISHED, "RACE_RAW", TWICE); /* TIRx-kernels#7, cutlass#2835 */
IN(ALLOC_48, "TMEM_ALLOC", TWICE);
IN(ALLOC_GROWS, "TMEM_ALLOC", TWICE);
IN(ALLOC_TOO_MUCH, "TMEM_ALLOC", TWICE); /* tilelang#2831 */
IN(ALLOC_AFTER_RELINQUISH, "TMEM_ALLOC", TWICE);
IN(NOT_FREED, "TMEM_FREE", TWICE);
IN(FREED_TWICE, "TMEM_FREE", TWICE);
IN(HALF_FREED, "TMEM_FREE", TWICE);
IN(ADDRESSES_DIFFER, "TMEM_ADDRESS", TWICE);
IN(PAST_ALLOCATION, "TMEM_ADDRESS", TWICE, .at_load = COLUMNS - N + 8);
IN(LOADED_X12, "TMEM_ADDRESS", TWICE, .num = 12); /* neither one instruction nor several */
IN(D_PAST_ALLOCATION, "TMEM_ADDRESS", TWICE, .at_d = COLUMNS - N + 8);
IN(D_FROM_LANE_16, "TMEM_ADDRESS", TWICE, .at_d = 16 << 16);
IN(HOPPERS_DESCRIPTOR, "TCGEN05_DESCRIPTOR", TWICE, HOPPERS);
IN(DESCRIPTOR_OUTSIDE, "TCGEN05_DESCRIPTOR", TWICE, OUTSIDE);

IN(ALLOC_BEFORE_CLUSTER_SYNC, "CLUSTER_START", PAIR(256)); /* cutlass#3316, DeepGEMM#292, triton#8874, tilelang#2644 */
IN(ALLOC_BY_ONE, "DEADLOCK", PAIR(256));
IN(ALLOC_DIFFERENT, "TMEM_ALLOC", PAIR(256));
IN(RIGHT_PAIR_ALLOCATES_LESS, NULL, PAIR(256));            /* a second time, and fewer */
IN(DEALLOC_BEFORE_THE_PEERS_ALLOC, "RACE_WAW", PAIR(256)); /* cutlass#3435 */
IN(FREED_BY_ONE, "^TMEM_FREE", PAIR(256));
IN(COMMIT_OF_ONE_CTA, "CTA_GROUP", PAIR(256));
IN(NO_PAIR, "CTA_GROUP", PAIR(256));
IN(COMMIT_TO_NOBODY, "CLUSTER_RANK", PAIR(256), .told = 7);
IN(PAIR_M_64, "TCGEN05_DESCRIPTOR", PAIR(64));
IN(SUMS_TOLD_TO_ONE, "DEADLOCK", PAIR(256), .told = 1);
IN(ACQUIRED_FROM_THE_OWN_CTA, "TCGEN05_FENCE", TWICE, PAIR(256));
IN(NO_WAIT_LD_IN_THE_PEER, "RACE_WAR", TWICE, PAIR(256));

IN(A_NOT_WAITED_FOR, "RACE_RAW", IN_TENSOR);
IN(A_WITHOUT_FENCE_BEFORE, "TCGEN05_FENCE", IN_TENSOR);
IN(A_OVERWRITTEN, "RACE_WAR", IN_TENSOR);
IN(A_OVERWRITTEN_BY_D, "RACE_WAR", IN_TENSOR); /* that lies in another product's accumulator, as attention's P in S */
IN(A_IN_THE_OTHER_HALF, "TMEM_ADDRESS", IN_TENSOR, .m = 64, .upper = 1, .at_a = -(16u << 16));
IN(A_PAST_ALLOCATION, "TMEM_ADDRESS", IN_TENSOR, .at_a = COLUMNS - AT_A - 4);
IN(A_M_MAJOR, "TCGEN05_DESCRIPTOR", IN_TENSOR, .shape = 1 << 15);
IN(A_OF_6_BITS, "TCGEN05_DESCRIPTOR", IN_TENSOR, F8(E2M3_IN_8, E4M3));
IN(A_STORED_ONCE_M128, "UNINIT_TENSOR", IN_TENSOR, PAIR(128)); /* the lower lanes multiply the other columns */
IN(OTHER_LANES_LOADED, "UNINIT_TENSOR", IN_TENSOR, .m = 64, .upper = 1, .registers = TCGEN05_16X64B);
IN(LOADED_X3, "TMEM_ADDRESS", IN_TENSOR, .registers = TCGEN05_16X64B, .num = 3);
IN(LOADED_FROM_LANE_8, "TMEM_ADDRESS", IN_TENSOR, .registers = TCGEN05_16X64B, .at_load = 8 << 16);
IN(M_MAJOR_OVERWRITTEN, "RACE_WAR", F8(E4M3, E4M3), .m_major = 1);
IN(F4_N_MAJOR, "TCGEN05_DESCRIPTOR", OF_4(MXF4), .shape = 1 << 16);
IN(N_MAJOR_24, "TCGEN05_DESCRIPTOR", F8(E4M3, E4M3), .m = 64, .shape = 1 << 16 ^ 11 << 17);
IN(SUMS_OF_BF16_IN_F16, "TCGEN05_DESCRIPTOR", IN_F16(BF16));
IN(COMMIT_OF_A_PAIR, "CTA_GROUP", F8(E4M3, E4M3), .told = 1); /* tilelang#2287 */
IN(COPIED_BY_OTHER_THREAD, "RACE_RAW", .from = COPIED);
IN(COPY_OVERWRITES_A, "RACE_WAR", .from = COPIED);
IN(COPY_NOT_WAITED_FOR, "RACE_RAW", COPY_BY(128X256B));
IN(COPY_WITHOUT_PROXY_FENCE, "PROXY_FENCE", COPY_BY(128X256B));
IN(COPY_TO_LANE_32, "TMEM_ADDRESS", COPY_BY(128X256B), .at_d = 32 << 16);
IN(COPY_PAST_ALLOCATION, "TMEM_ADDRESS", COPY_BY(128X256B), .at_d = COLUMNS - 4);
IN(COPY_BY_HOPPERS_DESCRIPTOR, "TCGEN05_DESCRIPTOR", COPY_BY(128X256B), HOPPERS);
IN(COPY_FROM_OUTSIDE, "TCGEN05_DESCRIPTOR", COPY_BY(128X256B), OUTSIDE);
IN(COPY_SOURCE_OVERWRITTEN, "RACE_WAR", COPY_BY(128X256B));
IN(BARRIER_OF_ONE_BEHIND_ROWS, "RACE_RAW", COPY_BY(128X256B), PAIR(256)); /* cutlass#3647 */
IN(SCALES_OF_A_NOT_COPIED, "UNINIT_TENSOR", MXF8);
IN(SCALES_OVERWRITTEN, "RACE_WAR", MXF8); /* TIRx-kernels#7 */
IN(SCALES_TWO_COLUMNS_OFF, "^PROVENANCE", OF_4(MXF4NVF4), .at_scales = 2);
IN(SCALES_FROM_LANE_32, "TMEM_ADDRESS", MXF8, .at_scales = 32 << 16);
IN(SCALES_OF_E4M3, "TCGEN05_DESCRIPTOR", MXF8, .shape = 1 << 23);
IN(SCALES_COPIED_IN_ONE_CTA, "CTA_GROUP", MXF8, PAIR(256));
IN(NVF4_FROM_BYTE_2, "TCGEN05_DESCRIPTOR", OF_4(MXF4NVF4), .shape = 2 << 4);

typedef struct {
    uint32_t *c; /* [products][CTAs][LANES][N] */
    Mode mode;
    int m, bug;
} Params;

static const float value_of[] = {0, 1, 2, -1}, scale_of[] = {1, 2, 0.5f};
static inline int element(int row, int k) { return (row * 5 + k * 3 + row * k + k / 8 + k / 32) % 4; }
static inline int scale(int row, int i) { return (row + i * 2 + row / 32 * 2) % 3; }
static inline int has_scales(const Params *p) { return tcgen05_has_scales(p->mode.kind); }
/* Of k that share one; of a k-step. */
static inline int scale_k(const Params *p) { return p->mode.kind == TCGEN05_MXF4NVF4 ? 16 : 32; }
static inline int scales_of(const Params *p) { return matrix_k(p->mode.a) / scale_k(p); }
static inline int rows_of(const Params *p) { return p->mode.pair ? p->m / 2 : p->m; }
/* Of the CTA's rows of A the one that lies in a lane; of A's all, in this product. */
static inline int row_in(const Params *p, int lane) {
    return p->m == 64 ? lane / 32 * 16 + lane % 16 : lane % rows_of(p);
}
static inline int row_of_a(const Params *p, int rank, int product, int row) {
    return rank * rows_of(p) + row + product * 7;
}

/* A type: the bits of each value, and what the instruction descriptor calls it. */
static const struct {
    uint16_t bits[4];
    int code;
} type_of[MATRIX_TYPES] = {[MATRIX_BF16] = {{0, 0x3f80, 0x4000, 0xbf80}, 1},
                           [MATRIX_F16] = {{0, 0x3c00, 0x4000, 0xbc00}, 0},
                           [MATRIX_E4M3] = {{0, 0x38, 0x40, 0xb8}, 0},
                           [MATRIX_E5M2] = {{0, 0x3c, 0x40, 0xbc}, 1},
                           [MATRIX_E2M1] = {{0, 2, 4, 10}, 1},
                           [MATRIX_E2M1_IN_8] = {{0, 2, 4, 10}, 5},
                           [MATRIX_E2M3_IN_8] = {{0, 0x08, 0x10, 0x28}, 3},
                           [MATRIX_E3M2_IN_8] = {{0, 0x0c, 0x10, 0x2c}, 4}};

/* A row of 128 bytes of A or B. */
static inline void put_row(uint8_t *to, MatrixType type, int row) {
    const int bits = matrix_bits(type);
    memset(to, 0, ROW);
    for (int k = 0; k < matrix_count(type, ROW); k++) {
        const int at = matrix_is_in_8(type) ? k / 16 * 128 + k % 16 * bits : k * bits;
        const int value = type_of[type].bits[element(row, k)] << at % 8;
        to[at / 8] |= (uint8_t)value;
        to[at / 8 + (value > 0xff)] |= (uint8_t)(value > 0xff ? value >> 8 : value);
    }
}

/* Operands of a product; in the first also B, and scales: four of a row in the lane and column where cp brings them, a
 * block for each four that a row has. */
DEVICE void fill(const Params *p, Shared *s, int rank, int product) {
    const int of_b = product == 0 ? N >> p->mode.pair : 0;
    static const uint8_t bits[2][3] = {{0x38, 0x40, 0x30}, {127, 128, 126}};
    for (int i = (int)threadIdx.x; i < rows_of(p) + of_b; i += THREADS) {
        const int is_b = i >= rows_of(p), row = is_b ? i - rows_of(p) : i;
        uint8_t line[ROW];
        put_row(line, is_b ? p->mode.b : p->mode.a, is_b ? row + rank * of_b : row_of_a(p, rank, product, row));
        for (int k = 0; k < ROW && p->mode.m_major && !is_b; k++) {
            s->a[product][k * LANES + (row / 16 ^ k % 8) * 16 + row % 16] = line[k];
        }
        for (int chunk = 0; chunk < ROW / 16 && (is_b || !p->mode.m_major); chunk++) {
            memcpy(&(is_b ? s->b : s->a[product])[row * ROW + (chunk ^ row % 8) * 16], &line[chunk * 16], 16);
        }
    }
    for (int i = (int)threadIdx.x; i < 2 * STEPS * BLOCK && has_scales(p); i += THREADS) {
        const int at = i % BLOCK, is_b = i / BLOCK / STEPS, lane = at / 16, row = lane % 32 + at / 4 % 4 * 32;
        (&s->scales[0][0][0])[i] =
            bits[p->mode.kind != TCGEN05_MXF4NVF4 || p->bug == RIGHT_NVF4_UE8M0]
                [scale(is_b ? row + lane / 32 * (N / 2) + 1 : row + rank * rows_of(p), i / BLOCK % STEPS * 4 + at % 4)];
    }
}

DEVICE void all_sync(const Params *p, int of_one) {
    if (p->mode.pair && p->bug != of_one) {
        cluster_sync();
    } else {
        __syncthreads();
    }
}

/* The N of .xN for this many columns. */
DEVICE int num_of(Tcgen05Registers shape, int columns) {
    static const int columns_of[] = {1, 2, 4, 8, 2};
    return columns / columns_of[shape % TCGEN05_PACKED] / (1 + shape / TCGEN05_PACKED);
}

/* Each warp's lanes of A; of a shape of 16 lanes in two halves. */
DEVICE void store_a(const Params *p, uint32_t a, int rank) {
    const int bug = p->bug, quarter = (int)threadIdx.x / 32 * 32;
    const Tcgen05Registers shape = p->mode.registers;
    const int num = num_of(shape, ROW / 4);
    if (bug == A_STORED_ONCE_M128 && quarter >= 64) {
        return;
    }
    for (int half = 0; half <= (shape != TCGEN05_32X32B); half++) {
        uint32_t r[ROW / 4];
        uint8_t line[ROW];
        for (int i = 0; i < tcgen05_registers(shape, num); i++) {
            const uint32_t place = tcgen05_register_place(shape, num, (int)threadIdx.x % 32, i);
            put_row(line, p->mode.a, row_of_a(p, rank, 0, row_in(p, quarter + half * 16 + (int)(place >> 16))));
            memcpy(&r[i], &line[(place & 0xffff) * 4], 4);
        }
        tcgen05_st_of(shape, num, a + (uint32_t)((quarter + half * 16) << 16), r);
    }
    LEAVES_OUT(A_NOT_WAITED_FOR, tcgen05_wait_st());
    LEAVES_OUT(A_WITHOUT_FENCE_BEFORE, tcgen05_fence_before());
}

/* N columns: 1 and 2 in turn. */
DEVICE void store_numbers(const Params *p, uint32_t d) {
    uint32_t r[N];
    const int packed = p->mode.d_is_f16 ? TCGEN05_PACKED : 0;
    for (int i = 0; i < N; i++) {
        r[i] = packed ? 0x40003c00 : i % 2 ? 0x40000000 : 0x3f800000;
    }
    tcgen05_st_of((Tcgen05Registers)(TCGEN05_32X32B + packed), packed ? N / 2 : N, d + (threadIdx.x / 32 << 21), r);
    tcgen05_wait_st();
    tcgen05_fence_before();
}

/* Scales of B, by each warp in its quarter. */
DEVICE void store_scales(const Shared *s, uint32_t first) {
    uint32_t r[8];
    memset(r, 127, sizeof r);
    if (threadIdx.x / 32 != 1) {
        memcpy(r, &s->scales[1][0][threadIdx.x % 32 * 16], 16);
    }
    tcgen05_st(8, first + AT_SCALES_B + (threadIdx.x / 32 << 21), r);
    tcgen05_wait_st();
    tcgen05_fence_before();
}

DEVICE void copy_scales(const Params *p, Shared *s, uint32_t first) {
    const int bug = p->bug, pair = p->mode.pair && bug != SCALES_COPIED_IN_ONE_CTA;
    for (int block = 0; block < scales_of(p); block++) {
        LEAVES_OUT(SCALES_OF_A_NOT_COPIED,
                   tcgen05_cp(TCGEN05_32X128B, pair, first + AT_SCALES_A + 4 * block,
                              tcgen05_descriptor_16_byte_rows(shared_address(s->scales[0][block]))));
        if (bug != RIGHT_SCALES_STORED) {
            tcgen05_cp(pair && p->m == 128 ? TCGEN05_64X128B_01_23 : TCGEN05_32X128B, pair,
                       first + AT_SCALES_B + 4 * block,
                       tcgen05_descriptor_16_byte_rows(shared_address(s->scales[1][block])));
        }
    }
}

DEVICE uint32_t shape_of(const Params *p, int step) {
    const Mode *m = &p->mode;
    const int a = type_of[m->a].code, b = type_of[m->b].code, byte = step * scales_of(p) % 4,
              ue8m0 = m->kind != TCGEN05_MXF4NVF4 || p->bug == RIGHT_NVF4_UE8M0;
    const uint32_t shape = has_scales(p) ? tcgen05_shape_scaled(a, b, ue8m0, p->m, N, byte, byte)
                                         : tcgen05_shape_f8(a, b, p->m, N) - (m->d_is_f16 ? TCGEN05_D_IN_FP32 : 0);
    return shape ^ m->shape ^ (uint32_t)m->m_major << 15 ^ (step == 2 ? m->third : 0);
}

DEVICE void multiply_step(const Params *p, Shared *s, uint32_t first, uint32_t d, int product, int step) {
    const Mode *m = &p->mode;
    const int adds = step > 0 || m->adds;
    const uint64_t a = tcgen05_descriptor(s->a[product]) + m->rows + step * (m->m_major ? STEP * LANES >> 4 : 2),
                   b = tcgen05_descriptor(s->b) + step * 2;
    const uint32_t shape = shape_of(p, step), lanes = m->upper ? 16 << 16 : 0,
                   scales = first + (uint32_t)(step * scales_of(p) / 4 * 4);
    d += lanes + m->at_d;
    const uint32_t in_tensor = first + AT_A + (uint32_t)step * STEP / 4 + lanes + m->at_a;
    if (has_scales(p) && m->from != SHARED) {
        tcgen05_mma_scaled_ts(m->kind, m->pair, d, in_tensor, b, shape, scales + AT_SCALES_A, scales + AT_SCALES_B,
                              adds);
    } else if (has_scales(p)) {
        tcgen05_mma_scaled(m->kind, m->pair, d, a, b, shape, scales + AT_SCALES_A + m->at_scales, scales + AT_SCALES_B,
                           adds);
    } else if (m->from != SHARED) {
        tcgen05_mma_ts(m->kind, m->pair, d, in_tensor, b, shape, adds);
    } else {
        tcgen05_mma(m->kind, m->pair, d, a, b, shape, adds);
    }
}

DEVICE void copy_a(const Params *p, Shared *s, uint32_t to) {
    for (int step = 0; step < STEPS; step++) {
        tcgen05_cp(TCGEN05_128X256B, p->mode.pair, to + step * STEP / 4, tcgen05_descriptor(s->a) + step * 2);
    }
}

/* Its accumulator lies where A does. */
DEVICE void other_product(Shared *s, uint32_t first) {
    const uint64_t tile = tcgen05_descriptor(s->b);
    tcgen05_mma_f16(first + AT_A, tile, tile, tcgen05_shape_f16(1, 64, 32, 0, 0), 0);
}

/* One thread. */
DEVICE void work(const Params *p, Shared *s, uint32_t first, uint32_t d, int product) {
    const int bug = p->bug;
    if (p->mode.pair) {
        fence_proxy_async(); /* for what threads of the other CTA have stored */
    }
    if (p->mode.from == COPIED && bug != COPIED_BY_OTHER_THREAD) {
        copy_a(p, s, first + AT_A);
    }
    if (p->mode.from == COPY) {
        tcgen05_cp((Tcgen05Copy)p->mode.copy, p->mode.pair, d + p->mode.at_d,
                   tcgen05_descriptor(s->a[product]) + p->mode.rows);
    } else if (has_scales(p)) {
        copy_scales(p, s, first);
    }
    for (int step = 0; p->mode.from != COPY && step < STEPS; step++) {
        multiply_step(p, s, first, d, product, step);
    }
    ADDS(COPY_OVERWRITES_A, copy_a(p, s, first + AT_A));
    ADDS(SCALES_OVERWRITTEN, copy_scales(p, s, first));
    ADDS(A_OVERWRITTEN_BY_D, other_product(s, first));
    if ((p->mode.pair && bug != COMMIT_OF_ONE_CTA) || p->mode.told) {
        tcgen05_commit_pair(&s->full, p->mode.told ? p->mode.told : 3);
    } else if (bug == RIGHT_TOLD_BY_MULTICAST) {
        tcgen05_commit_multicast(&s->full, 1);
    } else if (bug != NO_COMMIT) {
        tcgen05_commit(&s->full);
    }
    if (bug == COPY_SOURCE_OVERWRITTEN || bug == M_MAJOR_OVERWRITTEN) {
        s->a[product][bug == M_MAJOR_OVERWRITTEN ? 20 * LANES : 0] = 0;
    }
}

/* The warps take out their lanes of D, or of what was copied. */
DEVICE void take(const Params *p, Shared *s, uint32_t d, int rank, int product) {
    const Mode *m = &p->mode;
    const int bug = p->bug, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, width = 1 + m->d_is_f16;
    const Tcgen05Registers shape = (Tcgen05Registers)(m->registers + (m->d_is_f16 ? TCGEN05_PACKED : 0));
    const int columns = m->from == COPY ? (m->copy == TCGEN05_128X256B || m->copy == TCGEN05_4X256B ? 8 : 4)
                                        : N / (m->pair && p->m == 128 ? 2 : 1),
              num = m->num ? m->num : num_of(shape, columns);
    d += ((uint32_t)warp << 21) + m->at_load + (bug == ADDRESSES_DIFFER && lane == 5 ? 8 : 0);
    for (int half = 0; half <= (m->registers != TCGEN05_32X32B); half++, d += 16 << 16) {
        uint32_t r[N];
        tcgen05_ld_of(shape, num, r, d);
        ADDS(FENCE_BEFORE_TOO_EARLY, tcgen05_fence_before());
        if (bug != NO_WAIT_LD_IN_THE_PEER || rank == 0) {
            tcgen05_wait_ld();
        }
        for (int i = 0; i < tcgen05_registers(shape, num) * width; i++) {
            const uint32_t place = tcgen05_register_place(shape, num, lane, i / width);
            const int row = warp * 32 + half * 16 + (int)(place >> 16), column = (int)(place & 0xffff) + i % width;
            p->c[((product * (1 + m->pair) + rank) * LANES + row) * N + column] =
                width == 2 ? r[i / 2] >> i % 2 * 16 & 0xffff : r[i];
        }
    }
    LEAVES_OUT(FENCE_BEFORE_TOO_EARLY, tcgen05_fence_before());
    if (!m->pair) {
        mbarrier_arrive(&s->empty);
    } else {
        mbarrier_arrive_release_cluster(&s->empty, 0);
    }
}

/* One warp of each CTA. */
DEVICE void allocate(const Params *p, Shared *s, int rank) {
    const int bug = p->bug;
    if (p->mode.pair) {
        if (bug != ALLOC_BY_ONE || rank == 0) {
            tcgen05_alloc_pair(&s->address[0], bug == ALLOC_DIFFERENT && rank == 1 ? 32 : COLUMNS);
            ADDS(RIGHT_PAIR_ALLOCATES_LESS, tcgen05_alloc_pair(&s->address[1], 32));
            tcgen05_relinquish_pair();
        }
        return;
    }
    tcgen05_alloc(&s->address[0], bug == ALLOC_48 ? 48 : COLUMNS);
    for (int i = 0; i < (bug == ALLOC_TOO_MUCH ? 2 : bug == RIGHT_TWO_ALLOCATIONS || bug == ALLOC_GROWS); i++) {
        tcgen05_alloc(&s->address[1], bug == ALLOC_GROWS ? 512 : COLUMNS);
    }
    tcgen05_relinquish();
    ADDS(ALLOC_AFTER_RELINQUISH, tcgen05_alloc(&s->address[1], 32));
}

DEVICE void release(const Params *p, Shared *s, uint32_t first, int rank) {
    const int bug = p->bug;
    if (p->mode.pair) {
        if (bug != FREED_BY_ONE || rank == 0) {
            tcgen05_dealloc_pair(first, COLUMNS);
            ADDS(RIGHT_PAIR_ALLOCATES_LESS, tcgen05_dealloc_pair(s->address[1], 32));
        }
        return;
    }
    LEAVES_OUT(NOT_FREED, tcgen05_dealloc(first, bug == HALF_FREED ? COLUMNS / 2 : COLUMNS));
    ADDS(FREED_TWICE, tcgen05_dealloc(first, COLUMNS));
    ADDS(RIGHT_TWO_ALLOCATIONS, tcgen05_dealloc(s->address[1], COLUMNS));
}

/* What lies in tensor memory before the first product. */
DEVICE void prepare(const Params *p, Shared *s, uint32_t first, int rank) {
    const int bug = p->bug;
    if (bug == A_OVERWRITTEN_BY_D) {
        if (threadIdx.x == 0) {
            other_product(s, first);
            tcgen05_commit(&s->full);
        }
        __syncwarp();
        mbarrier_wait_parity(&s->full, 0);
        tcgen05_fence_after();
    }
    if (p->mode.from == STORED) {
        store_a(p, first + AT_A, rank);
    }
    if (bug == RIGHT_SCALES_STORED) {
        store_scales(s, first);
    }
    if (bug == COPIED_BY_OTHER_THREAD && threadIdx.x == 1) {
        copy_a(p, s, first + AT_A);
        tcgen05_fence_before();
    }
}

static __global__ void __launch_bounds__(THREADS, 1) tmem_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug, rank = p.mode.pair ? cluster_cta_rank() : 0, issuer = threadIdx.x == 0 && rank == 0,
              is_second = bug == A_OVERWRITTEN_BY_D;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init(&s->empty, 1, p.mode.pair ? 2 * THREADS : THREADS);
        mbarrier_init_fence();
    }
    all_sync(&p, ALLOC_BEFORE_CLUSTER_SYNC);
    if (bug == RIGHT_PAIR_ALLOCATED_AGAIN || bug == DEALLOC_BEFORE_THE_PEERS_ALLOC) {
        if (threadIdx.x < 32) {
            tcgen05_alloc_pair(&s->address[0], COLUMNS);
        }
        all_sync(&p, DEALLOC_BEFORE_THE_PEERS_ALLOC);
        if (threadIdx.x < 32) {
            tcgen05_dealloc_pair(s->address[0], COLUMNS);
        }
    }
    if (threadIdx.x < 32) {
        __syncwarp(); /* all lanes have read what is written anew */
        allocate(&p, s, rank);
    }
    for (int product = 0; product <= p.mode.twice; product++) {
        fill(&p, s, rank, product);
    }
    if (bug != NO_PROXY_FENCE && bug != COPY_WITHOUT_PROXY_FENCE) {
        fence_proxy_async();
    }
    LEAVES_OUT(ADDRESS_UNPUBLISHED, all_sync(&p, BARRIER_OF_ONE_BEHIND_ROWS));
    const uint32_t first = s->address[0];
    prepare(&p, s, first, rank);
    all_sync(&p, BARRIER_OF_ONE_BEHIND_ROWS);
    for (int product = 0; product <= p.mode.twice; product++) {
        const uint32_t d = first + (bug == RIGHT_TWO_ACCUMULATORS ? product * N : 0);
        if (p.mode.adds) {
            if (product > 0) {
                mbarrier_wait_parity(&s->empty, 0);
            }
            store_numbers(&p, d);
            all_sync(&p, 0);
        }
        if (issuer) {
            if (product > 0 && p.mode.pair && bug != ACQUIRED_FROM_THE_OWN_CTA) {
                mbarrier_wait_parity_cluster(&s->empty, 0);
            } else if (product > 0 && !p.mode.adds && bug != NO_EMPTY_WAIT) {
                mbarrier_wait_parity(&s->empty, 0);
            }
            tcgen05_fence_after();
            work(&p, s, first, d, product);
        }
        __syncwarp();
        ADDS(A_OVERWRITTEN, store_a(&p, first + AT_A, rank));
        if (bug != NO_COMMIT_WAIT && bug != COPY_NOT_WAITED_FOR) {
            mbarrier_wait_parity(&s->full, (product + is_second) % 2);
        }
        tcgen05_fence_after();
        take(&p, s, d, rank, product);
    }
    all_sync(&p, 0);
    ADDS(COPY_NOT_WAITED_FOR, mbarrier_wait_parity(&s->full, 0));
    if (threadIdx.x < 32) {
        release(&p, s, first, rank);
    }
}
KERNEL_ENTRY(tmem_kernel, Params);

static float expected(const Params *p, int row, int n) {
    float sum = p->mode.adds * (1 + n % 2);
    for (int k = 0; k < STEPS * matrix_k(p->mode.a); k++) {
        const int i = k / scale_k(p), one = p->bug == RIGHT_SCALES_STORED && row / 32 == 1;
        sum += value_of[element(row, k)] * value_of[element(n, k)] * (has_scales(p) ? scale_of[scale(row, i)] : 1) *
               (has_scales(p) && !one ? scale_of[scale(n + 1, i)] : 1);
    }
    return sum;
}

/* 1: a lane does not have the copied row that lies there, or 1 and 2 in turn. */
static int check_copied(const Params *p, int rank, int lane, const uint32_t *c) {
    const Tcgen05CopyPlaces places = tcgen05_copy_places((Tcgen05Copy)p->mode.copy);
    uint32_t line[ROW / 4];
    for (int i = 0; i < ROW / 4; i++) {
        line[i] = i % 2 ? 0x40000000 : 0x3f800000;
    }
    for (int i = 0; i < places.rows * places.times; i++) {
        if (tcgen05_copy_lane(&places, i % places.rows, i / places.rows) == lane) {
            put_row((uint8_t *)line, p->mode.a, row_of_a(p, rank, 0, i % places.rows));
        }
    }
    return memcmp(line, c, (size_t)places.columns * 4) != 0;
}

static int run(const Case *c) {
    const Mode *mode = c->more;
    const int ctas = 1 + (mode->pair && c->bug != NO_PAIR), lanes = (1 + mode->twice) * ctas * LANES;
    Params p = {case_memory((size_t)lanes * N * sizeof(uint32_t), "C"), *mode, mode->m != 0 ? mode->m : LANES, c->bug};
    LaunchShape shape = {.grid = ctas, .block = THREADS, .cluster = ctas, .shared_bytes = sizeof(Shared)};
    GemmStatus status = launch_kernel(KERNEL(tmem_kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK || c->rule != NULL) {
        return (int)status;
    }
    const int halves = mode->pair && p.m == 128 ? 2 : 1;
    for (int i = 0; i < lanes; i++) {
        const int rank = i / LANES % ctas, lane = i % LANES, has_d = p.m != 64 || lane / 16 % 2 == mode->upper;
        if (mode->from == COPY && check_copied(&p, rank, lane, &p.c[i * N])) {
            return 1;
        }
        for (int column = 0; column < N / halves && mode->from != COPY && has_d; column++) {
            float value;
            memcpy(&value, &p.c[i * N + column], sizeof value);
            value = mode->d_is_f16 ? matrix_element(MATRIX_F16, p.c[i * N + column]) : value;
            if (value != expected(&p, row_of_a(&p, rank, i / LANES / ctas, row_in(&p, lane)),
                                  column + (halves == 2 ? lane / 64 * (N / 2) : 0))) {
                return 1;
            }
        }
    }
    return 0;
}
