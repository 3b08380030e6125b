/* kernels_types.c - products of wgmma by one warpgroup, of every element type and major, and of mma.sync by one warp:
 * do their operands belong together? tests/conform compares their numbers with a GPU's. */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

#include "cases.h"

#define CASE_LIST "types"

/* Two k-tiles with rows of 128 bytes. */
enum { ROW_BYTES = 128, TILES = 2, THREADS = 128, MAX_N = 256, PANEL = 64, PANEL_BYTES = PANEL * ROW_BYTES };

/* Kinds of products; of types of as many bytes one: tests/conform has their numbers. */
RIGHT_CASE(SS_BF16);
RIGHT_CASE(SS_TRANS_B);
RIGHT_CASE(SS_TRANS_AB);
RIGHT_CASE(RS_BF16);
RIGHT_CASE(RS_TRANS_B);
RIGHT_CASE(SS_E4M3);
RIGHT_CASE(RS_E4M3);
RIGHT_CASE(MMA_BF16);
RIGHT_CASE(MMA_BULK_ROWS); /* B comes row by row, by bulk copies, without a swizzle */

/* One of these kinds, done otherwise. */
#define LIKE_CASE(kind, name, rule) CASE_OF(run, name, rule, (const void *)(uintptr_t)kind)
#define WRONG_LIKE(kind, name, rule) LIKE_CASE(kind, name, #rule)
LIKE_CASE(SS_E4M3, BYTES_AS_BF16, NULL); /* the tensor maps say bf16: nothing can be said of the pieces */
WRONG_LIKE(SS_E4M3, TYPES_DIFFER, WGMMA_OPERANDS);
WRONG_LIKE(SS_TRANS_B, OTHER_COLUMNS_TRANS_B, PROVENANCE);
WRONG_LIKE(SS_TRANS_B, PANELS_SWAPPED, PROVENANCE);
WRONG_LIKE(SS_BF16, WIDTH_12, WGMMA_OPERANDS);
WRONG_LIKE(RS_BF16, RS_OTHER_LANES, PROVENANCE); /* ldmatrix at the addresses of operand B */
LIKE_CASE(RS_E4M3, RS_MADE, NULL);               /* fragments that were made in registers have no tags */
WRONG_LIKE(MMA_BF16, MMA_ROW_MISALIGNED, ALIGNMENT);
WRONG_LIKE(MMA_BF16, MMA_ROW_OUTSIDE, SHARED_BOUNDS);
WRONG_LIKE(MMA_BF16, MMA_FRAGMENT_UNSET, REGISTERS_UNINIT);
WRONG_LIKE(MMA_BF16, MMA_LANE_ABSENT, CONVERGENCE);
WRONG_LIKE(MMA_BF16, MMA_LANE_RETURNED, CONVERGENCE);
WRONG_LIKE(MMA_BF16, MMA_CHUNK, PROVENANCE);
WRONG_LIKE(MMA_BF16, MMA_DIFFERENT_K, PROVENANCE);

typedef struct {
    uint8_t a[TILES][64 * ROW_BYTES];
    uint8_t b[TILES][MAX_N * ROW_BYTES]; /* N-major: panels [64 k][64 n] */
    MBarrier full;
} Shared;

typedef struct {
    TensorMap map_a, map_b;
    const uint8_t *b;
    float *d;      /* [THREADS] */
    int kind, bug; /* bug: the kind, or what is done otherwise */
    int n, a_trans, b_trans;
    int k_tile; /* elements of k in a tile */
} Params;

DEVICE void load_tiles(Shared *s, const Params *p) {
    int panels = p->b_trans ? (p->n + PANEL - 1) / PANEL : 1;
    int b_bytes = p->b_trans ? panels * PANEL_BYTES : p->n * ROW_BYTES;
    mbarrier_arrive_expect_tx(&s->full, TILES * (64 * ROW_BYTES + b_bytes));
    for (int tile = 0; tile < TILES; tile++) {
        int k = tile * p->k_tile / (p->bug == BYTES_AS_BF16 ? 2 : 1);
        tma_load_2d(s->a[tile], &p->map_a, p->a_trans ? 0 : k, p->a_trans ? k : 0, &s->full);
        for (int row = 0; row < p->n && p->kind == MMA_BULK_ROWS; row++) {
            bulk_load(s->b[tile] + row * ROW_BYTES, p->b + (row * TILES + tile) * ROW_BYTES, ROW_BYTES, &s->full);
        }
        for (int panel = 0; panel < panels && p->kind != MMA_BULK_ROWS; panel++) {
            int c0 = p->b_trans ? panel * PANEL : k, c1 = p->b_trans ? k : 0;
            tma_load_2d(s->b[tile] + panel * PANEL_BYTES, &p->map_b, c0, c1, &s->full);
        }
    }
}

