/* 12_several_gpus_mpi - C complete on each of several GPUs, in three ways: (a) cuBLAS, then NCCL; (b) chapter 09 in pieces, each
 * gathered by NCCL while the next is computed; (c) chapter 12's kernel, which writes into its neighbours' memory.
 *
 * One process for each GPU, started by mpirun, which is all that MPI does here, but for handing round a few bytes:
 *
 *     mpirun -n 2 beyond/12_several_gpus/12_several_gpus_mpi [--m M --n N --k K] [--bench=ROUNDS] [--repeat R] [--csv FILE]
 *
 * (a) and (b) run on any number of hosts. (c) maps the neighbours' memory, so its GPUs must be in one host and must reach
 * each other; where they do not, (b) takes its place. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <mpi.h>
#include <nccl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../../common/harness/cublas.h"
#include "../../common/harness/nvml.h"
#include "../../common/harness/report.h"

extern const Chapter gpu_chapter_09_every_shape, gpu_chapter_12_several_gpus;

enum {
    PATIENCE_S = 60, /* longer than any step takes: who waits longer waits for ever */
    MAX_PIECES = 16,
    MAPPED_BYTES = 2 << 20, /* memory that is mapped by others is allocated in whole pages of the GPU */
    EVENT_BEGIN = 0,
    EVENT_END /* slots of the backend */
};

/* ---- what goes wrong ------------------------------------------------------------------------------------------------ */

static int world_rank, world_size;

/* A process that cannot go on ends all of them: the others would wait for it. */
static void give_up(GemmStatus status) {
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, status);
}
#define TRY_CUDA(call) try_cuda(call, #call)
static void try_cuda(cudaError_t error, const char *call) {
    if (error != cudaSuccess) {
        fprintf(stderr, "rank %d: %s failed: %s\n", world_rank, call, cudaGetErrorString(error));
        give_up(GEMM_DEVICE);
    }
}
static void try_status(GemmStatus status) {
    if (status != GEMM_OK) {
        give_up(status);
    }
}

/* The watchdog: a flag that never comes, or a collective that another rank does not join, keeps the GPU and this process
 * waiting for ever. Only what a signal handler may call. */
static const char *volatile step = "start";
static void give_up_waiting(int signal) {
    (void)signal;
    static const char text[] = ": nothing has come for a minute; a rank has ended, or a flag was lost, in the step: ";
    char who[] = "rank 0";
    who[5] = (char)('0' + world_rank % 10);
    ssize_t ignored = write(STDERR_FILENO, who, sizeof who - 1);
    ignored = write(STDERR_FILENO, text, sizeof text - 1);
    ignored = write(STDERR_FILENO, step, strlen(step));
    ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(GEMM_DEVICE); /* mpirun then ends the others */
}
static void begin_step(const char *name) {
    step = name;
    alarm(PATIENCE_S);
}

/* ---- NCCL, loaded when used ------------------------------------------------------------------------------------------ */

static struct {
    ncclResult_t (*get_unique_id)(ncclUniqueId *id);
    ncclResult_t (*init)(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config);
    ncclResult_t (*all_gather)(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                               cudaStream_t stream);
    ncclResult_t (*mem_alloc)(void **memory, size_t bytes);
    ncclResult_t (*window_register)(ncclComm_t comm, void *memory, size_t bytes, ncclWindow_t *window, int flags);
    ncclResult_t (*get_version)(int *version);
    const char *(*text)(ncclResult_t result);
} nccl;

#define TRY_NCCL(call) try_nccl(call, #call)
static void try_nccl(ncclResult_t result, const char *call) {
    if (result != ncclSuccess) {
        fprintf(stderr, "rank %d: %s failed: %s\n", world_rank, call, nccl.text(result));
        give_up(GEMM_DEVICE);
    }
}

static void find(void *library, void *function, const char *name) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "rank %d: libnccl.so.2 lacks %s: NCCL 2.28 or later is needed\n", world_rank, name);
        give_up(GEMM_DEVICE);
    }
    memcpy(function, &symbol, sizeof symbol); /* POSIX: an object pointer that holds a function's address */
}

static void load_nccl(void) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr,
                "rank %d: libnccl.so.2 was not found: it is in NVIDIA's package libnccl2, and in the wheel "
                "nvidia-nccl-cu13; LD_LIBRARY_PATH may name its directory\n",
                world_rank);
        give_up(GEMM_DEVICE);
    }
    find(library, &nccl.get_unique_id, "ncclGetUniqueId");
    find(library, &nccl.init, "ncclCommInitRankConfig");
    find(library, &nccl.all_gather, "ncclAllGather");
    find(library, &nccl.mem_alloc, "ncclMemAlloc");
    find(library, &nccl.window_register, "ncclCommWindowRegister");
    find(library, &nccl.get_version, "ncclGetVersion");
    find(library, &nccl.text, "ncclGetErrorString");
}

