/* on_device - libgemm09 on a Hopper GPU: threads, graphs, what only a device can refuse, and the largest sizes; and
 * libattention13, called from C. Prints TAP; without a GPU it skips. */
#include "tap.h"

#include <math.h>
#include <pthread.h>

#include <cuda_runtime.h>

#include "attention13.h"
#include "gemm09.h"

static void must(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        printf("Bail out! %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

/* Memory of the device, all of whose bytes are `value`. Only test_large() frees any. */
static void *allocated(size_t bytes, int value) {
    void *p = NULL;
    must(cudaMalloc(&p, bytes), "an allocation");
    must(cudaMemset(p, value, bytes), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaMemset"); /* streams that do not block do not wait for it */
    return p;
}
static void *new_workspace(void) { return allocated(gemm09_workspace_bytes(), 0); }

static cudaStream_t new_stream(unsigned flags) {
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, flags), "a stream");
    return stream;
}

/* A matrix on the device, of numbers up to 1.99, of both signs. */
static void *filled(size_t elements) {
    uint16_t *host = malloc(elements * 2);
    uint32_t random = 1;
    for (size_t i = 0; i < elements; i++) {
        random = random * 1664525 + 1013904223;
        host[i] = (uint16_t)((random >> 16 & 0x83ff) | (0x3c + (random >> 8 & 3)) << 8);
    }
    void *device = allocated(elements * 2, 0);
    must(cudaMemcpy(device, host, elements * 2, cudaMemcpyHostToDevice), "a copy");
    free(host);
    return device;
}

/* Shapes of both kernels: two take the same one, with all and with half of an SM; the last is large enough for
 * a producer barrier. */
static const int shapes[][3] = {{140, 264, 1000}, {16, 1000, 4096}, {16, 2048, 4096}, {4096, 4096, 32768}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], THREADS = 6, LAUNCHES = 40 };

typedef struct {
    const void *a, *b;
    uint16_t *expected; /* on the host */
    size_t bytes;       /* of C */
} Shape;
static Shape shape[SHAPES];

static Gemm09Problem problem_of(int i, void *c, void *workspace, cudaStream_t stream) {
    Gemm09Problem p = {.m = shapes[i][0], .n = shapes[i][1], .k = shapes[i][2]};
    p.a = shape[i].a, p.b = shape[i].b, p.c = c;
    p.lda = p.ldb = shapes[i][2], p.ldc = shapes[i][1];
    p.workspace = workspace, p.workspace_bytes = gemm09_workspace_bytes();
    p.stream = stream;
    return p;
}

/* What one thread of several does: its own stream and workspace. */
typedef struct {
    Gemm09 *handle; /* NULL: it makes one */
    int first;      /* shape */
    int failed, wrong;
    char text[GEMM09_TEXT_BYTES];
} Worker;

static void *copied(const void *c, size_t bytes) {
    void *host = malloc(bytes);
    must(cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost), "a copy");
    return host;
}

static int same(const void *c, const Shape *s) {
    void *host = copied(c, s->bytes);
    int equal = memcmp(host, s->expected, s->bytes) == 0;
    free(host);
    return equal;
}

static void *work(void *argument) {
    Worker *w = argument;
    Gemm09 *handle = w->handle;
    if (handle == NULL && gemm09_create(&handle, w->text, sizeof w->text) != GEMM09_OK) {
        w->failed++;
        return NULL;
    }
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    void *workspace = new_workspace(), *c[SHAPES];
    for (int i = 0; i < SHAPES; i++) {
        c[i] = allocated(shape[i].bytes, 0xff);
    }
    for (int launch = 0; launch < LAUNCHES; launch++) {
        int i = (w->first + launch) % SHAPES;
        Gemm09Problem p = problem_of(i, c[i], workspace, stream);
        w->failed += gemm09_launch(handle, &p, w->text, sizeof w->text) != GEMM09_OK;
        /* A call that is refused, between those that are not. */
        char text[GEMM09_TEXT_BYTES];
        p.m = -launch;
        gemm09_launch(handle, &p, text, sizeof text);
        char expected[64];
        snprintf(expected, sizeof expected, "m is %d:", -launch);
        w->failed += strncmp(text, expected, strlen(expected)) != 0;
    }
    must(cudaStreamSynchronize(stream), "the multiplications");
    int left = 1;
    must(cudaMemcpy(&left, workspace, sizeof left, cudaMemcpyDeviceToHost), "a copy");
    w->wrong += left != 0;
    for (int i = 0; i < SHAPES; i++) {
        w->wrong += !same(c[i], &shape[i]);
    }
    if (w->handle == NULL) {
        gemm09_destroy(handle);
    }
    return NULL;
}

