/* Do the functions that build wgmma matrix descriptors (PTX 9.7.15.5.1.2.2) put every field where it belongs? The
 * expected words are written out from the field table: start address / 16 in bits 0-13, leading offset / 16 in 16-29,
 * stride offset / 16 in 32-45, base offset in 49-51, swizzle in 62-63. */
#include "device/wgmma.h"
#include "tap.h"

int main(void) {
    is_hex(wgmma_descriptor_fields(0, 0, 0, WGMMA_SWIZZLE_NONE), 0, "all fields zero");
    is_hex(wgmma_descriptor_fields(16, 0, 0, WGMMA_SWIZZLE_NONE), 0x0000000000000001, "address 16: bit 0");
    is_hex(wgmma_descriptor_fields(0x20000, 0, 0, WGMMA_SWIZZLE_NONE), 0x0000000000002000, "address 128 KB: bit 13");
    is_hex(wgmma_descriptor_fields(0x3fff0, 0, 0, WGMMA_SWIZZLE_NONE), 0x0000000000003fff, "the largest address");
    is_hex(wgmma_descriptor_fields(0xfffc0400, 0, 0, WGMMA_SWIZZLE_NONE), 0x0000000000000040,
           "address bits from 18 on do not reach the next field");
    is_hex(wgmma_descriptor_fields(0, 16, 0, WGMMA_SWIZZLE_NONE), 0x0000000000010000, "leading offset 16: bit 16");
    is_hex(wgmma_descriptor_fields(0, 0x3fff0, 0, WGMMA_SWIZZLE_NONE), 0x000000003fff0000,
           "the largest leading offset");
    is_hex(wgmma_descriptor_fields(0, 0, 16, WGMMA_SWIZZLE_NONE), 0x0000000100000000, "stride offset 16: bit 32");
    is_hex(wgmma_descriptor_fields(0, 0, 0x3fff0, WGMMA_SWIZZLE_NONE), 0x00003fff00000000, "the largest stride offset");
    is_hex(wgmma_descriptor_fields(0, 0, 0, WGMMA_SWIZZLE_128B), 0x4000000000000000, "128-byte swizzle is 1");
    is_hex(wgmma_descriptor_fields(0, 0, 0, WGMMA_SWIZZLE_64B), 0x8000000000000000, "64-byte swizzle is 2");
    is_hex(wgmma_descriptor_fields(0, 0, 0, WGMMA_SWIZZLE_32B), 0xc000000000000000, "32-byte swizzle is 3");
    is_hex(wgmma_descriptor_fields(0x8400, 8192, 512, WGMMA_SWIZZLE_64B), 0x8000002002000840, "all fields at once");

    /* K-major, 128-byte swizzle: 8 rows are 1024 bytes, the leading offset is 1 by convention. */
    is_hex(wgmma_descriptor_k_major_128b(0), 0x4000004000010000, "K-major 128-byte tile at 0");
    is_hex(wgmma_descriptor_k_major_128b(1024), 0x4000004000010040, "K-major 128-byte tile at 1 KB");
    is_hex(wgmma_descriptor_k_major_128b(227 * 1024), 0x40000040000138c0, "K-major 128-byte tile at 227 KB");

    /* The four k16 steps of a 128-byte row start 32 bytes apart: chunks 0, 2, 4 and 6. */
    uint64_t tile = wgmma_descriptor_k_major_128b(48 * 1024);
    is_hex(tile + 0 * WGMMA_K16_STEP, 0x4000004000010c00, "k = 0");
    is_hex(tile + 1 * WGMMA_K16_STEP, 0x4000004000010c02, "k = 16");
    is_hex(tile + 2 * WGMMA_K16_STEP, 0x4000004000010c04, "k = 32");
    is_hex(tile + 3 * WGMMA_K16_STEP, 0x4000004000010c06, "k = 48");
    is_hex(wgmma_descriptor_k_major_128b(48 * 1024 + 64 * 128) - tile, 512, "64 rows further: 512 units of 16 bytes");
    return tap_done();
}
