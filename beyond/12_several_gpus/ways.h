/* ways.h - main() of the two programs of several GPUs: each pattern of ranks.h in several ways, compared and timed.
 *
 *     product     cuBLAS with this rank's share, and nothing crosses a link
 *     nccl        the same, and NCCL's collective before or after it
 *     link        of the patterns that gather: only the bytes, by the GPUs' copy engines
 *     copies      these copies in place of NCCL's collective; nobody is told that they have arrived
 *     12          chapter 12's kernel, where all ranks are on one host and reach each other's memory
 *     12 copies   the same, where the copy engines push A
 *
 * Included after the functions of group.h. Every rank compares the whole result of 12. For that A and B are -1, 0 and
 * 1, and no partial sum needs rounding. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../common/harness/cublas.h"
#include "../../common/harness/nvml.h"
#include "../../common/harness/report.h"
#include "ranks.h"

extern const Chapter gpu_chapter_12_several_gpus;

enum {
    MOST_RANKS = 64,
    REASON = 512,    /* bytes of a sentence that says why not */
    PATIENCE_S = 50, /* longer than any step takes: a process that waits longer waits for ever */
    PAGE = 2 << 20,  /* memory that is mapped by others is allocated in whole pages of the GPU */
};

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

/* Reports an error of a library; `text` returns the library's words for it. */
static void try_call(int error, const char *call, const char *(*text)(int error)) {
    if (error != 0) {
        fprintf(stderr, "rank %d: %s failed: %s\n", group_rank, call, text(error));
        group_give_up(GEMM_DEVICE);
    }
}
static const char *text_of_cuda(int error) { return cudaGetErrorString((cudaError_t)error); }
#define TRY_CUDA(call) try_call(call, #call, text_of_cuda)
#define TRY_NCCL(call) try_call(call, #call, nccl.text)
static void try_status(GemmStatus status) {
    if (status != GEMM_OK) {
        group_give_up(status);
    }
}

/* The watchdog: a flag that never comes, or a collective that another rank does not join, keeps the GPU and this
 * process waiting for ever. A signal handler may make only a few calls, and write() is one of them. */
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

/* Each rank has a reason why it cannot go on, or "". Puts the first of them into every `why`. Returns 0 if no rank has
 * one. */
static int first_reason(char *why) {
    char all[MOST_RANKS][REASON];
    group_gather(why, all, REASON);
    for (int rank = group_count - 1; rank >= 0; rank--) {
        memcpy(why, *all[rank] ? all[rank] : why, REASON);
    }
    return *why != '\0';
}

/* ---- libraries that are loaded when they are used ---------------------------------------------------------------- */

/* The driver's functions by which a stream waits for a word of memory and sets one: no SM takes part. Their errors have
 * the numbers of the runtime's. */
static struct {
    int (*wait)(cudaStream_t stream, unsigned long long word, unsigned value, unsigned flags); /* for >= value */
    int (*set)(cudaStream_t stream, unsigned long long word, unsigned value, unsigned flags);  /* after earlier work */
    int is_there;
} driver;

static void open_driver(void) {
    const LibraryFunction list[] = {{"cuStreamWaitValue32_v2", &driver.wait}, {"cuStreamWriteValue32_v2", &driver.set}};
    driver.is_there = find_functions(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), list, 2);
}

/* NCCL's functions by their documented types, which have not changed since NCCL 2.10. */
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

