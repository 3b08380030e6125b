/* kernels_count.c - one warp that accesses memory in a pattern of which one can say what --count must print. */
#include "../../common/gemm.h"

#include "../../common/device/mma_sync.h"
#include "../../common/model/model_count.h"

#include "cases.h"

#define CASE_LIST "count"

/* Lane l copies `bytes` bytes (4, 8 or 16) from l * `from` of a buffer in global memory to l * stride in shared memory,
 * `repeat` times, one after the other. Lanes from `lanes` on return before. Then, if `matrix`, the whole warp executes
 * an ldmatrix on those rows. Next to that, what is counted. */
typedef struct {
    int bytes, from, stride, repeat, lanes, matrix;
    unsigned long long accesses, sectors, lines, passes, conflicts;
} Pattern;
#define PATTERN(name, ...)                               \
    static const Pattern pattern_##name = {__VA_ARGS__}; \
    CASE_OF(run, name, NULL, &pattern_##name)

PATTERN(RIGHT_LINE, 4, 4, 4, 1, 32, 0, 1, 4, 1, 1, 0); /* a line, every bank once */
PATTERN(RIGHT_SECOND_BANKS, 4, 8, 8, 1, 32, 0, 1, 8, 2, 2, 1);
PATTERN(RIGHT_ONE_BANK, 4, 128, 128, 1, 32, 0, 1, 32, 32, 32, 31);
PATTERN(RIGHT_WORD_MORE, 4, 132, 132, 1, 32, 0, 1, 32, 32, 1, 0);          /* a row: every bank once */
PATTERN(RIGHT_OF_8, 8, 8, 8, 1, 32, 0, 1, 8, 2, 2, 0);                     /* in two parts of 16 lanes */
PATTERN(RIGHT_OF_16, 16, 16, 16, 1, 32, 0, 1, 16, 4, 4, 0);                /* in four parts of 8 lanes */
PATTERN(RIGHT_ONE_PLACE, 16, 0, 16, 1, 32, 0, 1, 1, 4, 4, 0);              /* four parts */
PATTERN(RIGHT_SAME_FOUR_BANKS, 16, 128, 128, 1, 32, 0, 1, 32, 32, 32, 28); /* each part */
PATTERN(RIGHT_CHUNK_MORE, 16, 144, 144, 1, 32, 1, 1, 32, 32, 4, 0);        /* a row */
PATTERN(RIGHT_LOOP, 4, 128, 128, 3, 32, 0, 3, 96, 96, 96, 93);             /* makes three accesses */
PATTERN(RIGHT_LOOP_OF_16, 16, 128, 128, 2, 32, 1, 2, 64, 64, 64, 56);
PATTERN(RIGHT_SOME_LANES, 4, 8, 8, 2, 7, 0, 2, 4, 2, 2, 0);

typedef struct {
    Pattern pattern;
    uint8_t *memory;
} Params;

typedef struct {
    uint8_t bytes[32 * 512];
} Shared;

static __global__ void count_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int lane = (int)threadIdx.x;
    uint8_t *global = p.memory + lane * p.pattern.from, *shared = s->bytes + lane * p.pattern.stride;
    if (lane >= p.pattern.lanes) {
        return;
    }
    for (int i = 0; i < p.pattern.repeat; i++) {
        if (p.pattern.bytes == 4) {
            *(uint32_t *)(shared + 4 * i) = *(uint32_t *)(global + 4 * i);
        } else if (p.pattern.bytes == 8) {
            *(uint2 *)(shared + 8 * i) = *(uint2 *)(global + 8 * i);
        } else {
            uint4 v = *(uint4 *)(global + 16 * i);
            v.x++; /* makes the compiler split the load into words */
            *(uint4 *)(shared + 16 * i) = v;
        }
    }
    if (p.pattern.matrix) {
        uint32_t r[4];
        ldmatrix_x4(r, shared);
    }
}
KERNEL_ENTRY(count_kernel, Params);

static int run(const Case *c) {
    const Pattern *w = c->more;
    const unsigned long long matrix = (unsigned long long)w->matrix, repeat = (unsigned long long)w->repeat;
    Params params = {*w, case_memory(32 * 512, "memory")};
    LaunchShape shape = {.grid = 1, .block = 32, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(count_kernel), shape, &params, NULL, NULL);
    const struct {
        ModelCount which;
        unsigned long long expected;
    } counts[] = {{COUNT_GLOBAL_LOADS, w->accesses},
                  {COUNT_GLOBAL_LOAD_BYTES, (unsigned long long)(w->bytes * w->repeat * w->lanes)},
                  {COUNT_GLOBAL_LOAD_SECTORS, w->sectors},
                  {COUNT_GLOBAL_LOAD_LINES, w->lines},
                  {COUNT_SHARED_STORES, w->accesses},
                  {COUNT_SHARED_STORE_PASSES, w->passes},
                  {COUNT_SHARED_STORE_CONFLICTS, w->conflicts},
                  {COUNT_LDMATRIX, matrix},
                  {COUNT_LDMATRIX_PASSES, matrix * w->passes / repeat},
                  {COUNT_LDMATRIX_CONFLICTS, matrix * w->conflicts / repeat},
                  {COUNT_CTAS, 1},
                  {COUNT_MMA, 0}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == 0; i++) {
        if (model_count(counts[i].which) != counts[i].expected) {
            fprintf(stderr, "#   %s: %llu, not %llu\n", model_count_name(counts[i].which), model_count(counts[i].which),
                    counts[i].expected);
            status = 1;
        }
    }
    return status;
}
