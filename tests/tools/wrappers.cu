/* wrappers.cu - every wrapper of the headers below in one kernel, so that a slip in its PTX is a failed build:
 * tests/tools/wrappers.t compiles this, and asks for what is missing. Nobody runs it. */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/cluster.h"
#include "../../common/device/cp_async.h"
#include "../../common/device/fragment.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/mma_sync.h"
#include "../../common/device/system_flag.h"
#include "../../common/device/tma_nd.h"

typedef struct {
    uint4 v[32];
    MBarrier bar[2];
} Shared;

typedef struct {
    uint4 *global;
    int rank, count;
} Params;

static __global__ void mbarrier_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    MBarrier *bar = s->bar;
    mbarrier_init(bar, 2, p.count);
    mbarrier_init_fence();
    uint64_t token = mbarrier_arrive_token(bar);
    mbarrier_arrive(bar);
    mbarrier_arrive_count(bar, p.count);
    mbarrier_arrive_remote(bar, p.rank);
    mbarrier_arrive_release_cluster(bar, p.rank);
    mbarrier_expect_tx(bar, p.count);
    mbarrier_expect_tx_remote(bar, p.rank, p.count);
    mbarrier_arrive_expect_tx(bar, p.count);
    mbarrier_arrive_expect_tx_remote(bar, p.rank, p.count);
    int done = mbarrier_test_wait_parity(bar, 0) + mbarrier_try_wait_parity(bar, 0) +
               mbarrier_try_wait_parity_hint(bar, 0, 100) + mbarrier_test_wait(bar, token) +
               mbarrier_try_wait(bar, token) + mbarrier_try_wait_hint(bar, token, 100);
    mbarrier_wait(bar, token);
    mbarrier_wait_parity(bar, 0);
    mbarrier_wait_parity_cluster(bar, 0);
    mbarrier_inval(bar);
    p.global[0].x = (uint32_t)done;
}

static __global__ void copy_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    cp_async_16(s->v, p.global);
    cp_async_16_zfill(s->v + 1, p.global + 1, p.count);
    cp_async_mbarrier_arrive(s->bar);
    cp_async_mbarrier_arrive_noinc(s->bar);
    cp_async_commit_group();
    cp_async_wait_group(0);
}

static __global__ void cluster_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int rank = p.rank + cluster_cta_rank();
    uint4 v = p.global[threadIdx.x];
    cluster_arrive_relaxed();
    cluster_wait();
    cluster_store_u32(s->v, rank, v.x);
    cluster_store_u64(s->v, rank, v.x);
    cluster_store_f32(s->v, rank, (float)v.x);
    cluster_store_v4(s->v, rank, v);
    st_async_u32(s->v, rank, v.x, s->bar);
    st_async_u64(s->v, rank, v.x, s->bar);
    st_async_f32(s->v, rank, (float)v.x, s->bar);
    st_async_v4(s->v, rank, v, s->bar);
    cluster_sync();
    v = cluster_load_v4(s->v, rank);
    v.x += cluster_load_u32(s->v, rank) + (uint32_t)cluster_load_u64(s->v, rank);
    v.y += (uint32_t)cluster_load_f32(s->v, rank);
    p.global[threadIdx.x] = v;
}

static __global__ void flag_kernel(const __grid_constant__ Params p) {
    int *flag = (int *)p.global;
    system_flag_add_release(flag, 1);
    system_flag_add_relaxed(flag, 1);
    system_flag_set_release(flag, 1);
    system_flag_set_relaxed(flag, 1);
    system_flag_wait_acquire(flag, 2);
    int value = system_flag_read_acquire(flag) + system_flag_read_relaxed(flag);
    system_fence();
    __threadfence_system();
    p.global[1].x = (uint32_t)value;
}

/* CUDA's own, which the model knows too. */
static __global__ void warp_kernel(const __grid_constant__ Params p) {
    int lane = (int)threadIdx.x, all = 0;
    float x = (float)lane;
    uint32_t sum = __ballot_sync(0xffffffffu, lane) + __activemask() + __match_any_sync(0xffffffffu, x) +
                   __match_all_sync(0xffffffffu, lane, &all);
    sum += (uint32_t)(__any_sync(0xffffffffu, lane) + __all_sync(0xffffffffu, lane) + all);
    sum += (uint32_t)(__shfl_sync(0xffffffffu, lane, 1, 8) + __shfl_up_sync(0xffffffffu, lane, 1, 8) +
                      __shfl_down_sync(0xffffffffu, lane, 1, 8) + __shfl_xor_sync(0xffffffffu, lane, 1, 8));
    sum += (uint32_t)(__popc(sum) + __popcll(sum) + __ffs((int)sum) + __ffsll(sum) + __clz((int)sum));
    __nanosleep(100);
    x = fmaf(x, rsqrtf(x), __expf(x)) + __exp10f(x) + __logf(x) + __log2f(x) + __log10f(x) + __powf(x, x) + __sinf(x);
    x += __cosf(x) + __fdividef(x, x) + __saturatef(x) + __fadd_rn(x, x) + __fmul_rn(x, x) + __fmaf_rn(x, x, x);
    x += __frcp_rn(x) + __fsqrt_rn(x) + __uint_as_float(sum) + __int_as_float(lane);
    p.global[lane] = make_uint4(sum, make_uint2(sum, sum).x, __float_as_uint(make_float4(x, x, x, x).x),
                                (uint32_t)__float_as_int(make_float2(x, x).y));
}

