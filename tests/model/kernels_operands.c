/* kernels_operands.c - what a product of tcgen05 takes besides tiles of bf16 in shared memory: A in tensor memory, fp8, e2m1, scales;
 * tcgen05.cp; and how registers lie in tensor memory. One CTA, one product of four k-steps, whose rows are 128 bytes. */
#include "../../common/gemm.h"

#include "../../common/device/tcgen05.h"
#include "../../common/model/data/tcgen05.h"

#include "cases.h"

#define CASE_LIST "operands"

enum { M = 128, N = 64, ROW = 128, STEPS = 4, STEP = ROW / STEPS, COLUMNS = 256, THREADS = 128, BLOCK = 512 };
/* Columns: D; A or what else is copied there; scales of A, and of B. */
enum { AT_A = N, AT_SCALES_A = 128, AT_SCALES_B = 160 };
/* Where A comes from, and what it is. */
typedef enum { SHARED, STORED, STORED_F8, COPIED, F8, MXF8, NVF4, COPY } Mode;

#define IN(mode, name, rule) CASE_OF(run, name, rule, (const Mode[]){mode})
IN(STORED, RIGHT_STORED, NULL);
IN(STORED, RIGHT_STORED_M64_UPPER, NULL); /* A and D in the other half of the lanes */
IN(STORED, RIGHT_16X64B, NULL);           /* A is stored, and D loaded, by this shape */
IN(STORED, RIGHT_16X128B, NULL);
IN(STORED, RIGHT_16X256B, NULL);
IN(STORED, RIGHT_16X32BX2, NULL);
IN(STORED_F8, RIGHT_STORED_F8, NULL);
IN(COPIED, RIGHT_COPIED, NULL); /* by the thread that multiplies: no commit between */
IN(F8, RIGHT_F8, NULL);
IN(F8, RIGHT_E5M2_E4M3, NULL);
IN(MXF8, RIGHT_MXF8, NULL);
IN(MXF8, RIGHT_SCALES_STORED, NULL); /* those of B, others in the second quarter */
IN(NVF4, RIGHT_NVF4, NULL);
IN(NVF4, RIGHT_NVF4_UE8M0, NULL);
IN(COPY, RIGHT_128X256B, NULL);
IN(COPY, RIGHT_128X128B, NULL);
IN(COPY, RIGHT_64X128B_02_13, NULL);
IN(COPY, RIGHT_64X128B_01_23, NULL);
IN(COPY, RIGHT_32X128B, NULL);

IN(STORED, A_NOT_WAITED_FOR, "RACE_RAW");
IN(STORED, A_WITHOUT_FENCE_BEFORE, "TCGEN05_FENCE");
IN(STORED, A_WITHOUT_FENCE_AFTER, "TCGEN05_FENCE");
IN(STORED, A_HALF_WRITTEN, "UNINIT_TENSOR");
IN(STORED, A_OVERWRITTEN, "RACE_WAR");
IN(STORED, A_OVERWRITTEN_BY_D, "RACE_WAR"); /* that lies in another product's accumulator, as attention's P in S */
IN(STORED, A_FROM_LANE_32, "TMEM_ADDRESS");
IN(STORED, A_IN_THE_OTHER_HALF, "TMEM_ADDRESS");
IN(STORED, A_PAST_ALLOCATION, "TMEM_ADDRESS");
IN(STORED, A_M_MAJOR, "TCGEN05_DESCRIPTOR");
IN(STORED, OTHER_LANES_LOADED, "UNINIT_TENSOR"); /* 16 that D of M = 64 leaves out */
IN(STORED, LOADED_X3, "TMEM_ADDRESS");
IN(STORED, LOADED_FROM_LANE_8, "TMEM_ADDRESS");
IN(F8, F8_MN_MAJOR, "TCGEN05_DESCRIPTOR");
IN(F8, F8_IS_E2M3, "TCGEN05_DESCRIPTOR");
IN(F8, COMMIT_OF_A_PAIR, "CTA_GROUP"); /* tilelang#2287 */

