/* ways.h - main() of the two programs of several GPUs: each pattern of ranks.h in several ways, compared and timed.
 *
 *     product     cuBLAS with this rank's share, and nothing crosses a link
 *     nccl        the same, and NCCL's collective before or after it
 *     copies      the same, with copies by the GPUs' copy engines in place of NCCL; of the patterns that only gather
 *     12          chapter 12's kernel, where all ranks are on one host and reach each other's memory
 *
 * Included after the functions of group.h. Every rank compares the whole result of 12. For that A and B are -1, 0 and
 * 1, and no partial sum needs rounding. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../common/harness/cublas.h"
#include "../../common/harness/nvml.h"
#include "../../common/harness/report.h"
#include "ranks.h"

extern const Chapter gpu_chapter_12_several_gpus;

static const char *const pattern_names[PATTERNS] = {"gather_c", "gather_a", "reduce_scatter", "all_reduce"};

enum {
    MOST_RANKS = 64,
    REASON = 512,    /* bytes of a sentence that says why not */
    PATIENCE_S = 50, /* longer than any step takes: a process that waits longer waits for ever */
    PAGE = 2 << 20,  /* memory that is mapped by others is allocated in whole pages of the GPU */
    EVENT_BEGIN = 0,
    EVENT_END /* slots of the backend */
};

/* ---- what goes wrong
 * ------------------------------------------------------------------------------------------------ */

#define TRY_CUDA(call) try_cuda(call, #call)
static void try_cuda(cudaError_t error, const char *call) {
    if (error != cudaSuccess) {
        fprintf(stderr, "rank %d: %s failed: %s\n", group_rank, call, cudaGetErrorString(error));
        group_give_up(GEMM_DEVICE);
    }
}
static void try_status(GemmStatus status) {
    if (status != GEMM_OK) {
        group_give_up(status);
    }
}

/* The watchdog: a flag that never comes, or a collective that another rank does not join, keeps the GPU and this
 * process waiting for ever. Only what a signal handler may call. */
static const char *volatile step = "start";
static void give_up_waiting(int signal) {
    (void)signal;
    static const char text[] = ": nothing has come for 50 seconds; a rank has ended, or a flag was lost, in the step: ";
    char who[] = "rank 0";
    who[5] = (char)('0' + group_rank % 10);
    ssize_t ignored = write(STDERR_FILENO, who, sizeof who - 1);
    ignored = write(STDERR_FILENO, text, sizeof text - 1);
    ignored = write(STDERR_FILENO, step, strlen(step));
    ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(GEMM_DEVICE); /* the process that started the ranks then ends the others */
}
static void begin_step(const char *name) {
    step = name;
    alarm(PATIENCE_S);
}

static void barrier_of_all(void) {
    char own = 0, all[MOST_RANKS];
    group_gather(&own, all, 1);
}

/* Each rank has a reason why it cannot go on, or "". Puts the first of them into every `why`; 0: nobody has one. */
static int first_reason(char *why) {
    char all[MOST_RANKS][REASON];
    group_gather(why, all, REASON);
    for (int rank = group_count - 1; rank >= 0; rank--) {
        memcpy(why, *all[rank] ? all[rank] : why, REASON);
    }
    return *why != '\0';
}

/* ---- NCCL, loaded when used: its functions by their documented types, which have not changed since NCCL 2.10
 * ---------- */

typedef struct {
    char internal[128];
} NcclId;
typedef struct NcclComm NcclComm;
enum { NCCL_BFLOAT16 = 9, NCCL_SUM = 0 };
static struct {
    int (*get_unique_id)(NcclId *id);
    int (*init)(NcclComm **comm, int ranks, NcclId id, int rank);
    int (*all_gather)(const void *from, void *to, size_t count, int type, NcclComm *comm, cudaStream_t stream);
    int (*reduce_scatter)(const void *from, void *to, size_t count, int type, int op, NcclComm *comm,
                          cudaStream_t stream);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op, NcclComm *comm, cudaStream_t stream);
    int (*get_version)(int *version);
    const char *(*text)(int result);
    NcclComm *comm; /* NULL: without NCCL */
} nccl;

#define TRY_NCCL(call) try_nccl(call, #call)
static void try_nccl(int result, const char *call) {
    if (result != 0) {
        fprintf(stderr, "rank %d: %s failed: %s\n", group_rank, call, nccl.text(result));
        group_give_up(GEMM_DEVICE);
    }
}