/* NCCL's communicator of all ranks. Without the library its way is left out, on all ranks. */
static void open_nccl(void) {
    const LibraryFunction list[] = {
        {"ncclGetUniqueId", &nccl.get_unique_id}, {"ncclCommInitRank", &nccl.init},
        {"ncclAllGather", &nccl.all_gather},      {"ncclReduceScatter", &nccl.reduce_scatter},
        {"ncclAllReduce", &nccl.all_reduce},      {"ncclGetVersion", &nccl.get_version},
        {"ncclGetErrorString", &nccl.text}};
    char why[REASON] = "";
    if (!find_functions(dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL), list, sizeof list / sizeof *list)) {
        snprintf(why, sizeof why,
                 "nccl is left out: rank %d has not found libnccl.so.2; it is in NVIDIA's package libnccl2, and in the "
                 "wheel nvidia-nccl-cu13; LD_LIBRARY_PATH may name its directory",
                 group_rank);
    }
    if (first_reason(why)) {
        printf("%s", group_rank == 0 ? strcat(why, "\n") : "");
        return;
    }
    NcclId ids[MOST_RANKS], id;
    memset(&id, 0, sizeof id);
    if (group_rank == 0) {
        TRY_NCCL(nccl.get_unique_id(&id));
    }
    group_gather(&id, ids, sizeof id);
    TRY_NCCL(nccl.init(&nccl.comm, group_count, ids[0], group_rank));
}

/* ---- one rank's share -------------------------------------------------------------------------------------------- */

static Backend backend; /* the GPU's; its clock is that of the slowest rank (open_device()) */
static DeviceInfo device;
static Problem problem; /* of all ranks: A, B and C are whole here; the ways get this rank's share of A and B */
static Cublas *cublas;
static Pattern pattern; /* that is compared now */
static Ranks ranks;     /* with the memory of all, where 12 can run */
static Buffer gathered_a, partial, blocks, inbox, flags;
static cudaEvent_t ready; /* what is to be copied */
static struct {
    cudaStream_t stream;
    cudaEvent_t sent;
} to_rank[MAX_RANKS]; /* copies to the i-th rank after this one */

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
    if (is_sum(pattern)) {
        g.a += rank_first(g.k, group_count, group_rank, K_BY);
        g.b += rank_first(g.k, group_count, group_rank, K_BY);
    } else {
        g.b += (size_t)first_column(group_rank) * (size_t)g.ldb;
    }
    return g;
}

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

/* cuBLAS with this rank's share of the product, from `a` to `c`. */
static GemmStatus product(const bf16 *a, bf16 *c, int ldc) {
    CublasRun run = {cublas, share_of_operands()};
    Gemm *g = &run.gemm;
    g->a = a != NULL ? a : g->a;
    g->c = c;
    g->ldc = ldc;
    g->n = is_sum(pattern) ? g->n : columns_of(group_rank);
    g->k = is_sum(pattern) ? rank_share(g->k, group_count, group_rank, K_BY) : g->k;
    return g->n > 0 && g->k > 0 ? cublas_launch(&run) : GEMM_OK;
}

