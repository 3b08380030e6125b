/* The kernels of book/w4a8.md on a Hopper GPU: every element of C against integers. Scales are powers of two and the
 * sums of the e4m3 kernel are small, so that the right result is exact before its rounding to bf16. */
#include "w4a8_kernels.inc"

#include "tap.h"

enum { M = 200, N = 256, K = 20 * 128, PADDED = 8 }; /* two CTAs in each direction, the last 56 rows do not exist */

static uint32_t random_state = 1;

/* A number from least to most. */
static int random_int(int least, int most) {
    random_state = random_state * 1664525 + 1013904223;
    return least + (int)((random_state >> 8) % (uint32_t)(most - least + 1));
}

/* -4 to 4 as e4m3. */
static uint8_t small_e4m3(int value) {
    static const uint8_t magnitudes[] = {0x00, 0x38, 0x40, 0x44, 0x48};
    return (uint8_t)(magnitudes[abs(value)] | (value < 0 ? 0x80 : 0));
}

static bf16 rounded(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Copies to the GPU; NULL after printing what failed. */
static void *to_gpu(const void *data, size_t bytes) {
    void *copy;
    if (cuda_status(cudaMalloc(&copy, bytes), "cudaMalloc") ||
        cuda_status(cudaMemcpy(copy, data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy")) {
        return NULL;
    }
    return copy;
}

static void test(WeightFormat format, const char *name) {
    static int8_t w[N * K], x[M * K];
    static uint8_t x_bytes[M * K];
    static uint32_t packed[N / 64 * (K / 64)][128][4];
    static float scale_w[(K / BK) * N], scale_x[M];
    static bf16 c[M * (N + PADDED)];
    int least = format == WEIGHTS_INT8 ? -8 : -7, most = format == WEIGHTS_INT8 ? 127 : 4;
    for (int i = 0; i < N * K; i++) {
        w[i] = (int8_t)random_int(least, 7);
    }
    for (int i = 0; i < M * K; i++) {
        x[i] = (int8_t)random_int(-most, most);
        x_bytes[i] = format == WEIGHTS_INT8 ? (uint8_t)x[i] : small_e4m3(x[i]);
    }
    for (int i = 0; i < (K / BK) * N; i++) {
        scale_w[i] = (float)(1 << random_int(0, 3)) / 8;
    }
    for (int i = 0; i < M; i++) {
        scale_x[i] = (float)(1 << random_int(0, 3)) / 8;
    }
    for (int row = 0; row < N; row += 64) {
        for (int k = 0; k < K; k += 64) {
            pack_weights(format, &w[row * K + k], K, packed[row / 64 * (K / 64) + k / 64]);
        }
    }
    memset(c, 0xff, sizeof c); /* NaN */

    void *x_gpu = to_gpu(x_bytes, sizeof x_bytes), *c_gpu = to_gpu(c, sizeof c);
    Params p = {};
    p.w = (const uint4 *)to_gpu(packed, sizeof packed);
    p.scale_w = (const float *)to_gpu(scale_w, sizeof scale_w);
    p.scale_x = (const float *)to_gpu(scale_x, sizeof scale_x);
    p.m = M;
    p.n = N;
    p.k = K;
    LaunchShape shape = {};
    shape.grid = ceil_div(M, BM) * (N / BN);
    shape.block = THREADS;
    shape.shared_bytes = sizeof(Shared);
    int failed = x_gpu == NULL || c_gpu == NULL || p.w == NULL || p.scale_w == NULL || p.scale_x == NULL ||
                 tensor_map_2d(&p.map_x, "X", (const bf16 *)x_gpu, M, K / 2, K / 2, BM, 64, SWIZZLE_128B) ||
                 tensor_map_2d(&p.map_c, "C", (const bf16 *)c_gpu, M, N, N + PADDED, BM, 64, SWIZZLE_128B);
    if (!failed) {
        failed = format == WEIGHTS_INT8 ? launch_kernel(KERNEL(int8_kernel), shape, &p, NULL)
                                        : launch_kernel(KERNEL(e4m3_kernel), shape, &p, NULL);
    }
    failed = failed || cuda_status(cudaMemcpy(c, c_gpu, sizeof c, cudaMemcpyDeviceToHost), name);
    int wrong = 0, written = 0;
    for (int row = 0; !failed && row < M; row++) {
        for (int col = 0; col < N; col++) {
            float sum = 0;
            for (int group = 0; group < K / BK; group++) {
                int products = 0;
                for (int k = group * BK; k < (group + 1) * BK; k++) {
                    products += x[row * K + k] * w[col * K + k];
                }
                sum += (float)products * scale_w[format == WEIGHTS_INT8 ? col : group * N + col];
            }
            bf16 expected = rounded(sum * scale_x[row]), got = c[row * (N + PADDED) + col];
            if (got != expected && wrong++ < 3) {
                diag("%s: C[%d][%d] is 0x%04x, 0x%04x is right", name, row, col, got, expected);
            }
        }
        for (int col = N; col < N + PADDED; col++) {
            written += c[row * (N + PADDED) + col] != 0xffff;
        }
    }
    ok(!failed && wrong == 0, "%s: %d x %d x %d, %d elements wrong", name, M, N, K, wrong);
    ok(!failed && written == 0, "%s: nothing written behind the rows", name);
}

int main(void) {
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9 || device.minor != 0) {
        printf("1..0 # SKIP there is no Hopper GPU\n");
        return 0;
    }
    test(WEIGHTS_INT8, "int8");
    test(WEIGHTS_E4M3, "e4m3");
    return tap_done();
}