/* NCCL's communicator of all ranks. Without the library its way is left out, on all ranks. */
static void open_nccl(void) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    struct {
        const char *name;
        void *function;
    } list[] = {{"ncclGetUniqueId", &nccl.get_unique_id}, {"ncclCommInitRank", &nccl.init},
                {"ncclAllGather", &nccl.all_gather},      {"ncclReduceScatter", &nccl.reduce_scatter},
                {"ncclAllReduce", &nccl.all_reduce},      {"ncclGetVersion", &nccl.get_version},
                {"ncclGetErrorString", &nccl.text}};
    int good = library != NULL, all[MOST_RANKS];
    for (size_t i = 0; i < sizeof list / sizeof *list && good; i++) {
        void *symbol = dlsym(library, list[i].name);
        good = symbol != NULL;
        memcpy(list[i].function, &symbol, sizeof symbol); /* POSIX: an object pointer that holds a function's address */
    }
    group_gather(&good, all, sizeof good);
    for (int rank = 0; rank < group_count; rank++) {
        if (!all[rank]) {
            if (group_rank == 0) {
                printf(
                    "nccl is left out: rank %d has not found libnccl.so.2; it is in NVIDIA's package libnccl2, and in "
                    "the wheel nvidia-nccl-cu13; LD_LIBRARY_PATH may name its directory\n",
                    rank);
            }
            return;
        }
    }
    NcclId ids[MOST_RANKS], id;
    memset(&id, 0, sizeof id);
    if (group_rank == 0) {
        TRY_NCCL(nccl.get_unique_id(&id));
    }
    group_gather(&id, ids, sizeof id);
    TRY_NCCL(nccl.init(&nccl.comm, group_count, ids[0], group_rank));
}

/* ---- one rank's share
 * ------------------------------------------------------------------------------------------------ */

static const Backend *backend;
static DeviceInfo device;
static Problem problem; /* of all ranks: A, B and C are whole here; the ways get this rank's share of A and B */
static Cublas *cublas;
static Pattern pattern;   /* that is compared now */
static Ranks ranks;       /* with the memory of all, where 12 can run */
static int kernel_pushes; /* gather_a: only 12's kernel pushes A, not the copy engines */
static Buffer gathered_a, partial, blocks, inbox, flags;

static int is_sum(void) { return pattern == REDUCE_SCATTER || pattern == ALL_REDUCE; }
static int first_column(int rank) { return rank_first(problem.gemm.n, group_count, rank, COLUMNS_BY); }
static int columns_of(int rank) { return rank_share(problem.gemm.n, group_count, rank, COLUMNS_BY); }
static int first_row(int rank) { return rank_first(problem.gemm.m, group_count, rank, ROWS_BY); }
static int rows_of(int rank) { return rank_share(problem.gemm.m, group_count, rank, ROWS_BY); }
/* Rows that NCCL assigns to each rank: NCCL divides them evenly, whereas 12 divides whole tiles. */
static size_t nccl_rows(void) { return (size_t)ceil_div(problem.gemm.m, group_count); }
/* gather_c by NCCL has blocks [rank][m][block_columns()] in place of rows of C. */
static int block_columns(void) { return ceil_div(columns_of(0), 8) * 8; }

/* The whole product's sizes, and this rank's share of A and B. */
static Gemm share_of_operands(void) {
    Gemm g = problem.gemm;
    if (is_sum()) {
        g.a += rank_first(g.k, group_count, group_rank, K_BY);
        g.b += rank_first(g.k, group_count, group_rank, K_BY);
    } else {
        g.b += (size_t)first_column(group_rank) * (size_t)g.ldb;
    }
    return g;
}

/* ---- the ways
 * ---------------------------------------------------------------------------------------------------------- */

/* cuBLAS with this rank's share of the product, from `a` to `c`. */
static GemmStatus product(const bf16 *a, bf16 *c, int ldc) {
    CublasRun run = {cublas, share_of_operands()};
    Gemm *g = &run.gemm;
    g->a = a != NULL ? a : g->a;
    g->c = c;
    g->ldc = ldc;
    g->n = is_sum() ? g->n : columns_of(group_rank);
    g->k = is_sum() ? rank_share(g->k, group_count, group_rank, K_BY) : g->k;
    return g->n > 0 && g->k > 0 ? cublas_launch(&run) : GEMM_OK;
}

static GemmStatus product_launch(void *context) {
    (void)context;
    return product(NULL, is_sum() ? (bf16 *)partial.data : problem.gemm.c + first_column(group_rank), problem.gemm.ldc);
}

