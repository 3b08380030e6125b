/* hello_cluster - each of two CTAs of a cluster reads a value from the other's shared memory and writes one into it.
 *
 * Run           make 09 && ./hello_cluster, here; from the top, beyond/09_every_shape/hello_cluster --on model */
#include "../../common/harness/hello.h"

#include "../../common/device/cluster.h"

enum { CTAS = 2, THREADS = 32 };

typedef struct {
    uint32_t mine; /* written here, read by the neighbour */
    uint32_t post; /* written by the neighbour, read here */
} Shared;

typedef struct {
    int *seen; /* [CTAS][2]: what each CTA has read there, and what it has found in its post */
} Params;

static __global__ void kernel(const __grid_constant__ Params p) {
    SHARED_MEMORY(Shared, s);
    int rank = cluster_cta_rank(), neighbour = 1 - rank;
    if (threadIdx.x == 0) {
        s->mine = (uint32_t)(10 + rank);
    }
    /* After this both CTAs run and each value above is written, so a load from the neighbour sees it. */
    cluster_sync();
    if (threadIdx.x == 0) {
        uint32_t there = cluster_load_u32(&s->mine, neighbour); /* &s->mine of the other CTA: the same offset there */
        cluster_store_u32(&s->post, neighbour, 100 + there);
        p.seen[2 * rank] = (int)there;
    }
    /* Both CTAs have written to their neighbour. After this neither accesses the other, so each may end at any time. */
    cluster_sync();
    if (threadIdx.x == 0) {
        p.seen[2 * rank + 1] = (int)s->post;
    }
}
KERNEL_ENTRY(kernel, Params);

HELLO(NEEDS_SM90_ANY) {
    Params p = {(int *)hello_memory(2 * CTAS * sizeof(int), "seen")};
    LaunchShape shape = {.grid = CTAS, .block = THREADS, .cluster = CTAS, .shared_bytes = sizeof(Shared)};
    GemmStatus status = hello_wait(launch_kernel(KERNEL(kernel), shape, &p, NULL, NULL));
    for (int rank = 0; status == GEMM_OK && rank < CTAS; rank++) {
        printf("CTA %d has read %d from CTA %d, and found %d in its own post\n", rank, p.seen[2 * rank], 1 - rank,
               p.seen[2 * rank + 1]);
    }
    return status;
}
