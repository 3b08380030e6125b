/* gpu.cu - the harness on a GPU: memory, data, reference, comparison, events. The only CUDA source of the harness. */
#include "backend.h"
#include "../timeline/gpu_trace.h"

/* One line that names the call and the error; the caller returns. */
#define TRY(call)                           \
    do {                                    \
        if (cuda_status(call, #call, NULL)) \
            return GEMM_DEVICE;             \
    } while (0)

static cudaStream_t stream;
static cudaEvent_t events[EVENT_SLOTS];
static Tally *device_tally;
static float *device_mhz;
static volatile int *gate; /* host memory that the GPU reads: while not 0, gate_kernel runs */

/* ---- device ---- */

/* Adds one found device to the text about what there is. */
static void note_device(char *why, size_t why_size, const cudaDeviceProp *found) {
    size_t used = strlen(why);
    snprintf(why + used, why_size - used, "%s%s (compute capability %d.%d, %zu bytes)", used ? ", " : "", found->name,
             found->major, found->minor, found->sharedMemPerBlockOptin);
}

static void gpu_close(void) {
    recorder_close();
    for (int slot = 0; slot < EVENT_SLOTS; slot++) {
        if (events[slot]) {
            cudaEventDestroy(events[slot]);
        }
        events[slot] = NULL;
    }
    cudaFree(device_tally);
    cudaFree(device_mhz);
    cudaFreeHost((void *)gate);
    if (stream) {
        cudaStreamDestroy(stream);
    }
    device_tally = NULL;
    device_mhz = NULL;
    gate = NULL;
    stream = NULL;
}

static GemmStatus set_up(int device, const cudaDeviceProp *properties, DeviceInfo *info) {
    size_t total, reserve = (size_t)512 << 20; /* for cuBLAS, modules and the context */
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int slot = 0; slot < EVENT_SLOTS; slot++) {
        TRY(cudaEventCreate(&events[slot]));
    }
    TRY(cudaMalloc((void **)&device_tally, sizeof *device_tally));
    TRY(cudaMalloc((void **)&device_mhz, sizeof *device_mhz));
    TRY(cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped));
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%.95s", properties->name);
    info->capability = properties->major * 100 + properties->minor * 10;
    info->sm_count = properties->multiProcessorCount;
    info->shared_bytes = (int)properties->sharedMemPerBlockOptin;
    int khz = 0;
    TRY(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device));
    info->max_sm_mhz = khz / 1000;
    TRY(cudaMemGetInfo(&info->free_bytes, &total));
    info->free_bytes = info->free_bytes > reserve ? info->free_bytes - reserve : 0;
    TRY(cudaDriverGetVersion(&info->driver_cuda));
    TRY(cudaRuntimeGetVersion(&info->runtime_cuda));
    TRY(cudaDeviceGetPCIBusId(info->pci_bus_id, sizeof info->pci_bus_id, device));
    info->stream = stream;
    recorder_open(stream);
    return GEMM_OK;
}

static GemmStatus gpu_open(const Options *options, GpuNeed need, DeviceInfo *info, char *why, size_t why_size) {
    int count = 0, driver = 0;
    why[0] = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
            snprintf(why, why_size, "no NVIDIA driver");
        } else if (error == cudaSuccess || error == cudaErrorNoDevice) {
            snprintf(why, why_size, "no CUDA device");
        } else {
            snprintf(why, why_size, "no CUDA device that works: %s", cudaGetErrorString(error));
        }
        return GEMM_DEVICE;
    }
    for (int device = options->device; device < count; device++) {
        cudaDeviceProp properties;
        error = cudaGetDeviceProperties(&properties, device);
        if (error != cudaSuccess) {
            snprintf(why, why_size, "a CUDA device that does not answer: %s", cudaGetErrorString(error));
            return GEMM_DEVICE;
        }
        if (need_is_met(need, properties.major * 100 + properties.minor * 10, (int)properties.sharedMemPerBlockOptin)) {
            GemmStatus status = set_up(device, &properties, info);
            if (status != GEMM_OK) {
                snprintf(why, why_size, "%s, which could not be set up", properties.name);
                gpu_close();
            }
            return status;
        }
        note_device(why, why_size, &properties);
    }
    return GEMM_DEVICE;
}

/* ---- memory ---- */

