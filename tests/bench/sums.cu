/* sums.cu - how much the tensor cores lose of a sum of e4m3 products, if they add up all of k themselves and if 128 of k are
 * promoted into fp32 at a time, as 10_fp8 does. Prints CSV; for `make sums`, on a Hopper GPU.
 *
 * The error of a tile of sums: the root of the mean square of (sum - exact), over that of exact; exact by fp64. */
#include <time.h>

#include "gemm.h"

#include "device/swizzle.h"
#include "device/tma.h"
#include "device/wgmma.h"
#include "harness/kind.h"

enum { ROWS = 64, COLUMNS = 128, BK = SCALE_K, MAX_K = 65536 };

typedef struct {
    e4m3 a[ROWS * BK], b[COLUMNS * BK]; /* K-major, 128-byte swizzle */
} Shared;

typedef struct {
    const e4m3 *a, *b; /* [ROWS][k], [COLUMNS][k] */
    float *c;          /* [ROWS][COLUMNS] */
    int k, promoted;
} Params;

/* 16 elements at a time of a matrix [rows][k] into a tile. */
DEVICE void load(e4m3 *tile, const e4m3 *matrix, int rows, int k, int first_k) {
    for (int i = (int)threadIdx.x; i < rows * BK / 16; i += 128) {
        int row = i / (BK / 16), chunk = i % (BK / 16);
        *(uint4 *)(tile + swizzle_128b((uint32_t)(row * BK + chunk * 16))) =
            *(const uint4 *)(matrix + (size_t)row * (size_t)k + (size_t)(first_k + chunk * 16));
    }
}

static __global__ void __launch_bounds__(128, 1) add_up(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    float part[COLUMNS / 2], sum[COLUMNS / 2] = {0};
    for (int first_k = 0; first_k < p.k; first_k += BK) {
        load(s->a, p.a, ROWS, p.k, first_k);
        load(s->b, p.b, COLUMNS, p.k, first_k);
        /* wgmma reads through the async proxy what all have written through the generic proxy. */
        fence_proxy_async();
        __syncthreads();
        uint64_t a = wgmma_descriptor(s->a), b = wgmma_descriptor(s->b);
        wgmma_fence();
        UNROLL
        for (int step = 0; step < BK / 32; step++) {
            wgmma_ss_e4m3(128, part, a + step * WGMMA_K16_STEP, b + step * WGMMA_K16_STEP,
                          step > 0 || (!p.promoted && first_k > 0));
        }
        wgmma_commit_group();
        wgmma_wait_group(0);
        registers_settled(part, COLUMNS / 2);
        UNROLL
        for (int i = 0; i < COLUMNS / 2; i++) {
            sum[i] = p.promoted ? sum[i] + part[i] : part[i];
        }
        /* All products have read the tiles: they may be overwritten. */
        __syncthreads();
    }
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    UNROLL
    for (int i = 0; i < COLUMNS / 2; i++) {
        int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        p.c[row * COLUMNS + column] = sum[i];
    }
}

/* Normal numbers as the harness has them; positive: their sizes, as behind a ReLU. */
static void fill(e4m3 *matrix, int rows, int k, OperandId id, int positive) {
    DataSource source = {.kind = KIND_FP8, .data = DATA_NORMAL, .seed = 1, .k = k};
    for (size_t i = 0; i < (size_t)rows * (size_t)k; i++) {
        matrix[i] = (e4m3)(element_bits(&source, id, TYPE_E4M3, i) & (positive ? 0x7f : 0xff));
    }
}

static double error_of(const Params *p) {
    double off = 0, size = 0, value[256];
    for (int i = 0; i < 256; i++) {
        value[i] = (double)e4m3_value((e4m3)i);
    }
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            double exact = 0;
            for (int k = 0; k < p->k; k++) {
                exact += value[p->a[(size_t)row * (size_t)p->k + (size_t)k]] *
                         value[p->b[(size_t)column * (size_t)p->k + (size_t)k]];
            }
            double error = (double)p->c[row * COLUMNS + column] - exact;
            off += error * error, size += exact * exact;
        }
    }
    return sqrt(off / size);
}

int main(void) {
    Params p;
    cudaDeviceProp card;
    char date[16];
    time_t now = time(NULL);
    const char *commit = getenv("COMMIT");
    if (cuda_status(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties", NULL) ||
        cuda_status(cudaMallocManaged((void **)&p.a, (size_t)ROWS * MAX_K, cudaMemAttachGlobal), "cudaMallocManaged",
                    NULL) ||
        cuda_status(cudaMallocManaged((void **)&p.b, (size_t)COLUMNS * MAX_K, cudaMemAttachGlobal), "cudaMallocManaged",
                    NULL) ||
        cuda_status(cudaMallocManaged((void **)&p.c, ROWS * COLUMNS * sizeof(float), cudaMemAttachGlobal),
                    "cudaMallocManaged", NULL)) {
        return GEMM_DEVICE;
    }
    if (card.major != 9) {
        fprintf(stderr, "%s has compute capability %d.%d, wgmma needs 9.0\n", card.name, card.major, card.minor);
        return GEMM_DEVICE;
    }
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    printf("gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit\n");
    for (int positive = 0; positive < 2; positive++) {
        for (int k = BK; k <= MAX_K; k *= 4) {
            fill((e4m3 *)p.a, ROWS, k, OPERAND_A, positive);
            fill((e4m3 *)p.b, COLUMNS, k, OPERAND_B, positive);
            for (p.promoted = 0; p.promoted < 2; p.promoted++) {
                p.k = k;
                LaunchShape shape = {.grid = 1, .block = 128, .shared_bytes = sizeof(Shared)};
                if (launch_kernel(KERNEL(add_up), shape, &p, NULL, NULL) ||
                    cuda_status(cudaDeviceSynchronize(), "cudaDeviceSynchronize", NULL)) {
                    return GEMM_DEVICE;
                }
                double error = error_of(&p) * 1e6;
                printf("%s,%s,%s,sums,%s data %s,%d,%d,%d,%.4g,%.4g,%.4g,millionths\n", card.name, date,
                       commit ? commit : "unknown", positive ? "positive" : "normal",
                       p.promoted ? "promoted" : "in the tensor cores", ROWS, COLUMNS, k, error, error, error);
            }
        }
    }
    return GEMM_OK;
}
