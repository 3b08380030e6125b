/* model.h - what common/device calls in the model build: CUDA's words in C, and the hardware's mechanisms as functions.
 *
 * Included by cuda_c.h with -DGEMM_MODEL. A kernel reaches these only through the wrappers of common/device, which
 * describe them; `here` is always the wrapper's place, "file:line". How the model works is in README.md. */
#ifndef MODEL_H
#define MODEL_H

#include <math.h>
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
#define UNROLL_BY(turns)
#define __global__ inline __attribute__((always_inline)) /* see KERNEL_ENTRY */
#define __grid_constant__
/* How many CTAs share an SM, which the registers of a thread depend on: the alignment keeps it, for KERNEL_ENTRY. */
#define __launch_bounds__(...) LAUNCH_BOUNDS(__VA_ARGS__, 1, 1)
#define LAUNCH_BOUNDS(threads, ctas, ...) __attribute__((aligned(64 << (ctas))))
#define __shared__ \
    _Pragma("GCC error \"the model has no __shared__ variables: make it a member of SHARED_MEMORY()'s struct\"")

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

/* Loaded and stored as a whole, which the model must see: clang copies structs by memcpy(), of which it is not told. */
#ifdef __clang__
typedef uint32_t uint4 __attribute__((ext_vector_type(4)));
typedef uint32_t uint2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
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
#endif

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return (uint4){x, y, z, w}; }
static inline float4 make_float4(float x, float y, float z, float w) { return (float4){x, y, z, w}; }

