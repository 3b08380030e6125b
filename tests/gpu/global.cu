/* global.cu - tests/model/kernels_global.c on a GPU: the right kernels give the right numbers, as on the model; of the wrong
 * ones it is said how often the numbers were wrong. TAP. `make global-gpu` builds and runs it.
 *
 * A kernel that needs more CTAs than a small device has is left out. */
#include "../../common/gemm.h"

#include "../../common/model/model_host.h"
#include "../unit/tap.h"

static void *allocate(size_t bytes) {
    void *p = NULL;
    return cudaMallocManaged(&p, bytes) == cudaSuccess ? p : NULL;
}
#define model_global_alloc(bytes, name) allocate(bytes)
#define model_global_free(p) ((void)cudaFree(p))
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
    for (int i = 0; i < global_case_count; i++) {
        const Case *c = &global_cases[i];
        int wrong = 0, failed = 0;
        for (int launch = 0; launch < LAUNCHES && failed == 0 && !left_out(c->bug); launch++) {
            int status = c->run(c->bug);
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
