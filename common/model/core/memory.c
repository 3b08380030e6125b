/* memory.c - see memory.h. */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../device/status.h"
#include "state.h"

/* A page: the largest that a kernel for Arm may have. */
enum { PAGE = 64 * 1024, GAP = PAGE, ALLOCATIONS = 256 };

Device device;

void model_give_up(const char *format, ...) {
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    fprintf(stderr, "the CPU model cannot judge this program: %s\n", why);
    device.current = NULL;
    exit(GEMM_UNJUDGED);
}

void *model_checked(void *p) {
    if (p == NULL) {
        model_give_up("there is not enough memory");
    }
    return p;
}

void *model_alloc(size_t bytes) { return model_checked(malloc(bytes > 0 ? bytes : 1)); }
void *model_alloc_zero(size_t bytes) { return model_checked(calloc(1, bytes > 0 ? bytes : 1)); }
void *model_realloc(void *p, size_t bytes) { return model_checked(realloc(p, bytes)); }

static int grows(int need, int *capacity) {
    int before = *capacity, twice = before > 0 ? 2 * before : 16;
    *capacity = need <= before ? before : twice < need ? need : twice;
    return need > before;
}

void *model_grow(void *p, int need, int *capacity, size_t bytes) {
    return grows(need, capacity) ? model_realloc(p, (size_t)*capacity * bytes) : p;
}

typedef struct Block {
    struct Block *next;
    _Alignas(16) uint8_t bytes[];
} Block;

void *cta_alloc(Cta *cta, size_t bytes) {
    Block *block = model_alloc_zero(sizeof *block + bytes);
    block->next = cta->memory;
    cta->memory = block;
    return block->bytes;
}

void *cta_grow(Cta *cta, void *p, int need, int *capacity, size_t bytes) {
    size_t before = (size_t)*capacity * bytes;
    if (grows(need, capacity)) {
        void *larger = cta_alloc(cta, (size_t)*capacity * bytes);
        p = before > 0 ? memcpy(larger, p, before) : larger;
    }
    return p;
}

void cta_free_memory(Cta *cta) {
    while (cta->memory != NULL) {
        Block *next = cta->memory->next;
        free(cta->memory);
        cta->memory = next;
    }
}

/* ---- global memory ----------------------------------------------------------------------------------------------- */

uintptr_t global_begin;
Allocation *global_last[GLOBAL_HINTS];

static struct {
    Allocation list[ALLOCATIONS]; /* by address */
    int count;
} global;

static int reserve(void) {
    if (global_begin == 0) {
        void *p = mmap(NULL, GLOBAL_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        global_begin = p == MAP_FAILED ? 0 : (uintptr_t)p;
    }
    return global_begin != 0;
}

void *global_map(size_t bytes, const char *name, int on) {
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    if (!reserve() || global.count == ALLOCATIONS || bytes == 0 || mapped > GLOBAL_SPAN / 4) {
        return NULL;
    }
    uintptr_t at = global_begin + GAP;
    int i = 0;
    for (; i < global.count && global.list[i].mapped - at < mapped + GAP; i++) {
        at = global.list[i].mapped_end + GAP;
    }
    if (at + mapped + GAP > global_begin + GLOBAL_SPAN || mprotect((void *)at, mapped, PROT_READ | PROT_WRITE) != 0) {
        return NULL;
    }
    memmove(&global.list[i + 1], &global.list[i], (size_t)(global.count - i) * sizeof global.list[0]);
    global.count++;
    global.list[i] = (Allocation){
        .begin = at, .end = at + bytes, .mapped = at, .mapped_end = at + mapped, .name = name, .device = on};
    memset(global_last, 0, sizeof global_last);
    return (void *)at;
}

void global_unmap(Allocation *at) {
    int i = (int)(at - global.list);
    /* A fresh mapping gives the pages back and closes the range. */
    (void)!mmap((void *)at->mapped, at->mapped_end - at->mapped, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    global.count--;
    memmove(at, at + 1, (size_t)(global.count - i) * sizeof *at);
    memset(global_last, 0, sizeof global_last);
}

void global_release(void) {
    if (global_begin != 0) {
        munmap((void *)global_begin, GLOBAL_SPAN);
        global_begin = 0;
    }
}

Allocation *global_below(uintptr_t p) {
    Allocation *below = NULL;
    for (int i = 0; i < global.count && global.list[i].begin <= p; i++) {
        below = &global.list[i];
    }
    return below;
}

Allocation *global_search(uintptr_t p, uint32_t hint) {
    Allocation *found = global_below(p);
    return found != NULL && p < found->end ? global_last[hint % GLOBAL_HINTS] = found : NULL;
}

Allocation *global_at(int n) { return n < global.count ? &global.list[n] : NULL; }
