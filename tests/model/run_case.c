/* run_case.c - what the programs that run cases share. */
#include <stdlib.h>

#include "../../common/gemm.h"
#include "cases.h"

static void *memory[16];

void *case_memory(size_t bytes, const char *name) {
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        if (memory[i] == NULL) {
            memory[i] = model_global_alloc(bytes, name);
            return memory[i];
        }
    }
    return NULL;
}

void case_free(void) {
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        model_global_free(memory[i]);
        memory[i] = NULL;
    }
}

int run_case(const Case *c, const ModelOptions *options) {
    model_configure(options);
    model_forget_reports();
    int status = c->run(c);
    case_free();
    return status;
}

float case_dot(const uint16_t *a, const uint16_t *b, int depth) {
    float sum = 0;
    for (int k = 0; k < depth; k++) {
        sum += bf16_to_float(a[k]) * bf16_to_float(b[k]);
    }
    return sum;
}

const Case *find_case(const char *name) {
    EACH_CASE(c) {
        if (strcmp((*c)->name, name) == 0) {
            return *c;
        }
    }
    printf("Bail out! there is no case %s\n", name);
    exit(1);
}
