/* 13_attention - two products in a chain, with a softmax between them that overlaps with other products.
 *
 *     O[i] = sum over j of P[i][j] * V[j],   P[i][j] = exp(s[i][j]) / sum over j of exp(s[i][j]),   s = scale * Q K^T
 *
 * What is new   Idea 1, the chain: the sums of the first product become operand A of the second one, in registers.
 *               Idea 2, the running maximum: keys arrive step by step; a larger score scales down older sums.
 *               Idea 3, turns: while one consumer's products run, the others compute their exponentials.
 *               Idea 4, overlap within a consumer: Q K^T of the next step is issued before P V of this one, and the
 *               softmax waits only for Q K^T. Idea 5, an order of tiles of unequal length that balances them.
 * What holds it back   Exponentials: an SM computes 16 per clock.
 * Run           make 13 && ./13_attention, here; from the top, make run-13 */
#include "../../common/beyond.h"

#include "../../common/device/barrier.h"
#include "../../common/device/exponent.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/pipeline.h"
#include "../../common/device/registers.h"
#include "../../common/device/swizzle.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

enum {
    PANEL = 64, /* columns of a panel: 128 bytes, as the swizzle requires */
    ROWS = 64,  /* queries of a consumer */
    KEYS = 128, /* keys of a step */
    MAX_HEAD = 128,
    Q_ELEMENTS = 128 * 128,
    Q_STAGES = 2, /* one stage receives the next tile's queries while O is stored from the other */
    RING_BYTES = 160 * 1024,
    MAX_STAGES = 6,
    WARPS = 4, /* warps of a consumer */
    CTAS_PER_SM = 1,
    FIRST_TURN = 1, /* the named barrier of consumer 0's turn; the next consumer has the next barrier */
};
enum { Q, K, V, O, SIDES };
/* Launched with 168 for two consumers and 128 for three: 3 * 168 = 24 + 2 * 240, 4 * 128 = 32 + 3 * 160. */
enum { PRODUCER_REGISTERS = 24, REGISTERS_OF_TWO = 240, REGISTERS_OF_THREE = 160 };
static_assert(PANEL * sizeof(bf16) == 128, "the tensor maps and descriptors swizzle rows of 128 bytes: PANEL is 64");

#define CONSUMERS_OF(bm) ((bm) / ROWS) /* of a tile of bm queries */
#define THREADS_OF(bm) (128 * (1 + CONSUMERS_OF(bm)))

/* A tile: queries of a head that a CTA processes together. */
typedef struct {
    int first_query, head, batch;
    int steps; /* steps of keys: 0 if no query sees a key; -1 if no tile is left */
} Work;

typedef struct {
    bf16 ring[RING_BYTES / 2];    /* stages of K or V: panels [KEYS][PANEL], 128-byte swizzle */
    bf16 q[Q_STAGES][Q_ELEMENTS]; /* panels [bm][PANEL], 128-byte swizzle; then O */
    Work work[Q_STAGES];          /* the tile of these queries */
    MBarrier full[MAX_STAGES];    /* completes a phase when a step's K or V has landed */
    MBarrier empty[MAX_STAGES];   /* completes a phase when all consumers have finished with the stage */
    MBarrier q_full[Q_STAGES];    /* completes a phase when `work` is written and the tile's queries have landed */
    MBarrier q_empty[Q_STAGES];   /* completes a phase when the copy engine has read the tile's O */
} Shared;
static_assert(CTAS_PER_SM * (sizeof(Shared) + 1024) <= 228 * 1024, "a CTA takes 1 KB more of the SM than its own");

typedef struct {
    TensorMap map[SIDES]; /* boxes of Q [d / PANEL][bm][PANEL], K and V [d / PANEL][KEYS][PANEL], O [16][PANEL] */
    Attention a;
    int tiles_m, tiles; /* tiles of a head; tiles of all heads */
    int section;        /* heads that are processed together */
    float scale;        /* scale of the scores, times log2(e) */
} Params;

HOST_DEVICE int stages_of(int d) { return min_int(RING_BYTES / (KEYS * d * 2), MAX_STAGES); }
HOST_DEVICE uint32_t stage_offset(int stage, int d) { return (uint32_t)stage * (uint32_t)(KEYS * d * 2 >> 4); }

/* The number of keys that query `row` sees, from key 0 on. The last query sees all keys. */
DEVICE int keys_of(const Params *p, int row, const int causal) {
    return causal ? min_int(p->a.keys, row + 1 + p->a.keys - p->a.queries) : p->a.keys;
}