static GemmStatus nccl_launch(void *context) {
    (void)context;
    const Gemm *g = &problem.gemm;
    cudaStream_t stream = (cudaStream_t)device.stream;
    size_t block = (size_t)g->m * (size_t)block_columns(), rows = nccl_rows();
    if (pattern == GATHER_C) {
        bf16 *own = (bf16 *)blocks.data + block * (size_t)group_rank;
        GEMM_TRY(product(NULL, own, block_columns()));
        TRY_NCCL(nccl.all_gather(own, blocks.data, block, NCCL_BFLOAT16, nccl.comm, stream));
    } else if (pattern == GATHER_A) {
        bf16 *all = (bf16 *)gathered_a.data;
        TRY_NCCL(nccl.all_gather(all + (size_t)group_rank * rows * (size_t)g->lda, all, rows * (size_t)g->lda,
                                 NCCL_BFLOAT16, nccl.comm, stream));
        GEMM_TRY(product(all, g->c + first_column(group_rank), g->ldc));
    } else if (pattern == REDUCE_SCATTER) {
        GEMM_TRY(product(NULL, (bf16 *)partial.data, g->ldc));
        TRY_NCCL(nccl.reduce_scatter(partial.data, blocks.data, rows * (size_t)g->ldc, NCCL_BFLOAT16, NCCL_SUM,
                                     nccl.comm, stream));
    } else {
        GEMM_TRY(product(NULL, (bf16 *)partial.data, g->ldc));
        TRY_NCCL(nccl.all_reduce(partial.data, partial.data, (size_t)g->m * (size_t)g->ldc, NCCL_BFLOAT16, NCCL_SUM,
                                 nccl.comm, stream));
    }
    return GEMM_OK;
}

/* Sends this rank's columns of C, or rows of A, to all other ranks by copy engines, on streams of their own. The other
 * ranks are not informed of the arrival: a real program would need flags or events for that. */
static GemmStatus copies_launch(void *context) {
    (void)context;
    static cudaStream_t streams[MAX_RANKS];
    static cudaEvent_t computed, sent[MAX_RANKS];
    const Gemm *g = &problem.gemm;
    cudaStream_t stream = (cudaStream_t)device.stream;
    size_t pitch = (size_t)(pattern == GATHER_C ? g->ldc : g->lda) * sizeof(bf16);
    size_t column = pattern == GATHER_C ? (size_t)first_column(group_rank) : 0;
    size_t row = pattern == GATHER_C ? 0 : (size_t)first_row(group_rank);
    size_t width = (size_t)(pattern == GATHER_C ? columns_of(group_rank) : g->k) * sizeof(bf16);
    int rows = pattern == GATHER_C ? g->m : rows_of(group_rank);
    if (pattern == GATHER_C) {
        GEMM_TRY(product_launch(NULL));
    }
    if (computed == NULL) {
        TRY_CUDA(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    }
    TRY_CUDA(cudaEventRecord(computed, stream));
    for (int i = 1; i < group_count && width > 0 && rows > 0; i++) {
        int to = (group_rank + i) % group_count;
        bf16 *const *all = pattern == GATHER_C ? ranks.c : ranks.a;
        const bf16 *own = pattern == GATHER_C ? g->c : g->a;
        size_t at = row * (pitch / sizeof(bf16)) + column;
        if (streams[i] == NULL) {
            TRY_CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
            TRY_CUDA(cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming));
        }
        TRY_CUDA(cudaStreamWaitEvent(streams[i], computed, 0));
        TRY_CUDA(cudaMemcpy2DAsync(all[to] + at, pitch, own + at, pitch, width, (size_t)rows, cudaMemcpyDefault,
                                   streams[i]));
        TRY_CUDA(cudaEventRecord(sent[i], streams[i]));
        TRY_CUDA(cudaStreamWaitEvent(stream, sent[i], 0));
    }
    return pattern == GATHER_A ? product((bf16 *)gathered_a.data, g->c + first_column(group_rank), g->ldc) : GEMM_OK;
}

/* The driver's functions by which a stream waits for a word of memory and sets one: no SM takes part. */
static struct {
    int (*wait)(cudaStream_t stream, unsigned long long word, unsigned value,
                unsigned flags); /* until it is that or more */
    int (*set)(cudaStream_t stream, unsigned long long word, unsigned value,
               unsigned flags); /* after what came before */
} driver;

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *wait = library != NULL ? dlsym(library, "cuStreamWaitValue32_v2") : NULL;
    void *set = library != NULL ? dlsym(library, "cuStreamWriteValue32_v2") : NULL;
    memcpy(&driver.wait, &wait, sizeof wait);
    memcpy(&driver.set, &set, sizeof set);
}

static void try_driver(int result, const char *what) {
    if (result != 0) {
        fprintf(stderr, "rank %d: %s failed: error %d of the driver\n", group_rank, what, result);
        group_give_up(GEMM_DEVICE);
    }
}

static cudaEvent_t filled, sent[MAX_RANKS]; /* this rank's rows of A; to the i-th rank after this one */

/* gather_a: the copy engines push this rank's rows of A, one stream for each other rank. The previous rank receives
 * them first, because it multiplies with these rows next. A flag follows each panel of 128 rows. */
