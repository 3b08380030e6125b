/* bench.c - the measuring program: what a plan names, on a GPU, rows of a group in turns.
 *
 *     bench [PLAN] [options]        PLAN: a file of tests/bench/plans, or a path with a slash; default: ladder
 *
 * make bench, make limits and make experiments call it. All rows of a group at a shape take part in the
 * same rounds, with a pause before each sample (harness/timing.h). Every result is checked before it is timed, and
 * after. What is wrong, hangs, fails, refuses the shape or could not be built gets no figure and is named at the end;
 * the exit status is 1 then. The work is done in a child process, which writes the CSV as it goes; the parent kills it
 * where nothing moves any more, strikes out the row that was running, and starts the next child where the last one was.
 *
 * A plan has one row a line, and lines that begin with # are remarks:
 *
 *     group | label | what runs | options | shapes
 *
 * What runs: NN, a chapter as it is; NN.K, step K of one; NN_name, its experiments/name.patch or exercises/name.patch
 * applied to it; cublas; cublaslt, the best of its proposals; cublas fp8 and cublaslt fp8, the first and the best of
 * its proposals for e4m3 with scales for blocks; wgmma, mma.sync or copy (alone.h), alone on every SM; peers, each
 * program to compare with that is linked and of the group's kind.
 *
 * Options are those of a chapter's program; `sustained`: without pauses, for some seconds; and `planned`: the likeliest
 * variants are measured first, and the fastest is timed.
 *
 * A shape is MxNxK or one size; none: those of the line above; `-` for what runs alone. A row is compared with the last
 * one above it in its group whose label is marked by `= `, or with the first (tests/bench/figures).
 * The groups ladder, fp8 and w4a8 have the CSV's columns of kernels, other groups those of variants. In the group
 * survey the variant that a chapter chose stands in place of the clock.
 * Up to 1024 rows, weights that are not bf16 lie in as many copies as exceed three times the L2, and launches take them
 * in
 * turns: so each launch reads them from memory.
 *
 * A peer is one object file: a source that includes common/gemm.h and defines
 *
 *     extern "C" const Chapter gpu_chapter_peer7 = {.name = "its name", .adds = "", .needs = NEEDS_SM90A, .launch =
 *     its_launch};
 *
 * (or gpu_chapter_peer8), compiled by nvcc with -Icommon and linked: `make bench LDFLAGS=peer.o`. Those of `make bench
 * PEERS=1` are in tests/bench/peers. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "harness/report.h"

enum {
    PATIENCE_S = 30, /* nothing moves for so long: it hangs */
};

static void print_bench_usage(FILE *out) {
    fprintf(out,
            "usage: bench [PLAN] [options]    PLAN: ladder (default), fp8, w4a8, limits,\n"
            "                                 experiments, or a file\n"
            "  --only LIST      groups of the plan, separated by commas (default: all)\n"
            "  --kernels LIST   rows by their labels, separated by commas (default: all)\n"
            "  --shapes LIST    MxNxK,... or single sizes for cubes (default: the plan's)\n"
            "  --rounds R       samples of each row (default %d)\n"
            "  --pause MS       before each sample (default %d)\n"
            "  --csv FILE       append the rows there (default: tests/bench/results/<gpu>_<date>_<plan>.csv)\n"
            "  --list           say what would run, and about how long\n"
            "  --help           this text\n"
            "COMMIT in the environment names the commit in the CSV.\n",
            DEFAULT_ROUNDS, PAUSE_MS);
}

/* ---- the child's keeper ---- */

/* Waits for the child; kills it if it stands still. Returns its wait status, or -1: it stood still. */
static int wait_for(const Session *session, pid_t pid) {
    const Shared *shared = session->shared;
    unsigned seen = shared->beat;
    double since = seconds_now();
    for (;;) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            return status;
        }
        poll(NULL, 0, 20);
        double now = seconds_now(); /* before the beat: a beat that comes in between is none too few */
        if (shared->beat != seen) {
            seen = shared->beat;
            since = seconds_now();
        } else if (now - since > PATIENCE_S * (shared->started ? 1 : 4)) { /* libraries may load slowly */
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            return -1;
        }
    }
}

static pid_t start_child(Session *session, int quiet) {
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? (int)measure_all(session, quiet) : GEMM_DEVICE);
    }
    return pid;
}

/* Children, one after the other, until all groups are done. Returns 0, or the exit status of what ends it early. */
static int run_children(Session *session) {
    Shared *shared = session->shared;
    for (int children = 0;; children++) {
        shared->group = shared->row = -1;
        pid_t pid = start_child(session, children > 0);
        if (pid < 0) {
            perror("bench: fork");
            return GEMM_DEVICE;
        }
        int status = wait_for(session, pid), row = shared->row, group = shared->group;
        int ended = status >= 0 && WIFEXITED(status);
        if (ended && WEXITSTATUS(status) == GEMM_OK) {
            return 0;
        }
        if (group < 0) {
            if (!ended) {
                fprintf(stderr, "bench: broken off before the first group\n");
            }
            return ended ? WEXITSTATUS(status) : GEMM_DEVICE;
        }
        const Group *g = &session->plan.group[group];
        State state = status < 0 ? HANG : ERROR;
        for (int place = 0; place < g->rows; place++) {
            if (g->row[place] == row || row < 0) { /* no row's: without memory, say */
                strike(session, group, place, state);
            }
        }
        if (row >= 0) {
            shared->struck[row] = state;
        } else {
            shared->done[group] = 1;
        }
    }
}

