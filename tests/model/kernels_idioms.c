/* kernels_idioms.c - rings and turns as other projects write them, all correct, each in several shapes. A producer
 * warp fills stages with numbers of a vector, and consumer warps add them up.
 *
 * A program is a line of a table: who fills a stage and how, how threads wait and how they release, what keeps the
 * parity. CUTLASS: a state of index and phase, one arrival for each consumer warp or thread, a peek before the wait.
 * DeepGEMM: parities from the number of the k-tile. FlashAttention: turns by named barriers. Triton and tilelang: loops
 * over test_wait, cp.async that arrives. ThunderKittens: one elected lane for a warp. */
#include "../../common/gemm.h"

#include "../../common/device/barrier.h"
#include "../../common/device/bulk_copy.h"
#include "../../common/device/cp_async.h"
#include "../../common/device/mbarrier.h"

#include "cases.h"

#define CASE_LIST "idioms"

enum { MOST_STAGES = 4, MOST_CONSUMERS = 2, WORDS = 64, TILES = 7 };

typedef enum { BY_BULK, BY_BULK_ELECTED, BY_CP_ASYNC, BY_STORES } Fill;
/* A peek: once, then a wait; one lane: and __syncwarp(). */
typedef enum { BY_WAIT, BY_TEST, BY_TRY, BY_PEEK, BY_ONE_LANE } Ask;
typedef enum { EACH_THREAD, LANE_0, ELECTED } Release;
typedef enum { BY_STATE, BY_NUMBER } Parity;
typedef struct {
    Fill fill;
    Ask ask;
    Release release;
    Parity parity;
    int stages, consumers, tiles, rounds, turns;
} Form;

typedef struct {
    int stage[MOST_STAGES][WORDS];
    int sum[MOST_CONSUMERS * 32];
    MBarrier full[MOST_STAGES], empty[MOST_STAGES];
} Shared;

typedef struct {
    const int *in; /* [TILES * WORDS] */
    int *out;
    Form form;
} Params;

typedef struct {
    int stage;
    uint32_t phase;
} State;

DEVICE void wait_for(MBarrier *bar, uint32_t parity, Ask ask) {
    switch (ask) {
    case BY_TEST:
        while (!mbarrier_test_wait_parity(bar, parity)) {
        }
        break;
    case BY_TRY:
        while (!mbarrier_try_wait_parity(bar, parity)) {
        }
        break;
    case BY_PEEK:
        if (!mbarrier_try_wait_parity(bar, parity)) {
            mbarrier_wait_parity(bar, parity);
        }
        break;
    case BY_ONE_LANE:
        if (threadIdx.x % 32 == 0) {
            mbarrier_wait_parity(bar, parity);
        }
        __syncwarp();
        break;
    default: mbarrier_wait_parity(bar, parity);
    }
}

DEVICE uint32_t parity_of(const Form *f, State state, int number) {
    return f->parity == BY_NUMBER ? (uint32_t)(number / f->stages) & 1 : state.phase;
}

DEVICE State next(State state, int stages) {
    State then = {state.stage + 1, state.phase};
    if (then.stage == stages) {
        then.stage = 0;
        then.phase ^= 1;
    }
    return then;
}

/* The lanes of warp 0. */
DEVICE void fill(Shared *s, const Params *p, int stage, int tile, int leads) {
    const Form *f = &p->form;
    const int *from = &p->in[tile * WORDS];
    int lane = (int)threadIdx.x, bytes = WORDS * (int)sizeof(int);
    MBarrier *full = &s->full[stage];
    switch (f->fill) {
    case BY_CP_ASYNC:
        if (lane < WORDS / 4) {
            cp_async_16(&s->stage[stage][lane * 4], &from[lane * 4]);
        }
        cp_async_mbarrier_arrive_noinc(full);
        break;
    case BY_STORES:
        for (int i = lane; i < WORDS; i += 32) {
            s->stage[stage][i] = from[i];
        }
        mbarrier_arrive(full);
        break;
    default:
        if (leads) {
            mbarrier_arrive_expect_tx(full, bytes);
            bulk_load(s->stage[stage], from, (uint32_t)bytes, full);
        }
    }
}