IN(COPIED, COPIED_BY_OTHER_THREAD, "RACE_RAW");
IN(COPIED, COPY_OVERWRITES_A, "RACE_WAR");
IN(COPY, COPY_NOT_WAITED_FOR, "RACE_RAW");
IN(COPY, COPY_WITHOUT_PROXY_FENCE, "PROXY_FENCE");
IN(COPY, COPY_TO_LANE_32, "TMEM_ADDRESS");
IN(COPY, COPY_PAST_ALLOCATION, "TMEM_ADDRESS");
IN(COPY, COPY_BY_HOPPERS_DESCRIPTOR, "TCGEN05_DESCRIPTOR");
IN(COPY, COPY_FROM_OUTSIDE, "TCGEN05_DESCRIPTOR");
IN(COPY, COPY_SOURCE_OVERWRITTEN, "RACE_WAR");
IN(MXF8, SCALES_NOT_COPIED, "UNINIT_TENSOR");
IN(MXF8, SCALES_IN_ONE_QUARTER, "UNINIT_TENSOR");
IN(MXF8, SCALES_OVERWRITTEN, "RACE_WAR"); /* TIRx-kernels#7 */
IN(MXF8, SCALES_FROM_LANE_32, "TMEM_ADDRESS");
IN(MXF8, SCALES_OF_E4M3, "TCGEN05_DESCRIPTOR");
IN(NVF4, NVF4_FROM_BYTE_1, "TCGEN05_DESCRIPTOR");

typedef struct {
    uint8_t a[M * ROW], b[N * ROW]; /* 128-byte swizzle */
    uint8_t scales[2][STEPS][BLOCK];
    MBarrier full;
    uint32_t address;
} Shared;

typedef struct {
    uint32_t *c; /* [M][N] */
    int mode, bug;
} Params;

static const float value_of[] = {0, 1, 2, -1}, scale_of[] = {1, 2, 0.5f};
static inline int element(int row, int k) { return (row * 5 + k * 3 + row * k + k / 8 + k / 32) % 4; }
static inline int scale(int row, int i) { return (row + i * 2 + row / 32) % 3; }
static inline int k_of(int mode) {
    return mode == NVF4 ? 256 : mode == F8 || mode == STORED_F8 || mode == MXF8 ? 128 : 64;
}
static inline int is_upper(int bug) {
    return bug == RIGHT_STORED_M64_UPPER || bug == A_IN_THE_OTHER_HALF || bug == OTHER_LANES_LOADED;
}

/* Byte i of a row. */
static inline uint8_t byte_of(int mode, int is_e5m2, int row, int i) {
    static const uint16_t bf16_bits[] = {0, 0x3f80, 0x4000, 0xbf80};
    static const uint8_t f8_bits[2][4] = {{0, 0x38, 0x40, 0xb8}, {0, 0x3c, 0x40, 0xbc}}, e2m1_bits[] = {0, 2, 4, 10};
    return mode == NVF4       ? (uint8_t)(e2m1_bits[element(row, 2 * i)] | e2m1_bits[element(row, 2 * i + 1)] << 4)
           : k_of(mode) == 64 ? (uint8_t)(bf16_bits[element(row, i / 2)] >> i % 2 * 8)
                              : f8_bits[is_e5m2][element(row, i)];
}

DEVICE void fill(const Params *p, Shared *s) {
    const int is_ue8m0 = p->mode == MXF8 || p->bug == RIGHT_NVF4_UE8M0, bug = p->bug;
    static const uint8_t bits[2][3] = {{0x38, 0x40, 0x30}, {127, 128, 126}};
    for (int row = (int)threadIdx.x; row < M + N; row += THREADS) {
        const int of_b = row >= M, r = of_b ? row - M : row;
        for (int i = 0; i < ROW; i++) {
            (of_b ? s->b : s->a)[r * ROW + (i / 16 ^ r % 8) * 16 + i % 16] =
                byte_of(p->mode, bug == RIGHT_E5M2_E4M3 && !of_b, r, i);
        }
    }
    /* Scale i of row m: mxf8 has one for a k-step, the steps side by side; nvf4 four, and a block for each. */
    for (int i = (int)threadIdx.x; i < 2 * STEPS * BLOCK; i += THREADS) {
        int at = i % BLOCK, step = i / BLOCK % STEPS, row = at / 16 + at / 4 % 4 * 32;
        (&s->scales[0][0][0])[i] = bits[is_ue8m0][scale(row + i / BLOCK / STEPS, step * 4 + at % 4)];
    }
}

/* The case's shape, and its N for so many columns; of 16 lanes it comes twice. */
DEVICE Tcgen05Registers shape_of(int bug, int columns, int *n) {
    static const int columns_of[] = {1, 2, 4, 8, 2};
    const int is_wrong = bug >= OTHER_LANES_LOADED && bug <= LOADED_FROM_LANE_8;
    const int shape = bug >= RIGHT_16X64B && bug <= RIGHT_16X32BX2 ? TCGEN05_16X64B + (bug - RIGHT_16X64B)
                      : is_wrong                                   ? TCGEN05_16X64B
                                                                   : TCGEN05_32X32B;
    *n = columns / columns_of[shape];
    return (Tcgen05Registers)shape;
}

