/* gemm09 - 09_every_shape.cu as a library: gemm09.h says what it does. The chapter's source is included as it is; it
 * believes in its arguments, so they are looked at here. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cuda_runtime.h>

/* All else is hidden by -fvisibility=hidden. */
#pragma GCC visibility push(default)
#include "gemm09.h"
#pragma GCC visibility pop

#include "../../../common/device/status.h"

struct Gemm09 {
    int device;
    int sm_count, shared_bytes;
    int clusters[9]; /* [CTAs of one]: how many run at a time */
    char card[128];  /* "NVIDIA H200, 132 SMs" */
};

/* What the call that this thread is in works with. The chapter does not know handles. */
static __thread struct {
    const Gemm09 *handle;
    GemmError error;
} current;

/* Notes what is wrong with an argument; 0, which is what the checks below return then. */
#define refused(...) is_ok(gemm_fails(&current.error, GEMM_USAGE, __VA_ARGS__))
static int is_ok(GemmStatus status) { return status == GEMM_OK; }

/* In place of those of common/device/card.h, which keep what they have read in variables that all threads share. */
#define OWN_CARD
static inline int current_card(void) { return current.handle->device; }
static inline int clusters_at_once(const void *kernel, int cluster, int threads, int shared_bytes) {
    (void)kernel, (void)threads, (void)shared_bytes;
    return current.handle->clusters[cluster];
}

/* How much shared memory a kernel may have is one number for all threads, and its launches differ: load_kernels() alone
 * sets it. */
#define cudaFuncSetAttribute(...) cudaSuccess
#define CHAPTER_SYMBOL(id) gemm09_chapter_##id
#include "../09_every_shape.cu"
#include "../../../common/plan.h"
#undef cudaFuncSetAttribute

static const int64_t MAX_LD = INT_MAX / 8 * 8;
static const int64_t MAX_BYTES = (int64_t)1 << 38;

static void enter(const Gemm09 *handle) {
    current.handle = handle;
    current.error.text[0] = '\0';
}

/* Ends a call: the caller gets the text, and what failed here is not found by its next cudaGetLastError(). */
static Gemm09Status leave(Gemm09Status status, char *text, size_t text_bytes) {
    if (text != NULL && text_bytes > 0) {
        snprintf(text, text_bytes, "%s", current.error.text);
    }
    if (status == GEMM09_CUDA_FAILED || status == GEMM09_NO_DEVICE) {
        cudaGetLastError();
    }
    current.handle = NULL;
    return status;
}

/* For a call that may fail: its error is not left to the caller either. */
static int succeeded(cudaError_t error) {
    if (error != cudaSuccess) {
        cudaGetLastError();
    }
    return error == cudaSuccess;
}

/* The functions below return 1 if the argument is accepted; otherwise 0, and the text says why. */

/* Is it given, though it may not be NULL? */
static int is_given(const char *name, const void *argument, const char *accepted) {
    return argument != NULL || refused("%s is NULL: accepted is %s", name, accepted);
}

static int size_is_possible(int64_t size) { return size >= 1 && size <= GEMM09_MAX_SIZE; }
static int ld_is_possible(int64_t ld, int64_t cols) { return ld >= cols && ld % 8 == 0 && ld <= MAX_LD; }

static int size_fits(const char *name, int64_t size) {
    return size_is_possible(size) ||
           refused("%s is %lld: accepted are 1 to %d", name, (long long)size, (int)GEMM09_MAX_SIZE);
}

static int address_fits(const char *name, const void *address) {
    if (address == NULL) {
        return refused("%s is NULL: accepted are multiples of 16", name);
    }
    return (uintptr_t)address % 16 == 0 || refused("%s is %p: accepted are multiples of 16", name, address);
}

static int matrix_fits(const char *name, const void *address, const char *rows_name, int64_t rows,
                       const char *cols_name, int64_t cols, int64_t ld) {
    if (!address_fits(name, address)) {
        return 0;
    }
    if (!ld_is_possible(ld, cols)) {
        return refused("ld%s is %lld: accepted are multiples of 8 from %s = %lld to %lld", name, (long long)ld,
                       cols_name, (long long)cols, (long long)MAX_LD);
    }
    return rows <= MAX_BYTES / (int64_t)sizeof(bf16) / ld ||
           refused("%s has %s = %lld rows of ld%s = %lld elements: accepted are up to 2^38 bytes", name, rows_name,
                   (long long)rows, name, (long long)ld);
}

