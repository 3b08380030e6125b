/* model_host.h - the CPU model as the harness and the tests see it. */
#ifndef MODEL_HOST_H
#define MODEL_HOST_H

#include <stddef.h>

#include "../device/status.h"

/* How the model decides what happens next. */
typedef enum {
    MODEL_EAGER,  /* asynchronous work finishes as soon as its issuer stops: the schedule that hides most bugs */
    MODEL_LAZY,   /* ... only when no thread can go on without it: the one that shows most */
    MODEL_RANDOM, /* threads and asynchronous work in random order */
    MODEL_PCT,    /* by random priorities that change at a few random moments */
} ModelPolicy;

/* Zero is the default in every member. */
typedef struct {
    ModelPolicy policy;
    unsigned long long seed; /* with the policy, replays a run exactly */
    int barriers;            /* 1: print every event of an mbarrier to stdout */
    const char *journal;     /* a file for the events of the last launch (tell/journal.c); NULL: none */
    int sms;                 /* SMs of the modelled GPU: the value of Gemm.sm_count; 0: 4 */
    int shared;              /* bytes of shared memory that a CTA may have; 0: 232448 */
    int patience;            /* seconds of CPU time without an event after which a loop is called endless; 0: 20 */
    int max_reports;         /* stop the launch after this many; 0: 10. Each rule is reported once per launch */
    int trace;               /* 1: record a timeline (model_trace.h); eager then follows the order of its time */
    int count;               /* 1: count what a launch does (model_count.h) */
    /* 1: a launch is one of a chain of layers. If it may overlap the previous launch, that one reads and writes what
     * this one does. What a device's launches leave in its memory is for the next launch in its stream, and the writes
     * of other devices there must come neither before nor after those launches. */
    int chain;
    int rounding;            /* 1: wgmma rounds all sums as an H200 does (data/rounding.h); 0: only those of fp8 */
    int quiet;               /* 1: print no report; model_report() still has them */
    int first_block, blocks; /* run only these CTAs, whole clusters; blocks 0: all of them, -1: none */
    int launch;              /* of the launches that follow, only this one takes place, from 1; 0: all */
    struct ModelObserver *observer; /* gets what a launch sets up (model_explain.h); NULL: none */
} ModelOptions;

/* Before a launch; holds for all launches that follow. */
void model_configure(const ModelOptions *options);

/* Several devices, from 0 to 7, each with `sms` SMs and memory of its own, which the others reach. What is allocated
 * and launched from here on belongs to this one. */
void model_use_device(int device);
/* Holds launches back from here on; model_run_launches() runs them side by side. Launches of one stream of a device run
 * one after the other, and only their flags order launches of different streams (common/device/system_flag.h).
 * The host waits for all of them. */
void model_hold_launches(void);
/* GEMM_MODEL_BUG if the model reported a bug. */
GemmStatus model_run_launches(void);

/* Memory that stands for the GPU's global memory, 256-byte aligned; NULL if there is not enough. Reports call it `name`
 * (which outlives it). The harness reads and writes it with plain loads and stores between launches. */
void *model_global_alloc(size_t bytes, const char *name);
void model_global_free(void *p);

/* The allocation at p holds what no launch writes, as weights do: a launch that overlaps the previous one may read it
 * before it has waited, in a chain of layers too. */
void model_global_constant(const void *p);

/* Optional: rows of a matrix, from first_row on, `ld` elements apart, lie at `base` inside an allocation. Lets reports
 * name elements, and provenance follow copies that know no tensor map. Forgotten when it is freed. */
void model_describe_rows(const void *base, const char *name, int first_row, int rows, int ld, int element_bytes);

/* What the model found. The ids are stable: bugs and tests name them. */
typedef enum {
#define RULE(id, title, gpu) RULE_##id,
#include "rules.h"
#undef RULE
    RULE_COUNT
} ModelRule;

typedef struct {
    ModelRule rule;
    const char *text; /* the whole report, as printed */
} ModelReport;

/* Bugs reported so far, over all launches of the process. */
int model_reports(void);
/* The index-th of them, oldest first; NULL if there is none. */
const ModelReport *model_report(int index);
void model_forget_reports(void);

/* "RACE_WAR" and the rest; NULL if there is no such rule. */
const char *model_rule_name(ModelRule rule);

/* What no launch has reached so far, by index, a phrase each: a kernel of this program that has not run, a ring of
 * mbarriers that has not wrapped around twice. NULL: no more. Valid until the next call. */
const char *model_unreached(int index);

/* The first thing that a kernel did, in all launches so far, that another schedule may change: "FILE:LINE ...". NULL:
 * nothing. Then what was found, and what was not, holds for every schedule. */
const char *model_depends(void);
/* ... launches so far, since model_forget_depends(). */
int model_launches(void);
/* Which k some sums of the last launches have got twice: "FILE:LINE: ...". NULL: none. That may be on purpose; it tells
 * where to look once the result is known to be wrong. */
const char *model_sums(void);

void model_forget_depends(void);

/* Frees all memory of the model. Pointers from model_global_alloc() and model_report() end. */
void model_shutdown(void);

#endif
