/* options.c - reading the command line. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>

const char *const data_names[DATA_KINDS + 1] = {"integers", "normal", "zeros", NULL};

static const char *const choice_names[] = {"default", "yes", "no", NULL}; /* in the order of Choice */
static const char *const place_names[] = {"any", "gpu", "model", NULL};   /* in the order of Place */
const char *const policy_names[5] = {"eager", "lazy", "random", "pct", NULL};

/* What an option does to a member of Options. */
typedef enum {
    SETS,  /* to `least` */
    TAKES, /* an int from `least` to `most`, a multiple of `multiple`; left out where getopt_long() allows it */
    TAKES_SEED,
    TAKES_FILE,
    TAKES_VARIANT,
    TAKES_NAME, /* its index in `names`, of which those from `least` on are accepted */
    TAKES_DATA, /* 1 << its index */
    TAKES_ELEMENT,
} Effect;

typedef struct {
    const char *name;
    int argument; /* as in struct option */
    Effect effect;
    size_t at;
    int least, most;
    const char *const *names;
    size_t given; /* another member, which becomes 1; 0: none */
    int multiple; /* 0: any number */
} OptionRow;

#define AT(member) .at = offsetof(Options, member)
#define GIVEN(member) .given = offsetof(Options, member)
static const OptionRow rows[] = {
    {"m", required_argument, TAKES, AT(shape.m), 1, MAX_SIZE},
    {"n", required_argument, TAKES, AT(shape.n), 1, MAX_SIZE},
    {"k", required_argument, TAKES, AT(shape.k), 1, MAX_SIZE},
    {"on", required_argument, TAKES_NAME, AT(on), ON_GPU, 0, place_names},
    {"seed", required_argument, TAKES_SEED, AT(seed)},
    {"check", no_argument, SETS, AT(check), 1},
    {"no-check", no_argument, SETS, AT(check), 0},
    {"bench", optional_argument, TAKES, AT(rounds), 1, MAX_ROUNDS, GIVEN(bench)}, /* CHOICE_YES */
    {"no-bench", no_argument, SETS, AT(bench), CHOICE_NO},
    {"data", required_argument, TAKES_DATA, AT(data), 0, 0, data_names, GIVEN(data_given)},
    {"pad", required_argument, TAKES, AT(shape.pad), 0, MAX_PAD, .multiple = 8}, /* rows are 16-byte aligned */
    {"experts", required_argument, TAKES, AT(shape.experts), 1, MAX_EXPERTS},
    {"head-size", required_argument, TAKES, AT(shape.heads.size), 64, 128, .multiple = 64},
    {"kv-heads", required_argument, TAKES, AT(shape.heads.kv), 1, MAX_SIZE},
    {"batches", required_argument, TAKES, AT(shape.heads.batches), 1, MAX_SIZE},
    {"causal", no_argument, SETS, AT(shape.heads.causal), 1},
    {"window", required_argument, TAKES, AT(shape.heads.window), 1, MAX_SIZE},
    {"repeat", required_argument, TAKES, AT(repeat), 1, 1000000},
    {"variant", required_argument, TAKES_VARIANT, AT(tuning.variant)},
    {"tile-group", required_argument, TAKES, AT(tuning.tile_group), 1, MAX_SIZE},
    {"producer-barrier", required_argument, TAKES_NAME, AT(tuning.producer_barrier), CHOICE_YES, 0, choice_names},
    {"policy", required_argument, TAKES_NAME, AT(policy), 0, 0, policy_names, GIVEN(policy_given)},
    {"schedule-seed", required_argument, TAKES_SEED, AT(schedule_seed)},
    {"schedules", required_argument, TAKES, AT(schedules), 1, 1000000},
    {"barriers", no_argument, SETS, AT(barriers), 1},
    {"steps", required_argument, TAKES_FILE, AT(steps)},
    {"count", no_argument, SETS, AT(count), 1},
    {"tensor-core-sums", no_argument, SETS, AT(tensor_core_sums), 1},
    {"sms", required_argument, TAKES, AT(sms), 1, 1024, GIVEN(sms_given)},
    {"shared", required_argument, TAKES, AT(shared), 1, DEFAULT_MODEL_SHARED},
    {"explain", no_argument, SETS, AT(explain), 1},
    {"explain-element", required_argument, TAKES_ELEMENT, AT(element), GIVEN(explain_element)},
    {"timeline", optional_argument, TAKES, AT(timeline_cta), 0, INT_MAX, GIVEN(timeline)},
    {"timeline-svg", required_argument, TAKES_FILE, AT(timeline_svg)},
    {"trace", required_argument, TAKES_FILE, AT(trace)},
    {"trace-events", required_argument, TAKES_FILE, AT(trace_events)},
    {"help", no_argument, SETS, AT(help), 1},
};
enum { ROWS = sizeof rows / sizeof rows[0], FIRST_ROW = 256 /* what getopt_long() returns for rows[0] */ };

