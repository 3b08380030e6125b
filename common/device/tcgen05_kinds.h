/* tcgen05_kinds.h - names of the variants of tcgen05's instructions, for tcgen05.h and for the model. */
#ifndef TCGEN05_KINDS_H
#define TCGEN05_KINDS_H

/* .kind of tcgen05.mma. Those from MXF8F6F4 on have scales: one for 32 elements of k, in MXF4NVF4 (.scale_vec::4X) for
 * 16. The last two do the same. */
typedef enum {
    TCGEN05_F16,
    TCGEN05_F8F6F4,
    TCGEN05_MXF8F6F4,
    TCGEN05_MXF4NVF4,
    TCGEN05_MXF4,
    TCGEN05_MXF4NVF4_2X,
} Tcgen05Kind;

/* Where tcgen05.ld and .st find the registers of a warp in tensor memory. With TCGEN05_PACKED added, a register has the
 * lower halves of two columns: .pack::16b and .unpack::16b. */
typedef enum { TCGEN05_32X32B, TCGEN05_16X64B, TCGEN05_16X128B, TCGEN05_16X256B, TCGEN05_16X32BX2 } Tcgen05Registers;
enum { TCGEN05_PACKED = 8 };

/* The shapes of tcgen05.cp: which rows it copies to which lanes. */
typedef enum {
    TCGEN05_128X256B,
    TCGEN05_128X128B,
    TCGEN05_64X128B_02_13,
    TCGEN05_64X128B_01_23,
    TCGEN05_32X128B,
    TCGEN05_4X256B,
} Tcgen05Copy;

#endif
