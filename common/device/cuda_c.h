/* cuda_c.h - what all kernels are written with. "PTX 9.7.x" in a comment is a section of the PTX ISA manual 9.1. */
#ifndef CUDA_C_H
#define CUDA_C_H

/* With these names one source file is both CUDA C++ (for the GPU) and C11 (for the CPU model).
 *
 * Chapters are written in the common subset: no templates, references, classes, lambdas, overloads; constants are
 * enums; helpers are static inline. Kernels reach the hardware only through the wrappers in this directory; each is one
 * PTX instruction or the smallest useful group, named in PTX's and CUTLASS's terms. In the model build every wrapper is
 * a macro of the same name that calls common/model and says where it was called. */

#ifndef __cplusplus
#include <assert.h> /* static_assert */
#endif
#include <stdint.h>

#include "status.h"

#define STRINGIFY_TOKEN(x) #x
#define STRINGIFY(x) STRINGIFY_TOKEN(x)
#define HERE __FILE__ ":" STRINGIFY(__LINE__) /* the source line, as a string literal */

/* A bfloat16 by its bits: 1 sign, 8 exponent, 7 fraction. */
typedef uint16_t bf16;

/* An 8-bit float by its bits: 1 sign, 4 exponent, 3 fraction. No infinities; 0x7f and 0xff are NaN, 448 is the
 * largest. */
typedef uint8_t e4m3;

/* cudaStream_t, without CUDA's headers. */
typedef struct CUstream_st *Stream;

/* The functions of this directory's headers have their comments and their PTX under PTX_FUNCTIONS: for nvcc, and for an
 * editor, which shows them where a chapter calls the model's macros (.clangd). */
#if defined(__CUDACC__) || defined(GEMM_EDITOR)
#define PTX_FUNCTIONS
#endif

#if defined(GEMM_MODEL)
#include "../model/model.h"
#elif !defined(__CUDACC__)
/* Host code that includes this only for types and for functions that host and kernel share. */
#define HOST_DEVICE static inline
#else

#include <cuda.h>
#include <cuda_runtime.h>

/* Functions of a kernel. Always inlined, so that register arrays keep compile-time indices. */
#define DEVICE static __device__ __forceinline__
/* Functions that host and kernel share. */
#define HOST_DEVICE static __host__ __device__ __forceinline__
/* Before a loop over register arrays: without it the arrays move to local memory. */
#define UNROLL _Pragma("unroll")
#define UNROLL_ONCE _Pragma("unroll 1")
/* Unrolls by `turns`, even if the number of turns is not known: the end of a turn and the beginning of the next are
 * then one piece of code, which the compiler interleaves. */
#define UNROLL_BY(turns) _Pragma(STRINGIFY(unroll turns))

#define SHARED_MEMORY(type, name)                                                                                      \
    /* The CTA's dynamic shared memory as a struct: `SHARED_MEMORY(Shared, s);` declares `Shared *s`. It starts at a \
       1024-byte boundary, which the 128-byte swizzle pattern needs. */ \
    extern __shared__ __align__(1024) uint8_t shared_memory[];                                                         \
    type *name = (type *)shared_memory
/* In place of SHARED_MEMORY() in a kernel that uses none. */
#define NO_SHARED_MEMORY

/* `KERNEL_ENTRY(gemm_kernel, Params);` after a kernel lets the model call it; here there is nothing to do. */
#define KERNEL_ENTRY(kernel, Params) enum { kernel##_params_bytes = sizeof(Params) }

#endif

#ifdef PTX_FUNCTIONS

#ifdef GEMM_EDITOR /* an editor need not understand the instructions */
void asm(const char *);
#define asm(...) ((void)0)
#define volatile(...) ("")
uint64_t __cvta_generic_to_shared(const void *p);
#endif

/* Address in the window of shared memory, as PTX takes it. Valid in this CTA. */
DEVICE uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* Exact. */
DEVICE float bf16_to_float(bf16 x) { return __uint_as_float((uint32_t)x << 16); }

/* Round to nearest even. */
DEVICE bf16 float_to_bf16(float x) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

/* Rounds two floats to bf16: `low` in bits 0-15, `high` in bits 16-31. */
DEVICE uint32_t pack_bf16x2(float low, float high) {
    uint32_t y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

/* Returns lane 0's value in all lanes, so the compiler knows that the warp has one value. All 32 threads call it. */
DEVICE int warp_uniform(int value) { return __shfl_sync(0xffffffffu, value, 0); }

/* True in one thread of the warp, the same one every time. All 32 threads call it, in the `if` around TMA instructions:
 * with `threadIdx.x == 0`, or with a variable that keeps the answer, ptxas wraps each instruction in a loop over the
 * warp. PTX 9.7.13.14 (elect.sync). */
DEVICE int elect_one(void) {
    uint32_t chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    return (int)chosen;
}

/* Returns x, but the compiler does not know that: it computes what depends on x inside the loop, and keeps no registers
 * for it throughout the loop. */
DEVICE int recomputed(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

#elif defined(GEMM_MODEL)

#define elect_one() model_elect_one(HERE)
#define warp_uniform(value) __shfl_sync(0xffffffffu, value, 0)
#define shared_address(p) model_shared_address(p)
#define recomputed(x) (x)
#include <string.h>
/* The C library's functions, of which -fsanitize=thread does not tell the model. */
#define memcpy(...) model_memmove(__VA_ARGS__, HERE)
#define memmove(...) model_memmove(__VA_ARGS__, HERE)
#define memset(...) model_memset(__VA_ARGS__, HERE)

#endif

#endif
