/* kernels_access.c - ordinary accesses of every width, many readers of one place, boxes of three dimensions.
 *
 * Compiled with DWARF 4 (model.mk), which older compilers write: reports must find lines and members in that too. */
#include "../../common/gemm.h"

#include "../../common/device/mbarrier.h"
#include "../../common/device/tma_nd.h"

#include "../../common/model/model_host.h"
#include "access.h"
#include "cases.h"

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

typedef enum {
    RIGHT_READERS,      /* all threads read 16 bytes, then one writes a part of them behind a barrier */
    RIGHT_READERS_LAPS, /* ... again and again */
    READERS_NO_SYNC,
    READERS_PART_NO_SYNC, /* all read 2 bytes */
    READ_OF_PARTS,        /* a 16-byte read meets writes of its parts */
    RIGHT_BOX_3D,
    BOX_RANK_LOAD,
    BOX_RANK_STORE,
    BOX_UNALIGNED_LOAD,
    BOX_UNALIGNED_STORE,
} Bug;

typedef struct {
    bf16 box[2 * BOX];
    struct {
        uint4 word;
        bf16 pair[2][4];
    } lap[2];
    MBarrier full;
} Shared;

typedef struct {
    TensorMap map; /* box [3][4][8] of [STRIDE_TILES][STRIDE_ROWS][STRIDE_K] */
    TensorMap map_out;
    uint32_t *sum; /* [THREADS] */
    int bug;
} Params;

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
    if (p.bug >= RIGHT_BOX_3D) {
        box_3d(s, &p);
    } else {
        readers(s, &p);
    }
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

static int run(int bug) {
    enum { ELEMENTS = STRIDE_TILES * STRIDE_ROWS * STRIDE_K };
    bf16 *in = model_global_alloc(ELEMENTS * sizeof *in, "in");
    bf16 *out = model_global_alloc(ELEMENTS * sizeof *out, "out");
    uint32_t *sum = model_global_alloc(THREADS * sizeof *sum, "sum");
    for (int i = 0; i < ELEMENTS; i++) {
        in[i] = (bf16)(i + 1);
        out[i] = 0;
    }
    Params p;
    memset(&p, 0, sizeof p);
    p.sum = sum;
    p.bug = bug;
    int status = 3;
    if (!encode(&p.map, in) && !encode(&p.map_out, out)) {
        LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
        status = launch_kernel(KERNEL(access_kernel), shape, &p, NULL, NULL);
    }
    for (int i = 0; i < ELEMENTS && status == 0 && bug >= RIGHT_BOX_3D; i++) {
        /* The box begins at (8, 2, 0) and reaches over the last row and tile. */
        int inside = i % STRIDE_K >= 8 && i / STRIDE_K % STRIDE_ROWS >= 2;
        status = out[i] == (inside ? in[i] : 0) ? 0 : 1;
    }
    for (int i = 0; i < THREADS && status == 0 && bug < RIGHT_BOX_3D; i++) {
        status = sum[i] == (bug == RIGHT_READERS_LAPS ? 40 : 10) ? 0 : 1;
    }
    model_global_free(in);
    model_global_free(out);
    model_global_free(sum);
    return status;
}

#define CASE_LIST "access"
const Case access_cases[] = {
    RIGHT_CASE(RIGHT_READERS),
    RIGHT_CASE(RIGHT_READERS_LAPS),
    RIGHT_CASE(RIGHT_BOX_3D),
    WRONG_CASE(READERS_NO_SYNC, RACE_WAR),
    WRONG_CASE(READERS_PART_NO_SYNC, RACE_WAR),
    WRONG_CASE(READ_OF_PARTS, RACE_RAW),
    WRONG_CASE(BOX_RANK_LOAD, TMA_OPERAND),
    WRONG_CASE(BOX_RANK_STORE, TMA_OPERAND),
    WRONG_CASE(BOX_UNALIGNED_LOAD, TMA_OPERAND),
    WRONG_CASE(BOX_UNALIGNED_STORE, TMA_OPERAND),
};
const int access_case_count = sizeof access_cases / sizeof access_cases[0];
