/* limits.cu - what this chip can do at best: wgmma alone, mma.sync alone, a device copy. `make limits`.
 *
 * The tensor-core kernels multiply normal data that stays where it is, in shared memory or registers: no loads, no
 * epilogue. Timed as the bench times: samples of some milliseconds, a pause before each, the median. Prints CSV. */
#include "../../common/gemm.h"

#include "../../common/device/mma_sync.h"
#include "../../common/device/tma.h"
#include "../../common/device/wgmma.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

enum {
    SAMPLES = 9,
    PAUSE_US = 200 * 1000,
    WGMMA_WARPGROUPS = 2,
    WGMMA_ROUNDS = 2000, /* of 4 products m64n256k16 by each warpgroup */
    MMA_WARPS = 8,
    MMA_ROUNDS = 4000, /* of 32 products m16n8k16 by each warp */
    MMA_BLOCKS = 4,    /* 4 x 8 accumulator blocks a warp */
    TILE_BYTES = (64 * WGMMA_WARPGROUPS + 256) * 64 * 2,
};

typedef struct {
    const bf16 *data; /* normal values */
    float *out;
} Params;

static __global__ void __launch_bounds__(128 * WGMMA_WARPGROUPS, 1) wgmma_alone(const __grid_constant__ Params p) {
    SHARED_MEMORY(bf16, s); /* A [128][64], B [256][64] */
    for (int i = (int)threadIdx.x; i < TILE_BYTES / 2; i += 128 * WGMMA_WARPGROUPS) {
        s[i] = p.data[i];
    }
    /* wgmma reads through the async proxy what all have written through the generic proxy. */
    fence_proxy_async();
    __syncthreads();
    float acc[128];
    uint64_t a = wgmma_descriptor(s + (int)threadIdx.x / 128 * 64 * 64);
    uint64_t b = wgmma_descriptor(s + 64 * WGMMA_WARPGROUPS * 64);
    for (int round = 0; round < WGMMA_ROUNDS; round++) {
        wgmma_fence();
        UNROLL
        for (int step = 0; step < 4; step++) {
            wgmma_m64n256k16(acc, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP, round + step > 0);
        }
        wgmma_commit_group();
        wgmma_wait_group(1);
    }
    wgmma_wait_group(0);
    registers_settled(acc, 128);
    float sum = 0;
    UNROLL
    for (int i = 0; i < 128; i++) {
        sum += acc[i];
    }
    if (sum == 0.5f) { /* practically never: keeps the products alive */
        p.out[threadIdx.x] = sum;
    }
}

static __global__ void __launch_bounds__(32 * MMA_WARPS, 1) mma_sync_alone(const __grid_constant__ Params p) {
    const uint32_t *words = (const uint32_t *)p.data;
    uint32_t a[MMA_BLOCKS][4], b[8][2];
    float acc[MMA_BLOCKS][8][4] = {{{0}}};
    UNROLL
    for (int i = 0; i < MMA_BLOCKS; i++) {
        UNROLL
        for (int j = 0; j < 4; j++) {
            a[i][j] = words[(i * 4 + j) * 32 + (int)threadIdx.x % 32];
        }
    }
    UNROLL
    for (int i = 0; i < 8; i++) {
        b[i][0] = words[(16 + 2 * i) * 32 + (int)threadIdx.x % 32];
        b[i][1] = words[(17 + 2 * i) * 32 + (int)threadIdx.x % 32];
    }
    UNROLL_ONCE
    for (int round = 0; round < MMA_ROUNDS; round++) {
        UNROLL
        for (int i = 0; i < MMA_BLOCKS; i++) {
            UNROLL
            for (int j = 0; j < 8; j++) {
                mma_m16n8k16(acc[i][j], a[i], b[j]);
            }
        }
    }
    float sum = 0;
    UNROLL
    for (int i = 0; i < MMA_BLOCKS * 8 * 4; i++) {
        sum += acc[i / 32][i / 4 % 8][i % 4];
    }
    if (sum == 0.5f) {
        p.out[threadIdx.x] = sum;
    }
}

static void stop_if(cudaError_t error, const char *what) {
    if (cuda_status(error, what)) {
        exit(GEMM_DEVICE);
    }
}

static double normal(void) {
    double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = rand() / (RAND_MAX + 1.0);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static bf16 round_to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    int what; /* 0 wgmma, 1 mma.sync, 2 copy */
    int ctas;
    Params params;
    void *from, *to;
    size_t bytes;
} Load;

