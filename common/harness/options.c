/* options.c - reading the command line. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>

const char *const data_names[DATA_KINDS + 1] = {"integers", "normal", "zeros", NULL};

static const char *const answer_names[] = {"yes", "no", NULL};
static const char *const place_names[] = {"any", "gpu", "model", NULL}; /* in the order of Place */
const char *const policy_names[5] = {"eager", "lazy", "random", "pct", NULL};

enum {
    OPTION_M = 256,
    OPTION_N,
    OPTION_K,
    OPTION_ON,
    OPTION_SEED,
    OPTION_CHECK,
    OPTION_NO_CHECK,
    OPTION_BENCH,
    OPTION_NO_BENCH,
    OPTION_DATA,
    OPTION_PAD,
    OPTION_EXPERTS,
    OPTION_HEAD_SIZE,
    OPTION_KV_HEADS,
    OPTION_BATCHES,
    OPTION_CAUSAL,
    OPTION_WINDOW,
    OPTION_REPEAT,
    OPTION_VARIANT,
    OPTION_TILE_GROUP,
    OPTION_MEET,
    OPTION_POLICY,
    OPTION_SCHEDULE_SEED,
    OPTION_SCHEDULES,
    OPTION_BARRIERS,
    OPTION_STEPS,
    OPTION_COUNT,
    OPTION_TENSOR_CORE_SUMS,
    OPTION_SMS,
    OPTION_SHARED,
    OPTION_EXPLAIN,
    OPTION_EXPLAIN_ELEMENT,
    OPTION_TIMELINE,
    OPTION_TIMELINE_SVG,
    OPTION_TRACE,
    OPTION_TRACE_EVENTS,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"m", required_argument, NULL, OPTION_M},
    {"n", required_argument, NULL, OPTION_N},
    {"k", required_argument, NULL, OPTION_K},
    {"on", required_argument, NULL, OPTION_ON},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"no-check", no_argument, NULL, OPTION_NO_CHECK},
    {"bench", optional_argument, NULL, OPTION_BENCH},
    {"no-bench", no_argument, NULL, OPTION_NO_BENCH},
    {"data", required_argument, NULL, OPTION_DATA},
    {"pad", required_argument, NULL, OPTION_PAD},
    {"experts", required_argument, NULL, OPTION_EXPERTS},
    {"head-size", required_argument, NULL, OPTION_HEAD_SIZE},
    {"kv-heads", required_argument, NULL, OPTION_KV_HEADS},
    {"batches", required_argument, NULL, OPTION_BATCHES},
    {"causal", no_argument, NULL, OPTION_CAUSAL},
    {"window", required_argument, NULL, OPTION_WINDOW},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"variant", required_argument, NULL, OPTION_VARIANT},
    {"tile-group", required_argument, NULL, OPTION_TILE_GROUP},
    {"meet", required_argument, NULL, OPTION_MEET},
    {"policy", required_argument, NULL, OPTION_POLICY},
    {"schedule-seed", required_argument, NULL, OPTION_SCHEDULE_SEED},
    {"schedules", required_argument, NULL, OPTION_SCHEDULES},
    {"barriers", no_argument, NULL, OPTION_BARRIERS},
    {"steps", required_argument, NULL, OPTION_STEPS},
    {"count", no_argument, NULL, OPTION_COUNT},
    {"tensor-core-sums", no_argument, NULL, OPTION_TENSOR_CORE_SUMS},
    {"sms", required_argument, NULL, OPTION_SMS},
    {"shared", required_argument, NULL, OPTION_SHARED},
    {"explain", no_argument, NULL, OPTION_EXPLAIN},
    {"explain-element", required_argument, NULL, OPTION_EXPLAIN_ELEMENT},
    {"timeline", optional_argument, NULL, OPTION_TIMELINE},
    {"timeline-svg", required_argument, NULL, OPTION_TIMELINE_SVG},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"trace-events", required_argument, NULL, OPTION_TRACE_EVENTS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

