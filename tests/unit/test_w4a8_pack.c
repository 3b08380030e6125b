/* Does beyond/11_w4a8/pack.h refuse a weight that has no code? That each other one is decoded, and lands in its place,
 * is seen in every product of chapter 11. */
#include "tap.h"

#include "../../beyond/11_w4a8/pack.h"

/* A weight that has no code is found, if it is one of the block's. */
static void refuses_what_has_no_code(void) {
    enum { ROWS = 10, K = 100 };
    static int8_t w[BLOCK_ROWS * BK];
    static bf16 scale[BLOCK_ROWS];
    static uint8_t out[BLOCK_BYTES];
    for (int i = 0; i < 2; i++) {
        w[9 * BK + 99] = i ? 8 : -8;
        ok(pack_block(w, BK, scale, 1, ROWS, K, out) == &w[9 * BK + 99], "%d is found in the last place", i ? 8 : -8);
    }
    w[9 * BK + 99] = 0;
    w[9 * BK + 100] = w[10 * BK] = -8;
    ok(pack_block(w, BK, scale, 1, ROWS, K, out) == NULL, "what lies behind the edges is not looked at");
}

int main(void) {
    refuses_what_has_no_code();
    return tap_done();
}