/* A communicator of all ranks. copy_engines: collectives leave the SMs alone, where NCCL can do that. */
static ncclComm_t open_comm(int copy_engines) {
    ncclUniqueId id;
    ncclComm_t comm;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (copy_engines) {
        config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
    }
    if (world_rank == 0) {
        TRY_NCCL(nccl.get_unique_id(&id));
    }
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    TRY_NCCL(nccl.init(&comm, world_size, id, world_rank, &config));
    return comm;
}

/* ---- one rank's share ------------------------------------------------------------------------------------------------ */

static const Backend *backend;
static DeviceInfo device;
static Problem problem; /* of all ranks. B is here whole, for the reference; the kernels get this rank's rows of it */

static int first_column(int rank) { return rank_first_column(problem.gemm.n, world_size, rank); }
static int columns_of(int rank) { return first_column(rank + 1) - first_column(rank); }

/* This rank's part of the problem: its rows of B, its columns of C. */
static Gemm own_part(void) {
    Gemm part = problem.gemm;
    part.n = columns_of(world_rank);
    part.b += (size_t)first_column(world_rank) * (size_t)part.ldb;
    part.c += first_column(world_rank);
    return part;
}

/* ---- (a) and (b): blocks, gathered by NCCL ---------------------------------------------------------------------------- */

/* NCCL gathers blocks, not columns of a matrix: C lies here as [piece][rank][rows of the piece][block_columns()], and each
 * rank computes right where its block is gathered. */
typedef struct {
    int pieces, row[MAX_PIECES + 1]; /* the first row of each, and m */
    const Cublas *cublas;            /* NULL: chapter 09 */
    void *workspace;                 /* of chapter 09 */
    bf16 *blocks;                    /* [world_size][m][block_columns()] */
    ncclComm_t comm;
    cudaStream_t collectives; /* NULL: the product's */
    cudaEvent_t computed[MAX_PIECES], gathered;
} Gather;

/* All blocks are as wide as rank 0's, the widest, and their rows begin at multiples of 16 bytes. */
static int block_columns(void) { return ceil_div(columns_of(0), 8) * 8; }
static int piece_rows(const Gather *gather, int piece) { return gather->row[piece + 1] - gather->row[piece]; }
static bf16 *block_of(const Gather *gather, int piece, int rank) {
    size_t columns = (size_t)block_columns();
    return gather->blocks + columns * ((size_t)gather->row[piece] * (size_t)world_size +
                                       (size_t)piece_rows(gather, piece) * (size_t)rank);
}

static GemmStatus compute_piece(const Gather *gather, int piece) {
    Gemm part = own_part();
    part.a += (size_t)gather->row[piece] * (size_t)part.lda;
    part.m = piece_rows(gather, piece);
    part.c = block_of(gather, piece, world_rank);
    part.ldc = block_columns();
    part.workspace = gather->workspace;
    if (part.n == 0) {
        return GEMM_OK;
    }
    if (gather->cublas) {
        CublasRun run = {gather->cublas, part};
        return cublas_launch(&run);
    }
    return gpu_chapter_09_every_shape.launch(&part, NULL);
}

static GemmStatus gather_launch(void *context) {
    const Gather *gather = context;
    cudaStream_t compute = (cudaStream_t)device.stream;
    cudaStream_t collectives = gather->collectives ? gather->collectives : compute;
    for (int piece = 0; piece < gather->pieces; piece++) {
        GemmStatus status = compute_piece(gather, piece);
        if (status != GEMM_OK) {
            return status;
        }
        if (gather->collectives) {
            /* The collective waits for its piece, and the product goes on with the next. */
            TRY_CUDA(cudaEventRecord(gather->computed[piece], compute));
            TRY_CUDA(cudaStreamWaitEvent(collectives, gather->computed[piece], 0));
        }
        TRY_NCCL(nccl.all_gather(block_of(gather, piece, world_rank), block_of(gather, piece, 0),
                                 (size_t)piece_rows(gather, piece) * (size_t)block_columns(), ncclBfloat16,
                                 gather->comm, collectives));
    }
    if (gather->collectives) {
        /* What comes next in the product's stream waits for the last piece. */
        TRY_CUDA(cudaEventRecord(gather->gathered, collectives));
        TRY_CUDA(cudaStreamWaitEvent(compute, gather->gathered, 0));
    }
    return GEMM_OK;
}

