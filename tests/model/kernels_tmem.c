/* kernels_tmem.c - tensor memory: one product of four k-steps, whose rows are 128 bytes, or two products one after the
 * other, by a CTA or a pair; four warps load the accumulator. Types are bf16, fp16 or those with scales. Some cases
 * have a copy instead of a product. */
#include "../../common/gemm.h"

#include "../../common/device/cluster.h"
#include "../../common/device/tcgen05.h"
#include "../../common/model/data/tcgen05.h"

#include "cases.h"

#define CASE_LIST "tmem"

enum { LANES = 128, N = 64, ROW = 128, STEPS = 4, STEP = ROW / STEPS, COLUMNS = 256, THREADS = 128, BLOCK = 512 };
/* Columns: D; scales of A, and of B. */
enum { AT_SCALES_A = 128, AT_SCALES_B = 160 };

typedef struct {
    uint8_t a[2][LANES * ROW], b[N * ROW]; /* 128-byte swizzle; A of each product */
    uint8_t scales[2][STEPS][BLOCK];
    MBarrier full, empty;
    uint32_t address[2];
} Shared;

typedef struct {
    int copies; /* a copy to where D would be, instead of a product */
    int twice;  /* two products */
    int m;      /* 0: 128 */
    int upper;  /* D is in the other half of the lanes */
    int adds;   /* D has been stored: 1, 2, 1, 2... */
    int pair;
    Tcgen05Kind kind;
    MatrixType a, b;
    /* For faulty kernels: bits of the instruction descriptor to flip, in all products and in the third; what is added
     * to addresses and to A's descriptor; the columns of the loads; CTAs at whose barriers the commit arrives. */
    uint32_t shape, third, at_d, at_scales, at_load;
    uint64_t rows;
    int num, told;
} Mode;

#define IN(name, rule, ...) CASE_OF(run, name, rule, (&(const Mode){__VA_ARGS__}))
#define TWICE .twice = 1
#define F16 .a = MATRIX_F16, .b = MATRIX_F16
#define MXF8 .kind = TCGEN05_MXF8F6F4, .a = MATRIX_E4M3, .b = MATRIX_E4M3
#define NVF4 .kind = TCGEN05_MXF4NVF4, .a = MATRIX_E2M1, .b = MATRIX_E2M1
#define PAIR(rows) .pair = 1, .m = rows
#define HOPPERS .rows = -((uint64_t)1 << 46)
#define OUTSIDE .rows = sizeof(Shared) >> 4
#define COPY .copies = 1

IN(RIGHT, NULL, TWICE);
IN(RIGHT_F16, NULL, F16);
IN(RIGHT_M64_UPPER, NULL, TWICE, .m = 64, .upper = 1);
IN(RIGHT_ADDED, NULL, TWICE, .adds = 1);
IN(RIGHT_TWO_ALLOCATIONS, NULL, TWICE);
IN(RIGHT_TWO_ACCUMULATORS, NULL, TWICE);
IN(RIGHT_MXF8, NULL, MXF8);
IN(RIGHT_MXF8_E5M2, NULL, .kind = TCGEN05_MXF8F6F4, .a = MATRIX_E4M3, .b = MATRIX_E5M2);
IN(RIGHT_SCALES_STORED, NULL, MXF8); /* those of B, others in the second quarter */
IN(RIGHT_NVF4, NULL, NVF4);
IN(RIGHT_NVF4_UE8M0, NULL, NVF4);
IN(RIGHT_PAIR, NULL, TWICE, PAIR(256));
IN(RIGHT_PAIR_M128, NULL, TWICE, PAIR(128)); /* the second half of D's columns lies 64 lanes below */
IN(RIGHT_PAIR_ALLOCATED_AGAIN, NULL, PAIR(256));
IN(RIGHT_PAIR_MXF8, NULL, MXF8, PAIR(256));
IN(RIGHT_COPY, NULL, COPY);
IN(RIGHT_PAIR_COPY, NULL, COPY, PAIR(256));

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
IN(LOADED_FROM_LANE_16, "TMEM_ADDRESS", TWICE, .at_load = 16 << 16);
IN(UNWRITTEN_LOADED, "UNINIT_TENSOR", TWICE, .at_load = N);
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

