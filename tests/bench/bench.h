/* bench.h - what the parts of the measuring program share: plan.c reads what is to be timed, measure.c times it in a
 * child process, by means of runner.c, and bench.c is the parent that watches it. How to call the program, and what a
 * plan looks like, is in bench.c. */
#ifndef BENCH_H
#define BENCH_H

#include "alone.h"
#include "harness/timing.h"

enum { MAX_ROWS = 320, MAX_SHAPES = 64, MAX_GROUPS = 192, MAX_GROUP_ROWS = 320 };

/* ---- the plan ---- */

/* Which columns the CSV has. */
typedef enum { OF_KERNELS, OF_VARIANTS } Columns;

typedef enum { RUN_CHAPTER, RUN_CUBLAS, RUN_CUBLASLT, RUN_ALONE } What;

/* A line of the plan. */
typedef struct {
    const char *group, *label; /* the label without its mark `=` */
    What what;
    int is_peer;            /* not ours: it may refuse a shape */
    int first_choice;       /* RUN_CUBLASLT: its first proposal, not the best */
    Kind kind;              /* of the problem */
    const Chapter *chapter; /* RUN_CHAPTER; NULL: it is not linked */
    Alone alone;            /* RUN_ALONE: kind and width */
    Options options;
    DataKind data;
    int sustained; /* without pauses */
    int planned;   /* measures the likeliest variants first, and times the fastest */
    Shape shape[MAX_SHAPES];
    int shapes;
    Columns columns;
} Row;

/* The rows of one group at one shape, which take turns. */
typedef struct {
    Shape shape; /* m is 0 where rows have none */
    int row[MAX_GROUP_ROWS];
    int rows;
} Group;

typedef struct {
    Row row[MAX_ROWS];
    Group group[MAX_GROUPS]; /* those of one shape one after another: data and reference are made once */
    int rows, groups;
} BenchRows;

/* What is wanted of a plan. NULL: all of it. */
typedef struct {
    const char *name;    /* "ladder": tests/bench/plans/ladder; with a slash: a file */
    const char *only;    /* groups, separated by commas */
    const char *kernels; /* labels, separated by commas */
    const char *shapes;  /* instead of the rows' own */
} Wanted;

/* Returns 1; 0 after one line on stderr. */
int plan_read(const Wanted *wanted, BenchRows *plan);
/* "8192 x 8192 x 8192", or "-" where there is none. */
const char *shape_text(const Shape *shape, char text[48]);

/* ---- a session ---- */

/* What became of a row. From WRONG on the program ends with exit status 1. */
typedef enum {
    NOT_RUN,
    TIMED,
    LEFT_OUT, /* this machine lacks what it needs, or a peer refuses it */
    SLOW,     /* right, but one launch takes too long */
    WRONG,
    REFUSED,
    HANG,
    ERROR, /* a launch failed, or the process died */
    NOT_BUILT,
    STATES
} State;
extern const char *const state_text[STATES];

/* What the child tells the parent, in shared memory. */
typedef struct {
    char gpu[96], versions[128], csv_path[256];
    volatile int started;    /* there are a device and a CSV */
    volatile int group, row; /* under way, as an index; row: whose launches; -1: none */
    volatile unsigned beat;  /* changes while something moves */
    volatile int done[MAX_GROUPS];
    volatile State struck[MAX_ROWS];           /* what hangs or fails is not tried again */
    State outcome[MAX_GROUPS][MAX_GROUP_ROWS]; /* by place in the group */
} Shared;

typedef struct {
    BenchRows plan;
    const char *plan_name, *csv_path, *commit;
    char date[16];
    int rounds, pause_ms;
    double begin_s; /* by seconds_now() */
    Shared *shared;
} Session;

double seconds_now(void);
/* About how long a group takes, its data and reference included. */
double group_seconds(const Session *session, int group);
/* Times all groups that are not done; in a child. quiet: the device has been named. */
GemmStatus measure_all(Session *session, int quiet);
/* Says that a row has no figure and why: on stdout, in the CSV, in `shared`. */
void strike(Session *session, int group, int place, State state);

#endif
