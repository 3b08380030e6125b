/* traced.c - see traced.h. */
#include "traced.h"

#include "report.h"

#include <errno.h>
#include <sys/stat.h>

/* The files that the options name, opened before anything runs, and the terminal. */
typedef struct {
    const char *option, *what, *path; /* what: see recording_draw() */
    FILE *file;
    int is_bad; /* it could not be written */
} Output;

enum { OUTPUTS = 4 };

static int outputs_open(Output outputs[OUTPUTS]) {
    for (int i = 0; i < OUTPUTS; i++) {
        if (outputs[i].path && !(outputs[i].file = fopen(outputs[i].path, "w"))) {
            fprintf(stderr, "%s: \"%s\" cannot be opened for writing: %s\n", outputs[i].option, outputs[i].path,
                    strerror(errno));
            return 0;
        }
    }
    return 1;
}

/* A file that could not be written whole, or was not written at all, is removed, unless it is no plain file, such as
 * /dev/null. */
static GemmStatus outputs_close(Output outputs[OUTPUTS], GemmStatus status) {
    const int is_drawn = status == GEMM_OK || status == GEMM_WRONG;
    for (int i = 0; i < OUTPUTS; i++) {
        struct stat is;
        if (outputs[i].is_bad && !(outputs[i].file == stdout && ferror(stdout))) { /* that end_output() will say */
            fprintf(stderr, "%s: \"%s\" could not be written\n", outputs[i].option,
                    outputs[i].path ? outputs[i].path : "standard output");
            status = status == GEMM_OK ? GEMM_USAGE : status;
        }
        if (outputs[i].path && outputs[i].file) {
            fclose(outputs[i].file);
            if ((outputs[i].is_bad || !is_drawn) && lstat(outputs[i].path, &is) == 0 && S_ISREG(is.st_mode)) {
                remove(outputs[i].path);
            }
        }
    }
    return status;
}

/* Events of the one launch between trace_begin() and trace_end(). */
static GemmStatus record(const Options *options, ChapterRun *run, Problem *problem, Trace *trace) {
    const Backend *backend = problem->backend;
    Tally tally;
    GEMM_TRY(problem_fill(problem, problem->data));
    if (backend->is_model) {
        backend->set_schedule(options, options->schedule_seed);
    } else { /* a GPU: clocks, caches and instructions warm, buffers there */
        GEMM_TRY(backend->trace_begin());
        GEMM_TRY(run_launch(run));
        GEMM_TRY(backend->synchronise(run->chapter->name));
    }
    GEMM_TRY(backend->trace_begin());
    GemmStatus status = run_checked(run, &tally);
    GemmStatus ended = backend->trace_end(trace);
    if (status == GEMM_OK && !tally_is_right(&tally) && options->check) {
        status = problem_explain(problem, &tally, stdout);
        status = status == GEMM_OK ? GEMM_WRONG : status;
    } else if (status == GEMM_OK && options->check) {
        print_right(stdout, problem, &tally, 1, ", recorded");
    }
    return ended == GEMM_OK ? status : ended;
}

static GemmStatus draw(const Recording *recording, int cta, Output outputs[OUTPUTS]) {
    GemmStatus status = GEMM_OK;
    for (int i = 0; i < OUTPUTS && status == GEMM_OK; i++) {
        if (outputs[i].file) {
            status = recording_draw(recording, outputs[i].what, cta, outputs[i].file);
            outputs[i].is_bad = status == GEMM_WRONG;
            status = status == GEMM_WRONG ? GEMM_OK : status;
        }
    }
    return status;
}

GemmStatus run_traced(const Options *options, const DeviceInfo *device, ChapterRun *run, Problem *problem) {
    static Recording recording;
    Output outputs[OUTPUTS] = {{"--timeline", "text", NULL, options->timeline ? stdout : NULL, 0},
                               {"--timeline-svg", "svg", options->timeline_svg, NULL, 0},
                               {"--trace", "json", options->trace, NULL, 0},
                               {"--trace-events", "events", options->trace_events, NULL, 0}};
    memset(&recording, 0, sizeof recording);
    snprintf(recording.chapter, sizeof recording.chapter, "%s", run->chapter->name);
    snprintf(recording.commit, sizeof recording.commit, "%s", commit_name());
    today(recording.date);
    recording.m = problem->gemm.m;
    recording.n = problem->gemm.n;
    recording.k = problem->gemm.k;
    recording.sms = device->sm_count;
    if (run->chapter->variants) {
        describe_choice(run->chapter, &run->gemm, recording.kernel, sizeof recording.kernel);
    }
    problem->data = options->data_given              ? (DataKind)__builtin_ctz(options->data)
                    : problem->gemm.k <= MAX_EXACT_K ? DATA_INTEGERS
                                                     : DATA_NORMAL;
    GemmStatus status = GEMM_USAGE;
    if (outputs_open(outputs)) {
        status = record(options, run, problem, &recording.trace);
        if (status == GEMM_OK || status == GEMM_WRONG) {
            printf("%s", options->timeline ? "\n" : "");
            GemmStatus drawn = draw(&recording, options->timeline_cta, outputs);
            status = drawn == GEMM_OK ? status : drawn;
        }
    }
    trace_free_events(&recording.trace);
    return outputs_close(outputs, status);
}
