/* swizzle.h - where the 16-byte chunks of a tile lie in shared memory.
 *
 * Shared memory has 32 banks of 4 bytes: one access of a warp moves 128 bytes, if the 8 chunks of 16 bytes it reads at
 * a time lie in 8 different 16-byte columns. In a tile with 128-byte rows, the chunks of one k-column all lie in the
 * same column. The 128-byte swizzle moves chunk c of row r to column c ^ (r mod 8): any 8 rows of one logical chunk
 * column then lie in 8 different columns, and so do the 8 chunks of one row. TMA writes and wgmma reads this pattern
 * when told to (PTX 5.5.7 and 9.7.15.5.1.2); ldmatrix and ordinary stores need the address computed. The hardware XORs
 * bits of the address, the functions below those of the offset in the tile: the two agree in a tile that starts on a
 * multiple of the pattern, 1024 bytes. Host and kernel. */
#ifndef SWIZZLE_H
#define SWIZZLE_H

#include "cuda_c.h"

/* Byte address a in a tile with the 128-byte swizzle, whose pattern repeats after 1024 bytes: bits 4-6 ^= bits 7-9. */
HOST_DEVICE uint32_t swizzle_128b(uint32_t a) { return a ^ ((a >> 7 & 7) << 4); }

/* Byte address a in a tile with the 64-byte swizzle, whose pattern repeats after 512 bytes: bits 4-5 ^= bits 7-8. */
HOST_DEVICE uint32_t swizzle_64b(uint32_t a) { return a ^ ((a >> 7 & 3) << 4); }

/* Byte address a in a tile with the 32-byte swizzle, whose pattern repeats after 256 bytes: bit 4 ^= bit 7. */
HOST_DEVICE uint32_t swizzle_32b(uint32_t a) { return a ^ ((a >> 7 & 1) << 4); }

/* Index, in bf16 elements, of the start of chunk `chunk` (8 elements) of row `row` in a tile [rows][64] with 128-byte
 * rows and the 128-byte swizzle. */
HOST_DEVICE int swizzled_index(int row, int chunk) { return row * 64 + (chunk ^ (row & 7)) * 8; }

#endif
