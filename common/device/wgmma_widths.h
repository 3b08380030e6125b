/* wgmma_widths.h - the operands of a wgmma of every width, for wgmma.h.
 *
 * The instruction's text refers to its operands by number: first the n / 2 accumulators d, then what follows them. FORM
 * is WGMMA_SS or WGMMA_RS. */
#ifndef WGMMA_WIDTHS_H
#define WGMMA_WIDTHS_H

/* Names of the accumulators of width 32, 64, .. */
#define WGMMA_N32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_N64 WGMMA_N32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_N96 WGMMA_N64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_N128 WGMMA_N96 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_N160 WGMMA_N128 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_N192 WGMMA_N160 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_N224 \
    WGMMA_N192 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_N256 \
    WGMMA_N224 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

/* Accumulators d[i], .. */
#define WGMMA_R4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_R16(i) WGMMA_R4(i), WGMMA_R4(i + 4), WGMMA_R4(i + 8), WGMMA_R4(i + 12)
#define WGMMA_R64(i) WGMMA_R16(i), WGMMA_R16(i + 16), WGMMA_R16(i + 32), WGMMA_R16(i + 48)

/* clang-format off */

/* The instruction of width n, a constant where this is inlined, so one case remains. A case has the instruction, the
 * numbers of the six operands after the accumulators, the accumulators' names, and the accumulators. */
