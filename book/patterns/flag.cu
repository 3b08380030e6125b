/* flag - one CTA hands data to another by a word in global memory: two fences around a relaxed store and loads. */
#include "pattern.h"

static __global__ void kernel(const __grid_constant__ Params p) {
    NO_SHARED_MEMORY;
    if (is_writer()) {
        int at = place((int)blockIdx.x, 0);
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.between[at + i] = p.in[at + i];
        }
        LINE(1, __syncwarp()); /* lane 0 waits for the stores of the others */
        if (lane() == 0) {
            LINE(2, __threadfence()); /* the stores come before the flag */
            global_store(relaxed, &p.words[blockIdx.x], 1);
        }
    } else {
        int at = place(neighbour(), 0);
        if (lane() == 0) {
            while (!global_load(relaxed, &p.words[neighbour()])) {
            }
            LINE(3, __threadfence()); /* the flag comes before the loads */
        }
        LINE(4, __syncwarp()); /* the others wait for lane 0 */
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = p.between[at + i];
        }
    }
}
PATTERN(kernel, .shared_bytes = 0)
