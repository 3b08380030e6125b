/* model_count.h - what the last launch did, in numbers. Needs ModelOptions.count. */
#ifndef MODEL_COUNT_H
#define MODEL_COUNT_H

/* What is counted, and its name in the output. "warp" in a name: one for all lanes that execute it together.
 *
 * Passes: shared memory has 32 banks of 4 bytes, and serves a warp's access in 1, 2 or 4 parts, for lanes that take 4,
 * 8 or 16 bytes each. A part takes as many passes as there are different words in its fullest bank; a conflict is a
 * pass more than those words would need if they were spread evenly. Lines: a part's different 128-byte lines of global
 * memory; sectors: the whole access's different 32-byte sectors. Behind the ldmatrix of an operand: the warp has issued
 * no other mma.sync since, so this one has to wait for it. Roles: in the CTA that has most of them.
 *
 * Loads and stores of one kind keep their order here: count.c finds bytes, sectors, passes and conflicts by it. */
#define MODEL_COUNTS(COUNT)                                                 \
    COUNT(CTAS, "CTAs")                                                     \
    COUNT(CTA_THREADS, "threads of a CTA")                                  \
    COUNT(CTA_SHARED_BYTES, "bytes of shared memory of a CTA")              \
    COUNT(GLOBAL_LOADS, "global loads, warps")                              \
    COUNT(GLOBAL_LOAD_BYTES, "global loads, bytes")                         \
    COUNT(GLOBAL_LOAD_SECTORS, "global loads, sectors")                     \
    COUNT(GLOBAL_LOAD_LINES, "global loads, lines")                         \
    COUNT(GLOBAL_STORES, "global stores, warps")                            \
    COUNT(GLOBAL_STORE_BYTES, "global stores, bytes")                       \
    COUNT(GLOBAL_STORE_SECTORS, "global stores, sectors")                   \
    COUNT(GLOBAL_STORE_LINES, "global stores, lines")                       \
    COUNT(ATOMICS, "global atomics, threads")                               \
    COUNT(SHARED_LOADS, "shared loads, warps")                              \
    COUNT(SHARED_LOAD_PASSES, "shared loads, passes")                       \
    COUNT(SHARED_LOAD_CONFLICTS, "shared loads, conflicts")                 \
    COUNT(SHARED_STORES, "shared stores, warps")                            \
    COUNT(SHARED_STORE_PASSES, "shared stores, passes")                     \
    COUNT(SHARED_STORE_CONFLICTS, "shared stores, conflicts")               \
    COUNT(COPIES, "cp.async, warps")                                        \
    COUNT(COPY_BYTES, "cp.async, bytes")                                    \
    COUNT(COPY_SECTORS, "cp.async, sectors")                                \
    COUNT(COPY_PASSES, "cp.async, passes")                                  \
    COUNT(COPY_CONFLICTS, "cp.async, conflicts")                            \
    COUNT(COPY_GROUPS, "cp.async, groups of warps")                         \
    COUNT(COPY_WAITS, "cp.async, waits of warps")                           \
    COUNT(COPY_DEPTH, "cp.async, groups not waited for, at most")           \
    COUNT(LDMATRIX, "ldmatrix, warps")                                      \
    COUNT(LDMATRIX_PASSES, "ldmatrix, passes")                              \
    COUNT(LDMATRIX_CONFLICTS, "ldmatrix, conflicts")                        \
    COUNT(STMATRIX, "stmatrix, warps")                                      \
    COUNT(STMATRIX_PASSES, "stmatrix, passes")                              \
    COUNT(STMATRIX_CONFLICTS, "stmatrix, conflicts")                        \
    COUNT(TMA_LOADS, "TMA loads, boxes")                                    \
    COUNT(TMA_LOAD_BYTES, "TMA loads, bytes")                               \
    COUNT(TMA_STORES, "TMA stores, boxes")                                  \
    COUNT(TMA_STORE_BYTES, "TMA stores, bytes")                             \
    COUNT(MMA, "mma.sync, warps")                                           \
    COUNT(MMA_AFTER_LDMATRIX, "mma.sync, after the ldmatrix of an operand") \
    COUNT(WGMMA, "wgmma, warpgroups")                                       \
    COUNT(WGMMA_BYTES, "wgmma, bytes read from shared memory")              \
    COUNT(TENSOR_FLOP, "FLOP of the tensor cores")                          \
    COUNT(PAIR_FLOP, "FLOP of the tensor cores, of pairs of CTAs")          \
    COUNT(LAUNCH_REQUESTS, "launch control, requests")                      \
    COUNT(SYNCTHREADS, "__syncthreads, warps")                              \
    COUNT(MBARRIER_WAITS, "mbarriers, waits of threads")                    \
    COUNT(MBARRIER_ARRIVALS, "mbarriers, arrivals")                         \
    COUNT(MBARRIER_PHASES, "mbarriers, phases completed")                   \
    COUNT(PROXY_FENCES, "proxy fences, threads")                            \
    COUNT(LOADERS, "roles, threads that start asynchronous loads")          \
    COUNT(MULTIPLIERS, "roles, threads that multiply")                      \
    COUNT(BOTH_ROLES, "roles, threads that do both")

typedef enum {
#define COUNT(id, name) COUNT_##id,
    MODEL_COUNTS(COUNT)
#undef COUNT
        COUNT_KINDS
} ModelCount;

const char *model_count_name(ModelCount which);
unsigned long long model_count(ModelCount which);

#endif
