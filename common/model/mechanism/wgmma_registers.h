/* wgmma_registers.h - ordinary accesses to registers that wgmma works on. */
#ifndef WGMMA_REGISTERS_H
#define WGMMA_REGISTERS_H

#include "../core/state.h"

/* The current thread's ordinary access to its stack inside [guarded, guarded + guarded_bytes). */
void registers_accessed(Thread *t, const void *p, uint32_t size, int write, Site site);

#endif
