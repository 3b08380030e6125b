/* Does beyond/11_w4a8/pack.h encode and decode every weight, and refuse what has no code? That each lands in its place is seen in
 * every product of chapter 11. */
#include "harness/kind.h"
#include "tap.h"

#include "../../beyond/11_w4a8/pack.h"

/* Every weight in each of a word's eight places, with every weight in all the others. */
static void decodes_every_weight(void) {
    int wrong = 0, checked = 0;
    for (int place = 0; place < 8; place++) {
        for (int weight = INT4_LEAST; weight <= INT4_MOST; weight++) {
            for (int other = INT4_LEAST; other <= INT4_MOST; other++) {
                uint32_t word = 0;
                for (int i = 0; i < 8; i++) {
                    word |= encode(i == place ? weight : other, i / 4, i % 4);
                }
                for (int i = 0; i < 8; i++, checked++) {
                    e4m3 code = (e4m3)(decode(word, i / 4) >> i % 4 * 8);
                    wrong += e4m3_value(code) * DECODED_SCALE != (float)(i == place ? weight : other);
                }
            }
        }
    }
    ok(checked == 8 * 8 * 15 * 15 && wrong == 0, "%d weights of 15 values decoded, %d wrong", checked, wrong);
}

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
    decodes_every_weight();
    refuses_what_has_no_code();
    return tap_done();
}
