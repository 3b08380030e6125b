/* tcgen05_kinds.h - names of the variants of tcgen05's instructions, for tcgen05.h and for the model. */
#ifndef TCGEN05_KINDS_H
#define TCGEN05_KINDS_H

/* .kind of tcgen05.mma. The last two have scales: MXF8F6F4 has one for 32 elements of k, MXF4NVF4 (.scale_vec::4X) has
 * one for 16. */
typedef enum { TCGEN05_F16, TCGEN05_MXF8F6F4, TCGEN05_MXF4NVF4 } Tcgen05Kind;

#endif
