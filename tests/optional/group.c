/* group.c - what the program of several GPUs does where its ranks do not agree, or one of them dies: without a GPU,
 * since both happen on the host. optional.t runs it.
 *
 *     group agrees | disagrees | dies */
#define main main_of_ways
#include "../../beyond/12_several_gpus/12_several_gpus_ranks.c"
#undef main

int main(int argc, char *argv[]) {
    char *what = argc > 1 ? argv[1] : argv[0];
    Options options = {.shape = {.m = 64, .n = 64, .k = 64}, .repeat = 1};
    group_start(&argc, argv);
    if (strcmp(what, "disagrees") == 0 && group_rank == 1) {
        options.shape.k = 128;
    }
    if (strcmp(what, "dies") == 0 && group_rank == 1) {
        raise(SIGKILL);
    }
    agree(&options, 1); /* the others wait for rank 1 here */
    if (group_rank == 0) {
        printf("%d ranks agree\n", group_count);
    }
    return group_end();
}
