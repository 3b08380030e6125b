/* kernels_warp.c - the warp's functions: what tests/conform does not compare with a GPU, and what is wrong. */
#include "../../common/gemm.h"

#include "cases.h"

#define CASE_LIST "warp"

enum { THREADS = 64, VALUES = 8, HALF = 0xffff };

RIGHT_CASE(RIGHT_TYPES);  /* of values that are shuffled or matched */
RIGHT_CASE(RIGHT_ACTIVE); /* whoever finds itself together elects a lane */
RIGHT_CASE(RIGHT_MATH);
WRONG_CASE(VOTE_DIVERGED, CONVERGENCE);
WRONG_CASE(VOTE_OTHERS, CONVERGENCE); /* by a lane outside of the mask */
WRONG_CASE(VOTE_ORDERS_NOTHING, RACE_RAW);
WRONG_CASE(MATCH_DIVERGED, CONVERGENCE);
WRONG_CASE(WIDTH_12, CONVERGENCE);
WRONG_CASE(WIDTH_64, CONVERGENCE);
WRONG_CASE(ACTIVE_IS_ALL, CONVERGENCE); /* taken for the whole warp */

typedef struct {
    int value[THREADS];
} Shared;

typedef struct {
    float *out; /* [THREADS][VALUES] */
    int bug;
} Params;

#define ALL 0xffffffffu

DEVICE void types(float *out, int lane) {
    int all = -1;
    out[0] = (float)__shfl_sync(ALL, (double)lane, 1, 8);
    out[1] = (float)__shfl_up_sync(ALL, (long long)lane, 1, 8);
    out[2] = __shfl_up_sync(ALL, (float)lane, 6, 8);
    out[3] = (float)__shfl_down_sync(ALL, (unsigned)lane, 3, 8);
    out[4] = (float)__shfl_xor_sync(ALL, (uint64_t)lane, 2, 8);
    out[5] = (float)__ffs((int)__match_any_sync(ALL, (float)(lane / 7)));
    out[6] = (float)__match_all_sync(ALL, (uint64_t)lane / 31, &all);
    out[7] = (float)all;
}

DEVICE void math(float *out, int lane) {
    float x = 1 + (float)lane / 32;
    out[0] = fmaf(x, x, -x * x);
    out[1] = rsqrtf(x);
    out[2] = __expf(x);
    out[3] = __logf(x);
    out[4] = __fdividef(1, x);
    out[5] = __uint_as_float(__float_as_uint(x) + 1) - x;
}

static __global__ void __launch_bounds__(THREADS) warp_kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    const int bug = p.bug;
    int thread = (int)threadIdx.x, lane = thread % 32;
    float *out = p.out + thread * VALUES;
    s->value[thread] = 0;
    __syncthreads();
    switch (bug) {
    case RIGHT_TYPES: types(out, lane); break;
    case RIGHT_ACTIVE: {
        uint32_t active = __activemask();
        __nanosleep(100);
        if (lane == __ffs((int)active) - 1) {
            atomicAdd(p.out, (float)__popc(active));
        }
        break;
    }
    case RIGHT_MATH: math(out, lane); break;
    case VOTE_DIVERGED:
        if (lane < 16) {
            out[0] = (float)__any_sync(ALL, lane == 1);
        } else {
            out[0] = (float)__any_sync(ALL, lane == 2);
        }
        break;
    case VOTE_OTHERS: out[0] = (float)__any_sync(HALF, lane); break;
    case VOTE_ORDERS_NOTHING:
        s->value[thread] = lane;
        __all_sync(ALL, 1);
        out[0] = (float)s->value[thread ^ 1];
        break;
    case MATCH_DIVERGED:
        if (lane != 3) {
            out[0] = (float)__match_any_sync(ALL, lane);
        }
        break;
    case WIDTH_12: out[0] = (float)__shfl_sync(ALL, lane, 0, 12); break;
    case WIDTH_64: out[0] = (float)__shfl_xor_sync(ALL, lane, 1, 64); break;
    default: out[0] = (float)__shfl_sync(__activemask(), lane, 0); break;
    }
}
KERNEL_ENTRY(warp_kernel, Params);

static float expected(int bug, int lane, int i) {
    const float x = 1 + (float)lane / 32;
    const double exact = (double)x * (double)x; /* twice the digits */
    const float types[VALUES] = {(float)(lane / 8 * 8 + 1),
                                 (float)(lane % 8 > 0 ? lane - 1 : lane),
                                 (float)(lane % 8 > 5 ? lane - 6 : lane),
                                 (float)(lane % 8 < 5 ? lane + 3 : lane),
                                 (float)(lane ^ 2),
                                 (float)(lane / 7 * 7 + 1)};
    const float math[VALUES] = {
        (float)(exact - (double)(x * x)), (float)(1 / sqrt((double)x)), expf(x), logf(x), 1 / x, 0x1p-23f};
    return bug == RIGHT_TYPES ? types[i] : bug == RIGHT_MATH ? math[i] : i == 0 && lane == 0 ? THREADS : 0;
}

static int run(const Case *c) {
    const int bug = c->bug;
    float *out = case_memory(THREADS * VALUES * sizeof *out, "out");
    Params p = {out, bug};
    LaunchShape shape = {.grid = 1, .block = THREADS, .shared_bytes = sizeof(Shared)};
    int status = launch_kernel(KERNEL(warp_kernel), shape, &p, NULL, NULL);
    for (int i = 0; i < THREADS * VALUES && status == 0; i++) {
        int thread = i / VALUES;
        float want = bug == RIGHT_ACTIVE && thread > 0 ? 0 : expected(bug, thread % 32, i % VALUES);
        status = out[i] == want ? 0 : 1;
    }
    return status;
}
