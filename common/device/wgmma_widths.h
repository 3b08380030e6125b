/* wgmma_widths.h - the operand lists of a wgmma of every width, for wgmma.h.
 *
 * The instruction's text names its operands by number, %0, %1, .., and the compiler binds them in that order: first the
 * n / 2 accumulators, then what follows them. */
#ifndef WGMMA_WIDTHS_H
#define WGMMA_WIDTHS_H

/* "%0, %1, ..", so many. */
#define WGMMA_NAMES_4 "%0, %1, %2, %3"
#define WGMMA_NAMES_8 WGMMA_NAMES_4 ", %4, %5, %6, %7"
#define WGMMA_NAMES_12 WGMMA_NAMES_8 ", %8, %9, %10, %11"
#define WGMMA_NAMES_16 WGMMA_NAMES_12 ", %12, %13, %14, %15"
#define WGMMA_NAMES_20 WGMMA_NAMES_16 ", %16, %17, %18, %19"
#define WGMMA_NAMES_24 WGMMA_NAMES_20 ", %20, %21, %22, %23"
#define WGMMA_NAMES_28 WGMMA_NAMES_24 ", %24, %25, %26, %27"
#define WGMMA_NAMES_32 WGMMA_NAMES_28 ", %28, %29, %30, %31"
#define WGMMA_NAMES_36 WGMMA_NAMES_32 ", %32, %33, %34, %35"
#define WGMMA_NAMES_40 WGMMA_NAMES_36 ", %36, %37, %38, %39"
#define WGMMA_NAMES_44 WGMMA_NAMES_40 ", %40, %41, %42, %43"
#define WGMMA_NAMES_48 WGMMA_NAMES_44 ", %44, %45, %46, %47"
#define WGMMA_NAMES_52 WGMMA_NAMES_48 ", %48, %49, %50, %51"
#define WGMMA_NAMES_56 WGMMA_NAMES_52 ", %52, %53, %54, %55"
#define WGMMA_NAMES_60 WGMMA_NAMES_56 ", %56, %57, %58, %59"
#define WGMMA_NAMES_64 WGMMA_NAMES_60 ", %60, %61, %62, %63"
#define WGMMA_NAMES_68 WGMMA_NAMES_64 ", %64, %65, %66, %67"
#define WGMMA_NAMES_72 WGMMA_NAMES_68 ", %68, %69, %70, %71"
#define WGMMA_NAMES_76 WGMMA_NAMES_72 ", %72, %73, %74, %75"
#define WGMMA_NAMES_80 WGMMA_NAMES_76 ", %76, %77, %78, %79"
#define WGMMA_NAMES_84 WGMMA_NAMES_80 ", %80, %81, %82, %83"
#define WGMMA_NAMES_88 WGMMA_NAMES_84 ", %84, %85, %86, %87"
#define WGMMA_NAMES_92 WGMMA_NAMES_88 ", %88, %89, %90, %91"
#define WGMMA_NAMES_96 WGMMA_NAMES_92 ", %92, %93, %94, %95"
#define WGMMA_NAMES_100 WGMMA_NAMES_96 ", %96, %97, %98, %99"
#define WGMMA_NAMES_104 WGMMA_NAMES_100 ", %100, %101, %102, %103"
#define WGMMA_NAMES_108 WGMMA_NAMES_104 ", %104, %105, %106, %107"
#define WGMMA_NAMES_112 WGMMA_NAMES_108 ", %108, %109, %110, %111"
#define WGMMA_NAMES_116 WGMMA_NAMES_112 ", %112, %113, %114, %115"
#define WGMMA_NAMES_120 WGMMA_NAMES_116 ", %116, %117, %118, %119"
#define WGMMA_NAMES_124 WGMMA_NAMES_120 ", %120, %121, %122, %123"
#define WGMMA_NAMES_128 WGMMA_NAMES_124 ", %124, %125, %126, %127"

/* Accumulators d[i], .., so many. */
#define WGMMA_REGS_4(d, i) "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3])
#define WGMMA_REGS_8(d, i) WGMMA_REGS_4(d, i), WGMMA_REGS_4(d, i + 4)
#define WGMMA_REGS_16(d, i) WGMMA_REGS_8(d, i), WGMMA_REGS_8(d, i + 8)
#define WGMMA_REGS_32(d, i) WGMMA_REGS_16(d, i), WGMMA_REGS_16(d, i + 16)
#define WGMMA_REGS_64(d, i) WGMMA_REGS_32(d, i), WGMMA_REGS_32(d, i + 32)

