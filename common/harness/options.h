/* options.h - the command line, the same in every chapter. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "../beyond.h"
#include "../model/model_host.h"
#include "data.h"

enum {
    MAX_SIZE = INT_MAX - 65535, /* the largest M, N or K: a padded row, rounded up to a tile, is still an int */
    MAX_ROUNDS = 1000,          /* timed samples of one kernel */
    MAX_PAD = 4096,             /* extra elements after a row */
    MAX_EXPERTS = 1024,
    DEFAULT_ROUNDS = 5,
    DEFAULT_MODEL_SMS = 4,
    DEFAULT_MODEL_SHARED = 227, /* KiB, as on Hopper */
    OPTIONS_MESSAGE_SIZE = 256,
};

typedef enum { ON_ANY, ON_GPU, ON_MODEL } Place;

/* "eager", "lazy", "random", "pct", NULL. */
extern const char *const policy_names[5];

/* Attention; 0 where not given. */
typedef struct {
    int size;    /* --head-size; 128 */
    int kv;      /* --kv-heads: of K and V; as many as of Q */
    int batches; /* --batches; 1 */
    int causal;  /* --causal */
    int window;  /* --window: of keys up to the query's own; all */
} Heads;

/* What is multiplied: C[m][n] = A[m][k] * B[n][k]^T and the like. */
typedef struct {
    int m, n, k;
    int pad;     /* extra elements after the rows of A, twice as many after those of B, three times after those of C */
    Kind kind;   /* the chapter's; no option */
    int experts; /* of a kind that has them */
    Heads heads;
} Shape;

typedef struct {
    Shape shape;            /* --m --n --k --pad --experts; 0, and -1 for pad, where not given: the program chooses */
    Place on;               /* --on gpu|model */
    uint64_t seed;          /* --seed */
    int check;              /* --check, --no-check */
    Choice bench;           /* --bench[=rounds], --no-bench; default: yes on a GPU, never on the model */
    int rounds;             /* samples of each kernel */
    unsigned data;          /* --data: bit 1 << kind for each DataKind to check; the last one set is also timed */
    int data_given;         /* --data was on the command line */
    int repeat;             /* --repeat: checked launches for each kind of data; all must give the same bits */
    ModelPolicy policy;     /* --policy (model) */
    uint64_t schedule_seed; /* --schedule-seed (model) */
    int schedules;          /* --schedules (model): runs with schedule_seed, schedule_seed + 1, ... */
    int barriers;           /* --barriers (model): print every barrier event */
    const char *steps;      /* --steps FILE (model): write what happens in the last launch; NULL if not given */
    int count;              /* --count (model): print what the last launch did, in numbers */
    int tensor_core_sums;   /* --tensor-core-sums (model): wgmma rounds as an H200 does */
    Tuning tuning;          /* --variant, --tile-group, --producer-barrier */
    int sms;                /* --sms (model): SMs of the modelled GPU */
    int shared;             /* --shared (model): KiB of shared memory that a CTA may have */
    int explain;            /* --explain or --explain-element */
    int explain_element;    /* --explain-element R,C[,K]: */
    int element[3];         /* ... its row, column and k */
    int device;             /* the first GPU to consider; not on the command line */
    int named;              /* an option other than --on and --no-bench was on the command line */
    int policy_given;       /* --policy was on the command line; so for the next */
    int sms_given;
    int timeline;             /* --timeline[=CTA]: draw one CTA in the terminal */
    int timeline_cta;         /* the CTA to draw, also for the files; -1: the program chooses */
    const char *timeline_svg; /* --timeline-svg FILE; NULL if not given; so for the next */
    const char *trace;        /* --trace FILE: for Perfetto */
    const char *trace_events; /* --trace-events FILE: to draw from later */
    int help;                 /* --help: print_usage() and exit 0 */
} Options;

/* Reads argv[1..argc-1] into `options`. Returns 1 if all is acceptable; otherwise 0 and one line without a newline in
 * `message` that names the argument, its value and what is accepted. Starts nothing, prints nothing, leaves argv as it
 * is. --help ends the reading with success. Called by main() and the unit tests. */
int parse_options(int argc, char *const argv[], Options *options, char message[OPTIONS_MESSAGE_SIZE]);

/* Reads a whole decimal number from least to most into *value: digits only, no sign, blanks or trailing letters.
 * Returns 1, or 0 and a line in `message`. `name` is the option as the user wrote it ("--m"). Also for the bench. */
int parse_number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *value,
                 char message[OPTIONS_MESSAGE_SIZE]);

/* The last call of main(): writes what stdout still holds. If any output was lost, prints one line to stderr and
 * returns GEMM_DEVICE in place of GEMM_OK; otherwise returns `status`. */
GemmStatus end_output(GemmStatus status);

/* Is one launch to be recorded instead of timed? */
int options_trace(const Options *options);

/* The text of --help. */
void print_usage(FILE *out, const char *program);

#endif