IN(F16_WITH_BF16, "TCGEN05_DESCRIPTOR", F16, .shape = 1 << 7);
IN(SUMS_IN_F16, "TCGEN05_DESCRIPTOR", F16, .shape = 1 << 4);
IN(MXF8_M_MAJOR, "TCGEN05_DESCRIPTOR", MXF8, .shape = 1 << 15);
IN(MXF6, "TCGEN05_DESCRIPTOR", MXF8, .shape = 3 << 7);
IN(MXF8_OF_A_PAIR_M128, "TCGEN05_DESCRIPTOR", MXF8, PAIR(128));
IN(COMMIT_OF_A_PAIR, "CTA_GROUP", .told = 1); /* tilelang#2287 */
IN(COPY_NOT_WAITED_FOR, "RACE_RAW", COPY);
IN(COPY_WITHOUT_PROXY_FENCE, "PROXY_FENCE", COPY);
IN(COPY_TO_LANE_32, "TMEM_ADDRESS", COPY, .at_d = 32 << 16);
IN(COPY_PAST_ALLOCATION, "TMEM_ADDRESS", COPY, .at_d = COLUMNS - 2);
IN(COPY_BY_HOPPERS_DESCRIPTOR, "TCGEN05_DESCRIPTOR", COPY, HOPPERS);
IN(COPY_FROM_OUTSIDE, "TCGEN05_DESCRIPTOR", COPY, OUTSIDE);
IN(COPY_SOURCE_OVERWRITTEN, "RACE_WAR", COPY);
IN(BARRIER_OF_ONE_BEHIND_ROWS, "RACE_RAW", COPY, PAIR(256)); /* cutlass#3647 */
IN(SCALES_OF_A_NOT_COPIED, "UNINIT_TENSOR", MXF8);
IN(SCALES_OVERWRITTEN, "RACE_WAR", MXF8); /* TIRx-kernels#7 */
IN(SCALES_OVERWRITTEN_BY_STORE, "RACE_WAR", MXF8);
IN(SCALES_OVERWRITTEN_BY_D, "RACE_WAR", MXF8); /* another product's accumulator, which was there before */
IN(SCALES_COPIED_BY_OTHER_THREAD, "RACE_RAW", MXF8);
IN(SCALES_NOT_WAITED_FOR, "RACE_RAW", MXF8); /* stored scales, as in the next case */
IN(SCALES_WITHOUT_FENCE_BEFORE, "TCGEN05_FENCE", MXF8);
IN(SCALES_PAST_ALLOCATION, "TMEM_ADDRESS", MXF8, .at_scales = COLUMNS - AT_SCALES_A - 2);
IN(SCALES_TWO_COLUMNS_OFF, "^PROVENANCE", NVF4, .at_scales = 2);
IN(SCALES_FROM_LANE_32, "TMEM_ADDRESS", MXF8, .at_scales = 32 << 16);
IN(SCALES_OF_E4M3, "TCGEN05_DESCRIPTOR", MXF8, .shape = 1 << 23);
IN(SCALES_COPIED_IN_ONE_CTA, "CTA_GROUP", MXF8, PAIR(256));
IN(NVF4_FROM_BYTE_2, "TCGEN05_DESCRIPTOR", NVF4, .shape = 2 << 4);

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
                           [MATRIX_E2M1] = {{0, 2, 4, 10}, 1}};

/* A row of 128 bytes of A or B. */
static inline void put_row(uint8_t *to, MatrixType type, int row) {
    const int bits = matrix_bits(type);
    memset(to, 0, ROW);
    for (int k = 0; k < ROW * 8 / bits; k++) {
        const int at = k * bits, value = type_of[type].bits[element(row, k)] << at % 8;
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
        for (int chunk = 0; chunk < ROW / 16; chunk++) {
            memcpy(&(is_b ? s->b : s->a[product])[row * ROW + (chunk ^ row % 8) * 16], &line[chunk * 16], 16);
        }
    }
    for (int i = (int)threadIdx.x; i < 2 * STEPS * BLOCK && has_scales(p); i += THREADS) {
        const int at = i % BLOCK, is_b = i / BLOCK / STEPS, row = at / 16 + at / 4 % 4 * 32;
        (&s->scales[0][0][0])[i] =
            bits[p->mode.kind != TCGEN05_MXF4NVF4 || p->bug == RIGHT_NVF4_UE8M0]
                [scale(is_b ? row + 1 : row + rank * rows_of(p), i / BLOCK % STEPS * 4 + at % 4)];
    }
}

DEVICE void all_sync(const Params *p, int of_one) {
    if (p->mode.pair && p->bug != of_one) {
        cluster_sync();
    } else {
        __syncthreads();
    }
}

