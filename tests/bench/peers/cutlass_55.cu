/* cutlass_55.cu - CUTLASS's example 55 (int4 weights x e4m3 activations, a scale for 128 of k) as a peer of the bench, with
 * the weights in the order that it calls shuffled. C++, as what it wraps is. Compiled with -I of CUTLASS's include and
 * tools/util/include.
 *
 * As in the example the weights are the first operand, so what it computes is C^T, and tiles are 128 weights by 16, 32, 64 or
 * 128 activations: the smallest that holds m. It differs from the example in the width of the tile, in the type of C, and in
 * the epilogue, which here multiplies by the scale of each row of activations.
 * Its scales are e4m3, and so are the eight products of a scale and a weight, of which it makes a table; it adds up all of k
 * in wgmma's own accumulators. So it is less exact than the kind asks for, and is checked for its mean error alone. */
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/util/mixed_dtype_utils.hpp>
#include <cutlass/util/packed_stride.hpp>

#include "gemm.h"

using namespace cute;

enum { GROUP = 128, ATOM_ROWS = 16, ATOM_K = 32 };

using Activation = cutlass::float_e4m3_t;
using Weight = cutlass::int4b_t;
using Table = cutlass::Array<Activation, 8>; /* a scale times -8 .. -1 */
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Atom = decltype(cutlass::compute_memory_reordering_atom<Activation>());
using Shuffled = decltype(tile_to_shape(Atom{}, Layout<Shape<int, int, int>, cutlass::detail::TagToStrideB_t<Column>>{}));

template <class Tile, class Schedule, class Epilogue, class Scheduler> struct Kernel {
    using Scaled = cutlass::epilogue::fusion::Sm90EVT<
        cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, cutlass::bfloat16_t, float,
                                               cutlass::FloatRoundStyle::round_to_nearest>,
        cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, float>, cutlass::epilogue::fusion::Sm90AccFetch>;
    using Store = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Shape<_1, _1, _1>,
        cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Column, 8, cutlass::bfloat16_t, Column, 8,
        Epilogue, Scaled>::CollectiveOp;
    using Multiply = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, cute::tuple<Weight, Table>, Shuffled, 32, Activation, Column,
        16, float, Tile, Shape<_1, _1, _1>,
        cutlass::gemm::collective::StageCountAutoCarveout<(int)sizeof(typename Store::SharedStorage)>,
        Schedule>::CollectiveOp;
    using Device = cutlass::gemm::device::GemmUniversalAdapter<
        cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Multiply, Store, Scheduler>>;
};

#ifndef EXPLORE
#define EXPLORE 0
#endif
using Cooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using CooperativeStore = cutlass::epilogue::TmaWarpSpecializedCooperative;
using PingPong = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using PingPongStore = cutlass::epilogue::TmaWarpSpecialized;

/* What a launch and the packing share: where the parts lie in what is prepared. */
static size_t table_at(const Gemm *g) { return ((size_t)g->n * g->k / 2 + 255) / 256 * 256; }
static int groups_of(const Gemm *g) { return g->k / GROUP; }
static size_t prepared_bytes(const Gemm *g) { return table_at(g) + (size_t)groups_of(g) * g->n * sizeof(Table); }

static GemmStatus prepare(const Gemm *g, void *out) {
    const W4a8 *w = (const W4a8 *)g->operands;
    uint8_t *packed = (uint8_t *)out;
    Table *table = (Table *)(packed + table_at(g));
    Shuffled order = tile_to_shape(Atom{}, make_shape(g->n, g->k, 1));
    memset(packed, 0, (size_t)g->n * g->k / 2);
    int inside[ATOM_ROWS][ATOM_K];
    for (int row = 0; row < ATOM_ROWS; row++) {
        for (int k = 0; k < ATOM_K; k++) {
            inside[row][k] = (int)order(row, k, 0);
        }
    }
    for (int from_row = 0; from_row < g->n; from_row += ATOM_ROWS) {
        for (int from_k = 0; from_k < g->k; from_k += ATOM_K) {
            size_t at = (size_t)order(from_row, from_k, 0);
            for (int row = 0; row < ATOM_ROWS; row++) {
                for (int k = 0; k < ATOM_K; k++) {
                    int weight = w->weights[(size_t)(from_row + row) * g->k + from_k + k];
                    int code = weight > 0 ? 8 - weight : weight & 15; /* its sign apart, that of -weight */
                    size_t place = at + inside[row][k];
                    packed[place / 2] |= (uint8_t)(code << place % 2 * 4);
                }
            }
        }
    }
    for (int n = 0; n < g->n; n++) {
        for (int group = 0; group < groups_of(g); group++) {
            uint32_t bits = (uint32_t)w->scale_b[(size_t)n * groups_of(g) + group] << 16;
            float scale;
            memcpy(&scale, &bits, sizeof scale);
            cutlass::packed_scale_t<Activation, Weight> products{Activation(scale)};
            memcpy(&table[(size_t)group * g->n + n], &products, sizeof products);
        }
    }
    return GEMM_OK;
}

template <class Device> static typename Device::Arguments arguments(const Gemm *g) {
    const W4a8 *w = (const W4a8 *)g->operands;
    using StrideC = cute::Stride<_1, int64_t, int64_t>;
    typename Device::Arguments all{
        cutlass::gemm::GemmUniversalMode::kGemm,
        {g->n, g->m, g->k, 1},
        {(const Weight *)g->prepared, tile_to_shape(Atom{}, make_shape(g->n, g->k, 1)), (const Activation *)w->a,
         cute::Stride<int64_t, _1, int64_t>{g->lda, _1{}, 0},
         (const Table *)((const uint8_t *)g->prepared + table_at(g)), {_1{}, g->n, 0}, GROUP},
        {{{w->scale_a}, {}, {}}, NULL, {}, (cutlass::bfloat16_t *)g->c, StrideC{_1{}, g->ldc, 0}}};
    all.hw_info.sm_count = g->sm_count;
    return all;
}

template <class Device> static GemmStatus run(const Gemm *g) {
    Device device;
    typename Device::Arguments all = arguments<Device>(g);
    if (device.can_implement(all) != cutlass::Status::kSuccess) {
        fprintf(stderr, "CUTLASS 55 refuses %d x %d x %d\n", g->m, g->n, g->k);
        return GEMM_USAGE;
    }
    cutlass::Status status = device.run(all, g->workspace, g->stream);
    if (status != cutlass::Status::kSuccess) {
        fprintf(stderr, "CUTLASS 55: %s\n", cutlassGetStatusString(status));
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}
