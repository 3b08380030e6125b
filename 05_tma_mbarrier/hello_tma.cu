/* hello_tma - one box of a matrix, copied by TMA, and printed in the order of shared memory.
 *
 * Run           make 05 && ./hello_tma, here; with --on model --barriers each event of its mbarrier is printed */
#include "../common/harness/hello.h"

#include "../common/device/mbarrier.h"
#include "../common/device/tma.h"
#include "../common/harness/data.h"

enum { ROWS = 14, COLUMNS = 120, PITCH = 128 };               /* the matrix; elements from one row to the next */
enum { BOX_ROWS = 8, BOX_COLUMNS = 64, BOX_BYTES = 8 * 128 }; /* a row of the box: 8 chunks of 16 bytes */
enum { FIRST_ROW = 8, FIRST_COLUMN = 64 };                    /* the box extends over the right and the lower edge */

typedef struct {
    bf16 tile[BOX_ROWS * BOX_COLUMNS]; /* at a multiple of 1024 bytes, which the 128-byte swizzle needs */
    MBarrier full;
} Shared;

typedef struct {
    TensorMap map;
    bf16 *seen; /* the tile, byte by byte */
} Params;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    if (threadIdx.x == 0) {
        mbarrier_init(&s->full, 1, 1); /* one arrival per phase: the one below */
        mbarrier_init_fence();
    }
    __syncthreads();
    if (elect_one()) {
        mbarrier_arrive_expect_tx(&s->full, BOX_BYTES); /* bytes of the whole box: zeros count too */
        tma_load_2d(s->tile, &p.map, FIRST_COLUMN, FIRST_ROW, &s->full);
    }
    mbarrier_wait_parity(&s->full, 0); /* every thread that reads must wait */
    for (int i = (int)threadIdx.x; i < BOX_ROWS * BOX_COLUMNS; i += 32) {
        p.seen[i] = s->tile[i];
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM90_ANY) {
    bf16 *matrix = (bf16 *)hello_memory(ROWS * PITCH * sizeof(bf16), "matrix");
    for (int i = 0; i < ROWS * PITCH; i++) { /* each chunk: its row and column in the box, from 1; TMA fills in 0 */
        matrix[i] = round_to_bf16(10 * (i / PITCH % 8 + 1) + i % PITCH / 8 % 8 + 1);
    }
    Params p = {.seen = (bf16 *)hello_memory(BOX_BYTES, "seen")};
    GemmStatus status =
        tensor_map_2d(&p.map, "the matrix", matrix, ROWS, COLUMNS, PITCH, BOX_ROWS, BOX_COLUMNS, SWIZZLE_128B, NULL);
    status = status ? status : hello_wait(launch_grid(KERNEL(kernel), 1, 32, sizeof(Shared), &p, NULL, NULL));
    for (int i = 0; status == GEMM_OK && i < BOX_ROWS * BOX_COLUMNS; i += 8) {
        int value = (int)bf16_value(p.seen[i]);
        if (value > 0) {
            printf("   %d,%d", value / 10 - 1, value % 10 - 1);
        }
        printf("%s%s", value > 0 ? "" : "     0", i % BOX_COLUMNS == 56 ? "\n" : "");
    }
    return status;
}