static GemmStatus gpu_allocate(Buffer *buffer, size_t bytes, const char *name) {
    buffer->data = NULL;
    buffer->bytes = bytes;
    buffer->name = name;
    if (bytes) {
        TRY(cudaMalloc(&buffer->data, bytes));
    }
    return GEMM_OK;
}

static void gpu_release(Buffer *buffer) {
    if (buffer->data) {
        cudaFree(buffer->data);
    }
    memset(buffer, 0, sizeof *buffer);
}

static GemmStatus gpu_clear(const Buffer *buffer) {
    if (buffer->bytes) {
        TRY(cudaMemsetAsync(buffer->data, 0, buffer->bytes, stream));
    }
    return GEMM_OK;
}

static GemmStatus gpu_copy_in(void *device, const void *host, size_t bytes) {
    TRY(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    TRY(cudaStreamSynchronize(stream));
    return GEMM_OK;
}

static GemmStatus gpu_copy_out(void *host, const void *device, size_t bytes) {
    TRY(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    return GEMM_OK;
}

static GemmStatus gpu_synchronise(const char *what) { return cuda_status(cudaStreamSynchronize(stream), what, NULL); }

/* ---- data ---- */

enum { THREADS = 256, MAX_CTAS = 2048 };

/* CTAs for a loop over `count` elements in strides of the whole grid. */
static int grid_for(size_t count) {
    size_t ctas = (count + THREADS - 1) / THREADS;
    return ctas < MAX_CTAS ? (int)ctas : MAX_CTAS;
}

DEVICE size_t grid_thread(void) { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE size_t grid_threads(void) { return (size_t)gridDim.x * blockDim.x; }

__global__ void fill_kernel(void *matrix, OperandShape shape, DataSource source) {
    size_t ld = (size_t)shape.ld, elements = (size_t)shape.rows * ld;
    for (size_t i = grid_thread(); i < elements; i += grid_threads()) {
        uint64_t row = i / ld, column = i % ld;
        uint32_t bits = column < (uint64_t)shape.columns
                            ? element_bits(&source, shape.id, shape.type, row * (uint64_t)shape.columns + column)
                            : type_padding(shape.type);
        switch (type_bytes(shape.type)) {
        case 1: ((uint8_t *)matrix)[i] = (uint8_t)bits; break;
        case 2: ((uint16_t *)matrix)[i] = (uint16_t)bits; break;
        default: ((uint32_t *)matrix)[i] = bits; break;
        }
    }
}

static GemmStatus gpu_fill(void *matrix, const OperandShape *shape, const DataSource *source) {
    fill_kernel<<<grid_for((size_t)shape->rows * (size_t)shape->ld), THREADS, 0, stream>>>(matrix, *shape, *source);
    return cuda_status(cudaGetLastError(), "fill_kernel", NULL);
}

__global__ void poison_kernel(ResultView view, bf16 *block) {
    for (size_t i = grid_thread(); i < block_elements(&view); i += grid_threads()) {
        block[i] = unwritten_pattern(&view, i);
    }
}

static GemmStatus gpu_poison(const ResultView *view) {
    poison_kernel<<<grid_for(block_elements(view)), THREADS, 0, stream>>>(*view, (bf16 *)view->block);
    return cuda_status(cudaGetLastError(), "poison_kernel", NULL);
}

/* ---- reference ---- */

/* A CTA makes a tile of 64 x 64, a thread 4 x 4 of it: rows ty, ty + 16, ... and columns tx, tx + 16, ..., so that what
 * a warp reads from shared memory is in one row of the tile. */
enum { TILE = 64, STEPS = 32, SIDE = 16, EACH = TILE / SIDE };

/* Rows first .. first + 63, of those below `end`, and steps k_first .. k_first + 31 of A (is_a) or B, as doubles, zero
 * outside of it. The tile is stored with k as its row, one column wider than needed, against bank conflicts. */
DEVICE void load_reference_tile(double tile[STEPS][TILE + 1], const ReferencePart *part, int is_a, int end,
                                long long first, int k_first) {
    for (int i = (int)threadIdx.x; i < TILE * STEPS; i += SIDE * SIDE) {
        int row = i / STEPS;
        int step = i % STEPS;
        int inside = first + row < end && step < part->gemm.k - k_first;
        tile[step][row] = !inside ? 0.0
                          : is_a  ? reference_a(part, (int)first + row, k_first + step)
                                  : reference_b(part, (int)first + row, k_first + step);
    }
}

__global__ void __launch_bounds__(SIDE *SIDE)
    reference_kernel(const __grid_constant__ ReferencePart part, double *expected, float *magnitude) {
    const Gemm problem = part.gemm;
    __shared__ double a_tile[STEPS][TILE + 1];
    __shared__ double b_tile[STEPS][TILE + 1];
    unsigned tiles_n = ((unsigned)problem.n + TILE - 1) / TILE;
    long long first_row = part.first_row + (long long)(blockIdx.x / tiles_n) * TILE;
    long long first_column = (long long)(blockIdx.x % tiles_n) * TILE;
    int tx = (int)threadIdx.x % SIDE;
    int ty = (int)threadIdx.x / SIDE;
    double sum[EACH][EACH] = {};
    double size[EACH][EACH] = {};
    for (int k_first = 0; k_first < problem.k; k_first += STEPS) {
        load_reference_tile(a_tile, &part, 1, part.end_row, first_row, k_first);
        load_reference_tile(b_tile, &part, 0, problem.n, first_column, k_first);
        __syncthreads(); /* the tiles are complete */
        for (int step = 0; step < STEPS; step++) {
            double a[EACH], b[EACH];
            UNROLL
            for (int i = 0; i < EACH; i++) {
                a[i] = a_tile[step][ty + i * SIDE];
                b[i] = b_tile[step][tx + i * SIDE];
            }
            UNROLL
            for (int i = 0; i < EACH; i++) {
                UNROLL
                for (int j = 0; j < EACH; j++) {
                    sum[i][j] += a[i] * b[j];
                    size[i][j] += fabs(a[i]) * fabs(b[j]);
                }
            }
        }
        __syncthreads(); /* all have read them; the next ones may overwrite them */
    }
    UNROLL
    for (int i = 0; i < EACH; i++) {
        UNROLL
        for (int j = 0; j < EACH; j++) {
            long long row = first_row + ty + i * SIDE;
            long long column = first_column + tx + j * SIDE;
            if (row < part.end_row && column < problem.n) {
                size_t at = (size_t)row * (size_t)problem.n + (size_t)column;
                reference_end(&part, (int)row, (int)column, sum[i][j], size[i][j], &expected[at], &magnitude[at]);
            }
        }
    }
}

static GemmStatus gpu_reference(const ReferencePart *part, double *expected, float *magnitude) {
    if (kind_record(part->kind)->reference_on_gpu) {
        return kind_record(part->kind)->reference_on_gpu(part, expected, magnitude, stream);
    }
    size_t tiles = (size_t)ceil_div(part->end_row - part->first_row, TILE) * (size_t)ceil_div(part->gemm.n, TILE);
    if (tiles > INT_MAX) {
        return gemm_fails(NULL, GEMM_USAGE, "the reference has %zu tiles; a grid has at most %d CTAs", tiles, INT_MAX);
    }
    reference_kernel<<<(unsigned)tiles, SIDE * SIDE, 0, stream>>>(*part, expected, magnitude);
    return cuda_status(cudaGetLastError(), "reference_kernel", NULL);
}

/* ---- comparison ---- */

DEVICE void add_count(uint64_t *to, uint64_t count) {
    if (count) {
        atomicAdd((unsigned long long *)to, (unsigned long long)count);
    }
}

__global__ void check_kernel(ResultView view, uint64_t from, Tally *tally) {
    Tally mine;
    tally_start(&mine);
    for (size_t i = grid_thread(); i < block_elements(&view); i += grid_threads()) {
        tally_element(&mine, &view, i, from);
    }
    /* Sums, least and greatest do not depend on the order in which the threads come here. */
    add_count(&tally->wrong, mine.wrong);
    add_count(&tally->nan, mine.nan);
    add_count(&tally->unwritten, mine.unwritten);
    add_count(&tally->guard_before, mine.guard_before);
    add_count(&tally->guard_rows, mine.guard_rows);
    add_count(&tally->guard_after, mine.guard_after);
    add_count(&tally->fingerprint, mine.fingerprint);
    if (mine.guard_first != NOWHERE) {
        atomicMin((unsigned long long *)&tally->guard_first, (unsigned long long)mine.guard_first);
    }
    if (mine.worst > 0) { /* floats that are not negative are ordered like their bits */
        atomicMax((int *)&tally->worst, __float_as_int(mine.worst));
    }
    if (mine.wrong) {
        atomicMin((unsigned long long *)&tally->first, (unsigned long long)mine.first);
        atomicMin(&tally->row_min, mine.row_min);
        atomicMax(&tally->row_max, mine.row_max);
        atomicMin(&tally->column_min, mine.column_min);
        atomicMax(&tally->column_max, mine.column_max);
    }
}

static GemmStatus gpu_check(const ResultView *view, uint64_t from, Tally *tally) {
    tally_start(tally);
    TRY(cudaMemcpyAsync(device_tally, tally, sizeof *tally, cudaMemcpyHostToDevice, stream));
    check_kernel<<<grid_for(block_elements(view)), THREADS, 0, stream>>>(*view, from, device_tally);
    if (cuda_status(cudaGetLastError(), "check_kernel", NULL)) {
        return GEMM_DEVICE;
    }
    return gpu_copy_out(tally, device_tally, sizeof *tally);
}

/* ---- timing ---- */

static GemmStatus gpu_record(int slot) {
    TRY(cudaEventRecord(events[slot], stream));
    return GEMM_OK;
}

static GemmStatus gpu_elapsed_ms(int from, int to, double *ms) {
    float elapsed = 0;
    TRY(cudaEventSynchronize(events[to]));
    TRY(cudaEventElapsedTime(&elapsed, events[from], events[to]));
    *ms = (double)elapsed;
    return GEMM_OK;
}

DEVICE uint64_t global_ns(void) {
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* The bound keeps a launch that itself waits for the GPU from waiting for ever. */
__global__ void gate_kernel(const volatile int *closed) {
    const uint64_t most_ns = 2000000000;
    uint64_t start = global_ns();
    while (*closed && global_ns() - start < most_ns) {
        __nanosleep(500);
    }
}

static GemmStatus gpu_hold(void) {
    void *seen_by_gpu = NULL;
    *gate = 1;
    TRY(cudaHostGetDevicePointer(&seen_by_gpu, (void *)gate, 0));
    gate_kernel<<<1, 1, 0, stream>>>((const volatile int *)seen_by_gpu);
    return cuda_status(cudaGetLastError(), "gate_kernel", NULL);
}

static void gpu_let_go(void) { *gate = 0; }

__global__ void clock_kernel(float *mhz) {
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    long long cycles = clock64();
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < 50000);
    cycles = clock64() - cycles;
    *mhz = (float)((double)cycles * 1000 / (double)(now - begin));
}

static GemmStatus gpu_start_clock(void) {
    clock_kernel<<<1, 1, 0, stream>>>(device_mhz);
    return cuda_status(cudaGetLastError(), "clock_kernel", NULL);
}

static GemmStatus gpu_clock_mhz(double *mhz) {
    float counted;
    TRY(cudaMemcpyAsync(&counted, device_mhz, sizeof counted, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    *mhz = counted;
    return GEMM_OK;
}

static GemmStatus gpu_trace_end(Trace *trace) {
    double mhz = 0;
    GEMM_TRY(recorder_end(trace));
    GEMM_TRY(gpu_start_clock());
    GEMM_TRY(gpu_clock_mhz(&mhz));
    cudaDeviceProp properties;
    int device = 0;
    TRY(cudaGetDevice(&device));
    TRY(cudaGetDeviceProperties(&properties, device));
    snprintf(trace->source, sizeof trace->source, "%.95s", properties.name);
    trace->unit = "cycles";
    trace->units_a_second = mhz * 1e6;
    return GEMM_OK;
}

const Backend *gpu_backend(void) {
    static const Backend backend = {
        .name = "gpu",
        .default_size = 8192,
        .is_model = 0,
        .open = gpu_open,
        .close = gpu_close,
        .allocate = gpu_allocate,
        .release = gpu_release,
        .clear = gpu_clear,
        .copy_in = gpu_copy_in,
        .copy_out = gpu_copy_out,
        .fill = gpu_fill,
        .poison = gpu_poison,
        .reference = gpu_reference,
        .check = gpu_check,
        .synchronise = gpu_synchronise,
        .record = gpu_record,
        .elapsed_ms = gpu_elapsed_ms,
        .hold = gpu_hold,
        .let_go = gpu_let_go,
        .start_clock = gpu_start_clock,
        .clock_mhz = gpu_clock_mhz,
        .trace_begin = recorder_begin,
        .trace_end = gpu_trace_end,
    };
    return &backend;
}
