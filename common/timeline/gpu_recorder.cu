/* gpu_recorder.cu - host: the buffers in which traced kernels record (record.h), and the events that are read from
 * them. */
#include <stdlib.h>

#include "../device/cuda_c.h"
#include "../device/launch.h"
#include "gpu_trace.h"

#define TRY(call)                           \
    do {                                    \
        if (cuda_status(call, #call, NULL)) \
            return GEMM_DEVICE;             \
    } while (0)

static Stream stream;

void recorder_open(Stream its_stream) { stream = its_stream; }

/* What the traced launches since recorder_begin() record (timeline/record.h), in the GPU's memory; at other times,
 * what the last one does, in the first place. */
static struct {
    struct {
        TraceBuffers buffers;
        size_t bytes;    /* of all records */
        int is_clean;    /* zero, and no launch has had them since */
        int ctas, warps; /* of the launch; warps of a CTA */
        char name[48];
    } launch[MAX_TRACE_LAUNCHES];
    int launches;
    int recording; /* recorder_begin() was called, and recorder_end() not yet */
} traced;

static void free_buffers(TraceBuffers *buffers) {
    cudaFree(buffers->record);
    cudaFree(buffers->cta);
    memset(buffers, 0, sizeof *buffers);
}

void recorder_close(void) {
    for (int i = 0; i < MAX_TRACE_LAUNCHES; i++) {
        free_buffers(&traced.launch[i].buffers);
    }
}

static GemmStatus clean_buffers(int at) {
    TRY(cudaMemsetAsync(traced.launch[at].buffers.record, 0, traced.launch[at].bytes, stream));
    TRY(cudaMemsetAsync(traced.launch[at].buffers.cta, 0, (size_t)traced.launch[at].ctas * sizeof(TraceCta), stream));
    traced.launch[at].is_clean = 1;
    return GEMM_OK;
}

GemmStatus trace_buffers_for(const char *name, int ctas, int threads, TraceBuffers *buffers) {
    const size_t most_bytes = (size_t)1 << 30, most_records = 8192; /* of all warps; of a warp */
    int warps = (threads + 31) / 32, at = 0;
    if (traced.recording) { /* beyond the last place, launches share it */
        at = traced.launches < MAX_TRACE_LAUNCHES ? traced.launches : MAX_TRACE_LAUNCHES - 1;
    }
    size_t all_warps = (size_t)ctas * warps;
    size_t records = most_bytes / sizeof(TraceRecord) / all_warps; /* of a warp, its tail included */
    records = records > most_records ? most_records : records < 2 ? 2 : records;
    size_t record_bytes = all_warps * records * sizeof(TraceRecord);
    TraceBuffers *b = &traced.launch[at].buffers;
    if (ctas != traced.launch[at].ctas || warps != traced.launch[at].warps || b->record == NULL) {
        free_buffers(b);
        TRY(cudaMalloc((void **)&b->record, record_bytes));
        TRY(cudaMalloc((void **)&b->cta, (size_t)ctas * sizeof(TraceCta)));
        traced.launch[at].is_clean = 0;
    }
    traced.launch[at].ctas = ctas;
    traced.launch[at].warps = warps;
    traced.launch[at].bytes = record_bytes;
    if (!traced.launch[at].is_clean && clean_buffers(at)) {
        return GEMM_DEVICE;
    }
    traced.launch[at].is_clean = 0;
    snprintf(traced.launch[at].name, sizeof traced.launch[at].name, "%s", name);
    traced.launches = at + 1;
    b->tail = (uint32_t)((records - 1) * sizeof(TraceRecord));
    *buffers = *b;
    return GEMM_OK;
}

static void read_device_text(uint64_t address, char *text, size_t size) {
    size_t i = 0;
    for (; i + 1 < size; i++) { /* byte by byte: what follows the text may not be readable */
        if (cudaMemcpy(&text[i], (const void *)(uintptr_t)(address + i), 1, cudaMemcpyDeviceToHost) != cudaSuccess ||
            text[i] == 0) {
            break;
        }
    }
    text[i] = 0;
}

/* What launches since the last call have used is cleared here and not between kernels, where it would show as a gap. */
GemmStatus recorder_begin(void) {
    for (int i = 0; i < traced.launches; i++) {
        if (!traced.launch[i].is_clean && clean_buffers(i)) {
            return GEMM_DEVICE;
        }
    }
    traced.launches = 0;
    traced.recording = 1;
    return GEMM_OK;
}

/* The events of all CTAs of one launch that ran on this SM. */
static GemmStatus collect(int launch, uint32_t sm, Trace *trace, TraceCta *ctas, TraceRecord *records) {
    const TraceBuffers *b = &traced.launch[launch].buffers;
    int warps = traced.launch[launch].warps, count = traced.launch[launch].ctas;
    size_t warp_records = b->tail / sizeof(TraceRecord) + 1, cta_records = (size_t)warps * warp_records;
    TRY(cudaMemcpy(ctas, b->cta, (size_t)count * sizeof *ctas, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        if (ctas[i].ns == 0 || ctas[i].sm != sm) {
            continue;
        }
        const TraceRecord *there = b->record + i * cta_records;
        TRY(cudaMemcpy(records, there, cta_records * sizeof *records, cudaMemcpyDeviceToHost));
        CtaRecords in = {
            trace->launch[launch].first_cta, i, warps, (int)warp_records, &ctas[i], records, read_device_text};
        trace_add_cta(trace, &in);
    }
    return GEMM_OK;
}

/* Of all launches, from the SM where CTA 0 ran of the one with the fewest CTAs: the others most likely ran there,
 * too. */
static GemmStatus collect_all(Trace *trace) {
    int least = 0;
    size_t ctas = 0, bytes = 0;
    for (int i = 0; i < traced.launches; i++) {
        TraceLaunch *launch = &trace->launch[i];
        snprintf(launch->name, sizeof launch->name, "%s", traced.launch[i].name);
        launch->first_cta = trace->ctas;
        launch->ctas = traced.launch[i].ctas;
        trace->ctas += launch->ctas;
        size_t own = (size_t)traced.launch[i].warps * (traced.launch[i].buffers.tail + sizeof(TraceRecord));
        bytes = own > bytes ? own : bytes;
        ctas = (size_t)launch->ctas > ctas ? (size_t)launch->ctas : ctas;
        least = launch->ctas < trace->launch[least].ctas ? i : least;
    }
    trace->launches = traced.launches;
    TraceCta first, *cta = (TraceCta *)trace_memory(NULL, ctas * sizeof *cta);
    TraceRecord *records = (TraceRecord *)trace_memory(NULL, bytes);
    GemmStatus status = cuda_status(
        cudaMemcpy(&first, traced.launch[least].buffers.cta, sizeof first, cudaMemcpyDeviceToHost), "cudaMemcpy", NULL);
    for (int i = 0; i < traced.launches && status == GEMM_OK; i++) {
        status = collect(i, first.sm, trace, cta, records);
    }
    free(cta);
    free(records);
    trace_place_products(trace);
    return status;
}

GemmStatus recorder_end(Trace *trace) {
    memset(trace, 0, sizeof *trace);
    traced.recording = 0;
    TRY(cudaStreamSynchronize(stream));
    if (traced.launches == 0) {
        fprintf(stderr, "no launch has recorded anything\n");
        return GEMM_DEVICE;
    }
    return collect_all(trace);
}
