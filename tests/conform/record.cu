/* record.cu - runs the cases of covered.h on a Hopper GPU and writes the results to OUTDIR/vectors.txt.
 *
 *     build/release/tests/conform/record OUTDIR
 *
 * Some cases hang or trap, which takes the CUDA context with them. So a child process runs the cases one after the
 * other and leaves each result in memory shared with the parent; when it ends or stands still, the parent starts
 * another child with the next case. Kernels that may hang have a CTA that watches them. An error that leaves the
 * context alive is the recorder's own, not the hardware's: its case is not written. Exit status: 0 vectors written, 1
 * written without some cases, 2 bad usage, 3 no Hopper GPU or the file cannot be written. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

/* ---- the child: runs cases --------------------------------------------------------------------------------------- */

enum { MAX_CASES = 1024, MAX_WORDS = 1 << 21 };

typedef struct {
    int done;
    CaseStatus status; /* CASE_STATUSES: could not be recorded */
    int first, count;  /* of its words */
    char note[NOTE_BYTES];
} Result;

/* Shared by parent and child. */
typedef struct {
    volatile int current; /* case that the child is at */
    volatile int ready;   /* the child has a context */
    int used;
    char device[400];
    Result result[MAX_CASES];
    uint16_t words[MAX_WORDS];
} Record;

static int machine_copy(void *to, const void *from, size_t bytes, int to_machine) {
    return (int)cudaMemcpy(to, from, bytes, to_machine ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}

static int machine_wait(int launched) {
    cudaError_t error = launched ? cudaGetLastError() : cudaDeviceSynchronize();
    return launched && error == cudaSuccess ? (int)cudaErrorLaunchFailure : (int)error;
}

static int machine_encode(TensorMap *map, int type, int rank, void *base, const uint64_t *size, const uint64_t *stride,
                          const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int fill) {
    cuuint64_t sizes[5], strides[5];
    cuuint32_t boxes[5], steps[5];
    for (int i = 0; i < 5; i++) {
        sizes[i] = i < rank ? size[i] : 0;
        strides[i] = i < rank - 1 ? stride[i] : 0;
        boxes[i] = i < rank ? box[i] : 0;
        steps[i] = i < rank ? step[i] : 0;
    }
    TensorMapEncoder encoder = tensor_map_encoder(NULL);
    return encoder == NULL ? (int)CUDA_ERROR_NOT_SUPPORTED
                           : (int)encoder(map, (CUtensorMapDataType)type, (cuuint32_t)rank, base, sizes, strides, boxes,
                                          steps, (CUtensorMapInterleave)interleave, (CUtensorMapSwizzle)swizzle,
                                          CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)fill);
}