static GemmStatus product_launch(void *context) {
    (void)context;
    return product(NULL, is_sum(pattern) ? (bf16 *)partial.data : problem.gemm.c + first_column(group_rank),
                   problem.gemm.ldc);
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
static GemmStatus link_launch(void *context) {
    (void)context;
    const Gemm *g = &problem.gemm;
    int is_c = pattern == GATHER_C;
    cudaStream_t stream = (cudaStream_t)device.stream;
    size_t pitch = (size_t)(is_c ? g->ldc : g->lda) * sizeof(bf16);
    size_t at = is_c ? (size_t)first_column(group_rank) : (size_t)first_row(group_rank) * (size_t)g->lda;
    size_t width = (size_t)(is_c ? columns_of(group_rank) : g->k) * sizeof(bf16);
    size_t rows = (size_t)(is_c ? g->m : rows_of(group_rank));
    TRY_CUDA(cudaEventRecord(ready, stream));
    for (int i = 1; i < group_count && width > 0 && rows > 0; i++) {
        bf16 *to = (is_c ? ranks.c : ranks.a)[(group_rank + i) % group_count];
        TRY_CUDA(cudaStreamWaitEvent(to_rank[i].stream, ready, 0));
        TRY_CUDA(cudaMemcpy2DAsync(to + at, pitch, (is_c ? g->c : g->a) + at, pitch, width, rows, cudaMemcpyDefault,
                                   to_rank[i].stream));
        TRY_CUDA(cudaEventRecord(to_rank[i].sent, to_rank[i].stream));
        TRY_CUDA(cudaStreamWaitEvent(stream, to_rank[i].sent, 0));
    }
    return GEMM_OK;
}

static GemmStatus copies_launch(void *context) {
    if (pattern == GATHER_C) {
        GEMM_TRY(product_launch(context));
        return link_launch(context);
    }
    GEMM_TRY(link_launch(context));
    return product((bf16 *)gathered_a.data, problem.gemm.c + first_column(group_rank), problem.gemm.ldc);
}

/* gather_a: the copy engines push this rank's rows of A, one stream for each other rank. The previous rank receives
 * them first, because it multiplies with these rows next. A flag follows each panel of 128 rows. */
static void push_panels(const Gemm *g) {
    typedef unsigned long long Address;
    unsigned epoch = (unsigned)ranks.epoch;
    for (int i = group_count - 1; i > 0; i--) {
        int to = (group_rank + i) % group_count, own = group_rank;
        cudaStream_t stream = to_rank[i].stream;
        TRY_CUDA(cudaStreamWaitEvent(stream, i < group_count - 1 ? to_rank[i + 1].sent : ready, 0));
        /* Waits until the other rank's launch has begun: no earlier launch still reads the last A there. */
        TRY_CUDA(driver.wait(stream, (Address)(uintptr_t)&ranks_flags(&ranks, g, own, to)[READY], epoch, 0));
        int *flag = &ranks_flags(&ranks, g, to, own)[FIRST_FLAG];
        for (int row = first_row(own); row < first_row(own + 1); row += ROWS_BY, flag++) {
            size_t at = (size_t)row * (size_t)g->lda, rows = (size_t)min_int(ROWS_BY, first_row(own + 1) - row);
            TRY_CUDA(cudaMemcpyAsync(ranks.a[to] + at, ranks.a[own] + at, rows * (size_t)g->lda * sizeof(bf16),
                                     cudaMemcpyDefault, stream));
            TRY_CUDA(driver.set(stream, (Address)(uintptr_t)flag, epoch, 0));
        }
        TRY_CUDA(cudaEventRecord(to_rank[i].sent, stream));
    }
}

/* Chapter 12. context: not NULL if the copy engines are to push A. */
static GemmStatus chapter_launch(void *context) {
    Gemm g = share_of_operands();
    GemmError error;
    cudaStream_t stream = (cudaStream_t)device.stream;
    ranks.pattern = pattern;
    ranks.epoch++; /* all ranks launch equally often */
    ranks.is_pushed = context != NULL;
    Beyond beyond = {.ranks = &ranks};
    g.beyond = &beyond;
    TRY_CUDA(cudaEventRecord(ready, stream));
    GemmStatus status = gpu_chapter_12_several_gpus.launch(&g, &error);
    if (status != GEMM_OK) {
        fprintf(stderr, "rank %d: %s\n", group_rank, error.text);
    }
    if (ranks.is_pushed && group_count > 1) {
        /* After the launch: the first launch loads the kernel, and loading waits for all streams, among them those of
         * the panels, which wait for the others' launches. */
        push_panels(&g);
        /* Later work in the product's stream may overwrite this rank's rows: it waits until all have been sent. */
        TRY_CUDA(cudaStreamWaitEvent(stream, to_rank[1].sent, 0));
    }
    return status;
}

/* ---- 12's memory: of all ranks, in each -------------------------------------------------------------------------- */

/* Maps every rank's memory into this process. If one rank cannot, returns 0 on all ranks, with the first reason. */
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

/* ---- the check --------------------------------------------------------------------------------------------------- */

/* -1, 0 and 1: every partial sum is an integer that bf16 holds exactly. */
static void fill_with_integers(void *to, int rows, int ld, uint64_t seed) {
    static const bf16 values[4] = {0xbf80, 0, 0, 0x3f80};
    size_t count = (size_t)rows * (size_t)ld;
    bf16 *host;
    try_status(allocate_on_host((void **)&host, count * sizeof *host, "integers"));
    for (size_t i = 0; i < count; i++) {
        host[i] = values[mix64(seed * 0x9e3779b97f4a7c15u + i) % 4];
    }
    try_status(backend.copy_in(to, host, count * sizeof *host));
    free(host);
}

/* gather_a: copies this rank's rows to their place in A, and writes NaN into the rows that other ranks push. */
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

/* Launches 12 `launches` times. Each rank compares all of C, or its part of C and that nothing else was written. */
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
        try_status(backend.synchronise("12"));
        try_status(problem_check(&problem, &tally));
        int right = tally.wrong == elements - own && tally.unwritten == elements - own && tally.guard_first == NOWHERE;
        fingerprint = i == 0 ? tally.fingerprint : fingerprint;
        if (!right || tally.fingerprint != fingerprint) {
            printf(
                "WRONG    %s, launch %d, rank %d: of %llu elements that it should have, %lld are wrong or missing%s\n",
                pattern_name(pattern), i + 1, group_rank, (unsigned long long)own,
                (long long)(tally.wrong - (elements - own)), right ? "; some bits differ from the first launch" : "");
            group_give_up(GEMM_WRONG);
        }
        barrier_of_all(); /* all ranks have compared before the next launch begins anywhere */
    }
    if (group_rank == 0) {
        printf("right    %s%s: %d launches exact on each of %d ranks, nothing written elsewhere\n",
               pattern_name(pattern), context != NULL ? ", pushed by copy engines" : "", launches, group_count);
        fflush(stdout);
    }
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