/* A kernel of its own: tensor maps make parameters large. */
typedef struct {
    TensorMap map;
    uint4 *global;
} TmaParams;

static __global__ void tma_kernel(const __grid_constant__ TmaParams p) {
    SHARED_MEMORY(Shared, s);
    const TensorMap *map = &p.map;
    MBarrier *bar = s->bar;
    tma_prefetch_map(map);
    bulk_load(s->v, p.global, 512, bar);
    tma_load_1d(s->v, map, 0, bar);
    tma_load_2d(s->v, map, 0, 1, bar);
    tma_load_2d_hint(s->v, map, 0, 1, bar, l2_evict_first());
    tma_load_2d_hint(s->v, map, 0, 1, bar, l2_evict_last());
    tma_load_2d_multicast(s->v, map, 0, 1, bar, 3);
    tma_load_3d(s->v, map, 0, 1, 2, bar);
    tma_load_4d(s->v, map, 0, 1, 2, 3, bar);
    tma_load_5d(s->v, map, 0, 1, 2, 3, 4, bar);
    fence_proxy_async();
    fence_proxy_async_global();
    fence_proxy_async_all();
    bulk_store(p.global, s->v, 512);
    tma_store_1d(map, s->v, 0);
    tma_store_2d(map, s->v, 0, 1);
    tma_store_3d(map, s->v, 0, 1, 2);
    tma_store_4d(map, s->v, 0, 1, 2, 3);
    tma_store_5d(map, s->v, 0, 1, 2, 3, 4);
    tma_reduce_add_1d(map, s->v, 0);
    tma_reduce_add_2d(map, s->v, 0, 1);
    tma_reduce_add_3d(map, s->v, 0, 1, 2);
    tma_reduce_add_4d(map, s->v, 0, 1, 2, 3);
    tma_reduce_add_5d(map, s->v, 0, 1, 2, 3, 4);
    bulk_commit_group();
    bulk_wait_group_read(0);
    bulk_wait_group(0);
}

static __global__ void fragment_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    float d[4] = {0, 0, 0, 0};
    uint32_t a[4], b[4];
    ldmatrix_x4(a, &s->v[threadIdx.x]);
    ldmatrix_x4_trans(b, &s->v[threadIdx.x]);
    fragment_holds_e4m3(a, "A", 0, 0);
    mma_m16n8k16(d, a, b);
    mma_m16n8k16_f16(d, a, b);
    mma_m16n8k32_e4m3(d, a, b);
    mma_m16n8k8_tf32(d, a, b);
    stmatrix_x4(&s->v[threadIdx.x], a);
    p.global[threadIdx.x].x = (uint32_t)(d[0] + d[1] + d[2] + d[3]);
}

KERNEL_ENTRY(tma_kernel, TmaParams);
KERNEL_ENTRY(fragment_kernel, Params);
KERNEL_ENTRY(mbarrier_kernel, Params);
KERNEL_ENTRY(copy_kernel, Params);
KERNEL_ENTRY(cluster_kernel, Params);
KERNEL_ENTRY(flag_kernel, Params);
KERNEL_ENTRY(warp_kernel, Params);

int launch_wrappers(const Params *p, const TmaParams *tma);
int launch_wrappers(const Params *p, const TmaParams *tma) {
    LaunchShape shape = {1, 32, 0, (int)sizeof(Shared), 0};
    return (int)launch_kernel(KERNEL(tma_kernel), shape, tma, NULL, NULL) +
           (int)launch_kernel(KERNEL(fragment_kernel), shape, p, NULL, NULL) +
           (int)launch_kernel(KERNEL(mbarrier_kernel), shape, p, NULL, NULL) +
           (int)launch_kernel(KERNEL(copy_kernel), shape, p, NULL, NULL) +
           (int)launch_kernel(KERNEL(cluster_kernel), shape, p, NULL, NULL) +
           (int)launch_kernel(KERNEL(flag_kernel), shape, p, NULL, NULL) +
           (int)launch_kernel(KERNEL(warp_kernel), shape, p, NULL, NULL);
}
