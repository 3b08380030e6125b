/* mpi.h - a stub: an MPI of one process, with the types and functions that the programs of several processes call, as
 * MPI 4 declares them. make test compiles those programs against it, with CUDA's headers, and optional.t runs what
 * they do before they need a GPU. A function that a program calls and that is not here fails the build: add it, from
 * the standard. */
#ifndef STUB_MPI_H
#define STUB_MPI_H

#include <stdlib.h>
#include <string.h>

typedef int MPI_Comm;
typedef int MPI_Datatype; /* its size in bytes */
typedef int MPI_Info;

enum { MPI_SUCCESS, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, MPI_INFO_NULL = 0, MPI_BYTE = 1 };

static inline int MPI_Init(int *argc, char ***argv) { return argc && argv ? MPI_SUCCESS : 1; }
static inline int MPI_Finalize(void) { return MPI_SUCCESS; }
static inline int MPI_Abort(MPI_Comm comm, int status) { exit(comm ? status : 1); }
static inline int MPI_Comm_rank(MPI_Comm comm, int *rank) { return *rank = 0, comm ? MPI_SUCCESS : 1; }
static inline int MPI_Comm_size(MPI_Comm comm, int *size) { return *size = 1, comm ? MPI_SUCCESS : 1; }
static inline int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    return *part = comm, type == MPI_COMM_TYPE_SHARED && key >= 0 && info == MPI_INFO_NULL ? MPI_SUCCESS : 1;
}
static inline int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                                MPI_Datatype to_type, MPI_Comm comm) {
    memcpy(to, from, (size_t)count * (size_t)type);
    return comm && to_count * to_type >= count * type ? MPI_SUCCESS : 1;
}

#endif