static void push_panels(const Gemm *g) {
    static cudaStream_t streams[MAX_RANKS];
    for (int i = group_count - 1; i > 0; i--) {
        int to = (group_rank + i) % group_count, own = group_rank;
        if (streams[i] == NULL) {
            TRY_CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
            TRY_CUDA(cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming));
        }
        TRY_CUDA(cudaStreamWaitEvent(streams[i], i < group_count - 1 ? sent[i + 1] : filled, 0));
        /* Waits until the other rank's launch has begun: no earlier launch still reads the last A there. */
        try_driver(driver.wait(streams[i], (unsigned long long)(uintptr_t)&ranks_flags(&ranks, g, own, to)[READY],
                               (unsigned)ranks.epoch, 0),
                   "cuStreamWaitValue32");
        for (int row = first_row(own), panel = 0; row < first_row(own + 1); row += ROWS_BY, panel++) {
            size_t at = (size_t)row * (size_t)g->lda, rows = (size_t)min_int(ROWS_BY, first_row(own + 1) - row);
            TRY_CUDA(cudaMemcpyAsync(ranks.a[to] + at, ranks.a[own] + at, rows * (size_t)g->lda * sizeof(bf16),
                                     cudaMemcpyDefault, streams[i]));
            try_driver(driver.set(streams[i],
                                  (unsigned long long)(uintptr_t)&ranks_flags(&ranks, g, to, own)[FIRST_FLAG + panel],
                                  (unsigned)ranks.epoch, 0),
                       "cuStreamWriteValue32");
        }
        TRY_CUDA(cudaEventRecord(sent[i], streams[i]));
    }
}

/* Chapter 12. context: not NULL if the copy engines are to push A. */
static GemmStatus chapter_launch(void *context) {
    Gemm g = share_of_operands();
    GemmError error;
    ranks.pattern = pattern;
    ranks.epoch++; /* all ranks launch equally often */
    ranks.is_pushed = pattern == GATHER_A && context != NULL;
    Beyond beyond = {.ranks = &ranks};
    g.beyond = &beyond;
    if (ranks.is_pushed) {
        if (filled == NULL) {
            TRY_CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
        }
        TRY_CUDA(cudaEventRecord(filled, (cudaStream_t)device.stream));
    }
    GemmStatus status = gpu_chapter_12_several_gpus.launch(&g, &error);
    if (status != GEMM_OK) {
        fprintf(stderr, "rank %d: %s\n", group_rank, error.text);
    }
    if (ranks.is_pushed && group_count > 1) {
        /* After the launch: the first one loads the kernel, which waits for all streams, and those of the panels
         * wait for the others' launches. */
        push_panels(&g);
        /* What comes next in the product's stream may overwrite this rank's rows: all have been sent. */
        TRY_CUDA(cudaStreamWaitEvent((cudaStream_t)device.stream, sent[1], 0));
    }
    return status;
}

/* ---- 12's memory: of all ranks, in each
 * --------------------------------------------------------------------------------- */

/* Maps every rank's memory into this process. 0 on all ranks, with the first rank's reason, if one cannot. */
static int map_neighbours(char *why, size_t why_size) {
    enum { A, C, INBOX, FLAGS, KINDS_OF_MEMORY };
    typedef struct {
        cudaIpcMemHandle_t of[KINDS_OF_MEMORY];
    } Handles;
    Handles own, all[MAX_RANKS];
    void *memory[KINDS_OF_MEMORY] = {gathered_a.data, problem.block.data, inbox.data, flags.data};
    if (!group_is_one_host() || group_count > MAX_RANKS) {
        snprintf(why, why_size,
                 group_count > MAX_RANKS ? "there are more than %d ranks" : "the ranks are on several hosts",
                 MAX_RANKS);
        return 0;
    }
    for (int i = 0; i < KINDS_OF_MEMORY; i++) {
        TRY_CUDA(cudaIpcGetMemHandle(&own.of[i], memory[i]));
    }
    group_gather(&own, all, sizeof own);
    ranks.count = group_count;
    ranks.rank = group_rank;
    for (int rank = 0; rank < group_count && !*why; rank++) {
        void *there[KINDS_OF_MEMORY];
        memcpy(there, memory, sizeof there);
        for (int i = 0; i < KINDS_OF_MEMORY && rank != group_rank && !*why; i++) {
            cudaError_t error = cudaIpcOpenMemHandle(&there[i], all[rank].of[i], cudaIpcMemLazyEnablePeerAccess);
            if (error != cudaSuccess) {
                snprintf(why, why_size, "rank %d cannot reach the memory of rank %d: %s", group_rank, rank,
                         cudaGetErrorString(error));
            }
        }
        ranks.a[rank] = (bf16 *)there[A];
        ranks.c[rank] = (bf16 *)there[C] + problem.view.guard;
        ranks.inbox[rank] = (bf16 *)there[INBOX];
        ranks.flags[rank] = (int *)there[FLAGS];
    }
    return !first_reason(why);
}