/* Row `row` of the 16-byte column `chunk`. */
DEVICE const void *row_at(const uint8_t *tile, int row, int chunk) { return tile + 2 * swizzled_index(row, chunk); }

DEVICE void product(const Params *p, float *acc, const uint32_t *registers, uint64_t a, uint64_t b, int accumulate) {
    const int n = p->n;
    if (p->bug == TYPES_DIFFER && threadIdx.x / 32 == 2) {
        wgmma_ss(n, acc, a, b, accumulate);
        return;
    }
    switch (p->kind) {
    case SS_BF16: wgmma_ss(n, acc, a, b, accumulate); break;
    case SS_TRANS_B: wgmma_ss_trans_b(n, acc, a, b, accumulate); break;
    case SS_TRANS_AB: wgmma_ss_trans_ab(n, acc, a, b, accumulate); break;
    case RS_BF16: wgmma_rs(n, acc, registers, b, accumulate); break;
    case RS_TRANS_B: wgmma_rs_trans_b(n, acc, registers, b, accumulate); break;
    case SS_E4M3: wgmma_ss_e4m3(n, acc, a, b, accumulate); break;
    default: wgmma_rs_e4m3(n, acc, registers, b, accumulate); break;
    }
}

DEVICE void warpgroup_products(Shared *s, const Params *p) {
    const int bug = p->bug;
    int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    float acc[MAX_N / 2];
    uint32_t registers[TILES * 4][4], made[TILES * 4][4];
    for (int step = 0; step < TILES * 4; step++) {
        if (!p->a_trans) {
            int row = bug == RS_OTHER_LANES ? lane % 8 + lane / 16 * 8 : lane % 16;
            int chunk = bug == RS_OTHER_LANES ? lane / 8 % 2 : lane / 16;
            ldmatrix_x4(registers[step], row_at(s->a[step / 4], warp * 16 + row, step % 4 * 2 + chunk));
        }
        for (int i = 0; i < 4 && bug == RS_MADE; i++) {
            made[step][i] = registers[step][i];
        }
    }
    wgmma_fence();
    for (int step = 0; step < TILES * 4; step++) {
        int tile = step / 4, in_tile = step % 4;
        uint64_t a = p->a_trans ? wgmma_descriptor_mn(s->a[tile], PANEL_BYTES) : wgmma_descriptor(s->a[tile]);
        const uint8_t *b_tile = s->b[tile] + (bug == OTHER_COLUMNS_TRANS_B && step == 3 ? PANEL_BYTES : 0);
        uint64_t b = p->b_trans ? wgmma_descriptor_mn(b_tile, PANEL_BYTES) : wgmma_descriptor(b_tile);
        if (bug == PANELS_SWAPPED) {
            b = wgmma_descriptor_fields(shared_address(b_tile), 1024, PANEL_BYTES, WGMMA_SWIZZLE_128B);
        }
        int b_step = p->b_trans ? WGMMA_K16_STEP_MN : WGMMA_K16_STEP;
        a += (uint64_t)(in_tile * (p->a_trans ? WGMMA_K16_STEP_MN : WGMMA_K16_STEP));
        product(p, acc, bug == RS_MADE ? made[step] : registers[step], a, b + (uint64_t)(in_tile * b_step), step > 0);
    }
    wgmma_commit_group();
    wgmma_wait_group(0);
    registers_settled(acc, MAX_N / 2);
    p->d[thread] = acc[0];
}