static void start(const Load *load) {
    LaunchShape wgmma = {.grid = load->ctas, .block = 128 * WGMMA_WARPGROUPS, .shared_bytes = TILE_BYTES};
    LaunchShape mma = {.grid = load->ctas, .block = 32 * MMA_WARPS};
    int failed = load->what == 0 ? launch_kernel(KERNEL(wgmma_alone), wgmma, &load->params, NULL)
                 : load->what == 1
                     ? launch_kernel(KERNEL(mma_sync_alone), mma, &load->params, NULL)
                     : cuda_status(cudaMemcpyAsync(load->to, load->from, load->bytes, cudaMemcpyDeviceToDevice, NULL),
                                   "cudaMemcpyAsync");
    if (failed) {
        exit(GEMM_DEVICE);
    }
}

/* Prints one row: median, least and greatest rate of one launch, `work` being what it does, in units of the rate. */
static void measure(const char *gpu, const char *date, const char *commit, const char *name, const char *unit,
                    const Load *load, double work) {
    cudaEvent_t begin, end;
    stop_if(cudaEventCreate(&begin), "cudaEventCreate");
    stop_if(cudaEventCreate(&end), "cudaEventCreate");
    double rates[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        stop_if(cudaDeviceSynchronize(), name);
        usleep(PAUSE_US);
        start(load);
        stop_if(cudaEventRecord(begin, NULL), "cudaEventRecord");
        start(load);
        stop_if(cudaEventRecord(end, NULL), "cudaEventRecord");
        stop_if(cudaEventSynchronize(end), name);
        float ms;
        stop_if(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
        rates[i] = work / (ms * 1e-3);
    }
    qsort(rates, SAMPLES, sizeof rates[0], ascending);
    printf("%s,%s,%s,%s,%s,%.2f,%.2f,%.2f\n", gpu, date, commit, name, unit, rates[SAMPLES / 2], rates[0],
           rates[SAMPLES - 1]);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}

int main(void) {
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9) {
        fprintf(stderr, "make limits needs a Hopper GPU (compute capability 9.0)\n");
        return GEMM_DEVICE;
    }
    enum { VALUES = 64 * 1024 };
    static bf16 values[VALUES];
    for (int i = 0; i < VALUES; i++) {
        values[i] = round_to_bf16((float)normal());
    }
    const size_t copy_bytes = (size_t)4 << 30;
    Load load = {0, device.multiProcessorCount, {NULL, NULL}, NULL, NULL, copy_bytes};
    void *data, *out;
    stop_if(cudaMalloc(&data, sizeof values), "cudaMalloc");
    stop_if(cudaMalloc(&out, 4096), "cudaMalloc");
    stop_if(cudaMalloc(&load.from, copy_bytes), "cudaMalloc of 4 GiB");
    stop_if(cudaMalloc(&load.to, copy_bytes), "cudaMalloc of 4 GiB");
    stop_if(cudaMemset(load.from, 1, copy_bytes), "cudaMemset");
    stop_if(cudaMemcpy(data, values, sizeof values, cudaMemcpyHostToDevice), "cudaMemcpy");
    load.params.data = (const bf16 *)data;
    load.params.out = (float *)out;

    char date[16], gpu[64];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    snprintf(gpu, sizeof gpu, "%.63s", device.name);
    const char *commit = getenv("COMMIT") ? getenv("COMMIT") : "unknown";
    printf("gpu,date,commit,limit,unit,median,min,max\n");
    double wgmma_tflop = 2.0 * 64 * 256 * 16 * 4 * WGMMA_ROUNDS * WGMMA_WARPGROUPS * load.ctas * 1e-12;
    measure(gpu, date, commit, "wgmma m64n256k16 from shared memory", "TFLOP/s", &load, wgmma_tflop);
    load.what = 1;
    double mma_tflop = 2.0 * 16 * 8 * 16 * 8 * MMA_BLOCKS * MMA_ROUNDS * MMA_WARPS * load.ctas * 1e-12;
    measure(gpu, date, commit, "mma.sync m16n8k16 from registers", "TFLOP/s", &load, mma_tflop);
    load.what = 2;
    measure(gpu, date, commit, "device copy read + written", "TB/s", &load, 2.0 * (double)copy_bytes * 1e-12);
    return GEMM_OK;
}
