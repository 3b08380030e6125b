/* memory.h - the model's own memory, and the table of what stands for the GPU's global memory. For everybody. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "types.h"

/* The model cannot judge the program: ends it with the reason in a line on stderr, and status GEMM_UNJUDGED. */
void model_give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* These do so if there is no memory; the first one if p is NULL. */
void *model_checked(void *p);
void *model_alloc(size_t bytes);
void *model_alloc_zero(size_t bytes);
void *model_realloc(void *p, size_t bytes);
/* Zeroed, and freed with the CTA. */
void *cta_alloc(Cta *cta, size_t bytes);
/* Makes space for `need` elements of `bytes` each: returns p, or a larger copy. *capacity: of p; 0 if p is NULL. */
void *model_grow(void *p, int need, int *capacity, size_t bytes);
void *cta_grow(Cta *cta, void *p, int need, int *capacity, size_t bytes); /* in memory of cta_alloc() */
/* model.c: a CTA has ended. */
void cta_free_memory(Cta *cta);
/* Each of the `count` elements of a list has a pointer `member`: to something of its own, zeroed. */
#define CTA_GIVE(cta, list, count, member)                                              \
    do {                                                                                \
        uint8_t *parts_ = cta_alloc(cta, (size_t)(count) * sizeof *(list)->member);     \
        for (int i_ = 0; i_ < (count); i_++) {                                          \
            (list)[i_].member = (void *)(parts_ + (size_t)i_ * sizeof *(list)->member); \
        }                                                                               \
    } while (0)

/* ---- global memory ----------------------------------------------------------------------------------------------- */

/* One model_global_alloc(), in a large reserved range with unused pages between. */
typedef struct {
    uintptr_t begin, end; /* as asked for */
    uintptr_t mapped, mapped_end;
    const char *name;
    int device;
    struct Chunk *chunk;          /* judge/cells.c */
    int constant;                 /* model_global_constant() */
    uintptr_t matrix, matrix_end; /* the result, where a part of the allocation is one: model_describe_rows(); 0: no */
} Allocation;

/* Is p an address in the range that global memory is taken from? Its size: some kernels for Arm give a process no more
 * than 2^39 bytes, and qemu-user keeps 24 bytes of its own for every reserved page. */
extern uintptr_t global_begin;
enum { GLOBAL_SHIFT = 36 };
#define GLOBAL_SPAN ((uintptr_t)1 << GLOBAL_SHIFT)
static inline int global_is(const void *p) { return (uintptr_t)p - global_begin < GLOBAL_SPAN && global_begin != 0; }

/* mechanism/global.c, model.c. NULL if there is not enough; `at` one that global_find() returned. */
void *global_map(size_t bytes, const char *name, int device);
void global_unmap(Allocation *at);
/* Gives the range back; there is no allocation any more. */
void global_release(void);
/* The allocation that contains p, or NULL; calls that mostly find the same allocation pass the same `hint`. */
enum { GLOBAL_HINTS = 16 };
extern Allocation *global_last[GLOBAL_HINTS];
Allocation *global_search(uintptr_t p, uint32_t hint);
static inline Allocation *global_find(uintptr_t p, uint32_t hint) {
    Allocation *last = global_last[hint % GLOBAL_HINTS];
    return last != NULL && p - last->begin < last->end - last->begin ? last : global_search(p, hint);
}
/* The last allocation that begins at p or before; NULL if none does. */
Allocation *global_below(uintptr_t p);
/* The n-th allocation; NULL if there are fewer. */
Allocation *global_at(int n);

#endif