/* Of width n: how many accumulators a thread has, which is the number of the operand behind them; the five numbers after
 * it; the accumulators. */
/* clang-format off */
#define WGMMA_WIDTH_8(d) 4, 5, 6, 7, 8, 9, WGMMA_REGS_4(d, 0)
#define WGMMA_WIDTH_16(d) 8, 9, 10, 11, 12, 13, WGMMA_REGS_8(d, 0)
#define WGMMA_WIDTH_24(d) 12, 13, 14, 15, 16, 17, WGMMA_REGS_8(d, 0), WGMMA_REGS_4(d, 8)
#define WGMMA_WIDTH_32(d) 16, 17, 18, 19, 20, 21, WGMMA_REGS_16(d, 0)
#define WGMMA_WIDTH_40(d) 20, 21, 22, 23, 24, 25, WGMMA_REGS_16(d, 0), WGMMA_REGS_4(d, 16)
#define WGMMA_WIDTH_48(d) 24, 25, 26, 27, 28, 29, WGMMA_REGS_16(d, 0), WGMMA_REGS_8(d, 16)
#define WGMMA_WIDTH_56(d) 28, 29, 30, 31, 32, 33, WGMMA_REGS_16(d, 0), WGMMA_REGS_8(d, 16), WGMMA_REGS_4(d, 24)
#define WGMMA_WIDTH_64(d) 32, 33, 34, 35, 36, 37, WGMMA_REGS_32(d, 0)
#define WGMMA_WIDTH_72(d) 36, 37, 38, 39, 40, 41, WGMMA_REGS_32(d, 0), WGMMA_REGS_4(d, 32)
#define WGMMA_WIDTH_80(d) 40, 41, 42, 43, 44, 45, WGMMA_REGS_32(d, 0), WGMMA_REGS_8(d, 32)
#define WGMMA_WIDTH_88(d) 44, 45, 46, 47, 48, 49, WGMMA_REGS_32(d, 0), WGMMA_REGS_8(d, 32), WGMMA_REGS_4(d, 40)
#define WGMMA_WIDTH_96(d) 48, 49, 50, 51, 52, 53, WGMMA_REGS_32(d, 0), WGMMA_REGS_16(d, 32)
#define WGMMA_WIDTH_104(d) 52, 53, 54, 55, 56, 57, WGMMA_REGS_32(d, 0), WGMMA_REGS_16(d, 32), WGMMA_REGS_4(d, 48)
#define WGMMA_WIDTH_112(d) 56, 57, 58, 59, 60, 61, WGMMA_REGS_32(d, 0), WGMMA_REGS_16(d, 32), WGMMA_REGS_8(d, 48)
#define WGMMA_WIDTH_120(d) 60, 61, 62, 63, 64, 65, WGMMA_REGS_32(d, 0), WGMMA_REGS_16(d, 32), WGMMA_REGS_8(d, 48), WGMMA_REGS_4(d, 56)
#define WGMMA_WIDTH_128(d) 64, 65, 66, 67, 68, 69, WGMMA_REGS_64(d, 0)
#define WGMMA_WIDTH_136(d) 68, 69, 70, 71, 72, 73, WGMMA_REGS_64(d, 0), WGMMA_REGS_4(d, 64)
#define WGMMA_WIDTH_144(d) 72, 73, 74, 75, 76, 77, WGMMA_REGS_64(d, 0), WGMMA_REGS_8(d, 64)
#define WGMMA_WIDTH_152(d) 76, 77, 78, 79, 80, 81, WGMMA_REGS_64(d, 0), WGMMA_REGS_8(d, 64), WGMMA_REGS_4(d, 72)
#define WGMMA_WIDTH_160(d) 80, 81, 82, 83, 84, 85, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64)
#define WGMMA_WIDTH_168(d) 84, 85, 86, 87, 88, 89, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64), WGMMA_REGS_4(d, 80)
#define WGMMA_WIDTH_176(d) 88, 89, 90, 91, 92, 93, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64), WGMMA_REGS_8(d, 80)
#define WGMMA_WIDTH_184(d) 92, 93, 94, 95, 96, 97, WGMMA_REGS_64(d, 0), WGMMA_REGS_16(d, 64), WGMMA_REGS_8(d, 80), WGMMA_REGS_4(d, 88)
#define WGMMA_WIDTH_192(d) 96, 97, 98, 99, 100, 101, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64)
#define WGMMA_WIDTH_200(d) 100, 101, 102, 103, 104, 105, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_4(d, 96)
#define WGMMA_WIDTH_208(d) 104, 105, 106, 107, 108, 109, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_8(d, 96)
#define WGMMA_WIDTH_216(d) 108, 109, 110, 111, 112, 113, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_8(d, 96), WGMMA_REGS_4(d, 104)
#define WGMMA_WIDTH_224(d) 112, 113, 114, 115, 116, 117, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_16(d, 96)
#define WGMMA_WIDTH_232(d) 116, 117, 118, 119, 120, 121, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_16(d, 96), WGMMA_REGS_4(d, 112)
#define WGMMA_WIDTH_240(d) 120, 121, 122, 123, 124, 125, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_16(d, 96), WGMMA_REGS_8(d, 112)
#define WGMMA_WIDTH_248(d) 124, 125, 126, 127, 128, 129, WGMMA_REGS_64(d, 0), WGMMA_REGS_32(d, 64), WGMMA_REGS_16(d, 96), WGMMA_REGS_8(d, 112), WGMMA_REGS_4(d, 120)
#define WGMMA_WIDTH_256(d) 128, 129, 130, 131, 132, 133, WGMMA_REGS_64(d, 0), WGMMA_REGS_64(d, 64)