DEVICE void move(Tcgen05Registers shape, int n, uint32_t at, uint32_t *r, int stores) {
#define MOVE(ld, st) stores ? st(n, at, r) : ld(n, r, at)
    switch (shape) {
    case TCGEN05_16X64B: MOVE(tcgen05_ld_16x64b, tcgen05_st_16x64b); break;
    case TCGEN05_16X128B: MOVE(tcgen05_ld_16x128b, tcgen05_st_16x128b); break;
    case TCGEN05_16X256B: MOVE(tcgen05_ld_16x256b, tcgen05_st_16x256b); break;
    case TCGEN05_16X32BX2: MOVE(tcgen05_ld_16x32bx2, tcgen05_st_16x32bx2); break;
    default: MOVE(tcgen05_ld, tcgen05_st);
    }
}

/* Each warp's lanes of A. */
DEVICE void store_a(const Params *p, uint32_t a) {
    const int bug = p->bug;
    int n;
    const Tcgen05Registers shape = shape_of(bug, bug == A_HALF_WRITTEN ? 16 : ROW / 4, &n);
    a += threadIdx.x / 32 << 21;
    for (int half = 0; half <= (shape != TCGEN05_32X32B); half++, a += 16 << 16) {
        uint32_t r[ROW / 4] = {0};
        for (int i = 0; i < 4 * tcgen05_registers(shape, n); i++) {
            const uint32_t place = tcgen05_register_place(shape, n, (int)threadIdx.x % 32, i / 4);
            const int lane = half * 16 + (int)(place >> 16), quarter = (int)threadIdx.x / 32, upper = is_upper(bug);
            if (!upper || lane >= 16) {
                const int row = upper ? quarter * 16 + lane - 16 : quarter * 32 + lane;
                r[i / 4] |= (uint32_t)byte_of(p->mode, 0, row, (int)(place & 0xffff) * 4 + i % 4) << 8 * (i % 4);
            }
        }
        move(shape, n, a, r, 1);
    }
    LEAVES_OUT(A_NOT_WAITED_FOR, tcgen05_wait_st());
    LEAVES_OUT(A_WITHOUT_FENCE_BEFORE, tcgen05_fence_before());
}

DEVICE void copy_scales(const Params *p, Shared *s, uint32_t first) {
    const int bug = p->bug, blocks = p->mode == NVF4 ? STEPS : 1;
    for (int block = 0; block < blocks; block++) {
        tcgen05_cp_32x128b(first + AT_SCALES_A + 4 * block,
                           tcgen05_descriptor_16_byte_rows(shared_address(s->scales[0][block])));
        LEAVES_OUT(
            SCALES_NOT_COPIED, if (bug != SCALES_IN_ONE_QUARTER && bug != RIGHT_SCALES_STORED) {
                tcgen05_cp_32x128b(first + AT_SCALES_B + 4 * block,
                                   tcgen05_descriptor_16_byte_rows(shared_address(s->scales[1][block])));
            });
    }
}

DEVICE void multiply_step(const Params *p, Shared *s, uint32_t first, int step) {
    const int bug = p->bug, m = is_upper(bug) ? 64 : M;
    const uint64_t a = tcgen05_descriptor(s->a) + step * 2, b = tcgen05_descriptor(s->b) + step * 2;
    const uint32_t lanes = is_upper(bug) ? 16 << 16 : 0, d = first + lanes;
    uint32_t a_at = first + AT_A + (uint32_t)step * STEP / 4 + lanes;
    uint32_t a_scales = first + AT_SCALES_A, b_scales = first + AT_SCALES_B, shape = tcgen05_shape_f16(1, m, N, 0, 0);
    a_at += bug == A_FROM_LANE_32        ? 32 << 16
            : bug == A_PAST_ALLOCATION   ? COLUMNS - AT_A - 4
            : bug == A_IN_THE_OTHER_HALF ? -(16u << 16)
                                         : 0;
    shape |= bug == A_M_MAJOR ? 1 << 15 : 0;
    a_scales += bug == SCALES_FROM_LANE_32 ? 32 << 16 : 0;
    switch (p->mode) {
    case STORED:
    case COPIED: tcgen05_mma_f16_ts(d, a_at, b, shape, step > 0); break;
    case STORED_F8: tcgen05_mma_f8_ts(d, a_at, b, tcgen05_shape_f8(0, 0, m, N), step > 0); break;
    case F8:
        shape = tcgen05_shape_f8(bug == RIGHT_E5M2_E4M3, 0, m, N);
        shape |= bug == F8_MN_MAJOR ? 1 << 16 : bug == F8_IS_E2M3 ? 3 << 7 : 0;
        tcgen05_mma_f8(d, a, b, shape, step > 0);
        break;
    case MXF8:
        shape = tcgen05_shape_mxf8(0, 0, N, step, step) & ~(bug == SCALES_OF_E4M3 ? 1u << 23 : 0);
        tcgen05_mma_mxf8(d, a, b, shape, a_scales, b_scales, step > 0);
        break;
    case NVF4:
        shape = tcgen05_shape_nvf4(bug == RIGHT_NVF4_UE8M0, N) | (bug == NVF4_FROM_BYTE_1 ? 1u << 29 : 0);
        tcgen05_mma_nvf4(d, a, b, shape, a_scales + 4 * step, b_scales + 4 * step, step > 0);
        break;
    default: break;
    }
}