void print_usage(FILE *out, const char *program) {
    fprintf(
        out,
        "usage: %s [options]\n"
        "C[M][N] = A[M][K] * B[N][K]^T, bf16 with fp32 accumulation, all row-major; in beyond/ also of other types.\n"
        "\n"
        "  --m M, --n N, --k K   sizes, 1 to %d (default: 8192 on a GPU, 512 on the model)\n"
        "  --on gpu|model        where to run (default: a GPU that fits, else the CPU model)\n"
        "  --data KIND           integers, normal or zeros (default: integers, then normal)\n"
        "  --seed S              another seed for the data (default 1)\n"
        "  --pad P               P, 2P and 3P extra elements behind the rows of A, B and C, a multiple of 8\n"
        "                        (default: 0 where the run is timed, else 8)\n"
        "  --experts E           with weights of E experts, among which the rows of A are shared out (default 1), "
        "where\n"
        "                        a chapter has them\n"
        "  --head-size 64|128, --kv-heads G, --batches B, --causal, --window W\n"
        "                        attention: M queries, K keys, N = heads x head size, rounded up; G heads of K and V\n"
        "                        (default: 128, as many as of Q, 1, all keys for each query)\n"
        "  --no-check            do not compare the result\n"
        "  --repeat R            R checked launches, which must agree in every bit (default 1)\n"
        "  --bench[=ROUNDS]      time it beside cuBLAS, median of ROUNDS (default %d; a GPU's default)\n"
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
        "  --tile-group G        tile rows walked together\n"
        "  --meet yes|no         producers wait for each other before each tile\n"
        "on the model (without any option but --on, also at odd sizes, in several policies and all variants):\n"
        "  --policy NAME         what happens next: eager, lazy, random or pct\n"
        "                        (default random; eager for a timeline)\n"
        "  --schedule-seed S     with the policy, replays a run (default 1)\n"
        "  --schedules N         N runs with seeds S, S + 1, ... (default 1)\n"
        "  --barriers            print every barrier event\n"
        "  --steps FILE          write what happens to barriers, copies and products in the last launch, as JSON\n"
        "  --count               count what the last launch did: bytes, bank conflicts, instructions, waits\n"
        "  --tensor-core-sums    wgmma rounds its sums as an H200 does, bit for bit (else only those of fp8, others as "
        "fp32)\n"
        "  --sms N               SMs of the modelled GPU (default %d; 1 for a timeline)\n"
        "  --shared KIB          shared memory that a CTA may have (default %d)\n"
        "\n"
        "exit status: 0 right, 1 wrong result, 2 bad usage, 3 no suitable device, a failed CUDA call or output that\n"
        "             could not be written, 4 the model found a bug in the kernel, 5 the model cannot judge the\n"
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

static int parse_file(const char *option, const char *value, const char **file, char message[OPTIONS_MESSAGE_SIZE]) {
    *file = value;
    if (!*value) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: the file name is empty", option);
    }
    return *value != 0;
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
static int parse_element(const char *text, int element[3], char message[OPTIONS_MESSAGE_SIZE]) {
    static const char *const names[] = {"--explain-element, row", "--explain-element, column", "--explain-element, k"};
    char copy[64];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    for (char *number; count < 3 && (number = strsep(&rest, ",")); count++) {
        if (!parse_int(names[count], number, 0, MAX_SIZE - 1, &element[count], message)) {
            return 0;
        }
    }
    if (rest || count < 2 || strlen(text) >= sizeof copy) {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "--explain-element: \"%.40s\" is not an element; R,C or R,C,K is accepted", text);
        return 0;
    }
    return 1;
}

/* One option with its value. Returns 1, or 0 and a message. */
static int take_option(int option, const char *value, Options *options, char message[OPTIONS_MESSAGE_SIZE]) {
    int index;
    switch (option) {
    case OPTION_M: return parse_int("--m", value, 1, MAX_SIZE, &options->shape.m, message);
    case OPTION_N: return parse_int("--n", value, 1, MAX_SIZE, &options->shape.n, message);
    case OPTION_K: return parse_int("--k", value, 1, MAX_SIZE, &options->shape.k, message);
    case OPTION_ON:
        index = parse_name("--on", value, place_names, ON_GPU, message);
        options->on = (Place)index;
        return index >= 0;
    case OPTION_SEED: return parse_number("--seed", value, 0, UINT64_MAX, &options->seed, message);
    case OPTION_CHECK: options->check = 1; return 1;
    case OPTION_NO_CHECK: options->check = 0; return 1;
    case OPTION_BENCH:
        options->bench = CHOICE_YES;
        return !value || parse_int("--bench", value, 1, MAX_ROUNDS, &options->rounds, message);
    case OPTION_NO_BENCH: options->bench = CHOICE_NO; return 1;
    case OPTION_DATA:
        index = parse_name("--data", value, data_names, 0, message);
        options->data = index < 0 ? 0 : 1u << index;
        options->data_given = 1;
        return index >= 0;
    case OPTION_PAD:
        if (!parse_int("--pad", value, 0, MAX_PAD, &options->shape.pad, message)) {
            return 0;
        }
        if (options->shape.pad % 8) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "--pad: %d is not a multiple of 8, as 16-byte aligned rows need",
                     options->shape.pad);
        }
        return options->shape.pad % 8 == 0;
    case OPTION_EXPERTS: return parse_int("--experts", value, 1, MAX_EXPERTS, &options->shape.experts, message);
    case OPTION_HEAD_SIZE:
        if (!parse_int("--head-size", value, 64, 128, &options->shape.heads.size, message)) {
            return 0;
        }
        if (options->shape.heads.size % 64) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "--head-size: %d is not accepted; 64 and 128 are",
                     options->shape.heads.size);
        }
        return options->shape.heads.size % 64 == 0;
    case OPTION_KV_HEADS: return parse_int("--kv-heads", value, 1, MAX_SIZE, &options->shape.heads.kv, message);
    case OPTION_BATCHES: return parse_int("--batches", value, 1, MAX_SIZE, &options->shape.heads.batches, message);
    case OPTION_CAUSAL: options->shape.heads.causal = 1; return 1;
    case OPTION_WINDOW: return parse_int("--window", value, 1, MAX_SIZE, &options->shape.heads.window, message);
    case OPTION_REPEAT: return parse_int("--repeat", value, 1, 1000000, &options->repeat, message);
    case OPTION_VARIANT: options->tuning.variant = value; return 1;
    case OPTION_TILE_GROUP: return parse_int("--tile-group", value, 1, MAX_SIZE, &options->tuning.tile_group, message);
    case OPTION_MEET:
        index = parse_name("--meet", value, answer_names, 0, message);
        options->tuning.meet = index == 0 ? CHOICE_YES : CHOICE_NO;
        return index >= 0;
    case OPTION_POLICY:
        index = parse_name("--policy", value, policy_names, 0, message);
        options->policy = (ModelPolicy)index;
        options->policy_given = 1;
        return index >= 0;
    case OPTION_SCHEDULE_SEED:
        return parse_number("--schedule-seed", value, 0, UINT64_MAX, &options->schedule_seed, message);
    case OPTION_SCHEDULES: return parse_int("--schedules", value, 1, 1000000, &options->schedules, message);
    case OPTION_BARRIERS: options->barriers = 1; return 1;
    case OPTION_STEPS: return parse_file("--steps", value, &options->steps, message);
    case OPTION_COUNT: options->count = 1; return 1;
    case OPTION_TENSOR_CORE_SUMS: options->tensor_core_sums = 1; return 1;
    case OPTION_SMS: options->sms_given = 1; return parse_int("--sms", value, 1, 1024, &options->sms, message);
    case OPTION_SHARED: return parse_int("--shared", value, 1, DEFAULT_MODEL_SHARED, &options->shared, message);
    case OPTION_EXPLAIN: options->explain = 1; return 1;
    case OPTION_EXPLAIN_ELEMENT:
        options->explain = options->explain_element = 1;
        return parse_element(value, options->element, message);
    case OPTION_TIMELINE:
        options->timeline = 1;
        return !value || parse_int("--timeline", value, 0, INT_MAX, &options->timeline_cta, message);
    case OPTION_TIMELINE_SVG: return parse_file("--timeline-svg", value, &options->timeline_svg, message);
    case OPTION_TRACE: return parse_file("--trace", value, &options->trace, message);
    case OPTION_TRACE_EVENTS: return parse_file("--trace-events", value, &options->trace_events, message);
    default: options->help = 1; return 1;
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