/* The instruction of width n and what it takes: `types`, its k and the types of D, A and B; `majors` is ", 0, 0" for two
 * K-major tiles of bf16 or f16, where a 1 says that A or B is MN-major. */
#define WGMMA_SS_OF(n, types, majors, count, c1, c2, c3, c4, c5, ...)                              \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.b32 p, %" #c2 ", 0;\n"                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" #n types " {" WGMMA_NAMES_##count "}, "       \
                 "%" #count ", %" #c1 ", p, 1, 1" majors ";\n"                                     \
                 "}\n"                                                                             \
                 : __VA_ARGS__                                                                     \
                 : "l"(a), "l"(b), "r"(accumulate))
#define WGMMA_RS_OF(n, types, major, count, c1, c2, c3, c4, c5, ...)                               \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.b32 p, %" #c5 ", 0;\n"                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" #n types " {" WGMMA_NAMES_##count "}, "       \
                 "{%" #count ", %" #c1 ", %" #c2 ", %" #c3 "}, %" #c4 ", p, 1, 1" major ";\n"      \
                 "}\n"                                                                             \
                 : __VA_ARGS__                                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))

/* The body of a function of n, d, a, b and accumulate: the instruction of every width, of which one is left where n is
 * known. d is a pointer: the compiler does not mind that accumulators which the product sets were not set. */
#define WGMMA_SS(types, majors) switch (n) { WGMMA_WIDTHS(WGMMA_CASE, WGMMA_SS_OF, types, majors) }
#define WGMMA_RS(types, major) switch (n) { WGMMA_WIDTHS(WGMMA_CASE, WGMMA_RS_OF, types, major) }
#define WGMMA_CASE(n, ...) case n: WGMMA_EXPANDED(n, __VA_ARGS__, WGMMA_WIDTH_##n(d)); break;
#define WGMMA_EXPANDED(n, instruction, ...) instruction(n, __VA_ARGS__)
#define WGMMA_WIDTHS(X, ...)                                                                                           \
    X(8, __VA_ARGS__) X(16, __VA_ARGS__) X(24, __VA_ARGS__) X(32, __VA_ARGS__) X(40, __VA_ARGS__) X(48, __VA_ARGS__)   \
    X(56, __VA_ARGS__) X(64, __VA_ARGS__) X(72, __VA_ARGS__) X(80, __VA_ARGS__) X(88, __VA_ARGS__) X(96, __VA_ARGS__)  \
    X(104, __VA_ARGS__) X(112, __VA_ARGS__) X(120, __VA_ARGS__) X(128, __VA_ARGS__) X(136, __VA_ARGS__)                \
    X(144, __VA_ARGS__) X(152, __VA_ARGS__) X(160, __VA_ARGS__) X(168, __VA_ARGS__) X(176, __VA_ARGS__)                \
    X(184, __VA_ARGS__) X(192, __VA_ARGS__) X(200, __VA_ARGS__) X(208, __VA_ARGS__) X(216, __VA_ARGS__)                \
    X(224, __VA_ARGS__) X(232, __VA_ARGS__) X(240, __VA_ARGS__) X(248, __VA_ARGS__) X(256, __VA_ARGS__)
/* clang-format on */

#endif
