/* cluster.h - shared memory of the other CTAs of a cluster: loads, stores, and stores that an mbarrier counts. What kernels
 * call is in model.h. */
#ifndef MODEL_CLUSTER_H
#define MODEL_CLUSTER_H

#include "group.h"
#include "mbarrier.h"

enum { STORE_LIMIT = 16 };

/* A store on its way. */
typedef struct {
    Flight flight;
    Barrier *barrier;
    uint8_t *to;
    uint32_t bytes;
    uint8_t data[STORE_LIMIT];
} PeerStore;

#endif
