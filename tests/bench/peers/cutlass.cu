/* cutlass.cu - CUTLASS 3 as two peers of the bench: cooperative 128 x 256 and ping-pong 128 x 128, both with a cluster
 * of two. C++, as what it wraps is. Compiled with -I of CUTLASS's include and tools/util/include. */
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/util/packed_stride.hpp>

#include "gemm.h"

using namespace cute;
using Element = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;

template <class Tile, class Cluster, class MainLoop, class Epilogue> struct Kernel {
    using Store = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
        cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 8, Element, Row, 8,
        Epilogue>::CollectiveOp;
    using Multiply = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, Row, 8, Element, Column, 8, float, Tile, Cluster,
        cutlass::gemm::collective::StageCountAutoCarveout<(int)sizeof(typename Store::SharedStorage)>,
        MainLoop>::CollectiveOp;
    using Device = cutlass::gemm::device::GemmUniversalAdapter<cutlass::gemm::kernel::GemmUniversal<
        Shape<int, int, int, int>, Multiply, Store, cutlass::gemm::PersistentScheduler>>;
};

using Cooperative =
    Kernel<Shape<_128, _256, _64>, Shape<_2, _1, _1>, cutlass::gemm::KernelTmaWarpSpecializedCooperative,
           cutlass::epilogue::TmaWarpSpecializedCooperative>::Device;
using PingPong = Kernel<Shape<_128, _128, _64>, Shape<_2, _1, _1>, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                        cutlass::epilogue::TmaWarpSpecialized>::Device;

template <class Device> static typename Device::Arguments arguments(const Gemm *g) {
    using Stride = cute::Stride<int64_t, _1, int64_t>;
    typename Device::Arguments all{cutlass::gemm::GemmUniversalMode::kGemm,
                                   {g->m, g->n, g->k, 1},
                                   {(Element *)g->a, Stride{g->lda, _1{}, 0}, (Element *)g->b, Stride{g->ldb, _1{}, 0}},
                                   {{1.0f, 0.0f}, NULL, {}, (Element *)g->c, Stride{g->ldc, _1{}, 0}}};
    all.hw_info.sm_count = g->sm_count;
    /* Of its choices for the order of tiles, the one that is fast at large sizes. */
    all.scheduler.max_swizzle_size = g->m >= 4096 && g->n >= 4096 ? 8 : 1;
    return all;
}

template <class Device> static GemmStatus launch(const Gemm *g, GemmError *) {
    Device device;
    typename Device::Arguments all = arguments<Device>(g);
    if (device.can_implement(all) != cutlass::Status::kSuccess) {
        fprintf(stderr, "CUTLASS refuses %d x %d x %d\n", g->m, g->n, g->k);
        return GEMM_USAGE;
    }
    cutlass::Status status = device.run(all, g->workspace, g->stream);
    if (status != cutlass::Status::kSuccess) {
        fprintf(stderr, "CUTLASS: %s\n", cutlassGetStatusString(status));
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}

template <class Device> static size_t workspace_bytes(const Gemm *g) {
    return Device::get_workspace_size(arguments<Device>(g));
}

/* Every member is named: a header of CUTLASS makes the compiler ask for that. */
#define PEER(id, its_name, Device)                                             \
    extern "C" const Chapter id;                                               \
    extern "C" const Chapter id = {.name = its_name,                           \
                                   .patch = NULL,                              \
                                   .adds = "",                                 \
                                   .needs = NEEDS_SM90A,                       \
                                   .launch = launch<Device>,                   \
                                   .workspace_bytes = workspace_bytes<Device>, \
                                   .variants = NULL,                           \
                                   .beyond = NULL}

PEER(gpu_chapter_peer3, "CUTLASS cooperative", Cooperative);
PEER(gpu_chapter_peer4, "CUTLASS ping-pong", PingPong);
