/* kernels_access.c - ordinary accesses of every width, many readers of one place, boxes of three dimensions.
 *
 * Compiled with DWARF 4 (model.mk), which older compilers write: reports must find lines and members in that too. */
#include "../../common/gemm.h"

#include "../../common/device/mbarrier.h"
#include "../../common/device/tma_nd.h"

#include "access.h"
#include "cases.h"

#define CASE_LIST "access"

/* ---- every hook -------------------------------------------------------------------------------------------------- */

#define SIZES(EACH, name, writes) \
    EACH(name##1, 1, writes)      \
    EACH(name##2, 2, writes) EACH(name##4, 4, writes) EACH(name##8, 8, writes) EACH(name##16, 16, writes)
#define SIZES_UNALIGNED(EACH, name, writes) \
    EACH(name##2, 2, writes) EACH(name##4, 4, writes) EACH(name##8, 8, writes) EACH(name##16, 16, writes)
#define EACH_HOOK(EACH)                               \
    SIZES(EACH, read, 0)                              \
    SIZES(EACH, write, 1)                             \
    SIZES(EACH, volatile_read, 0)                     \
    SIZES(EACH, volatile_write, 1)                    \
    SIZES(EACH, read_write, 1)                        \
    SIZES_UNALIGNED(EACH, unaligned_read, 0)          \
    SIZES_UNALIGNED(EACH, unaligned_write, 1)         \
    SIZES_UNALIGNED(EACH, unaligned_volatile_read, 0) \
    SIZES_UNALIGNED(EACH, unaligned_volatile_write, 1)

enum { RANGE_BYTES = 40 };
void __tsan_read_range(void *place, size_t bytes);
void __tsan_write_range(void *place, size_t bytes);
static void read_range(void *place) { __tsan_read_range(place, RANGE_BYTES); }
static void write_range(void *place) { __tsan_write_range(place, RANGE_BYTES); }

#define DECLARE(name, bytes, writes) void __tsan_##name(void *place);
EACH_HOOK(DECLARE)
#define LIST(name, bytes, writes) {#name, __tsan_##name, bytes, writes},
const AccessHook access_hooks[] = {
    EACH_HOOK(LIST){"read_range", read_range, RANGE_BYTES, 0},
    {"write_range", write_range, RANGE_BYTES, 1},
};
const int access_hook_count = sizeof access_hooks / sizeof access_hooks[0];

typedef struct {
    void *place;
    int hook;
} HookParams;

static __global__ void hook_kernel(HookParams p) { access_hooks[p.hook].call(p.place); }
KERNEL_ENTRY(hook_kernel, HookParams);

int access_run(int hook, void *place, int ctas) {
    HookParams p = {place, hook};
    LaunchShape shape = {.grid = ctas, .block = 1};
    return launch_kernel(KERNEL(hook_kernel), shape, &p, NULL, NULL);
}

/* ---- many readers ------------------------------------------------------------------------------------------------ */

enum { THREADS = 128, BOX = 4 * 3 * 8, STRIDE_K = 16, STRIDE_ROWS = 5, STRIDE_TILES = 2 };

typedef struct {
    bf16 box[2 * BOX];
    struct {
        uint4 word;
        bf16 pair[2][4];
    } lap[2];
    MBarrier full;
} Shared;

typedef struct Params Params;
typedef void Part(Shared *s, const Params *p);
struct Params {
    TensorMap map; /* box [3][4][8] of [STRIDE_TILES][STRIDE_ROWS][STRIDE_K] */
    TensorMap map_out;
    uint32_t *sum; /* [THREADS] */
    int bug;
    Part *part;
};

RIGHT_IN(readers, RIGHT_READERS);      /* all threads read 16 bytes, then one writes a part of them behind a barrier */
RIGHT_IN(readers, RIGHT_READERS_LAPS); /* ... again and again */
WRONG_IN(readers, READERS_NO_SYNC, RACE_WAR);
WRONG_IN(readers, READERS_PART_NO_SYNC, RACE_WAR); /* all read 2 bytes */
WRONG_IN(readers, READ_OF_PARTS, RACE_RAW);        /* a 16-byte read meets writes of its parts */

DEVICE void readers(Shared *s, const Params *p) {
    int thread = (int)threadIdx.x, laps = p->bug == RIGHT_READERS_LAPS ? 4 : 1;
    uint32_t sum = 0;
    if (thread == 0) {
        s->lap[1].word = (uint4){1, 2, 3, 4};
        s->lap[1].pair[1][2] = 10;
    }
    if (p->bug != READ_OF_PARTS) {
        __syncthreads();
    }
    for (int lap = 0; lap < laps; lap++) {
        uint4 word = {1, 2, 3, 4};
        if (p->bug == READERS_PART_NO_SYNC) {
            word.w = s->lap[1].pair[1][2] - 6u;
        } else {
            word = s->lap[1].word;
        }
        sum += word.x + word.y + word.z + word.w;
        if (p->bug != READERS_NO_SYNC && p->bug != READERS_PART_NO_SYNC) {
            __syncthreads();
        }
        if (thread == 100) {
            s->lap[1].word.w = 4;
            s->lap[1].pair[1][2] = 10;
        }
        __syncthreads();
    }
    p->sum[thread] = sum;
}

RIGHT_IN(box_3d, RIGHT_BOX_3D);
WRONG_IN(box_3d, BOX_RANK_LOAD, TMA_OPERAND);
WRONG_IN(box_3d, BOX_RANK_STORE, TMA_OPERAND);
WRONG_IN(box_3d, BOX_UNALIGNED_LOAD, TMA_OPERAND);
WRONG_IN(box_3d, BOX_UNALIGNED_STORE, TMA_OPERAND);

DEVICE void box_3d(Shared *s, const Params *p) {
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(&s->full, BOX * (int)sizeof(bf16));
        if (p->bug == BOX_RANK_LOAD) {
            tma_load_2d(s->box, &p->map, 0, 0, &s->full);
        } else {
            tma_load_3d(s->box, &p->map, p->bug == BOX_UNALIGNED_LOAD ? 4 : 8, 2, 0, &s->full);
        }
        mbarrier_wait_parity(&s->full, 0);
        if (p->bug == BOX_RANK_STORE) {
            tma_store_2d(&p->map_out, s->box, 0, 0);
        } else {
            tma_store_3d(&p->map_out, s->box, p->bug == BOX_UNALIGNED_STORE ? 4 : 8, 2, 0);
        }
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

static __global__ void access_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    p.part(s, &p);
}
KERNEL_ENTRY(access_kernel, Params);

static int encode(TensorMap *map, void *base) {
    const uint64_t size[3] = {STRIDE_K, STRIDE_ROWS, STRIDE_TILES},
                   stride[2] = {STRIDE_K * sizeof(bf16), STRIDE_K * STRIDE_ROWS * sizeof(bf16)};
    const uint32_t box[3] = {8, 4, 3}, step[3] = {1, 1, 1};
    char why[200];
    return tensor_map_encode(map, TENSOR_BFLOAT16, 3, base, size, stride, box, step, 0, TENSOR_SWIZZLE_NONE, 0,
                             TENSOR_FILL_ZERO, why, sizeof why);
}

static int run(const Case *c) {
    enum { ELEMENTS = STRIDE_TILES * STRIDE_ROWS * STRIDE_K };
    bf16 *in = case_memory(ELEMENTS * sizeof *in, "in");
    bf16 *out = case_memory(ELEMENTS * sizeof *out, "out");
    uint32_t *sum = case_memory(THREADS * sizeof *sum, "sum");
    for (int i = 0; i < ELEMENTS; i++) {
        in[i] = (bf16)(i + 1);
    }
    Params p = {.sum = sum, .bug = c->bug, .part = (Part *)c->more};
    int status = 3;
    if (!encode(&p.map, in) && !encode(&p.map_out, out)) {
        LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(access_kernel), shape, &p, NULL, NULL);
    }
    for (int i = 0; i < ELEMENTS && status == 0 && p.part == box_3d; i++) {
        /* The box begins at (8, 2, 0) and reaches over the last row and tile. */
        int inside = i % STRIDE_K >= 8 && i / STRIDE_K % STRIDE_ROWS >= 2;
        status = out[i] == (inside ? in[i] : 0) ? 0 : 1;
    }
    for (int i = 0; i < THREADS && status == 0 && p.part == readers; i++) {
        status = sum[i] == (p.bug == RIGHT_READERS_LAPS ? 40 : 10) ? 0 : 1;
    }
    return status;
}
