/* mpi.h - a stub: an MPI of one process, with the types and functions that the programs of several processes call, as
 * MPI 4 declares them. make test compiles those programs against it, with CUDA's headers, and optional.t runs what
 * they do before they need a GPU. A function that a program calls and that is not here fails the build: add it, from
 * the standard. */
#ifndef STUB_MPI_H
#define STUB_MPI_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int MPI_Comm;
typedef int MPI_Datatype; /* its size in bytes */
typedef int MPI_Op;
typedef int MPI_Info;

enum { MPI_SUCCESS, MPI_COMM_WORLD = 1, MPI_INFO_NULL = 0, MPI_COMM_TYPE_SHARED = 1 };
enum { MPI_BYTE = 1, MPI_INT = sizeof(int), MPI_DOUBLE = sizeof(double), MPI_UINT64_T = sizeof(uint64_t) };
enum { MPI_MIN, MPI_MAX, MPI_SUM };
#define MPI_IN_PLACE ((void *)1)

static inline int MPI_Init(int *argc, char ***argv) { return argc && argv ? MPI_SUCCESS : 1; }
static inline int MPI_Finalize(void) { return MPI_SUCCESS; }
static inline int MPI_Abort(MPI_Comm comm, int status) { exit(comm ? status : 1); }
static inline int MPI_Barrier(MPI_Comm comm) { return comm ? MPI_SUCCESS : 1; }
static inline int MPI_Comm_rank(MPI_Comm comm, int *rank) { return *rank = 0, comm ? MPI_SUCCESS : 1; }
static inline int MPI_Comm_size(MPI_Comm comm, int *size) { return *size = 1, comm ? MPI_SUCCESS : 1; }
static inline int MPI_Comm_free(MPI_Comm *comm) { return *comm = 0, MPI_SUCCESS; }
static inline int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    (void)type, (void)key, (void)info;
    return *part = comm, MPI_SUCCESS;
}
static inline int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return data && count >= 0 && type && root == 0 && comm ? MPI_SUCCESS : 1;
}
static inline int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    (void)op;
    if (from != MPI_IN_PLACE) {
        memcpy(to, from, (size_t)count * (size_t)type);
    }
    return comm ? MPI_SUCCESS : 1;
}
static inline int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                                MPI_Datatype to_type, MPI_Comm comm) {
    if (from != MPI_IN_PLACE) {
        memcpy(to, from, (size_t)count * (size_t)type);
    }
    return comm && to_count * to_type >= count * type ? MPI_SUCCESS : 1;
}

#endif
