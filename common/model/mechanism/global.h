/* global.h - the modelled GPU's global memory. */
#ifndef GLOBAL_H
#define GLOBAL_H

#include "../core/state.h"

typedef struct Allocation Allocation;

/* Is p an address in the range that global memory is taken from? */
extern uintptr_t global_begin;
enum { GLOBAL_SHIFT = 40 };
#define GLOBAL_SPAN ((uintptr_t)1 << GLOBAL_SHIFT)
static inline int global_is(const void *p) { return (uintptr_t)p - global_begin < GLOBAL_SPAN && global_begin != 0; }

typedef enum { GLOBAL_READ, GLOBAL_WRITE, GLOBAL_ATOMIC } GlobalAccess;

/* Checks bounds and conflicts with other CTAs. t: who is to blame; component and epoch as in shadow.h. Stops the launch
 * if the access is outside every allocation. */
void global_access(Thread *t, const void *p, uint32_t size, GlobalAccess how, Component component, uint32_t epoch,
                   Site site, const char *what);

/* An address that is in no memory the model knows. */
void global_report_unknown(Thread *t, const void *p, uint32_t size, int write, Site site);

void global_free_all(void);

#endif
