/* 12_several_gpus_ranks - the ways of ways.h, one process for each GPU of this host, without MPI.
 *
 *     beyond/12_several_gpus/12_several_gpus_ranks --ranks 2 [--m M --n N --k K] [--pattern NAME] [--csv FILE]
 *
 * Where a process ends, by itself or killed, the first one ends the others: they would wait for its flags for ever. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group.h"

enum { MOST = 8, MESSAGE = 1024, REFUSED = 2 };

/* Memory of all processes. */
typedef struct {
    atomic_int arrived, rounds; /* of the gather that is going on; those that are complete */
    char message[MOST][MESSAGE];
} Board;
static Board *board;

static const char *group_usage(void) { return "beyond/12_several_gpus/12_several_gpus_ranks --ranks 2"; }

/* The process that has started the others waits for them. The first that fails ends all. */
static void watch(const pid_t *process) {
    int left = group_count, result = 0, how;
    while (left > 0) {
        pid_t ended = waitpid(-1, &how, 0);
        int rank = 0;
        while (rank < group_count && process[rank] != ended) {
            rank++;
        }
        if (rank == group_count) {
            continue;
        }
        left--;
        if (how == 0 || result != 0) {
            continue;
        }
        result = WIFEXITED(how) ? WEXITSTATUS(how) : 3;
        if (WIFSIGNALED(how)) {
            fprintf(stderr, "rank %d was ended by signal %d: the other ranks are ended, too\n", rank, WTERMSIG(how));
        }
        for (int other = 0; other < group_count; other++) {
            if (other != rank) {
                kill(process[other], SIGKILL);
            }
        }
    }
    exit(result);
}

static void group_start(int *argc, char **argv) {
    const char *text = NULL;
    group_count = 2;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--ranks") == 0) {
            text = i + 1 < *argc ? argv[i + 1] : "";
            int taken = i + 1 < *argc ? 2 : 1;
            memmove(&argv[i], &argv[i + taken], (size_t)(*argc - i - taken + 1) * sizeof *argv);
            *argc -= taken;
            break;
        }
    }
    if (text != NULL) {
        if (text[0] < '1' || text[0] > '0' + MOST || text[1] != '\0') {
            fprintf(stderr, "--ranks: \"%s\" is not a number of ranks from 1 to %d\n", text, MOST);
            exit(REFUSED);
        }
        group_count = text[0] - '0';
    }
    board = (Board *)mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t process[MOST] = {0}, parent = getpid();
    for (int rank = 0; rank < group_count && board != MAP_FAILED; rank++) {
        fflush(stdout);
        process[rank] = fork();
        if (process[rank] == 0) {
            /* Otherwise it would wait for ever where the first process is killed. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                _exit(3);
            }
            group_rank = rank;
            return;
        }
        if (process[rank] < 0) {
            break;
        }
    }
    if (board == MAP_FAILED || process[group_count - 1] <= 0) {
        fprintf(stderr, "%d processes cannot be started: %s\n", group_count, strerror(errno));
        for (int rank = 0; rank < group_count && process[rank] > 0; rank++) {
            kill(process[rank], SIGKILL);
        }
        exit(3);
    }
    watch(process);
}

/* All ranks have come so far. */
static void barrier(void) {
    int round = atomic_load(&board->rounds);
    if (atomic_fetch_add(&board->arrived, 1) == group_count - 1) {
        atomic_store(&board->arrived, 0);
        atomic_store(&board->rounds, round + 1);
    }
    while (atomic_load(&board->rounds) == round) {
        sched_yield();
    }
}

static void group_gather(const void *own, void *all, size_t bytes) {
    memcpy(board->message[group_rank], own, bytes);
    barrier();
    for (int rank = 0; rank < group_count; rank++) {
        memcpy((char *)all + (size_t)rank * bytes, board->message[rank], bytes);
    }
    barrier();
}

static int group_device(void) { return group_rank; }
static int group_is_one_host(void) { return 1; }

static void group_give_up(int status) {
    fflush(stdout);
    _exit(status);
}

static int group_end(void) { return 0; }

#include "ways.h"
