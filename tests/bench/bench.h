/* bench.h - what the parts of the measuring program share: plan.c reads what is to be timed, measure.c times it in a
 * child process, by means of runner.c, and bench.c is the parent. How to call the program, and what a plan looks like,
 * is in bench.c. */
#ifndef BENCH_H
#define BENCH_H

#include "harness/cublas.h"
#include "harness/timing.h"

enum {
    MAX_ROWS = 320,
    MAX_SHAPES = 64,
    MAX_GROUPS = 192,
    MAX_PROBLEMS = 8, /* of one group at one shape */
    MAX_COPIES = 8,   /* of a row's weights */
};

/* ---- the plan ---- */

/* RUN_ALONE: one instruction or a copy on every SM (alone.cu); its result is not checked. */
typedef enum { RUN_CHAPTER, RUN_CUBLAS, RUN_CUBLASLT, RUN_ALONE } What;

/* What became of a row. From WRONG on the program ends with exit status 1. */
typedef enum {
    NOT_RUN,
    TIMED,
    LEFT_OUT, /* this machine lacks what it needs, or a peer refuses it */
    WRONG,
    REFUSED,
    HANG,
    ERROR, /* a launch failed, or the process died */
    NOT_BUILT,
    STATES
} State;
extern const char *const state_text[STATES];

/* A line of the plan. */
typedef struct {
    const char *group, *label; /* the label without its mark `=` */
    What what;
    int is_peer;            /* not ours: it may refuse a shape */
    int first_choice;       /* RUN_CUBLASLT: its first proposal, not the best */
    Kind kind;              /* of the problem */
    const Chapter *chapter; /* RUN_CHAPTER and RUN_ALONE; NULL: it is not linked */
    Options options;
    DataKind data;
    int sustained;           /* without pauses */
    int planned;             /* measures the likeliest variants first, and times the fastest */
    Shape shape[MAX_SHAPES]; /* m is 0 where there is none */
    int shapes;
    State struck; /* HANG or ERROR: it is not tried again */
} Row;

/* The rows of one group at one shape, which take turns. */
typedef struct {
    Shape shape;
    int row[MAX_ROWS];
    State outcome[MAX_ROWS]; /* of each */
    int rows;
} Group;

/* The state of one call of the program, in memory that parent and children share. */
typedef struct {
    const char *plan;    /* "ladder": tests/bench/plans/ladder; with a slash: a file */
    const char *only;    /* groups, separated by commas; NULL: all of the plan; so for the next */
    const char *kernels; /* labels, separated by commas */
    const char *shapes;  /* instead of the rows' own */
    const char *csv, *commit;
    int rounds, pause_ms;
    char date[16], gpu[96], versions[128], chosen_csv[256];

    Row row[MAX_ROWS];
    Group group[MAX_GROUPS];
    int rows, groups;

    int started;  /* there are a device and a CSV */
    int at_group; /* under way */
    int at_row;   /* whose launches; -1: none */
} Session;

/* Fills in rows and groups. Returns 1; 0 after one line on stderr. */
int plan_read(Session *session);
/* "8192 x 8192 x 8192", or "-" where there is none. */
const char *shape_text(const Shape *shape, char text[48]);

/* ---- in the child ---- */

typedef struct {
    Session *session;
    const Backend *backend;
    DeviceInfo device;
    Cublas *cublas; /* NULL: it is not there; so for the next */
    Nvml *nvml;
    Problem problem[MAX_PROBLEMS]; /* of the group that is under way */
    int problems;
} Child;

/* A row that is ready to be launched. A Runner must not move, because its launches have pointers into it. */
typedef struct {
    Session *session;
    int row, place; /* in the plan, in its group */
    const Problem *problem;
    double work; /* of one launch: FLOP, of a copy bytes */
    ChapterRun chapter;
    CublasRun cublas;
    struct CublasLt *lt;
    Buffer more[MAX_COPIES]; /* of the weights, from index 1 on; launches take them in turns */
    int copies, turn;
} Runner;

static inline const Row *row_of(const Runner *runner) { return &runner->session->row[runner->row]; }

/* Says that the next launch is of this row (-1: of none). If no other call follows for long, SIGALRM ends the child. */
void under_way(Session *session, int row);
/* Prepares the launches of a row. *state: NOT_RUN, or why the row cannot run. */
GemmStatus open_runner(Child *child, int group, int place, Runner *runner, State *state);
void close_runner(const Child *child, Runner *runner);
void close_problems(Child *child);
/* Starts one launch; `context` is a Runner. */
GemmStatus launch_runner(void *context);
/* Launches once and checks the result, which what runs alone does not have. */
GemmStatus check_once(Runner *runner, Tally *tally);
/* From now on, launches take copies of the weights in turns. The runner must have been launched once. */
GemmStatus copy_weights(const Child *child, Runner *runner);

/* Times all groups, beginning with the one that is under way. quiet: the device has been named. */
GemmStatus measure_all(Session *session, int quiet);
/* Says that a row has no figure and why: on stdout, in the CSV, in the session. */
void strike(Session *session, int group, int place, State state);

/* What one launch of a chapter of alone.cu does: FLOP, or bytes read and written. */
double alone_work(const Chapter *chapter, int sm_count);

/* ---- cuBLASLt: NVIDIA's GEMM with a choice of algorithms ---- */

/* Its proposals for one problem, best guess first. fp8: the operands, in place of a and b; NULL: it is of bf16. */
typedef struct CublasLt CublasLt;
CublasLt *cublaslt_open(const Backend *backend, const Gemm *problem, const Fp8 *fp8, char *why, size_t why_size);
void cublaslt_close(CublasLt *lt);      /* NULL is allowed */
int cublaslt_count(const CublasLt *lt); /* 1 .. 8 */
void cublaslt_choose(CublasLt *lt, int algorithm);
/* b: a copy of the problem's B; NULL: B itself. */
GemmStatus cublaslt_launch(CublasLt *lt, const void *b);

#endif