DEVICE void copy(const Params *p, Shared *s, uint32_t to) {
    const int bug = p->bug;
    uint64_t rows = tcgen05_descriptor(s->a);
    to += bug == COPY_TO_LANE_32 ? 32 << 16 : bug == COPY_PAST_ALLOCATION ? COLUMNS - 4 : 0;
    rows -= bug == COPY_BY_HOPPERS_DESCRIPTOR ? (uint64_t)1 << 46 : 0;
    rows += bug == COPY_FROM_OUTSIDE ? sizeof *s >> 4 : 0;
    switch (bug) {
    case RIGHT_128X128B: tcgen05_cp_128x128b(to, rows); break;
    case RIGHT_64X128B_02_13: tcgen05_cp_64x128b_02_13(to, rows); break;
    case RIGHT_64X128B_01_23: tcgen05_cp_64x128b_01_23(to, rows); break;
    case RIGHT_32X128B: tcgen05_cp_32x128b(to, rows); break;
    default: tcgen05_cp_128x256b(to, rows);
    }
    ADDS(COPY_SOURCE_OVERWRITTEN, s->a[0] = 0);
}

/* Its accumulator lies where A does. */
DEVICE void other_product(Shared *s, uint32_t first) {
    const uint64_t tile = tcgen05_descriptor(s->b);
    tcgen05_mma_f16(first + AT_A, tile, tile, tcgen05_shape_f16(1, 64, 32, 0, 0), 0);
}

/* One thread. */
DEVICE void work(const Params *p, Shared *s, uint32_t first) {
    const int bug = p->bug;
    LEAVES_OUT(A_WITHOUT_FENCE_AFTER, tcgen05_fence_after());
    for (int step = 0; p->mode == COPIED && bug != COPIED_BY_OTHER_THREAD && step < STEPS; step++) {
        tcgen05_cp_128x256b(first + AT_A + step * STEP / 4, tcgen05_descriptor(s->a) + step * 2);
    }
    if (p->mode == COPY) {
        copy(p, s, first);
    } else if (p->mode == MXF8 || p->mode == NVF4) {
        copy_scales(p, s, first);
    }
    for (int step = 0; p->mode != COPY && step < STEPS; step++) {
        multiply_step(p, s, first, step);
    }
    ADDS(COPY_OVERWRITES_A, tcgen05_cp_128x256b(first + AT_A, tcgen05_descriptor(s->a)));
    ADDS(SCALES_OVERWRITTEN, copy_scales(p, s, first));
    ADDS(A_OVERWRITTEN_BY_D, other_product(s, first));
    if (bug == COMMIT_OF_A_PAIR) {
        tcgen05_commit_pair(&s->full, 1);
    } else {
        tcgen05_commit(&s->full);
    }
}

/* The warps take out their lanes of D, or of what was copied. */
DEVICE void take(const Params *p, uint32_t d) {
    const int bug = p->bug, quarter = (int)threadIdx.x / 32 * 32,
              copied = bug == RIGHT_128X256B || bug == COPY_NOT_WAITED_FOR ? 8 : 4;
    int n;
    const Tcgen05Registers shape = shape_of(bug, p->mode == COPY ? copied : N, &n);
    n = bug == LOADED_X3 ? 3 : n;
    d += (uint32_t)quarter << 16 | (bug == LOADED_FROM_LANE_8 ? 8 << 16 : 0);
    const int halves = bug >= RIGHT_16X64B && bug <= RIGHT_16X32BX2;
    for (int half = 0; half <= halves; half++, d += 16 << 16) {
        uint32_t r[N];
        move(shape, n, d, r, 0);
        tcgen05_wait_ld();
        for (int i = 0; i < tcgen05_registers(shape, n); i++) {
            const uint32_t place = tcgen05_register_place(shape, n, (int)threadIdx.x % 32, i);
            p->c[(quarter + half * 16 + (int)(place >> 16)) * N + (int)(place & 0xffff)] = r[i];
        }
    }
}

