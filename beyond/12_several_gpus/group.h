/* group.h - the processes of a program for several GPUs, one for each rank, and the few bytes that they exchange. Two
 * programs start these processes: 12_several_gpus_ranks.c by fork(), on one host, and 12_several_gpus_mpi.c by mpirun,
 * on any number of hosts. */
#ifndef GROUP_H
#define GROUP_H

#include <string.h>

static int group_rank, group_count;

/* The first call of main(), before any call of CUDA: after this call group_count processes run. It removes its own
 * options from argv. */
static void group_start(int *argc, char **argv);
/* How to start this program, for --help. */
static const char *group_usage(void);
/* Sends every rank's `bytes` bytes to all ranks: all[0 .. group_count - 1]. All ranks call it; it is also a barrier. */
static void group_gather(const void *own, void *all, size_t bytes);
/* The number of this process's GPU on its host; and whether all ranks are on one host. */
static int group_device(void);
static int group_is_one_host(void);
/* A rank that cannot go on ends all of them: the others would wait for it. Does not return. */
static void group_give_up(int status);
/* The last call of every rank. */
static void group_end(void);

/* Takes `name VALUE` out of argv. NULL: it is not there; "": it has no value. */
static const char *own_option(int *argc, char **argv, const char *name) {
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            int taken = i + 1 < *argc ? 2 : 1;
            const char *value = taken == 2 ? argv[i + 1] : "";
            memmove(&argv[i], &argv[i + taken], (size_t)(*argc - i - taken + 1) * sizeof *argv);
            *argc -= taken;
            return value;
        }
    }
    return NULL;
}

#endif
