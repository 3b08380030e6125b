/* alone.h - what the chip can do at best: one instruction on every SM, again and again, or a copy in its memory; and how long one
 * load takes. */
#ifndef ALONE_H
#define ALONE_H

#include "harness/backend.h"

/* The widths of wgmma that common/device/wgmma.h has. */
#define ALONE_WIDTHS(each) each(64) each(112) each(128) each(160) each(176) each(192) each(256)

typedef enum {
    ALONE_WGMMA,    /* m64nNk16 by two warpgroups, both operands resting in shared memory */
    ALONE_MMA_SYNC, /* m16n8k16 by eight warps, operands in registers */
    ALONE_COPY,     /* cudaMemcpyAsync from device to device */
    /* One thread of each CTA, in clusters of two, loads words one after the other: */
    ALONE_LOADS_OWN,       /* from its own shared memory, */
    ALONE_LOADS_NEIGHBOUR, /* from that of the other CTA, */
    ALONE_LOADS_L2,        /* from global memory, where all read the same few KB */
} AloneKind;

typedef struct {
    AloneKind kind;
    int n;            /* ALONE_WGMMA: one of ALONE_WIDTHS */
    const bf16 *data; /* what is multiplied, 256 x 256 on the device */
    Buffer from, to;  /* ALONE_COPY: alike in size */
    int sm_count;
    Stream stream;
} Alone;

/* Is it told in time for a load? */
static inline int alone_is_loads(AloneKind kind) { return kind >= ALONE_LOADS_OWN; }

static inline int alone_has_width(int n) {
#define EACH_WIDTH(width) || n == width
    return 0 ALONE_WIDTHS(EACH_WIDTH);
#undef EACH_WIDTH
}

#ifdef __cplusplus
extern "C" {
#endif
/* Starts one launch and does not wait; `alone` is an Alone. */
GemmStatus alone_launch(void *alone);
/* What one launch does: FLOP, bytes read and written, or loads of one thread. */
double alone_work(const Alone *alone);
#ifdef __cplusplus
}
#endif

#endif
