/* model.h - what common/device calls in the model build: CUDA's words in C, and the hardware's mechanisms as functions.
 *
 * Included by cuda_c.h with -DGEMM_MODEL. A kernel reaches these only through the wrappers of common/device, which
 * describe them; `here` is always the wrapper's place, "file:line". How the model works is in README.md. */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "../device/status.h"
#include "data/element.h"
#include "data/tensor_map.h"

/* ---- CUDA's words ------------------------------------------------------------------------------------------------ */

#define DEVICE static inline
#define HOST_DEVICE static inline
#define UNROLL
#define UNROLL_ONCE
#define __global__ inline __attribute__((always_inline)) /* see KERNEL_ENTRY */
#define __grid_constant__
#define __launch_bounds__(...)

typedef struct {
    unsigned x, y, z;
} ModelIndex;

/* Constant during the life of a CUDA thread, so the compiler may call them once. */
ModelIndex model_thread_idx(void) __attribute__((const));
ModelIndex model_block_idx(void) __attribute__((const));
ModelIndex model_block_dim(void) __attribute__((const));
ModelIndex model_grid_dim(void) __attribute__((const));
#define threadIdx (model_thread_idx())
#define blockIdx (model_block_idx())
#define blockDim (model_block_dim())
#define gridDim (model_grid_dim())
#define warpSize 32

/* Loaded and stored as a whole, which the model is to see: clang copies a struct by memcpy(), which -fsanitize=thread does
 * not tell it. */
#ifdef __clang__
typedef uint32_t uint4 __attribute__((ext_vector_type(4)));
typedef uint32_t uint2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
#else
typedef struct __attribute__((aligned(16), may_alias)) {
    uint32_t x, y, z, w;
} uint4;
typedef struct __attribute__((aligned(8), may_alias)) {
    uint32_t x, y;
} uint2;
typedef struct __attribute__((aligned(16), may_alias)) {
    float x, y, z, w;
} float4;
typedef struct __attribute__((aligned(8), may_alias)) {
    float x, y;
} float2;
#endif

/* The CTA's dynamic shared memory; starts at a 1024-byte boundary. */
void *model_shared_memory(const char *type, const char *variable, const char *file) __attribute__((const));
#define SHARED_MEMORY(type, name) type *name = (type *)model_shared_memory(#type, #name, __FILE__)
#define NO_SHARED_MEMORY

/* ---- launch ------------------------------------------------------------------------------------------------------ */

/* The entry copies the parameters from the host, of which -fsanitize=thread must not tell, and so the kernel is a function
 * apart. It is inlined there: gcc for aarch64 would pass parameters with tensor maps, which are 64-byte aligned, as an
 * argument on a multiple of 16 bytes; a variable is aligned everywhere. */