/* N columns: 1 and 2 in turn. */
DEVICE void store_numbers(uint32_t d) {
    uint32_t r[N];
    for (int i = 0; i < N; i++) {
        r[i] = i % 2 ? 0x40000000 : 0x3f800000;
    }
    tcgen05_st(N, d + (threadIdx.x / 32 << 21), r);
    tcgen05_wait_st();
    tcgen05_fence_before();
}

/* Scales of B are stored, not copied. */
DEVICE int stores_scales(int bug) {
    return bug == RIGHT_SCALES_STORED || bug == SCALES_NOT_WAITED_FOR || bug == SCALES_WITHOUT_FENCE_BEFORE;
}

/* Each warp stores the scales of its quarter. */
DEVICE void store_scales(int bug, const Shared *s, uint32_t first) {
    uint32_t r[8];
    memset(r, 127, sizeof r);
    if (threadIdx.x / 32 != 1) {
        memcpy(r, &s->scales[1][0][threadIdx.x % 32 * 16], 16);
    }
    tcgen05_st(8, first + AT_SCALES_B + (threadIdx.x / 32 << 21), r);
    LEAVES_OUT(SCALES_NOT_WAITED_FOR, tcgen05_wait_st());
    LEAVES_OUT(SCALES_WITHOUT_FENCE_BEFORE, tcgen05_fence_before());
}

DEVICE void copy_scales(const Params *p, Shared *s, uint32_t first) {
    const int bug = p->bug, pair = p->mode.pair && bug != SCALES_COPIED_IN_ONE_CTA;
    for (int block = 0; block < scales_of(p); block++) {
        LEAVES_OUT(SCALES_OF_A_NOT_COPIED,
                   tcgen05_cp(pair, first + AT_SCALES_A + 4 * block,
                              tcgen05_descriptor_16_byte_rows(shared_address(s->scales[0][block]))));
        if (!stores_scales(bug)) {
            tcgen05_cp(pair, first + AT_SCALES_B + 4 * block,
                       tcgen05_descriptor_16_byte_rows(shared_address(s->scales[1][block])));
        }
    }
}

DEVICE uint32_t shape_of(const Params *p, int step) {
    const Mode *m = &p->mode;
    const int a = type_of[m->a].code, b = type_of[m->b].code, byte = step * scales_of(p) % 4,
              ue8m0 = m->kind != TCGEN05_MXF4NVF4 || p->bug == RIGHT_NVF4_UE8M0;
    const uint32_t shape =
        has_scales(p) ? tcgen05_shape_scaled(a, b, ue8m0, p->m, N, byte, byte) : tcgen05_shape_f16(a, p->m, N, 0, 0);
    return shape ^ m->shape ^ (step == 2 ? m->third : 0);
}

DEVICE void multiply_step(const Params *p, Shared *s, uint32_t first, uint32_t d, int product, int step) {
    const Mode *m = &p->mode;
    const int adds = step > 0 || m->adds;
    const uint64_t a = tcgen05_descriptor(s->a[product]) + m->rows + step * 2, b = tcgen05_descriptor(s->b) + step * 2;
    const uint32_t shape = shape_of(p, step), lanes = m->upper ? 16 << 16 : 0,
                   scales = first + (uint32_t)(step * scales_of(p) / 4 * 4);
    d += lanes + m->at_d;
    if (has_scales(p)) {
        tcgen05_mma_scaled(m->kind, m->pair, d, a, b, shape, scales + AT_SCALES_A + m->at_scales, scales + AT_SCALES_B,
                           adds);
    } else if (m->pair) {
        tcgen05_mma_f16_pair(d, a, b, shape, adds);
    } else {
        tcgen05_mma_f16(d, a, b, shape, adds);
    }
}

/* A product whose accumulator is at the columns of A's scales. */
DEVICE void other_product(Shared *s, uint32_t first) {
    const uint64_t tile = tcgen05_descriptor(s->b);
    tcgen05_mma_f16(first + AT_SCALES_A, tile, tile, tcgen05_shape_f16(1, 64, 32, 0, 0), 0);
}

