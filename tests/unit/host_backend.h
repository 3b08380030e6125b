/* host_backend.h - a backend in plain memory: that of the CPU model, without the model. */
#ifndef HOST_BACKEND_H
#define HOST_BACKEND_H

#define model_backend host_backend
#define model_configure host_configure
#define model_global_alloc host_global_alloc
#define model_global_free host_global_free
#define model_reports host_reports
#define model_shutdown host_shutdown
#include "harness/backend_model.c"
#include "harness/problem.h"
#include "tap.h"

static int reports; /* of the model that there is not */

void host_configure(const ModelOptions *options) { (void)options; }
void *host_global_alloc(size_t bytes, const char *name) {
    (void)name;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}
void host_global_free(void *p) { free(p); }
int host_reports(void) { return reports; }
void host_shutdown(void) {}

/* Both end a program that cannot go on. */
static inline DeviceInfo open_host(void) {
    DeviceInfo device;
    char why[64];
    if (host_backend()->open(&(Options){.sms = 4}, NEEDS_SM90A, &device, why, sizeof why)) {
        printf("Bail out! %s\n", why);
        exit(1);
    }
    return device;
}

static inline void open_problem(Problem *p, Shape shape, uint64_t seed, DataKind data) {
    DeviceInfo device = open_host();
    if (problem_open(p, host_backend(), &device, shape, seed) || problem_fill(p, data)) {
        printf("Bail out! no problem of %s, %d x %d x %d\n", kind_record(shape.kind)->name, shape.m, shape.n, shape.k);
        exit(1);
    }
}

/* Is this part of the report about the problem's result? */
static inline int says(const Problem *p, const char *part) {
    static char *text;
    size_t size = 0;
    Tally tally;
    free(text);
    FILE *out = open_memstream(&text, &size);
    check_block(&p->view, 0, &tally);
    problem_explain(p, &tally, out);
    fclose(out);
    return strstr(text, part) != NULL || diag("\"%s\" does not contain \"%s\"", text, part);
}

#endif
