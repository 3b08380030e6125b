/* release - the same hand-over as flag, with the order in the store and in the load. */
#include "pattern.h"

static __global__ void kernel(const __grid_constant__ Params p) {
    NO_SHARED_MEMORY;
    if (is_writer()) {
        int at = place((int)blockIdx.x, 0);
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.between[at + i] = p.in[at + i];
        }
        __syncwarp();
        if (lane() == 0) {
            LINE(1, global_store(release, &p.words[blockIdx.x], 1)); /* hands on what came before it */
            INSTEAD(1, global_store(relaxed, &p.words[blockIdx.x], 1));
        }
    } else {
        int at = place(neighbour(), 0), seen = 0;
        while (lane() == 0 && !seen) {
            LINE(2, seen = global_load(acquire, &p.words[neighbour()])); /* takes what was handed on */
            INSTEAD(2, seen = global_load(relaxed, &p.words[neighbour()]));
        }
        __syncwarp();
        for (int i = lane(); i < ITEMS; i += LANES) {
            p.out[at + i] = p.between[at + i];
        }
    }
}
PATTERN(kernel, .shared_bytes = 0)
