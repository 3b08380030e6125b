/* tcgen05.cu - calls of the wrappers of tcgen05.h and launch_control.h that 14 and 15 lack: tests/tools/wrappers.t assembles this for
 * Blackwell's GPUs, of which those of 12.0 have launch control alone. Nobody runs it. */
#include "../../common/gemm.h"

#include "../../common/device/launch_control.h"
#include "../../common/device/tcgen05.h"

typedef struct {
    float *c;
} Params;

typedef struct {
    uint64_t tile[8192 / 8];
    MBarrier bar;
} Shared;

static __global__ void control_wrappers(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int first_cta = 0;
    launch_try_cancel(s->tile, &s->bar);
    p.c[0] = (float)(launch_query_cancel(s->tile, &first_cta) + first_cta);
}
KERNEL_ENTRY(control_wrappers, Params);

#ifndef LAUNCH_CONTROL_ALONE

typedef struct {
    uint32_t d, shape;
} PairParams;

/* Each N of each shape. */
static __global__ void register_wrappers(const __grid_constant__ PairParams p) {
    uint32_t r[128];
    UNROLL
    for (int n = 1; n <= 128; n *= 2) {
        tcgen05_ld(n, r, p.d);
        tcgen05_wait_ld();
        tcgen05_st(n, p.d + 1, r);
    }
    UNROLL
    for (int n = 1; n <= 128; n *= 2) {
        tcgen05_ld_16x64b(n, r, p.d);
        tcgen05_wait_ld();
        tcgen05_st_16x64b(n, p.d + 1, r);
    }
    UNROLL
    for (int n = 1; n <= 64; n *= 2) {
        tcgen05_ld_16x128b(n, r, p.d);
        tcgen05_wait_ld();
        tcgen05_st_16x128b(n, p.d + 1, r);
    }
    UNROLL
    for (int n = 1; n <= 32; n *= 2) {
        tcgen05_ld_16x256b(n, r, p.d);
        tcgen05_wait_ld();
        tcgen05_st_16x256b(n, p.d + 1, r);
    }
    UNROLL
    for (int n = 1; n <= 128; n *= 2) {
        tcgen05_ld_16x32bx2(n, r, p.d);
        tcgen05_wait_ld();
        tcgen05_st_16x32bx2(n, p.d + 1, r);
    }
}
KERNEL_ENTRY(register_wrappers, PairParams);

static __global__ void product_wrappers(const __grid_constant__ PairParams p) {
    SHARED_MEMORY(Shared, s);
    uint64_t tile = tcgen05_descriptor(s->tile);
    tcgen05_cp_128x256b(p.d, tile);
    tcgen05_cp_128x128b(p.d, tile);
    tcgen05_cp_64x128b_02_13(p.d, tile);
    tcgen05_cp_64x128b_01_23(p.d, tile);
    tcgen05_cp_32x128b(p.d, tile);
    tcgen05_mma_f16_ts(p.d, p.d, tile, p.shape, 0);
    tcgen05_mma_f8(p.d, tile, tile, tcgen05_shape_f8(0, 1, 128, 64), 0);
    tcgen05_mma_f8_ts(p.d, p.d, tile, p.shape, 0);
    tcgen05_mma_mxf8(p.d, tile, tile, tcgen05_shape_mxf8(0, 1, 64, 1, 2), p.d, p.d, 0);
    tcgen05_mma_nvf4(p.d, tile, tile, tcgen05_shape_nvf4(0, 64), p.d, p.d, 0);
    tcgen05_commit(&s->bar);
}
KERNEL_ENTRY(product_wrappers, PairParams);

/* Apart: a kernel has instructions of pairs, or of single CTAs. */
static __global__ void pair_wrappers(const __grid_constant__ PairParams p) {
    SHARED_MEMORY(Shared, s);
    uint64_t tile = tcgen05_descriptor(s->tile);
    tcgen05_mma_f16_ts_pair(p.d, p.d, tile, p.shape, 0);
    tcgen05_mma_f8_pair(p.d, tile, tile, p.shape, 0);
}
KERNEL_ENTRY(pair_wrappers, PairParams);

int launch_wrappers(const Params *p, const PairParams *pair);
int launch_wrappers(const Params *p, const PairParams *pair) {
    LaunchShape shape = {1, 128, 0, sizeof(Shared), 0};
    return (int)launch_kernel(KERNEL(control_wrappers), shape, p, NULL, NULL) |
           (int)launch_kernel(KERNEL(pair_wrappers), shape, pair, NULL, NULL) |
           (int)launch_kernel(KERNEL(register_wrappers), shape, pair, NULL, NULL) |
           (int)launch_kernel(KERNEL(product_wrappers), shape, pair, NULL, NULL);
}

#endif
