/* facts.c - the data of the small stepping pages, from the functions that the kernels use and from the model's own.
 *
 * facts parity|swizzle|descriptor, from the top of the repository: writes steps_data(...) to the standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"

#include "device/mbarrier.h"
#include "device/swizzle.h"
#include "device/wgmma.h"
#include "model/core/state.h"
#include "model/data/matrix.h"
#include "model/mechanism/mbarrier.h"
#include "model/model_host.h"

/* Of chapter 06, which tests/pictures/pictures.t compares: */
/* holds while 06_wgmma_ss/06_wgmma_ss.cu has: BM = 128 */
/* holds while 06_wgmma_ss/06_wgmma_ss.cu has: BK = 64 */
/* holds while 06_wgmma_ss/06_wgmma_ss.cu has: a + step * WGMMA_K16_STEP */
enum { BM = 128, BK = 64, PARITY_STATES = 3 };

static void begin_data(const char *name, const char *kind) {
    printf("steps_data(\"%s\", {\"name\":\"%s\",\"kind\":\"%s\"", name, name, kind);
}

static void end_data(void) { printf("});\n"); }

static const char *comma(int i) { return i > 0 ? "," : ""; }

typedef struct {
    int phase, pending, passes[2]; /* does a wait for this parity return? */
} ParityState;

typedef struct {
    ParityState *states;
} ParityParams;

typedef struct {
    MBarrier bar;
} ParityShared;

/* A fresh barrier, which expects one arrival, and two completed phases of it, with both questions in each state. */
static __global__ void parity_kernel(const __grid_constant__ ParityParams p) {
    SHARED_MEMORY(ParityShared, s);
    for (int i = 0; i < PARITY_STATES && threadIdx.x == 0; i++) {
        if (i == 0) {
            mbarrier_init(&s->bar, 1, 1);
            mbarrier_init_fence();
        } else {
            mbarrier_arrive(&s->bar);
        }
        const Barrier *b = current_thread()->cta->mbarriers->list[0];
        ParityState state = {
            (int)b->phase, b->pending, {mbarrier_test_wait_parity(&s->bar, 0), mbarrier_test_wait_parity(&s->bar, 1)}};
        p.states[i] = state;
    }
}
KERNEL_ENTRY(parity_kernel, ParityParams);

static void parity(void) {
    /* Waits for both parities are what is to be shown: the model may name them, and goes on. */
    ModelOptions options = {.policy = MODEL_EAGER, .quiet = 1, .max_reports = 1000};
    ParityState states[PARITY_STATES];
    ParityParams p = {states};
    LaunchShape shape = {.grid = 1, .block = 32, .shared_bytes = sizeof(ParityShared)};
    model_configure(&options);
    GemmStatus status = launch_kernel(KERNEL(parity_kernel), shape, &p, NULL, NULL);
    if (status != GEMM_OK && status != GEMM_MODEL_BUG) {
        exit(1);
    }
    model_forget_reports();
    begin_data("parity", "parity");
    printf(",\"frames\":[");
    for (int i = 0; i < 2 * PARITY_STATES; i++) {
        const ParityState *state = &states[i / 2];
        printf("%s{\"phase\":%d,\"pending\":%d,\"parity\":%d,\"passes\":%d}", comma(i), state->phase, state->pending,
               i % 2, state->passes[i % 2]);
    }
    printf("]");
    end_data();
}

/* 8 lanes read one chunk of 16 bytes each, of 8 rows of a tile with rows of 128 bytes: all lie in the same 4 of 32
 * banks, or in all. Frames: one read more each, of two columns of chunks. */
static void swizzle(void) {
    static const int columns[] = {0, 5};
    begin_data("swizzle", "swizzle");
    printf(",\"rows\":8,\"chunks\":8,\"place\":[");
    for (int row = 0; row < 8; row++) {
        printf("%s[", comma(row));
        for (int chunk = 0; chunk < 8; chunk++) {
            printf("%s%d", comma(chunk),
                   (int)(swizzle_128b((uint32_t)(row * 128 + chunk * CHUNK_BYTES)) % 128 / CHUNK_BYTES));
        }
        printf("]");
    }
    printf("],\"frames\":[");
    for (int i = 0; i < 16; i++) {
        printf("%s{\"chunk\":%d,\"row\":%d}", comma(i), columns[i / 8], i % 8);
    }
    printf("]");
    end_data();
}

/* The descriptor of A in stage 1, for the k16 steps of a k-tile: what wgmma_descriptor() makes of a tile that the model
 * has put at this address, and the chunks that the model's wgmma would read there. */
static void descriptor(void) {
    uint32_t tile = SHARED_RESERVED + (uint32_t)(BM * BK * 2);
    static uint32_t address[2 * WGMMA_M];
    begin_data("descriptor", "descriptor");
    printf(",\"tile\":%u,\"frames\":[", tile);
    for (int step = 0; step < BK / MATRIX_K; step++) {
        uint64_t bits = wgmma_descriptor_fields(tile, 16, 1024, WGMMA_SWIZZLE_128B) + (uint64_t)(step * WGMMA_K16_STEP);
        WgmmaDescriptor d = wgmma_descriptor_decode(bits);
        int chunks = wgmma_operand_addresses(&d, 0, WGMMA_M, address);
        printf(
            "%s{\"step\":%d,\"bits\":\"%016llx\",\"start\":%u,\"leading\":%u,\"stride\":%u,\"base\":%d,\"swizzle\":%d,"
            "\"chunks\":[",
            comma(step), step, (unsigned long long)bits, d.start, d.leading, d.stride, d.base_offset, d.swizzle_bytes);
        for (int i = 0; i < chunks; i++) {
            printf("%s[%d,%d,%u]", comma(i), wgmma_chunk_row(0, i), step * MATRIX_K + wgmma_chunk_k(MATRIX_BF16, 0, i),
                   address[i] - tile);
        }
        printf("]}");
    }
    printf("]");
    end_data();
}

int main(int argc, char *argv[]) {
    static const struct {
        const char *name;
        void (*write)(void);
    } pages[] = {{"parity", parity}, {"swizzle", swizzle}, {"descriptor", descriptor}};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0] && argc == 2; i++) {
        if (strcmp(argv[1], pages[i].name) == 0) {
            pages[i].write();
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    fprintf(stderr, "usage: %s parity|swizzle|descriptor\n", argv[0]);
    return 2;
}
