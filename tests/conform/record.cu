/* record.cu - runs the cases of covered.h on a Hopper GPU and writes the results to OUTDIR/vectors.txt.
 *
 *     build/release/tests/conform/record OUTDIR
 *
 * Some cases hang or trap, which takes the CUDA context with them. So a child process runs the cases one after the
 * other and writes each result; when it ends or stands still, the parent starts another child with the next case.
 * An error that leaves the context alive is the recorder's own, not the hardware's: its case is not written. Exit
 * status: 0 vectors written, 1 written without some cases, 2 bad usage, 3 no Hopper GPU or the file cannot be
 * written. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

/* ---- the child: runs cases --------------------------------------------------------------------------------------- */

/* Shared by parent and child. */
typedef struct {
    volatile int next;  /* the case that the child is at; all before it are written */
    volatile int ready; /* the child has a context */
    volatile int counts[CASE_STATUSES + 1];
} Record;

static int machine_copy(void *to, const void *from, size_t bytes, int to_machine) {
    return (int)cudaMemcpy(to, from, bytes, to_machine ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}

static int machine_wait(int launched) {
    cudaError_t error = launched ? cudaGetLastError() : cudaDeviceSynchronize();
    return launched && error == cudaSuccess ? (int)cudaErrorLaunchFailure : (int)error;
}

static int machine_encode(TensorMap *map, int type, int rank, void *base, const uint64_t *size, const uint64_t *stride,
                          const uint32_t *box, int swizzle) {
    cuuint64_t sizes[5], strides[5];
    cuuint32_t boxes[5], steps[5] = {1, 1, 1, 1, 1};
    for (int i = 0; i < 5; i++) {
        sizes[i] = i < rank ? size[i] : 0;
        strides[i] = i < rank - 1 ? stride[i] : 0;
        boxes[i] = i < rank ? box[i] : 0;
    }
    TensorMapEncoder encoder = tensor_map_encoder(NULL);
    return encoder == NULL ? (int)CUDA_ERROR_NOT_SUPPORTED
                           : (int)encoder(map, (CUtensorMapDataType)type, (cuuint32_t)rank, base, sizes, strides, boxes,
                                          steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
                                          CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* The group and the number in it of case `index` of all. */
static Group locate(int index, int *in_group) {
    int group = 0;
    while (index >= groups[group].count) {
        index -= groups[group++].count;
    }
    *in_group = index;
    return (Group)group;
}

#define CHECK(call)                  \
    do {                             \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            return error_;           \
        }                            \
    } while (0)

static cudaError_t set_up(Machine *m, char *name, size_t name_size) {
    struct cudaDeviceProp device;
    int driver = 0, runtime = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    snprintf(name, name_size, "%s, compute capability %d.%d, CUDA driver %d.%d, runtime %d.%d", device.name,
             device.major, device.minor, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (device.major != 9 || device.minor != 0) {
        fprintf(stderr, "the vectors are Hopper's: %s is of compute capability %d.%d, 9.0 is needed\n", device.name,
                device.major, device.minor);
        return cudaErrorInvalidDevice;
    }
    CHECK(cudaMalloc((void **)&m->out, CASE_WORDS * 2));
    CHECK(cudaMalloc((void **)&m->global, GLOBAL_WORDS * 2));
    return cudaHostAlloc((void **)&m->fault, sizeof *m->fault, cudaHostAllocMapped);
}

/* What the launch of a setmaxnreg case gives its threads. */
static void note_registers(int i, char *note) {
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, setmaxnreg_kernels[i].kernel) == cudaSuccess) {
        snprintf(note, NOTE_BYTES, "%d registers a thread at launch", attributes.numRegs);
    }
}

/* How a child ends, if it does so by itself: all cases are written; the last one it has written took the context with
 * it; there is no device, or the file cannot be written. */
enum { ALL_DONE = 40, CONTEXT_LOST, NO_DEVICE_OR_FILE };

/* CASE_STATUSES: it could not be recorded. */
static void write_case(Record *record, FILE *file, Group group, int i, CaseStatus status, const Outcome *o) {
    const char *name = case_name(group, i);
    if (i == 0) {
        fprintf(file, "\n# ---- %s\n", groups[group].name);
    }
    if (status == CASE_STATUSES) {
        fprintf(stderr, "%s %s could not be recorded: %s\n", groups[group].name, name, o->note);
    } else {
        if (o->note[0] != '\0') {
            fprintf(file, "# %s\n", o->note);
        }
        write_vector(file, groups[group].name, name, status, o->words, status == CASE_OK ? o->count : 0);
        if (status != CASE_OK) {
            printf("%-10s %-36s %s  %s\n", groups[group].name, name, case_status_name(status), o->note);
        }
    }
    record->counts[status]++;
    record->next++;
    if (fflush(NULL) != 0) {
        fprintf(stderr, "the vectors cannot be written: %s\n", strerror(errno));
        _exit(NO_DEVICE_OR_FILE);
    }
}

/* Never returns. */
static void run_child(Record *record, FILE *file, int cases) {
    static Machine machine;
    static Outcome o;
    char device[400], date[32];
    if (cuda_status(set_up(&machine, device, sizeof device), "setting up the GPU", NULL)) {
        _exit(NO_DEVICE_OR_FILE);
    }
    record->ready = 1;
    if (record->next == 0) {
        time_t now = time(NULL);
        strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
        fprintf(file,
                "# Recorded by tests/conform/record.cu on %s: %s.\n"
                "# The format is described in tests/conform/kernels.h.\n",
                date, device);
    }
    while (record->next < cases) {
        int i;
        Group group = locate(record->next, &i);
        cudaError_t error = (cudaError_t)run_case(&machine, group, i, &o);
        if (group == GROUP_SETMAXNREG) {
            note_registers(i, o.note);
        }
        if (error == cudaSuccess) {
            write_case(record, file, group, i, CASE_OK, &o);
            continue;
        }
        cudaGetLastError();
        int alive = cudaDeviceSynchronize() == cudaSuccess;
        size_t length = strlen(o.note);
        snprintf(o.note + length, NOTE_BYTES - length, "%s%s", length > 0 ? "; " : "", cudaGetErrorName(error));
        write_case(record, file, group, i, alive ? CASE_STATUSES : CASE_TRAP, &o);
        if (!alive) {
            _exit(CONTEXT_LOST);
        }
    }
    _exit(ALL_DONE);
}

/* ---- the parent -------------------------------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { START_SECONDS = 30, CASE_SECONDS = 5 };

/* Waits for a child, and writes the case of one that has died in it. Returns 0 if it could not start, or not write. */
static int attend(Record *record, FILE *file, pid_t child) {
    static Outcome o;
    double since = seconds();
    int seen = -1, status = 0, killed = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        int at = record->ready ? record->next : -1;
        if (at != seen) {
            seen = at;
            since = seconds();
        } else if (!killed && seconds() - since > (at < 0 ? START_SECONDS : CASE_SECONDS)) {
            kill(child, SIGKILL);
            killed = 1;
        }
        usleep(2000);
    }
    int ended = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (!record->ready || ended == NO_DEVICE_OR_FILE) {
        return 0;
    }
    if (ended != ALL_DONE && ended != CONTEXT_LOST) {
        int i;
        Group group = locate(record->next, &i);
        snprintf(o.note, NOTE_BYTES, killed ? "the host ended it after %d s" : "the process died (status %d)",
                 killed ? (int)CASE_SECONDS : status);
        write_case(record, file, group, i, killed ? CASE_HANG : CASE_STATUSES, &o);
    }
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: %s OUTDIR    writes OUTDIR/vectors.txt\n", argv[0]);
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/vectors.txt", argv[1]);
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "cannot make the directory %s: %s\n", argv[1], strerror(errno));
        return 3;
    }

    int cases = 0;
    for (int group = 0; group < GROUPS; group++) {
        cases += groups[group].count;
    }
    Record *record = (Record *)mmap(NULL, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *file = record != MAP_FAILED ? fopen(path, "w") : NULL;
    if (file == NULL) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        return 3;
    }
    double start = seconds();
    int children = 0, started = 1;
    for (; record->next < cases && started; children++) {
        record->ready = 0;
        pid_t child = fork();
        if (child == 0) {
            run_child(record, file, cases);
        }
        started = child > 0 && attend(record, file, child);
    }
    if (fclose(file) != 0 || !started) {
        fprintf(stderr, "no vectors were recorded: %s cannot be written, or the GPU not be set up\n", path);
        remove(path);
        return 3;
    }
    printf("%d cases in %.1f s with %d processes: %d ok, %d hang, %d trap, %d not recorded; %s\n", cases,
           seconds() - start, children, record->counts[CASE_OK], record->counts[CASE_HANG], record->counts[CASE_TRAP],
           record->counts[CASE_STATUSES], path);
    return record->counts[CASE_STATUSES] > 0;
}
