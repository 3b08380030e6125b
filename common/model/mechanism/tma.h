/* tma.h - the copy engine: boxes of tensors into and out of shared memory. What kernels call is in model.h. */
#ifndef MODEL_TMA_H
#define MODEL_TMA_H

#include "../core/types.h"
#include "group.h"

/* One instruction. */
typedef struct {
    const char *what; /* its name in reports */
    Thread *thread;
    const TensorMap *map;
    int rank; /* coordinates */
    int coord[TENSOR_MAX_RANK];
    const void *shared; /* the box */
    const void *bar;    /* a load's barrier */
    int pair;           /* it is that of the even CTA of the pair */
    int mask;           /* a load's targets in the cluster; 0: no multicast */
    int add;            /* a store that adds */
    Site site;
} TmaCopy;

/* A load on its way. */
typedef struct {
    Flight flight;
    TmaCopy copy; /* its map is the one below */
    TensorMap map;
    TensorWalk walk; /* what has not landed */
    uint32_t offset; /* in each target's shared memory */
    int targets;
    Cta *target[CLUSTER_LIMIT];
    Barrier *barrier[CLUSTER_LIMIT];
} TmaLoad;

/* A store on its way. */
typedef struct {
    Flight flight;
    TmaCopy copy; /* as above */
    TensorMap map;
    uint32_t offset;
    int read;       /* `data` is */
    uint8_t data[]; /* the box */
} TmaStore;

#endif
