/* products.cu - wgmma of every width and of every kind, so that nvcc and ptxas see their PTX. Compiled by `make test`
 * where nvcc is, never run; a note that a wgmma was serialised fails the build. */
#include "../../common/gemm.h"

#include "../../common/device/wgmma.h"

typedef struct {
    float *out;
    const uint32_t *in;
} ProductParams;

typedef struct {
    uint8_t tile[65536];
} ProductShared;

/* One product of this width and kind, as wgmma_NAME(n, ..) has it. A from registers is what `in` holds. */
#define PRODUCT_KERNEL(kind, n, operand)                                                                   \
    __global__ void __launch_bounds__(128) product_##kind##_##n(const __grid_constant__ ProductParams p) { \
        SHARED_MEMORY(ProductShared, s);                                                                   \
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
__global__ void __launch_bounds__(128) products_in_flight(const __grid_constant__ ProductParams p) {
    SHARED_MEMORY(ProductShared, s);
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
