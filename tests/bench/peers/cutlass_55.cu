/* cutlass_55.cu - CUTLASS's example 55 (int4 weights x e4m3 activations, a scale for 128 of k) as a peer of the bench, with
 * the weights in the order that it calls shuffled. C++, as what it wraps is. Compiled with -I of CUTLASS's include and
 * tools/util/include; takes minutes.
 *
 * As in the example the weights are the first operand, so that what it computes is C^T. Beyond the example: tiles are 16, 32,
 * 64 or 128 activations wide, the narrowest that holds m; where n has too few tiles of 128 weights for half of the SMs, they
 * have 64, and consumers take turns at them; and the epilogue multiplies by the scale of each row of activations. Measured,
 * these are the faster ones, and stream-K is none.
 * Its scales are e4m3, and so are the eight products of a scale and a weight, of which it makes a table; it adds up all of k
 * in wgmma's own accumulators. So it is coarser than the kind asks for (runner.c, loose_eps()). */
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
using Shuffled =
    decltype(tile_to_shape(Atom{}, Layout<Shape<int, int, int>, cutlass::detail::TagToStrideB_t<Column>>{}));

template <class Tile, class Schedule, class Epilogue> struct Kernel {
    template <class To>
    using Times = cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, To, float,
                                                         cutlass::FloatRoundStyle::round_to_nearest>;
    using ByRow =
        cutlass::epilogue::fusion::Sm90EVT<Times<float>, cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, float>,
                                           cutlass::epilogue::fusion::Sm90AccFetch>;
    using Scaled = cutlass::epilogue::fusion::Sm90EVT<Times<cutlass::bfloat16_t>,
                                                      cutlass::epilogue::fusion::Sm90ScalarBroadcast<float>, ByRow>;
    using Store = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Shape<_1, _1, _1>,
        cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Column, 8, cutlass::bfloat16_t, Column, 8,
        Epilogue, Scaled>::CollectiveOp;
    using Multiply = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, cute::tuple<Weight, Table>, Shuffled, 32, Activation,
        Column, 16, float, Tile, Shape<_1, _1, _1>,
        cutlass::gemm::collective::StageCountAutoCarveout<(int)sizeof(typename Store::SharedStorage)>,
        Schedule>::CollectiveOp;
    using Device = cutlass::gemm::device::GemmUniversalAdapter<cutlass::gemm::kernel::GemmUniversal<
        Shape<int, int, int, int>, Multiply, Store, cutlass::gemm::PersistentScheduler>>;
};

template <int Rows>
using Wide = typename Kernel<Shape<_128, Int<Rows>, _128>, cutlass::gemm::KernelTmaWarpSpecializedCooperative,
                             cutlass::epilogue::TmaWarpSpecializedCooperative>::Device;
template <int Rows>
using Narrow = typename Kernel<Shape<_64, Int<Rows>, _128>, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                               cutlass::epilogue::TmaWarpSpecialized>::Device;

/* The scales are multiplied by a power of two, so that e4m3 holds the products of the largest and of the smallest; this undoes
 * it. Of what was prepared last. */
static float undo = 1;

static float value_of(bf16 bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* What a launch and the packing share: where the parts lie in what is prepared. */
static size_t table_at(const Gemm *g) { return ((size_t)g->n * g->k / 2 + 255) / 256 * 256; }
static int groups_of(const Gemm *g) { return g->k / GROUP; }
static size_t prepared_bytes(const Gemm *g) { return table_at(g) + (size_t)groups_of(g) * g->n * sizeof(Table); }

static GemmStatus prepare(const Gemm *g, void *out, GemmError *) {
    const W4a8 *w = (const W4a8 *)g->operands;
    if (w->experts > 1 || g->n % 64 || g->k % GROUP) {
        fprintf(stderr, "CUTLASS 55 takes one expert, n in steps of 64 and k in steps of %d\n", GROUP);
        return GEMM_USAGE;
    }
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
    float most = 0;
    for (size_t i = 0; i < (size_t)g->n * groups_of(g); i++) {
        most = value_of(w->scale_b[i]) > most ? value_of(w->scale_b[i]) : most;
    }
    int exponent;
    frexpf(most, &exponent);
    undo = ldexpf(1, exponent - 5); /* the largest scale becomes 16 to 32 */
    for (int n = 0; n < g->n; n++) {
        for (int group = 0; group < groups_of(g); group++) {
            float scale = value_of(w->scale_b[(size_t)n * groups_of(g) + group]) / undo;
            cutlass::packed_scale_t<Activation, Weight> products{Activation(scale)};
            memcpy(&table[(size_t)group * g->n + n], &products, sizeof products);
        }
    }
    return GEMM_OK;
}

template <class Device> static typename Device::Arguments arguments(const Gemm *g) {
    const W4a8 *w = (const W4a8 *)g->operands;
    using StrideC = cute::Stride<_1, int64_t, int64_t>;
    typename Device::Arguments all{cutlass::gemm::GemmUniversalMode::kGemm,
                                   {g->n, g->m, g->k, 1},
                                   {(const Weight *)g->prepared,
                                    tile_to_shape(Atom{}, make_shape(g->n, g->k, 1)),
                                    (const Activation *)w->a,
                                    cute::Stride<int64_t, _1, int64_t>{g->lda, _1{}, 0},
                                    (const Table *)((const uint8_t *)g->prepared + table_at(g)),
                                    {_1{}, g->n, 0},
                                    GROUP},
                                   {{{{undo}, {NULL}, {}}, {{w->scale_a}, {}, {}}, {}},
                                    NULL,
                                    {},
                                    (cutlass::bfloat16_t *)g->c,
                                    StrideC{_1{}, g->ldc, 0}}};
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
    cutlass::Status status = device.run(all, NULL, g->stream);
    if (status != cutlass::Status::kSuccess) {
        fprintf(stderr, "CUTLASS 55: %s\n", cutlassGetStatusString(status));
        return GEMM_DEVICE;
    }
    return GEMM_OK;
}

static GemmStatus launch(const Gemm *g, GemmError *) {
    int narrow = (g->n + 127) / 128 * 2 <= g->sm_count;
    return g->m <= 16   ? narrow ? run<Narrow<16>>(g) : run<Wide<16>>(g)
             : g->m <= 32 ? narrow ? run<Narrow<32>>(g) : run<Wide<32>>(g)
             : g->m <= 64 ? narrow ? run<Narrow<64>>(g) : run<Wide<64>>(g)
                          : run<Wide<128>>(g);
}

/* Every member is named: a header of CUTLASS makes the compiler ask for that. */
extern "C" const Chapter gpu_chapter_peer6;
extern "C" const Chapter gpu_chapter_peer6 = {.name = "CUTLASS 55",
                                              .patch = NULL,
                                              .adds = "",
                                              .needs = NEEDS_SM90A,
                                              .kind = KIND_W4A8,
                                              .launch = launch,
                                              .workspace_bytes = NULL,
                                              .variants = NULL,
                                              .choices = 0,
                                              .prepared_bytes = prepared_bytes,
                                              .prepare = prepare};
