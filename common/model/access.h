/* access.h - an access to memory, as mechanisms post it and the judge of order remembers it, and tables of what there
 * is. A new instruction that touches memory is a line of ACCESSES, a new kind of memory one of SPACES (order.c names
 * its places, cells.c keeps its cells). */
#ifndef MODEL_ACCESS_H
#define MODEL_ACCESS_H

#include "core/types.h"

/* SPACE(id, which rule a read too early breaks, a write too early, a second write; 1 if a proxy fence must cover reads,
 * too, before the async proxy overwrites them; which fence is missing; how many reads and atomic accesses of a cell are
 * remembered). */
#define SPACES_OF(SPACE)                                                                                            \
    SPACE(SHARED, RACE_RAW, RACE_WAR, RACE_WAW, 1,                                                                  \
          "the thread of the earlier access must execute fence_proxy_async() after it and before the barrier that " \
          "orders the two",                                                                                         \
          1 << 30)                                                                                                  \
    SPACE(GLOBAL, GLOBAL_CONFLICT, GLOBAL_CONFLICT, GLOBAL_CONFLICT, 0,                                             \
          "fence_proxy_async_global() after the earlier access: by its thread before it hands the data on, or by "  \
          "this thread before the copy",                                                                            \
          32)                                                                                                       \
    SPACE(TENSOR, RACE_RAW, RACE_WAR, RACE_WAW, 0, "", 1 << 30) /* no proxy fence is for it */

typedef enum {
#define SPACE(id, ...) SPACE_##id,
    SPACES_OF(SPACE)
#undef SPACE
        SPACES,
    FENCED_SPACES = SPACE_TENSOR, /* those before it */
} Space;

/* The async proxy sees what the generic proxy has done after a proxy fence for that space; what the async proxy has
 * done everybody sees who knows it to be complete. */
typedef enum { PROXY_GENERIC, PROXY_ASYNC } Proxy;

/* Whom an atomic, a fence or an arrival reaches. */
typedef enum { SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYSTEM, SCOPES } Scope;
static inline Scope scope_of(MemoryOrder order) { return order & ORDER_SYSTEM ? SCOPE_SYSTEM : SCOPE_GPU; }

/* ACCESS(id, name in reports, 1 if it reads, 1 if it writes, 1 if it is atomic, its proxy). */
#define ACCESSES(ACCESS)                                                          \
    ACCESS(NONE, "nothing", 0, 0, 0, GENERIC)                                     \
    ACCESS(LOAD, "load", 1, 0, 0, GENERIC)                                        \
    ACCESS(STORE, "store", 0, 1, 0, GENERIC)                                      \
    ACCESS(ATOMIC, "atomic access", 1, 1, 1, GENERIC)                             \
    ACCESS(ATOMIC_LOAD, "atomic load", 1, 0, 1, GENERIC)                          \
    ACCESS(ATOMIC_STORE, "atomic store", 0, 1, 1, GENERIC)                        \
    ACCESS(LDMATRIX, "ldmatrix", 1, 0, 0, GENERIC)                                \
    ACCESS(STMATRIX, "stmatrix", 0, 1, 0, GENERIC)                                \
    ACCESS(CP_ASYNC, "cp.async", 0, 1, 0, GENERIC)                                \
    ACCESS(CP_ASYNC_FROM, "cp.async (reading global memory)", 1, 0, 0, GENERIC)   \
    ACCESS(TMA_LOAD, "TMA load", 0, 1, 0, ASYNC)                                  \
    ACCESS(TMA_LOAD_FROM, "TMA load (reading global memory)", 1, 0, 0, ASYNC)     \
    ACCESS(TMA_STORE, "TMA store (reading shared memory)", 1, 0, 0, ASYNC)        \
    ACCESS(TMA_STORE_TO, "TMA store (writing global memory)", 0, 1, 0, ASYNC)     \
    ACCESS(TMA_ADD_TO, "TMA reduction (adding to global memory)", 0, 1, 1, ASYNC) \
    ACCESS(BULK_LOAD, "bulk load", 0, 1, 0, ASYNC)                                \
    ACCESS(BULK_STORE, "bulk store (reading shared memory)", 1, 0, 0, ASYNC)      \
    ACCESS(WGMMA_A, "wgmma reading A", 1, 0, 0, ASYNC)                            \
    ACCESS(WGMMA_B, "wgmma reading B", 1, 0, 0, ASYNC)                            \
    ACCESS(CLUSTER_READ, "ld.shared::cluster", 1, 0, 0, GENERIC)                  \
    ACCESS(CLUSTER_WRITE, "st.shared::cluster", 0, 1, 0, GENERIC)                 \
    ACCESS(ST_ASYNC, "st.async", 0, 1, 0, GENERIC)                                \
    ACCESS(TRY_CANCEL, "clusterlaunchcontrol.try_cancel", 0, 1, 0, ASYNC)         \
    ACCESS(TMEM_LD, "tcgen05.ld", 1, 0, 0, GENERIC)                               \
    ACCESS(TMEM_ST, "tcgen05.st", 0, 1, 0, GENERIC)                               \
    ACCESS(TMEM_ALLOC, "tcgen05.alloc", 0, 1, 0, GENERIC)                         \
    ACCESS(TMEM_DEALLOC, "tcgen05.dealloc", 0, 1, 0, GENERIC)                     \
    ACCESS(TCGEN05_CP_FROM, "tcgen05.cp (reading shared memory)", 1, 0, 0, ASYNC) \
    ACCESS(TCGEN05_CP, "tcgen05.cp", 0, 1, 0, GENERIC)                            \
    ACCESS(TCGEN05_A, "tcgen05.mma reading A", 1, 0, 0, ASYNC)                    \
    ACCESS(TCGEN05_B, "tcgen05.mma reading B", 1, 0, 0, ASYNC)                    \
    ACCESS(TCGEN05_SCALES, "tcgen05.mma reading scales", 1, 0, 0, GENERIC)        \
    ACCESS(TCGEN05_D, "tcgen05.mma writing D", 0, 1, 0, GENERIC)                  \
    ACCESS(TCGEN05_ADD, "tcgen05.mma adding to D", 0, 1, 0, GENERIC)

typedef enum {
#define ACCESS(id, ...) ACCESS_##id,
    ACCESSES(ACCESS)
#undef ACCESS
} AccessKind;

enum { READS = 1, WRITES = 2, ATOMIC = 4, ASYNC = 8 };
extern const char *const access_name[];
static inline uint8_t access_flags(AccessKind kind) {
    static const uint8_t flags[] = {
#define ACCESS(id, name, reads, writes, atomic, proxy) reads | writes << 1 | atomic << 2 | PROXY_##proxy << 3,
        ACCESSES(ACCESS)
#undef ACCESS
    };
    return flags[kind];
}

typedef uint16_t Component; /* clock.h */

/* What is remembered of an access. */
typedef struct {
    uint32_t serial; /* of its cluster; 0: there was none */
    uint32_t epoch;  /* of this component, by which it is known to be over */
    Site site;
    Component component;
    Component issuer; /* component of the thread that issued it */
    uint32_t issued;  /* epoch of that, then */
    uint8_t kind;     /* AccessKind */
    uint8_t flags;    /* of its kind */
    uint8_t scope;    /* of an atomic one */
    uint8_t bytes;    /* of the cell's two, if it covers two: bit 0 the low one, bit 1 the high one */
    /* Of a read: the epoch of the first read of the same data by this component, if that is another; or UNWRITTEN. */
    uint32_t again;
} Access;
#define UNWRITTEN UINT32_MAX

#endif
