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

/* What a line makes of a member of Options, where it is not just the number that it says. Every test that runs a
 * program would see that. */
#define AT(member) offsetof(Options, member)
static const struct {
    const char *line;
    size_t at;
    int value;
} taken[] = {
    {"--k 2147418112", AT(shape.k), MAX_SIZE},
    {"--m=0007", AT(shape.m), 7}, /* decimal */
    {"--m 5 --m 6", AT(shape.m), 6},
    {"--no-check --check", AT(check), 1},
    {"--bench=7", AT(rounds), 7},
    {"--data integers --k 1048575", AT(shape.k), 1048575}, /* the largest that is exact */
    {"--timeline", AT(policy), MODEL_EAGER},
    {"--timeline", AT(sms), 1},
    {"--timeline=7 --policy lazy --sms 3", AT(policy), MODEL_LAZY},
    {"--timeline=7 --policy lazy --sms 3", AT(sms), 3},
    {"--explain-element 130,77", AT(element[2]), 0},
    {"--head-size 64 --kv-heads 2 --batches 3 --causal --window 5", AT(shape.heads.window), 5},
    {"--help --m 0", AT(help), 1}, /* ends the reading */
};

static void accepts_good_lines(void) {
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        Options options = accepts(taken[i].line);
        is_int(*(int *)(void *)((char *)&options + taken[i].at), taken[i].value, "... and takes it");
    }
    Options options = accepts("");
    ok(options.shape.m == 0 && options.shape.n == 0 && options.shape.k == 0, "no size: the backend's");
    ok(options.on == ON_ANY && options.check && options.bench == CHOICE_DEFAULT && options.repeat == 1,
       "other defaults");
    ok(options.data == (1u << DATA_INTEGERS | 1u << DATA_NORMAL) && !options.data_given, "both kinds of data");
    ok(!options.named && !accepts("--on model --no-bench").named, "nothing is named that would be run alone");
    ok(accepts("--m 512").named && accepts("--seed 1").named && accepts("--on model --policy random").named,
       "an option that says what to run");
    ok(accepts("--seed 18446744073709551615").seed == UINT64_MAX, "the largest seed");
    options = accepts("--timeline-svg a.svg --trace b.json --trace-events c.csv");
    ok(!options.timeline && strcmp(options.trace, "b.json") == 0 && options_trace(&options),
       "the files of a recorded launch");
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
