/* kernels_devices.c - two devices: each writes what it has made into its neighbour's memory too, and tells by flags of
 * system scope. */
#include "../../common/gemm.h"

#include "../../common/device/bulk_copy.h"
#include "../../common/device/global_atomic.h"
#include "../../common/device/system_flag.h"
#include "../../common/device/tma.h"

#define BUG(name) (p->bug == (name))
#include "cases.h"

#define CASE_LIST "devices"

/* What a device receives is larger than SMALL_BYTES of judge/cells.c, up to which memory is watched in any case. */
enum { THREADS = 64, GRID = 2, COLS = 64, ROWS = 16, HALF = GRID * ROWS, DEVICES = 2 };

RIGHT_CASE(
    RIGHT_EXCHANGE);    /* each CTA stores a box to both devices by TMA, then waits for its neighbour's, and reads it */
RIGHT_CASE(RIGHT_POLL); /* by loads in a loop of its own */
RIGHT_CASE(RIGHT_FENCES);                       /* relaxed accesses between __threadfence_system() */
RIGHT_CASE(RIGHT_STORES);                       /* ordinary ones instead of TMA */
RIGHT_CASE(RIGHT_TWICE);                        /* two launches on each device, without the host between */
RIGHT_CASE(RIGHT_LATE_WAIT);                    /* the second launch on each device waits, the third reads */
RIGHT_CASE(RIGHT_RELAY);                        /* device 1 hands on what device 0 has told it */
RIGHT_CASE(RIGHT_LOAD);                         /* the copy engine loads what the other device's has stored */
WRONG_CASE(LOAD_FENCED_EARLY, PROXY_FENCE);     /* with one before the wait for the flag */
WRONG_CASE(RAISED_AFTER_READ, GLOBAL_CONFLICT); /* when shared memory has been read */
WRONG_CASE(READ_RELAXED, GLOBAL_CONFLICT);
WRONG_CASE(READ_AT_ONCE, GLOBAL_CONFLICT); /* when nobody has written there yet */
WRONG_CASE(NO_WAIT, PEER_END);             /* and no reader: the launch just ends */
WRONG_CASE(ONE_TOO_FEW_LATE, PEER_END);    /* when all have come, by chance */
WRONG_CASE(STALE_EPOCH, PEER_END);         /* the second launch waits for what the first one was told */
WRONG_CASE(NO_BARRIER, GLOBAL_CONFLICT);   /* the other threads' ordinary stores */
WRONG_CASE(READ_GPU, SCOPE);
WRONG_CASE(FENCE_GPU_POLL, SCOPE);
WRONG_CASE(ADD_BY_BOTH, SCOPE);          /* TMA adds of both devices */
WRONG_CASE(SAME_PLACE, GLOBAL_CONFLICT); /* both devices write the same rows */
WRONG_CASE(NEVER_RAISED, LIVELOCK);

enum { READY, DONE, MORE, FLAGS };

typedef struct {
    bf16 box[ROWS * COLS];
    MBarrier loaded;
} Shared;

typedef struct {
    TensorMap own, far;        /* of c[rank], c[1 - rank] */
    bf16 *c[DEVICES];          /* [2 * HALF][COLS], the first half of rank 0 */
    int *flags[DEVICES], *out; /* [FLAGS]; [GRID * THREADS] */
    int rank, epoch, part, bug;
} Params;

DEVICE bf16 value(int rank, int row) { return (bf16)(1 + rank * HALF + row); }

DEVICE void raise(const Params *p, int *flag, int block) {
    if (BUG(NEVER_RAISED) && p->rank == 1 && block == GRID - 1) {
        return;
    }
    if (BUG(RIGHT_FENCES)) {
        __threadfence_system();
        MODEL_SYSTEM_ADD(MODEL_relaxed, flag, 1);
    } else if (BUG(FENCE_GPU_POLL)) {
        __threadfence();
        MODEL_SYSTEM_ADD(MODEL_relaxed, flag, 1);
    } else {
        system_flag_add_release(flag, 1);
    }
}

DEVICE void await(const Params *p, const int *flag, int wanted) {
    if (BUG(RIGHT_POLL) || BUG(FENCE_GPU_POLL)) {
        while (system_flag_read_acquire(flag) < wanted) {
        }
    } else if (BUG(READ_RELAXED) || BUG(RIGHT_FENCES)) {
        while (system_flag_read_relaxed(flag) < wanted) {
        }
        ADDS(RIGHT_FENCES, __threadfence_system());
    } else if (BUG(READ_GPU)) {
        while (global_load(acquire, flag) < wanted) {
        }
    } else {
        system_flag_wait_acquire(flag, wanted);
    }
}