typedef enum { PRODUCT, NCCL, LINK, COPIES, KERNEL, KERNEL_AND_COPIES, WAYS } Way;
static const char *const way_names[WAYS] = {"product", "nccl", "link", "copies", "12", "12 copies"};
static GemmStatus (*const launch_of[WAYS])(void *context) = {product_launch, nccl_launch,    link_launch,
                                                             copies_launch,  chapter_launch, chapter_launch};

/* Is this way possible? can_map: this rank reaches the memory of the others. */
static int is_possible(Way way, int can_map) {
    return way == PRODUCT             ? 1
           : way == NCCL              ? nccl.comm != NULL
           : way == KERNEL            ? can_map
           : way == KERNEL_AND_COPIES ? can_map && driver.is_there && pattern == GATHER_A
                                      : can_map && !is_sum(pattern);
}

/* The bytes that leave each GPU. */
static double bytes_sent(void) {
    const Gemm *g = &problem.gemm;
    double all = (double)g->m * (pattern == GATHER_A ? g->k : g->n) * sizeof(bf16) * (pattern == ALL_REDUCE ? 2 : 1);
    return all / group_count * (group_count - 1);
}

/* Milliseconds that a complete way should take: NCCL, KERNEL or KERNEL_AND_COPIES. The constants are of H200s. */
static double expected_ms(Way way) {
    enum { CUBLAS_FLOP = 800, SM_FLOP = 6 }; /* 10^9 in a ms: of cuBLAS on a GPU, of 12 on an SM */
    enum { NCCL_BYTES = 250, PUSH_BYTES = 200, COPY_BYTES = 370 };    /* 10^6 in a ms, out of a GPU */
    const double nccl_ms = 0.026, kernel_ms = 0.014, copy_ms = 0.024; /* to begin and to end */
    const double push_share = 1.02;                                   /* 12 is slower by that if its SMs also send */
    const Variants *variants = gpu_chapter_12_several_gpus.variants;
    Gemm g = problem.gemm;
    Beyond beyond = {.ranks = &ranks};
    ranks.pattern = pattern;
    g.beyond = &beyond;
    if (way == NCCL) {
        double flop = 2.0 * g.m * g.n * g.k / group_count;
        return flop / CUBLAS_FLOP * 1e-9 + bytes_sent() / NCCL_BYTES * 1e-6 + nccl_ms;
    }
    GemmError error;
    const Variant *v = choose_variant(variants, &g, &error);
    double k = is_sum(pattern) ? rank_share(g.k, group_count, 0, K_BY) : g.k;
    double ms = v == NULL ? INFINITY : variants->cost(v, &g) * 2 * v->bm * k / SM_FLOP * 1e-9; /* of the busiest CTA */
    return way == KERNEL ? fmax(ms * push_share, bytes_sent() / PUSH_BYTES * 1e-6) + kernel_ms
                         : fmax(ms, bytes_sent() / COPY_BYTES * 1e-6) + copy_ms;
}

