/* run_gpu - the programs of this folder on a Hopper GPU, right and without each line. Built by `make patterns-gpu`.
 *
 *     run_gpu DIRECTORY [LAUNCHES]   writes DIRECTORY/CARD_DATE.csv; the environment's COMMIT goes into it
 *
 * They run in a child, one after the other. A child that gets no further is killed, or has ended by a failed launch;
 * the next one continues after that program with a fresh context. */
#include <ctype.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pattern.h"

#include "forms.inc" /* each program in each form, in a namespace of its own */

typedef struct {
    const char *name;
    int without;
    GemmStatus (*run)(const Params *p, Stream stream);
} Pattern;

#define EACH_PATTERN(name, line) extern "C" GemmStatus gpu_##name##_##line(const Params *p, Stream stream);
#include "patterns.inc"
#undef EACH_PATTERN
#define EACH_PATTERN(name, line) {#name, line, gpu_##name##_##line},
static const Pattern patterns[] = {
#include "patterns.inc"
};

enum {
    PATTERNS = sizeof patterns / sizeof patterns[0],
    CTAS_PER_SM = 2,
    LAUNCHES = 10000,
    SETUP_MS = 30000, /* for the context */
    LAUNCH_MS = 3000, /* a launch takes some microseconds */
    TICK_MS = 5,
};

/* What the child has come to; the parent reads it. */
typedef struct {
    volatile int ready, pattern, launch;
    int wrong[PATTERNS], launches[PATTERNS];
    char gpu[256], failure[128];
} Progress;

static __global__ void fill(int *in, int *out, int *words, int count, int launch) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        in[i] = launch * count + i;
        out[i] = -1;
        words[i / ITEMS] = 0;
    }
}

static __global__ void check(const int *in, const int *out, int count, int *wrong) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count && in[i] != out[i]) {
        *wrong = 1;
    }
}

static void failed(Progress *progress, cudaError_t error) {
    snprintf(progress->failure, sizeof progress->failure, "%s", cudaGetErrorName(error));
    _exit(GEMM_DEVICE);
}

static void child(Progress *progress, int first, int launches) {
    cudaDeviceProp device;
    int *wrong;
    Params p;
    cudaError_t error = cudaGetDeviceProperties(&device, 0);
    if (error != cudaSuccess || device.major != 9) {
        failed(progress, error);
    }
    snprintf(progress->gpu, sizeof progress->gpu, "%s", device.name);
    p.ctas = CTAS_PER_SM * device.multiProcessorCount;
    int count = p.ctas * ITEMS, grid = ceil_div(count, 256);
    size_t bytes = (size_t)count * sizeof(int);
    int *in;
    if (cudaMalloc((void **)&in, bytes) || cudaMalloc((void **)&p.out, bytes) ||
        cudaMalloc((void **)&p.between, bytes) || cudaMalloc((void **)&p.words, bytes) ||
        cudaMallocManaged((void **)&wrong, sizeof *wrong) || cudaMemset(p.between, 0, bytes)) {
        failed(progress, cudaGetLastError());
    }
    p.in = in;
    for (int i = first; i < PATTERNS; i++) {
        progress->pattern = i;
        progress->launch = 0;
        for (int launch = 0; launch < launches; launch++) {
            *wrong = 0;
            fill<<<grid, 256>>>(in, p.out, p.words, count, launch % 50000 + 1);
            patterns[i].run(&p, NULL);
            check<<<grid, 256>>>(in, p.out, count, wrong);
            error = cudaDeviceSynchronize();
            if (error != cudaSuccess) {
                failed(progress, error);
            }
            progress->wrong[i] += *wrong;
            progress->launches[i] = launch + 1;
            progress->launch = launch + 1;
            progress->ready = 1;
        }
    }
    _exit(GEMM_OK);
}

/* Runs a child from pattern `first` on. Returns the next one to run, and in `outcome` why this one went no further. */
static int run_child(Progress *progress, int first, int launches, const char **outcome) {
    progress->ready = 0;
    progress->pattern = first;
    progress->failure[0] = 0;
    pid_t pid = fork();
    if (pid == 0) {
        child(progress, first, launches);
    }
    int still = 0, status, seen_pattern = first, seen_launch = -1;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        still = progress->pattern == seen_pattern && progress->launch == seen_launch ? still + TICK_MS : 0;
        seen_pattern = progress->pattern;
        seen_launch = progress->launch;
        if (still > (progress->ready ? LAUNCH_MS : SETUP_MS)) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            outcome[progress->pattern] = "hang";
            return progress->pattern + 1;
        }
        usleep(TICK_MS * 1000);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == GEMM_OK) {
        return PATTERNS;
    }
    if (!progress->gpu[0]) {
        fprintf(stderr, "run_gpu: there is no Hopper GPU: %s\n", progress->failure);
        exit(GEMM_DEVICE);
    }
    outcome[progress->pattern] = "failure";
    fprintf(stderr, "%s %d: %s\n", patterns[progress->pattern].name, patterns[progress->pattern].without,
            progress->failure);
    return progress->pattern + 1;
}

/* DIRECTORY/nvidia_h200_2026-11-23.csv */
static FILE *open_csv(const char *directory, const char *gpu, const char *date) {
    char path[1024], card[256];
    snprintf(card, sizeof card, "%s", gpu);
    for (char *c = card; *c; c++) {
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
    }
    snprintf(path, sizeof path, "%s/%s_%s.csv", directory, card, date);
    FILE *csv = fopen(path, "w");
    if (csv == NULL) {
        fprintf(stderr, "run_gpu: \"%s\" cannot be written\n", path);
        exit(GEMM_USAGE);
    }
    return csv;
}

int main(int argc, char **argv) {
    int launches = argc > 2 ? atoi(argv[2]) : LAUNCHES;
    if (argc < 2 || argc > 3 || launches < 1) {
        fprintf(stderr, "usage: %s DIRECTORY [LAUNCHES], 1 or more of them\n", argv[0]);
        return GEMM_USAGE;
    }
    void *memory = mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("run_gpu");
        return GEMM_DEVICE;
    }
    Progress *progress = (Progress *)memory;
    static const char *outcome[PATTERNS];
    for (int next = 0; next < PATTERNS;) {
        next = run_child(progress, next, launches, outcome);
    }
    char date[16];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    FILE *csv = open_csv(argv[1], progress->gpu, date);
    const char *commit = getenv("COMMIT");
    fprintf(csv, "gpu,date,commit,program,line,launches,wrong,end\n");
    for (int i = 0; i < PATTERNS; i++) {
        fprintf(csv, "%s,%s,%s,%s,%d,%d,%d,%s\n", progress->gpu, date, commit ? commit : "unknown", patterns[i].name,
                patterns[i].without, progress->launches[i], progress->wrong[i], outcome[i] ? outcome[i] : "");
    }
    return fclose(csv) == 0 ? GEMM_OK : GEMM_USAGE;
}
