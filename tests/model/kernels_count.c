/* kernels_count.c - one warp that accesses memory in a pattern of which one can say what --count must print. */
#include "../../common/gemm.h"

#include "../../common/device/mma_sync.h"

#include "cases.h"
#include "count_pattern.h"

typedef struct {
    CountPattern pattern;
    uint8_t *memory;
} Params;

typedef struct {
    uint8_t bytes[32 * 512];
} Shared;

static __global__ void kernel(const __grid_constant__ Params p) {
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
KERNEL_ENTRY(kernel, Params);

int run_count_pattern(CountPattern pattern) {
    Params params = {pattern, case_memory(32 * 512, "memory")};
    LaunchShape shape = {.grid = 1, .block = 32, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(kernel), shape, &params, NULL, NULL);
    case_free();
    return status;
}