/* The way that should be the fastest. */
static Way chosen_way(int can_map) {
    static const Way complete[] = {NCCL, KERNEL, KERNEL_AND_COPIES};
    Way best = WAYS;
    for (int i = 0; i < 3; i++) {
        if (is_possible(complete[i], can_map) && (best == WAYS || expected_ms(complete[i]) < expected_ms(best))) {
            best = complete[i];
        }
    }
    return best;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

/* A sample begins when all ranks have queued their launches. */
static void let_go_together(void) {
    begin_step(pattern_name(pattern));
    barrier_of_all();
    gpu_backend()->let_go();
}

/* A launch takes as long as on the slowest rank. */
static GemmStatus slowest_ms(int from, int to, double *ms) {
    double all[MOST_RANKS];
    GEMM_TRY(gpu_backend()->elapsed_ms(from, to, ms));
    group_gather(ms, all, sizeof *ms);
    for (int rank = 0; rank < group_count; rank++) {
        *ms = all[rank] > *ms ? all[rank] : *ms;
    }
    return GEMM_OK;
}

/* Prints what the ways took, and whether the rule has chosen the fastest of the complete ones. */
static void report(const Contestant *list, const Way *way_of, int count, Way chosen, FILE *csv) {
    double flop = kind_flop(&problem.shape, &problem.gemm), ms[WAYS] = {0};
    Way fastest = chosen;
    char gpus[128], date[16], versions[128];
    for (int i = 0; i < count; i++) {
        Way way = way_of[i];
        ms[way] = spread_of(list[i].ms, list[i].samples).median;
        fastest = (way == NCCL || way >= KERNEL) && ms[way] < ms[fastest] ? way : fastest;
    }
    double base = ms[NCCL] > 0 ? flop / ms[NCCL] * 1e-9 : 0;
    snprintf(gpus, sizeof gpus, "%d x %s", group_count, device.name);
    today(date);
    versions_text(&device, cublas_version(cublas), versions);
    CsvSource source = {gpus, date, commit_name(), "several", versions};
    for (int i = 0; i < count; i++) {
        Spread spread = spread_of(list[i].ms, list[i].samples), tflops = tflops_of(&list[i], flop);
        printf("%-22s %.4f ms, median of %d (%.4f .. %.4f)", list[i].name, spread.median, list[i].samples, spread.min,
               spread.max);
        if (way_of[i] == LINK) {
            printf(", %.0f GB/s out of each GPU\n", bytes_sent() / spread.median * 1e-6);
        } else {
            printf(", %.0f TFLOP/s of all GPUs, %.3f of nccl\n", tflops.median, base > 0 ? tflops.median / base : 0);
        }
        if (csv != NULL) {
            csv_rate(csv, &source, &problem.shape, &list[i], tflops, base);
        }
    }
    if (chosen != WAYS) {
        printf("fastest  %s: %s; the rule's choice takes %.3f times as long\n", pattern_name(pattern),
               way_names[fastest], ms[chosen] / ms[fastest]);
    }
    fflush(stdout);
}

/* Times each way of the pattern. */
static void measure(int can_map, int rounds, FILE *csv) {
    Contestant list[WAYS];
    Way way_of[WAYS], chosen = chosen_way(can_map);
    int count = 0;
    memset(list, 0, sizeof list);
    for (int way = 0; way < WAYS; way++) {
        if (is_possible((Way)way, can_map)) {
            snprintf(list[count].name, sizeof list->name, "%s %s", pattern_name(pattern), way_names[way]);
            list[count].launch = launch_of[way];
            list[count].context = way == KERNEL_AND_COPIES ? list : NULL;
            way_of[count++] = (Way)way;
        }
    }
    if (group_rank == 0 && chosen != WAYS) {
        printf("rule     %s: %s, %.3f ms expected\n", pattern_name(pattern), way_names[chosen], expected_ms(chosen));
        fflush(stdout);
    }
    try_status(measure_interleaved(&problem, list, count, rounds, PAUSE_MS));
    if (group_rank == 0) {
        report(list, way_of, count, chosen, csv);
    }
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

/* Ends all ranks, with a sentence. All call it. */
static void leave(int status, const char *text) {
    if (group_rank == 0) {
        fprintf(stderr, "%s\n", text);
    }
    barrier_of_all();
    group_end();
    exit(status);
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
            leave(GEMM_USAGE, text);
        }
    }
}