static int problem_fits(const Gemm09Problem *p) {
    if (p == NULL) {
        return refused("problem is NULL");
    }
    if (!size_fits("m", p->m) || !size_fits("n", p->n) || !size_fits("k", p->k) ||
        !matrix_fits("a", p->a, "m", p->m, "k", p->k, p->lda) ||
        !matrix_fits("b", p->b, "n", p->n, "k", p->k, p->ldb) ||
        !matrix_fits("c", p->c, "m", p->m, "n", p->n, p->ldc) || !address_fits("workspace", p->workspace)) {
        return 0;
    }
    if (p->workspace_bytes < gemm09_workspace_bytes()) {
        return refused("workspace_bytes is %zu: accepted are %zu and more", p->workspace_bytes,
                       gemm09_workspace_bytes());
    }
    return (p->plan >= 0 && p->plan <= variants.count) ||
           refused("plan is %d: accepted are 0 and what gemm09_plan() has written", p->plan);
}

static int handle_fits(const Gemm09 *handle) { return is_given("handle", handle, "what gemm09_create() has made"); }

/* The handle must be for the current device. The launch itself refuses a stream of another device. */
static Gemm09Status arguments_fit(const Gemm09 *handle, const Gemm09Problem *p) {
    int device;
    if (!problem_fits(p) || !handle_fits(handle)) {
        return GEMM09_BAD_ARGUMENT;
    }
    if (cuda_status(cudaGetDevice(&device), "cudaGetDevice", &current.error) != GEMM_OK) {
        return GEMM09_CUDA_FAILED;
    }
    return device == handle->device ||
                   refused("the current device is %d: accepted is the handle's, %d", device, handle->device)
               ? GEMM09_OK
               : GEMM09_BAD_ARGUMENT;
}

/* `beyond` is where g.beyond will point. */
static Gemm gemm_of(const Gemm09 *handle, const Gemm09Problem *p, Beyond *beyond) {
    Gemm g;
    memset(&g, 0, sizeof g);
    memset(beyond, 0, sizeof *beyond);
    g.m = (int)p->m, g.n = (int)p->n, g.k = (int)p->k;
    g.lda = (int)p->lda, g.ldb = (int)p->ldb, g.ldc = (int)p->ldc;
    g.a = (const bf16 *)p->a, g.b = (const bf16 *)p->b, g.c = (bf16 *)p->c;
    g.workspace = p->workspace;
    g.sm_count = handle->sm_count, g.shared_bytes = handle->shared_bytes;
    g.stream = p->stream;
    beyond->tuning.variant = p->plan > 0 ? table[p->plan - 1].name : NULL;
    g.beyond = beyond;
    return g;
}

static Gemm09Status status_of(GemmStatus status) { return status == GEMM_OK ? GEMM09_OK : GEMM09_CUDA_FAILED; }

Gemm09Status gemm09_launch(const Gemm09 *handle, const Gemm09Problem *p, char *text, size_t text_bytes) {
    enter(handle);
    Gemm09Status status = arguments_fit(handle, p);
    if (status == GEMM09_OK) {
        Beyond more;
        Gemm g = gemm_of(handle, p, &more);
        status = status_of(launch(&g, &current.error));
    }
    return leave(status, text, text_bytes);
}

/* The stream waits while the host queues launches: else those that are shorter than the queueing all take as long as
 * that. */
static __global__ void wait_for_host(int microseconds) {
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < (uint64_t)microseconds * 1000);
}

/* Returns from the function if a call has failed: one of this chapter's, or one of CUDA's. */
#define GEMM_TRY(call)               \
    do {                             \
        GemmStatus status_ = (call); \
        if (status_ != GEMM_OK) {    \
            return status_;          \
        }                            \
    } while (0)
#define CUDA_TRY(call) GEMM_TRY(cuda_status(call, #call, &current.error))

/* As make_plan() wants it: launches one after the other on the stream, from one event to the other. `context`: two
 * events. */
