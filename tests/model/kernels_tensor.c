/* kernels_tensor.c - boxes of tensors and bulk copies of bytes: what must be named, and adds. tests/conform has right
 * boxes and ranges. */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/tma_nd.h"

#include "cases.h"

#define CASE_LIST "tensor"

/* A box of a tensor of `rank` dimensions, by the bytes of its elements: 1 fp8, 2 bf16, 4 fp32. Rank 0: bytes in a
 * row. */
typedef struct {
    int rank, bytes;
    int at;  /* where it begins in a row; 0: 16 bytes from the edge */
    int add; /* how often the box is added, in one group */
} Box;
#define BOX_CASE(name, rule, rank_, bytes_, ...)                                 \
    static const Box box_##name = {.rank = rank_, .bytes = bytes_, __VA_ARGS__}; \
    CASE_OF(run, name, rule, &box_##name)

BOX_CASE(LOAD_NO_BYTES, "ALIGNMENT", 0, 1);
BOX_CASE(LOAD_OUTSIDE, "GLOBAL_BOUNDS", 0, 1);
BOX_CASE(LOAD_TO_OUTSIDE, "SHARED_BOUNDS", 0, 1);
BOX_CASE(STORE_BYTES_24, "ALIGNMENT", 0, 1);
BOX_CASE(STORE_OUTSIDE, "GLOBAL_BOUNDS", 0, 1);
BOX_CASE(BOX_RANK, "TMA_OPERAND", 2, 2);
BOX_CASE(BOX_RANK_STORE, "TMA_OPERAND", 2, 2);
BOX_CASE(BOX_START_FP8, "TMA_OPERAND", 2, 1, .at = 8);
BOX_CASE(BOX_NEGATIVE_STORE, "TMA_OPERAND", 2, 2);
BOX_CASE(BOX_NO_WAIT, "RACE_RAW", 2, 2);
BOX_CASE(ADD_FP8, "TMA_OPERAND", 2, 1, .add = 1);
BOX_CASE(ADD_NO_FENCE, "PROXY_FENCE", 2, 4, .add = 1);
BOX_CASE(RIGHT_ADD_TWICE, NULL, 2, 4, .add = 2); /* additions of one group may come in any order */
BOX_CASE(RIGHT_STORE_ADD, NULL, 2, 4, .add = 1); /* the box is stored before, and waited for */
BOX_CASE(STORE_ADD_ONE_GROUP, "GLOBAL_CONFLICT", 2, 4, .add = 1);

enum { THREADS = 64, BOX_BYTES = 2048, PLACE = 16 };

typedef struct {
    uint8_t box[BOX_BYTES];
    MBarrier full;
} BoxShared;

typedef struct {
    TensorMap map, map_out;
    Box box;
    int bytes, bug; /* bytes of the box */
    int c0, store_c0;
    uint8_t *in, *out;
    uint8_t *seen; /* the box */
} BoxParams;

DEVICE void load_box(BoxShared *s, const BoxParams *p) {
    switch (p->bug == BOX_RANK ? 5 : p->box.rank) {
    case 0:
        bulk_load(s->box + (p->bug == LOAD_TO_OUTSIDE ? 1 << 16 : 0),
                  p->in + (p->bug == LOAD_OUTSIDE ? 1 << 22 : PLACE), p->bug == LOAD_NO_BYTES ? 0 : (uint32_t)p->bytes,
                  &s->full);
        break;
    case 2: tma_load_2d(s->box, &p->map, p->c0, 1, &s->full); break;
    default: tma_load_5d(s->box, &p->map, p->c0, 1, 0, 0, 0, &s->full); break;
    }
}

DEVICE void store_box(BoxShared *s, const BoxParams *p) {
    int c0 = p->store_c0;
    switch (p->bug == BOX_RANK_STORE ? 5 : p->box.rank + 10 * (p->box.add > 0)) {
    case 0:
        bulk_store(p->out + (p->bug == STORE_OUTSIDE ? 1 << 22 : PLACE), s->box, p->bug == STORE_BYTES_24 ? 24 : 32);
        break;
    case 2: tma_store_2d(&p->map_out, s->box, c0, 1); break;
    case 5: tma_store_5d(&p->map_out, s->box, c0, 1, 0, 0, 0); break;
    default: tma_reduce_add_2d(&p->map_out, s->box, c0, 1); break;
    }
}

static __global__ void __launch_bounds__(THREADS) box_kernel(const __grid_constant__ BoxParams p) {
    SHARED_MEMORY(BoxShared, s);
    const int bug = p.bug;
    int thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_init(&s->full, 1, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&s->full, p.bytes);
        load_box(s, &p);
    }
    __syncthreads();
    LEAVES_OUT(BOX_NO_WAIT, mbarrier_wait_parity(&s->full, 0));
    for (int i = thread; i < p.bytes; i += THREADS) {
        p.seen[i] = s->box[i];
    }
    __syncthreads();
    if (bug == ADD_NO_FENCE) {
        s->box[thread] = p.seen[thread];
        __syncthreads();
    }
    if (thread == 0) {
        if (bug == RIGHT_STORE_ADD || bug == STORE_ADD_ONE_GROUP) {
            tma_store_2d(&p.map_out, s->box, p.store_c0, 1);
        }
        if (bug == RIGHT_STORE_ADD) {
            bulk_commit_group();
            bulk_wait_group(0);
        }
        for (int i = 0; i == 0 || i < p.box.add; i++) {
            store_box(s, &p);
        }
        bulk_commit_group();
        bulk_wait_group(0);
    }
}
KERNEL_ENTRY(box_kernel, BoxParams);

static int run(const Case *c) {
    enum { BYTES = 1 << 12, PITCH = 64, ROWS = 4 };
    const Box *b = c->more;
    uint8_t *in = case_memory(BYTES, "in"), *out = case_memory(BYTES, "out");
    BoxParams p = {.box = *b, .bug = c->bug, .in = in, .out = out, .seen = case_memory(BOX_BYTES, "seen")};
    /* 8 rows of 48 bytes, of which the box has 4, from row 1 on, and of them 32 bytes. */
    Tensor t = {.type = b->bytes == 1   ? ELEMENT_FP8
                        : b->bytes == 4 ? ELEMENT_FP32
                                        : ELEMENT_BF16,
                .rank = 2,
                .base = in,
                .size = {(uint64_t)(48 / b->bytes), 8},
                .stride = {PITCH},
                .box = {(uint32_t)(32 / b->bytes), ROWS}};
    p.bytes = b->rank == 0 ? 32 : ROWS * 32;
    p.c0 = b->at ? b->at : 16 / b->bytes;
    p.store_c0 = c->bug == BOX_NEGATIVE_STORE ? -16 : p.c0;
    for (int i = 0; i < BYTES; i++) {
        in[i] = (uint8_t)(i * 7 + i / 256 + 1);
    }
    Tensor t_out = t;
    t_out.base = out;
    int status = 3;
    if (!tensor_map_nd(&p.map, "in", &t, NULL) && !tensor_map_nd(&p.map_out, "out", &t_out, NULL)) {
        LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(BoxShared)};
        status = launch_kernel(KERNEL(box_kernel), shape, &p, NULL, NULL);
    }
    /* Its first element is in row 1; tests/conform compares whole boxes with a GPU's. */
    return status != 0 ? status : memcmp(p.seen, in + PITCH + p.c0 * b->bytes, 16) != 0;
}