/* Rows 0 to 15, columns 0 to 15. */
DEVICE void warp_products(Shared *s, const Params *p) {
    const int kind = p->kind, bug = p->bug;
    int lane = (int)threadIdx.x;
    float acc[2][4] = {{0}};
    for (int step = 0; step < TILES * 4; step++) {
        uint32_t a[4], b[4];
        int tile = step / 4, chunk = step % 4 * 2;
        int b_tile = bug == MMA_DIFFERENT_K ? TILES - 1 - tile : tile;
        const void *from = row_at(s->a[tile], lane % 16, chunk + lane / 16);
        from = bug == MMA_ROW_OUTSIDE && lane == 3 ? s + 1 : from;
        from = bug == MMA_ROW_MISALIGNED ? (const char *)from + 8 : from;
        if (bug == MMA_LANE_ABSENT && lane == 5) {
            __syncthreads();
        }
        if (bug == MMA_LANE_RETURNED && lane == 5) {
            return;
        }
        LEAVES_OUT(MMA_FRAGMENT_UNSET, ldmatrix_x4(a, from));
        int more = bug == MMA_CHUNK ? 0 : lane / 8 % 2, row = lane % 8 + lane / 16 * 8;
        ldmatrix_x4(b, kind == MMA_BULK_ROWS ? &s->b[b_tile][row * ROW_BYTES + (chunk + more) * 16]
                                             : row_at(s->b[b_tile], row, chunk + more));
        for (int j = 0; j < 2; j++) {
            mma_m16n8k16(acc[j], a, &b[2 * j]);
        }
    }
    p->d[lane] = acc[0][0] + acc[1][0];
}

static int is_mma(int kind) { return kind >= MMA_BF16; }

static __global__ void __launch_bounds__(THREADS, 1) types_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
        load_tiles(s, &p);
    }
    __syncthreads();
    mbarrier_wait_parity(&s->full, 0);
    if (!is_mma(p.kind)) {
        warpgroup_products(s, &p);
    } else if (threadIdx.x < 32) {
        warp_products(s, &p);
    }
}
KERNEL_ENTRY(types_kernel, Params);

/* ---- data -------------------------------------------------------------------------------------------------------- */

static MatrixType type_of(int kind) { return kind == SS_E4M3 || kind == RS_E4M3 ? MATRIX_E4M3 : MATRIX_BF16; }

/* The map of a matrix [rows][depth], or [depth][rows]. */
static int make_map(TensorMap *map, const char *name, const void *base, const Params *p, int rows, int trans) {
    MatrixType type = type_of(p->kind);
    int bytes = matrix_element_bytes(type), as_bf16 = p->bug == BYTES_AS_BF16;
    int depth = TILES * p->k_tile, inner = trans ? rows : depth;
    Tensor t = {.rank = 2,
                .base = base,
                .size = {(uint64_t)inner / (as_bf16 ? 2 : 1), (uint64_t)(trans ? depth : rows)},
                .stride = {(uint64_t)(inner * bytes)},
                .box = {(uint32_t)(ROW_BYTES / (as_bf16 ? 2 : bytes)), (uint32_t)(trans ? p->k_tile : rows)},
                .swizzle = SWIZZLE_128B};
    t.type = type == MATRIX_BF16 || as_bf16 ? ELEMENT_BF16 : ELEMENT_FP8;
    return tensor_map_nd(map, name, &t, NULL) != GEMM_OK;
}

static int run_width(int kind, int bug, int n) {
    MatrixType type = type_of(kind);
    int bytes = matrix_element_bytes(type), depth = TILES * ROW_BYTES / bytes;
    Params p = {.kind = kind, .bug = bug, .n = n, .k_tile = ROW_BYTES / bytes};
    p.a_trans = kind == SS_TRANS_AB;
    p.b_trans = kind == SS_TRANS_B || kind == SS_TRANS_AB || kind == RS_TRANS_B;
    uint8_t *a = case_memory((size_t)(64 * depth * bytes), "A");
    uint8_t *b = case_memory((size_t)(MAX_N * depth * bytes), "B");
    p.d = case_memory(THREADS * sizeof *p.d, "D");
    p.b = b;
    if (kind == MMA_BULK_ROWS) {
        model_describe_rows(b, "B", 0, n, depth, bytes);
    }
    int status = 3;
    if (!make_map(&p.map_a, "A", a, &p, 64, p.a_trans) && !make_map(&p.map_b, "B", b, &p, n, p.b_trans)) {
        LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(types_kernel), shape, &p, NULL, NULL);
    }
    case_free();
    return status;
}

/* Products of a warpgroup at some widths, if they are like no others. */
static int run(const Case *c) {
    const int bug = c->bug, kind = c->more == NULL ? bug : (int)(uintptr_t)c->more;
    int status = 0;
    if (is_mma(kind)) {
        return run_width(kind, bug, 16);
    }
    if (kind != bug) {
        return run_width(kind, bug, bug == WIDTH_12 ? 12 : 128);
    }
    for (int n = 8; n <= MAX_N && status == 0; n += kind == SS_BF16 ? 40 : 112) {
        status = run_width(kind, bug, n);
    }
    return status;
}