/* One thread. */
DEVICE void work(const Params *p, Shared *s, uint32_t first, uint32_t d, int product) {
    const int bug = p->bug;
    if (p->mode.pair) {
        fence_proxy_async(); /* for what threads of the other CTA have stored */
    }
    if (p->mode.copies) {
        tcgen05_cp(p->mode.pair, d + p->mode.at_d, tcgen05_descriptor(s->a[product]) + p->mode.rows);
    } else if (has_scales(p) && bug != SCALES_COPIED_BY_OTHER_THREAD) {
        copy_scales(p, s, first);
    }
    for (int step = 0; !p->mode.copies && step < STEPS; step++) {
        multiply_step(p, s, first, d, product, step);
    }
    ADDS(SCALES_OVERWRITTEN, copy_scales(p, s, first));
    ADDS(SCALES_OVERWRITTEN_BY_D, other_product(s, first));
    if ((p->mode.pair && bug != COMMIT_OF_ONE_CTA) || p->mode.told) {
        tcgen05_commit_pair(&s->full, p->mode.told ? p->mode.told : 3);
    } else if (bug != NO_COMMIT) {
        tcgen05_commit(&s->full);
    }
    ADDS(COPY_SOURCE_OVERWRITTEN, s->a[product][0] = 0);
}

/* The warps take out their lanes of D, or of what was copied. */
DEVICE void take(const Params *p, Shared *s, uint32_t d, int rank, int product) {
    const Mode *m = &p->mode;
    const int bug = p->bug, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32,
              columns = m->copies ? TCGEN05_COPY_COLUMNS : N / (m->pair && p->m == 128 ? 2 : 1),
              num = m->num ? m->num : columns;
    uint32_t r[N];
    d += ((uint32_t)warp << 21) + m->at_load + (bug == ADDRESSES_DIFFER && lane == 5 ? 8 : 0);
    tcgen05_ld(num, r, d);
    ADDS(FENCE_BEFORE_TOO_EARLY, tcgen05_fence_before());
    if (bug != NO_WAIT_LD_IN_THE_PEER || rank == 0) {
        tcgen05_wait_ld();
    }
    for (int i = 0; i < num; i++) {
        p->c[((product * (1 + m->pair) + rank) * LANES + warp * 32 + lane) * N + i] = r[i];
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
DEVICE void prepare(const Params *p, Shared *s, uint32_t first) {
    const int bug = p->bug;
    if (bug == SCALES_OVERWRITTEN_BY_D) {
        if (threadIdx.x == 0) {
            other_product(s, first);
            tcgen05_commit(&s->full);
        }
        __syncwarp();
        mbarrier_wait_parity(&s->full, 0);
        tcgen05_fence_after();
    }
    if (stores_scales(bug)) {
        store_scales(bug, s, first);
    }
    if (bug == SCALES_COPIED_BY_OTHER_THREAD && threadIdx.x == 1) {
        copy_scales(p, s, first);
        tcgen05_fence_before();
    }
}

static __global__ void __launch_bounds__(THREADS, 1) tmem_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug, rank = p.mode.pair ? cluster_cta_rank() : 0, issuer = threadIdx.x == 0 && rank == 0,
              is_second = bug == SCALES_OVERWRITTEN_BY_D;
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
    prepare(&p, s, first);
    all_sync(&p, BARRIER_OF_ONE_BEHIND_ROWS);
    for (int product = 0; product <= p.mode.twice; product++) {
        const uint32_t d = first + (bug == RIGHT_TWO_ACCUMULATORS ? product * N : 0);
        if (p.mode.adds) {
            if (product > 0) {
                mbarrier_wait_parity(&s->empty, 0);
            }
            store_numbers(d);
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
        ADDS(SCALES_OVERWRITTEN_BY_STORE, store_scales(bug, s, first));
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

/* Returns 1 if a lane does not have the copied row. */
static int check_copied(const Params *p, int rank, int lane, const uint32_t *c) {
    uint8_t line[ROW];
    put_row(line, p->mode.a, row_of_a(p, rank, 0, lane % TCGEN05_COPY_ROWS));
    return memcmp(line, c, TCGEN05_COPY_COLUMNS * sizeof *c) != 0;
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
        if (mode->copies && check_copied(&p, rank, lane, &p.c[i * N])) {
            return 1;
        }
        for (int column = 0; column < N / halves && !mode->copies && has_d; column++) {
            float value;
            memcpy(&value, &p.c[i * N + column], sizeof value);
            if (value != expected(&p, row_of_a(&p, rank, i / LANES / ctas, row_in(&p, lane)),
                                  column + (halves == 2 ? lane / 64 * (N / 2) : 0))) {
                return 1;
            }
        }
    }
    return 0;
}