#define WGMMA_ANY(n, FORM, types, majors) \
    switch (n) { \
    case 8: FORM("m64n8" types, majors, 4, 5, 6, 7, 8, 9, "%0, %1, %2, %3", WGMMA_R4(0)); break; \
    case 16: FORM("m64n16" types, majors, 8, 9, 10, 11, 12, 13, "%0, %1, %2, %3, %4, %5, %6, %7", \
        WGMMA_R4(0), WGMMA_R4(4)); break; \
    case 24: FORM("m64n24" types, majors, 12, 13, 14, 15, 16, 17, "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11", \
        WGMMA_R4(0), WGMMA_R4(4), WGMMA_R4(8)); break; \
    case 32: FORM("m64n32" types, majors, 16, 17, 18, 19, 20, 21, WGMMA_N32, WGMMA_R16(0)); break; \
    case 40: FORM("m64n40" types, majors, 20, 21, 22, 23, 24, 25, WGMMA_N32 ", %16, %17, %18, %19", \
        WGMMA_R16(0), WGMMA_R4(16)); break; \
    case 48: FORM("m64n48" types, majors, 24, 25, 26, 27, 28, 29, \
        WGMMA_N32 ", %16, %17, %18, %19, %20, %21, %22, %23", WGMMA_R16(0), WGMMA_R4(16), WGMMA_R4(20)); break; \
    case 56: FORM("m64n56" types, majors, 28, 29, 30, 31, 32, 33, \
        WGMMA_N32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27", \
        WGMMA_R16(0), WGMMA_R4(16), WGMMA_R4(20), WGMMA_R4(24)); break; \
    case 64: FORM("m64n64" types, majors, 32, 33, 34, 35, 36, 37, WGMMA_N64, WGMMA_R16(0), WGMMA_R16(16)); break; \
    case 72: FORM("m64n72" types, majors, 36, 37, 38, 39, 40, 41, WGMMA_N64 ", %32, %33, %34, %35", \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R4(32)); break; \
    case 80: FORM("m64n80" types, majors, 40, 41, 42, 43, 44, 45, \
        WGMMA_N64 ", %32, %33, %34, %35, %36, %37, %38, %39", \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R4(32), WGMMA_R4(36)); break; \
    case 88: FORM("m64n88" types, majors, 44, 45, 46, 47, 48, 49, \
        WGMMA_N64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43", \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R4(32), WGMMA_R4(36), WGMMA_R4(40)); break; \
    case 96: FORM("m64n96" types, majors, 48, 49, 50, 51, 52, 53, WGMMA_N96, \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R16(32)); break; \
    case 104: FORM("m64n104" types, majors, 52, 53, 54, 55, 56, 57, WGMMA_N96 ", %48, %49, %50, %51", \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R16(32), WGMMA_R4(48)); break; \
    case 112: FORM("m64n112" types, majors, 56, 57, 58, 59, 60, 61, \
        WGMMA_N96 ", %48, %49, %50, %51, %52, %53, %54, %55", \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R16(32), WGMMA_R4(48), WGMMA_R4(52)); break; \
    case 120: FORM("m64n120" types, majors, 60, 61, 62, 63, 64, 65, \
        WGMMA_N96 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59", \
        WGMMA_R16(0), WGMMA_R16(16), WGMMA_R16(32), WGMMA_R4(48), WGMMA_R4(52), WGMMA_R4(56)); break; \
    case 128: FORM("m64n128" types, majors, 64, 65, 66, 67, 68, 69, WGMMA_N128, WGMMA_R64(0)); break; \
    case 136: FORM("m64n136" types, majors, 68, 69, 70, 71, 72, 73, WGMMA_N128 ", %64, %65, %66, %67", \
        WGMMA_R64(0), WGMMA_R4(64)); break; \
    case 144: FORM("m64n144" types, majors, 72, 73, 74, 75, 76, 77, \
        WGMMA_N128 ", %64, %65, %66, %67, %68, %69, %70, %71", WGMMA_R64(0), WGMMA_R4(64), WGMMA_R4(68)); break; \
    case 152: FORM("m64n152" types, majors, 76, 77, 78, 79, 80, 81, \
        WGMMA_N128 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75", \
        WGMMA_R64(0), WGMMA_R4(64), WGMMA_R4(68), WGMMA_R4(72)); break; \
    case 160: FORM("m64n160" types, majors, 80, 81, 82, 83, 84, 85, WGMMA_N160, WGMMA_R64(0), WGMMA_R16(64)); break; \
    case 168: FORM("m64n168" types, majors, 84, 85, 86, 87, 88, 89, WGMMA_N160 ", %80, %81, %82, %83", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R4(80)); break; \
    case 176: FORM("m64n176" types, majors, 88, 89, 90, 91, 92, 93, \
        WGMMA_N160 ", %80, %81, %82, %83, %84, %85, %86, %87", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R4(80), WGMMA_R4(84)); break; \
    case 184: FORM("m64n184" types, majors, 92, 93, 94, 95, 96, 97, \
        WGMMA_N160 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R4(80), WGMMA_R4(84), WGMMA_R4(88)); break; \
    case 192: FORM("m64n192" types, majors, 96, 97, 98, 99, 100, 101, WGMMA_N192, \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80)); break; \
    case 200: FORM("m64n200" types, majors, 100, 101, 102, 103, 104, 105, WGMMA_N192 ", %96, %97, %98, %99", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R4(96)); break; \
    case 208: FORM("m64n208" types, majors, 104, 105, 106, 107, 108, 109, \
        WGMMA_N192 ", %96, %97, %98, %99, %100, %101, %102, %103", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R4(96), WGMMA_R4(100)); break; \
    case 216: FORM("m64n216" types, majors, 108, 109, 110, 111, 112, 113, \
        WGMMA_N192 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R4(96), WGMMA_R4(100), WGMMA_R4(104)); break; \
    case 224: FORM("m64n224" types, majors, 112, 113, 114, 115, 116, 117, WGMMA_N224, \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R16(96)); break; \
    case 232: FORM("m64n232" types, majors, 116, 117, 118, 119, 120, 121, WGMMA_N224 ", %112, %113, %114, %115", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R16(96), WGMMA_R4(112)); break; \
    case 240: FORM("m64n240" types, majors, 120, 121, 122, 123, 124, 125, \
        WGMMA_N224 ", %112, %113, %114, %115, %116, %117, %118, %119", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R16(96), WGMMA_R4(112), WGMMA_R4(116)); break; \
    case 248: FORM("m64n248" types, majors, 124, 125, 126, 127, 128, 129, \
        WGMMA_N224 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123", \
        WGMMA_R64(0), WGMMA_R16(64), WGMMA_R16(80), WGMMA_R16(96), \
        WGMMA_R4(112), WGMMA_R4(116), WGMMA_R4(120)); break; \
    case 256: FORM("m64n256" types, majors, 128, 129, 130, 131, 132, 133, WGMMA_N256, \
        WGMMA_R64(0), WGMMA_R64(64)); break; \
    }
/* clang-format on */

#endif
