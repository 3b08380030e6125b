/* alone.h - what the chip can do at best: one instruction on every SM, again and again, or a copy in its memory. */
#ifndef ALONE_H
#define ALONE_H

#include "harness/backend.h"

typedef enum {
    ALONE_WGMMA,    /* m64n256k16 by two warpgroups, both operands resting in shared memory */
    ALONE_MMA_SYNC, /* m16n8k16 by eight warps, operands in registers */
    ALONE_COPY,     /* cudaMemcpyAsync from device to device */
} AloneKind;

typedef struct {
    AloneKind kind;
    const bf16 *data; /* what is multiplied, 256 x 256 on the device */
    Buffer from, to;  /* ALONE_COPY: alike in size */
    int sm_count;
    Stream stream;
} Alone;

#ifdef __cplusplus
extern "C" {
#endif
/* Starts one launch and does not wait; `alone` is an Alone. */
GemmStatus alone_launch(void *alone);
/* What one launch does: FLOP, or bytes read and written. */
double alone_work(const Alone *alone);
#ifdef __cplusplus
}
#endif

#endif
