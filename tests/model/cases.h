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

/* One of them; CASE_LIST is the list's name. `run` is the file's function of that name, or given. */
#define RIGHT_CASE(bug) RIGHT_CASE_OF(run, bug)
#define WRONG_CASE(bug, rule) WRONG_CASE_OF(run, bug, rule)
#define RIGHT_CASE_OF(run, bug) \
    { CASE_LIST " " #bug, NULL, run, bug }
#define WRONG_CASE_OF(run, bug, rule) \
    { CASE_LIST " " #bug, #rule, run, bug }
#define SKIPPED_CASE(bug, why) \
    { CASE_LIST " " #bug, "# " why, run, bug }
#ifdef __clang__
#define LOCAL_CASE(bug, rule) \
    SKIPPED_CASE(bug, "clang tells -fsanitize=thread of no access to a local array by a known index")
#else
#define LOCAL_CASE(bug, rule) WRONG_CASE(bug, rule)
#endif

/* Lists of them, one in each kernels_NAME.c. */
#define CASE_LISTS(LIST) \
    LIST(ring)           \
    LIST(copy)           \
    LIST(plain)          \
    LIST(cluster)        \
    LIST(access)         \
    LIST(right)          \
    LIST(tensor) LIST(types) LIST(roles) LIST(global) LIST(mbarrier) LIST(peer) LIST(warp) LIST(store) LIST(devices)

#define LIST(name)                    \
    extern const Case name##_cases[]; \
    extern const int name##_case_count;
CASE_LISTS(LIST)
#undef LIST

/* kernels_right.c: so many CTAs of 1024 threads meet. A thread of the last one then needs more stack than it has, in one of
 * three ways; 0: none. */
int right_meeting(int ctas, int overflow);
/* kernels_global.c: so many CTAs meet three times; each adds to what its neighbour has left. */
int global_meeting(int ctas);
int global_fixup(int ctas, int down);
/* One thread runs for ever. */
int right_loop(void);

#endif
