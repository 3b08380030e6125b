/* bug_report.h - what the model says about a bug. */
#ifndef REPORT_H
#define REPORT_H

#include "../core/state.h"

enum { REPORT_SIZE = 8192, PHRASE_SIZE = 256 };

/* Starts a report. Returns 0 if this rule has been reported in this launch: then nothing more may be said about it. */
int report_begin(ModelRule rule);
/* A line of it: a label ("now", "before", "barrier") and a text. */
void report_line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Label, thread and place with its source line. `what` is what the thread does there. */
void report_place(const char *label, const Thread *t, Site site, const char *what);
void report_barrier(const Barrier *b);
/* Prints it. If the launch cannot go on (`fatal`) or has had its reports, leaves the fiber for good and does not
 * return. */
void report_end(int fatal);

/* A report that is two lines and a place: for misuse that needs no history. */
void report_misuse(ModelRule rule, Site site, int fatal, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Phrases; each returns `text`, which holds PHRASE_SIZE bytes. */
const char *thread_text(const Thread *t, char *text);
const char *threads_text(const Thread *t, int count, char *text);
/* "" or what the thread's behaviour makes it: "producer", "consumer". */
const char *thread_role(const Thread *t);

/* Reports of this launch. */
int report_count(void);
void report_launch_begin(void);
/* Says how many were left out. */
void report_launch_end(void);

/* Leaves the launch: the fiber of the caller is not continued. */
void model_stop(void) __attribute__((noreturn));

#endif
