/* runner.c - what is launched for a row of the plan: its problem, its workspace, and the copies of its weights. */
#include "bench.h"

#include <unistd.h>

enum {
    SEED = 1,
    ALONE_SIZE = 256,      /* the problem whose A an instruction alone multiplies */
    COPIES_TO_ROWS = 1024, /* with this many rows, weights are a small part of the time */
    PATIENCE_S = 30,       /* without a call of under_way() for so long, a row hangs */
};

static const size_t read_in_turns = (size_t)190 << 20; /* three times the L2 of an H200, which is the larger */

void under_way(Session *session, int row) {
    session->at_row = row;
    alarm(PATIENCE_S);
}

/* ---- launches ---- */

GemmStatus launch_runner(void *context) {
    Runner *runner = context;
    int copy = runner->turn++ % runner->copies;
    under_way(runner->session, runner->row);
    if (row_of(runner)->what == RUN_CUBLAS) {
        return cublas_launch(&runner->cublas);
    }
    if (row_of(runner)->what == RUN_CUBLASLT) {
        return cublaslt_launch(runner->lt, runner->more[copy].data);
    }
    if (copy == 0) {
        return run_launch(&runner->chapter);
    }
    Gemm gemm = runner->chapter.gemm;
    Beyond beyond = runner->chapter.beyond;
    Fp8 fp8 = runner->problem->operands.fp8;
    gemm.beyond = &beyond;
    if (runner->chapter.prepared.data) {
        beyond.prepared = runner->more[copy].data;
    } else {
        fp8.b = (const e4m3 *)runner->more[copy].data;
        beyond.operands = &fp8;
    }
    return runner->chapter.chapter->launch(&gemm, NULL);
}

GemmStatus check_once(Runner *runner, Tally *tally) {
    const Row *row = row_of(runner);
    tally_start(tally);
    if (row->what == RUN_CHAPTER) {
        under_way(runner->session, runner->row);
        return run_checked(&runner->chapter, tally);
    }
    GEMM_TRY(problem_poison(runner->problem));
    GEMM_TRY(launch_runner(runner));
    GEMM_TRY(runner->problem->backend->synchronise(row->label));
    return row->what != RUN_ALONE ? problem_check(runner->problem, tally) : GEMM_OK;
}

/* ---- weights ---- */

static GemmStatus duplicate(const Backend *backend, const Buffer *from, Buffer *to) {
    void *host = malloc(from->bytes);
    GemmStatus status = host ? backend->allocate(to, from->bytes, from->name) : GEMM_DEVICE;
    status = status == GEMM_OK ? backend->copy_out(host, from->data, from->bytes) : status;
    status = status == GEMM_OK ? backend->copy_in(to->data, host, from->bytes) : status;
    free(host);
    return status;
}

GemmStatus copy_weights(const Child *child, Runner *runner) {
    const Problem *problem = runner->problem;
    const Buffer *weights = runner->chapter.prepared.data      ? &runner->chapter.prepared
                            : row_of(runner)->kind == KIND_FP8 ? &problem->b
                                                               : NULL;
    if (weights && problem->shape.m <= COPIES_TO_ROWS) {
        size_t copies = (read_in_turns + weights->bytes - 1) / weights->bytes;
        for (; runner->copies < MAX_COPIES && (size_t)runner->copies < copies; runner->copies++) {
            GEMM_TRY(duplicate(child->backend, weights, &runner->more[runner->copies]));
        }
    }
    return GEMM_OK;
}

/* ---- opening ---- */

void close_problems(Child *child) {
    while (child->problems > 0) {
        problem_close(&child->problem[--child->problems]);
    }
}

