/* backend - the harness's own kernels on a GPU: data, reference and comparison. Prints TAP; without a GPU it skips. The
 * chapters are run by tests/gpu/chapters. */
#include "backend_checks.h"
#include "harness/problem.h"

int main(void) {
    const Backend *backend = gpu_backend();
    static const Options options;
    DeviceInfo device;
    char why[OPTIONS_MESSAGE_SIZE] = "";
    if (backend->open(&options, NEEDS_SM80, &device, why, sizeof why) != GEMM_OK) {
        skip_all(why);
    }
    printf("# %s, %d SMs\n", device.name, device.sm_count);
    check_backend(backend, &device);
    backend->close();
    return tap_done();
}