static void allocate(Buffer *buffer, size_t bytes, const char *name) {
    try_status(backend->allocate(buffer, (bytes + PAGE - 1) / PAGE * PAGE, name));
    try_status(backend->clear(buffer));
}

/* ---- the check
 * --------------------------------------------------------------------------------------------------------- */

/* -1, 0 or 1, a function of the seed and the index. */
static bf16 small_integer(uint64_t seed, size_t index) {
    static const bf16 values[4] = {0xbf80, 0, 0, 0x3f80};
    return values[mix64(seed * 0x9e3779b97f4a7c15u + index) % 4];
}

static void fill_with_integers(void *to, int rows, int ld, uint64_t seed) {
    size_t count = (size_t)rows * (size_t)ld;
    bf16 *host = (bf16 *)malloc(count * sizeof *host);
    if (host == NULL) {
        fprintf(stderr, "rank %d: out of memory: %zu bytes of integers\n", group_rank, count * sizeof *host);
        group_give_up(GEMM_DEVICE);
    }
    for (size_t i = 0; i < count; i++) {
        host[i] = small_integer(seed, i);
    }
    try_status(backend->copy_in(to, host, count * sizeof *host));
    free(host);
}

/* gather_a: this rank's rows of A where the others' will come, and NaN there until they do. */
static void place_own_rows(void) {
    const Gemm *g = &problem.gemm;
    size_t at = (size_t)first_row(group_rank) * (size_t)g->lda;
    cudaStream_t stream = (cudaStream_t)device.stream;
    TRY_CUDA(cudaMemsetAsync(gathered_a.data, 0xff, gathered_a.bytes, stream));
    TRY_CUDA(cudaMemcpyAsync((bf16 *)gathered_a.data + at, g->a + at,
                             (size_t)rows_of(group_rank) * (size_t)g->lda * sizeof(bf16), cudaMemcpyDeviceToDevice,
                             stream));
    /* A rank that is a launch ahead pushes into this memory as soon as this rank's launch has begun, not before. */
}

/* Launches 12 `launches` times and compares, on each rank, all of what it should have: C, or a part of C and nothing
 * else. */
static void check_chapter(int launches, void *context) {
    const Gemm *g = &problem.gemm;
    uint64_t fingerprint = 0, elements = (uint64_t)g->m * (uint64_t)g->n;
    uint64_t own = pattern == GATHER_A         ? (uint64_t)g->m * (uint64_t)columns_of(group_rank)
                   : pattern == REDUCE_SCATTER ? (uint64_t)g->n * (uint64_t)rows_of(group_rank)
                                               : elements;
    for (int i = 0; i < launches; i++) {
        Tally tally;
        begin_step("the check of 12");
        try_status(problem_poison(&problem));
        place_own_rows();
        try_status(chapter_launch(context));
        try_status(backend->synchronise("12"));
        try_status(problem_check(&problem, &tally));
        int right = tally.wrong == elements - own && tally.unwritten == elements - own && tally.guard_first == NOWHERE;
        fingerprint = i == 0 ? tally.fingerprint : fingerprint;
        if (!right || tally.fingerprint != fingerprint) {
            printf(
                "WRONG    %s, launch %d, rank %d: of %llu elements that it should have, %lld are wrong or missing%s\n",
                pattern_names[pattern], i + 1, group_rank, (unsigned long long)own,
                (long long)(tally.wrong - (elements - own)), right ? "; some bits differ from the first launch" : "");
            group_give_up(GEMM_WRONG);
        }
        barrier_of_all(); /* poisons while another rank still writes here: none does after its own launch has ended */
    }
    if (group_rank == 0) {
        printf("right    %s%s: %d launches exact on each of %d ranks, nothing written elsewhere\n",
               pattern_names[pattern], context != NULL ? ", pushed by copy engines" : "", launches, group_count);
        fflush(stdout);
    }
}

/* ---- the clock
 * --------------------------------------------------------------------------------------------------------- */

/* Milliseconds of one launch, on the slowest rank: `launches` of them back to back, begun at the same time. */
static double sample(Contestant *way, int launches) {
    double ms = 0, mhz = 0, all[MOST_RANKS];
    begin_step(way->name);
    try_status(backend->hold());
    try_status(backend->record(EVENT_BEGIN));
    for (int i = 0; i < launches; i++) {
        try_status(way->launch(way->context));
    }
    try_status(backend->record(EVENT_END));
    try_status(backend->start_clock());
    barrier_of_all(); /* all ranks have queued their launches */
    backend->let_go();
    try_status(backend->clock_mhz(&mhz));
    try_status(backend->elapsed_ms(EVENT_BEGIN, EVENT_END, &ms));
    way->mhz_sum += mhz;
    way->mhz_count += mhz > 0;
    ms /= launches;
    group_gather(&ms, all, sizeof ms);
    for (int rank = 0; rank < group_count; rank++) {
        ms = all[rank] > ms ? all[rank] : ms;
    }
    return ms;
}