/* From blocks to rows of C, where the check looks. Not timed with the rest. */
static void blocks_to_c(const Gather *gather) {
    const Gemm *g = &problem.gemm;
    for (int piece = 0; piece < gather->pieces; piece++) {
        for (int rank = 0; rank < world_size; rank++) {
            if (columns_of(rank) > 0) {
                TRY_CUDA(cudaMemcpy2DAsync(g->c + (size_t)gather->row[piece] * (size_t)g->ldc + first_column(rank),
                                           (size_t)g->ldc * sizeof(bf16), block_of(gather, piece, rank),
                                           (size_t)block_columns() * sizeof(bf16),
                                           (size_t)columns_of(rank) * sizeof(bf16), (size_t)piece_rows(gather, piece),
                                           cudaMemcpyDeviceToDevice, (cudaStream_t)device.stream));
            }
        }
    }
}

/* Sixteenths of the rows. The gather of the last piece is under nobody's product: it is a small one. */
static const int one_piece[] = {16}, small_ones_last[] = {6, 6, 2, 1, 1};

static void open_gather(Gather *gather, const int *shares, int copy_engines, const Cublas *cublas, void *workspace) {
    size_t bytes = (size_t)world_size * (size_t)problem.gemm.m * (size_t)block_columns() * sizeof(bf16);
    int m = problem.gemm.m, sixteenths = 0;
    for (int share = 0; gather->row[gather->pieces] < m; share++) { /* in whole tiles, of which there may be too few */
        sixteenths += shares[share];
        int end = min_int(m, ceil_div(ceil_div(m, 16) * sixteenths, 128) * 128);
        if (end > gather->row[gather->pieces]) {
            gather->row[++gather->pieces] = end;
        }
    }
    gather->cublas = cublas;
    gather->workspace = workspace;
    gather->comm = open_comm(copy_engines);
    if (copy_engines) { /* they copy from and to memory that all ranks know */
        ncclWindow_t window;
        TRY_NCCL(nccl.mem_alloc((void **)&gather->blocks, bytes));
        TRY_NCCL(nccl.window_register(gather->comm, gather->blocks, bytes, &window, NCCL_WIN_COLL_SYMMETRIC));
    } else {
        TRY_CUDA(cudaMalloc((void **)&gather->blocks, bytes));
    }
    if (gather->pieces > 1) {
        int lowest, highest;
        /* Collectives first: what is computed meanwhile is not waited for. */
        TRY_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
        TRY_CUDA(cudaStreamCreateWithPriority(&gather->collectives, cudaStreamNonBlocking, highest));
        TRY_CUDA(cudaEventCreateWithFlags(&gather->gathered, cudaEventDisableTiming));
        for (int piece = 0; piece < gather->pieces; piece++) {
            TRY_CUDA(cudaEventCreateWithFlags(&gather->computed[piece], cudaEventDisableTiming));
        }
    }
}

/* ---- (c): memory of the neighbours ------------------------------------------------------------------------------------- */

static Ranks ranks;
static Buffer flags;

/* Maps every rank's C and flags into this process. 0, with the reason, if that is not possible everywhere. */
static int map_neighbours(char *why, size_t why_size) {
    struct {
        cudaIpcMemHandle_t c, flags;
    } own, all[MAX_RANKS];
    MPI_Comm host;
    int on_host, good = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &on_host);
    MPI_Comm_free(&host);
    int one_host = on_host == world_size;
    MPI_Allreduce(MPI_IN_PLACE, &one_host, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!one_host || world_size > MAX_RANKS) {
        snprintf(why, why_size, !one_host ? "the ranks are on several hosts" : "there are more than %d ranks",
                 MAX_RANKS);
        return 0;
    }
    TRY_CUDA(cudaIpcGetMemHandle(&own.c, problem.block.data));
    TRY_CUDA(cudaIpcGetMemHandle(&own.flags, flags.data));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    ranks.count = world_size;
    ranks.rank = world_rank;
    for (int rank = 0; rank < world_size; rank++) {
        void *block = problem.block.data, *words = flags.data;
        if (rank != world_rank) {
            cudaError_t error = cudaIpcOpenMemHandle(&block, all[rank].c, cudaIpcMemLazyEnablePeerAccess);
            error = error ? error : cudaIpcOpenMemHandle(&words, all[rank].flags, cudaIpcMemLazyEnablePeerAccess);
            if (error) {
                snprintf(why, why_size, "rank %d cannot map the memory of rank %d: %s", world_rank, rank,
                         cudaGetErrorString(error));
                good = 0;
                break;
            }
        }
        ranks.c[rank] = (bf16 *)block + problem.view.guard;
        ranks.flags[rank] = words;
    }
    int all_good = good;
    MPI_Allreduce(MPI_IN_PLACE, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (good && !all_good) {
        snprintf(why, why_size, "another rank cannot map its neighbours' memory");
    }
    return all_good;
}

