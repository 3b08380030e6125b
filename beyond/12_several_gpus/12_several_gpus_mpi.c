/* 12_several_gpus_mpi - the ways of ways.h, one process for each GPU, started by mpirun, on one host or several:
 *
 *     mpirun -n 2 beyond/12_several_gpus/12_several_gpus_mpi [--m M --n N --k K] [--pattern NAME] [--csv FILE] */
#include <mpi.h>
#include <stdio.h>

#include "group.h"

static MPI_Comm host; /* the ranks of this host */

static const char *group_usage(void) { return "mpirun -n 2 beyond/12_several_gpus/12_several_gpus_mpi"; }

static void group_start(int *argc, char **argv) {
    MPI_Init(argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &group_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &group_count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
}

static void group_gather(const void *own, void *all, size_t bytes) {
    MPI_Allgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static int group_device(void) {
    int rank;
    MPI_Comm_rank(host, &rank);
    return rank;
}

static int group_is_one_host(void) {
    int here;
    MPI_Comm_size(host, &here);
    return here == group_count;
}

static void group_give_up(int status) {
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void group_end(void) { MPI_Finalize(); }

#include "ways.h"
