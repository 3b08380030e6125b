/* subject.c - the process that runs a submission: launches it as judge.c asks on stdin, and answers on REPLY_FD.
 *
 * Linked once for each submission, whose record is SUBMISSION (--defsym). Nothing in here knows a right result: the matrices
 * are filled here, C goes back as it is. On the model the matrices can be touched while a kernel runs, and else not.
 *
 *     subject model|gpu */
#include <sys/mman.h>
#include <unistd.h>

#include "../../common/harness/problem.h"

#include "../../common/model/model_host.h"
#include "protocol.h"

extern const Chapter SUBMISSION;

enum { MEMORY_PAGE = 65536 }; /* of the model's global memory */

static void must(int yes, const char *what) {
    if (!yes) {
        fprintf(stderr, "subject: %s\n", what);
        _exit(GEMM_DEVICE);
    }
}

static int read_request(Request *request) {
    size_t got = 0;
    while (got < sizeof *request) {
        ssize_t n = read(STDIN_FILENO, (char *)request + got, sizeof *request - got);
        if (n <= 0) {
            return 0;
        }
        got += (size_t)n;
    }
    return 1;
}

static void answer(const void *data, size_t bytes) {
    for (size_t sent = 0; sent < bytes;) {
        ssize_t n = write(REPLY_FD, (const char *)data + sent, bytes - sent);
        must(n > 0, "nobody listens");
        sent += (size_t)n;
    }
}

/* ---- host code keeps off the matrices ---------------------------------------------------------------------------- */

#ifndef GEMM_NO_MODEL

enum { KEPT = 8 };

static struct {
    const Buffer *buffer[KEPT];
    int buffers;
} kept;

static void protect(int protection) {
    for (int i = 0; i < kept.buffers; i++) {
        const Buffer *b = kept.buffer[i];
        size_t bytes = (b->bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
        must(b->bytes == 0 || mprotect(b->data, bytes, protection) == 0, "mprotect failed");
    }
}

/* The linker puts it in the place of model_launch() (--wrap). */
__typeof__(model_launch) __real_model_launch, __wrap_model_launch;
GemmStatus __wrap_model_launch(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                               int overlap, const void *params, const void *stream, GemmError *error) {
    protect(PROT_READ | PROT_WRITE);
    GemmStatus status =
        __real_model_launch(kernel, name, grid, block, cluster, shared_bytes, overlap, params, stream, error);
    protect(PROT_NONE);
    return status;
}

/* Of a chapter that knows ranks: the launches that were held back. */
__typeof__(model_run_launches) __real_model_run_launches, __wrap_model_run_launches;
GemmStatus __wrap_model_run_launches(void) {
    protect(PROT_READ | PROT_WRITE);
    GemmStatus status = __real_model_run_launches();
    protect(PROT_NONE);
    return status;
}

/* ---- what the events tell ---------------------------------------------------------------------------------------- */

static int is_product(const TraceEvent *e) { return e->kind == TRACE_WGMMA || e->kind == TRACE_MMA; }
static int is_load(const TraceEvent *e) { return e->kind == TRACE_LOAD || e->kind == TRACE_COPY; }
static int warpgroup_of(const TraceEvent *e) { return e->kind == TRACE_WGMMA ? e->unit : e->warp / 4; }
static int overlap(const TraceEvent *a, const TraceEvent *b) {
    return a->cta == b->cta && a->begin < b->end && b->begin < a->end;
}

/* Is a product on its way at some time of this event? */
static int under_products(const Trace *trace, const TraceEvent *e) {
    for (size_t i = 0; i < trace->count; i++) {
        if (is_product(&trace->event[i]) && overlap(&trace->event[i], e)) {
            return 1;
        }
    }
    return 0;
}

/* The product of this CTA that begins next after this one; NULL: it is the last. */
static const TraceEvent *next_product(const Trace *trace, const TraceEvent *e) {
    const TraceEvent *next = NULL;
    for (size_t i = 0; i < trace->count; i++) {
        const TraceEvent *other = &trace->event[i];
        if (is_product(other) && other->cta == e->cta && other->begin > e->begin &&
            (next == NULL || other->begin < next->begin)) {
            next = other;
        }
    }
    return next;
}

/* Has an event before this one, in CTA 0, the same barrier? */
static int is_new_stage(const Trace *trace, size_t at) {
    const TraceEvent *e = &trace->event[at];
    for (size_t i = 0; i < at; i++) {
        const TraceEvent *before = &trace->event[i];
        if (before->kind == e->kind && before->cta == 0 && before->stage == e->stage &&
            strcmp(before->name, e->name) == 0) {
            return 0;
        }
    }
    return 1;
}

static void tell_facts(const Trace *trace, unsigned long long fact[FACT_KINDS]) {
    unsigned warpgroups = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const TraceEvent *e = &trace->event[i];
        if (e->cta != 0) {
            continue;
        }
        warpgroups |= is_product(e) ? 1u << warpgroup_of(e) : 0;
        fact[FACT_STAGES] += e->kind == TRACE_LOAD && is_new_stage(trace, i);
        fact[FACT_LOADS] += is_load(e);
        fact[FACT_LOADS_UNDER_PRODUCTS] += is_load(e) && under_products(trace, e);
        if (is_product(e)) {
            const TraceEvent *next = next_product(trace, e);
            fact[FACT_PRODUCTS]++;
            fact[FACT_PRODUCT_TURNS] += next != NULL && warpgroup_of(next) != warpgroup_of(e);
        }
    }
    fact[FACT_MULTIPLYING_WARPGROUPS] = (unsigned)__builtin_popcount(warpgroups);
}