static GemmStatus time_launches(void *context, const Gemm *g, int launches, double *ms) {
    const cudaEvent_t *event = (const cudaEvent_t *)context;
    float elapsed = 0;
    wait_for_host<<<1, 1, 0, g->stream>>>(20 + 5 * launches);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventRecord(event[0], g->stream));
    for (int i = 0; i < launches; i++) {
        GEMM_TRY(launch(g, &current.error));
    }
    CUDA_TRY(cudaEventRecord(event[1], g->stream));
    CUDA_TRY(cudaEventSynchronize(event[1]));
    CUDA_TRY(cudaEventElapsedTime(&elapsed, event[0], event[1]));
    *ms = elapsed;
    return GEMM_OK;
}

static GemmStatus plan_with(cudaEvent_t event[2], const Gemm *g, Plan *plan) {
    CUDA_TRY(cudaEventCreate(&event[0]));
    CUDA_TRY(cudaEventCreate(&event[1]));
    return make_plan(&variants, g, time_launches, event, plan);
}

Gemm09Status gemm09_plan(const Gemm09 *handle, Gemm09Problem *p, char *text, size_t text_bytes) {
    enter(handle);
    Gemm09Status status = arguments_fit(handle, p);
    if (status != GEMM09_OK) {
        return leave(status, text, text_bytes);
    }
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (succeeded(cudaStreamIsCapturing(p->stream, &capture)) && capture != cudaStreamCaptureStatusNone) {
        refused("stream is being captured: accepted are streams that are not");
        return leave(GEMM09_BAD_ARGUMENT, text, text_bytes);
    }
    Beyond more;
    Gemm g = gemm_of(handle, p, &more);
    cudaEvent_t event[2] = {NULL, NULL};
    Plan plan;
    status = status_of(plan_with(event, &g, &plan));
    for (int i = 0; i < 2 && event[i] != NULL; i++) {
        cudaEventDestroy(event[i]);
    }
    if (status == GEMM09_OK) {
        /* C gets the bits that later launches with this plan will have. */
        p->plan = 1 + (int)(plan.chosen - table);
        g = gemm_of(handle, p, &more);
        status = status_of(launch(&g, &current.error));
    }
    return leave(status, text, text_bytes);
}

#include "plans.h"

static int path_fits(const char *path) {
    return is_given("path", path, "a file's name") &&
           (*path != '\0' || refused("path is empty: accepted is a file's name"));
}

static int plans_fit(const Gemm09Problem *problems, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (problems[i].plan < 1 || problems[i].plan > variants.count) {
            return refused("problems[%zu].plan is %d: accepted is what gemm09_plan() has written", i, problems[i].plan);
        }
    }
    return 1;
}

Gemm09Status gemm09_save_plans(const Gemm09 *handle, const char *path, const Gemm09Problem *problems, size_t count,
                               char *text, size_t text_bytes) {
    enter(handle);
    if (!path_fits(path) || (count > 0 && !is_given("problems", problems, "an array of planned problems")) ||
        !plans_fit(problems, count) || !handle_fits(handle)) {
        return leave(GEMM09_BAD_ARGUMENT, text, text_bytes);
    }
    /* Written next to the old file, and renamed over it when complete. */
    char *fresh = (char *)malloc(strlen(path) + sizeof ".new");
    if (fresh == NULL) {
        refused("there is no memory for a file's name");
        return leave(GEMM09_NO_MEMORY, text, text_bytes);
    }
    sprintf(fresh, "%s.new", path);
    FILE *out = fopen(fresh, "w");
    int good = out != NULL && write_plans(out, handle->card, problems, count);
    good = out != NULL && fclose(out) == 0 && good && rename(fresh, path) == 0;
    if (!good) {
        refused("%s cannot be written: %s", path, strerror(errno));
        remove(fresh);
    }
    free(fresh);
    return leave(good ? GEMM09_OK : GEMM09_BAD_FILE, text, text_bytes);
}