static GemmStatus ranks_launch(void *context) {
    (void)context;
    Gemm part = own_part();
    part.n = problem.gemm.n;
    part.c = problem.gemm.c;
    Beyond beyond = {.ranks = &ranks};
    part.beyond = &beyond;
    ranks.epoch++; /* all ranks launch equally often */
    return gpu_chapter_12_several_gpus.launch(&part, NULL);
}

/* ---- what is compared -------------------------------------------------------------------------------------------------- */

typedef struct {
    Contestant timed;     /* its milliseconds are the slowest rank's */
    const Gather *blocks; /* where the result lies in blocks; NULL: in C */
    int complete;         /* C is, on every rank */
} Way;

static GemmStatus alone_launch(void *context) {
    CublasRun run = {(const Cublas *)context, own_part()};
    return run.gemm.n > 0 ? cublas_launch(&run) : GEMM_OK;
}

/* The same launch on every rank, checked on each. All must be right and, over all launches and ranks, have the same bits. */
static void check_way(Way *way, int launches) {
    uint64_t fingerprint = 0;
    Tally tally;
    for (int i = 0; i < launches; i++) {
        begin_step(way->timed.name);
        try_status(problem_poison(&problem));
        try_status(way->timed.launch(way->timed.context));
        if (way->blocks) {
            blocks_to_c(way->blocks);
        }
        try_status(backend->synchronise(way->timed.name));
        try_status(problem_check(&problem, &tally));
        uint64_t of_rank_0 = tally.fingerprint;
        MPI_Bcast(&of_rank_0, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        fingerprint = i == 0 ? of_rank_0 : fingerprint;
        int inexact = !tally_is_right(&tally), of_cublas = way->blocks && way->blocks->cublas;
        if (inexact && of_cublas && tally.guard_first == NOWHERE && tally.unwritten + tally.nan == 0) {
            if (i == 0) {
                printf("%-15s rank %d: cuBLAS itself did not pass the check: %llu elements\n", way->timed.name,
                       world_rank, (unsigned long long)tally.wrong);
            }
            continue;
        }
        if (inexact) {
            printf("WRONG    %s, --data %s, launch %d, rank %d:\n", way->timed.name, data_names[problem.data], i + 1,
                   world_rank);
            problem_explain(&problem, &tally, stdout);
            give_up(GEMM_WRONG);
        }
        if (tally.fingerprint != fingerprint) {
            printf("WRONG    %s, --data %s, launch %d, rank %d: some bit differs from rank 0 or the first launch\n",
                   way->timed.name, data_names[problem.data], i + 1, world_rank);
            give_up(GEMM_WRONG);
        }
    }
    if (world_rank == 0 && tally_is_right(&tally)) {
        printf("%-15s ", way->timed.name);
        print_right(stdout, &problem, &tally, launches, " on every rank");
        fflush(stdout);
    }
}

/* Milliseconds of one launch, on the slowest rank: `launches` of them back to back, begun at the same time. */
static double sample(Way *way, int launches) {
    double ms = 0, mhz = 0;
    begin_step(way->timed.name);
    try_status(backend->hold());
    try_status(backend->record(EVENT_BEGIN));
    for (int i = 0; i < launches; i++) {
        try_status(way->timed.launch(way->timed.context));
    }
    try_status(backend->record(EVENT_END));
    try_status(backend->start_clock());
    /* All ranks have queued their launches. */
    MPI_Barrier(MPI_COMM_WORLD);
    backend->let_go();
    try_status(backend->clock_mhz(&mhz));
    try_status(backend->elapsed_ms(EVENT_BEGIN, EVENT_END, &ms));
    way->timed.mhz_sum += mhz;
    way->timed.mhz_count += mhz > 0;
    ms /= launches;
    MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return ms;
}

static void measure(Way *ways, int count, int rounds) {
    const struct timespec pause = {0, PAUSE_MS * 1000000L};
    for (int i = 0; i < count; i++) {
        /* Loads modules, which waits for the GPU, and connects: not while it is held. */
        try_status(ways[i].timed.launch(ways[i].timed.context));
        try_status(backend->synchronise(ways[i].timed.name));
        double ms = sample(&ways[i], 2);
        ways[i].timed.launches = ms > 0 && ms < SAMPLE_MS ? (int)(SAMPLE_MS / ms) + 1 : 1;
        ways[i].timed.mhz_sum = ways[i].timed.mhz_count = 0;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            try_status(problem_poison(&problem));
            try_status(backend->synchronise("poison_kernel"));
            nanosleep(&pause, NULL);
            ways[i].timed.ms[round] = sample(&ways[i], ways[i].timed.launches);
            ways[i].timed.samples = round + 1;
        }
    }
}