/* The problem of this shape with this data, made once in a group. *found stays NULL where it does not fit. */
static GemmStatus problem_of(Child *child, Shape shape, DataKind data, const Problem **found) {
    char message[OPTIONS_MESSAGE_SIZE];
    for (int i = 0; i < child->problems; i++) {
        if (memcmp(&child->problem[i].shape, &shape, sizeof shape) == 0 && child->problem[i].data == data) {
            *found = &child->problem[i];
            return GEMM_OK;
        }
    }
    if (child->problems == MAX_PROBLEMS || !problem_fits(shape, NULL, &child->device, message)) {
        printf("  left out: %s\n", child->problems == MAX_PROBLEMS ? "too many problems of one shape" : message);
        return GEMM_OK;
    }
    under_way(child->session, -1); /* what fails here is no row's fault */
    Problem *next = &child->problem[child->problems];
    GEMM_TRY(problem_open(next, child->backend, &child->device, shape, SEED));
    child->problems++;
    GEMM_TRY(problem_fill(next, data));
    GEMM_TRY(child->backend->synchronise("the reference"));
    *found = next;
    return GEMM_OK;
}

static GemmStatus open_chapter(Child *child, const Row *row, Runner *runner, State *state) {
    char why[OPTIONS_MESSAGE_SIZE];
    if (!problem_fits(runner->problem->shape, row->chapter, &child->device, why)) {
        printf("  %s: %s\n", row->label, why);
        *state = LEFT_OUT;
        return GEMM_OK;
    }
    Problem tuned = *runner->problem; /* with the choices that the row makes */
    tuned.beyond.tuning = row->options.tuning;
    GEMM_TRY(run_open(&runner->chapter, &tuned, row->chapter));
    runner->chapter.problem = runner->problem;
    if (row->what == RUN_ALONE) {
        runner->work = alone_work(row->chapter, child->device.sm_count);
    }
    if (row->planned) {
        Plan plan;
        double ms;
        under_way(child->session, runner->row);
        GEMM_TRY(plan_run(&runner->chapter, &plan, &ms));
    }
    return GEMM_OK;
}

/* Is everything there that this row needs? Says what is missing. */
static State what_lacks(const Child *child, const Row *row) {
    if (row->what == RUN_CUBLAS || row->what == RUN_CUBLASLT) {
        return row->what == RUN_CUBLAS && !child->cublas ? LEFT_OUT : NOT_RUN;
    }
    if (!row->chapter) {
        return NOT_BUILT;
    }
    if (need_is_met(row->chapter->needs, child->device.capability, child->device.shared_bytes)) {
        return NOT_RUN;
    }
    printf("  %s needs %s\n", row->label, need_text(row->chapter->needs));
    return LEFT_OUT;
}

GemmStatus open_runner(Child *child, int group, int place, Runner *runner, State *state) {
    Session *session = child->session;
    const Group *g = &session->group[group];
    const Row *row = &session->row[g->row[place]];
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
    Shape shape = g->shape.m ? g->shape : (Shape){.m = ALONE_SIZE, .n = ALONE_SIZE, .k = ALONE_SIZE};
    shape.kind = row->kind;
    shape.experts = row->options.shape.experts > 0 ? row->options.shape.experts : 1;
    shape.heads = row->options.shape.heads;
    GEMM_TRY(problem_of(child, shape, row->data, &runner->problem));
    if (!runner->problem) {
        *state = LEFT_OUT;
        return GEMM_OK;
    }
    under_way(session, runner->row); /* also what is packed and allocated for it */
    runner->work = kind_flop(&runner->problem->shape, &runner->problem->gemm);
    if (row->what == RUN_CUBLAS) {
        runner->cublas = (CublasRun){child->cublas, runner->problem->gemm};
    } else if (row->what == RUN_CUBLASLT) {
        const Fp8 *fp8 = row->kind == KIND_FP8 ? &runner->problem->operands.fp8 : NULL;
        runner->lt = cublaslt_open(child->backend, &runner->problem->gemm, fp8, why, sizeof why);
        if (!runner->lt) {
            printf("  %s: %s\n", row->label, why);
            *state = LEFT_OUT;
        }
    } else {
        return open_chapter(child, row, runner, state);
    }
    return GEMM_OK;
}

void close_runner(const Child *child, Runner *runner) {
    run_close(&runner->chapter);
    for (int copy = 1; copy < runner->copies; copy++) {
        child->backend->release(&runner->more[copy]);
    }
    cublaslt_close(runner->lt);
    memset(runner, 0, sizeof *runner);
}