Gemm09Status gemm09_load_plans(const Gemm09 *handle, const char *path, Gemm09Problem *problems, size_t *count,
                               char *text, size_t text_bytes) {
    enter(handle);
    if (!path_fits(path) || !is_given("problems", problems, "where the plans go") ||
        !is_given("count", count, "how many there is room for")) {
        return leave(GEMM09_BAD_ARGUMENT, text, text_bytes);
    }
    size_t most = *count, found = 0;
    *count = 0;
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        refused("%s cannot be read: %s", path, strerror(errno));
        return leave(GEMM09_BAD_FILE, text, text_bytes);
    }
    int accepted = read_plans(in, path, handle != NULL ? handle->card : NULL, problems, most, &found);
    fclose(in);
    if (!accepted || !handle_fits(handle)) {
        return leave(accepted ? GEMM09_BAD_ARGUMENT : GEMM09_BAD_FILE, text, text_bytes);
    }
    *count = found;
    return leave(GEMM09_OK, text, text_bytes);
}

/* Of the current device; `otherwise`, where it cannot be read. */
static int attribute(cudaDeviceAttr name, int device, int otherwise) {
    int value = otherwise;
    return succeeded(cudaDeviceGetAttribute(&value, name, device)) ? value : otherwise;
}

static Gemm09Status read_device(Gemm09 *h) {
    if (cuda_status(cudaGetDevice(&h->device), "cudaGetDevice", &current.error) != GEMM_OK) {
        return GEMM09_NO_DEVICE;
    }
    int major = attribute(cudaDevAttrComputeCapabilityMajor, h->device, 0);
    int minor = attribute(cudaDevAttrComputeCapabilityMinor, h->device, 0);
    if (major != 9 || minor != 0) {
        refused("device %d is sm_%d%d: accepted is Hopper, sm_90", h->device, major, minor);
        return GEMM09_NO_DEVICE;
    }
    h->sm_count = attribute(cudaDevAttrMultiProcessorCount, h->device, 1);
    h->shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, h->device, 0);
    cudaDeviceProp properties;
    cudaError_t asked = cudaGetDeviceProperties(&properties, h->device);
    if (cuda_status(asked, "cudaGetDeviceProperties", &current.error) != GEMM_OK) {
        return GEMM09_NO_DEVICE;
    }
    snprintf(h->card, sizeof h->card, "%.80s, %d SMs", properties.name, h->sm_count);
    return GEMM09_OK;
}

/* What a first launch would do otherwise, perhaps while a graph is captured or in two threads at once: load each
 * kernel, and find the driver's encoder of tensor maps. */
static Gemm09Status load_kernels(void) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    GemmStatus status = tensor_map_encoder(&current.error) != NULL ? GEMM_OK : GEMM_DEVICE;
    for (int i = 0; status == GEMM_OK && i < variants.count; i++) {
        if (begins_kernel(&variants, i)) {
            status = cuda_status(
                cudaFuncSetAttribute(table[i].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
                table[i].name, &current.error);
        }
    }
    pthread_mutex_unlock(&one_at_a_time);
    return status == GEMM_OK ? GEMM09_OK : GEMM09_CUDA_FAILED;
}

Gemm09Status gemm09_create(Gemm09 **handle, char *text, size_t text_bytes) {
    enter(NULL);
    if (handle == NULL) {
        refused("handle is NULL: accepted is the address of a Gemm09 *");
        return leave(GEMM09_BAD_ARGUMENT, text, text_bytes);
    }
    *handle = NULL;
    Gemm09 *h = (Gemm09 *)calloc(1, sizeof *h);
    if (h == NULL) {
        refused("there is no memory for a handle");
        return leave(GEMM09_NO_MEMORY, text, text_bytes);
    }
    Gemm09Status status = read_device(h);
    if (status == GEMM09_OK) {
        status = load_kernels();
    }
    if (status == GEMM09_OK) {
        for (int i = 0; i < variants.count; i++) {
            int cluster = table[i].cluster, threads = threads_of((Schedule)table[i].schedule, table[i].bm);
            if (h->clusters[cluster] == 0) { /* as many of any kernel: each has an SM to itself */
                h->clusters[cluster] = active_clusters(table[i].kernel, cluster, threads, sizeof(Shared));
            }
        }
        *handle = h;
    } else {
        free(h);
    }
    return leave(status, text, text_bytes);
}

void gemm09_destroy(Gemm09 *handle) { free(handle); }

size_t gemm09_workspace_bytes(void) { return (workspace_bytes(NULL) + 15) / 16 * 16; }