/* Reads the options. Returns the patterns, a bit for each. */
static int read_options(int argc, char *argv[], Options *options, const char **csv) {
    char message[OPTIONS_MESSAGE_SIZE];
    const char *name = own_option(&argc, argv, "--pattern");
    int patterns = 0;
    *csv = own_option(&argc, argv, "--csv");
    for (int i = 0; i < PATTERNS; i++) {
        patterns |= name == NULL || strcmp(name, pattern_name(i)) == 0 ? 1 << i : 0;
    }
    if (!parse_options(argc, argv, options, message)) {
        leave(GEMM_USAGE, message);
    }
    if (options->help) {
        if (group_rank == 0) {
            print_usage(stdout, argv[0]);
            printf("\nOne process for each GPU: %s. It takes sizes, --pad, --seed, --repeat, --no-check, --bench and "
                   "--no-bench;\n--pattern gather_c, gather_a, reduce_scatter or all_reduce (default: all of them); "
                   "--csv FILE appends the rows there.\n",
                   group_usage());
        }
        barrier_of_all();
        group_end();
        exit(GEMM_OK);
    }
    if (patterns == 0) {
        leave(GEMM_USAGE, "--pattern: accepted are gather_c, gather_a, reduce_scatter and all_reduce");
    }
    if (*csv != NULL && **csv == '\0') {
        leave(GEMM_USAGE, "--csv: the name of a file is missing");
    }
    if (options->on == ON_MODEL || options->explain || options_trace(options)) {
        leave(GEMM_USAGE, "--on model, --explain, --timeline, --trace: 12_several_gpus has them, not this program");
    }
    agree(options, patterns);
    return patterns;
}

/* Takes this rank's GPU. */
static void open_device(Options *options) {
    char message[OPTIONS_MESSAGE_SIZE], why[REASON] = "";
    int gpus = 0;
    backend = *gpu_backend();
    backend.let_go = let_go_together;
    backend.elapsed_ms = slowest_ms;
    options->device = group_device();
    if (cudaGetDeviceCount(&gpus) != cudaSuccess) {
        gpus = 0;
    }
    if (gpus <= options->device) {
        snprintf(why, sizeof why, "rank %d is process %d on its host, which has %d GPUs: start one for each",
                 group_rank, options->device + 1, gpus);
    } else if (backend.open(options, NEEDS_SM90A, &device, message, sizeof message) != GEMM_OK) {
        snprintf(why, sizeof why, "rank %d needs a Hopper GPU of its own, number %d of its host; found: %.300s",
                 group_rank, options->device, message);
    }
    if (first_reason(why)) {
        leave(GEMM_DEVICE, why);
    }
    Nvml *nvml = nvml_open(device.pci_bus_id, message, sizeof message);
    if (nvml != NULL) {
        nvml_driver_version(nvml, device.driver_version, sizeof device.driver_version);
        nvml_close(nvml);
    }
    TRY_CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    for (int i = 1; i < MAX_RANKS; i++) {
        TRY_CUDA(cudaStreamCreateWithFlags(&to_rank[i].stream, cudaStreamNonBlocking));
        TRY_CUDA(cudaEventCreateWithFlags(&to_rank[i].sent, cudaEventDisableTiming));
    }
}