/* Idea 5. This CTA's tile number `round`. Heads are processed in sections whose K and V stay in L2. The last section
 * starts with its long tiles, the section before it ends with them: a CTA that had longer tiles gets shorter ones. */
DEVICE Work work_of(const Params *p, int round, const int bm, const int causal) {
    const Work none = {0, 0, 0, -1};
    int index = round * (int)gridDim.x + (int)blockIdx.x, in_section = p->tiles_m * p->section;
    if (index >= p->tiles) {
        return none;
    }
    int section = index / in_section, first = section * p->section;
    int heads = min_int(p->a.heads * p->a.batches - first, p->section), head = first + index % in_section % heads;
    int m = index % in_section / heads;
    m = ((p->tiles - 1) / in_section - section) % 2 == 0 ? p->tiles_m - 1 - m : m;
    int keys = keys_of(p, min_int((m + 1) * bm, p->a.queries) - 1, causal);
    Work work = {m * bm, head % p->a.heads, head / p->a.heads, keys > 0 ? ceil_div(keys, KEYS) : 0};
    return work;
}

/* The producer announces the next tile and loads its queries. A ring delivers K and V in the order in which the
 * consumers use them: K of a step, then V of the previous step. */
DEVICE void produce(const Params *p, Shared *s, const int d, const int bm, const int causal) {
    PipelineState state = producer_start_state(), q = producer_start_state();
    for (int round = 0;; round++) {
        Work work = work_of(p, round, bm, causal);
        /* Waits until the copy engine has read the earlier tile's O from this stage. */
        mbarrier_wait_parity(&s->q_empty[q.index], q.phase);
        /* The arrival on q_full publishes `work` to the consumers. */
        s->work[q.index] = work;
        if (work.steps < 0) {
            mbarrier_arrive(&s->q_full[q.index]);
            return;
        }
        int kv_head = work.head / (p->a.heads / p->a.kv_heads);
        mbarrier_arrive_expect_tx(&s->q_full[q.index], bm * d * 2);
        tma_load_5d(s->q[q.index], &p->map[Q], 0, work.first_query, 0, work.head, work.batch, &s->q_full[q.index]);
        pipeline_advance(&q, Q_STAGES);
        for (int i = 0; i < 2 * work.steps; i++) {
            /* i = 0: K of the last step. 1, 2: K of the step before it, V of the last. And so on, to V of step 0. */
            int is_v = i == 2 * work.steps - 1 || (i > 0 && i % 2 == 0);
            int step = work.steps - 1 - (is_v ? (i - 1) / 2 : (i + 1) / 2);
            /* Waits until all consumers have finished with this stage. Otherwise the copy would overwrite operands. */
            producer_acquire(s->full, s->empty, state, KEYS * d * 2);
            tma_load_5d(&s->ring[state.index * KEYS * d], is_v ? &p->map[V] : &p->map[K], 0, step * KEYS, 0, kv_head,
                        work.batch, &s->full[state.index]);
            pipeline_advance(&state, stages_of(d));
        }
    }
}

/* Excludes keys that the queries of this thread's rows, `row` and `row` + 8, do not see: their scores become -inf. */
DEVICE void mask(const Params *p, float *score, int row, int first_key, const int causal) {
    first_key += (int)threadIdx.x % 4 * 2;
    int left[2] = {keys_of(p, row, causal) - first_key, keys_of(p, row + 8, causal) - first_key};
    UNROLL
    for (int i = 0; i < KEYS / 2; i++) {
        score[i] = i / 4 * 8 + i % 2 < left[i / 2 % 2] ? score[i] : -INFINITY;
    }
}

/* A thread's state of its two rows: row lane / 4 of its warp's 16, and the row 8 below. */
typedef struct {
    float largest[2]; /* the largest score so far; the same in the row's four threads */
    float sum[2];     /* the sum of this thread's exponentials so far */
    float shrink[2];  /* the factor for older sums after the largest score has changed */
} Rows;

/* Idea 2. Scores become exponentials, relative to the largest score so far, row by row. While the special-function
 * units compute the exponentials of one row, other units search for the largest score of the next row. */
