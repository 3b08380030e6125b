/* hello.c - main() of every hello program (hello.h): where it runs. */
#include "backend.h"

int hello_gpu(void);
extern const GpuNeed hello_needs;
int hello_model(void);

/* Refuses an option that is none of a hello program's. */
static GemmStatus refuse_others(int argc, char *argv[]) {
    for (int i = 1; i < argc; i++) {
        char word[64];
        snprintf(word, sizeof word, " %.*s ", (int)strcspn(argv[i], "="), argv[i]);
        if (strncmp(argv[i], "--", 2) == 0 && !strstr(" --on --policy --schedule-seed --barriers --help ", word)) {
            return gemm_fails(
                NULL, GEMM_USAGE,
                "%s: accepted are --on gpu|model, and on the model --policy NAME, --schedule-seed S, --barriers",
                argv[i]);
        }
    }
    return GEMM_OK;
}

int main(int argc, char *argv[]) {
    Options options;
    char message[OPTIONS_MESSAGE_SIZE];
    GEMM_TRY(refuse_others(argc, argv));
    if (!parse_options(argc, argv, &options, message)) {
        return gemm_fails(NULL, GEMM_USAGE, "%s", message);
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
    return gemm_fails(NULL, GEMM_DEVICE, "it was built without nvcc and so without its GPU code");
#else
    return GEMM_DEVICE;
#endif
}
