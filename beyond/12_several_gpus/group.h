/* group.h - the processes of a program of several GPUs, one for each rank, and what they tell each other: a few
 * bytes. Two programs start them: 12_several_gpus_ranks.c by fork(), on one host, and 12_several_gpus_mpi.c by
 * mpirun, on any number. */
#ifndef GROUP_H
#define GROUP_H

#include <stddef.h>

static int group_rank, group_count;

/* The first call of main(), before any of CUDA: after it there are group_count processes. Takes its own options out
 * of argv. */
static void group_start(int *argc, char **argv);
/* How to start this program, for --help. */
static const char *group_usage(void);
/* Every rank's `bytes` bytes to all: all[0 .. group_count - 1]. All ranks call it; it is a barrier, too. */
static void group_gather(const void *own, void *all, size_t bytes);
/* This process's GPU: its number on its host. And whether all ranks are on one host. */
static int group_device(void);
static int group_is_one_host(void);
/* A rank that cannot go on ends all of them: the others would wait for it. Does not return. */
static void group_give_up(int status);
/* The last call of main(): its result. */
static int group_end(void);

#endif
