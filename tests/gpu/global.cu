/* global.cu - tests/model/kernels_global.c on a GPU: the right kernels give the right numbers, as on the model; of the wrong
 * ones it is said how often the numbers were wrong. TAP. `make global-gpu` builds and runs it.
 *
 * A kernel that needs more CTAs than a small device has is left out. */
#include "../../common/gemm.h"

#include "../unit/tap.h"

#include "../model/cases.h"

/* What run_case.c has for the model. */
enum { BLOCKS = 8 };
static void *memory[BLOCKS];
static int used;
void *case_memory(size_t bytes, const char *name) {
    (void)name;
    if (used == BLOCKS || cudaMallocManaged(&memory[used], bytes) != cudaSuccess) {
        return NULL;
    }
    memset(memory[used], 0, bytes);
    return memory[used++];
}
void case_free(void) {
    while (used > 0) {
        cudaFree(memory[--used]);
    }
}

static int finished(int launched) {
    cudaError_t error = cudaDeviceSynchronize();
    return launched != 0 ? launched : error != cudaSuccess ? 3 : 0;
}

#include "../model/kernels_global.c"

enum { LAUNCHES = 100 };

static int left_out(int bug) { return bug == GRID_BARRIER_TOO_MANY; }

int main(void) {
    int devices = 0, major = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess || major < 9) {
        skip_all("there is no Hopper GPU");
    }
    EACH_CASE(listed) {
        const Case *c = *listed;
        int wrong = 0, failed = 0;
        for (int launch = 0; launch < LAUNCHES && failed == 0 && !left_out(c->bug); launch++) {
            int status = c->run(c);
            case_free();
            wrong += status == 1;
            failed = status > 1 ? status : 0;
        }
        if (failed != 0) {
            ok(0, "%s: status %d, %s", c->name, failed, cudaGetErrorString(cudaGetLastError()));
        } else if (c->rule == NULL) {
            ok(wrong == 0, "%s: right in %d launches", c->name, LAUNCHES);
        } else {
            diag("%s (%s on the model): wrong in %d of %d launches", c->name, c->rule, wrong,
                 left_out(c->bug) ? 0 : LAUNCHES);
        }
    }
    return tap_done();
}
