/* group.c - what the program of several GPUs does where its ranks do not agree, or one of them dies: without a GPU,
 * since both happen on the host. optional.t runs it.
 *
 *     group agrees | disagrees | dies | reaches
 *     group rule <CSV    compares the rule's choices with the fastest of the CSV's rows */
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

/* Compares the rule with one pattern at one size: ms of each way, 0 if the way was not measured. */
static double rule_to_fastest(const double *ms) {
    Way fastest = WAYS;
    nccl.comm = ms[NCCL] > 0 ? (NcclComm *)&nccl : NULL;
    driver.is_there = ms[KERNEL_AND_COPIES] > 0;
    for (int way = 0; way < WAYS; way++) {
        if ((way == NCCL || way >= KERNEL) && ms[way] > 0 && (fastest == WAYS || ms[way] < ms[fastest])) {
            fastest = (Way)way;
        }
    }
    Way chosen = chosen_way(1);
    printf("%d GPUs, %s at %d x %d x %d: %s, %.3f of the time of %s\n", group_count, pattern_name(pattern),
           problem.gemm.m, problem.gemm.n, problem.gemm.k, way_names[chosen], ms[chosen] / ms[fastest],
           way_names[fastest]);
    return ms[chosen] / ms[fastest];
}

static int judge_rule(void) {
    char line[400], name[24], way_text[24], last[400] = "", key[400];
    double ms[WAYS] = {0}, tflops, worst = 0;
    int compared = 0, is_more = 1;
    Gemm *g = &problem.gemm;
    g->sm_count = 132;
    while (is_more) {
        int count, m, n, k;
        is_more = fgets(line, sizeof line, stdin) != NULL;
        if (is_more && sscanf(line, "%d x %*[^,],%*[^,],%*[^,],several,%d,%d,%d,%23[^ ] %23[^,],%lf", &count, &m, &n,
                              &k, name, way_text, &tflops) != 7) {
            continue;
        }
        snprintf(key, sizeof key, "%d %d %d %d %s", count, m, n, k, is_more ? name : "");
        if (strcmp(key, last) != 0 && ms[KERNEL] > 0) { /* the rows of one pattern follow each other */
            worst = fmax(worst, rule_to_fastest(ms));
            compared++;
        }
        if (strcmp(key, last) != 0) {
            memset(ms, 0, sizeof ms);
        }
        strcpy(last, key);
        g->m = m, g->n = n, g->k = k;
        group_count = ranks.count = count;
        for (int i = 0; i < PATTERNS; i++) {
            pattern = strcmp(name, pattern_name(i)) == 0 ? (Pattern)i : pattern;
        }
        for (int way = 0; way < WAYS; way++) {
            ms[way] = strcmp(way_text, way_names[way]) == 0 ? 2e-9 * m * n * k / tflops : ms[way];
        }
    }
    printf("%d compared: at most %.3f\n", compared, worst);
    return 0;
}

int main(int argc, char *argv[]) {
    char *what = argc > 1 ? argv[1] : argv[0];
    Options options = {.shape = {.m = 64, .n = 64, .k = 64}, .repeat = 1};
    if (strcmp(what, "rule") == 0) {
        return judge_rule();
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
