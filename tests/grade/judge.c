/* judge.c - runs a submission in a process of its own (subject.c) and compares what comes back. Called by grade.
 *
 *     judge SUBJECT model|gpu SECONDS MEGABYTES KIND <PLAN
 *
 * KIND is what the submission has to multiply: bf16, bias_gelu, fp8 or w4a8 of one expert.
 * A line of the plan is a launch:
 *
 *     M N K PAD SMS DATA SEED POLICY SCHEDULE_SEED COUNT TIMED VARIANT TILE_GROUP MEET
 *
 * DATA, POLICY and MEET are numbers, VARIANT "-" is none. Of each it prints "INDEX KEY VALUE" lines, the value with \n for a
 * new line: first `outcome`, then what there is of `report` (a rule), `text` (the first report), `wrong` (what is wrong with
 * C), `said` (on stdout and stderr), `count NAME` and `ms`. Outcomes:
 *
 *     right      all of C is right, nothing else was touched
 *     wrong
 *     refused    launch() said so
 *     died       the process has ended, or answered out of turn
 *     late       it took longer than SECONDS of CPU time, or six times that by the clock */
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../common/harness/problem.h"

#include "../../common/model/model_host.h"
#include "protocol.h"

enum {
    SAID_SIZE = 4096,
    LINE_SIZE = 512,
    WALL_FACTOR = 6,
    POLL_MS = 50,
    CPU_SECONDS = 600,
    MOST_LATE = 2,
    SAMPLES = 2000
};

static struct {
    const char *program, *place;
    int seconds, megabytes, gpu;
    pid_t pid; /* 0: none */
    int to, from, log;
    char said[SAID_SIZE];
    size_t said_bytes;
} subject;

