/* kernels_warp.c - votes, matches, shuffles within a part of the warp, and the arithmetic that nvcc brings along. */
#include "../../common/gemm.h"

#include "cases.h"

#define CASE_LIST "warp"

enum { THREADS = 64, VALUES = 24, HALF = 0xffff };

RIGHT_CASE(RIGHT_VOTES);
RIGHT_CASE(RIGHT_VOTES_HALF); /* each half of a warp by itself */
RIGHT_CASE(RIGHT_MATCH);
RIGHT_CASE(RIGHT_WIDTHS);
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

DEVICE void votes(float *out, uint32_t mask, int lane) {
    out[0] = (float)(__ballot_sync(mask, lane % 3) & 0xffffff);
    out[1] = (float)(__ballot_sync(mask, 0x100 << lane % 2) >> 16);
    out[2] = (float)__any_sync(mask, lane == 5 || lane == 21);
    out[3] = (float)__any_sync(mask, 0);
    out[4] = (float)__all_sync(mask, lane + 1);
    out[5] = (float)__all_sync(mask, lane % 16);
    out[6] = (float)__popc(__ballot_sync(mask, lane & 2));
    out[7] = (float)(__ffs((int)__ballot_sync(mask, lane > 7)) + __clz(lane << 8));
}

DEVICE void match(float *out, int lane) {
    int all = -1;
    out[0] = (float)__popc(__match_any_sync(ALL, lane % 5));
    out[1] = (float)__ffs((int)__match_any_sync(ALL, (float)(lane / 7)));
    out[2] = (float)(__match_all_sync(ALL, lane / 32, &all) >> 16);
    out[3] = (float)all;
    out[4] = (float)__match_all_sync(ALL, (uint64_t)lane / 31, &all);
    out[5] = (float)all;
}

/* Three widths, of each kind two shuffles. */
DEVICE void widths(float *out, int lane) {
    UNROLL
    for (int i = 0; i < 3; i++) {
        int width = 4 << i;
        out[8 * i] = (float)__shfl_sync(ALL, (double)lane, 1, width);
        out[8 * i + 1] = (float)__shfl_sync(ALL, lane, lane * 5 + 3, width);
        out[8 * i + 2] = (float)__shfl_up_sync(ALL, (long long)lane, 1, width);
        out[8 * i + 3] = __shfl_up_sync(ALL, (float)lane, 6, width);
        out[8 * i + 4] = (float)__shfl_down_sync(ALL, (unsigned)lane, 3, width);
        out[8 * i + 5] = (float)__shfl_down_sync(ALL, lane, 33);
        out[8 * i + 6] = (float)__shfl_xor_sync(ALL, (uint64_t)lane, 2, width);
        out[8 * i + 7] = (float)__shfl_xor_sync(ALL, lane, 8, width);
    }
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
    case RIGHT_VOTES: votes(out, ALL, lane); break;
    case RIGHT_VOTES_HALF:
        if (lane < 16) {
            votes(out, HALF, lane);
        } else {
            votes(out, (uint32_t)HALF << 16, lane);
        }
        break;
    case RIGHT_MATCH: match(out, lane); break;
    case RIGHT_WIDTHS: widths(out, lane); break;
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

/* By the words of the CUDA guide, not by those of PTX. */
static int shuffled(int kind, int lane, int operand, int width) {
    int begin = lane / width * width, from = kind == 0   ? begin + operand % width
                                             : kind == 1 ? lane - operand
                                             : kind == 2 ? lane + operand
                                                         : lane ^ operand;
    return (kind == 1 && from < begin) || from >= begin + width ? lane : from;
}

static float expected(int bug, int lane, int i) {
    float x = 1 + (float)lane / 32;
    int half = bug == RIGHT_VOTES_HALF, width = 4 << i / 8;
    uint32_t mask = !half ? ALL : lane < 16 ? HALF : (uint32_t)HALF << 16, thirds = 0;
    int alike = 0;
    for (int other = 0; other < 32; other++) {
        thirds |= (uint32_t)(other % 3 != 0) << other;
        alike += other % 5 == lane % 5;
    }
    switch (bug) {
    case RIGHT_VOTES:
    case RIGHT_VOTES_HALF: {
        int first = half && lane >= 16 ? 17 : 9, zeros = lane == 0   ? 32
                                                         : lane < 2  ? 23
                                                         : lane < 4  ? 22
                                                         : lane < 8  ? 21
                                                         : lane < 16 ? 20
                                                                     : 19;
        const float want[8] = {(float)(thirds & mask & 0xffffff),
                               (float)(mask >> 16),
                               1,
                               0,
                               1,
                               0,
                               (float)(half ? 8 : 16),
                               (float)(first + zeros)};
        return i < 8 ? want[i] : 0;
    }
    case RIGHT_MATCH: {
        const float want[6] = {(float)alike, (float)(lane / 7 * 7 + 1), 0xffff, 1, 0, 0};
        return i < 6 ? want[i] : 0;
    }
    case RIGHT_WIDTHS: {
        const int want[8] = {shuffled(0, lane, 1, width), shuffled(0, lane, lane * 5 + 3, width),
                             shuffled(1, lane, 1, width), shuffled(1, lane, 6, width),
                             shuffled(2, lane, 3, width), lane < 31 ? lane + 1 : lane,
                             shuffled(3, lane, 2, width), shuffled(3, lane, 8, width)};
        return (float)want[i % 8];
    }
    case RIGHT_MATH: {
        /* The product is exact in twice the digits. */
        double exact = (double)x * (double)x;
        const float want[6] = {
            (float)(exact - (double)(x * x)), (float)(1 / sqrt((double)x)), expf(x), logf(x), 1 / x, 0x1p-23f};
        return i < 6 ? want[i] : 0;
    }
    default: return i == 0 && lane == 0 ? THREADS : 0;
    }
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