void *model_shared_memory(const char *type, const char *variable, const char *file) __attribute__((const));
#define SHARED_MEMORY(type, name) /* the CTA's dynamic shared memory as a struct, from a 1024-byte boundary on */ \
    type *name = (type *)model_shared_memory(#type, #name, __FILE__)
#define NO_SHARED_MEMORY

/* By threads of a kernel; by the host they are C's. */
void *model_memmove(void *to, const void *from, size_t bytes, const char *here);
void *model_memset(void *to, int value, size_t bytes, const char *here);

/* ---- launch ------------------------------------------------------------------------------------------------------ */

typedef struct {
    void (*entry)(const void *params);
    size_t params_bytes;
    const char *name;
    size_t alignment; /* __launch_bounds__ */
    int launched;
} ModelKernel;

/* The entry copies the parameters from the host, which -fsanitize=thread must not report, and so the kernel is a
 * function apart. It is inlined there: gcc for aarch64 would pass parameters with tensor maps, which are 64-byte
 * aligned, as an argument on a multiple of 16 bytes; a variable is aligned everywhere. The linker lists all kernels
 * side by side. */
#define KERNEL_ENTRY(kernel, Params)                                                                             \
    static __attribute__((noinline)) void kernel##_model_run(const Params *params_) { kernel(*params_); }        \
    static __attribute__((noinline, no_sanitize("thread"), unused)) void kernel##_model_entry(const void *p_) {  \
        const Params params_ = *(const Params *)p_;                                                              \
        kernel##_model_run(&params_);                                                                            \
    }                                                                                                            \
    static ModelKernel kernel##_model = {kernel##_model_entry, sizeof(Params), #kernel, __alignof__(kernel), 0}; \
    __attribute__((used, section("model_kernels"))) static ModelKernel *const kernel##_listed = &kernel##_model; \
    enum { kernel##_params_bytes = sizeof(Params) }
#define KERNEL(kernel) ((const void *)&(kernel##_model)), #kernel

typedef struct {
    int grid;
    int block;
    int cluster;
    int shared_bytes;
    int overlap; /* launches run one after the other, but are judged as if they overlapped */
} LaunchShape;

/* Runs the kernel to its end, or keeps the launch for model_run_launches() (model_host.h). kernel: a ModelKernel.
 * Returns GEMM_DEVICE for a launch that the driver would refuse, GEMM_MODEL_BUG if the model reported a bug. */
GemmStatus model_launch(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                        int overlap, const void *params, const void *stream, GemmError *error);

struct CUstream_st;
static inline GemmStatus launch_grid(const void *kernel, const char *name, int grid, int block, int shared_bytes,
                                     const void *params, struct CUstream_st *stream, GemmError *error) {
    return model_launch(kernel, name, grid, block, 0, shared_bytes, 0, params, stream, error);
}
static inline GemmStatus launch_kernel(const void *kernel, const char *name, LaunchShape shape, const void *params,
                                       struct CUstream_st *stream, GemmError *error) {
    return model_launch(kernel, name, shape.grid, shape.block, shape.cluster, shape.shared_bytes, shape.overlap, params,
                        stream, error);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* What nvcc knows beyond <math.h>. A GPU's rsqrtf() is off by up to 2 units in the last place, and the functions that
 * begin with two underscores are coarser still; these are rounded well. Macros, as the C library has such names. */
static inline float rsqrtf(float x) { return (float)(1 / sqrt((double)x)); }
#define __expf(x) expf(x)
#define __logf(x) logf(x)
static inline float __fdividef(float x, float y) { return x / y; }

static inline float __uint_as_float(unsigned bits) { return model_float(bits); }
static inline unsigned __float_as_uint(float value) { return model_bits(value); }

#ifndef GEMM_EDITOR /* cuda_c.h shows these with their words */
static inline float bf16_to_float(bf16 x) { return matrix_float(x); }
static inline bf16 float_to_bf16(float x) { return matrix_bf16(x); }
static inline uint32_t pack_bf16x2(float low, float high) {
    return (uint32_t)float_to_bf16(low) | (uint32_t)float_to_bf16(high) << 16;
}
#endif

/* ---- threads and warps ------------------------------------------------------------------------------------------- */

void model_syncthreads(const char *here);
void model_syncwarp(uint32_t mask, const char *here);
#define __syncthreads() model_syncthreads(HERE)
#define MODEL_FIRST(first, ...) first
#define __syncwarp(...) model_syncwarp(MODEL_FIRST(__VA_ARGS__ __VA_OPT__(, ) 0xffffffffu), HERE)

typedef enum { MODEL_SHFL_INDEX, MODEL_SHFL_XOR, MODEL_SHFL_UP, MODEL_SHFL_DOWN } ModelShuffle;
/* Among `width` lanes that follow one another. */
uint64_t model_shfl(ModelShuffle how, uint32_t mask, uint64_t value, int which, int width, const char *here);
/* The value as 8 bytes `bits`, and back as what becomes of them. Of CUDA's types, of 4 or 8 bytes; what is smaller than
 * an int becomes one. */
#define MODEL_BY_BITS(value, bits, becomes)              \
    __extension__({                                      \
        __typeof__((value) + 0) value_ = (value);        \
        _Static_assert(sizeof value_ <= 8, "too large"); \
        uint64_t bits = 0;                               \
        __builtin_memcpy(&bits, &value_, sizeof value_); \
        bits = becomes;                                  \
        __builtin_memcpy(&value_, &bits, sizeof value_); \
        value_;                                          \
    })
#define MODEL_SHFL(how, mask, value, which, width, ...) \
    MODEL_BY_BITS(value, bits_, model_shfl(how, mask, bits_, which, width, HERE))
#define __shfl_sync(mask, value, ...) MODEL_SHFL(MODEL_SHFL_INDEX, mask, value, __VA_ARGS__, 32, 0)
#define __shfl_xor_sync(mask, value, ...) MODEL_SHFL(MODEL_SHFL_XOR, mask, value, __VA_ARGS__, 32, 0)
#define __shfl_up_sync(mask, value, ...) MODEL_SHFL(MODEL_SHFL_UP, mask, value, __VA_ARGS__, 32, 0)
#define __shfl_down_sync(mask, value, ...) MODEL_SHFL(MODEL_SHFL_DOWN, mask, value, __VA_ARGS__, 32, 0)

typedef enum { MODEL_VOTE_BALLOT, MODEL_VOTE_ANY, MODEL_VOTE_ALL } ModelVote;
uint32_t model_vote(ModelVote how, uint32_t mask, int predicate, const char *here);
#define __ballot_sync(mask, predicate) model_vote(MODEL_VOTE_BALLOT, mask, (predicate) != 0, HERE)
#define __any_sync(mask, predicate) ((int)model_vote(MODEL_VOTE_ANY, mask, (predicate) != 0, HERE))
#define __all_sync(mask, predicate) ((int)model_vote(MODEL_VOTE_ALL, mask, (predicate) != 0, HERE))

/* all: NULL for match.any; otherwise 1 goes there, and the mask is returned, if all of its lanes have one value. */
uint32_t model_match(uint32_t mask, uint64_t value, int *all, const char *here);
#define MODEL_MATCH(mask, value, all)                                                      \
    __extension__({                                                                        \
        uint32_t same_;                                                                    \
        MODEL_BY_BITS(value, bits_, (same_ = model_match(mask, bits_, all, HERE), bits_)); \
        same_;                                                                             \
    })
#define __match_any_sync(mask, value) MODEL_MATCH(mask, value, NULL)
#define __match_all_sync(mask, value, all) MODEL_MATCH(mask, value, all)

/* The lanes that happen to execute this together: in the model each executes it by itself. */
uint32_t model_activemask(void);
#define __activemask() model_activemask()
void model_nanosleep(unsigned ns);
#define __nanosleep(ns) model_nanosleep(ns)

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
/* The lowest bit that is set, from 1; 0: none. */
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }

float model_exp2(float x);

int model_elect_one(const char *here);

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
typedef enum { MODEL_relaxed, MODEL_acquire, MODEL_release, MODEL_acq_rel, MODEL_SYSTEM } ModelOrder;
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

/* Waits until the word is at least `value`; it may have wrapped around. */
void model_wait_word(const void *p, int value, ModelOrder order, const char *here);

void model_fence(int system, const char *here);
#define __threadfence() model_fence(0, HERE)
#define __threadfence_system() model_fence(1, HERE)
void model_grid_dependency_wait(void);
void model_grid_dependency_launch(void);

/* CUDA's, which are relaxed, by the pointer's type. */
#define MODEL_ATOMIC(op, p, value, expected)        \
    MODEL_BY_BITS((__typeof__(*(p)))(value), bits_, \
                  model_atomic(op, p, (uint32_t)bits_, (uint32_t)(expected), MODEL_relaxed, HERE))
/* clang-format off */
#define atomicAdd(p, value) \
    MODEL_ATOMIC(_Generic(*(p), float: MODEL_ADD_FLOAT, int: MODEL_ADD, unsigned: MODEL_ADD), p, value, 0)
#define atomicMax(p, value) MODEL_ATOMIC(_Generic(*(p), int: MODEL_MAX, unsigned: MODEL_MAX_UNSIGNED), p, value, 0)
#define atomicExch(p, value) \
    MODEL_ATOMIC(_Generic(*(p), float: MODEL_EXCHANGE, int: MODEL_EXCHANGE, unsigned: MODEL_EXCHANGE), p, value, 0)
#define atomicCAS(p, expected, value) \
    MODEL_ATOMIC(_Generic(*(p), int: MODEL_CAS, unsigned: MODEL_CAS), p, value, expected)
/* clang-format on */

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

uint32_t model_shared_address(const void *p);

void model_cp_async_16(void *dst, const void *src, int bytes, const char *here);
void model_cp_async_commit_group(const char *here);
void model_cp_async_wait_group(int newest, const char *here);
void model_cp_async_mbarrier_arrive(void *bar, const char *here);

void model_matrix_x4(int store, uint32_t *r, const void *row, const char *here);
#define model_ldmatrix_x4(r, row, here) model_matrix_x4(0, r, row, here)
#define model_stmatrix_x4(row, r, here) model_matrix_x4(1, (uint32_t *)(uintptr_t)(r), row, here)
void model_mma(float *d, const uint32_t *a, const uint32_t *b, const char *here);

/* `bars` points at an MBarrier array, `name` is the expression it was called with. */
void model_mbarrier_init(void *bars, int how_many, int arrivals, const char *name, const char *here);
void model_mbarrier_init_fence(const char *here);
void model_mbarrier_complete_tx(void *bar, int bytes, const char *here);
/* What a thread does at the barrier of CTA `rank`, -1: its own. */
typedef enum {
    MODEL_ARRIVE,
    MODEL_ARRIVE_REMOTE,  /* of .cta scope */
    MODEL_ARRIVE_CLUSTER, /* of .cluster scope */
    MODEL_EXPECT,         /* bytes; without an arrival, and with one; of another CTA */
    MODEL_ARRIVE_EXPECT,
    MODEL_ARRIVE_EXPECT_REMOTE
} ModelDeed;
void model_mbarrier_do(ModelDeed deed, void *bar, int rank, int bytes, const char *here);
/* How a thread asks whether a phase is complete. MODEL_TEST: once. MODEL_TRY: once, but other threads may run first,
 * because the manual does not say how long try_wait suspends a thread. MODEL_WAIT, MODEL_WAIT_CLUSTER: until the phase
 * is complete, with an acquire of .cta or .cluster scope. */
typedef enum { MODEL_TEST, MODEL_TRY, MODEL_WAIT, MODEL_WAIT_CLUSTER } ModelAsking;
int model_mbarrier_ask(ModelAsking how, void *bar, uint32_t parity, const char *here);

/* tensor_map_2d() of tma.h: a bf16 matrix [rows][ld] of which the first `cols` elements of a row count; swizzle is a
 * Swizzle of tma.h. Returns GEMM_DEVICE if an argument is not acceptable, and names it and what is accepted. `name`
 * must outlive the map. Host. */
GemmStatus model_tensor_map_2d(TensorMap *map, const char *name, const bf16 *base, int rows, int cols, int ld,
                               int box_rows, int box_cols, int swizzle, GemmError *error);
/* tensor_map_nd() of tma_nd.h: type is an ElementType, the rest a Tensor's. */
GemmStatus model_tensor_map_nd(TensorMap *map, const char *name, int type, int rank, const void *base,
                               const uint64_t *size, const uint64_t *stride, const uint32_t *box, int swizzle,
                               GemmError *error);
void model_tma_prefetch_map(const TensorMap *map, const char *here);
/* Of the coordinates the first `rank` count. mask: of the CTAs of the cluster; 0: this CTA, without multicast. */
void model_tma_load(void *dst, const TensorMap *map, int rank, int c0, int c1, int c2, int c3, int c4, void *bar,
                    int mask, const char *here);
/* Its barrier is that of the even CTA of the pair. */
enum { MODEL_PAIR = 1 << 16 }; /* in a mask of targets: of a pair, whose barrier is the even CTA's */
/* add: reduce into global memory instead of overwriting it. */
void model_tma_store(const TensorMap *map, const void *src, int rank, int c0, int c1, int c2, int c3, int c4, int add,
                     const char *here);
void model_bulk_load(void *dst, const void *src, int bytes, void *bar, const char *here);
void model_bulk_store(void *dst, const void *src, int bytes, const char *here);
void model_bulk_commit_group(const char *here);
void model_bulk_wait_group(int newest, int read, const char *here);
/* By the bits of Space in access.h. */
typedef enum { MODEL_FENCE_SHARED = 1, MODEL_FENCE_GLOBAL = 2, MODEL_FENCE_ALL = 3 } ModelFence;
void model_fence_proxy(ModelFence spaces);

void model_wgmma_fence(const char *here);
/* n: columns of the product; majors: 1 if the operand is MN-major. */
/* a_registers: A is there; NULL: it is in shared memory, by descriptor a. */
void model_wgmma(MatrixType type, int n, float *d, const uint32_t *a_registers, uint64_t a, uint64_t b, int accumulate,
                 int a_major, int b_major, const char *here);
#define model_wgmma_ss(type, n, d, ...) model_wgmma(type, n, d, NULL, __VA_ARGS__)
#define model_wgmma_rs(type, n, d, a, b, accumulate, ...) model_wgmma(type, n, d, a, 0, b, accumulate, 0, __VA_ARGS__)
void model_wgmma_commit_group(const char *here);
void model_wgmma_wait_group(int newest, const char *here);

/* pair: cta_group::2. targets: of a pair's commit, the CTAs whose barriers it tells, a mask. */
void model_tcgen05_alloc(uint32_t *to, int columns, int pair, const char *here);
void model_tcgen05_dealloc(uint32_t address, int columns, int pair, const char *here);
void model_tcgen05_relinquish(int pair, const char *here);
void model_tcgen05_access(int write, int n, const uint32_t *registers, uint32_t address, const char *here);
void model_tcgen05_wait(int stores, const char *here);
void model_tcgen05_fence(int after);
/* a, b: descriptors; the scales of kinds that have them are in tensor memory. */
void model_tcgen05_mma(Tcgen05Kind kind, int pair, uint32_t d, uint64_t a, uint64_t b, uint32_t shape,
                       uint32_t a_scales, uint32_t b_scales, int accumulate, const char *here);
void model_tcgen05_cp(int pair, uint32_t to, uint64_t from, const char *here);
void model_tcgen05_commit(void *bar, int pair, int targets, const char *here);
void model_registers_settled(const float *d, int count);

void model_launch_try_cancel_multicast(void *answer, void *bar, const char *here);
int model_launch_query_cancel(const void *answer, int *first_cta, const char *here);

/* ---- shared memory of the other CTAs of a cluster ---------------------------------------------------------------- */

/* Of the same place as p in CTA `rank`. */
void model_cluster_access(int store, const void *p, int rank, void *value, int bytes, const char *here);
void model_st_async(const void *p, int rank, const void *from, int bytes, void *bar, const char *here);
#define MODEL_CLUSTER_LOAD(name, type)                                                        \
    static inline type model_cluster_load_##name(const void *p, int rank, const char *here) { \
        type value;                                                                           \
        model_cluster_access(0, p, rank, &value, (int)sizeof value, here);                    \
        return value;                                                                         \
    }
#define MODEL_CLUSTER_STORE(name, type)                                                                          \
    static inline void model_cluster_store_##name(const void *p, int rank, type value, const char *here) {       \
        model_cluster_access(1, p, rank, &value, (int)sizeof value, here);                                       \
    }                                                                                                            \
    static inline void model_st_async_##name(const void *p, int rank, type value, void *bar, const char *here) { \
        model_st_async(p, rank, &value, (int)sizeof value, bar, here);                                           \
    }
MODEL_CLUSTER_LOAD(u32, uint32_t)
MODEL_CLUSTER_LOAD(f32, float)
MODEL_CLUSTER_STORE(u32, uint32_t)
MODEL_CLUSTER_STORE(v4, uint4)

#endif