static void must(int yes, const char *what) {
    if (!yes) {
        fprintf(stderr, "judge: %s\n", what);
        exit(GEMM_DEVICE);
    }
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

static void limit(int resource, rlim_t most) {
    struct rlimit r = {most, most};
    must(setrlimit(resource, &r) == 0, "setrlimit failed");
}

static void become_subject(int requests, int replies, int log) {
    char *const arguments[] = {(char *)subject.program, (char *)subject.place, NULL};
    char *const nothing[] = {NULL};
    int null = fcntl(log, F_DUPFD, 10);
    requests = fcntl(requests, F_DUPFD, 10);
    replies = fcntl(replies, F_DUPFD, 10);
    must(setsid() >= 0 && dup2(requests, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 &&
             dup2(replies, REPLY_FD) == REPLY_FD,
         "the subject's files could not be set up");
    for (int fd = REPLY_FD + 1; fd < 64; fd++) {
        close(fd);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, CPU_SECONDS); /* if nobody is left to stop it */
    if (!subject.gpu) {
        limit(RLIMIT_DATA, (rlim_t)subject.megabytes << 20);
        limit(RLIMIT_FSIZE, 0);
    }
    execve(subject.program, arguments, subject.gpu ? environ : nothing);
    _exit(GEMM_DEVICE);
}

static void start(void) {
    int request[2], reply[2], log[2];
    must(pipe(request) == 0 && pipe(reply) == 0 && pipe(log) == 0, "no pipe");
    fflush(stdout);
    subject.pid = fork();
    must(subject.pid >= 0, "no process");
    if (subject.pid == 0) {
        become_subject(request[0], reply[1], log[1]);
    }
    close(request[0]);
    close(reply[1]);
    close(log[1]);
    subject.to = request[1];
    subject.from = reply[0];
    subject.log = log[0];
}

/* Ends the subject and what it may have started; `by_itself`: it is about to. Returns its status. */
static int stop(int by_itself) {
    int status = 0;
    for (int i = 0; i < POLL_MS && by_itself && waitpid(subject.pid, NULL, WNOHANG | WNOWAIT) == 0; i++) {
        usleep(1000);
    }
    kill(-subject.pid, SIGKILL);
    kill(subject.pid, SIGKILL);
    waitpid(subject.pid, &status, 0);
    close(subject.to);
    close(subject.from);
    close(subject.log);
    subject.pid = 0;
    return status;
}

static double seconds_of(clockid_t clock) {
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_seconds(void) {
    clockid_t clock;
    return clock_getcpuclockid(subject.pid, &clock) == 0 ? seconds_of(clock) : 0;
}

/* Keeps the beginning of what it says, and takes the rest away. */
static int hear(void) {
    char text[4096];
    ssize_t n = read(subject.log, text, sizeof text);
    size_t room = sizeof subject.said - 1 - subject.said_bytes;
    size_t take = n <= 0 ? 0 : (size_t)n < room ? (size_t)n : room;
    memcpy(subject.said + subject.said_bytes, text, take);
    subject.said_bytes += take;
    subject.said[subject.said_bytes] = '\0';
    return n > 0;
}

typedef enum { CAME, ENDED, LATE } Wait;

/* Reads an answer of so many bytes. */
static Wait receive(void *data, size_t bytes, double cpu_end, double wall_end) {
    size_t got = 0;
    int hears = 1;
    while (got < bytes) {
        struct pollfd ready[2] = {{subject.from, POLLIN, 0}, {hears ? subject.log : -1, POLLIN, 0}};
        poll(ready, 2, POLL_MS);
        if (ready[1].revents) {
            hears = hear();
        }
        if (ready[0].revents) {
            ssize_t n = read(subject.from, (char *)data + got, bytes - got);
            if (n <= 0) {
                while (hears && hear()) {
                }
                return ENDED;
            }
            got += (size_t)n;
        } else if (cpu_seconds() > cpu_end || seconds_of(CLOCK_MONOTONIC) > wall_end) {
            return LATE;
        }
    }
    return CAME;
}

/* ---- what is said about a launch --------------------------------------------------------------------------------- */

static void tell(int index, const char *key, const char *value) {
    printf("%d %s ", index, key);
    for (; *value; value++) {
        if (*value == '\n') {
            fputs("\\n", stdout);
        } else {
            putchar(isprint((unsigned char)*value) ? *value : '?');
        }
    }
    putchar('\n');
}

static void tell_end(int index, const char *outcome, int status) {
    char text[128] = "";
    tell(index, "outcome", outcome);
    if (WIFSIGNALED(status) && strcmp(outcome, "died") == 0) {
        snprintf(text, sizeof text, "killed by signal %d: %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WIFEXITED(status)) {
        snprintf(text, sizeof text, "exit status %d\n", WEXITSTATUS(status));
    }
    size_t room = sizeof subject.said - 1 - subject.said_bytes;
    snprintf(subject.said + subject.said_bytes, room, "%s", text);
    tell(index, "said", subject.said);
}

static void tell_wrong(int index, const Problem *problem, const Tally *tally) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    must(memory != NULL, "out of memory");
    problem_explain(problem, tally, memory);
    fclose(memory);
    tell(index, "wrong", text);
    free(text);
}

/* A large C: elements at random places instead of all. Returns how many are right, the first wrong one in `text`. */
static int right_in_sample(const Problem *problem, const Request *request, char *text, size_t size) {
    const Gemm *g = &problem->gemm;
    ResultView view = problem->view;
    uint64_t draw = 0;
    int right = 0;
    DataSource source = {request->kind, request->data, request->seed, g->k};
    view.exact = kind_is_exact(request->kind, request->data);
    view.eps = kind_eps(request->kind, g->k);
    must(getrandom(&draw, sizeof draw, 0) == sizeof draw, "no random numbers");
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t row = mix64(draw++) % (uint64_t)g->m, column = mix64(draw++) % (uint64_t)g->n;
        double expected, magnitude;
        source_c(&source, g, 0, (int)row, (int)column, &expected, &magnitude);
        bf16 got = g->c[row * (uint64_t)g->ldc + column];
        if (element_error(&view, got, expected) <= allowed_error(&view, expected, magnitude)) {
            right++;
        } else if (right == i) {
            snprintf(text, size, "WRONG    C(%d,%d) is %g, expected is %g\n", (int)row, (int)column, bf16_value(got),
                     expected);
        }
    }
    return right;
}

static void tell_reply(int index, const Request *request, const Reply *reply, Problem *problem) {
    static const char *const facts[FACT_KINDS] = {
#define FACT(id, name) name,
        FACTS(FACT)
#undef FACT
    };
    static const char *const counts[COUNT_KINDS] = {
#define COUNT(id, name) #id,
        MODEL_COUNTS(COUNT)
#undef COUNT
    };
    char sample[128] = "";
    Tally tally;
    int right;
    if (request->timed) {
        right = right_in_sample(problem, request, sample, sizeof sample) == SAMPLES && reply->workspace_left == 0;
    } else {
        must(problem_fill(problem, request->data) == GEMM_OK && problem_check(problem, &tally) == GEMM_OK,
             "the result could not be compared");
        tally.workspace_left = reply->workspace_left;
        right = tally_is_right(&tally);
    }
    int refused = reply->status != GEMM_OK && reply->status != GEMM_MODEL_BUG;
    tell(index, "outcome", refused ? "refused" : right ? "right" : "wrong");
    for (int i = 0; i < reply->reports && i < RULES_KEPT; i++) {
        const char *rule = model_rule_name(reply->rule[i]);
        tell(index, "report", rule ? rule : "?");
    }
    if (reply->reports > 0) {
        tell(index, "text", reply->text);
    }
    if (refused) {
        tell(index, "said", subject.said);
    } else if (!right && request->timed) {
        tell(index, "wrong", sample);
    } else if (!right) {
        tell_wrong(index, problem, &tally);
    }
    for (int i = 0; i < COUNT_KINDS && request->count; i++) {
        printf("%d count %s %llu\n", index, counts[i], reply->count[i]);
    }
    for (int i = 0; i < FACT_KINDS && request->count; i++) {
        printf("%d count %s %llu\n", index, facts[i], reply->fact[i]);
    }
    if (request->timed) {
        printf("%d ms %.6f\n", index, reply->ms);
    }
}

/* ---- a launch ---------------------------------------------------------------------------------------------------- */

static void run(int index, const Request *request) {
    static Reply reply;
    static int late;
    DeviceInfo device = {.sm_count = request->sms, .free_bytes = SIZE_MAX};
    Shape shape = {request->m, request->n, request->k, request->pad, request->kind, 1};
    Problem problem;
    if (late >= MOST_LATE) {
        tell(index, "outcome", "late");
        tell(index, "said", "not run: others before it were late\n");
        return;
    }
    must(problem_open(&problem, model_backend(), &device, shape, request->seed) == GEMM_OK, "no memory");
    if (subject.pid == 0) {
        start();
    }
    subject.said_bytes = 0;
    subject.said[0] = '\0';
    double cpu_end = cpu_seconds() + subject.seconds;
    double wall_end = seconds_of(CLOCK_MONOTONIC) + WALL_FACTOR * subject.seconds;
    Wait wait = write(subject.to, request, sizeof *request) == sizeof *request ? CAME : ENDED;
    wait = wait == CAME ? receive(&reply, sizeof reply, cpu_end, wall_end) : wait;
    int in_turn = wait == CAME && reply.nonce == request->nonce && reply.elements == problem.block.bytes / sizeof(bf16);
    wait = in_turn ? receive(problem.block.data, problem.block.bytes, cpu_end, wall_end) : wait;
    reply.text[sizeof reply.text - 1] = '\0';
    if (wait == LATE) {
        late++;
        tell_end(index, "late", stop(0));
    } else if (wait == ENDED || !in_turn) {
        tell_end(index, "died", stop(wait == ENDED));
    } else {
        tell_reply(index, request, &reply, &problem);
        late += reply.reports > 0 && reply.rule[0] == RULE_ENDLESS;
        if (subject.gpu && reply.status != GEMM_OK) {
            stop(0); /* the error stays with the process */
        }
    }
    problem_close(&problem);
}

static int read_line(const char *line, Kind kind, Request *request) {
    int data, policy, meet;
    unsigned long long seed, schedule_seed;
    memset(request, 0, sizeof *request);
    request->kind = kind;
    int fields = sscanf(line, "%d %d %d %d %d %d %llu %d %llu %d %d %63s %d %d", &request->m, &request->n, &request->k,
                        &request->pad, &request->sms, &data, &seed, &policy, &schedule_seed, &request->count,
                        &request->timed, request->variant, &request->tile_group, &meet);
    request->patience = (subject.seconds + 1) / 2;
    request->data = (DataKind)data;
    request->seed = seed;
    request->policy = (ModelPolicy)policy;
    request->schedule_seed = schedule_seed;
    request->meet = (Choice)meet;
    if (strcmp(request->variant, "-") == 0) {
        request->variant[0] = '\0';
    }
    return fields == 14 && getrandom(&request->nonce, sizeof request->nonce, 0) == sizeof request->nonce;
}

int main(int argc, char *argv[]) {
    char line[LINE_SIZE];
    Kind kind = KIND_BF16;
    while (argc == 6 && kind < KINDS && strcmp(kind_names[kind], argv[5]) != 0) {
        kind++;
    }
    if (argc != 6 || kind == KINDS) {
        fprintf(stderr, "judge SUBJECT model|gpu SECONDS MEGABYTES KIND <PLAN; started by tests/grade/grade\n");
        return GEMM_USAGE;
    }
    subject.program = argv[1];
    subject.place = argv[2];
    subject.gpu = strcmp(argv[2], "gpu") == 0;
    subject.seconds = atoi(argv[3]);
    subject.megabytes = atoi(argv[4]);
    signal(SIGPIPE, SIG_IGN);
    for (int index = 0; fgets(line, sizeof line, stdin); index++) {
        Request request;
        must(read_line(line, kind, &request), "a line of the plan is not as it should be");
        run(index, &request);
    }
    if (subject.pid != 0) {
        stop(0);
    }
    return GEMM_OK;
}
