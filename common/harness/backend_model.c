/* backend_model.c - the harness on the CPU model: memory and data are the host's, a launch runs under the model. */
#include <unistd.h>

#include "../model/model_count.h"
#include "../model/model_host.h"
#include "../model/model_trace.h"
#include "backend.h"

static GemmStatus model_open(const Options *options, GpuNeed need, DeviceInfo *info, char *why, size_t why_size) {
    (void)need; /* the model has what every chapter needs */
    (void)why;
    (void)why_size;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "CPU model");
    info->sm_count = options->sms;
    info->shared_bytes = options->shared * 1024;
    /* A quarter of the memory: the model keeps state for every byte of a matrix. */
    info->free_bytes = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE);
    return GEMM_OK;
}

static void model_close(void) { model_shutdown(); }

static ModelOptions configured; /* by the last model_set_schedule() */

static void model_set_schedule(const Options *options, uint64_t seed) {
    configured = (ModelOptions){.policy = (int)options->policy,
                                .seed = seed,
                                .barriers = options->barriers,
                                .journal = options->steps,
                                .sms = options->sms,
                                .shared = options->shared * 1024,
                                .chain = 1,
                                .count = options->count,
                                .rounding = options->tensor_core_sums};
    model_configure(&configured);
}

static GemmStatus model_trace_begin(void) {
    configured.trace = 1;
    model_configure(&configured);
    return GEMM_OK;
}

static GemmStatus model_trace_end(Trace *trace) {
    *trace = *model_trace();
    const TraceEvent *events = trace->event;
    trace->event = malloc((trace->count + 1) * sizeof *trace->event);
    configured.trace = 0;
    model_configure(&configured);
    if (!trace->event) {
        size_t count = trace->count;
        trace->count = 0;
        return gemm_fails(NULL, GEMM_DEVICE, "out of memory: %zu events", count);
    }
    memcpy(trace->event, events, trace->count * sizeof *trace->event);
    return GEMM_OK;
}

/* Is anything counted of the mechanism that the name of this count begins with, up to a comma? */
static int is_used(int which) {
    const char *name = model_count_name((ModelCount)which);
    size_t length = strcspn(name, ",");
    for (int i = 0; i < COUNT_KINDS; i++) {
        const char *other = model_count_name((ModelCount)i);
        if (strcspn(other, ",") == length && strncmp(name, other, length) == 0 && model_count((ModelCount)i) > 0) {
            return 1;
        }
    }
    return 0;
}

static void model_print_counts(FILE *out) {
    fprintf(out, "counts of the last launch:\n");
    for (int i = 0; i < COUNT_KINDS; i++) {
        if (is_used(i)) {
            fprintf(out, "count    %-48s %14llu\n", model_count_name((ModelCount)i), model_count((ModelCount)i));
        }
    }
}

static GemmStatus model_allocate(Buffer *buffer, size_t bytes, const char *name) {
    buffer->name = name;
    buffer->bytes = bytes;
    buffer->data = bytes ? model_global_alloc(bytes, name) : NULL;
    return bytes && !buffer->data ? gemm_fails(NULL, GEMM_DEVICE, "out of memory: %zu bytes for %s", bytes, name)
                                  : GEMM_OK;
}

static void model_release(Buffer *buffer) {
    if (buffer->data) {
        model_global_free(buffer->data);
    }
    memset(buffer, 0, sizeof *buffer);
}

static GemmStatus model_clear(const Buffer *buffer) {
    if (buffer->bytes) {
        memset(buffer->data, 0, buffer->bytes);
    }
    return GEMM_OK;
}

static GemmStatus model_copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return GEMM_OK;
}

static GemmStatus model_poison(const ResultView *view) {
    bf16 *block = (bf16 *)view->block;
    for (size_t index = 0; index < block_elements(view); index++) {
        block[index] = unwritten_pattern(view, index);
    }
    return GEMM_OK;
}

static GemmStatus model_synchronise(const char *what) {
    (void)what; /* the model has said what it found */
    return model_reports() ? GEMM_MODEL_BUG : GEMM_OK;
}

const Backend *model_backend(void) {
    static const Backend backend = {
        .name = "model",
        .is_model = 1,
        .default_size = 512,
        .open = model_open,
        .close = model_close,
        .allocate = model_allocate,
        .release = model_release,
        .clear = model_clear,
        .copy_in = model_copy,
        .copy_out = model_copy,
        .fill = fill_on_host,
        .poison = model_poison,
        .reference = reference_part_on_host,
        .check = check_block,
        .synchronise = model_synchronise,
        .set_schedule = model_set_schedule,
        .print_counts = model_print_counts,
        .trace_begin = model_trace_begin,
        .trace_end = model_trace_end,
    };
    return &backend;
}