DEVICE void softmax(float *score, Rows *rows, float scale) {
    UNROLL
    for (int r = 0; r < 2; r++) {
        float largest = rows->largest[r], sum = 0;
        UNROLL
        for (int i = 2 * r; i < KEYS / 2; i += 4) {
            largest = fmaxf(fmaxf(largest, score[i]), score[i + 1]);
        }
        /* Four neighbouring threads hold a row. */
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        /* Before any key counts, the largest score is -infinity. Subtracted from itself, it would yield NaN. */
        float base = largest == -INFINITY ? 0 : largest * scale;
        rows->shrink[r] = exp2_approx(rows->largest[r] * scale - base);
        rows->largest[r] = largest;
        UNROLL
        for (int i = 2 * r; i < KEYS / 2; i += 4) {
            score[i] = exp2_approx(score[i] * scale - base);
            score[i + 1] = exp2_approx(score[i + 1] * scale - base);
            sum += score[i] + score[i + 1];
        }
        rows->sum[r] = rows->sum[r] * rows->shrink[r] + sum;
    }
}

/* Idea 1. wgmma leaves D in registers in the layout in which it reads A: 16 columns of D are a k16 step of A. */
DEVICE void to_operand_a(uint32_t *weights, const float *score) {
    UNROLL
    for (int i = 0; i < KEYS / 4; i++) {
        weights[i] = pack_bf16x2(score[2 * i], score[2 * i + 1]);
    }
}

/* Starts S = Q K^T of this consumer's rows, as one group. `q` and `k` are the descriptors of the first panels. */
DEVICE void start_scores(float *score, uint64_t q, uint64_t k, const int d, const int bm) {
    /* Orders the threads' accesses to the scores before the products that write them. */
    wgmma_fence();
    UNROLL
    for (int step = 0; step < d / 16; step++) {
        const int panel = step / 4, inside = step % 4 * WGMMA_K16_STEP;
        wgmma_ss(KEYS, score, q + panel * (bm * 128 >> 4) + inside, k + panel * (KEYS * 128 >> 4) + inside, step > 0);
    }
    wgmma_commit_group();
}

/* Starts O += P V, as one group. V's rows are keys, so V is an N-major operand B. */
DEVICE void start_output(float *o, const uint32_t *weights, uint64_t v, const int d) {
    /* Orders the threads' accesses to O and to the weights before the products. */
    wgmma_fence();
    UNROLL
    for (int step = 0; step < KEYS / 16; step++) {
        wgmma_rs_trans_b(d, o, &weights[4 * step], v + step * WGMMA_K16_STEP_MN, 1);
    }
    wgmma_commit_group();
}

