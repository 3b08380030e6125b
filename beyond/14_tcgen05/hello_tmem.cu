/* hello_tmem - tensor memory without a product: four warps store and load, each in its own 32 lanes.
 *
 * Run           make 14 && ./hello_tmem, here; from the top, beyond/14_tcgen05/hello_tmem --on model */
#include "../../common/harness/hello.h"

#include "../../common/device/tcgen05.h"

enum { LANES = 128, COLUMNS = 32 /* the smallest allocation */, USED = 8 };

typedef struct {
    uint32_t address;
} Shared;

typedef struct {
    uint32_t *seen; /* [LANES][USED] */
} Params;

static __global__ void __launch_bounds__(LANES) kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int thread = (int)threadIdx.x, warp = warp_uniform(thread / 32);
    if (warp == 0) {
        tcgen05_alloc(&s->address, COLUMNS);
        tcgen05_relinquish();
    }
    /* All threads wait until the address has been written. */
    __syncthreads();
    /* The upper half of an address is the lane: a warp passes its first lane, 32 (warp % 4). */
    uint32_t mine = s->address + ((uint32_t)warp * 32 << 16), v[USED], seen[USED];
    UNROLL
    for (int i = 0; i < USED; i++) {
        v[i] = (uint32_t)(10 * thread + i);
    }
    tcgen05_st(USED, mine, v);
    tcgen05_wait_st(); /* otherwise the load could precede the store */
    tcgen05_ld(USED, seen, mine);
    tcgen05_wait_ld(); /* before this wait, the registers are not valid */
    UNROLL
    for (int i = 0; i < USED; i++) {
        p.seen[thread * USED + i] = seen[i];
    }
    /* All threads wait until the last load is complete. */
    __syncthreads();
    if (warp == 0) {
        tcgen05_dealloc(s->address, COLUMNS);
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM100A) {
    Params p = {(uint32_t *)hello_memory(LANES * USED * sizeof(uint32_t), "seen")};
    LaunchShape shape = {.grid = 1, .block = LANES, .shared_bytes = sizeof(Shared)};
    GemmStatus status = hello_wait(launch_kernel(KERNEL(kernel), shape, &p, NULL, NULL));
    for (int lane = 0; status == GEMM_OK && lane < LANES; lane += 37) {
        const uint32_t *row = &p.seen[lane * USED];
        printf("lane %3d, warp %d: columns 0 to 7 hold %u %u ... %u\n", lane, lane / 32, row[0], row[1], row[USED - 1]);
    }
    return status;
}