DEVICE void producer(Shared *s, const Params *p, int leads) {
    const Form *f = &p->form;
    State state = {0, 1};
    for (int i = 0; i < f->tiles * f->rounds; i++) {
        wait_for(&s->empty[state.stage], parity_of(f, (State){state.stage, state.phase ^ 1}, i) ^ 1, f->ask);
        fill(s, p, state.stage, i % f->tiles, leads);
        state = next(state, f->stages);
    }
}

DEVICE void release(Shared *s, const Form *f, int stage) {
    MBarrier *empty = &s->empty[stage];
    if (f->fill == BY_BULK || f->fill == BY_BULK_ELECTED) {
        fence_proxy_async(); /* what ordinary loads have read the next copy overwrites */
    }
    if (f->release == EACH_THREAD) {
        mbarrier_arrive(empty);
        return;
    }
    __syncwarp();
    if (f->release == ELECTED ? elect_one() : threadIdx.x % 32 == 0) {
        mbarrier_arrive(empty);
    }
}

DEVICE void consumer(Shared *s, const Params *p, int which) {
    const Form *f = &p->form;
    int lane = (int)threadIdx.x % 32, sum = 0;
    State state = {0, 0};
    for (int i = 0; i < f->tiles * f->rounds; i++) {
        if (f->turns && f->consumers == 2) { /* consumer 0 begins: 1 passes on to it at first */
            named_barrier_sync(2 + which, 64);
        }
        wait_for(&s->full[state.stage], parity_of(f, state, i), f->ask);
        for (int word = lane + which * 32; word < WORDS; word += 32 * f->consumers) {
            sum += s->stage[state.stage][word];
        }
        release(s, f, state.stage);
        if (f->turns && f->consumers == 2 && !(which == 1 && i + 1 == f->tiles * f->rounds)) {
            named_barrier_arrive(3 - which, 64);
        }
        state = next(state, f->stages);
    }
    s->sum[which * 32 + lane] = sum;
    named_barrier_sync(1, 32 * f->consumers);
    if (which == 0 && lane == 0) {
        int total = 0;
        for (int i = 0; i < 32 * f->consumers; i++) {
            total += s->sum[i];
        }
        p->out[0] = total;
    }
}

static __global__ void idioms_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const Form *f = &p.form;
    int warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0) {
        mbarrier_init(s->full, f->stages, f->fill == BY_CP_ASYNC || f->fill == BY_STORES ? 32 : 1);
        mbarrier_init(s->empty, f->stages, f->consumers * (f->release == EACH_THREAD ? 32 : 1));
        mbarrier_init_fence();
    }
    __syncthreads();
    if (warp == 0) {
        int leads = f->fill == BY_BULK ? threadIdx.x == 0 : f->fill == BY_BULK_ELECTED ? elect_one() : 1;
        if (leads || f->ask == BY_ONE_LANE) {
            producer(s, &p, leads);
        }
    } else {
        if (f->turns && f->consumers == 2 && warp == 2) {
            named_barrier_arrive(2, 64);
        }
        consumer(s, &p, warp - 1);
    }
}
KERNEL_ENTRY(idioms_kernel, Params);

