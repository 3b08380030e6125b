/* cute.cpp - writes cute.txt: what CuTe's headers say of tcgen05's descriptors and of the places in tensor memory.
 * Nothing of it comes from a GPU. The only program here that needs CUTLASS, and so C++: make conform-cute
 * CUTLASS=its/checkout. */
#include <cstdint>
#include <cstdio>

#include <cute/tensor.hpp>
#include <cute/atom/mma_traits_sm100_frag.hpp>

using namespace cute;

static FILE *out; /* CuTe itself says on stdout that a host has no addresses of shared memory, and takes 0 */

/* Of a sequence of addresses in tensor memory: FNV-1a over their bytes, the lowest first. */
static uint64_t added(uint64_t sum, uint32_t address) {
    for (int byte = 0; byte < 4; byte++) {
        sum = (sum ^ (address >> 8 * byte & 0xff)) * 0x100000001b3;
    }
    return sum;
}
static const uint64_t NONE = 0xcbf29ce484222325;

template <class T, int M, int N, UMMA::Major A, UMMA::Major B> static void shape(int is_bf16) {
    std::fprintf(out, "shape %d %d %d %d %d %x\n", is_bf16, M, N, (int)A, (int)B,
                 (unsigned)(uint32_t)UMMA::make_instr_desc<T, T, float, M, N, A, B>());
}
template <int M, int N> static void shapes() {
    shape<half_t, M, N, UMMA::Major::K, UMMA::Major::K>(0);
    shape<bfloat16_t, M, N, UMMA::Major::K, UMMA::Major::K>(1);
    shape<bfloat16_t, M, N, UMMA::Major::MN, UMMA::Major::K>(1);
    shape<bfloat16_t, M, N, UMMA::Major::K, UMMA::Major::MN>(1);
}

/* Kinds with scales: 2 is mxf8f6f4, 3 mxf4nvf4. */
template <class A, class B, int M, int N> static void of_kind(int a_is_e5m2, int b_is_e5m2) {
    const auto k = UMMA::Major::K;
    auto d = UMMA::make_instr_desc_block_scaled<A, B, float, float_ue8m0_t, M, N, k, k>();
    std::fprintf(out, "kind 2 %d %d %d %d %x\n", a_is_e5m2, b_is_e5m2, M, N, (unsigned)(uint32_t)d);
}
template <class Scale, int N> static void shape4(int is_ue8m0) {
    const auto k = UMMA::Major::K;
    auto d = UMMA::make_instr_desc_block_scaled<float_e2m1_t, float_e2m1_t, float, Scale, 128, N, k, k>();
    std::fprintf(out, "kind 3 %d 0 128 %d %x\n", is_ue8m0, N, (unsigned)(uint32_t)d);
}

/* The first 16 k of a tile [rows][k] of bf16, which begins at address 0: its descriptor, and where its elements are,
 * row by row. */
template <class Atom, UMMA::Major MAJOR, int ROWS, int K> static void operand(int swizzle_bytes) {
    auto layout = tile_to_shape(Atom{}, Shape<Int<ROWS>, Int<K>>{});
    auto tile = make_tensor(make_smem_ptr((bfloat16_t *)nullptr), layout);
    auto part = local_tile(tile, Shape<Int<ROWS>, _16>{}, make_coord(_0{}, _0{}));
    auto bits = (uint64_t)UMMA::make_umma_desc<MAJOR>(part);
    auto places = as_position_independent_swizzle_layout(layout);
    uint64_t sum = NONE;
    for (int row = 0; row < ROWS; row++) {
        for (int k = 0; k < 16; k++) {
            sum = added(sum, 2 * (uint32_t)places(row, k));
        }
    }
    std::fprintf(out, "operand %d %d %d %llx %llx\n", swizzle_bytes, (int)MAJOR, ROWS, (unsigned long long)bits,
                 (unsigned long long)sum);
}
template <int ROWS> static void operands() {
    operand<UMMA::Layout_K_SW128_Atom<bfloat16_t>, UMMA::Major::K, ROWS, 64>(128);
    operand<UMMA::Layout_K_SW64_Atom<bfloat16_t>, UMMA::Major::K, ROWS, 32>(64);
    operand<UMMA::Layout_K_SW32_Atom<bfloat16_t>, UMMA::Major::K, ROWS, 16>(32);
    operand<UMMA::Layout_K_INTER_Atom<bfloat16_t>, UMMA::Major::K, ROWS, 64>(0);
    operand<UMMA::Layout_MN_SW128_Atom<bfloat16_t>, UMMA::Major::MN, ROWS, 64>(128);
    operand<UMMA::Layout_MN_SW64_Atom<bfloat16_t>, UMMA::Major::MN, ROWS, 64>(64);
    operand<UMMA::Layout_MN_SW32_Atom<bfloat16_t>, UMMA::Major::MN, ROWS, 64>(32);
    operand<UMMA::Layout_MN_INTER_Atom<bfloat16_t>, UMMA::Major::MN, ROWS, 64>(0);
}

