/* bench.c - the measuring program: what a plan names, on a GPU, rows of a group in turns.
 *
 *     bench [PLAN] [options]        PLAN: a file of tests/bench/plans, or a path with a slash; default: ladder
 *
 * make bench, make limits and make experiments call it. All rows of a group at a shape take part in the
 * same rounds, with a pause before each sample (harness/timing.h). Every result is checked before it is timed, and
 * after. What is wrong, hangs, fails, refuses the shape or could not be built gets no figure and is named at the end;
 * the exit status is 1 then. The work is done in a child process, which writes the CSV as it goes. If a launch fails,
 * or nothing moves any more and SIGALRM ends the child, the parent strikes out the row that was running, and starts the
 * next child at the same group.
 *
 * A plan has one row a line, and lines that begin with # are remarks:
 *
 *     group | label | what runs | options | shapes
 *
 * What runs: NN, a chapter as it is; NN.K, step K of one; NN_name, its experiments/name.patch or exercises/name.patch
 * applied to it; cublas; cublaslt, the best of its proposals; cublas fp8 and cublaslt fp8, the first and the best of
 * its proposals for e4m3 with scales for blocks; wgmma, mma.sync or copy (alone.cu), alone on every SM; peer, peer2
 * ... peer8, a program to compare with, whose name is the label: without a row where it is not linked.
 *
 * Options are those of a chapter's program; `sustained`: without pauses, for some seconds; and `planned`: the likeliest
 * variants are measured first, and the fastest is timed.
 *
 * A shape is MxNxK or one size; none: those of the line above; `-` for what runs alone. A row is compared with the last
 * one above it in its group whose label is marked by `= `, or with the first (tests/bench/figures).
 * Up to 1024 rows, weights that are not bf16 are in as many copies as exceed three times the L2, and launches take them
 * in turns: so each launch reads them from memory.
 *
 * A peer is one object file: a source that includes common/gemm.h and defines
 *
 *     extern "C" const Chapter gpu_chapter_peer7 = {.name = "its name", .adds = "", .needs = NEEDS_SM90A, .launch =
 *     its_launch};
 *
 * (or gpu_chapter_peer8, for the plan fp8), compiled by nvcc with -Icommon and linked: `make bench LDFLAGS=peer.o`.
 * Those of `make bench PEERS=1` are in tests/bench/peers. */
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "harness/report.h"

static void print_bench_usage(void) {
    printf("usage: bench [PLAN] [options]    PLAN: ladder (default), fp8, w4a8, limits,\n"
           "                                 experiments, or a file\n"
           "  --only LIST      groups of the plan, separated by commas (default: all)\n"
           "  --kernels LIST   rows by their labels, separated by commas (default: all)\n"
           "  --shapes LIST    MxNxK,... or single sizes for cubes (default: the plan's)\n"
           "  --rounds R       samples of each row (default %d)\n"
           "  --pause MS       before each sample (default %d)\n"
           "  --csv FILE       append the rows there (default: tests/bench/results/<gpu>_<date>_<plan>.csv)\n"
           "  --help           this text\n"
           "COMMIT in the environment names the commit in the CSV.\n",
           DEFAULT_ROUNDS, PAUSE_MS);
}

/* Children, one after the other, until all groups are done. Returns 0, or the exit status of what ends it early. */
static int run_children(Session *session) {
    for (int children = 0;; children++) {
        int status;
        session->at_row = -1;
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit((int)measure_all(session, children > 0));
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            perror("bench: the child");
            return GEMM_DEVICE;
        }
        if (WIFEXITED(status) && (!session->started || WEXITSTATUS(status) == GEMM_OK)) {
            return WEXITSTATUS(status);
        }
        if (session->at_row < 0) { /* no row is at fault; for example, memory was short */
            fprintf(stderr, "bench: broken off while no row was under way\n");
            return GEMM_DEVICE;
        }
        const Group *g = &session->group[session->at_group];
        State state = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? HANG : ERROR;
        for (int place = 0; place < g->rows; place++) {
            if (g->row[place] == session->at_row) {
                strike(session, session->at_group, place, state);
            }
        }
        session->row[session->at_row].struck = state;
    }
}

/* Names what has no figure. Returns whether any of it is a failure. */
static int print_failures(const Session *session) {
    int failures = 0, named = 0;
    printf("%d groups and shapes; without a figure:", session->groups);
    for (int g = 0; g < session->groups; g++) {
        for (int place = 0; place < session->group[g].rows; place++) {
            const Row *row = &session->row[session->group[g].row[place]];
            State state = session->group[g].outcome[place];
            char shape[48];
            if (state != TIMED) {
                printf("%s %s (%s, %s: %s)", named++ ? "," : "", row->label, row->group,
                       shape_text(&session->group[g].shape, shape), state_text[state]);
            }
            failures += state >= WRONG || state == NOT_RUN;
        }
    }
    printf("%s\n", named ? "" : " none");
    return failures > 0;
}

/* Returns 1; 0 and one line on stderr if something is not accepted; -1 for --help. */
static int parse_arguments(int argc, char *argv[], Session *session) {
    static const struct option long_options[] = {
        {"only", required_argument, NULL, 'o'},   {"kernels", required_argument, NULL, 'k'},
        {"shapes", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'},
        {"pause", required_argument, NULL, 'w'},  {"csv", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    char message[OPTIONS_MESSAGE_SIZE] = "";
    uint64_t rounds = DEFAULT_ROUNDS, pause_ms = PAUSE_MS;
    int option;
    opterr = 0;
    while (!message[0] && (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        switch (option) {
        case 'o': session->only = optarg; break;
        case 'k': session->kernels = optarg; break;
        case 's': session->shapes = optarg; break;
        case 'r': parse_number("--rounds", optarg, 1, MAX_ROUNDS, &rounds, message); break;
        case 'w': parse_number("--pause", optarg, 0, 10000, &pause_ms, message); break;
        case 'c': session->csv = optarg; break;
        case 'h': return -1;
        default:
            snprintf(message, sizeof message, "%.60s: %s", argv[optind - 1],
                     option == ':' ? "its value is missing" : "not accepted; --help lists what is");
        }
    }
    if (!message[0] && optind + 1 < argc) {
        snprintf(message, sizeof message, "\"%.60s\": one plan is accepted; --help lists the options",
                 argv[optind + 1]);
    }
    session->plan = optind < argc ? argv[optind] : "ladder";
    session->commit = commit_name();
    session->rounds = (int)rounds;
    session->pause_ms = (int)pause_ms;
    today(session->date);
    if (message[0]) {
        fprintf(stderr, "bench: %s\n", message);
    }
    return !message[0];
}

int main(int argc, char *argv[]) {
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a child has said is not lost with it */
    Session *session = mmap(NULL, sizeof *session, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session == MAP_FAILED) {
        perror("bench: mmap");
        return GEMM_DEVICE;
    }
    int go = parse_arguments(argc, argv, session);
    if (go < 0) {
        print_bench_usage();
        return GEMM_OK;
    }
    if (!go || !plan_read(session)) {
        return GEMM_USAGE;
    }
    int status = run_children(session);
    if (!session->started) {
        return status;
    }
    int failed = print_failures(session);
    printf("appended to %s; make figures puts it into the texts\n", session->csv);
    return status != GEMM_OK ? status : failed ? GEMM_WRONG : GEMM_OK;
}