/* The neighbour's stream has come so far: its memory may be written. */
DEVICE void start(Shared *s, const Params *p, int block, int thread) {
    if (thread == 0) {
        mbarrier_init(&s->loaded, 1, 1);
        mbarrier_init_fence();
    }
    if (thread == 0) {
        if (block == 0) {
            system_flag_add_release(&p->flags[1 - p->rank][READY], 1);
        }
        system_flag_wait_acquire(&p->flags[p->rank][READY], p->epoch);
    }
    __syncthreads();
}

DEVICE void send(Shared *s, const Params *p, int block, int thread) {
    int row = (BUG(SAME_PLACE) ? 0 : p->rank * HALF) + block * ROWS, other = 1 - p->rank;
    if (BUG(RIGHT_STORES) || BUG(NO_BARRIER)) {
        for (int i = thread; i < ROWS * COLS; i += THREADS) {
            p->c[p->rank][row * COLS + i] = p->c[other][row * COLS + i] = value(p->rank, block * ROWS + i / COLS);
        }
        LEAVES_OUT(NO_BARRIER, __syncthreads());
    } else {
        for (int i = thread; i < ROWS * COLS; i += THREADS) {
            s->box[i] = value(p->rank, block * ROWS + i / COLS);
        }
        fence_proxy_async();
        __syncthreads();
    }
    if (thread != 0) {
        return;
    }
    if (BUG(ADD_BY_BOTH)) {
        tma_reduce_add_2d(&p->own, s->box, 0, block * ROWS);
        tma_reduce_add_2d(&p->far, s->box, 0, block * ROWS);
    } else if (!BUG(RIGHT_STORES) && !BUG(NO_BARRIER)) {
        tma_store_2d(&p->own, s->box, 0, row);
        tma_store_2d(&p->far, s->box, 0, row);
    }
    bulk_commit_group();
    if (BUG(RAISED_AFTER_READ)) {
        bulk_wait_group_read(0);
        raise(p, &p->flags[other][DONE], block);
    }
    bulk_wait_group(0);
    if (!BUG(RAISED_AFTER_READ)) {
        raise(p, &p->flags[other][DONE], block);
    }
}

DEVICE int is_there(const Params *p, int block, int thread) {
    int right = 1, from = 1 - p->rank;
    for (int i = thread; i < ROWS * COLS; i += THREADS) {
        bf16 found = p->c[p->rank][(from * HALF + block * ROWS) * COLS + i];
        right &= found == value(from, block * ROWS + i / COLS);
    }
    return right;
}

/* is_there(), of rows that the copy engine loads into shared memory. */
DEVICE int is_loaded(Shared *s, const Params *p, int block, int thread) {
    int right = 1, from = 1 - p->rank;
    if (thread == 0) {
        LEAVES_OUT(LOAD_FENCED_EARLY, fence_proxy_async_global());
        mbarrier_arrive_expect_tx(&s->loaded, (int)sizeof s->box);
        bulk_load(s->box, &p->c[p->rank][(from * HALF + block * ROWS) * COLS], (int)sizeof s->box, &s->loaded);
    }
    mbarrier_wait_parity(&s->loaded, 0);
    for (int i = thread; i < ROWS * COLS; i += THREADS) {
        right &= s->box[i] == value(from, block * ROWS + i / COLS);
    }
    return right;
}

DEVICE int receive(Shared *s, const Params *p, int block, int thread) {
    int stale = BUG(STALE_EPOCH), few = BUG(ONE_TOO_FEW_LATE);
    int wanted = GRID * (stale ? 1 : p->epoch) - few;
    int reads = !BUG(NO_WAIT) && !few && !stale && !BUG(SAME_PLACE) && !BUG(ADD_BY_BOTH);
    int right = 1;
    while (thread == 0 && BUG(ONE_TOO_FEW_LATE) &&
           system_flag_read_relaxed(&p->flags[p->rank][DONE]) < GRID * p->epoch) {
    }
    if (thread == 0 && !BUG(NO_WAIT)) {
        ADDS(LOAD_FENCED_EARLY, fence_proxy_async_global());
        await(p, &p->flags[p->rank][DONE], wanted);
    }
    __syncthreads();
    if (BUG(RIGHT_LOAD) || BUG(LOAD_FENCED_EARLY)) {
        right = is_loaded(s, p, block, thread);
    } else if (reads) {
        right = is_there(p, block, thread);
    }
    return right;
}

/* Device 0 stores to device 1; CTA 0 of device 1 hands on to its CTA 1 that this is done, and that one to device 0,
 * which writes there again. */