static void configure(const Request *request) {
    ModelOptions options = {.policy = request->policy,
                            .seed = request->schedule_seed,
                            .sms = request->sms,
                            .chain = 1,
                            .patience = request->patience,
                            .trace = request->count,
                            .count = request->count};
    model_configure(&options);
    model_forget_reports();
}

static void tell_model(const Request *request, Reply *reply) {
    const TraceEvent *events;
    uint64_t lost;
    reply->reports = model_reports();
    for (int i = 0; i < reply->reports && i < RULES_KEPT; i++) {
        reply->rule[i] = model_report(i)->rule;
    }
    if (reply->reports > 0) {
        snprintf(reply->text, sizeof reply->text, "%s", model_report(0)->text);
    }
    if (request->count) {
        for (int i = 0; i < COUNT_KINDS; i++) {
            reply->count[i] = model_count((ModelCount)i);
        }
        const TraceLaunch *launches;
        Trace trace = {.count = model_trace_events(&events, &lost)};
        trace.event = (TraceEvent *)events;
        int last = model_trace_launches(&launches) - 1;
        for (size_t i = 0; i < trace.count && last > 0; i++) {
            trace.event[i].cta -= launches[last].first_cta; /* its CTA 0 is looked at, as the counts are its own */
        }
        tell_facts(&trace, reply->fact);
    }
}

static GemmStatus launch(const Request *request, const Problem *problem, ChapterRun *run, Reply *reply) {
    configure(request);
    const Buffer *const all[KEPT] = {&problem->a,       &problem->b,       &problem->block, &run->workspace,
                                     &problem->scale_a, &problem->scale_b, &problem->bias,  &problem->first_row};
    kept.buffers = 0;
    for (int i = 0; i < KEPT; i++) {
        if (all[i]->data) {
            kept.buffer[kept.buffers++] = all[i];
        }
    }
    GemmStatus status = run->part ? run_prepare(run) : GEMM_OK;
    protect(PROT_NONE);
    status = status == GEMM_OK ? run_launch(run) : status;
    protect(PROT_READ | PROT_WRITE);
    kept.buffers = 0;
    tell_model(request, reply);
    return status;
}

#else

