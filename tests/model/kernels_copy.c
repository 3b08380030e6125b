/* kernels_copy.c - cp.async into a ring of stages, ldmatrix, mma.sync: what Ampere has. */
#include "../../common/gemm.h"

#include "../../common/device/cp_async.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/swizzle.h"

#include "cases.h"

#define CASE_LIST "copy"

/* 2 warps, each 16 x 32 of a 32 x 32 tile. */
enum { BM = 32, BN = 32, BK = 64, STAGES = 3, THREADS = 64, K_TILES = 5, K = K_TILES * BK - 9, LD = K_TILES * BK };

RIGHT_CASE(RIGHT);
WRONG_CASE(WAIT_ONE_LATE, RACE_RAW);
WRONG_CASE(NO_SYNC, RACE_RAW);
WRONG_CASE(NO_REFILL_SYNC, RACE_RAW);
WRONG_CASE(NO_TAIL_COMMIT, RACE_RAW);
WRONG_CASE(NO_COMMIT, RACE_RAW);
WRONG_CASE(NO_FINAL_WAIT, EXIT_IN_FLIGHT);
WRONG_CASE(WRONG_LANE_ROW, PROVENANCE);
WRONG_CASE(WRONG_CHUNK, PROVENANCE);
WRONG_CASE(B_OF_OTHER_STAGE, PROVENANCE);
WRONG_CASE(MISALIGNED_TARGET, ALIGNMENT);
WRONG_CASE(MISALIGNED_ROW, ALIGNMENT);
WRONG_CASE(TOO_MANY_BYTES, ALIGNMENT);
WRONG_CASE(COPY_OUTSIDE, SHARED_BOUNDS);
WRONG_CASE(READ_OUTSIDE, GLOBAL_BOUNDS);
WRONG_CASE(ROW_OUTSIDE, SHARED_BOUNDS);
WRONG_CASE(FRAGMENT_UNSET, REGISTERS_UNINIT);
WRONG_CASE(LANE_ABSENT, CONVERGENCE);
WRONG_CASE(LANE_ELSEWHERE, CONVERGENCE);
WRONG_CASE(LANE_RETURNED, CONVERGENCE);

typedef struct {
    bf16 a[STAGES][BM * BK]; /* 128-byte swizzle */
    bf16 b[STAGES][BN * BK];
} Shared;

typedef struct {
    const bf16 *a, *b;
    bf16 *c;
    int bug;
} Params;

DEVICE void load_tile(bf16 *tile, const bf16 *matrix, int k, int bug) {
    for (int i = (int)threadIdx.x; i < BM * BK / 8; i += THREADS) {
        int row = i / 8, chunk = i % 8;
        bf16 *to = &tile[swizzled_index(row, chunk)];
        const bf16 *from = matrix + (size_t)row * LD + k + chunk * 8;
        int bytes = (K - k - chunk * 8) * 2;
        bytes = bytes < 0 ? 0 : bytes > 16 ? 16 : bytes;
        to += bug == MISALIGNED_TARGET ? 4 : 0;
        to += bug == COPY_OUTSIDE ? 1 << 17 : 0;
        from = bug == READ_OUTSIDE ? from - 64 * LD : from;
        cp_async_16_zfill(to, bytes > 0 ? from : matrix, bug == TOO_MANY_BYTES ? 32 : bytes);
    }
}

DEVICE void load_stage(Shared *s, const Params *p, int k_tile) {
    if (k_tile < K_TILES) {
        load_tile(s->a[k_tile % STAGES], p->a, k_tile * BK, p->bug);
        load_tile(s->b[k_tile % STAGES], p->b, k_tile * BK, p->bug);
    }
    if (p->bug != NO_COMMIT && (k_tile < K_TILES || p->bug != NO_TAIL_COMMIT)) {
        cp_async_commit_group();
    }
}

static __global__ void __launch_bounds__(THREADS) copy_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug;
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    float acc[BN / 8][4] = {{0}};
    uint32_t a[4], b[BN / 16][4];
    for (int k_tile = 0; k_tile < STAGES - 1; k_tile++) {
        load_stage(s, &p, k_tile);
    }
    for (int k_tile = 0; k_tile < K_TILES; k_tile++) {
        int stage = k_tile % STAGES;
        cp_async_wait_group(bug == WAIT_ONE_LATE ? STAGES - 1 : STAGES - 2);
        if (bug != NO_SYNC && !(bug == NO_REFILL_SYNC && k_tile == K_TILES - 2)) {
            __syncthreads();
        }
        load_stage(s, &p, k_tile + STAGES - 1);
        for (int step = 0; step < BK / 16; step++) {
            int row = warp * 16 + lane % 16;
            row = bug == WRONG_LANE_ROW ? warp * 16 + lane % 8 : row;
            const bf16 *from = &s->a[stage][swizzled_index(row, 2 * step + (bug == WRONG_CHUNK ? 0 : lane / 16))];
            from += bug == MISALIGNED_ROW ? 4 : 0;
            from = bug == ROW_OUTSIDE && lane == 3 ? (const bf16 *)(s + 1) : from;
            if (bug == LANE_ABSENT && lane == 5 && k_tile == 1) {
                __syncthreads();
            }
            if (bug == LANE_RETURNED && lane == 5 && k_tile == 1) {
                return;
            }
            if (bug == LANE_ELSEWHERE && lane == 5) {
                ldmatrix_x4(a, from);
            } else if (bug != FRAGMENT_UNSET) {
                ldmatrix_x4(a, from);
            }
            for (int j = 0; j < BN / 16; j++) {
                int n = j * 16 + lane % 8 + lane / 16 * 8;
                const bf16 *tile = s->b[bug == B_OF_OTHER_STAGE ? 0 : stage];
                ldmatrix_x4(b[j], &tile[swizzled_index(n, 2 * step + lane / 8 % 2)]);
                mma_m16n8k16(acc[2 * j], a, b[j]);
                mma_m16n8k16(acc[2 * j + 1], a, &b[j][2]);
            }
        }
    }
    if (bug != NO_FINAL_WAIT) {
        cp_async_wait_group(0);
    } else {
        cp_async_16(&s->a[warp][lane * 8], p.a);
        cp_async_commit_group();
    }
    for (int j = 0; j < BN / 8; j++) {
        int row = warp * 16 + lane / 4, col = j * 8 + lane % 4 * 2;
        for (int i = 0; i < 4; i++) {
            p.c[(row + i / 2 * 8) * BN + col + i % 2] = float_to_bf16(acc[j][i]);
        }
    }
}
KERNEL_ENTRY(copy_kernel, Params);

static int run(const Case *wanted) {
    bf16 *a = case_memory(BM * LD * sizeof *a, "A"), *b = case_memory(BN * LD * sizeof *b, "B");
    bf16 *c = case_memory(BM * BN * sizeof *c, "C");
    model_describe_matrix(a, "A", BM, K, LD, sizeof *a);
    model_describe_matrix(b, "B", BN, K, LD, sizeof *b);
    for (int i = 0; i < BM * LD; i++) {
        a[i] = i % LD < K ? float_to_bf16((float)(i % 5 - 2)) : 0x7fc0;
        b[i] = i % LD < K ? float_to_bf16((float)(i % 7 - 3)) : 0x7fc0;
    }
    Params p = {a, b, c, wanted->bug};
    LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(copy_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < BM * BN && status == 0; i++) {
        status = c[i] != float_to_bf16(case_dot(a + i / BN * LD, b + i % BN * LD, K));
    }
    return status;
}