DEVICE int relay(const Params *p, int block, int thread) {
    int *at = (int *)p->c[1];
    if (thread != 0) {
        return 1;
    }
    if (p->rank == 0 && block == 0) {
        system_flag_wait_acquire(&p->flags[0][READY], 1);
        at[0] = 5;
        system_flag_add_release(&p->flags[1][DONE], 1);
    } else if (p->rank == 1 && block == 0) {
        system_flag_add_release(&p->flags[0][READY], 1);
        system_flag_wait_acquire(&p->flags[1][DONE], 1);
        global_store(release, &p->flags[1][MORE], 1);
    } else if (p->rank == 1 && block == 1) {
        while (global_load(acquire, &p->flags[1][MORE]) == 0) {
        }
        int right = at[0] == 5;
        system_flag_add_release(&p->flags[0][DONE], 1);
        system_flag_wait_acquire(&p->flags[1][DONE], 2);
        return right && at[0] == 6;
    } else if (p->rank == 0 && block == 1) {
        system_flag_wait_acquire(&p->flags[0][DONE], 1);
        at[0]++;
        system_flag_add_release(&p->flags[1][DONE], 1);
    }
    return 1;
}

static __global__ void __launch_bounds__(THREADS) devices_kernel(const __grid_constant__ Params params) {
    SHARED_MEMORY(Shared, s);
    const Params *p = &params;
    int block = (int)blockIdx.x, thread = (int)threadIdx.x, right = 1;
    if (BUG(RIGHT_RELAY)) {
        right = relay(p, block, thread);
    } else {
        if (BUG(READ_AT_ONCE)) {
            p->out[block * THREADS + thread] = is_there(p, block, thread);
        }
        if (p->part <= 0) {
            start(s, p, block, thread);
            send(s, p, block, thread);
        }
        if (p->part < 0) {
            right = receive(s, p, block, thread);
        } else if (p->part == 1 && block == 0 && thread == 0) {
            await(p, &p->flags[p->rank][DONE], GRID * p->epoch);
        } else if (p->part == 2) {
            right = is_there(p, block, thread);
        }
    }
    p->out[block * THREADS + thread] = right;
}
KERNEL_ENTRY(devices_kernel, Params);

/* One of the launches of a device. */
static int start_launch(Params *p, int epoch, int part) {
    LaunchShape shape = {.grid = GRID, .block = THREADS, .shared_bytes = sizeof(Shared)};
    p->epoch = epoch;
    p->part = part;
    model_use_device(p->rank);
    return launch_kernel(KERNEL(devices_kernel), shape, p, NULL, NULL);
}

static int run(const Case *wanted) {
    const int bug = wanted->bug;
    int status = 0, epochs = bug == RIGHT_TWICE || bug == STALE_EPOCH ? 2 : 1;
    Params p = {.bug = bug}, ranks[DEVICES];
    int *out[DEVICES];
    for (int rank = 0; rank < DEVICES; rank++) {
        model_use_device(rank);
        p.c[rank] = case_memory(2 * HALF * COLS * sizeof(bf16), "C");
        p.flags[rank] = case_memory(FLAGS * sizeof(int), "flags");
        out[rank] = case_memory(GRID * THREADS * sizeof(int), "out");
        model_describe_rows(p.c[rank], "C", 0, 2 * HALF, COLS, sizeof(bf16));
    }
    model_hold_launches();
    for (int rank = 0; rank < DEVICES && status == 0; rank++) {
        Params *own = &ranks[rank];
        *own = p;
        own->rank = rank;
        own->out = out[rank];
        status = tensor_map_2d(&own->own, "C", p.c[rank], 2 * HALF, COLS, COLS, ROWS, COLS, SWIZZLE_NONE, NULL) ||
                 tensor_map_2d(&own->far, "C", p.c[1 - rank], 2 * HALF, COLS, COLS, ROWS, COLS, SWIZZLE_NONE, NULL);
        for (int part = 0; part < 3 && bug == RIGHT_LATE_WAIT && status == 0; part++) {
            status = start_launch(own, 1, part);
        }
        for (int epoch = 1; epoch <= epochs && bug != RIGHT_LATE_WAIT && status == 0; epoch++) {
            status = start_launch(own, epoch, -1);
        }
    }
    if (status == 0) {
        status = model_run_launches();
    }
    for (int i = 0; i < DEVICES * GRID * THREADS && status == 0; i++) {
        status = out[i / (GRID * THREADS)][i % (GRID * THREADS)] != 1;
    }
    model_use_device(0);
    return status;
}