static void allocate(Buffer *buffer, size_t bytes, const char *name) {
    try_status(backend.allocate(buffer, (bytes + PAGE - 1) / PAGE * PAGE, name));
    try_status(backend.clear(buffer));
}

static void allocate_all(const Options *options) {
    Shape shape = options->shape;
    shape.m = shape.m ? shape.m : backend.default_size;
    shape.n = shape.n ? shape.n : backend.default_size;
    shape.k = shape.k ? shape.k : backend.default_size;
    shape.pad = shape.pad >= 0 ? shape.pad : 0;
    try_status(problem_open(&problem, &backend, &device, shape, options->seed));
    const Gemm *g = &problem.gemm;
    size_t rows = (size_t)ceil_div(g->m, ROWS_BY * group_count) * ROWS_BY * (size_t)group_count;
    size_t for_c = rows * (size_t)g->ldc;
    size_t for_blocks = (size_t)g->m * (size_t)block_columns() * (size_t)group_count;
    allocate(&gathered_a, rows * (size_t)g->lda * sizeof(bf16), "gathered A");
    allocate(&partial, for_c * sizeof(bf16), "partial sums");
    allocate(&blocks, (for_c > for_blocks ? for_c : for_blocks) * sizeof(bf16), "blocks");
    allocate(&inbox, ranks_inbox_bytes(g, group_count), "inbox");
    allocate(&flags, ranks_flag_bytes(g, group_count), "flags");
    try_status(backend.synchronise("clear"));
}

int main(int argc, char *argv[]) {
    Options options;
    const char *csv_path;
    char why[REASON] = "";
    group_start(&argc, argv);
    /* Streams that share a hardware queue wait for each other: a stream that waits for a flag would delay the kernel
     * queued after it. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    signal(SIGALRM, give_up_waiting);
    begin_step("start");
    int patterns = read_options(argc, argv, &options, &csv_path), version = 0;
    open_device(&options);
    allocate_all(&options);
    cublas = cublas_open(device.stream, why, sizeof why);
    if (cublas == NULL) {
        fprintf(stderr, "rank %d: %s\n", group_rank, why);
        group_give_up(GEMM_DEVICE);
    }
    open_nccl();
    open_driver();
    int can_map = map_neighbours(why, sizeof why);
    const Gemm *g = &problem.gemm;
    if (group_rank == 0) {
        if (nccl.comm != NULL) {
            TRY_NCCL(nccl.get_version(&version));
        }
        printf("problem  C[%d][%d], k %d, on %d x %s, cuBLAS %d, NCCL %d\n", g->m, g->n, g->k, group_count, device.name,
               cublas_version(cublas), version);
        printf(can_map ? "" : "12 is left out: %s\n", why);
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
                if (is_possible(KERNEL_AND_COPIES, can_map)) {
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
        try_status(backend.synchronise("operands"));
        barrier_of_all();
        for (int i = 0; i < PATTERNS; i++) {
            pattern = (Pattern)i;
            if (patterns >> i & 1) {
                measure(can_map, options.rounds, csv);
            }
        }
    }
    begin_step("end");
    barrier_of_all(); /* a rank's memory goes with its process */
    group_end();
    return GEMM_OK;
}
