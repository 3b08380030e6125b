/* runner.c - problems, launches and copies of weights. */
#include "runner.h"

enum { SEED = 1, COPIES_TO_ROWS = 1024 }; /* with this many rows, weights are a small part of the time */

static const size_t read_in_turns = (size_t)190 << 20; /* three times the L2 of an H200, which is the larger */
static const size_t copied_bytes = (size_t)4 << 30;

GemmStatus launch_runner(void *context) {
    Runner *runner = context;
    beat(runner->session, runner->row);
    return runner->launch(runner->context);
}

static void close_problems(Child *child) {
    for (int i = 0; i < child->count; i++) {
        for (int copy = 1; copy < MOST_COPIES; copy++) {
            child->backend->release(&child->held[i].more[copy]);
        }
        problem_close(&child->held[i].problem);
    }
    memset(child->held, 0, sizeof child->held);
    child->count = 0;
}

static GemmStatus duplicate(const Backend *backend, const Buffer *from, Buffer *to) {
    void *host = malloc(from->bytes);
    GemmStatus status = host ? backend->allocate(to, from->bytes, from->name) : GEMM_DEVICE;
    status = status == GEMM_OK ? backend->copy_out(host, from->data, from->bytes) : status;
    status = status == GEMM_OK ? backend->copy_in(to->data, host, from->bytes) : status;
    free(host);
    return status;
}

/* How many copies of weights of this many bytes the launches take in turns. */
static int copies_of(const Child *child, size_t bytes) {
    size_t copies = child->shape.m <= COPIES_TO_ROWS && bytes > 0 ? (read_in_turns + bytes - 1) / bytes : 1;
    return copies < MOST_COPIES ? (int)copies : MOST_COPIES;
}

static GemmStatus hold_copies(const Child *child, Held *held, int copies) {
    held->fp8[0] = held->problem.operands.fp8;
    for (held->copies = held->copies ? held->copies : 1; held->copies < copies;) {
        Buffer *more = &held->more[held->copies];
        GEMM_TRY(duplicate(child->backend, &held->problem.b, more));
        held->fp8[held->copies] = held->fp8[0];
        held->fp8[held->copies++].b = (const e4m3 *)more->data;
    }
    return GEMM_OK;
}

static int is_held(const Held *held, const Shape *shape, DataKind data) {
    const Problem *p = &held->problem;
    return memcmp(&p->shape, shape, sizeof *shape) == 0 && p->data == data;
}

/* The problem of this shape with this data, made once. *held stays NULL where it does not fit. */
static GemmStatus problem_of(Child *child, Shape shape, DataKind data, Held **held) {
    char message[OPTIONS_MESSAGE_SIZE];
    *held = NULL;
    for (int i = 0; i < child->count; i++) {
        if (is_held(&child->held[i], &shape, data)) {
            *held = &child->held[i];
            return GEMM_OK;
        }
    }
    if (child->count == MOST_PROBLEMS || !problem_fits(shape, NULL, &child->device, message)) {
        printf("  left out: %s\n", child->count == MOST_PROBLEMS ? "too many problems of one shape" : message);
        return GEMM_OK;
    }
    beat(child->session, -1); /* what fails here is no row's fault */
    Held *next = &child->held[child->count];
    GEMM_TRY(problem_open(&next->problem, child->backend, &child->device, shape, SEED));
    child->count++;
    GEMM_TRY(problem_fill(&next->problem, data));
    GEMM_TRY(child->backend->synchronise("the reference"));
    beat(child->session, -1);
    *held = next;
    return GEMM_OK;
}

static GemmStatus open_alone(Child *child, const Row *row, Runner *runner) {
    runner->alone = row->alone;
    runner->alone.data = runner->problem->gemm.a;
    runner->alone.sm_count = child->device.sm_count;
    runner->alone.stream = child->device.stream;
    if (row->alone.kind == ALONE_COPY) {
        GEMM_TRY(child->backend->allocate(&runner->alone.from, copied_bytes, "what is copied"));
        GEMM_TRY(child->backend->allocate(&runner->alone.to, copied_bytes, "the copy"));
        GEMM_TRY(child->backend->clear(&runner->alone.from));
    }
    runner->work = alone_work(&runner->alone);
    return GEMM_OK;
}

/* Is everything there that this row needs? Says what is missing. */
static State what_lacks(const Child *child, const Row *row) {
    if (row->what == RUN_CHAPTER && !row->chapter) {
        return NOT_BUILT;
    }
    if (row->what == RUN_CHAPTER &&
        !need_is_met(row->chapter->needs, child->device.capability, child->device.shared_bytes)) {
        printf("  %s needs %s\n", row->label, need_text(row->chapter->needs));
        return LEFT_OUT;
    }
    return row->what == RUN_CUBLAS && !child->cublas ? LEFT_OUT : NOT_RUN;
}

/* A launch with the next copy of the weights. `context` is a Runner. */
static GemmStatus launch_next(void *context) {
    Runner *runner = context;
    int copy = runner->turn++ % runner->copies;
    Gemm gemm = runner->chapter.gemm;
    Beyond beyond = runner->chapter.beyond;
    gemm.beyond = &beyond;
    if (row_of(runner)->what == RUN_CUBLASLT) {
        cublaslt_operands(runner->lt, &runner->held->fp8[copy]);
        return cublaslt_launch(runner->lt);
    }
    if (row_of(runner)->kind == KIND_FP8) {
        beyond.operands = &runner->held->fp8[copy];
    }
    if (copy > 0 && runner->more[copy].data) {
        beyond.prepared = runner->more[copy].data;
    }
    return runner->chapter.chapter->launch(&gemm, NULL);
}

