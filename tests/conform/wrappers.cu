/* wrappers.cu - kernels that use wrappers of common/device that neither a chapter nor a case of kernels.h has, so that
 * nvcc sees their PTX. Compiled by `make test` where nvcc is, never run. ptxas must not serialise a wgmma. */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/tma_nd.h"
#include "../../common/device/wgmma.h"

typedef struct {
    TensorMap map;
    float *out;
    const uint32_t *in;
} WrapperParams;

typedef struct {
    uint8_t tile[65536];
    MBarrier bar;
} WrapperShared;

/* One product of this width and kind, as wgmma_NAME(n, ..) has it. A from registers is what `in` holds. */
#define PRODUCT_KERNEL(kind, n, operand)                                                                   \
    __global__ void __launch_bounds__(128) product_##kind##_##n(const __grid_constant__ WrapperParams p) { \
        SHARED_MEMORY(WrapperShared, s);                                                                   \
        float d[n / 2];                                                                                    \
        uint32_t registers[4];                                                                             \
        uint64_t shared = wgmma_descriptor(s->tile), b = wgmma_descriptor_mn(s->tile + 32768, 8192);       \
        UNROLL                                                                                             \
        for (int i = 0; i < 4; i++) {                                                                      \
            registers[i] = p.in[threadIdx.x * 4 + i];                                                      \
        }                                                                                                  \
        wgmma_fence();                                                                                     \
        wgmma_##kind(n, d, operand, b, 0);                                                                 \
        wgmma_commit_group();                                                                              \
        wgmma_wait_group(0);                                                                               \
        registers_settled(d, n / 2);                                                                       \
        UNROLL                                                                                             \
        for (int i = 0; i < n / 2; i++) {                                                                  \
            p.out[(int)threadIdx.x * (n / 2) + i] = d[i] + (float)(registers[i % 4] + (uint32_t)shared);   \
        }                                                                                                  \
    }

#define PRODUCTS_OF_WIDTH(n)      \
    PRODUCT_KERNEL(ss, n, shared) \
    PRODUCT_KERNEL(rs, n, registers)
/* clang-format off */
#define EACH_WIDTH(WIDTH)                                                                               \
    WIDTH(8) WIDTH(16) WIDTH(24) WIDTH(32) WIDTH(40) WIDTH(48) WIDTH(56) WIDTH(64) WIDTH(72) WIDTH(80)  \
    WIDTH(88) WIDTH(96) WIDTH(104) WIDTH(112) WIDTH(120) WIDTH(128) WIDTH(136) WIDTH(144) WIDTH(152)    \
    WIDTH(160) WIDTH(168) WIDTH(176) WIDTH(184) WIDTH(192) WIDTH(200) WIDTH(208) WIDTH(216) WIDTH(224)  \
    WIDTH(232) WIDTH(240) WIDTH(248) WIDTH(256)
/* clang-format on */
EACH_WIDTH(PRODUCTS_OF_WIDTH)

#define PRODUCTS_OF_KIND(kind, operand) PRODUCT_KERNEL(kind, 8, operand) PRODUCT_KERNEL(kind, 256, operand)
PRODUCTS_OF_KIND(ss_trans_a, shared)
PRODUCTS_OF_KIND(ss_trans_b, shared)
PRODUCTS_OF_KIND(ss_trans_ab, shared)
PRODUCTS_OF_KIND(rs_trans_b, registers)
PRODUCTS_OF_KIND(ss_f16, shared)
PRODUCTS_OF_KIND(rs_f16, registers)
PRODUCTS_OF_KIND(ss_e4m3, shared)
PRODUCTS_OF_KIND(rs_e4m3, registers)
PRODUCTS_OF_KIND(ss_e5m2, shared)
PRODUCTS_OF_KIND(rs_e5m2, registers)
PRODUCTS_OF_KIND(ss_tf32, shared)
PRODUCTS_OF_KIND(rs_tf32, registers)

/* Two steps that follow each other without a wait between, of the widest product with A from registers. */
__global__ void __launch_bounds__(128) products_in_flight(const __grid_constant__ WrapperParams p) {
    SHARED_MEMORY(WrapperShared, s);
    float d[128];
    uint32_t a[2][4];
    uint64_t b = wgmma_descriptor_mn(s->tile, 8192);
    UNROLL
    for (int i = 0; i < 8; i++) {
        a[i / 4][i % 4] = p.in[threadIdx.x * 8 + i];
    }
    wgmma_fence();
    wgmma_rs_trans_b(256, d, a[0], b, 0);
    wgmma_rs_trans_b(256, d, a[1], b + WGMMA_K16_STEP_MN, 1);
    wgmma_commit_group();
    wgmma_wait_group(0);
    registers_settled(d, 128);
    UNROLL
    for (int i = 0; i < 128; i++) {
        p.out[(int)threadIdx.x * 128 + i] = d[i];
    }
}

__global__ void copies(const __grid_constant__ WrapperParams p) {
    SHARED_MEMORY(WrapperShared, s);
    bulk_load(s->tile, p.in, 1024, &s->bar);
    tma_load_1d(s->tile, &p.map, 0, &s->bar);
    tma_load_2d_hint(s->tile, &p.map, 0, 1, &s->bar, l2_evict_first());
    tma_load_2d_hint(s->tile, &p.map, 0, 1, &s->bar, l2_evict_last());
    tma_load_3d(s->tile, &p.map, 0, 1, 2, &s->bar);
    tma_load_4d(s->tile, &p.map, 0, 1, 2, 3, &s->bar);
    tma_load_5d(s->tile, &p.map, 0, 1, 2, 3, 4, &s->bar);
    bulk_store(p.out, s->tile, 1024);
    tma_store_1d(&p.map, s->tile, 0);
    tma_store_3d(&p.map, s->tile, 0, 1, 2);
    tma_store_4d(&p.map, s->tile, 0, 1, 2, 3);
    tma_store_5d(&p.map, s->tile, 0, 1, 2, 3, 4);
    tma_reduce_add_1d(&p.map, s->tile, 0);
    tma_reduce_add_3d(&p.map, s->tile, 0, 1, 2);
    tma_reduce_add_4d(&p.map, s->tile, 0, 1, 2, 3);
    tma_reduce_add_5d(&p.map, s->tile, 0, 1, 2, 3, 4);
}

__global__ void fragments(const __grid_constant__ WrapperParams p) {
    SHARED_MEMORY(WrapperShared, s);
    float d[4] = {0, 0, 0, 0};
    uint32_t a[4], b[4];
    ldmatrix_x4(a, s->tile + threadIdx.x * 16);
    ldmatrix_x4_trans(b, s->tile + threadIdx.x * 16);
    mma_m16n8k16_f16(d, a, b);
    mma_m16n8k32_e4m3(d, a, b);
    mma_m16n8k8_tf32(d, a, b);
    p.out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