/* Where D of a product of this many CTAs is, in one of them: of each row, all columns. */
template <int CTAS, int M, int N> static void accumulator() {
    auto d = UMMA::tmem_frg<float, uint32_t, CTAS>::make(Shape<Shape<Int<M / CTAS>, Int<N>>, _1, _1>{});
    uint64_t sum = NONE;
    for (int m = 0; m < M / CTAS; m++) {
        for (int n = 0; n < N; n++) {
            sum = added(sum, (uint32_t)d.layout()(make_coord(m, n), 0, 0));
        }
    }
    std::fprintf(out, "accumulator %d %d %d %llx\n", CTAS, M, N, (unsigned long long)sum);
}

/* Scales of `rows` rows: lane and byte of each, in each quarter. */
template <int ROWS, int OF_K, int MORE> static void scales() {
    auto s = UMMA::tmem_sf_frg<uint8_t, OF_K, 1, false>::make(
        Shape<Shape<Int<ROWS>, Shape<Int<OF_K>, Int<4 / MORE>>>, _1, Int<MORE>>{}).layout();
    uint64_t sum = NONE;
    for (int i = 0; i < ROWS * 4 * 4; i++) { /* row, quarter, scale */
        int row = i % ROWS, quarter = i / ROWS % 4, scale = i / ROWS / 4, per = 4 / MORE;
        int byte = (int)s(make_coord(row + quarter * ROWS, scale % per * OF_K), 0, scale / per);
        sum = added(sum, (uint32_t)(byte / ((int)TMEM::DP_b::value / 8)) << 16 |
                             (uint32_t)(byte % ((int)TMEM::DP_b::value / 8)));
    }
    std::fprintf(out, "scales %d %d %llx\n", ROWS, OF_K, (unsigned long long)sum);
}

int main(int argc, char **argv) {
    out = argc == 2 ? std::fopen(argv[1], "w") : nullptr;
    if (out == nullptr) {
        std::perror("usage: cute FILE");
        return 1;
    }
    std::fprintf(
        out, "# What CuTe's headers say, computed on a host by tests/conform/cute.cpp; not from a GPU. CUTLASS at %s\n",
        COMMIT);
    shapes<64, 8>(), shapes<64, 248>(), shapes<128, 16>(), shapes<128, 64>(), shapes<128, 256>(), shapes<256, 32>(),
        shapes<256, 256>();
    operands<64>(), operands<128>(), operands<256>();
    accumulator<1, 64, 8>(), accumulator<1, 64, 256>(), accumulator<1, 128, 16>(), accumulator<1, 128, 256>();
    accumulator<2, 128, 32>(), accumulator<2, 128, 256>(), accumulator<2, 256, 32>(), accumulator<2, 256, 256>();
    of_kind<float_e4m3_t, float_e5m2_t, 128, 64>(0, 1),
        of_kind<float_e5m2_t, float_e4m3_t, 128, 256>(1, 0), of_kind<float_e5m2_t, float_e5m2_t, 128, 128>(1, 1);
    shape4<float_ue4m3_t, 128>(0), shape4<float_ue8m0_t, 256>(1);
    scales<128, 32, 4>(), scales<256, 32, 4>(), scales<128, 16, 1>(), scales<256, 16, 1>();
}