/* Milliseconds of a launch: of several in a row, behind one that warms up. */
static GemmStatus time_launches(const Backend *backend, ChapterRun *run, double *ms) {
    GemmStatus status = run_launch(run);
    status = status == GEMM_OK ? backend->record(0) : status;
    for (int i = 0; i < TIMED_LAUNCHES && status == GEMM_OK; i++) {
        status = run_launch(run);
    }
    status = status == GEMM_OK ? backend->record(1) : status;
    status = status == GEMM_OK ? backend->elapsed_ms(0, 1, ms) : status;
    *ms /= TIMED_LAUNCHES;
    return status;
}

static GemmStatus launch(const Request *request, const Problem *problem, ChapterRun *run, Reply *reply) {
    GemmStatus status = run_launch(run);
    if (status == GEMM_OK && request->timed) {
        status = time_launches(problem->backend, run, &reply->ms);
    }
    return status == GEMM_OK ? problem->backend->synchronise(SUBMISSION.name) : status;
}

#endif

/* ---- a request --------------------------------------------------------------------------------------------------- */

static GemmStatus count_left(const ChapterRun *run, uint64_t *left) {
    unsigned char *copy = malloc(run->workspace.bytes + 1);
    must(copy != NULL, "out of memory");
    GemmStatus status = run->problem->backend->copy_out(copy, run->workspace.data, run->workspace.bytes);
    for (size_t i = 0; i < run->workspace.bytes; i++) {
        *left += copy[i] != 0;
    }
    free(copy);
    return status;
}

static void serve(const Backend *backend, const DeviceInfo *device, const Request *request) {
    static Reply reply;
    Problem problem;
    ChapterRun run;
    memset(&reply, 0, sizeof reply);
    Shape shape = {request->m, request->n, request->k, request->pad, request->kind, 1};
    DeviceInfo info = *device;
    info.sm_count = backend->is_model ? request->sms : info.sm_count;
    must(problem_open(&problem, backend, &info, shape, request->seed) == GEMM_OK, "no memory for the matrices");
    problem.gemm.tuning = (Tuning){.variant = request->variant[0] ? request->variant : NULL,
                                   .tile_group = request->tile_group,
                                   .meet = request->meet};
    GemmStatus status = run_open(&run, &problem, &SUBMISSION);
    must(status == GEMM_OK || SUBMISSION.kind != request->kind, "no memory for the workspace");
    must(problem_fill_operands(&problem, request->data) == GEMM_OK && problem_poison(&problem) == GEMM_OK,
         "the matrices could not be filled");
    status = status == GEMM_OK ? launch(request, &problem, &run, &reply) : status;
    bf16 *block = malloc(problem.block.bytes);
    must(block != NULL, "out of memory");
    if (backend->copy_out(block, problem.block.data, problem.block.bytes) != GEMM_OK ||
        (run.workspace.bytes > 0 && count_left(&run, &reply.workspace_left) != GEMM_OK)) {
        status = status == GEMM_OK ? GEMM_DEVICE : status;
    }
    reply.nonce = request->nonce;
    reply.status = status;
    reply.elements = problem.block.bytes / sizeof *block;
    fflush(stderr);
    answer(&reply, sizeof reply);
    answer(block, problem.block.bytes);
    free(block);
    run_close(&run);
    problem_close(&problem);
}

int main(int argc, char *argv[]) {
    const Backend *backend = NULL;
#ifndef GEMM_NO_MODEL
    backend = argc == 2 && strcmp(argv[1], "model") == 0 ? model_backend() : backend;
#endif
#ifndef GEMM_NO_GPU
    backend = argc == 2 && strcmp(argv[1], "gpu") == 0 ? gpu_backend() : backend;
#endif
    if (backend == NULL) {
        fprintf(stderr, "subject model|gpu, started by the judge\n");
        return GEMM_USAGE;
    }
    static Request request;
    Options options;
    DeviceInfo device;
    char why[512] = "", message[OPTIONS_MESSAGE_SIZE];
    must(parse_options(1, argv, &options, message), "no options");
    if (backend->open(&options, SUBMISSION.needs, &device, why, sizeof why) != GEMM_OK) {
        fprintf(stderr, "%s\n", why);
        return GEMM_DEVICE;
    }
    while (read_request(&request)) {
        serve(backend, &device, &request);
    }
    backend->close();
    return GEMM_OK;
}