#define FORM(name, ...)                            \
    static const Form form_##name = {__VA_ARGS__}; \
    CASE_OF(run, name, NULL, &form_##name)
/* The same program in five shapes: stages, consumers, tiles, rounds of tiles, turns. */
#define RIGHT_SHAPES(name, ...)                         \
    FORM(RIGHT_##name##_1, __VA_ARGS__, 1, 1, 3, 1, 0); \
    FORM(RIGHT_##name##_2, __VA_ARGS__, 2, 2, 5, 1, 0); \
    FORM(RIGHT_##name##_3, __VA_ARGS__, 3, 1, 7, 1, 0); \
    FORM(RIGHT_##name##_4, __VA_ARGS__, 4, 2, 3, 3, 0); \
    FORM(RIGHT_##name##_5, __VA_ARGS__, 3, 2, 5, 2, 1)

/* clang-format off */
RIGHT_SHAPES(CUTLASS_TMA, BY_BULK, BY_WAIT, EACH_THREAD, BY_STATE);
RIGHT_SHAPES(CUTLASS_PEEK, BY_BULK, BY_PEEK, EACH_THREAD, BY_STATE);
RIGHT_SHAPES(CUTLASS_ELECTED, BY_BULK_ELECTED, BY_WAIT, LANE_0, BY_STATE);
RIGHT_SHAPES(CUTLASS_TRY, BY_BULK, BY_TRY, LANE_0, BY_STATE);
RIGHT_SHAPES(CUTLASS_CP_ASYNC, BY_CP_ASYNC, BY_TRY, EACH_THREAD, BY_STATE);
RIGHT_SHAPES(DEEPGEMM, BY_BULK, BY_WAIT, LANE_0, BY_NUMBER);
RIGHT_SHAPES(DEEPGEMM_ELECTED, BY_BULK_ELECTED, BY_TRY, ELECTED, BY_NUMBER);
RIGHT_SHAPES(DEEPGEMM_TEST, BY_BULK, BY_TEST, EACH_THREAD, BY_NUMBER);
RIGHT_SHAPES(FLASH_ATTENTION, BY_BULK, BY_PEEK, LANE_0, BY_STATE);
RIGHT_SHAPES(FLASH_ATTENTION_WARP, BY_BULK_ELECTED, BY_PEEK, ELECTED, BY_STATE);
RIGHT_SHAPES(TRITON, BY_BULK, BY_TEST, LANE_0, BY_NUMBER);
RIGHT_SHAPES(TRITON_CP_ASYNC, BY_CP_ASYNC, BY_TEST, LANE_0, BY_NUMBER);
RIGHT_SHAPES(TRITON_STORES, BY_STORES, BY_TEST, LANE_0, BY_NUMBER);
RIGHT_SHAPES(TILELANG, BY_BULK, BY_TRY, EACH_THREAD, BY_NUMBER);
RIGHT_SHAPES(TILELANG_CP_ASYNC, BY_CP_ASYNC, BY_WAIT, EACH_THREAD, BY_NUMBER);
RIGHT_SHAPES(TILELANG_STORES, BY_STORES, BY_WAIT, EACH_THREAD, BY_NUMBER);
RIGHT_SHAPES(KITTENS, BY_BULK, BY_ONE_LANE, LANE_0, BY_STATE);
RIGHT_SHAPES(KITTENS_ELECTED, BY_BULK_ELECTED, BY_ONE_LANE, ELECTED, BY_STATE);
RIGHT_SHAPES(KITTENS_STORES, BY_STORES, BY_ONE_LANE, LANE_0, BY_STATE);
RIGHT_SHAPES(CUDA_BARRIER, BY_STORES, BY_TRY, EACH_THREAD, BY_STATE);
/* clang-format on */

static int run(const Case *c) {
    Params p = {.form = *(const Form *)c->more};
    int *in = case_memory(TILES * WORDS * sizeof *in, "in"), sum = 0;
    for (int i = 0; i < TILES * WORDS; i++) {
        in[i] = i * 37 % 101;
        sum += i < p.form.tiles * WORDS ? in[i] * p.form.rounds : 0;
    }
    p.in = in;
    p.out = case_memory(sizeof(int), "out");
    LaunchShape shape = {.grid = 1, .block = 32 * (1 + p.form.consumers), .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(idioms_kernel), shape, &p, NULL, NULL);
    return status != 0 ? status : p.out[0] != sum;
}
