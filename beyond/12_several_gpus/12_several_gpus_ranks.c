/* 12_several_gpus_ranks - the ways of ways.h, one process for each GPU of this host, without MPI.
 *
 *     beyond/12_several_gpus/12_several_gpus_ranks --ranks 2 [--m M --n N --k K] [--pattern NAME] [--csv FILE]
 *
 * The process that starts the ranks ends all of them when one fails or is killed: they would wait for its flags for
 * ever. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
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
    pthread_barrier_t barrier;
    char message[MOST][MESSAGE];
} Board;
static Board *board;

static const char *group_usage(void) { return "beyond/12_several_gpus/12_several_gpus_ranks --ranks 2"; }

/* The process that has started the others waits for them. When one of them fails, it ends all others. */
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
    const char *text = own_option(argc, argv, "--ranks");
    group_count = 2;
    if (text != NULL) {
        if (text[0] < '1' || text[0] > '0' + MOST || text[1] != '\0') {
            fprintf(stderr, "--ranks: \"%s\" is not a number of ranks from 1 to %d\n", text, MOST);
            exit(REFUSED);
        }
        group_count = text[0] - '0';
    }
    board = (Board *)mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t process[MOST], parent = getpid();
    int can_start = board != MAP_FAILED;
    if (can_start) {
        pthread_barrierattr_t shared;
        pthread_barrierattr_init(&shared);
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&board->barrier, &shared, (unsigned)group_count);
    }
    fflush(stdout);
    for (int rank = 0; rank < group_count && can_start; rank++) {
        process[rank] = fork();
        can_start = process[rank] >= 0;
        if (process[rank] == 0) {
            /* This process ends with the first one, by whatever that ends. Otherwise it would wait for ever. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                _exit(3);
            }
            group_rank = rank;
            return;
        }
    }
    if (!can_start) {
        fprintf(stderr, "%d processes cannot be started: %s\n", group_count, strerror(errno));
        exit(3);
    }
    watch(process);
}

static void group_gather(const void *own, void *all, size_t bytes) {
    memcpy(board->message[group_rank], own, bytes);
    pthread_barrier_wait(&board->barrier);
    for (int rank = 0; rank < group_count; rank++) {
        memcpy((char *)all + (size_t)rank * bytes, board->message[rank], bytes);
    }
    pthread_barrier_wait(&board->barrier);
}

static int group_device(void) { return group_rank; }
static int group_is_one_host(void) { return 1; }

static void group_give_up(int status) {
    fflush(stdout);
    _exit(status);
}

static void group_end(void) {}

#include "ways.h"