/* Combinations that make no sense. Returns 1, or 0 and a message. */
static int is_consistent(const Options *options, char message[OPTIONS_MESSAGE_SIZE]) {
    const char *fault = NULL;
    if (options->repeat > 1 && !options->check) {
        fault = "--repeat: it counts checked launches, and --no-check leaves none";
    } else if (options->explain && options->bench == CHOICE_YES) {
        fault = "--bench: there are no figures with --explain";
    } else if (options->explain && options_trace(options)) {
        fault = "--timeline, --trace: --explain records no launch: leave out one of them";
    } else if (options_trace(options) && options->bench == CHOICE_YES) {
        fault = "--timeline, --trace: a recorded launch is slower than others and is not timed: leave out --bench";
    } else if (options_trace(options) && (options->repeat > 1 || options->schedules > 1)) {
        fault = "--timeline, --trace: one launch is recorded, not several: leave out --repeat and --schedules";
    } else if (options->on == ON_MODEL && options->bench == CHOICE_YES) {
        fault = "--bench: only a GPU can be timed, not --on model";
    } else if (options->on == ON_GPU && options->count) {
        fault = "--count: only the CPU model counts, not --on gpu";
    } else if (options->on == ON_GPU && options->steps) {
        fault = "--steps: only the CPU model writes them, not --on gpu";
    } else if (options->on == ON_GPU && options->tensor_core_sums) {
        fault = "--tensor-core-sums: a GPU has no others; only the CPU model can choose, not --on gpu";
    } else if (options->data_given && options->data == 1u << DATA_INTEGERS && options->shape.k > MAX_EXACT_K) {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "--k: %d is too large for --data integers, which are exact in fp32 only up to k = %d",
                 options->shape.k, MAX_EXACT_K);
        return 0;
    }
    if (fault) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s", fault);
    }
    return !fault;
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
    int good = 1;
    optind = 0; /* from the start, also on a second call */
    opterr = 0;
    while (good && !options->help) {
        int option = getopt_long(argc, arguments, ":h", long_options, NULL);
        if (option == -1) {
            break;
        }
        const char *argument = arguments[optind > 0 ? optind - 1 : 0];
        if (option == ':') {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: its value is missing", argument);
            good = 0;
        } else if (option == '?' && optopt >= OPTION_M) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: this option takes no value", argument);
            good = 0;
        } else if (option == '?') {
            char letter[] = {'-', (char)optopt, 0};
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%.60s: unknown or ambiguous option; --help lists what is accepted",
                     optopt ? letter : argument);
            good = 0;
        } else {
            good = take_option(option, optarg, options, message);
            options->named |= option != OPTION_ON && option != OPTION_NO_BENCH;
        }
    }
    if (good && !options->help && optind < argc) { /* getopt_long() leaves the rest at the end */
        snprintf(message, OPTIONS_MESSAGE_SIZE, "\"%.60s\": not an option; --help lists what is accepted",
                 arguments[optind]);
        good = 0;
    }
    free(arguments);
    if (options_trace(options)) { /* one SM, so that one picture has all of a small problem */
        options->policy = options->policy_given ? options->policy : MODEL_EAGER;
        options->sms = options->sms_given ? options->sms : 1;
    }
    return good && (options->help || is_consistent(options, message));
}
