/* mock_gpu.c - what experiments.c needs of a GPU, on the CPU: a backend whose launches take as long as MOCK_MS says, and
 * chapters that are right, wrong, hang or fail. For experiments.t, which builds it with a plan of its own. */
#include <unistd.h>

#include "harness/problem.h"
#include "wgmma_alone.h"

enum { MOCK_MS = 5 };

static GemmStatus mock_open(const Options *options, GpuNeed need, DeviceInfo *info, char *why, size_t why_size) {
    (void)options, (void)need, (void)why, (void)why_size;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "Mock GPU");
    info->capability = 900;
    info->sm_count = 132;
    info->free_bytes = (size_t)1 << 32;
    return GEMM_OK;
}
static void mock_close(void) {}
static GemmStatus mock_allocate(Buffer *buffer, size_t bytes, const char *name) {
    buffer->data = bytes ? calloc(1, bytes) : NULL;
    buffer->bytes = bytes;
    buffer->name = name;
    return GEMM_OK;
}
static void mock_release(Buffer *buffer) {
    free(buffer->data);
    buffer->data = NULL;
}
static GemmStatus mock_clear(const Buffer *buffer) {
    if (buffer->data) {
        memset(buffer->data, 0, buffer->bytes);
    }
    return GEMM_OK;
}
static GemmStatus mock_copy_out(void *host, const void *device, size_t bytes) {
    memcpy(host, device, bytes);
    return GEMM_OK;
}
static GemmStatus mock_fill(bf16 *matrix, int rows, int columns, int ld, DataKind kind, uint64_t seed, MatrixId id) {
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < ld; column++) {
            matrix[row * ld + column] = column < columns
                                            ? data_element(kind, seed, id, (uint64_t)(row * columns + column))
                                            : (bf16)BF16_PADDING;
        }
    }
    return GEMM_OK;
}
static GemmStatus mock_poison(const ResultView *view) {
    for (size_t i = 0; i < block_elements(view); i++) {
        ((bf16 *)view->block)[i] = unwritten_pattern(view, i);
    }
    return GEMM_OK;
}
static GemmStatus mock_reference(const Gemm *problem, double *expected, float *magnitude) {
    reference_on_host(problem, expected, magnitude);
    return GEMM_OK;
}
static GemmStatus mock_check(const ResultView *view, uint64_t from, Tally *tally) {
    check_block(view, from, tally);
    return GEMM_OK;
}
static GemmStatus mock_synchronise(const char *what) {
    (void)what;
    return GEMM_OK;
}
static GemmStatus mock_record(int slot) {
    (void)slot;
    return GEMM_OK;
}
static GemmStatus mock_reached(int slot, int *yes) {
    (void)slot;
    usleep(1000);
    *yes = 1;
    return GEMM_OK;
}
static GemmStatus mock_elapsed_ms(int from, int to, double *ms) {
    (void)from, (void)to;
    *ms = MOCK_MS;
    return GEMM_OK;
}
static GemmStatus mock_hold(void) { return GEMM_OK; }
static void mock_let_go(void) {}
static GemmStatus mock_clock_mhz(double *mhz) {
    *mhz = 1500;
    return GEMM_OK;
}

const Backend *gpu_backend(void) {
    static const Backend backend = {
        .name = "gpu",
        .open = mock_open,
        .close = mock_close,
        .allocate = mock_allocate,
        .release = mock_release,
        .clear = mock_clear,
        .copy_out = mock_copy_out,
        .fill = mock_fill,
        .poison = mock_poison,
        .reference = mock_reference,
        .check = mock_check,
        .synchronise = mock_synchronise,
        .record = mock_record,
        .reached = mock_reached,
        .elapsed_ms = mock_elapsed_ms,
        .hold = mock_hold,
        .let_go = mock_let_go,
        .start_clock = mock_hold,
        .clock_mhz = mock_clock_mhz,
    };
    return &backend;
}

/* tile_group is taken for an error to be added to the first element. */
static GemmStatus multiply(const Gemm *g) {
    for (int row = 0; row < g->m; row++) {
        for (int column = 0; column < g->n; column++) {
            float sum = row + column == 0 ? (float)g->tuning.tile_group : 0;
            for (int k = 0; k < g->k; k++) {
                sum += bf16_value(g->a[row * g->lda + k]) * bf16_value(g->b[column * g->ldb + k]);
            }
            g->c[row * g->ldc + column] = round_to_bf16(sum);
        }
    }
    return GEMM_OK;
}
static GemmStatus hang(const Gemm *g) {
    (void)g;
    while (pause() < 0) {
    }
    return GEMM_DEVICE;
}
static GemmStatus fail(const Gemm *g) {
    (void)g;
    return GEMM_DEVICE;
}
/* Right when it is checked, then wrong. */
static GemmStatus turn_wrong(const Gemm *g) {
    static int launches;
    multiply(g);
    if (launches++ > 0) {
        g->c[0] = 0;
    }
    return GEMM_OK;
}
static GemmStatus crash(const Gemm *g) {
    (void)g;
    abort();
}
const Chapter mock_right = {.name = "mock", .launch = multiply}, mock_hang = {.name = "mock", .launch = hang},
              mock_fail = {.name = "mock", .launch = fail}, mock_turn = {.name = "mock", .launch = turn_wrong},
              mock_crash = {.name = "mock", .launch = crash};

GemmStatus wgmma_alone_launch(void *wgmma_alone) {
    (void)wgmma_alone;
    return GEMM_OK;
}
double wgmma_alone_flop(const WgmmaAlone *w) { return 1e12 * w->n; }
