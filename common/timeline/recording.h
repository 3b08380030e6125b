/* recording.h - a trace with what it is of, and what becomes of it: pictures, and the file in which it travels. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdio.h>

#include "../device/status.h"
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

/* Runs perl with the drawer (draw.pl), whose text is part of the program, and gives it the events. The drawer draws the
 * SM of this CTA (-1: the lowest) as text, svg, json or events (`what`; draw.pl explains them), to `out`. Returns
 * GEMM_USAGE if the recording does not have this CTA, and GEMM_DEVICE if nothing was recorded or perl cannot run, both
 * after a line on stderr; and GEMM_WRONG, without a line, if the file could not be written. */
GemmStatus recording_draw(const Recording *recording, const char *what, int cta, FILE *out);

void trace_free_events(Trace *trace);

#endif