/* ---- what it came to ---- */

/* Names what has no figure. Returns whether any of it is a failure. */
static int print_failures(const Session *session) {
    int failures = 0, named = 0;
    printf("%d groups and shapes; without a figure:", session->plan.groups);
    for (int g = 0; g < session->plan.groups; g++) {
        for (int place = 0; place < session->plan.group[g].rows; place++) {
            const Row *row = &session->plan.row[session->plan.group[g].row[place]];
            State state = session->shared->outcome[g][place];
            char shape[48];
            if (state != TIMED) {
                printf("%s %s (%s, %s: %s)", named++ ? "," : "", row->label, row->group,
                       shape_text(&session->plan.group[g].shape, shape), state_text[state]);
            }
            failures += state >= WRONG || state == NOT_RUN;
        }
    }
    printf("%s\n", named ? "" : " none");
    return failures > 0;
}

static void print_list(const Session *session) {
    const BenchRows *plan = &session->plan;
    double seconds = 0;
    for (int g = 0; g < plan->groups; g++) {
        char shape[48];
        seconds += group_seconds(session, g);
        printf("%s, %s, %.0f s:", plan->row[plan->group[g].row[0]].group, shape_text(&plan->group[g].shape, shape),
               group_seconds(session, g));
        for (int place = 0; place < plan->group[g].rows; place++) {
            const Row *row = &plan->row[plan->group[g].row[place]];
            int built = row->what != RUN_CHAPTER || row->chapter;
            printf("%s %s%s", place ? "," : "", row->label, built ? "" : " (not built)");
        }
        putchar('\n');
    }
    printf("about %.0f seconds\n", seconds);
}

/* ---- arguments ---- */

typedef enum { GO, GO_LIST, GO_HELP, GO_NOWHERE } Way;

static Way parse_arguments(int argc, char *argv[], Session *session, Wanted *wanted) {
    static const struct option long_options[] = {
        {"only", required_argument, NULL, 'o'},
        {"kernels", required_argument, NULL, 'k'},
        {"shapes", required_argument, NULL, 's'},
        {"rounds", required_argument, NULL, 'r'},
        {"pause", required_argument, NULL, 'w'},
        {"csv", required_argument, NULL, 'c'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    char message[OPTIONS_MESSAGE_SIZE] = "";
    uint64_t number = 0;
    int option, good = 1;
    Way way = GO;
    *wanted = (Wanted){.name = "ladder"};
    session->rounds = DEFAULT_ROUNDS;
    session->pause_ms = PAUSE_MS;
    session->commit = commit_name();
    opterr = 0;
    while (good && (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        switch (option) {
        case 'o': wanted->only = optarg; break;
        case 'k': wanted->kernels = optarg; break;
        case 's': wanted->shapes = optarg; break;
        case 'r':
            good = parse_number("--rounds", optarg, 1, MAX_ROUNDS, &number, message);
            session->rounds = (int)number;
            break;
        case 'w':
            good = parse_number("--pause", optarg, 0, 10000, &number, message);
            session->pause_ms = (int)number;
            break;
        case 'c': session->csv_path = optarg; break;
        case 'l': way = GO_LIST; break;
        case 'h': return GO_HELP;
        default:
            snprintf(message, sizeof message, "%.60s: %s", argv[optind - 1],
                     option == ':' ? "its value is missing" : "not accepted; --help lists what is");
            good = 0;
        }
    }
    if (good && optind < argc) {
        wanted->name = argv[optind++];
    }
    if (good && optind < argc) {
        snprintf(message, sizeof message, "\"%.60s\": one plan is accepted; --help lists the options", argv[optind]);
        good = 0;
    }
    session->plan_name = wanted->name;
    if (!good) {
        fprintf(stderr, "bench: %s\n", message);
    }
    return good ? way : GO_NOWHERE;
}

int main(int argc, char *argv[]) {
    static Session session;
    Wanted wanted;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a child has said is not lost with it */
    Way way = parse_arguments(argc, argv, &session, &wanted);
    if (way == GO_HELP) {
        print_bench_usage(stdout);
        return GEMM_OK;
    }
    if (way == GO_NOWHERE || !plan_read(&wanted, &session.plan)) {
        return GEMM_USAGE;
    }
    if (way == GO_LIST) {
        print_list(&session);
        return GEMM_OK;
    }
    session.shared = mmap(NULL, sizeof *session.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session.shared == MAP_FAILED) {
        perror("bench: mmap");
        return GEMM_DEVICE;
    }
    today(session.date);
    session.begin_s = seconds_now();
    int status = run_children(&session);
    if (!session.shared->started) {
        return status;
    }
    int failed = print_failures(&session);
    printf("%.0f seconds; appended to %s; make figures puts it into the texts\n", seconds_now() - session.begin_s,
           session.csv_path ? session.csv_path : session.shared->csv_path);
    return status != GEMM_OK ? status : failed ? GEMM_WRONG : GEMM_OK;
}