/* Writes O and the logarithms of a consumer's tile from its sums; `row` is this warp's first row of the tile. */
DEVICE void epilogue(const Params *p, bf16 *q, const Work *work, int row, float *o, const Rows *rows, const int d,
                     const int bm) {
    int lane = (int)threadIdx.x % 32;
    float inverse[2];
    UNROLL
    for (int r = 0; r < 2; r++) {
        float sum = rows->sum[r] + __shfl_xor_sync(0xffffffffu, rows->sum[r], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        inverse[r] = sum == 0 ? 0 : 1 / sum; /* a query without keys gets zeros */
        int query = work->first_query + row + lane / 4 + 8 * r, head = work->batch * p->a.heads + work->head;
        if (lane % 4 == 0 && query < p->a.queries) { /* log2(0) is -infinity */
            float logarithm = (sum == 0 ? 0 : rows->largest[r] * p->scale) + log2_approx(sum);
            p->a.lse[(size_t)head * p->a.queries + query] = 0.69314718f * logarithm;
        }
    }
    UNROLL
    for (int j = 0; j < d; j += 16) {
        const float *v = &o[j / 2];
        uint32_t packed[4] = {
            pack_bf16x2(v[0] * inverse[0], v[1] * inverse[0]), pack_bf16x2(v[2] * inverse[1], v[3] * inverse[1]),
            pack_bf16x2(v[4] * inverse[0], v[5] * inverse[0]), pack_bf16x2(v[6] * inverse[1], v[7] * inverse[1])};
        /* This consumer has finished with its queries, so O takes their place. Lane l passes to stmatrix the address of
         * row l % 16, in the left or the right 8 columns. */
        stmatrix_x4(&q[j / PANEL * (bm * PANEL) + row * PANEL + swizzled_index(lane % 16, j % PANEL / 8 + lane / 16)],
                    packed);
    }
    /* Orders this lane's stores before the copy engine's reads, which go through the async proxy. */
    fence_proxy_async();
    /* The elected lane waits until all lanes have stored and fenced. Otherwise the copy could read old data. */
    __syncwarp();
    if (elect_one()) {
        for (int panel = 0; panel < d / PANEL; panel++) {
            tma_store_5d(&p->map[O], &q[panel * (bm * PANEL) + row * PANEL], 0, work->first_query + row, panel,
                         work->head, work->batch);
        }
        bulk_commit_group();
    }
}

/* A consumer waits until the next K or V has landed, and goes on to the next stage. */
DEVICE int take_stage(Shared *s, PipelineState *state, const int d) {
    int stage = state->index;
    consumer_wait(s->full, *state);
    pipeline_advance(state, stages_of(d));
    return stage;
}

/* A consumer releases the stage after its products have read it. One thread arrives: a product is of all four warps. */
DEVICE void release_stage(Shared *s, int stage) {
    if (threadIdx.x % 128 == 0) {
        consumer_release(s->empty, stage);
    }
}

/* Each warp of a consumer waits until the copy engine has read the previous O. Then new queries may overwrite O. */
DEVICE void release_queries(Shared *s, int round, int stage) {
    if (round > 0 && elect_one()) {
        bulk_wait_group_read(0);
        mbarrier_arrive(&s->q_empty[stage]);
    }
}

/* Computes a consumer's tile: o becomes the sums of P V over all keys its 64 queries see, from the last step to 0. */
DEVICE void attend(const Params *p, Shared *s, PipelineState *state, const Work *work, int round, int consumer,
                   int q_stage, float *o, Rows *rows, const int d, const int bm, const int causal) {
    const int turn = FIRST_TURN + consumer, next_turn = FIRST_TURN + (consumer + 1) % CONSUMERS_OF(bm);
    float score[KEYS / 2];
    uint32_t weights[KEYS / 4];
    /* Descriptors: of this consumer's queries, and of the ring's first stage as K and as V (see stage_offset()). */
    uint64_t q = wgmma_descriptor(&s->q[q_stage][consumer * ROWS * PANEL]);
    uint64_t k = wgmma_descriptor(s->ring), v = wgmma_descriptor_mn(s->ring, KEYS * 128);
    int row = work->first_query + consumer * ROWS + (int)threadIdx.x % 128 / 32 * 16 + (int)threadIdx.x % 32 / 4;
    int fewest = keys_of(p, work->first_query + consumer * ROWS, causal); /* keys that all of its queries see */
    int first_key = (work->steps - 1) * KEYS, masked = causal;            /* first key of the step */
    /* The last step comes first. It has no earlier step whose P V could run now. */
    int k_stage = take_stage(s, state, d);
    /* Idea 3. Waits until the previous consumer has issued its products. The consumers take turns, so while one
     * consumer's products run, another computes exponentials. */
    named_barrier_sync(turn, 2 * 128);
    start_scores(score, q, k + stage_offset(k_stage, d), d, bm);
    named_barrier_arrive(next_turn, 2 * 128);
    release_queries(s, round, 1 - q_stage);
    /* Waits until the scores are complete. */
    wgmma_wait_group(0);
    registers_settled(score, KEYS / 2);
    release_stage(s, k_stage);
    if (first_key + KEYS > fewest) {
        mask(p, score, row, first_key, causal);
    }
    softmax(score, rows, p->scale);
    to_operand_a(weights, score);
    /* Steps that need the mask come first and have a loop of their own: its branch would cost the other steps 3 %. */
    UNROLL
    for (first_key -= KEYS; masked >= 0; masked--) {
        UNROLL_ONCE
        for (; first_key >= 0 && (!masked || first_key + KEYS > fewest); first_key -= KEYS) {
            k_stage = take_stage(s, state, d);
            named_barrier_sync(turn, 2 * 128);
            start_scores(score, q, k + stage_offset(k_stage, d), d, bm);
            /* Idea 4. The products with V of the previous step follow. */
            int v_stage = take_stage(s, state, d);
            start_output(o, weights, v + stage_offset(v_stage, d), d);
            named_barrier_arrive(next_turn, 2 * 128);
            /* Waits until the scores are complete. The products with V overlap with this consumer's own softmax. */
            wgmma_wait_group(1);
            registers_settled(score, KEYS / 2);
            release_stage(s, k_stage);
            if (masked) {
                mask(p, score, row, first_key, causal);
            }
            softmax(score, rows, p->scale);
            /* Waits until the products with V are complete. Before that, neither O nor the weights may be written. */
            wgmma_wait_group(0);
            registers_settled(o, d / 2);
            release_stage(s, v_stage);
            UNROLL
            for (int i = 0; i < d / 2; i++) {
                o[i] *= rows->shrink[i / 2 % 2];
            }
            to_operand_a(weights, score);
        }
    }
    /* The products with V of step 0 are left. */
    int v_stage = take_stage(s, state, d);
    start_output(o, weights, v + stage_offset(v_stage, d), d);
    wgmma_wait_group(0);
    registers_settled(o, d / 2);
    release_stage(s, v_stage);
}

/* The consumers process all tiles, 64 queries each. */
DEVICE void consume(const Params *p, Shared *s, int consumer, const int d, const int bm, const int causal) {
    PipelineState state = consumer_start_state(), q = consumer_start_state();
    int last = CONSUMERS_OF(bm) - 1, row = consumer * ROWS + warp_uniform((int)threadIdx.x / 32) % WARPS * 16;
    if (consumer == last) {
        named_barrier_arrive(FIRST_TURN, 2 * 128); /* the first turn is consumer 0's */
    }
    for (int round = 0;; round++) {
        float o[MAX_HEAD / 2] = {0};
        Rows rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        /* Waits until the queries have landed. */
        consumer_wait(s->q_full, q);
        const Work *work = &s->work[q.index];
        if (work->steps < 0) {
            break;
        }
        if (work->steps > 0) {
            attend(p, s, &state, work, round, consumer, q.index, o, &rows, d, bm, causal);
        } else {
            release_queries(s, round, 1 - q.index);
        }
        epilogue(p, s->q[q.index], work, row, o, &rows, d, bm);
        pipeline_advance(&q, Q_STAGES);
    }
    if (elect_one()) {
        /* Shared memory must exist until the copy engine has read it; bulk_wait_group_read() would be enough. */
        bulk_wait_group(0);
    }
}

/* The kernel's body. Head size, tile and mask are constants at each call. */
DEVICE void attention(const Params *p, const int d, const int bm, const int causal) {
    SHARED_MEMORY(Shared, s);
    /* Warpgroup 0 produces, the others consume. */
    int warp = warp_uniform((int)threadIdx.x / 32), warpgroup = warp / 4;
    if (warp == 0 && elect_one()) {
        for (int i = 0; i < SIDES; i++) {
            tma_prefetch_map(&p->map[i]);
        }
        mbarrier_init(s->full, stages_of(d), 1);                       /* the producer's arrive.expect_tx */
        mbarrier_init(s->empty, stages_of(d), CONSUMERS_OF(bm));       /* a thread of each consumer */
        mbarrier_init(s->q_full, Q_STAGES, 1);                         /* the producer's arrive.expect_tx */
        mbarrier_init(s->q_empty, Q_STAGES, WARPS * CONSUMERS_OF(bm)); /* a lane of each warp that stores O */
        mbarrier_init_fence();
    }
    /* All threads wait until the barriers are initialised. */
    __syncthreads();
    if (warpgroup == 0) {
        setmaxnreg_dec(PRODUCER_REGISTERS);
        if (warp == 0 && elect_one()) {
            produce(p, s, d, bm, causal);
        }
    } else {
        if (CONSUMERS_OF(bm) == 2) {
            setmaxnreg_inc(REGISTERS_OF_TWO);
        } else {
            setmaxnreg_inc(REGISTERS_OF_THREE);
        }
        consume(p, s, warpgroup - 1, d, bm, causal);
    }
}

#define ATTENTION_KERNEL(kernel, d, bm, causal)                                                                      \
    static_assert((d) <= MAX_HEAD && (d) % PANEL == 0 && (bm) * (d) <= Q_ELEMENTS, "arrays have room for this");     \
    static_assert(RING_BYTES / (KEYS * (d)*2) >= 4, "a step's K and V, while the next ones' are copied");            \
    static __global__ void __launch_bounds__(THREADS_OF(bm), CTAS_PER_SM) kernel(const __grid_constant__ Params p) { \
        attention(&p, d, bm, causal);                                                                                \
    }                                                                                                                \
    KERNEL_ENTRY(kernel, Params);
ATTENTION_KERNEL(attention_64, 64, 192, 0)
ATTENTION_KERNEL(attention_64_causal, 64, 192, 1)
ATTENTION_KERNEL(attention_64_causal_128, 64, 128, 1)
ATTENTION_KERNEL(attention_128, 128, 128, 0)
ATTENTION_KERNEL(attention_128_causal, 128, 128, 1)

/* Makes the map of Q, K, V or O, a PyTorch tensor: stride[] is from batch to batch, head to head, token to token. */
static GemmStatus map_of(const Attention *a, int side, int bm, TensorMap *map, GemmError *error) {
    static const char *const names[SIDES] = {"Q", "K", "V", "O"};
    const bf16 *const bases[SIDES] = {a->q, a->k, a->v, a->o};
    const long long *const strides[SIDES] = {a->q_stride, a->k_stride, a->v_stride, a->o_stride},
                           *stride = strides[side];
    uint64_t panels = (uint64_t)a->head_size / PANEL, batches = (uint64_t)a->batches;
    uint64_t heads = (uint64_t)(side == K || side == V ? a->kv_heads : a->heads);
    uint64_t tokens = (uint64_t)(side == K || side == V ? a->keys : a->queries);
    const uint32_t box_tokens[SIDES] = {(uint32_t)bm, KEYS, KEYS, 16};
    for (int i = 0; i < 3; i++) {
        if ((uintptr_t)bases[side] % 16 != 0 || stride[i] <= 0 || stride[i] % 8 != 0) {
            return gemm_fails(error, GEMM_USAGE,
                              "%s at %p, stride %lld: a multiple of 16 bytes and positive ones of 8 are accepted",
                              names[side], (const void *)bases[side], stride[i]);
        }
    }
    Tensor tensor = {.type = ELEMENT_BF16,
                     .rank = 5,
                     .base = bases[side],
                     .size = {PANEL, tokens, panels, heads, batches},
                     .stride = {(uint64_t)stride[2] * 2, PANEL * 2, (uint64_t)stride[1] * 2, (uint64_t)stride[0] * 2},
                     .box = {PANEL, box_tokens[side], side == O ? 1 : (uint32_t)panels, 1, 1},
                     .swizzle = SWIZZLE_128B};
    return tensor_map_nd(map, names[side], &tensor, error);
}

static GemmStatus launch(const Gemm *g, GemmError *error) {
    static const struct {
        const void *kernel;
        const char *name;
    } kernels[3][2] = {{{KERNEL(attention_64)}, {KERNEL(attention_64_causal)}},
                       {{KERNEL(attention_64)}, {KERNEL(attention_64_causal_128)}},
                       {{KERNEL(attention_128)}, {KERNEL(attention_128_causal)}}};
    const Attention *a = (const Attention *)g->beyond->operands;
    if ((a->head_size != 64 && a->head_size != 128) || a->kv_heads < 1 || a->heads % a->kv_heads || a->window) {
        return gemm_fails(error, GEMM_USAGE, "heads of %d, %d of Q, %d of K, window %d: take 64 or 128, a divisor, 0",
                          a->head_size, a->heads, a->kv_heads, a->window);
    }
    int d128 = a->head_size == 128, causal = a->causal != 0, heads = a->heads * a->batches;
    if (a->queries == 0 || heads == 0) {
        return GEMM_OK; /* O has no element */
    }
    /* With a mask the last tile is the longest, so tiles have 192 queries only if few rows lie past the end. */
    int row = d128 ? 2 : causal && ceil_div(a->queries, 192) * 192 > 1.1 * a->queries, bm = row == 0 ? 192 : 128;
    Params p = {.a = *a, .tiles_m = ceil_div(a->queries, bm), .scale = a->scale * 1.44269504f};
    p.tiles = p.tiles_m * heads;
    /* An even number of sections; K and V of a section take less than half of the L2 cache: see work_of(). */
    int pairs = (int)(4.0 * a->keys * a->head_size * a->kv_heads * a->batches / 40e6) + 1;
    p.section = ceil_div(heads, 2 * pairs);
    for (int side = 0; side < SIDES; side++) {
        GemmStatus status = map_of(a, a->keys == 0 && side != O ? Q : side, bm, &p.map[side], error); /* K, V: unused */
        if (status != GEMM_OK) {
            return status;
        }
    }
    return launch_grid(kernels[row][causal].kernel, kernels[row][causal].name, min_int(p.tiles, g->sm_count),
                       THREADS_OF(bm), sizeof(Shared), &p, g->stream, error);
}

static const ChapterBeyond beyond_the_ladder = {.kind = KIND_ATTENTION};
CHAPTER(13_attention, .adds = "attention: two products in a chain, the softmax under other products",
        .needs = NEEDS_SM90A, .launch = launch, .beyond = &beyond_the_ladder);