static void measure(Contestant *ways, int count, int rounds) {
    const struct timespec pause = {0, PAUSE_MS * 1000000L};
    for (int i = 0; i < count; i++) {
        /* Loads modules, which waits for the GPU, and connects: not while it is held. */
        try_status(ways[i].launch(ways[i].context));
        try_status(backend->synchronise(ways[i].name));
        double ms = sample(&ways[i], 2);
        ways[i].launches = ms > 0 && ms < SAMPLE_MS ? (int)(SAMPLE_MS / ms) + 1 : 1;
        ways[i].mhz_sum = ways[i].mhz_count = 0;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            nanosleep(&pause, NULL);
            ways[i].ms[round] = sample(&ways[i], ways[i].launches);
            ways[i].samples = round + 1;
        }
    }
}

static char versions[128]; /* of the CSV */
static void report(const Contestant *ways, int count, FILE *csv) {
    char gpus[128], date[16];
    snprintf(gpus, sizeof gpus, "%d x %s", group_count, device.name);
    today(date);
    CsvSource source = {gpus, date, commit_name(), "several", versions};
    double flop = kind_flop(&problem.shape, &problem.gemm);
    double base = count > 1 ? tflops_of(&ways[1], flop).median : 0;
    for (int i = 0; i < count; i++) {
        Spread ms = spread_of(ways[i].ms, ways[i].samples), tflops = tflops_of(&ways[i], flop);
        printf("%-22s %.4f ms, median of %d (%.4f .. %.4f), %.0f TFLOP/s of all GPUs, %.3f of %s\n", ways[i].name,
               ms.median, ways[i].samples, ms.min, ms.max, tflops.median, base > 0 ? tflops.median / base : 0,
               count > 1 ? ways[1].name : "nothing");
        if (csv != NULL) {
            csv_rate(csv, &source, &problem.shape, &ways[i], tflops, base);
        }
    }
    const Contestant *best = NULL; /* the first computes a share and sends nothing; copies tell nobody */
    for (int i = 1; i < count; i++) {
        int tells = strstr(ways[i].name, " copies") == NULL || strstr(ways[i].name, " 12 copies") != NULL;
        double ms = spread_of(ways[i].ms, ways[i].samples).median;
        best = tells && (best == NULL || ms < spread_of(best->ms, best->samples).median) ? &ways[i] : best;
    }
    if (best != NULL) {
        printf("chosen   %s: the fastest\n", best->name);
    }
    fflush(stdout);
}

static void add(Contestant *ways, int *count, const char *name, GemmStatus (*launch)(void *), void *context) {
    Contestant *way = &ways[(*count)++];
    memset(way, 0, sizeof *way);
    snprintf(way->name, sizeof way->name, "%s %s", pattern_names[pattern], name);
    way->launch = launch;
    way->context = context;
}

/* What the links carry when every rank sends to the next `distance` ranks at once by its copy engines. */
static void measure_link(void) {
    const size_t bytes = (size_t)64 << 20;
    const int copies = 8;
    double gb_s, all[MOST_RANKS];
    if (problem.block.bytes < bytes || group_count < 2) {
        return;
    }
    for (int distance = 1; distance<group_count; distance += group_count> 2 ? group_count - 2 : 1) {
        begin_step("the link");
        cudaStream_t stream[MAX_RANKS];
        struct timespec from, to;
        for (int i = 1; i <= distance; i++) {
            TRY_CUDA(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        }
        for (int turn = 0; turn < 2; turn++) { /* the first connects */
            barrier_of_all();
            clock_gettime(CLOCK_MONOTONIC, &from);
            for (int copy = 0; copy < copies; copy++) {
                for (int i = 1; i <= distance; i++) {
                    TRY_CUDA(cudaMemcpyAsync(ranks.c[(group_rank + i) % group_count], problem.gemm.c, bytes / 2,
                                             cudaMemcpyDefault, stream[i]));
                }
            }
            TRY_CUDA(cudaDeviceSynchronize());
            clock_gettime(CLOCK_MONOTONIC, &to);
        }
        double s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
        gb_s = (double)(bytes / 2) * copies * distance / s / 1e9;
        group_gather(&gb_s, all, sizeof gb_s);
        for (int rank = 0; rank < group_count; rank++) {
            gb_s = all[rank] < gb_s ? all[rank] : gb_s;
        }
        if (group_rank == 0) {
            printf("link     %.0f GB/s out of each GPU, copy engines, to %d others at once\n", gb_s, distance);
        }
    }
}

/* ---- main
 * ---------------------------------------------------------------------------------------------------------------- */

/* Takes `name VALUE` out of argv. NULL: it is not there; "": it has no value. */
static const char *own_option(int *argc, char **argv, const char *name) {
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            int taken = i + 1 < *argc ? 2 : 1;
            const char *value = taken == 2 ? argv[i + 1] : "";
            memmove(&argv[i], &argv[i + taken], (size_t)(*argc - i - taken + 1) * sizeof *argv);
            *argc -= taken;
            return value;
        }
    }
    return NULL;
}