void print_usage(FILE *out, const char *program) {
    fprintf(
        out,
        "usage: %s [options]\n"
        "C[M][N] = A[M][K] * B[N][K]^T, bf16 with fp32 accumulation, all row-major; in beyond/ also of other types.\n"
        "\n"
        "  --m M, --n N, --k K   sizes, 1 to %d (default: 8192 on a GPU, 512 or 256 on the model)\n"
        "  --on gpu|model        where to run (default: a GPU that fits, otherwise the CPU model)\n"
        "  --data KIND           integers, normal or zeros (default: integers, then normal)\n"
        "  --seed S              another seed for the data (default 1)\n"
        "  --pad P               P, 2P and 3P extra elements after the rows of A, B and C, a multiple of 8\n"
        "                        (default: 0 where the run is timed, otherwise 8)\n"
        "  --experts E           with weights of E experts, among which the rows of A are shared out (default 1), "
        "where\n"
        "                        a chapter has them\n"
        "  --head-size 64|128, --kv-heads G, --batches B, --causal, --window W\n"
        "                        attention: M queries, K keys, N = heads x head size, rounded up; G heads of K and V\n"
        "                        (default: 128, as many as of Q, 1, all keys for each query)\n"
        "  --no-check            do not compare the result\n"
        "  --repeat R            R checked launches, which must agree in every bit (default 1)\n"
        "  --bench[=ROUNDS]      time it against cuBLAS, median of ROUNDS (default %d; a GPU's default)\n"
        "  --no-bench            do not time\n"
        "  --help                this text\n"
        "instead of a result, from the chapter's own code on the model, for this GPU or --sms SMs:\n"
        "  --explain             what the chapter sets up for this size: launch, shared memory, tensor maps,\n"
        "                        mbarriers, descriptors, and the tiles that a wave of CTAs touches\n"
        "  --explain-element R,C[,K]  which lane and register holds C[R][C], and from where A[R][K] and B[C][K]\n"
        "                        came (default K 0)\n"
        "what happened when, from one recorded launch, which is not timed (default size: 4096 x 4096 x 1024 on a GPU,\n"
        "256 x 256 x 512 on the model):\n"
        "  --timeline[=CTA]      draw one CTA in the terminal\n"
        "  --timeline-svg FILE   draw it as SVG\n"
        "  --trace FILE          write it as JSON for ui.perfetto.dev or chrome://tracing\n"
        "  --trace-events FILE   write the events, to draw them elsewhere\n"
        "for experiments, where a chapter has the choice:\n"
        "  --variant NAME        one of the chapter's variants (another name lists them)\n"
        "  --tile-group G        tile rows visited together\n"
        "  --producer-barrier yes|no\n"
        "                        producers wait for each other before each tile\n"
        "on the model (without any option but --on, also at odd sizes, in several policies and all variants):\n"
        "  --policy NAME         what happens next: eager, lazy, random or pct\n"
        "                        (default random; eager for a timeline)\n"
        "  --schedule-seed S     with the policy, replays a run (default 1)\n"
        "  --schedules N         N runs with seeds S, S + 1, ... (default 1)\n"
        "  --barriers            print every event of an mbarrier\n"
        "  --steps FILE          write what happens to barriers, copies and products in the last launch, as JSON\n"
        "  --count               count what the last launch did: bytes, bank conflicts, instructions, waits\n"
        "  --tensor-core-sums    wgmma rounds all sums as an H200 does, bit for bit (otherwise only sums of fp8)\n"
        "  --sms N               SMs of the modelled GPU (default %d; 1 for a timeline)\n"
        "  --shared KIB          shared memory that a CTA may have (default %d)\n"
        "\n"
        "exit status: 0 correct, 1 wrong result, 2 bad usage, 3 no suitable device, a failed CUDA call or output that\n"
        "             could not be written, 4 the model found a bug in the kernel, 5 the model cannot check the\n"
        "             program\n",
        program, MAX_SIZE, DEFAULT_ROUNDS, DEFAULT_MODEL_SMS, DEFAULT_MODEL_SHARED);
}