static char versions[128]; /* of the CSV */
static void report(const Way *ways, int count, const Way *baseline, FILE *csv) {
    char gpus[128], date[16];
    snprintf(gpus, sizeof gpus, "%d x %s", world_size, device.name);
    today(date);
    CsvSource source = {gpus, date, commit_name(), "two", versions};
    double flop = kind_flop(&problem.shape, &problem.gemm), base = tflops_of(&baseline->timed, flop).median;
    for (int i = 0; i < count; i++) {
        const Contestant *timed = &ways[i].timed;
        Spread ms = spread_of(timed->ms, timed->samples), tflops = tflops_of(timed, flop);
        printf("%-15s %.3f ms, median of %d (%.3f .. %.3f), %.0f TFLOP/s of all GPUs, %.3f of %s\n", timed->name,
               ms.median, timed->samples, ms.min, ms.max, tflops.median, tflops.median / base, baseline->timed.name);
        if (csv) {
            csv_rate(csv, &source, &problem.shape, timed, tflops, base);
        }
    }
}

static void add(Way *ways, int *count, const char *name, GemmStatus (*launch)(void *), void *context,
                const Gather *blocks, int complete) {
    Way *way = &ways[(*count)++];
    memset(way, 0, sizeof *way);
    snprintf(way->timed.name, sizeof way->timed.name, "%s", name);
    way->timed.launch = launch;
    way->timed.context = context;
    way->blocks = blocks;
    way->complete = complete;
}

/* This process's number on its host, which is its GPU's. */
static int local_rank(void) {
    MPI_Comm host;
    int rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_free(&host);
    return rank;
}

/* --csv FILE, which the chapters' programs do not have, is taken out of argv. NULL: it was not given. */
static const char *csv_path;
static int take_csv(int *argc, char *argv[], char message[OPTIONS_MESSAGE_SIZE]) {
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--csv") != 0) {
            argv[kept++] = argv[i];
        } else if (i + 1 == *argc) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "--csv needs the name of a file");
            return 0;
        } else {
            csv_path = argv[++i];
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return 1;
}

/* Options, MPI, and this rank's GPU. Ends the program where there is nothing to do. */
static void start(int argc, char *argv[], Options *options) {
    char message[OPTIONS_MESSAGE_SIZE], why[512] = "";
    signal(SIGALRM, give_up_waiting);
    begin_step("start");
    int good = take_csv(&argc, argv, message) && parse_options(argc, argv, options, message);
    if (good && options->help) {
        print_usage(stdout, argv[0]);
        printf("\nOne process for each GPU: mpirun -n 2 %s. It takes sizes, data, --pad, --seed, --variant, --repeat, "
               "--no-check,\n"
               "--bench, --no-bench and --csv; the rest is for programs of one process.\n",
               argv[0]);
        exit(GEMM_OK);
    }
    if (good && (options->on == ON_MODEL || options->explain || options_trace(options))) {
        snprintf(message, sizeof message,
                 "--on model, --explain, --timeline, --trace: 12_several_gpus has them, not this program");
        good = 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (!good) {
        if (world_rank == 0) {
            fprintf(stderr, "%s\n", message);
        }
        MPI_Finalize();
        exit(GEMM_USAGE);
    }
    backend = gpu_backend();
    options->device = local_rank();
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus <= options->device) {
        fprintf(stderr, "rank %d is process %d on its host, which has %d GPUs: start one for each\n", world_rank,
                options->device + 1, gpus);
        give_up(GEMM_DEVICE);
    }
    if (backend->open(options, NEEDS_SM90A, &device, why, sizeof why) != GEMM_OK) {
        fprintf(stderr, "rank %d needs a Hopper GPU of its own, number %d of its host; found: %s\n", world_rank,
                options->device, why);
        give_up(GEMM_DEVICE);
    }
}

