/* recording.h - a trace with what it is of: what can be said without drawing it, and the file in which it travels. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdio.h>

#include "../model/model_trace.h"

/* A trace and what it is of: what a picture needs. */
typedef struct {
    Trace trace;
    char chapter[48]; /* "07_warp_specialized" */
    char kernel[160]; /* what the chapter chose; may be empty */
    char date[16], commit[48];
    int m, n, k;
    int sms; /* of the device */
} Recording;

/* Multiply-adds of the tensor cores in a cycle at best: 2048 by wgmma, 1024 by mma.sync; 0 in 01, which uses none. */
int recording_peak(const Recording *recording);

/* Keeps the events of one SM, that on which `cta` ran (-1: the lowest), in order of their begin. Of other CTAs than
 * that one, `thin` drops all but what their tensor cores did; of several launches it keeps one CTA of each. 0 if that
 * CTA is not there. */
int recording_keep_sm(Recording *recording, int cta, int thin);

/* Launches, at least 1; and the one that a CTA belongs to. */
int recording_launches(const Recording *recording);
int recording_launch_of(const Recording *recording, int cta);
/* "gemm_kernel, CTA 3 of 16": a CTA by its place in its launch; of a single launch "CTA 3 of 16". Returns text. */
const char *recording_cta_text(const Recording *recording, int cta, char *text, size_t size);
/* The launch's CTA that is drawn next to `cta`: itself if it is of this launch, otherwise the lowest; -1: none. */
int recording_cta_of_launch(const Recording *recording, int launch, int cta);

/* The CTA that was kept whole; -1: none was. */
int recording_whole_cta(const Recording *recording);

/* From the SM's first event to its last. */
void recording_span(const Recording *recording, uint64_t *begin, uint64_t *end);
/* Share of [begin, end) in which the SM's tensor cores had work: for each of the four the union of the products of all
 * its CTAs. cta: only of that one; -1: of all. */
double recording_busy(const Recording *recording, int cta, uint64_t begin, uint64_t end);
/* FLOP of the SM's tiles / (its cycles x peak). 0 on the model, whose steps are no cycles. */
double recording_efficiency(const Recording *recording);

/* Removes a file that could not be written whole, unless it is no plain file, such as /dev/null. */
void remove_output(const char *path);

/* As text, one event a line; for drawing it elsewhere. Reading returns 1; 0 after a line on stderr naming `path`. */
void recording_write(FILE *out, const Recording *recording);
int recording_read(FILE *in, const char *path, Recording *recording);
void trace_free_events(Trace *trace);

extern const char *const trace_kind_names[TRACE_KINDS];

#endif
