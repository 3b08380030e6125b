/* wgmma_alone.h - how fast wgmma is by its width, operands resting in shared memory: on every SM two warpgroups multiply
 * normal data, 64 x 16 by 16 x n, again and again. */
#ifndef WGMMA_ALONE_H
#define WGMMA_ALONE_H

#include "gemm.h"

/* The widths that common/device/wgmma.h has. */
#define WGMMA_WIDTHS(each) each(64) each(112) each(128) each(160) each(176) each(192) each(256)

typedef struct {
    int n; /* one of WGMMA_WIDTHS */
    int sm_count;
    Stream stream;
} WgmmaAlone;

#ifdef __cplusplus
extern "C" {
#endif
/* Starts one launch; `wgmma_alone` is a WgmmaAlone. */
GemmStatus wgmma_alone_launch(void *wgmma_alone);
/* What one launch does. */
double wgmma_alone_flop(const WgmmaAlone *w);
#ifdef __cplusplus
}
#endif

#endif