static void test_threads(Gemm09 *handle, const char *name) {
    pthread_t threads[THREADS];
    Worker workers[THREADS];
    int failed = 0, wrong = 0;
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < THREADS; i++) {
        workers[i].handle = handle, workers[i].first = i;
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failed += workers[i].failed, wrong += workers[i].wrong;
    }
    (void)(ok(failed == 0, "%s: %d threads, %d launches each: all started", name, THREADS, LAUNCHES) ||
           diag("%s", workers[0].text));
    (void)(ok(wrong == 0, "%s: all have the bits of a launch alone, and the workspaces are zero", name) ||
           diag("%d", wrong));
}

static float value_of(uint16_t bits) {
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

/* Every kernel, by its plan: launches as many at a time as the device takes, each with a C of its own. */
static void test_every_kernel(Gemm09 *handle) {
    enum { REPEATS = 1000 };
    char text[GEMM09_TEXT_BYTES];
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    void *workspace = new_workspace();
    for (int i = 0; i < 2; i++) {
        size_t bytes = shape[i].bytes;
        int failed = 0, apart = 0, wrong = 0;
        char *c = allocated(REPEATS * bytes, 0xff), *host = malloc(REPEATS * bytes);
        Gemm09Problem p = problem_of(i, c, workspace, stream);
        for (p.plan = 1; gemm09_launch(handle, &p, text, sizeof text) == GEMM09_OK; p.plan++) {
            for (int launch = 1; launch < REPEATS; launch++) {
                p.c = c + launch * bytes;
                failed += gemm09_launch(handle, &p, text, sizeof text) != GEMM09_OK;
            }
            must(cudaStreamSynchronize(stream), "a kernel");
            must(cudaMemcpy(host, c, REPEATS * bytes, cudaMemcpyDeviceToHost), "a copy");
            must(cudaMemsetAsync(c, 0xff, REPEATS * bytes, stream), "cudaMemsetAsync");
            for (int launch = 1; launch < REPEATS; launch++) {
                apart += memcmp(host, host + launch * bytes, bytes) != 0;
            }
            for (size_t e = 0; e < bytes / 2; e++) {
                float got = value_of(((uint16_t *)host)[e]), expected = value_of(shape[i].expected[e]);
                /* Another order of sums, another rounding. */
                wrong += !(fabsf(got - expected) <= 0.02f + fabsf(expected) / 128);
            }
            p.c = c;
        }
        ok(failed == 0 && p.plan > 400 && strstr(text, "plan is ") == text, "%d kernels: %s", p.plan - 1, text);
        ok(apart == 0, "... %d of their %d launches have other bits than a kernel's first", apart,
           (p.plan - 1) * REPEATS);
        ok(wrong == 0, "... %d elements are far from those of the formula's choice", wrong);
    }
}

/* While a stream is captured in the global mode nothing may be allocated or waited for. */
static void test_graph(Gemm09 *handle) {
    char text[GEMM09_TEXT_BYTES];
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    void *workspace = new_workspace(), *c[SHAPES];
    for (int i = 0; i < SHAPES; i++) {
        c[i] = allocated(shape[i].bytes, 0xff);
    }
    int failed = 0, wrong = 0;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    for (int i = 0; i < SHAPES; i++) {
        Gemm09Problem p = problem_of(i, c[i], workspace, stream);
        failed += gemm09_launch(handle, &p, text, sizeof text) != GEMM09_OK;
    }
    Gemm09Problem p = problem_of(0, c[0], workspace, stream);
    Gemm09Status status = gemm09_plan(handle, &p, text, sizeof text);
    ok(status == GEMM09_BAD_ARGUMENT && p.plan == 0 && strstr(text, "stream is being captured") == text,
       "no plan while a stream is captured: %s", text);
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    (void)(ok(failed == 0 && error == cudaSuccess, "captured in the global mode") ||
           diag("%s; %s", text, cudaGetErrorString(error)));
    must(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    for (int replay = 0; replay < 3; replay++) {
        for (int i = 0; i < SHAPES; i++) {
            must(cudaMemsetAsync(c[i], 0xff, shape[i].bytes, stream), "cudaMemsetAsync");
        }
        must(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
        must(cudaStreamSynchronize(stream), "the graph");
        for (int i = 0; i < SHAPES; i++) {
            wrong += !same(c[i], &shape[i]);
        }
    }
    is_int(wrong, 0, "three replays have the bits of launches");

    /* The default stream would wait for a stream that is captured: the driver refuses the launch. */
    stream = new_stream(cudaStreamDefault);
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    p = problem_of(0, c[0], workspace, NULL);
    status = gemm09_launch(handle, &p, text, sizeof text);
    cudaStreamEndCapture(stream, &graph);
    is_int(status, GEMM09_CUDA_FAILED, "what the driver refuses has a status");
    contains(text, "cudaErrorStreamCapture", "... and its name in the text");
    ok(strchr(text, '\n') == NULL, "... which is one line: %s", text);
    p.stream = stream;
    status = gemm09_launch(handle, &p, text, sizeof text);
    must(cudaStreamSynchronize(stream), "a launch");
    ok(status == GEMM09_OK && text[0] == '\0' && same(c[0], &shape[0]), "... and the next launch is right");
}

/* Elements are 0x3f3f, that is 0.746; where k is large, all of A are zero but the last 8, as a sum in fp32 would not
 * grow so far. Looked at: C's first elements and its last ones, and what lies between the rows. */
static void test_large(Gemm09 *handle, int64_t m, int64_t n, int64_t k) {
    char name[64], text[GEMM09_TEXT_BYTES];
    snprintf(name, sizeof name, "%lld x %lld x %lld", (long long)m, (long long)n, (long long)k);
    int64_t lda = (k + 7) / 8 * 8, ldc = (n + 7) / 8 * 8;
    size_t a_bytes = (size_t)(m * lda) * 2, b_bytes = (size_t)(n * lda) * 2, c_bytes = (size_t)(m * ldc) * 2, available,
           total;
    must(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    if (a_bytes + b_bytes + c_bytes + ((size_t)1 << 30) > available) {
        skip(name, "the GPU's memory is too small");
        return;
    }
    char *a = allocated(a_bytes, k > 1 << 20 ? 0 : 0x3f), *b = allocated(b_bytes, 0x3f), *c = allocated(c_bytes, 0xff);
    void *workspace = new_workspace();
    must(cudaMemset(a + a_bytes - 16, 0x3f, 16), "cudaMemset");
    Gemm09Problem p = {m, n, k, a, lda, b, lda, c, ldc, workspace, gemm09_workspace_bytes(), NULL, 0};
    Gemm09Status status = gemm09_launch(handle, &p, text, sizeof text);
    must(cudaDeviceSynchronize(), name);
    enum { LOOK = 1 << 22 };
    uint16_t *host = malloc((size_t)LOOK * 2);
    int64_t elements = m * ldc, wrong = 0;
    const double expected = 0.74609375 * 0.74609375 * (double)(k > 1 << 20 ? 8 : k);
    for (int end = 0; end < 2; end++) {
        int64_t first = end && elements > LOOK ? elements - LOOK : 0;
        int64_t count = elements - first < LOOK ? elements - first : LOOK;
        must(cudaMemcpy(host, c + first * 2, (size_t)count * 2, cudaMemcpyDeviceToHost), "a copy");
        for (int64_t i = 0; i < count; i++) {
            float got = value_of(host[i]);
            int inside = (first + i) % ldc < n;
            wrong += inside ? !(got > expected * 0.99 && got < expected * 1.01) : host[i] != 0xffff;
        }
    }
    (void)(ok(status == GEMM09_OK && wrong == 0, "%s", name) || diag("%s, %lld are wrong", text, (long long)wrong));
    free(host);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(workspace);
}

static void test_devices(Gemm09 *handle) {
    int devices;
    must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices < 2) {
        skip("a handle, and a stream, of another device", "there is one GPU");
        return;
    }
    char text[GEMM09_TEXT_BYTES];
    must(cudaSetDevice(1), "cudaSetDevice");
    cudaStream_t stream = new_stream(cudaStreamDefault);
    Gemm09Problem p = problem_of(0, (void *)shape[0].a, (void *)shape[0].a, stream);
    is_int(gemm09_launch(handle, &p, text, sizeof text), GEMM09_BAD_ARGUMENT, "a handle of another device: refused");
    ok(strcmp(text, "the current device is 1: accepted is the handle's, 0") == 0, "... named: %s", text);
    must(cudaSetDevice(0), "cudaSetDevice");
    is_int(gemm09_launch(handle, &p, text, sizeof text), GEMM09_CUDA_FAILED, "a stream of another device: refused");
}

/* ---- libattention13 ---- */

enum { BATCHES = 2, HEADS = 4, KV_HEADS = 2, QUERIES = 200, KEYS = 333, HEAD = 64 };
enum { Q_ROWS = BATCHES * QUERIES * HEADS, KV_ROWS = BATCHES * KEYS * KV_HEADS };

static void launch_attention(const Attention13 *p, const char *name) {
    char text[ATTENTION13_TEXT_BYTES];
    Attention13Status status = attention13_launch(p, text, sizeof text);
    must(cudaDeviceSynchronize(), name);
    (void)(ok(status == ATTENTION13_OK && text[0] == '\0', "%s: launched", name) || diag("%s", text));
}

/* The first number of each query is 8, its others are 0, so a score is the first number of a key: 64 for every third
 * key, and 0. The others' weights are exp(-64) of theirs: O is the mean of V over every third key that a query sees. */
static void test_attention(void) {
    void *k = filled(KV_ROWS * HEAD), *v = filled(KV_ROWS * HEAD);
    void *q = allocated(Q_ROWS * HEAD * 2, 0), *o = allocated(Q_ROWS * HEAD * 2, 0xff), *lse = allocated(Q_ROWS * 4, 0);
    uint16_t *q_host = calloc(Q_ROWS * HEAD, 2), *k_host = copied(k, KV_ROWS * HEAD * 2);
    uint16_t *v_host = copied(v, KV_ROWS * HEAD * 2);
    for (int row = 0; row < Q_ROWS; row++) {
        q_host[row * HEAD] = 0x4100;
    }
    for (int row = 0; row < KV_ROWS; row++) {
        k_host[row * HEAD] = row / KV_HEADS % KEYS % 3 == 0 ? 0x4280 : 0;
    }
    must(cudaMemcpy(q, q_host, Q_ROWS * HEAD * 2, cudaMemcpyHostToDevice), "a copy");
    must(cudaMemcpy(k, k_host, KV_ROWS * HEAD * 2, cudaMemcpyHostToDevice), "a copy");
    const int64_t q_stride[] = {QUERIES * HEADS * HEAD, HEAD, HEADS * HEAD};
    const int64_t kv_stride[] = {KEYS * KV_HEADS * HEAD, HEAD, KV_HEADS * HEAD};
    Attention13 p = {.batches = BATCHES, .heads = HEADS, .kv_heads = KV_HEADS, .queries = QUERIES, .keys = KEYS};
    p.head_size = HEAD, p.causal = 1, p.scale = 1.0f / 8;
    p.q = q, p.k = k, p.v = v, p.o = o, p.lse = lse;
    for (int i = 0; i < 3; i++) {
        p.q_stride[i] = p.o_stride[i] = q_stride[i], p.k_stride[i] = p.v_stride[i] = kv_stride[i];
    }
    launch_attention(&p, "attention, causal, with grouped heads");
    uint16_t *o_host = copied(o, Q_ROWS * HEAD * 2);
    float *lse_host = copied(lse, Q_ROWS * 4);
    int wrong = 0;
    for (int row = 0; row < Q_ROWS; row++) {
        int head = row % HEADS, query = row / HEADS % QUERIES, batch = row / HEADS / QUERIES;
        int seen = (query + KEYS - QUERIES) / 3 + 1;
        float logarithm = lse_host[(batch * HEADS + head) * QUERIES + query];
        wrong += !(fabs(logarithm - (64 + log(seen))) < 1e-3);
        for (int i = 0; i < HEAD; i++) {
            double sum = 0, got = value_of(o_host[row * HEAD + i]);
            for (int key = 0; key < 3 * seen; key += 3) {
                sum += value_of(v_host[((batch * KEYS + key) * KV_HEADS + head / (HEADS / KV_HEADS)) * HEAD + i]);
            }
            wrong += !(fabs(got - sum / seen) <= fabs(sum / seen) / 128 + 1e-4);
        }
    }
    is_int(wrong, 0, "... all elements are means, and all logarithms those of their numbers");

    wrong = 0, p.keys = 0, p.k = p.v = NULL;
    launch_attention(&p, "attention without keys");
    free(o_host), free(lse_host);
    o_host = copied(o, Q_ROWS * HEAD * 2), lse_host = copied(lse, Q_ROWS * 4);
    for (int i = 0; i < Q_ROWS * HEAD; i++) {
        wrong += (o_host[i] & 0x7fff) != 0 || lse_host[i / HEAD] != -INFINITY;
    }
    is_int(wrong, 0, "... gives zeros, and logarithms of -infinity");
    p.queries = 0, p.q = p.o = NULL, p.lse = NULL;
    launch_attention(&p, "attention without queries");
}

int main(void) {
    char text[GEMM09_TEXT_BYTES];
    Gemm09 *handle;
    Gemm09Status status = gemm09_create(&handle, text, sizeof text);
    if (status == GEMM09_NO_DEVICE) {
        skip_all(text);
    }
    if (!ok(status == GEMM09_OK && text[0] == '\0', "a handle")) {
        return diag("%s", text) + 1;
    }
    void *workspace = new_workspace();
    for (int i = 0; i < SHAPES; i++) {
        shape[i].a = filled((size_t)shapes[i][0] * shapes[i][2]);
        shape[i].b = filled((size_t)shapes[i][1] * shapes[i][2]);
        shape[i].bytes = (size_t)shapes[i][0] * shapes[i][1] * 2;
        void *c = allocated(shape[i].bytes, 0xff);
        Gemm09Problem p = problem_of(i, c, workspace, NULL);
        status = gemm09_launch(handle, &p, text, sizeof text);
        must(cudaDeviceSynchronize(), "a launch");
        (void)(ok(status == GEMM09_OK, "%d x %d x %d: launched", shapes[i][0], shapes[i][1], shapes[i][2]) ||
               diag("%s", text));
        shape[i].expected = copied(c, shape[i].bytes);
    }
    test_threads(handle, "one handle");
    test_threads(NULL, "a handle each");
    test_every_kernel(handle);
    test_graph(handle);
    test_devices(handle);
    test_large(handle, GEMM09_MAX_SIZE, 1, 1);
    test_large(handle, 1, GEMM09_MAX_SIZE, 8);
    test_large(handle, 1, 1, GEMM09_MAX_SIZE);
    test_large(handle, 200000, 100000, 8);
    gemm09_destroy(handle);
    test_attention();
    return tap_done();
}
