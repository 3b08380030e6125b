/* cases.h - small kernels, each right as it stands and wrong in one place when asked: the model must stay silent on the
 * first and name the rule on the others. Kernels are compiled as chapters are (kernels_*.c), the tests around them are
 * ordinary C. A case is a line in the file of its kernel,
 *
 *     #define CASE_LIST "ring"
 *     RIGHT_CASE(RIGHT);
 *     WRONG_CASE(NO_EXPECT, RACE_RAW);
 *
 * which puts "ring NO_EXPECT" into the list of all, and makes NO_EXPECT a constant: Case.bug, by which the kernel knows
 * what to do wrong. The constants of a file rise from line to line. The file's run() launches the kernel and looks at
 * its numbers. */
#ifndef MODEL_CASES_H
#define MODEL_CASES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../common/model/model_host.h"

typedef struct Case Case;
struct Case {
    const char *name;
    /* The rule that must be reported: after "^" first, after "?" in some schedules only. NULL: no report, and right
     * numbers. "# REASON": the case is skipped. */
    const char *rule;
    int (*run)(const Case *c); /* 0: right numbers, 1: wrong ones, else the status of the launch */
    int bug;
    const void *more; /* the part of the kernel, or data, for run() */
};

/* The linker puts what stands in a section "cases" side by side. */
extern const Case *const __start_cases[], *const __stop_cases[];
#define EACH_CASE(each) for (const Case *const *each = __start_cases; each < __stop_cases; each++)

#define CASE_OF(run, name, rule, more)                                            \
    enum { name = __LINE__ };                                                     \
    static int run(const Case *c);                                                \
    static const Case case_##name = {CASE_LIST " " #name, rule, run, name, more}; \
    __attribute__((used, section("cases"))) static const Case *const listed_##name = &case_##name
#define RIGHT_CASE(name) CASE_OF(run, name, NULL, NULL)
#define WRONG_CASE(name, rule) CASE_OF(run, name, #rule, NULL)
/* Of a kernel in parts, each a function of type Part, which need not use everything that it is given. */
#define PART_CASE(part, name, rule) \
    static Part part;               \
    CASE_OF(run, name, rule, part)
#define RIGHT_IN(part, name) PART_CASE(part, name, NULL)
#define WRONG_IN(part, name, rule) PART_CASE(part, name, #rule)
/* Other rules are broken, too: this one is nearest to the cause, and the first to be reported. */
#define FIRST_IN(part, name, rule) PART_CASE(part, name, "^" #rule)
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* In a kernel: the case of that name leaves this statement out, or has it besides. */
#ifndef BUG
#define BUG(name) (bug == (name))
#endif
#define LEAVES_OUT(name, ...) \
    do {                      \
        if (!BUG(name)) {     \
            __VA_ARGS__;      \
        }                     \
    } while (0)
#define ADDS(name, ...)  \
    do {                 \
        if (BUG(name)) { \
            __VA_ARGS__; \
        }                \
    } while (0)

/* No rule is broken, but the result is wrong, and the model tells what its sums have got twice. */
#define SUMS_WRONG "= sums"

/* What not every compiler and processor shows. */
#ifdef __clang__
#define UNLESS_CLANG(rule, why) "# clang " why
#else
#define UNLESS_CLANG(rule, why) rule
#endif
#define LOCAL_CASE(name, rule) \
    CASE_OF(run, name, UNLESS_CLANG(#rule, "tells of no access to a local array by a known index"), NULL)

/* Runs a case under these options, and then frees its memory. Forgets the reports before. */
int run_case(const Case *c, const ModelOptions *options);
/* Memory of the model, cleared, until the case ends. */
void *case_memory(size_t bytes, const char *name);
void case_free(void); /* all of it */
/* Launches on several devices are judged as parts of a chain. */
static inline int is_chain(const Case *c) { return strncmp(c->name, "devices ", 8) == 0; }
static inline int is_counted(const Case *c) { return strncmp(c->name, "count ", 6) == 0; }
/* Some schedules alone show what is wrong. */
static inline int is_for_explorer(const Case *c) { return strncmp(c->name, "schedule ", 9) == 0; }
/* Of a case that has one: its rule's name. */
static inline const char *rule_of(const Case *c) { return c->rule + (c->rule[0] == '^' || c->rule[0] == '?'); }
/* By its name; ends the program if there is none. */
const Case *find_case(const char *name);

/* Sum over k of a[k] * b[k], of numbers in bf16. */
float case_dot(const uint16_t *a, const uint16_t *b, int depth);

/* kernels_plain.c: all CTAs, of 1024 threads each, synchronise. A thread of the last one then needs more
 * stack than it has, in one of three ways; 0: none. */
int right_grid_barrier(int ctas, int overflow);
/* kernels_global.c: all CTAs synchronise three times; each adds to what its neighbour has left. */
int global_grid_barrier(int ctas);
int global_fixup(int ctas, int down);
/* One thread ends the launch: 0: it runs for ever; 1: it calls exit(); 2: it makes more barriers than the model can
 * judge; 3: fork();
 * 4: _exit(); 5: it sleeps for ever, 6: adds for ever. */
int right_end(int way);

#endif