int parse_number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *value,
                 char message[OPTIONS_MESSAGE_SIZE]) {
    uint64_t number = 0;
    int fits = 1;
    const char *p = text;
    for (; isdigit((unsigned char)*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        fits = fits && number <= (UINT64_MAX - digit) / 10;
        number = number * 10 + digit;
    }
    const char *fault = NULL;
    if (*text == '-' && text[1] && text[1 + strspn(text + 1, "0123456789")] == 0) {
        fault = "is too small";
    } else if (p == text || *p) {
        fault = "is not a whole number";
    } else if (!fits || number > most) {
        fault = "is too large";
    } else if (number < least) {
        fault = "is too small";
    }
    if (fault) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: \"%.40s\" %s; %llu to %llu is accepted", name, text, fault,
                 (unsigned long long)least, (unsigned long long)most);
        return 0;
    }
    *value = number;
    return 1;
}

static int parse_int(const char *name, const char *text, int least, int most, int *value,
                     char message[OPTIONS_MESSAGE_SIZE]) {
    uint64_t number;
    if (!parse_number(name, text, (uint64_t)least, (uint64_t)most, &number, message)) {
        return 0;
    }
    *value = (int)number;
    return 1;
}

/* The index of `text` in a NULL-terminated list from `first` on; -1 and a message if it is none of them. */
static int parse_name(const char *option, const char *text, const char *const *names, int first,
                      char message[OPTIONS_MESSAGE_SIZE]) {
    char accepted[128] = "";
    for (int i = first; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
        size_t used = strlen(accepted);
        snprintf(accepted + used, sizeof accepted - used, "%s%s",
                 i == first     ? ""
                 : names[i + 1] ? ", "
                                : " or ",
                 names[i]);
    }
    snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: \"%.40s\" is not known; %s is accepted", option, text, accepted);
    return -1;
}

static void set_defaults(Options *options) {
    memset(options, 0, sizeof *options);
    options->seed = 1;
    options->check = 1;
    options->bench = CHOICE_DEFAULT;
    options->rounds = DEFAULT_ROUNDS;
    options->data = 1u << DATA_INTEGERS | 1u << DATA_NORMAL;
    options->shape.pad = -1;
    options->repeat = 1;
    options->policy = MODEL_RANDOM;
    options->schedule_seed = 1;
    options->schedules = 1;
    options->sms = DEFAULT_MODEL_SMS;
    options->shared = DEFAULT_MODEL_SHARED;
    options->timeline_cta = -1;
}

/* "R,C" or "R,C,K". */
static void parse_element(const char *text, int element[3], char message[OPTIONS_MESSAGE_SIZE]) {
    static const char *const names[] = {"--explain-element, row", "--explain-element, column", "--explain-element, k"};
    char copy[64];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    for (char *number; count < 3 && (number = strsep(&rest, ",")); count++) {
        if (!parse_int(names[count], number, 0, MAX_SIZE - 1, &element[count], message)) {
            return;
        }
    }
    if (rest || count < 2 || strlen(text) >= sizeof copy) {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "--explain-element: \"%.40s\" is not an element; R,C or R,C,K is accepted", text);
    }
}

/* Takes one option with its value; writes a message if the value is not accepted. */
static void take_option(const OptionRow *row, const char *value, Options *options, char message[OPTIONS_MESSAGE_SIZE]) {
    char name[32];
    void *at = (char *)options + row->at;
    int *number = at, index;
    snprintf(name, sizeof name, "--%s", row->name);
    if (row->given) {
        *(int *)(void *)((char *)options + row->given) = 1;
    }
    switch (row->effect) {
    case SETS: *number = row->least; break;
    case TAKES:
        if (value && parse_int(name, value, row->least, row->most, number, message) && row->multiple &&
            *number % row->multiple) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: %d is not accepted; multiples of %d from %d to %d are", name,
                     *number, row->multiple, row->least, row->most);
        }
        break;
    case TAKES_SEED: parse_number(name, value, 0, UINT64_MAX, at, message); break;
    case TAKES_FILE:
        *(const char **)at = value;
        if (!*value) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: the file name is empty", name);
        }
        break;
    case TAKES_VARIANT: options->tuning.variant = value; break;
    case TAKES_NAME:
    case TAKES_DATA:
        index = parse_name(name, value, row->names, row->least, message);
        *number = index >= 0 && row->effect == TAKES_DATA ? 1 << index : index;
        break;
    default: options->explain = 1; parse_element(value, options->element, message);
    }
}

