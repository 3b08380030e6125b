/* Does the command line take what is good, and refuse what is not with one line that names argument, value and what
 * would be accepted? tests/tools/program.t repeats the refusals with real programs. */
#include "harness/options.h"
#include "tap.h"

enum { MAX_ARGUMENTS = 16 };

/* Splits `line` at blanks and parses it; '' stands for an empty argument. Returns parse_options()'s answer. */
static int parse(const char *line, Options *options, char message[OPTIONS_MESSAGE_SIZE]) {
    static char text[512];
    char *argv[MAX_ARGUMENTS + 1] = {"program"};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word && argc < MAX_ARGUMENTS; word = strtok(NULL, " ")) {
        argv[argc++] = strcmp(word, "''") == 0 ? "" : word;
    }
    return parse_options(argc, argv, options, message);
}

typedef struct {
    const char *line, *argument, *accepted;
} Refusal;

/* What is accepted as a size. */
static char SIZES[32];

static const Refusal refusals[] = {
    {"--seed 18446744073709551616", "--seed", "0 to 18446744073709551615"},
    {"--on tpu", "tpu", "gpu or model"},
    {"--data random", "random", "integers, normal or zeros"},
    {"--policy greedy", "greedy", "eager, lazy, random or pct"},
    {"--bench=0", "--bench", "1 to 1000"},
    {"--sms 0", "--sms", "1 to 1024"},
    {"--shared 228", "--shared", "1 to 227"},
    {"--pad 4", "--pad", "multiples of 8 from 0"},
    {"--head-size 96", "--head-size", "multiples of 64 from 64 to 128"},
    {"--experts 0", "--experts", "1 to 1024"},
    {"--trace ''", "--trace", "empty"},
    {"--explain-element 5", "\"5\"", "R,C or R,C,K"},
    {"--explain-element 5,6,7,8", "5,6,7,8", "R,C or R,C,K"},
    {"--explain-element 5,", "column", "0 to"},
    {"--explain=yes", "--explain", "takes no value"},
    {"--explain --bench", "--bench", "--explain"},
    {"--m", "--m", "value is missing"},
    {"--frobnicate", "--frobnicate", "--help lists"},
    {"8192", "8192", "--help lists"},
    {"--m 5 -- --n", "--n", "--help lists"},
    {"--repeat 2 --no-check", "--repeat", "--no-check"},
    {"--on model --bench", "--bench", "GPU"},
    {"--data integers --k 1048576", "--k", "1048575"},
    {"--timeline=first", "--timeline", "0 to 2147483647"},
    {"--trace", "--trace", "value is missing"},
    {"--on gpu --steps f.json", "--steps", "CPU model"},
    {"--timeline --bench", "--timeline", "--bench"},
    {"--timeline --repeat 2", "--timeline", "--repeat"},
};

static void refuses(const Refusal *refusal) {
    Options options;
    char message[OPTIONS_MESSAGE_SIZE];
    int accepted = parse(refusal->line, &options, message);
    if (!ok(!accepted && strstr(message, refusal->argument) && strstr(message, refusal->accepted) &&
                !strchr(message, '\n'),
            "refuses %s", refusal->line)) {
        diag("%s: \"%s\"", accepted ? "accepted" : "refused", message);
    }
}

/* A size is decimal digits, not more than the largest. */
static void refuses_sizes(void) {
    static const char *const values[] = {"0",   "-1",  "+5",   "abc", "''",         "8k",
                                         "12x", "1.5", "0x10", "1e3", "2147483647", "18446744073709551617"};
    for (size_t i = 0; i < 3 * sizeof values / sizeof values[0]; i++) {
        static const char *const names[] = {"--m", "--n", "--k"};
        char line[100];
        snprintf(line, sizeof line, "%s %s", names[i % 3], values[i / 3]);
        refuses(&(Refusal){line, names[i % 3], SIZES});
    }
}

/* Parses a line that must be accepted. */
static Options accepts(const char *line) {
    Options options;
    char message[OPTIONS_MESSAGE_SIZE];
    if (!ok(parse(line, &options, message) && !*message, "accepts %s", *line ? line : "nothing")) {
        diag("\"%s\"", message);
    }
    return options;
}

