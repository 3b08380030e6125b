/* cases.h - small kernels, each right as it stands and wrong in one place when asked: the model must stay silent on the
 * first and name the rule on the others. Kernels are compiled as chapters are (kernels_*.c), the tests around them are
 * ordinary C (cases.c). */
#ifndef MODEL_CASES_H
#define MODEL_CASES_H

typedef struct {
    const char *name;
    const char *rule;    /* what must be reported; NULL: nothing, and the numbers must be right; "# REASON": skipped */
    int (*run)(int bug); /* 0: right numbers, 1: wrong ones, else the status of the launch */
    int bug;
} Case;

extern const Case ring_cases[], copy_cases[], plain_cases[], cluster_cases[], access_cases[];
extern const int ring_case_count, copy_case_count, plain_case_count, cluster_case_count, access_case_count;

#endif
