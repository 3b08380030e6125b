/* bug_report.h - what the model says about a bug. */
#ifndef BUG_REPORT_H
#define BUG_REPORT_H

#include "../core/memory.h"
#include "../event.h"

enum { REPORT_SIZE = 8192, PHRASE_SIZE = 256 };

/* Starts a report. Returns 0 if this rule has been reported in this launch: then nothing more may be said about it. */
int report_begin(ModelRule rule);
/* The same for a bug after which the launch cannot go on: ends it if nothing more may be said. */
void report_begin_last(ModelRule rule);
/* A line of it: a label ("now", "before", "barrier") and a text. */
void report_line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Label, thread and place with its source line. `what` is what the thread does there. */
void report_place(const char *label, const Thread *t, Site site, const char *what);
/* The same with `who` in words; "": nobody. */
void report_place_of(const char *label, const char *who, Site site, const char *what);
void report_barrier(const Barrier *b);
/* Prints it. Leaves the fiber for good if the launch cannot go on (`fatal`) or has had its reports. */
void report_end(int fatal);

/* A report that is a sentence, a place and the current thread: for misuse that needs no history. */
void report_misuse(ModelRule rule, Site site, int fatal, const char *format, ...) __attribute__((format(printf, 4, 5)));

#define MISUSE_IF(condition, ...)       \
    do {                                \
        if (condition) {                \
            report_misuse(__VA_ARGS__); \
        }                               \
    } while (0)
/* A whole report, once a launch: its lines are calls of the functions above. LAST: the launch cannot go on. */
#define REPORT(rule, ...)         \
    do {                          \
        if (report_begin(rule)) { \
            __VA_ARGS__;          \
            report_end(0);        \
        }                         \
    } while (0)
#define REPORT_LAST(rule, ...) (report_begin_last(rule), __VA_ARGS__, report_end(1))

/* "wait_group(-1): accepted is 0 or more", if it is so. */
void report_negative(ModelRule rule, Site site, const char *what, int newest);

/* Phrases; each returns `text`, which holds PHRASE_SIZE bytes. PHRASE is such a text, until its block ends. */
#define PHRASE ((char[PHRASE_SIZE]){""})
#define place_text(site) site_text(site, PHRASE, PHRASE_SIZE)
const char *allocation_text(const Allocation *a, char *text); /* "C", "C of device 1" */
const char *cta_text(const Cta *cta, char *text);             /* "CTA 3", "CTA 3 of device 1" */
const char *thread_text(const Thread *t, char *text);
const char *threads_text(const Thread *t, int count, char *text);
const char *barrier_text(const Barrier *b, char *text); /* "full[2]" */

/* What makes a thread a producer or a consumer, for judges. That one loads and another one multiplies is not enough:
 * the first may multiply later. Roles exist for certain where warpgroups give registers to each other, and where a
 * thread refills a stage and has never multiplied. */
typedef struct CtaRoles {
    int known;
    struct {
        uint8_t loads, multiplies;
    } thread[THREAD_LIMIT];
    uint8_t grown[WARPGROUP_LIMIT], shrunk[WARPGROUP_LIMIT]; /* by setmaxnreg */
} CtaRoles;
static inline void role_loads(Thread *t, int refills) {
    CtaRoles *roles = t->cta->roles;
    roles->thread[t->id].loads = 1;
    roles->known |= refills && !roles->thread[t->id].multiplies;
}
static inline void role_multiplies(Warp *w) {
    if (w->cta->roles->thread[w->thread[0].id].multiplies) {
        return; /* they do so together */
    }
    for (int lane = 0; lane < w->lanes; lane++) {
        w->cta->roles->thread[w->thread[lane].id].multiplies = 1;
    }
}
static inline void role_registers(Warp *w, int increase) {
    w->cta->roles->known = 1;
    (increase ? w->cta->roles->grown : w->cta->roles->shrunk)[w->warpgroup->id] = 1;
}

/* ---- for model.c ------------------------------------------------------------------------------------------------- */

/* Reports of this launch. */
int report_count(void);
/* fault.c: from now on signals are caught: in a kernel they are reported, elsewhere told in a sentence before the
 * program ends. */
void fault_catch(void);
/* While a launch runs, somebody looks now and then whether anything happens. */
void fault_launch_begin(void);
void fault_launch_end(void);

#endif
