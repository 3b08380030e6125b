/* group.c - what the program of several GPUs does if its ranks do not agree, or if one of them dies. This needs no GPU,
 * because both happen on the host. optional.t runs it.
 *
 *     group agrees | disagrees | dies | reaches
 *     group rule <LINES */
#include <cuda_runtime_api.h>

/* GPUs that do not reach each other's memory: rank 1 cannot open that of rank 2. */
static cudaError_t offer(cudaIpcMemHandle_t *handle, void *memory);
static cudaError_t open_offered(void **memory, cudaIpcMemHandle_t handle, unsigned flags);

#define cudaIpcGetMemHandle offer
#define cudaIpcOpenMemHandle open_offered
#define main main_of_ways
#include "../../beyond/12_several_gpus/12_several_gpus_ranks.c"
#undef main

static cudaError_t offer(cudaIpcMemHandle_t *handle, void *memory) {
    (void)memory;
    memset(handle, group_rank, sizeof *handle);
    return cudaSuccess;
}

static cudaError_t open_offered(void **memory, cudaIpcMemHandle_t handle, unsigned flags) {
    (void)flags;
    *memory = NULL;
    return group_rank == 1 && *(char *)&handle == 2 ? cudaErrorPeerAccessUnsupported : cudaSuccess;
}

/* Reads lines "GPUS M N K PATTERN ,WAY,WAY,", whose ways were measured, and prints the way that the rule chooses. */
static int print_rule(void) {
    char name[24], measured[80];
    Gemm *g = &problem.gemm;
    g->sm_count = 132;
    while (scanf("%d %d %d %d %23s %79s", &group_count, &g->m, &g->n, &g->k, name, measured) == 6) {
        ranks.count = group_count;
        for (int i = 0; i < PATTERNS; i++) {
            pattern = strcmp(name, pattern_name(i)) == 0 ? (Pattern)i : pattern;
        }
        nccl.comm = strstr(measured, ",nccl,") ? (NcclComm *)&nccl : NULL;
        driver.is_there = strstr(measured, ",12_copies,") != NULL;
        printf("%s\n", way_names[chosen_way(1)]);
    }
    return 0;
}

int main(int argc, char *argv[]) {
    char *what = argc > 1 ? argv[1] : argv[0];
    Options options = {.shape = {.m = 64, .n = 64, .k = 64}, .repeat = 1};
    if (strcmp(what, "rule") == 0) {
        return print_rule();
    }
    group_start(&argc, argv);
    if (strcmp(what, "disagrees") == 0 && group_rank == 1) {
        options.shape.k = 128;
    }
    if (strcmp(what, "dies") == 0 && group_rank == 1) {
        raise(SIGKILL);
    }
    if (strcmp(what, "reaches") == 0) {
        char why[REASON] = "";
        int can_map = map_neighbours(why, sizeof why);
        for (int rank = 0; rank < group_count; rank++) {
            if (rank == group_rank) {
                printf("%d: %s\n", can_map, why);
                fflush(stdout);
            }
            barrier_of_all();
        }
        return 0;
    }
    agree(&options, 1); /* the others wait for rank 1 here */
    if (group_rank == 0) {
        printf("%d ranks agree\n", group_count);
    }
    return 0;
}
