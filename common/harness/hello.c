/* hello.c - main() of every hello program (hello.h): where it runs. */
#include "backend.h"

int hello_gpu(void);
extern const GpuNeed hello_needs;
int hello_model(void);

static const char *const accepted[] = {"--on", "--policy", "--schedule-seed", "--barriers", "--help", NULL};

/* Prints a line and returns 0 if an option is none of a hello program's. */
static int all_are_accepted(int argc, char *argv[]) {
    for (int i = 1; i < argc; i++) {
        int known = strncmp(argv[i], "--", 2) != 0;
        for (int j = 0; accepted[j]; j++) {
            known |=
                strcspn(argv[i], "=") == strlen(accepted[j]) && strncmp(argv[i], accepted[j], strlen(accepted[j])) == 0;
        }
        if (!known) {
            fprintf(stderr,
                    "%s: accepted are --on gpu|model, and on the model --policy NAME, --schedule-seed S, --barriers\n",
                    argv[i]);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char *argv[]) {
    Options options;
    char message[OPTIONS_MESSAGE_SIZE];
    if (!all_are_accepted(argc, argv)) {
        return GEMM_USAGE;
    }
    if (!parse_options(argc, argv, &options, message)) {
        fprintf(stderr, "%s\n", message);
        return GEMM_USAGE;
    }
    if (options.help) {
        printf("usage: %s [--on gpu|model] [--policy eager|lazy|random|pct] [--schedule-seed S] [--barriers]\n",
               argv[0]);
        return end_output(GEMM_OK);
    }
#ifndef GEMM_NO_GPU
    DeviceInfo device;
    char why[512];
    if (options.on != ON_MODEL && gpu_backend()->open(&options, hello_needs, &device, why, sizeof why) == GEMM_OK) {
        int status = hello_gpu();
        gpu_backend()->close();
        return end_output((GemmStatus)status);
    }
    if (options.on != ON_MODEL) {
        fprintf(options.on == ON_GPU ? stderr : stdout, "%sit needs %s; found: %s\n",
                options.on == ON_GPU ? "" : "on the CPU model: ", need_text(hello_needs), why);
    }
#endif
    if (options.on != ON_GPU) {
        model_backend()->set_schedule(&options, options.schedule_seed);
        int status = hello_model();
        model_backend()->close();
        return end_output((GemmStatus)status);
    }
#ifdef GEMM_NO_GPU
    fprintf(stderr, "it was built without nvcc and so without its GPU code\n");
#endif
    return GEMM_DEVICE;
}