static void refuse(const char *text) {
    if (group_rank == 0) {
        fprintf(stderr, "%s\n", text);
    }
    barrier_of_all();
    exit(group_end() ? GEMM_DEVICE : GEMM_USAGE);
}

/* All ranks must compute the same product: a rank that waits for a flag of another tile waits for ever. */
static void agree(const Options *options, int patterns) {
    int own[5] = {options->shape.m, options->shape.n, options->shape.k, patterns, options->repeat};
    int all[MOST_RANKS][5] = {{0}};
    group_gather(own, all, sizeof own);
    for (int rank = 1; rank < group_count; rank++) {
        if (memcmp(all[rank], all[0], sizeof own) != 0) {
            char text[200];
            snprintf(
                text, sizeof text,
                "rank %d has --m %d --n %d --k %d, and rank 0 --m %d --n %d --k %d; all ranks need the same options",
                rank, all[rank][0], all[rank][1], all[rank][2], all[0][0], all[0][1], all[0][2]);
            refuse(text);
        }
    }
}

/* Options, and this rank's GPU. Ends the program where there is nothing to do. Returns the patterns, a bit for each. */
static int start(int argc, char *argv[], Options *options, const char **csv) {
    char message[OPTIONS_MESSAGE_SIZE], why[REASON] = "";
    int patterns = 0, gpus = 0;
    group_start(&argc, argv);
    /* Streams that share a hardware queue wait for each other: a stream that waits for a flag would delay the kernel
     * queued after it. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    signal(SIGALRM, give_up_waiting);
    begin_step("start");
    *csv = own_option(&argc, argv, "--csv");
    const char *name = own_option(&argc, argv, "--pattern"), *push = own_option(&argc, argv, "--push");
    for (int i = 0; i < PATTERNS; i++) {
        patterns |= name == NULL || strcmp(name, pattern_names[i]) == 0 ? 1 << i : 0;
    }
    if (!parse_options(argc, argv, options, message)) {
        refuse(message);
    }
    if (options->help) {
        if (group_rank == 0) {
            print_usage(stdout, argv[0]);
            printf("\nOne process for each GPU: %s. It takes sizes, --pad, --seed, --repeat, --no-check, --bench and "
                   "--no-bench;\n--pattern gather_c, gather_a, reduce_scatter or all_reduce (default: all of them); "
                   "--push kernel "
                   "or both (gather_a); --csv "
                   "FILE appends the rows there.\n",
                   group_usage());
        }
        barrier_of_all();
        exit(group_end());
    }
    if (patterns == 0) {
        refuse("--pattern: accepted are gather_c, gather_a, reduce_scatter and all_reduce");
    }
    kernel_pushes = push != NULL && strcmp(push, "kernel") == 0;
    if (push != NULL && !kernel_pushes && strcmp(push, "both") != 0) {
        refuse("--push: accepted are kernel and both");
    }
    if (*csv != NULL && **csv == '\0') {
        refuse("--csv: the name of a file is missing");
    }
    if (options->on == ON_MODEL || options->explain || options_trace(options)) {
        refuse("--on model, --explain, --timeline, --trace: 12_several_gpus has them, not this program");
    }
    agree(options, patterns);
    backend = gpu_backend();
    options->device = group_device();
    if (cudaGetDeviceCount(&gpus) != cudaSuccess) {
        gpus = 0;
    }
    int all[MOST_RANKS];
    group_gather(&gpus, all, sizeof gpus);
    if (gpus <= options->device) {
        snprintf(why, sizeof why, "rank %d is process %d on its host, which has %d GPUs: start one for each",
                 group_rank, options->device + 1, gpus);
    } else if (backend->open(options, NEEDS_SM90A, &device, message, sizeof message) != GEMM_OK) {
        snprintf(why, sizeof why, "rank %d needs a Hopper GPU of its own, number %d of its host; found: %.300s",
                 group_rank, options->device, message);
    }
    if (first_reason(why)) {
        if (group_rank == 0) {
            fprintf(stderr, "%s\n", why);
        }
        barrier_of_all();
        group_end();
        exit(GEMM_DEVICE);
    }
    return patterns;
}

int main(int argc, char *argv[]) {
    Options options;
    const char *csv_path;
    char why[REASON] = "", message[512];
    int patterns = start(argc, argv, &options, &csv_path);
    Shape shape = options.shape;
    shape.m = shape.m ? shape.m : backend->default_size;
    shape.n = shape.n ? shape.n : backend->default_size;
    shape.k = shape.k ? shape.k : backend->default_size;
    shape.pad = shape.pad >= 0 ? shape.pad : 0;
    try_status(problem_open(&problem, backend, &device, shape, options.seed));
    Gemm *g = &problem.gemm;
    cublas = cublas_open(device.stream, why, sizeof why);
    if (cublas == NULL) {
        fprintf(stderr, "rank %d: %s\n", group_rank, why);
        group_give_up(GEMM_DEVICE);
    }
    open_nccl();
    size_t rows = (size_t)ceil_div(g->m, ROWS_BY * group_count) * ROWS_BY * (size_t)group_count;
    size_t columns = (size_t)block_columns() * (size_t)group_count;
    size_t for_c = rows * (size_t)g->ldc, for_blocks = (size_t)g->m * columns;
    allocate(&gathered_a, rows * (size_t)g->lda * sizeof(bf16), "gathered A");
    allocate(&partial, for_c * sizeof(bf16), "partial sums");
    allocate(&blocks, (for_c > for_blocks ? for_c : for_blocks) * sizeof(bf16), "blocks");
    allocate(&inbox, ranks_inbox_bytes(g, group_count), "inbox");
    allocate(&flags, ranks_flag_bytes(g, group_count), "flags");
    try_status(backend->synchronise("clear"));
    if (!kernel_pushes) {
        open_driver();
    }
    int can_map = map_neighbours(why, sizeof why);
    Nvml *nvml = nvml_open(device.pci_bus_id, message, sizeof message);
    if (nvml != NULL) {
        nvml_driver_version(nvml, device.driver_version, sizeof device.driver_version);
        nvml_close(nvml);
    }
    versions_text(&device, cublas_version(cublas), versions);
    if (group_rank == 0) {
        int version = 0;
        if (nccl.comm != NULL) {
            TRY_NCCL(nccl.get_version(&version));
        }
        printf("problem  C[%d][%d], k %d, on %d x %s, cuBLAS %d, NCCL %d\n", g->m, g->n, g->k, group_count, device.name,
               cublas_version(cublas), version);
    }
    if (!can_map && group_rank == 0) {
        printf("12 is left out: %s\n", why);
    }
    barrier_of_all();
    if (can_map && options.check) {
        begin_step("the reference");
        try_status(problem_fill_operands(&problem, DATA_INTEGERS));
        fill_with_integers(problem.a.data, g->m, g->lda, options.seed);
        fill_with_integers(problem.b.data, g->n, g->ldb, options.seed + 1);
        try_status(problem_refer(&problem));
        for (int i = 0; i < PATTERNS; i++) {
            pattern = (Pattern)i;
            if (patterns >> i & 1) {
                check_chapter(options.repeat, NULL);
                if (pattern == GATHER_A && driver.set != NULL) {
                    check_chapter(options.repeat, &options);
                }
            }
        }
    }
    if (options.bench != CHOICE_NO) {
        FILE *csv = group_rank == 0 && csv_path != NULL ? csv_open(csv_path, CSV_HEADER) : NULL;
        begin_step("normal data");
        try_status(problem_fill_operands(&problem, DATA_NORMAL));
        place_own_rows();
        try_status(backend->synchronise("operands"));
        barrier_of_all();
        if (can_map) {
            measure_link();
        }
        for (int i = 0; i < PATTERNS; i++) {
            Contestant ways[5];
            int count = 0;
            pattern = (Pattern)i;
            if (!(patterns >> i & 1)) {
                continue;
            }
            add(ways, &count, "product", product_launch, NULL);
            if (nccl.comm != NULL) {
                add(ways, &count, "nccl", nccl_launch, NULL);
            }
            if (can_map && !is_sum()) {
                add(ways, &count, "copies", copies_launch, NULL);
            }
            if (can_map) {
                add(ways, &count, "12", chapter_launch, NULL);
            }
            if (can_map && pattern == GATHER_A && driver.set != NULL) {
                add(ways, &count, "12 copies", chapter_launch, &options);
            }
            measure(ways, count, options.rounds);
            if (group_rank == 0) {
                report(ways, count, csv);
            }
        }
    }
    begin_step("end");
    barrier_of_all(); /* a rank's memory goes with its process */
    return group_end();
}