static void accepts_good_lines(void) {
    Options options = accepts("");
    ok(options.shape.m == 0 && options.shape.n == 0 && options.shape.k == 0, "no size: the backend's");
    ok(options.on == ON_ANY && options.check && options.bench == CHOICE_DEFAULT && options.repeat == 1,
       "other defaults");
    ok(options.data == (1u << DATA_INTEGERS | 1u << DATA_NORMAL) && !options.data_given, "both kinds of data");
    ok(!options.named && !accepts("--on model --no-bench").named, "nothing is named that would be run alone");
    ok(accepts("--m 512").named && accepts("--seed 1").named && accepts("--on model --policy random").named,
       "an option that says what to run");

    char line[64];
    snprintf(line, sizeof line, "--m 1 --n %d --k 8192", MAX_SIZE);
    options = accepts(line);
    ok(options.shape.m == 1 && options.shape.n == MAX_SIZE && options.shape.k == 8192,
       "the sizes arrive, the largest too");
    options = accepts("--m=0007");
    is_int(options.shape.m, 7, "leading zeros are decimal");
    options = accepts("--m 5 --m 6");
    is_int(options.shape.m, 6, "the last of two counts");
    is_int(accepts("--on model").on, ON_MODEL, "--on model");
    options = accepts("--seed 18446744073709551615");
    ok(options.seed == UINT64_MAX, "the largest seed");
    is_int(accepts("--no-check --check").check, 1, "--check takes it back");
    options = accepts("--bench=7");
    ok(options.bench == CHOICE_YES && options.rounds == 7, "--bench=7");
    is_int(accepts("--no-bench").bench, CHOICE_NO, "--no-bench");
    options = accepts("--data zeros");
    ok(options.data == 1u << DATA_ZEROS && options.data_given, "--data zeros");
    is_int(accepts("--data integers --k 1048575").shape.k, 1048575, "the largest exact k");
    options = accepts("--policy pct --schedule-seed 9 --schedules 25 --barriers --count --sms 132 --shared 99");
    ok(options.policy == MODEL_PCT && options.schedule_seed == 9 && options.schedules == 25 && options.barriers &&
           options.count && options.sms == 132 && options.shared == 99,
       "the model's options");
    ok(accepts("--tensor-core-sums").tensor_core_sums, "--tensor-core-sums");
    options = accepts("--head-size 64 --kv-heads 2 --batches 3 --causal --window 5");
    ok(options.shape.heads.size == 64 && options.shape.heads.kv == 2 && options.shape.heads.batches == 3 &&
           options.shape.heads.causal && options.shape.heads.window == 5,
       "those of attention");
    ok(strcmp(accepts("--steps a.json").steps, "a.json") == 0, "--steps");
    options = accepts("--timeline");
    ok(options.timeline && options.timeline_cta == -1 && options_trace(&options), "--timeline");
    ok(options.policy == MODEL_EAGER && options.sms == 1, "... by default with eager on one SM");
    options = accepts("--timeline=7 --policy lazy --sms 3");
    is_int(options.timeline_cta, 7, "a CTA");
    ok(options.policy == MODEL_LAZY && options.sms == 3, "... with what is asked for");
    options = accepts("--timeline-svg a.svg --trace b.json --trace-events c.csv");
    ok(!options.timeline && strcmp(options.timeline_svg, "a.svg") == 0 && strcmp(options.trace, "b.json") == 0 &&
           strcmp(options.trace_events, "c.csv") == 0 && options_trace(&options),
       "the files of a recorded launch");
    options = accepts("--explain-element 130,77");
    ok(options.explain && options.explain_element && options.element[0] == 130 && options.element[1] == 77 &&
           options.element[2] == 0,
       "--explain-element 130,77");
    is_int(accepts("--explain-element 130,77,35").element[2], 35, "--explain-element 130,77,35");
    is_int(accepts("--help --m 0").help, 1, "--help ends the reading");
}

/* Every option that the text of --help names is one, and stands at the start of a line. */
static void help_is_true(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    print_usage(out, "NAME");
    fclose(out);
    contains(text, "usage: NAME", "--help shows the program's name");
    char names[] =
        "--m --n --k --on --data --seed --pad --experts --no-check --repeat --bench --no-bench --policy "
        "--help --sms --barriers --steps --schedule-seed --schedules --count --explain --explain-element --trace "
        "--timeline --timeline-svg --trace-events";
    for (const char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        contains(text, name, "--help explains it");
    }
    for (const char *at = strstr(text, "  --"); at; at = strstr(at + 1, "  --")) {
        char line[64];
        int length = (int)strcspn(at + 2, " [,=\n");
        snprintf(line, sizeof line, "%.*s", length, at + 2);
        Options options;
        char message[OPTIONS_MESSAGE_SIZE];
        parse(line, &options, message);
        ok(strstr(message, "unknown") == NULL, "%s, which --help names, is known", line);
    }
    free(text);
}

int main(void) {
    snprintf(SIZES, sizeof SIZES, "1 to %d is", MAX_SIZE);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        refuses(&refusals[i]);
    }
    refuses_sizes();
    accepts_good_lines();
    help_is_true();
    return tap_done();
}