#define KERNEL_ENTRY(kernel, Params)                                                                            \
    static __attribute__((noinline)) void kernel##_model_run(const Params *params_) { kernel(*params_); }       \
    static __attribute__((noinline, no_sanitize("thread"), unused)) void kernel##_model_entry(const void *p_) { \
        const Params params_ = *(const Params *)p_;                                                             \
        kernel##_model_run(&params_);                                                                           \
    }                                                                                                           \
    enum { kernel##_params_bytes = sizeof(Params) }
#define KERNEL(kernel) ((const void *)(kernel##_model_entry)), #kernel

typedef struct {
    int grid;
    int block;
    int cluster;
    int shared_bytes;
    int overlap; /* launches run one after the other, but are judged as if they overlapped */
} LaunchShape;

/* Runs the kernel to its end. Returns GEMM_DEVICE after one line on stderr for a launch that the driver would refuse,
 * GEMM_MODEL_BUG if the model reported a bug. */
GemmStatus model_launch(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                        int overlap, const void *params);

struct CUstream_st;
static inline GemmStatus launch_kernel(const void *kernel, const char *name, LaunchShape shape, const void *params,
                                       struct CUstream_st *stream) {
    (void)stream;
    return model_launch(kernel, name, shape.grid, shape.block, shape.cluster, shape.shared_bytes, shape.overlap,
                        params);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

static inline float model_float(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } x = {bits};
    return x.f;
}

static inline uint32_t model_bits(float value) {
    union {
        float f;
        uint32_t u;
    } x = {value};
    return x.u;
}

static inline float bf16_to_float(bf16 x) { return model_float((uint32_t)x << 16); }

/* Round to nearest even; NaN becomes 0x7fff, as cvt.rn.bf16.f32 gives it. */
static inline bf16 float_to_bf16(float x) {
    uint32_t u = model_bits(x);
    if ((u & 0x7fffffff) > 0x7f800000) {
        return 0x7fff;
    }
    return (bf16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline uint32_t pack_bf16x2(float low, float high) {
    return (uint32_t)float_to_bf16(low) | (uint32_t)float_to_bf16(high) << 16;
}

/* Hides a value from nvcc's optimiser; nothing to do here. */
static inline int recomputed(int x) { return x; }

/* ---- threads and warps ------------------------------------------------------------------------------------------- */

void model_syncthreads(const char *here);
void model_syncwarp(uint32_t mask, const char *here);
#define __syncthreads() model_syncthreads(HERE)
#define MODEL_FIRST(first, ...) first
#define __syncwarp(...) model_syncwarp(MODEL_FIRST(__VA_ARGS__ __VA_OPT__(, ) 0xffffffffu), HERE)

typedef enum { MODEL_SHFL_INDEX, MODEL_SHFL_XOR, MODEL_SHFL_UP, MODEL_SHFL_DOWN } ModelShuffle;
uint64_t model_shfl(ModelShuffle how, uint32_t mask, uint64_t value, int which, const char *here);
/* CUDA's types; what is smaller than an int becomes one, and any other type is an error. */
#define MODEL_SHFL_OF(name, type)                                                                                    \
    static inline type model_shfl_##name(ModelShuffle how, uint32_t mask, type value, int which, const char *here) { \
        return (type)model_shfl(how, mask, (uint64_t)value, which, here);                                            \
    }
MODEL_SHFL_OF(int, int)
MODEL_SHFL_OF(unsigned, unsigned)
MODEL_SHFL_OF(long, long)
MODEL_SHFL_OF(unsigned_long, unsigned long)
MODEL_SHFL_OF(long_long, long long)
MODEL_SHFL_OF(unsigned_long_long, unsigned long long)
static inline float model_shfl_float(ModelShuffle how, uint32_t mask, float value, int which, const char *here) {
    return model_float((uint32_t)model_shfl(how, mask, model_bits(value), which, here));
}
static inline double model_shfl_double(ModelShuffle how, uint32_t mask, double value, int which, const char *here) {
    union {
        double d;
        uint64_t u;
    } x = {value};
    x.u = model_shfl(how, mask, x.u, which, here);
    return x.d;
}
/* clang-format off */
#define MODEL_SHFL(how, mask, value, which)                        \
    _Generic((value) + 0,                                          \
             int: model_shfl_int,                                  \
             unsigned: model_shfl_unsigned,                        \
             long: model_shfl_long,                                \
             unsigned long: model_shfl_unsigned_long,              \
             long long: model_shfl_long_long,                      \
             unsigned long long: model_shfl_unsigned_long_long,    \
             float: model_shfl_float,                              \
             double: model_shfl_double)(how, mask, value, which, HERE)
/* clang-format on */
#define __shfl_sync(mask, value, lane) MODEL_SHFL(MODEL_SHFL_INDEX, mask, value, lane)
#define __shfl_xor_sync(mask, value, bits) MODEL_SHFL(MODEL_SHFL_XOR, mask, value, bits)
#define __shfl_up_sync(mask, value, delta) MODEL_SHFL(MODEL_SHFL_UP, mask, value, delta)
#define __shfl_down_sync(mask, value, delta) MODEL_SHFL(MODEL_SHFL_DOWN, mask, value, delta)

int model_elect_one(const char *here);
#define elect_one() model_elect_one(HERE)
#define warp_uniform(value) model_shfl_int(MODEL_SHFL_INDEX, 0xffffffffu, value, 0, HERE)

void model_named_barrier_sync(int id, int threads, const char *here);
void model_named_barrier_arrive(int id, int threads, const char *here);
void model_setmaxnreg(int increase, int registers, const char *here);

int model_cluster_cta_rank(void) __attribute__((const));
void model_cluster_arrive(int release, const char *here);
void model_cluster_wait(const char *here);

/* The thread takes a tile of C. */
void model_tile_taken(int row, int col);

/* ---- global memory ----------------------------------------------------------------------------------------------- */

/* The bits of MemoryOrder in core/types.h. */
typedef enum { MODEL_relaxed, MODEL_acquire, MODEL_release, MODEL_acq_rel } ModelOrder;
typedef enum {
    MODEL_ADD,
    MODEL_MAX, /* of int */
    MODEL_MAX_UNSIGNED,
    MODEL_EXCHANGE,
    MODEL_CAS, /* `value` if the word is `expected` */
    MODEL_ADD_FLOAT,
} ModelAtomic;
/* On 4 bytes, of global or shared memory; returns what they were. */
uint32_t model_atomic(ModelAtomic op, void *p, uint32_t value, uint32_t expected, ModelOrder order, const char *here);
uint32_t model_load(const void *p, ModelOrder order, const char *here);
void model_store(void *p, uint32_t value, ModelOrder order, const char *here);

void model_fence_gpu(const char *here);
#define __threadfence() model_fence_gpu(HERE)
void model_grid_dependency_wait(void);
void model_grid_dependency_launch(void);

/* CUDA's, which are relaxed, by the pointer's type. */
#define MODEL_ATOMIC_OF(name, type, op, bits, value_of)                            \
    static inline type model_##name(type *p, type value, const char *here) {       \
        return value_of(model_atomic(op, p, bits(value), 0, MODEL_relaxed, here)); \
    }
#define MODEL_BITS(x) ((uint32_t)(x))
#define MODEL_INT(x) ((int)(x))
MODEL_ATOMIC_OF(atomic_add_int, int, MODEL_ADD, MODEL_BITS, MODEL_INT)
MODEL_ATOMIC_OF(atomic_add_unsigned, unsigned, MODEL_ADD, MODEL_BITS, MODEL_BITS)
MODEL_ATOMIC_OF(atomic_add_float, float, MODEL_ADD_FLOAT, model_bits, model_float)
MODEL_ATOMIC_OF(atomic_max_int, int, MODEL_MAX, MODEL_BITS, MODEL_INT)
MODEL_ATOMIC_OF(atomic_max_unsigned, unsigned, MODEL_MAX_UNSIGNED, MODEL_BITS, MODEL_BITS)
MODEL_ATOMIC_OF(atomic_exchange_int, int, MODEL_EXCHANGE, MODEL_BITS, MODEL_INT)
MODEL_ATOMIC_OF(atomic_exchange_unsigned, unsigned, MODEL_EXCHANGE, MODEL_BITS, MODEL_BITS)
MODEL_ATOMIC_OF(atomic_exchange_float, float, MODEL_EXCHANGE, model_bits, model_float)
/* clang-format off */
#define atomicAdd(p, value)                                                                                   \
    _Generic((p), float *: model_atomic_add_float, int *: model_atomic_add_int,                               \
             unsigned *: model_atomic_add_unsigned)(p, value, HERE)
#define atomicMax(p, value)                                                                                   \
    _Generic((p), int *: model_atomic_max_int, unsigned *: model_atomic_max_unsigned)(p, value, HERE)
#define atomicExch(p, value)                                                                                  \
    _Generic((p), float *: model_atomic_exchange_float, int *: model_atomic_exchange_int,                     \
             unsigned *: model_atomic_exchange_unsigned)(p, value, HERE)
/* clang-format on */
static inline int model_cas_int(int *p, int expected, int value, const char *here) {
    return (int)model_atomic(MODEL_CAS, p, (uint32_t)value, (uint32_t)expected, MODEL_relaxed, here);
}
static inline unsigned model_cas_unsigned(unsigned *p, unsigned expected, unsigned value, const char *here) {
    return model_atomic(MODEL_CAS, p, value, expected, MODEL_relaxed, here);
}
#define atomicCAS(p, expected, value) \
    _Generic((p), int * : model_cas_int, unsigned * : model_cas_unsigned)(p, expected, value, HERE)

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

uint32_t model_shared_address(const void *p);
#define shared_address(p) model_shared_address(p)

void model_cp_async_16(void *dst, const void *src, int bytes, const char *here);
void model_cp_async_commit_group(const char *here);
void model_cp_async_wait_group(int newest, const char *here);

/* trans: every 8x8 matrix is transposed. */
void model_ldmatrix_x4(uint32_t *r, const void *row, int trans, const char *here);
void model_stmatrix_x4(void *row, const uint32_t *r, const char *here);
void model_mma(MatrixType type, float *d, const uint32_t *a, const uint32_t *b, const char *here);

/* `bars` points at an MBarrier array, `name` is the expression it was called with. */
void model_mbarrier_init(void *bars, int how_many, int arrivals, const char *name, const char *here);
void model_mbarrier_init_fence(const char *here);
void model_mbarrier_arrive_count(void *bar, int count, const char *here);
static inline void model_mbarrier_arrive(void *bar, const char *here) { model_mbarrier_arrive_count(bar, 1, here); }
void model_mbarrier_arrive_remote(void *bar, int rank, const char *here);
void model_mbarrier_expect_tx(void *bar, int bytes, const char *here);
void model_mbarrier_arrive_expect_tx(void *bar, int bytes, const char *here);
void model_mbarrier_complete_tx(void *bar, int bytes, const char *here);
int model_mbarrier_test_wait_parity(void *bar, uint32_t parity, const char *here);
void model_mbarrier_wait_parity(void *bar, uint32_t parity, const char *here);

/* tensor_map_2d() of tma.h: a bf16 matrix [rows][ld] of which the first `cols` elements of a row count; swizzle is a
 * Swizzle of tma.h. Returns GEMM_DEVICE after one line on stderr that says which argument is not acceptable and what
 * would be. `name` must outlive the map. Host. */
GemmStatus model_tensor_map_2d(TensorMap *map, const char *name, const bf16 *base, int rows, int cols, int ld,
                               int box_rows, int box_cols, int swizzle);
/* tensor_map_nd() of tma_nd.h: type is an ElementType, the rest a Tensor's. */
GemmStatus model_tensor_map_nd(TensorMap *map, const char *name, int type, int rank, const void *base,
                               const uint64_t *size, const uint64_t *stride, const uint32_t *box, int swizzle,
                               int fill_nan);
void model_tma_prefetch_map(const TensorMap *map, const char *here);
/* Of the coordinates the first `rank` count. mask: of the CTAs of the cluster; 0: this CTA, without multicast. */
void model_tma_load(void *dst, const TensorMap *map, int rank, int c0, int c1, int c2, int c3, int c4, void *bar,
                    int mask, const char *here);
/* add: reduce into global memory instead of overwriting it. */
void model_tma_store(const TensorMap *map, const void *src, int rank, int c0, int c1, int c2, int c3, int c4, int add,
                     const char *here);
void model_bulk_load(void *dst, const void *src, int bytes, void *bar, const char *here);
void model_bulk_store(void *dst, const void *src, int bytes, const char *here);
void model_bulk_commit_group(const char *here);
void model_bulk_wait_group(int newest, int read, const char *here);
/* shared, global: memory that it is for. */
void model_fence_proxy_async(int shared, int global);

void model_wgmma_fence(const char *here);
/* n: columns of the product; majors: 1 if the operand is MN-major. */
void model_wgmma_ss(int n, float *d, uint64_t a, uint64_t b, int accumulate, int a_major, int b_major,
                    const char *here);
void model_wgmma_rs(int n, float *d, const uint32_t *a, uint64_t b, int accumulate, int b_major, const char *here);
/* Of another type than bf16; both operands K-major. */
void model_wgmma_ss_of(MatrixType type, int n, float *d, uint64_t a, uint64_t b, int accumulate, const char *here);
void model_wgmma_rs_of(MatrixType type, int n, float *d, const uint32_t *a, uint64_t b, int accumulate,
                       const char *here);
void model_wgmma_commit_group(const char *here);
void model_wgmma_wait_group(int newest, const char *here);

#endif
