/* runner.h - what is launched for a row of the plan: its problem, its workspace, and the copies of its weights that
 * launches take in turns. In the child. */
#ifndef RUNNER_H
#define RUNNER_H

#include "bench.h"
#include "cublaslt.h"

enum {
    ALONE_SIZE = 256,  /* the problem whose A an instruction alone multiplies */
    MOST_PROBLEMS = 8, /* of one shape */
    MOST_COPIES = 8,
};

/* A problem that rows of a group share. */
typedef struct {
    Problem problem;
    Buffer more[MOST_COPIES]; /* copies of B, from index 1 on */
    Fp8 fp8[MOST_COPIES];     /* KIND_FP8: the operands, with each B */
    int copies;               /* 1: B alone */
} Held;

typedef struct {
    Session *session;
    const Backend *backend;
    DeviceInfo device;
    Cublas *cublas; /* NULL: it is not there; so for the next */
    Nvml *nvml;
    Held held[MOST_PROBLEMS]; /* all of one group's shape */
    int count;
    Shape shape;
} Child;

/* A row that is ready to be launched. It stays where it is: what it launches points into it. */
typedef struct {
    Session *session;
    int row, place; /* in the plan, in its group */
    const Problem *problem;
    GemmStatus (*launch)(void *context);
    void *context;
    double work; /* of one launch: FLOP, of a copy bytes */
    ChapterRun chapter;
    CublasRun cublas;
    CublasLt *lt;
    Alone alone;
    Held *held; /* of `problem` */
    /* Launches take copies of the weights in turns. */
    Buffer more[MOST_COPIES]; /* of what a chapter has prepared, from index 1 on */
    int copies, turn;
} Runner;

static inline const Row *row_of(const Runner *runner) { return &runner->session->plan.row[runner->row]; }

/* Something moves, and a launch of this row is next; -1: no row's. */
static inline void beat(Session *session, int row) {
    session->shared->row = row;
    session->shared->beat++;
}

/* Makes what a row launches. *state: NOT_RUN, or why it cannot be. */
GemmStatus open_runner(Child *child, int group, int place, Runner *runner, State *state);
void close_runner(const Child *child, Runner *runner);

/* Starts one launch; `context` is a Runner. */
GemmStatus launch_runner(void *context);
/* One launch, and is its result right? What runs alone has none. */
GemmStatus check_once(Runner *runner, Tally *tally);
/* From now on launches take copies of what the chapter has prepared in turns. It has been launched once. */
GemmStatus copy_prepared(const Child *child, Runner *runner);

#endif
