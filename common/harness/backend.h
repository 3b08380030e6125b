/* backend.h - what the harness asks of the place where a chapter runs: a GPU (gpu.cu) or the CPU model
 * (backend_model.c). Every function prints one line to stderr when it fails and returns a status; nothing aborts. */
#ifndef BACKEND_H
#define BACKEND_H

#include "../beyond.h"
#include "check.h"
#include "options.h"
#include "../model/model_trace.h"

typedef struct {
    char name[96];  /* "NVIDIA H200" */
    int capability; /* compute capability * 100: 900 for 9.0; 0 on the model */
    int sm_count;
    int shared_bytes;        /* shared memory that one CTA may have */
    int max_sm_mhz;          /* highest SM clock; 0 if unknown */
    size_t free_bytes;       /* memory for matrices, reference and workspace */
    int driver_cuda;         /* CUDA version the driver supports, 13000 for 13.0 */
    int runtime_cuda;        /* CUDA version of the program */
    char pci_bus_id[32];     /* for NVML */
    char driver_version[80]; /* "580.65.06"; empty until NVML fills it in */
    Stream stream;           /* all work of the harness goes here */
} DeviceInfo;

/* Memory a kernel may see. */
typedef struct {
    void *data; /* NULL if not allocated */
    size_t bytes;
    const char *name; /* "A", "B", "C", "workspace": the model's reports use it */
} Buffer;

enum { EVENT_SLOTS = 5 };

typedef struct {
    const char *name; /* "gpu" or "model", as after --on */
    int default_size; /* M = N = K where none is given */
    int is_model;     /* runs on the CPU: schedules can be chosen and events counted */

    /* Takes the device. need: what the chapter needs; the first device that has it is used. On failure returns
     * GEMM_DEVICE, prints nothing and puts into `why` what was found instead. */
    GemmStatus (*open)(const Options *options, GpuNeed need, DeviceInfo *info, char *why, size_t why_size);
    void (*close)(void);

    GemmStatus (*allocate)(Buffer *buffer, size_t bytes, const char *name); /* 256-byte aligned; 0 bytes: data NULL */
    void (*release)(Buffer *buffer);                                        /* safe to call twice */
    GemmStatus (*clear)(const Buffer *buffer);                              /* to zero bytes */
    GemmStatus (*copy_in)(void *device, const void *host, size_t bytes);    /* complete when it returns */
    GemmStatus (*copy_out)(void *host, const void *device, size_t bytes);   /* waits for the stream first */

    /* As fill_on_host() of kind.h. */
    GemmStatus (*fill)(void *matrix, const OperandShape *shape, const DataSource *source);
    /* The view's block: C to BF16_UNWRITTEN, all other elements to BF16_GUARD. */
    GemmStatus (*poison)(const ResultView *view);
    /* As reference_part_on_host(); the arrays are the backend's. */
    GemmStatus (*reference)(const ReferencePart *part, double *expected, float *magnitude);
    /* As check_block(); waits for the stream first. */
    GemmStatus (*check)(const ResultView *view, uint64_t from, Tally *tally);
    /* Waits for all work; errors of earlier launches show here. `what` begins the message. GEMM_MODEL_BUG where the
     * model has reported an error of the kernel. */
    GemmStatus (*synchronise)(const char *what);

    /* Only on the model: the seed of the next launch's schedule. */
    void (*set_schedule)(const Options *options, uint64_t seed);
    /* Only on the model: what the last launch did, for --count. */
    void (*print_counts)(FILE *out);

    /* With a timer. */
    GemmStatus (*record)(int slot);                         /* event `slot` on the stream */
    GemmStatus (*elapsed_ms)(int from, int to, double *ms); /* waits for `to` */
    /* Work started after hold() waits on the GPU until let_go() (or two seconds), so that launches are queued and then
     * run back to back, however long each takes to start. At most MAX_HELD launches. */
    GemmStatus (*hold)(void);
    void (*let_go)(void);
    /* Counts SM cycles for some tens of microseconds after the work queued so far; clock_mhz() waits for it and says
     * what the SM clock was. */
    GemmStatus (*start_clock)(void);
    GemmStatus (*clock_mhz)(double *mhz);

    /* What happens in the launches between the two is recorded, and trace_end() gives the events, on a GPU those of
     * the SM where CTA 0 ran, of the launch with the fewest CTAs. The caller frees them. Another trace_begin()
     * forgets what was recorded. A GPU records only in traced copies of chapters (timeline/record.h). */
    GemmStatus (*trace_begin)(void);
    GemmStatus (*trace_end)(Trace *trace);
} Backend;

enum { MAX_HELD = 400 };

/* Ends a function that returns a GemmStatus with that of the call, if it failed. */
#define GEMM_TRY(call)            \
    do {                          \
        GemmStatus try_ = (call); \
        if (try_ != GEMM_OK) {    \
            return try_;          \
        }                         \
    } while (0)

/* The first is left out with -DGEMM_NO_GPU. */
#ifdef __cplusplus
extern "C" {
#endif
const Backend *gpu_backend(void);
const Backend *model_backend(void);
#ifdef __cplusplus
}
#endif

enum { SM90_SHARED_BYTES = 196640 };

/* Can a GPU of this capability (900 for 9.0) run what needs `need`? shared_bytes: what one of its CTAs may have. */
static inline int need_is_met(GpuNeed need, int capability, int shared_bytes) {
    return need == NEEDS_SM90A        ? capability == 900
           : need == NEEDS_SM100A     ? capability == 1000 || capability == 1030
           : need == NEEDS_NEWER_NVCC ? 0
           : need == NEEDS_SM80       ? capability >= 800
                                : capability >= 900 && (need == NEEDS_SM90_ANY || shared_bytes >= SM90_SHARED_BYTES);
}

/* "a Hopper GPU (compute capability 9.0)" and the like. */
static inline const char *need_text(GpuNeed need) {
    return need == NEEDS_SM90A        ? "a Hopper GPU (compute capability 9.0)"
           : need == NEEDS_SM100A     ? "a Blackwell GPU (compute capability 10.0 or 10.3)"
           : need == NEEDS_NEWER_NVCC ? "to be built with nvcc of CUDA 12.8 or later"
           : need == NEEDS_SM90
               ? "a GPU of compute capability 9.0 or later with 196640 bytes of shared memory for a CTA"
           : need == NEEDS_SM90_ANY ? "a GPU of compute capability 9.0 or later"
                                    : "a GPU of compute capability 8.0 or later";
}

#endif