int main(int argc, char *argv[]) {
    static Way ways[5];
    static Gather whole, whole_copied, pieces;
    Options options;
    char why[512] = "";
    int count = 0;
    start(argc, argv, &options);
    load_nccl();
    Shape shape = options.shape;
    shape.m = shape.m ? shape.m : backend->default_size;
    shape.n = shape.n ? shape.n : backend->default_size;
    shape.k = shape.k ? shape.k : backend->default_size;
    shape.pad = shape.pad >= 0 ? shape.pad : 0;
    try_status(problem_open(&problem, backend, &device, shape, options.seed));
    problem.beyond.tuning = options.tuning;
    Cublas *cublas = cublas_open(device.stream, why, sizeof why);
    if (cublas == NULL) {
        fprintf(stderr, "rank %d: %s\n", world_rank, why);
        give_up(GEMM_DEVICE);
    }
    ChapterRun run09;
    try_status(run_open(&run09, &problem, &gpu_chapter_09_every_shape));

    open_gather(&whole, one_piece, 0, cublas, NULL);
    open_gather(&whole_copied, one_piece, 1, cublas, NULL);
    open_gather(&pieces, small_ones_last, 1, NULL, run09.workspace.data);
    ranks.count = world_size; /* flag_bytes() looks at it */
    Gemm shared = problem.gemm;
    Beyond beyond = {.ranks = &ranks};
    shared.beyond = &beyond;
    size_t bytes = gpu_chapter_12_several_gpus.beyond->flag_bytes(&shared);
    try_status(backend->allocate(&flags, (bytes + MAPPED_BYTES - 1) / MAPPED_BYTES * MAPPED_BYTES, "flags"));
    try_status(backend->clear(&flags));
    try_status(backend->synchronise("clear"));

    add(ways, &count, "gemm alone", alone_launch, cublas, NULL, 0);
    add(ways, &count, "cublas+nccl", gather_launch, &whole, &whole, 1);
    add(ways, &count, "cublas+nccl ce", gather_launch, &whole_copied, &whole_copied, 1);
    add(ways, &count, "09 in pieces", gather_launch, &pieces, &pieces, 1);
    if (map_neighbours(why, sizeof why)) {
        add(ways, &count, "12", ranks_launch, NULL, NULL, 1);
    } else if (*why) {
        printf("12 is left out, and 09 in pieces takes its place: %s\n", why);
    }
    Nvml *nvml = nvml_open(device.pci_bus_id, why, sizeof why);
    if (nvml) {
        nvml_driver_version(nvml, device.driver_version, sizeof device.driver_version);
        nvml_close(nvml);
    }
    versions_text(&device, cublas_version(cublas), versions);
    int nccl_version;
    TRY_NCCL(nccl.get_version(&nccl_version));
    if (world_rank == 0) {
        printf("C[%d][%d] on each of %d x %s, cuBLAS %d, NCCL %d\n", shape.m, shape.n, world_size, device.name,
               cublas_version(cublas), nccl_version);
        char text[256];
        describe_choice(gpu_chapter_12_several_gpus.variants, &shared, text, sizeof text);
        printf("12: %s\n09 in pieces: %d, the first of %d rows\n", text, pieces.pieces, pieces.row[1]);
        fflush(stdout);
    }
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        if (options.data >> kind & 1 && (kind != DATA_INTEGERS || shape.k <= MAX_EXACT_K)) {
            begin_step("reference");
            try_status(problem_fill(&problem, (DataKind)kind));
            for (int i = 0; i < count && options.check; i++) {
                if (ways[i].complete) {
                    check_way(&ways[i], options.repeat);
                }
            }
        }
    }
    if (options.bench != CHOICE_NO) {
        FILE *csv = world_rank == 0 && csv_path ? csv_open(csv_path, CSV_HEADER) : NULL;
        measure(ways, count, options.rounds);
        if (world_rank == 0) {
            report(ways, count, &ways[1], csv);
        }
        if (options.check) { /* what was timed is still right */
            for (int i = 0; i < count; i++) {
                if (ways[i].complete) {
                    check_way(&ways[i], 1);
                }
            }
        }
    }
    begin_step("end");
    MPI_Barrier(MPI_COMM_WORLD); /* a rank's memory goes with its process */
    MPI_Finalize();
    return GEMM_OK;
}
