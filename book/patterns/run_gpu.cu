/* run_gpu - runs the programs of this folder on a Hopper GPU, whole and without each of their lines, and writes a CSV
 * to stdout. `make patterns-gpu` calls it.
 *
 *     run_gpu [LAUNCHES]   launches of each program; the environment's COMMIT goes into the CSV
 *
 * Each program runs in a child process, which has its own CUDA context. An alarm ends a child that hangs. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATTERN_RUN(name, line) gpu_##name##_##line
#include "pattern.h"

#include "forms.inc" /* each program in each form, in a namespace of its own */

enum {
    CTAS_PER_SM = 2,
    LAUNCHES = 10000,
    SETUP_S = 30, /* for the context */
    LAUNCH_S = 3, /* a launch takes a few microseconds */
};

/* What a child has come to; the parent reads it. */
typedef struct {
    int launches, wrong;
    char gpu[256];
} Seen;

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

static void must(cudaError_t error, const Pattern *pattern) {
    if (error != cudaSuccess) {
        fprintf(stderr, "%s %d: %s\n", pattern->name, pattern->without, cudaGetErrorName(error));
        _exit(GEMM_DEVICE);
    }
}

static void child(const Pattern *pattern, int launches, Seen *seen) {
    cudaDeviceProp device;
    int *in, *wrong;
    Params p;
    alarm(SETUP_S);
    must(cudaGetDeviceProperties(&device, 0), pattern);
    must(device.major == 9 ? cudaSuccess : cudaErrorInvalidDevice, pattern);
    snprintf(seen->gpu, sizeof seen->gpu, "%s", device.name);
    p.ctas = CTAS_PER_SM * device.multiProcessorCount;
    int count = p.ctas * ITEMS, grid = ceil_div(count, 256);
    size_t bytes = (size_t)count * sizeof(int);
    must(cudaMalloc((void **)&in, bytes), pattern);
    must(cudaMalloc((void **)&p.out, bytes), pattern);
    must(cudaMalloc((void **)&p.between, bytes), pattern);
    must(cudaMalloc((void **)&p.words, bytes), pattern);
    must(cudaMallocManaged((void **)&wrong, sizeof *wrong), pattern);
    must(cudaMemset(p.between, 0, bytes), pattern);
    p.in = in;
    while (seen->launches < launches) {
        alarm(LAUNCH_S);
        *wrong = 0;
        fill<<<grid, 256>>>(in, p.out, p.words, count, seen->launches % 50000 + 1);
        pattern->run(&p, NULL);
        check<<<grid, 256>>>(in, p.out, count, wrong);
        must(cudaDeviceSynchronize(), pattern);
        seen->wrong += *wrong;
        seen->launches++;
    }
    _exit(GEMM_OK);
}

int main(int argc, char **argv) {
    int launches = argc > 1 ? atoi(argv[1]) : LAUNCHES;
    void *memory = mmap(NULL, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc > 2 || launches < 1 || memory == MAP_FAILED) {
        fprintf(stderr, "usage: %s [LAUNCHES], 1 or more of them\n", argv[0]);
        return GEMM_USAGE;
    }
    Seen *seen = (Seen *)memory;
    const char *commit = getenv("COMMIT");
    char date[16];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    for (int i = 0; i < PATTERNS; i++) {
        int status = -1;
        memset(seen, 0, sizeof *seen);
        pid_t pid = fork();
        if (pid == 0) {
            child(&patterns[i], launches, seen);
        }
        if (waitpid(pid, &status, 0) != pid || !seen->gpu[0]) {
            fprintf(stderr, "run_gpu: there is no Hopper GPU\n");
            return GEMM_DEVICE;
        }
        const char *end = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hang" : status ? "failure" : "";
        printf("%s%s,%s,%s,%s,%d,%d,%d,%s\n", i == 0 ? "gpu,date,commit,program,line,launches,wrong,end\n" : "",
               seen->gpu, date, commit ? commit : "unknown", patterns[i].name, patterns[i].without, seen->launches,
               seen->wrong, end);
        fflush(stdout);
    }
    return GEMM_OK;
}