static void take_turns(Runner *runner, int copies) {
    runner->copies = copies;
    if (copies > 1) {
        runner->launch = launch_next;
        runner->context = runner;
    }
}

GemmStatus copy_prepared(const Child *child, Runner *runner) {
    const Buffer *prepared = &runner->chapter.prepared;
    if (prepared->data) {
        int copies = copies_of(child, prepared->bytes);
        for (int copy = 1; copy < copies; copy++) {
            GEMM_TRY(duplicate(child->backend, prepared, &runner->more[copy]));
        }
        take_turns(runner, copies);
    }
    return GEMM_OK;
}

static void open_lt(Child *child, const Row *row, Runner *runner, State *state) {
    char why[OPTIONS_MESSAGE_SIZE];
    const Fp8 *fp8 = row->kind == KIND_FP8 ? &runner->held->fp8[0] : NULL;
    runner->lt = cublaslt_open(child->backend, &runner->problem->gemm, fp8, why, sizeof why);
    runner->launch = cublaslt_launch;
    runner->context = runner->lt;
    if (!runner->lt) {
        printf("  %s: %s\n", row->label, why);
        *state = LEFT_OUT;
    }
}

GemmStatus open_runner(Child *child, int group, int place, Runner *runner, State *state) {
    Session *session = child->session;
    const Group *g = &session->plan.group[group];
    const Row *row = &session->plan.row[g->row[place]];
    char why[OPTIONS_MESSAGE_SIZE];
    memset(runner, 0, sizeof *runner);
    runner->session = session;
    runner->row = g->row[place];
    runner->place = place;
    runner->copies = 1;
    *state = what_lacks(child, row);
    if (*state != NOT_RUN) {
        return GEMM_OK;
    }
    if (memcmp(&child->shape, &g->shape, sizeof g->shape) != 0) {
        close_problems(child);
        child->shape = g->shape;
    }
    Shape shape = g->shape.m ? g->shape : (Shape){.m = ALONE_SIZE, .n = ALONE_SIZE, .k = ALONE_SIZE};
    shape.kind = row->kind;
    shape.experts = row->options.shape.experts > 0 ? row->options.shape.experts : 1;
    shape.heads = row->options.shape.heads;
    GEMM_TRY(problem_of(child, shape, row->data, &runner->held));
    if (!runner->held) {
        *state = LEFT_OUT;
        return GEMM_OK;
    }
    runner->problem = &runner->held->problem;
    runner->work = kind_flop(&runner->problem->shape, &runner->problem->gemm);
    if (row->kind == KIND_FP8) {
        GEMM_TRY(hold_copies(child, runner->held, copies_of(child, runner->problem->b.bytes)));
    }
    switch (row->what) {
    case RUN_CUBLAS:
        runner->cublas = (CublasRun){child->cublas, runner->problem->gemm};
        runner->launch = cublas_launch;
        runner->context = &runner->cublas;
        break;
    case RUN_CUBLASLT: open_lt(child, row, runner, state); break;
    case RUN_ALONE:
        runner->launch = alone_launch;
        runner->context = &runner->alone;
        return open_alone(child, row, runner);
    default:
        if (!problem_fits(shape, row->chapter, &child->device, why)) {
            printf("  %s: %s\n", row->label, why);
            *state = LEFT_OUT;
            return GEMM_OK;
        }
        runner->launch = run_launch;
        runner->context = &runner->chapter;
        Problem tuned = *runner->problem; /* with the choices that the row makes */
        tuned.beyond.tuning = row->options.tuning;
        GEMM_TRY(run_open(&runner->chapter, &tuned, row->chapter));
        runner->chapter.problem = runner->problem;
        if (row->planned) {
            Plan plan;
            double ms;
            beat(session, runner->row);
            GEMM_TRY(plan_run(&runner->chapter, &plan, &ms));
        }
    }
    if (*state == NOT_RUN && row->kind == KIND_FP8) {
        take_turns(runner, runner->held->copies);
    }
    return GEMM_OK;
}

void close_runner(const Child *child, Runner *runner) {
    run_close(&runner->chapter);
    for (int copy = 1; copy < MOST_COPIES; copy++) {
        child->backend->release(&runner->more[copy]);
    }
    cublaslt_close(runner->lt);
    child->backend->release(&runner->alone.from);
    child->backend->release(&runner->alone.to);
    memset(runner, 0, sizeof *runner);
}

GemmStatus check_once(Runner *runner, Tally *tally) {
    const Row *row = row_of(runner);
    const Backend *backend = runner->problem->backend;
    tally_start(tally);
    if (row->what == RUN_CHAPTER) {
        beat(runner->session, runner->row);
        return run_checked(&runner->chapter, tally);
    }
    GEMM_TRY(problem_poison(runner->problem));
    GEMM_TRY(launch_runner(runner));
    GEMM_TRY(backend->synchronise(row->label));
    return row->what != RUN_ALONE ? problem_check(runner->problem, tally) : GEMM_OK;
}
