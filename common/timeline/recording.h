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

/* Runs perl with the drawer (draw.pl), which is text in the program, and gives it the events. `what`: text, svg, json
 * or events, as draw.pl says; of the SM of this CTA (-1: the lowest). Writes to the file that `out` is open for.
 * GEMM_USAGE if that CTA is not there, and GEMM_DEVICE if nothing was recorded or perl cannot run, after a line on
 * stderr; GEMM_WRONG, without one, if the file could not be written. */
GemmStatus recording_draw(const Recording *recording, const char *what, int cta, FILE *out);

void trace_free_events(Trace *trace);

#endif