GemmStatus end_output(GemmStatus status) {
    int failed = ferror(stdout);
    if (fflush(stdout) == 0 && !failed) {
        return status;
    }
    fprintf(stderr, "standard output could not be written: %s\n", strerror(errno));
    return status == GEMM_OK ? GEMM_DEVICE : status;
}

int options_trace(const Options *options) {
    return options->timeline || options->timeline_svg || options->trace || options->trace_events;
}

/* Writes a message if the combination makes no sense. */
static void check_combination(const Options *options, char message[OPTIONS_MESSAGE_SIZE]) {
    const int traced = options_trace(options), timed = options->bench == CHOICE_YES, on_gpu = options->on == ON_GPU;
    const struct {
        int is_one;
        const char *fault;
    } faults[] = {
        {options->repeat > 1 && !options->check, "--repeat: it counts checked launches, and --no-check leaves none"},
        {options->explain && timed, "--bench: there are no figures with --explain"},
        {options->explain && traced, "--timeline, --trace: --explain records no launch: leave out one of them"},
        {traced && timed, "--timeline, --trace: a recorded launch is slower than others: leave out --bench"},
        {traced && (options->repeat > 1 || options->schedules > 1),
         "--timeline, --trace: one launch is recorded, not several: leave out --repeat and --schedules"},
        {options->on == ON_MODEL && timed, "--bench: only a GPU can be timed, not --on model"},
        {on_gpu && options->count, "--count: only the CPU model counts, not --on gpu"},
        {on_gpu && options->steps, "--steps: only the CPU model writes them, not --on gpu"},
        {on_gpu && options->tensor_core_sums,
         "--tensor-core-sums: a GPU has no others; only the CPU model can choose, not --on gpu"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0] && !message[0]; i++) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s", faults[i].is_one ? faults[i].fault : "");
    }
    if (!message[0] && options->data_given && options->data == 1u << DATA_INTEGERS && options->shape.k > MAX_EXACT_K) {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "--k: %d is too large for --data integers, which are exact in fp32 only up to k = %d",
                 options->shape.k, MAX_EXACT_K);
    }
}

int parse_options(int argc, char *const argv[], Options *options, char message[OPTIONS_MESSAGE_SIZE]) {
    set_defaults(options);
    message[0] = 0;
    /* getopt_long() reorders what it reads. */
    char **arguments = malloc(((size_t)argc + 1) * sizeof *arguments);
    if (!arguments) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "out of memory");
        return 0;
    }
    memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
    arguments[argc] = NULL;
    struct option list[ROWS + 1];
    memset(&list[ROWS], 0, sizeof list[ROWS]);
    for (int i = 0; i < ROWS; i++) {
        list[i] = (struct option){rows[i].name, rows[i].argument, NULL, FIRST_ROW + i};
    }
    optind = 0; /* from the start, also on a second call */
    opterr = 0;
    while (!message[0] && !options->help) {
        int option = getopt_long(argc, arguments, ":h", list, NULL);
        if (option == -1) {
            break;
        }
        const char *argument = arguments[optind > 0 ? optind - 1 : 0];
        if (option == ':') {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: its value is missing", argument);
        } else if (option == '?' && optopt >= FIRST_ROW) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: this option takes no value", argument);
        } else if (option == '?') {
            char letter[] = {'-', (char)optopt, 0};
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: unknown or ambiguous option; --help lists what is accepted",
                     optopt ? letter : argument);
        } else {
            const OptionRow *row = option == 'h' ? &rows[ROWS - 1] : &rows[option - FIRST_ROW];
            take_option(row, optarg, options, message);
            options->named |= strcmp(row->name, "on") != 0 && strcmp(row->name, "no-bench") != 0;
        }
    }
    if (!message[0] && !options->help && optind < argc) { /* getopt_long() leaves the rest at the end */
        snprintf(message, OPTIONS_MESSAGE_SIZE, "\"%.60s\": not an option; --help lists what is accepted",
                 arguments[optind]);
    }
    free(arguments);
    if (options_trace(options)) { /* one SM, so that one picture has all of a small problem */
        options->policy = options->policy_given ? options->policy : MODEL_EAGER;
        options->sms = options->sms_given ? options->sms : 1;
    }
    if (!message[0] && !options->help) {
        check_combination(options, message);
    }
    return !message[0];
}