/* The group and the number in it of case `index` of all. */
static Group locate(int index, int *in_group) {
    int group = 0;
    while (index >= group_size((Group)group)) {
        index -= group_size((Group)group++);
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

static cudaError_t set_up(Machine *m, Record *record) {
    struct cudaDeviceProp device;
    int driver = 0, runtime = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    snprintf(record->device, sizeof record->device, "%s, compute capability %d.%d, CUDA driver %d.%d, runtime %d.%d",
             device.name, device.major, device.minor, driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
    if (device.major != 9 || device.minor != 0) {
        fprintf(stderr, "the vectors are Hopper's: %s is of compute capability %d.%d, 9.0 is needed\n", device.name,
                device.major, device.minor);
        return cudaErrorInvalidDevice;
    }
    CHECK(cudaMalloc((void **)&m->out, CASE_WORDS * 2));
    CHECK(cudaMalloc((void **)&m->global, CASE_WORDS * 2));
    return cudaHostAlloc((void **)&m->flags, 4096, cudaHostAllocMapped);
}

/* What the launch of a setmaxnreg case gives its threads. */
static void note_registers(int i, char *note) {
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, setmaxnreg_kernels[i].kernel) == cudaSuccess) {
        snprintf(note, NOTE_BYTES, "%d registers a thread at launch", attributes.numRegs);
    }
}

/* Never returns. Exit status 0: all done; 1: the current case has ended the context; 3: no device. */
static void run_child(Record *record, int first, int cases) {
    static Machine machine;
    static Outcome o;
    if (cuda_status(set_up(&machine, record), "setting up the GPU", NULL)) {
        _exit(3);
    }
    record->ready = 1;
    for (int i = first; i < cases; i++) {
        int in_group;
        Group group = locate(i, &in_group);
        Result *r = &record->result[i];
        record->current = i;
        machine.flags[FLAG_HANG] = 0;
        cudaError_t error = (cudaError_t)run_case(&machine, group, in_group, &o);
        if (group == GROUP_SETMAXNREG) {
            note_registers(in_group, o.note);
        }
        memcpy(r->note, o.note, NOTE_BYTES);
        if (error == cudaSuccess) {
            r->status = CASE_OK;
            r->first = record->used;
            r->count = o.count;
            memcpy(record->words + record->used, o.words, (size_t)o.count * 2);
            record->used += o.count;
            r->done = 1;
            continue;
        }
        cudaGetLastError();
        int alive = cudaDeviceSynchronize() == cudaSuccess;
        r->status = alive ? CASE_STATUSES : machine.flags[FLAG_HANG] != 0 ? CASE_HANG : CASE_TRAP;
        if (r->status != CASE_HANG) {
            size_t length = strlen(r->note);
            snprintf(r->note + length, NOTE_BYTES - length, "%s%s", length > 0 ? "; " : "", cudaGetErrorName(error));
        }
        r->done = 1;
        if (!alive) {
            _exit(1);
        }
    }
    _exit(0);
}

/* ---- the parent -------------------------------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { START_SECONDS = 30, CASE_SECONDS = 5 };

/* Waits for a child. Returns the first case that is not done. Sets *failed if it could not start. */
static int attend(Record *record, pid_t child, int first, int cases, int *failed) {
    double since = seconds();
    int seen = -1, status = 0, killed = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        int at = record->ready ? record->current : -1;
        if (at != seen) {
            seen = at;
            since = seconds();
        } else if (!killed && seconds() - since > (at < 0 ? START_SECONDS : CASE_SECONDS)) {
            kill(child, SIGKILL);
            killed = 1;
        }
        usleep(2000);
    }
    int current = record->current;
    if (!record->ready || (WIFEXITED(status) && WEXITSTATUS(status) == 3)) {
        *failed = 1;
        return first;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return cases;
    }
    if (!record->result[current].done) {
        record->result[current].status = killed ? CASE_HANG : CASE_STATUSES;
        snprintf(record->result[current].note, NOTE_BYTES,
                 killed ? "the host ended it after %d s" : "the process died (status %d)",
                 killed ? (int)CASE_SECONDS : status);
        record->result[current].done = 1;
    }
    return current + 1;
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
        cases += group_size((Group)group);
    }
    Record *record = (Record *)mmap(NULL, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED || cases > MAX_CASES) {
        fprintf(stderr, "cannot map %zu bytes for %d cases\n", sizeof(Record), cases);
        return 3;
    }
    double start = seconds();
    int children = 0, failed = 0;
    for (int next = 0; next < cases && !failed; children++) {
        fflush(NULL);
        record->ready = 0;
        pid_t child = fork();
        if (child == 0) {
            run_child(record, next, cases);
        }
        if (child < 0) {
            fprintf(stderr, "cannot start a process: %s\n", strerror(errno));
            return 3;
        }
        next = attend(record, child, next, cases, &failed);
    }
    if (failed) {
        fprintf(stderr, "no vectors were recorded: the GPU could not be set up\n");
        return 3;
    }

    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        return 3;
    }
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(file,
            "# Recorded by tests/conform/record.cu on %s: %s.\n# The format is described in tests/conform/vectors.h.\n",
            date, record->device);
    int counts[CASE_STATUSES + 1] = {0, 0, 0, 0};
    for (int i = 0; i < cases; i++) {
        int in_group;
        Group group = locate(i, &in_group);
        const Result *r = &record->result[i];
        if (in_group == 0) {
            fprintf(file, "\n# ---- %s\n", group_name(group));
        }
        counts[r->status]++;
        if (r->status == CASE_STATUSES) {
            fprintf(stderr, "%s %s could not be recorded: %s\n", group_name(group), case_name(group, in_group),
                    r->note);
            continue;
        }
        if (r->note[0] != '\0') {
            fprintf(file, "# %s\n", r->note);
        }
        write_vector(file, group_name(group), case_name(group, in_group), case_digest(group, in_group), r->status,
                     record->words + r->first, r->count);
        if (r->status != CASE_OK) {
            printf("%-10s %-36s %s  %s\n", group_name(group), case_name(group, in_group), case_status_name(r->status),
                   r->note);
        }
    }
    if (fclose(file) != 0) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        remove(path);
        return 3;
    }
    printf("%d cases in %.1f s with %d processes: %d ok, %d hang, %d trap, %d not recorded; %s\n", cases,
           seconds() - start, children, counts[CASE_OK], counts[CASE_HANG], counts[CASE_TRAP], counts[CASE_STATUSES],
           path);
    return counts[CASE_STATUSES] > 0;
}
