/* wrappers.cu - calls of the wrappers that neither a chapter nor a case of tests/conform has, so that a slip in their
 * PTX is a failed build, too: tests/tools/wrappers.t compiles this, and asks for what is missing. Nobody runs it. */
#include "../../common/gemm.h"

#include "../../common/device/e4m3.h"
#include "../../common/device/fragment.h"
#include "../../common/device/mbarrier.h"
#include "../../common/device/system_flag.h"
#include "../../common/device/tma_nd.h"

typedef struct {
    TensorMap map;
    uint4 *global;
    int rank;
} Params;

static __global__ void wrappers(const __grid_constant__ Params p) {
    SHARED_MEMORY(MBarrier, bar);
    uint32_t words[4] = {0, 0, 0, 0};
    mbarrier_arrive_release_cluster(bar, p.rank);
    uint64_t token = mbarrier_arrive_token(bar);
    p.global[0].x = (uint32_t)mbarrier_try_wait(bar, token);
    mbarrier_wait(bar, token);
    tma_load_2d_hint(bar + 1, &p.map, 0, 1, bar, l2_evict_first());
    fence_proxy_async_all();
    fence_proxy_async_cluster();
    fence_proxy_async_release();
    fence_proxy_async_acquire();
    int *flag = (int *)p.global;
    system_flag_add_release(flag, system_flag_read_acquire(flag));
    system_flag_add_relaxed(flag, system_flag_read_relaxed(flag));
    system_flag_set_relaxed(flag, 0);
    system_fence();
    words[0] = pack_e4m3x4(0, 1, 2, 3);
    fragment_holds_e4m3(words, "A", 0, 0);
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
    sum += (uint32_t)(__popc(sum) + __ffs((int)sum) + __clz((int)sum));
    __nanosleep(100);
    x = fmaf(x, rsqrtf(x), __expf(x)) + __logf(x) + __fdividef(x, x) + __uint_as_float(sum);
    p.global[lane] = make_uint4(sum, sum, sum, __float_as_uint(make_float4(x, x, x, x).x));
}

KERNEL_ENTRY(wrappers, Params);
KERNEL_ENTRY(warp_kernel, Params);

int launch_wrappers(const Params *p);
int launch_wrappers(const Params *p) {
    LaunchShape shape = {1, 32, 0, 64, 0};
    return (int)launch_kernel(KERNEL(wrappers), shape, p, NULL, NULL) +
           (int)launch_kernel(KERNEL(warp_kernel), shape, p, NULL, NULL);
}
