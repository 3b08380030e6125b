/* swizzle.h - where the 16-byte chunks of a tile are in shared memory. Host and kernel.
 *
 * Shared memory has 32 banks of 4 bytes. A warp reads 8 chunks of 16 bytes at a time without a bank conflict if they
 * are in 8 different columns of 16 bytes. In a tile with rows of 128 bytes, the chunks of 8 rows for one k are all in
 * the same column. So the 128-byte swizzle moves chunk c of row r to column c ^ (r mod 8). TMA and wgmma apply the
 * swizzle themselves (PTX 5.5.7 and 9.7.15.5.1.2); for ldmatrix and ordinary stores the kernel computes the address.
 * The hardware XORs bits of the address, these functions bits of the offset in the tile. The two agree if the tile
 * starts at a multiple of the pattern. */
#ifndef SWIZZLE_H
#define SWIZZLE_H

#include "cuda_c.h"

/* Offset of byte a in a tile with the 32-byte swizzle, whose pattern has 256 bytes: bit 4 ^= bit 7. */
HOST_DEVICE uint32_t swizzle_32b(uint32_t a) { return a ^ ((a >> 7 & 1) << 4); }

/* Index of the first bf16 of chunk `chunk` (8 elements) of row `row` in a tile [rows][64] with the 128-byte swizzle. */
HOST_DEVICE int swizzled_index(int row, int chunk) { return row * 64 + (chunk ^ (row & 7)) * 8; }

#endif