static __global__ void __launch_bounds__(THREADS, 1) operands_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug, issuer = threadIdx.x == 0;
    if (issuer) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
    }
    if (threadIdx.x < 32) {
        __syncwarp();
        tcgen05_alloc(&s->address, COLUMNS);
        tcgen05_relinquish();
    }
    fill(&p, s);
    LEAVES_OUT(COPY_WITHOUT_PROXY_FENCE, fence_proxy_async());
    __syncthreads();
    const uint32_t first = s->address;
    const int is_second = bug == A_OVERWRITTEN_BY_D;
    if (is_second) {
        if (issuer) {
            other_product(s, first);
            tcgen05_commit(&s->full);
        }
        __syncwarp();
        mbarrier_wait_parity(&s->full, 0);
        tcgen05_fence_after();
    }
    if (p.mode == STORED || p.mode == STORED_F8) {
        store_a(&p, first + AT_A);
    }
    if (bug == RIGHT_SCALES_STORED || (bug == SCALES_IN_ONE_QUARTER && threadIdx.x < 32)) {
        uint32_t r[8];
        memset(r, 127, sizeof r);
        if (threadIdx.x / 32 != 1) {
            memcpy(r, &s->scales[1][0][threadIdx.x % 32 * 16], 16);
        }
        tcgen05_st(8, first + AT_SCALES_B + (threadIdx.x / 32 << 21), r);
        tcgen05_wait_st();
        tcgen05_fence_before();
    }
    if (bug == COPIED_BY_OTHER_THREAD && threadIdx.x == 1) {
        for (int step = 0; step < STEPS; step++) {
            tcgen05_cp_128x256b(first + AT_A + step * STEP / 4, tcgen05_descriptor(s->a) + step * 2);
        }
        tcgen05_fence_before();
    }
    __syncthreads();
    if (issuer) {
        work(&p, s, first);
    }
    __syncwarp();
    ADDS(A_OVERWRITTEN, store_a(&p, first + AT_A));
    LEAVES_OUT(COPY_NOT_WAITED_FOR, mbarrier_wait_parity(&s->full, is_second));
    tcgen05_fence_after();
    take(&p, first);
    __syncthreads();
    ADDS(COPY_NOT_WAITED_FOR, mbarrier_wait_parity(&s->full, 0));
    if (threadIdx.x < 32) {
        tcgen05_dealloc(first, COLUMNS);
    }
}
KERNEL_ENTRY(operands_kernel, Params);

static float expected(const Case *c, int row, int n) {
    const int mode = *(const Mode *)c->more, per = mode == NVF4 ? 16 : 32;
    float sum = 0;
    for (int k = 0; k < k_of(mode); k++) {
        const int i = mode == NVF4 ? k / per : k / per % 4;
        const int scaled = mode == MXF8 || mode == NVF4, one = c->bug == RIGHT_SCALES_STORED && row / 32 == 1;
        sum += value_of[element(row, k)] * value_of[element(n, k)] * (scaled ? scale_of[scale(row, i)] : 1) *
               (scaled && !one ? scale_of[scale(n + 1, i)] : 1);
    }
    return sum;
}

static int run(const Case *c) {
    const int mode = *(const Mode *)c->more, bug = c->bug;
    Params p = {case_memory(M * N * sizeof(uint32_t), "C"), mode, bug};
    LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    GemmStatus status = launch_kernel(KERNEL(operands_kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK || c->rule != NULL) {
        return (int)status;
    }
    for (int lane = 0; lane < M; lane++) {
        for (int n = 0; n < N; n++) {
            const int row = bug == RIGHT_64X128B_01_23   ? lane / 64 * 32 + lane % 32
                            : bug == RIGHT_64X128B_02_13 ? lane % 64
                            : bug == RIGHT_32X128B       ? lane % 32
                            : is_upper(bug)              ? lane / 32 * 16 + lane % 16
                                                         : lane;
            uint32_t bits = p.c[lane * N + n];
            float value;
            memcpy(&value, &bits, sizeof value);
            if (mode == COPY) {
                for (int byte = 0; byte < 4 && n < (bug == RIGHT_128X256B ? 8 : 4); byte++) {
                    if ((bits >> 8 * byte & 0xff) != byte_of(mode, 0, row, 4 * n + byte)) {
                        return 1;
                    }
                }
            } else if ((!is_upper(bug) || lane / 16 % 2) && value != expected(c, row, n)) {
                return 1;
            }
        }
    }
    return 0;
}
